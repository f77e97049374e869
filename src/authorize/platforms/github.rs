//! GitHub: who let the run through, and what the policy's reviewers say in the pull request.

use std::collections::BTreeMap;

use super::line::{self, Approving, Names, Rejects, names, rejecting, takes_back};
use super::{Found, comment_agrees, is_this_run, not_a_person};
use crate::approval::platform::{
    EnvironmentReview, GithubAccount, GithubAnswers, GithubRun, PullRequest, Remark, ReviewState,
};
use crate::approval::statement::{Decision as Word, Source, SourceTree};
use crate::approval::{Identity, Person, Refusal};
use crate::authorize::{Check, Facts};
use crate::policy::{AcceptGithub, Match, Reviewers};
use crate::report::Exit;

struct Judge<'a> {
    facts: &'a Facts,
    accept: &'a AcceptGithub,
    people: &'a [Person],
    matching: Match,
}

/// Judges everything that GitHub said.
pub(super) fn judge(
    facts: &Facts,
    accept: &AcceptGithub,
    people: &[Person],
    matching: Match,
    answers: &GithubAnswers,
    found: &mut Found<'_>,
) {
    let judge = Judge {
        facts,
        accept,
        people,
        matching,
    };
    if let (Some(environment), Some(run)) = (&accept.environment, &answers.run) {
        judge.run(environment, run, found);
    }
    if accept.reviewers.is_some() {
        judge.pulls(answers, found);
    }
}

