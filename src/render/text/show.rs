//! What `show` has to say, for a terminal.

use anstyle::{AnsiColor, Effects, Style};

use super::super::{changes, words};
use super::{DIM, PLAIN, Page};
use crate::report::show::{FieldChange, LineKind, ShowBody, ShownEntry};

const BOLD: Style = Style::new().effects(Effects::BOLD);
const REMOVED: Style = AnsiColor::Red.on_default();
const ADDED: Style = AnsiColor::Green.on_default();

pub(super) fn show(page: &mut Page, body: &ShowBody, verbose: bool) {
    let notes = changes::notes(body);
    if !notes.is_empty() {
        page.gap();
    }
    for note in notes {
        page.line("", PLAIN, &note);
    }
    for entry in &body.entries {
        page.gap();
        self::entry(page, entry, verbose);
    }
    let steps = changes::steps(body);
    if steps.len() > 1 {
        page.gap();
        page.line("order: ", BOLD, "the CLI acts step by step");
        for (i, step) in steps.iter().enumerate() {
            page.line(&format!("  {}. ", i + 1), DIM, step);
        }
    }
    if let Some(text) = changes::not_listed(body) {
        page.gap();
        page.line("not listed: ", DIM, &text);
    }
}

fn style_of(entry: &ShownEntry) -> Style {
    match entry.action {
        _ if entry.gone => DIM,
        "delete" | "recreate" => REMOVED.effects(Effects::BOLD),
        "create" => ADDED,
        "skip" => DIM,
        _ => AnsiColor::Yellow.on_default(),
    }
}

fn entry(page: &mut Page, entry: &ShownEntry, verbose: bool) {
    let mut title = entry.key.clone();
    if let Some(name) = changes::name(entry) {
        title.push_str(&format!("  ({})", words::cut(name)));
    }
    if let Some(place) = &entry.location {
        title.push_str(&format!(
            "  ({}:{}:{})",
            place.file, place.line, place.column
        ));
    }
    page.line(
        &format!("{} ", changes::action(entry)),
        style_of(entry),
        &title,
    );
    if let Some(impact) = &entry.impact {
        page.line("  ", PLAIN, impact);
    }
    if !entry.takes_along.is_empty() {
        page.line("  goes with it: ", BOLD, &changes::keys(&entry.takes_along));
    }
    fields(page, entry, &entry.changes, verbose);
    if !entry.drift.is_empty() {
        page.line(
            "  changed in the workspace, put back by the deploy:",
            BOLD,
            "",
        );
        for f in entry.drift.iter().take(most(&entry.drift, verbose)) {
            let text = format!(
                "{}: {} (the last deploy set {})",
                changes::path(f),
                changes::workspace(f),
                changes::before(f)
            );
            page.line("    ", PLAIN, &text);
        }
        more(page, &entry.drift, verbose);
    }
    if verbose && !entry.depends_on.is_empty() {
        page.line("  depends on: ", DIM, &changes::keys(&entry.depends_on));
    }
}

fn fields(page: &mut Page, entry: &ShownEntry, fields: &[FieldChange], verbose: bool) {
    for f in fields.iter().take(most(fields, verbose)) {
        let remarks = changes::remarks(f, entry.action);
        let remarks = if remarks.is_empty() {
            String::new()
        } else {
            format!("  ({})", remarks.join("; "))
        };
        let path = changes::path(f);
        match &f.diff {
            None if entry.action == "create" => page.line(
                "    ",
                PLAIN,
                &format!("{path}: {}{remarks}", changes::after(f)),
            ),
            None => page.line(
                "    ",
                PLAIN,
                &format!(
                    "{path}: {} -> {}{remarks}",
                    changes::before(f),
                    changes::after(f)
                ),
            ),
            Some(lines) => {
                page.line("    ", PLAIN, &format!("{path}:{remarks}"));
                for line in lines {
                    let style = match line.kind {
                        LineKind::Removed => REMOVED,
                        LineKind::Added => ADDED,
                        LineKind::Same | LineKind::LeftOut => DIM,
                    };
                    page.pieces(
                        &format!("      {} ", changes::mark(line)),
                        style,
                        &line.parts,
                    );
                }
            }
        }
    }
    more(page, fields, verbose);
}

/// How many fields are written out.
fn most(fields: &[FieldChange], verbose: bool) -> usize {
    if verbose {
        fields.len()
    } else {
        changes::MAX_FIELDS.min(fields.len())
    }
}

fn more(page: &mut Page, fields: &[FieldChange], verbose: bool) {
    let left = fields.len() - most(fields, verbose);
    if left > 0 {
        page.line(
            "    ",
            DIM,
            &format!(
                "{} more (-v lists them)",
                words::count(left, "field", "fields")
            ),
        );
    }
}
