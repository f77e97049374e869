//! What `deploy` has to say.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{AuthorizeBody, Finding, Status, Verification};

const CLI_FAILED: &str = "deploy-failed";

/// The steps of a deploy, in their order.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Step {
    /// The checks before the deploy: nothing was changed yet.
    Checking,
    /// The answer was no: nothing was changed.
    Refused,
    /// The CLI was about to be started or is running: the workspace may hold any part of the plan.
    Deploying,
    /// The CLI ended; the workspace is compared with the plan.
    Verifying,
    /// The workspace was compared.
    Finished,
}

impl Step {
    /// What a run that stopped here leaves behind.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Step::Checking => "it stopped before the CLI was started: nothing was changed",
            Step::Refused => "it was refused: nothing was changed",
            Step::Deploying => {
                "it stopped while the CLI was deploying: the workspace may hold any part of the plan"
            }
            Step::Verifying => "the CLI had ended; the workspace was not compared to its end",
            Step::Finished => "it was finished",
        }
    }
}

/// A step and when it began.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StepAt {
    /// The step.
    pub step: Step,
    /// When, in RFC 3339.
    #[schemars(with = "String")]
    pub at: Timestamp,
}

/// What `deploy` has to say.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct DeployBody {
    /// Where the record is.
    pub record: String,
    /// The steps that began.
    pub steps: Vec<StepAt>,
    /// The exit code of the CLI; none: it was not started, or ended by a signal.
    pub cli_exit: Option<i32>,
    /// Whether it may be deployed; none: an earlier deploy was only verified.
    pub authorization: Option<AuthorizeBody>,
    /// What the workspace holds; none: nothing was deployed.
    pub verification: Option<Verification>,
}

impl DeployBody {
    /// What stands against it: before the deploy the checks that say no and what the rules say of the plan, after it what does
    /// not match.
    #[must_use]
    pub fn findings(&self, judged: Vec<Finding>) -> Vec<Finding> {
        match (&self.verification, &self.authorization) {
            (Some(verification), _) => self
                .cli_failed(verification)
                .into_iter()
                .chain(verification.findings())
                .collect(),
            (None, Some(authorization)) => authorization.findings(judged),
            (None, None) => judged,
        }
    }

    /// A CLI that failed is a failed deploy, whatever the workspace holds.
    fn cli_failed(&self, verification: &Verification) -> Option<Finding> {
        // An earlier run that was killed does not know how its CLI ended: then the workspace alone says.
        let failed = match self.cli_exit {
            Some(code) => code != 0,
            None => self.authorization.is_some(),
        };
        failed.then(|| Finding {
            impact: "The workspace may hold a part of what was approved.".to_owned(),
            remedy:
                "Read what the CLI said and what was not verified, then plan again for the rest."
                    .to_owned(),
            ..verification.finding(
                CLI_FAILED,
                Status::Fired,
                format!(
                    "`databricks bundle deploy` did not end well: {}.",
                    self.cli_words()
                ),
            )
        })
    }

    /// How the CLI ended.
    #[must_use]
    pub fn cli_words(&self) -> String {
        match self.cli_exit {
            Some(0) => "it ended well".to_owned(),
            Some(code) => format!("it failed (exit {code})"),
            None => "how it ended is not known".to_owned(),
        }
    }
}
