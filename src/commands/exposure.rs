//! `exposure`: what each command that can be run in a target can delete or break there.

use std::path::PathBuf;

use clap::Args;

use super::Failure;
use super::args::{BesideArgs, Globals};
use super::outputs::Outputs;
use super::policy::PolicyArgs;
use crate::bundle::{Bundle, State};
use crate::effect::World;
use crate::exposure::{Sources, build};
use crate::host::out;
use crate::input::{self, load_one};
use crate::render::exposure::{Head, Shape};
use crate::report::Exit;

/// State what each command that can be run in the target can delete or break, resource by resource
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  bundlegate exposure --bundle bundle.json --state resources.json -t prod
  bundlegate exposure gate -o markdown=exposure.md
  bundlegate exposure --bundle bundle.json -p bundlegate.yml --fail-on-unguarded

What the inputs do not tell counts as unguarded, and is said.

Exit codes: 0 shown, 1 with --fail-on-unguarded when something can be lost with nothing in the way, 2 an input cannot be read.")]
pub(super) struct ExposureArgs {
    /// Plan file, `-`, or a folder made by `collect`; without it: the bundle JSON and the state alone
    #[arg(value_name = "PLAN")]
    plan: Option<PathBuf>,
    #[command(flatten)]
    beside: BesideArgs,
    #[command(flatten)]
    policy: PolicyArgs,
    /// Format (text, markdown, json), to standard output or to a file; repeatable
    #[arg(short, long, value_name = "FORMAT[=FILE]")]
    output: Vec<String>,
    /// Exit 1 when data can be lost, or an identity changed, with nothing in the way
    #[arg(long)]
    fail_on_unguarded: bool,
}

pub(super) fn run(args: &ExposureArgs, globals: Globals) -> Result<Exit, Failure> {
    let outputs: Outputs<Shape> = Outputs::parse_or(&args.output, Shape::Text)?;
    let policy = args
        .policy
        .load(globals.colour(out::stderr_is_terminal()))?;
    let limits = args.beside.limits();
    let targets = super::args::targets(args.beside.target.as_deref());
    let loaded = match &args.plan {
        Some(plan) => Some(input::load(&args.beside.paths(plan.clone()), &limits)?),
        None => None,
    };
    // With a plan, `input::load` has read what stands beside it.
    let alone = args.plan.is_none();
    let bundle_alone = args
        .beside
        .bundle
        .as_deref()
        .filter(|_| alone)
        .map(|p| load_one(p, &limits, Bundle::read))
        .transpose()?;
    let state_alone = args
        .beside
        .state
        .as_deref()
        .filter(|_| alone)
        .map(|p| load_one(p, &limits, State::read))
        .transpose()?;
    let world = loaded.as_ref().map(|l| World::new(l.inputs(&targets)));
    let bundle = loaded
        .as_ref()
        .and_then(|l| l.bundle.as_ref())
        .or(bundle_alone.as_ref());
    let state = loaded
        .as_ref()
        .and_then(|l| l.state.as_ref())
        .or(state_alone.as_ref());
    if world.is_none() && bundle.is_none() && state.is_none() {
        return Err(Failure::input(
            "error: expected a plan, --bundle or --state, found none\n  help: `databricks bundle summary -o json -t TARGET > bundle.json`, then `bundlegate exposure --bundle bundle.json`",
        ));
    }
    let body = build(&Sources {
        world: world.as_ref(),
        bundle,
        state,
        policy: &policy,
    });
    let exit = if args.fail_on_unguarded && body.unguarded() > 0 {
        Exit::Closed
    } else {
        Exit::Open
    };
    let target = targets
        .first()
        .map(|(_, t)| t.as_str())
        .or_else(|| bundle.map(Bundle::target));
    let head = Head {
        target,
        policy: policy.source(),
        exit_code: exit.code(),
    };
    outputs.write_each(globals, |shape, options| {
        shape.render(&head, &body, options)
    })?;
    Ok(exit)
}
