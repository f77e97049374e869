//! `verify PLAN`: after a deploy, does the workspace hold what was approved?

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::Failure;
use super::args::{BesideArgs, Globals, targets};
use super::check::{plan_head, policy_head};
use super::log::{self, LogArgs};
use super::outputs::{OutputArgs, Outputs};
use super::policy::PolicyArgs;
use crate::effect::World;
use crate::host::{files, out};
use crate::input::{self, Loaded};
use crate::json::Limits;
use crate::plan::{self, Engine, Plan};
use crate::policy::Policy;
use crate::report::{Body, Counts, Exit, Report, SCHEMA, Verdict, Verification};
use crate::text::visible;
use crate::verify::Mode;

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
    #[cfg(feature = "remote")]
    #[command(flatten)]
    cli: super::cli_args::CliArgs,
    #[command(flatten)]
    outputs: OutputArgs,
    #[command(flatten)]
    log: LogArgs,
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
    let outputs = Outputs::parse(&args.outputs)?;
    let policy = args
        .policy
        .load(globals.colour(out::stderr_is_terminal()))?;
    let limits = args.beside.limits();
    let after = args
        .after_plan
        .as_ref()
        .map(|path| read_after(path, &limits))
        .transpose()?;
    let targets = targets(args.beside.target.as_deref());
    let (mode, loaded) = match (&args.plan, &args.after_plan) {
        (Some(plan), _) => (
            Mode::Deployed,
            input::load(&args.beside.paths(plan.clone()), &limits)?,
        ),
        // A drift is judged by a plan of now: it is its own witness.
        (None, Some(now)) => (
            Mode::Drift,
            input::load(&args.beside.paths(now.clone()), &limits)?,
        ),
        (None, None) => (Mode::Drift, plan_of_now(args, &limits, &targets)?),
    };
    if loaded.plan.engine == Engine::Terraform {
        return Err(Failure::input(
            "error: expected a plan of the direct engine, found one of the Terraform engine: it says only which actions there are, so there is nothing to compare the workspace with",
        ));
    }
    let after = match mode {
        Mode::Drift if args.after_plan.is_none() => {
            (args.witness != WitnessChoice::Api).then(|| loaded.plan.clone())
        }
        _ => after,
    };
    let world = World::new(loaded.inputs(&targets));
    let verification = witnesses(
        args,
        &world,
        &policy,
        mode,
        after.as_ref(),
        &limits,
        globals,
    )?;
    let exit = verification.exit();
    let report = report(&loaded, &world, &policy, exit, verification);
    for flag in &loaded.overridden {
        out::stderr(&format!(
            "note: --{} is used in place of the file in the collected folder\n",
            flag.replace('_', "-")
        ));
    }
    let word = if exit == Exit::Open {
        "verified"
    } else {
        "not-verified"
    };
    args.log.append(log::event(&report, word, None, []))?;
    outputs.write(&report, globals)?;
    Ok(exit)
}

#[cfg(feature = "remote")]
fn witnesses(
    args: &VerifyArgs,
    world: &World<'_>,
    policy: &Policy,
    mode: Mode,
    after: Option<&Plan>,
    limits: &Limits,
    globals: Globals,
) -> Result<Verification, Failure> {
    use super::witnesses::{Asking, verify};
    let target = world.target().unwrap_or_default().to_owned();
    let needs_cli = after.is_none() && args.witness != WitnessChoice::Api;
    if needs_cli && target.is_empty() {
        super::cli_args::target_of(None)?;
    }
    let cli = args.cli.cli(&target, std::path::Path::new("."));
    let asking = Asking {
        choice: args.witness,
        after,
        cli: &cli,
        args: &args.cli,
        limits,
        quiet: globals.quiet,
    };
    crate::remote::run::block_on(verify(world, policy, mode, &asking))?
}

/// Without network access only a plan that was given can speak.
#[cfg(not(feature = "remote"))]
fn witnesses(
    args: &VerifyArgs,
    world: &World<'_>,
    policy: &Policy,
    mode: Mode,
    after: Option<&Plan>,
    _: &Limits,
    _: Globals,
) -> Result<Verification, Failure> {
    use crate::report::Witness;
    let Some(after) = after.filter(|_| args.witness == WitnessChoice::Plan) else {
        return Err(Failure {
            exit: Exit::Unreachable,
            message: WITHOUT_REMOTE.to_owned(),
        });
    };
    let expectations = crate::verify::expect(world, policy, mode);
    let seen = crate::verify::from_plan(after, &expectations);
    let rows = crate::verify::compare(&expectations, &[seen]);
    Ok(Verification::new(
        vec![Witness::Plan],
        Vec::new(),
        rows.into_iter().flatten().collect(),
    ))
}

