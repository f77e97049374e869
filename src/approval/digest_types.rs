//! Digests as types: what was parsed once needs no second look.

use std::fmt;
use std::io::{self, Read};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// The prefix of an intent digest.
const INTENT_PREFIX: &str = "bgi1:";

/// A text that is not the digest it should be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected {expected}, found {found:?}")]
pub struct DigestError {
    expected: &'static str,
    found: String,
}

impl DigestError {
    fn new(expected: &'static str, found: &str) -> Self {
        // A hostile value may be long; the first characters are enough to recognise it.
        Self {
            expected,
            found: found.chars().take(100).collect(),
        }
    }
}

fn is_lower_hex(text: &str, lengths: &[usize]) -> bool {
    lengths.contains(&text.len())
        && text
            .bytes()
            .all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
}

/// A SHA-256 as 64 lower-case hex digits, as `sha256sum` prints it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Sha256Hex(String);

impl Sha256Hex {
    /// Takes 64 lower-case hex digits.
    ///
    /// # Errors
    /// Anything else, upper case included: one digest has one spelling.
    pub fn new(text: &str) -> Result<Self, DigestError> {
        if is_lower_hex(text, &[64]) {
            Ok(Self(text.to_owned()))
        } else {
            Err(DigestError::new(
                "a SHA-256 of 64 lower-case hex digits",
                text,
            ))
        }
    }

    /// The digest of some bytes.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self(hex::encode(Sha256::digest(bytes)))
    }

    /// The digest and the number of bytes of everything that a reader gives.
    ///
    /// # Errors
    /// The reader's own.
    pub fn of_reader(reader: &mut impl Read) -> io::Result<(Self, u64)> {
        let mut hasher = Sha256::new();
        let mut buffer = vec![0_u8; 64 * 1024];
        let mut size = 0_u64;
        loop {
            let read = match reader.read(&mut buffer) {
                Ok(0) => return Ok((Self(hex::encode(hasher.finalize())), size)),
                Ok(read) => read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            hasher.update(buffer.get(..read).unwrap_or_default());
            size = size.saturating_add(read as u64);
        }
    }

    /// All 64 digits.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The first 12 digits: what people type and what file names carry. Never compared in place of the whole.
    #[must_use]
    pub fn short(&self) -> &str {
        self.0.get(..12).unwrap_or(&self.0)
    }
}

/// An intent digest: `bgi1:` and 64 lower-case hex digits.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct IntentDigest(String);

impl IntentDigest {
    /// The digest of some bytes: the domain's prefix and the canonical form.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self(format!(
            "{INTENT_PREFIX}{}",
            hex::encode(Sha256::digest(bytes))
        ))
    }

    /// Takes the whole text, prefix included.
    ///
    /// # Errors
    /// Another prefix, or not 64 lower-case hex digits after it.
    pub fn new(text: &str) -> Result<Self, DigestError> {
        match text.strip_prefix(INTENT_PREFIX) {
            Some(digits) if is_lower_hex(digits, &[64]) => Ok(Self(text.to_owned())),
            _ => Err(DigestError::new(
                "an intent digest, `bgi1:` and 64 lower-case hex digits",
                text,
            )),
        }
    }

    /// The whole text, prefix included.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The name of a git object: 40 (SHA-1) or 64 (SHA-256) lower-case hex digits.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct GitObjectId(String);

impl GitObjectId {
    /// Takes a full object name.
    ///
    /// # Errors
    /// An abbreviated name or anything else that is not 40 or 64 lower-case hex digits.
    pub fn new(text: &str) -> Result<Self, DigestError> {
        if is_lower_hex(text, &[40, 64]) {
            Ok(Self(text.to_owned()))
        } else {
            Err(DigestError::new(
                "a full git object name of 40 or 64 lower-case hex digits",
                text,
            ))
        }
    }

    /// All digits.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

macro_rules! text_type {
    ($name:ident) => {
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl TryFrom<String> for $name {
            type Error = DigestError;

            fn try_from(text: String) -> Result<Self, DigestError> {
                Self::new(&text)
            }
        }

        impl From<$name> for String {
            fn from(value: $name) -> Self {
                value.0
            }
        }

        impl std::str::FromStr for $name {
            type Err = DigestError;

            fn from_str(text: &str) -> Result<Self, DigestError> {
                Self::new(text)
            }
        }
    };
}

text_type!(Sha256Hex);
text_type!(IntentDigest);
text_type!(GitObjectId);

#[cfg(test)]
mod tests {
    use super::*;

    const EMPTY: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

    #[test]
    fn one_spelling_only() {
        assert_eq!(Sha256Hex::of(b"").as_str(), EMPTY);
        assert_eq!(Sha256Hex::new(EMPTY).unwrap().short(), "e3b0c44298fc");
        for wrong in [
            "",
            &EMPTY[1..],
            &EMPTY.to_uppercase(),
            &format!("{EMPTY}0"),
            &EMPTY.replace('e', "é"),
        ] {
            assert!(Sha256Hex::new(wrong).is_err(), "{wrong}");
        }
        assert!(IntentDigest::new(EMPTY).is_err());
        assert!(IntentDigest::new(&format!("bgi2:{EMPTY}")).is_err());
        assert!(IntentDigest::new(&format!("bgi1:{EMPTY}")).is_ok());
        assert!(GitObjectId::new(&EMPTY[..40]).is_ok());
        assert!(GitObjectId::new(EMPTY).is_ok());
        assert!(GitObjectId::new(&EMPTY[..39]).is_err());
    }

    #[test]
    fn json_is_checked_too() {
        assert!(serde_json::from_str::<Sha256Hex>(&format!("\"{EMPTY}\"")).is_ok());
        let error = serde_json::from_str::<Sha256Hex>("\"abc\"").unwrap_err();
        insta::assert_snapshot!(error, @r#"expected a SHA-256 of 64 lower-case hex digits, found "abc""#);
    }

    #[test]
    fn a_reader_gives_the_same_digest() {
        let bytes = vec![7_u8; 200_000];
        let (digest, size) = Sha256Hex::of_reader(&mut bytes.as_slice()).unwrap();
        assert_eq!((digest, size), (Sha256Hex::of(&bytes), 200_000));
    }
}
