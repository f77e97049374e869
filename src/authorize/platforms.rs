//! What GitHub and Azure DevOps say, judged: which of it is a decision about this plan, and by whom.
//!
//! A pull request speaks in lines of its own, `bundlegate approve PLAN BOUND` and `bundlegate reject PLAN`: PLAN is the whole digest of the
//! plan, BOUND a digest of everything else that an approval binds. The approval of an environment says yes to a run and its commit.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde::Serialize;

use super::{Check, Facts, Refused};
use crate::approval::platform::{
    AzureAccount, AzureRun, AzureStep, EnvironmentReview, GithubAccount, GithubAnswers, GithubRun,
    PullRequest, Remark, ReviewState,
};
use crate::approval::statement::{Decision as Word, Deployment, Inputs, Source, SourceTree};
use crate::approval::{Decided, Identity, IntentDigest, Person, Refusal, Sha256Hex};
use crate::policy::{AcceptAzure, AcceptGithub, Approval, Match, Reviewers};
use crate::report::Exit;

/// What stands before the canonical form of what an approval binds beside the plan, when it is hashed.
pub const BOUND_DOMAIN: &str = "bundlegate-bound-v1\n";
/// The fewest digits that are taken for the beginning of a digest.
const SHORTEST: usize = 7;

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
        let plan = match matching {
            Match::Plan => self.plan.to_string(),
            Match::Intent => self.intent.to_string(),
        };
        Ok(format!("bundlegate approve {plan} {}", self.bound()?))
    }
}

/// A line of a pull request that is meant for the gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Line<'a> {
    word: Word,
    plan: &'a str,
    bound: Option<&'a str>,
    /// It stands in a code block, as an example does.
    in_code: bool,
}

/// The lines that are meant for the gate. Quotes of others are none.
fn lines(body: &str) -> Vec<Line<'_>> {
    let mut found = Vec::new();
    let mut fence: Option<&str> = None;
    for line in body.lines() {
        let text = line.trim();
        let opening = ["```", "~~~"].into_iter().find(|f| text.starts_with(f));
        match (fence, opening) {
            (None, Some(_)) => {
                fence = opening;
                continue;
            }
            (Some(open), Some(close)) if open == close => {
                fence = None;
                continue;
            }
            _ => {}
        }
        let mut parts = text.trim_matches('`').split_ascii_whitespace();
        let word = match (parts.next(), parts.next()) {
            (Some("bundlegate"), Some("approve")) => Word::Approve,
            (Some("bundlegate"), Some("reject")) => Word::Reject,
            _ => continue,
        };
        if let Some(plan) = parts.next() {
            found.push(Line {
                word,
                plan,
                bound: parts.next(),
                in_code: fence.is_some() || line.starts_with("    ") || line.starts_with('\t'),
            });
        }
    }
    found
}

/// How a text names a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Names {
    This,
    /// Only the beginning of its digest.
    InShort,
    Another,
}

fn names(text: &str, facts: &Facts, matching: Match) -> Names {
    let text = text.strip_prefix("sha256:").unwrap_or(text);
    let is = |digest: &str| digest.eq_ignore_ascii_case(text);
    if is(facts.plan.as_str()) || (matching == Match::Intent && is(&facts.intent.to_string())) {
        return Names::This;
    }
    let begins =
        text.len() >= SHORTEST && facts.plan.as_str().starts_with(&text.to_ascii_lowercase());
    if begins {
        Names::InShort
    } else {
        Names::Another
    }
}

/// The whole digests that a free text names.
fn digests(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_ascii_alphanumeric() || c == ':'))
        .filter(|word| {
            let digits = word.rsplit(':').next().unwrap_or_default();
            digits.len() == 64 && digits.chars().all(|c| c.is_ascii_hexdigit())
        })
}

/// Where the judgement of single decisions goes.
pub(super) struct Found<'a> {
    pub(super) passed: &'a mut Vec<Check>,
    pub(super) refused: &'a mut Vec<Refused>,
    pub(super) decided: &'a mut Vec<Decided>,
}

