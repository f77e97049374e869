//! Keys that no longer count: a file of public keys or SHA-256 fingerprints, one a line.

use std::collections::BTreeSet;

use ssh_key::{Fingerprint, public::KeyData};

use super::keys;

/// The largest revocation file that is read, in bytes.
pub const MAX_REVOKED_BYTES: usize = 1024 * 1024;

/// A revocation file that cannot be read. A line that is not understood might be the key that matters, so all is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RevokedError {
    /// Too large.
    #[error("the file of revoked keys has {found} bytes: expected at most {MAX_REVOKED_BYTES}")]
    TooLarge {
        /// Its size in bytes.
        found: usize,
    },
    /// OpenSSH's binary form.
    #[error(
        "the file of revoked keys is an OpenSSH KRL: expected public keys or fingerprints (SHA256:...), one a line"
    )]
    Krl,
    /// Not text.
    #[error(
        "the file of revoked keys is not UTF-8: expected public keys or fingerprints (SHA256:...), one a line"
    )]
    NotText,
    /// A line that is neither.
    #[error(
        "line {line} of the revoked keys is neither a public key (`ssh-ed25519 AAAA...`) nor a fingerprint (`SHA256:...`)"
    )]
    Line {
        /// From 1.
        line: usize,
    },
}

/// The fingerprints of keys that must not be accepted any more.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RevokedKeys {
    fingerprints: BTreeSet<String>,
}

impl RevokedKeys {
    /// Reads a revocation file. Blank lines and lines that start with `#` are comments; so is what follows a key.
    ///
    /// # Errors
    /// Any line that is not understood, and a file that is too large or binary.
    pub fn parse(bytes: &[u8]) -> Result<Self, RevokedError> {
        if bytes.len() > MAX_REVOKED_BYTES {
            return Err(RevokedError::TooLarge { found: bytes.len() });
        }
        if bytes.starts_with(b"SSHKRL\n\0") {
            return Err(RevokedError::Krl);
        }
        let text = std::str::from_utf8(bytes).map_err(|_| RevokedError::NotText)?;
        let mut fingerprints = BTreeSet::new();
        for (index, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let found = fingerprint_of(line).ok_or(RevokedError::Line {
                line: index.saturating_add(1),
            })?;
            fingerprints.insert(found);
        }
        Ok(Self { fingerprints })
    }

    /// How many keys are revoked.
    #[must_use]
    pub fn len(&self) -> usize {
        self.fingerprints.len()
    }

    /// Is nothing revoked?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.fingerprints.is_empty()
    }

    /// The fingerprint that makes this key unacceptable: its own, or that of the authority of its certificate.
    #[must_use]
    pub fn hit(&self, key: &KeyData) -> Option<String> {
        let own = keys::fingerprint(key);
        if self.fingerprints.contains(&own) {
            return Some(own);
        }
        let authority = keys::fingerprint(key.certificate()?.signature_key());
        self.fingerprints.contains(&authority).then_some(authority)
    }
}

fn fingerprint_of(line: &str) -> Option<String> {
    let word = line.split_ascii_whitespace().next()?;
    if word.starts_with("SHA256:") {
        let parsed: Fingerprint = word.parse().ok()?;
        // One spelling: a fingerprint that reads back differently would never be found again.
        (parsed.is_sha256() && parsed.to_string() == word).then(|| word.to_owned())
    } else {
        keys::parse_key(line)
            .ok()
            .map(|key| keys::fingerprint(&key))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const KEY: &str =
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAILM+rvN+ot98qgEN796jTiQfZfG1KaT0PtFDJ/XFSqti";
    const FINGERPRINT: &str = "SHA256:UCUiLr7Pjs9wFFJMDByLgc3NrtdU344OgUM45wZPcIQ";

    #[test]
    fn keys_and_fingerprints() {
        let key = keys::parse_key(KEY).unwrap();
        assert_eq!(keys::fingerprint(&key), FINGERPRINT);
        for text in [
            KEY.to_owned(),
            format!("# old laptop\r\n\r\n  {KEY} me@laptop\r\n"),
            FINGERPRINT.to_owned(),
            format!("{FINGERPRINT} me@laptop"),
        ] {
            let revoked = RevokedKeys::parse(text.as_bytes()).unwrap();
            assert_eq!(revoked.hit(&key).as_deref(), Some(FINGERPRINT), "{text}");
        }
        assert!(RevokedKeys::parse(b"").unwrap().hit(&key).is_none());
    }

    #[test]
    fn a_line_that_is_not_understood_is_an_error() {
        let longer = format!("{FINGERPRINT}=");
        let cut = &FINGERPRINT[..FINGERPRINT.len() - 1];
        for text in [
            "x",
            "ssh-ed25519",
            "MD5:aa:bb",
            "SHA256:",
            cut,
            longer.as_str(),
            "ssh-ed25519 AAAA",
        ] {
            let file = format!("# first\n{text}\n");
            assert_eq!(
                RevokedKeys::parse(file.as_bytes()),
                Err(RevokedError::Line { line: 2 }),
                "{text}"
            );
        }
        assert_eq!(RevokedKeys::parse(b"SSHKRL\n\0xyz"), Err(RevokedError::Krl));
        assert_eq!(RevokedKeys::parse(b"\xff"), Err(RevokedError::NotText));
        assert!(RevokedKeys::parse(&vec![b'\n'; MAX_REVOKED_BYTES + 1]).is_err());
    }

    proptest! {
        #[test]
        fn never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = RevokedKeys::parse(&bytes);
        }
    }
}
