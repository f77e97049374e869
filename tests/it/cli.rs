//! The command line: what it prints, where, and the exit code, for good and for bad input.

use std::path::Path;

use crate::support::{Done, finish, program, run, run_in, scenarios};

const SCENARIO: &str = "tests/scenarios/job-destroy";

fn check(folder: &Path, args: &[&str]) -> Done {
    run_in(folder, &[&["check"], args].concat())
}

/// Exit 2, one message on standard error, nothing on standard output.
#[track_caller]
fn refused(done: &Done, part: &str) {
    assert_eq!(
        (done.code, done.stdout.as_str()),
        (2, ""),
        "{}",
        done.stderr
    );
    assert!(done.stderr.contains(part), "{part}: {}", done.stderr);
    assert!(done.stderr.starts_with("error"), "{}", done.stderr);
}

#[test]
fn bad_input_is_refused_with_one_message() {
    let dir = tempfile::tempdir().unwrap();
    let at = dir.path();
    let scenario = scenarios().join("no-change");
    let plan = scenario.join("plan.json").to_string_lossy().into_owned();
    let write = |name: &str, text: &str| {
        std::fs::write(at.join(name), text).unwrap();
        name.to_owned()
    };
    refused(&check(at, &["nowhere.json"]), "found nothing");
    std::fs::create_dir(at.join("folder")).unwrap();
    refused(&check(at, &["folder"]), "manifest.json");
    write("self.yml", "version: 1\nextends: self.yml\n");
    refused(&check(at, &[&plan, "-p", "self.yml"]), "self.yml");
    write(
        "typo.yml",
        "version: 1\nextends: production\nrules: {destory: deny}\n",
    );
    refused(&check(at, &[&plan, "-p", "typo.yml"]), "destroy");
    refused(
        &check(at, &[&plan, "--bundle", &plan]),
        "expected a bundle JSON, found a plan",
    );
    let unresolved = scenarios()
        .join("unresolved-bundle/bundle.json")
        .to_string_lossy()
        .into_owned();
    refused(
        &check(at, &[&plan, "--bundle", &unresolved]),
        "bundle.target",
    );
    refused(&check(at, &[&plan, "--state", &plan]), "found a plan");
    refused(&check(at, &["-"]), "standard input");
    refused(
        &check(at, &[&plan, "-o", "json", "-o", "text"]),
        "found two",
    );
    refused(&check(at, &[&plan, "-o", "jsn"]), "json");
    refused(&check(at, &[&plan, "-o", "json="]), "a file after");
    refused(
        &check(at, &[&plan, "--level", "destroy=forbid"]),
        "RULE=LEVEL",
    );
    refused(&check(at, &[&plan, "--level", "destory=deny"]), "destroy");
    refused(&check(at, &[&plan, "--max-size", "10"]), "--max-size");
    write(
        "huge.json",
        &format!("{{\"plan\":\"{}\"}}", "x".repeat(100)),
    );
    refused(&check(at, &["huge.json", "--max-size", "50"]), "at most 50");
}

#[test]
fn an_output_that_cannot_be_written_does_not_spoil_the_others() {
    let dir = tempfile::tempdir().unwrap();
    let plan = scenarios()
        .join("job-destroy/plan.json")
        .to_string_lossy()
        .into_owned();
    let done = check(
        dir.path(),
        &[
            &plan,
            "-o",
            "json=good.json",
            "-o",
            "json=no/such/folder.json",
        ],
    );
    refused(&done, "no/such/folder.json");
    let good = std::fs::read_to_string(dir.path().join("good.json")).unwrap();
    assert!(serde_json::from_str::<serde_json::Value>(&good).is_ok());
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
}

#[cfg(unix)]
#[test]
fn a_file_without_permission_is_named() {
    use std::os::unix::fs::PermissionsExt as _;
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("plan.json");
    std::fs::write(&file, "{}").unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o000)).unwrap();
    if std::fs::read(&file).is_ok() {
        return; // root reads everything
    }
    refused(&check(dir.path(), &["plan.json"]), "no permission");
}

