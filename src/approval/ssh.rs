//! SSH signatures (SSHSIG) over an approval: whose is it, and does it hold over exactly these bytes?
//!
//! The format is OpenSSH's `PROTOCOL.sshsig`. What `ssh-keygen -Y verify` checks is checked here, and beyond it: RSA below
//! 2048 bits, RSA with SHA-1 and DSA are refused, a security key must have been touched, and a certificate with any critical
//! option is refused.

use jiff::Timestamp;
use ssh_key::{
    Algorithm, Certificate, HashAlg, LineEnding, PublicKey, Signature, SshSig,
    certificate::CertType, public::KeyData,
};

use super::NAMESPACE;
use super::allowed_signers::{AllowedSigners, Entry};
use super::keys::{self, KeyError};
use super::refusal::Refusal;
use super::revoked::RevokedKeys;

/// The largest signature that is read, in bytes of its armoured form.
pub const MAX_SIGNATURE_BYTES: usize = 64 * 1024;

/// The user-presence bit in the flags of a security key's signature (FIDO U2F raw messages).
const USER_PRESENT: u8 = 0x01;

/// The flags and the counter that end a security key's signature, in bytes.
const SECURITY_KEY_TRAILER: usize = 5;

/// Whose signatures are accepted.
#[derive(Debug, Clone, Copy)]
pub struct SshTrust<'a> {
    /// Who may sign.
    pub signers: &'a AllowedSigners,
    /// Which keys no longer count.
    pub revoked: &'a RevokedKeys,
}

/// Who made a signature that holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signer {
    /// The principal that the signer claimed and that `allowed_signers` grants to the key.
    pub principal: String,
    /// `SHA256:...` of the key that signed (of the key inside, for a certificate).
    pub key: String,
    /// The key's type, such as `ssh-ed25519`.
    pub key_type: String,
    /// The line of `allowed_signers` that grants it, from 1.
    pub line: usize,
    /// The certificate, if the signature was made with one.
    pub certificate: Option<CertificateFacts>,
}

/// What an audit wants to know of a certificate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CertificateFacts {
    /// The authority's serial number of it.
    pub serial: u64,
    /// The authority's free text for it.
    pub key_id: String,
    /// `SHA256:...` of the authority's key.
    pub authority: String,
}

/// Why a signature is not accepted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SignatureError {
    /// Not an SSH signature.
    #[error(
        "expected an SSH signature (SSHSIG) of at most {MAX_SIGNATURE_BYTES} bytes, found something else"
    )]
    Malformed,
    /// Made for another purpose.
    #[error("expected a signature for the namespace {NAMESPACE}, found {found:?}")]
    Namespace {
        /// The namespace in the signature.
        found: String,
    },
    /// A weak or unknown key.
    #[error("the signature was made with {0}")]
    Key(#[from] KeyError),
    /// A signature algorithm that does not go with the key, or RSA with SHA-1.
    #[error(
        "expected a signature algorithm of {key}, found {found} (RSA: rsa-sha2-256 or rsa-sha2-512)"
    )]
    Algorithm {
        /// The key's type.
        key: String,
        /// The signature's algorithm.
        found: String,
    },
    /// The mathematics say no.
    #[error("the signature of key {key} does not hold over these bytes")]
    DoesNotHold {
        /// The key's fingerprint.
        key: String,
    },
    /// Nobody touched the security key.
    #[error("the security key {key} signed without being touched")]
    NotTouched {
        /// The key's fingerprint.
        key: String,
    },
    /// Revoked.
    #[error("the key {key} is revoked")]
    Revoked {
        /// The fingerprint that is listed as revoked.
        key: String,
    },
    /// Not in the file.
    #[error("the key {key} is not in allowed_signers")]
    NotListed {
        /// The key's fingerprint, or the authority's for a certificate.
        key: String,
    },
    /// In the file, but for others.
    #[error(
        "line {line} of allowed_signers lists the key {key} for {listed:?}, not for {principal:?}"
    )]
    OtherPrincipal {
        /// The line.
        line: usize,
        /// The key's fingerprint.
        key: String,
        /// The principals on the line.
        listed: String,
        /// The principal that the approval claims.
        principal: String,
    },
    /// In the file, but for other namespaces.
    #[error("line {line} of allowed_signers allows the namespaces {allowed:?}, not {NAMESPACE}")]
    OtherNamespaces {
        /// The line.
        line: usize,
        /// The namespaces on the line.
        allowed: String,
    },
    /// Too early.
    #[error("line {line} of allowed_signers: the key is valid from {from}, now is {now}")]
    NotYetValid {
        /// The line.
        line: usize,
        /// `valid-after`.
        from: Timestamp,
        /// The time of the check.
        now: Timestamp,
    },
    /// Too late.
    #[error("line {line} of allowed_signers: the key was valid until {until}, now is {now}")]
    NoLongerValid {
        /// The line.
        line: usize,
        /// `valid-before`.
        until: Timestamp,
        /// The time of the check.
        now: Timestamp,
    },
    /// The certificate does not stand.
    #[error("certificate {key_id:?} (serial {serial}): expected {expected}, found {found}")]
    Certificate {
        /// The authority's free text for it.
        key_id: String,
        /// The authority's serial number of it.
        serial: u64,
        /// What was expected.
        expected: &'static str,
        /// What was found.
        found: String,
    },
}

