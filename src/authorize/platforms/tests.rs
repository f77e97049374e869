use std::collections::BTreeMap;

use super::*;
use crate::approval::platform::{
    AzureAccount, AzureApproval, AzureStep, EnvironmentReview, GithubAccount, GithubRun,
    PullRequest, Remark, Review, ReviewState,
};
use crate::approval::quorum;
use crate::approval::statement::CiRun;
use crate::approval::testing;
use crate::authorize::testing::{facts, refused};
use crate::authorize::{Decision, Terms, decide};
use crate::policy::{Accept, AcceptAzure, AcceptGithub, At, Location, Reviewers};

const BUILD: u64 = 77;

fn at<T>(value: T) -> At<T> {
    At {
        value,
        at: Location::nowhere(),
    }
}

fn account(login: &str, id: u64) -> GithubAccount {
    GithubAccount {
        login: login.to_owned(),
        id,
        human: true,
    }
}

/// One person of the policy, who is `rm-one` on GitHub.
fn people() -> Vec<Person> {
    vec![Person {
        name: "rm one".to_owned(),
        github: Some(quorum::GithubAccount {
            login: "rm-one".to_owned(),
            id: Some(1001),
        }),
        azure: Some("aad.QUJD".to_owned()),
        ..Person::default()
    }]
}

fn github(environment: Option<&str>, users: &[&str], teams: &[&str]) -> Accept {
    let texts = |all: &[&str]| all.iter().map(|t| (*t).to_owned()).collect();
    let some = !users.is_empty() || !teams.is_empty();
    Accept {
        github: Some(at(AcceptGithub {
            environment: environment.map(str::to_owned),
            reviewers: some.then(|| Reviewers {
                teams: texts(teams),
                users: texts(users),
            }),
        })),
        ..Accept::default()
    }
}

fn azure() -> Accept {
    Accept {
        azure: Some(at(AcceptAzure {
            environment: "orders-prod".to_owned(),
        })),
        ..Accept::default()
    }
}

fn on_github(answers: GithubAnswers) -> Facts {
    Facts {
        ci: Some(ci("github", 42)),
        platforms: Platforms {
            github: Answer::Given(answers),
            ..Platforms::default()
        },
        ..facts()
    }
}

fn ci(provider: &str, run: u64) -> CiRun {
    CiRun {
        provider: provider.to_owned(),
        repository: "acme/orders".to_owned(),
        run_id: run.to_string(),
        attempt: 1,
        url: "https://example.test".to_owned(),
    }
}

fn head() -> String {
    match &facts().source.tree {
        SourceTree::Git { commit, .. } => commit.to_string(),
        SourceTree::Manifest { .. } => unreachable!(),
    }
}

fn run_of(reviews: Vec<EnvironmentReview>) -> GithubRun {
    GithubRun {
        id: 42,
        attempt: 1,
        head: head(),
        started: testing::time("2026-11-30T11:00:00Z"),
        actor: None,
        triggering_actor: None,
        url: "https://github.example/acme/orders/actions/runs/42".to_owned(),
        reviews,
    }
}

fn review_of_run(state: &str, by: GithubAccount) -> EnvironmentReview {
    EnvironmentReview {
        environments: vec!["Production".to_owned()],
        state: state.to_owned(),
        by: Some(by),
        comment: String::new(),
    }
}

fn with_run(change: impl FnOnce(&mut GithubRun)) -> Facts {
    let mut run = run_of(vec![review_of_run("approved", account("rm-one", 1001))]);
    change(&mut run);
    on_github(GithubAnswers {
        run: Some(run),
        pulls: vec![pull(Vec::new())],
        ..GithubAnswers::default()
    })
}

fn remark(by: GithubAccount, body: &str) -> Remark {
    Remark {
        url: format!("https://github.example/acme/orders/pull/7#{}", by.login),
        by: Some(by),
        body: body.to_owned(),
        made: testing::time("2026-11-30T11:30:00Z"),
        edited: false,
        by_email: false,
        review: None,
    }
}

fn pull(remarks: Vec<Remark>) -> PullRequest {
    PullRequest {
        number: 7,
        head: head(),
        merged_as: None,
        author: None,
        authors: Vec::new(),
        remarks,
    }
}

fn with_remarks(remarks: Vec<Remark>) -> Facts {
    on_github(GithubAnswers {
        run: None,
        first_seen: Some(testing::time("2026-11-29T10:30:00Z")),
        pulls: vec![pull(remarks)],
    })
}

