//! `-o FORMAT[=FILE]`: what is written where.

use std::path::PathBuf;

use super::Failure;
use super::args::Globals;
use crate::host::{files, out};
use crate::render::{self, Format, Options};
use crate::report::Report;
use crate::text::visible;

/// The outputs of one command.
#[derive(Debug)]
pub(super) struct Outputs {
    stdout: Option<Format>,
    files: Vec<(Format, PathBuf)>,
}

impl Outputs {
    /// Reads `-o`. Text goes to standard output unless a format without a file takes its place.
    pub(super) fn parse(given: &[String]) -> Result<Self, Failure> {
        let mut stdout = None;
        let mut files: Vec<(Format, PathBuf)> = Vec::new();
        for text in given {
            let (name, file) = match text.split_once('=') {
                Some((name, file)) => (name, Some(file)),
                None => (text.as_str(), None),
            };
            let format: Format = name
                .parse()
                .map_err(|e| Failure::input(format!("error: --output: {e}")))?;
            match file {
                None if stdout.is_some() => {
                    return Err(Failure::input(
                        "error: --output: expected one format for standard output, found two; write one of them to a file: -o FORMAT=FILE",
                    ));
                }
                None => stdout = Some(format),
                Some("") => {
                    return Err(Failure::input(format!(
                        "error: --output: expected a file after {name}=, found nothing"
                    )));
                }
                Some(file) => {
                    let path = PathBuf::from(file);
                    if files.iter().any(|(_, p)| *p == path) {
                        return Err(Failure::input(format!(
                            "error: --output: expected each file once, found {} twice",
                            visible(file)
                        )));
                    }
                    files.push((format, path));
                }
            }
        }
        Ok(Self {
            stdout: Some(stdout.unwrap_or(Format::Text)),
            files,
        })
    }

    /// The files that will be written.
    pub(super) fn files(&self) -> impl Iterator<Item = &std::path::Path> {
        self.files.iter().map(|(_, path)| path.as_path())
    }

    /// Writes everything. A file that cannot be written does not keep the others from being written.
    pub(super) fn write(&self, report: &Report, globals: Globals) -> Result<(), Failure> {
        let mut failed = Vec::new();
        for (format, path) in &self.files {
            let text = render::render(
                *format,
                report,
                &Options {
                    colour: false,
                    width: None,
                    verbose: false,
                },
            );
            if let Err(e) = files::write(path, text.as_bytes()) {
                failed.push(format!(
                    "error: {}: could not write the {format} report: {e}",
                    visible(&path.display().to_string())
                ));
            }
        }
        if !failed.is_empty() {
            return Err(Failure::input(failed.join("\n")));
        }
        if let Some(format) = self.stdout
            && !globals.quiet
        {
            let terminal = out::stdout_is_terminal();
            let width = terminal.then(terminal_width).flatten();
            let text = render::render(
                format,
                report,
                &Options {
                    colour: globals.colour(terminal),
                    width,
                    verbose: false,
                },
            );
            out::stdout(&text)
                .map_err(|e| Failure::input(format!("error: standard output: {e}")))?;
        }
        Ok(())
    }
}

/// The width that the terminal says it has.
fn terminal_width() -> Option<usize> {
    std::env::var("COLUMNS")
        .ok()
        .and_then(|c| c.parse().ok())
        .or_else(|| terminal_size::terminal_size().map(|(w, _)| usize::from(w.0)))
}
