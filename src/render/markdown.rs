//! Markdown for a pull request's comment and for a job's summary.

use std::fmt::Write as _;

use super::budget::Document;
use super::escape::{self, markdown, markdown_block, markdown_code};
use super::{Severity, changes, words};
use crate::report::show::{FieldChange, ShowBody, ShownEntry};
use crate::report::{
    AuthorizeBody, Body, CheckResult, DigestBody, Finding, Outcome, Report, Status, Verification,
};

/// GitHub's limit of a comment, in characters; counted in bytes here, which is never more.
pub(super) const COMMENT_LIMIT: usize = 65_536;
/// GitHub's limit of a step's summary, in bytes.
pub(super) const SUMMARY_LIMIT: usize = 1024 * 1024;

/// The report in at most `limit` bytes; what is least dangerous is left out and counted.
#[must_use]
pub(super) fn within(report: &Report, limit: usize) -> String {
    let mut doc = Document::new(limit);
    head(&mut doc, report);
    if let Body::Digest(body) = &report.body {
        digests(&mut doc, body);
    }
    findings(&mut doc, report);
    if let Some(body) = report.body.authorization().filter(|a| a.explain) {
        checks(&mut doc, body);
    }
    if let Body::Show(body) = &report.body {
        show(&mut doc, body);
    }
    if let Some(body) = report.body.verification() {
        verification(&mut doc, body);
    }
    if let Some(text) = words::not_run(&report.not_run) {
        doc.may(
            "note about rules that did not run",
            &format!("Did not run: {}.\n\n", markdown(&text)),
        );
    }
    if let Some(text) = doc.left_out() {
        doc.must(&format!("_{}_\n\n", markdown(&text)));
    }
    escape::log(&doc.finish())
}

/// Each digest in a row.
fn digests(doc: &mut Document, body: &DigestBody) {
    doc.open("| | digest |\n|---|---|\n", "\n");
    for (name, value) in words::digests(body) {
        doc.may(
            "digests",
            &format!("| {name} | {} |\n", markdown_code(&value)),
        );
    }
    doc.close();
}

/// The checks that do not say no; those that do are among the findings.
fn checks(doc: &mut Document, body: &AuthorizeBody) {
    doc.open("| | check | found |\n|---|---|---|\n", "\n");
    for check in body.checks.iter().filter(|c| !c.is_refused()) {
        let about = check
            .approval
            .as_ref()
            .map_or_else(String::new, |name| format!(" {}", markdown_code(name)));
        let expected = if check.result == CheckResult::NotCounted {
            format!(" (expected {})", words::cut(&check.expected))
        } else {
            String::new()
        };
        doc.may(
            "checks",
            &format!(
                "| {} | {}{about} | {} |\n",
                check.result.words(),
                check.check,
                markdown(&format!("{}{expected}", words::cut(&check.found)))
            ),
        );
    }
    doc.close();
}

/// Expectation, observation, witness of what does not match or was not seen.
fn verification(doc: &mut Document, body: &Verification) {
    let mut rows = body
        .rows
        .iter()
        .filter(|r| r.outcome != Outcome::Verified)
        .peekable();
    if rows.peek().is_none() {
        return;
    }
    doc.open(
        "| | What | Expected | Observed | Witness |\n|---|---|---|---|---|\n",
        "\n",
    );
    for row in rows {
        let what = row.resource.as_deref().unwrap_or("the deployment");
        doc.may(
            "checks",
            &format!(
                "| {} | {} {} | {} | {} | {} |\n",
                row.outcome,
                markdown_code(what),
                row.check.words(),
                markdown(&row.expected),
                markdown(row.observed.as_deref().unwrap_or("nothing")),
                row.witness
            ),
        );
    }
    doc.close();
}

