//! `policy show`: the resolved policy, each level with what says so.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use clap::Args;
use serde_json::{Value, json};

use super::super::Failure;
use super::super::args::Globals;
use super::super::check::policy_head;
use super::super::policy::PolicyArgs;
use super::{Form, print};
use crate::host::out;
use crate::policy::{At, Layer, Policy, Section, Selector};
use crate::report::Exit;
use crate::rules::{Family, RULES};
use crate::text::visible;

/// Print the resolved policy: each level, and what says so
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  bundlegate policy show
  bundlegate policy show -p staging
  bundlegate policy show -o json")]
pub(super) struct ShowArgs {
    #[command(flatten)]
    policy: PolicyArgs,
    /// Output: text or json
    #[arg(short, long, value_enum, value_name = "FORMAT", default_value_t = Form::Text)]
    output: Form,
}

pub(super) fn run(args: &ShowArgs, globals: Globals) -> Result<Exit, Failure> {
    let policy = args
        .policy
        .load(globals.colour(out::stderr_is_terminal()))?;
    let text = match args.output {
        Form::Text => text(&policy),
        Form::Json => json(&policy),
    };
    print(&text, globals)?;
    Ok(Exit::Open)
}

/// What is said about one rule, what counts first.
struct Shown<'p> {
    id: &'p str,
    family: Family,
    lines: Vec<Line<'p>>,
    locked: bool,
}

/// One level of a rule.
struct Line<'p> {
    level: &'p str,
    /// What it holds for; `None`: all the rest.
    layer: Option<&'p Layer>,
    /// What says so.
    from: String,
}

fn shown<'p>(policy: &'p Policy, id: &'p str, family: Family) -> Shown<'p> {
    let layers = policy.rule(id).map(|setting| setting.layers());
    let mut lines: Vec<Line<'_>> = layers
        .unwrap_or_default()
        .iter()
        .rev()
        .map(|layer| Line {
            level: layer.level.as_str(),
            layer: Some(layer),
            from: layer
                .at
                .as_ref()
                .map_or_else(|| "--level".to_owned(), ToString::to_string),
        })
        .collect();
    if !lines
        .iter()
        .any(|line| line.layer.is_some_and(holds_for_all))
    {
        lines.push(Line {
            level: "deny",
            layer: None,
            from: "no policy says a level".to_owned(),
        });
    }
    Shown {
        id,
        family,
        lines,
        locked: policy.is_locked(id).is_some(),
    }
}

fn holds_for_all(layer: &Layer) -> bool {
    layer.except.is_empty() && layer.resources.is_none()
}

fn rules(policy: &Policy) -> Vec<Shown<'_>> {
    let built_in = RULES
        .iter()
        .map(|rule| shown(policy, rule.doc().id, rule.doc().family));
    let custom = policy
        .custom
        .iter()
        .map(|rule| shown(policy, rule.id.as_str(), Family::Custom));
    built_in.chain(custom).collect()
}

/// What an unconditional line is called below conditional ones, and a conditional one by what it selects.
fn scope(line: &Line<'_>, first: bool) -> String {
    let list = |all: &[At<Selector>]| {
        let all: Vec<String> = all.iter().map(|s| visible(s.as_str())).collect();
        all.join(", ")
    };
    let Some(layer) = line.layer.filter(|layer| !holds_for_all(layer)) else {
        return if first { "" } else { "everything else" }.to_owned();
    };
    let mut out = match &layer.resources {
        Some(resources) => list(resources),
        None => "everything".to_owned(),
    };
    if !layer.except.is_empty() {
        let _ = write!(out, " but not {}", list(&layer.except));
    }
    out
}

fn text(policy: &Policy) -> String {
    let mut out = String::new();
    let files: Vec<String> = policy.sources().iter().map(|s| visible(s.name())).collect();
    let _ = writeln!(out, "{}", files.join(", which extends "));
    let _ = writeln!(out, "resolved: sha256 {}", policy_head(policy).sha256);
    let rules = rules(policy);
    let width = rules.iter().map(|rule| rule.id.len()).max().unwrap_or(0);
    let from = rules.iter().flat_map(|rule| &rule.lines);
    let from_width = from
        .map(|line| visible(&line.from).chars().count())
        .max()
        .unwrap_or(0);
    for family in Family::ALL.into_iter() {
        let mut of_family = rules.iter().filter(|r| r.family == family).peekable();
        if of_family.peek().is_none() {
            continue;
        }
        let _ = writeln!(out, "\n{}", family.title());
        for rule in of_family {
            for (index, line) in rule.lines.iter().enumerate() {
                let first = index == 0;
                let id = if first { rule.id } else { "" };
                let locked = if first && rule.locked { " locked" } else { "" };
                let row = format!(
                    "  {id:width$}  {:6}  {:from_width$}  {}{locked}",
                    line.level,
                    visible(&line.from),
                    scope(line, first),
                );
                let _ = writeln!(out, "{}", row.trim_end());
            }
        }
    }
    let sections = sections(policy);
    for (section, (value, at)) in &sections {
        let at = at
            .as_ref()
            .map_or(String::new(), |at| format!(" ({})", visible(at)));
        let _ = writeln!(out, "\n{section}{at}");
        tree(value, 1, &mut out);
    }
    out
}

