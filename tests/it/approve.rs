//! `approve` and `reject`: what is written, and that nothing is written when anything is wrong.

use std::fs;
use std::io::{Read as _, Write as _};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::gate::{self, Set};
use crate::support::{self, Done};

/// The good set with its approvals taken away.
fn fresh() -> Set {
    let set = Set::good();
    fs::remove_dir_all(set.path("repo/approvals")).unwrap();
    set
}

fn files(set: &Set) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(set.path("repo/approvals"))
        .map(|entries| {
            entries
                .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
                .collect()
        })
        .unwrap_or_default();
    names.sort();
    names
}

fn approve_with(set: &Set, env: &[(&str, &str)], more: &[&str]) -> Done {
    let mut command = support::program();
    command
        .current_dir(set.path("repo"))
        .envs(env.iter().copied())
        .arg("approve")
        .args(gate::PLAN);
    support::finish(command.args(more))
}

fn approve(set: &Set, more: &[&str]) -> Done {
    approve_with(set, &[], more)
}

/// Exit code and message as they must be, and nothing written.
fn nothing_written(set: &Set, done: &Done, code: i32, says: &str) {
    assert_eq!(done.code, code, "{done:?}");
    assert!(done.stderr.contains(says), "{done:?}");
    assert_eq!(files(set), Vec::<String>::new());
}

#[test]
fn what_is_written_and_shown() {
    let set = fresh();
    let digest = set.plan_sha256();
    let done = approve(
        &set,
        &[
            "--key",
            "../keys/1",
            "--yes",
            "--digest",
            &digest,
            "--reason",
            "planned \u{1b}[31mmove",
            "--ticket",
            "DATA-7",
            "--expires",
            "4h",
            "--export",
            "--log",
            "../gate.log",
        ],
    );
    assert_eq!(done.code, 0, "{done:?}");
    let short = &digest[..12];
    assert_eq!(
        files(&set),
        [
            format!("{short}-rm1@example.com.json"),
            format!("{short}-rm1@example.com.pae"),
            format!("{short}-rm1@example.com.sig"),
        ]
    );
    assert!(done.stdout.contains("permission-broadened"), "{done:?}");
    assert!(
        done.stdout
            .contains("1 finding that needs a review is accepted"),
        "{done:?}"
    );
    let said = set.said("rm1@example.com").predicate;
    assert_eq!(said.expires.duration_since(said.time).as_hours(), 4);
    assert_eq!(said.accepted.len(), 1);
    assert_eq!(said.source.artifacts.len(), 1);
    // OpenSSH checks it without us.
    let path = |end: &str| set.path(&format!("repo/approvals/{short}-rm1@example.com.{end}"));
    let verified = Command::new("ssh-keygen")
        .args([
            "-Y",
            "verify",
            "-n",
            "bundlegate-approval@v1",
            "-I",
            "rm1@example.com",
            "-f",
        ])
        .arg(set.path("repo/.bundlegate/allowed_signers"))
        .arg("-s")
        .arg(path("sig"))
        .stdin(fs::File::open(path("pae")).unwrap())
        .output()
        .unwrap();
    assert!(verified.status.success(), "{verified:?}");
    let list = support::run_in(
        &set.path("repo"),
        &["approve", "--list", "plan.json", "--trusted-ref", "main"],
    );
    assert!(list.stdout.contains("about: this plan"), "{list:?}");
    assert!(
        list.stdout.contains("of rm1@example.com counts"),
        "{list:?}"
    );
    let file = path("json").display().to_string();
    let show = support::run_in(&set.path("repo"), &["approve", "--show", &file]);
    assert!(
        show.stdout.contains("reason      planned \\u{1b}[31mmove"),
        "{show:?}"
    );
    assert!(show.stdout.contains(&digest), "{show:?}");
    assert!(set.read("gate.log").contains("\"reason\":\"planned"));
}

#[test]
fn an_approval_lives_no_longer_than_the_policy_lets_it() {
    let set = fresh();
    let digest = set.plan_sha256();
    let done = approve(
        &set,
        &[
            "--key",
            "../keys/1",
            "--yes",
            "--digest",
            &digest,
            "--expires",
            "7d",
        ],
    );
    assert_eq!(done.code, 0, "{done:?}");
    assert!(done.stderr.contains("at most"), "{done:?}");
    let said = set.said("rm1@example.com").predicate;
    assert_eq!(said.expires.duration_since(said.time).as_hours(), 24);
}

