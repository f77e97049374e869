//! The digests: published vectors, pairs of recorded plans, and what must not or must change the intent.

use std::fs;

use bundlegate::digest::{Intent, Normaliser, intent};
use bundlegate::json::Limits;
use bundlegate::plan;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::{run, scenarios};

fn intent_of(text: &str) -> Option<Intent> {
    intent(&plan::read(text.as_bytes(), &Limits::default()).ok()?)
}

fn digest_of(text: &str) -> String {
    intent_of(text).expect("a plan").digest.to_string()
}

fn recorded(scenario: &str, file: &str) -> String {
    fs::read_to_string(scenarios().join(scenario).join(file)).expect("read")
}

/// The vectors of the documentation: plan, canonical form, digest.
fn vectors() -> Vec<[String; 3]> {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/digests.md");
    let text = fs::read_to_string(page).expect("read");
    text.split("```vector\n")
        .skip(1)
        .map(|block| {
            let lines: Vec<String> = block.lines().take(3).map(str::to_owned).collect();
            lines.try_into().expect("three lines")
        })
        .collect()
}

#[test]
fn published_vectors() {
    let vectors = vectors();
    assert!(vectors.len() >= 20, "{}", vectors.len());
    for [plan, canonical, digest] in &vectors {
        let found = intent_of(plan).unwrap_or_else(|| panic!("not a plan: {plan}"));
        assert_eq!(found.canonical(), *canonical, "{plan}");
        assert_eq!(found.digest.as_str(), digest, "{plan}");
    }
    let distinct: std::collections::BTreeSet<_> = vectors.iter().map(|v| &v[2]).collect();
    assert_eq!(
        vectors.len() - distinct.len(),
        3,
        "three vectors repeat another one's intent"
    );
}

#[test]
fn every_normaliser_is_on_the_page() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/digests.md");
    let text = fs::read_to_string(page).expect("read");
    for normaliser in Normaliser::ALL {
        assert!(text.contains(&format!("| `{}` |", normaliser.as_str())));
        assert!(!normaliser.reason().is_empty());
    }
}

/// A fresh plan after a deploy has the same intent exactly where the deploy wrote nothing.
#[test]
fn recorded_pairs() {
    let mut same = Vec::new();
    for entry in fs::read_dir(scenarios()).expect("read") {
        let folder = entry.expect("read").path();
        let read = |file: &str| fs::read_to_string(folder.join(file)).ok();
        let (Some(before), Some(after)) = (read("plan.json"), read("after.json")) else {
            continue;
        };
        let (Some(before), Some(after)) = (intent_of(&before), intent_of(&after)) else {
            continue;
        };
        if before.digest == after.digest {
            same.push(
                folder
                    .file_name()
                    .expect("a name")
                    .to_string_lossy()
                    .into_owned(),
            );
        }
    }
    same.sort();
    assert_eq!(
        same,
        [
            "change-left-out",
            "code-only-change",
            "no-change",
            "prevent-destroy-kept",
            "run-as-drift-pipeline"
        ]
    );
}

/// The job runs at each deploy: planned twice against one state, only the UUIDs differ.
#[test]
fn a_job_run_planned_again() {
    let first = recorded("job-run-on-deploy", "plan.json");
    let mut again: Value =
        serde_json::from_str(&recorded("job-run-on-deploy", "after.json")).expect("JSON");
    let serial = serde_json::from_str::<Value>(&first).expect("JSON")["serial"].clone();
    assert_ne!(
        digest_of(&first),
        digest_of(&again.to_string()),
        "the serial is in it"
    );
    again["serial"] = serial;
    assert_eq!(digest_of(&first), digest_of(&again.to_string()));
    let noted = intent_of(&first).expect("a plan").left_out;
    assert!(
        noted
            .iter()
            .all(|(by, key, _)| *by == Normaliser::JobRunTrigger && key == "job_runs.migrate")
    );
    assert_eq!(noted.len(), 1, "{noted:?}");
}

#[test]
fn the_plan_digest_is_sha256sum() {
    use sha2::Digest as _;
    let path = "tests/scenarios/no-change/plan.json";
    let expected = hex::encode(sha2::Sha256::digest(recorded("no-change", "plan.json")));
    let done = run(&["digest", path, "-p", "production", "-o", "json"]);
    assert_eq!(done.code, 0, "{done:?}");
    let report: Value = serde_json::from_str(&done.stdout).expect("JSON");
    assert_eq!(report["body"]["digest"]["plan"], json!(expected));
    assert_eq!(report["plan"]["sha256"], json!(expected));
    assert_eq!(report["body"]["digest"]["intent"], report["plan"]["intent"]);
    assert_eq!(
        report["body"]["digest"]["policy"],
        report["policy"]["sha256"]
    );
    assert_eq!(report["body"]["digest"]["source"], Value::Null);
}

