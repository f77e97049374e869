//! How long and how much memory a verdict takes, against the plain reading of the same bytes.
//!
//! `cargo bench --bench check` prints the ratios and exits 1 when one is over its limit. The plans are made of recorded entries.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a benchmark prints what it measured"
)]

use std::collections::BTreeMap;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use bundlegate::effect::{Inputs, World};
use bundlegate::json::Limits;
use bundlegate::plan::{Plan, TYPES};
use bundlegate::policy::{Catalogue, Embedded, Policy, PolicyRef, load};
use bundlegate::rules::{Context, RULES, judge};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

/// A 10,000-entry plan takes at most this many times what reading it as `serde_json::Value` and hashing it takes.
const MAX_TIME_RATIO: f64 = 2.5;
/// And at most this many times its size in memory.
const MAX_MEMORY_RATIO: f64 = 8.0;
/// Time for one entry may grow by at most this factor from 10,000 to 50,000 entries.
const MAX_GROWTH: f64 = 1.5;
/// `--version` takes at most this long.
const MAX_VERSION: Duration = Duration::from_millis(5);

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().collect();
    if let Some(at) = args.iter().position(|a| a == "--one-verdict") {
        let file = args.get(at + 1).map(PathBuf::from).unwrap_or_default();
        let bytes = std::fs::read(file).unwrap_or_default();
        black_box(verdict(&bytes, &policy()));
        println!("{}", peak_memory().unwrap_or(0));
        return ExitCode::SUCCESS;
    }
    let entries = recorded();
    let policy = policy();
    let mut failed = false;
    let mut per_entry = BTreeMap::new();
    for n in [100, 1_000, 10_000, 50_000] {
        let bytes = plan(&entries, n);
        let mut findings = 0;
        // In turns: what disturbs the machine for a while disturbs both.
        let (mut plain, mut ours) = (Duration::MAX, Duration::MAX);
        for _ in 0..runs(n) {
            plain = plain.min(time(|| {
                black_box(serde_json::from_slice::<Value>(&bytes).ok());
                black_box(Sha256::digest(&bytes));
            }));
            ours = ours.min(time(|| findings = verdict(&bytes, &policy)));
        }
        let ratio = ours.as_secs_f64() / plain.as_secs_f64();
        per_entry.insert(n, ours.as_secs_f64() / f64::from(n));
        println!(
            "{n:>6} entries  {:>6.1} MB  {findings:>6} findings  read+judge {:>8.1} ms  serde_json+sha256 {:>8.1} ms  ratio {ratio:.2}",
            bytes.len() as f64 / 1e6,
            ours.as_secs_f64() * 1e3,
            plain.as_secs_f64() * 1e3,
        );
        if n == 10_000 {
            breakdown(&bytes, &policy);
            failed |= over("time ratio", ratio, MAX_TIME_RATIO);
            if let Some(memory) = memory(&bytes) {
                failed |= over(
                    "memory / file size",
                    memory as f64 / bytes.len() as f64,
                    MAX_MEMORY_RATIO,
                );
            }
        }
    }
    let growth = per_entry
        .get(&50_000)
        .zip(per_entry.get(&10_000))
        .map_or(1.0, |(a, b)| a / b);
    failed |= over("growth per entry, 10,000 to 50,000", growth, MAX_GROWTH);
    let version = fastest(100, || {
        drop(
            Command::new(env!("CARGO_BIN_EXE_bundlegate"))
                .arg("--version")
                .output(),
        );
    });
    failed |= over(
        "--version in ms",
        version.as_secs_f64() * 1e3,
        MAX_VERSION.as_secs_f64() * 1e3,
    );
    if failed {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    }
}

fn over(what: &str, found: f64, limit: f64) -> bool {
    println!("{what}: {found:.2} (limit {limit})");
    found > limit
}

fn runs(n: u32) -> u32 {
    if n >= 10_000 { 8 } else { 20 }
}

fn time(work: impl FnOnce()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}

/// The fastest of several runs: the one least disturbed by others.
fn fastest(n: u32, mut work: impl FnMut()) -> Duration {
    (0..runs(n))
        .map(|_| time(&mut work))
        .min()
        .unwrap_or_default()
}

