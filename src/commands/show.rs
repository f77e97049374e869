//! `show PLAN`: what a plan changes, from what to what, and what it can destroy. It judges nothing.

use clap::Args;

use super::Failure;
use super::args::{Globals, InputArgs};
use super::check::head;
use super::outputs::{OutputArgs, Outputs};
use crate::effect::World;
use crate::input;
use crate::plan::Action;
use crate::policy::Selector;
use crate::report::show::{ShowOptions, build};
use crate::report::{Body, Exit, Report, Verdict};
use crate::text::{nearest, quoted};

/// Show what a plan changes, from what to what, and what it can destroy
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  bundlegate show plan.json
  bundlegate show plan.json --only delete --only recreate
  bundlegate show plan.json --resource 'pipelines.*' -o html=plan.html

Exit codes: 0 shown, 2 an input cannot be read. `show` judges nothing: see `bundlegate check`.")]
pub(super) struct ShowArgs {
    #[command(flatten)]
    inputs: InputArgs,
    /// Only entries of this action (create, update, update_id, resize, recreate, delete, skip); repeatable
    #[arg(long, value_name = "ACTION", value_parser = action)]
    only: Vec<Action>,
    /// Only these resources, such as `jobs.*` or `pipelines.orders`; repeatable
    #[arg(long, value_name = "SELECTOR")]
    resource: Vec<Selector>,
    /// Also what the plan leaves alone
    #[arg(long)]
    all: bool,
    /// Entries only, without their fields
    #[arg(long)]
    no_diff: bool,
    #[command(flatten)]
    outputs: OutputArgs,
}

fn action(word: &str) -> Result<Action, String> {
    Action::parse(word).ok_or_else(|| {
        let hint = nearest(word, Action::ALL.map(Action::as_str))
            .map_or(String::new(), |n| format!("; did you mean {n}?"));
        format!(
            "expected one of {}, found {}{hint}",
            Action::ALL.map(Action::as_str).join(", "),
            quoted(word)
        )
    })
}

pub(super) fn run(args: &ShowArgs, globals: Globals) -> Result<Exit, Failure> {
    let outputs = Outputs::parse(&args.outputs)?;
    let loaded = input::load(&args.inputs.paths(), &args.inputs.limits())?;
    let targets = args.inputs.targets();
    let world = World::new(loaded.inputs(&targets));
    let options = ShowOptions {
        only: args.only.clone(),
        resources: args.resource.clone(),
        all: args.all || args.only.contains(&Action::Skip),
        no_diff: args.no_diff,
    };
    let report = Report {
        body: Body::Show(Box::new(build(&world, &options))),
        ..head("show", &loaded, &world, None, Verdict::Open, Exit::Open)
    };
    outputs.write(&report, globals)?;
    Ok(Exit::Open)
}