impl Found<'_> {
    fn refuse(&mut self, label: &str, refusal: Refusal) {
        self.refused.push(Refused {
            check: Check::refused(refusal, Exit::Invalid).of(label),
            always: false,
        });
    }

    /// A "no" by somebody who cannot be told: it may be a reviewer's.
    fn refuse_as_rejected(&mut self, label: &str) {
        self.refused.push(Refused {
            check: Check::refused(
                Refusal::new(
                    "rejection",
                    "a plan that nobody rejected",
                    "a rejection by an account that is gone",
                    "Find out whose it was; delete the remark if it does not count, or change the plan.",
                ),
                Exit::Invalid,
            )
            .of(label),
            always: true,
        });
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
        let judge = GithubJudge {
            facts,
            accept,
            people,
            matching: approval.matching,
        };
        if let (Some(environment), Some(run)) = (&accept.environment, &answers.run) {
            judge.run(environment, run, found);
        }
        if accept.reviewers.is_some() {
            judge.pulls(&answers.pulls, found);
        }
    }
    if let Some(accept) = azure
        && let Some(run) = answered("azure-devops", &facts.platforms.azure, found)
    {
        azure_run(facts, accept, approval.matching, run, found);
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

/// A comment that names digests names this plan's.
fn comment_agrees(facts: &Facts, matching: Match, comment: &str) -> Result<(), Refusal> {
    let mut named = digests(comment).peekable();
    let Some(first) = named.peek().copied() else {
        return Ok(());
    };
    if named.any(|digest| {
        digest.eq_ignore_ascii_case(&facts.intent.to_string())
            || names(digest, facts, matching) == Names::This
    }) {
        return Ok(());
    }
    Err(Refusal::new(
        "plan",
        facts.plan.to_string(),
        format!("an approval whose comment names {first}"),
        "Approve again, for the plan that is there now.",
    ))
}

fn not_a_person(who: &str) -> Refusal {
    Refusal::new(
        "approver",
        "an approval by a person",
        format!("one by {who}"),
        "Have a person approve.",
    )
}

struct GithubJudge<'a> {
    facts: &'a Facts,
    accept: &'a AcceptGithub,
    people: &'a [Person],
    matching: Match,
}