fn line() -> String {
    facts().approving_line(Match::Plan).unwrap()
}

fn approved(change: impl FnOnce(&mut Remark)) -> Facts {
    let mut said = remark(
        account("rm-one", 1001),
        &format!("Looked at it.\n\n{}\n", line()),
    );
    change(&mut said);
    with_remarks(vec![said])
}

fn reviewed(state: ReviewState, commit: String) -> Facts {
    approved(|r| {
        r.review = Some(Review {
            state,
            commit: Some(commit),
        });
    })
}

fn judge(facts: &Facts, accept: Accept) -> Decision {
    let approval = Approval {
        required: 1,
        separation: Vec::new(),
        accept,
        ..Approval::default()
    };
    decide(
        facts,
        &Terms {
            approval: Some(&approval),
            people: &people(),
            trust: None,
        },
        &[],
    )
}

fn users() -> Accept {
    github(None, &["rm-one"], &[])
}

#[track_caller]
fn is_refused(decision: &Decision, check: &str, exit: u8) {
    assert_eq!(refused(decision), [(check, exit)], "{:?}", decision.checks);
    assert_ne!(decision.exit, Exit::Open);
}

#[track_caller]
fn is_authorized(decision: &Decision) {
    assert!(decision.is_authorized(), "{:?}", decision.checks);
    assert_eq!(decision.persons, ["rm one"]);
}

#[test]
fn the_approval_of_this_run_counts() {
    let environment = || github(Some("production"), &[], &[]);
    is_authorized(&judge(&with_run(|_| ()), environment()));
    for (change, check, exit) in [
        (
            (|r: &mut GithubRun| r.reviews[0].by.as_mut().unwrap().human = false)
                as fn(&mut GithubRun),
            "approver",
            4,
        ),
        (|r| r.reviews[0].by = None, "approver", 4),
        (|r| r.id = 43, "ci-run", 4),
        (|r| r.attempt = 2, "ci-run", 4),
        (|r| r.head = "b".repeat(40), "source", 4),
        (
            |r| r.reviews[0].state = "rejected".to_owned(),
            "rejection",
            4,
        ),
        (
            |r| r.reviews[0].comment = format!("for {}", "b".repeat(64)),
            "plan",
            4,
        ),
        (
            |r| r.started = testing::time("2026-11-29T11:00:00Z"),
            "expired",
            4,
        ),
        (
            |r| r.reviews[0].environments = vec!["staging".to_owned()],
            "quorum",
            3,
        ),
        (|r| r.reviews[0].state = "pending".to_owned(), "quorum", 3),
        (|r| r.reviews.clear(), "quorum", 3),
        (
            |r| r.reviews[0].comment = format!("bundlegate reject {}", facts().plan),
            "rejection",
            4,
        ),
        (|r| r.reviews[0].state = "vetoed".to_owned(), "rejection", 4),
        (
            |r| r.reviews[0].comment = "I reject this".to_owned(),
            "rejection",
            4,
        ),
        (
            |r| r.reviews[0].comment = "only for 0123456789ab".to_owned(),
            "plan",
            4,
        ),
        (
            |r| {
                let mut no = review_of_run("rejected", account("x", 9));
                no.environments.clear();
                r.reviews.push(no);
            },
            "rejection",
            4,
        ),
        // Who rejected may be anybody, also one of whom nothing is left.
        (
            |r| {
                let mut no = review_of_run("rejected", account("x", 9));
                no.by = None;
                r.reviews.push(no);
            },
            "rejection",
            4,
        ),
    ] {
        is_refused(&judge(&with_run(change), environment()), check, exit);
    }
    // A comment may name the plan, among other things.
    let named = with_run(|r| {
        r.reviews[0].comment = format!("{} and {}", "b".repeat(64), facts().plan);
    });
    is_authorized(&judge(&named, environment()));
}

#[test]
fn changed_files_are_in_no_run() {
    let mut facts = with_run(|_| ());
    if let SourceTree::Git { clean, changes, .. } = &mut facts.source.tree {
        *clean = false;
        *changes = Some(Sha256Hex::of(b"changed"));
    }
    is_refused(
        &judge(&facts, github(Some("production"), &[], &[])),
        "source",
        4,
    );
}

#[test]
fn where_the_policy_lists_reviewers_an_environment_needs_them_too() {
    let accept = || github(Some("production"), &[], &["acme/release-managers"]);
    let mut facts = with_run(|_| ());
    is_refused(&judge(&facts, accept()), "reviewer", 4);
    facts.platforms.team_members.insert(1001);
    is_authorized(&judge(&facts, accept()));
}

