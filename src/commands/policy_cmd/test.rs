//! `policy test`: cases, and what the policy must say about them.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use clap::Args;

use super::super::Failure;
use super::super::args::Globals;
use super::super::outputs::Outputs;
use super::super::policy::{load_policy, policy_ref, read_bounded};
use crate::host::{files, out};
use crate::json::MAX_INPUT_BYTES;
use crate::policy::{self, Diagnostic, PolicyRef};
use crate::policy_test::{self, Run, Suite};
use crate::report::Exit;
use crate::text::{quoted, visible};

/// Run test cases: plans, and what the policy must say about them
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  bundlegate policy test policy-tests.yml
  bundlegate policy test tests/*.yml -o junit=policy-tests.xml
  bundlegate policy test policy-tests.yml -p stricter.yml

A test file:
  policy: bundlegate.yml
  cases:
    - name: deleting the report needs a review
      entries: {jobs.report: {action: delete, remote_state: {name: report}}}
      bundle: {resources: {}}
      target: prod
      expect: {verdict: review, findings: [destroy jobs.report]}

Exit codes: 0 every case passes, 1 one does not, 2 a file cannot be used, or has no case.")]
pub(super) struct TestArgs {
    /// Test files
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// Test this policy in place of the one that each file names
    #[arg(short, long, value_name = "POLICY")]
    policy: Option<String>,
    /// The time at which waivers are judged, where a file does not say it [default: now]
    #[arg(long, value_name = "TIME")]
    now: Option<jiff::Timestamp>,
    /// Output: text, json or junit, to standard output or to a file; repeatable
    #[arg(short, long, value_name = "FORMAT[=FILE]")]
    output: Vec<String>,
}

/// The output formats of `policy test`.
#[derive(Debug, Clone, Copy)]
enum Form {
    Text,
    Json,
    Junit,
}

impl FromStr for Form {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        match name {
            "text" => Ok(Self::Text),
            "json" => Ok(Self::Json),
            "junit" => Ok(Self::Junit),
            other => Err(format!(
                "expected a format (text, json, junit), found {}",
                quoted(other)
            )),
        }
    }
}

impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Text => "text",
            Self::Json => "json",
            Self::Junit => "junit",
        })
    }
}

pub(super) fn run(args: &TestArgs, globals: Globals) -> Result<Exit, Failure> {
    let outputs = Outputs::parse_or(&args.output, Form::Text)?;
    let now = args.now.unwrap_or_else(jiff::Timestamp::now);
    let colour = globals.colour(out::stderr_is_terminal());
    let mut suites = Vec::new();
    let mut failed = Vec::new();
    for path in &args.files {
        match suite(path, args.policy.as_deref(), now, colour) {
            Ok(suite) => suites.push(suite),
            Err(failure) => failed.push(failure.message.trim_end().to_owned()),
        }
    }
    if !failed.is_empty() {
        return Err(Failure::input(failed.join("\n\n")));
    }
    let run = Run { suites };
    outputs.write_each(globals, |format, options| match format {
        Form::Text => policy_test::text(&run, options.colour),
        Form::Json => policy_test::json(&run),
        Form::Junit => policy_test::junit(&run),
    })?;
    Ok(if run.passes() {
        Exit::Open
    } else {
        Exit::Closed
    })
}

/// Reads and runs one file.
fn suite(
    path: &Path,
    policy: Option<&str>,
    now: jiff::Timestamp,
    colour: bool,
) -> Result<Suite, Failure> {
    let name = path.display().to_string();
    let text = files::read(path, policy::MAX_BYTES as u64)
        .map_err(|e| e.to_string())
        .and_then(|bytes| {
            String::from_utf8(bytes)
                .map_err(|_| "expected a text in UTF-8, found other bytes".to_owned())
        })
        .map_err(|e| Failure::input(format!("error: {}: {e}", visible(&name))))?;
    let file = policy::load_cases(&name, text).map_err(|d| Failure::input(d.render(colour)))?;
    let folder = path.parent().unwrap_or(Path::new(""));
    let source = match policy {
        Some(named) => policy_ref(named),
        None => match policy_ref(&file.policy) {
            PolicyRef::File(relative) => PolicyRef::File(folder.join(relative)),
            embedded => embedded,
        },
    };
    let policy = load_policy(&source, colour, &mut read_bounded)?;
    let mut read = |path: &Path| files::read(path, MAX_INPUT_BYTES).map_err(|e| e.to_string());
    policy_test::run(&name, &file, &policy, folder, now, &mut read).map_err(|diagnostics| {
        let all: Vec<String> = diagnostics
            .iter()
            .map(|d: &Diagnostic| d.render(colour))
            .collect();
        Failure::input(all.join("\n\n"))
    })
}
