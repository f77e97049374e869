//! What `authorize` has to say.

use schemars::JsonSchema;
use serde::Serialize;

use crate::authorize::{Check, Decision};

/// May this exact plan be deployed now?
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct AuthorizeBody {
    /// The answer.
    pub authorized: bool,
    /// How many distinct people the policy asks for.
    pub required: u32,
    /// The people whose approvals count.
    pub persons: Vec<String>,
    /// Every check that was asked, and those that could not be reached.
    pub checks: Vec<Check>,
    /// Whether the text shows the checks that passed too.
    #[serde(skip)]
    pub explain: bool,
}

impl AuthorizeBody {
    /// The body of a decision.
    #[must_use]
    pub fn of(decision: &Decision, explain: bool) -> Self {
        Self {
            authorized: decision.is_authorized(),
            required: decision.required,
            persons: decision.persons.clone(),
            checks: decision.checks.clone(),
            explain,
        }
    }
}
