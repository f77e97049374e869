//! The recorded scenarios: what `check` must answer, and every deny and review finding of each, read by a person.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::Value;

use crate::support::{finish, program, scenarios};

/// What `expected.json` says about one scenario.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Expected {
    exit: i32,
    fires: Vec<String>,
    quiet: Vec<String>,
    #[serde(default)]
    never: Vec<String>,
    dir: Option<String>,
    policy: Option<String>,
    policy_text: Option<String>,
    target: Option<String>,
    bundle: Option<Value>,
    state: Option<Value>,
    warnings: Option<String>,
    #[serde(rename = "verify")]
    _verify: Option<i32>,
    #[serde(rename = "after")]
    _after: Option<String>,
}

fn arguments(folder: &Path, want: &Expected, policy: &str) -> Vec<String> {
    let mut args: Vec<String> = [
        "check",
        "plan.json",
        "-p",
        policy,
        "-t",
        want.target.as_deref().unwrap_or("prod"),
    ]
    .map(str::to_owned)
    .to_vec();
    let named = |given: &Option<Value>, usual: &str| match given {
        Some(Value::String(name)) => Some(name.clone()),
        Some(_) => None,
        None => Some(usual.to_owned()),
    };
    for (flag, name) in [
        ("--bundle", named(&want.bundle, "bundle.json")),
        ("--state", named(&want.state, "state.json")),
        ("--warnings", want.warnings.clone()),
    ] {
        if let Some(name) = name.filter(|n| folder.join(n).exists()) {
            args.extend([flag.to_owned(), name]);
        }
    }
    args
}

#[test]
fn every_scenario_comes_out_as_expected() {
    let all: BTreeMap<String, Expected> = serde_json::from_str(
        &std::fs::read_to_string(scenarios().join("expected.json")).expect("expected.json"),
    )
    .expect("JSON");
    assert_eq!(all.len(), 84, "the whole table is there");
    let temp = tempfile::tempdir().expect("a folder");
    let mut wrong = Vec::new();
    let mut seen = String::new();
    for (name, want) in &all {
        let folder = scenarios().join(want.dir.as_deref().unwrap_or(name));
        let policy = match &want.policy_text {
            Some(text) => {
                let file = temp.path().join(format!("{name}.yml"));
                std::fs::write(&file, text).expect("a policy");
                file.to_string_lossy().into_owned()
            }
            None => want
                .policy
                .clone()
                .unwrap_or_else(|| "production".to_owned()),
        };
        let args = arguments(&folder, want, &policy);
        let run = |format: &str| {
            finish(
                program()
                    .current_dir(&folder)
                    .args(&args)
                    .args(["-o", format]),
            )
        };
        let done = run("json");
        if done.code != want.exit {
            wrong.push(format!(
                "{name}: exits {}, expected {}: {}",
                done.code, want.exit, done.stderr
            ));
        }
        for format in [
            "json", "text", "markdown", "html", "sarif", "junit", "github", "azure",
        ] {
            if want.never.is_empty() {
                continue;
            }
            let done = run(format);
            wrong.extend(
                want.never
                    .iter()
                    .filter(|n| done.stdout.contains(*n) || done.stderr.contains(*n))
                    .map(|_| format!("{name}: -o {format} prints a secret")),
            );
        }
        if want.exit == 2 {
            assert!(
                done.stdout.is_empty() && !done.stderr.trim().is_empty(),
                "{name}"
            );
            continue;
        }
        let report: Value = serde_json::from_str(&done.stdout)
            .unwrap_or_else(|e| panic!("{name}: {e}: {}", done.stderr));
        let (have, unknown, lines) = findings(&report);
        for line in &want.fires {
            let exact = line.trim_end_matches('?');
            if !have.contains(exact) {
                wrong.push(format!("{name}: {exact} does not fire"));
            } else if line.ends_with('?') && !unknown.contains(exact) {
                wrong.push(format!("{name}: {exact} is not said to be unknown"));
            }
        }
        wrong.extend(
            want.quiet
                .iter()
                .filter(|l| have.contains(l.as_str()))
                .map(|l| format!("{name}: {l} fires and must not")),
        );
        seen.push_str(&format!("{name} (exit {})\n{lines}", done.code));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    insta::assert_snapshot!(seen);
}

/// What a report's live findings are called in `expected.json`: `rule` and `rule key`; those of unknown status; and the
/// deny and review ones, a line each.
fn findings(report: &Value) -> (BTreeSet<String>, BTreeSet<String>, String) {
    let (mut have, mut unknown, mut lines) = (BTreeSet::new(), BTreeSet::new(), String::new());
    for f in report["findings"].as_array().expect("findings") {
        let text = |name: &str| f[name].as_str().unwrap_or_default();
        if text("status") == "waived" {
            continue;
        }
        let mut names = vec![text("rule").to_owned()];
        if let Some(key) = f["resource"].as_str() {
            names.push(format!("{} {key}", text("rule")));
        }
        if text("status") == "unknown" {
            unknown.extend(names.clone());
        }
        if matches!(text("level"), "deny" | "review") {
            let place = f["location"]["line"]
                .as_u64()
                .map_or(String::new(), |l| format!(" :{l}"));
            lines.push_str(&format!(
                "  {} {} {}{place}: {}\n",
                text("level"),
                names.last().map_or("", String::as_str),
                text("path"),
                text("message")
            ));
        }
        have.extend(names);
    }
    (have, unknown, lines)
}
