//! How long each renderer takes for a plan of 10,000 entries with 2,000 findings.
//!
//! `cargo bench --bench render` prints the times and exits 1 when one is over its limit, or when a renderer grows memory by more
//! than ten times the plan.
#![expect(clippy::print_stdout, reason = "a benchmark prints what it measured")]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::hint::black_box;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use bundlegate::effect::{Inputs, World};
use bundlegate::json::Limits;
use bundlegate::plan::Plan;
use bundlegate::policy::Level;
use bundlegate::render::{Format, Options, github_summary, render};
use bundlegate::report::show::{ShowOptions, build};
use bundlegate::report::{
    Body, Counts, Finding, PlanHead, PolicyHead, Report, SCHEMA, Status, fingerprint, sort, verdict,
};

const ENTRIES: usize = 10_000;
const FINDINGS: usize = 2_000;
/// Each renderer, and the making of what `show` says, takes at most this long.
const MAX_TIME: Duration = Duration::from_secs(2);
/// Memory of a whole run with one renderer, as a multiple of the plan.
const MAX_MEMORY_RATIO: f64 = 10.0;

fn main() -> ExitCode {
    let text = plan_text();
    let args: Vec<String> = std::env::args().collect();
    if let Some(at) = args.iter().position(|a| a == "--one") {
        let format = args.get(at + 1).and_then(|name| name.parse().ok());
        let Some(plan) = read(&text) else {
            return ExitCode::FAILURE;
        };
        let report = report(&plan);
        if let Some(format) = format {
            black_box(render(format, &report, &Options::default()));
        }
        println!("{}", peak_memory().unwrap_or(0));
        return ExitCode::SUCCESS;
    }
    let Some(plan) = read(&text) else {
        println!("the plan of the benchmark cannot be read");
        return ExitCode::FAILURE;
    };
    let start = Instant::now();
    let report = report(&plan);
    let mut failed = over("show", start.elapsed(), 0);
    for format in Format::ALL {
        let start = Instant::now();
        let out = render(*format, &report, &Options::default());
        failed |= over(format.as_str(), start.elapsed(), out.len());
        if let Some(memory) = memory(*format) {
            let ratio = memory / text.len() as f64;
            println!(
                "{:>18} {ratio:>8.1} times the plan of {:.1} MB in memory (limit {MAX_MEMORY_RATIO})",
                "",
                text.len() as f64 / 1e6
            );
            failed |= ratio > MAX_MEMORY_RATIO;
        }
    }
    let start = Instant::now();
    let out = github_summary(&report);
    failed |= over("github summary", start.elapsed(), out.len());
    if failed {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    }
}

fn over(what: &str, took: Duration, bytes: usize) -> bool {
    println!(
        "{what:>18} {:>8.1} ms {:>10} bytes (limit {} ms)",
        took.as_secs_f64() * 1e3,
        bytes,
        MAX_TIME.as_millis()
    );
    took > MAX_TIME
}

/// Peak memory of a process of its own with one renderer; `None` where the system does not tell.
fn memory(format: Format) -> Option<f64> {
    let me = std::env::current_exe().ok()?;
    let output = Command::new(me)
        .args(["--one", format.as_str()])
        .output()
        .ok()?;
    let bytes: f64 = String::from_utf8(output.stdout).ok()?.trim().parse().ok()?;
    (bytes > 0.0).then_some(bytes)
}

/// The most memory that this process has had, in bytes (Linux).
fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"))?;
    line.trim()
        .trim_end_matches("kB")
        .trim()
        .parse::<u64>()
        .ok()
        .map(|kb| kb * 1024)
}

fn read(text: &str) -> Option<Plan> {
    bundlegate::plan::read(text.as_bytes(), &Limits::default()).ok()
}

