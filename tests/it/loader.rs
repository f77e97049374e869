//! Every mutated plan of the loader table: refused, or judged with exactly the findings it must add.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::Value;

use crate::support::{run, scenarios};

/// The deny and review findings of one file, as `rule key`, how often each.
fn findings(file: &Path) -> BTreeMap<String, usize> {
    let done = run(&[
        "check",
        &file.to_string_lossy(),
        "-p",
        "production",
        "-o",
        "json",
    ]);
    assert_ne!(done.code, 2, "{}: {}", file.display(), done.stderr);
    let report: Value = serde_json::from_str(&done.stdout).expect("a JSON report");
    let mut out = BTreeMap::new();
    for f in report["findings"].as_array().expect("findings") {
        if matches!(f["level"].as_str(), Some("deny" | "review")) {
            let key = f["resource"]
                .as_str()
                .map_or(String::new(), |r| format!(" {r}"));
            *out.entry(format!("{}{key}", f["rule"].as_str().expect("a rule")))
                .or_default() += 1;
        }
    }
    out
}

#[test]
fn every_file_is_refused_or_adds_exactly_what_it_must() {
    let folder = scenarios().join("loader");
    let outcomes: BTreeMap<String, Value> = serde_json::from_str(
        &std::fs::read_to_string(folder.join("outcomes.json")).expect("outcomes.json"),
    )
    .expect("JSON");
    assert!(outcomes.len() >= 60, "the table is there");
    let unchanged = findings(&folder.join("unchanged.json"));
    let mut messages: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut table = String::new();
    for (name, outcome) in &outcomes {
        let file = folder.join(format!("{name}.json"));
        if outcome["gate"]["refuse"] == Value::Bool(true) {
            let done = run(&["check", &file.to_string_lossy(), "-p", "production"]);
            assert_eq!((done.code, done.stdout.as_str()), (2, ""), "{name}");
            let message = done.stderr.replace(&*file.to_string_lossy(), "FILE");
            assert!(message.starts_with("error: FILE"), "{name}: {message}");
            table.push_str(&format!(
                "{name:32} 2  {}\n",
                message.lines().next().unwrap_or_default()
            ));
            messages.entry(message).or_default().push(name.clone());
            continue;
        }
        let now = findings(&file);
        let added: BTreeSet<&str> = now
            .iter()
            .filter(|(k, n)| unchanged.get(*k).copied().unwrap_or(0) < **n)
            .map(|(k, _)| k.as_str())
            .collect();
        let wanted: BTreeSet<&str> = outcome["gate"]["adds"]
            .as_array()
            .expect("adds")
            .iter()
            .filter_map(Value::as_str)
            .collect();
        assert_eq!(added, wanted, "{name}");
        table.push_str(&format!("{name:32} judged  adds {added:?}\n"));
    }
    // Files with one and the same fault may share a message; the table says which.
    insta::assert_snapshot!(table);
}
