//! `authorize` beside the tampering table: ways to get a yes, where the facts come from, and how a no reads.

use std::fs;

use serde_json::Value;

use crate::gate::{self, Set, refused};
use crate::support::{self, Done};

fn checks(done: &Done) -> Vec<(String, String)> {
    let report: Value = serde_json::from_str(&done.stdout).unwrap();
    report["body"]["authorize"]["checks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|c| {
            let text = |name: &str| c[name].as_str().unwrap_or_default().to_owned();
            (text("check"), text("result"))
        })
        .collect()
}

#[test]
fn yes_with_every_check() {
    let set = Set::good();
    let done = set.authorize_with(&["-o", "json"]);
    assert_eq!(done.code, 0, "{done:?}");
    let checks = checks(&done);
    assert!(
        checks.iter().all(|(_, result)| result == "passed"),
        "{checks:?}"
    );
    let text = set.authorize_with(&["--explain"]);
    for (name, _) in &checks {
        assert!(
            text.stdout.contains(&format!("ok      {name}")),
            "{name}: {text:?}"
        );
    }
    assert!(
        text.stdout
            .starts_with("authorized: approved by rm one, rm two\n"),
        "{text:?}"
    );
    let quiet = set.authorize_with(&["-q"]);
    assert_eq!((quiet.code, quiet.stdout.as_str()), (0, ""));
}