#[test]
fn a_line_in_a_comment_approves() {
    is_authorized(&judge(&approved(|_| ()), users()));
    let in_upper_case = approved(|r| {
        r.body = format!(
            "`{}`",
            line()
                .to_uppercase()
                .replace("BUNDLEGATE APPROVE", "bundlegate approve")
        );
    });
    is_authorized(&judge(&in_upper_case, users()));
    for (change, check, exit) in [
        (
            (|r: &mut Remark| r.edited = true) as fn(&mut Remark),
            "edited",
            4,
        ),
        (|r| r.by_email = true, "by-email", 4),
        // Everybody may talk.
        (|r| r.by = None, "quorum", 3),
        (|r| r.by.as_mut().unwrap().human = false, "quorum", 3),
        (|r| r.by = Some(account("mallory", 6)), "quorum", 3),
        // The login was given to somebody else.
        (|r| r.by = Some(account("rm-one", 6)), "quorum", 3),
        (
            |r| r.made = testing::time("2026-11-30T12:10:00Z"),
            "from-the-future",
            4,
        ),
        (
            |r| r.made = testing::time("2026-11-29T12:00:00Z"),
            "expired",
            4,
        ),
        (
            |r| r.body = format!("bundlegate approve {} {}", facts().plan, "b".repeat(64)),
            "bound",
            4,
        ),
        (
            |r| r.body = format!("bundlegate approve {}", facts().plan),
            "bound",
            4,
        ),
        (
            |r| r.body = format!("bundlegate approve {}", facts().plan.short()),
            "plan",
            4,
        ),
        // Of another plan, quoted, shown as an example, or not a line of its own: not meant for this.
        (
            |r| r.body = line().replacen(facts().plan.as_str(), &"b".repeat(64), 1),
            "quorum",
            3,
        ),
        (|r| r.body = format!("> {}", line()), "line", 4),
        (|r| r.body = format!("```\n{}\n```", line()), "line", 4),
        (|r| r.body = format!("    {}", line()), "line", 4),
        (|r| r.body = format!("do not {}", line()), "line", 4),
        (|r| r.body = format!("{} after Friday", line()), "line", 4),
        // Before anybody could look at the commit.
        (
            |r| r.made = testing::time("2026-11-29T10:29:59Z"),
            "pull-request",
            4,
        ),
        (|r| r.body = "lgtm".to_owned(), "quorum", 3),
    ] {
        is_refused(&judge(&approved(change), users()), check, exit);
    }
}

#[test]
fn what_ships_is_bound_by_the_line() {
    let mut facts = approved(|_| ());
    facts.policy.sha256 = Sha256Hex::of(b"another policy");
    is_refused(&judge(&facts, users()), "bound", 4);
    let mut facts = approved(|_| ());
    facts.to_accept.push(Sha256Hex::of(b"one more finding"));
    is_refused(&judge(&facts, users()), "bound", 4);
}

#[test]
fn a_review_is_about_the_last_commit() {
    is_authorized(&judge(&reviewed(ReviewState::Approved, head()), users()));
    is_authorized(&judge(&reviewed(ReviewState::Commented, head()), users()));
    for (state, commit, check) in [
        (ReviewState::Approved, "b".repeat(40), "pull-request"),
        (ReviewState::Dismissed, head(), "review-state"),
        (ReviewState::Pending, head(), "review-state"),
    ] {
        is_refused(&judge(&reviewed(state, commit), users()), check, 4);
    }
    let mut facts = reviewed(ReviewState::Approved, head());
    if let Answer::Given(answers) = &mut facts.platforms.github {
        answers.pulls[0].head = "b".repeat(40);
    }
    is_refused(&judge(&facts, users()), "pull-request", 4);
    // Merged as the commit that ships; the review is about the last commit of the branch.
    if let Answer::Given(answers) = &mut facts.platforms.github {
        answers.pulls[0].merged_as = Some(head());
        answers.pulls[0].remarks[0].review.as_mut().unwrap().commit = Some("b".repeat(40));
    }
    is_authorized(&judge(&facts, users()));
}