fn head(doc: &mut Document, report: &Report) {
    let mut out = format!(
        "### {}: {}\n\n",
        words::verdict_word(report),
        markdown(&words::verdict(report))
    );
    let next = words::next(report);
    if !next.is_empty() {
        let _ = writeln!(out, "{}\n", markdown(next));
    }
    let actions = words::actions(&report.summary);
    if actions.is_empty() {
        out.push_str("The plan has no entry.\n\n");
    } else {
        let names: Vec<&str> = actions.iter().map(|(n, _)| *n).collect();
        let numbers: Vec<String> = actions.iter().map(|(_, n)| n.to_string()).collect();
        let _ = writeln!(
            out,
            "| {} |\n|{}\n| {} |\n",
            names.join(" | "),
            "---:|".repeat(names.len()),
            numbers.join(" | ")
        );
    }
    let policy = report.policy.as_ref().map_or_else(String::new, |p| {
        format!(" · policy {}", markdown_code(&p.source))
    });
    let target = report
        .target
        .as_ref()
        .map_or_else(|| "not known".to_owned(), |t| markdown_code(t));
    let _ = writeln!(
        out,
        "Plan {} ({}) · target {target}{policy}\n",
        markdown_code(&report.plan.path),
        markdown(&words::plan_facts(report))
    );
    doc.must(&out);
}

fn findings(doc: &mut Document, report: &Report) {
    let parts = words::parts(report);
    let (loud, quiet): (Vec<&Finding>, Vec<&Finding>) = parts
        .single
        .iter()
        .partition(|f| Severity::of(report, f) == Severity::Error && f.status != Status::Waived);
    let mut told = words::Told::default();
    let is_list = !loud.is_empty();
    for f in loud {
        doc.may("findings", &finding(report, f, &mut told));
    }
    if is_list {
        // What comes next would go on in the last item.
        doc.must("\n");
    }
    if quiet.is_empty() && parts.standing.is_empty() {
        return;
    }
    let more = quiet.len()
        + parts
            .standing
            .iter()
            .map(|g| g.resources.len())
            .sum::<usize>();
    doc.open(
        &format!(
            "<details><summary>{}</summary>\n\n",
            words::count(more, "more finding", "more findings")
        ),
        "\n</details>\n\n",
    );
    for f in quiet {
        doc.may("findings", &finding(report, f, &mut told));
    }
    for group in &parts.standing {
        let resources: Vec<String> = group.resources.iter().map(|r| markdown_code(r)).collect();
        doc.may(
            "groups of standing weaknesses",
            &format!(
                "- {} {} (standing, this plan leaves it as it is): {}\n",
                group.level,
                markdown_code(group.rule),
                resources.join(", ")
            ),
        );
    }
    doc.close();
}

fn finding<'r>(report: &Report, f: &'r Finding, told: &mut words::Told<'r>) -> String {
    let label = match f.status {
        Status::Waived => format!("waived {}", f.level),
        Status::Unknown => format!("**{}** (cannot tell)", words::level(report, f)),
        Status::Fired => format!("**{}**", words::level(report, f)),
    };
    let subject = f
        .resource
        .as_ref()
        .map_or_else(|| words::subject(f).to_owned(), |r| markdown_code(r));
    let place = words::place(f).map_or_else(String::new, |p| format!(" ({})", markdown_code(&p)));
    let mut out = format!(
        "- {label} {} {subject}{place}: {}\n",
        markdown_code(&f.rule),
        markdown(&f.message)
    );
    if let Some(waiver) = words::waiver(f) {
        let _ = writeln!(out, "  - waived by {}", markdown(&waiver));
    }
    let _ = match told.by(f) {
        None => writeln!(
            out,
            "  - why: {}\n  - do: {}",
            markdown(&f.impact),
            markdown(&f.remedy)
        ),
        Some(other) if other == words::subject(f) => writeln!(out, "  - why, do: as above"),
        Some(other) => writeln!(out, "  - why, do: as for {}", markdown_code(other)),
    };
    out
}

