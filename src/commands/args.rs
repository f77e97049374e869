//! Arguments, as they stand on the command line.

use std::path::PathBuf;

use clap::{ArgAction, Args, Parser, Subcommand, ValueEnum};

use super::{
    Failure, approve, authorize, check, digest, exposure, log, pages, policy_cmd, rules, show,
    verify,
};
#[cfg(feature = "remote")]
use super::{collect, deploy};
use crate::json::{Limits, MAX_INPUT_BYTES};
use crate::report::Exit;

const EXIT_CODES: &str = "\
Exit codes (of several the first of 2 > 6 > 1 > 4 > 3 > 0 wins; a mismatch, 5, is said whatever else could not be seen):
    0  open: nothing stands against it
    1  closed by policy: a deny finding
    2  usage, or an input that cannot be read or judged
    3  review needed, or an approval is missing: a person must approve exactly this plan
    4  an approval is there but not valid for this; a tampered log
    5  the workspace does not hold what was approved, or a deploy failed
    6  a remote system could not be reached, or a required proof or witness could not be had
   70  a defect of bundlegate itself
  130  interrupted
Output formats never change the exit code.";

/// Judges what `databricks bundle plan` would do before `databricks bundle deploy` does it.
#[derive(Debug, Parser)]
#[command(name = "bundlegate", version, about, after_help = EXIT_CODES, propagate_version = true, disable_help_subcommand = true)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    command: Command,
    /// Say more: both accounts of each finding, every check; also what is done meanwhile, on standard error (repeat it for even more)
    #[arg(short, long, global = true, action = ArgAction::Count)]
    pub(super) verbose: u8,
    /// Print nothing but errors; the exit code says the rest
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub(super) quiet: bool,
    /// When to use colour
    #[arg(long, global = true, value_enum, value_name = "WHEN", default_value_t = Color::Auto)]
    color: Color,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Collect plan, bundle JSON, state and warnings of a target in one folder
    #[cfg(feature = "remote")]
    Collect(collect::CollectArgs),
    /// Judge a plan against a policy
    Check(Box<check::CheckArgs>),
    /// Show what a plan changes, from what to what, and what it can destroy
    Show(show::ShowArgs),
    /// State what each command that can be run in the target can delete or break, resource by resource
    Exposure(Box<exposure::ExposureArgs>),
    /// Print the digests of a plan: of its bytes, of its intent, of the policy and of the source
    Digest(Box<digest::DigestArgs>),
    /// Approve exactly this plan and this code
    Approve(Box<approve::ApproveArgs>),
    /// Reject exactly this plan: whoever approves it, it is not deployed
    Reject(Box<approve::RejectArgs>),
    /// May this exact plan be deployed now?
    Authorize(Box<authorize::AuthorizeArgs>),
    /// Read an audit log
    Log(log::LogCommand),
    /// Deploy exactly this plan, if it is authorized, and verify what came of it
    #[cfg(feature = "remote")]
    Deploy(Box<deploy::DeployArgs>),
    /// After a deploy: does the workspace hold what was approved?
    Verify(Box<verify::VerifyArgs>),
    /// List the rules, or explain one
    Rules(rules::RulesArgs),
    /// Write a policy, check it, look at it, try it
    Policy(Box<policy_cmd::PolicyCommand>),
    /// Print the completions for a shell
    Completions(pages::CompletionsArgs),
    /// Print the manual page
    Man(pages::ManArgs),
}

/// When to use colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Color {
    /// On a terminal, unless NO_COLOR is set
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// The inputs that several commands share.
#[derive(Debug, Args)]
pub(super) struct InputArgs {
    /// Plan file (`databricks bundle plan -o json`), `-` for standard input, or a folder made by `collect`
    #[arg(value_name = "PLAN")]
    pub(super) plan: PathBuf,
    #[command(flatten)]
    pub(super) beside: BesideArgs,
}

impl InputArgs {
    pub(super) fn limits(&self) -> Limits {
        self.beside.limits()
    }

    pub(super) fn paths(&self) -> crate::input::Paths {
        self.beside.paths(self.plan.clone())
    }