#[test]
fn a_rejection_wins_however_it_is_written() {
    let yes = || remark(account("rm-one", 1001), &line());
    let reject = format!("bundlegate reject {}", facts().plan);
    for body in [
        reject.clone(),
        format!("```\n{reject}\n```"),
        format!("bundlegate reject {}", facts().plan.short()),
    ] {
        let mut no = remark(account("rm-two", 1002), &body);
        no.edited = true;
        let facts = with_remarks(vec![no, yes()]);
        let decision = judge(&facts, github(None, &["rm-one", "rm-two"], &[]));
        is_refused(&decision, "rejection", 4);
    }
    let mut nobodys = remark(account("x", 9), &reject);
    nobodys.by = None;
    is_refused(
        &judge(&with_remarks(vec![nobodys, yes()]), users()),
        "rejection",
        4,
    );
    // Anybody else's word closes nothing.
    let facts = with_remarks(vec![remark(account("mallory", 6), &reject), yes()]);
    is_authorized(&judge(&facts, users()));
    let quoted = remark(account("rm-one", 1001), &format!("> {reject}"));
    is_authorized(&judge(&with_remarks(vec![quoted, yes()]), users()));
}

#[test]
fn the_latest_review_with_a_verdict_decides() {
    let review = |state, minute: u8, who: GithubAccount| Remark {
        review: Some(Review {
            state,
            commit: Some(head()),
        }),
        made: testing::time(&format!("2026-11-30T11:{minute}:00Z")),
        ..remark(who, "")
    };
    let rm_one = || account("rm-one", 1001);
    let yes = || remark(rm_one(), &line());
    use ReviewState::{Approved, ChangesRequested, Commented, Dismissed};
    for (states, open) in [
        (vec![ChangesRequested], false),
        (vec![Approved, ChangesRequested], false),
        (vec![ChangesRequested, Approved], true),
        (vec![ChangesRequested, Commented], false),
        (vec![Dismissed], true),
        (vec![ChangesRequested, Dismissed], true),
    ] {
        let mut remarks = vec![yes()];
        for (minute, state) in states.iter().enumerate() {
            remarks.push(review(*state, 10 + u8::try_from(minute).unwrap(), rm_one()));
        }
        let decision = judge(&with_remarks(remarks), users());
        assert_eq!(decision.is_authorized(), open, "{states:?}");
    }
    let other = review(ChangesRequested, 10, account("mallory", 6));
    is_authorized(&judge(&with_remarks(vec![yes(), other]), users()));
}

#[test]
fn without_a_pull_request_nobody_can_write_into_one() {
    let mut facts = approved(|_| ());
    if let Answer::Given(answers) = &mut facts.platforms.github {
        answers.pulls.clear();
    }
    is_refused(&judge(&facts, users()), "pull-request", 3);
}

#[test]
fn a_request_for_changes_stays_with_its_commit() {
    let mut facts = reviewed(ReviewState::ChangesRequested, head());
    if let Answer::Given(answers) = &mut facts.platforms.github {
        answers.pulls[0].remarks[0].body.clear();
        answers.pulls[0].head = "b".repeat(40);
        answers
            .pulls
            .push(pull(vec![remark(account("rm-one", 1001), &line())]));
    }
    is_refused(&judge(&facts, users()), "rejection", 4);
    // Of another commit of a branch that went on, it is about something else.
    if let Answer::Given(answers) = &mut facts.platforms.github {
        answers.pulls[0].remarks[0].review.as_mut().unwrap().commit = Some("c".repeat(40));
    }
    is_authorized(&judge(&facts, users()));
}

#[test]
fn silence_is_not_consent() {
    let mut facts = approved(|_| ());
    facts.platforms.github = Answer::Silent("403".to_owned());
    is_refused(&judge(&facts, users()), "github", 6);
    facts.platforms.github = Answer::NotAsked("no GitHub run");
    is_refused(&judge(&facts, users()), "quorum", 3);
}

#[test]
fn whom_to_look_up() {
    let Answer::Given(answers) = with_remarks(vec![
        remark(account("rm-one", 1001), &line()),
        remark(account("rm-two", 1002), "bundlegate reject"),
        remark(
            account("rm-three", 1003),
            &format!("bundlegate reject {}", "b".repeat(64)),
        ),
        remark(account("talker", 7), "nice"),
        Remark {
            by: Some(GithubAccount {
                human: false,
                ..account("bot", 8)
            }),
            ..remark(account("bot", 8), &line())
        },
    ])
    .platforms
    .github
    else {
        unreachable!()
    };
    let accept = github(None, &["rm-one"], &["acme/release-managers"]);
    let wanted = to_look_up(
        &answers,
        &accept.github.unwrap().value,
        &people(),
        &facts(),
        Match::Plan,
    );
    assert_eq!(wanted, BTreeMap::from([(1002, "rm-two".to_owned())]));
}

