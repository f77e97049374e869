//! What GitHub and Azure DevOps say, judged: which of it is a decision about this plan, and by whom.
//!
//! A pull request speaks in lines of its own, `bundlegate approve PLAN BOUND` and `bundlegate reject PLAN`: PLAN is the whole digest of the
//! plan, BOUND a digest of everything else that an approval binds. The approval of an environment says yes to a run and its commit.

mod azure;
mod github;
mod line;

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde::Serialize;

use super::{Check, CheckResult, Facts, Refused};
use crate::approval::platform::{AzureRun, GithubAnswers};
use crate::approval::statement::{Decision as Word, Deployment, Inputs, Source, SourceTree};
use crate::approval::{Decided, Identity, IntentDigest, Person, Refusal, Sha256Hex};
use crate::policy::{Approval, Match};
use crate::report::Exit;

pub use github::{ends_here, to_look_up};

/// What stands before the canonical form of what an approval binds beside the plan, when it is hashed.
pub const BOUND_DOMAIN: &str = "bundlegate-bound-v1\n";

/// What the platforms said.
#[derive(Debug, Clone, Default)]
pub struct Platforms {
    /// GitHub.
    pub github: Answer<GithubAnswers>,
    /// The ids of the GitHub accounts that are active in one of the policy's teams.
    pub team_members: BTreeSet<u64>,
    /// Azure DevOps.
    pub azure: Answer<AzureRun>,
}

/// What came of asking a platform.
#[derive(Debug, Clone)]
pub enum Answer<T> {
    /// It has nothing to say about this deploy, for this reason.
    NotAsked(&'static str),
    /// It should have been asked and did not answer: a rejection may be there.
    Silent(String),
    /// What it said.
    Given(T),
}

impl<T> Default for Answer<T> {
    fn default() -> Self {
        Self::NotAsked("the policy does not accept it")
    }
}

/// Everything that an approval binds beside the plan's own digest, in the order in which it is hashed.
#[derive(Serialize)]
struct Bound<'a> {
    intent: &'a IntentDigest,
    inputs: &'a Inputs,
    source: &'a Source,
    policy: &'a Sha256Hex,
    deployment: &'a Deployment,
    cli_version: &'a Option<String>,
    accepted: &'a [Sha256Hex],
}

impl Facts {
    /// The digest of everything that an approval binds beside the plan's own: SHA-256 over [`BOUND_DOMAIN`] and compact JSON.
    /// `docs/digests.md` lists the members.
    ///
    /// # Errors
    /// None in practice: the members are texts and numbers.
    pub fn bound(&self) -> Result<Sha256Hex, serde_json::Error> {
        let mut bytes = BOUND_DOMAIN.as_bytes().to_vec();
        serde_json::to_writer(
            &mut bytes,
            &Bound {
                intent: &self.intent,
                inputs: &self.inputs,
                source: &self.source,
                policy: &self.policy.sha256,
                deployment: &self.deployment,
                cli_version: &self.cli_version,
                accepted: &self.to_accept,
            },
        )?;
        Ok(Sha256Hex::of(&bytes))
    }

    /// The line that approves this plan in a pull request.
    ///
    /// # Errors
    /// As for [`Self::bound`].
    pub fn approving_line(&self, matching: Match) -> Result<String, serde_json::Error> {
        let plan = self.named(matching);
        Ok(format!("bundlegate approve {plan} {}", self.bound()?))
    }

    /// The line that rejects this plan in a pull request.
    #[must_use]
    pub fn rejecting_line(&self, matching: Match) -> String {
        format!("bundlegate reject {}", self.named(matching))
    }

    /// How a line names this plan: as long as it says yes or no to it.
    fn named(&self, matching: Match) -> String {
        match matching {
            Match::Plan => self.plan.to_string(),
            Match::Intent => self.intent.to_string(),
        }
    }
}

/// Where the judgement of single decisions goes.
pub(super) struct Found<'a> {
    pub(super) passed: &'a mut Vec<Check>,
    pub(super) refused: &'a mut Vec<Refused>,
    pub(super) decided: &'a mut Vec<Decided>,
}