impl SignatureError {
    /// The stable name of the check that failed.
    #[must_use]
    pub fn check(&self) -> &'static str {
        match self {
            Self::Malformed | Self::DoesNotHold { .. } => "signature",
            Self::Namespace { .. } => "namespace",
            Self::Key(_) | Self::Algorithm { .. } => "key-strength",
            Self::NotTouched { .. } => "user-presence",
            Self::Revoked { .. } => "revoked",
            Self::NotListed { .. } | Self::OtherPrincipal { .. } => "signer",
            Self::OtherNamespaces { .. } => "signer-namespace",
            Self::NotYetValid { .. } | Self::NoLongerValid { .. } => "signer-validity",
            Self::Certificate { .. } => "certificate",
        }
    }

    fn remedy(&self) -> &'static str {
        match self {
            Self::Malformed | Self::DoesNotHold { .. } => {
                "The approval or its signature was changed after signing: approve again."
            }
            Self::Namespace { .. } => {
                "Sign with `bundlegate approve`; signatures made for other purposes do not count."
            }
            Self::Key(_) | Self::Algorithm { .. } => "Approve with an ed25519 key.",
            Self::NotTouched { .. } => {
                "Use a key made without `no-touch-required`, and touch it when it blinks."
            }
            Self::Revoked { .. } => "Approve with a key that is not revoked.",
            Self::NotListed { .. } | Self::OtherPrincipal { .. } => {
                "Add the key to allowed_signers on the trusted branch, or let someone who is listed approve."
            }
            Self::OtherNamespaces { .. } => {
                "Add the namespace to the line's `namespaces=` on the trusted branch."
            }
            Self::NotYetValid { .. } | Self::NoLongerValid { .. } => {
                "Approve with a key that is valid now, or change its dates on the trusted branch."
            }
            Self::Certificate { .. } => {
                "Get a certificate that is valid now and names you, and approve again."
            }
        }
    }

    /// The same in the shape that all checks share.
    #[must_use]
    pub fn refusal(&self) -> Refusal {
        let expected = match self {
            Self::Malformed | Self::DoesNotHold { .. } => {
                "a signature over exactly this approval".to_owned()
            }
            Self::Namespace { .. } => format!("the namespace {NAMESPACE}"),
            Self::Key(_) | Self::Algorithm { .. } => {
                format!(
                    "ed25519, ECDSA, a security key, or RSA of at least {} bits with SHA-2",
                    keys::MIN_RSA_BITS
                )
            }
            Self::NotTouched { .. } => "a security key that was touched".to_owned(),
            Self::Revoked { .. } => "a key that is not revoked".to_owned(),
            Self::NotListed { .. } => "a key in allowed_signers".to_owned(),
            Self::OtherPrincipal { principal, .. } => format!("a key listed for {principal:?}"),
            Self::OtherNamespaces { .. } => format!("a key allowed for {NAMESPACE}"),
            Self::NotYetValid { .. } | Self::NoLongerValid { .. } => {
                "a key that is valid now".to_owned()
            }
            Self::Certificate { expected, .. } => (*expected).to_owned(),
        };
        Refusal::new(self.check(), expected, self.to_string(), self.remedy())
    }
}

