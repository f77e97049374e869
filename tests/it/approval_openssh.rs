//! Our reading of OpenSSH's formats against OpenSSH itself: what it signs we verify, what we export it verifies, and both agree
//! on who may sign.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use bundlegate::approval::envelope::pae;
use bundlegate::approval::ssh::{SignatureError, SshSignature};
use bundlegate::approval::statement::{
    Approval, Decision, Deployment, Inputs, PolicyRef, Source, SourceTree, Statement, Verdict,
};
use bundlegate::approval::{
    AllowedSigners, Envelope, GitObjectId, IntentDigest, NAMESPACE, RevokedKeys, Sha256Hex,
    SshTrust,
};
use bundlegate::host::ssh_keygen::{self, SignError};
use jiff::{SignedDuration, Timestamp};

const MESSAGE: &[u8] = b"the bytes that are signed";

/// A folder of keys; every call of `ssh-keygen` in it is without the user's agent.
struct Keys {
    folder: tempfile::TempDir,
}

impl Keys {
    fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn keygen(&self, args: &[&str], input: &[u8]) -> Output {
        let mut child = Command::new("ssh-keygen")
            .args(args)
            .current_dir(self.folder.path())
            .env_remove("SSH_AUTH_SOCK")
            .env("TZ", "UTC")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("ssh-keygen is needed for these tests");
        // It may end without reading its input.
        let _ = child.stdin.take().unwrap().write_all(input);
        child.wait_with_output().unwrap()
    }

