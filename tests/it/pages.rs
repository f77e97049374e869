//! Pages for the browser test and for the pictures in `docs/images`. `BUNDLEGATE_PAGES` names the folder; without it a temporary one.

#![expect(
    clippy::unwrap_used,
    reason = "a page that cannot be written is a failed test"
)]

use std::path::PathBuf;

use bundlegate::render::{Format, Options, render};
use bundlegate::report::Report;
use bundlegate::report::show::ShowOptions;
use sha2::{Digest as _, Sha256};

use super::hostile::{HOSTILE, report};
use super::reports::{Texts, root};

fn folder() -> (PathBuf, Option<tempfile::TempDir>) {
    match std::env::var_os("BUNDLEGATE_PAGES") {
        Some(folder) => (folder.into(), None),
        None => {
            let folder = tempfile::tempdir().unwrap();
            (folder.path().to_owned(), Some(folder))
        }
    }
}

/// A plan of this many entries: half are changed, each with what a recorded job or pipeline holds.
fn many(entries: usize) -> Texts {
    let mut out = Vec::new();
    for i in 0..entries {
        let entry = match i % 4 {
            0 => format!(
                r#"{{"action": "update", "new_state": {{"value": {{"name": "load {i}", "timeout_seconds": 60}}}}, "remote_state": {{"name": "load {i}", "timeout_seconds": 0}}, "changes": {{"timeout_seconds": {{"action": "update", "old": 0, "new": 60, "remote": 0}}}}}}"#
            ),
            1 => format!(r#"{{"action": "delete", "remote_state": {{"name": "load {i}"}}}}"#),
            _ => format!(
                r#"{{"action": "skip", "remote_state": {{"name": "load {i}", "run_as_user_name": "etl"}}}}"#
            ),
        };
        out.push(format!(r#""resources.jobs.load_{i}": {entry}"#));
    }
    let plan = format!(
        r#"{{"plan_version": 2, "cli_version": "1.20.0", "lineage": "x", "serial": 1, "plan": {{{}}}}}"#,
        out.join(", ")
    );
    Texts {
        plan,
        ..Texts::default()
    }
}

/// The example of the README, as `show` tells it with the findings beside.
fn example() -> Report {
    let read = |name: &str| {
        Some(std::fs::read_to_string(root().join("examples/orders").join(name)).unwrap())
    };
    let texts = Texts {
        plan: read("plan.json").unwrap(),
        bundle: read("bundle.json"),
        state: read("state.json"),
    };
    let mut report = texts.report(Some(&ShowOptions::default()));
    report.plan.path = "examples/orders/plan.json".to_owned();
    report.plan.sha256 = hex::encode(Sha256::digest(&texts.plan));
    if let Some(policy) = &mut report.policy {
        policy.sha256 = hex::encode(Sha256::digest(
            super::reports::production().resolved_canonical(),
        ));
    }
    report
}

#[test]
fn pages() {
    let (folder, _keep) = folder();
    std::fs::create_dir_all(&folder).unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.join(name), text).unwrap();
    let html = |report: &Report| render(Format::Html, report, &Options::default());
    for (i, (_, text)) in HOSTILE.iter().enumerate() {
        write(&format!("hostile-{i:02}.html"), &html(&report(text)));
    }
    let large = html(&many(1_000).report(Some(&ShowOptions {
        all: true,
        ..ShowOptions::default()
    })));
    assert!(large.len() < 300_000, "{} bytes", large.len());
    write("large.html", &large);
    let example = example();
    write("report.html", &html(&example));
    write(
        "comment.md",
        &render(Format::Markdown, &example, &Options::default()),
    );
    let colour = Options {
        colour: true,
        width: Some(100),
        verbose: false,
    };
    write(
        "terminal.ansi",
        &render(
            Format::Text,
            &Report {
                body: bundlegate::report::Body::None,
                command: "check",
                ..example
            },
            &colour,
        ),
    );
}
