//! What `verify` has to say: expectation, observation, witness.

use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;

use super::{Finding, Status, fingerprint};
use crate::policy::Level;

/// The rule id of a finding about a mismatch.
const MISMATCH: &str = "verify-mismatch";
/// The rule id of a finding about a witness that had to speak and did not.
const SILENT: &str = "verify-silent";

/// Who tells what the workspace holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Witness {
    /// A plan made after the deploy (`databricks bundle plan -o json`).
    Plan,
    /// The REST API of the workspace.
    Api,
}

impl fmt::Display for Witness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Witness::Plan => "plan",
            Witness::Api => "api",
        })
    }
}

/// What is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Check {
    /// It is still the same deployment.
    Lineage,
    /// Exactly one deploy wrote since the plan was made, or none when there was nothing to write.
    Serial,
    /// The deployment's metadata names the commit.
    Commit,
    /// It belongs to the deployment of this target.
    Deployment,
    /// It runs as whom it was approved to run as.
    RunAs,
    /// It is owned by whom it should be.
    Owner,
    /// There is nothing left to do for it.
    Converged,
    /// It is there, under its name.
    Exists,
    /// It is still the same object.
    SameId,
    /// It is another object than before.
    NewId,
    /// The deployment does not know it any more.
    Dropped,
    /// The workspace does not hold it any more.
    Gone,
    /// The tables of a deleted pipeline are kept or dropped as predicted.
    Tables,
    /// The tables of a pipeline belong to its identity.
    TableOwner,
    /// A full refresh cannot empty the table.
    ResetGuard,
    /// Nothing is deployed that was not in the plan.
    Unplanned,
}

impl Check {
    /// The check in words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Check::Lineage => "same deployment",
            Check::Serial => "serial",
            Check::Commit => "deployed commit",
            Check::Deployment => "deployment",
            Check::RunAs => "runs as",
            Check::Owner => "owner",
            Check::Converged => "converged",
            Check::Exists => "exists",
            Check::SameId => "same id",
            Check::NewId => "new id",
            Check::Dropped => "dropped",
            Check::Gone => "gone",
            Check::Tables => "tables",
            Check::TableOwner => "owner of a table",
            Check::ResetGuard => "reset guard",
            Check::Unplanned => "not in the plan",
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Outcome::Mismatch => "mismatch",
            Outcome::Silent => "silent",
            Outcome::NotWitnessed => "not witnessed",
            Outcome::Verified => "verified",
        })
    }
}

/// How a check ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// The workspace does not hold what was approved.
    Mismatch,
    /// Nobody could tell, and somebody had to.
    Silent,
    /// Nobody who was asked can see it.
    NotWitnessed,
    /// It is as approved.
    Verified,
}

/// One check: expectation, observation, witness.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Row {
    /// How it ended.
    pub outcome: Outcome,
    /// Short key of the resource, with the sub-resource; none: the whole deployment.
    pub resource: Option<String>,
    /// What is compared.
    pub check: Check,
    /// What should be.
    pub expected: String,
    /// What is; none: nobody could tell.
    pub observed: Option<String>,
    /// Who says so; of a check that nobody witnessed, who would have to.
    pub witness: Witness,
    /// Of a mismatch: how to mend it.
    pub remedy: Option<String>,
}

/// A witness that was asked, and what kept it from speaking.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Silence {
    /// Who.
    pub witness: Witness,
    /// Why, and what to do.
    pub why: String,
}

/// How many checks ended how.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Tally {
    /// As approved.
    pub verified: usize,
    /// Not as approved.
    pub mismatch: usize,
    /// Nobody could tell, and somebody had to.
    pub silent: usize,
    /// Nobody who was asked can see it.
    pub not_witnessed: usize,
}

/// What `verify` has to say.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Verification {
    /// Who was asked.
    pub witnesses: Vec<Witness>,
    /// Who could not speak at all.
    pub silences: Vec<Silence>,
    /// How many checks ended how.
    pub tally: Tally,
    /// The checks: mismatches first, then by resource.
    pub rows: Vec<Row>,
}

