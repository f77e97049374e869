//! `policy replay`: what a policy says about recorded plans, and what another one said before.
//!
//! Pure: plans come in as they were judged, the table goes out as text or JSON.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::{Value, json};
use unicode_width::UnicodeWidthStr as _;

use crate::effect::{Inputs, World};
use crate::policy::{Level, Policy};
use crate::report::{Status, Verdict, verdict};
use crate::rules::{Context, judge};
use crate::text::visible;

/// Rules that a line of the table names before it only counts the rest.
const MAX_NAMED: usize = 4;

/// What a policy says about one plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judgement {
    /// The verdict.
    pub verdict: Verdict,
    /// The highest level of each rule about each resource, waived findings aside.
    pub levels: BTreeMap<(String, Option<String>), Level>,
}

impl Judgement {
    /// Judges a plan.
    #[must_use]
    pub fn of(inputs: Inputs<'_>, policy: &Policy, now: jiff::Timestamp) -> Self {
        let world = World::new(inputs);
        let judged = judge(&Context {
            world: &world,
            policy,
            now,
        });
        let mut levels = BTreeMap::new();
        for f in judged
            .findings
            .iter()
            .filter(|f| f.status != Status::Waived)
        {
            let level = levels
                .entry((f.rule.clone(), f.resource.clone()))
                .or_insert(f.level);
            *level = f.level.max(*level);
        }
        Self {
            verdict: verdict(&judged.findings),
            levels,
        }
    }

    /// The rules that make the verdict what it is: those of the level that decides. None when the gate is open.
    fn deciding(&self) -> Vec<&str> {
        let level = match self.verdict {
            Verdict::Open => return Vec::new(),
            Verdict::Review => Level::Review,
            Verdict::Closed => Level::Deny,
        };
        let mut rules: Vec<&str> = self
            .levels
            .iter()
            .filter(|(_, found)| **found == level)
            .map(|((rule, _), _)| rule.as_str())
            .collect();
        rules.dedup();
        rules
    }
}

/// A rule that two policies weigh differently on the same plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The rule.
    pub rule: String,
    /// The highest level before, `off`: nothing was found.
    pub before: Level,
    /// The highest level now.
    pub now: Level,
    /// The resources about which it differs; none: the whole deployment.
    pub resources: Vec<Option<String>>,
}

/// The rules whose findings close the gate under one of the policies and weigh something else under the other.
#[must_use]
pub fn differences(before: &Judgement, now: &Judgement) -> Vec<Difference> {
    let mut out: BTreeMap<&str, Difference> = BTreeMap::new();
    for key in before.levels.keys().chain(now.levels.keys()) {
        let level = |of: &Judgement| of.levels.get(key).copied().unwrap_or(Level::Off);
        let (was, is) = (level(before), level(now));
        if was == is || was.max(is) < Level::Review {
            continue;
        }
        let (rule, resource) = key;
        let entry = out.entry(rule).or_insert_with(|| Difference {
            rule: rule.clone(),
            before: was,
            now: is,
            resources: Vec::new(),
        });
        entry.before = entry.before.max(was);
        entry.now = entry.now.max(is);
        if !entry.resources.contains(resource) {
            entry.resources.push(resource.clone());
        }
    }
    out.into_values().collect()
}

/// What came of one recorded plan.
#[derive(Debug, Clone)]
pub enum Outcome {
    /// It was judged.
    Judged {
        /// By the policy.
        now: Judgement,
        /// By the other policy, if there is one.
        before: Option<Judgement>,
    },
    /// It could not be read, and why.
    Unreadable(String),
}

/// One line of the table.
#[derive(Debug, Clone)]
pub struct Row {
    /// Where the plan is.
    pub plan: String,
    /// What came of it.
    pub outcome: Outcome,
}

impl Row {
    /// Whether the two policies come to different verdicts, or the plan could not be read.
    fn stands_out(&self) -> bool {
        match &self.outcome {
            Outcome::Unreadable(_) => true,
            Outcome::Judged { now, before } => {
                before.as_ref().is_some_and(|b| b.verdict != now.verdict)
            }
        }
    }
}

/// The whole replay.
#[derive(Debug, Clone)]
pub struct Replay {
    /// The policy.
    pub policy: String,
    /// The other policy, if there is one.
    pub against: Option<String>,
    /// One a plan, in the order in which they were found.
    pub rows: Vec<Row>,
}

/// How many plans came out how.
#[derive(Debug, Default, PartialEq, Eq, serde::Serialize)]
struct Totals {
    plans: usize,
    open: usize,
    review: usize,
    closed: usize,
    unreadable: usize,
    stricter: usize,
    milder: usize,
}

impl Replay {
    /// Whether every plan could be judged.
    #[must_use]
    pub fn whole(&self) -> bool {
        let mut all = self.rows.iter();
        all.all(|row| matches!(row.outcome, Outcome::Judged { .. }))
    }

