//! `-o FORMAT[=FILE]`: what is written where.

use std::fmt::Display;
use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;

use super::Failure;
use super::args::Globals;
use super::ci;
use crate::host::{files, out};
use crate::render::{self, Format, Options};
use crate::report::Report;
use crate::text::visible;

/// Where a report goes.
#[derive(Debug, Args)]
pub(super) struct OutputArgs {
    /// Format (text, json, markdown, html, sarif, junit, github, azure), to standard output or to a file; repeatable
    #[arg(short, long, value_name = "FORMAT[=FILE]")]
    output: Vec<String>,
    /// No annotations, summary and output variables by itself on GitHub Actions and Azure DevOps
    #[arg(long)]
    no_ci_output: bool,
}

/// The outputs of one command; `F`: its formats.
#[derive(Debug)]
pub(super) struct Outputs<F = Format> {
    stdout: F,
    files: Vec<(F, PathBuf)>,
    ci: bool,
}

impl Outputs {
    /// Reads `-o`. Text goes to standard output unless a format without a file takes its place.
    pub(super) fn parse(args: &OutputArgs) -> Result<Self, Failure> {
        let outputs = Self::parse_or(&args.output, Format::Text)?;
        Ok(Self {
            ci: !args.no_ci_output,
            ..outputs
        })
    }

    /// Writes everything. A file that cannot be written does not keep the others from being written.
    pub(super) fn write(&self, report: &Report, globals: Globals) -> Result<(), Failure> {
        self.write_with_page(report, None, globals)
    }

    /// The same with another report for pages (HTML, Markdown, the summary of a CI run), which have room for more.
    pub(super) fn write_with_page(
        &self,
        report: &Report,
        page: Option<&Report>,
        globals: Globals,
    ) -> Result<(), Failure> {
        let page = page.unwrap_or(report);
        self.write_each(globals, |format, options| {
            let is_page = matches!(format, Format::Html | Format::Markdown);
            render::render(format, if is_page { page } else { report }, options)
        })?;
        if self.ci {
            ci::write(report, page, &self.formats())
        } else {
            Ok(())
        }
    }

    /// Whether anything that is written is a page.
    pub(super) fn has_page(&self) -> bool {
        let formats = self.formats();
        formats.contains(&Format::Html)
            || formats.contains(&Format::Markdown)
            || (self.ci && ci::is_there())
    }

    /// The formats that are asked for in words.
    fn formats(&self) -> Vec<Format> {
        self.files
            .iter()
            .map(|(f, _)| *f)
            .chain([self.stdout])
            .collect()
    }
}

impl<F: FromStr<Err: Display> + Copy + Display> Outputs<F> {
    /// Reads `-o`. `usual` goes to standard output unless a format without a file takes its place.
    pub(super) fn parse_or(given: &[String], usual: F) -> Result<Self, Failure> {
        let mut stdout = None;
        let mut files: Vec<(F, PathBuf)> = Vec::new();
        for text in given {
            let (name, file) = match text.split_once('=') {
                Some((name, file)) => (name, Some(file)),
                None => (text.as_str(), None),
            };
            let format: F = name
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
            stdout: stdout.unwrap_or(usual),
            files,
            ci: false,
        })
    }

    /// The files that will be written.
    pub(super) fn files(&self) -> impl Iterator<Item = &std::path::Path> {
        self.files.iter().map(|(_, path)| path.as_path())
    }

    /// Writes what `render` makes for each format.
    pub(super) fn write_each(
        &self,
        globals: Globals,
        render: impl Fn(F, &Options) -> String,
    ) -> Result<(), Failure> {
        let mut failed = Vec::new();
        for (format, path) in &self.files {
            let text = render(
                *format,
                &Options {
                    colour: false,
                    width: None,
                    verbose: globals.verbose,
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
        if !globals.quiet {
            let terminal = out::stdout_is_terminal();
            let width = terminal.then(terminal_width).flatten();
            let text = render(
                self.stdout,
                &Options {
                    colour: globals.colour(terminal),
                    width,
                    verbose: globals.verbose,
                },
            );
            super::print(&text)?;
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
