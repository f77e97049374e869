//! A good set: a repository with a trusted branch and a change on another, a collected plan, two people who approved it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use bundlegate::approval::envelope::{Envelope, pae};
use bundlegate::approval::ssh::SshSignature;
use bundlegate::approval::statement::{Approval, Statement};
use serde_json::Value;
use ssh_key::{HashAlg, LineEnding, PrivateKey, SshSig, private::Ed25519Keypair};

use crate::support::{self, Done};

/// The principals, by the seed of their key. 11 is the second key of `rm1`, 9 nobody's.
pub(crate) const PEOPLE: [(u8, &str); 4] = [
    (1, "rm1@example.com"),
    (2, "rm2@example.com"),
    (3, "rm3@example.com"),
    (11, "rm1@example.com"),
];

pub(crate) const POLICY: &str = "\
version: 1
extends: production
people:
  - {name: rm one, ssh: rm1@example.com, git: [rm1@example.com]}
  - {name: rm two, ssh: rm2@example.com, git: [rm2@example.com]}
  - {name: rm three, ssh: rm3@example.com, git: [rm3@example.com]}
approval:
  required: 2
  separation: [author, actor]
  expires_after: 24h
  match: plan
  accept:
    ssh: {allowed_signers: .bundlegate/allowed_signers, revoked: .bundlegate/revoked}
";

/// Arguments of every command about the set's plan.
pub(crate) const PLAN: [&str; 7] = [
    "plan.json",
    "--bundle",
    "bundle.json",
    "--state",
    "state.json",
    "--trusted-ref",
    "main",
];

/// A set of files in a folder of its own.
pub(crate) struct Set {
    folder: tempfile::TempDir,
    /// Arguments of `authorize` after the plan.
    pub(crate) args: Vec<String>,
    /// Variables of its environment.
    pub(crate) env: Vec<(String, String)>,
}

pub(crate) fn key(seed: u8) -> PrivateKey {
    PrivateKey::from(Ed25519Keypair::from_seed(&[seed; 32]))
}

pub(crate) fn public(seed: u8) -> String {
    key(seed).public_key().to_openssh().expect("a key")
}

pub(crate) fn allowed_signers() -> String {
    PEOPLE
        .iter()
        .map(|(seed, who)| {
            format!(
                "{who} namespaces=\"bundlegate-approval@v1\" {}\n",
                public(*seed)
            )
        })
        .collect()
}

impl Set {
    /// Makes the good set, with approvals by the program itself.
    pub(crate) fn good() -> Self {
        let set = Self {
            folder: tempfile::tempdir().expect("a folder"),
            args: good_args(),
            env: Vec::new(),
        };
        let scenario = support::scenarios().join("permission-broadened");
        fs::create_dir(set.path("repo")).expect("a folder");
        fs::create_dir(set.path("keys")).expect("a folder");
        for seed in [1_u8, 2, 3, 9, 11] {
            let path = set.path(&format!("keys/{seed}"));
            let text = key(seed).to_openssh(LineEnding::LF).expect("a key");
            fs::write(&path, text.as_bytes()).expect("written");
            private(&path);
        }
        set.git(&["init", "-q", "-b", "main"]);
        set.write("repo/.gitignore", ".databricks/\ndist/\n*.env\n*.tmp\n");
        set.write("repo/bundlegate.yml", POLICY);
        set.write("repo/.bundlegate/allowed_signers", &allowed_signers());
        set.write("repo/.bundlegate/revoked", "# none\n");
        fs::copy(
            scenario.join("databricks.yml"),
            set.path("repo/databricks.yml"),
        )
        .expect("copied");
        set.write("repo/src/etl.py", "print(1)\n");
        set.commit("the trusted branch");
        set.git(&["checkout", "-q", "-b", "change"]);
        set.write("repo/src/etl.py", "print(2)\n");
        set.commit("a change");
        set.write("repo/dist/orders-0.1.0-py3-none-any.whl", "a wheel");
        set.write("repo/conf/prod.env", "ships all the same\n");
        for name in ["plan.json", "state.json"] {
            fs::copy(scenario.join(name), set.path(&format!("repo/{name}"))).expect("copied");
        }
        let mut bundle: Value =
            serde_json::from_slice(&fs::read(scenario.join("bundle.json")).expect("read"))
                .expect("JSON");
        bundle["sync"]["include"] = serde_json::json!(["conf/*.env"]);
        set.write("repo/bundle.json", &bundle.to_string());
        for seed in [1, 2] {
            let done = set.decide("approve", seed);
            assert_eq!(done.code, 0, "{done:?}");
        }
        set
    }