impl Judge<'_> {
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
        // A rejection that names no environment may be of this one.
        let of_none = run
            .reviews
            .iter()
            .filter(|r| r.environments.is_empty() && r.state != "approved");
        for review in of_environment(run, environment).chain(of_none) {
            let who = review.by.as_ref().map_or("?", |by| by.login.as_str());
            let label = format!("{} {} by {who}", run.url, review.state);
            let no = match review.state.as_str() {
                "approved" => takes_back(&review.comment, self.facts, self.matching),
                "rejected" => true,
                "pending" => continue,
                other => {
                    found.refuse_as_rejected(
                        &label,
                        &format!("a review of the run with the unknown state {other}"),
                    );
                    continue;
                }
            };
            match (no, &review.by) {
                // Whoever GitHub lets reject has rejected.
                (true, Some(by)) => found.decide(&label, identity(by), Word::Reject, run.started),
                (true, None) => {
                    found.refuse_as_rejected(&label, "a rejection by an account that is gone");
                }
                (false, _) => match self.environment_review(review, run) {
                    Ok((account, checks)) => {
                        found.approve(&label, identity(account), run.started, checks);
                    }
                    Err(refusal) => found.refuse(&label, refusal),
                },
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
        comment_agrees(self.facts, &review.comment)?;
        checks.push(Check::passed(
            "environment",
            format!("{} let the run through", account.login),
        ));
        Ok((account, checks))
    }

    fn pulls(&self, answers: &GithubAnswers, found: &mut Found<'_>) {
        let mut remarks: Vec<(&PullRequest, &Remark)> = answers
            .pulls
            .iter()
            .flat_map(|pull| pull.remarks.iter().map(move |remark| (pull, remark)))
            .collect();
        remarks.sort_by(|a, b| a.1.made.cmp(&b.1.made).then(a.1.url.cmp(&b.1.url)));
        if answers.pulls.is_empty() {
            found.refuse_with(
                "pull requests",
                Refusal::new(
                    "pull-request",
                    "a pull request that ends in the commit that ships, or was merged as it",
                    "none",
                    "Open one; on a `pull_request` event check out `github.event.pull_request.head.sha`, since the checkout is else a merge that is in no pull request.",
                ),
                Exit::Review,
                false,
            );
        }
        self.change_requests(&remarks, found);
        for (pull, remark) in remarks {
            self.remark(pull, remark, answers, found);
        }
    }

    fn remark(
        &self,
        pull: &PullRequest,
        remark: &Remark,
        answers: &GithubAnswers,
        found: &mut Found<'_>,
    ) {
        match (
            rejecting(&remark.body, self.facts, self.matching),
            &remark.by,
        ) {
            (None, _) => {}
            (Some(_), None) => {
                found.refuse_as_rejected(&remark.url, "a rejection by an account that is gone");
            }
            (Some(rejects), by) => match (self.reviewer(by.as_ref()), rejects) {
                (Ok(by), Rejects::This) => {
                    found.decide(&remark.url, identity(by), Word::Reject, remark.made);
                }
                (Ok(by), Rejects::Unclear) => found.refuse_as_rejected(
                    &remark.url,
                    &format!("a rejection by {} that names no plan", by.login),
                ),
                // Everybody may talk; what strangers reject is theirs.
                (Err(refusal), Rejects::This) => found.note(&remark.url, refusal),
                (Err(_), Rejects::Unclear) => {}
            },
        }
        if !line::mentions_approval(&remark.body, self.facts) {
            return;
        }
        let account = match self.reviewer(remark.by.as_ref()) {
            Ok(account) => account,
            Err(refusal) => return found.note(&remark.url, refusal),
        };
        let lines = line::approving(&remark.body).into_iter();
        let lines: Vec<(Names, Approving)> = lines
            .map(|line| (names(&line.plan, self.facts, self.matching), line))
            .filter(|(names, _)| *names != Names::Another)
            .collect();
        if lines.is_empty() {
            found.refuse(
                &remark.url,
                Refusal::new(
                    "line",
                    "`bundlegate approve` with its two digests on a line of its own, outside quotes and code, in a remark without HTML",
                    "the words in another way",
                    "Write the line by itself in a new remark.",
                ),
            );
        }
        for (names, line) in lines {
            if names == Names::InShort {
                found.refuse(&remark.url, self.only_in_short(&line.plan));
                continue;
            }
            match self.approving(pull, remark, &line, account, answers) {
                Ok(checks) => {
                    found.approve(&remark.url, identity(account), remark.made, checks);
                }
                Err(refusal) => found.refuse(&remark.url, refusal),
            }
        }
    }

    /// Whose latest review with a verdict asks for changes has rejected what is there.
    fn change_requests(&self, remarks: &[(&PullRequest, &Remark)], found: &mut Found<'_>) {
        let mut latest: BTreeMap<(u64, u64), (&Remark, &GithubAccount, ReviewState)> =
            BTreeMap::new();
        for (pull, remark) in remarks {
            if let (Some(review), Ok(by)) = (&remark.review, self.reviewer(remark.by.as_ref()))
                && has_verdict(review.state)
                && (ends_here(pull, &self.facts.source)
                    || review
                        .commit
                        .as_deref()
                        .is_some_and(|about| is_commit(&self.facts.source, about)))
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
            format!("the whole digest, {}", self.facts.named(self.matching)),
            format!("only its beginning, {given}"),
            "Copy the whole line that `bundlegate approve PLAN --comment` prints.",
        )
    }

    /// An approving line that names this plan.
    fn approving(
        &self,
        pull: &PullRequest,
        remark: &Remark,
        line: &Approving,
        account: &GithubAccount,
        answers: &GithubAnswers,
    ) -> Result<Vec<Check>, Refusal> {
        if remark.by_email {
            return Err(Refusal::new(
                "by-email",
                "a remark that was written on GitHub",
                "an answer to an e-mail: it holds what it answers to, and whoever has the e-mail can send it",
                "Write the line on GitHub.",
            ));
        }
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
        let named = line.bound.as_deref().unwrap_or("none");
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
        self.on_the_head(pull, remark, answers)?;
        Ok(vec![
            Check::passed("reviewer", format!("{} (id {})", account.login, account.id)),
            Check::passed("plan", self.facts.plan.to_string()),
            Check::passed("bound", bound.to_string()),
        ])
    }

    /// The pull request ends in, or was merged as, the commit that ships. A review is about its last commit; a comment is about no
    /// commit, so it must have been written when GitHub had this one.
    fn on_the_head(
        &self,
        pull: &PullRequest,
        remark: &Remark,
        answers: &GithubAnswers,
    ) -> Result<(), Refusal> {
        if !ends_here(pull, &self.facts.source) {
            return Err(Refusal::new(
                "pull-request",
                "a pull request that ends in the commit that ships, or was merged as it",
                format!("number {}, which ends in {}", pull.number, pull.head),
                "Plan and approve on the last commit.",
            ));
        }
        match (&remark.review, answers.first_seen) {
            (Some(review), _) => match review.commit.as_deref() {
                Some(about) if about.eq_ignore_ascii_case(&pull.head) => Ok(()),
                about => Err(Refusal::new(
                    "pull-request",
                    format!("a review of the last commit, {}", pull.head),
                    format!("one of {}", about.unwrap_or("a commit that is gone")),
                    "Review again.",
                )),
            },
            (None, Some(seen)) if remark.made >= seen => Ok(()),
            (None, seen) => Err(Refusal::new(
                "pull-request",
                "a comment that was written after the first workflow run on the commit that ships: before, nobody could look at it",
                match seen {
                    Some(seen) => format!("one of {}, before {seen}", remark.made),
                    None => "a commit without any workflow run".to_owned(),
                },
                match seen {
                    Some(_) => {
                        "Write the line in a review of the last commit, or in a new comment."
                    }
                    None => "Write the line in a review of the last commit.",
                },
            )),
        }
    }
}

