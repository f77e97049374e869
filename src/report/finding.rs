//! A finding: what a rule has to say about one resource, or about the whole deployment.

use schemars::JsonSchema;
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use crate::policy::Level;

/// Whether a rule found what it looks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// It did.
    Fired,
    /// It cannot tell.
    Unknown,
    /// It did, and a waiver of the policy lifts it.
    Waived,
}

/// A place in the bundle's source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Place {
    /// The file, relative to the bundle's root.
    pub file: String,
    /// Line, from 1.
    pub line: u64,
    /// Column, from 1.
    pub column: u64,
}

impl From<&crate::bundle::Location> for Place {
    fn from(l: &crate::bundle::Location) -> Self {
        Self {
            file: l.file.clone(),
            line: l.line,
            column: l.column,
        }
    }
}

/// The waiver that lifts a finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct WaiverNote {
    /// Who answers for it.
    pub owner: String,
    /// Why.
    pub reason: String,
    /// The last day on which it holds (UTC), as `YYYY-MM-DD`.
    pub until: String,
    /// Where it was agreed.
    pub ticket: Option<String>,
}

/// What a rule has to say. Secrets in `old`, `new`, `remote` and `message` are already replaced.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Finding {
    /// The rule's id.
    pub rule: String,
    /// The rule's family.
    pub family: String,
    /// How much it weighs under this policy.
    pub level: Level,
    /// Whether it is certain.
    pub status: Status,
    /// Short key of the resource, without a sub-resource; none: the whole deployment.
    pub resource: Option<String>,
    /// The field, as the CLI writes paths; below a sub-resource it starts with `permissions` or `grants`.
    pub path: Option<String>,
    /// What the last deploy set.
    pub old: Option<serde_json::Value>,
    /// What this deploy sets.
    pub new: Option<serde_json::Value>,
    /// What the workspace holds.
    pub remote: Option<serde_json::Value>,
    /// What is so, in one sentence.
    pub message: String,
    /// What it can delete or break.
    pub impact: String,
    /// What to do.
    pub remedy: String,
    /// Where in the bundle's source.
    pub location: Option<Place>,
    /// Whether the plan leaves the resource alone: a standing weakness, capped at the policy's `standing` level.
    pub standing: bool,
    /// What approvals and waivers refer to: SHA-256 over rule, resource, path and new value, in hexadecimal.
    pub fingerprint: String,
    /// The waiver that lifts it.
    pub waiver: Option<WaiverNote>,
}

/// The fingerprint of a finding: SHA-256 over its rule, resource, path and new value, each with its length before it.
#[must_use]
pub fn fingerprint(
    rule: &str,
    resource: Option<&str>,
    path: Option<&str>,
    new: Option<&serde_json::Value>,
) -> String {
    let mut hash = Sha256::new();
    hash.update(b"bundlegate-finding-v1\n");
    let new = new.map(ToString::to_string);
    for part in [Some(rule), resource, path, new.as_deref()] {
        match part {
            // A length that no text has tells "absent" from "empty".
            None => hash.update(u64::MAX.to_be_bytes()),
            Some(text) => {
                hash.update((text.len() as u64).to_be_bytes());
                hash.update(text.as_bytes());
            }
        }
    }
    hex::encode(hash.finalize())
}
