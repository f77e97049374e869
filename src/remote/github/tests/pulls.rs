//! Pull requests through GraphQL: pages, errors beside data, and what is tried again.

use wiremock::matchers::{any, body_string_contains};

use super::*;
use crate::approval::Identity;
use crate::approval::platform::{PullRequest, ReviewState};
use crate::remote::github::pulls::{MOST_PULLS, MOST_REMARKS};

fn actor(kind: &str, login: &str, id: Option<u64>) -> Value {
    json!({"__typename": kind, "login": login, "databaseId": id})
}

fn comment(body: &str, at: &str, edited: Option<&str>, author: Value) -> Value {
    json!({"url": format!("https://github.com/acme/warehouse/pull/5#{body}"), "body": body, "createdViaEmail": false, "createdAt": at, "lastEditedAt": edited, "author": author})
}

fn review(state: &str, at: &str, commit: Option<&str>) -> Value {
    let mut review = comment(state, at, None, actor("User", "ann", Some(11)));
    review["state"] = json!(state);
    review["submittedAt"] = json!(at);
    review["commit"] = commit.map_or(Value::Null, |oid| json!({"oid": oid}));
    review
}

fn page(nodes: &[Value], more: Option<&str>) -> Value {
    json!({"pageInfo": {"hasNextPage": more.is_some(), "endCursor": more}, "nodes": nodes})
}

/// A commit by these.
fn by(authors: &[(&str, Option<(&str, u64)>)]) -> Value {
    let authors: Vec<Value> = authors
        .iter()
        .map(|(email, user)| {
            let user = user.map(|(login, id)| json!({"login": login, "databaseId": id}));
            json!({"email": email, "user": user})
        })
        .collect();
    json!({"commit": {"authors": page(&authors, None)}})
}

fn pull(number: u64, comments: Value, reviews: Value) -> Value {
    json!({
        "number": number, "headRefOid": COMMIT, "merged": true, "mergeCommit": {"oid": "feed"},
        "author": actor("User", "olga", Some(7)), "comments": comments, "reviews": reviews,
        "commits": page(&[
            by(&[("bob@x", None), ("1002+cyd@users.noreply.github.com", Some(("cyd", 1002)))]),
            by(&[("bob@x", None), ("", None)]),
        ], None),
    })
}

fn of_commit(pulls: &[Value], more: bool) -> Value {
    json!({"data": {"repository": {"object": {"associatedPullRequests": page(pulls, more.then_some("next-pulls"))}}}})
}

async fn pulls(server: &MockServer, answer: &Value) -> Result<Vec<PullRequest>, HttpError> {
    let github = github(server).await;
    server.reset().await;
    answers(server, "/graphql", ok(answer)).await;
    github.pulls_of(COMMIT).await
}

#[test]
fn who_wrote_the_commits() {
    run(async {
        let server = MockServer::start().await;
        let none = || page(&[], None);
        let read = pulls(&server, &of_commit(&[pull(5, none(), none())], false)).await;
        let bob = Identity::Git {
            address: "bob@x".to_owned(),
        };
        let cyd = Identity::Github {
            login: "cyd".to_owned(),
            id: Some(1002),
        };
        assert_eq!(read.unwrap()[0].authors, [bob, cyd]);
        let mut many = pull(5, none(), none());
        many["commits"]["nodes"][0]["commit"]["authors"]["pageInfo"] =
            json!({"hasNextPage": true, "endCursor": "x"});
        let error = pulls(&server, &of_commit(&[many], false))
            .await
            .unwrap_err();
        assert!(
            error.to_string().contains("authors of one commit"),
            "{error}"
        );
    });
}