#[test]
fn no_in_words() {
    let set = Set::good();
    fs::remove_file(set.path(&set.approval("rm2@example.com"))).unwrap();
    set.resign("rm1@example.com", 1, |a| a.deployment.serial = Some(0));
    let done = set.authorize();
    assert_eq!(done.code, 4);
    insta::with_settings!({filters => vec![("[0-9a-f]{12}", "[12 digits]")]}, {
        insta::assert_snapshot!(done.stdout, @r#"
        refused: 1 check says no: serial (exit 4)

        no      serial  [12 digits]-rm1@example.com.json
          expected: 1
          found:    an approval of 0
          do:       Approve again what is there now, or bring back what was approved.

        plan    plan.json (CLI 1.13.0, serial 1, sha256 [12 digits])
        target  prod
        policy  bundlegate.yml (sha256 [12 digits])
        does    1 update, 6 skip
        "#);
    });
}

/// What a format prints, with digests replaced.
fn snapshot(name: &str, done: &Done) {
    let filters = vec![
        ("[0-9a-f]{64}", "[64 digits]"),
        ("[0-9a-f]{40}", "[40 digits]"),
        ("[0-9a-f]{12}", "[12 digits]"),
        // The head and the style of every page.
        ("(?s)<!doctype html>.*?</head>\n", ""),
        ("(?s)<script>.*?</script>\n", ""),
    ];
    insta::with_settings!({filters => filters}, {
        insta::assert_snapshot!(name, done.stdout);
    });
}

#[test]
fn no_in_every_format() {
    let set = Set::good();
    fs::remove_file(set.path(&set.approval("rm2@example.com"))).unwrap();
    set.resign("rm1@example.com", 1, |a| a.deployment.serial = Some(0));
    for format in ["markdown", "html", "github", "azure", "junit", "sarif"] {
        let done = set.authorize_with(&["-o", format]);
        assert_eq!(done.code, 4, "{done:?}");
        snapshot(&format!("refused_{format}"), &done);
    }
}

#[test]
fn yes_in_every_format() {
    let set = Set::good();
    for format in ["markdown", "github", "azure", "junit"] {
        let done = set.authorize_with(&["-o", format, "--explain"]);
        assert_eq!(done.code, 0, "{done:?}");
        snapshot(&format!("authorized_{format}"), &done);
    }
}

#[test]
fn a_run_on_github_says_which_check_says_no() {
    let mut set = Set::good();
    fs::remove_file(set.path(&set.approval("rm2@example.com"))).unwrap();
    let file = |name: &str| set.path(name).display().to_string();
    let (summary, outputs) = (file("summary.md"), file("outputs"));
    set.env = [
        ("GITHUB_ACTIONS", "true"),
        ("GITHUB_STEP_SUMMARY", &summary),
        ("GITHUB_OUTPUT", &outputs),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .into();
    let done = set.authorize();
    assert_eq!(done.code, 3, "{done:?}");
    assert!(
        done.stderr
            .contains("::error title=review authorize/quorum this deployment::"),
        "{done:?}"
    );
    let page = fs::read_to_string(&summary).unwrap();
    assert!(
        page.starts_with("### refused: 1 check says no: quorum (exit 3)\n")
            && page.contains("`authorize/quorum`"),
        "{page}"
    );
    let outputs = fs::read_to_string(&outputs).unwrap();
    assert!(
        outputs.contains("\n1 check says no: quorum (exit 3)\n"),
        "{outputs}"
    );
}

#[test]
fn an_embedded_policy_names_no_way() {
    let set = Set::good();
    let done = set.authorize_with(&["-p", "production", "-o", "json"]);
    assert_eq!(refused(&done), (vec!["approval-way".to_owned()], 3));
    let text = set.authorize_with(&["-p", "production"]);
    assert!(
        text.stdout.contains("this policy names no way to approve"),
        "{text:?}"
    );
    assert!(text.stdout.contains("bundlegate policy init"), "{text:?}");
}

#[test]
fn by_intent_a_plan_made_again_will_do() {
    let set = Set::good();
    set.on_main(|set| set.replace("repo/bundlegate.yml", "match: plan", "match: intent"));
    for seed in [1, 2] {
        assert_eq!(set.decide("approve", seed).code, 0);
    }
    let mut plan = set.json("repo/plan.json");
    plan["plan"]["resources.jobs.nightly"]["remote_state"]["created_time"] = 1.into();
    set.write("repo/plan.json", &plan.to_string());
    let done = set.authorize();
    assert_eq!(done.code, 0, "{done:?}");
    // A rejection of the approved file stops the same intent in another file.
    let other = set.copy();
    let good = Set::good();
    fs::copy(good.path("repo/plan.json"), other.path("repo/plan.json")).unwrap();
    assert_eq!(other.decide("reject", 3).code, 0);
    other.write("repo/plan.json", &plan.to_string());
    let done = other.authorize_with(&["-o", "json"]);
    assert_eq!(refused(&done), (vec!["rejection".to_owned()], 4));
}

#[test]
fn a_plan_that_changes_nothing_still_ships_code() {
    let set = Set::good();
    let scenario = support::scenarios().join("no-change");
    for name in ["plan.json", "state.json", "bundle.json"] {
        fs::copy(scenario.join(name), set.path(&format!("repo/{name}"))).unwrap();
    }
    set.write("repo/.gitignore", ".databricks/\ndist/\n*.env\n*.tmp\n");
    let done = set.authorize_with(&["-o", "json"]);
    assert_eq!(done.code, 4, "the approvals are of another plan: {done:?}");
    fs::remove_dir_all(set.path("repo/approvals")).unwrap();
    let done = set.authorize_with(&["-o", "json"]);
    assert_eq!(refused(&done), (vec!["quorum".to_owned()], 3));
    for seed in [1, 2] {
        assert_eq!(set.decide("approve", seed).code, 0);
    }
    assert_eq!(set.authorize().code, 0);
}

#[test]
fn a_first_deploy_is_refused_without_proof() {
    let mut set = Set::good();
    let scenario = support::scenarios().join("first-deploy");
    for name in ["plan.json", "bundle.json"] {
        fs::copy(scenario.join(name), set.path(&format!("repo/{name}"))).unwrap();
    }
    fs::remove_dir_all(set.path("repo/approvals")).unwrap();
    fs::remove_file(set.path("repo/state.json")).unwrap();
    let at = set.args.iter().position(|a| a == "--state").unwrap();
    set.args.drain(at..at + 2);
    for seed in ["1", "2"] {
        let key = format!("../keys/{seed}");
        let digest = set.plan_sha256();
        let done = support::run_in(
            &set.path("repo"),
            &[
                "approve",
                "plan.json",
                "--bundle",
                "bundle.json",
                "--trusted-ref",
                "main",
                "--key",
                &key,
                "--yes",
                "--digest",
                &digest,
            ],
        );
        assert_eq!(done.code, 0, "{done:?}");
    }
    let done = set.authorize_with(&["-o", "json"]);
    assert_eq!(refused(&done), (vec!["first-deploy-proof".to_owned()], 6));
}

#[test]
fn who_started_the_run_comes_from_the_platform() {
    let mut set = Set::good();
    set.on_main(|set| {
        let policy = gate::POLICY
            .replace(
                "git: [rm1@example.com]",
                "git: [rm1@example.com], github: {login: rm-one, id: 1001}",
            )
            .replace(
                "git: [rm2@example.com]",
                "git: [rm2@example.com], github: {login: rm-two, id: 1002}",
            );
        set.write("repo/bundlegate.yml", &policy);
    });
    let at = set.args.iter().position(|a| a == "--actor").unwrap();
    set.args.drain(at..at + 2);
    let run = |set: &mut Set, actor: &str, id: &str, again: &str| {
        set.env = [
            ("GITHUB_ACTIONS", "true"),
            ("GITHUB_ACTOR", actor),
            ("GITHUB_ACTOR_ID", id),
            ("GITHUB_TRIGGERING_ACTOR", again),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into();
        refused(&set.authorize_with(&["-o", "json"]))
    };
    for seed in [1, 2] {
        assert_eq!(set.decide("approve", seed).code, 0);
    }
    let no = (vec!["separation".to_owned()], 4);
    assert_eq!(run(&mut set, "dev", "7", "dev"), (vec![], 0));
    assert_eq!(run(&mut set, "rm-one", "1001", "rm-one"), no);
    // The id decides, whatever the login is called now.
    assert_eq!(run(&mut set, "renamed", "1001", "renamed"), no);
    // Who ran it again counts too.
    assert_eq!(run(&mut set, "dev", "7", "rm-two"), no);
    set.write(
        "event.json",
        r#"{"pull_request": {"user": {"login": "x", "id": 1002}}}"#,
    );
    let event = set.path("event.json").display().to_string();
    set.env = vec![
        ("GITHUB_ACTIONS".to_owned(), "true".to_owned()),
        ("GITHUB_ACTOR".to_owned(), "dev".to_owned()),
        ("GITHUB_EVENT_PATH".to_owned(), event),
    ];
    assert_eq!(refused(&set.authorize_with(&["-o", "json"])), no);
}

#[test]
fn a_shallow_clone_cannot_tell_the_author() {
    let mut set = Set::good();
    let shallow = set.path("repo/.git/shallow");
    fs::write(shallow, format!("{}\n", set.git(&["rev-parse", "HEAD"]))).unwrap();
    let done = set.authorize_with(&["-o", "json"]);
    assert_eq!(refused(&done), (vec!["separation".to_owned()], 4));
    assert!(done.stderr.contains("fetch-depth: 0"), "{done:?}");
    // Who opened the pull request is not all who wrote it.
    set.write(
        "event.json",
        r#"{"pull_request": {"user": {"login": "dev", "id": 7}}}"#,
    );
    let event = set.path("event.json").display().to_string();
    set.env = vec![("GITHUB_EVENT_PATH".to_owned(), event)];
    let done = set.authorize_with(&["-o", "json"]);
    assert_eq!(refused(&done), (vec!["separation".to_owned()], 4));
    let done = set.authorize_with(&["--author", "dev@example.com"]);
    assert_eq!(done.code, 0, "{done:?}");
}

#[test]
fn outside_git_the_digests_must_be_given() {
    let set = Set::good();
    fs::remove_dir_all(set.path("repo/.git")).unwrap();
    fs::remove_dir_all(set.path("repo/approvals")).unwrap();
    // The test's own folder may lie in a repository; `GIT_CEILING_DIRECTORIES` keeps git from looking there.
    let ceiling = set.path("").display().to_string();
    let run = |args: &[&str]| {
        let mut command = support::program();
        command
            .current_dir(set.path("repo"))
            .env("GIT_CEILING_DIRECTORIES", &ceiling)
            .args(args)
            .args(["--bundle", "bundle.json", "--state", "state.json"]);
        support::finish(&mut command)
    };
    let digest = set.plan_sha256();
    for key in ["../keys/1", "../keys/2"] {
        let done = run(&[
            "approve",
            "plan.json",
            "--key",
            key,
            "--yes",
            "--digest",
            &digest,
        ]);
        assert_eq!(done.code, 0, "{done:?}");
    }
    let who = ["--author", "dev@example.com", "--actor", "ci@example.com"];
    let authorize = |more: &[&str]| run(&[&["authorize", "plan.json"], &who[..], more].concat());
    let says = |done: &Done, text: &str| {
        assert_eq!(done.code, 2, "{done:?}");
        assert!(done.stderr.contains(text), "{done:?}");
    };
    let report = run(&["digest", "plan.json", "-o", "json"]);
    let report: Value = serde_json::from_str(&report.stdout).unwrap();
    let policy = report["policy"]["sha256"].as_str().unwrap().to_owned();
    let sha256 = |name: &str| {
        use sha2::Digest as _;
        hex::encode(sha2::Sha256::digest(fs::read(set.path(name)).unwrap()))
    };
    let signers = sha256("repo/.bundlegate/allowed_signers");
    let revoked = sha256("repo/.bundlegate/revoked");
    says(&authorize(&[]), "--policy-sha256");
    says(
        &authorize(&["--policy-sha256", &policy]),
        "--signers-sha256",
    );
    says(
        &authorize(&["--policy-sha256", &policy, "--signers-sha256", &signers]),
        "--revoked-sha256",
    );
    let all = [
        "--policy-sha256",
        &policy,
        "--signers-sha256",
        &signers,
        "--revoked-sha256",
        &revoked,
    ];
    let done = authorize(&all);
    assert_eq!(done.code, 0, "{done:?}");
    says(&authorize(&["--trusted-ref", "main"]), "found none");
    set.write("repo/src/new.py", "x");
    assert_eq!(authorize(&all).code, 4);
    set.write("repo/.bundlegate/allowed_signers", "");
    says(&authorize(&all), "not the file that was agreed on");
}

#[test]
fn help_is_whole() {
    for command in ["digest", "approve", "reject", "authorize", "log"] {
        let done = support::run(&[command, "--help"]);
        assert_eq!(done.code, 0);
        if command != "log" {
            assert!(done.stdout.contains("Examples:"), "{done:?}");
            assert!(done.stdout.contains("Exit codes:"), "{done:?}");
        }
        if !matches!(command, "digest") {
            assert!(!done.stdout.contains("--now"), "{done:?}");
        }
    }
}
