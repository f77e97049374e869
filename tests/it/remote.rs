//! The Databricks client against the fake workspace.

#![cfg(test)]
#![cfg(feature = "remote")]

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use bundlegate::remote::databricks::{
    Environment, Presence, PrincipalKind, SecurableKind, Wanted, Workspace,
};
use bundlegate::remote::http::{Failure, HttpOptions};
use bundlegate::remote::run::{block_on, each};
use serde_json::{Value, json};

use crate::fake_workspace::{FakeWorkspace, Fault, IDENTITY, Kind, What, read_json};

fn run<T>(work: impl Future<Output = T>) -> T {
    block_on(work).unwrap()
}

fn quick() -> HttpOptions {
    HttpOptions {
        per_second: 10_000,
        answer_within: Duration::from_secs(2),
        retry_for: Duration::from_secs(3),
        first_pause: Duration::from_millis(5),
        ..HttpOptions::default()
    }
}

async fn connect(fake: &FakeWorkspace, options: HttpOptions) -> Workspace {
    Workspace::connect(
        &Environment::of(fake.environment()),
        &Wanted::default(),
        options,
    )
    .await
    .unwrap()
}

fn scenario(name: &str) -> PathBuf {
    Path::new("tests/scenarios").join(name)
}

fn remote<'a>(plan: &'a Value, key: &str) -> &'a Value {
    &plan["plan"][key]["remote_state"]
}

#[test]
fn reads_what_a_recorded_workspace_held() {
    let folder = scenario("no-change");
    let fake = FakeWorkspace::of_scenario(&folder);
    let (plan, bundle) = (
        read_json(&folder.join("plan.json")),
        read_json(&folder.join("bundle.json")),
    );
    run(async {
        let workspace = connect(&fake, quick()).await;
        assert_eq!(workspace.me().await.unwrap().user_name, IDENTITY);

        let nightly = remote(&plan, "resources.jobs.nightly");
        let id = nightly["job_id"].as_i64().unwrap();
        assert!(id > 1 << 53);
        let job = workspace.job(id).await.unwrap().there().unwrap();
        assert_eq!((job.job_id, job.name.as_str()), (id, "nightly"));
        assert_eq!(
            job.run_as_user_name,
            nightly["run_as_user_name"].as_str().unwrap()
        );
        assert_eq!(workspace.job(id + 1).await.unwrap(), Presence::Gone);
        assert_eq!(
            workspace.active_runs(id).await.unwrap().there().unwrap(),
            []
        );

        let orders = remote(&plan, "resources.pipelines.orders");
        let id = orders["pipeline_id"].as_str().unwrap();
        let pipeline = workspace.pipeline(id).await.unwrap().there().unwrap();
        assert_eq!(
            pipeline.run_as_user_name,
            orders["run_as_user_name"].as_str().unwrap()
        );
        assert!(!pipeline.is_active());

        let report = remote(&plan, "resources.jobs.report")["job_id"].to_string();
        let permissions = workspace
            .permissions("jobs", &report)
            .await
            .unwrap()
            .there()
            .unwrap();
        let owner = permissions.owner().unwrap();
        assert_eq!(
            (owner.kind, owner.principal.as_str()),
            (PrincipalKind::ServicePrincipal, IDENTITY)
        );

        let schema = workspace
            .securable(SecurableKind::Schema, "main.orders")
            .await
            .unwrap()
            .there()
            .unwrap();
        assert_eq!(schema.owner, IDENTITY);
        assert_eq!(
            workspace
                .securable(SecurableKind::Schema, "main.other")
                .await
                .unwrap(),
            Presence::Gone
        );
        let volume = workspace
            .securable(SecurableKind::Volume, "main.orders.raw")
            .await
            .unwrap();
        assert!(matches!(volume, Presence::There(_)));

        let state_path = bundle["workspace"]["state_path"].as_str().unwrap();
        let state = workspace
            .file(&format!("{state_path}/resources.json"))
            .await
            .unwrap()
            .there()
            .unwrap();
        assert_eq!(state, std::fs::read(folder.join("state.json")).unwrap());
        assert_eq!(
            workspace
                .file(&format!("{state_path}/other.json"))
                .await
                .unwrap(),
            Presence::Gone
        );
    });
}

