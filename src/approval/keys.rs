//! Which SSH keys are good enough, and their fingerprints.

use ssh_key::{HashAlg, PublicKey, public::KeyData};

/// The smallest RSA modulus that is accepted, in bits.
pub const MIN_RSA_BITS: u32 = 2048;

/// The largest RSA modulus that is accepted, in bits: larger ones only cost time.
pub const MAX_RSA_BITS: u32 = 8192;

/// The suffix of every OpenSSH certificate type.
pub(crate) const CERTIFICATE_SUFFIX: &str = "-cert-v01@openssh.com";

/// Why a public key is not accepted, whoever it belongs to.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// A DSA key.
    #[error("a DSA key, which is not accepted: use ed25519 (ssh-keygen -t ed25519)")]
    Dsa,
    /// An RSA key that is too small.
    #[error(
        "an RSA key of {bits} bits: expected at least {MIN_RSA_BITS}; use ed25519 (ssh-keygen -t ed25519)"
    )]
    RsaTooSmall {
        /// Bits of the modulus.
        bits: u32,
    },
    /// An RSA key that is too large.
    #[error("an RSA key of {bits} bits: expected at most {MAX_RSA_BITS}; use ed25519")]
    RsaTooLarge {
        /// Bits of the modulus.
        bits: u32,
    },
    /// A certificate where a plain key is needed.
    #[error("a certificate: list the key of its authority, with the option cert-authority")]
    Certificate,
    /// A key type that cannot be verified here.
    #[error(
        "a key of type {algorithm:?}: expected ed25519, ECDSA (P-256, P-384, P-521), RSA or a security key (sk-)"
    )]
    Unsupported {
        /// The type's name.
        algorithm: String,
    },
    /// Not a public key at all.
    #[error("not a public key in OpenSSH's form (`ssh-ed25519 AAAA...`)")]
    Malformed,
}

/// Is this a plain key of a kind and size that is accepted?
///
/// # Errors
/// Why not.
pub fn check_key(key: &KeyData) -> Result<(), KeyError> {
    match key {
        KeyData::Ed25519(_)
        | KeyData::Ecdsa(_)
        | KeyData::SkEd25519(_)
        | KeyData::SkEcdsaSha2NistP256(_) => Ok(()),
        KeyData::Rsa(rsa) => match rsa_bits(rsa.n().as_positive_bytes().unwrap_or_default()) {
            bits if bits < MIN_RSA_BITS => Err(KeyError::RsaTooSmall { bits }),
            bits if bits > MAX_RSA_BITS => Err(KeyError::RsaTooLarge { bits }),
            _ => Ok(()),
        },
        KeyData::Dsa(_) => Err(KeyError::Dsa),
        KeyData::Certificate(_) => Err(KeyError::Certificate),
        _ => Err(KeyError::Unsupported {
            algorithm: key.algorithm().as_str().to_owned(),
        }),
    }
}

/// `SHA256:...` of a plain key; for a certificate, that of the key inside it.
#[must_use]
pub fn fingerprint(key: &KeyData) -> String {
    inner_key(key).fingerprint(HashAlg::Sha256).to_string()
}

/// The key itself, out of its certificate if it is in one.
pub(crate) fn inner_key(key: &KeyData) -> &KeyData {
    key.certificate()
        .map_or(key, ssh_key::Certificate::public_key)
}

/// Reads `TYPE BASE64`, whatever white space is between them; what follows is a comment.
///
/// # Errors
/// [`KeyError::Malformed`], or [`KeyError::Certificate`] for a certificate. Size and kind are [`check_key`]'s business.
pub(crate) fn parse_key(text: &str) -> Result<KeyData, KeyError> {
    let mut words = text.split_ascii_whitespace();
    let (Some(kind), Some(data)) = (words.next(), words.next()) else {
        return Err(KeyError::Malformed);
    };
    if kind.ends_with(CERTIFICATE_SUFFIX) {
        return Err(KeyError::Certificate);
    }
    PublicKey::from_openssh(&format!("{kind} {data}"))
        .map(|key| key.key_data().clone())
        .map_err(|_| KeyError::Malformed)
}

/// The exact bits of a big-endian modulus: the library rounds up to whole bytes.
fn rsa_bits(modulus: &[u8]) -> u32 {
    let significant = modulus
        .iter()
        .position(|&b| b != 0)
        .and_then(|at| modulus.get(at..))
        .unwrap_or_default();
    let zeros = significant.first().map_or(0, |b| b.leading_zeros());
    u32::try_from(significant.len())
        .unwrap_or(u32::MAX)
        .saturating_mul(8)
        .saturating_sub(zeros)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rsa_bits_are_exact() {
        assert_eq!(rsa_bits(&[]), 0);
        assert_eq!(rsa_bits(&[0, 0x01, 0xff]), 9);
        assert_eq!(rsa_bits(&[0x80; 256]), 2048);
        assert_eq!(rsa_bits(&[0x7f; 256]), 2047);
    }
}