/// The verdicts of which the latest decides, as on GitHub.
fn has_verdict(state: ReviewState) -> bool {
    matches!(
        state,
        ReviewState::Approved | ReviewState::ChangesRequested | ReviewState::Dismissed
    )
}

fn of_environment<'r>(
    run: &'r GithubRun,
    environment: &'r str,
) -> impl Iterator<Item = &'r EnvironmentReview> {
    run.reviews.iter().filter(move |review| {
        review
            .environments
            .iter()
            .any(|e| e.eq_ignore_ascii_case(environment))
    })
}

fn identity(account: &GithubAccount) -> Identity {
    Identity::Github {
        login: account.login.clone(),
        id: Some(account.id),
    }
}

/// Whether the pull request ends in the commit that ships, or was merged as it.
#[must_use]
pub fn ends_here(pull: &PullRequest, source: &Source) -> bool {
    let is = |other: &str| is_commit(source, other);
    is(&pull.head) || pull.merged_as.as_deref().is_some_and(is)
}

/// Whether this is the commit that ships.
fn is_commit(source: &Source, other: &str) -> bool {
    match &source.tree {
        SourceTree::Git { commit, .. } => other.eq_ignore_ascii_case(commit.as_str()),
        SourceTree::Manifest { .. } => false,
    }
}

/// Whether the policy lists the account. Where `people:` knows the login, the id alone decides: a login can change hands.
fn is_listed(reviewers: &Reviewers, account: &GithubAccount, people: &[Person]) -> bool {
    reviewers.users.iter().any(|login| {
        let known = people
            .iter()
            .filter_map(|p| p.github.as_ref())
            .find(|g| g.login.eq_ignore_ascii_case(login));
        match known.and_then(|g| g.id) {
            Some(id) => id == account.id,
            None => login.eq_ignore_ascii_case(&account.login),
        }
    })
}

/// The GitHub accounts for which it matters whether they are in a team of the policy: id and login.
#[must_use]
pub fn to_look_up(
    answers: &GithubAnswers,
    accept: &AcceptGithub,
    people: &[Person],
    facts: &Facts,
    matching: Match,
) -> BTreeMap<u64, String> {
    let Some(reviewers) = &accept.reviewers else {
        return BTreeMap::new();
    };
    let on_the_run = answers
        .run
        .iter()
        .flat_map(|run| {
            let environment = accept.environment.as_deref();
            environment.into_iter().flat_map(|e| of_environment(run, e))
        })
        .filter_map(|review| review.by.as_ref());
    let in_pulls = answers
        .pulls
        .iter()
        .flat_map(|pull| &pull.remarks)
        .filter(|remark| {
            remark.review.as_ref().is_some_and(|r| has_verdict(r.state))
                || rejecting(&remark.body, facts, matching).is_some()
                || line::mentions_approval(&remark.body, facts)
        })
        .filter_map(|remark| remark.by.as_ref());
    on_the_run
        .chain(in_pulls)
        .filter(|account| account.human && !is_listed(reviewers, account, people))
        .map(|account| (account.id, account.login.clone()))
        .collect()
}