/// An SSH signature that is well-formed, of our namespace and made with a key that is strong enough. It need not hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SshSignature(SshSig);

impl SshSignature {
    /// Reads the binary form, as an envelope carries it.
    ///
    /// # Errors
    /// See [`SignatureError`]; bytes after the signature are [`SignatureError::Malformed`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, SignatureError> {
        use ssh_key::encoding::{Decode, Reader};

        if bytes.len() > MAX_SIGNATURE_BYTES {
            return Err(SignatureError::Malformed);
        }
        let mut reader = bytes;
        let parsed = SshSig::decode(&mut reader).map_err(|_| SignatureError::Malformed)?;
        let parsed = reader
            .finish(parsed)
            .map_err(|_: ssh_key::encoding::Error| SignatureError::Malformed)?;
        let signature = Self::accept(parsed)?;
        // One signature has one spelling: what reads back differently is refused.
        if signature.to_bytes()? == bytes {
            Ok(signature)
        } else {
            Err(SignatureError::Malformed)
        }
    }

    /// Reads the armoured form that `ssh-keygen -Y sign` writes.
    ///
    /// # Errors
    /// See [`SignatureError`].
    pub fn from_pem(text: &str) -> Result<Self, SignatureError> {
        if text.len() > MAX_SIGNATURE_BYTES {
            return Err(SignatureError::Malformed);
        }
        Self::accept(SshSig::from_pem(text).map_err(|_| SignatureError::Malformed)?)
    }

    /// The binary form.
    ///
    /// # Errors
    /// Only if the library cannot write what it read.
    pub fn to_bytes(&self) -> Result<Vec<u8>, SignatureError> {
        use ssh_key::encoding::Encode;

        self.0.encode_vec().map_err(|_| SignatureError::Malformed)
    }

    /// The armoured form, for `ssh-keygen -Y verify -s`.
    ///
    /// # Errors
    /// Only if the library cannot write what it read.
    pub fn to_pem(&self) -> Result<String, SignatureError> {
        self.0
            .to_pem(LineEnding::LF)
            .map_err(|_| SignatureError::Malformed)
    }

    /// `SHA256:...` of the key that signed.
    #[must_use]
    pub fn key(&self) -> String {
        keys::fingerprint(self.0.public_key())
    }

    fn accept(signature: SshSig) -> Result<Self, SignatureError> {
        if signature.version() != SshSig::VERSION || !signature.reserved().is_empty() {
            return Err(SignatureError::Malformed);
        }
        if signature.namespace() != NAMESPACE {
            return Err(SignatureError::Namespace {
                found: signature.namespace().chars().take(100).collect(),
            });
        }
        if !matches!(signature.hash_alg(), HashAlg::Sha256 | HashAlg::Sha512) {
            return Err(SignatureError::Malformed);
        }
        let key = keys::inner_key(signature.public_key());
        keys::check_key(key)?;
        check_algorithm(key, signature.signature())?;
        Ok(Self(signature))
    }

    /// Does it hold over these bytes, and was a security key touched? Says nothing about whose it is.
    ///
    /// # Errors
    /// [`SignatureError::DoesNotHold`], [`SignatureError::NotTouched`].
    pub fn holds_over(&self, message: &[u8]) -> Result<(), SignatureError> {
        let key = keys::inner_key(self.0.public_key());
        let does_not_hold = || SignatureError::DoesNotHold { key: self.key() };
        // The library cannot verify with a certificate: the same signature on the key inside says the same.
        let bare = SshSig::new(
            key.clone(),
            self.0.namespace(),
            self.0.hash_alg(),
            self.0.signature().clone(),
        )
        .map_err(|_| does_not_hold())?;
        PublicKey::new(key.clone(), "")
            .verify(NAMESPACE, message, &bare)
            .map_err(|_| does_not_hold())?;
        if user_present(key, self.0.signature()) {
            Ok(())
        } else {
            Err(SignatureError::NotTouched { key: self.key() })
        }
    }

    /// Is this `principal`'s signature over `message`, by a key that counts at `now`?
    ///
    /// # Errors
    /// The check that failed; where several lines of `allowed_signers` name the key, the last line that came close.
    pub fn verify(
        &self,
        message: &[u8],
        principal: &str,
        trust: SshTrust<'_>,
        now: Timestamp,
    ) -> Result<Signer, SignatureError> {
        self.holds_over(message)?;
        let key = self.0.public_key();
        if let Some(key) = trust.revoked.hit(key) {
            return Err(SignatureError::Revoked { key });
        }
        // A certificate is accepted through its authority alone, a bare key through its own line alone.
        let certificate = key.certificate();
        let listed_key = certificate.map_or(key, Certificate::signature_key);
        let mut refused = SignatureError::NotListed {
            key: keys::fingerprint(listed_key),
        };
        for entry in trust.signers.entries() {
            if entry.cert_authority() != certificate.is_some() || entry.key() != listed_key {
                continue;
            }
            if !entry.principals().matches(principal) {
                if matches!(refused, SignatureError::NotListed { .. }) {
                    refused = SignatureError::OtherPrincipal {
                        line: entry.line(),
                        key: keys::fingerprint(listed_key),
                        listed: entry.principals().as_str().to_owned(),
                        principal: principal.to_owned(),
                    };
                }
                continue;
            }
            let checked = certificate
                .map_or(Ok(()), |c| check_certificate(c, principal, now))
                .and_then(|()| check_entry(entry, now));
            match checked {
                Ok(()) => {
                    return Ok(Signer {
                        principal: principal.to_owned(),
                        key: self.key(),
                        key_type: keys::inner_key(key).algorithm().as_str().to_owned(),
                        line: entry.line(),
                        certificate: certificate.map(|c| CertificateFacts {
                            serial: c.serial(),
                            key_id: c.key_id().to_owned(),
                            authority: keys::fingerprint(c.signature_key()),
                        }),
                    });
                }
                Err(error) => refused = error,
            }
        }
        Err(refused)
    }
}

