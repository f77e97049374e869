//! `verify PLAN`: after a deploy, does the workspace hold what was approved?

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::Failure;
use super::args::{BesideArgs, Globals, targets};
use super::check::{plan_head, policy_head};
use super::outputs::Outputs;
use super::policy::PolicyArgs;
use crate::effect::World;
use crate::host::{files, out};
use crate::input::{self, Loaded};
use crate::json::Limits;
use crate::plan::{self, Engine, Plan};
use crate::policy::Policy;
use crate::report::{Body, Counts, Exit, Report, SCHEMA, Silence, Verdict, Verification, Witness};
use crate::text::visible;
use crate::verify::{Mode, Observation, compare, expect, from_plan};

/// After a deploy: does the workspace hold what was approved?
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  bundlegate verify gate                                        # a folder made by `collect`; both witnesses
  databricks bundle plan -o json -t prod > after.json
  bundlegate verify plan.json --bundle bundle.json --state state.json -t prod --after-plan after.json --witness plan
  bundlegate verify --bundle bundle.json --drift -t prod        # nightly: does production still run as it should?

Exit codes: 0 verified, 2 an input cannot be read, 5 the workspace does not hold what was approved, 6 a witness could not speak.")]
pub(super) struct VerifyArgs {
    /// The plan that was deployed: a file, `-` for standard input, or a folder made by `collect`
    #[arg(value_name = "PLAN", required_unless_present = "drift")]
    plan: Option<PathBuf>,
    #[command(flatten)]
    beside: BesideArgs,
    #[command(flatten)]
    policy: PolicyArgs,
    /// A plan that was made after the deploy
    #[arg(long, value_name = "FILE")]
    after_plan: Option<PathBuf>,
    /// Who tells what the workspace holds
    #[arg(long, value_enum, value_name = "WITNESS", default_value_t = WitnessChoice::Both)]
    witness: WitnessChoice,
    /// No deploy: does the target still run as its bundle says?
    #[arg(long, requires = "bundle", conflicts_with = "plan")]
    drift: bool,
    /// Output: text, json or another format, to standard output or to a file; repeatable
    #[arg(short, long, value_name = "FORMAT[=FILE]")]
    output: Vec<String>,
}

/// Which witnesses are asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum WitnessChoice {
    /// A plan made after the deploy
    Plan,
    /// The REST API of the workspace
    Api,
    /// Both; each has to speak
    Both,
}

pub(super) fn run(args: &VerifyArgs, globals: Globals) -> Result<Exit, Failure> {
    let outputs = Outputs::parse(&args.output)?;
    let policy = args
        .policy
        .load(globals.colour(out::stderr_is_terminal()))?;
    let limits = args.beside.limits();
    let after = args
        .after_plan
        .as_ref()
        .map(|path| read_after(path, &limits))
        .transpose()?;
    // A drift is judged by a plan of now: it is its own witness.
    let (mode, plan) = match (&args.plan, &args.after_plan) {
        (Some(plan), _) => (Mode::Deployed, plan),
        (None, Some(now)) => (Mode::Drift, now),
        (None, None) => {
            return Err(Failure::input(
                "error: --drift: expected a plan of now, found none; give --after-plan FILE",
            ));
        }
    };
    let loaded = input::load(&args.beside.paths(plan.clone()), &limits)?;
    if loaded.plan.engine == Engine::Terraform {
        return Err(Failure::input(
            "error: expected a plan of the direct engine, found one of the Terraform engine: it says only which actions there are, so there is nothing to compare the workspace with",
        ));
    }
    let targets = targets(args.beside.target.as_deref());
    let world = World::new(loaded.inputs(&targets));
    let verification = verify(&world, &policy, mode, after.as_ref());
    let exit = verification.exit();
    let report = report(&loaded, &world, &policy, verification);
    outputs.write(&report, globals)?;
    Ok(exit)
}

/// Asks the witnesses and compares.
fn verify(world: &World<'_>, policy: &Policy, mode: Mode, after: Option<&Plan>) -> Verification {
    let expectations = expect(world, policy, mode);
    let observations: Vec<Observation> = after
        .map(|plan| from_plan(plan, &expectations))
        .into_iter()
        .collect();
    let silences: Vec<Silence> = Vec::new();
    Verification::new(
        vec![Witness::Plan],
        silences,
        compare(&expectations, &observations),
    )
}

fn report(
    loaded: &Loaded,
    world: &World<'_>,
    policy: &Policy,
    verification: Verification,
) -> Report {
    let exit = verification.exit();
    Report {
        schema: SCHEMA,
        command: "verify",
        verdict: if exit == Exit::Open {
            Verdict::Open
        } else {
            Verdict::Closed
        },
        exit_code: exit.code(),
        plan: plan_head(loaded),
        target: world.target().map(str::to_owned),
        policy: Some(policy_head(policy)),
        inputs: loaded
            .sources
            .iter()
            .map(|s| (s.input.name(), s.sha256.clone()))
            .collect(),
        not_run: Vec::new(),
        summary: Counts::of(&loaded.plan),
        findings: Vec::new(),
        body: Body::Verify(verification),
    }
}

/// Reads a plan that was made after the deploy.
fn read_after(path: &std::path::Path, limits: &Limits) -> Result<Plan, Failure> {
    let shown = visible(&path.display().to_string());
    let bytes = files::read(path, limits.bytes)
        .map_err(|e| Failure::input(format!("error: {shown}: --after-plan: {e}")))?;
    parse_after(&bytes, limits).map_err(|e| Failure::input(format!("error: {shown}{e}")))
}

/// Reads the bytes of a plan that was made after the deploy; the error begins with its place.
fn parse_after(bytes: &[u8], limits: &Limits) -> Result<Plan, String> {
    let plan = plan::read(bytes, limits).map_err(|e| {
        let place = e
            .position
            .map_or_else(String::new, |p| format!(":{}:{}", p.line, p.column));
        let help = e
            .help
            .map_or_else(String::new, |h| format!("\n  help: {h}"));
        format!("{place}: {}{help}", e.message)
    })?;
    if plan.engine == Engine::Terraform {
        return Err(": expected a plan of the direct engine, found one of the Terraform engine: it does not say what the workspace holds".to_owned());
    }
    Ok(plan)
}
