//! Words for messages: quoting what a file says, lists of alternatives.

/// Longest piece of a file that a message repeats, in characters.
const MAX_QUOTED: usize = 80;

/// `text` in backticks, everything invisible escaped, and shortened, so that a file cannot write to the terminal.
pub(crate) fn quoted(text: &str) -> String {
    let cut: String = text.chars().take(MAX_QUOTED).collect();
    let more = if cut.len() < text.len() { "…" } else { "" };
    format!("`{}{more}`", crate::text::visible(&cut))
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
    use super::{alternatives, quoted};

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
