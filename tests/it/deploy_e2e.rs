//! `deploy` end to end: the fake CLI, the fake workspace, and what can go wrong between them.

use std::fs;

use serde_json::{Value, json};

use crate::fake_workspace::{Fault, Kind, What};
use crate::stage::{Stage, report, rows};

/// The steps of the record, in their order.
fn steps(stage: &Stage) -> Vec<String> {
    stage.json("gate/deploy.json")["predicate"]["steps"]
        .as_array()
        .unwrap()
        .iter()
        .map(|s| s["step"].as_str().unwrap().to_owned())
        .collect()
}

/// The checks of the authorization that said no, with what they found.
fn refusals(body: &Value) -> Vec<(String, String)> {
    body["authorization"]["checks"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|c| c["result"] == "refused")
        .map(|c| {
            (
                c["check"].as_str().unwrap().to_owned(),
                c["found"].as_str().unwrap().to_owned(),
            )
        })
        .collect()
}

fn id_of(stage: &Stage, key: &str, field: &str) -> String {
    match &stage.json("cli/plan.json")["plan"][key]["remote_state"][field] {
        Value::String(s) => s.clone(),
        other => other.to_string(),
    }
}

#[test]
fn deploys_exactly_the_judged_bytes_and_verifies() {
    let stage = Stage::of("job-schedule-update");
    stage.collected_and_approved();
    // What the CLI would print for a log reader is neutralised and masked.
    stage.faults(
        &json!({"print": "::error::x ##vso[task.complete] dapi0123456789abcdef0123456789abcdef"}),
    );
    let done = stage.deploy(&["--log", "../gate.log"]);
    assert_eq!(done.code, 0, "{done:?}");
    assert_eq!(
        fs::read(stage.path("cli/given-plan.json")).unwrap(),
        fs::read(stage.path("gate/plan.json")).unwrap()
    );
    let call = &stage.calls_of("deploy")[0];
    assert_eq!(call[..3], ["bundle", "deploy", "--plan"]);
    assert_ne!(call[3], stage.path("gate/plan.json").display().to_string());
    assert_eq!(call[4..], ["-t", "prod"], "no --auto-approve, no --force");
    assert_eq!(
        steps(&stage),
        ["checking", "deploying", "verifying", "finished"]
    );
    let record = stage.json("gate/deploy.json");
    assert_eq!(record["predicateType"], "urn:bundlegate:deploy:v1");
    assert_eq!(record["predicate"]["approved_by"], json!(["rm one"]));
    assert_eq!(record["predicate"]["cli_exit"], 0);
    for hidden in ["##vso[", "dapi0123"] {
        assert!(!done.stderr.contains(hidden), "{}", done.stderr);
    }
    assert!(
        !done
            .stderr
            .lines()
            .any(|l| l.trim_start().starts_with("::"))
    );
    let tally = &report(&done)["body"]["deploy"]["verification"]["tally"];
    assert_eq!(
        (&tally["mismatch"], &tally["silent"]),
        (&json!(0), &json!(0))
    );
    assert!(rows(&done, "verified").contains(&"pipelines.orders run-as api".to_owned()));
    assert!(stage.path("gate.log").exists());
}

#[test]
fn an_approved_destructive_plan_gets_auto_approve_and_the_deletion_is_proved() {
    let stage = Stage::of("pipeline-destroy");
    stage.collected_and_approved();
    let done = stage.deploy(&[]);
    assert_eq!(done.code, 0, "{done:?}");
    assert!(stage.calls_of("deploy")[0].contains(&"--auto-approve".to_owned()));
    let verified = rows(&done, "verified");
    for row in [
        "pipelines.orders gone api",
        "jobs.nightly gone api",
        "pipelines.orders dropped plan",
    ] {
        assert!(verified.contains(&row.to_owned()), "{row}: {verified:?}");
    }
}

#[test]
fn a_deletion_that_was_refused_is_seen() {
    let stage = Stage::of("delete-forbidden");
    stage.collected_and_approved();
    stage.fake.forbid_delete(
        Kind::Pipeline,
        &id_of(&stage, "resources.pipelines.orders", "pipeline_id"),
    );
    let done = stage.deploy(&[]);
    assert_eq!(done.code, 5, "{done:?}");
    assert_eq!(rows(&done, "mismatch"), ["pipelines.orders gone api"]);
}

