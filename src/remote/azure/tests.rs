//! Against prepared answers on loopback.

use serde_json::{Value, json};
use wiremock::matchers::{any, header, method, path, query_param};
use wiremock::{Mock, MockServer, ResponseTemplate};

use super::*;
use crate::remote::environment::Environment;
use crate::remote::setting::SettingError;
use crate::remote::testing::{quick, run, shown};

const TOKEN: &str = "eyJ.s3cr3t";
const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";
const APPROVAL: &str = "ee14f612-6838-43c0-b445-db238ef14153";
const CHECKPOINT: &str = "08890543-3c78-57a1-f278-a9d77e3a93d7";

fn access(collection: &str, more: &[(&str, &str)]) -> Result<AzureAccess, SettingError> {
    let base = [
        ("SYSTEM_ACCESSTOKEN", TOKEN),
        ("SYSTEM_COLLECTIONURI", collection),
        ("SYSTEM_TEAMPROJECT", "My Project"),
        ("BUILD_BUILDID", "28"),
        ("SYSTEM_STAGENAME", "Deploy"),
        ("SYSTEM_STAGEATTEMPT", "2"),
    ];
    AzureAccess::of(&Environment::of(
        base.into_iter().chain(more.iter().copied()),
    ))
}

fn identity(descriptor: &str, name: &str) -> Value {
    json!({"displayName": "Somebody", "uniqueName": name, "descriptor": descriptor, "id": "3b3d"})
}

/// The answers of a service, each of which a test may change.
struct Service {
    build: Value,
    timeline: Value,
    suite: Value,
    approval: Value,
    environment: Value,
}

fn service() -> Service {
    let record = |kind: &str, id: &str, parent: Option<&str>, identifier: &str, attempt: u64| json!({"type": kind, "id": id, "parentId": parent, "identifier": identifier, "name": "x", "attempt": attempt, "state": "completed"});
    Service {
        build: json!({
            "id": 28, "sourceVersion": COMMIT, "project": {"id": "d6b3", "name": "my project"},
            "requestedFor": identity("aad.QUJD", "olga@example.com"),
            "requestedBy": identity("s2s.REVG", ""),
            "_links": {"web": {"href": "https://dev.azure.com/acme/d6b3/_build/results?buildId=28"}},
        }),
        timeline: json!({"id": "t", "records": [
            record("Stage", "s1", None, "Build", 1),
            record("Checkpoint", "c1", Some("s1"), "Checkpoint", 1),
            record("Checkpoint.Approval", "other", Some("c1"), "a", 1),
            record("Stage", "s2", None, "Deploy", 2),
            record("Checkpoint", CHECKPOINT, Some("s2"), "Checkpoint", 2),
            record("Checkpoint.Authorization", "auth", Some(CHECKPOINT), "b", 2),
            record("Checkpoint.Approval", APPROVAL, Some(CHECKPOINT), "c", 2),
            record("Phase", "p", Some("s2"), "Deploy.p", 2),
        ]}),
        suite: json!({
            "id": CHECKPOINT, "status": "approved",
            "context": {"Pipeline": {"Owner": {"Id": 28, "Name": "20230811.2"}, "Id": "1"}, "GraphNode": {"Attempt": 2, "Name": "Deploy", "Id": "s2"}},
            "checkRuns": [
                {"id": "auth", "status": "approved", "checkConfigurationRef": {"id": 1, "resource": {"type": "queue", "id": "1"}}},
                {"id": APPROVAL.to_uppercase(), "status": "approved", "checkConfigurationRef": {"id": 15, "resource": {"type": "environment", "id": "12", "name": "an old name"}}},
            ],
        }),
        approval: json!({
            "id": APPROVAL, "status": "approved", "pipeline": {"owner": {"id": 28, "name": "20230811.2"}, "id": "413"},
            "steps": [
                {"assignedApprover": identity("vssgp.R1JQ", "[My Project]\\Approvers"), "actualApprover": identity("aad.QU5O", "ann@example.com"), "status": "approved", "comment": "fine", "lastModifiedOn": "2020-11-19T09:57:54.252505Z"},
                {"assignedApprover": identity("aad.Qk9C", "bob@example.com"), "status": "timedOut"},
            ],
        }),
        environment: json!({"id": 12, "name": "production"}),
    }
}

