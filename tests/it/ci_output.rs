//! What a CI platform gets by itself, and that it can be switched off.

use crate::support::{Done, finish, program, scenarios};

fn check(vars: &[(&str, &str)], args: &[&str]) -> Done {
    let mut command = program();
    command
        .current_dir(scenarios().join("job-destroy"))
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
    finish(&mut command)
}

#[test]
fn github_gets_annotations_a_summary_and_outputs() {
    let dir = tempfile::tempdir().unwrap();
    let file = |name: &str| dir.path().join(name).to_string_lossy().into_owned();
    let (summary, outputs) = (file("summary"), file("outputs"));
    std::fs::write(&summary, "before\n").unwrap();
    let vars = [
        ("GITHUB_ACTIONS", "true"),
        ("GITHUB_STEP_SUMMARY", summary.as_str()),
        ("GITHUB_OUTPUT", outputs.as_str()),
    ];
    let done = check(&vars, &["-o", "json"]);
    assert_eq!(done.code, 1);
    assert!(
        serde_json::from_str::<serde_json::Value>(&done.stdout).is_ok(),
        "standard output stays one document"
    );
    assert!(done.stderr.contains("::error"), "{}", done.stderr);
    let page = std::fs::read_to_string(&summary).unwrap();
    assert!(
        page.starts_with("before\n") && page.contains("jobs.report"),
        "{page}"
    );
    assert!(
        std::fs::read_to_string(&outputs)
            .unwrap()
            .contains("closed")
    );
    std::fs::remove_file(&outputs).unwrap();
    let done = check(&vars, &["-o", "json", "--no-ci-output"]);
    assert_eq!((done.code, done.stderr.as_str()), (1, ""));
    assert!(!std::path::Path::new(&outputs).exists());
}

#[test]
fn azure_gets_issues_variables_and_a_summary() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().to_string_lossy().into_owned();
    let done = check(
        &[("TF_BUILD", "True"), ("AGENT_TEMPDIRECTORY", &folder)],
        &[],
    );
    assert_eq!(done.code, 1);
    assert!(
        done.stderr.contains("##vso[task.logissue type=error"),
        "{}",
        done.stderr
    );
    assert!(
        done.stderr.contains("##vso[task.uploadsummary]"),
        "{}",
        done.stderr
    );
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
}

#[test]
fn a_page_shows_what_changes_too() {
    let done = check(&[], &["-o", "markdown"]);
    assert!(
        done.stdout.contains("jobs.report.permissions"),
        "{}",
        done.stdout
    );
}
