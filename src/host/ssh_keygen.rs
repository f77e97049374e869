//! Signing with `ssh-keygen -Y sign`: agents, passphrases, security keys, certificates and PKCS#11 work as they do for the user.

use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

use crate::approval::NAMESPACE;
use crate::approval::ssh::{SignatureError, SshSignature};

/// The program, found on the path.
pub const PROGRAM: &str = "ssh-keygen";

/// The most of the program's words that an error repeats, in bytes.
const MAX_WORDS: usize = 2000;

/// A signature that was not made.
#[derive(Debug, thiserror::Error)]
pub enum SignError {
    /// No such program.
    #[error("{program:?} is not installed or not on the path: install OpenSSH 8.2 or later")]
    NoProgram {
        /// What was looked for.
        program: PathBuf,
    },
    /// No such key.
    #[error(
        "the key {} cannot be read ({source}): name a private key, or a public key whose private half the agent holds",
        key.display()
    )]
    NoKey {
        /// The file.
        key: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The passphrase was wrong, or there was no way to ask for it.
    #[error(
        "wrong passphrase for {}, or no terminal to ask for it: run in a terminal, or add the key to the agent (ssh-add)",
        key.display()
    )]
    Passphrase {
        /// The key.
        key: PathBuf,
    },
    /// The agent does not do it.
    #[error(
        "the SSH agent did not sign with {}: is it running (SSH_AUTH_SOCK), unlocked (ssh-add -X), and does it hold the key (ssh-add -l)?",
        key.display()
    )]
    Agent {
        /// The key.
        key: PathBuf,
    },
    /// It failed for another reason.
    #[error("ssh-keygen made no signature with {} ({status}){words}", key.display())]
    Failed {
        /// The key.
        key: PathBuf,
        /// How it ended.
        status: ExitStatus,
        /// What it said, or where that stands.
        words: String,
    },
    /// The message or signature file.
    #[error("cannot write or read the files for ssh-keygen: {0}")]
    Io(#[from] io::Error),
    /// What it made is not accepted here either.
    #[error("ssh-keygen made a signature that would not be accepted: {0}")]
    NotAccepted(#[from] SignatureError),
}

/// Signs `message` under the namespace of approvals, and checks that the signature holds.
///
/// `key` is a private key, or a public key (or certificate) whose private half an agent holds. Prompts go to the terminal.
///
/// # Errors
/// See [`SignError`].
pub fn sign(program: &Path, key: &Path, message: &[u8]) -> Result<SshSignature, SignError> {
    if let Err(source) = std::fs::File::open(key) {
        return Err(SignError::NoKey {
            key: key.to_owned(),
            source,
        });
    }
    // A file, not stdin: ssh-keygen asks for a passphrase only when stdin is the terminal.
    let folder = tempfile::Builder::new().prefix("bundlegate-").tempdir()?;
    let file = folder.path().join("approval");
    std::fs::write(&file, message)?;
    // A security key's "touch me" is shown only when stderr is a terminal; else we want the words for the error.
    let to_terminal = io::stderr().is_terminal();
    let output = Command::new(program)
        .args(["-Y", "sign", "-n", NAMESPACE, "-f"])
        .arg(key)
        .arg(&file)
        .env("LC_ALL", "C")
        .stdin(Stdio::inherit())
        .stdout(Stdio::null())
        .stderr(if to_terminal {
            Stdio::inherit()
        } else {
            Stdio::piped()
        })
        .output()
        .map_err(|error| match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied => SignError::NoProgram {
                program: program.to_owned(),
            },
            _ => SignError::Io(error),
        })?;
    if !output.status.success() {
        return Err(failure(key, output.status, &output.stderr, to_terminal));
    }
    let signature = SshSignature::from_pem(&std::fs::read_to_string(file.with_extension("sig"))?)?;
    signature.holds_over(message)?;
    Ok(signature)
}

fn failure(key: &Path, status: ExitStatus, stderr: &[u8], to_terminal: bool) -> SignError {
    let key = key.to_owned();
    if to_terminal {
        let words = ": its own words are above".to_owned();
        return SignError::Failed { key, status, words };
    }
    let kept = stderr.get(..MAX_WORDS).unwrap_or(stderr);
    let words = String::from_utf8_lossy(kept);
    let said = |parts: &[&str]| parts.iter().any(|part| words.contains(part));
    // The agent first: a public key that no agent holds is then tried as a private key.
    if said(&[
        "agent refused operation",
        "agent contains no identities",
        "communication with agent failed",
        "No private key found for",
        "Couldn't get agent socket",
    ]) {
        return SignError::Agent { key };
    }
    if said(&["incorrect passphrase", "bad passphrase"]) {
        return SignError::Passphrase { key };
    }
    let words = format!(": {:?}", words.trim());
    SignError::Failed { key, status, words }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;

    fn told(stderr: &str, to_terminal: bool) -> String {
        let status = ExitStatus::from_raw(255 << 8);
        failure(Path::new("k"), status, stderr.as_bytes(), to_terminal).to_string()
    }

    /// What OpenSSH 9.2 wrote.
    #[test]
    fn failures_in_words() {
        let report = [
            told(
                "Load key \"k\": incorrect passphrase supplied to decrypt private key\r\n",
                false,
            ),
            told("No private key found for public key \"k\"\r\n", false),
            told(
                "Signing file m\nCouldn't sign message (signer): agent refused operation\r\n",
                false,
            ),
            told("Load key \"k\": error in libcrypto\r\n", false),
            told("", true),
        ];
        insta::assert_snapshot!(report.join("\n"), @r#"
        wrong passphrase for k, or no terminal to ask for it: run in a terminal, or add the key to the agent (ssh-add)
        the SSH agent did not sign with k: is it running (SSH_AUTH_SOCK), unlocked (ssh-add -X), and does it hold the key (ssh-add -l)?
        the SSH agent did not sign with k: is it running (SSH_AUTH_SOCK), unlocked (ssh-add -X), and does it hold the key (ssh-add -l)?
        ssh-keygen made no signature with k (exit status: 255): "Load key \"k\": error in libcrypto"
        ssh-keygen made no signature with k (exit status: 255): its own words are above
        "#);
    }
}
