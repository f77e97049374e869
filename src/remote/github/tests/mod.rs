//! Against prepared answers on loopback.

mod pulls;
mod reads;

use serde_json::{Value, json};
use wiremock::matchers::path;
use wiremock::{Mock, MockServer, ResponseTemplate};

use super::*;
use crate::remote::environment::Environment;
use crate::remote::setting::SettingError;
use crate::remote::testing::{quick, run, shown};

const TOKEN: &str = "ghs_s3cr3t";
const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

fn access(api: &str, more: &[(&str, &str)]) -> Result<GithubAccess, SettingError> {
    let base = [
        ("GITHUB_TOKEN", TOKEN),
        ("GITHUB_REPOSITORY", "acme/warehouse"),
        ("GITHUB_API_URL", api),
        ("GITHUB_ACTIONS", "true"),
        ("GITHUB_RUN_ID", "42"),
    ];
    GithubAccess::of(&Environment::of(
        base.into_iter().chain(more.iter().copied()),
    ))
}

async fn github(server: &MockServer) -> Github {
    let access = access(&server.uri(), &[]).unwrap();
    Github::connect(access, quick()).await.unwrap()
}

fn user(login: &str, id: u64) -> Value {
    json!({"login": login, "id": id, "type": "User", "site_admin": false})
}

fn run_answer() -> Value {
    json!({
        "id": 42, "run_attempt": 2, "head_sha": COMMIT, "run_started_at": "2026-01-22T19:33:08Z",
        "html_url": "https://github.com/acme/warehouse/actions/runs/42", "name": "deploy",
        "repository": {"id": 1, "full_name": "Acme/warehouse"},
        "actor": user("olga", 7),
        "triggering_actor": {"login": "renovate[bot]", "id": 9, "type": "Bot"},
    })
}

async fn answers(server: &MockServer, at: &str, answer: ResponseTemplate) {
    Mock::given(path(at))
        .respond_with(answer)
        .mount(server)
        .await;
}

fn ok(body: &Value) -> ResponseTemplate {
    ResponseTemplate::new(200).set_body_json(body)
}

#[test]
fn settings_are_read_and_refused() {
    let mut said = String::new();
    for (api, more) in [
        ("https://api.github.com", vec![]),
        ("https://ghe.example/api/v3", vec![]),
        ("https://api.acme.ghe.com/", vec![]),
        (
            "https://api.github.com",
            vec![
                ("GITHUB_GRAPHQL_URL", "https://other.example/graphql"),
                ("GITHUB_ACTIONS", ""),
            ],
        ),
        (
            "https://api.github.com",
            vec![("GITHUB_TOKEN", ""), ("GH_TOKEN", "ghp_s3cr3t")],
        ),
        ("https://api.github.com", vec![("GITHUB_TOKEN", "")]),
        (
            "https://api.github.com",
            vec![("GITHUB_TOKEN", "ghs_s3cr3t\n")],
        ),
        ("https://api.github.com", vec![("GITHUB_REPOSITORY", "")]),
        (
            "https://api.github.com",
            vec![("GITHUB_REPOSITORY", "acme/../x")],
        ),
        (
            "https://api.github.com",
            vec![("GITHUB_REPOSITORY", "acme/\u{1b}[31m\n::error::x")],
        ),
        (
            "https://api.github.com",
            vec![("GITHUB_REPOSITORY", "acme/..")],
        ),
        ("http://api.github.com", vec![]),
        ("https://me:s3cr3t@ghe.example", vec![]),
        (
            "https://api.github.com",
            vec![("GITHUB_GRAPHQL_URL", "http://ghe.example")],
        ),
        ("https://api.github.com", vec![("GITHUB_RUN_ID", "-1")]),
    ] {
        said += &match access(api, &more) {
            Ok(found) => {
                assert!(!format!("{found:?}").contains("s3cr3t"));
                format!(
                    "{} {} {} {:?}\n",
                    found.api,
                    found.graphql,
                    found.repository,
                    found.run_id()
                )
            }
            Err(error) => format!("{error}\n"),
        };
    }
    assert!(!said.contains("s3cr3t"));
    insta::assert_snapshot!(said, @r#"
    https://api.github.com https://api.github.com/graphql acme/warehouse Some(42)
    https://ghe.example/api/v3 https://ghe.example/api/graphql acme/warehouse Some(42)
    https://api.acme.ghe.com https://api.acme.ghe.com/graphql acme/warehouse Some(42)
    https://api.github.com https://other.example/graphql acme/warehouse None
    https://api.github.com https://api.github.com/graphql acme/warehouse Some(42)
    GITHUB_TOKEN is not set; pass it in the step's env, as in `GITHUB_TOKEN: ${{ github.token }}`
    GITHUB_TOKEN holds a line break or another character that no token has; set it again, without a line break at its end
    GITHUB_REPOSITORY is not set; outside GitHub Actions set it to owner/name
    GITHUB_REPOSITORY is `acme/../x`; expected owner/name, as in acme/warehouse
    GITHUB_REPOSITORY is `acme/\u{1b}[31m\u{a}::error::x`; expected owner/name, as in acme/warehouse
    GITHUB_REPOSITORY is `acme/..`; expected owner/name, as in acme/warehouse
    GITHUB_API_URL is not https (http://api.github.com): a token would travel in the clear; write https:// (http:// is only for this machine)
    GITHUB_API_URL holds a user name or password before `@`; write the address without them
    GITHUB_GRAPHQL_URL is not https (http://ghe.example): a token would travel in the clear; write https:// (http:// is only for this machine)
    GITHUB_RUN_ID is `-1`; expected a whole number from 1
    "#);
}
