//! `completions SHELL` and `man`: what a package of the program brings along.

use std::path::PathBuf;

use clap::{Args, CommandFactory as _};

use super::Failure;
use super::args::Cli;
use super::trust::failure;
use crate::report::Exit;
use crate::text::visible;

/// Print the completions for a shell
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  bundlegate completions bash > /etc/bash_completion.d/bundlegate
  bundlegate completions zsh > \"${fpath[1]}/_bundlegate\"
  bundlegate completions fish > ~/.config/fish/completions/bundlegate.fish

Exit codes: 0 printed, 2 an unknown shell.")]
pub(super) struct CompletionsArgs {
    /// The shell
    #[arg(value_name = "SHELL", value_enum)]
    shell: clap_complete::Shell,
}

/// Print the manual page
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  bundlegate man | man -l -
  bundlegate man --out /usr/local/share/man/man1

Exit codes: 0 printed or written, 2 the folder cannot be written to.")]
pub(super) struct ManArgs {
    /// Write the pages of all commands into this folder, which must be there
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

pub(super) fn completions(args: &CompletionsArgs) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "bundlegate", &mut script);
    super::print(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Open)
}

pub(super) fn man(args: &ManArgs) -> Result<Exit, Failure> {
    let Some(folder) = &args.out else {
        let mut page = Vec::new();
        clap_mangen::Man::new(Cli::command())
            .render(&mut page)
            .map_err(|e| failure(&e))?;
        super::print(&String::from_utf8_lossy(&page))?;
        return Ok(Exit::Open);
    };
    clap_mangen::generate_to(Cli::command(), folder).map_err(|e| {
        Failure::input(format!(
            "error: --out: expected a folder to write the pages into, found {}: {e}",
            visible(&folder.display().to_string())
        ))
    })?;
    Ok(Exit::Open)
}
