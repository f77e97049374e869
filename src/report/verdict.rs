//! From findings to a verdict, and from a verdict to an exit code.

use schemars::JsonSchema;
use serde::Serialize;

use super::{Finding, Status};
use crate::policy::Level;

/// Whether the gate is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// Nothing stands against it.
    Open,
    /// A person must approve exactly this plan.
    Review,
    /// The policy forbids it; no approval can lift that.
    Closed,
}

impl Verdict {
    /// The word in reports.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Verdict::Open => "open",
            Verdict::Review => "review",
            Verdict::Closed => "closed",
        }
    }

    /// The exit code that says this.
    #[must_use]
    pub fn exit(self) -> Exit {
        match self {
            Verdict::Open => Exit::Open,
            Verdict::Review => Exit::Review,
            Verdict::Closed => Exit::Closed,
        }
    }
}

/// The exit codes of every command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// Pass, authorized, verified.
    Open = 0,
    /// Closed by policy.
    Closed = 1,
    /// Usage, or an input that cannot be read or judged.
    Input = 2,
    /// Review needed, or an approval missing.
    Review = 3,
    /// An approval is there but not valid for this.
    Invalid = 4,
    /// The workspace does not hold what was approved.
    Mismatch = 5,
    /// A remote system could not be reached.
    Unreachable = 6,
    /// A defect of bundlegate itself.
    Defect = 70,
    /// Interrupted.
    Interrupted = 130,
}

impl Exit {
    /// The number.
    #[must_use]
    pub fn code(self) -> u8 {
        self as u8
    }
}

/// The verdict over findings: the highest level that is not waived decides. Total: every list of findings has one.
#[must_use]
pub fn verdict(findings: &[Finding]) -> Verdict {
    match findings
        .iter()
        .filter(|f| f.status != Status::Waived)
        .map(|f| f.level)
        .max()
    {
        Some(Level::Deny) => Verdict::Closed,
        Some(Level::Review) => Verdict::Review,
        _ => Verdict::Open,
    }
}

/// Puts findings in their one order: by level from the highest, then resource, rule, path.
pub fn sort(findings: &mut [Finding]) {
    findings.sort_by(|a, b| {
        (a.status == Status::Waived)
            .cmp(&(b.status == Status::Waived))
            .then_with(|| b.level.cmp(&a.level))
            .then_with(|| a.resource.cmp(&b.resource))
            .then_with(|| a.rule.cmp(&b.rule))
            .then_with(|| a.path.cmp(&b.path))
            .then_with(|| a.fingerprint.cmp(&b.fingerprint))
            .then_with(|| a.message.cmp(&b.message))
    });
}
