//! Against prepared answers on loopback.

mod reads;
mod settings;
mod sign_in;

use wiremock::matchers::{body_string_contains, header, method, path};
use wiremock::{Mock, MockServer, ResponseTemplate};

use super::*;
use crate::remote::testing::{quick, run, shown};

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