fn check_entry(entry: &Entry, now: Timestamp) -> Result<(), SignatureError> {
    let line = entry.line();
    if let Some(allowed) = entry.namespaces().filter(|n| !n.matches(NAMESPACE)) {
        return Err(SignatureError::OtherNamespaces {
            line,
            allowed: allowed.as_str().to_owned(),
        });
    }
    if let Some(from) = entry.valid_after().filter(|&from| now < from) {
        return Err(SignatureError::NotYetValid { line, from, now });
    }
    if let Some(until) = entry.valid_before().filter(|&until| now > until) {
        return Err(SignatureError::NoLongerValid { line, until, now });
    }
    Ok(())
}

fn check_certificate(
    certificate: &Certificate,
    principal: &str,
    now: Timestamp,
) -> Result<(), SignatureError> {
    let refuse = |expected: &'static str, found: String| {
        Err(SignatureError::Certificate {
            key_id: certificate.key_id().chars().take(100).collect(),
            serial: certificate.serial(),
            expected,
            found,
        })
    };
    if certificate.cert_type() != CertType::User {
        return refuse("a user certificate", "a host certificate".to_owned());
    }
    let authority = certificate.signature_key();
    keys::check_key(authority)?;
    check_algorithm(authority, certificate.signature())?;
    if !user_present(authority, certificate.signature()) {
        return refuse(
            "an authority's security key that was touched",
            "an untouched one".to_owned(),
        );
    }
    // Before 1970 nothing is valid.
    let seconds = u64::try_from(now.as_second()).unwrap_or(0);
    if seconds < certificate.valid_after() {
        return refuse(
            "a certificate that is valid now",
            format!(
                "one that begins at {}",
                unix_time(certificate.valid_after())
            ),
        );
    }
    if seconds >= certificate.valid_before() {
        return refuse(
            "a certificate that is valid now",
            format!(
                "one that ended at {}",
                unix_time(certificate.valid_before())
            ),
        );
    }
    if !certificate
        .valid_principals()
        .iter()
        .any(|p| p == principal)
    {
        return refuse(
            "a certificate that names the approver",
            format!("one for {:?}", certificate.valid_principals()),
        );
    }
    if let Some(option) = certificate.critical_options().keys().next() {
        return refuse(
            "a certificate without critical options",
            format!("the option {option:?}"),
        );
    }
    let trusted = [authority.fingerprint(HashAlg::Sha256)];
    match certificate.validate_at(seconds, &trusted) {
        Ok(()) => Ok(()),
        Err(_) => refuse(
            "a certificate that its authority signed",
            "a signature that does not hold".to_owned(),
        ),
    }
}

