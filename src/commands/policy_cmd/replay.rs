//! `policy replay`: recorded plans, judged with this policy and with another one.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::Args;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use rayon::prelude::*;

use super::super::Failure;
use super::super::args::Globals;
use super::super::policy::{PolicyArgs, load_policy, policy_ref, read_bounded};
use super::{Form, print};
use crate::host::{out, recorded};
use crate::input::{self, Paths};
use crate::json::{Limits, MAX_INPUT_BYTES};
use crate::policy::Policy;
use crate::replay::{Judgement, Outcome, Replay, Row};
use crate::report::Exit;
use crate::text::visible;

/// Judge recorded plans, with this policy and with another one
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  bundlegate policy replay archive/2026-q3
  bundlegate policy replay archive -p new.yml --against bundlegate.yml
  bundlegate policy replay archive -p new.yml --against production --changed -o json

A recorded plan is a folder made by `bundlegate collect`, or a `plan.json` with what lies beside it:
bundle.json, base-bundle.json, state.json, warnings.txt. Folders are searched to the bottom; links are not followed.

Exit codes: 0 every plan was judged (whatever the verdicts), 2 one could not be, or there is none.")]
pub(super) struct ReplayArgs {
    /// Folders with recorded plans, or plan files
    #[arg(value_name = "FOLDER", required = true)]
    folders: Vec<PathBuf>,
    #[command(flatten)]
    policy: PolicyArgs,
    /// Compare with this policy, the one before: a file, or an embedded one
    #[arg(long, value_name = "POLICY")]
    against: Option<String>,
    /// Show only plans with another verdict under --against, and those that could not be judged
    #[arg(long, requires = "against")]
    changed: bool,
    /// Largest input file, in bytes
    #[arg(long, value_name = "BYTES", default_value_t = MAX_INPUT_BYTES)]
    max_size: u64,
    /// Output: text or json
    #[arg(short, long, value_enum, value_name = "FORMAT", default_value_t = Form::Text)]
    output: Form,
}

pub(super) fn run(args: &ReplayArgs, globals: Globals) -> Result<Exit, Failure> {
    let colour = globals.colour(out::stderr_is_terminal());
    let policy = args.policy.load(colour)?;
    let against = args
        .against
        .as_deref()
        .map(|name| load_policy(&policy_ref(name), colour, &mut read_bounded))
        .transpose()?;
    let found = find(&args.folders);
    if found.is_empty() {
        let folders: Vec<String> = args
            .folders
            .iter()
            .map(|f| visible(&f.display().to_string()))
            .collect();
        return Err(Failure::input(format!(
            "error: expected recorded plans (plan.json, or a folder made by `bundlegate collect`), found none in {}",
            folders.join(", ")
        )));
    }
    let now = args.policy.now();
    let limits = Limits {
        bytes: args.max_size,
        ..Limits::default()
    };
    let progress = progress(found.len(), globals);
    let rows: Vec<Row> = found
        .into_par_iter()
        .map(|(plan, found)| {
            let outcome = found
                .map(|paths| judged(&paths, &limits, &policy, against.as_ref(), now))
                .unwrap_or_else(|why| Outcome::Unreadable(format!("{}: {why}", visible(&plan))));
            progress.inc(1);
            Row { plan, outcome }
        })
        .collect();
    progress.finish_and_clear();
    let replay = Replay {
        policy: policy.source().to_owned(),
        against: against.as_ref().map(|p| p.source().to_owned()),
        rows,
    };
    let text = match args.output {
        Form::Text => replay.text(args.changed),
        Form::Json => replay.json(args.changed),
    };
    print(&text, globals)?;
    Ok(if replay.whole() {
        Exit::Open
    } else {
        Exit::Input
    })
}

/// Every recorded plan once, by the path under which it is shown.
fn find(folders: &[PathBuf]) -> BTreeMap<String, Result<Paths, String>> {
    let all = folders.iter().flat_map(|folder| recorded::find(folder));
    all.map(|(path, found)| (path.display().to_string(), found))
        .collect()
}

fn judged(
    paths: &Paths,
    limits: &Limits,
    policy: &Policy,
    against: Option<&Policy>,
    now: jiff::Timestamp,
) -> Outcome {
    match input::load(paths, limits) {
        Ok(loaded) => Outcome::Judged {
            now: Judgement::of(loaded.inputs(&[]), policy, now),
            before: against.map(|policy| Judgement::of(loaded.inputs(&[]), policy, now)),
        },
        Err(e) => Outcome::Unreadable(e.to_string()),
    }
}

/// A bar on a terminal, nothing elsewhere.
fn progress(plans: usize, globals: Globals) -> ProgressBar {
    let target = if out::stderr_is_terminal() && !globals.quiet {
        ProgressDrawTarget::stderr()
    } else {
        ProgressDrawTarget::hidden()
    };
    let bar = ProgressBar::with_draw_target(Some(plans as u64), target);
    match ProgressStyle::with_template("{bar:40} {pos} of {len} plans") {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}
