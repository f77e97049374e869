//! How much longer `authorize` with 20 approvals takes than `check`, on a plan of 10,000 entries: both as a user runs them.
//!
//! `cargo bench --bench authorize` prints the ratio and exits 1 when it is over its limit.

use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use bundlegate::approval::envelope::{Envelope, pae};
use bundlegate::approval::ssh::SshSignature;
use serde_json::Value;
use ssh_key::{HashAlg, LineEnding, PrivateKey, SshSig, private::Ed25519Keypair};

const ENTRIES: usize = 10_000;
const APPROVALS: u8 = 20;
const MAX_RATIO: f64 = 1.3;
const NAMESPACE: &str = "bundlegate-approval@v1";

type Error = Box<dyn std::error::Error>;

fn main() -> ExitCode {
    match run() {
        Ok(ratio) if ratio <= MAX_RATIO => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<f64, Error> {
    let folder = tempfile::tempdir()?;
    prepare(folder.path())?;
    let inputs = ["plan.json", "--bundle", "bundle.json", "-q"];
    let check = fastest(folder.path(), &[&["check"], &inputs[..]].concat())?;
    let authorize = fastest(
        folder.path(),
        &[&["authorize"], &inputs[..], &["--trusted-ref", "main"]].concat(),
    )?;
    let ratio = authorize.as_secs_f64() / check.as_secs_f64();
    println!(
        "{ENTRIES} entries, {APPROVALS} approvals: check {:.1} ms, authorize {:.1} ms, ratio {ratio:.2} (limit {MAX_RATIO})",
        check.as_secs_f64() * 1e3,
        authorize.as_secs_f64() * 1e3,
    );
    Ok(ratio)
}

fn program(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bundlegate"));
    command
        .current_dir(folder)
        .args(args)
        .env_remove("CI")
        .env_remove("GITHUB_ACTIONS")
        .env_remove("TF_BUILD")
        .stdout(Stdio::null());
    command
}

/// The fastest of several runs, each of which must end with 0.
fn fastest(folder: &Path, args: &[&str]) -> Result<Duration, Error> {
    let mut best = Duration::MAX;
    for _ in 0..7 {
        let start = Instant::now();
        let status = program(folder, args).status()?;
        best = best.min(start.elapsed());
        if !status.success() {
            return Err(format!("{args:?} ended with {status}").into());
        }
    }
    Ok(best)
}

fn key(seed: u8) -> PrivateKey {
    PrivateKey::from(Ed25519Keypair::from_seed(&[seed; 32]))
}

/// A repository with a policy, a plan of copies of one recorded update, and approvals by as many people.
fn prepare(folder: &Path) -> Result<(), Error> {
    let scenario =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scenarios/job-schedule-update");
    let read = |name: &str| -> Result<Value, Error> {
        Ok(serde_json::from_slice(&fs::read(scenario.join(name))?)?)
    };
    let (mut plan, mut bundle) = (read("plan.json")?, read("bundle.json")?);
    let entry = plan["plan"]["resources.jobs.nightly"].clone();
    let resource = bundle["resources"]["jobs"]["nightly"].clone();
    let have = plan["plan"].as_object().map_or(0, serde_json::Map::len);
    for n in have..ENTRIES {
        plan["plan"][format!("resources.jobs.nightly_{n}")] = entry.clone();
        bundle["resources"]["jobs"][format!("nightly_{n}")] = resource.clone();
    }
    fs::write(folder.join("plan.json"), plan.to_string())?;
    fs::write(folder.join("bundle.json"), bundle.to_string())?;
    fs::copy(
        scenario.join("databricks.yml"),
        folder.join("databricks.yml"),
    )?;
    fs::write(
        folder.join("bundlegate.yml"),
        format!(
            "version: 1\nextends: production\napproval: {{required: {APPROVALS}, separation: [], accept: {{ssh: {{allowed_signers: signers}}}}}}\n"
        ),
    )?;
    let mut signers = String::new();
    for seed in 1..=APPROVALS {
        signers.push_str(&format!(
            "rm{seed}@x {}\n",
            key(seed).public_key().to_openssh()?
        ));
    }
    fs::write(folder.join("signers"), signers)?;
    for args in [
        &["init", "-q", "-b", "main"][..],
        &["add", "databricks.yml", "bundlegate.yml", "signers"],
        &[
            "-c",
            "user.name=a",
            "-c",
            "user.email=a@x",
            "commit",
            "-q",
            "-m",
            "first",
        ],
    ] {
        Command::new("git")
            .args(args)
            .current_dir(folder)
            .status()?;
    }
    approve(folder)
}

/// The first approval by the program, the others by the same statement with other names.
fn approve(folder: &Path) -> Result<(), Error> {
    use sha2::Digest as _;
    let path = folder.join(".git/key");
    fs::write(&path, key(1).to_openssh(LineEnding::LF)?.as_bytes())?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600))?;
    }
    let digest = hex::encode(sha2::Sha256::digest(fs::read(folder.join("plan.json"))?));
    let args = [
        "approve",
        "plan.json",
        "--bundle",
        "bundle.json",
        "--key",
        ".git/key",
        "--yes",
        "--digest",
        &digest,
    ];
    if !program(folder, &args).status()?.success() {
        return Err("the first approval was not written".into());
    }
    let approvals = folder.join("approvals");
    let first = approvals.join(format!(
        "{}-rm1@x.json",
        digest.get(..12).unwrap_or_default()
    ));
    let first = Envelope::parse(&fs::read(first)?)?;
    for seed in 2..=APPROVALS {
        let mut statement = first.statement().clone();
        statement.predicate.approver = format!("rm{seed}@x");
        let payload = statement.to_payload()?;
        let signed = SshSig::sign(&key(seed), NAMESPACE, HashAlg::Sha512, &pae(&payload))?;
        let signature = SshSignature::from_pem(&signed.to_pem(LineEnding::LF)?)?;
        let envelope = Envelope::new(payload, signature)?;
        fs::write(approvals.join(statement.file_name()?), envelope.to_json()?)?;
    }
    Ok(())
}
