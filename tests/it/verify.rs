//! `verify` over the recorded scenarios and variations of them.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::support::{self, Done};

/// A scenario's files in a folder of their own, to change.
struct Case {
    folder: tempfile::TempDir,
}

impl Case {
    fn of(name: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for file in fs::read_dir(support::scenarios().join(name)).unwrap() {
            let path = file.unwrap().path();
            if path.is_file() {
                fs::copy(&path, folder.path().join(path.file_name().unwrap())).unwrap();
            }
        }
        Self { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Changes a JSON file.
    fn change(&self, name: &str, change: impl FnOnce(&mut Value)) -> &Self {
        let mut value: Value = serde_json::from_slice(&fs::read(self.path(name)).unwrap()).unwrap();
        change(&mut value);
        fs::write(self.path(name), value.to_string()).unwrap();
        self
    }

    fn verify(&self, more: &[&str]) -> Done {
        let mut args = vec![
            "verify",
            "plan.json",
            "-t",
            "prod",
            "-p",
            "production",
            "--bundle",
            "bundle.json",
            "--after-plan",
            "after.json",
            "--witness",
            "plan",
            "-o",
            "json",
        ];
        if self.path("state.json").exists() {
            args.extend(["--state", "state.json"]);
        }
        args.extend(more);
        support::run_in(self.folder.path(), &args)
    }

    /// The exit code, and what does not match as `resource check`.
    fn mismatches(&self) -> (i32, Vec<String>) {
        let done = self.verify(&[]);
        let report: Value =
            serde_json::from_str(&done.stdout).unwrap_or_else(|e| panic!("{e}: {done:?}"));
        let rows = report["body"]["verify"]["rows"].as_array().unwrap();
        let mut all: Vec<String> = rows
            .iter()
            .filter(|r| r["outcome"] == "mismatch")
            .map(|r| {
                format!(
                    "{} {}",
                    r["resource"].as_str().unwrap_or("-"),
                    r["check"].as_str().unwrap()
                )
            })
            .collect();
        all.dedup();
        (done.code, all)
    }
}

fn one(text: &str) -> (i32, Vec<String>) {
    (5, vec![text.to_owned()])
}

const RUNS: &str = "/plan/resources.jobs.nightly/remote_state/run_as_user_name";

#[test]
fn every_recorded_deploy_ends_as_expected() {
    let expected: Value =
        serde_json::from_slice(&fs::read(support::scenarios().join("expected.json")).unwrap())
            .unwrap();
    let mut wrong = Vec::new();
    for (name, want) in expected.as_object().unwrap() {
        let Some(code) = want["verify"].as_i64() else {
            continue;
        };
        let folder = support::scenarios().join(want["dir"].as_str().unwrap_or(name));
        let mut args = vec![
            "verify",
            "plan.json",
            "-p",
            "production",
            "--witness",
            "plan",
            "-q",
            "--after-plan",
        ];
        args.extend([
            want["after"].as_str().unwrap_or("after.json"),
            "-t",
            want["target"].as_str().unwrap_or("prod"),
        ]);
        for (flag, file) in [("--bundle", "bundle.json"), ("--state", "state.json")] {
            if folder.join(file).exists() {
                args.extend([flag, file]);
            }
        }
        let done = support::run_in(&folder, &args);
        if i64::from(done.code) != code {
            wrong.push(format!(
                "{name}: {} instead of {code}: {}",
                done.code, done.stderr
            ));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn what_is_not_in_the_list_of_expectations() {
    assert_eq!(
        Case::of("run-as-reference-any-kind").mismatches(),
        one("jobs.report run-as")
    );
    assert_eq!(Case::of("stale-first-deploy").mismatches(), one("- serial"));
    assert_eq!(
        Case::of("delete-forbidden").mismatches(),
        (0, Vec::new()),
        "a plan cannot see it; it is listed"
    );
    let listed = Case::of("delete-forbidden").verify(&[]).stdout;
    assert!(listed.contains("not-witnessed") && listed.contains("\"gone\""));
}

#[test]
fn lineage_and_serial() {
    let case = || Case::of("job-schedule-update");
    let set = |field: &str, value: Value| {
        let case = case();
        case.change("after.json", |p| p[field] = value);
        case.mismatches()
    };
    assert_eq!(
        set("lineage", json!("00000000-0000-4000-8000-000000000000")),
        one("- lineage")
    );
    for serial in [1, 3, 99] {
        assert_eq!(set("serial", json!(serial)), one("- serial"));
    }
    // No state any more.
    let gone = case();
    gone.change("after.json", |p| {
        p.as_object_mut()
            .unwrap()
            .retain(|k, _| k != "lineage" && k != "serial");
    });
    assert_eq!(
        gone.mismatches(),
        (5, vec!["- lineage".to_owned(), "- serial".to_owned()])
    );
    // Nothing to write, and yet somebody wrote.
    let quiet = Case::of("no-change");
    quiet.change("after.json", |p| p["serial"] = json!(2));
    assert_eq!(quiet.mismatches(), one("- serial"));
}

#[test]
fn whom_it_runs_as() {
    let drifted = |name: &str, key: &str, who: &str| {
        let case = Case::of(name);
        case.change("after.json", |p| {
            p["plan"][format!("resources.{key}")]["remote_state"]["run_as_user_name"] = json!(who);
        });
        case.mismatches()
    };
    // What the plan sets; what it leaves alone; what is created.
    assert_eq!(
        drifted("job-schedule-update", "jobs.nightly", "x"),
        one("jobs.nightly run-as")
    );
    assert_eq!(
        drifted("job-schedule-update", "jobs.report", "x"),
        one("jobs.report run-as")
    );
    assert_eq!(
        drifted("job-added", "jobs.weekly", "someone@example.com"),
        one("jobs.weekly run-as")
    );
    // Without run_as it is the creator.
    assert_eq!(
        drifted("serving-endpoint-secret", "jobs.report", "x"),
        one("jobs.report run-as")
    );
    assert_eq!(
        drifted("run-as-added", "jobs.report", "x"),
        one("jobs.report run-as")
    );
    // Taken out: the identity stays.
    assert_eq!(
        drifted("run-as-removed", "jobs.nightly", "x"),
        one("jobs.nightly run-as")
    );
    // A group that the CLI dropped.
    assert_eq!(
        drifted(
            "run-as-group-pipeline",
            "pipelines.orders",
            "orders-etl-prod"
        ),
        one("pipelines.orders run-as")
    );
    // A witness that does not say it did not speak.
    let mute = Case::of("no-change");
    mute.change("after.json", |p| {
        p.pointer_mut(RUNS.rsplit_once('/').unwrap().0)
            .unwrap()
            .as_object_mut()
            .unwrap()
            .remove("run_as_user_name");
    });
    assert_eq!(mute.verify(&[]).code, 6);
}

#[test]
fn an_identity_by_reference() {
    // It stands for nothing: the job runs as its creator, which nobody approved.
    let nothing = Case::of("run-as-unresolved");
    nothing.change("after.json", |p| {
        p["plan"]["resources.apps.portal"]["remote_state"]["service_principal_client_id"] =
            json!("");
        p["plan"]["resources.jobs.report"]["remote_state"]["run_as_user_name"] =
            json!("0b7a0d1e-0000-4000-8000-00000000bb01");
    });
    assert_eq!(nothing.mismatches(), one("jobs.report run-as"));
    // It stands for another than the one that it runs as.
    let other = Case::of("run-as-unresolved");
    other.change("after.json", |p| {
        p["plan"]["resources.jobs.report"]["remote_state"]["run_as_user_name"] = json!("x");
    });
    assert_eq!(other.mismatches(), one("jobs.report run-as"));
    // The witness does not show what it names.
    let unseen = Case::of("run-as-unresolved");
    unseen.change("after.json", |p| {
        p["not_selected"] = json!(1);
        p["plan"]
            .as_object_mut()
            .unwrap()
            .remove("resources.apps.portal");
        for entry in p["plan"].as_object_mut().unwrap().values_mut() {
            entry.as_object_mut().unwrap().remove("depends_on");
        }
    });
    let done = unseen.verify(&[]);
    assert_eq!(done.code, 6, "{done:?}");
}

#[test]
fn what_the_policy_and_the_bundle_say() {
    // The state knows nothing of single resources: the bundle tells.
    let bundle = Case::of("run-as-drift-pipeline");
    bundle.change("state.json", |s| {
        s.as_object_mut().unwrap().remove("state");
    });
    for file in ["plan.json", "after.json"] {
        bundle.change(file, |p| {
            p["plan"]["resources.pipelines.orders"]
                .as_object_mut()
                .unwrap()
                .remove("changes");
        });
    }
    assert_eq!(bundle.mismatches(), one("pipelines.orders run-as"));
    // The policy names someone for what sets nobody, and another owner.
    let policy = Case::of("serving-endpoint-secret");
    fs::write(
        policy.path("policy.yml"),
        "version: 1\nextends: production\nidentity: {run_as: [{resources: [\"jobs.*\"], service_principal: a}], deployer: {service_principal: b}}\n",
    )
    .unwrap();
    let mut args: Vec<&str> = "verify plan.json -t prod -p policy.yml --bundle bundle.json --after-plan after.json --witness plan".split(' ').collect();
    let done = support::run_in(policy.folder.path(), &args);
    assert_eq!(done.code, 5, "{done:?}");
    assert!(
        done.stdout.contains("jobs.nightly: runs as") && done.stdout.contains("a (the policy)"),
        "{}",
        done.stdout
    );
    // A check that the policy does not ask for is not made.
    fs::write(
        policy.path("off.yml"),
        "version: 1\nextends: production\nverify: {run_as: false}\n",
    )
    .unwrap();
    args[4] = "-p";
    args[5] = "off.yml";
    let drift = support::run_in(policy.folder.path(), &args);
    assert_eq!(drift.code, 0, "{drift:?}");
}

#[test]
fn convergence_and_existence() {
    // Something is left to do, or was done to what nobody planned.
    let left = Case::of("job-schedule-update");
    left.change("after.json", |p| {
        p["plan"]["resources.jobs.report"]["action"] = json!("update")
    });
    left.change("after.json", |p| {
        let remote = p["plan"]["resources.jobs.report"]["remote_state"].clone();
        p["plan"]["resources.jobs.report"]["new_state"] = json!({"value": remote});
    });
    assert_eq!(left.mismatches(), one("jobs.report converged"));
    let missing = Case::of("job-schedule-update");
    missing.change("after.json", |p| {
        p["plan"]
            .as_object_mut()
            .unwrap()
            .remove("resources.volumes.raw");
    });
    assert_eq!(missing.mismatches(), one("volumes.raw converged"));
    let more = Case::of("job-schedule-update");
    more.change("after.json", |p| {
        let job = p["plan"]["resources.jobs.report"].clone();
        p["plan"]["resources.jobs.other"] = job;
    });
    assert_eq!(more.mismatches(), one("jobs.other unplanned"));
    // The same key, another object.
    let swapped = Case::of("job-schedule-update");
    swapped.change("after.json", |p| {
        p["plan"]["resources.jobs.report"]["remote_state"]["job_id"] = json!(1)
    });
    assert_eq!(swapped.mismatches(), one("jobs.report same-id"));
    // Made again under the old id; renamed to another name; deleted and still there.
    let same = Case::of("pipeline-recreate-storage");
    same.change("after.json", |p| {
        let before: Value = serde_json::from_slice(
            &fs::read(support::scenarios().join("pipeline-recreate-storage/plan.json")).unwrap(),
        )
        .unwrap();
        let id =
            before["plan"]["resources.pipelines.orders"]["remote_state"]["pipeline_id"].clone();
        p["plan"]["resources.pipelines.orders"]["remote_state"]["pipeline_id"] = id.clone();
        p["plan"]["resources.pipelines.orders"]["remote_state"]["id"] = id;
    });
    assert_eq!(same.mismatches(), one("pipelines.orders new-id"));
    let name = Case::of("volume-rename");
    name.change("after.json", |p| {
        p["plan"]["resources.volumes.raw"]["remote_state"]["name"] = json!("raw")
    });
    assert_eq!(name.mismatches(), one("volumes.raw exists"));
    let kept = Case::of("job-destroy");
    kept.change("after.json", |p| {
        p["plan"]["resources.jobs.report"] =
            json!({"action": "delete", "remote_state": {"job_id": 1}});
    });
    assert_eq!(kept.mismatches(), one("jobs.report dropped"));
    // The owner that the plan set.
    let owner = Case::of("pipeline-root-owner");
    owner.change("after.json", |p| {
        p["plan"]["resources.pipelines.orders.permissions"]["remote_state"]["__embed__"][1]["user_name"] = json!("other@example.com");
    });
    assert_eq!(
        owner.mismatches(),
        one("pipelines.orders.permissions owner")
    );
}

#[test]
fn a_run_at_each_deploy_is_no_mismatch_but_another_change_of_it_is() {
    let case = Case::of("job-run-on-deploy");
    assert_eq!(case.mismatches(), (0, Vec::new()));
    case.change("after.json", |p| {
        p["plan"]["resources.job_runs.migrate"]["changes"]["job_id"] =
            json!({"action": "recreate", "old": 1, "new": 2});
    });
    assert_eq!(case.mismatches(), one("job_runs.migrate converged"));
}

#[test]
fn bad_inputs_have_their_own_messages() {
    let says = |case: &Case, code: i32, part: &str| {
        let done = case.verify(&[]);
        assert_eq!(done.code, code, "{part}: {done:?}");
        assert!(done.stderr.contains(part), "{part}: {}", done.stderr);
    };
    let case = Case::of("no-change");
    fs::write(case.path("after.json"), "{").unwrap();
    says(&case, 2, "after.json:1:1");
    fs::write(
        case.path("after.json"),
        r#"{"cli_version": "1.13.0", "plan": {}}"#,
    )
    .unwrap();
    says(&case, 2, "Terraform engine");
    fs::remove_file(case.path("after.json")).unwrap();
    says(&case, 2, "--after-plan: expected a file");
    let case = Case::of("no-change");
    case.change("state.json", |s| s["state_version"] = json!(4));
    says(&case, 2, "version 4");
    let case = Case::of("no-change");
    case.change("state.json", |s| s["state_version"] = json!(3));
    assert_eq!(case.verify(&[]).code, 0, "a state of version 3 can be read");
    let no_plan = support::run(&["verify"]);
    assert_eq!(no_plan.code, 2);
    let drift = support::run(&["verify", "--drift"]);
    assert!(
        drift.code == 2 && drift.stderr.contains("--bundle"),
        "{drift:?}"
    );
}

#[test]
fn an_empty_plan_proves_nothing() {
    let case = Case::of("first-deploy");
    fs::write(
        case.path("plan.json"),
        r#"{"plan_version": 2, "cli_version": "1.13.0", "plan": {}}"#,
    )
    .unwrap();
    fs::write(
        case.path("after.json"),
        r#"{"plan_version": 2, "cli_version": "1.13.0", "plan": {}}"#,
    )
    .unwrap();
    assert_ne!(case.verify(&[]).code, 0);
}

#[test]
fn drift_without_a_deploy() {
    let run = |name: &str| {
        let folder = support::scenarios().join(name);
        support::run_in(&folder, &"verify --drift --bundle bundle.json -t prod -p production --after-plan after.json --witness plan".split(' ').collect::<Vec<_>>())
    };
    assert_eq!(run("no-change").code, 0);
    let drift = run("run-as-drift-pipeline");
    assert_eq!(drift.code, 5, "{drift:?}");
    assert!(
        drift.stdout.contains("pipelines.orders: runs as"),
        "{}",
        drift.stdout
    );
    assert_eq!(run("partial-failure").code, 5);
}

#[test]
fn help_shows_examples_and_exit_codes() {
    let help = support::run(&["verify", "--help"]);
    assert_eq!(help.code, 0);
    for part in [
        "--drift",
        "--after-plan",
        "Exit codes",
        "bundlegate verify gate",
    ] {
        assert!(help.stdout.contains(part), "{part}");
    }
}

#[cfg(feature = "remote")]
mod api {
    use std::time::{Duration, Instant};

    use serde_json::{Value, json};

    use crate::fake_workspace::{FakeWorkspace, Fault, Kind, What};
    use crate::stage::{POLICY, Stage, report, rows};
    use crate::support;

    /// A stage whose plan was deployed already.
    fn deployed(name: &str, policy: &str) -> Stage {
        let stage = Stage::with_policy(name, policy);
        let bundle = stage.json("cli/bundle.json");
        let path = format!(
            "{}/resources.json",
            bundle["workspace"]["state_path"].as_str().unwrap()
        );
        let state = std::fs::read(stage.path("cli/state-after.json")).unwrap();
        stage.fake.deploy(
            &stage.json("cli/plan.json"),
            &stage.json("cli/after.json"),
            Some((&path, &state)),
        );
        stage
    }

    const ARGS: &str =
        "verify ../cli/plan.json --bundle ../cli/bundle.json -t prod -p bundlegate.yml -o json";

    fn verify(stage: &Stage, more: &str) -> support::Done {
        let mut args: Vec<&str> = ARGS.split(' ').collect();
        args.extend(more.split(' ').filter(|w| !w.is_empty()));
        if stage.path("cli/state.json").exists() {
            args.extend(["--state", "../cli/state.json"]);
        }
        stage.run(&args)
    }

    #[test]
    fn every_recorded_deploy_is_seen_by_the_api_alone() {
        for (name, code) in [
            ("no-change", 0),
            ("job-schedule-update", 0),
            ("first-deploy", 0),
            ("pipeline-destroy", 0),
            ("pipeline-recreate-storage", 0),
            ("job-rename-key", 0),
            ("run-as-changed", 0),
            ("run-as-unresolved", 0),
            ("run-as-reference-any-kind", 5),
            ("run-as-drift-pipeline", 5),
            ("drift-right-after-deploy", 5),
            ("stale-first-deploy", 5),
            ("pipeline-root-owner", 0),
            ("schema-destroy", 0),
            ("volume-rename", 0),
            ("alert-and-app", 0),
        ] {
            let stage = deployed(name, POLICY);
            let done = verify(&stage, "--witness api");
            assert_eq!(done.code, code, "{name}: {done:?}");
            assert!(stage.calls().is_empty(), "{name}: the CLI is not asked");
        }
    }

    #[test]
    fn both_witnesses_have_to_speak() {
        let stage = deployed("no-change", POLICY);
        assert_eq!(verify(&stage, "").code, 0);
        let no_cli = verify(&stage, "--cli /no/such/cli");
        assert_eq!(no_cli.code, 6, "{no_cli:?}");
        assert!(no_cli.stdout.contains("found no program /no/such/cli"));
        assert_eq!(verify(&stage, "--cli /no/such/cli --witness api").code, 0);
        assert_eq!(
            verify(&stage, "--cli /no/such/cli --after-plan ../cli/after.json").code,
            0
        );
        // What does not match is said even where a witness is silent.
        let drift = deployed("drift-right-after-deploy", POLICY);
        drift
            .fake
            .fault(Fault::new("GET", "/api", What::Status(500)));
        assert_eq!(verify(&drift, "--after-plan ../cli/after.json").code, 5);
    }

    #[test]
    fn access_that_is_wrong_has_its_own_message() {
        let stage = deployed("no-change", POLICY);
        let run = |name: &str, value: &str| {
            let mut args: Vec<&str> = ARGS.split(' ').collect();
            args.extend(["--witness", "api", "--state", "../cli/state.json"]);
            let mut program = support::program();
            program
                .current_dir(stage.path("repo"))
                .envs(stage.environment())
                .env(name, value)
                .args(args);
            support::finish(&mut program)
        };
        for (name, value, code, part) in [
            (
                "DATABRICKS_HOST",
                "https://adb-1.7.azuredatabricks.net",
                2,
                "wrong workspace",
            ),
            ("DATABRICKS_HOST", "http://example.test", 2, "https"),
            (
                "DATABRICKS_HOST",
                "https://adb-1.7.azuredatabricks.net/a/path",
                2,
                "path",
            ),
            ("DATABRICKS_TOKEN", "dapi-of-somebody-else", 6, "401"),
        ] {
            let done = run(name, value);
            assert_eq!(done.code, code, "{value}: {done:?}");
            let said = format!("{}{}", done.stdout, done.stderr);
            assert!(said.to_lowercase().contains(part), "{value}: {said}");
            assert!(!said.contains("dapi-of-somebody-else"));
        }
    }

    #[test]
    fn tables_of_a_deleted_pipeline_go_as_foreseen() {
        let policy = format!(
            "{POLICY}state: {{pipelines.orders: {{tables: [{{name: main.orders.bronze}}]}}}}\n"
        );
        let id = |stage: &Stage| {
            stage.json("cli/plan.json")["plan"]["resources.pipelines.orders"]["remote_state"]["pipeline_id"]
                .as_str()
                .unwrap()
                .to_owned()
        };
        // cascade_on_destroy: false was deployed: kept.
        let kept = deployed("pipeline-destroy", &policy);
        let done = verify(&kept, "--witness api");
        assert_eq!(done.code, 5, "{done:?}");
        assert_eq!(rows(&done, "mismatch"), ["pipelines.orders tables api"]);
        let pipeline = id(&kept);
        kept.fake
            .inside()
            .state
            .add_table("main.orders.bronze", Some(&pipeline), "a", &[]);
        let done = verify(&kept, "--witness api");
        assert_eq!(done.code, 0, "{done:?}");
        assert!(
            done.stdout.contains("left behind: main.orders.bronze"),
            "{}",
            done.stdout
        );
        // cascade_on_destroy: true: dropped.
        let dropped = deployed("pipeline-destroy-cascade-true", &policy);
        assert_eq!(verify(&dropped, "--witness api").code, 0);
        let pipeline = id(&dropped);
        dropped
            .fake
            .inside()
            .state
            .add_table("main.orders.bronze", Some(&pipeline), "a", &[]);
        let done = verify(&dropped, "--witness api");
        assert_eq!(done.code, 5, "{done:?}");
        assert_eq!(
            rows(&done, "mismatch").len(),
            2,
            "by its name and by its pipeline"
        );
    }

    #[test]
    fn reset_guards_and_owners_of_tables() {
        let policy = format!(
            "{POLICY}state: {{pipelines.orders: {{tables: [{{name: main.orders.bronze, reset_allowed: false}}]}}}}\n"
        );
        let stage = deployed("no-change", &policy);
        let owner = "5f0c6c1e-0000-4000-8000-0000000000aa";
        let table = |owner: &str, properties: &[(&str, &str)]| {
            stage
                .fake
                .inside()
                .state
                .add_table("main.orders.bronze", None, owner, properties);
            verify(&stage, "--witness api")
        };
        let good = table(owner, &[("pipelines.reset.allowed", "false")]);
        assert_eq!(good.code, 0, "{good:?}");
        for properties in [&[][..], &[("pipelines.reset.allowed", "true")]] {
            let done = table(owner, properties);
            assert_eq!(
                rows(&done, "mismatch"),
                ["pipelines.orders reset-guard api"]
            );
            assert_eq!(done.code, 5);
        }
        let done = table(
            "someone@example.com",
            &[("pipelines.reset.allowed", "false")],
        );
        assert_eq!(
            rows(&done, "mismatch"),
            ["pipelines.orders table-owner api"]
        );
    }

    #[test]
    fn owner_and_commit() {
        let policy = format!("{POLICY}identity: {{deployer: {{service_principal: other}}}}\n");
        let stage = deployed("no-change", &policy);
        let done = verify(&stage, "--witness api");
        assert_eq!(
            rows(&done, "mismatch"),
            ["jobs.nightly owner api", "pipelines.orders owner api"],
            "{done:?}"
        );

        let stage = deployed("no-change", POLICY);
        let mut bundle = stage.json("cli/bundle.json");
        bundle["bundle"]["git"] = json!({"commit": "aaaa"});
        stage.write("cli/bundle.json", &bundle.to_string());
        let path = format!(
            "{}/metadata.json",
            bundle["workspace"]["state_path"].as_str().unwrap()
        );
        for (commit, code) in [("aaaa", 0), ("bbbb", 5)] {
            let text = json!({"version": 1, "config": {"bundle": {"git": {"commit": commit}}}})
                .to_string();
            stage
                .fake
                .inside()
                .state
                .write_file(&path, text.into_bytes());
            let done = verify(&stage, "--witness api");
            assert_eq!(done.code, code, "{done:?}");
        }
    }

    #[test]
    fn a_nightly_job_without_a_plan() {
        let stage = deployed("no-change", POLICY);
        let drift = |witness: &str| {
            let args = format!(
                "verify --drift --bundle ../cli/summary.json -t prod -p bundlegate.yml -o json --witness {witness}"
            );
            stage.run(&args.split(' ').collect::<Vec<_>>())
        };
        for witness in ["api", "plan", "both"] {
            let done = drift(witness);
            assert_eq!(done.code, 0, "{witness}: {done:?}");
        }
        let id =
            stage.json("cli/plan.json")["plan"]["resources.jobs.nightly"]["remote_state"]["job_id"]
                .to_string();
        stage
            .fake
            .inside()
            .state
            .set_run_as(Kind::Job, &id, "someone@example.com");
        let done = drift("api");
        assert_eq!(done.code, 5, "{done:?}");
        assert_eq!(rows(&done, "mismatch"), ["jobs.nightly run-as api"]);
    }

    /// A plan of many jobs, in a workspace that is slow and lets few requests through.
    fn many(fake: &FakeWorkspace, jobs: usize) -> (Value, Value) {
        let mut entries = serde_json::Map::new();
        for n in 0..jobs {
            let id = 9_000_000_000_000_000_000_i64 + i64::try_from(n).unwrap();
            let name = format!("job{n}");
            fake.inside().state.put(
                Kind::Job,
                &id.to_string(),
                json!({"job_id": id, "run_as_user_name": "a", "creator_user_name": "b", "settings": {"name": name}}),
            );
            entries.insert(
                format!("resources.jobs.{name}"),
                json!({"action": "skip", "remote_state": {"job_id": id, "name": name, "run_as_user_name": "a"}}),
            );
        }
        let plan = json!({"plan_version": 2, "cli_version": "1.13.0", "lineage": "l", "serial": 1, "plan": entries});
        let bundle = json!({"bundle": {"target": "prod", "name": "many"}, "workspace": {"host": fake.url(), "current_user": {"userName": "b"}}});
        (plan, bundle)
    }

    #[test]
    fn many_reads_go_at_the_pace_of_the_limit() {
        let stage = Stage::of("no-change");
        let (plan, bundle) = many(&stage.fake, 240);
        stage.write("cli/many.json", &plan.to_string());
        stage.write("cli/many-bundle.json", &bundle.to_string());
        {
            let mut inside = stage.fake.inside();
            inside.latency = Duration::from_millis(20);
            inside.limit = Some(80);
        }
        let args = "verify ../cli/many.json --bundle ../cli/many-bundle.json -p bundlegate.yml --witness api -o json";
        let mut program = support::program();
        program
            .current_dir(stage.path("repo"))
            .envs(stage.environment())
            .env("DATABRICKS_RATE_LIMIT", "80")
            .args(args.split(' '));
        let start = Instant::now();
        let done = support::finish(&mut program);
        let took = start.elapsed();
        assert_eq!(
            done.code,
            0,
            "{}",
            &done.stdout[..done.stdout.len().min(2000)]
        );
        assert_eq!(
            stage.fake.requests_to("GET", "/api/2.2/jobs/get").len(),
            240
        );
        // 240 at 80 a second; a busy machine gets a second more.
        assert!(
            took >= Duration::from_millis(2900) && took <= Duration::from_millis(3450 + 1000),
            "{took:?}"
        );
        assert_eq!(report(&done)["body"]["verify"]["tally"]["verified"], 480);
    }
}