#[test]
fn reads_every_kind_of_object() {
    let folder = scenario("many-types-created");
    let fake = FakeWorkspace::start();
    fake.seed_plan(&read_json(&folder.join("after.json")));
    fake.seed_plan(&read_json(&scenario("alert-and-app").join("after.json")));
    fake.seed_plan(&read_json(
        &scenario("dashboard-remote-edit").join("after.json"),
    ));
    {
        let mut inside = fake.inside();
        inside.state.put(Kind::Alert, "a-1", json!({"id": "a-1", "display_name": "late", "effective_run_as": {"service_principal_name": "sp"}}));
        inside.state.add_table(
            "main.orders.bronze",
            Some("p-1"),
            "etl",
            &[("pipelines.reset.allowed", "false")],
        );
        inside
            .state
            .add_table("main.orders.silver", None, "etl", &[]);
        inside.page = 1;
        inside.state.runs.insert(
            "5".to_owned(),
            vec![
                json!({"run_id": 9_007_199_254_740_993_i64}),
                json!({"run_id": 2}),
            ],
        );
        inside.state.put(
            Kind::Pipeline,
            "p-1",
            json!({"pipeline_id": "p-1", "name": "p", "run_as_user_name": "x", "state": "RUNNING"}),
        );
        let updates = ["RUNNING", "COMPLETED", "SOMETHING_NEW"]
            .map(|state| json!({"update_id": state, "state": state}));
        inside
            .state
            .updates
            .insert("p-1".to_owned(), updates.to_vec());
    }
    run(async {
        let workspace = connect(&fake, quick()).await;
        assert_eq!(
            workspace
                .securable(SecurableKind::Catalog, "lake")
                .await
                .unwrap()
                .there()
                .unwrap()
                .owner,
            IDENTITY
        );
        assert_eq!(
            workspace
                .securable(SecurableKind::RegisteredModel, "main.orders.orders")
                .await
                .unwrap()
                .there()
                .unwrap()
                .owner,
            IDENTITY
        );
        let cluster = fake
            .inside()
            .state
            .objects
            .keys()
            .find(|(kind, _)| *kind == Kind::Cluster)
            .unwrap()
            .1
            .clone();
        assert_eq!(
            workspace
                .cluster(&cluster)
                .await
                .unwrap()
                .there()
                .unwrap()
                .cluster_name,
            "dev"
        );
        assert_eq!(workspace.cluster("none").await.unwrap(), Presence::Gone);
        assert_eq!(
            workspace.app("portal2").await.unwrap().there().unwrap().id,
            "1001"
        );
        assert_eq!(
            workspace
                .alert("a-1")
                .await
                .unwrap()
                .there()
                .unwrap()
                .run_as(),
            Some("sp")
        );
        let dashboard = fake
            .inside()
            .state
            .objects
            .keys()
            .find(|(kind, _)| *kind == Kind::Dashboard)
            .unwrap()
            .1
            .clone();
        let dashboard = workspace
            .dashboard(&dashboard)
            .await
            .unwrap()
            .there()
            .unwrap();
        assert_eq!(
            (dashboard.lifecycle_state.as_str(), dashboard.etag.as_str()),
            ("ACTIVE", "80611982")
        );
        let tables = workspace
            .tables("main", "orders")
            .await
            .unwrap()
            .there()
            .unwrap();
        assert_eq!(
            tables
                .iter()
                .map(|table| table.pipeline_id.as_deref())
                .collect::<Vec<_>>(),
            [Some("p-1"), None]
        );
        assert_eq!(
            workspace
                .table("main.orders.bronze")
                .await
                .unwrap()
                .there()
                .unwrap()
                .properties["pipelines.reset.allowed"],
            "false"
        );
        assert_eq!(
            workspace.table("main.orders.gold").await.unwrap(),
            Presence::Gone
        );
        let runs = workspace.active_runs(5).await.unwrap().there().unwrap();
        assert_eq!(
            runs.iter().map(|run| run.run_id).collect::<Vec<_>>(),
            [9_007_199_254_740_993, 2]
        );
        assert!(
            workspace
                .pipeline("p-1")
                .await
                .unwrap()
                .there()
                .unwrap()
                .is_active()
        );
        let updates = workspace
            .active_updates("p-1")
            .await
            .unwrap()
            .there()
            .unwrap();
        assert_eq!(
            updates
                .iter()
                .map(|update| update.update_id.as_str())
                .collect::<Vec<_>>(),
            ["RUNNING", "SOMETHING_NEW"]
        );
        assert_eq!(
            workspace.active_updates("none").await.unwrap(),
            Presence::Gone
        );
    });
}