#[test]
fn pull_requests_with_their_remarks_oldest_first() {
    run(async {
        let server = MockServer::start().await;
        let comments = page(
            &[
                comment(
                    "late",
                    "2026-01-03T00:00:00Z",
                    None,
                    actor("Bot", "github-actions", Some(41)),
                ),
                comment(
                    "edited",
                    "2026-01-01T00:00:00Z",
                    Some("2026-01-04T00:00:00Z"),
                    actor("User", "ann", Some(11)),
                ),
                comment("gone", "2026-01-01T12:00:00Z", None, Value::Null),
                comment(
                    "import",
                    "2026-01-01T13:00:00Z",
                    None,
                    actor("Mannequin", "old", None),
                ),
            ],
            None,
        );
        let mut pending = review("PENDING", "2026-01-06T00:00:00Z", None);
        pending["submittedAt"] = Value::Null;
        let reviews = page(
            &[
                review("APPROVED", "2026-01-02T00:00:00Z", Some(COMMIT)),
                review("CHANGES_REQUESTED", "2026-01-05T00:00:00Z", None),
                pending,
            ],
            None,
        );
        let mut open = pull(3, page(&[], None), page(&[], None));
        open["merged"] = json!(false);
        open["author"] = Value::Null;
        let found = pulls(
            &server,
            &of_commit(&[pull(5, comments, reviews), open], false),
        )
        .await
        .unwrap();
        let asked = &server.received_requests().await.unwrap()[0];
        let body: Value = serde_json::from_slice(&asked.body).unwrap();
        assert_eq!(
            body["variables"],
            json!({"owner": "acme", "name": "warehouse", "oid": COMMIT, "after": null})
        );
        assert_eq!(asked.headers["authorization"], format!("Bearer {TOKEN}"));
        let mut said = String::new();
        for pull in &found {
            said += &format!(
                "{} {} {:?} {:?}\n",
                pull.number, pull.head, pull.merged_as, pull.author
            );
            for remark in &pull.remarks {
                let by = remark.by.as_ref().map(|by| (&by.login, by.id, by.human));
                let review = remark
                    .review
                    .as_ref()
                    .map(|review| (review.state, review.commit.as_deref()));
                said += &format!(
                    "  {} {} {by:?} edited {} {review:?}\n",
                    remark.made, remark.body, remark.edited
                );
            }
        }
        insta::assert_snapshot!(said, @r#"
        3 0123456789abcdef0123456789abcdef01234567 None None
        5 0123456789abcdef0123456789abcdef01234567 Some("feed") Some(GithubAccount { login: "olga", id: 7, human: true })
          2026-01-01T00:00:00Z edited Some(("ann", 11, true)) edited true None
          2026-01-01T12:00:00Z gone None edited false None
          2026-01-01T13:00:00Z import Some(("old", 0, false)) edited false None
          2026-01-02T00:00:00Z APPROVED Some(("ann", 11, true)) edited false Some((Approved, Some("0123456789abcdef0123456789abcdef01234567")))
          2026-01-03T00:00:00Z late Some(("github-actions", 41, false)) edited false None
          2026-01-05T00:00:00Z CHANGES_REQUESTED Some(("ann", 11, true)) edited false Some((ChangesRequested, None))
          2026-01-06T00:00:00Z PENDING Some(("ann", 11, true)) edited false Some((Pending, None))
        "#);
    });
}

#[test]
fn every_page_is_read() {
    run(async {
        let server = MockServer::start().await;
        let github = github(&server).await;
        let ann = || actor("User", "ann", Some(11));
        let more = |page: Value| json!({"data": {"repository": {"pullRequest": {"page": page}}}});
        let first = pull(
            5,
            page(
                &[comment("1", "2026-01-01T00:00:00Z", None, ann())],
                Some("c2"),
            ),
            page(
                &[review("APPROVED", "2026-01-02T00:00:00Z", None)],
                Some("r2"),
            ),
        );
        for (cursor, answer) in [
            (
                "\"next-pulls\"",
                of_commit(&[pull(4, page(&[], None), page(&[], None))], false),
            ),
            (
                "\"c2\"",
                more(page(
                    &[comment("2", "2026-01-03T00:00:00Z", None, ann())],
                    Some("c3"),
                )),
            ),
            (
                "\"c3\"",
                more(page(
                    &[comment("3", "2026-01-04T00:00:00Z", None, ann())],
                    None,
                )),
            ),
            (
                "\"r2\"",
                more(page(
                    &[review("DISMISSED", "2026-01-05T00:00:00Z", None)],
                    None,
                )),
            ),
            ("\"after\":null", of_commit(&[first], true)),
        ] {
            Mock::given(body_string_contains(cursor))
                .respond_with(ok(&answer))
                .mount(&server)
                .await;
        }
        let found = github.pulls_of(COMMIT).await.unwrap();
        assert_eq!(
            found.iter().map(|pull| pull.number).collect::<Vec<_>>(),
            [4, 5]
        );
        let bodies: Vec<&str> = found[1]
            .remarks
            .iter()
            .map(|remark| remark.body.as_str())
            .collect();
        assert_eq!(bodies, ["1", "APPROVED", "2", "3", "DISMISSED"]);
        assert_eq!(
            found[1].remarks[4].review.as_ref().unwrap().state,
            ReviewState::Dismissed
        );
    });
}

#[test]
fn what_is_not_whole_is_an_error() {
    run(async {
        let server = MockServer::start().await;
        let none = || page(&[], None);
        let many: Vec<Value> = (0..MOST_REMARKS)
            .map(|_| comment("x", "2026-01-01T00:00:00Z", None, Value::Null))
            .collect();
        let pages: Vec<Value> = (0..=MOST_PULLS as u64)
            .map(|number| pull(number, none(), none()))
            .collect();
        let person = comment(
            "x",
            "2026-01-01T00:00:00Z",
            None,
            actor("User", "ann\u{1b}[1m", None),
        );
        let mut unsaid = comment("x", "2026-01-01T00:00:00Z", None, Value::Null);
        unsaid.as_object_mut().unwrap().remove("lastEditedAt");
        let data = of_commit(&[], false)["data"].take();
        let mut said = String::new();
        for answer in [
            json!({"data": data, "errors": [{"type": "FORBIDDEN", "message": "Resource not accessible by integration\u{1b}[2J\n::error::ghs_s3cr3t", "path": ["repository"]}]}),
            json!({"data": null, "errors": [{"type": "NOT_FOUND", "message": "Could not resolve to a Repository"}]}),
            json!({"errors": []}),
            json!({"data": null, "errors": [{"type": "RATE_LIMITED", "message": "API rate limit exceeded"}]}),
            json!({"data": {"repository": {"object": null}}}),
            json!({"data": {"repository": {"object": {}}}}),
            json!({"data": {"repository": null}}),
            of_commit(&[Value::Null], false),
            of_commit(&pages, false),
            of_commit(&[pull(5, page(&many, Some("more")), none())], false),
            of_commit(&[pull(5, page(&[person], None), none())], false),
            of_commit(&[pull(5, page(&[unsaid], None), none())], false),
            of_commit(
                &[pull(
                    5,
                    page(&[review("APPROVED", "2026-01-01T00:00:00Z", None)], None),
                    none(),
                )],
                false,
            ),
            json!({"data": {"repository": {"object": {"associatedPullRequests": {"pageInfo": {"hasNextPage": true, "endCursor": null}, "nodes": []}}}}}),
        ] {
            said += &format!(
                "{}\n",
                shown(&pulls(&server, &answer).await.unwrap_err(), &server.uri())
            );
        }
        let github = github(&server).await;
        for bad in ["main", "0123456789abcdef0123456789abcdef0123456\u{1b}"] {
            said += &format!(
                "{}\n",
                shown(&github.pulls_of(bad).await.unwrap_err(), &server.uri())
            );
        }
        insta::assert_snapshot!(said, @r#"
        cannot read the pull requests of commit 0123456789abcdef0123456789abcdef01234567: POST https://HOST/graphql answered 200 (FORBIDDEN: Resource not accessible by integration\u{1b}[2J\u{a}::error::(secret)); the token must see GITHUB_REPOSITORY and read its pull requests: add `pull-requests: read` and `contents: read` to the job's `permissions:`; a token of a person has to be authorised for single sign-on
        cannot read the pull requests of commit 0123456789abcdef0123456789abcdef01234567: POST https://HOST/graphql answered 200 (NOT_FOUND: Could not resolve to a Repository); the token must see GITHUB_REPOSITORY and read its pull requests: add `pull-requests: read` and `contents: read` to the job's `permissions:`; a token of a person has to be authorised for single sign-on
        cannot read the pull requests of commit 0123456789abcdef0123456789abcdef01234567: POST https://HOST/graphql answered 200 (an error without a message); the token must see GITHUB_REPOSITORY and read its pull requests: add `pull-requests: read` and `contents: read` to the job's `permissions:`; a token of a person has to be authorised for single sign-on
        cannot read the pull requests of commit 0123456789abcdef0123456789abcdef01234567: POST https://HOST/graphql still answered 200 after 0 s (RATE_LIMITED: API rate limit exceeded); the token has used up what GitHub allows: try later
        cannot read the pull requests of commit 0123456789abcdef0123456789abcdef01234567: POST https://HOST/graphql answered 200 (acme/warehouse shows no such commit: it was not pushed, or the token may not read it); the token must see GITHUB_REPOSITORY and read its pull requests: add `pull-requests: read` and `contents: read` to the job's `permissions:`; a token of a person has to be authorised for single sign-on
        cannot read the pull requests of commit 0123456789abcdef0123456789abcdef01234567: POST https://HOST/graphql answered 200 (acme/warehouse shows no such commit: it was not pushed, or the token may not read it); the token must see GITHUB_REPOSITORY and read its pull requests: add `pull-requests: read` and `contents: read` to the job's `permissions:`; a token of a person has to be authorised for single sign-on
        cannot read the pull requests of commit 0123456789abcdef0123456789abcdef01234567: POST https://HOST/graphql answered 200 (acme/warehouse shows no such commit: it was not pushed, or the token may not read it); the token must see GITHUB_REPOSITORY and read its pull requests: add `pull-requests: read` and `contents: read` to the job's `permissions:`; a token of a person has to be authorised for single sign-on
        cannot read the pull requests of commit 0123456789abcdef0123456789abcdef01234567: the answer of POST https://HOST/graphql is not what the API promises: invalid type: null, expected struct Pull at line 1 column 72; this version may be too old or too new for this GitHub
        cannot read the pull requests of commit 0123456789abcdef0123456789abcdef01234567: the answer of POST https://HOST/graphql has more than 50 pull requests, the most that is read
        cannot read pull request 5: the answer of POST https://HOST/graphql has more than 2000 comments or reviews, the most that is read
        cannot read pull request 5: the answer of POST https://HOST/graphql is not what the API promises: the user ann\u{1b}[1m has no id; this version may be too old or too new for this GitHub
        cannot read the pull requests of commit 0123456789abcdef0123456789abcdef01234567: the answer of POST https://HOST/graphql is not what the API promises: missing field `lastEditedAt` at line 1 column 287; this version may be too old or too new for this GitHub
        cannot read pull request 5: the answer of POST https://HOST/graphql is not what the API promises: a review without a state, or a comment with one; this version may be too old or too new for this GitHub
        cannot read the pull requests of commit 0123456789abcdef0123456789abcdef01234567: the answer of POST https://HOST/graphql is not what the API promises: an empty page is followed by another; this version may be too old or too new for this GitHub
        cannot read the pull requests of commit main: its name is not a full commit id; give all 40 characters
        cannot read the pull requests of commit 0123456789abcdef0123456789abcdef0123456\u{1b}: its name is not a full commit id; give all 40 characters
        "#);
    });
}

#[test]
fn an_endless_list_ends() {
    run(async {
        let server = MockServer::start().await;
        let answer = of_commit(&[pull(1, page(&[], None), page(&[], None))], true);
        let error = pulls(&server, &answer).await.unwrap_err();
        assert!(
            matches!(error.failure(), Failure::TooMany(MOST_PULLS, _)),
            "{error}"
        );
        let empty = of_commit(&[], true);
        let error = pulls(&server, &empty).await.unwrap_err();
        assert!(matches!(error.failure(), Failure::Malformed(_)), "{error}");
    });
}

#[test]
fn only_what_may_help_is_tried_again() {
    run(async {
        let server = MockServer::start().await;
        let github = github(&server).await;
        let limited = ResponseTemplate::new(403)
            .set_body_json(json!({"message": "You have exceeded a secondary rate limit."}))
            .insert_header("retry-after", "0");
        let inside = ok(&json!({"data": null, "errors": [{"type": "RATE_LIMITED", "message": "API rate limit exceeded"}]}))
            .insert_header("retry-after", "0");
        for (first, requests) in [
            (limited, 2),
            (inside, 2),
            (ResponseTemplate::new(502), 2),
            (
                ResponseTemplate::new(429).insert_header("retry-after", "0"),
                2,
            ),
            (ResponseTemplate::new(500), 1),
            (
                ResponseTemplate::new(404).set_body_json(json!({"message": "Not Found"})),
                1,
            ),
        ] {
            server.reset().await;
            Mock::given(any())
                .respond_with(first)
                .up_to_n_times(1)
                .mount(&server)
                .await;
            answers(&server, "/graphql", ok(&of_commit(&[], false))).await;
            let result = github.pulls_of(COMMIT).await;
            assert_eq!(server.received_requests().await.unwrap().len(), requests);
            assert_eq!(result.is_ok(), requests == 2, "{result:?}");
        }
        let refused = Github::connect(access("http://127.0.0.1:1", &[]).unwrap(), quick())
            .await
            .unwrap();
        let error = refused.run(42).await.unwrap_err();
        assert!(
            matches!(error.failure(), Failure::Unreachable(_)),
            "{error}"
        );
    });
}
