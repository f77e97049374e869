//! Azure DevOps: who let the stage through.

use jiff::Timestamp;

use super::line::takes_back;
use super::{Found, comment_agrees, is_this_run, not_a_person};
use crate::approval::platform::{AzureAccount, AzureApproval, AzureRun, AzureStep};
use crate::approval::statement::Decision as Word;
use crate::approval::{Identity, Refusal};
use crate::authorize::{Check, Facts};
use crate::policy::{AcceptAzure, Match};

/// States of a step in which nobody has decided (Azure DevOps REST API 7.1, `ApprovalStatus`, in lower case).
const UNDECIDED: [&str; 9] = [
    "undefined",
    "uninitiated",
    "pending",
    "skipped",
    "canceled",
    "timedout",
    "failed",
    "completed",
    "deferred",
];

/// Judges the decisions about this stage.
pub(super) fn judge(
    facts: &Facts,
    accept: &AcceptAzure,
    matching: Match,
    run: &AzureRun,
    found: &mut Found<'_>,
) {
    let steps = run
        .approvals
        .iter()
        .flat_map(|approval| approval.steps.iter().map(move |step| (approval, step)));
    for (approval, step) in steps {
        let who = step.by.as_ref().map_or("?", |by| by.name.as_str());
        let label = format!("{} stage {} {} by {who}", run.url, run.stage, step.status);
        let no = match step.status.as_str() {
            "approved" => takes_back(&step.comment, facts, matching),
            "rejected" => true,
            undecided if UNDECIDED.contains(&undecided) => continue,
            other => {
                found.refuse_as_rejected(
                    &label,
                    &format!("a decision about the stage with the unknown state {other}"),
                );
                continue;
            }
        };
        match (no, &step.by) {
            // Whatever was to be approved: whoever rejects it wants the stage not to run.
            (true, Some(by)) => {
                let when = step.when.unwrap_or(facts.now);
                found.decide(&label, identity(by), Word::Reject, when);
            }
            (true, None) => found.refuse_as_rejected(
                &label,
                "a rejection by somebody whom the service does not name",
            ),
            (false, _) if approval.environments.is_empty() => found.refuse(
                &label,
                Refusal::new(
                    "environment",
                    format!("an approval of the environment {}", accept.environment),
                    "one of another resource, or of one that the service does not name",
                    "Have the environment's own check approved, and let the build service read the environment.",
                ),
            ),
            (false, _) if !is_of(approval, &accept.environment) => {}
            (false, _) => match approved(facts, run, step) {
                Ok((by, when, checks)) => found.approve(&label, identity(by), when, checks),
                Err(refusal) => found.refuse(&label, refusal),
            },
        }
    }
}

fn identity(account: &AzureAccount) -> Identity {
    Identity::Azure {
        descriptor: account.descriptor.clone(),
    }
}

fn is_of(approval: &AzureApproval, environment: &str) -> bool {
    let is = |name: &String| name.eq_ignore_ascii_case(environment);
    approval.environments.iter().any(is)
}

/// An approval of the policy's environment.
fn approved<'r>(
    facts: &Facts,
    run: &AzureRun,
    step: &'r AzureStep,
) -> Result<(&'r AzureAccount, Timestamp, Vec<Check>), Refusal> {
    let account = match &step.by {
        Some(account) if account.is_human() => account,
        Some(account) => {
            return Err(not_a_person(&format!(
                "{} ({}), which is not a person's account",
                account.name, account.descriptor
            )));
        }
        None => return Err(not_a_person("somebody whom the service does not name")),
    };
    let when = step.when.ok_or_else(|| {
        Refusal::new(
            "expired",
            "an approval with a time",
            "one without",
            "Approve again.",
        )
    })?;
    let mut checks = is_this_run(facts, "azure", &run.build.to_string(), &run.commit)?;
    comment_agrees(facts, &step.comment)?;
    checks.push(Check::passed(
        "environment",
        format!("{} let the stage through", account.name),
    ));
    Ok((account, when, checks))
}