/// Of every recorded scenario: what the plan after the deploy says about jobs and pipelines is what the API answers.
#[test]
fn every_recorded_deploy_can_be_replayed() {
    let mut compared = 0;
    for folder in std::fs::read_dir("tests/scenarios").unwrap() {
        let folder = folder.unwrap().path();
        if !folder.join("after.json").exists() {
            continue;
        }
        let fake = FakeWorkspace::of_scenario(&folder);
        let (plan, after) = (
            read_json(&folder.join("plan.json")),
            read_json(&folder.join("after.json")),
        );
        fake.deploy(&plan, &after, None);
        run(async {
            let workspace = connect(&fake, quick()).await;
            for (key, entry) in after["plan"].as_object().unwrap() {
                let state = &entry["remote_state"];
                let kind = key
                    .split('.')
                    .nth(1)
                    .filter(|_| key.split('.').count() == 3);
                let found = match kind.filter(|_| !state.is_null()) {
                    Some("jobs") => workspace
                        .job(state["job_id"].as_i64().unwrap())
                        .await
                        .unwrap()
                        .there()
                        .map(|job| job.run_as_user_name),
                    Some("pipelines") => {
                        let found = workspace
                            .pipeline(state["pipeline_id"].as_str().unwrap())
                            .await
                            .unwrap();
                        found.there().map(|pipeline| pipeline.run_as_user_name)
                    }
                    _ => continue,
                };
                assert_eq!(
                    found.as_deref(),
                    state["run_as_user_name"].as_str(),
                    "{} {key}",
                    folder.display()
                );
                compared += 1;
            }
        });
    }
    assert!(compared > 100, "only {compared} objects were compared");
}

/// A workspace with one job, 7.
fn with_a_job() -> FakeWorkspace {
    let fake = FakeWorkspace::start();
    fake.inside().state.put(
        Kind::Job,
        "7",
        json!({"job_id": 7, "run_as_user_name": "etl", "settings": {"name": "j"}}),
    );
    fake
}

const JOB: &str = "/api/2.2/jobs/get?job_id=7";

#[test]
fn a_storm_is_sat_out_as_long_as_it_asks() {
    let fake = with_a_job();
    fake.fault(Fault::new("GET", JOB, What::Storm { retry_after: 1 }).times(2));
    run(async { connect(&fake, quick()).await.job(7).await.unwrap() });
    let seen = fake.requests_to("GET", "/api/2.2/jobs/get");
    let status: Vec<u16> = seen.iter().map(|request| request.status).collect();
    assert_eq!(status, [429, 429, 200]);
    for pair in seen.windows(2) {
        assert!(pair[1].at - pair[0].at >= Duration::from_secs(1));
    }
}

#[test]
fn what_passes_is_waited_out_and_what_stays_is_said() {
    for what in [
        What::Storm { retry_after: 0 },
        What::Status(503),
        What::Truncated,
    ] {
        let fake = with_a_job();
        fake.fault(Fault::new("GET", JOB, what.clone()).times(2));
        run(async {
            let job = connect(&fake, quick())
                .await
                .job(7)
                .await
                .unwrap()
                .there()
                .unwrap();
            assert_eq!(job.run_as_user_name, "etl", "{what:?}");
        });
        let seen = fake.requests_to("GET", "/api/2.2/jobs/get");
        assert_eq!(seen.len(), 3, "{what:?}");
        assert_eq!(seen[2].status, 200, "{what:?}");
        assert!(seen.iter().all(|request| request.query == "job_id=7"));
    }
    for (what, expected) in [
        (What::Status(500), "answered 500"),
        (What::Html, "not JSON"),
        (What::Truncated, "ended before its announced end"),
        (What::Unauthorized, "answered 401"),
        (What::Storm { retry_after: 1 }, "still answered 429"),
        (
            What::Slow(Duration::from_secs(30)),
            "no whole answer in time",
        ),
    ] {
        let fake = with_a_job();
        fake.fault(Fault::new("GET", JOB, what));
        let options = HttpOptions {
            answer_within: Duration::from_millis(300),
            retry_for: Duration::from_millis(500),
            ..quick()
        };
        let error = run(async { connect(&fake, options).await.job(7).await.unwrap_err() });
        assert!(error.to_string().contains(expected), "{error}");
    }
    let fake = with_a_job();
    fake.fault(Fault::new("GET", JOB, What::Forbid));
    let presence = run(async { connect(&fake, quick()).await.job(7).await.unwrap() });
    assert!(
        matches!(presence, Presence::Forbidden(_)),
        "403 is no absence"
    );
}