#[test]
fn may_not_look_is_not_gone() {
    let stage = Stage::of("job-destroy");
    stage.collected_and_approved();
    let id = id_of(&stage, "resources.jobs.report", "job_id");
    stage.fake.fault(Fault::new(
        "GET",
        &format!("/api/2.2/jobs/get?job_id={id}"),
        What::Forbid,
    ));
    let done = stage.deploy(&[]);
    assert_eq!(done.code, 6, "{done:?}");
    assert_eq!(rows(&done, "silent"), ["jobs.report gone api"]);
    assert!(done.stdout.contains("that does not mean that it is gone"));
}

#[test]
fn a_first_deploy_needs_the_proof_that_there_is_no_state() {
    let stage = Stage::of("first-deploy");
    stage.collected_and_approved();
    let done = stage.deploy(&[]);
    assert_eq!(done.code, 0, "{done:?}");

    for (what, code, found) in [
        (None, 4, "a state: this target was deployed before"),
        (Some(What::Forbid), 6, "may not be read"),
        (Some(What::Status(404)), 6, "404"),
    ] {
        let stage = Stage::of("first-deploy");
        stage.collected_and_approved();
        let bundle = stage.json("cli/bundle.json");
        let path = bundle["workspace"]["state_path"].as_str().unwrap();
        match what {
            None => {
                let text = fs::read(stage.path("cli/state-after.json")).unwrap();
                stage
                    .fake
                    .inside()
                    .state
                    .write_file(&format!("{path}/resources.json"), text);
            }
            // A bare 404 of a proxy is no word of the workspace.
            Some(what) => stage
                .fake
                .fault(Fault::new("GET", "/api/2.0/workspace/export", what)),
        }
        let done = stage.deploy(&[]);
        assert_eq!(done.code, code, "{found}: {done:?}");
        assert!(done.stdout.contains(found), "{found}: {}", done.stdout);
        assert!(stage.calls_of("deploy").is_empty());
    }
}

#[test]
fn without_an_approval_nothing_is_deployed() {
    let stage = Stage::of("job-schedule-update");
    assert_eq!(
        stage
            .run(&["collect", "-t", "prod", "--out", "../gate"])
            .code,
        0
    );
    let page = format!("markdown={}", stage.path("page.md").display());
    let done = stage.deploy(&["-o", &page]);
    assert_eq!(done.code, 3, "{done:?}");
    let page = std::fs::read_to_string(stage.path("page.md")).unwrap();
    assert!(
        page.starts_with("### refused: 1 check says no: quorum (exit 3)\n")
            && page.contains("- **review** `authorize/quorum` this deployment: "),
        "{page}"
    );
    assert!(stage.calls_of("deploy").is_empty());
    assert_eq!(steps(&stage), ["checking", "refused"]);
    // A refusal is no obstacle to a later deploy.
    stage.approve();
    assert_eq!(stage.deploy(&[]).code, 0);
}

#[test]
fn what_plan_leaves_out_is_checked() {
    let stage = Stage::of("job-schedule-update");
    stage.collected_and_approved();
    let refused = |check: &str, code: i32| {
        let done = stage.deploy(&[]);
        assert_eq!(done.code, code, "{check}: {done:?}");
        let body = &report(&done)["body"]["deploy"];
        let names: Vec<String> = refusals(body).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, [check], "{done:?}");
        assert_eq!(
            report(&done)["findings"][0]["rule"],
            format!("authorize/{check}")
        );
        assert!(stage.calls_of("deploy").is_empty(), "{check}");
    };
    // The branch.
    let summary = stage.json("cli/summary.json");
    let mut other = summary.clone();
    other["bundle"]["git"] = json!({"branch": "main", "actual_branch": "feature"});
    stage.write("cli/summary.json", &other.to_string());
    refused("git-branch", 4);
    // Another root path, by another variable.
    let mut other = summary.clone();
    other["workspace"]["root_path"] = json!("/Workspace/elsewhere");
    stage.write("cli/summary.json", &other.to_string());
    refused("resolved", 4);
    stage.write("cli/summary.json", &summary.to_string());
    // Another CLI than the one that planned.
    stage.faults(&json!({"version": "1.21.0"}));
    refused("cli", 4);
    stage.faults(&json!({}));
    // An active run of the job that changes.
    let job = id_of(&stage, "resources.jobs.nightly", "job_id");
    stage
        .fake
        .inside()
        .state
        .runs
        .insert(job.clone(), vec![json!({"run_id": 1})]);
    refused("active-runs", 4);
    stage.fake.inside().state.runs.clear();
    // Someone deployed in between.
    let path = format!(
        "{}/resources.json",
        summary["workspace"]["state_path"].as_str().unwrap()
    );
    let before = stage.fake.inside().state.file(&path).unwrap().clone();
    let newer = String::from_utf8(before.clone())
        .unwrap()
        .replace("\"serial\": 1", "\"serial\": 2");
    assert_ne!(newer.as_bytes(), before);
    stage
        .fake
        .inside()
        .state
        .write_file(&path, newer.into_bytes());
    refused("state", 4);
    stage.fake.inside().state.write_file(&path, b"{}".to_vec());
    refused("state", 4);
    stage.fake.inside().state.write_file(&path, before);
    // All is well again.
    assert_eq!(stage.deploy(&[]).code, 0);
}

