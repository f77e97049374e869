//! What every format says of an entry of `show` in the same words.

use serde_json::Value;

use super::words;
use crate::report::show::{DiffLine, FieldChange, LineKind, ShowBody, ShownEntry};

/// Fields of one entry that are written out; the others are counted.
pub(super) const MAX_FIELDS: usize = 40;
/// Steps of the order that are written out.
pub(super) const MAX_STEPS: usize = 12;
/// Keys of one list that are written out.
pub(super) const MAX_KEYS: usize = 20;

/// The value before: `(not set)` where there is none.
pub(super) fn before(field: &FieldChange) -> String {
    field
        .before
        .as_ref()
        .map_or_else(|| "(not set)".to_owned(), value)
}

/// The value after: the reference for which it waits, or `(not set)`.
pub(super) fn after(field: &FieldChange) -> String {
    match (&field.waits_for, &field.after) {
        (Some(text), _) => format!("(known after {})", words::cut(text)),
        (None, Some(v)) => value(v),
        (None, None) => "(not set)".to_owned(),
    }
}

fn value(value: &Value) -> String {
    match value {
        Value::String(s) if s.is_empty() => "\"\"".to_owned(),
        other => words::value(other),
    }
}

/// What the workspace holds, where someone changed it there.
pub(super) fn workspace(field: &FieldChange) -> String {
    field
        .workspace
        .as_ref()
        .map_or_else(|| "(not set)".to_owned(), value)
}

/// What there is to say beside the two values.
pub(super) fn remarks(field: &FieldChange, action: &str) -> Vec<String> {
    let mut out = Vec::new();
    if field.action != action {
        out.push(field.action.to_owned());
    }
    if let Some(workspace) = &field.workspace {
        out.push(format!("the workspace holds {}", value(workspace)));
    }
    if !field.announced {
        out.push("no change of the plan names it".to_owned());
    }
    if let Some(reason) = &field.reason {
        out.push(words::cut(reason));
    }
    out
}

/// The path, or what the root is.
pub(super) fn path(field: &FieldChange) -> &str {
    if field.path.is_empty() {
        "(the whole list)"
    } else {
        &field.path
    }
}

/// What an entry is called, where that is not its key.
pub(super) fn name(entry: &ShownEntry) -> Option<&str> {
    entry
        .name
        .as_deref()
        .filter(|n| !entry.key.split('.').any(|part| part == *n))
}

/// The action in the CLI's word, `gone` said beside it.
pub(super) fn action(entry: &ShownEntry) -> String {
    if entry.gone {
        format!("{} (gone)", entry.action)
    } else {
        entry.action.to_owned()
    }
}

/// A list of keys, cut.
pub(super) fn keys(keys: &[String]) -> String {
    let mut shown: Vec<String> = keys.iter().take(MAX_KEYS).cloned().collect();
    if keys.len() > MAX_KEYS {
        shown.push(format!("{} more", keys.len() - MAX_KEYS));
    }
    shown.join(", ")
}

/// What is said of the plan as a whole before its entries.
pub(super) fn notes(body: &ShowBody) -> Vec<String> {
    let mut out = Vec::new();
    if body.only_code {
        out.push("0 to change: no resource changes, but the deploy uploads the files of the bundle, so code may differ.".to_owned());
    }
    for r in &body.renamed {
        out.push(match &r.waits_for {
            None => format!("{} is deleted and created again as {}: its key was renamed, the workspace calls both {}.", r.from, r.to, words::cut(&r.name)),
            Some(text) => format!("{} is deleted; whether {} is its new key cannot be told, its name waits for {}.", r.from, r.to, words::cut(text)),
        });
    }
    out
}

/// What is not listed.
pub(super) fn not_listed(body: &ShowBody) -> Option<String> {
    let mut parts = Vec::new();
    if body.skipped > 0 {
        parts.push(format!(
            "{} left alone (--all lists them)",
            words::count(body.skipped, "entry", "entries")
        ));
    }
    if body.filtered > 0 {
        parts.push(format!(
            "{} not asked for",
            words::count(body.filtered, "entry", "entries")
        ));
    }
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// The steps in which the CLI acts, each on one line.
pub(super) fn steps(body: &ShowBody) -> Vec<String> {
    let mut out: Vec<String> = body
        .order
        .iter()
        .take(MAX_STEPS)
        .map(|step| keys(step))
        .collect();
    if body.order.len() > MAX_STEPS {
        out.push(format!(
            "{} more",
            words::count(body.order.len() - MAX_STEPS, "step", "steps")
        ));
    }
    out
}

/// The mark of a line in a diff.
pub(super) fn mark(line: &DiffLine) -> char {
    match line.kind {
        LineKind::Same => ' ',
        LineKind::Removed => '-',
        LineKind::Added => '+',
        LineKind::LeftOut => '@',
    }
}