impl Service {
    async fn serve(&self, server: &MockServer) {
        let base = "/acme/My%20Project/_apis";
        for (at, version, answer) in [
            ("build/builds/28", "7.1", &self.build),
            ("build/builds/28/timeline", "7.1", &self.timeline),
            (
                &format!("pipelines/checks/runs/{CHECKPOINT}"),
                "7.1-preview.1",
                &self.suite,
            ),
            (
                &format!("pipelines/approvals/{APPROVAL}"),
                "7.1",
                &self.approval,
            ),
            (
                "distributedtask/environments/12",
                "7.1-preview.1",
                &self.environment,
            ),
        ] {
            if answer.is_null() {
                continue;
            }
            Mock::given(method("GET"))
                .and(path(format!("{base}/{at}")))
                .and(query_param("api-version", version))
                .and(header("authorization", format!("Bearer {TOKEN}")))
                .and(header("accept", "application/json"))
                .respond_with(ResponseTemplate::new(200).set_body_json(answer))
                .mount(server)
                .await;
        }
        let gone = json!({"$id": "1", "message": "VS800075: it does not exist.", "typeKey": "NotFoundException"});
        Mock::given(any())
            .respond_with(ResponseTemplate::new(404).set_body_json(gone))
            .with_priority(9)
            .mount(server)
            .await;
    }
}

fn azure(server: &MockServer) -> Azure {
    let access = access(&format!("{}/acme/", server.uri()), &[]).unwrap();
    Azure::connect(access, quick()).unwrap()
}

type Change = Box<dyn Fn(&mut Service)>;

/// What a changed service leads to.
async fn after(server: &MockServer, change: impl Fn(&mut Service)) -> Result<AzureRun, HttpError> {
    let mut service = service();
    change(&mut service);
    server.reset().await;
    service.serve(server).await;
    azure(server).run().await
}