#[test]
fn a_dashboard_that_was_edited_since_is_not_overwritten() {
    let stage = Stage::of("dashboard-remote-edit");
    stage.collected_and_approved();
    let id = id_of(&stage, "resources.dashboards.overview", "dashboard_id");
    if let Some(d) = stage
        .fake
        .inside()
        .state
        .objects
        .get_mut(&(Kind::Dashboard, id))
    {
        d["etag"] = json!("999");
    }
    let done = stage.deploy(&[]);
    assert_eq!(done.code, 4, "{done:?}");
    let body = &report(&done)["body"]["deploy"];
    assert_eq!(refusals(body)[0].0, "dashboard-edits");
}

#[test]
fn changed_code_or_plan_is_refused() {
    let stage = Stage::of("job-schedule-update");
    stage.collected_and_approved();
    stage.write("repo/new.py", "print(1)\n");
    let done = stage.deploy(&[]);
    assert_eq!(done.code, 4, "{done:?}");
    fs::remove_file(stage.path("repo/new.py")).unwrap();
    let plan = fs::read_to_string(stage.path("gate/plan.json")).unwrap();
    stage.write("gate/plan.json", &format!("{plan} "));
    let done = stage.deploy(&[]);
    assert_eq!(done.code, 2, "{done:?}");
    assert!(
        done.stderr.contains("manifest.json lists"),
        "{}",
        done.stderr
    );
    assert!(stage.calls_of("deploy").is_empty());
}

#[test]
fn a_cli_that_fails_is_a_failed_deploy_and_says_what_was_applied() {
    let stage = Stage::of("partial-failure");
    stage.collected_and_approved();
    stage.faults(&json!({"fail": {"deploy": 1}}));
    let done = stage.deploy(&[]);
    assert_eq!(done.code, 5, "{done:?}");
    let body = &report(&done)["body"]["deploy"];
    assert_eq!(body["cli_exit"], 1);
    assert_eq!(report(&done)["findings"][0]["rule"], "deploy-failed");
    assert!(rows(&done, "mismatch").contains(&"pipelines.returns converged plan".to_owned()));
    assert!(rows(&done, "verified").contains(&"jobs.nightly converged plan".to_owned()));

    // Also where the workspace holds everything.
    let stage = Stage::of("job-schedule-update");
    stage.collected_and_approved();
    stage.faults(&json!({"kill": true}));
    let page = format!("markdown={}", stage.path("page.md").display());
    let done = stage.deploy(&["-o", &page]);
    assert_eq!(done.code, 5, "{done:?}");
    let page = std::fs::read_to_string(stage.path("page.md")).unwrap();
    assert!(
        page.starts_with("### closed: the CLI: how it ended is not known; "),
        "{page}"
    );
    assert_eq!(report(&done)["body"]["deploy"]["cli_exit"], Value::Null);
    assert!(
        done.stderr.contains("the CLI was killed"),
        "{}",
        done.stderr
    );
}