/// Jobs with the fields that recorded ones have: two of ten changed, one deleted, one recreated, the others left alone.
fn plan_text() -> String {
    let mut out = String::from(
        r#"{"plan_version": 2, "cli_version": "1.20.0", "lineage": "x", "serial": 1, "plan": {"#,
    );
    for i in 0..ENTRIES {
        let state = |timeout: u32, sql: &str| {
            format!(
                r#"{{"name": "load {i}", "description": "SELECT a,\n  b\nFROM prod.orders.{sql}\nWHERE c", "timeout_seconds": {timeout}, "max_concurrent_runs": 1, "queue": {{"enabled": true}}, "schedule": {{"pause_status": "UNPAUSED", "quartz_cron_expression": "0 0 3 * * ?", "timezone_id": "UTC"}}, "tasks": [{{"task_key": "main", "notebook_task": {{"notebook_path": "/Workspace/Users/0b7a0d1e-0000-4000-8000-00000000bb01/.bundle/orders/prod/files/src/load_{i}"}}}}]}}"#
            )
        };
        let (old, new) = (state(0, "bronze"), state(60, "silver"));
        let changed = |action: &str| {
            format!(
                r#"{{"action": "{action}", "new_state": {{"value": {new}}}, "remote_state": {old}, "changes": {{"timeout_seconds": {{"action": "{action}", "old": 0, "new": 60, "remote": 0}}, "description": {{"action": "update", "old": "SELECT a,\n  b\nFROM prod.orders.bronze\nWHERE c", "new": "SELECT a,\n  b\nFROM prod.orders.silver\nWHERE c"}}}}}}"#
            )
        };
        let entry = match i % 10 {
            0 | 1 => changed("update"),
            2 => changed("recreate"),
            3 => format!(r#"{{"action": "delete", "remote_state": {old}}}"#),
            _ => format!(r#"{{"action": "skip", "remote_state": {old}}}"#),
        };
        let comma = if i == 0 { "" } else { "," };
        let _ = write!(out, r#"{comma}"resources.jobs.load_{i}": {entry}"#);
    }
    out.push_str("}}");
    out
}

fn report(plan: &Plan) -> Report {
    let world = World::new(Inputs {
        plan,
        bundle: None,
        base_bundle: None,
        state: None,
        warnings: None,
        targets: &[],
    });
    let body = build(
        &world,
        &ShowOptions {
            all: true,
            ..ShowOptions::default()
        },
    );
    let mut findings: Vec<Finding> = (0..FINDINGS).map(finding).collect();
    sort(&mut findings);
    let verdict = verdict(&findings);
    Report {
        schema: SCHEMA,
        command: "show",
        verdict,
        exit_code: verdict.exit().code(),
        plan: PlanHead {
            path: "plan.json".to_owned(),
            sha256: "0".repeat(64),
            intent: None,
            plan_version: Some(2),
            cli_version: Some("1.20.0".to_owned()),
            lineage: Some("x".to_owned()),
            serial: Some(1),
            not_selected: 0,
            entries: plan.entries.len(),
        },
        target: Some("prod".to_owned()),
        policy: Some(PolicyHead {
            source: "production".to_owned(),
            sha256: "0".repeat(64),
        }),
        inputs: BTreeMap::new(),
        not_run: Vec::new(),
        summary: Counts::of(plan),
        findings,
        body: Body::Show(Box::new(body)),
    }
}

fn finding(i: usize) -> Finding {
    let resource = format!("jobs.load_{}", i * 5);
    let rule = if i.is_multiple_of(2) {
        "destroy"
    } else {
        "recreate"
    };
    Finding {
        rule: rule.to_owned(),
        family: "actions".to_owned(),
        level: if i.is_multiple_of(3) { Level::Deny } else { Level::Review },
        status: Status::Fired,
        fingerprint: fingerprint(rule, Some(&resource), None, None),
        resource: Some(resource),
        path: None,
        old: None,
        new: None,
        remote: None,
        message: format!("The job (\"load {i}\") is deleted; alice@example.com runs it today."),
        impact: "Its id and its run history go; what refers to the id (other jobs, alerts, dashboards, API callers) breaks.".to_owned(),
        remedy: "Keep it in the bundle, or approve its loss.".to_owned(),
        location: None,
        standing: false,
        waiver: None,
    }
}
