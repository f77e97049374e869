//! Flags of the commands that run the Databricks CLI.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use clap::Args;

use super::Failure;
use super::args::targets;
use crate::host::cli::{Cli, CliError};
use crate::remote::run::RunError;
use crate::report::Exit;

/// How the Databricks CLI is run.
#[derive(Debug, Args)]
pub(super) struct CliArgs {
    /// The Databricks CLI [env: DATABRICKS_CLI_PATH] [default: databricks, on the path]
    #[arg(long, value_name = "PATH")]
    cli: Option<PathBuf>,
    /// Profile of ~/.databrickscfg, for the CLI and for what is read of the workspace
    #[arg(long, value_name = "PROFILE")]
    pub(super) profile: Option<String>,
    /// A variable of the bundle, handed to the CLI; repeatable
    #[arg(long, value_name = "NAME=VALUE")]
    var: Vec<String>,
    /// Only these resources, handed to the CLI; repeatable
    #[arg(long, value_name = "KEY")]
    select: Vec<String>,
}

impl CliArgs {
    /// The CLI, running in `folder` for this target. `with_selection`: whether `--select` is handed on.
    pub(super) fn cli(&self, target: &str, folder: &Path) -> Cli {
        let program = self
            .cli
            .as_ref()
            .map(|p| p.clone().into_os_string())
            .or_else(|| std::env::var_os("DATABRICKS_CLI_PATH").filter(|p| !p.is_empty()))
            .unwrap_or_else(|| "databricks".into());
        let mut common: Vec<OsString> = vec!["-t".into(), target.into()];
        if let Some(profile) = &self.profile {
            common.extend(["--profile".into(), profile.into()]);
        }
        for var in &self.var {
            common.extend(["--var".into(), var.into()]);
        }
        Cli::new(&program, folder, common)
    }

    /// A command with what `--select` says behind it.
    pub(super) fn selecting<'a>(&'a self, command: &[&'a str]) -> Vec<&'a OsStr> {
        let select = self.select.iter().flat_map(|s| ["--select", s.as_str()]);
        command
            .iter()
            .copied()
            .chain(select)
            .map(OsStr::new)
            .collect()
    }
}

/// A command as arguments.
pub(super) fn words<'a>(command: &[&'a str]) -> Vec<&'a OsStr> {
    command.iter().copied().map(OsStr::new).collect()
}

/// The target: `-t` or the environment; every call of the CLI names it.
pub(super) fn target_of(given: Option<&str>) -> Result<String, Failure> {
    let all = targets(given);
    match all.first() {
        Some((_, target)) => Ok(target.clone()),
        None => Err(Failure::input(
            "error: expected a target, found none; give -t TARGET, or set DATABRICKS_BUNDLE_TARGET",
        )),
    }
}

impl From<CliError> for Failure {
    fn from(e: CliError) -> Self {
        Self::input(format!("error: {e}"))
    }
}

impl From<RunError> for Failure {
    fn from(e: RunError) -> Self {
        let exit = match e {
            RunError::Interrupted => Exit::Interrupted,
            RunError::Start(_) => Exit::Unreachable,
        };
        Self {
            exit,
            message: format!("error: {e}"),
        }
    }
}