impl Verification {
    /// Puts rows in their one order and counts them.
    #[must_use]
    pub fn new(witnesses: Vec<Witness>, silences: Vec<Silence>, mut rows: Vec<Row>) -> Self {
        rows.sort_by(|a, b| {
            a.outcome
                .cmp(&b.outcome)
                .then_with(|| a.resource.cmp(&b.resource))
                .then_with(|| a.check.cmp(&b.check))
                .then_with(|| a.witness.cmp(&b.witness))
                .then_with(|| a.expected.cmp(&b.expected))
        });
        let mut tally = Tally::default();
        for row in &rows {
            *match row.outcome {
                Outcome::Verified => &mut tally.verified,
                Outcome::Mismatch => &mut tally.mismatch,
                Outcome::Silent => &mut tally.silent,
                Outcome::NotWitnessed => &mut tally.not_witnessed,
            } += 1;
        }
        Self {
            witnesses,
            silences,
            tally,
            rows,
        }
    }

    /// The exit code that says this: 5 for a mismatch, 6 where a witness that had to speak did not or nothing was observed.
    #[must_use]
    pub fn exit(&self) -> super::Exit {
        if self.tally.mismatch > 0 {
            super::Exit::Mismatch
        } else if self.tally.silent > 0 || !self.silences.is_empty() || self.tally.verified == 0 {
            super::Exit::Unreachable
        } else {
            super::Exit::Open
        }
    }

    /// The answer in one sentence.
    #[must_use]
    pub fn words(&self) -> String {
        match self.exit() {
            super::Exit::Open => "the workspace holds what was approved".to_owned(),
            super::Exit::Mismatch => format!(
                "the workspace does not hold what was approved: {} of {} checks differ",
                self.tally.mismatch,
                self.rows.len()
            ),
            _ if self.tally.verified == 0 && self.tally.silent == 0 && self.silences.is_empty() => {
                "nothing was observed".to_owned()
            }
            _ => "a witness that had to speak did not".to_owned(),
        }
    }

    /// How many checks ended how, in words.
    #[must_use]
    pub fn tally_words(&self) -> String {
        let t = self.tally;
        let witnesses: Vec<String> = self.witnesses.iter().map(ToString::to_string).collect();
        format!(
            "{} verified, {} mismatch, {} silent, {} not witnessed; asked: {}",
            t.verified,
            t.mismatch,
            t.silent,
            t.not_witnessed,
            witnesses.join(", ")
        )
    }

    /// What is wrong, as findings, for the formats that show findings: `verify-mismatch` and `verify-silent`.
    #[must_use]
    pub fn findings(&self) -> Vec<Finding> {
        let of_rows = self.rows.iter().filter_map(|row| {
            let (rule, status) = match row.outcome {
                Outcome::Mismatch => (MISMATCH, Status::Fired),
                Outcome::Silent => (SILENT, Status::Unknown),
                Outcome::NotWitnessed | Outcome::Verified => return None,
            };
            let observed = row.observed.as_deref().unwrap_or("nothing");
            let mut finding = self.finding(
                rule,
                status,
                format!(
                    "{}: expected {}, observed {observed} (witness: {}).",
                    row.check.words(),
                    row.expected,
                    row.witness
                ),
            );
            finding.resource.clone_from(&row.resource);
            finding.new = Some(row.expected.clone().into());
            finding.remote = row.observed.clone().map(Into::into);
            if let Some(remedy) = &row.remedy {
                finding.remedy.clone_from(remedy);
            }
            finding.fingerprint = fingerprint(
                rule,
                finding.resource.as_deref(),
                Some(row.check.words()),
                finding.new.as_ref(),
            );
            Some(finding)
        });
        let of_silences = self.silences.iter().map(|s| {
            self.finding(
                SILENT,
                Status::Unknown,
                format!("The witness {} could not speak: {}", s.witness, s.why),
            )
        });
        of_silences.chain(of_rows).collect()
    }

    pub(super) fn finding(&self, rule: &str, status: Status, message: String) -> Finding {
        Finding {
            rule: rule.to_owned(),
            family: "Verification".to_owned(),
            level: Level::Deny,
            status,
            resource: None,
            path: None,
            old: None,
            new: None,
            remote: None,
            fingerprint: fingerprint(rule, None, None, Some(&message.clone().into())),
            message,
            impact: if rule == MISMATCH {
                "The workspace does not hold what was approved.".to_owned()
            } else {
                "Nobody can say whether the workspace holds what was approved.".to_owned()
            },
            remedy: "Let the witness speak, and verify again.".to_owned(),
            location: None,
            standing: false,
            waiver: None,
        }
    }

    /// The checks that ended so.
    pub fn of(&self, outcome: Outcome) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(move |r| r.outcome == outcome)
    }
}
