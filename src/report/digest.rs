//! What `digest` has to say.

use schemars::JsonSchema;
use serde::Serialize;

/// Digests of a plan, of the policy and of the source.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct DigestBody {
    /// SHA-256 of the plan file, as `sha256sum` prints it.
    pub plan: String,
    /// The intent digest; none for a plan of the Terraform engine.
    pub intent: Option<String>,
    /// SHA-256 of the resolved policy.
    pub policy: String,
    /// The source tree and the built files; none: no bundle's folder was given.
    pub source: Option<serde_json::Value>,
    /// Fields that hold `[redacted]`: their value is in no digest.
    pub redacted: Vec<String>,
    /// What a normaliser left out of the intent digest.
    pub left_out: Vec<LeftOut>,
    /// With `--explain`: the canonical form, with `(secret)` in place of secrets. What is hashed holds their values.
    pub canonical: Option<serde_json::Value>,
}

/// What was left out of the intent digest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LeftOut {
    /// The normaliser.
    pub normaliser: &'static str,
    /// The short key of the entry.
    pub resource: String,
    /// The field.
    pub path: String,
    /// Why.
    pub reason: &'static str,
}
