//! One page that needs nothing else: no script to read it, none but its own to filter it.

mod picture;

use std::fmt::Write as _;

use base64ct::{Base64, Encoding as _};
use sha2::{Digest as _, Sha256};

use super::budget::Document;
use super::escape::{self, html};
use super::{changes, words};
use crate::policy::Level;
use crate::report::show::{DiffLine, FieldChange, LineKind, ShowBody, ShownEntry};
use crate::report::{AuthorizeBody, Body, DigestBody, Finding, Report, Status, Verification};

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");
/// A page for 1,000 entries stays below this many bytes, a larger plan's grows in proportion.
const LIMIT: usize = 295_000;

pub(super) fn render(report: &Report) -> String {
    let mut doc = Document::new(LIMIT.saturating_mul(report.plan.entries.div_ceil(1_000).max(1)));
    head(&mut doc, report);
    if let Body::Digest(body) = &report.body {
        digests(&mut doc, body);
    }
    findings(&mut doc, report);
    if let Some(body) = report.body.authorization() {
        checks(&mut doc, body);
    }
    if let Some(body) = report.body.verification() {
        verification(&mut doc, body);
    }
    if let Body::Show(body) = &report.body {
        show(&mut doc, body);
    }
    foot(&mut doc, report);
    escape::markup(&doc.finish())
}

/// The hash by which the Content-Security-Policy names an inline block.
fn hash(text: &str) -> String {
    format!("'sha256-{}'", Base64::encode_string(&Sha256::digest(text)))
}

fn head(doc: &mut Document, report: &Report) {
    let class = if words::is_judged(report) {
        report.verdict.as_str()
    } else {
        "none"
    };
    let mut out = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src {}; script-src {}; base-uri 'none'; form-action 'none'\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta name=\"referrer\" content=\"no-referrer\">\n<title>bundlegate {}: {}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<header class=\"{class}\">\n<h1>{}: {}</h1>\n",
        hash(STYLE),
        hash(SCRIPT),
        html(report.command),
        words::verdict_word(report),
        words::verdict_word(report),
        html(&words::verdict(report)),
    );
    let next = words::next(report);
    if !next.is_empty() {
        let _ = writeln!(out, "<p>{}</p>", html(next));
    }
    let mut facts = vec![
        (
            "plan",
            format!("{} ({})", report.plan.path, words::plan_facts(report)),
        ),
        (
            "target",
            report
                .target
                .clone()
                .unwrap_or_else(|| "not known".to_owned()),
        ),
    ];
    if let Some(policy) = &report.policy {
        facts.push((
            "policy",
            format!(
                "{} (sha256 {})",
                policy.source,
                words::short(&policy.sha256)
            ),
        ));
    }
    facts.push(("does", words::counts(&report.summary)));
    out.push_str("<dl>");
    for (name, value) in facts {
        let _ = write!(out, "<dt>{name}</dt><dd>{}</dd>", html(&value));
    }
    out.push_str("</dl>\n</header>\n<main>\n<form id=\"filter\" hidden><fieldset><legend>Show</legend></fieldset><p id=\"shown\" role=\"status\"></p></form>\n");
    doc.must(&out);
}

/// A text with what it puts between backticks as code.
fn prose(text: &str) -> String {
    let mut out = String::new();
    let mut pieces = text.split('`').peekable();
    let mut code = false;
    while let Some(piece) = pieces.next() {
        if code && pieces.peek().is_some() {
            let _ = write!(out, "<code>{}</code>", html(piece));
        } else {
            if code {
                out.push('`');
            }
            out.push_str(&html(piece));
        }
        code = !code;
    }
    out
}

fn findings(doc: &mut Document, report: &Report) {
    let parts = words::parts(report);
    if parts.single.is_empty() && parts.standing.is_empty() {
        return;
    }
    doc.open(
        "<section aria-labelledby=\"fh\">\n<h2 id=\"fh\">Findings</h2>\n",
        "</section>\n",
    );
    let mut told = words::Told::default();
    for f in &parts.single {
        doc.may("findings", &finding(report, f, &mut told));
    }
    if !parts.standing.is_empty() {
        doc.open(
            "<h3>Standing weaknesses: this plan leaves them as they are</h3>\n<ul>\n",
            "</ul>\n",
        );
        for g in &parts.standing {
            let resources: Vec<String> = g.resources.iter().map(|r| html(r)).collect();
            doc.may(
                "groups of standing weaknesses",
                &format!(
                    "<li data-kind=\"{0}\"><b class=\"{0}\">{0}</b> <code>{1}</code>: {2}</li>\n",
                    g.level,
                    html(g.rule),
                    resources.join(", ")
                ),
            );
        }
        doc.close();
    }
    doc.close();
}