#[test]
fn a_denied_plan_cannot_be_approved_but_rejected() {
    let set = fresh();
    set.on_main(|set| {
        set.replace(
            "repo/bundlegate.yml",
            "extends: production",
            "extends: production\nrules: {permission-broadened: deny}",
        );
    });
    let digest = set.plan_sha256();
    let done = approve(&set, &["--key", "../keys/1", "--yes", "--digest", &digest]);
    nothing_written(&set, &done, 1, "no approval lifts a deny");
    let done = set.decide("reject", 1);
    assert_eq!(done.code, 0, "{done:?}");
    assert_eq!(
        files(&set),
        [format!("{}-rm1@example.com.reject.json", &digest[..12])]
    );
}

#[test]
fn nobody_to_ask_and_nothing_given() {
    let set = fresh();
    let digest = set.plan_sha256();
    let yes = |more: &[&str]| {
        let mut args = vec!["--yes", "--digest", &digest];
        args.extend(more);
        approve(&set, &args)
    };
    nothing_written(
        &set,
        &approve(&set, &["--key", "../keys/1"]),
        2,
        "expected a terminal",
    );
    nothing_written(
        &set,
        &approve(&set, &["--key", "../keys/1", "--yes"]),
        2,
        "--digest",
    );
    let other = "0".repeat(64);
    let done = approve(&set, &["--key", "../keys/1", "--yes", "--digest", &other]);
    nothing_written(&set, &done, 4, "expected the digest of this plan");
    let done = approve(
        &set,
        &["--key", "../keys/1", "--yes", "--digest", &digest[..12]],
    );
    nothing_written(&set, &done, 2, "64 lower-case hex digits");
    nothing_written(&set, &yes(&["--key", "../keys/none"]), 2, "keys/none");
    nothing_written(
        &set,
        &yes(&["--key", "plan.json"]),
        2,
        "expected an SSH key",
    );
    nothing_written(
        &set,
        &yes(&["--key", "../keys/9"]),
        2,
        "allowed_signers names a person for",
    );
    let done = yes(&["--key", "../keys/9", "--principal", "rm1@example.com"]);
    nothing_written(&set, &done, 2, "the signature would not count: signer");
    let done = yes(&["--key", "../keys/1", "--principal", "rm2@example.com"]);
    nothing_written(&set, &done, 2, "signer");
    nothing_written(
        &set,
        &yes(&["--key", "../keys/1", "--expires", "soon"]),
        2,
        "soon",
    );
    nothing_written(
        &set,
        &yes(&["--key", "../keys/1", "--level", "destroy=off"]),
        2,
        "--level",
    );
    nothing_written(
        &set,
        &yes(&["--key", "../keys/1", "-p", "production"]),
        3,
        "names no way to approve",
    );
    nothing_written(
        &set,
        &yes(&["--key", "../keys/1", "--source", "src"]),
        2,
        "databricks.yml",
    );
    let long = "x".repeat(5000);
    nothing_written(
        &set,
        &yes(&["--key", "../keys/1", "--reason", &long]),
        2,
        "4096",
    );
}

#[test]
fn a_key_of_several_names_asks_for_one() {
    let set = fresh();
    set.on_main(|set| {
        let all = set.read("repo/.bundlegate/allowed_signers");
        let line = all
            .lines()
            .next()
            .unwrap()
            .replace("rm1@example.com", "rm1@example.com,lead@example.com");
        set.write("repo/.bundlegate/allowed_signers", &format!("{line}\n"));
    });
    let digest = set.plan_sha256();
    let done = approve(&set, &["--key", "../keys/1", "--yes", "--digest", &digest]);
    nothing_written(
        &set,
        &done,
        2,
        "found several: \"lead@example.com\", \"rm1@example.com\"",
    );
}