#[test]
fn a_deploy_without_effect_is_seen() {
    let stage = Stage::of("job-schedule-update");
    stage.collected_and_approved();
    stage.faults(&json!({"no_effect": true, "after": "plan.json"}));
    let done = stage.deploy(&[]);
    assert_eq!(done.code, 5, "{done:?}");
    let mismatches = rows(&done, "mismatch");
    for row in [
        "- serial api",
        "- serial plan",
        "jobs.nightly converged plan",
    ] {
        assert!(
            mismatches.contains(&row.to_owned()),
            "{row}: {mismatches:?}"
        );
    }
}

#[test]
fn drift_right_after_the_deploy_is_seen_and_can_be_mended() {
    let stage = Stage::of("drift-right-after-deploy");
    stage.collected_and_approved();
    let done = stage.deploy(&[]);
    assert_eq!(done.code, 5, "{done:?}");
    assert_eq!(
        rows(&done, "mismatch"),
        [
            "pipelines.orders run-as plan",
            "pipelines.orders run-as api"
        ]
    );
    assert!(
        done.stdout.contains("PUT /api/2.0/pipelines"),
        "{}",
        done.stdout
    );
}

#[test]
fn another_deployment_than_the_one_that_was_judged_is_seen() {
    let stage = Stage::of("job-schedule-update");
    stage.collected_and_approved();
    let state = fs::read_to_string(stage.path("cli/state-after.json")).unwrap();
    let lineage = stage.json("cli/state-after.json")["lineage"]
        .as_str()
        .unwrap()
        .to_owned();
    stage.write(
        "cli/state-after.json",
        &state.replace(&lineage, "00000000-0000-4000-8000-000000000000"),
    );
    let done = stage.deploy(&[]);
    assert_eq!(done.code, 5, "{done:?}");
    assert_eq!(rows(&done, "mismatch"), ["- lineage api"]);
}

#[test]
fn a_workspace_in_trouble_is_waited_for_and_else_said() {
    // 429 and 503 pass, answers that are cut come again, and what is behind catches up.
    let stage = Stage::of("job-schedule-update");
    stage.collected_and_approved();
    stage
        .fake
        .fault(Fault::new("GET", "/api/2.2/jobs/get", What::Storm { retry_after: 0 }).times(5));
    stage
        .fake
        .fault(Fault::new("GET", "/api/2.0/pipelines", What::Truncated).times(2));
    stage
        .fake
        .fault(Fault::new("GET", "/api/2.0/permissions", What::Status(503)).times(2));
    assert_eq!(stage.deploy(&[]).code, 0);

    // 500 stays: the witness cannot speak.
    for what in [What::Status(500), What::Html, What::Unauthorized] {
        let stage = Stage::of("job-schedule-update");
        stage.collected_and_approved();
        stage
            .fake
            .fault(Fault::new("GET", "/api/2.2/jobs/get", what.clone()));
        let done = stage.deploy(&[]);
        assert_eq!(done.code, 6, "{what:?}: {done:?}");
        assert!(rows(&done, "silent").contains(&"jobs.nightly run-as api".to_owned()));
    }
}

#[test]
fn what_lags_is_asked_again() {
    let stage = Stage::with_policy(
        "job-rename-key",
        &crate::stage::POLICY.replace("settle: 1s", "settle: 10s"),
    );
    stage.collected_and_approved();
    let id = id_of(&stage, "resources.jobs.report", "job_id");
    // For one more read the deleted job is still there.
    stage
        .fake
        .stale("GET", &format!("/api/2.2/jobs/get?job_id={id}"), 1);
    let done = stage.deploy(&[]);
    assert_eq!(done.code, 0, "{done:?}");
}

