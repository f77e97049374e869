//! Who has to approve, what is checked after a deploy, and what a locked policy keeps of both.

use serde::Serialize;

use super::choice::choice;
use super::decode::record;
use super::diagnostic::Diagnostic;
use super::location::At;
use super::lock::Lock;
use super::value::PolicyDuration;
use crate::text::quoted;

/// Who has to approve a plan, and how.
#[derive(Debug, Clone, Serialize)]
pub struct Approval {
    /// How many distinct people; at least 1.
    pub required: u64,
    /// Who may not approve.
    pub separation: Vec<Separation>,
    /// How long an approval holds at most.
    pub expires_after: PolicyDuration,
    /// What an approval is for.
    pub matching: Match,
    /// The ways to approve.
    pub accept: Accept,
}

impl Default for Approval {
    fn default() -> Self {
        Self {
            required: 1,
            separation: vec![Separation::Author, Separation::Actor],
            expires_after: PolicyDuration::hours(24),
            matching: Match::Plan,
            accept: Accept::default(),
        }
    }
}

/// What is checked after a deploy.
#[derive(Debug, Clone, Serialize)]
pub struct Verify {
    /// Everything runs as whom it was approved to run as.
    pub run_as: bool,
    /// Everything is owned by whom it should be.
    pub owner: bool,
    /// A fresh plan has nothing left to do.
    pub converged: bool,
    /// What was deleted is gone.
    pub deleted: bool,
    /// Tables that must not be reset cannot be.
    pub reset_guards: bool,
    /// Tables left behind by a deleted pipeline are reported.
    pub orphans: bool,
    /// How long to wait for the workspace to show what was deployed.
    pub settle: PolicyDuration,
}

impl Default for Verify {
    fn default() -> Self {
        Self {
            run_as: true,
            owner: true,
            converged: true,
            deleted: true,
            reset_guards: true,
            orphans: true,
            settle: PolicyDuration::seconds(60),
        }
    }
}

record! {
    /// Who has to approve a plan, and how.
    pub(super) struct ApprovalSection ("`approval`") {
        /// How many distinct people. Without it: 1.
        pub(super) required: Option<At<u64>>,
        /// Who may not approve: the author of the code, who started the run. Without it: both.
        pub(super) separation: Option<Vec<At<Separation>>>,
        /// How long an approval holds. Without it: 24h.
        pub(super) expires_after: Option<At<PolicyDuration>>,
        /// What an approval is for. Without it: `plan`.
        pub(super) matching = "match": Option<At<Match>>,
        /// The ways to approve.
        pub(super) accept: Option<Accept>,
    }
}

choice! {
    /// Someone who may not approve.
    pub enum Separation ("who may not approve") {
        /// The author of the pull request or commit.
        Author = "author",
        /// Who started the CI run.
        Actor = "actor",
    }
}

choice! {
    /// What an approval is for.
    pub enum Match ("what an approval is for") {
        /// Exactly these bytes of a plan.
        Plan = "plan",
        /// The same effects, also in a plan that was made again.
        Intent = "intent",
    }
}

record! {
    /// The ways to approve.
    #[derive(Default)]
    pub struct Accept ("`approval.accept`") {
        /// By an SSH signature.
        pub ssh: Option<At<AcceptSsh>>,
        /// By GitHub.
        pub github: Option<At<AcceptGithub>>,
        /// By Azure DevOps.
        pub azure: Option<At<AcceptAzure>>,
    }
}

record! {
    /// SSH signatures.
    pub struct AcceptSsh ("`approval.accept.ssh`") {
        /// The file of allowed signers, from the root of the repository.
        pub allowed_signers: String,
        /// A file of revoked keys.
        pub revoked: Option<String>,
    }
}

record! {
    /// Approvals on GitHub.
    pub struct AcceptGithub ("`approval.accept.github`") {
        /// The environment whose approval counts.
        pub environment: Option<String>,
        /// Whose reviews count.
        pub reviewers: Option<Reviewers>,
    }
}

record! {
    /// Whose reviews count.
    pub struct Reviewers ("`reviewers`") {
        /// Teams, as `organisation/team`.
        #[schemars(default)]
        pub teams: Vec<String>,
        /// Logins.
        #[schemars(default)]
        pub users: Vec<String>,
    }
}

record! {
    /// Approvals in Azure DevOps.
    pub struct AcceptAzure ("`approval.accept.azure`") {
        /// The environment whose approval counts.
        pub environment: String,
    }
}

record! {
    /// What is checked after a deploy.
    pub(super) struct VerifySection ("`verify`") {
        /// Everything runs as whom it was approved to run as.
        pub(super) run_as: Option<At<bool>>,
        /// Everything is owned by whom it should be.
        pub(super) owner: Option<At<bool>>,
        /// A fresh plan has nothing left to do.
        pub(super) converged: Option<At<bool>>,
        /// What was deleted is gone.
        pub(super) deleted: Option<At<bool>>,
        /// Tables that must not be reset cannot be.
        pub(super) reset_guards: Option<At<bool>>,
        /// Tables left behind by a deleted pipeline are reported.
        pub(super) orphans: Option<At<bool>>,
        /// How long to wait for the workspace to show what was deployed. Without it: 60s.
        pub(super) settle: Option<At<PolicyDuration>>,
    }
}

