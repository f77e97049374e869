//! Keys and approvals for the unit tests: made in process, the same every time.

use jiff::Timestamp;
use ssh_key::{HashAlg, PrivateKey, SshSig, private::Ed25519Keypair};

use super::digest_types::{GitObjectId, IntentDigest, Sha256Hex};
use super::envelope::{Envelope, pae};
use super::ssh::SshSignature;
use super::statement::{
    Approval, Decision, Deployment, Inputs, PolicyRef, Source, SourceTree, Statement, Verdict,
};
use super::{AllowedSigners, NAMESPACE};

pub(crate) fn time(text: &str) -> Timestamp {
    text.parse().unwrap()
}

pub(crate) fn key(seed: u8) -> PrivateKey {
    PrivateKey::from(Ed25519Keypair::from_seed(&[seed; 32]))
}

pub(crate) fn public_line(key: &PrivateKey) -> String {
    key.public_key().to_openssh().unwrap()
}

pub(crate) fn signers(text: &str) -> AllowedSigners {
    AllowedSigners::parse(text.as_bytes()).unwrap()
}

pub(crate) fn sign_as(key: &PrivateKey, namespace: &str, message: &[u8]) -> SshSig {
    SshSig::sign(key, namespace, HashAlg::Sha512, message).unwrap()
}

pub(crate) fn sign(key: &PrivateKey, message: &[u8]) -> SshSignature {
    let signature = sign_as(key, NAMESPACE, message);
    SshSignature::from_pem(&signature.to_pem(ssh_key::LineEnding::LF).unwrap()).unwrap()
}

pub(crate) fn approval() -> Approval {
    Approval {
        decision: Decision::Approve,
        intent: IntentDigest::new(&format!("bgi1:{}", Sha256Hex::of(b"intent"))).unwrap(),
        inputs: Inputs {
            bundle: Some(Sha256Hex::of(b"bundle")),
            ..Inputs::default()
        },
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
            lineage: Some("8c6f".to_owned()),
            serial: Some(7),
            first_deploy: false,
        },
        cli_version: Some("1.21.0".to_owned()),
        verdict: Verdict::Review,
        accepted: vec![Sha256Hex::of(b"finding")],
        approver: "rm1@example.com".to_owned(),
        time: time("2026-11-30T10:00:00Z"),
        expires: time("2026-12-01T10:00:00Z"),
        reason: Some("planned move".to_owned()),
        ticket: None,
        ci: None,
    }
}

pub(crate) fn statement() -> Statement {
    Statement::new("plan.json", &Sha256Hex::of(b"plan"), approval()).unwrap()
}

pub(crate) fn envelope(key: &PrivateKey) -> Envelope {
    let payload = statement().to_payload().unwrap();
    let signature = sign(key, &pae(&payload));
    Envelope::new(payload, signature).unwrap()
}
