//! The dependency picture: what is touched, from left to right in the order in which the CLI acts.

use std::collections::HashMap;
use std::fmt::Write as _;

use super::super::escape::html;
use crate::report::show::{ShowBody, ShownEntry};

/// More boxes than this are no picture any more.
const MAX_NODES: usize = 80;
const WIDTH: usize = 230;
const HEIGHT: usize = 28;
const GAP_X: usize = 70;
const GAP_Y: usize = 12;
/// Characters of a key that fit into a box.
const CHARS: usize = 27;

/// The picture; `None` where it would show nothing, or too much.
pub(super) fn svg(body: &ShowBody) -> Option<String> {
    let entries: HashMap<&str, &ShownEntry> = body
        .entries
        .iter()
        .filter(|e| e.action != "skip")
        .map(|e| (e.key.as_str(), e))
        .collect();
    let columns: Vec<Vec<&ShownEntry>> = body
        .order
        .iter()
        .map(|step| {
            step.iter()
                .filter_map(|key| entries.get(key.as_str()).copied())
                .collect::<Vec<_>>()
        })
        .filter(|column| !column.is_empty())
        .collect();
    let nodes: usize = columns.iter().map(Vec::len).sum();
    if !(2..=MAX_NODES).contains(&nodes) {
        return None;
    }
    let mut places: HashMap<&str, (usize, usize)> = HashMap::new();
    for (x, column) in columns.iter().enumerate() {
        for (y, entry) in column.iter().enumerate() {
            places.insert(
                &entry.key,
                (10 + x * (WIDTH + GAP_X), 10 + y * (HEIGHT + GAP_Y)),
            );
        }
    }
    let width = 20 + columns.len() * (WIDTH + GAP_X) - GAP_X;
    let height = 20 + columns.iter().map(Vec::len).max().unwrap_or(0) * (HEIGHT + GAP_Y) - GAP_Y;
    let mut out = format!(
        "<svg role=\"img\" aria-labelledby=\"pt pd\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\"><title id=\"pt\">What depends on what</title><desc id=\"pd\">{nodes} entries, from left to right in the order in which the CLI acts; the list below says the same.</desc>"
    );
    for entry in columns.iter().flatten() {
        for other in &entry.depends_on {
            if let (Some(a), Some(b)) = (places.get(other.as_str()), places.get(entry.key.as_str()))
            {
                // What is deleted goes before what it depends on.
                let (from, to) = if a.0 <= b.0 { (a, b) } else { (b, a) };
                let (x1, y1, x2, y2) =
                    (from.0 + WIDTH, from.1 + HEIGHT / 2, to.0, to.1 + HEIGHT / 2);
                let _ = write!(
                    out,
                    "<path d=\"M{x1} {y1}C{} {y1} {} {y2} {x2} {y2}\"/>",
                    x1 + GAP_X / 2,
                    x2.saturating_sub(GAP_X / 2)
                );
            }
        }
    }
    for entry in columns.iter().flatten() {
        if let Some((x, y)) = places.get(entry.key.as_str()) {
            let _ = write!(
                out,
                "<g class=\"{}\"><rect x=\"{x}\" y=\"{y}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" rx=\"5\"/><text x=\"{}\" y=\"{}\">{}</text></g>",
                entry.action,
                x + 8,
                y + 19,
                html(&short(&entry.key))
            );
        }
    }
    out.push_str("</svg>");
    Some(out)
}

fn short(key: &str) -> String {
    let key = crate::render::escape::terminal(key);
    match key.char_indices().nth(CHARS) {
        None => key,
        Some(_) => format!("{}…", key.chars().take(CHARS - 1).collect::<String>()),
    }
}