    fn run(&self, args: &[&str]) -> String {
        let output = self.keygen(args, b"");
        assert!(output.status.success(), "{args:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    fn make(&self, name: &str, kind: &[&str]) -> String {
        let mut args = vec!["-q", "-N", "", "-C", name, "-f", name, "-t"];
        args.extend(kind);
        self.run(&args);
        self.public(name)
    }

    fn public(&self, name: &str) -> String {
        let text = fs::read_to_string(self.path(&format!("{name}.pub"))).unwrap();
        text.trim().to_owned()
    }

    /// What `ssh-keygen -Y sign` makes.
    fn sign(&self, key: &str, namespace: &str) -> String {
        let output = self.keygen(&["-Y", "sign", "-n", namespace, "-f", key], MESSAGE);
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Does `ssh-keygen -Y verify` accept it?
    fn openssh_accepts(
        &self,
        signers: &str,
        principal: &str,
        pem: &str,
        message: &[u8],
        at: &str,
    ) -> bool {
        fs::write(self.path("signers"), signers).unwrap();
        fs::write(self.path("sig"), pem).unwrap();
        let time = format!("-Overify-time={at}");
        let args = [
            "-Y", "verify", "-n", NAMESPACE, "-I", principal, "-f", "signers", "-s", "sig", &time,
        ];
        self.keygen(&args, message).status.success()
    }
}

fn verify(
    signers: &str,
    principal: &str,
    pem: &str,
    at: Timestamp,
) -> Result<String, SignatureError> {
    let signers = AllowedSigners::parse(signers.as_bytes()).unwrap();
    let revoked = RevokedKeys::default();
    let trust = SshTrust {
        signers: &signers,
        revoked: &revoked,
    };
    SshSignature::from_pem(pem)?
        .verify(MESSAGE, principal, trust, at)
        .map(|signer| signer.key)
}

fn now() -> Timestamp {
    Timestamp::now()
}

/// A time in the form of `-Overify-time`, UTC.
fn openssh_time(at: Timestamp) -> String {
    at.strftime("%Y%m%d%H%M%SZ").to_string()
}

#[test]
fn every_kind_of_key_that_openssh_signs_with() {
    let keys = Keys::new();
    for (name, kind) in [
        ("ed25519", &["ed25519"][..]),
        ("p256", &["ecdsa", "-b", "256"]),
        ("p384", &["ecdsa", "-b", "384"]),
        ("p521", &["ecdsa", "-b", "521"]),
        ("rsa2048", &["rsa", "-b", "2048"]),
        ("rsa3072", &["rsa", "-b", "3072"]),
    ] {
        let public = keys.make(name, kind);
        let pem = keys.sign(name, NAMESPACE);
        let signers = format!("a@x {public}\n");
        let key = verify(&signers, "a@x", &pem, now()).unwrap();
        let listed = keys.run(&["-l", "-E", "sha256", "-f", &format!("{name}.pub")]);
        assert!(listed.contains(&key), "{name}: {key} is not in {listed}");
        // Written again it is the same to OpenSSH, and over other bytes it is nothing to both.
        let again = SshSignature::from_pem(&pem).unwrap().to_pem().unwrap();
        let at = openssh_time(now());
        assert!(
            keys.openssh_accepts(&signers, "a@x", &again, MESSAGE, &at),
            "{name}"
        );
        assert!(
            !keys.openssh_accepts(&signers, "a@x", &again, b"other", &at),
            "{name}"
        );
        assert!(
            SshSignature::from_pem(&pem)
                .unwrap()
                .holds_over(b"other")
                .is_err()
        );
    }
}

#[test]
fn weak_keys_are_refused_where_openssh_signs() {
    let keys = Keys::new();
    let public = keys.make("rsa1024", &["rsa", "-b", "1024"]);
    let error = SshSignature::from_pem(&keys.sign("rsa1024", NAMESPACE)).unwrap_err();
    assert_eq!(error.check(), "key-strength");
    let listed = AllowedSigners::parse(format!("\na@x {public}").as_bytes()).unwrap_err();
    insta::assert_snapshot!(listed, @"allowed_signers line 2: the key is an RSA key of 1024 bits: expected at least 2048; use ed25519 (ssh-keygen -t ed25519)");
    // Newer versions of ssh-keygen cannot make DSA keys any more.
    let dsa = keys.keygen(&["-q", "-N", "", "-f", "dsa", "-t", "dsa"], b"");
    if dsa.status.success() {
        let error = SshSignature::from_pem(&keys.sign("dsa", NAMESPACE)).unwrap_err();
        assert_eq!(error.check(), "key-strength");
        let list = format!("a@x {}", keys.public("dsa"));
        assert!(AllowedSigners::parse(list.as_bytes()).is_err());
    }
}

#[test]
fn signatures_for_other_purposes_are_refused() {
    let keys = Keys::new();
    keys.make("k", &["ed25519"]);
    for namespace in [
        "git",
        "file",
        "bundlegate-approval@v2",
        "bundlegate-approval@v1 ",
    ] {
        let error = SshSignature::from_pem(&keys.sign("k", namespace)).unwrap_err();
        assert_eq!(error.check(), "namespace", "{namespace}");
    }
}

#[test]
fn both_agree_on_who_may_sign() {
    let keys = Keys::new();
    let own = keys.make("own", &["ed25519"]);
    let other = keys.make("other", &["ed25519"]);
    let pem = keys.sign("own", NAMESPACE);
    let at: Timestamp = "2026-06-15T12:00:00Z".parse().unwrap();
    let long = "x".repeat(300);
    for line in [
        "a@x KEY",
        "b@x KEY",
        "b@x,a@x KEY",
        "*@x KEY",
        "?@x KEY",
        "??@x KEY",
        "*,!a@x KEY",
        "!a@x,* KEY",
        "!b@x KEY",
        "A@x KEY",
        "\"a@x\" KEY",
        "\"a@x,b@x\" KEY",
        "a@x OTHER",
        "a@x OTHER\na@x KEY",
        "b@x KEY\na@x KEY",
        "# a comment\n\n   \na@x KEY",
        "  a@x   KEY",
        "a@x\tKEY",
        "a@x cert-authority KEY",
        "a@x namespaces=\"bundlegate-approval@v1\" KEY",
        "a@x namespaces=\"file\" KEY",
        "a@x namespaces=\"file,bundlegate-*\" KEY",
        "a@x namespaces=\"*,!bundlegate-approval@v1\" KEY",
        "a@x NAMESPACES=\"*\" KEY",
        "a@x namespaces=\"a \\\"b\\\",*\" KEY",
        "a@x valid-after=\"20260615\" KEY",
        "a@x valid-after=\"20260616\" KEY",
        "a@x valid-after=\"20260615Z\" KEY",
        "a@x valid-after=\"202606151200\" KEY",
        "a@x valid-after=\"202606151200Z\" KEY",
        "a@x valid-after=\"20260615120000\" KEY",
        "a@x valid-after=\"20260615120001Z\" KEY",
        "a@x valid-before=\"20260615115959Z\" KEY",
        "a@x valid-before=\"20260615120000Z\" KEY",
        "a@x valid-before=\"20260616Z\",valid-after=\"20260614Z\" KEY",
        "a@x Valid-Before=\"20260614\",namespaces=\"*\" KEY",
        "a@x namespaces=\"file\" KEY\na@x KEY",
        "LONG,a@x KEY",
        "",
    ] {
        let signers = line
            .replace("KEY", &own)
            .replace("OTHER", &other)
            .replace("LONG", &long);
        let ours = verify(&signers, "a@x", &pem, at).is_ok();
        let theirs = keys.openssh_accepts(&signers, "a@x", &pem, MESSAGE, &openssh_time(at));
        assert_eq!(ours, theirs, "{line}");
        // `find-principals` prints the principals of the line that it took, one a line.
        if theirs {
            let time = format!("-Overify-time={}", openssh_time(at));
            let found = keys.run(&["-Y", "find-principals", "-f", "signers", "-s", "sig", &time]);
            let named = found.lines().collect::<Vec<_>>().join(",");
            let entries = AllowedSigners::parse(signers.as_bytes()).unwrap();
            let known = entries
                .entries()
                .iter()
                .any(|entry| entry.principals().as_str() == named);
            assert!(known, "{line}: {found}");
        }
    }
}

#[test]
fn what_openssh_cannot_use_is_an_error_here() {
    let keys = Keys::new();
    let own = keys.make("own", &["ed25519"]);
    let pem = keys.sign("own", NAMESPACE);
    for line in [
        "a@x",
        "a@x cert-authority",
        "a@x foo KEY",
        "a@x cert-authorityx KEY",
        "a@x namespaces=file KEY",
        "a@x namespaces=\"file KEY",
        "a@x namespaces=\"a\",namespaces=\"bundlegate-approval@v1\" KEY",
        "a@x valid-after=\"2026\" KEY",
        "a@x valid-after=\"20261301\" KEY",
        "a@x valid-after=\"20270101\",valid-before=\"20260101\" KEY",
        "a@x ssh-ed25519 AAAA",
        "\"a@x KEY",
    ] {
        let signers = line.replace("KEY", &own);
        assert!(AllowedSigners::parse(signers.as_bytes()).is_err(), "{line}");
        assert!(
            !keys.openssh_accepts(&signers, "a@x", &pem, MESSAGE, "20260615Z"),
            "{line}"
        );
    }
}

#[test]
fn certificates() {
    let keys = Keys::new();
    let ca = keys.make("ca", &["ed25519"]);
    let rsa_ca = keys.make("rsa_ca", &["rsa", "-b", "3072"]);
    let own = keys.make("own", &["ecdsa", "-b", "256"]);
    let issue = |authority: &str, options: &[&str]| -> String {
        let mut args = vec!["-q", "-s", authority, "-I", "ann's laptop", "-z", "7"];
        args.extend(options);
        args.push("own.pub");
        keys.run(&args);
        keys.sign("own-cert.pub", NAMESPACE)
    };
    let at = now();
    let check = |pem: &str, signers: &str, at: Timestamp| {
        let ours = verify(signers, "a@x", pem, at)
            .map(|_| ())
            .map_err(|e| e.check());
        let theirs = keys.openssh_accepts(signers, "a@x", pem, MESSAGE, &openssh_time(at));
        (ours, theirs)
    };
    let trusted = format!("*@x cert-authority {ca}\n*@x cert-authority {rsa_ca}\n");
    let good = issue("ca", &["-n", "a@x,b@x", "-V", "-1h:+1h"]);
    assert_eq!(check(&good, &trusted, at), (Ok(()), true));
    let by_rsa = issue("rsa_ca", &["-n", "a@x", "-V", "-1h:+1h"]);
    assert_eq!(check(&by_rsa, &trusted, at), (Ok(()), true));
    // Of an authority that is not listed, or listed as a signer, or for somebody else.
    let other = format!("*@x cert-authority {rsa_ca}");
    assert_eq!(check(&good, &other, at), (Err("signer"), false));
    assert_eq!(
        check(&good, &format!("*@x {ca}"), at),
        (Err("signer"), false)
    );
    assert_eq!(
        check(&good, &format!("*@y cert-authority {ca}"), at),
        (Err("signer"), false)
    );
    // The bare key's line does not stand for its certificate.
    assert_eq!(
        check(&good, &format!("a@x {own}"), at),
        (Err("signer"), false)
    );
    let line = format!("*@x cert-authority,namespaces=\"file\" {ca}");
    assert_eq!(check(&good, &line, at), (Err("signer-namespace"), false));
    // Too late, too early.
    let hour = SignedDuration::from_hours(2);
    let later = at.checked_add(hour).unwrap();
    let earlier = at.checked_sub(hour).unwrap();
    assert_eq!(check(&good, &trusted, later), (Err("certificate"), false));
    assert_eq!(check(&good, &trusted, earlier), (Err("certificate"), false));
    // For others, for nobody, for hosts.
    let others = issue("ca", &["-n", "b@x", "-V", "-1h:+1h"]);
    assert_eq!(check(&others, &trusted, at), (Err("certificate"), false));
    let nobody = issue("ca", &["-V", "-1h:+1h"]);
    assert_eq!(check(&nobody, &trusted, at), (Err("certificate"), false));
    let host = issue("ca", &["-h", "-n", "a@x", "-V", "-1h:+1h"]);
    assert_eq!(check(&host, &trusted, at), (Err("certificate"), false));
    // OpenSSH does not look at critical options of signers; we refuse what we cannot honour.
    let forced = issue("ca", &["-n", "a@x", "-O", "force-command=/bin/true"]);
    assert_eq!(check(&forced, &trusted, at), (Err("certificate"), true));
}

#[test]
fn a_revoked_key_or_authority_counts_no_more() {
    let keys = Keys::new();
    let ca = keys.make("ca", &["ed25519"]);
    let own = keys.make("own", &["ed25519"]);
    let bare = keys.sign("own", NAMESPACE);
    keys.run(&["-q", "-s", "ca", "-I", "x", "-n", "a@x", "own.pub"]);
    let certified = keys.sign("own-cert.pub", NAMESPACE);
    let signers = format!("a@x {own}\na@x cert-authority {ca}\n");
    let fingerprint = keys.run(&["-l", "-f", "own.pub"]);
    let fingerprint = fingerprint.split(' ').nth(1).unwrap().to_owned();
    let list = AllowedSigners::parse(signers.as_bytes()).unwrap();
    for (revoked, bare_counts, certified_counts) in [
        (String::new(), true, true),
        (own.clone(), false, false),
        (fingerprint, false, false),
        (ca, true, false),
    ] {
        let revoked_keys = RevokedKeys::parse(revoked.as_bytes()).unwrap();
        let trust = SshTrust {
            signers: &list,
            revoked: &revoked_keys,
        };
        for (pem, counts) in [(&bare, bare_counts), (&certified, certified_counts)] {
            let verified =
                SshSignature::from_pem(pem)
                    .unwrap()
                    .verify(MESSAGE, "a@x", trust, now());
            match verified {
                Ok(_) => assert!(counts, "{revoked}"),
                Err(error) => assert_eq!((error.check(), counts), ("revoked", false), "{revoked}"),
            }
            if !revoked.starts_with("SHA256") {
                fs::write(keys.path("revoked"), &revoked).unwrap();
                fs::write(keys.path("signers"), &signers).unwrap();
                fs::write(keys.path("sig"), pem).unwrap();
                let args = [
                    "-Y", "verify", "-n", NAMESPACE, "-I", "a@x", "-f", "signers", "-s", "sig",
                    "-r", "revoked",
                ];
                assert_eq!(
                    keys.keygen(&args, MESSAGE).status.success(),
                    counts,
                    "{revoked}"
                );
            }
        }
    }
}

fn statement() -> Statement {
    let approval = Approval {
        decision: Decision::Approve,
        intent: IntentDigest::new(&format!("bgi1:{}", Sha256Hex::of(b"intent"))).unwrap(),
        inputs: Inputs::default(),
        source: Source {
            tree: SourceTree::Git {
                commit: GitObjectId::new(&"a".repeat(40)).unwrap(),
                tree: GitObjectId::new(&"b".repeat(40)).unwrap(),
                folder: String::new(),
                clean: true,
                changes: None,
            },
            artifacts: Vec::new(),
        },
        policy: PolicyRef {
            sha256: Sha256Hex::of(b"policy"),
            path: "bundlegate.yml".to_owned(),
        },
        deployment: Deployment {
            bundle: "orders".to_owned(),
            target: "prod".to_owned(),
            host: "https://example.test".to_owned(),
            root_path: "/Workspace/orders".to_owned(),
            lineage: None,
            serial: None,
            first_deploy: true,
        },
        cli_version: None,
        verdict: Verdict::Open,
        accepted: Vec::new(),
        approver: "a@x".to_owned(),
        time: now(),
        expires: now().checked_add(SignedDuration::from_hours(24)).unwrap(),
        reason: None,
        ticket: None,
        ci: None,
    };
    Statement::new("plan.json", &Sha256Hex::of(b"plan"), approval).unwrap()
}

#[test]
fn openssh_accepts_an_exported_approval() {
    let keys = Keys::new();
    let ca = keys.make("ca", &["ed25519"]);
    let own = keys.make("own", &["ed25519"]);
    keys.run(&["-q", "-s", "ca", "-I", "x", "-n", "a@x", "own.pub"]);
    let signers = format!("a@x {own}\n*@x cert-authority {ca}\n");
    // With the certificate beside the key, `-f own` still signs with the bare key.
    for key in ["own", "own-cert.pub"] {
        let payload = statement().to_payload().unwrap();
        let signature = ssh_keygen::sign(
            Path::new(ssh_keygen::PROGRAM),
            &keys.path(key),
            &pae(&payload),
        )
        .unwrap();
        let file = Envelope::new(payload, signature)
            .unwrap()
            .to_json()
            .unwrap();
        let envelope = Envelope::parse(file.as_bytes()).unwrap();
        let list = AllowedSigners::parse(signers.as_bytes()).unwrap();
        let revoked = RevokedKeys::default();
        let trust = SshTrust {
            signers: &list,
            revoked: &revoked,
        };
        let signer = envelope.verify(trust, now()).unwrap();
        assert_eq!(signer.certificate.is_some(), key == "own-cert.pub");
        let export = envelope.export().unwrap();
        let at = openssh_time(now());
        let accepts = |message: &[u8]| {
            keys.openssh_accepts(&signers, &export.principal, &export.signature, message, &at)
        };
        assert!(accepts(&export.message), "{key}");
        let mut changed = export.message.clone();
        changed.push(b' ');
        assert!(!accepts(&changed), "{key}");
    }
}

#[test]
fn signing_fails_in_words() {
    let keys = Keys::new();
    keys.make("own", &["ed25519"]);
    let sign = |program: &str, key: &str| {
        ssh_keygen::sign(Path::new(program), &keys.path(key), MESSAGE).unwrap_err()
    };
    assert!(matches!(
        sign("no-such-program", "own"),
        SignError::NoProgram { .. }
    ));
    assert!(matches!(
        sign("ssh-keygen", "missing"),
        SignError::NoKey { .. }
    ));
    fs::write(keys.path("broken"), "not a key").unwrap();
    assert!(matches!(
        sign("ssh-keygen", "broken"),
        SignError::Failed { .. }
    ));
    keys.make("weak", &["rsa", "-b", "1024"]);
    assert!(matches!(
        sign("ssh-keygen", "weak"),
        SignError::NotAccepted(_)
    ));
}

/// An agent of our own, ended with the test.
#[cfg(unix)]
struct Agent(std::process::Child);

#[cfg(unix)]
impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[cfg(unix)]
#[test]
fn an_agent_signs_for_a_public_key() {
    use std::os::unix::fs::PermissionsExt;
    use std::time::{Duration, Instant};

    let keys = Keys::new();
    let public = keys.make("own", &["ed25519"]);
    let socket = keys.path("agent");
    let child = Command::new("ssh-agent")
        .arg("-D")
        .arg("-a")
        .arg(&socket)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let _agent = Agent(child);
    let start = Instant::now();
    while !socket.exists() && start.elapsed() < Duration::from_secs(10) {
        std::thread::sleep(Duration::from_millis(10));
    }
    // The program of a user whose environment names the agent.
    let program = keys.path("with-agent");
    let script = format!(
        "#!/bin/sh\nSSH_AUTH_SOCK={} exec ssh-keygen \"$@\" 2>/dev/null\n",
        socket.display()
    );
    fs::write(&program, script).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    fs::create_dir(keys.path("public")).unwrap();
    fs::write(keys.path("public/own.pub"), &public).unwrap();
    let sign = || ssh_keygen::sign(&program, &keys.path("public/own.pub"), MESSAGE);
    assert!(sign().is_err(), "the agent does not hold the key yet");
    let added = Command::new("ssh-add")
        .arg("-q")
        .arg(keys.path("own"))
        .env("SSH_AUTH_SOCK", &socket)
        .status()
        .unwrap();
    assert!(added.success());
    let pem = sign().unwrap().to_pem().unwrap();
    assert!(verify(&format!("a@x {public}"), "a@x", &pem, now()).is_ok());
}
