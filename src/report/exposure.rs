//! What `exposure` has to say.

use schemars::JsonSchema;
use serde::Serialize;

/// For every command that CI or a person can run in the target: what it can delete or break.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ExposureBody {
    /// One for each command and resource, by command, then resource.
    pub rows: Vec<ExposureRow>,
    /// What the inputs do not tell, and what would.
    pub not_told: Vec<String>,
}

impl ExposureBody {
    /// How many rows have nothing in the way.
    #[must_use]
    pub fn unguarded(&self) -> usize {
        self.rows.iter().filter(|r| r.unguarded).count()
    }
}

/// What one command can do to one resource.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ExposureRow {
    /// The command.
    pub command: String,
    /// Short key of the resource; none: the whole deployment.
    pub resource: Option<String>,
    /// What is lost or breaks.
    pub lost: String,
    /// What stays.
    pub kept: String,
    /// What stands in the way; empty: nothing.
    pub guard: String,
    /// Where what is lost comes back from, and how much is missing then.
    pub recovery: String,
    /// Whether data can be lost, or an identity changed, with nothing in the way. What cannot be told counts as nothing.
    pub unguarded: bool,
}