impl Found<'_> {
    fn refuse(&mut self, label: &str, refusal: Refusal) {
        self.refuse_with(label, refusal, Exit::Invalid, false);
    }

    fn refuse_with(&mut self, label: &str, refusal: Refusal, exit: Exit, always: bool) {
        let check = Check::refused(refusal, exit).of(label);
        self.refused.push(Refused { check, always });
    }

    /// What somebody says whose word does not count is no reason to refuse: everybody may talk.
    fn note(&mut self, label: &str, refusal: Refusal) {
        let check = Check::refused(refusal, Exit::Invalid).of(label);
        self.passed.push(Check {
            result: CheckResult::NotCounted,
            ..check
        });
    }

    /// What may be a rejection closes the gate, even if others are enough.
    fn refuse_as_rejected(&mut self, label: &str, found: &str) {
        let refusal = Refusal::new(
            "rejection",
            "a plan that nobody rejected",
            found,
            "Find out who said it and about what; if it was not meant, have it deleted or edited.",
        );
        self.refuse_with(label, refusal, Exit::Invalid, true);
    }

    fn approve(&mut self, label: &str, by: Identity, time: Timestamp, checks: Vec<Check>) {
        self.passed
            .extend(checks.into_iter().map(|check| check.of(label)));
        self.decide(label, by, Word::Approve, time);
    }

    fn decide(&mut self, label: &str, by: Identity, decision: Word, time: Timestamp) {
        self.decided.push(Decided {
            label: label.to_owned(),
            by,
            decision,
            time,
            // What is said on a platform has no end of its own: the policy's is what counts.
            expires: Timestamp::MAX,
        });
    }
}

/// Judges what the policy's platforms said.
pub(super) fn judge(facts: &Facts, approval: &Approval, people: &[Person], found: &mut Found<'_>) {
    let github = approval.accept.github.as_ref().map(|g| &g.value);
    let azure = approval.accept.azure.as_ref().map(|a| &a.value);
    if let Some(accept) = github
        && let Some(answers) = answered("github", &facts.platforms.github, found)
    {
        github::judge(facts, accept, people, approval.matching, answers, found);
    }
    if let Some(accept) = azure
        && let Some(run) = answered("azure-devops", &facts.platforms.azure, found)
    {
        azure::judge(facts, accept, approval.matching, run, found);
    }
}

fn answered<'a, T>(
    name: &'static str,
    answer: &'a Answer<T>,
    found: &mut Found<'_>,
) -> Option<&'a T> {
    match answer {
        Answer::Given(given) => {
            found.passed.push(Check::passed(name, "it answered"));
            Some(given)
        }
        Answer::NotAsked(why) => {
            found.passed.push(Check::not_reached(name, *why));
            None
        }
        Answer::Silent(why) => {
            found.refused.push(Refused {
                check: Check::refused(
                    Refusal::new(
                        name,
                        "what the platform knows of approvals and rejections, since the policy accepts them from there",
                        why.clone(),
                        "Give the run access to the platform (docs/approvals.md), then run it again.",
                    ),
                    Exit::Unreachable,
                ),
                always: true,
            });
            None
        }
    }
}

/// The commit that ships, if nothing else does.
fn commit(facts: &Facts) -> Result<&str, Refusal> {
    const EXPECTED: &str = "a clean checkout of the commit, since a run is about a commit";
    let refuse = |found: String| {
        Refusal::new(
            "source",
            EXPECTED,
            found,
            "Commit what ships, or have it approved with a signature or in the pull request, which bind changed files too.",
        )
    };
    match &facts.source.tree {
        SourceTree::Git {
            commit,
            clean: true,
            ..
        } => Ok(commit.as_str()),
        SourceTree::Git { .. } => Err(refuse("files that differ from the commit".to_owned())),
        SourceTree::Manifest { .. } => Err(refuse("a folder outside git".to_owned())),
    }
}

/// A run that a person let through is this run, on the commit that ships.
fn is_this_run(
    facts: &Facts,
    provider: &str,
    run: &str,
    head: &str,
) -> Result<Vec<Check>, Refusal> {
    let now = facts.ci.as_ref().map_or("no CI run".to_owned(), |ci| {
        format!("{} run {}", ci.provider, ci.run_id)
    });
    let then = format!("{provider} run {run}");
    if now != then {
        return Err(Refusal::new(
            "ci-run",
            now,
            format!("an approval of {then}"),
            "Have this run approved.",
        ));
    }
    let commit = commit(facts)?;
    if !commit.eq_ignore_ascii_case(head) {
        return Err(Refusal::new(
            "source",
            format!("a run on the commit that ships, {commit}"),
            format!("a run on {head}"),
            "Check out the commit that the run is about, and plan again.",
        ));
    }
    Ok(vec![
        Check::passed("ci-run", then),
        Check::passed("source", format!("commit {commit}")),
    ])
}

/// A comment to an approval that names digests names this plan's or its commit's.
fn comment_agrees(facts: &Facts, comment: &str) -> Result<(), Refusal> {
    match line::names_another(comment, facts) {
        None => Ok(()),
        Some(other) => Err(Refusal::new(
            "plan",
            facts.plan.to_string(),
            format!("an approval whose comment names {other}"),
            "Approve again, for the plan that is there now.",
        )),
    }
}

fn not_a_person(who: &str) -> Refusal {
    Refusal::new(
        "approver",
        "an approval by a person",
        format!("one by {who}"),
        "Have a person approve.",
    )
}

#[cfg(test)]
mod tests;