#[test]
fn settings_are_read_and_refused() {
    let mut said = String::new();
    for (collection, more) in [
        ("https://dev.azure.com/acme/", vec![]),
        (
            "",
            vec![
                (
                    "SYSTEM_TEAMFOUNDATIONCOLLECTIONURI",
                    "https://acme.visualstudio.com/",
                ),
                ("SYSTEM_TEAMPROJECTID", "d6b3"),
            ],
        ),
        ("", vec![]),
        ("http://tfs.example/tfs/", vec![]),
        (
            "https://dev.azure.com/acme/",
            vec![("SYSTEM_ACCESSTOKEN", "")],
        ),
        (
            "https://dev.azure.com/acme/",
            vec![("SYSTEM_ACCESSTOKEN", "$(System.AccessToken) s3cr3t")],
        ),
        (
            "https://dev.azure.com/acme/",
            vec![("SYSTEM_TEAMPROJECT", "")],
        ),
        (
            "https://dev.azure.com/acme/",
            vec![("BUILD_BUILDID", "28\u{1b}\n::x")],
        ),
        (
            "https://dev.azure.com/acme/",
            vec![("SYSTEM_STAGENAME", "")],
        ),
        (
            "https://dev.azure.com/acme/",
            vec![("SYSTEM_STAGEATTEMPT", "0")],
        ),
    ] {
        said += &match access(collection, &more) {
            Ok(found) => {
                assert!(!format!("{found:?}").contains("s3cr3t"));
                format!(
                    "{} {} {} {} {}\n",
                    found.collection, found.project, found.build, found.stage, found.attempt
                )
            }
            Err(error) => format!("{error}\n"),
        };
    }
    assert!(!said.contains("s3cr3t"));
    insta::assert_snapshot!(said, @r#"
    https://dev.azure.com/acme My Project 28 Deploy 2
    https://acme.visualstudio.com d6b3 28 Deploy 2
    SYSTEM_COLLECTIONURI is not set; Azure Pipelines sets it in every job; run this in the stage that deploys
    SYSTEM_COLLECTIONURI is not https (http://tfs.example): a token would travel in the clear; write https:// (http:// is only for this machine)
    SYSTEM_ACCESSTOKEN is not set; Azure Pipelines gives it only to steps that ask: add `SYSTEM_ACCESSTOKEN: $(System.AccessToken)` to the step's env
    SYSTEM_ACCESSTOKEN holds a line break or another character that no token has; set it again, without a line break at its end
    SYSTEM_TEAMPROJECTID is not set; Azure Pipelines sets it in every job; run this in the stage that deploys
    BUILD_BUILDID is `28\u{1b}\u{a}::x`; expected a whole number from 1
    SYSTEM_STAGENAME is not set; Azure Pipelines sets it in every job; run this in the stage that deploys
    SYSTEM_STAGEATTEMPT is `0`; expected a whole number from 1
    "#);
}

#[test]
fn a_stage_with_its_approval() {
    run(async {
        let server = MockServer::start().await;
        insta::assert_debug_snapshot!(after(&server, |_| ()).await.unwrap(), @r#"
        AzureRun {
            build: 28,
            stage: "Deploy",
            attempt: 2,
            commit: "0123456789abcdef0123456789abcdef01234567",
            requested_for: Some(
                AzureAccount {
                    descriptor: "aad.QUJD",
                    name: "olga@example.com",
                },
            ),
            requested_by: Some(
                AzureAccount {
                    descriptor: "s2s.REVG",
                    name: "Somebody",
                },
            ),
            url: "https://dev.azure.com/acme/d6b3/_build/results?buildId=28",
            approvals: [
                AzureApproval {
                    id: "ee14f612-6838-43c0-b445-db238ef14153",
                    environments: [
                        "production",
                    ],
                    steps: [
                        AzureStep {
                            status: "approved",
                            by: Some(
                                AzureAccount {
                                    descriptor: "aad.QU5O",
                                    name: "ann@example.com",
                                },
                            ),
                            when: Some(
                                2020-11-19T09:57:54.252505Z,
                            ),
                            comment: "fine",
                        },
                        AzureStep {
                            status: "timedout",
                            by: None,
                            when: None,
                            comment: "",
                        },
                    ],
                },
            ],
        }
        "#);
        let asked: Vec<String> = server
            .received_requests()
            .await
            .unwrap()
            .iter()
            .map(|request| {
                format!(
                    "{}?{}",
                    request.url.path(),
                    request.url.query().unwrap_or_default()
                )
            })
            .collect();
        insta::assert_snapshot!(asked.join("\n"), @"
        /acme/My%20Project/_apis/build/builds/28?api-version=7.1
        /acme/My%20Project/_apis/build/builds/28/timeline?api-version=7.1
        /acme/My%20Project/_apis/pipelines/checks/runs/08890543-3c78-57a1-f278-a9d77e3a93d7?%24expand=resources&api-version=7.1-preview.1
        /acme/My%20Project/_apis/distributedtask/environments/12?api-version=7.1-preview.1
        /acme/My%20Project/_apis/pipelines/approvals/ee14f612-6838-43c0-b445-db238ef14153?%24expand=steps&api-version=7.1
        ");
    });
}

#[test]
fn an_environment_is_known_or_there_is_none() {
    run(async {
        let server = MockServer::start().await;
        let environments = |result: Result<AzureRun, HttpError>| {
            let run = result.unwrap();
            run.approvals
                .into_iter()
                .map(|approval| approval.environments)
                .collect::<Vec<_>>()
        };
        let nothing: Vec<Vec<String>> = vec![vec![]];
        let other_resource = after(&server, |service| {
            service.suite["checkRuns"][1]["checkConfigurationRef"]["resource"]["type"] =
                json!("endpoint")
        })
        .await;
        assert_eq!(environments(other_resource), nothing);
        let other_id = after(&server, |service| {
            service.suite["checkRuns"][1]["id"] = json!("else")
        })
        .await;
        assert_eq!(environments(other_id), nothing);
        let no_suite = after(&server, |service| service.suite = Value::Null).await;
        assert_eq!(environments(no_suite), nothing);
        let no_context = after(&server, |service| {
            service.suite["context"] = json!({"PlanId": 1, "Pipeline.Id": 2})
        })
        .await;
        assert_eq!(environments(no_context), [["production"]]);
        let no_checks = after(&server, |service| {
            let records = service.timeline["records"].as_array_mut().unwrap();
            records.retain(|record| record["type"] == "Stage");
        })
        .await;
        assert_eq!(environments(no_checks), Vec::<Vec<String>>::new());
    });
}

#[test]
fn what_is_of_something_else_is_refused() {
    run(async {
        let server = MockServer::start().await;
        let mut said = String::new();
        let changes: Vec<Change> = vec![
            Box::new(|s| s.build["id"] = json!(29)),
            Box::new(|s| {
                s.build["project"] = json!({"id": "x", "name": "other\u{1b}[2J\n##vso[task.x]"})
            }),
            Box::new(|s| s.timeline["records"][3]["attempt"] = json!(3)),
            Box::new(|s| s.timeline["records"][3]["identifier"] = json!("Else")),
            Box::new(|s| s.timeline["records"][0]["identifier"] = json!("Deploy")),
            Box::new(|s| s.suite["context"]["Pipeline"]["Owner"]["Id"] = json!("27")),
            Box::new(|s| s.suite["context"]["GraphNode"]["Attempt"] = json!(1)),
            Box::new(|s| s.suite["context"]["GraphNode"]["Name"] = json!("Build")),
            Box::new(|s| s.approval["id"] = json!("another")),
            Box::new(|s| s.approval["pipeline"]["owner"]["id"] = json!(27)),
            Box::new(|s| s.environment["id"] = json!(13)),
        ];
        for change in changes {
            let error = after(&server, change).await.unwrap_err();
            assert!(matches!(error.failure(), Failure::Mismatch(_)), "{error}");
            said += &format!("{}\n", shown(&error, &server.uri()));
        }
        insta::assert_snapshot!(said, @r#"
        cannot read build 28: the answer of GET https://HOST/acme/My%20Project/_apis/build/builds/28 is about something else: build 29; check BUILD_BUILDID
        cannot read build 28: the answer of GET https://HOST/acme/My%20Project/_apis/build/builds/28 is about something else: a build of the project other\u{1b}[2J\u{a}##vso[task.x], not of My Project; check BUILD_BUILDID and SYSTEM_TEAMPROJECTID
        cannot read the timeline of build 28: the answer of GET https://HOST/acme/My%20Project/_apis/build/builds/28/timeline is about something else: attempt 3 of the stage Deploy, not attempt 2; this job is of an attempt that was run again
        cannot read the timeline of build 28: the answer of GET https://HOST/acme/My%20Project/_apis/build/builds/28/timeline is about something else: it has no stage Deploy, or several; check SYSTEM_STAGENAME and BUILD_BUILDID
        cannot read the timeline of build 28: the answer of GET https://HOST/acme/My%20Project/_apis/build/builds/28/timeline is about something else: it has no stage Deploy, or several; check SYSTEM_STAGENAME and BUILD_BUILDID
        cannot read the checks of the stage Deploy: the answer of GET https://HOST/acme/My%20Project/_apis/pipelines/checks/runs/08890543-3c78-57a1-f278-a9d77e3a93d7 is about something else: it is of build 27, not of build 28
        cannot read the checks of the stage Deploy: the answer of GET https://HOST/acme/My%20Project/_apis/pipelines/checks/runs/08890543-3c78-57a1-f278-a9d77e3a93d7 is about something else: the checks of another stage or attempt (Deploy 1)
        cannot read the checks of the stage Deploy: the answer of GET https://HOST/acme/My%20Project/_apis/pipelines/checks/runs/08890543-3c78-57a1-f278-a9d77e3a93d7 is about something else: the checks of another stage or attempt (Build 2)
        cannot read approval ee14f612-6838-43c0-b445-db238ef14153: the answer of GET https://HOST/acme/My%20Project/_apis/pipelines/approvals/ee14f612-6838-43c0-b445-db238ef14153 is about something else: approval another
        cannot read approval ee14f612-6838-43c0-b445-db238ef14153: the answer of GET https://HOST/acme/My%20Project/_apis/pipelines/approvals/ee14f612-6838-43c0-b445-db238ef14153 is about something else: it is of build 27, not of build 28
        cannot read environment 12: the answer of GET https://HOST/acme/My%20Project/_apis/distributedtask/environments/12 is about something else: environment 13
        "#);
    });
}

#[test]
fn what_is_missing_is_an_error() {
    run(async {
        let server = MockServer::start().await;
        let mut said = String::new();
        let changes: Vec<Change> = vec![
            Box::new(|s| s.build["requestedFor"]["descriptor"] = Value::Null),
            Box::new(|s| s.approval["steps"][0]["actualApprover"]["descriptor"] = json!("")),
            Box::new(|s| s.approval["steps"] = Value::Null),
            Box::new(|s| s.build["sourceVersion"] = Value::Null),
            Box::new(|s| s.environment = Value::Null),
            Box::new(|s| s.approval = Value::Null),
            Box::new(|s| s.timeline = Value::Null),
            Box::new(|s| s.timeline = json!({"records": null})),
        ];
        for change in changes {
            said += &format!(
                "{}\n",
                shown(&after(&server, change).await.unwrap_err(), &server.uri())
            );
        }
        let nobody = after(&server, |s| s.build["requestedFor"] = Value::Null)
            .await
            .unwrap();
        assert_eq!(nobody.requested_for, None);
        insta::assert_snapshot!(said, @"
        cannot read build 28: the answer of GET https://HOST/acme/My%20Project/_apis/build/builds/28 is not what the API promises: the identity olga@example.com has no descriptor; this version may be too old or too new for this Azure DevOps
        cannot read approval ee14f612-6838-43c0-b445-db238ef14153: the answer of GET https://HOST/acme/My%20Project/_apis/pipelines/approvals/ee14f612-6838-43c0-b445-db238ef14153 is not what the API promises: the identity ann@example.com has no descriptor; this version may be too old or too new for this Azure DevOps
        cannot read approval ee14f612-6838-43c0-b445-db238ef14153: the answer of GET https://HOST/acme/My%20Project/_apis/pipelines/approvals/ee14f612-6838-43c0-b445-db238ef14153 is not what the API promises: invalid type: null, expected a sequence at line 1 column 139; this version may be too old or too new for this Azure DevOps
        cannot read build 28: the answer of GET https://HOST/acme/My%20Project/_apis/build/builds/28 is not what the API promises: invalid type: null, expected a string at line 1 column 362; this version may be too old or too new for this Azure DevOps
        cannot read environment 12: GET https://HOST/acme/My%20Project/_apis/distributedtask/environments/12 answered 404 (VS800075: it does not exist); Azure DevOps also answers so when the token may not see it: give the project's build service (`<project> Build Service`) the role Reader on the environment
        cannot read approval ee14f612-6838-43c0-b445-db238ef14153: GET https://HOST/acme/My%20Project/_apis/pipelines/approvals/ee14f612-6838-43c0-b445-db238ef14153 answered 404 (VS800075: it does not exist); Azure DevOps also answers so when the token may not see it: check that `Limit job authorization scope` does not shut out this project, and that the build service may view the pipeline's builds
        cannot read the timeline of build 28: GET https://HOST/acme/My%20Project/_apis/build/builds/28/timeline answered 404 (VS800075: it does not exist); Azure DevOps also answers so when the token may not see it: check that `Limit job authorization scope` does not shut out this project, and that the build service may view the pipeline's builds
        cannot read the timeline of build 28: the answer of GET https://HOST/acme/My%20Project/_apis/build/builds/28/timeline is not what the API promises: invalid type: null, expected a sequence at line 1 column 15; this version may be too old or too new for this Azure DevOps
        ");
    });
}

#[test]
fn every_bad_answer_has_its_own_message() {
    run(async {
        let server = MockServer::start().await;
        let html = "<!DOCTYPE html><html>Azure DevOps Services | Sign In";
        let message = |status: u16, text: &str| {
            ResponseTemplate::new(status)
                .set_body_json(json!({"$id": "1", "message": text, "typeKey": "X"}))
        };
        let mut said = String::new();
        for answer in [
            ResponseTemplate::new(203).set_body_raw(html, "text/html; charset=utf-8"),
            ResponseTemplate::new(302).insert_header(
                "location",
                "https://spsprodneu1.vssps.visualstudio.com/_signin?x=y",
            ),
            ResponseTemplate::new(401),
            message(401, "TF400813: The user is not authorized eyJ.s3cr3t"),
            message(
                403,
                "VS800075: no permission\u{1b}[2J\n##vso[task.setvariable variable=x]y",
            ),
            message(404, "The requested build 28 could not be found."),
            message(400, "under preview"),
            message(429, "slow"),
            message(500, "oops"),
            ResponseTemplate::new(503),
            ResponseTemplate::new(200).set_body_raw(html, "application/json"),
            ResponseTemplate::new(200).set_body_json(json!({"id": 28})),
        ] {
            server.reset().await;
            Mock::given(any()).respond_with(answer).mount(&server).await;
            said += &format!(
                "{}\n",
                shown(&azure(&server).run().await.unwrap_err(), &server.uri())
            );
        }
        insta::assert_snapshot!(said, @r#"
        cannot read build 28: GET https://HOST/acme/My%20Project/_apis/build/builds/28 answered 203 with something that is not JSON (it starts with `<!DOCTYPE html><html>Azure DevOps Servic`); Azure DevOps answers with its sign-in page when it does not accept the token: pass `SYSTEM_ACCESSTOKEN: $(System.AccessToken)` in the step's env, and check HTTPS_PROXY / NO_PROXY
        cannot read build 28: GET https://HOST/acme/My%20Project/_apis/build/builds/28 answered 302 (to spsprodneu1.vssps.visualstudio.com) instead of data; Azure DevOps sends one to its sign-in page when it does not accept the token: pass `SYSTEM_ACCESSTOKEN: $(System.AccessToken)` in the step's env, and check SYSTEM_COLLECTIONURI
        cannot read build 28: GET https://HOST/acme/My%20Project/_apis/build/builds/28 answered 401; the job's token is not accepted: pass `SYSTEM_ACCESSTOKEN: $(System.AccessToken)` in the step's env; it ends with the job
        cannot read build 28: GET https://HOST/acme/My%20Project/_apis/build/builds/28 answered 401 (TF400813: The user is not authorized (secret)); the job's token is not accepted: pass `SYSTEM_ACCESSTOKEN: $(System.AccessToken)` in the step's env; it ends with the job
        cannot read build 28: GET https://HOST/acme/My%20Project/_apis/build/builds/28 answered 403 (VS800075: no permission\u{1b}[2J\u{a}##vso[task.setvariable variable=x]y); give the project's build service (`<project> Build Service`) the permission `View builds` on the pipeline
        cannot read build 28: GET https://HOST/acme/My%20Project/_apis/build/builds/28 answered 404 (The requested build 28 could not be found); Azure DevOps also answers so when the token may not see it: check that `Limit job authorization scope` does not shut out this project, and that the build service may view the pipeline's builds
        cannot read build 28: GET https://HOST/acme/My%20Project/_apis/build/builds/28 answered 400 (under preview); check SYSTEM_COLLECTIONURI, and that the server knows version 7.1 of its API
        cannot read build 28: GET https://HOST/acme/My%20Project/_apis/build/builds/28 still answered 429 after 0 s (slow); Azure DevOps delays this identity: try later
        cannot read build 28: GET https://HOST/acme/My%20Project/_apis/build/builds/28 answered 500 (oops); the service has a problem: try again later
        cannot read build 28: GET https://HOST/acme/My%20Project/_apis/build/builds/28 answered 503; the service has a problem: try again later
        cannot read build 28: GET https://HOST/acme/My%20Project/_apis/build/builds/28 answered 200 with something that is not JSON (it starts with `<!DOCTYPE html><html>Azure DevOps Servic`); Azure DevOps answers with its sign-in page when it does not accept the token: pass `SYSTEM_ACCESSTOKEN: $(System.AccessToken)` in the step's env, and check HTTPS_PROXY / NO_PROXY
        cannot read build 28: the answer of GET https://HOST/acme/My%20Project/_apis/build/builds/28 is not what the API promises: missing field `sourceVersion` at line 1 column 9; this version may be too old or too new for this Azure DevOps
        "#);
        server.reset().await;
        Mock::given(any())
            .respond_with(ResponseTemplate::new(502))
            .up_to_n_times(1)
            .mount(&server)
            .await;
        service().serve(&server).await;
        assert!(azure(&server).run().await.is_ok());
        assert!(!format!("{:?}", azure(&server)).contains("s3cr3t"));
    });
}
