//! What `exposure` has to say, as text, Markdown and JSON.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;

use super::wrap::wrap;
use super::{DEFAULT_WIDTH, Options, escape};
use crate::report::exposure::{ExposureBody, ExposureRow};
use crate::text::{nearest, quoted};

/// The formats of `exposure`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// For a terminal or a log.
    Text,
    /// For a pull request or a wiki.
    Markdown,
    /// For programs.
    Json,
}

const SHAPES: [(&str, Shape); 3] = [
    ("text", Shape::Text),
    ("markdown", Shape::Markdown),
    ("json", Shape::Json),
];

impl FromStr for Shape {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        SHAPES
            .iter()
            .find(|(n, _)| *n == name)
            .map(|(_, s)| *s)
            .ok_or_else(|| {
                let hint = nearest(name, SHAPES.map(|(n, _)| n))
                    .map_or(String::new(), |n| format!("; did you mean {n}?"));
                format!(
                    "expected text, markdown or json, found {}{hint}",
                    quoted(name)
                )
            })
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            SHAPES
                .iter()
                .find(|(_, s)| s == self)
                .map_or("", |(n, _)| n),
        )
    }
}

/// What stands above the table.
#[derive(Debug, Clone, Copy)]
pub struct Head<'a> {
    /// The target, if one is known.
    pub target: Option<&'a str>,
    /// The policy's source.
    pub policy: &'a str,
    /// The exit code of the command.
    pub exit_code: u8,
}

impl Shape {
    /// The table in this format. Ends with a newline.
    #[must_use]
    pub fn render(self, head: &Head<'_>, body: &ExposureBody, options: &Options) -> String {
        match self {
            Shape::Text => escape::log(&text(head, body, options)),
            Shape::Markdown => escape::markup(&markdown(head, body)),
            Shape::Json => json(head, body),
        }
    }
}

/// The rows of each command, in their order.
fn by_command(body: &ExposureBody) -> Vec<(&str, Vec<&ExposureRow>)> {
    let mut out: Vec<(&str, Vec<&ExposureRow>)> = Vec::new();
    for row in &body.rows {
        match out.last_mut() {
            Some((command, rows)) if *command == row.command => rows.push(row),
            _ => out.push((&row.command, vec![row])),
        }
    }
    out
}

fn summary(body: &ExposureBody) -> String {
    match body.unguarded() {
        0 => "Everything that can be lost here has something in the way.".to_owned(),
        1 => "1 loss has nothing in the way.".to_owned(),
        n => format!("{n} losses have nothing in the way."),
    }
}

fn text(head: &Head<'_>, body: &ExposureBody, options: &Options) -> String {
    let width = options.width.unwrap_or(DEFAULT_WIDTH).max(20);
    let mut out = String::new();
    let mut line = |first: &str, text: &str| {
        let rest = " ".repeat(first.len() - first.trim_start().len() + 2);
        wrap(&mut out, &escape::terminal(text), width, first, &rest);
    };
    line("", &summary(body));
    line("target  ", head.target.unwrap_or("not known"));
    line("policy  ", head.policy);
    for (command, rows) in by_command(body) {
        line("", "");
        line("", command);
        for row in rows {
            let mark = if row.unguarded { "  UNGUARDED " } else { "  " };
            line(
                mark,
                row.resource.as_deref().unwrap_or("the whole deployment"),
            );
            for (name, value) in parts(row) {
                line(&format!("    {name}: "), value);
            }
        }
    }
    for missing in &body.not_told {
        line("not told: ", missing);
    }
    out
}

/// What a row says, without what it leaves open.
fn parts(row: &ExposureRow) -> impl Iterator<Item = (&'static str, &str)> {
    let guard = if row.guard.is_empty() {
        "nothing"
    } else {
        row.guard.as_str()
    };
    [
        ("lost", row.lost.as_str()),
        ("kept", row.kept.as_str()),
        ("guard", guard),
        ("back from", row.recovery.as_str()),
    ]
    .into_iter()
    .filter(|(_, value)| !value.is_empty())
}

fn markdown(head: &Head<'_>, body: &ExposureBody) -> String {
    let cell = |text: &str| escape::markdown(text);
    let mut out = format!(
        "# Exposure of {}\n\n{}\n\nPolicy: {}\n",
        head.target
            .map_or("a target that is not known".to_owned(), cell),
        summary(body),
        cell(head.policy)
    );
    for (command, rows) in by_command(body) {
        out.push_str(&format!(
            "\n## {}\n\n| resource | lost | kept | guard | back from |\n|---|---|---|---|---|\n",
            cell(command)
        ));
        for row in rows {
            let guard = match (row.guard.as_str(), row.unguarded) {
                ("", true) => "**nothing**".to_owned(),
                ("", false) => String::new(),
                (guard, true) => format!("**not enough**: {}", cell(guard)),
                (guard, false) => cell(guard),
            };
            out.push_str(&format!(
                "| {} | {} | {} | {guard} | {} |\n",
                cell(row.resource.as_deref().unwrap_or("the whole deployment")),
                cell(&row.lost),
                cell(&row.kept),
                cell(&row.recovery)
            ));
        }
    }
    if !body.not_told.is_empty() {
        out.push_str("\n## Not told\n\n");
        for missing in &body.not_told {
            out.push_str(&format!("- {}\n", cell(missing)));
        }
    }
    out
}

/// The JSON of `exposure`.
#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    command: &'static str,
    exit_code: u8,
    target: Option<&'a str>,
    policy: &'a str,
    unguarded: usize,
    #[serde(rename = "exposure")]
    body: &'a ExposureBody,
}

fn json(head: &Head<'_>, body: &ExposureBody) -> String {
    let document = Document {
        schema: "bundlegate-exposure-v1",
        command: "exposure",
        exit_code: head.exit_code,
        target: head.target,
        policy: head.policy,
        unguarded: body.unguarded(),
        body,
    };
    // A struct of texts and numbers always serialises.
    let text = serde_json::to_string_pretty(&document).unwrap_or_default();
    escape::json(text + "\n")
}