fn finding<'r>(report: &Report, f: &'r Finding, told: &mut words::Told<'r>) -> String {
    let kind = if f.status == Status::Waived {
        "waived"
    } else {
        f.level.as_str()
    };
    let status = match f.status {
        Status::Fired => String::new(),
        Status::Unknown => " (cannot tell)".to_owned(),
        Status::Waived => format!(" ({})", f.level),
    };
    let place = words::place(f).map_or_else(String::new, |p| format!(" <code>{}</code>", html(&p)));
    let mut out = format!(
        "<article class=\"f\" data-kind=\"{kind}\"><h3><b class=\"{}\">{kind}</b>{}{status} <code>{}</code> {}{place}</h3><p>{}</p>",
        if f.status == Status::Waived {
            Level::Note
        } else {
            f.level
        },
        words::approved(report, f),
        html(&f.rule),
        html(words::subject(f)),
        prose(&f.message)
    );
    if let Some(waiver) = words::waiver(f) {
        let _ = write!(out, "<p>Waived by {}</p>", html(&waiver));
    }
    let _ = match told.by(f) {
        None => writeln!(
            out,
            "<p>Why: {}</p><p>Do: {}</p></article>",
            prose(&f.impact),
            prose(&f.remedy)
        ),
        Some(other) if other == words::subject(f) => {
            writeln!(out, "<p>Why, do: as above</p></article>")
        }
        Some(other) => writeln!(out, "<p>Why, do: as for {}</p></article>", html(other)),
    };
    out
}

/// Each digest in a row.
fn digests(doc: &mut Document, body: &DigestBody) {
    doc.open(
        "<section aria-labelledby=\"dh\">\n<h2 id=\"dh\">Digests</h2>\n<table>\n",
        "</table>\n</section>\n",
    );
    for (name, value) in words::digests(body) {
        doc.may(
            "digests",
            &format!(
                "<tr><th>{name}</th><td><code>{}</code></td></tr>\n",
                html(&value)
            ),
        );
    }
    doc.close();
}

/// Every check of the authorization: what was expected, what was found, what to do.
fn checks(doc: &mut Document, body: &AuthorizeBody) {
    doc.open(
        "<section aria-labelledby=\"ah\">\n<h2 id=\"ah\">Checks</h2>\n<table>\n<tr><th></th><th>Check</th><th>Expected</th><th>Found</th><th>Do</th></tr>\n",
        "</table>\n</section>\n",
    );
    for check in &body.checks {
        doc.may(
            "checks",
            &format!(
                "<tr><td>{}</td><td><code>{}</code> {}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n",
                check.result.words(),
                check.check,
                html(check.approval.as_deref().unwrap_or_default()),
                html(&words::cut(&check.expected)),
                html(&words::cut(&check.found)),
                prose(&check.remedy)
            ),
        );
    }
    doc.close();
}

/// Expectation, observation, witness: every check.
fn verification(doc: &mut Document, body: &Verification) {
    doc.open(
        "<section aria-labelledby=\"vh\">\n<h2 id=\"vh\">What the workspace holds</h2>\n<table>\n<tr><th></th><th>What</th><th>Expected</th><th>Observed</th><th>Witness</th></tr>\n",
        "</table>\n</section>\n",
    );
    for row in &body.rows {
        doc.may(
            "checks",
            &format!(
                "<tr><td>{}</td><td><code>{}</code> {}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n",
                row.outcome,
                html(row.resource.as_deref().unwrap_or("the deployment")),
                row.check.words(),
                html(&row.expected),
                html(row.observed.as_deref().unwrap_or("nothing")),
                row.witness
            ),
        );
    }
    doc.close();
}

fn show(doc: &mut Document, body: &ShowBody) {
    doc.open(
        "<section aria-labelledby=\"ch\">\n<h2 id=\"ch\">What the deploy does</h2>\n",
        "</section>\n",
    );
    for note in changes::notes(body) {
        doc.may("notes", &format!("<p>{}</p>\n", html(&note)));
    }
    for entry in &body.entries {
        doc.may("entries", &self::entry(entry));
    }
    if let Some(text) = changes::not_listed(body) {
        doc.may("notes", &format!("<p>Not listed: {}.</p>\n", html(&text)));
    }
    doc.close();
    let steps = changes::steps(body);
    if steps.len() > 1 {
        let mut out = String::from(
            "<section aria-labelledby=\"oh\">\n<h2 id=\"oh\">The order in which the CLI acts</h2>\n",
        );
        if let Some(svg) = picture::svg(body) {
            let _ = writeln!(
                out,
                "<div class=\"picture\" role=\"region\" aria-label=\"Dependency picture\" tabindex=\"0\">{svg}</div>"
            );
        }
        out.push_str("<ol>\n");
        for step in steps {
            let _ = writeln!(out, "<li>{}</li>", html(&step));
        }
        out.push_str("</ol>\n</section>\n");
        doc.may("orders", &out);
    }
}

