//! Approvals: what a person signed, who they are, and whether enough of them agree.
//!
//! Everything here is pure: bytes, keys and the time come in as arguments. Making a signature and reading files is
//! [`crate::host`]'s work.
//!
//! - [`digest_types`]: digests as types that cannot hold anything else
//! - [`statement`]: the in-toto Statement that a person signs
//! - [`envelope`]: the DSSE envelope around it, and the files for `ssh-keygen -Y verify`
//! - [`allowed_signers`], [`patterns`], [`keys`], [`revoked`]: who may sign
//! - [`ssh`]: is this signature one of theirs, over exactly these bytes
//! - [`platform`]: what GitHub and Azure DevOps say
//! - [`quorum`]: do enough distinct people agree
//! - [`refusal`]: the one shape of every "no"

pub mod allowed_signers;
pub mod digest_types;
pub mod envelope;
pub mod keys;
pub mod patterns;
pub mod platform;
pub mod quorum;
pub mod refusal;
pub mod revoked;
pub mod ssh;
pub mod statement;

pub use allowed_signers::AllowedSigners;
pub use digest_types::{GitObjectId, IntentDigest, Sha256Hex};
pub use envelope::Envelope;
pub use quorum::{Decided, Identity, Outcome, Person, Quorum};
pub use refusal::Refusal;
pub use revoked::RevokedKeys;
pub use ssh::{Signer, SshTrust};
pub use statement::Statement;

/// The SSHSIG namespace of every approval. A signature made for another purpose (a git commit, a file) is never an approval.
pub const NAMESPACE: &str = "bundlegate-approval@v1";

/// How far the clocks of the approver and of the machine that checks may differ before a time counts as "in the future".
pub const CLOCK_SKEW: jiff::SignedDuration = jiff::SignedDuration::from_secs(120);

#[cfg(test)]
pub(crate) mod testing;