#[test]
fn explained_without_secrets() {
    for scenario in ["secret-create", "serving-endpoint-secret"] {
        let plan = recorded(scenario, "plan.json");
        let path = format!("tests/scenarios/{scenario}/plan.json");
        for format in ["text", "json"] {
            let done = run(&[
                "digest",
                &path,
                "-p",
                "production",
                "--explain",
                "-o",
                format,
            ]);
            assert_eq!(done.code, 0, "{done:?}");
            assert!(done.stdout.contains("(secret)"), "{done:?}");
            for secret in ["not-a-real", "hunter2"] {
                if plan.contains(secret) {
                    assert!(
                        !done.stdout.contains(secret),
                        "{scenario} {format}: {done:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn redacted_fields_are_listed() {
    let text = json!({"plan_version": 2, "lineage": "l", "serial": 1, "plan": {
        "resources.secrets.s": {"action": "update", "new_state": {"value": {"value": "[redacted]"}},
            "changes": {"value": {"action": "update", "old": "[redacted]", "new": "x"}}}}})
    .to_string();
    assert_eq!(
        intent_of(&text).expect("a plan").redacted,
        ["secrets.s value", "secrets.s value"]
    );
}

/// The next number of a linear congruential generator.
fn next(seed: &mut u64) -> usize {
    *seed = seed
        .wrapping_mul(6364136223846793005)
        .wrapping_add(1442695040888963407);
    usize::try_from(*seed >> 33).unwrap_or(0)
}

/// The document in another order of keys and with white space between everything, by the bits of `seed`.
fn shuffled(value: &Value, seed: &mut u64, out: &mut String) {
    let space = [" ", "\n", "\t", "", "\r\n  "];
    match value {
        Value::Object(members) => {
            let mut all: Vec<_> = members.iter().collect();
            for at in (1..all.len()).rev() {
                all.swap(at, next(seed) % (at + 1));
            }
            out.push('{');
            for (i, (key, member)) in all.into_iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                out.push_str(space[next(seed) % space.len()]);
                out.push_str(&Value::from(key.as_str()).to_string());
                out.push_str(space[next(seed) % space.len()]);
                out.push(':');
                shuffled(member, seed, out);
            }
            out.push('}');
        }
        Value::Array(items) => {
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    out.push_str(" ,");
                }
                shuffled(item, seed, out);
            }
            out.push(']');
        }
        other => out.push_str(&other.to_string()),
    }
}

/// Paths to every leaf below a value.
fn leaves(value: &Value, at: &str, out: &mut Vec<String>) {
    let escaped = |key: &str| key.replace('~', "~0").replace('/', "~1");
    match value {
        Value::Object(members) if !members.is_empty() => {
            for (key, member) in members {
                leaves(member, &format!("{at}/{}", escaped(key)), out);
            }
        }
        Value::Array(items) if !items.is_empty() => {
            for (i, item) in items.iter().enumerate() {
                leaves(item, &format!("{at}/{i}"), out);
            }
        }
        _ => out.push(at.to_owned()),
    }
}

/// Another value of the same kind.
fn altered(value: &Value) -> Value {
    match value {
        Value::Bool(b) => json!(!b),
        Value::Number(n) => n.as_i64().map_or(json!(1), |n| json!(n ^ 1)),
        Value::String(s) => json!(format!("{s}x")),
        Value::Null => json!("x"),
        Value::Array(_) => json!(["x"]),
        Value::Object(_) => json!({"x": "x"}),
    }
}

/// Is this leaf part of what the plan would do?
fn is_effect(plan: &Value, pointer: &str) -> bool {
    let parts: Vec<&str> = pointer.split('/').skip(1).collect();
    match parts.as_slice() {
        ["lineage" | "serial" | "not_selected"] => true,
        ["plan", _, "action" | "gone" | "id", ..] | ["plan", _, "depends_on" | "new_state", ..] => {
            true
        }
        ["plan", _, "changes", path, "action", ..] => !path.is_empty() || parts.len() == 5,
        ["plan", key, "changes", path, "old" | "new", ..] => {
            let unescape = |text: &str| text.replace("~1", "/").replace("~0", "~");
            plan["plan"][unescape(key)]["changes"][unescape(path)]["action"] != "skip"
        }
        _ => false,
    }
}

const SAMPLES: [&str; 6] = [
    "job-schedule-update",
    "pipeline-recreate-storage",
    "permission-broadened",
    "many-types-created",
    "volume-rename",
    "tags-and-parameters",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn order_and_white_space_never_count(sample in 0..SAMPLES.len(), seed in any::<u64>()) {
        let text = recorded(SAMPLES[sample], "plan.json");
        let value: Value = serde_json::from_str(&text).expect("JSON");
        let mut other = String::new();
        shuffled(&value, &mut seed.clone(), &mut other);
        prop_assert_eq!(digest_of(&text), digest_of(&other));
    }

    #[test]
    fn any_change_of_an_effect_counts_and_nothing_else(sample in 0..SAMPLES.len(), pick in any::<prop::sample::Index>()) {
        let text = recorded(SAMPLES[sample], "plan.json");
        let mut value: Value = serde_json::from_str(&text).expect("JSON");
        let mut all = Vec::new();
        leaves(&value, "", &mut all);
        let pointer = pick.get(&all);
        let effect = is_effect(&value, pointer);
        let leaf = value.pointer_mut(pointer).expect("a leaf");
        *leaf = altered(leaf);
        // What the reader refuses has no intent at all.
        if let Some(changed) = intent_of(&value.to_string()) {
            prop_assert_eq!(changed.digest.to_string() != digest_of(&text), effect, "{}", pointer);
        }
    }

    #[test]
    fn an_entry_more_or_less_counts(sample in 0..SAMPLES.len(), pick in any::<prop::sample::Index>()) {
        let text = recorded(SAMPLES[sample], "plan.json");
        let mut value: Value = serde_json::from_str(&text).expect("JSON");
        let entries = value["plan"].as_object_mut().expect("entries");
        let key = pick.get(&entries.keys().cloned().collect::<Vec<_>>()).clone();
        entries.remove(&key);
        if let Some(changed) = intent_of(&value.to_string()) {
            prop_assert_ne!(changed.digest.to_string(), digest_of(&text));
        }
    }
}
