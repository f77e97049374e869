//! `check PLAN`: judge a plan against a policy.

use clap::Args;

use super::Failure;
use super::args::{Globals, InputArgs};
use super::log::{self, LogArgs};
use super::outputs::{OutputArgs, Outputs};
use super::policy::PolicyArgs;
use crate::digest;
use crate::effect::World;
use crate::host::out;
use crate::input::{self, Loaded};
use crate::plan::{Engine, PLAN_VERSION};
use crate::policy::Policy;
use crate::report::show::{ShowOptions, build};
use crate::report::{Body, Counts, Exit, PlanHead, PolicyHead, Report, SCHEMA, Verdict, verdict};
use crate::rules::{Context, judge};

/// Judge a plan against a policy
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  databricks bundle plan -o json -t prod > plan.json 2> warnings.txt
  databricks bundle validate -o json --include-locations -t prod > bundle.json
  bundlegate check plan.json --bundle bundle.json --warnings warnings.txt -t prod
  bundlegate check plan.json --bundle bundle.json -o json=report.json
  bundlegate check gate --review-ok      # the job that plans: go on to the job that waits for an approval

Exit codes: 0 open, 1 closed by policy, 2 an input cannot be read or judged, 3 review needed.")]
pub(super) struct CheckArgs {
    #[command(flatten)]
    inputs: InputArgs,
    #[command(flatten)]
    policy: PolicyArgs,
    #[command(flatten)]
    outputs: OutputArgs,
    /// Exit 0 also when the gate is closed or a review is needed (for jobs that only report)
    #[arg(long)]
    exit_zero: bool,
    /// Exit 0 also when a review is needed (for the job that plans, before the job that a person approves); a deny stays 1
    #[arg(long, conflicts_with = "exit_zero")]
    review_ok: bool,
    #[command(flatten)]
    log: LogArgs,
}

pub(super) fn run(args: &CheckArgs, globals: Globals) -> Result<Exit, Failure> {
    let outputs = Outputs::parse(&args.outputs)?;
    let policy = args
        .policy
        .load(globals.colour(out::stderr_is_terminal()))?;
    let loaded = input::load(&args.inputs.paths(), &args.inputs.limits())?;
    let now = args.policy.now();
    let mut report = judged("check", &loaded, &args.inputs.targets(), &policy, now);
    let exit = match report.verdict {
        _ if args.exit_zero => Exit::Open,
        Verdict::Review if args.review_ok => Exit::Open,
        verdict => verdict.exit(),
    };
    report.exit_code = exit.code();
    args.log
        .append(log::event(&report, report.verdict.as_str(), None, []))?;
    let page = outputs.has_page().then(|| {
        let targets = args.inputs.targets();
        let world = World::new(loaded.inputs(&targets));
        Report {
            body: Body::Show(Box::new(build(&world, &ShowOptions::default()))),
            ..report.clone()
        }
    });
    outputs.write_with_page(&report, page.as_ref(), globals)?;
    Ok(exit)
}

/// Judges what was read.
pub(super) fn judged(
    command: &'static str,
    loaded: &Loaded,
    targets: &[(&'static str, String)],
    policy: &Policy,
    now: jiff::Timestamp,
) -> Report {
    let world = World::new(loaded.inputs(targets));
    let judged = judge(&Context {
        world: &world,
        policy,
        now,
    });
    let verdict = verdict(&judged.findings);
    Report {
        not_run: judged.not_run,
        findings: judged.findings,
        ..head(
            command,
            loaded,
            &world,
            Some(policy),
            verdict,
            verdict.exit(),
        )
    }
}

/// What every report says of the plan, the policy and the inputs; says on standard error which flags took the place of a collected file.
pub(super) fn head(
    command: &'static str,
    loaded: &Loaded,
    world: &World<'_>,
    policy: Option<&Policy>,
    verdict: Verdict,
    exit: Exit,
) -> Report {
    for flag in &loaded.overridden {
        out::stderr(&format!(
            "note: --{} is used in place of the file in the collected folder\n",
            flag.replace('_', "-")
        ));
    }
    Report {
        schema: SCHEMA,
        command,
        verdict,
        exit_code: exit.code(),
        plan: plan_head(loaded),
        target: world.target().map(str::to_owned),
        policy: policy.map(policy_head),
        inputs: loaded
            .sources
            .iter()
            .map(|s| (s.input.name(), s.sha256.clone()))
            .collect(),
        not_run: Vec::new(),
        summary: Counts::of(&loaded.plan),
        findings: Vec::new(),
        body: Body::None,
    }
}

/// What the report says of the plan.
pub(super) fn plan_head(loaded: &Loaded) -> PlanHead {
    let plan = &loaded.plan;
    let source = loaded.plan_source();
    PlanHead {
        path: source.map(|s| s.path.clone()).unwrap_or_default(),
        sha256: source.map(|s| s.sha256.clone()).unwrap_or_default(),
        intent: digest::intent(plan).map(|intent| intent.digest.to_string()),
        plan_version: (plan.engine == Engine::Direct).then_some(PLAN_VERSION),
        cli_version: plan.cli_version.as_deref().map(str::to_owned),
        lineage: plan.lineage.as_deref().map(str::to_owned),
        serial: plan.serial,
        not_selected: plan.not_selected,
        entries: plan.entries.len(),
    }
}

/// What the report says of the policy.
pub(super) fn policy_head(policy: &Policy) -> PolicyHead {
    PolicyHead {
        source: policy.source().to_owned(),
        sha256: digest::policy(policy).to_string(),
    }
}
