//! What `authorize` has to say: its checks, what each asked and found, and what that means for the exit code.

use schemars::JsonSchema;
use serde::Serialize;

use super::Exit;
use crate::approval::Refusal;

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
    pub checks: Vec<GateCheck>,
    /// Whether the text shows the checks that passed too.
    #[serde(skip)]
    pub explain: bool,
}

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
pub struct GateCheck {
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

impl GateCheck {
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
