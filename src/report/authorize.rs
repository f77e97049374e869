//! What `authorize` has to say: its checks, what each asked and found, and what that means for the exit code.

use schemars::JsonSchema;
use serde::Serialize;

use super::{Exit, Finding, Status, fingerprint};
use crate::approval::Refusal;
use crate::policy::Level;
use crate::text::cut;

/// The family of a finding about a check that says no, and the first part of its rule id.
const FAMILY: &str = "authorize";

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

impl AuthorizeBody {
    /// The checks that say no.
    pub fn refused(&self) -> impl Iterator<Item = &GateCheck> {
        self.checks.iter().filter(|c| c.is_refused())
    }

    /// The checks that say no, as findings, for the formats that show findings; then what the rules say of the plan.
    #[must_use]
    pub fn findings(&self, judged: Vec<Finding>) -> Vec<Finding> {
        self.refused()
            .map(GateCheck::finding)
            .chain(judged)
            .collect()
    }
}

impl Finding {
    /// Whether it is a check of `authorize` that says no.
    #[must_use]
    pub fn is_refusal(&self) -> bool {
        self.family == FAMILY
    }
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

impl CheckResult {
    /// The result in words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            CheckResult::Passed => "as expected",
            CheckResult::Refused => "says no",
            CheckResult::NotCounted => "does not count",
            CheckResult::NotReached => "not asked",
        }
    }
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

    /// Its rule id in a finding: `authorize/signature`.
    #[must_use]
    pub fn rule(&self) -> String {
        format!("{FAMILY}/{}", self.check)
    }

    /// It as a finding: what a missing approval asks for needs a person, everything else forbids the deploy.
    #[must_use]
    pub fn finding(&self) -> Finding {
        let rule = self.rule();
        let approval = self.approval.as_deref();
        let about = approval.map_or_else(String::new, |name| format!(" of approval {}", cut(name)));
        Finding {
            family: FAMILY.to_owned(),
            level: if self.exit_code == Exit::Review.code() {
                Level::Review
            } else {
                Level::Deny
            },
            status: Status::Fired,
            resource: None,
            path: None,
            old: None,
            new: None,
            remote: None,
            message: format!(
                "Check {}{about}: expected {}, found {} (exit {}).",
                self.check,
                cut(&self.expected),
                cut(&self.found),
                self.exit_code
            ),
            impact: "Nothing is deployed while this check says no.".to_owned(),
            remedy: self.remedy.clone(),
            location: None,
            standing: false,
            fingerprint: fingerprint(&rule, None, approval, Some(&self.expected.clone().into())),
            waiver: None,
            rule,
        }
    }

    /// Whether it keeps the gate closed.
    #[must_use]
    pub fn is_refused(&self) -> bool {
        self.result == CheckResult::Refused
    }
}
