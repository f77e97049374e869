//! Two texts line by line, with the words that differ.

use std::time::{Duration, Instant};

use similar::{ChangeTag, TextDiff};

use super::{DiffLine, LineKind};

/// A text is compared line by line from this many characters on, or when it has several lines.
const MIN_CHARS: usize = 80;
/// Longer texts are not compared: a hostile plan would hold up the reader.
const MAX_BYTES: usize = 256 * 1024;
/// Lines around a change that stay to be seen.
const CONTEXT: usize = 3;
/// Most lines of one comparison.
const MAX_LINES: usize = 400;
/// An unchanged piece of a line is cut to this many characters at each end.
const KEEP: usize = 60;
/// How long one comparison may take before it settles for a coarser one.
const TIMEOUT: Duration = Duration::from_millis(250);

/// How much text one report compares, in bytes.
pub(super) struct Budget(usize);

impl Default for Budget {
    fn default() -> Self {
        Self(4 * 1024 * 1024)
    }
}

/// The lines of both texts; `None` where the two are short, too long, or the budget is used up.
pub(super) fn lines(before: &str, after: &str, budget: &mut Budget) -> Option<Vec<DiffLine>> {
    let size = before.len() + after.len();
    let long = |t: &str| t.contains('\n') || t.chars().nth(MIN_CHARS).is_some();
    if !(long(before) || long(after)) || size > MAX_BYTES || size > budget.0 {
        return None;
    }
    budget.0 -= size;
    let deadline = Instant::now() + TIMEOUT;
    let diff = TextDiff::configure()
        .deadline(deadline)
        .diff_lines(before, after);
    let mut out = Vec::new();
    let mut end = 0;
    for group in diff.grouped_ops(CONTEXT) {
        let start = group.first().map_or(end, |op| op.old_range().start);
        gap(&mut out, start.saturating_sub(end));
        for op in &group {
            for change in diff.iter_inline_changes_deadline(op, Some(deadline)) {
                if out.len() >= MAX_LINES {
                    out.push(left_out("more lines differ".to_owned()));
                    return Some(out);
                }
                let kind = match change.tag() {
                    ChangeTag::Equal => LineKind::Same,
                    ChangeTag::Delete => LineKind::Removed,
                    ChangeTag::Insert => LineKind::Added,
                };
                let parts = change
                    .values()
                    .iter()
                    .map(|(changed, text)| {
                        (
                            *changed,
                            shorten(text.trim_end_matches(['\r', '\n']), *changed),
                        )
                    })
                    .filter(|(_, text)| !text.is_empty())
                    .collect();
                out.push(DiffLine { kind, parts });
            }
            end = op.old_range().end;
        }
    }
    gap(&mut out, before.lines().count().saturating_sub(end));
    Some(out)
}

fn gap(out: &mut Vec<DiffLine>, lines: usize) {
    match lines {
        0 => {}
        1 => out.push(left_out("1 line is the same".to_owned())),
        n => out.push(left_out(format!("{n} lines are the same"))),
    }
}

fn left_out(text: String) -> DiffLine {
    DiffLine {
        kind: LineKind::LeftOut,
        parts: vec![(false, text)],
    }
}

/// Cuts a long piece in its middle; one that differs keeps more.
fn shorten(text: &str, changed: bool) -> String {
    let keep = if changed { KEEP * 4 } else { KEEP };
    let Some((head, _)) = text.char_indices().nth(keep) else {
        return text.to_owned();
    };
    let Some((tail, _)) = text.char_indices().rev().nth(keep.saturating_sub(1)) else {
        return text.to_owned();
    };
    match (text.get(..head), text.get(tail..)) {
        (Some(a), Some(b)) if tail > head => format!("{a}…{b}"),
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(before: &str, after: &str) -> String {
        lines(before, after, &mut Budget::default())
            .unwrap()
            .iter()
            .map(|l| {
                let mark = match l.kind {
                    LineKind::Same => ' ',
                    LineKind::Removed => '-',
                    LineKind::Added => '+',
                    LineKind::LeftOut => '@',
                };
                let parts: String = l
                    .parts
                    .iter()
                    .map(|(c, t)| if *c { format!("[{t}]") } else { t.clone() })
                    .collect();
                format!("{mark}{parts}\n")
            })
            .collect()
    }

    #[test]
    fn lines_and_words() {
        insta::assert_snapshot!(shown(
            "SELECT a\nFROM prod.orders.bronze\nWHERE x\n1\n2\n3\n4\n5\n",
            "SELECT a\nFROM prod.orders.silver\nWHERE x\n1\n2\n3\n4\n5\n"
        ), @r#"
 SELECT a
-FROM [prod.orders.bronze]
+FROM [prod.orders.silver]
 WHERE x
 1
 2
@3 lines are the same
"#);
        assert_eq!(
            lines("a", "b", &mut Budget::default()),
            None,
            "short texts stand side by side"
        );
        assert_eq!(
            lines(&"x\n".repeat(200_000), "y", &mut Budget::default()),
            None,
            "too long"
        );
    }

    proptest::proptest! {
        #[test]
        fn never_panics(a in "[ab\n\r é]{0,120}", b in "[ab\n\r é]{0,120}") {
            lines(&a, &b, &mut Budget::default());
            shorten(&a.repeat(8), true);
        }
    }
}