fn show(doc: &mut Document, body: &ShowBody) {
    doc.must("\n");
    for note in changes::notes(body) {
        doc.may("notes", &format!("{}\n\n", markdown(&note)));
    }
    for entry in &body.entries {
        doc.may("entries", &self::entry(entry));
    }
    if let Some(text) = changes::not_listed(body) {
        doc.may("notes", &format!("Not listed: {}.\n\n", markdown(&text)));
    }
    let steps = changes::steps(body);
    if steps.len() > 1 {
        let mut out =
            String::from("<details><summary>The order in which the CLI acts</summary>\n\n");
        for step in steps {
            let _ = writeln!(out, "1. {}", markdown_code(&step));
        }
        out.push_str("\n</details>\n\n");
        doc.may("orders", &out);
    }
}

fn entry(entry: &ShownEntry) -> String {
    let name = changes::name(entry).map_or_else(String::new, |n| {
        format!(" (<code>{}</code>)", escape::html(&words::cut(n)))
    });
    let fields = entry.changes.len() + entry.drift.len();
    let count = if fields == 0 {
        String::new()
    } else {
        format!(", {}", words::count(fields, "field", "fields"))
    };
    // What stands in `<summary>` is HTML, not Markdown.
    let mut out = format!(
        "<details><summary><b>{}</b> <code>{}</code>{name}{count}{}</summary>\n\n",
        changes::action(entry),
        escape::html(&words::cut(&entry.key)),
        if entry.loses_data { ", loses data" } else { "" }
    );
    if let Some(impact) = &entry.impact {
        let _ = writeln!(out, "What it can destroy: {}\n", markdown(impact));
    }
    if !entry.takes_along.is_empty() {
        let _ = writeln!(
            out,
            "Goes with it: {}\n",
            markdown_code(&changes::keys(&entry.takes_along))
        );
    }
    table(&mut out, entry, &entry.changes);
    if !entry.drift.is_empty() {
        out.push_str("Changed in the workspace, put back by the deploy:\n\n| field | workspace | last deploy |\n|---|---|---|\n");
        for f in entry.drift.iter().take(changes::MAX_FIELDS) {
            let cells = [
                changes::path(f).to_owned(),
                changes::workspace(f),
                changes::before(f),
            ];
            let cells: Vec<String> = cells.iter().map(|c| markdown_code(c)).collect();
            let _ = writeln!(out, "| {} |", cells.join(" | "));
        }
        out.push('\n');
        more(&mut out, entry.drift.len());
    }
    out.push_str("</details>\n\n");
    out
}

fn table(out: &mut String, entry: &ShownEntry, fields: &[FieldChange]) {
    let shown = fields
        .get(..changes::MAX_FIELDS.min(fields.len()))
        .unwrap_or_default();
    let (texts, values): (Vec<&FieldChange>, Vec<&FieldChange>) =
        shown.iter().partition(|f| f.diff.is_some());
    if !values.is_empty() {
        out.push_str("| field | before | after | |\n|---|---|---|---|\n");
        for f in values {
            let remarks = changes::remarks(f, entry.action).join("; ");
            let _ = writeln!(
                out,
                "| {} | {} | {} | {} |",
                markdown_code(changes::path(f)),
                markdown_code(&changes::before(f)),
                markdown_code(&changes::after(f)),
                markdown(&remarks)
            );
        }
        out.push('\n');
    }
    for f in texts {
        let lines: Vec<String> = f
            .diff
            .iter()
            .flatten()
            .map(|l| {
                format!(
                    "{}{}",
                    changes::mark(l),
                    l.parts.iter().map(|(_, t)| t.as_str()).collect::<String>()
                )
            })
            .collect();
        let remarks = changes::remarks(f, entry.action).join("; ");
        let _ = writeln!(
            out,
            "Field {} {}\n\n{}",
            markdown_code(changes::path(f)),
            markdown(&remarks),
            markdown_block("diff", &lines)
        );
    }
    more(out, fields.len());
}

fn more(out: &mut String, fields: usize) {
    let left = fields.saturating_sub(changes::MAX_FIELDS);
    if left > 0 {
        let _ = writeln!(out, "{} more.\n", words::count(left, "field", "fields"));
    }
}
