//! What a CI platform gets by itself: annotations, a summary page, output variables.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use super::Failure;
use crate::host::{files, out};
use crate::render::{self, Format, Options};
use crate::report::Report;
use crate::text::visible;

/// Writes for the platform that this runs on, if it is one. `page` is the report for the summary; `asked` are the formats that the user wants anyway: their
/// annotations are not written twice. Annotations go to standard error, so that `-o json` stays one document.
pub(super) fn write(report: &Report, page: &Report, asked: &[Format]) -> Result<(), Failure> {
    if is_true("GITHUB_ACTIONS") {
        annotate(report, Format::Github, asked);
        append(
            env("GITHUB_STEP_SUMMARY").map(PathBuf::from),
            &render::github_summary(page),
        )?;
        append(
            env("GITHUB_OUTPUT").map(PathBuf::from),
            &render::github_outputs(report),
        )?;
    }
    if is_true("TF_BUILD") {
        annotate(report, Format::Azure, asked);
        if let Some(folder) = env("AGENT_TEMPDIRECTORY").map(PathBuf::from) {
            let name = format!("bundlegate-{}-{}.md", report.command, std::process::id());
            let file = std::path::absolute(folder.join(name)).map_err(|e| failed(&folder, &e))?;
            files::write(&file, render::azure_summary(page).as_bytes())
                .map_err(|e| failed(&file, &e))?;
            out::stderr(&render::azure_upload_summary(&file.to_string_lossy()));
        }
    }
    Ok(())
}

/// Whether this runs on a platform that gets something by itself.
pub(super) fn is_there() -> bool {
    is_true("GITHUB_ACTIONS") || is_true("TF_BUILD")
}

fn env(name: &str) -> Option<std::ffi::OsString> {
    std::env::var_os(name).filter(|v| !v.is_empty())
}

fn is_true(name: &str) -> bool {
    env(name).is_some_and(|v| v.eq_ignore_ascii_case("true"))
}

fn annotate(report: &Report, format: Format, asked: &[Format]) {
    if !asked.contains(&format) {
        out::stderr(&render::render(
            format,
            report,
            &Options {
                colour: false,
                width: None,
                verbose: false,
            },
        ));
    }
}

/// Adds to a file that the platform made. It is no report of ours: other steps write to it too.
fn append(path: Option<PathBuf>, text: &str) -> Result<(), Failure> {
    let Some(path) = path else { return Ok(()) };
    OpenOptions::new()
        .append(true)
        .create(true)
        .open(&path)
        .and_then(|mut f| f.write_all(text.as_bytes()))
        .map_err(|e| failed(&path, &e))
}

fn failed(path: &Path, e: &dyn std::fmt::Display) -> Failure {
    Failure::input(format!(
        "error: {}: could not write for the CI platform: {e}\n  help: --no-ci-output leaves it out",
        visible(&path.display().to_string())
    ))
}