#[test]
fn signing_fails() {
    let set = fresh();
    let digest = set.plan_sha256();
    let args = ["--yes", "--digest", &digest, "--key"];
    // No ssh-keygen: a path with git alone.
    let bin = set.path("bin");
    fs::create_dir(&bin).unwrap();
    let git = Command::new("sh")
        .args(["-c", "command -v git"])
        .output()
        .unwrap();
    let git = String::from_utf8(git.stdout).unwrap();
    std::os::unix::fs::symlink(git.trim(), bin.join("git")).unwrap();
    let path = bin.display().to_string();
    let done = approve_with(
        &set,
        &[("PATH", &path)],
        &[&args[..], &["../keys/1"]].concat(),
    );
    nothing_written(&set, &done, 2, "ssh-keygen");
    // A key with a passphrase, and an answer that is wrong.
    let keygen = Command::new("ssh-keygen")
        .args(["-q", "-p", "-N", "secret words", "-f"])
        .arg(set.path("keys/1"))
        .status()
        .unwrap();
    assert!(keygen.success());
    let ask = [
        ("SSH_ASKPASS", "/bin/false"),
        ("SSH_ASKPASS_REQUIRE", "force"),
    ];
    let done = approve_with(&set, &ask, &[&args[..], &["../keys/1"]].concat());
    nothing_written(&set, &done, 2, "passphrase");
    // A public key, and no agent that holds the private half.
    fs::write(set.path("keys/agent.pub"), crate::gate::public(2)).unwrap();
    let done = approve(&set, &[&args[..], &["../keys/agent.pub"]].concat());
    nothing_written(&set, &done, 2, "agent");
    // The folder cannot be made.
    set.write("taken", "a file");
    let done = approve(
        &set,
        &[
            &args[..],
            &["../keys/2", "--approvals", "../taken/approvals"],
        ]
        .concat(),
    );
    nothing_written(&set, &done, 2, "taken");
}

/// Runs a command line on a pseudo-terminal and types; `None` where `script` (util-linux) is not there.
fn on_a_terminal(set: &Set, line: &str, typed: &[u8]) -> Option<(Option<i32>, String)> {
    let mut child = Command::new("script")
        .args(["-qefc", line, "/dev/null"])
        .current_dir(set.path("repo"))
        .env("NO_COLOR", "1")
        .env_remove("SSH_AUTH_SOCK")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .ok()?;
    // Typed once the question is there: before, nobody would read it.
    let (mut stdin, mut stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let mut text = Vec::new();
    let mut buffer = [0; 4096];
    let mut waiting = Some(typed);
    loop {
        let read = stdout.read(&mut buffer).unwrap_or(0);
        if read == 0 {
            break;
        }
        text.extend_from_slice(&buffer[..read]);
        if String::from_utf8_lossy(&text).contains("digits: ")
            && let Some(typed) = waiting.take()
        {
            stdin.write_all(typed).unwrap();
            stdin.flush().unwrap();
        }
    }
    let status = child.wait().unwrap();
    Some((status.code(), String::from_utf8_lossy(&text).into_owned()))
}

#[test]
fn on_a_terminal_the_short_digest_is_typed() {
    let set = fresh();
    let digest = set.plan_sha256();
    let line = format!(
        "{} approve plan.json --bundle bundle.json --state state.json --trusted-ref main --key ../keys/1",
        env!("CARGO_BIN_EXE_bundlegate")
    );
    // Ctrl-C: the terminal sends the signal.
    let Some((code, text)) = on_a_terminal(&set, &line, b"\x03") else {
        println!("skipped: no `script` program");
        return;
    };
    assert_ne!(code, Some(0), "{text}");
    assert_eq!(files(&set), Vec::<String>::new(), "{text}");
    let (code, text) = on_a_terminal(&set, &line, b"yes\n").unwrap();
    assert_eq!(code, Some(4), "{text}");
    assert_eq!(files(&set), Vec::<String>::new(), "{text}");
    let typed = format!("{}\nplanned move\nDATA-7\n", &digest[..12]);
    let (code, text) = on_a_terminal(&set, &line, typed.as_bytes()).unwrap();
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("type its first 12 digits"), "{text}");
    let said = set.said("rm1@example.com").predicate;
    assert_eq!(said.reason.as_deref(), Some("planned move"));
    assert_eq!(said.ticket.as_deref(), Some("DATA-7"));
}

#[test]
fn the_envelope_is_dsse_around_in_toto() {
    let set = Set::good();
    let envelope: Value = set.json(&set.approval("rm1@example.com"));
    assert_eq!(envelope["payloadType"], "application/vnd.in-toto+json");
    let statement = serde_json::to_value(set.said("rm1@example.com")).unwrap();
    assert_eq!(statement["_type"], "https://in-toto.io/Statement/v1");
    assert_eq!(statement["predicateType"], "urn:bundlegate:approval:v1");
    assert_eq!(
        statement["subject"][0]["digest"]["sha256"],
        set.plan_sha256().as_str()
    );
}