#[test]
fn exit_zero_turns_only_the_verdict() {
    let args = [
        "check",
        &format!("{SCENARIO}/plan.json"),
        "-p",
        "production",
    ];
    assert_eq!(run(&args).code, 1);
    assert_eq!(run(&[&args[..], &["--exit-zero"]].concat()).code, 0);
    assert_eq!(run(&["check", "nowhere.json", "--exit-zero"]).code, 2);
}

#[test]
fn review_ok_turns_a_review_alone() {
    let review = format!("{}/plan.json", scenarios().join("run-as-added").display());
    let bundle = format!("{}/bundle.json", scenarios().join("run-as-added").display());
    let args = ["check", &review, "--bundle", &bundle, "-p", "production"];
    assert_eq!(run(&args).code, 3);
    let done = run(&[&args[..], &["--review-ok", "-o", "json"]].concat());
    assert_eq!(done.code, 0);
    let report: serde_json::Value = serde_json::from_str(&done.stdout).unwrap();
    assert_eq!(
        (&report["verdict"], &report["exit_code"]),
        (&"review".into(), &0.into()),
        "the report says what the gate is, and what this run exits with"
    );
    let deny = format!("{SCENARIO}/plan.json");
    let args = ["check", &deny, "-p", "production", "--review-ok"];
    assert_eq!(run(&args).code, 1);
    assert_eq!(run(&["check", "nowhere.json", "--review-ok"]).code, 2);
    assert_eq!(run(&[&args[..], &["--exit-zero"]].concat()).code, 2);
}

#[test]
fn quiet_prints_nothing_and_the_exit_code_says_it() {
    let done = run(&[
        "check",
        &format!("{SCENARIO}/plan.json"),
        "-p",
        "production",
        "-q",
    ]);
    assert_eq!(
        (done.code, done.stdout.as_str(), done.stderr.as_str()),
        (1, "", "")
    );
}

#[test]
fn verbose_shows_what_each_finding_rests_on() {
    let folder = scenarios().join("run-as-changed");
    let args = ["plan.json", "--bundle", "bundle.json"];
    let short = check(&folder, &args);
    let long = check(&folder, &[&args[..], &["-v"]].concat());
    assert_eq!((short.code, long.code), (1, 1));
    for part in ["this deploy: ", "fingerprint: "] {
        assert!(
            !short.stdout.contains(part) && long.stdout.contains(part),
            "{part}"
        );
    }
}

#[test]
fn a_policy_is_found_here_or_above_up_to_the_repository() {
    let dir = tempfile::tempdir().unwrap();
    let plan = scenarios()
        .join("job-destroy/plan.json")
        .to_string_lossy()
        .into_owned();
    let below = dir.path().join("repo/a/b");
    std::fs::create_dir_all(&below).unwrap();
    std::fs::create_dir_all(dir.path().join("repo/.git")).unwrap();
    let policy = "version: 1\nextends: development\n";
    std::fs::write(dir.path().join("bundlegate.yml"), policy).unwrap();
    assert_eq!(
        check(&below, &[&plan]).code,
        1,
        "a file above the repository does not count"
    );
    std::fs::write(dir.path().join("repo/bundlegate.yml"), policy).unwrap();
    let done = check(&below, &[&plan]);
    assert_eq!(done.code, 0, "{}", done.stderr);
    assert!(
        done.stdout.contains("../../bundlegate.yml"),
        "the report names the source: {}",
        done.stdout
    );
}

#[test]
fn the_target_of_the_environment_counts_and_must_agree() {
    let folder = scenarios().join("no-change");
    let exit = |vars: &[(&str, &str)], args: &[&str]| {
        let mut command = program();
        command
            .current_dir(&folder)
            .args([
                "check",
                "plan.json",
                "-p",
                "production",
                "--bundle",
                "bundle.json",
            ])
            .args(args);
        for (name, value) in vars {
            command.env(name, value);
        }
        finish(&mut command).code
    };
    assert_eq!(exit(&[("DATABRICKS_BUNDLE_ENV", "prod")], &[]), 0);
    assert_eq!(exit(&[("DATABRICKS_BUNDLE_ENV", "staging")], &[]), 1);
    assert_eq!(
        exit(&[("DATABRICKS_BUNDLE_TARGET", "staging")], &["-t", "prod"]),
        1
    );
}

