//! The DSSE envelope around a statement, and the two files with which `ssh-keygen -Y verify` checks it.
//!
//! DSSE v1.0.0 (secure-systems-lab/dsse, `protocol.md`). What is signed is the pre-authentication encoding of type and
//! payload; `sig` holds the SSHSIG in its binary form.

use base64ct::{Base64, Encoding};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::refusal::Refusal;
use super::ssh::{SignatureError, Signer, SshSignature, SshTrust};
use super::statement::{Statement, StatementError};

/// The payload type of every in-toto Statement in DSSE.
pub const PAYLOAD_TYPE: &str = "application/vnd.in-toto+json";

/// The largest approval file that is read, in bytes.
pub const MAX_ENVELOPE_BYTES: usize = 2 * 1024 * 1024;

/// An approval file that cannot be read. Nothing in it is believed.
#[derive(Debug, thiserror::Error)]
pub enum EnvelopeError {
    /// Too large.
    #[error("the approval has {found} bytes: expected at most {MAX_ENVELOPE_BYTES}")]
    TooLarge {
        /// Its size in bytes.
        found: usize,
    },
    /// Not the JSON that was expected.
    #[error("the approval cannot be read as a DSSE envelope: {0}")]
    Json(#[from] serde_json::Error),
    /// Another kind of payload.
    #[error("expected the payload type {PAYLOAD_TYPE}, found {found:?}")]
    PayloadType {
        /// The type.
        found: String,
    },
    /// None or several.
    #[error("expected exactly one signature (several approvals are several files), found {found}")]
    Signatures {
        /// How many.
        found: usize,
    },
    /// Not strict base64.
    #[error("expected {field} in standard base64 with padding and without line breaks")]
    Base64 {
        /// The field.
        field: &'static str,
    },
    /// `keyid` names another key than the one that signed.
    #[error("expected the keyid {expected}, which signed, found {found:?}")]
    KeyId {
        /// The fingerprint of the key in the signature.
        expected: String,
        /// `keyid`.
        found: String,
    },
    /// The statement is not one.
    #[error(transparent)]
    Statement(#[from] StatementError),
    /// The signature is not one of ours.
    #[error(transparent)]
    Signature(#[from] SignatureError),
}

impl EnvelopeError {
    /// The same in the shape that all checks share.
    #[must_use]
    pub fn refusal(&self) -> Refusal {
        match self {
            Self::Signature(error) => error.refusal(),
            Self::Statement(StatementError::Content {
                field,
                expected,
                found,
            }) => Refusal::new(
                "approval-readable",
                format!("{field}: {expected}"),
                found.clone(),
                "Approve again with this version of bundlegate.",
            ),
            other => Refusal::new(
                "approval-readable",
                "a DSSE envelope with one approval and one signature",
                other.to_string(),
                "Remove the file if it is no approval; else approve again.",
            ),
        }
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WireEnvelope {
    #[serde(rename = "payloadType")]
    payload_type: String,
    payload: String,
    signatures: Vec<WireSignature>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WireSignature {
    keyid: String,
    sig: String,
}

/// A statement with one signature. Reading it does not verify it: see [`Self::verify`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Envelope {
    payload: Vec<u8>,
    statement: Statement,
    signature: SshSignature,
}

impl Envelope {
    /// Puts payload and signature together, if the signature holds over the payload.
    ///
    /// # Errors
    /// A payload that is no approval, a signature that does not hold over it.
    pub fn new(payload: Vec<u8>, signature: SshSignature) -> Result<Self, EnvelopeError> {
        let statement = Statement::parse(&payload)?;
        signature.holds_over(&pae(&payload))?;
        Ok(Self {
            payload,
            statement,
            signature,
        })
    }

    /// Reads an approval file strictly: no unknown field, no field twice, nothing after it, one signature.
    ///
    /// # Errors
    /// See [`EnvelopeError`].
    pub fn parse(bytes: &[u8]) -> Result<Self, EnvelopeError> {
        if bytes.len() > MAX_ENVELOPE_BYTES {
            return Err(EnvelopeError::TooLarge { found: bytes.len() });
        }
        let wire: WireEnvelope = serde_json::from_slice(bytes)?;
        if wire.payload_type != PAYLOAD_TYPE {
            return Err(EnvelopeError::PayloadType {
                found: wire.payload_type.chars().take(100).collect(),
            });
        }
        let [signed] = wire.signatures.as_slice() else {
            return Err(EnvelopeError::Signatures {
                found: wire.signatures.len(),
            });
        };
        let payload = decode(&wire.payload, "payload")?;
        let signature = SshSignature::from_bytes(&decode(&signed.sig, "signatures[0].sig")?)?;
        if signed.keyid != signature.key() {
            return Err(EnvelopeError::KeyId {
                expected: signature.key(),
                found: signed.keyid.chars().take(100).collect(),
            });
        }
        Ok(Self {
            statement: Statement::parse(&payload)?,
            payload,
            signature,
        })
    }

    /// The approval file: indented JSON that ends with a line break.
    ///
    /// # Errors
    /// A payload that makes the file too large.
    pub fn to_json(&self) -> Result<String, EnvelopeError> {
        let wire = WireEnvelope {
            payload_type: PAYLOAD_TYPE.to_owned(),
            payload: Base64::encode_string(&self.payload),
            signatures: vec![WireSignature {
                keyid: self.signature.key(),
                sig: Base64::encode_string(&self.signature.to_bytes()?),
            }],
        };
        let mut text = serde_json::to_string_pretty(&wire)?;
        text.push('\n');
        // What could not be read back is not written either.
        if text.len() > MAX_ENVELOPE_BYTES {
            return Err(EnvelopeError::TooLarge { found: text.len() });
        }
        Ok(text)
    }

    /// What it says. Believe it only after [`Self::verify`].
    #[must_use]
    pub fn statement(&self) -> &Statement {
        &self.statement
    }

    /// The bytes that were signed, for [`pae`].
    #[must_use]
    pub fn payload(&self) -> &[u8] {
        &self.payload
    }

    /// `SHA256:...` of the key that signed.
    #[must_use]
    pub fn key(&self) -> String {
        self.signature.key()
    }

    /// Is the signature the one of the approver that the statement names, by a key that counts at `now`?
    ///
    /// # Errors
    /// The check that failed.
    pub fn verify(&self, trust: SshTrust<'_>, now: Timestamp) -> Result<Signer, SignatureError> {
        self.signature.verify(
            &pae(&self.payload),
            &self.statement.predicate.approver,
            trust,
            now,
        )
    }

    /// The files for `ssh-keygen -Y verify -n bundlegate-approval@v1 -I PRINCIPAL -f allowed_signers -s SIG < MESSAGE`.
    ///
    /// # Errors
    /// Only if the signature cannot be written.
    pub fn export(&self) -> Result<Export, EnvelopeError> {
        Ok(Export {
            message: pae(&self.payload),
            signature: self.signature.to_pem()?,
            principal: self.statement.predicate.approver.clone(),
        })
    }
}

/// What `ssh-keygen -Y verify` needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Export {
    /// The signed bytes, for stdin.
    pub message: Vec<u8>,
    /// The armoured signature, for `-s`.
    pub signature: String,
    /// The approver, for `-I`.
    pub principal: String,
}

/// DSSE's pre-authentication encoding of [`PAYLOAD_TYPE`] and a payload: the bytes that are signed.
#[must_use]
pub fn pae(payload: &[u8]) -> Vec<u8> {
    let mut bytes = format!(
        "DSSEv1 {} {PAYLOAD_TYPE} {} ",
        PAYLOAD_TYPE.len(),
        payload.len()
    )
    .into_bytes();
    bytes.extend_from_slice(payload);
    bytes
}

fn decode(text: &str, field: &'static str) -> Result<Vec<u8>, EnvelopeError> {
    Base64::decode_vec(text).map_err(|_| EnvelopeError::Base64 { field })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::approval::testing;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    fn good() -> String {
        testing::envelope(&testing::key(1)).to_json().unwrap()
    }

    fn refuse(change: impl FnOnce(&mut Value)) -> String {
        let mut value: Value = serde_json::from_str(&good()).unwrap();
        change(&mut value);
        Envelope::parse(value.to_string().as_bytes())
            .unwrap_err()
            .to_string()
    }

    #[test]
    fn pae_is_dsses_own_example() {
        // The layout of the example in dsse/protocol.md, with our payload type.
        assert_eq!(
            pae(b"hello world"),
            b"DSSEv1 28 application/vnd.in-toto+json 11 hello world"
        );
    }

    #[test]
    fn write_and_read_back() {
        let envelope = testing::envelope(&testing::key(1));
        let read = Envelope::parse(good().as_bytes()).unwrap();
        assert_eq!(read, envelope);
        assert_eq!(read.statement(), &testing::statement());
    }

    #[test]
    fn verify_says_who() {
        let key = testing::key(1);
        let signers = testing::signers(&format!("rm1@example.com {}", testing::public_line(&key)));
        let revoked = crate::approval::RevokedKeys::default();
        let trust = SshTrust {
            signers: &signers,
            revoked: &revoked,
        };
        let now = testing::time("2026-11-30T12:00:00Z");
        let signer = Envelope::parse(good().as_bytes())
            .unwrap()
            .verify(trust, now)
            .unwrap();
        assert_eq!(
            (signer.principal.as_str(), signer.line),
            ("rm1@example.com", 1)
        );
        // A changed payload of the same shape is read, and its signature does not hold.
        let mut changed: Value = serde_json::from_str(&good()).unwrap();
        let mut statement = testing::statement();
        statement.predicate.deployment.serial = Some(8);
        changed["payload"] = json!(Base64::encode_string(&statement.to_payload().unwrap()));
        let error = Envelope::parse(changed.to_string().as_bytes())
            .unwrap()
            .verify(trust, now)
            .unwrap_err();
        assert_eq!(error.check(), "signature");
        // Nor can it be put together in the first place.
        let signature = testing::sign(&key, b"something else");
        assert!(Envelope::new(statement.to_payload().unwrap(), signature).is_err());
    }

    #[test]
    fn another_shape_is_refused() {
        let report = [
            refuse(|v| v["payloadType"] = json!("application/json")),
            refuse(|v| v["signatures"] = json!([])),
            refuse(|v| {
                let again = v["signatures"][0].clone();
                v["signatures"].as_array_mut().unwrap().push(again);
            }),
            refuse(|v| v["signatures"][0]["keyid"] = json!("")),
            refuse(|v| v["payload"] = json!(format!("{}\n", v["payload"].as_str().unwrap()))),
            refuse(|v| v["payload"] = json!(v["payload"].as_str().unwrap().trim_end_matches('='))),
            refuse(|v| v["payload"] = json!("e30=")),
            refuse(|v| v["signatures"][0]["sig"] = json!("AAAA")),
            refuse(|v| {
                let sig = v["signatures"][0]["sig"].as_str().unwrap();
                let mut bytes = Base64::decode_vec(sig).unwrap();
                bytes.push(0);
                v["signatures"][0]["sig"] = json!(Base64::encode_string(&bytes));
            }),
            refuse(|v| v["x"] = json!(1)),
            refuse(|v| v["signatures"][0]["x"] = json!(1)),
        ];
        insta::assert_snapshot!(report.join("\n"), @r#"
        expected the payload type application/vnd.in-toto+json, found "application/json"
        expected exactly one signature (several approvals are several files), found 0
        expected exactly one signature (several approvals are several files), found 2
        expected the keyid SHA256:fe85JkIjo8VPe+XqXJGH5Mau1EMFdK1OdKvJUFicyA8, which signed, found ""
        expected payload in standard base64 with padding and without line breaks
        expected payload in standard base64 with padding and without line breaks
        the approval's payload cannot be read: missing field `_type` at line 1 column 2
        expected an SSH signature (SSHSIG) of at most 65536 bytes, found something else
        expected an SSH signature (SSHSIG) of at most 65536 bytes, found something else
        the approval cannot be read as a DSSE envelope: unknown field `x`, expected one of `payloadType`, `payload`, `signatures` at line 1 column 1861
        the approval cannot be read as a DSSE envelope: unknown field `x`, expected `keyid` or `sig` at line 1 column 1859
        "#);
        for text in [
            good().replacen("\"payload\"", "\"payload\": \"e30=\", \"payload\"", 1),
            good().replacen("\"payload\"", "\"payl\\u006fad\": \"e30=\", \"payload\"", 1),
            good().replacen("\"keyid\"", "\"keyid\": \"x\", \"keyid\"", 1),
            format!("{}{{}}", good()),
            format!("\u{feff}{}", good()),
            good().replacen("\"payload\"", "\"Payload\"", 1),
            " ".repeat(MAX_ENVELOPE_BYTES + 1),
        ] {
            assert!(Envelope::parse(text.as_bytes()).is_err());
        }
    }

    proptest! {
        #[test]
        fn parse_never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = Envelope::parse(&bytes);
        }
    }

    proptest! {
        // Signatures are slow without optimisation.
        #![proptest_config(ProptestConfig::with_cases(48))]

        #[test]
        fn a_flipped_bit_is_never_accepted(at in 0_usize..10_000, bit in 0_u8..8) {
            static GOOD: std::sync::LazyLock<String> = std::sync::LazyLock::new(good);
            let key = testing::key(1);
            let signers = testing::signers(&format!("rm1@example.com {}", testing::public_line(&key)));
            let revoked = crate::approval::RevokedKeys::default();
            let trust = SshTrust { signers: &signers, revoked: &revoked };
            let mut bytes = GOOD.clone().into_bytes();
            let at = at % bytes.len();
            bytes[at] ^= 1 << bit;
            if let Ok(envelope) = Envelope::parse(&bytes) {
                // White space between tokens may change; nothing that means something.
                let original: Value = serde_json::from_str(&GOOD).unwrap();
                let same = serde_json::from_slice::<Value>(&bytes).unwrap() == original;
                let now = testing::time("2026-11-30T12:00:00Z");
                prop_assert_eq!(envelope.verify(trust, now).is_ok(), same);
            }
        }
    }
}