fn unix_time(seconds: u64) -> String {
    i64::try_from(seconds)
        .ok()
        .and_then(|seconds| Timestamp::from_second(seconds).ok())
        .map_or_else(
            || format!("{seconds} s after 1970"),
            |time| time.to_string(),
        )
}

/// A key signs with its own algorithm only; RSA with SHA-2 only.
fn check_algorithm(key: &KeyData, signature: &Signature) -> Result<(), SignatureError> {
    let fits = match (key.algorithm(), signature.algorithm()) {
        (Algorithm::Rsa { .. }, Algorithm::Rsa { hash }) => hash.is_some(),
        (key, signature) => key == signature,
    };
    if fits {
        return Ok(());
    }
    Err(SignatureError::Algorithm {
        key: key.algorithm().as_str().to_owned(),
        found: signature.algorithm().as_str().to_owned(),
    })
}

/// The library verifies the flags of a security key's signature but does not look at them.
fn user_present(key: &KeyData, signature: &Signature) -> bool {
    if !key.is_sk_ed25519() && !key.is_sk_ecdsa_p256() {
        return true;
    }
    let bytes = signature.as_bytes();
    bytes
        .len()
        .checked_sub(SECURITY_KEY_TRAILER)
        .and_then(|at| bytes.get(at))
        .is_some_and(|flags| flags & USER_PRESENT != 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::approval::testing::{key, public_line, sign, sign_as, signers, time};
    use proptest::prelude::*;
    use sha2::{Digest, Sha256};
    use ssh_key::private::Ed25519Keypair;
    use ssh_key::public::SkEd25519;

    const NOW: &str = "2026-11-30T12:00:00Z";

    fn try_verify(
        signature: &SshSignature,
        list: &str,
        revoked: &str,
    ) -> Result<Signer, SignatureError> {
        let revoked = RevokedKeys::parse(revoked.as_bytes()).unwrap();
        let trust = SshTrust {
            signers: &signers(list),
            revoked: &revoked,
        };
        signature.verify(b"message", "a@x", trust, time(NOW))
    }

    #[test]
    fn every_refusal_has_its_check() {
        let own = key(1);
        let line = public_line(&own);
        let fingerprint = own.fingerprint(HashAlg::Sha256).to_string();
        let good = sign(&own, b"message");
        assert_eq!(
            try_verify(&good, &format!("a@x {line}"), "").unwrap().key,
            fingerprint
        );
        assert_eq!(
            try_verify(&good, &format!("b@x {line}\n*@x,!b@x {line}"), "")
                .unwrap()
                .line,
            2
        );
        let cases = [
            ("a@x", "", "signer", public_line(&key(2))),
            ("b@x", "", "signer", line.clone()),
            ("*,!a@x", "", "signer", line.clone()),
            ("a@x cert-authority", "", "signer", line.clone()),
            (
                "a@x namespaces=\"git\"",
                "",
                "signer-namespace",
                line.clone(),
            ),
            (
                "a@x valid-after=\"20261201Z\"",
                "",
                "signer-validity",
                line.clone(),
            ),
            (
                "a@x valid-before=\"20261130Z\"",
                "",
                "signer-validity",
                line.clone(),
            ),
            ("a@x", fingerprint.as_str(), "revoked", line.clone()),
            ("a@x", line.as_str(), "revoked", line.clone()),
        ];
        for (head, revoked, check, listed) in cases {
            let error = try_verify(&good, &format!("{head} {listed}"), revoked).unwrap_err();
            assert_eq!(error.check(), check, "{head}");
            assert_eq!(error.refusal().check, check);
        }
        let other = sign(&own, b"another message");
        let error = try_verify(&other, &format!("a@x {line}"), "").unwrap_err();
        assert_eq!(error.check(), "signature");
    }

    #[test]
    fn another_namespace_is_refused_when_read() {
        let pem = sign_as(&key(1), "git", b"message")
            .to_pem(LineEnding::LF)
            .unwrap();
        let error = SshSignature::from_pem(&pem).unwrap_err();
        insta::assert_snapshot!(error, @r#"expected a signature for the namespace bundlegate-approval@v1, found "git""#);
        assert_eq!(error.check(), "namespace");
    }

    /// What a security key makes, with the flags that we want.
    fn security_key_signature(flags: u8, message: &[u8]) -> SshSignature {
        let pair = Ed25519Keypair::from_seed(&[9; 32]);
        let data = SshSig::signed_data(NAMESPACE, HashAlg::Sha512, message).unwrap();
        let mut signed = Sha256::digest(b"ssh:").to_vec();
        signed.push(flags);
        signed.extend(5_u32.to_be_bytes());
        signed.extend(Sha256::digest(&data));
        let inner = signature_over(&ssh_key::PrivateKey::from(pair.clone()), &signed);
        let mut bytes = inner.as_bytes().to_vec();
        bytes.push(flags);
        bytes.extend(5_u32.to_be_bytes());
        let public = KeyData::SkEd25519(SkEd25519::new(pair.public, "ssh:"));
        let signature = Signature::new(Algorithm::SkEd25519, bytes).unwrap();
        SshSignature::accept(SshSig::new(public, NAMESPACE, HashAlg::Sha512, signature).unwrap())
            .unwrap()
    }

    fn signature_over(key: &impl ssh_key::SigningKey, bytes: &[u8]) -> Signature {
        key.try_sign(bytes).unwrap()
    }

    #[test]
    fn a_security_key_must_be_touched() {
        let touched = security_key_signature(0x01, b"message");
        let public = PublicKey::new(touched.0.public_key().clone(), "");
        let list = format!("a@x {}", public.to_openssh().unwrap());
        assert!(try_verify(&touched, &list, "").is_ok());
        assert!(try_verify(&security_key_signature(0x05, b"message"), &list, "").is_ok());
        for flags in [0x00, 0x04] {
            let error =
                try_verify(&security_key_signature(flags, b"message"), &list, "").unwrap_err();
            assert_eq!(error.check(), "user-presence");
        }
        let reread = SshSignature::from_bytes(&touched.to_bytes().unwrap()).unwrap();
        assert_eq!(reread, touched);
    }

    proptest! {
        #[test]
        fn reading_never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let mut framed = b"SSHSIG\0\0\0\x01".to_vec();
            framed.extend(&bytes);
            let _ = SshSignature::from_bytes(&bytes);
            let _ = SshSignature::from_bytes(&framed);
            let _ = SshSignature::from_pem(&String::from_utf8_lossy(&bytes));
        }
    }

    proptest! {
        // Signatures are slow without optimisation.
        #![proptest_config(ProptestConfig::with_cases(48))]

        #[test]
        fn a_flipped_bit_never_holds(at in 0_usize..1000, bit in 0_u8..8) {
            let mut bytes = sign(&key(1), b"message").to_bytes().unwrap();
            let at = at % bytes.len();
            bytes[at] ^= 1 << bit;
            let list = format!("a@x {}", public_line(&key(1)));
            let verified = SshSignature::from_bytes(&bytes).and_then(|s| try_verify(&s, &list, ""));
            prop_assert!(verified.is_err());
        }
    }
}
