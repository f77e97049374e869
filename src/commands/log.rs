//! `--log FILE`, `log verify FILE`, `log show FILE`: the audit log.

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use jiff::Timestamp;

use super::Failure;
use super::args::Globals;
use crate::approval::{IntentDigest, Sha256Hex};
use crate::audit::{self, Event, Log};
use crate::host::{log_file, out};
use crate::render::escape;
use crate::report::{Exit, Report};
use crate::text::visible;

/// Where a command writes its line.
#[derive(Debug, Args)]
pub(super) struct LogArgs {
    /// Append one line about this run to an audit log (JSON Lines; each line holds the digest of the line before)
    #[arg(long, value_name = "FILE")]
    pub(super) log: Option<PathBuf>,
}

impl LogArgs {
    /// Appends the event, if there is a log. A line that cannot be written fails the command: an unlogged answer is none.
    pub(super) fn append(&self, event: Event) -> Result<(), Failure> {
        let Some(path) = &self.log else {
            return Ok(());
        };
        let appended = log_file::append(path, Timestamp::now(), event)
            .map_err(|e| Failure::input(format!("error: --log: {}", visible(&e.to_string()))))?;
        if let Some(torn) = appended.torn {
            out::stderr(&format!(
                "note: {}: an earlier write was cut off ({} bytes); this line records it\n",
                shown(path),
                torn.bytes
            ));
        }
        out::stderr(&format!(
            "log: {} entry {}, head {}\n",
            shown(path),
            appended.seq,
            appended.head
        ));
        Ok(())
    }
}

/// The event of a command that ends in a report.
pub(super) fn event(
    report: &Report,
    verdict: &str,
    actor: Option<&str>,
    details: impl IntoIterator<Item = (&'static str, String)>,
) -> Event {
    let mut all: Vec<(&'static str, String)> = details.into_iter().collect();
    all.extend(
        report
            .policy
            .as_ref()
            .map(|policy| ("policy", format!("{} {}", policy.source, policy.sha256))),
    );
    Event {
        command: report.command.to_owned(),
        verdict: verdict.to_owned(),
        exit_code: report.exit_code,
        plan: Sha256Hex::new(&report.plan.sha256).ok(),
        intent: report
            .plan
            .intent
            .as_deref()
            .and_then(|intent| IntentDigest::new(intent).ok()),
        target: report.target.clone(),
        actor: actor.map(str::to_owned),
        details: all
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value))
            .collect(),
    }
}

/// Read an audit log
#[derive(Debug, Args)]
pub(super) struct LogCommand {
    #[command(subcommand)]
    command: Which,
}

#[derive(Debug, Subcommand)]
enum Which {
    /// Check the chain of an audit log
    Verify(VerifyArgs),
    /// Show an audit log for people
    Show(ShowArgs),
}

/// Check the chain of an audit log
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  bundlegate log verify gate.log
  bundlegate log verify gate.log --anchor fe6033bec5189dfd6a50960ca7009040dbb8d29a9b2ddc65094217b7837f4880

A log that was cut at its end, or written anew, is consistent in itself. Keep the head that each run prints
(on standard error: `log: FILE entry N, head SHA256`) somewhere else, and give it as --anchor.

Exit codes: 0 the chain holds, 2 the log cannot be read, 4 the chain is broken.")]
struct VerifyArgs {
    /// The log
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// A head that an earlier run printed: it must be in the log
    #[arg(long, value_name = "SHA256")]
    anchor: Option<Sha256Hex>,
}

/// Show an audit log for people
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  bundlegate log show gate.log

Exit codes: 0 the chain holds, 2 the log cannot be read, 4 the chain is broken: what stands before the break is shown.")]
struct ShowArgs {
    /// The log
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

pub(super) fn run(args: &LogCommand, globals: Globals) -> Result<Exit, Failure> {
    let (text, log) = match &args.command {
        Which::Verify(args) => {
            let log = read(&args.file, args.anchor.as_ref())?;
            (verified(&args.file, &log), log)
        }
        Which::Show(args) => {
            let log = read(&args.file, None)?;
            (audit::show(&log, visible), log)
        }
    };
    if !globals.quiet {
        super::print(&escape::log(&text))?;
    }
    Ok(if log.broken.is_some() {
        Exit::Invalid
    } else {
        Exit::Open
    })
}

fn read(path: &Path, anchor: Option<&Sha256Hex>) -> Result<Log, Failure> {
    let wrong = |e: &dyn std::fmt::Display| {
        Failure::input(format!(
            "error: {}: {}",
            shown(path),
            visible(&e.to_string())
        ))
    };
    let file = File::open(path).map_err(|e| wrong(&e))?;
    if file.metadata().map_err(|e| wrong(&e))?.is_dir() {
        return Err(wrong(&"expected a file, found a folder"));
    }
    audit::read(BufReader::new(file), anchor).map_err(|e| wrong(&e))
}

fn verified(path: &Path, log: &Log) -> String {
    let mut text = match &log.broken {
        None => format!(
            "{}: the chain holds: {} entries, head {}\n",
            shown(path),
            log.entries.len(),
            log.head
        ),
        Some(broken) => format!(
            "{}:{}: the chain is broken: {}\n  expected: {}\n  found: {}\n  do: compare with the copy that is kept elsewhere; trust no entry from this line on\n",
            shown(path),
            broken.line,
            broken.kind.as_str(),
            visible(&broken.expected),
            visible(&broken.found)
        ),
    };
    for torn in &log.torn {
        let how = if torn.recorded {
            "recorded by the entry after it"
        } else {
            "it is the end of the log; the next entry will record it"
        };
        text.push_str(&format!(
            "line {}: a write was cut off ({} bytes), {how}\n",
            torn.line, torn.bytes
        ));
    }
    text
}

fn shown(path: &Path) -> String {
    visible(&path.display().to_string())
}