#[test]
fn a_collected_folder_is_read_and_its_manifest_believed_only_when_it_matches() {
    use sha2::Digest as _;
    let dir = tempfile::tempdir().unwrap();
    let scenario = scenarios().join("no-change");
    let mut files = serde_json::Map::new();
    for name in ["plan.json", "bundle.json", "state.json"] {
        let bytes = std::fs::read(scenario.join(name)).unwrap();
        std::fs::write(dir.path().join(name), &bytes).unwrap();
        files.insert(
            name.to_owned(),
            hex::encode(sha2::Sha256::digest(&bytes)).into(),
        );
    }
    let manifest = serde_json::json!({"schema": "bundlegate-manifest-v1", "files": files});
    std::fs::write(dir.path().join("manifest.json"), manifest.to_string()).unwrap();
    let done = check(
        dir.path(),
        &[".", "-p", "production", "-t", "prod", "-o", "json"],
    );
    assert_eq!(done.code, 0, "{}", done.stderr);
    let report: serde_json::Value = serde_json::from_str(&done.stdout).unwrap();
    assert!(report["inputs"]["state"].is_string() && report["inputs"]["bundle"].is_string());
    let other = scenario.join("bundle.json").to_string_lossy().into_owned();
    let done = check(dir.path(), &[".", "-p", "production", "--bundle", &other]);
    assert!(done.stderr.contains("--bundle is used"), "{}", done.stderr);
    std::fs::write(dir.path().join("state.json"), "{}").unwrap();
    refused(&check(dir.path(), &["."]), "manifest.json lists");
}

#[cfg(unix)]
#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let plan = scenarios().join("no-change/plan.json");
    let bundle = scenarios().join("no-change/bundle.json");
    let script = format!(
        "set -o pipefail; '{}' check '{}' --bundle '{}' -p production -o json | head -c 1 >/dev/null",
        env!("CARGO_BIN_EXE_bundlegate"),
        plan.display(),
        bundle.display()
    );
    let status = std::process::Command::new("bash")
        .args(["-c", &script])
        .status()
        .unwrap();
    assert!(status.success());
}

#[test]
fn help_and_version() {
    assert_eq!(
        run(&["--version"]).stdout.trim(),
        concat!("bundlegate ", env!("CARGO_PKG_VERSION"))
    );
    let help = run(&["--help"]);
    assert!(help.code == 0 && help.stdout.contains("Exit codes"));
    refused_usage(&run(&["chekc"]));
    refused_usage(&run(&[]));
}

#[track_caller]
fn refused_usage(done: &Done) {
    assert_eq!((done.code, done.stdout.as_str()), (2, ""));
    assert!(!done.stderr.is_empty());
}

#[test]
fn completions_and_manual_name_every_command() {
    let help = run(&["--help"]).stdout;
    let commands: Vec<&str> = help
        .lines()
        .skip_while(|line| !line.starts_with("Commands:"))
        .skip(1)
        .take_while(|line| !line.is_empty())
        .filter_map(|line| line.strip_prefix("  ")?.split(' ').next())
        .filter(|word| !word.is_empty())
        .collect();
    assert!(commands.contains(&"check") && commands.len() > 10);
    let mut pages = vec![run(&["man"])];
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        pages.push(run(&["completions", shell]));
    }
    for page in pages {
        assert_eq!((page.code, page.stderr.as_str()), (0, ""));
        for command in &commands {
            assert!(page.stdout.contains(command), "{command}: {}", page.stdout);
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let there = folder.path().to_string_lossy().into_owned();
    assert_eq!(run(&["man", "--out", &there]).code, 0);
    for command in &commands {
        let page = folder.path().join(format!("bundlegate-{command}.1"));
        assert!(page.is_file(), "{command}");
    }
    refused(
        &run(&["man", "--out", "/nowhere"]),
        "--out: expected a folder",
    );
    refused(&run(&["completions", "cmd"]), "possible values");
}
