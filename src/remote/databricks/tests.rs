use std::time::Duration;

use wiremock::matchers::{body_string_contains, header, method, path, query_param};
use wiremock::{Mock, MockServer, ResponseTemplate};

use super::*;

fn run<T>(work: impl Future<Output = T>) -> T {
    crate::remote::run::block_on(work).unwrap()
}

fn quick() -> HttpOptions {
    HttpOptions {
        per_second: 10_000,
        retry_for: Duration::from_millis(100),
        first_pause: Duration::from_millis(5),
        ..HttpOptions::default()
    }
}

fn json(status: u16, body: serde_json::Value) -> ResponseTemplate {
    ResponseTemplate::new(status).set_body_json(body)
}

/// A workspace that knows its token endpoint, and `GET Me` for this token.
async fn workspace(token: &str) -> MockServer {
    let server = MockServer::start().await;
    let endpoint = format!("{}/oidc/v1/token", server.uri());
    Mock::given(path("/oidc/.well-known/oauth-authorization-server"))
        .respond_with(json(
            200,
            serde_json::json!({"token_endpoint": endpoint, "authorization_endpoint": "x"}),
        ))
        .mount(&server)
        .await;
    Mock::given(path("/api/2.0/preview/scim/v2/Me"))
        .and(header("authorization", format!("Bearer {token}")))
        .respond_with(json(
            200,
            serde_json::json!({"id": "7", "userName": "ci@example.com", "groups": []}),
        ))
        .mount(&server)
        .await;
    server
}

async fn connect(host: &str, variables: &[(&str, &str)]) -> Result<Workspace, AccessError> {
    let variables = variables
        .iter()
        .copied()
        .chain([("DATABRICKS_HOST", host)])
        .filter(|(_, value)| !value.is_empty());
    Workspace::connect(&Environment::of(variables), &Wanted::default(), quick()).await
}

/// Signs in, and checks how and that the token counts.
async fn signs_in(server: &MockServer, variables: &[(&str, &str)], method: &str) {
    let workspace = connect(&server.uri(), variables).await.unwrap();
    assert_eq!(workspace.auth_type(), method);
    assert_eq!(workspace.me().await.unwrap().user_name, "ci@example.com");
}

/// An error's text, with this run's address taken out. It never holds a secret of these tests.
fn shown(error: &impl std::fmt::Display, server: &str) -> String {
    let text = error.to_string();
    assert!(!text.contains("s3cr3t"), "{text}");
    text.replace(server, "https://HOST")
}

#[test]
fn personal_token() {
    run(async {
        let server = workspace("dapi-s3cr3t").await;
        signs_in(&server, &[("DATABRICKS_TOKEN", "dapi-s3cr3t")], "pat").await;
    });
}