    /// The same in a folder of its own, time stamps included.
    pub(crate) fn copy(&self) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let status = Command::new("cp")
            .arg("-a")
            .arg(format!("{}/.", self.folder.path().display()))
            .arg(folder.path())
            .status()
            .expect("cp");
        assert!(status.success());
        Self {
            folder,
            args: self.args.clone(),
            env: self.env.clone(),
        }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        fs::write(path, text).expect("written");
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).expect("read")
    }

    /// Changes a text file, which must hold what is replaced.
    pub(crate) fn replace(&self, name: &str, from: &str, to: &str) {
        let text = self.read(name);
        assert!(text.contains(from), "{name} holds no {from}");
        self.write(name, &text.replacen(from, to, 1));
    }

    pub(crate) fn json(&self, name: &str) -> Value {
        serde_json::from_str(&self.read(name)).expect("JSON")
    }

    pub(crate) fn git(&self, args: &[&str]) -> String {
        let output = Command::new("git")
            .args(["-c", "user.name=Dev", "-c", "user.email=dev@example.com"])
            .args(args)
            .current_dir(self.path("repo"))
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .output()
            .expect("git is needed for these tests");
        assert!(output.status.success(), "{args:?}: {output:?}");
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    pub(crate) fn commit(&self, message: &str) {
        self.git(&["add", "-A", "--", ":!*.json", ":!approvals"]);
        self.git(&["commit", "-q", "-m", message]);
    }

    /// Commits to the trusted branch, and comes back.
    pub(crate) fn on_main(&self, change: impl FnOnce(&Self)) {
        self.git(&["checkout", "-q", "main"]);
        change(self);
        self.commit("on the trusted branch");
        self.git(&["checkout", "-q", "change"]);
    }

    /// Runs `approve` or `reject` with the key of this seed.
    pub(crate) fn decide(&self, command: &str, seed: u8) -> Done {
        let key = self.path(&format!("keys/{seed}")).display().to_string();
        let digest = self.plan_sha256();
        let mut args = vec![command];
        args.extend(PLAN);
        args.extend(["--key", &key, "--yes", "--digest", &digest]);
        if seed == 9 {
            args.extend(["--principal", "rm1@example.com"]);
        }
        support::run_in(&self.path("repo"), &args)
    }

    pub(crate) fn plan_sha256(&self) -> String {
        use sha2::Digest as _;
        hex::encode(sha2::Sha256::digest(
            fs::read(self.path("repo/plan.json")).expect("read"),
        ))
    }

    /// Runs `authorize` with the arguments of the set.
    pub(crate) fn authorize(&self) -> Done {
        self.authorize_with(&[])
    }

    pub(crate) fn authorize_with(&self, more: &[&str]) -> Done {
        let mut command = support::program();
        command
            .current_dir(self.path("repo"))
            .args(["authorize", "plan.json"])
            .args(&self.args)
            .args(more)
            .envs(self.env.iter().cloned());
        support::finish(&mut command)
    }

    /// The path of the approval by `rm1` or `rm2`, from the set's folder.
    pub(crate) fn approval(&self, principal: &str) -> String {
        let folder = self.path("repo/approvals");
        let name = fs::read_dir(folder)
            .expect("read")
            .map(|entry| {
                entry
                    .expect("read")
                    .file_name()
                    .to_string_lossy()
                    .into_owned()
            })
            .find(|name| name.ends_with(&format!("-{principal}.json")))
            .expect("an approval");
        format!("repo/approvals/{name}")
    }

    /// The statement of an approval.
    pub(crate) fn said(&self, principal: &str) -> Statement {
        let text = self.read(&self.approval(principal));
        Envelope::parse(text.as_bytes())
            .expect("an approval")
            .statement()
            .clone()
    }

    /// Signs the approval of `principal` anew after a change, by the key of this seed, in place of the old one.
    pub(crate) fn resign(&self, principal: &str, seed: u8, change: impl FnOnce(&mut Approval)) {
        let mut statement = self.said(principal);
        change(&mut statement.predicate);
        let payload = statement.to_payload().expect("a payload");
        self.write(
            &self.approval(principal),
            &envelope(
                &payload,
                &signature(seed, "bundlegate-approval@v1", &pae(&payload)),
            ),
        );
    }
}

/// `authorize plan.json ...` of the good set.
fn good_args() -> Vec<String> {
    [
        "--bundle",
        "bundle.json",
        "--state",
        "state.json",
        "--trusted-ref",
        "main",
        "--actor",
        "git:ci@example.com",
    ]
    .map(str::to_owned)
    .into()
}

/// An SSH signature in its binary form.
pub(crate) fn signature(seed: u8, namespace: &str, message: &[u8]) -> Vec<u8> {
    use ssh_key::encoding::Encode as _;
    SshSig::sign(&key(seed), namespace, HashAlg::Sha512, message)
        .expect("signed")
        .encode_vec()
        .expect("encoded")
}

/// An envelope of any payload and any signature, whether or not they go together.
pub(crate) fn envelope(payload: &[u8], signature: &[u8]) -> String {
    // A signature for another purpose is none of ours, and its key is read by the library alone.
    let keyid = SshSignature::from_bytes(signature).map_or_else(
        |_| {
            <SshSig as ssh_key::encoding::Decode>::decode(&mut &*signature)
                .map(|s| s.public_key().fingerprint(HashAlg::Sha256).to_string())
                .unwrap_or_default()
        },
        |s| s.key(),
    );
    serde_json::json!({
        "payloadType": "application/vnd.in-toto+json",
        "payload": base64(payload),
        "signatures": [{"keyid": keyid, "sig": base64(signature)}],
    })
    .to_string()
}

pub(crate) fn base64(bytes: &[u8]) -> String {
    use base64ct::Encoding as _;
    base64ct::Base64::encode_string(bytes)
}

/// The armoured signature of a file as an envelope's binary one.
pub(crate) fn from_pem(pem: &str) -> Vec<u8> {
    SshSignature::from_pem(pem)
        .and_then(|s| s.to_bytes())
        .expect("a signature")
}

#[cfg(unix)]
fn private(path: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).expect("permissions");
}

#[cfg(not(unix))]
fn private(_: &Path) {}

/// The names of the checks that say no, each once, and the exit code.
pub(crate) fn refused(done: &Done) -> (Vec<String>, i32) {
    let report: Value = serde_json::from_str(&done.stdout).unwrap_or_default();
    let mut names: Vec<String> = report["body"]["authorize"]["checks"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(|check| check["result"] == "refused")
        .map(|check| check["check"].as_str().unwrap_or_default().to_owned())
        .collect();
    names.sort();
    names.dedup();
    (names, done.code)
}
