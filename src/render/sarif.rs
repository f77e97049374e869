//! SARIF 2.1.0 (OASIS) for code scanning: rules with their help, places, and fingerprints by which a finding stays the same one.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};
use serde_json::{Map, Value, json};

use super::json::document;
use super::{Severity, escape, words};
use crate::report::{Finding, Report, Status};

pub(super) fn render(report: &Report) -> String {
    let mut index: BTreeMap<&str, usize> = BTreeMap::new();
    let mut rules = Vec::new();
    for f in &report.findings {
        index.entry(&f.rule).or_insert_with(|| {
            rules.push(rule(f));
            rules.len() - 1
        });
    }
    let notifications: Vec<Value> = report
        .not_run
        .iter()
        .map(|n| {
            json!({
                "level": "note",
                "descriptor": {"id": escape::terminal(&n.rule)},
                "message": {"text": escape::sarif(&format!("The rule did not run: give {}.", n.needs))},
            })
        })
        .collect();
    document(&Log {
        schema: "https://json.schemastore.org/sarif-2.1.0.json",
        version: "2.1.0",
        runs: [Run {
            tool: json!({"driver": {
                "name": "bundlegate",
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "rules": rules,
            }}),
            automation_details: json!({"id": format!("bundlegate/{}", report.command)}),
            invocations: json!([{
                "executionSuccessful": true,
                "exitCode": report.exit_code,
                "toolExecutionNotifications": notifications,
            }]),
            properties: json!({
                "verdict": report.verdict,
                "planSha256": report.plan.sha256,
                "target": report.target.as_deref().map(escape::terminal),
            }),
            column_kind: "unicodeCodePoints",
            results: Results { report, index },
        }],
    })
}

#[derive(Serialize)]
struct Log<'r> {
    #[serde(rename = "$schema")]
    schema: &'static str,
    version: &'static str,
    runs: [Run<'r>; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Run<'r> {
    tool: Value,
    automation_details: Value,
    invocations: Value,
    properties: Value,
    column_kind: &'static str,
    results: Results<'r>,
}

/// The results, made one by one as they are written: a report can hold many.
struct Results<'r> {
    report: &'r Report,
    index: BTreeMap<&'r str, usize>,
}

impl Serialize for Results<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.report.findings.iter().map(|f| {
            result(
                self.report,
                f,
                self.index.get(f.rule.as_str()).copied().unwrap_or_default(),
            )
        }))
    }
}

/// What is known of a rule: its documentation, or for a rule of the policy what the finding says.
fn rule(f: &Finding) -> Value {
    let doc = crate::rules::find(&f.rule).map(crate::rules::Rule::doc);
    let trigger = doc.map_or(f.rule.as_str(), |d| d.trigger);
    let (impact, remedy) = doc.map_or((f.impact.as_str(), f.remedy.as_str()), |d| {
        (d.impact, d.remedy)
    });
    json!({
        "id": escape::terminal(&f.rule),
        "shortDescription": {"text": escape::sarif(trigger)},
        "fullDescription": {"text": escape::sarif(impact)},
        "help": {
            "text": format!("Why: {}\nWhat to do: {}", escape::sarif(impact), escape::sarif(remedy)),
            "markdown": format!("**Why:** {}\n\n**What to do:** {}", escape::markdown(impact), escape::markdown(remedy)),
        },
        "properties": {"tags": ["deploy", escape::terminal(&f.family)]},
    })
}

fn result(report: &Report, f: &Finding, rule_index: usize) -> Value {
    let mut out = Map::new();
    out.insert("ruleId".into(), escape::terminal(&f.rule).into());
    out.insert("ruleIndex".into(), rule_index.into());
    out.insert("level".into(), Severity::of(report, f).sarif().into());
    let text = format!(
        "{}: {} Why: {} What to do: {}",
        words::subject(f),
        f.message,
        f.impact,
        f.remedy
    );
    out.insert("message".into(), json!({"text": escape::sarif(&text)}));
    out.insert("locations".into(), json!([location(report, f)]));
    // GitHub keeps the identity of an alert by the first of the two only.
    out.insert(
        "partialFingerprints".into(),
        json!({"primaryLocationLineHash": format!("{}:1", f.fingerprint), "bundlegateFinding/v1": f.fingerprint}),
    );
    out.insert(
        "properties".into(),
        json!({"level": f.level, "status": f.status, "standing": f.standing}),
    );
    if f.status == Status::Waived {
        let why = words::waiver(f).unwrap_or_default();
        out.insert("suppressions".into(), json!([{"kind": "external", "status": "accepted", "justification": escape::sarif(&why)}]));
    }
    Value::Object(out)
}

/// Where it stands in the source; without that, the plan itself, since code scanning drops a result without a file.
fn location(report: &Report, f: &Finding) -> Value {
    let place = f.location.as_ref();
    let file = place.map_or(
        if report.plan.path == "-" {
            "plan.json"
        } else {
            report.plan.path.as_str()
        },
        |p| p.file.as_str(),
    );
    json!({
        "physicalLocation": {
            "artifactLocation": {"uri": uri(file)},
            "region": {"startLine": place.map_or(1, |p| p.line.max(1)), "startColumn": place.map_or(1, |p| p.column.max(1))},
        },
        "logicalLocations": [{
            "fullyQualifiedName": escape::terminal(words::subject(f)),
            "kind": "resource",
        }],
    })
}

/// A path as a URI reference: everything but unreserved characters and `/` in percent form; backslashes separate folders on Windows.
fn uri(path: &str) -> String {
    use std::fmt::Write as _;
    let mut out = String::new();
    for b in path.replace('\\', "/").bytes() {
        if b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.' | b'_' | b'~' | b'/') {
            out.push(char::from(b));
        } else {
            let _ = write!(out, "%{b:02X}");
        }
    }
    out
}
