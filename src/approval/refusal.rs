//! The one shape of every "no": which check, what was expected, what was found, what to do.

use std::fmt;

use serde::Serialize;

/// Why a check said no.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Refusal {
    /// The stable kebab-case name of the check, such as `signature` or `expired`.
    pub check: &'static str,
    /// What the check expected, in words.
    pub expected: String,
    /// What it found. Text out of an approval is attacker-controlled: renderers escape it.
    pub found: String,
    /// What the reader can do about it.
    pub remedy: String,
}

impl Refusal {
    /// Puts the four parts together.
    pub fn new(
        check: &'static str,
        expected: impl Into<String>,
        found: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self {
            check,
            expected: expected.into(),
            found: found.into(),
            remedy: remedy.into(),
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}: expected {}, found {}. {}",
            self.check, self.expected, self.found, self.remedy
        )
    }
}

impl std::error::Error for Refusal {}
