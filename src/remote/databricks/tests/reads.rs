//! Presence, lists, and names that others chose.

use wiremock::matchers::{path, query_param};
use wiremock::{Mock, MockServer, ResponseTemplate};

use super::*;

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
        insta::assert_snapshot!(shown(&error, &server.uri()), @"cannot read the tables of schema c.circle: the answer of GET https://HOST/api/2.1/unity-catalog/tables is not what the API promises: the list leads back to a page that was read already; this version may be too old for the workspace");
    });
}

#[test]
fn names_of_others_are_harmless() {
    run(async {
        let server = MockServer::start().await;
        let workspace = reads(&server).await;
        let error = workspace.pipeline("..").await.unwrap_err();
        insta::assert_snapshot!(shown(&error, &server.uri()), @"cannot read pipeline ..: its name cannot be part of an address");
        let error = workspace.app("a/../b?x=1\u{1b}[2J").await.unwrap_err();
        insta::assert_snapshot!(shown(&error, &server.uri()), @r#"cannot read app a/../b?x=1\u{1b}[2J: GET https://HOST/api/2.0/apps/a%2F..%2Fb%3Fx=1%1B[2J answered 404 with nothing where JSON was expected; check the host and HTTPS_PROXY / NO_PROXY"#);
    });
}