    fn totals(&self) -> Totals {
        let mut totals = Totals {
            plans: self.rows.len(),
            ..Totals::default()
        };
        for row in &self.rows {
            let Outcome::Judged { now, before } = &row.outcome else {
                totals.unreadable += 1;
                continue;
            };
            match now.verdict {
                Verdict::Open => totals.open += 1,
                Verdict::Review => totals.review += 1,
                Verdict::Closed => totals.closed += 1,
            }
            match before {
                Some(before) if now.verdict > before.verdict => totals.stricter += 1,
                Some(before) if now.verdict < before.verdict => totals.milder += 1,
                _ => {}
            }
        }
        totals
    }

    /// The table for people; `only_changes` leaves out plans with the same verdict twice. Ends with a newline.
    #[must_use]
    pub fn text(&self, only_changes: bool) -> String {
        let mut lines = vec![self.heading()];
        let shown = self.rows.iter().filter(|r| !only_changes || r.stands_out());
        let mut unreadable = Vec::new();
        for row in shown {
            match &row.outcome {
                Outcome::Judged { now, before } => lines.push(self.line(row, now, before.as_ref())),
                Outcome::Unreadable(why) => unreadable.push(visible_lines(why)),
            }
        }
        let mut out = String::new();
        if lines.len() > 1 {
            table(&lines, &mut out);
            out.push('\n');
        }
        if !unreadable.is_empty() {
            out.push_str("Not judged:\n");
            for why in unreadable {
                let _ = writeln!(out, "  {}", why.replace('\n', "\n  "));
            }
            out.push('\n');
        }
        out.push_str(&self.summary());
        out
    }

