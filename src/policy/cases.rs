//! The file of `policy test`: cases with what a policy is expected to say about each. Strict, with places, like the policy file.

use std::sync::Arc;

use super::choice::choice;
use super::decode::{Cx, Decode, Table, record};
use super::diagnostic::{Diagnostic, Diagnostics, Severity};
use super::location::{At, SourceFile};
use super::value::{TextValue, text_value};
use super::yaml::{self, Node, Value};

record! {
    /// Tests of a policy.
    pub struct CaseFile ("a policy test file") {
        /// The policy: `production`, `staging`, `development`, or a file by a path relative to this one.
        pub policy: At<String>,
        /// The time at which waivers are judged, in cases that do not say their own.
        pub now: Option<Moment>,
        /// The cases.
        pub cases: Vec<At<Case>>,
    }
}

record! {
    /// One plan and what the policy says about it.
    pub struct Case ("a case") {
        /// What the case shows.
        pub name: At<String>,
        /// The plan, by a path relative to this file.
        pub plan: Option<At<String>>,
        /// The plan's entries by key without `resources.`, in place of a file.
        pub entries: Option<At<Members>>,
        /// Fields at the top of a plan that is written here (`plan_version`, `cli_version`, `lineage`, `serial`, `not_selected`), on top of the usual ones.
        pub head: Option<At<Members>>,
        /// The bundle JSON: a path, or written here.
        pub bundle: Option<At<Given>>,
        /// The bundle JSON of what is deployed now: a path, or written here.
        pub base_bundle: Option<At<Given>>,
        /// The deployed state: a path, or what was deployed by key without `resources.`.
        pub state: Option<At<Given>>,
        /// What the CLI wrote to stderr while it planned: a path.
        pub warnings: Option<At<String>>,
        /// The target that the plan is for, as `-t` says it.
        pub target: Option<String>,
        /// The time at which waivers are judged.
        pub now: Option<Moment>,
        /// What is expected.
        pub expect: At<Expect>,
    }
}

record! {
    /// What a case expects: at least one thing.
    pub struct Expect ("`expect`") {
        /// The verdict.
        pub verdict: Option<At<ExpectedVerdict>>,
        /// Findings that must be there, waived ones aside: `rule`, or `rule key`.
        pub findings: Option<Vec<At<Line>>>,
        /// Findings that must not be there, waived ones aside.
        pub not: Option<Vec<At<Line>>>,
        /// Rules that must say that they cannot tell.
        pub unknown: Option<Vec<At<Line>>>,
        /// Findings that must be there and waived.
        pub waived: Option<Vec<At<Line>>>,
        /// `true`: there is no other finding than those listed, waived ones aside.
        pub only: Option<At<bool>>,
    }
}

choice! {
    /// A verdict that a case expects.
    pub enum ExpectedVerdict ("a verdict") {
        /// Nothing stands against it.
        Open = "open",
        /// A person must approve.
        Review = "review",
        /// Forbidden.
        Closed = "closed",
    }
}

/// A file, or the same written into the test.
#[derive(Debug, Clone, PartialEq, serde::Serialize, schemars::JsonSchema)]
#[serde(untagged)]
pub enum Given {
    /// A path relative to the test file.
    Path(String),
    /// An object.
    Inline(Inline),
}

impl Decode for Given {
    fn decode(node: Node, cx: &mut Cx) -> Option<Self> {
        match node.value {
            Value::Text(_) => String::decode(node, cx).map(Self::Path),
            Value::Map(_) => Inline::decode(node, cx).map(Self::Inline),
            _ => cx.mismatch(&node, "the path of a file (a text), or a mapping"),
        }
    }
}

/// A JSON value written as YAML.
#[derive(Debug, Clone, PartialEq, serde::Serialize, schemars::JsonSchema)]
#[serde(transparent)]
pub struct Inline(pub serde_json::Value);

impl Decode for Inline {
    // As deep as the YAML reader lets a file be.
    fn decode(node: Node, cx: &mut Cx) -> Option<Self> {
        use serde_json::Value as Json;
        let json = match node.value {
            Value::Nothing => Json::Null,
            Value::Bool(value) => value.into(),
            Value::Integer(value) => match (i64::try_from(value), u64::try_from(value)) {
                (Ok(value), _) => value.into(),
                (_, Ok(value)) => value.into(),
                _ => return cx.mismatch(&node, "a number of 64 bits"),
            },
            Value::Float => match node.at.covered().parse::<f64>() {
                Ok(value) if value.is_finite() => value.into(),
                _ => return cx.mismatch(&node, "a number as JSON writes it"),
            },
            Value::Text(text) => text.into(),
            Value::List(items) => Json::Array(
                items
                    .into_iter()
                    .filter_map(|item| Self::decode(item, cx))
                    .map(|item| item.0)
                    .collect(),
            ),
            Value::Map(_) => {
                let members = Table::<Self>::decode(node, cx)?;
                Json::Object(members.0.into_iter().map(|(k, v)| (k.value, v.0)).collect())
            }
        };
        Some(Self(json))
    }
}

/// JSON values by key, written as YAML.
#[derive(Debug, Clone, PartialEq, serde::Serialize, schemars::JsonSchema)]
#[serde(transparent)]
pub struct Members(Table<Inline>);

impl Members {
    /// Each key with its place, and its value.
    pub fn iter(&self) -> impl Iterator<Item = (&At<String>, &serde_json::Value)> {
        self.0.0.iter().map(|(key, value)| (key, &value.0))
    }
}

impl Decode for Members {
    fn decode(node: Node, cx: &mut Cx) -> Option<Self> {
        Table::decode(node, cx).map(Self)
    }
}