    /// The target by source, in the CLI's own order.
    pub(super) fn targets(&self) -> Vec<(&'static str, String)> {
        targets(self.beside.target.as_deref())
    }
}

/// What is given beside a plan.
#[derive(Debug, Args)]
pub(super) struct BesideArgs {
    /// Bundle JSON: `databricks bundle validate -o json --include-locations`, or `databricks bundle summary -o json`
    #[arg(long, value_name = "FILE")]
    pub(super) bundle: Option<PathBuf>,
    /// The bundle JSON of what is deployed now (of the base branch)
    #[arg(long, value_name = "FILE")]
    pub(super) base_bundle: Option<PathBuf>,
    /// The deployed state: resources.json
    #[arg(long, value_name = "FILE")]
    pub(super) state: Option<PathBuf>,
    /// What `databricks bundle plan` wrote to standard error
    #[arg(long, value_name = "FILE")]
    pub(super) warnings: Option<PathBuf>,
    /// The target that the plan is for [env: DATABRICKS_BUNDLE_TARGET, then DATABRICKS_BUNDLE_ENV]
    #[arg(short, long, value_name = "TARGET")]
    pub(super) target: Option<String>,
    /// Largest input file, in bytes
    #[arg(long, value_name = "BYTES", default_value_t = MAX_INPUT_BYTES)]
    pub(super) max_size: u64,
}

impl BesideArgs {
    pub(super) fn limits(&self) -> Limits {
        Limits {
            bytes: self.max_size,
            ..Limits::default()
        }
    }

    pub(super) fn paths(&self, plan: PathBuf) -> crate::input::Paths {
        crate::input::Paths {
            plan,
            bundle: self.bundle.clone(),
            base_bundle: self.base_bundle.clone(),
            state: self.state.clone(),
            warnings: self.warnings.clone(),
        }
    }
}

/// The target by source, in the CLI's own order: `--target`, then the environment.
pub(super) fn targets(given: Option<&str>) -> Vec<(&'static str, String)> {
    let env = |name: &str| std::env::var(name).ok().filter(|v| !v.is_empty());
    [
        ("--target", given.map(str::to_owned)),
        ("DATABRICKS_BUNDLE_TARGET", env("DATABRICKS_BUNDLE_TARGET")),
        ("DATABRICKS_BUNDLE_ENV", env("DATABRICKS_BUNDLE_ENV")),
    ]
    .into_iter()
    .filter_map(|(source, target)| Some((source, target?)))
    .collect()
}

/// What every command knows of the command line as a whole.
#[derive(Debug, Clone, Copy)]
pub(super) struct Globals {
    pub(super) quiet: bool,
    pub(super) verbose: bool,
    pub(super) color: Color,
}

impl Globals {
    /// Whether text for this stream is coloured.
    pub(super) fn colour(self, terminal: bool) -> bool {
        match self.color {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => {
                terminal
                    && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty())
                    && std::env::var_os("TERM").is_none_or(|t| t != "dumb")
            }
        }
    }
}

impl Cli {
    pub(super) fn run(&self) -> Result<Exit, Failure> {
        let globals = Globals {
            quiet: self.quiet,
            verbose: self.verbose > 0,
            color: self.color,
        };
        match &self.command {
            #[cfg(feature = "remote")]
            Command::Collect(args) => collect::run(args, globals),
            Command::Check(args) => check::run(args, globals),
            Command::Show(args) => show::run(args, globals),
            Command::Exposure(args) => exposure::run(args, globals),
            Command::Digest(args) => digest::run(args, globals),
            Command::Approve(args) => approve::run(args, globals),
            Command::Reject(args) => approve::reject(args, globals),
            Command::Authorize(args) => authorize::run(args, globals),
            Command::Log(args) => log::run(args, globals),
            #[cfg(feature = "remote")]
            Command::Deploy(args) => deploy::run(args, globals),
            Command::Verify(args) => verify::run(args, globals),
            Command::Rules(args) => rules::run(args, globals),
            Command::Policy(args) => policy_cmd::run(args, globals),
            Command::Completions(args) => pages::completions(args),
            Command::Man(args) => pages::man(args),
        }
    }
}