/// Everything but the rules: what the policy says, and where; without a place: what holds when nothing is said.
fn sections(policy: &Policy) -> BTreeMap<&'static str, (Value, Option<String>)> {
    let resolved: Value = serde_json::from_str(&policy.resolved_canonical()).unwrap_or_default();
    Section::ALL
        .iter()
        .filter_map(|section| {
            let key = match section {
                Section::Version | Section::Extends | Section::Rules | Section::Locked => {
                    return None;
                }
                Section::Inputs => "require",
                other => other.as_str(),
            };
            let value = resolved.get(key).cloned().unwrap_or_default();
            let at = policy.uses(*section).map(ToString::to_string);
            let says = at.is_some() || !empty(&value);
            says.then(|| (section.as_str(), (value, at)))
        })
        .collect()
}

/// Whether a value says nothing.
fn empty(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.values().all(Value::is_null),
        _ => false,
    }
}

/// A value as indented lines. As deep as a policy is.
fn tree(value: &Value, depth: usize, out: &mut String) {
    let indent = "  ".repeat(depth);
    match value {
        Value::Object(members) => {
            for (name, value) in members.iter().filter(|(_, v)| !v.is_null()) {
                match value {
                    Value::Object(_) => {
                        let _ = writeln!(out, "{indent}{}:", visible(name));
                        tree(value, depth + 1, out);
                    }
                    Value::Array(items) if items.iter().any(Value::is_object) => {
                        let _ = writeln!(out, "{indent}{}:", visible(name));
                        tree(value, depth + 1, out);
                    }
                    value => {
                        let _ = writeln!(out, "{indent}{}: {}", visible(name), inline(value));
                    }
                }
            }
        }
        Value::Array(items) if items.is_empty() => {
            let _ = writeln!(out, "{indent}nothing");
        }
        Value::Array(items) => {
            for item in items {
                let _ = writeln!(out, "{indent}- {}", inline(item));
            }
        }
        value => {
            let _ = writeln!(out, "{indent}{}", inline(value));
        }
    }
}

/// A value on one line.
fn inline(value: &Value) -> String {
    match value {
        Value::String(text) => visible(text),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(inline).collect();
            items.join(", ")
        }
        Value::Object(members) => {
            let members: Vec<String> = members
                .iter()
                .filter(|(_, v)| !v.is_null())
                .map(|(name, v)| match v {
                    Value::Object(_) => format!("{} {{{}}}", visible(name), inline(v)),
                    v => format!("{} {}", visible(name), inline(v)),
                })
                .collect();
            members.join("; ")
        }
        value => value.to_string(),
    }
}

fn json(policy: &Policy) -> String {
    let rules: Vec<Value> = rules(policy)
        .iter()
        .map(|rule| {
            let levels: Vec<Value> = rule
                .lines
                .iter()
                .map(|line| {
                    json!({
                        "level": line.level,
                        "resources": line.layer.and_then(|l| l.resources.as_ref()),
                        "except": line.layer.map_or(&[][..], |l| &l.except),
                        "from": line.from,
                    })
                })
                .collect();
            json!({"rule": rule.id, "family": rule.family.as_str(), "locked": rule.locked, "levels": levels})
        })
        .collect();
    let sections: BTreeMap<&str, Value> = sections(policy)
        .into_iter()
        .map(|(name, (value, from))| (name, json!({"value": value, "from": from})))
        .collect();
    let files: Vec<Value> = policy
        .sources()
        .iter()
        .map(|s| json!({"file": s.name(), "sha256": s.sha256()}))
        .collect();
    let all = json!({
        "schema": "bundlegate-policy-show-v1",
        "sha256": policy_head(policy).sha256,
        "files": files,
        "rules": rules,
        "sections": sections,
    });
    format!("{all:#}\n")
}