impl GithubJudge<'_> {
    /// The account, if it is a person's and among the reviewers of the policy.
    fn reviewer<'a>(&self, by: Option<&'a GithubAccount>) -> Result<&'a GithubAccount, Refusal> {
        let account = by.ok_or_else(|| not_a_person("an account that is gone"))?;
        if !account.human {
            return Err(not_a_person(&format!("{}, which is a bot", account.login)));
        }
        let Some(reviewers) = &self.accept.reviewers else {
            return Ok(account);
        };
        if self.facts.platforms.team_members.contains(&account.id)
            || is_listed(reviewers, account, self.people)
        {
            return Ok(account);
        }
        Err(Refusal::new(
            "reviewer",
            "somebody among the policy's `approval.accept.github.reviewers`",
            format!("{} (id {})", account.login, account.id),
            "Have one of them approve, or add the person to the policy on the trusted ref.",
        ))
    }

    /// The decisions about this run's deployments to the environment.
    fn run(&self, environment: &str, run: &GithubRun, found: &mut Found<'_>) {
        let reviews = run.reviews.iter().filter(|review| {
            review
                .environments
                .iter()
                .any(|e| e.eq_ignore_ascii_case(environment))
        });
        for review in reviews {
            let who = review.by.as_ref().map_or("?", |by| by.login.as_str());
            let label = format!("{} {} by {who}", run.url, review.state);
            match (review.state.as_str(), &review.by) {
                ("approved", _) => match self.environment_review(review, run) {
                    Ok((account, checks)) => {
                        found
                            .passed
                            .extend(checks.into_iter().map(|check| check.of(&label)));
                        found.decide(&label, identity(account), Word::Approve, run.started);
                    }
                    Err(refusal) => found.refuse(&label, refusal),
                },
                // Whoever GitHub lets reject has rejected.
                ("rejected", Some(by)) => {
                    found.decide(&label, identity(by), Word::Reject, run.started);
                }
                ("rejected", None) => found.refuse_as_rejected(&label),
                _ => {}
            }
        }
    }

    fn environment_review<'r>(
        &self,
        review: &'r EnvironmentReview,
        run: &GithubRun,
    ) -> Result<(&'r GithubAccount, Vec<Check>), Refusal> {
        let account = self.reviewer(review.by.as_ref())?;
        let mut checks = is_this_run(self.facts, "github", &run.id.to_string(), &run.head)?;
        if run.attempt != 1 {
            return Err(Refusal::new(
                "ci-run",
                "an approval of this attempt",
                format!(
                    "attempt {} of a run: GitHub does not say which attempt was approved",
                    run.attempt
                ),
                "Start a new run instead of running this one again.",
            ));
        }
        comment_agrees(self.facts, self.matching, &review.comment)?;
        checks.push(Check::passed(
            "environment",
            format!("{} let the run through", account.login),
        ));
        Ok((account, checks))
    }

    fn pulls(&self, pulls: &[PullRequest], found: &mut Found<'_>) {
        let mut remarks: Vec<(&PullRequest, &Remark)> = pulls
            .iter()
            .flat_map(|pull| pull.remarks.iter().map(move |remark| (pull, remark)))
            .collect();
        remarks.sort_by(|a, b| a.1.made.cmp(&b.1.made).then(a.1.url.cmp(&b.1.url)));
        self.change_requests(&remarks, found);
        for (pull, remark) in remarks {
            for line in lines(&remark.body) {
                match names(line.plan, self.facts, self.matching) {
                    Names::Another => continue,
                    Names::InShort if line.word == Word::Approve && !line.in_code => {
                        found.refuse(&remark.url, self.only_in_short(line.plan));
                        continue;
                    }
                    // What begins like this plan's digest may be meant for it.
                    Names::InShort | Names::This => {}
                }
                match line.word {
                    Word::Reject if remark.by.is_none() => found.refuse_as_rejected(&remark.url),
                    Word::Reject => match self.reviewer(remark.by.as_ref()) {
                        Ok(by) => {
                            found.decide(&remark.url, identity(by), Word::Reject, remark.made)
                        }
                        Err(refusal) => found.refuse(&remark.url, refusal),
                    },
                    Word::Approve if line.in_code => {}
                    Word::Approve => match self.approving(pull, remark, line) {
                        Ok((by, checks)) => {
                            found
                                .passed
                                .extend(checks.into_iter().map(|check| check.of(&remark.url)));
                            found.decide(&remark.url, identity(by), Word::Approve, remark.made);
                        }
                        Err(refusal) => found.refuse(&remark.url, refusal),
                    },
                }
            }
        }
    }

    /// Whose latest review with a verdict asks for changes has rejected what is there.
    fn change_requests(&self, remarks: &[(&PullRequest, &Remark)], found: &mut Found<'_>) {
        let mut latest: BTreeMap<(u64, u64), (&Remark, &GithubAccount, ReviewState)> =
            BTreeMap::new();
        for (pull, remark) in remarks {
            if let (Some(review), Ok(by)) = (&remark.review, self.reviewer(remark.by.as_ref()))
                && matches!(
                    review.state,
                    ReviewState::Approved | ReviewState::ChangesRequested
                )
            {
                latest.insert((pull.number, by.id), (remark, by, review.state));
            }
        }
        for (remark, by, state) in latest.into_values() {
            if state == ReviewState::ChangesRequested {
                found.decide(&remark.url, identity(by), Word::Reject, remark.made);
            }
        }
    }

    fn only_in_short(&self, given: &str) -> Refusal {
        Refusal::new(
            "plan",
            format!("the whole digest, {}", self.facts.plan),
            format!("only its beginning, {given}"),
            "Copy the whole line that `bundlegate approve PLAN --comment` prints.",
        )
    }

    /// An approving line that names this plan.
    fn approving<'r>(
        &self,
        pull: &PullRequest,
        remark: &'r Remark,
        line: Line<'_>,
    ) -> Result<(&'r GithubAccount, Vec<Check>), Refusal> {
        let account = self.reviewer(remark.by.as_ref())?;
        if remark.edited {
            return Err(Refusal::new(
                "edited",
                "a remark that stands as it was submitted",
                "one that was edited",
                "Write a new one.",
            ));
        }
        match remark.review.as_ref().map(|r| r.state) {
            None | Some(ReviewState::Approved | ReviewState::Commented) => {}
            Some(state) => {
                return Err(Refusal::new(
                    "review-state",
                    "a comment, or a review that approves",
                    match state {
                        ReviewState::Dismissed => "a review that was dismissed",
                        ReviewState::ChangesRequested => "a review that asks for changes",
                        _ => "a review that is not submitted",
                    },
                    "Write a new one.",
                ));
            }
        }
        let bound = self.facts.bound().map_err(|e| {
            Refusal::new(
                "bound",
                "a digest of what is bound",
                e.to_string(),
                "Report this.",
            )
        })?;
        let named = line.bound.unwrap_or("none");
        if !bound.as_str().eq_ignore_ascii_case(named) {
            return Err(Refusal::new(
                "bound",
                format!(
                    "{bound}, the digest of everything beside the plan that an approval binds: source, built files, inputs, policy, place, findings"
                ),
                format!("an approval that names {named}"),
                "Look at what changed since, then copy the line that `bundlegate approve PLAN --comment` prints now.",
            ));
        }
        self.on_the_head(pull, remark)?;
        Ok((
            account,
            vec![
                Check::passed("reviewer", format!("{} (id {})", account.login, account.id)),
                Check::passed("plan", self.facts.plan.to_string()),
                Check::passed("bound", bound.to_string()),
            ],
        ))
    }

    /// The pull request ends in, or was merged as, the commit that ships; a review is about its last commit.
    fn on_the_head(&self, pull: &PullRequest, remark: &Remark) -> Result<(), Refusal> {
        let SourceTree::Git { commit, .. } = &self.facts.source.tree else {
            return Err(Refusal::new(
                "source",
                "a commit, since a pull request is about commits",
                "a folder outside git",
                "Deploy from a checkout.",
            ));
        };
        let is = |other: &str| other.eq_ignore_ascii_case(commit.as_str());
        if !is(&pull.head) && !pull.merged_as.as_deref().is_some_and(is) {
            return Err(Refusal::new(
                "pull-request",
                format!(
                    "a pull request that ends in the commit that ships, {commit}, or was merged as it"
                ),
                format!("number {}, which ends in {}", pull.number, pull.head),
                "Plan and approve on the last commit.",
            ));
        }
        match remark.review.as_ref().map(|r| r.commit.as_deref()) {
            None => Ok(()),
            Some(Some(about)) if about.eq_ignore_ascii_case(&pull.head) => Ok(()),
            Some(about) => Err(Refusal::new(
                "pull-request",
                format!("a review of the last commit, {}", pull.head),
                format!("one of {}", about.unwrap_or("a commit that is gone")),
                "Review again.",
            )),
        }
    }
}