fn entry(entry: &ShownEntry) -> String {
    let name =
        changes::name(entry).map_or_else(String::new, |n| format!(" ({})", html(&words::cut(n))));
    let title = format!(
        "<b class=\"{}\">{}</b> <code>{}</code>{name}{}",
        entry.action,
        changes::action(entry),
        html(&words::cut(&entry.key)),
        if entry.loses_data {
            " · loses data"
        } else {
            ""
        }
    );
    let fields = entry.changes.len() + entry.drift.len();
    let mut out = format!("<div class=\"e\" data-kind=\"{}\">", entry.action);
    if let Some(impact) = &entry.impact {
        let _ = write!(out, "<h3>{title}</h3><p>{}</p>", html(impact));
    } else if fields == 0 {
        let _ = write!(out, "<h3>{title}</h3>");
    }
    if !entry.takes_along.is_empty() {
        let _ = write!(
            out,
            "<p>Goes with it: {}</p>",
            html(&changes::keys(&entry.takes_along))
        );
    }
    if fields > 0 {
        let label = words::count(fields, "field", "fields");
        let summary = if entry.impact.is_some() {
            label
        } else {
            format!("{title} · {label}")
        };
        let open = if entry.action == "create" {
            ""
        } else {
            " open"
        };
        let _ = write!(out, "<details{open}><summary>{summary}</summary>");
        table(&mut out, entry, &entry.changes);
        if !entry.drift.is_empty() {
            out.push_str("<p>Changed in the workspace, put back by the deploy:</p><table><tr><th>field<th>workspace<th>last deploy</tr>");
            for f in entry.drift.iter().take(changes::MAX_FIELDS) {
                let _ = write!(
                    out,
                    "<tr><td><code>{}</code></td><td>{}</td><td>{}</td></tr>",
                    html(changes::path(f)),
                    html(&changes::workspace(f)),
                    html(&changes::before(f))
                );
            }
            out.push_str("</table>");
            more(&mut out, entry.drift.len());
        }
        out.push_str("</details>");
    }
    out.push_str("</div>\n");
    out
}

fn table(out: &mut String, entry: &ShownEntry, fields: &[FieldChange]) {
    let shown = fields
        .get(..changes::MAX_FIELDS.min(fields.len()))
        .unwrap_or_default();
    if shown.is_empty() {
        return;
    }
    out.push_str("<table><tr><th>field<th>before<th>after</tr>");
    for f in shown {
        let remarks = changes::remarks(f, entry.action);
        let remarks = if remarks.is_empty() {
            String::new()
        } else {
            format!("<br>{}", html(&remarks.join("; ")))
        };
        let _ = write!(
            out,
            "<tr><td><code>{}</code>{remarks}</td>",
            html(changes::path(f))
        );
        match &f.diff {
            None => {
                let _ = write!(
                    out,
                    "<td>{}</td><td>{}</td></tr>",
                    html(&changes::before(f)),
                    html(&changes::after(f))
                );
            }
            Some(lines) => {
                let _ = write!(
                    out,
                    "<td colspan=\"2\"><pre tabindex=\"0\">{}</pre></td></tr>",
                    lines.iter().map(line).collect::<String>()
                );
            }
        }
    }
    out.push_str("</table>");
    more(out, fields.len());
}

fn more(out: &mut String, fields: usize) {
    let left = fields.saturating_sub(changes::MAX_FIELDS);
    if left > 0 {
        let _ = write!(
            out,
            "<p>{} more.</p>",
            words::count(left, "field", "fields")
        );
    }
}

fn line(line: &DiffLine) -> String {
    let text: String = line
        .parts
        .iter()
        .map(|(differs, text)| {
            if *differs {
                format!("<mark>{}</mark>", html(text))
            } else {
                html(text)
            }
        })
        .collect();
    let mark = changes::mark(line);
    match line.kind {
        LineKind::Removed => format!("<del>{mark} {text}</del>"),
        LineKind::Added => format!("<ins>{mark} {text}</ins>"),
        LineKind::Same | LineKind::LeftOut => format!("{mark} {text}\n"),
    }
}

fn foot(doc: &mut Document, report: &Report) {
    if let Some(text) = words::not_run(&report.not_run) {
        doc.must(&format!("<p>Did not run: {}.</p>\n", html(&text)));
    }
    if let Some(text) = doc.left_out() {
        doc.must(&format!("<p>{}</p>\n", prose(&text)));
    }
    doc.must(&format!(
        "</main>\n<script>{SCRIPT}</script>\n</body>\n</html>\n"
    ));
}
