//! `policy validate`: all that is wrong with policies, and what selects nothing.

use std::path::PathBuf;

use clap::Args;
use serde_json::{Value, json};

use super::super::Failure;
use super::super::args::Globals;
use super::super::policy::{found_by_itself, policy_ref, read_bounded};
use super::{Form, print};
use crate::bundle::Bundle;
use crate::effect::{Inputs, World};
use crate::host::out;
use crate::input::load_one;
use crate::json::Limits;
use crate::plan;
use crate::policy::{Diagnostic, Level, Policy, PolicyError, PolicyRef, Severity, load};
use crate::report::{Exit, Finding};
use crate::rules::{Context, judge, known};
use crate::text::visible;

/// Say everything that is wrong with policies
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  bundlegate policy validate
  bundlegate policy validate policies/*.yml -o json
  bundlegate policy validate --bundle bundle.json

Exit codes: 0 every policy is valid (there may be warnings), 2 one is not.")]
pub(super) struct ValidateArgs {
    /// Policies [default: bundlegate.yml here or above]
    #[arg(value_name = "FILE")]
    files: Vec<String>,
    /// Also name selectors that select nothing in this bundle JSON
    #[arg(long, value_name = "FILE")]
    bundle: Option<PathBuf>,
    /// Output: text or json
    #[arg(short, long, value_enum, value_name = "FORMAT", default_value_t = Form::Text)]
    output: Form,
}

/// What is to be said about one policy.
struct Checked {
    name: String,
    valid: bool,
    diagnostics: Vec<Diagnostic>,
    /// Why the file cannot be read.
    unreadable: Option<String>,
}

pub(super) fn run(args: &ValidateArgs, globals: Globals) -> Result<Exit, Failure> {
    let bundle = args
        .bundle
        .as_ref()
        .map(|path| load_one(path, &Limits::default(), Bundle::read))
        .transpose()?;
    let sources: Vec<PolicyRef> = if args.files.is_empty() {
        match found_by_itself(&std::env::current_dir().unwrap_or_default()) {
            found @ PolicyRef::File(_) => vec![found],
            PolicyRef::Embedded(_) => {
                return Err(Failure::input(
                    "error: expected bundlegate.yml here or above, found none\n  help: name a policy, or write one with `bundlegate policy init`",
                ));
            }
        }
    } else {
        args.files.iter().map(|name| policy_ref(name)).collect()
    };
    let mut all = Vec::new();
    for source in &sources {
        all.push(check(source, bundle.as_ref())?);
    }
    let text = match args.output {
        Form::Text => text(&all, globals.colour(out::stdout_is_terminal())),
        Form::Json => json(&all),
    };
    print(&text, globals)?;
    Ok(if all.iter().all(|c| c.valid) {
        Exit::Open
    } else {
        Exit::Input
    })
}

fn check(source: &PolicyRef, bundle: Option<&Bundle>) -> Result<Checked, Failure> {
    let mut checked = Checked {
        name: source.to_string(),
        valid: false,
        diagnostics: Vec::new(),
        unreadable: None,
    };
    match load(source, &known(), &mut read_bounded) {
        Ok(policy) => {
            checked.valid = true;
            checked.diagnostics = policy.warnings().to_vec();
            if let Some(bundle) = bundle {
                let dead = dead_selectors(policy, bundle)?;
                // A type that does not exist is a warning of the loader already.
                let known: Vec<_> = checked.diagnostics.iter().map(|d| d.at.clone()).collect();
                checked
                    .diagnostics
                    .extend(dead.into_iter().filter(|d| !known.contains(&d.at)));
            }
        }
        Err(PolicyError::Invalid(diagnostics)) => {
            checked.diagnostics = diagnostics.iter().cloned().collect();
        }
        Err(PolicyError::Read { source, .. }) => checked.unreadable = Some(source.to_string()),
    }
    Ok(checked)
}

/// The rule `dead-selector` asked about the bundle alone: of a plan without entries.
fn dead_selectors(policy: Policy, bundle: &Bundle) -> Result<Vec<Diagnostic>, Failure> {
    const RULE: &str = "dead-selector";
    const NOTHING: &str = r#"{"plan_version": 2, "cli_version": "1.13.0", "plan": {}}"#;
    let plan = plan::read(NOTHING.as_bytes(), &Limits::default())
        .map_err(|e| Failure::input(format!("error: {e}")))?;
    // A policy may have the rule off, or locked at what it is.
    let policy = match policy.is_locked(RULE) {
        None => policy
            .with_levels(&[(RULE.to_owned(), Level::Warn)])
            .map_err(|e| Failure::input(format!("error: {e}")))?,
        Some(_) => policy,
    };
    let world = World::new(Inputs {
        plan: &plan,
        bundle: Some(bundle),
        base_bundle: None,
        state: None,
        warnings: None,
        targets: &[],
    });
    let judged = judge(&Context {
        world: &world,
        policy: &policy,
        now: jiff::Timestamp::UNIX_EPOCH,
    });
    let place = |f: &Finding| {
        let place = f.location.as_ref()?;
        let selectors = policy.selectors();
        let here = selectors.iter().map(|used| used.at).find(|at| {
            at.file() == place.file
                && at.line() as u64 == place.line
                && at.column() as u64 == place.column
        });
        here.cloned()
    };
    let findings = judged.findings.iter().filter(|f| f.rule == RULE);
    Ok(findings
        .map(|f| Diagnostic {
            severity: Severity::Warning,
            message: f.message.clone(),
            label: String::new(),
            at: place(f),
            related: None,
            help: None,
        })
        .collect())
}

fn text(all: &[Checked], colour: bool) -> String {
    let mut parts = Vec::new();
    for checked in all {
        parts.extend(checked.diagnostics.iter().map(|d| d.render(colour)));
        let name = visible(&checked.name);
        if let Some(why) = &checked.unreadable {
            parts.push(format!("error: {name}: {}", visible(why)));
        }
        parts.push(format!(
            "{name}: {}",
            match (checked.valid, checked.warnings()) {
                (true, 0) => "valid".to_owned(),
                (true, n) => format!("valid, {}", count(n, "warning")),
                (false, _) => format!("not valid, {}", count(checked.errors(), "error")),
            }
        ));
    }
    format!("{}\n", parts.join("\n\n"))
}

impl Checked {
    fn errors(&self) -> usize {
        let errors = self.diagnostics.iter();
        errors.filter(|d| d.severity == Severity::Error).count()
            + usize::from(self.unreadable.is_some())
    }

    fn warnings(&self) -> usize {
        let warnings = self.diagnostics.iter();
        warnings.filter(|d| d.severity == Severity::Warning).count()
    }
}

fn count(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

fn json(all: &[Checked]) -> String {
    let policies: Vec<Value> = all
        .iter()
        .map(|checked| {
            let severity = |d: &Diagnostic| match d.severity {
                Severity::Error => "error",
                Severity::Warning => "warning",
            };
            let mut said: Vec<Value> = checked
                .diagnostics
                .iter()
                .map(|d| {
                    json!({
                        "severity": severity(d),
                        "message": d.message,
                        "label": Some(&d.label).filter(|l| !l.is_empty()),
                        "help": d.help,
                        "location": d.at.as_ref().map(|at| json!({"file": at.file(), "line": at.line(), "column": at.column()})),
                    })
                })
                .collect();
            said.extend(checked.unreadable.iter().map(|why| {
                json!({"severity": "error", "message": format!("cannot read the policy: {why}"), "label": null, "help": null, "location": null})
            }));
            json!({"policy": checked.name, "valid": checked.valid, "diagnostics": said})
        })
        .collect();
    let all = json!({"schema": "bundlegate-policy-validate-v1", "policies": policies});
    format!("{all:#}\n")
}