fn policy() -> Policy {
    let rules: Vec<&str> = RULES.iter().map(|r| r.doc().id).collect();
    let types: Vec<&str> = TYPES.iter().map(|t| t.name).collect();
    let source = PolicyRef::Embedded(Embedded::Production);
    let policy = load(
        &source,
        &Catalogue {
            rules: &rules,
            types: &types,
        },
        &mut |_: &Path| Err(std::io::ErrorKind::NotFound.into()),
    );
    match policy {
        Ok(policy) => policy,
        Err(e) => {
            eprintln!("{e}");
            std::process::abort()
        }
    }
}

/// Reads and judges a plan, with both of its digests; returns how many findings there are.
fn verdict(bytes: &[u8], policy: &Policy) -> usize {
    black_box(Sha256::digest(bytes));
    let Ok(plan) = bundlegate::plan::read(bytes, &Limits::default()) else {
        return usize::MAX;
    };
    black_box(bundlegate::digest::intent(&plan));
    judged(&World::new(inputs(&plan)), policy)
}

fn inputs(plan: &Plan) -> Inputs<'_> {
    Inputs {
        plan,
        bundle: None,
        base_bundle: None,
        state: None,
        warnings: None,
        targets: &[],
    }
}

fn judged(world: &World<'_>, policy: &Policy) -> usize {
    let now = jiff::Timestamp::UNIX_EPOCH;
    let cx = Context { world, policy, now };
    judge(&cx).findings.len()
}

/// Prints what the parts of a verdict take, each by itself.
fn breakdown(bytes: &[u8], policy: &Policy) {
    let limits = Limits::default();
    let Ok(plan) = bundlegate::plan::read(bytes, &limits) else {
        return;
    };
    let world = World::new(inputs(&plan));
    println!(
        "       of these: sha256 {:.1}, read {:.1}, intent digest {:.1}, effects {:.1}, rules {:.1} ms",
        ms(|| Sha256::digest(bytes)),
        ms(|| bundlegate::plan::read(bytes, &limits).is_ok()),
        ms(|| bundlegate::digest::intent(&plan)),
        ms(|| World::new(inputs(&plan))),
        ms(|| judged(&world, policy)),
    );
}

fn ms<T>(mut work: impl FnMut() -> T) -> f64 {
    let fastest = fastest(10_000, || {
        black_box(work());
    });
    fastest.as_secs_f64() * 1e3
}

/// Every entry of every recorded plan that belongs to a deployed target.
fn recorded() -> Vec<(String, Value)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scenarios");
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .map(|e| e.path().join("plan.json"))
        .filter(|p| p.exists())
        .collect();
    files.sort();
    let mut out = Vec::new();
    for file in files {
        let Ok(Value::Object(mut plan)) =
            serde_json::from_slice::<Value>(&std::fs::read(file).unwrap_or_default())
        else {
            continue;
        };
        if let (true, Some(Value::Object(entries))) =
            (plan.contains_key("lineage"), plan.remove("plan"))
        {
            out.extend(entries.into_iter().map(|(k, mut v)| {
                if let Some(entry) = v.as_object_mut() {
                    entry.remove("depends_on");
                }
                (k, v)
            }));
        }
    }
    out
}

/// A plan of `n` recorded entries, each under a name of its own, written as the CLI writes it.
fn plan(entries: &[(String, Value)], n: u32) -> Vec<u8> {
    let members: serde_json::Map<String, Value> = entries
        .iter()
        .cycle()
        .zip(0..n)
        .map(|((key, value), i)| {
            let mut parts: Vec<String> = key.split('.').map(str::to_owned).collect();
            if let Some(name) = parts.get_mut(2) {
                *name = format!("{name}_{i}");
            }
            (parts.join("."), value.clone())
        })
        .collect();
    let plan = serde_json::json!({"plan_version": 2, "cli_version": "1.21.0", "lineage": "l", "serial": 1, "plan": members});
    serde_json::to_vec_pretty(&plan).unwrap_or_default()
}

/// Peak memory of one verdict in a process of its own, in bytes; only Linux tells.
fn memory(bytes: &[u8]) -> Option<u64> {
    let file = std::env::temp_dir().join(format!("bundlegate-bench-{}.json", std::process::id()));
    std::fs::write(&file, bytes).ok()?;
    let output = Command::new(std::env::current_exe().ok()?)
        .arg("--one-verdict")
        .arg(&file)
        .output()
        .ok()?;
    drop(std::fs::remove_file(&file));
    String::from_utf8(output.stdout)
        .ok()?
        .trim()
        .parse()
        .ok()
        .filter(|m| *m > 0)
}

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
