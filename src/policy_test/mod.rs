//! `policy test`: runs the cases of a test file through a policy and compares what is found with what is expected.
//!
//! Files come in through a closure, the time as an argument.

mod compare;
mod inputs;
mod render;

use std::collections::BTreeSet;
use std::path::Path;

use jiff::Timestamp;

pub use compare::Mismatch;
pub use render::{Run, json, junit, text};

use crate::effect::{Inputs, World};
use crate::policy::{At, Case, CaseFile, Diagnostic, Level, Line, Location, Policy, Severity};
use crate::report::{Verdict, verdict};
use crate::rules::{Context, RULES, judge};
use crate::text::{nearest, quoted};

/// What came of one case.
#[derive(Debug)]
pub struct Outcome {
    /// Its name.
    pub name: String,
    /// Where it stands.
    pub at: Location,
    /// The verdict that was found.
    pub verdict: Verdict,
    /// What differs from what was expected; empty: the case passes.
    pub mismatches: Vec<Mismatch>,
}

/// What came of one file.
#[derive(Debug)]
pub struct Suite {
    /// The file, as it was named.
    pub file: String,
    /// The policy, as reports call it.
    pub policy: String,
    /// The cases, in the file's order.
    pub outcomes: Vec<Outcome>,
    /// Rules that said something in any case, waived or not.
    pub fired: BTreeSet<String>,
    /// Rules that the policy has on.
    pub on: BTreeSet<String>,
}

/// Hands over the bytes of a file, or says why not.
pub type ReadFile<'r> = dyn FnMut(&Path) -> Result<Vec<u8>, String> + 'r;

/// Runs the cases of a file. Paths in it are relative to `folder`.
///
/// # Errors
/// Everything that keeps a case from being judged: a file that cannot be read, a rule or a resource that does not exist.
pub fn run(
    name: &str,
    file: &CaseFile,
    policy: &Policy,
    folder: &Path,
    now: Timestamp,
    read: &mut ReadFile<'_>,
) -> Result<Suite, Vec<Diagnostic>> {
    let mut suite = Suite {
        file: name.to_owned(),
        policy: policy.source().to_owned(),
        outcomes: Vec::new(),
        fired: BTreeSet::new(),
        on: rules_of(policy)
            .filter(|id| policy.highest_level(id) != Level::Off)
            .map(str::to_owned)
            .collect(),
    };
    let file_now = file.now.map_or(now, crate::policy::Moment::timestamp);
    let mut wrong = Vec::new();
    for case in &file.cases {
        lines(case).for_each(|line| wrong.extend(unknown_rule(line, policy)));
        match inputs::Prepared::read(case, folder, read) {
            Ok(prepared) => {
                let not = case.expect.not.iter().flatten();
                wrong.extend(not.filter_map(|line| unknown_key(line, &prepared)));
                suite.judge(case, &prepared, policy, file_now);
            }
            Err(diagnostics) => wrong.extend(diagnostics),
        }
    }
    if wrong.is_empty() {
        Ok(suite)
    } else {
        Err(wrong)
    }
}

impl Suite {
    /// Whether every case passes.
    #[must_use]
    pub fn passes(&self) -> bool {
        self.outcomes.iter().all(|o| o.mismatches.is_empty())
    }

    fn judge(
        &mut self,
        case: &At<Case>,
        prepared: &inputs::Prepared,
        policy: &Policy,
        now: Timestamp,
    ) {
        let targets: Vec<(&'static str, String)> = case
            .target
            .iter()
            .map(|target| ("target", target.clone()))
            .collect();
        let world = World::new(Inputs {
            plan: &prepared.plan,
            bundle: prepared.bundle.as_ref(),
            base_bundle: prepared.base_bundle.as_ref(),
            state: prepared.state.as_ref(),
            warnings: prepared.warnings.as_ref(),
            targets: &targets,
        });
        let judged = judge(&Context {
            world: &world,
            policy,
            now: case.now.map_or(now, crate::policy::Moment::timestamp),
        });
        let verdict = verdict(&judged.findings);
        self.fired
            .extend(judged.findings.iter().map(|f| f.rule.clone()));
        self.outcomes.push(Outcome {
            name: case.name.value.clone(),
            at: case.at.clone(),
            verdict,
            mismatches: compare::compare(&case.expect, verdict, &judged),
        });
    }
}

/// Every line of a case that names a rule.
fn lines(case: &Case) -> impl Iterator<Item = &At<Line>> {
    let e = &case.expect;
    [&e.findings, &e.not, &e.unknown, &e.waived]
        .into_iter()
        .flatten()
        .flatten()
}

/// The ids of all rules: built in, and the policy's own.
fn rules_of(policy: &Policy) -> impl Iterator<Item = &str> {
    let built_in = RULES.iter().map(|rule| rule.doc().id);
    built_in.chain(policy.custom.iter().map(|rule| rule.id.as_str()))
}

fn wrong(at: &Location, message: String, label: Option<String>, help: Option<&str>) -> Diagnostic {
    Diagnostic {
        severity: Severity::Error,
        message,
        label: label.unwrap_or_default(),
        at: Some(at.clone()),
        related: None,
        help: help.map(str::to_owned),
    }
}

fn did_you_mean(near: Option<&str>) -> Option<String> {
    near.map(|near| format!("did you mean `{near}`?"))
}

fn unknown_rule(line: &At<Line>, policy: &Policy) -> Option<Diagnostic> {
    let rule = line.rule.as_str();
    if rules_of(policy).any(|id| id == rule) {
        return None;
    }
    Some(wrong(
        &line.at,
        format!("there is no rule {}", quoted(rule)),
        did_you_mean(nearest(rule, rules_of(policy))),
        Some("`bundlegate rules` lists the rules"),
    ))
}

/// A resource that is nowhere in the case: that nothing is found about it says nothing.
fn unknown_key(line: &At<Line>, prepared: &inputs::Prepared) -> Option<Diagnostic> {
    let key = line.key.as_deref()?;
    let keys = prepared.keys();
    if keys.contains(key) {
        return None;
    }
    Some(wrong(
        &line.at,
        format!(
            "no resource {} in this case: that nothing is found about it says nothing",
            quoted(key)
        ),
        did_you_mean(nearest(key, keys.iter().map(String::as_str))),
        None,
    ))
}

#[cfg(test)]
mod tests;
