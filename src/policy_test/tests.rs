use std::path::Path;

use super::*;
use crate::policy::{PolicyRef, load, load_cases};
use crate::rules::known;

fn policy(text: &str) -> Policy {
    let source = PolicyRef::File("bundlegate.yml".into());
    load(&source, &known(), &mut |_: &Path| Ok(text.to_owned())).unwrap_or_else(|e| panic!("{e}"))
}

fn run_with(policy_text: &str, cases: &str) -> Result<Run, String> {
    let text = format!("policy: bundlegate.yml\ncases:\n{cases}");
    let file = load_cases("tests.yml", text).map_err(|d| d.to_string())?;
    let now = "2026-10-01T00:00:00Z".parse().unwrap();
    let mut read = |path: &Path| {
        match path.to_str() {
        Some("here/plan.json") => Ok(br#"{"plan_version": 2, "cli_version": "1.13.0", "plan": {"resources.jobs.a": {"action": "delete", "remote_state": {"name": "a"}}}}"#.to_vec()),
        Some("here/bad.json") => Ok(b"{\"plan\":\n nothing}".to_vec()),
        _ => Err("expected a file, found nothing at this path".to_owned()),
    }
    };
    let policy = policy(policy_text);
    run(
        "tests.yml",
        &file,
        &policy,
        Path::new("here"),
        now,
        &mut read,
    )
    .map(|suite| Run {
        suites: vec![suite],
    })
    .map_err(|all| {
        let all: Vec<String> = all.iter().map(|d| d.render(false)).collect();
        all.join("\n\n")
    })
}

const POLICY: &str = "version: 1\nextends: production\nprotect: [schemas.db]\nwaivers:\n  - {rule: destroy, resource: jobs.old, until: 2026-12-31, reason: replaced, owner: platform}\n";

const DELETES: &str = r#"
    entries:
      jobs.old: {action: delete, remote_state: {name: old}}
      jobs.a: {action: delete, remote_state: {name: a}}
      schemas.db: {action: skip, remote_state: {name: db}}
    bundle: {bundle: {mode: production}, resources: {schemas: {db: {name: db}}}}
    target: prod"#;

fn case(expect: &str) -> String {
    format!(
        "  - name: two jobs go\n{}\n    expect: {expect}\n",
        DELETES.trim_start_matches('\n')
    )
}

#[test]
fn what_is_expected_is_found() {
    let run = run_with(
        POLICY,
        &case("{verdict: closed, findings: [destroy jobs.a], not: [recreate, destroy schemas.db, destroy jobs.old], waived: [destroy jobs.old]}"),
    )
    .unwrap();
    assert!(run.passes(), "{}", text(&run, false));
    let only = run_with(
        POLICY,
        &case("{only: true, findings: [destroy, prevent-destroy-missing, unlocked]}"),
    )
    .unwrap();
    assert_eq!(only.suites[0].outcomes[0].verdict, Verdict::Closed);
}

#[test]
fn a_failure_shows_what_differs() {
    let run = run_with(
        POLICY,
        &case("{verdict: review, findings: [recreate jobs.a, destroy schemas.db, destroy jobs.old], not: [destroy jobs.a, remote-edit, ignored-field], unknown: [destroy jobs.a], waived: [destroy jobs.a]}"),
    )
    .unwrap();
    assert!(!run.passes());
    let shown = text(&run, false);
    let (failure, coverage) = shown.split_once("\n\n").unwrap();
    insta::assert_snapshot!(failure, @r#"
    tests.yml (policy bundlegate.yml)
      FAIL  two jobs go (tests.yml:3:5)
              ! verdict: expected review, found closed
              - recreate jobs.a: expected; not found
              - destroy schemas.db: expected; found only destroy jobs.a, destroy jobs.old
              - destroy jobs.old: expected; found, but waived
              - destroy jobs.a: expected as unknown; found, and certain
              - destroy jobs.a: expected as waived; found, and certain
              + destroy jobs.a: not expected; deny: The job is deleted.
              ? ignored-field: not found, which says nothing; the rule did not run: it needs --warnings
    "#);
    insta::assert_snapshot!(coverage.lines().take(2).collect::<Vec<_>>().join("\n"), @r#"
    1 case: 0 passed, 1 failed
    2 of the 64 rules that are on say something in a case; no case shows:
    "#);
    let never = coverage.split_once("no case shows:").unwrap().1;
    assert!(
        never.contains(" recreate,") && !never.contains(" destroy,"),
        "{never}"
    );
    insta::assert_snapshot!(junit(&run), @r#"
    <?xml version="1.0" encoding="UTF-8"?>
    <testsuites name="bundlegate policy test" tests="1" skipped="0" failures="1" errors="0">
        <testsuite name="tests.yml" tests="1" skipped="0" errors="0" failures="1">
            <testcase name="two jobs go" classname="tests.yml">
                <failure message="! verdict: expected review, found closed">tests.yml:3:5
    ! verdict: expected review, found closed
    - recreate jobs.a: expected; not found
    - destroy schemas.db: expected; found only destroy jobs.a, destroy jobs.old
    - destroy jobs.old: expected; found, but waived
    - destroy jobs.a: expected as unknown; found, and certain
    - destroy jobs.a: expected as waived; found, and certain
    + destroy jobs.a: not expected; deny: The job is deleted.
    ? ignored-field: not found, which says nothing; the rule did not run: it needs --warnings</failure>
            </testcase>
        </testsuite>
    </testsuites>
    "#);
    let all: serde_json::Value = serde_json::from_str(&json(&run)).unwrap();
    assert_eq!(all["failed"], 1);
    assert_eq!(all["files"][0]["cases"][0]["location"]["line"], 3);
    assert_eq!(all["coverage"]["fired"][0], "destroy");
}

/// The text of one failure without the rest.
fn mismatches(policy: &str, cases: &str) -> Vec<Mismatch> {
    let run = run_with(policy, cases).unwrap();
    run.suites[0].outcomes[0].mismatches.clone()
}

#[test]
fn a_rule_that_did_not_run_is_no_proof() {
    let cases = "  - name: x\n    entries: {jobs.a: {action: skip, remote_state: {}}}\n    expect: {not: [ignored-field]}\n";
    assert!(matches!(
        mismatches(POLICY, cases).as_slice(),
        [Mismatch::NotRun { line, why }] if line == "ignored-field" && why.contains("--warnings")
    ));
}

#[test]
fn time_is_the_cases_then_the_files_then_the_runs() {
    let waived = |now: &str| {
        let cases = format!(
            "  - name: x\n{}\n    now: {now}\n    expect: {{waived: [destroy jobs.old]}}\n",
            DELETES.trim_start_matches('\n')
        );
        mismatches(POLICY, &cases).is_empty()
    };
    assert!(waived("2026-12-31T23:59:59Z"));
    assert!(!waived("2027-01-01T00:00:00Z"));
}

#[test]
fn files_are_read_relative_to_the_test_file() {
    let run = run_with(
        POLICY,
        "  - name: x\n    plan: plan.json\n    expect: {findings: [destroy jobs.a, missing-input]}\n",
    )
    .unwrap();
    assert!(run.passes(), "{}", text(&run, false));
}

#[test]
fn an_inline_state_belongs_to_the_plan() {
    let cases = "  - name: x\n    head: {serial: 7, cli_version: null}\n    entries: {jobs.a: {action: skip, remote_state: {}}}\n    state: {jobs.a: {name: a}}\n    expect: {not: [state-mismatch]}\n";
    assert_eq!(mismatches("version: 1\nextends: development\n", cases), []);
}

#[test]
fn what_cannot_be_judged_is_refused_with_its_place() {
    let bad = "  - name: a\n    plan: none.json\n    expect: {findings: [destory jobs.a]}
  - name: b\n    plan: bad.json\n    expect: {verdict: open}
  - name: c\n    plan: plan.json\n    expect: {not: [destroy jobs.b]}
  - name: d\n    entries: {jobs.a: {action: explode}}\n    expect: {verdict: open}
  - name: e\n    entries: {resources.jobs.a: {action: skip}}\n    expect: {verdict: open}\n";
    insta::assert_snapshot!(run_with(POLICY, bad).unwrap_err(), @r#"
    error: there is no rule "destory"
     --> tests.yml:5:25
      |
    5 |     expect: {findings: [destory jobs.a]}
      |                         ^^^^^^^^^^^^^^ did you mean `destroy`?
      |
      = help: `bundlegate rules` lists the rules

    error: cannot read none.json: expected a file, found nothing at this path
     --> tests.yml:4:11
      |
    4 |     plan: none.json
      |           ^^^^^^^^^

    error: bad.json:2:3: expected a JSON value, found something else (a comment, `NaN`, a quote of another kind, or a trailing comma)
     --> tests.yml:7:11
      |
    7 |     plan: bad.json
      |           ^^^^^^^^

    error: no resource "jobs.b" in this case: that nothing is found about it says nothing
      --> tests.yml:11:20
       |
    11 |     expect: {not: [destroy jobs.b]}
       |                    ^^^^^^^^^^^^^^ did you mean `jobs.a`?

    error: expected an action (skip, resize, update, update_id, create, recreate, delete), found "explode"; the Databricks CLI would start and fail half-way
      --> tests.yml:13:14
       |
    13 |     entries: {jobs.a: {action: explode}}
       |              ^

    error: expected a key without `resources.`
      --> tests.yml:16:15
       |
    16 |     entries: {resources.jobs.a: {action: skip}}
       |               ^^^^^^^^^^^^^^^^ write `jobs.a`
    "#);
}

#[test]
fn hostile_text_cannot_write_to_the_terminal() {
    let run = run_with(
        POLICY,
        "  - name: \"a\\e[2Jb\\u202e\"\n    entries: {\"jobs.x\\e[31m\": {action: delete, remote_state: {}}}\n    expect: {only: true}\n",
    )
    .unwrap();
    for shown in [text(&run, false), junit(&run)] {
        assert!(!shown.contains(['\u{1b}', '\u{202e}']), "{shown}");
    }
}