fn stage(change: impl FnOnce(&mut AzureRun)) -> Facts {
    let mut run = AzureRun {
        build: BUILD,
        stage: "deploy".to_owned(),
        attempt: 1,
        commit: head(),
        requested_for: None,
        requested_by: None,
        url: "https://dev.example/acme/_build/results?buildId=77".to_owned(),
        approvals: vec![AzureApproval {
            id: "a".to_owned(),
            environments: vec!["orders-prod".to_owned()],
            steps: vec![AzureStep {
                status: "approved".to_owned(),
                by: Some(AzureAccount {
                    descriptor: "aad.QUJD".to_owned(),
                    name: "rm1@example.com".to_owned(),
                }),
                when: Some(testing::time("2026-11-30T11:30:00Z")),
                comment: String::new(),
            }],
        }],
    };
    change(&mut run);
    Facts {
        ci: Some(ci("azure", BUILD)),
        platforms: Platforms {
            azure: Answer::Given(run),
            ..Platforms::default()
        },
        ..facts()
    }
}

#[test]
fn the_approval_of_this_stage_counts() {
    is_authorized(&judge(&stage(|_| ()), azure()));
    for (change, check, exit) in [
        (
            (|r: &mut AzureRun| {
                r.approvals[0].steps[0].by.as_mut().unwrap().descriptor = "svc.QUJD".to_owned()
            }) as fn(&mut AzureRun),
            "approver",
            4,
        ),
        (|r| r.approvals[0].steps[0].by = None, "approver", 4),
        (|r| r.approvals[0].steps[0].when = None, "expired", 4),
        (
            |r| r.approvals[0].steps[0].when = Some(testing::time("2026-11-29T11:00:00Z")),
            "expired",
            4,
        ),
        (|r| r.build = 78, "ci-run", 4),
        (|r| r.commit = "b".repeat(40), "source", 4),
        (
            |r| r.approvals[0].steps[0].comment = "b".repeat(64),
            "plan",
            4,
        ),
        (
            |r| r.approvals[0].steps[0].status = "rejected".to_owned(),
            "rejection",
            4,
        ),
        (
            |r| {
                r.approvals[0].steps[0].status = "rejected".to_owned();
                r.approvals[0].steps[0].by = None;
            },
            "rejection",
            4,
        ),
        // Also of another resource of the stage, by whomever and without a time.
        (
            |r| {
                r.approvals[0].environments.clear();
                let step = &mut r.approvals[0].steps[0];
                step.status = "rejected".to_owned();
                step.by.as_mut().unwrap().descriptor = "svc.QUJD".to_owned();
                step.when = None;
            },
            "rejection",
            4,
        ),
        (
            |r| r.approvals[0].steps[0].status = "vetoed".to_owned(),
            "rejection",
            4,
        ),
        (
            |r| r.approvals[0].steps[0].status = "pending".to_owned(),
            "quorum",
            3,
        ),
        (|r| r.approvals[0].environments.clear(), "environment", 4),
        (
            |r| r.approvals[0].environments = vec!["orders-staging".to_owned()],
            "quorum",
            3,
        ),
        (|r| r.approvals.clear(), "quorum", 3),
    ] {
        is_refused(&judge(&stage(change), azure()), check, exit);
    }
    let mut silent = stage(|_| ());
    silent.platforms.azure = Answer::Silent("no token".to_owned());
    is_refused(&judge(&silent, azure()), "azure-devops", 6);
}

#[test]
fn the_digest_of_what_is_bound() {
    insta::assert_snapshot!(line(), @"bundlegate approve 64879f7d6b960a01909762d911a32d4582c20010c5641ee90278b644a9e3b525 0f08188d039f8deef046ed16c3a557d7475036fa5a19b37473f4d4b00620e320");
    let base = facts().bound().unwrap();
    let mut changed = facts();
    changed.cli_version = None;
    assert_ne!(base, changed.bound().unwrap());
}

proptest::proptest! {
    #[test]
    fn no_text_without_the_digest_approves(body in "(?s).{0,400}") {
        let decision = judge(&approved(|r| r.body = body.clone()), users());
        proptest::prop_assert!(!decision.is_authorized());
    }

    #[test]
    fn a_quote_never_speaks(before in "[> \t]{0,5}", after in "(?s).{0,40}") {
        let body = format!(">{before}{}{after}", line());
        let decision = judge(&approved(|r| r.body = body.clone()), users());
        proptest::prop_assert!(!decision.is_authorized());
    }
}