pub(super) fn apply_approval(
    slot: &mut Option<Approval>,
    new: ApprovalSection,
    lock: &mut Lock<'_>,
) {
    // Where the locked policy says nothing about approvals, nothing about them is locked.
    let stated = slot.is_some();
    let mut lock = Lock {
        at: lock.at.filter(|_| stated),
        cx: lock.cx,
    };
    let approval = slot.get_or_insert_default();
    match &new.required {
        Some(required) if required.value == 0 => {
            lock.cx.report(Diagnostic::error(
                &required.at,
                "`approval.required` is at least 1, found 0",
            ));
        }
        _ => lock.replace(
            &mut approval.required,
            new.required,
            "`approval.required`",
            |old, new| new >= old,
        ),
    }
    if let Some(separation) = new.separation {
        let mut words: Vec<Separation> = separation.iter().map(|word| word.value).collect();
        words.sort();
        words.dedup();
        let milder = approval.separation.iter().any(|old| !words.contains(old));
        match (lock.at.cloned(), separation.first()) {
            (Some(_), Some(first)) if milder => lock.refuse(&first.at, "`approval.separation`"),
            (Some(locked), None) if milder => lock.cx.report(Diagnostic::error(
                &locked,
                "`approval.separation` is locked here; a policy that extends this one empties it",
            )),
            _ => approval.separation = words,
        }
    }
    lock.replace(
        &mut approval.expires_after,
        new.expires_after,
        "`approval.expires_after`",
        |old, new| new.as_secs() <= old.as_secs(),
    );
    lock.replace(
        &mut approval.matching,
        new.matching,
        "`approval.match`",
        |_, new| *new == Match::Plan,
    );
    if let Some(Accept { ssh, github, azure }) = new.accept {
        // Another way to approve makes it easier, so a locked policy that names one names all.
        if let Some(github) = &github
            && let Some(wrong) = wrong_github(&github.value)
        {
            lock.cx.report(Diagnostic::error(&github.at, wrong));
        }
        let named = approval.accept.ssh.is_some()
            || approval.accept.github.is_some()
            || approval.accept.azure.is_some();
        accept(
            &mut approval.accept.ssh,
            ssh,
            "`approval.accept.ssh`",
            named,
            &mut lock,
        );
        accept(
            &mut approval.accept.github,
            github,
            "`approval.accept.github`",
            named,
            &mut lock,
        );
        accept(
            &mut approval.accept.azure,
            azure,
            "`approval.accept.azure`",
            named,
            &mut lock,
        );
    }
}

/// What nobody could ever satisfy.
fn wrong_github(github: &AcceptGithub) -> Option<String> {
    const WHAT: &str = "`approval.accept.github`";
    let Some(reviewers) = &github.reviewers else {
        return github.environment.is_none().then(|| {
            format!("{WHAT} names an `environment`, `reviewers`, or both; found neither")
        });
    };
    if reviewers.teams.is_empty() && reviewers.users.is_empty() {
        return Some(format!(
            "{WHAT}: `reviewers` names `teams` or `users`; found neither"
        ));
    }
    let team = |team: &&String| match team.split_once('/') {
        Some((organisation, slug)) => !(is_github_name(organisation) && is_github_name(slug)),
        None => true,
    };
    if let Some(wrong) = reviewers.teams.iter().find(team) {
        return Some(format!(
            "{WHAT}: a team is written as `organisation/team`, with the team's short name as in its address; found {}",
            quoted(wrong)
        ));
    }
    let user = reviewers.users.iter().find(|user| !is_github_name(user));
    user.map(|wrong| format!("{WHAT}: expected a login, found {}", quoted(wrong)))
}

/// Letters, digits, `-`, `_` and `.`: nothing that would be another address of the API.
fn is_github_name(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    !text.is_empty() && text.chars().all(plain) && text.chars().any(|c| c.is_ascii_alphanumeric())
}

fn accept<T: PartialEq>(
    slot: &mut Option<At<T>>,
    new: Option<At<T>>,
    what: &str,
    named: bool,
    lock: &mut Lock<'_>,
) {
    match new {
        Some(new) if lock.at.is_some() && named && slot.as_ref() != Some(&new) => {
            lock.refuse(&new.at, what)
        }
        Some(new) => *slot = Some(new),
        None => {}
    }
}

pub(super) fn apply_verify(verify: &mut Verify, new: VerifySection, lock: &mut Lock<'_>) {
    let on = |_: &bool, new: &bool| *new;
    lock.replace(&mut verify.run_as, new.run_as, "`verify.run_as`", on);
    lock.replace(&mut verify.owner, new.owner, "`verify.owner`", on);
    lock.replace(
        &mut verify.converged,
        new.converged,
        "`verify.converged`",
        on,
    );
    lock.replace(&mut verify.deleted, new.deleted, "`verify.deleted`", on);
    lock.replace(
        &mut verify.reset_guards,
        new.reset_guards,
        "`verify.reset_guards`",
        on,
    );
    lock.replace(&mut verify.orphans, new.orphans, "`verify.orphans`", on);
    // How long to wait decides nothing but patience.
    if let Some(settle) = new.settle {
        verify.settle = settle.value;
    }
}