    fn heading(&self) -> Vec<String> {
        let names: &[&str] = match self.against {
            Some(_) => &["plan", "before", "now", "because of"],
            None => &["plan", "verdict", "because of"],
        };
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    fn line(&self, row: &Row, now: &Judgement, before: Option<&Judgement>) -> Vec<String> {
        let mut line = vec![visible(&row.plan)];
        let because: Vec<String> = match before {
            None => now.deciding().into_iter().map(visible).collect(),
            Some(before) => {
                line.push(before.verdict.as_str().to_owned());
                differences(before, now)
                    .iter()
                    .map(|d| format!("{} ({} to {})", visible(&d.rule), d.before, d.now))
                    .collect()
            }
        };
        line.push(now.verdict.as_str().to_owned());
        line.push(first_few(&because));
        line
    }

    fn summary(&self) -> String {
        let t = self.totals();
        let mut out = format!(
            "{} {} under {}: {} open, {} review, {} closed",
            t.plans,
            if t.plans == 1 { "plan" } else { "plans" },
            visible(&self.policy),
            t.open,
            t.review,
            t.closed
        );
        if t.unreadable > 0 {
            let _ = write!(out, ", {} not judged", t.unreadable);
        }
        out.push('\n');
        if let Some(against) = &self.against {
            let _ = writeln!(
                out,
                "Against {}: {} stricter, {} milder, {} the same",
                visible(against),
                t.stricter,
                t.milder,
                t.plans - t.unreadable - t.stricter - t.milder
            );
        }
        out
    }

    /// The table for programs. Ends with a newline.
    #[must_use]
    pub fn json(&self, only_changes: bool) -> String {
        let shown = self.rows.iter().filter(|r| !only_changes || r.stands_out());
        let plans: Vec<Value> = shown
            .map(|row| match &row.outcome {
                Outcome::Unreadable(why) => json!({"plan": row.plan, "error": why}),
                Outcome::Judged { now, before } => {
                    let mut plan = json!({
                        "plan": row.plan,
                        "verdict": now.verdict.as_str(),
                        "because": now.deciding(),
                    });
                    if let Some(before) = before {
                        let changes: Vec<Value> = differences(before, now)
                            .iter()
                            .map(|d| json!({"rule": d.rule, "before": d.before, "now": d.now, "resources": d.resources}))
                            .collect();
                        plan["before"] = before.verdict.as_str().into();
                        plan["differences"] = changes.into();
                    }
                    plan
                }
            })
            .collect();
        let all = json!({
            "schema": "bundlegate-policy-replay-v1",
            "policy": self.policy,
            "against": self.against,
            "summary": self.totals(),
            "plans": plans,
        });
        format!("{all:#}\n")
    }
}

/// A message of several lines, each made visible.
fn visible_lines(text: &str) -> String {
    let lines: Vec<String> = text.lines().map(visible).collect();
    lines.join("\n")
}

fn first_few(rules: &[String]) -> String {
    let named: Vec<&str> = rules.iter().take(MAX_NAMED).map(String::as_str).collect();
    match rules.len().saturating_sub(MAX_NAMED) {
        0 => named.join(", "),
        more => format!("{} and {more} more", named.join(", ")),
    }
}

/// Lines of cells, in columns.
fn table(lines: &[Vec<String>], out: &mut String) {
    let mut widths: Vec<usize> = Vec::new();
    for line in lines {
        for (column, cell) in line.iter().enumerate() {
            match widths.get_mut(column) {
                Some(width) => *width = cell.width().max(*width),
                None => widths.push(cell.width()),
            }
        }
    }
    for line in lines {
        let mut text = String::new();
        for (cell, width) in line.iter().zip(&widths) {
            let fill = width.saturating_sub(cell.width());
            let _ = write!(text, "{cell}{:fill$}  ", "");
        }
        let _ = writeln!(out, "{}", text.trim_end());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judgement(verdict: Verdict, levels: &[(&str, Option<&str>, Level)]) -> Judgement {
        Judgement {
            verdict,
            levels: levels
                .iter()
                .map(|(rule, key, level)| (((*rule).to_owned(), key.map(str::to_owned)), *level))
                .collect(),
        }
    }

    fn replay() -> Replay {
        let closed = judgement(
            Verdict::Closed,
            &[
                ("destroy", Some("jobs.a"), Level::Deny),
                ("destroy", Some("jobs.b"), Level::Deny),
                ("field-reset", Some("jobs.b"), Level::Warn),
            ],
        );
        let review = judgement(
            Verdict::Review,
            &[
                ("destroy", Some("jobs.a"), Level::Review),
                ("wrong-target", None, Level::Review),
            ],
        );
        let open = judgement(Verdict::Open, &[]);
        let row = |plan: &str, now: &Judgement, before: &Judgement| Row {
            plan: plan.to_owned(),
            outcome: Outcome::Judged {
                now: now.clone(),
                before: Some(before.clone()),
            },
        };
        Replay {
            policy: "new.yml".to_owned(),
            against: Some("old.yml".to_owned()),
            rows: vec![
                row("a/plan.json", &review, &closed),
                row("b\u{202e}/plan.json", &open, &open),
                Row {
                    plan: "c/plan.json".to_owned(),
                    outcome: Outcome::Unreadable(
                        "c/plan.json:1:2: expected a plan, found \u{1b}[2J\n  help: x".to_owned(),
                    ),
                },
            ],
        }
    }

    #[test]
    fn the_table_says_what_made_the_difference() {
        insta::assert_snapshot!(replay().text(false), @r#"
        plan                 before  now     because of
        a/plan.json          closed  review  destroy (deny to review), wrong-target (off to review)
        b\u{202e}/plan.json  open    open

        Not judged:
          c/plan.json:1:2: expected a plan, found \u{1b}[2J
            help: x

        3 plans under new.yml: 1 open, 1 review, 0 closed, 1 not judged
        Against old.yml: 0 stricter, 1 milder, 1 the same
        "#);
        insta::assert_snapshot!(replay().text(true), @r#"
        plan         before  now     because of
        a/plan.json  closed  review  destroy (deny to review), wrong-target (off to review)

        Not judged:
          c/plan.json:1:2: expected a plan, found \u{1b}[2J
            help: x

        3 plans under new.yml: 1 open, 1 review, 0 closed, 1 not judged
        Against old.yml: 0 stricter, 1 milder, 1 the same
        "#);
    }

    #[test]
    fn without_another_policy_it_names_what_decides() {
        let mut replay = replay();
        replay.against = None;
        for row in &mut replay.rows {
            if let Outcome::Judged { before, .. } = &mut row.outcome {
                *before = None;
            }
        }
        insta::assert_snapshot!(replay.text(false), @r#"
        plan                 verdict  because of
        a/plan.json          review   destroy, wrong-target
        b\u{202e}/plan.json  open

        Not judged:
          c/plan.json:1:2: expected a plan, found \u{1b}[2J
            help: x

        3 plans under new.yml: 1 open, 1 review, 0 closed, 1 not judged
        "#);
    }

    #[test]
    fn a_rule_that_only_warns_makes_no_difference() {
        let warn = judgement(Verdict::Open, &[("rename", Some("jobs.a"), Level::Warn)]);
        let none = judgement(Verdict::Open, &[]);
        assert_eq!(differences(&warn, &none), []);
        let deny = judgement(Verdict::Closed, &[("rename", Some("jobs.a"), Level::Deny)]);
        assert_eq!(
            differences(&deny, &warn),
            [Difference {
                rule: "rename".to_owned(),
                before: Level::Deny,
                now: Level::Warn,
                resources: vec![Some("jobs.a".to_owned())]
            }]
        );
    }

    #[test]
    fn json_has_every_plan_once() {
        let all: Value = serde_json::from_str(&replay().json(false)).unwrap();
        assert_eq!(all["plans"].as_array().map(Vec::len), Some(3));
        assert_eq!(all["summary"]["milder"], 1);
        assert_eq!(all["summary"]["unreadable"], 1);
        assert_eq!(all["plans"][0]["differences"][0]["rule"], "destroy");
        assert!(!replay().whole());
    }
}
