//! The run, its reviews, membership, and what is said about bad answers.

use wiremock::matchers::{any, header, method};

use super::*;

#[test]
fn a_run_with_its_reviews() {
    run(async {
        let server = MockServer::start().await;
        Mock::given(method("GET"))
            .and(path("/api/v3/repos/acme/warehouse/actions/runs/42"))
            .and(header("authorization", format!("Bearer {TOKEN}")))
            .and(header("x-github-api-version", "2022-11-28"))
            .respond_with(ok(&run_answer()))
            .mount(&server)
            .await;
        answers(
            &server,
            "/api/v3/repos/acme/warehouse/actions/runs/42/approvals",
            ok(&json!([
                {"environments": [{"id": 1, "name": "prod"}, {"id": 2, "name": "eu"}], "state": "approved", "user": user("ann", 11), "comment": "ship it"},
                {"environments": [{"name": "prod"}], "state": "rejected", "user": {"login": "gate[bot]", "type": "Bot"}, "comment": null},
                {"environments": [], "state": "pending", "user": user("ghost", 10137), "comment": ""},
                {"environments": [], "state": "approved", "user": null, "comment": ""},
            ])),
        )
        .await;
        let access = access(&format!("{}/api/v3", server.uri()), &[]).unwrap();
        let id = access.run_id().unwrap();
        let github = Github::connect(access, quick()).await.unwrap();
        insta::assert_debug_snapshot!(github.run(id).await.unwrap(), @r#"
        GithubRun {
            id: 42,
            attempt: 2,
            head: "0123456789abcdef0123456789abcdef01234567",
            started: 2026-01-22T19:33:08Z,
            actor: Some(
                GithubAccount {
                    login: "olga",
                    id: 7,
                    human: true,
                },
            ),
            triggering_actor: Some(
                GithubAccount {
                    login: "renovate[bot]",
                    id: 9,
                    human: false,
                },
            ),
            url: "https://github.com/acme/warehouse/actions/runs/42",
            reviews: [
                EnvironmentReview {
                    environments: [
                        "prod",
                        "eu",
                    ],
                    state: "approved",
                    by: Some(
                        GithubAccount {
                            login: "ann",
                            id: 11,
                            human: true,
                        },
                    ),
                    comment: "ship it",
                },
                EnvironmentReview {
                    environments: [
                        "prod",
                    ],
                    state: "rejected",
                    by: Some(
                        GithubAccount {
                            login: "gate[bot]",
                            id: 0,
                            human: false,
                        },
                    ),
                    comment: "",
                },
                EnvironmentReview {
                    environments: [],
                    state: "pending",
                    by: None,
                    comment: "",
                },
                EnvironmentReview {
                    environments: [],
                    state: "approved",
                    by: None,
                    comment: "",
                },
            ],
        }
        "#);
        assert!(!format!("{github:?}").contains("s3cr3t"));
    });
}

#[test]
fn a_run_of_another_repository_is_refused() {
    run(async {
        let server = MockServer::start().await;
        let github = github(&server).await;
        let mut said = String::new();
        let mut other = run_answer();
        other["repository"]["full_name"] = json!("mallory/warehouse\u{1b}[2J\n::error::x");
        let mut wrong = run_answer();
        wrong["id"] = json!(43);
        let mut nobody = run_answer();
        nobody["actor"]["id"] = Value::Null;
        let mut old = run_answer();
        old.as_object_mut().unwrap().remove("run_attempt");
        for answer in [other, wrong, nobody, old] {
            server.reset().await;
            answers(
                &server,
                "/repos/acme/warehouse/actions/runs/42",
                ok(&answer),
            )
            .await;
            said += &format!(
                "{}\n",
                shown(&github.run(42).await.unwrap_err(), &server.uri())
            );
        }
        insta::assert_snapshot!(said, @r#"
        cannot read workflow run 42: the answer of GET https://HOST/repos/acme/warehouse/actions/runs/42 is about something else: a run of mallory/warehouse\u{1b}[2J\u{a}::error::x, not of acme/warehouse; check GITHUB_REPOSITORY and GITHUB_RUN_ID
        cannot read workflow run 42: the answer of GET https://HOST/repos/acme/warehouse/actions/runs/42 is about something else: run 43; check GITHUB_API_URL
        cannot read workflow run 42: the answer of GET https://HOST/repos/acme/warehouse/actions/runs/42 is not what the API promises: the user olga has no id; this version may be too old or too new for this GitHub
        cannot read workflow run 42: the answer of GET https://HOST/repos/acme/warehouse/actions/runs/42 is not what the API promises: missing field `run_attempt` at line 1 column 363; this version may be too old or too new for this GitHub
        "#);
    });
}

#[test]
fn every_bad_answer_has_its_own_message() {
    run(async {
        let server = MockServer::start().await;
        let html = "<!DOCTYPE html><html>Unicorn!";
        let message = |status: u16, text: &str| {
            ResponseTemplate::new(status).set_body_json(
                json!({"message": text, "documentation_url": "https://docs.github.com/"}),
            )
        };
        let mut said = String::new();
        for answer in [
            message(401, "Bad credentials ghs_s3cr3t"),
            message(403, "Resource not accessible by integration"),
            message(403, "API rate limit exceeded for installation."),
            message(403, "You have exceeded a secondary rate limit.")
                .insert_header("retry-after", "60"),
            message(403, "slow")
                .insert_header("x-ratelimit-remaining", "0")
                .insert_header("x-ratelimit-reset", "32503680000"),
            message(404, "Not Found"),
            message(429, "too many"),
            message(422, "\u{1b}[31m\n::error::red\u{202e}"),
            message(500, "oops"),
            ResponseTemplate::new(503),
            ResponseTemplate::new(502).set_body_raw(html, "text/html"),
            ResponseTemplate::new(200).set_body_raw(html, "text/html"),
            ResponseTemplate::new(404).set_body_raw(html, "text/html"),
            ResponseTemplate::new(301)
                .insert_header("location", "https://api.github.com/repositories/1?token=x"),
            ok(&json!([])),
            ResponseTemplate::new(200)
                .set_body_raw("x".repeat(17 * 1024 * 1024), "application/json"),
        ] {
            server.reset().await;
            Mock::given(any()).respond_with(answer).mount(&server).await;
            // A new client each: one that was told to wait makes the next request wait.
            let github = github(&server).await;
            said += &format!(
                "{}\n",
                shown(&github.run(42).await.unwrap_err(), &server.uri())
            );
        }
        insta::assert_snapshot!(said, @r#"
        cannot read workflow run 42: GET https://HOST/repos/acme/warehouse/actions/runs/42 answered 401 (Bad credentials (secret)); the token is wrong or expired: pass GITHUB_TOKEN (or GH_TOKEN) again; a workflow's own token ends with its job
        cannot read workflow run 42: GET https://HOST/repos/acme/warehouse/actions/runs/42 answered 403 (Resource not accessible by integration); the token needs the permission to read workflow runs: add `actions: read` to the job's `permissions:`
        cannot read workflow run 42: GET https://HOST/repos/acme/warehouse/actions/runs/42 still answered 403 after 0 s (API rate limit exceeded for installation); the token has used up what GitHub allows: try later
        cannot read workflow run 42: GET https://HOST/repos/acme/warehouse/actions/runs/42 still answered 403 after 0 s (You have exceeded a secondary rate limit); the token has used up what GitHub allows: try later
        cannot read workflow run 42: GET https://HOST/repos/acme/warehouse/actions/runs/42 still answered 403 after 0 s (slow); the token has used up what GitHub allows: try later
        cannot read workflow run 42: GET https://HOST/repos/acme/warehouse/actions/runs/42 answered 404 (Not Found); GitHub also answers so when the token may not see it: add `actions: read` to the job's `permissions:`, and check GITHUB_REPOSITORY and GITHUB_RUN_ID
        cannot read workflow run 42: GET https://HOST/repos/acme/warehouse/actions/runs/42 still answered 429 after 0 s (too many); the token has used up what GitHub allows: try later
        cannot read workflow run 42: GET https://HOST/repos/acme/warehouse/actions/runs/42 answered 422 (\u{1b}[31m\u{a}::error::red\u{202e}); check GITHUB_REPOSITORY, GITHUB_API_URL and GITHUB_GRAPHQL_URL
        cannot read workflow run 42: GET https://HOST/repos/acme/warehouse/actions/runs/42 answered 500 (oops); the service has a problem: try again later
        cannot read workflow run 42: GET https://HOST/repos/acme/warehouse/actions/runs/42 answered 503; the service has a problem: try again later
        cannot read workflow run 42: GET https://HOST/repos/acme/warehouse/actions/runs/42 answered 502; the service has a problem: try again later
        cannot read workflow run 42: GET https://HOST/repos/acme/warehouse/actions/runs/42 answered 200 with something that is not JSON (it starts with `<!DOCTYPE html><html>Unicorn!`); a proxy or a login page answered in its place: check GITHUB_API_URL and HTTPS_PROXY / NO_PROXY
        cannot read workflow run 42: GET https://HOST/repos/acme/warehouse/actions/runs/42 answered 404 with something that is not JSON (it starts with `<!DOCTYPE html><html>Unicorn!`); a proxy or a login page answered in its place: check GITHUB_API_URL and HTTPS_PROXY / NO_PROXY
        cannot read workflow run 42: GET https://HOST/repos/acme/warehouse/actions/runs/42 answered 301 (to api.github.com) instead of data; the repository was renamed or moved, or a login page stands before GitHub: check GITHUB_REPOSITORY and GITHUB_API_URL
        cannot read workflow run 42: the answer of GET https://HOST/repos/acme/warehouse/actions/runs/42 is not what the API promises: invalid length 0, expected struct RunAnswer with 8 elements at line 1 column 2; this version may be too old or too new for this GitHub
        cannot read workflow run 42: the answer of GET https://HOST/repos/acme/warehouse/actions/runs/42 is longer than 16777216 bytes, the most that is read
        "#);
    });
}

#[test]
fn the_first_run_on_a_commit() {
    run(async {
        let server = MockServer::start().await;
        let at = |sha: &str, created: &str| json!({"head_sha": sha, "created_at": created});
        Mock::given(method("GET"))
            .and(path("/repos/acme/warehouse/actions/runs"))
            .and(wiremock::matchers::query_param("head_sha", COMMIT))
            .respond_with(ok(&json!({"total_count": 3, "workflow_runs": [
                at(COMMIT, "2026-01-03T00:00:00Z"), at(COMMIT, "2026-01-02T00:00:00Z"), at("x", "2026-01-01T00:00:00Z"),
            ]})))
            .mount(&server)
            .await;
        let github = github(&server).await;
        let first = github.first_run_on(COMMIT).await.unwrap();
        assert_eq!(first, Some("2026-01-02T00:00:00Z".parse().unwrap()));
    });
}

#[test]
fn a_team_has_to_be_seen() {
    run(async {
        let server = MockServer::start().await;
        answers(
            &server,
            "/orgs/acme/teams/deployers",
            ok(&json!({"slug": "deployers"})),
        )
        .await;
        let gone = ResponseTemplate::new(404).set_body_json(json!({"message": "Not Found"}));
        answers(&server, "/orgs/acme/teams/misspelt", gone).await;
        let github = github(&server).await;
        github.must_see_team("acme", "deployers").await.unwrap();
        let error = github.must_see_team("acme", "misspelt").await.unwrap_err();
        assert!(error.to_string().contains("may not see it"), "{error}");
    });
}

#[test]
fn membership_is_what_the_organisation_says() {
    run(async {
        let server = MockServer::start().await;
        let github = github(&server).await;
        let mut said = String::new();
        for (login, answer) in [
            (
                "ann",
                ok(&json!({"state": "active", "role": "member", "url": "x"})),
            ),
            ("bob", ok(&json!({"state": "pending", "role": "member"}))),
            (
                "eve",
                ResponseTemplate::new(404).set_body_json(json!({"message": "Not Found"})),
            ),
            (
                "ci",
                ResponseTemplate::new(403)
                    .set_body_json(json!({"message": "Resource not accessible by integration"})),
            ),
            (
                "proxy",
                ResponseTemplate::new(404).set_body_raw("<html>", "text/html"),
            ),
            ("odd", ok(&json!({"role": "member"}))),
        ] {
            answers(
                &server,
                &format!("/orgs/acme/teams/deployers/memberships/{login}"),
                answer,
            )
            .await;
            said += &match github.is_member("acme", "deployers", login).await {
                Ok(member) => format!("{login} {member}\n"),
                Err(error) => format!("{login} {}\n", shown(&error, &server.uri())),
            };
        }
        for login in ["..", "a/../b\u{1b}[1m"] {
            said += &match github.is_member("acme", "deployers", login).await {
                Ok(member) => format!("{member}\n"),
                Err(error) => format!("{}\n", shown(&error, &server.uri())),
            };
        }
        insta::assert_snapshot!(said, @r#"
        ann true
        bob false
        eve false
        ci cannot read the membership of ci in acme/deployers: GET https://HOST/orgs/acme/teams/deployers/memberships/ci answered 403 (Resource not accessible by integration); no workflow token can read teams: pass a token of a GitHub App, or a fine-grained one, with the organisation permission `Members: read`
        proxy cannot read the membership of proxy in acme/deployers: GET https://HOST/orgs/acme/teams/deployers/memberships/proxy answered 404 with something that is not JSON (it starts with `<html>`); a proxy or a login page answered in its place: check GITHUB_API_URL and HTTPS_PROXY / NO_PROXY
        odd cannot read the membership of odd in acme/deployers: the answer of GET https://HOST/orgs/acme/teams/deployers/memberships/odd is not what the API promises: missing field `state` at line 1 column 17; this version may be too old or too new for this GitHub
        cannot read the membership of .. in acme/deployers: its name cannot be part of an address
        cannot read the membership of a/../b\u{1b}[1m in acme/deployers: GET https://HOST/orgs/acme/teams/deployers/memberships/a%2F..%2Fb%1B[1m answered 404 with nothing where JSON was expected; check the host and HTTPS_PROXY / NO_PROXY
        "#);
    });
}

#[test]
fn a_missing_ca_bundle_is_said() {
    run(async {
        let access = access(
            "https://api.github.com",
            &[("BUNDLEGATE_CA_BUNDLE", "/nowhere.pem")],
        )
        .unwrap();
        let error = Github::connect(access, quick()).await.unwrap_err();
        assert!(error.to_string().contains("/nowhere.pem"), "{error}");
    });
}
