//! `policy ...`: write a policy, check it, look at it, try it. One file a subcommand.

mod init;
mod replay;
mod schema;
mod show;
mod test;
mod validate;

use clap::{Args, Subcommand, ValueEnum};

use super::Failure;
use super::args::Globals;
use crate::report::Exit;

/// Write a policy, check it, look at it, try it
#[derive(Debug, Args)]
#[command(
    subcommand_required = true,
    arg_required_else_help = true,
    disable_help_subcommand = true
)]
pub(super) struct PolicyCommand {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Write a policy for a bundle: its target, workspace, identities, and what holds data
    Init(init::InitArgs),
    /// Say everything that is wrong with policies
    Validate(validate::ValidateArgs),
    /// Print the resolved policy: each level, and what says so
    Show(show::ShowArgs),
    /// Print the JSON Schema of a policy, or of a test file
    Schema(schema::SchemaArgs),
    /// Run test cases: plans, and what the policy must say about them
    Test(test::TestArgs),
    /// Judge recorded plans, with this policy and with another one
    Replay(replay::ReplayArgs),
}

/// The outputs of a command that has no report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Form {
    /// For people
    Text,
    /// For programs
    Json,
}

pub(super) fn run(args: &PolicyCommand, globals: Globals) -> Result<Exit, Failure> {
    match &args.command {
        Command::Init(args) => init::run(args, globals),
        Command::Validate(args) => validate::run(args, globals),
        Command::Show(args) => show::run(args, globals),
        Command::Schema(args) => schema::run(args),
        Command::Test(args) => test::run(args, globals),
        Command::Replay(args) => replay::run(args, globals),
    }
}

fn print(text: &str, globals: Globals) -> Result<(), Failure> {
    if globals.quiet {
        return Ok(());
    }
    super::print(text)
}
