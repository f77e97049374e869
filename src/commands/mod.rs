//! The command line: one file a command. Reads inputs, calls the core, renders.

mod approve;
mod args;
mod authorize;
mod check;
mod ci;
#[cfg(feature = "remote")]
mod cli_args;
#[cfg(feature = "remote")]
mod collect;
#[cfg(feature = "remote")]
mod deploy;
#[cfg(feature = "remote")]
mod deploy_checks;
mod digest;
mod exposure;
mod key;
mod log;
mod outputs;
mod pages;
mod platforms;
mod policy;
mod policy_cmd;
#[cfg(feature = "remote")]
mod progress;
mod rules;
mod show;
mod subject;
mod trust;
mod verify;
mod who;
#[cfg(feature = "remote")]
mod witnesses;

use std::process::ExitCode;

use clap::Parser as _;

use crate::host::out;
use crate::report::Exit;

pub use args::Cli;

/// A command that cannot go on: what to say on standard error, and the exit code.
#[derive(Debug)]
struct Failure {
    exit: Exit,
    message: String,
}

impl Failure {
    fn input(message: impl Into<String>) -> Self {
        Self {
            exit: Exit::Input,
            message: message.into(),
        }
    }
}

/// Prints to standard output; a reader that went away is no failure.
fn print(text: &str) -> Result<(), Failure> {
    out::stdout(text).map_err(|e| Failure::input(format!("error: standard output: {e}")))
}

impl From<crate::input::Error> for Failure {
    fn from(e: crate::input::Error) -> Self {
        Self::input(format!("error: {e}"))
    }
}

/// Runs the program with the arguments of the process.
#[must_use]
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(e) => {
            // clap shows help and version on standard output, mistakes on standard error; a closed pipe is no failure.
            drop(e.print());
            return if e.use_stderr() {
                Exit::Input.into()
            } else {
                ExitCode::SUCCESS
            };
        }
    };
    tracing_to_stderr(cli.verbose, cli.quiet);
    // A panic is a defect; its message may hold text of a plan, so only its place is shown.
    std::panic::set_hook(Box::new(|info| {
        let place = info.location().map_or_else(
            || "an unknown place".to_owned(),
            |l| format!("{}:{}", l.file(), l.line()),
        );
        out::stderr(&format!(
            "error: a defect of bundlegate at {place}; nothing was judged. Please report it with the command line.\n"
        ));
    }));
    let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| cli.run()));
    match done {
        Ok(Ok(exit)) => exit.into(),
        Ok(Err(failure)) => {
            out::stderr(&format!("{}\n", failure.message.trim_end()));
            failure.exit.into()
        }
        Err(_) => Exit::Defect.into(),
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(exit.code())
    }
}

fn tracing_to_stderr(verbose: u8, quiet: bool) {
    let level = match (quiet, verbose) {
        (true, _) => "error",
        (_, 0) => "warn",
        (_, 1) => "info",
        (_, 2) => "debug",
        _ => "trace",
    };
    let filter = tracing_subscriber::EnvFilter::new(format!("off,bundlegate={level}"));
    // A second subscriber in one process is a test's; the first one stays.
    drop(
        tracing_subscriber::fmt()
            .with_env_filter(filter)
            .with_writer(std::io::stderr)
            .without_time()
            .with_target(false)
            .try_init(),
    );
}
