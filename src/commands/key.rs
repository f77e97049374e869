//! Which key signs, and as whom.

use std::path::{Path, PathBuf};

use ssh_key::{Certificate, PrivateKey, PublicKey, public::KeyData};

use super::Failure;
use crate::approval::AllowedSigners;
use crate::host::files;
use crate::text::{quoted, visible};

/// The keys that `ssh` itself tries, in its order (ssh_config(5), IdentityFile; DSA aside, which is refused).
const DEFAULT_KEYS: [&str; 5] = [
    "id_rsa",
    "id_ecdsa",
    "id_ecdsa_sk",
    "id_ed25519",
    "id_ed25519_sk",
];

/// The largest key file, in bytes.
const MAX_KEY_BYTES: u64 = 64 * 1024;

/// `--key`, else the first default key that is there.
pub(super) fn path(given: Option<&PathBuf>) -> Result<PathBuf, Failure> {
    if let Some(path) = given {
        return Ok(path.clone());
    }
    let home = std::env::var_os("HOME").or_else(|| std::env::var_os("USERPROFILE"));
    let folder = home.map(|home| Path::new(&home).join(".ssh"));
    folder
        .into_iter()
        .flat_map(|folder| DEFAULT_KEYS.map(|name| folder.join(name)))
        .find(|path| path.is_file())
        .ok_or_else(|| {
            Failure::input(
                "error: expected a key to sign with, found none in ~/.ssh\n  help: give one with --key FILE: a private key, or a public key whose private half the agent holds",
            )
        })
}

/// What is known of a key without its passphrase.
enum Known {
    Plain(KeyData),
    Certificate(Box<Certificate>),
}

/// As whom the key signs: `--principal`, else the only principal that `allowed_signers` (or the certificate) names for it.
pub(super) fn principal(
    given: Option<&str>,
    key: &Path,
    signers: &AllowedSigners,
) -> Result<String, Failure> {
    if let Some(principal) = given {
        return Ok(principal.to_owned());
    }
    let mut names: Vec<String> = match read(key)? {
        Known::Certificate(certificate) => certificate.valid_principals().to_vec(),
        Known::Plain(data) => signers
            .entries()
            .iter()
            .filter(|entry| !entry.cert_authority() && *entry.key() == data)
            .flat_map(|entry| entry.principals().as_str().split(','))
            .filter(|name| !name.contains(['*', '?', '!']))
            .map(str::to_owned)
            .collect(),
    };
    names.sort();
    names.dedup();
    match names.as_slice() {
        [only] => Ok(only.clone()),
        [] => Err(Failure::input(format!(
            "error: {}: expected a key that allowed_signers names a person for, found none\n  help: have the key added to allowed_signers on the trusted ref; if it is listed by a pattern, say who you are with --principal",
            visible(&key.display().to_string())
        ))),
        several => Err(Failure::input(format!(
            "error: {}: expected a key of one person, found several: {}\n  help: say who you are with --principal",
            visible(&key.display().to_string()),
            several
                .iter()
                .map(|n| quoted(n))
                .collect::<Vec<_>>()
                .join(", ")
        ))),
    }
}

/// The public half: the file itself if it is public, else out of the private key, which holds it in clear, or `FILE.pub`.
fn read(path: &Path) -> Result<Known, Failure> {
    let wrong = |what: &str| {
        Failure::input(format!(
            "error: {}: expected an SSH key, {what}\n  help: say who you are with --principal, or give another --key",
            visible(&path.display().to_string())
        ))
    };
    let bytes = files::read(path, MAX_KEY_BYTES).map_err(|e| wrong(&e.to_string()))?;
    let text = String::from_utf8(bytes).map_err(|_| wrong("found bytes that are no text"))?;
    if let Ok(key) = PrivateKey::from_openssh(&text) {
        return Ok(Known::Plain(key.public_key().key_data().clone()));
    }
    if let Some(known) = public(&text) {
        return Ok(known);
    }
    let mut beside = path.as_os_str().to_owned();
    beside.push(".pub");
    files::read(Path::new(&beside), MAX_KEY_BYTES)
        .ok()
        .and_then(|bytes| String::from_utf8(bytes).ok())
        .and_then(|text| public(&text))
        .ok_or_else(|| wrong("found something else, and no public key beside it"))
}

fn public(text: &str) -> Option<Known> {
    let text = text.trim();
    if let Ok(certificate) = Certificate::from_openssh(text) {
        return Some(Known::Certificate(Box::new(certificate)));
    }
    PublicKey::from_openssh(text)
        .ok()
        .map(|key| Known::Plain(key.key_data().clone()))
}
