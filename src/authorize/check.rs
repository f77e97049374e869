//! One check of `authorize`: what it asked, what it found, and what that means for the exit code.

use schemars::JsonSchema;
use serde::Serialize;

use crate::approval::Refusal;
use crate::report::Exit;

/// How a check ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CheckResult {
    /// As expected.
    Passed,
    /// Not as expected: the gate stays closed.
    Refused,
    /// This approval does not count, and enough others do.
    NotCounted,
    /// Not asked, since another check said no before.
    NotReached,
}

/// One check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Check {
    /// Its stable kebab-case name, such as `signature` or `plan`.
    pub check: &'static str,
    /// The approval file that it is about; none: the deploy as a whole.
    pub approval: Option<String>,
    /// How it ended.
    pub result: CheckResult,
    /// What was expected; empty where there is nothing to say.
    pub expected: String,
    /// What was found.
    pub found: String,
    /// What to do about it; empty where nothing is to be done.
    pub remedy: String,
    /// The exit code that a refusal by this check asks for.
    pub exit_code: u8,
}

impl Check {
    /// A check about the deploy as a whole that found what it expected.
    #[must_use]
    pub fn passed(check: &'static str, found: impl Into<String>) -> Self {
        Self {
            check,
            approval: None,
            result: CheckResult::Passed,
            expected: String::new(),
            found: found.into(),
            remedy: String::new(),
            exit_code: Exit::Open.code(),
        }
    }

    /// A check about the deploy as a whole that says no.
    #[must_use]
    pub fn refused(refusal: Refusal, exit: Exit) -> Self {
        Self {
            check: refusal.check,
            approval: None,
            result: CheckResult::Refused,
            expected: refusal.expected,
            found: refusal.found,
            remedy: refusal.remedy,
            exit_code: exit.code(),
        }
    }

    /// A check that was not asked.
    #[must_use]
    pub fn not_reached(check: &'static str, because: impl Into<String>) -> Self {
        Self {
            result: CheckResult::NotReached,
            ..Self::passed(check, because)
        }
    }

    /// The same about one approval.
    #[must_use]
    pub fn of(self, approval: &str) -> Self {
        Self {
            approval: Some(approval.to_owned()),
            ..self
        }
    }

    /// Whether it keeps the gate closed.
    #[must_use]
    pub fn is_refused(&self) -> bool {
        self.result == CheckResult::Refused
    }
}

/// The exit code over all checks: of those that say no, the first of 2 > 6 > 1 > 4 > 3 wins.
#[must_use]
pub fn exit(checks: &[Check]) -> Exit {
    [
        Exit::Input,
        Exit::Unreachable,
        Exit::Closed,
        Exit::Invalid,
        Exit::Review,
    ]
    .into_iter()
    .find(|exit| {
        checks
            .iter()
            .any(|c| c.is_refused() && c.exit_code == exit.code())
    })
    .unwrap_or(Exit::Open)
}