#[cfg(not(feature = "remote"))]
const WITHOUT_REMOTE: &str = "error: this bundlegate was built without network access (cargo feature `remote`): only a plan made after the deploy can speak; give --witness plan --after-plan FILE";

/// For a drift without a plan: the plan that the CLI makes now or, for the API alone, what the bundle JSON says is deployed.
#[cfg(feature = "remote")]
fn plan_of_now(
    args: &VerifyArgs,
    limits: &Limits,
    targets: &[(&'static str, String)],
) -> Result<Loaded, Failure> {
    let io = |e: &dyn std::fmt::Display| Failure::input(format!("error: {e}"));
    let Some(path) = &args.beside.bundle else {
        return Err(Failure::input("error: --drift: give --bundle FILE"));
    };
    let shown = visible(&path.display().to_string());
    let bytes = files::read(path, limits.bytes)
        .map_err(|e| Failure::input(format!("error: {shown}: {e}")))?;
    let bundle = crate::bundle::Bundle::read(&bytes, limits)
        .map_err(|e| Failure::input(format!("error: {shown}: {}", e.message)))?;
    let (text, from) = if args.witness == WitnessChoice::Api {
        (deployed_by(&bundle), shown)
    } else {
        let target = targets
            .first()
            .map_or_else(|| bundle.target().to_owned(), |(_, t)| t.clone());
        let cli = args.cli.cli(&target, std::path::Path::new("."));
        let made = crate::remote::run::block_on(async {
            cli.version().await?;
            cli.capture(
                &super::cli_args::words(&["bundle", "plan", "-o", "json"]),
                limits.bytes,
            )
            .await
        })?
        .map_err(|e| Failure {
            exit: Exit::Unreachable,
            message: format!("error: {e}"),
        })?;
        (made.stdout, "databricks bundle plan".to_owned())
    };
    // Read like any other plan, from a private file.
    let file = tempfile::NamedTempFile::new().map_err(|e| io(&e))?;
    std::fs::write(file.path(), text).map_err(|e| io(&e))?;
    let mut loaded = input::load(&args.beside.paths(file.path().to_owned()), limits)?;
    for source in &mut loaded.sources {
        if source.input == input::Input::Plan {
            source.path.clone_from(&from);
        }
    }
    Ok(loaded)
}

#[cfg(not(feature = "remote"))]
fn plan_of_now(
    _: &VerifyArgs,
    _: &Limits,
    _: &[(&'static str, String)],
) -> Result<Loaded, Failure> {
    Err(Failure {
        exit: Exit::Unreachable,
        message: WITHOUT_REMOTE.to_owned(),
    })
}

/// A plan that leaves everything in the bundle JSON alone, with the ids that `summary` knows.
#[cfg(feature = "remote")]
fn deployed_by(bundle: &crate::bundle::Bundle) -> Vec<u8> {
    use serde_json::{Map, Value, json};
    let mut entries = Map::new();
    for (kind, name, config) in bundle.resources() {
        let key = format!("resources.{kind}.{name}");
        let id = config.get("id").and_then(crate::json::Value::as_str);
        entries.insert(
            key.clone(),
            match id {
                Some(id) => json!({"action": "skip", "id": id}),
                None => json!({"action": "skip"}),
            },
        );
        if config.get("permissions").is_some_and(|p| !p.is_blank()) {
            entries.insert(format!("{key}.permissions"), json!({"action": "skip"}));
        }
    }
    json!({"plan_version": plan::PLAN_VERSION, "plan": Value::Object(entries)})
        .to_string()
        .into_bytes()
}

fn report(
    loaded: &Loaded,
    world: &World<'_>,
    policy: &Policy,
    exit: Exit,
    verification: Verification,
) -> Report {
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
        findings: verification.findings(),
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
pub(super) fn parse_after(bytes: &[u8], limits: &Limits) -> Result<Plan, String> {
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
