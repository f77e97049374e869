//! `policy schema`: the JSON Schema for editors.

use clap::{Args, ValueEnum};

use super::super::Failure;
use crate::policy::{cases_json_schema, json_schema};
use crate::report::Exit;

/// Print the JSON Schema of a policy, or of a test file
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  bundlegate policy schema > policy.schema.json
  bundlegate policy schema tests > policy-tests.schema.json

In the first line of the file:
  # yaml-language-server: $schema=policy.schema.json")]
pub(super) struct SchemaArgs {
    /// Of what
    #[arg(value_enum, default_value_t = Of::Policy)]
    of: Of,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Of {
    /// A policy
    Policy,
    /// A file of `policy test`
    Tests,
}

pub(super) fn run(args: &SchemaArgs) -> Result<Exit, Failure> {
    let schema = match args.of {
        Of::Policy => json_schema(),
        Of::Tests => cases_json_schema(),
    };
    crate::commands::print(&format!("{schema:#}\n"))?;
    Ok(Exit::Open)
}
