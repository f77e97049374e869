//! Which module may know which: the core has no I/O, no clock, no environment, and dependencies point one way.

use std::path::{Path, PathBuf};

/// The core, from the bottom to the top: a module may use those before it and itself.
const CORE: &[&str] = &[
    "text",
    "json",
    "plan",
    "secret",
    "bundle",
    "impact",
    "policy",
    "effect",
    "report",
    "rules",
    "exposure",
    "digest",
    "approval",
    "audit",
    "authorize",
    "verify",
    "render",
];
/// What only the edge may touch.
const EDGE: &[&str] = &["host", "remote", "commands", "input"];
/// Words of the standard library and of jiff that reach outside.
const OUTSIDE: &[&str] = &[
    "std::fs",
    "std::env",
    "std::net",
    "std::process",
    "std::io::stdin",
    "SystemTime::now",
    "Instant::now",
    "Timestamp::now",
    "Zoned::now",
];

/// Files that may use a module above their own, with the reason.
const EXCEPTIONS: &[(&str, &str)] = &[(
    "report/show/diff.rs",
    "a deadline, so that a hostile plan cannot stall a diff",
)];

fn sources(folder: &Path, out: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            sources(&path, out);
        } else if path.extension().is_some_and(|e| e == "rs") {
            out.push(path);
        }
    }
}

/// The code of a file without its tests and comments.
fn code(path: &Path) -> String {
    let text = std::fs::read_to_string(path).unwrap();
    let before_tests = text
        .split("#[cfg(test)]\nmod tests {")
        .next()
        .unwrap_or_default();
    before_tests
        .lines()
        .filter(|l| !l.trim_start().starts_with("//"))
        .collect::<Vec<_>>()
        .join("\n")
}

/// The modules of this crate that a piece of code names.
fn named(code: &str) -> Vec<&str> {
    code.match_indices("crate::")
        .filter_map(|(at, word)| code.get(at + word.len()..))
        .map(|rest| {
            rest.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
                .next()
                .unwrap_or_default()
        })
        .collect()
}

#[test]
fn the_core_knows_nothing_above_it_and_touches_nothing_outside() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&root, &mut files);
    assert!(files.len() > 50);
    let mut wrong = Vec::new();
    for file in &files {
        let relative = file
            .strip_prefix(&root)
            .unwrap()
            .to_string_lossy()
            .replace('\\', "/");
        let is_test = relative.contains("/tests/")
            || ["tests.rs", "testing.rs", "examples.rs", "sample.rs"]
                .iter()
                .any(|t| relative.ends_with(t));
        let module = relative.split(['/', '.']).next().unwrap_or_default();
        let Some(own) = CORE.iter().position(|m| *m == module) else {
            continue;
        };
        if is_test || EXCEPTIONS.iter().any(|(f, _)| *f == relative) {
            continue;
        }
        let code = code(file);
        for name in named(&code) {
            let above = CORE
                .iter()
                .position(|m| *m == name)
                .is_some_and(|at| at > own);
            if above || EDGE.contains(&name) {
                wrong.push(format!("{relative} names crate::{name}"));
            }
        }
        wrong.extend(
            OUTSIDE
                .iter()
                .filter(|o| code.contains(*o))
                .map(|o| format!("{relative} names {o}")),
        );
    }
    wrong.sort();
    wrong.dedup();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
