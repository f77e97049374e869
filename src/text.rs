//! Text from outside made safe to show, and the nearest known name.

use std::fmt::Write as _;

/// Longest piece of foreign text that a message quotes, in characters.
pub const MAX_QUOTED: usize = 120;

/// Whether a character can change how the text around it is shown: controls, line and paragraph separators,
/// bidirectional marks, zero-width and other format characters, tags, variation selectors and private use.
#[must_use]
pub fn is_invisible(c: char) -> bool {
    c.is_control()
        || matches!(c as u32,
            0x00AD | 0x034F | 0x061C | 0x115F | 0x1160 | 0x17B4 | 0x17B5 | 0x180B..=0x180F | 0x200B..=0x200F
            | 0x2028..=0x202E | 0x2060..=0x206F | 0x3164 | 0xFE00..=0xFE0F | 0xFEFF | 0xFFA0 | 0xFFF0..=0xFFFB
            | 0x1BCA0..=0x1BCA3 | 0x1D173..=0x1D17A | 0xE000..=0xF8FF | 0xE0000..=0xE0FFF | 0xF0000..=0x10_FFFF)
}

/// The text with everything invisible written as `\u{...}` (`\n`, `\r`, `\t` in short): one line, nothing hidden.
#[must_use]
pub fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if is_invisible(c) => drop(write!(out, "\\u{{{:x}}}", c as u32)),
            c => out.push(c),
        }
    }
    out
}

/// The text in double quotes, made visible, `"` and `\` escaped, cut after [`MAX_QUOTED`] characters.
#[must_use]
pub fn quoted(text: &str) -> String {
    let cut: String = text.chars().take(MAX_QUOTED).collect();
    let more = if cut.len() < text.len() { "…" } else { "" };
    format!(
        "\"{}{more}\"",
        visible(&cut.replace('\\', "\\\\").replace('"', "\\\""))
    )
}

/// Most characters of a value that are written out in one line.
const MAX_VALUE: usize = 400;

/// The text, cut after 400 characters with the number of those left out.
#[must_use]
pub fn cut(text: &str) -> String {
    match text.char_indices().nth(MAX_VALUE) {
        None => text.to_owned(),
        Some((at, _)) => {
            let (shown, left) = text.split_at(at);
            let left = left.chars().count();
            let word = if left == 1 { "character" } else { "characters" };
            format!("{shown}… ({left} {word} more)")
        }
    }
}

/// The known name that looks most like a mistyped one, if one is near enough to be meant. Case, `_` and `-` do not count.
#[must_use]
pub fn nearest<'k>(name: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    // A long word is not a typo, and the distance costs length times length.
    if name.chars().count() > MAX_QUOTED {
        return None;
    }
    let plain = |text: &str| text.to_lowercase().replace('_', "-");
    let name = plain(name);
    known
        .into_iter()
        .map(|k| (strsim::damerau_levenshtein(&name, &plain(k)), k))
        .filter(|(edits, k)| *edits <= (k.chars().count() / 3).clamp(1, 4))
        .min_by_key(|(edits, _)| *edits)
        .map(|(_, k)| k)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_hides() {
        assert_eq!(
            visible("a\u{202e}b\r\n\u{1b}[31m\u{200b}"),
            "a\\u{202e}b\\r\\n\\u{1b}[31m\\u{200b}"
        );
        assert_eq!(quoted("say \"hi\"\\"), r#""say \"hi\"\\""#);
        assert_eq!(quoted(&"x".repeat(500)).chars().count(), MAX_QUOTED + 3);
    }

    #[test]
    fn near_names_only() {
        let known = ["destroy", "recreate", "rename"];
        assert_eq!(nearest("destory", known), Some("destroy"));
        assert_eq!(nearest("wombat", known), None);
    }
}
