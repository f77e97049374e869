//! Words for messages: quoting what a file says, the nearest valid name, lists of alternatives.

/// Longest piece of a file that a message repeats, in characters.
const MAX_QUOTED: usize = 80;

/// `text` in backticks, control characters escaped and shortened, so that a file cannot write to the terminal.
pub(crate) fn quoted(text: &str) -> String {
    let mut out = String::from("`");
    for (index, c) in text.chars().enumerate() {
        if index == MAX_QUOTED {
            out.push('…');
            break;
        }
        if c.is_control() || is_invisible(c) {
            out.extend(c.escape_unicode());
        } else {
            out.push(c);
        }
    }
    out.push('`');
    out
}

/// Characters that reorder or hide what stands beside them.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

/// The candidate that looks most like `word`, if one is near enough to be meant.
pub(crate) fn nearest<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    // A long word is not a typo, and the distance costs length times length.
    if word.chars().count() > MAX_QUOTED {
        return None;
    }
    let word = word.to_lowercase().replace('_', "-");
    candidates
        .into_iter()
        .map(|candidate| {
            (
                strsim::damerau_levenshtein(&word, &candidate.to_lowercase().replace('_', "-")),
                candidate,
            )
        })
        .filter(|(distance, candidate)| *distance <= (candidate.chars().count() / 3).clamp(1, 4))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// "; did you mean `x`?", or nothing.
pub(crate) fn did_you_mean(nearest: Option<&str>) -> String {
    nearest
        .map(|name| format!("; did you mean `{name}`?"))
        .unwrap_or_default()
}

/// "`a`, `b` or `c`".
pub(crate) fn alternatives(words: &[&str]) -> String {
    let mut out = String::new();
    for (index, word) in words.iter().enumerate() {
        if index > 0 {
            out.push_str(if index + 1 == words.len() {
                " or "
            } else {
                ", "
            });
        }
        out.push('`');
        out.push_str(word);
        out.push('`');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{alternatives, nearest, quoted};

    #[test]
    fn near_names_are_found_and_far_ones_are_not() {
        let names = ["destroy", "recreate", "rename"];
        assert_eq!(nearest("destory", names), Some("destroy"));
        assert_eq!(nearest("Recreate", names), Some("recreate"));
        assert_eq!(nearest("blast-radius", names), None);
    }

    #[test]
    fn quoting_escapes_what_a_terminal_would_obey() {
        assert_eq!(quoted("a\u{1b}[2J\u{202e}b"), r"`a\u{1b}[2J\u{202e}b`");
        assert_eq!(quoted(&"x".repeat(500)).chars().count(), 83);
    }

    #[test]
    fn alternatives_read_as_a_sentence() {
        assert_eq!(alternatives(&["a", "b", "c"]), "`a`, `b` or `c`");
    }
}