#[cfg(unix)]
fn kill_9(child: &mut std::process::Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

/// Ends a fake CLI that outlived its gate.
#[cfg(unix)]
fn end(pid: u32) {
    let _ = std::process::Command::new("kill")
        .args(["-9", &pid.to_string()])
        .status();
    for _ in 0..100 {
        if !std::path::Path::new(&format!("/proc/{pid}")).exists() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}

#[cfg(unix)]
#[test]
fn kill_9_at_each_step_leaves_a_record_that_names_it() {
    for (hang, step) in [
        ("summary", "checking"),
        ("deploy", "deploying"),
        ("plan", "verifying"),
    ] {
        let stage = Stage::of("job-schedule-update");
        stage.collected_and_approved();
        stage.faults(&json!({"hang": hang}));
        let mut child = stage.start(&["deploy", "../gate", "-t", "prod"]);
        let cli = stage.wait_until_hanging();
        kill_9(&mut child);
        assert_eq!(steps(&stage).last().unwrap(), step);

        // As long as the CLI runs, nobody else deploys.
        stage.faults(&json!({}));
        if hang == "deploy" {
            let second = stage.deploy(&["--resume-record"]);
            assert_eq!(second.code, 2, "{second:?}");
            assert!(second.stderr.contains("still running"), "{}", second.stderr);
        }
        end(cli);

        let again = stage.deploy(&[]);
        if step == "checking" {
            assert_eq!(again.code, 0, "{again:?}");
            continue;
        }
        assert_eq!(again.code, 2, "{again:?}");
        assert!(again.stderr.contains("--resume-record"), "{}", again.stderr);
        let before = stage.calls_of("deploy").len();
        let resumed = stage.deploy(&["--resume-record"]);
        // Killed before the CLI did anything: a mismatch; after it was done: all is well.
        let expected = if step == "deploying" { 5 } else { 0 };
        assert_eq!(resumed.code, expected, "{step}: {resumed:?}");
        assert_eq!(
            stage.calls_of("deploy").len(),
            before,
            "nothing is deployed"
        );
        assert_eq!(steps(&stage).last().unwrap(), "finished");
    }
}

#[cfg(unix)]
#[test]
fn an_interrupt_kills_the_cli_and_says_how_far_it_came() {
    let stage = Stage::of("job-schedule-update");
    stage.collected_and_approved();
    stage.faults(&json!({"hang": "deploy"}));
    let mut child = stage.start(&["deploy", "../gate", "-t", "prod"]);
    let cli = stage.wait_until_hanging();
    let sent = std::process::Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status()
        .unwrap();
    assert!(sent.success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!(steps(&stage).last().unwrap(), "deploying");
    for _ in 0..100 {
        let alive =
            fs::read_to_string(format!("/proc/{cli}/stat")).is_ok_and(|s| !s.contains(") Z"));
        if !alive {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    panic!("the CLI still runs");
}

#[test]
fn a_record_or_log_that_cannot_be_written_stops_it() {
    let stage = Stage::of("job-schedule-update");
    stage.collected_and_approved();
    let done = stage.deploy(&["--record", "../no/such/folder/deploy.json"]);
    assert_eq!(done.code, 2, "{done:?}");
    assert!(
        done.stderr.contains("nothing goes on without it"),
        "{}",
        done.stderr
    );
    stage.write("gate/deploy.json", "{}");
    let done = stage.deploy(&[]);
    assert_eq!(done.code, 2, "{done:?}");
    assert!(
        done.stderr.contains("expected the record of a deploy"),
        "{}",
        done.stderr
    );
    assert!(stage.calls_of("deploy").is_empty());
}

/// The same way with a real CLI, when one is named; it makes its own plan against the fake workspace.
#[test]
fn with_a_real_cli() {
    let Some(cli) = std::env::var_os("BUNDLEGATE_TEST_CLI") else {
        println!("skipped: BUNDLEGATE_TEST_CLI names no Databricks CLI");
        return;
    };
    let cli = cli.into_string().unwrap();
    let stage = Stage::of("first-deploy");
    // The bundle for the fake workspace, without files that the recording did not keep.
    let text = fs::read_to_string(stage.path("repo/databricks.yml"))
        .unwrap()
        .replace(
            "https://adb-1234567890123456.7.azuredatabricks.net",
            &stage.fake.url(),
        );
    stage.write("repo/databricks.yml", &text);
    fs::create_dir_all(stage.path("repo/src")).unwrap();
    stage.write("repo/src/report.py", "# Databricks notebook source\n");
    stage.write("repo/src/orders.sql", "SELECT 1\n");
    stage.commit("for the fake workspace");
    let done = stage.run(&["collect", "-t", "prod", "--out", "../gate", "--cli", &cli]);
    assert_eq!(done.code, 0, "{done:?}");
    stage.approve();
    let done = stage.deploy(&["--cli", &cli]);
    assert_eq!(done.code, 0, "{done:?}");
}