#[test]
fn an_old_answer_and_a_drift_are_seen_as_they_come() {
    let fake = with_a_job();
    fake.stale("GET", JOB, 2);
    fake.inside().state.set_run_as(Kind::Job, "7", "new");
    run(async {
        let workspace = connect(&fake, quick()).await;
        let mut seen = Vec::new();
        for _ in 0..3 {
            seen.push(
                workspace
                    .job(7)
                    .await
                    .unwrap()
                    .there()
                    .unwrap()
                    .run_as_user_name,
            );
        }
        assert_eq!(seen, ["etl", "etl", "new"]);
        fake.drift_after(Kind::Job, "7", "by-hand");
        assert_eq!(
            workspace
                .job(7)
                .await
                .unwrap()
                .there()
                .unwrap()
                .run_as_user_name,
            "new"
        );
        assert_eq!(
            workspace
                .job(7)
                .await
                .unwrap()
                .there()
                .unwrap()
                .run_as_user_name,
            "by-hand"
        );
    });
}

#[test]
fn a_deploy_is_replayed_and_a_forbidden_delete_leaves_the_thing() {
    let folder = scenario("delete-forbidden");
    let (plan, after) = (
        read_json(&folder.join("plan.json")),
        read_json(&folder.join("after.json")),
    );
    let pipeline = remote(&plan, "resources.pipelines.orders")["pipeline_id"]
        .as_str()
        .unwrap()
        .to_owned();
    let job = remote(&plan, "resources.jobs.nightly")["job_id"]
        .as_i64()
        .unwrap();
    for is_forbidden in [false, true] {
        let fake = FakeWorkspace::of_scenario(&folder);
        if is_forbidden {
            fake.forbid_delete(Kind::Pipeline, &pipeline);
        }
        fake.deploy(&plan, &after, Some(("/Workspace/x/resources.json", b"{}")));
        run(async {
            let workspace = connect(&fake, quick()).await;
            assert_eq!(workspace.job(job).await.unwrap(), Presence::Gone);
            let left = workspace.pipeline(&pipeline).await.unwrap();
            assert_eq!(matches!(left, Presence::There(_)), is_forbidden);
            assert_eq!(
                workspace.file("/x/resources.json").await.unwrap(),
                Presence::There(b"{}".to_vec())
            );
        });
    }
}

#[test]
fn a_client_secret_signs_in_and_is_renewed_when_the_token_is_thrown_out() {
    let fake = with_a_job();
    let variables = [
        ("DATABRICKS_HOST", fake.url()),
        ("DATABRICKS_CLIENT_ID", "sp".to_owned()),
        ("DATABRICKS_CLIENT_SECRET", "s".to_owned()),
    ];
    run(async {
        let workspace =
            Workspace::connect(&Environment::of(variables), &Wanted::default(), quick())
                .await
                .unwrap();
        assert_eq!(workspace.auth_type(), "oauth-m2m");
        workspace.me().await.unwrap();
        fake.inside().tokens.clear();
        workspace.job(7).await.unwrap().there().unwrap();
        assert_eq!(fake.requests_to("POST", "/oidc/v1/token").len(), 2);
    });
}

/// The bound of the limit, at a scale that a test can wait for: what counts is the ratio.
#[test]
fn many_reads_go_at_the_limits_own_pace() {
    let (limit, many) = (300, 900);
    let fake = FakeWorkspace::start();
    {
        let mut inside = fake.inside();
        inside.limit = Some(limit);
        inside.latency = Duration::from_millis(20);
        for id in 1..=many {
            inside.state.put(
                Kind::Job,
                &id.to_string(),
                json!({"job_id": id, "run_as_user_name": "etl", "settings": {"name": "j"}}),
            );
        }
    }
    let start = Instant::now();
    let all = run(async {
        let workspace = connect(
            &fake,
            HttpOptions {
                per_second: limit,
                retry_for: Duration::from_secs(60),
                ..quick()
            },
        )
        .await;
        each(
            1..=many,
            |id| {
                let workspace = workspace.clone();
                async move { workspace.job(id).await }
            },
            |_| {},
        )
        .await
    });
    let took = start.elapsed();
    for (id, job) in (1..).zip(all) {
        assert_eq!(job.unwrap().there().unwrap().job_id, id);
    }
    let bound = Duration::from_secs_f64(f64::from(many as u32) / f64::from(limit));
    assert!(
        took < bound.mul_f64(1.15),
        "{took:?} for a bound of {bound:?}"
    );
    assert!(
        took > bound.mul_f64(0.9),
        "the limit was never met: {took:?}"
    );
}

#[test]
fn a_wrong_host_is_not_an_empty_workspace() {
    let fake = FakeWorkspace::start();
    fake.fault(Fault::new("GET", "/api/", What::Html));
    let error = run(async {
        connect(&fake, quick())
            .await
            .file("/Workspace/x")
            .await
            .unwrap_err()
    });
    assert!(matches!(error.failure(), Failure::NotJson(..)), "{error}");
}
