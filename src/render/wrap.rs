//! Text in lines of a width.

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// Fewer columns than this beside an indent hold nothing: the text then starts in the next line.
const MIN_ROOM: usize = 8;

/// Appends `text` to `out`, in lines of at most `width` columns; the first starts with `first`, the others with `rest`.
/// Breaks at spaces, and inside a word only where it alone is wider than a line.
pub(super) fn wrap(out: &mut String, text: &str, width: usize, first: &str, rest: &str) {
    let room_in_rest = width.saturating_sub(rest.width()).max(MIN_ROOM);
    let mut room = width.saturating_sub(first.width());
    let mut used = 0;
    let mut fresh = true;
    if room < MIN_ROOM && !text.is_empty() {
        out.push_str(first.trim_end());
        out.push('\n');
        out.push_str(rest);
        room = room_in_rest;
    } else {
        out.push_str(first);
    }
    for word in text.split(' ') {
        let wide = word.width();
        if !fresh && used + 1 + wide > room {
            out.push('\n');
            out.push_str(rest);
            (used, fresh, room) = (0, true, room_in_rest);
        }
        if !fresh {
            out.push(' ');
            used += 1;
        }
        fresh = false;
        if wide <= room {
            out.push_str(word);
            used += wide;
            continue;
        }
        for c in word.chars() {
            let wide = c.width().unwrap_or(0);
            if used + wide > room {
                out.push('\n');
                out.push_str(rest);
                (used, room) = (0, room_in_rest);
            }
            out.push(c);
            used += wide;
        }
    }
    out.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrapped(text: &str, width: usize) -> String {
        let mut out = String::new();
        wrap(&mut out, text, width, "do: ", "    ");
        out
    }

    #[test]
    fn breaks_at_spaces_and_inside_long_words() {
        assert_eq!(wrapped("one two three", 12), "do: one two\n    three\n");
        assert_eq!(wrapped("abcdefghijkl", 12), "do: abcdefgh\n    ijkl\n");
        assert_eq!(wrapped("日本日本日本", 12), "do: 日本日本\n    日本\n");
        assert_eq!(wrapped("", 12), "do: \n");
    }

    proptest::proptest! {
        #[test]
        fn loses_nothing_and_keeps_the_width(text in "[a-z日 ]{0,80}", width in 12_usize..60) {
            let out = wrapped(&text, width);
            let squeezed = |t: &str| t.chars().filter(|c| !c.is_whitespace()).collect::<String>();
            proptest::prop_assert_eq!(squeezed(out.trim_start_matches("do: ")), squeezed(&text));
            proptest::prop_assert!(out.lines().all(|l| l.trim_end().width() <= width));
        }
    }
}
