//! `collect` with the fake CLI.

use std::fs;

use serde_json::json;

use crate::stage::Stage;
use crate::support;

#[test]
fn collects_one_folder_that_check_takes() {
    let stage = Stage::of("job-schedule-update");
    let done = stage.run(&[
        "collect",
        "-t",
        "prod",
        "--out",
        "../gate",
        "--var",
        "a=b c",
        "--select",
        "jobs.nightly",
    ]);
    assert_eq!(done.code, 0, "{done:?}");
    let mut names: Vec<String> = fs::read_dir(stage.path("gate"))
        .unwrap()
        .map(|f| f.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(
        names,
        [
            "bundle.json",
            "manifest.json",
            "plan.json",
            "state.json",
            "summary.json",
            "warnings.txt"
        ]
    );
    let manifest = stage.json("gate/manifest.json");
    assert_eq!(
        (&manifest["target"], &manifest["cli_version"]),
        (&json!("prod"), &json!("1.13.0"))
    );
    assert_eq!(manifest["commit"].as_str().unwrap().len(), 40);
    assert_eq!(
        fs::read_to_string(stage.path("gate/warnings.txt")).unwrap(),
        "Warning: the fake warns\n"
    );
    assert!(
        done.stderr.contains("databricks | Warning: the fake warns"),
        "{}",
        done.stderr
    );
    // The words reach the CLI as they are, and only the plan is made of a selection.
    assert_eq!(
        stage.calls_of("plan"),
        [[
            "bundle",
            "plan",
            "-o",
            "json",
            "--select",
            "jobs.nightly",
            "-t",
            "prod",
            "--var",
            "a=b c"
        ]]
    );
    assert!(!stage.calls_of("validate")[0].contains(&"--select".to_owned()));
    assert_eq!(stage.run(&["check", "../gate", "-t", "prod"]).code, 0);

    // Again into the same folder; not over a folder of somebody's.
    assert_eq!(
        stage
            .run(&["collect", "-t", "prod", "--out", "../gate"])
            .code,
        0
    );
    let other = stage.run(&["collect", "-t", "prod", "--out", "../keys"]);
    assert_eq!(other.code, 2);
    assert!(
        other.stderr.contains("found one with other files"),
        "{}",
        other.stderr
    );
    let left: Vec<_> = fs::read_dir(stage.path("."))
        .unwrap()
        .map(|f| f.unwrap().file_name().into_string().unwrap())
        .filter(|n| n.starts_with(".bundlegate"))
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn a_first_deploy_has_no_state() {
    let stage = Stage::of("first-deploy");
    assert_eq!(
        stage
            .run(&["collect", "-t", "prod", "--out", "../gate"])
            .code,
        0
    );
    assert!(!stage.path("gate/state.json").exists());
}

#[test]
fn the_local_state_is_taken_only_where_it_is_the_same() {
    let stage = Stage::of("job-schedule-update");
    let local = stage.path("repo/.databricks/bundle/prod");
    fs::create_dir_all(&local).unwrap();
    let other = fs::read_to_string(stage.path("cli/state.json"))
        .unwrap()
        .replace("\"serial\": 1", "\"serial\": 7");
    fs::write(local.join("resources.json"), other).unwrap();
    assert_eq!(
        stage
            .run(&["collect", "-t", "prod", "--out", "../gate"])
            .code,
        0
    );
    assert_eq!(stage.json("gate/state.json")["serial"], 1);
}

#[test]
fn each_thing_that_is_wrong_is_said_and_leaves_no_folder() {
    let stage = Stage::of("job-schedule-update");
    let says = |stage: &Stage, part: &str| {
        let done = stage.run(&["collect", "-t", "prod", "--out", "../gate"]);
        assert_eq!(done.code, 2, "{part}: {done:?}");
        assert!(done.stderr.contains(part), "{part}: {}", done.stderr);
        assert!(!stage.path("gate").exists(), "{part}");
    };
    stage.faults(&json!({"version": "0.299.1"}));
    says(&stage, "1.13.0 or later, found 0.299.1");
    for command in ["plan", "validate", "summary"] {
        stage.faults(&json!({"fail": {command: 1}}));
        says(&stage, &format!("`databricks bundle {command}` failed"));
        says(&stage, "the fake was told to fail");
    }
    stage.faults(&json!({}));
    stage.write("cli/plan.json", r#"{"cli_version": "1.13.0", "plan": {}}"#);
    says(&stage, "the Terraform engine");
    stage.write("cli/plan.json", "not JSON");
    says(&stage, "the output of `databricks bundle plan`");
    let missing = support::finish(support::program().current_dir(stage.path("repo")).args([
        "collect",
        "-t",
        "prod",
        "--out",
        "../gate",
        "--cli",
        "/no/such/cli",
    ]));
    assert_eq!(missing.code, 2);
    assert!(
        missing.stderr.contains("found no program /no/such/cli"),
        "{}",
        missing.stderr
    );
    let target = support::finish(
        support::program()
            .current_dir(stage.path("repo"))
            .args(["collect", "--out", "../gate"]),
    );
    assert!(
        target.stderr.contains("expected a target"),
        "{}",
        target.stderr
    );
}

#[cfg(unix)]
#[test]
fn an_interrupt_leaves_no_half_folder() {
    let stage = Stage::of("job-schedule-update");
    stage.faults(&json!({"hang": "validate"}));
    let mut child = stage.start(&["collect", "-t", "prod", "--out", "../gate"]);
    let cli = stage.wait_until_hanging();
    let kill = std::process::Command::new("kill")
        .args(["-TERM", &child.id().to_string()])
        .status()
        .unwrap();
    assert!(kill.success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(!stage.path("gate").exists());
    // The CLI does not outlive it.
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