fn identity(account: &GithubAccount) -> Identity {
    Identity::Github {
        login: account.login.clone(),
        id: Some(account.id),
    }
}

/// Whether the policy lists the login. Where `people:` knows that login, the id has to agree: a login can change hands.
fn is_listed(reviewers: &Reviewers, account: &GithubAccount, people: &[Person]) -> bool {
    let same = |login: &String| login.eq_ignore_ascii_case(&account.login);
    reviewers.users.iter().any(same)
        && people
            .iter()
            .filter_map(|p| p.github.as_ref())
            .filter(|g| same(&g.login))
            .all(|g| g.id.is_none_or(|id| id == account.id))
}

/// The GitHub accounts for which it matters whether they are in a team of the policy: id and login.
#[must_use]
pub fn to_look_up(
    answers: &GithubAnswers,
    accept: &AcceptGithub,
    people: &[Person],
) -> BTreeMap<u64, String> {
    let Some(reviewers) = &accept.reviewers else {
        return BTreeMap::new();
    };
    let on_the_run = answers
        .run
        .iter()
        .filter(|_| accept.environment.is_some())
        .flat_map(|run| &run.reviews)
        .filter_map(|review| review.by.as_ref());
    let in_pulls = answers
        .pulls
        .iter()
        .flat_map(|pull| &pull.remarks)
        .filter(|remark| {
            remark.review.as_ref().is_some_and(|r| {
                matches!(
                    r.state,
                    ReviewState::Approved | ReviewState::ChangesRequested
                )
            }) || !lines(&remark.body).is_empty()
        })
        .filter_map(|remark| remark.by.as_ref());
    on_the_run
        .chain(in_pulls)
        .filter(|account| account.human && !is_listed(reviewers, account, people))
        .map(|account| (account.id, account.login.clone()))
        .collect()
}

