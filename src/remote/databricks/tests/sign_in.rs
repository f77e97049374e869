//! Every way to sign in, and what becomes of a token that is no longer good.

use std::time::Duration;

use wiremock::matchers::{body_string_contains, header, method, path, query_param};
use wiremock::{Mock, MockServer};

use super::*;

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
        insta::assert_snapshot!(shown(&error, &server.uri()), @"cannot read who is signed in: GET https://HOST/api/2.0/preview/scim/v2/Me answered 401 (Token (secret) is expired); the credentials are wrong, expired or of another workspace: sign in again");
        assert_eq!(server.received_requests().await.unwrap().len(), 1);
        // A revoked one is answered with 403; it is not a missing right.
        let error = workspace.job(1).await.unwrap_err();
        insta::assert_snapshot!(shown(&error, &server.uri()), @"cannot read job 1: GET https://HOST/api/2.2/jobs/get answered 403 (Invalid access token); the credentials are wrong, expired or of another workspace: sign in again");
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