#[test]
fn an_expired_personal_token_is_said_and_not_retried() {
    run(async {
        let server = MockServer::start().await;
        let answer = json(
            403,
            serde_json::json!({"error_code": 403, "message": "Invalid access token."}),
        );
        Mock::given(path("/api/2.2/jobs/get"))
            .respond_with(answer)
            .mount(&server)
            .await;
        let answer = json(
            401,
            serde_json::json!({"error_code": 401, "message": "Token dapi-s3cr3t is expired."}),
        );
        Mock::given(path("/api/2.0/preview/scim/v2/Me"))
            .respond_with(answer)
            .mount(&server)
            .await;
        let workspace = connect(&server.uri(), &[("DATABRICKS_TOKEN", "dapi-s3cr3t")])
            .await
            .unwrap();
        let error = workspace.me().await.unwrap_err();
        insta::assert_snapshot!(shown(&error, &server.uri()), @"
        cannot read who is signed in: GET https://HOST/api/2.0/preview/scim/v2/Me answered 401 (Token (secret) is expired); the credentials are wrong, expired or of another workspace: sign in again
        ");
        assert_eq!(server.received_requests().await.unwrap().len(), 1);
        // A revoked one is answered with 403; it is not a missing right.
        let error = workspace.job(1).await.unwrap_err();
        insta::assert_snapshot!(shown(&error, &server.uri()), @"
        cannot read job 1: GET https://HOST/api/2.2/jobs/get answered 403 (Invalid access token); the credentials are wrong, expired or of another workspace: sign in again
        ");
        assert!(!format!("{workspace:?}").contains("s3cr3t"));
    });
}

#[test]
fn oauth_of_a_service_principal() {
    run(async {
        let server = workspace("oauth-s3cr3t").await;
        // id-1:a b/s3cr3t, form-encoded and then as Basic
        Mock::given(method("POST"))
            .and(path("/oidc/v1/token"))
            .and(header("authorization", "Basic aWQtMTphK2IlMkZzM2NyM3Q="))
            .and(body_string_contains("grant_type=client_credentials"))
            .and(body_string_contains("scope=all-apis"))
            .respond_with(json(200, serde_json::json!({"access_token": "oauth-s3cr3t", "token_type": "Bearer", "expires_in": 3600})))
            .expect(1)
            .mount(&server)
            .await;
        let variables = [
            ("DATABRICKS_CLIENT_ID", "id-1"),
            ("DATABRICKS_CLIENT_SECRET", "a b/s3cr3t"),
        ];
        signs_in(&server, &variables, "oauth-m2m").await;
    });
}

#[test]
fn a_token_rejected_in_the_middle_is_renewed_once() {
    run(async {
        let server = workspace("second").await;
        for (token, times) in [("first", 1), ("second", 1)] {
            Mock::given(path("/oidc/v1/token"))
                .respond_with(json(
                    200,
                    serde_json::json!({"access_token": token, "expires_in": 3600}),
                ))
                .up_to_n_times(times)
                .expect(times)
                .mount(&server)
                .await;
        }
        Mock::given(header("authorization", "Bearer first"))
            .respond_with(json(401, serde_json::json!({})))
            .mount(&server)
            .await;
        let variables = [
            ("DATABRICKS_CLIENT_ID", "id"),
            ("DATABRICKS_CLIENT_SECRET", "s3cr3t"),
        ];
        let workspace = connect(&server.uri(), &variables).await.unwrap();
        // Many at once meet the rejection; one renews for all.
        let all = crate::remote::run::each(
            0..8,
            |_| {
                let workspace = workspace.clone();
                async move { workspace.me().await }
            },
            |_| {},
        )
        .await;
        assert!(all.into_iter().all(|me| me.is_ok()));
    });
}

#[test]
fn a_token_is_renewed_before_its_end() {
    run(async {
        let server = workspace("second").await;
        for (token, life) in [("first", 1), ("second", 3600)] {
            Mock::given(path("/oidc/v1/token"))
                .respond_with(json(
                    200,
                    serde_json::json!({"access_token": token, "expires_in": life}),
                ))
                .up_to_n_times(1)
                .mount(&server)
                .await;
        }
        let variables = [
            ("DATABRICKS_CLIENT_ID", "id"),
            ("DATABRICKS_CLIENT_SECRET", "s3cr3t"),
        ];
        let workspace = connect(&server.uri(), &variables).await.unwrap();
        tokio::time::sleep(Duration::from_millis(600)).await;
        workspace.me().await.unwrap();
        let sent = server.received_requests().await.unwrap();
        assert!(!sent.iter().any(|request| {
            request
                .headers
                .get("authorization")
                .is_some_and(|value| value == "Bearer first")
        }));
    });
}

#[test]
fn github_actions_federation() {
    run(async {
        let server = workspace("exchanged").await;
        let audience = format!("{}/oidc/v1/token", server.uri());
        Mock::given(method("GET"))
            .and(path("/idtoken"))
            .and(query_param("api-version", "2.0"))
            .and(query_param("audience", audience))
            .and(header("authorization", "Bearer runner-s3cr3t"))
            .respond_with(json(200, serde_json::json!({"value": "jwt-s3cr3t"})))
            .mount(&server)
            .await;
        Mock::given(method("POST"))
            .and(path("/oidc/v1/token"))
            .and(body_string_contains(
                "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Atoken-exchange",
            ))
            .and(body_string_contains(
                "subject_token_type=urn%3Aietf%3Aparams%3Aoauth%3Atoken-type%3Ajwt",
            ))
            .and(body_string_contains("subject_token=jwt-s3cr3t"))
            .and(body_string_contains("client_id=sp-1"))
            .respond_with(json(
                200,
                serde_json::json!({"access_token": "exchanged", "expires_in": 3600}),
            ))
            .mount(&server)
            .await;
        let url = format!("{}/idtoken?api-version=2.0", server.uri());
        let variables = [
            ("DATABRICKS_CLIENT_ID", "sp-1"),
            ("ACTIONS_ID_TOKEN_REQUEST_URL", url.as_str()),
            ("ACTIONS_ID_TOKEN_REQUEST_TOKEN", "runner-s3cr3t"),
        ];
        signs_in(&server, &variables, "github-oidc").await;
    });
}

/// Accepts one token of a CI system.
async fn exchanges(server: &MockServer, subject: &str) {
    Mock::given(method("POST"))
        .and(path("/oidc/v1/token"))
        .and(body_string_contains(format!("subject_token={subject}")))
        .respond_with(json(
            200,
            serde_json::json!({"access_token": "exchanged", "expires_in": 3600}),
        ))
        .mount(server)
        .await;
}

#[test]
fn azure_devops_federation() {
    run(async {
        let server = workspace("exchanged").await;
        Mock::given(method("POST"))
            .and(path(
                "/org/project-1/_apis/distributedtask/hubs/build/plans/plan-1/jobs/job-1/oidctoken",
            ))
            .and(query_param("api-version", "7.2-preview.1"))
            .and(header("authorization", "Bearer system-s3cr3t"))
            .and(header("content-length", "0"))
            .respond_with(json(200, serde_json::json!({"oidcToken": "ado-jwt"})))
            .mount(&server)
            .await;
        exchanges(&server, "ado-jwt").await;
        let collection = format!("{}/org/", server.uri());
        let variables = [
            ("DATABRICKS_CLIENT_ID", "sp-1"),
            ("SYSTEM_ACCESSTOKEN", "system-s3cr3t"),
            ("SYSTEM_TEAMFOUNDATIONCOLLECTIONURI", collection.as_str()),
            ("SYSTEM_TEAMPROJECTID", "project-1"),
            ("SYSTEM_HOSTTYPE", "build"),
            ("SYSTEM_PLANID", "plan-1"),
            ("SYSTEM_JOBID", "job-1"),
        ];
        signs_in(&server, &variables, "azure-devops-oidc").await;
    });
}

#[test]
fn federation_by_variable_and_by_file() {
    run(async {
        let server = workspace("exchanged").await;
        exchanges(&server, "gitlab-jwt").await;
        signs_in(
            &server,
            &[("DATABRICKS_OIDC_TOKEN", "gitlab-jwt")],
            "env-oidc",
        )
        .await;
        let variables = [
            ("DATABRICKS_OIDC_TOKEN_ENV", "CI_JWT"),
            ("CI_JWT", "gitlab-jwt"),
        ];
        signs_in(&server, &variables, "env-oidc").await;
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("jwt"), "gitlab-jwt\n").unwrap();
        let variables = [
            ("DATABRICKS_OIDC_TOKEN_FILEPATH", "~/jwt"),
            ("HOME", folder.path().to_str().unwrap()),
        ];
        signs_in(&server, &variables, "file-oidc").await;
    });
}

#[test]
fn azure_service_principal() {
    run(async {
        let server = workspace("entra").await;
        Mock::given(method("POST"))
            .and(path("/tenant-1/oauth2/token"))
            .and(body_string_contains("client_id=app-1"))
            .and(body_string_contains("client_secret=az-s3cr3t"))
            .and(body_string_contains("resource=2ff814a6-3304-4ab8-85cb-cd0e6f879c1d"))
            // Entra ID writes numbers as text.
            .respond_with(json(200, serde_json::json!({"access_token": "entra", "expires_in": "3599", "expires_on": "1900000000"})))
            .mount(&server)
            .await;
        let uri = server.uri();
        let variables = [
            ("AZURE_AUTHORITY_HOST", uri.as_str()),
            ("DATABRICKS_AZURE_RESOURCE_ID", "/subscriptions/1"),
            ("ARM_CLIENT_ID", "app-1"),
            ("ARM_CLIENT_SECRET", "az-s3cr3t"),
            ("ARM_TENANT_ID", "tenant-1"),
        ];
        signs_in(&server, &variables, "azure-client-secret").await;
    });
}

#[test]
fn azure_service_principal_on_github_actions() {
    run(async {
        let server = workspace("entra").await;
        Mock::given(path("/idtoken"))
            .and(query_param("audience", "api://AzureADTokenExchange"))
            .respond_with(json(200, serde_json::json!({"value": "jwt-s3cr3t"})))
            .mount(&server)
            .await;
        Mock::given(path("/tenant-1/oauth2/token"))
            .and(body_string_contains("client_assertion=jwt-s3cr3t"))
            .respond_with(json(
                200,
                serde_json::json!({"access_token": "entra", "expires_in": "3599"}),
            ))
            .mount(&server)
            .await;
        let (uri, url) = (server.uri(), format!("{}/idtoken?v=1", server.uri()));
        let variables = [
            ("AZURE_AUTHORITY_HOST", uri.as_str()),
            ("DATABRICKS_AZURE_RESOURCE_ID", "/subscriptions/1"),
            ("ARM_CLIENT_ID", "app-1"),
            ("ARM_TENANT_ID", "tenant-1"),
            ("ACTIONS_ID_TOKEN_REQUEST_URL", url.as_str()),
            ("ACTIONS_ID_TOKEN_REQUEST_TOKEN", "runner-s3cr3t"),
        ];
        signs_in(&server, &variables, "github-oidc-azure").await;
    });
}

/// A folder with one program, a shell script.
#[cfg(unix)]
fn program(name: &str, script: &str) -> tempfile::TempDir {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    folder
}

#[cfg(unix)]
#[test]
fn programs_that_print_tokens() {
    run(async {
        let server = workspace("printed").await;
        let (uri, future) = (server.uri(), "2099-01-01T00:00:00.123456789Z");
        let cli = program(
            "databricks",
            &format!(
                r#"[ "$*" = "auth token --host {uri}" ] && echo '{{"access_token":"printed","expiry":"{future}"}}'"#
            ),
        );
        signs_in(
            &server,
            &[("PATH", cli.path().to_str().unwrap())],
            "databricks-cli",
        )
        .await;
        let path = cli.path().join("databricks");
        signs_in(
            &server,
            &[("DATABRICKS_CLI_PATH", path.to_str().unwrap())],
            "databricks-cli",
        )
        .await;

        let az = program(
            "az",
            r#"[ "$*" = "account get-access-token --resource 2ff814a6-3304-4ab8-85cb-cd0e6f879c1d --output json --tenant t-1" ] &&
               echo '{"accessToken":"printed","expires_on":4070908800}'"#,
        );
        let variables = [
            ("PATH", az.path().to_str().unwrap()),
            ("ARM_TENANT_ID", "t-1"),
            ("DATABRICKS_AZURE_RESOURCE_ID", "/subscriptions/1"),
        ];
        signs_in(&server, &variables, "azure-cli").await;
    });
}

#[cfg(unix)]
#[test]
fn says_everything_that_was_tried() {
    run(async {
        let server = workspace("none").await;
        let answer = json(
            401,
            serde_json::json!({"error": "invalid_client", "error_description": "Client s3cr3t unknown"}),
        );
        Mock::given(path("/oidc/v1/token"))
            .respond_with(answer)
            .mount(&server)
            .await;
        let cli = program(
            "databricks",
            "echo 'half a token s3cr3t'; echo 'Error: cannot configure: no login' >&2; exit 1",
        );
        let variables = [
            ("PATH", cli.path().to_str().unwrap()),
            ("DATABRICKS_CLIENT_ID", "id"),
            ("DATABRICKS_CLIENT_SECRET", "s3cr3t"),
            (
                "ACTIONS_ID_TOKEN_REQUEST_URL",
                "http://example.com/not-https",
            ),
        ];
        let error = connect(&server.uri(), &variables).await.unwrap_err();
        assert!(!error.is_usage());
        insta::assert_snapshot!(shown(&error, &server.uri()), @"
        cannot sign in to https://HOST. Tried, in this order:
          pat: DATABRICKS_TOKEN is not set
          oauth-m2m: cannot read an OAuth token: POST https://HOST/oidc/v1/token answered 401 (invalid_client: Client (secret) unknown); the credentials are wrong, expired or of another workspace: sign in again
          databricks-cli: `databricks auth token --host https://HOST` failed: Error: cannot configure: no login
          github-oidc: ACTIONS_ID_TOKEN_REQUEST_URL is not an https address; the job needs `permissions: id-token: write`
          azure-devops-oidc: SYSTEM_ACCESSTOKEN is not set; a step gets it by `env: SYSTEM_ACCESSTOKEN: $(System.AccessToken)`
          env-oidc: DATABRICKS_OIDC_TOKEN is not set
          file-oidc: DATABRICKS_OIDC_TOKEN_FILEPATH is not set
          github-oidc-azure: https://HOST is not a workspace on Azure
          azure-client-secret: https://HOST is not a workspace on Azure
          azure-cli: https://HOST is not a workspace on Azure
        Set the variables of one of them; DATABRICKS_AUTH_TYPE names the one to use.
        ");
        let one = [
            ("DATABRICKS_AUTH_TYPE", "azure-devops-oidc"),
            ("DATABRICKS_TOKEN", "ignored"),
        ];
        insta::assert_snapshot!(shown(&connect(&server.uri(), &one).await.unwrap_err(), &server.uri()), @"
        cannot sign in to https://HOST. Tried, in this order:
          azure-devops-oidc: SYSTEM_ACCESSTOKEN is not set; a step gets it by `env: SYSTEM_ACCESSTOKEN: $(System.AccessToken)`
        Set the variables of one of them; DATABRICKS_AUTH_TYPE names the one to use.
        ");
    });
}

#[test]
fn wrong_settings_have_their_own_messages() {
    run(async {
        let mut said = String::new();
        for variables in [
            &[("DATABRICKS_TOKEN", "a"), ("DATABRICKS_CLIENT_ID", "b")][..],
            &[("DATABRICKS_AUTH_TYPE", "kerberos")],
            &[("DATABRICKS_AUTH_TYPE", "basic")],
            &[
                ("DATABRICKS_USERNAME", "me"),
                ("DATABRICKS_PASSWORD", "s3cr3t"),
            ],
            &[("DATABRICKS_TOKEN", "a"), ("DATABRICKS_RATE_LIMIT", "none")],
            &[
                ("DATABRICKS_TOKEN", "a"),
                ("DATABRICKS_HOST", "http://10.0.0.1"),
            ],
        ] {
            let error = connect("https://a.example", variables).await;
            // The last DATABRICKS_HOST wins, so the loop's own comes first.
            let error = match error {
                Ok(_) => {
                    let variables = variables.iter().copied();
                    Workspace::connect(&Environment::of(variables), &Wanted::default(), quick())
                        .await
                        .unwrap_err()
                }
                Err(error) => error,
            };
            assert!(error.is_usage(), "{error}");
            said += &format!("{}\n", shown(&error, "\0"));
        }
        let nothing = Workspace::connect(&Environment::default(), &Wanted::default(), quick())
            .await
            .unwrap_err();
        said += &nothing.to_string();
        insta::assert_snapshot!(said, @r#"
        more than one way to sign in is configured: oauth and pat; unset the others or name one in DATABRICKS_AUTH_TYPE
        DATABRICKS_AUTH_TYPE is "kerberos"; expected one of pat, oauth-m2m, databricks-cli, github-oidc, azure-devops-oidc, env-oidc, file-oidc, github-oidc-azure, azure-client-secret, azure-cli
        basic is configured, and bundlegate cannot sign in that way; set DATABRICKS_AUTH_TYPE to one of pat, oauth-m2m, databricks-cli, github-oidc, azure-devops-oidc, env-oidc, file-oidc, github-oidc-azure, azure-client-secret, azure-cli
        basic is configured, and bundlegate cannot sign in that way; set DATABRICKS_AUTH_TYPE to one of pat, oauth-m2m, databricks-cli, github-oidc, azure-devops-oidc, env-oidc, file-oidc, github-oidc-azure, azure-client-secret, azure-cli
        DATABRICKS_RATE_LIMIT is "none"; expected a whole number of requests a second, at least 1
        the workspace host http://10.0.0.1 is not https: a token would travel in the clear; write https:// (http:// is only for this machine)
        no workspace host: set DATABRICKS_HOST, choose a profile with DATABRICKS_CONFIG_PROFILE, or give the bundle JSON, which names it
        "#);
    });
}

const CONFIG: &str = "[DEFAULT]\nhost = https://default.example\ntoken = dapi-default\n\n\
    [prod]\nhost = https://prod.example/\ntoken = dapi-prod\n\n\
    [twin-1]\nhost = https://twin.example\ntoken = a\n[twin-2]\nhost = twin.example\ntoken = b\n[empty]\n";

/// Which host and token are chosen with this profile file.
fn resolved(variables: &[(&str, &str)], profile: Option<&str>, host: Option<&str>) -> String {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join(".databrickscfg"), CONFIG).unwrap();
    let environment = Environment::of(
        variables
            .iter()
            .copied()
            .chain([("HOME", home.path().to_str().unwrap())]),
    );
    let wanted = Wanted {
        profile: profile.map(str::to_owned),
        host: host.map(str::to_owned),
    };
    match settings::Settings::resolve(&environment, &wanted) {
        Ok(settings) => format!(
            "{} {:?} {:?}",
            settings.host,
            settings.profile,
            settings.get("token")
        ),
        Err(error) => error.to_string(),
    }
}

#[test]
fn profiles() {
    let mut said = String::new();
    for (variables, profile, host) in [
        (&[][..], None, None),
        (&[], Some("prod"), None),
        (&[("DATABRICKS_CONFIG_PROFILE", "prod")], None, None),
        (
            &[("DATABRICKS_CONFIG_PROFILE", "prod")],
            Some("DEFAULT"),
            None,
        ),
        (&[], None, Some("https://prod.example")),
        (&[], None, Some("https://twin.example")),
        (&[], None, Some("https://other.example")),
        (&[], Some("prod"), Some("https://other.example")),
        (
            &[
                ("DATABRICKS_HOST", "https://env.example"),
                ("DATABRICKS_TOKEN", "dapi-env"),
            ],
            None,
            None,
        ),
        (
            &[
                ("DATABRICKS_HOST", "https://env.example"),
                ("DATABRICKS_TOKEN", "dapi-env"),
            ],
            Some("prod"),
            None,
        ),
        (&[("DATABRICKS_TOKEN", "dapi-env")], Some("prod"), None),
        (&[("DATABRICKS_TOKEN", "dapi-env")], None, None),
        (&[], Some("missing"), None),
        (&[], Some("empty"), None),
        (
            &[("DATABRICKS_CONFIG_FILE", "/nonexistent/cfg")],
            Some("prod"),
            None,
        ),
    ] {
        said += &format!("{}\n", resolved(variables, profile, host));
    }
    insta::assert_snapshot!(said, @r#"
    https://default.example Some("DEFAULT") Some("dapi-default")
    https://prod.example Some("prod") Some("dapi-prod")
    https://prod.example Some("prod") Some("dapi-prod")
    https://default.example Some("DEFAULT") Some("dapi-default")
    https://prod.example Some("prod") Some("dapi-prod")
    several profiles are for https://twin.example: twin-1, twin-2; choose one with DATABRICKS_CONFIG_PROFILE or --profile
    https://other.example None None
    wrong workspace: the bundle belongs to https://other.example, the sign-in (DATABRICKS_HOST or the profile) is for https://prod.example; correct one of them
    https://env.example None Some("dapi-env")
    DATABRICKS_HOST is https://env.example, and the profile "prod" is for https://prod.example; unset one of them
    https://prod.example Some("prod") Some("dapi-env")
    no workspace host: set DATABRICKS_HOST, choose a profile with DATABRICKS_CONFIG_PROFILE, or give the bundle JSON, which names it
    ~/.databrickscfg has no profile "missing" with settings; name one that it has, or set DATABRICKS_CONFIG_FILE
    ~/.databrickscfg has no profile "empty" with settings; name one that it has, or set DATABRICKS_CONFIG_FILE
    /nonexistent/cfg has no profile "prod" with settings; name one that it has, or set DATABRICKS_CONFIG_FILE
    "#);
}

async fn reads(server: &MockServer) -> Workspace {
    connect(&server.uri(), &[("DATABRICKS_TOKEN", "dapi-s3cr3t")])
        .await
        .unwrap()
}

#[test]
fn absence_is_only_what_the_workspace_says() {
    run(async {
        let server = MockServer::start().await;
        let does_not_exist = serde_json::json!({"error_code": "INVALID_PARAMETER_VALUE", "message": "Job 1 does not exist."});
        let other = serde_json::json!({"error_code": "INVALID_PARAMETER_VALUE", "message": "job_id does not exist in the request"});
        for (id, answer) in [
            ("1", json(400, does_not_exist)),
            ("2", json(400, other)),
            (
                "3",
                json(
                    404,
                    serde_json::json!({"error_code": "RESOURCE_DOES_NOT_EXIST"}),
                ),
            ),
            (
                "4",
                json(404, serde_json::json!({"error_code": "ENDPOINT_NOT_FOUND"})),
            ),
            ("5", ResponseTemplate::new(404)),
            (
                "6",
                json(
                    403,
                    serde_json::json!({"error_code": "PERMISSION_DENIED", "message": "no"}),
                ),
            ),
            (
                "7",
                ResponseTemplate::new(403).set_body_raw("<html>", "text/html"),
            ),
        ] {
            Mock::given(path("/api/2.2/jobs/get"))
                .and(query_param("job_id", id))
                .respond_with(answer)
                .mount(&server)
                .await;
        }
        let workspace = reads(&server).await;
        let mut said = String::new();
        for id in 1..=7 {
            said += &match workspace.job(id).await {
                Ok(presence) => format!("{id} {presence:?}\n"),
                Err(error) => format!("{id} {}\n", shown(&error, &server.uri())),
            };
        }
        insta::assert_snapshot!(said, @r#"
        1 Gone
        2 cannot read job 2: GET https://HOST/api/2.2/jobs/get answered 400 (INVALID_PARAMETER_VALUE: job_id does not exist in the request); check that host and id are the right ones
        3 Gone
        4 cannot read job 4: GET https://HOST/api/2.2/jobs/get answered 404 (ENDPOINT_NOT_FOUND); check that the host is the right workspace and that the id is of it
        5 cannot read job 5: GET https://HOST/api/2.2/jobs/get answered 404 with nothing where JSON was expected; check the host and HTTPS_PROXY / NO_PROXY
        6 Forbidden(Said { code: Some("PERMISSION_DENIED"), message: Some("no") })
        7 cannot read job 7: GET https://HOST/api/2.2/jobs/get answered 403 with something that is not JSON (it starts with `<html>`); a proxy or a login page answered in its place: check the host and HTTPS_PROXY / NO_PROXY
        "#);
    });
}

#[test]
fn lists_are_read_to_their_end_and_never_in_a_circle() {
    run(async {
        let server = MockServer::start().await;
        let table = |name: &str| serde_json::json!({"full_name": name, "owner": "o", "table_type": "STREAMING_TABLE", "pipeline_id": "p", "properties": {"pipelines.reset.allowed": "false"}});
        let pages = [
            (
                None,
                serde_json::json!({"tables": [table("c.s.a"), table("c.s.b")], "next_page_token": "2"}),
            ),
            (Some("2"), serde_json::json!({"next_page_token": "3"})),
            (
                Some("3"),
                serde_json::json!({"tables": [table("c.s.c")], "next_page_token": ""}),
            ),
        ];
        for (token, page) in pages {
            let route = Mock::given(path("/api/2.1/unity-catalog/tables"))
                .and(query_param("schema_name", "s"));
            let (route, priority) = match token {
                Some(token) => (route.and(query_param("page_token", token)), 1),
                None => (route, 2),
            };
            route
                .respond_with(json(200, page))
                .with_priority(priority)
                .mount(&server)
                .await;
        }
        let circle = serde_json::json!({"tables": [], "next_page_token": "again"});
        Mock::given(query_param("schema_name", "circle"))
            .respond_with(json(200, circle))
            .mount(&server)
            .await;
        let workspace = reads(&server).await;
        let tables = workspace.tables("c", "s").await.unwrap().there().unwrap();
        assert_eq!(
            tables
                .iter()
                .map(|table| table.full_name.as_str())
                .collect::<Vec<_>>(),
            ["c.s.a", "c.s.b", "c.s.c"]
        );
        assert_eq!(tables[0].properties["pipelines.reset.allowed"], "false");
        let error = workspace.tables("c", "circle").await.unwrap_err();
        insta::assert_snapshot!(shown(&error, &server.uri()), @"
        cannot read the tables of schema c.circle: the answer of GET https://HOST/api/2.1/unity-catalog/tables is not what the API promises: the list leads back to a page that was read already; this version may be too old for the workspace
        ");
    });
}

#[test]
fn names_of_others_are_harmless() {
    run(async {
        let server = MockServer::start().await;
        let workspace = reads(&server).await;
        let error = workspace.pipeline("..").await.unwrap_err();
        insta::assert_snapshot!(shown(&error, &server.uri()), @"
        cannot read pipeline ..: its name cannot be part of an address
        ");
        let error = workspace.app("a/../b?x=1\u{1b}[2J").await.unwrap_err();
        insta::assert_snapshot!(shown(&error, &server.uri()), @r#"
        cannot read app a/../b?x=1\u{1b}[2J: GET https://HOST/api/2.0/apps/a%2F..%2Fb%3Fx=1%1B[2J answered 404 with nothing where JSON was expected; check the host and HTTPS_PROXY / NO_PROXY
        "#);
    });
}

#[test]
fn what_the_environment_holds_is_not_printed() {
    let environment = Environment::of([("DATABRICKS_TOKEN", "s3cr3t")]);
    assert_eq!(
        format!("{environment:?}"),
        r#"Environment(["DATABRICKS_TOKEN"])"#
    );
}
