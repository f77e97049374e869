//! What was expected against what was found.

use crate::policy::{At, Expect, ExpectedVerdict, Line};
use crate::report::{Finding, Status, Verdict};
use crate::rules::Judged;
use crate::text::visible;

/// One difference between what a case expects and what was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mismatch {
    /// Another verdict.
    Verdict {
        /// The one that was expected.
        expected: Verdict,
        /// The one that was found.
        found: Verdict,
    },
    /// A finding that is not there.
    Missing {
        /// What was expected.
        line: String,
        /// As what: `expected`, `expected as unknown`, `expected as waived`.
        how: &'static str,
        /// What there is instead, or why it cannot be there.
        instead: Option<String>,
    },
    /// A finding that must not be there.
    Unwanted {
        /// What was found.
        line: String,
        /// Its level and what it says.
        says: String,
    },
    /// That it is not found says nothing: the rule did not run.
    NotRun {
        /// What was expected not to be found.
        line: String,
        /// Why it did not run.
        why: String,
    },
}

/// Everything that differs, in the order of the test file.
pub(super) fn compare(expect: &Expect, found: Verdict, judged: &Judged) -> Vec<Mismatch> {
    let mut out = Vec::new();
    if let Some(expected) = expect.verdict.as_ref().map(|v| verdict_of(v.value))
        && expected != found
    {
        out.push(Mismatch::Verdict { expected, found });
    }
    let live = |f: &&Finding| f.status != Status::Waived;
    let mut wanted =
        |how: &'static str, lines: &Option<Vec<At<Line>>>, fits: &dyn Fn(&Finding) -> bool| {
            for line in lines.iter().flatten() {
                let there = judged.findings.iter().any(|f| means(line, f) && fits(f));
                if !there {
                    out.push(Mismatch::Missing {
                        line: line.to_string(),
                        how,
                        instead: instead(line, judged),
                    });
                }
            }
        };
    wanted("expected", &expect.findings, &|f| {
        f.status != Status::Waived
    });
    wanted("expected as unknown", &expect.unknown, &|f| {
        f.status == Status::Unknown
    });
    wanted("expected as waived", &expect.waived, &|f| {
        f.status == Status::Waived
    });
    for line in expect.not.iter().flatten() {
        let before = out.len();
        out.extend(
            judged
                .findings
                .iter()
                .filter(live)
                .filter(|f| means(line, f))
                .map(unwanted),
        );
        if out.len() == before
            && let Some(why) = not_run(&line.rule, judged)
        {
            out.push(Mismatch::NotRun {
                line: line.to_string(),
                why,
            });
        }
    }
    if expect.only.as_ref().is_some_and(|only| only.value) {
        let listed = |f: &Finding| {
            let lines = expect.findings.iter().chain(&expect.unknown).flatten();
            lines.into_iter().any(|line| means(line, f))
        };
        out.extend(
            judged
                .findings
                .iter()
                .filter(live)
                .filter(|f| !listed(f))
                .map(unwanted),
        );
    }
    out.dedup();
    out
}

fn verdict_of(expected: ExpectedVerdict) -> Verdict {
    match expected {
        ExpectedVerdict::Open => Verdict::Open,
        ExpectedVerdict::Review => Verdict::Review,
        ExpectedVerdict::Closed => Verdict::Closed,
    }
}

fn means(line: &Line, finding: &Finding) -> bool {
    line.means(&finding.rule, finding.resource.as_deref())
}

fn named(finding: &Finding) -> String {
    match &finding.resource {
        Some(key) => visible(&format!("{} {key}", finding.rule)),
        None => visible(&finding.rule),
    }
}

fn unwanted(finding: &Finding) -> Mismatch {
    Mismatch::Unwanted {
        line: named(finding),
        says: format!(
            "{}{}: {}",
            finding.level,
            certainty(finding.status),
            visible(&finding.message)
        ),
    }
}

fn certainty(status: Status) -> &'static str {
    match status {
        Status::Fired => "",
        Status::Unknown => " (unknown)",
        Status::Waived => " (waived)",
    }
}

fn not_run(rule: &str, judged: &Judged) -> Option<String> {
    let not_run = judged.not_run.iter().find(|n| n.rule == rule)?;
    Some(format!("the rule did not run: it needs {}", not_run.needs))
}

/// What there is in place of a finding: the same one with another status, else the rule's findings about other resources.
fn instead(line: &Line, judged: &Judged) -> Option<String> {
    if let Some(why) = not_run(&line.rule, judged) {
        return Some(why);
    }
    let of_rule = || judged.findings.iter().filter(|f| f.rule == line.rule);
    if let Some(other) = of_rule().find(|f| means(line, f)) {
        let said = match other.status {
            Status::Fired => "found, and certain",
            Status::Unknown => "found, but the rule cannot tell",
            Status::Waived => "found, but waived",
        };
        return Some(said.to_owned());
    }
    let others: Vec<String> = of_rule().map(named).collect();
    (!others.is_empty()).then(|| format!("found only {}", others.join(", ")))
}
