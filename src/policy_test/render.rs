//! What came of `policy test`: as text, as JSON, as JUnit.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};
use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};
use serde_json::{Value, json};

use super::{Mismatch, Outcome, Suite};
use crate::text::visible;

/// Columns of the list of rules that no case covers.
const WIDTH: usize = 100;

/// All files of one run.
#[derive(Debug)]
pub struct Run {
    /// The files, in the order in which they were named.
    pub suites: Vec<Suite>,
}

impl Run {
    /// Whether every case of every file passes.
    #[must_use]
    pub fn passes(&self) -> bool {
        self.suites.iter().all(Suite::passes)
    }

    fn cases(&self) -> usize {
        self.suites.iter().map(|s| s.outcomes.len()).sum()
    }

    fn failed(&self) -> usize {
        let all = self.suites.iter().flat_map(|s| &s.outcomes);
        all.filter(|o| !o.mismatches.is_empty()).count()
    }

    /// Rules that are on, in any of the policies.
    fn on(&self) -> BTreeSet<&str> {
        let all = self.suites.iter().flat_map(|s| &s.on);
        all.map(String::as_str).collect()
    }

    /// Those of them that said something in a case.
    fn covered(&self) -> BTreeSet<&str> {
        let on = self.on();
        let fired = self.suites.iter().flat_map(|s| &s.fired);
        fired
            .map(String::as_str)
            .filter(|r| on.contains(r))
            .collect()
    }

    fn never(&self) -> Vec<&str> {
        let covered = self.covered();
        let on = self.on().into_iter();
        on.filter(|rule| !covered.contains(rule)).collect()
    }
}

impl Mismatch {
    /// The kind, in the JSON form.
    fn kind(&self) -> &'static str {
        match self {
            Self::Verdict { .. } => "verdict",
            Self::Missing { .. } => "missing",
            Self::Unwanted { .. } => "unwanted",
            Self::NotRun { .. } => "not-run",
        }
    }

    /// One line: `-` is expected and not there, `+` is there and not expected, `?` cannot be told.
    fn words(&self) -> String {
        match self {
            Self::Verdict { expected, found } => format!(
                "! verdict: expected {}, found {}",
                expected.as_str(),
                found.as_str()
            ),
            Self::Missing { line, how, instead } => {
                let instead = instead.as_deref().unwrap_or("not found");
                format!("- {}: {how}; {instead}", visible(line))
            }
            Self::Unwanted { line, says } => format!("+ {line}: not expected; {says}"),
            Self::NotRun { line, why } => {
                format!("? {}: not found, which says nothing; {why}", visible(line))
            }
        }
    }
}

/// For people. Ends with a newline.
#[must_use]
pub fn text(run: &Run, colour: bool) -> String {
    let paint = |text: &str, colour_of: AnsiColor| {
        if colour {
            let style = Style::new().bold().fg_color(Some(colour_of.into()));
            format!("{style}{text}{style:#}")
        } else {
            text.to_owned()
        }
    };
    let mut out = String::new();
    for suite in &run.suites {
        let _ = writeln!(
            out,
            "{} (policy {})",
            visible(&suite.file),
            visible(&suite.policy)
        );
        for outcome in &suite.outcomes {
            let name = visible(&outcome.name);
            if outcome.mismatches.is_empty() {
                let _ = writeln!(out, "  {}    {name}", paint("ok", AnsiColor::Green));
                continue;
            }
            let _ = writeln!(
                out,
                "  {}  {name} ({})",
                paint("FAIL", AnsiColor::Red),
                visible(&outcome.at.to_string())
            );
            for mismatch in &outcome.mismatches {
                let _ = writeln!(out, "          {}", mismatch.words());
            }
        }
        out.push('\n');
    }
    let failed = run.failed();
    let cases = run.cases();
    let _ = writeln!(
        out,
        "{cases} {}: {} passed, {failed} failed",
        if cases == 1 { "case" } else { "cases" },
        cases - failed
    );
    let never = run.never();
    let _ = write!(
        out,
        "{} of the {} rules that are on say something in a case",
        run.covered().len(),
        run.on().len()
    );
    if never.is_empty() {
        out.push_str(".\n");
        return out;
    }
    out.push_str("; no case shows:");
    let mut width = WIDTH;
    for (index, rule) in never.iter().enumerate() {
        let comma = if index + 1 == never.len() { "" } else { "," };
        if width + rule.len() + 2 > WIDTH {
            out.push_str("\n ");
            width = 1;
        }
        width += rule.len() + 2;
        let _ = write!(out, " {}{comma}", visible(rule));
    }
    out.push('\n');
    out
}

/// For programs. Ends with a newline.
#[must_use]
pub fn json(run: &Run) -> String {
    let outcome = |o: &Outcome| {
        let mismatches: Vec<Value> = o
            .mismatches
            .iter()
            .map(|m| json!({"kind": m.kind(), "text": m.words()}))
            .collect();
        json!({
            "name": o.name,
            "location": {"file": o.at.file(), "line": o.at.line(), "column": o.at.column()},
            "verdict": o.verdict.as_str(),
            "passed": mismatches.is_empty(),
            "mismatches": mismatches,
        })
    };
    let files: Vec<Value> = run
        .suites
        .iter()
        .map(|s| {
            let cases: Vec<Value> = s.outcomes.iter().map(outcome).collect();
            json!({"file": s.file, "policy": s.policy, "cases": cases})
        })
        .collect();
    let all = json!({
        "schema": "bundlegate-policy-test-v1",
        "passed": run.cases() - run.failed(),
        "failed": run.failed(),
        "files": files,
        "coverage": {"fired": run.covered(), "never": run.never()},
    });
    format!("{all:#}\n")
}

/// For a CI system. Ends with a newline.
#[must_use]
pub fn junit(run: &Run) -> String {
    let mut report = Report::new("bundlegate policy test");
    for suite in &run.suites {
        let mut cases = TestSuite::new(visible(&suite.file));
        for outcome in &suite.outcomes {
            let status = match outcome.mismatches.first() {
                None => TestCaseStatus::success(),
                Some(first) => {
                    let lines: Vec<String> =
                        outcome.mismatches.iter().map(Mismatch::words).collect();
                    let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
                    status.set_message(first.words());
                    status.set_description(format!("{}\n{}", outcome.at, lines.join("\n")));
                    status
                }
            };
            let mut case = TestCase::new(visible(&outcome.name), status);
            case.set_classname(visible(&suite.file));
            cases.add_test_case(case);
        }
        report.add_test_suite(cases);
    }
    // It writes to memory, and every text is one that XML can hold.
    let mut text = report.to_string().unwrap_or_default();
    if !text.ends_with('\n') {
        text.push('\n');
    }
    text
}
