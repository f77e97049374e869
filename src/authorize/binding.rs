//! What an approval says against what is so: field by field, up to the first that differs.

use super::{Check, Facts};
use crate::approval::Refusal;
use crate::approval::statement::{Artifact, CiRun, SourceTree, Statement};
use crate::policy::Match;

/// The names of all comparisons, in their order: what people care about first, digests of whole files last.
pub const BINDING_CHECKS: [&str; 18] = [
    "plan",
    "intent",
    "bundle",
    "target",
    "host",
    "root-path",
    "lineage",
    "serial",
    "cli-version",
    "policy",
    "source",
    "artifacts",
    "input-bundle",
    "input-base-bundle",
    "input-state",
    "input-warnings",
    "accepted",
    "ci-run",
];

const AGAIN: &str = "Approve again what is there now, or bring back what was approved.";

/// How far the comparison of one approval came.
pub(super) struct Compared {
    pub(super) passed: Vec<Check>,
    pub(super) refusal: Option<Refusal>,
}

/// A rejection is about a plan and nothing else: it does not go away because a policy or a file changed.
pub(super) fn rejection(
    statement: &Statement,
    facts: &Facts,
    matching: Match,
) -> Result<(), Refusal> {
    let same_intent = matching == Match::Intent && statement.predicate.intent == facts.intent;
    match statement.plan() {
        Ok(plan) if *plan == facts.plan || same_intent => Ok(()),
        Ok(plan) => Err(differs("plan", facts.plan.to_string(), plan.to_string())),
        Err(error) => Err(differs("plan", facts.plan.to_string(), error.to_string())),
    }
}

/// Compares everything that an approval binds.
pub(super) fn approval(statement: &Statement, facts: &Facts, matching: Match) -> Compared {
    let mut compared = Compared {
        passed: Vec::new(),
        refusal: None,
    };
    for (check, expected, found) in comparisons(statement, facts, matching) {
        if expected == found {
            compared.passed.push(Check::passed(check, found));
        } else {
            compared.refusal = Some(differs(check, expected, found));
            return compared;
        }
    }
    if let Err(refusal) = accepted(statement, facts) {
        compared.refusal = Some(refusal);
        return compared;
    }
    compared
        .passed
        .push(Check::passed("accepted", findings(facts.to_accept.len())));
    // An approval that names no run is for any run.
    if let Some(run) = &statement.predicate.ci {
        let expected = facts.ci.as_ref().map_or("no CI run".to_owned(), run_text);
        let found = run_text(run);
        if expected == found {
            compared.passed.push(Check::passed("ci-run", found));
        } else {
            compared.refusal = Some(differs("ci-run", expected, found));
        }
    }
    compared
}

fn differs(check: &'static str, expected: String, found: String) -> Refusal {
    Refusal::new(check, expected, format!("an approval of {found}"), AGAIN)
}

/// Name, what is so, what the approval says: as texts, since a difference is shown to people.
fn comparisons(
    statement: &Statement,
    facts: &Facts,
    matching: Match,
) -> Vec<(&'static str, String, String)> {
    let said = &statement.predicate;
    let (now, then) = (&facts.deployment, &said.deployment);
    let mut all = Vec::with_capacity(BINDING_CHECKS.len());
    if matching == Match::Plan {
        let plan = statement
            .plan()
            .map_or_else(|error| error.to_string(), ToString::to_string);
        all.push(("plan", facts.plan.to_string(), plan));
    }
    all.extend([
        ("intent", facts.intent.to_string(), said.intent.to_string()),
        ("bundle", now.bundle.clone(), then.bundle.clone()),
        ("target", now.target.clone(), then.target.clone()),
        ("host", now.host.clone(), then.host.clone()),
        ("root-path", now.root_path.clone(), then.root_path.clone()),
        (
            "lineage",
            lineage(now.lineage.as_deref()),
            lineage(then.lineage.as_deref()),
        ),
        ("serial", serial(now.serial), serial(then.serial)),
        (
            "cli-version",
            or_none(facts.cli_version.as_deref()),
            or_none(said.cli_version.as_deref()),
        ),
        (
            "policy",
            facts.policy.sha256.to_string(),
            said.policy.sha256.to_string(),
        ),
        ("source", tree(&facts.source.tree), tree(&said.source.tree)),
        (
            "artifacts",
            artifacts(&facts.source.artifacts),
            artifacts(&said.source.artifacts),
        ),
    ]);
    for (check, now, then) in [
        ("input-bundle", &facts.inputs.bundle, &said.inputs.bundle),
        (
            "input-base-bundle",
            &facts.inputs.base_bundle,
            &said.inputs.base_bundle,
        ),
        ("input-state", &facts.inputs.state, &said.inputs.state),
        (
            "input-warnings",
            &facts.inputs.warnings,
            &said.inputs.warnings,
        ),
    ] {
        all.push((
            check,
            or_none(now.as_ref().map(|d| d.as_str())),
            or_none(then.as_ref().map(|d| d.as_str())),
        ));
    }
    all
}

/// Every finding that needs a person's word is among those that the person accepted.
fn accepted(statement: &Statement, facts: &Facts) -> Result<(), Refusal> {
    let missing: Vec<&str> = facts
        .to_accept
        .iter()
        .filter(|f| statement.predicate.accepted.binary_search(f).is_err())
        .map(crate::approval::Sha256Hex::short)
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    Err(Refusal::new(
        "accepted",
        format!(
            "an approver who accepted {}",
            findings(facts.to_accept.len())
        ),
        format!("an approval without {}", missing.join(", ")),
        "Look at the findings with these fingerprints, and approve again.",
    ))
}

fn findings(count: usize) -> String {
    match count {
        0 => "no finding".to_owned(),
        1 => "1 finding".to_owned(),
        n => format!("{n} findings"),
    }
}

fn or_none(text: Option<&str>) -> String {
    text.unwrap_or("none").to_owned()
}

/// In quotes, so that no lineage can look like "first deploy".
fn lineage(lineage: Option<&str>) -> String {
    lineage.map_or("none (first deploy)".to_owned(), |l| format!("{l:?}"))
}

fn serial(serial: Option<u64>) -> String {
    serial.map_or("none (first deploy)".to_owned(), |s| s.to_string())
}

fn tree(tree: &SourceTree) -> String {
    match tree {
        SourceTree::Git {
            commit,
            tree,
            folder,
            changes,
            ..
        } => {
            let changed = changes
                .as_ref()
                .map_or("clean".to_owned(), |c| format!("with the changes {c}"));
            format!("commit {commit}, tree {tree}, folder {folder:?}, {changed}")
        }
        SourceTree::Manifest { sha256, files } => {
            format!("the manifest {sha256} of {files} files")
        }
    }
}

fn artifacts(artifacts: &[Artifact]) -> String {
    if artifacts.is_empty() {
        return "no built file".to_owned();
    }
    artifacts
        .iter()
        .map(|a| format!("{:?} {} ({} bytes)", a.path, a.sha256, a.size))
        .collect::<Vec<_>>()
        .join(", ")
}

fn run_text(run: &CiRun) -> String {
    format!(
        "{} run {:?} attempt {} of {:?}",
        run.provider, run.run_id, run.attempt, run.repository
    )
}