/// A point in time, in RFC 3339.
#[derive(Debug, Clone, Copy)]
pub struct Moment(jiff::Timestamp);

impl Moment {
    /// The time.
    #[must_use]
    pub fn timestamp(self) -> jiff::Timestamp {
        self.0
    }
}

impl TextValue for Moment {
    const EXPECTED: &'static str = "a time, such as `2027-01-31T12:00:00Z`";

    fn from_text(text: &str) -> Result<Self, String> {
        text.parse()
            .map(Self)
            .map_err(|_| "date, `T`, time and `Z` or an offset".to_owned())
    }

    fn text(&self) -> String {
        self.0.to_string()
    }
}

text_value!(Moment);

/// A finding as a test names it: its rule, and the short key of its resource if that matters.
#[derive(Debug, Clone)]
pub struct Line {
    /// The rule's id.
    pub rule: String,
    /// The resource's short key; none: any resource, or none.
    pub key: Option<String>,
}

impl Line {
    /// Whether the line means a finding of this rule about this resource.
    #[must_use]
    pub fn means(&self, rule: &str, key: Option<&str>) -> bool {
        self.rule == rule && self.key.as_deref().is_none_or(|own| key == Some(own))
    }
}

impl TextValue for Line {
    const EXPECTED: &'static str =
        "a rule, or a rule and a resource, such as `destroy jobs.report`";

    fn from_text(text: &str) -> Result<Self, String> {
        let mut words = text.split_ascii_whitespace();
        let rule = words.next().ok_or("the id of a rule")?.to_owned();
        let key = words.next().map(str::to_owned);
        if words.next().is_some() {
            return Err("at most two words".to_owned());
        }
        match &key {
            Some(key) if key.starts_with("resources.") => {
                Err("the key without `resources.`".to_owned())
            }
            Some(key) if !key.contains('.') => {
                Err("the key of a resource is a type and a name, with a dot between".to_owned())
            }
            _ => Ok(Self { rule, key }),
        }
    }

    fn text(&self) -> String {
        match &self.key {
            Some(key) => format!("{} {key}", self.rule),
            None => self.rule.clone(),
        }
    }
}

text_value!(Line);

/// Reads a policy test file; `name` is what messages call it.
///
/// # Errors
/// Everything that is wrong with it. A file without a case is wrong: it would pass whatever the policy says.
pub fn load_cases(name: &str, text: String) -> Result<CaseFile, Diagnostics> {
    let source = Arc::new(SourceFile::new(name.to_owned(), text));
    let mut cx = Cx::default();
    let file = match yaml::parse(&source) {
        Ok(node) => {
            let at = node.at.clone();
            let file = CaseFile::decode(node, &mut cx);
            if let Some(file) = &file {
                check(file, &mut cx);
                if file.cases.is_empty() && cx.diagnostics.is_empty() {
                    cx.report(
                        Diagnostic::error(&at, "a policy test file without a case tests nothing")
                            .help("add one under `cases`"),
                    );
                }
            }
            file
        }
        Err(diagnostic) => {
            cx.report(*diagnostic);
            None
        }
    };
    match file {
        Some(file) if cx.diagnostics.iter().all(|d| d.severity < Severity::Error) => Ok(file),
        _ => Err(Diagnostics::new(cx.diagnostics, &[source])),
    }
}

/// What no single field can tell.
fn check(file: &CaseFile, cx: &mut Cx) {
    for (index, case) in file.cases.iter().enumerate() {
        let before = file.cases.iter().take(index);
        if let Some(first) = before.map(|c| &c.name).find(|name| **name == case.name) {
            cx.report(
                Diagnostic::error(&case.name.at, "two cases have this name")
                    .label("again here")
                    .related(&first.at, "first here"),
            );
        }
        match (&case.plan, &case.entries) {
            (None, None) => cx.report(Diagnostic::error(
                &case.at,
                "a case has a plan: a file (`plan`), or its entries written here (`entries`)",
            )),
            (Some(_), Some(entries)) => cx.report(Diagnostic::error(
                &entries.at,
                "a case has one plan: `plan` or `entries`, not both",
            )),
            _ => {}
        }
        if let (Some(head), None) = (&case.head, &case.entries) {
            cx.report(Diagnostic::error(
                &head.at,
                "`head` belongs to a plan that is written here (`entries`)",
            ));
        }
        check_expectation(&case.expect, cx);
    }
}

fn check_expectation(expect: &At<Expect>, cx: &mut Cx) {
    let only = expect.only.as_ref().is_some_and(|only| only.value);
    let lists = [
        &expect.findings,
        &expect.not,
        &expect.unknown,
        &expect.waived,
    ];
    if expect.verdict.is_none() && !only && lists.iter().all(|l| l.iter().flatten().count() == 0) {
        cx.report(
            Diagnostic::error(&expect.at, "a case that expects nothing cannot fail")
                .help("say `verdict`, `findings`, `not`, `unknown`, `waived` or `only`"),
        );
        return;
    }
    if !only && expect.findings.as_ref().is_some_and(Vec::is_empty) {
        cx.report(
            Diagnostic::error(&expect.at, "an empty list of findings expects nothing")
                .help("`only: true` says that there is no other finding than those listed"),
        );
    }
}

/// The JSON Schema (draft 2020-12) of a policy test file, for editors.
#[must_use]
pub fn cases_json_schema() -> serde_json::Value {
    let mut schema = schemars::schema_for!(CaseFile).to_value();
    if let Some(top) = schema.as_object_mut() {
        top.insert("title".to_owned(), "bundlegate policy tests".into());
    }
    schema
}