/// The decisions about this stage's deployments to the environment.
fn azure_run(
    facts: &Facts,
    accept: &AcceptAzure,
    matching: Match,
    run: &AzureRun,
    found: &mut Found<'_>,
) {
    let of_environment = run.approvals.iter().filter(|approval| {
        approval
            .environments
            .iter()
            .any(|e| e.eq_ignore_ascii_case(&accept.environment))
    });
    let label = |step: &AzureStep| {
        let who = step.by.as_ref().map_or("?", |by| by.name.as_str());
        format!("{} stage {} {} by {who}", run.url, run.stage, step.status)
    };
    let of_nothing = run.approvals.iter().filter(|a| a.environments.is_empty());
    for step in of_nothing.flat_map(|approval| &approval.steps) {
        if step.status == "approved" {
            found.refuse(
                &label(step),
                Refusal::new(
                    "environment",
                    format!("an approval of the environment {}", accept.environment),
                    "one of another resource, or of one that the service does not name",
                    "Have the environment's own check approved, and let the build service read the environment.",
                ),
            );
        }
    }
    for step in of_environment.flat_map(|approval| &approval.steps) {
        let decision = match step.status.as_str() {
            "approved" => Word::Approve,
            "rejected" => Word::Reject,
            _ => continue,
        };
        let label = label(step);
        let by = |account: &AzureAccount| Identity::Azure {
            descriptor: account.descriptor.clone(),
        };
        match (decision, &step.by) {
            (Word::Reject, Some(account)) => {
                let when = step.when.unwrap_or(facts.now);
                found.decide(&label, by(account), Word::Reject, when);
            }
            (Word::Reject, None) => found.refuse_as_rejected(&label),
            (Word::Approve, _) => match azure_approval(facts, matching, run, step) {
                Ok((account, when, checks)) => {
                    found
                        .passed
                        .extend(checks.into_iter().map(|check| check.of(&label)));
                    found.decide(&label, by(account), Word::Approve, when);
                }
                Err(refusal) => found.refuse(&label, refusal),
            },
        }
    }
}

fn azure_approval<'r>(
    facts: &Facts,
    matching: Match,
    run: &AzureRun,
    step: &'r AzureStep,
) -> Result<(&'r AzureAccount, Timestamp, Vec<Check>), Refusal> {
    let account = azure_person(step.by.as_ref())?;
    let when = step.when.ok_or_else(|| {
        Refusal::new(
            "expired",
            "an approval with a time",
            "one without",
            "Approve again.",
        )
    })?;
    let checks = is_this_run(facts, "azure", &run.build.to_string(), &run.commit)?;
    comment_agrees(facts, matching, &step.comment)?;
    Ok((account, when, checks))
}

fn azure_person(by: Option<&AzureAccount>) -> Result<&AzureAccount, Refusal> {
    match by {
        Some(account) if account.is_human() => Ok(account),
        Some(account) => Err(not_a_person(&format!(
            "{} ({}), which is not a person's account",
            account.name, account.descriptor
        ))),
        None => Err(not_a_person("somebody whom the service does not name")),
    }
}

#[cfg(test)]
mod tests;
