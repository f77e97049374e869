//! What a plan says is written by whoever can open a pull request. One function an output: nothing foreign reaches an output
//! but through its function, and the whole text or JSON document goes through [`log`] or [`json`] at the end.
//!
//! A log is read by a machine as well. GitHub Actions takes a line that starts with `::` (white space aside) for a command, and
//! `##[` anywhere in a line (source: actions/runner, `ActionCommand.cs`); Azure DevOps takes `##vso[` anywhere in a line and
//! `##[` at its start (source: azure-pipelines-agent, `Command.cs`), both without regard to case.

use std::borrow::Cow;
use std::fmt::Write as _;

use crate::text::is_invisible;

pub use crate::text::visible as terminal;

/// Whether a command of Azure DevOps or of the old GitHub form starts here.
fn starts_hash_command(text: &str) -> bool {
    let Some(rest) = text.strip_prefix("##") else {
        return false;
    };
    rest.starts_with('[')
        || rest
            .get(..4)
            .is_some_and(|w| w.eq_ignore_ascii_case("vso["))
}

/// A text in which every `##[` and `##vso[` has its second `#` replaced.
fn without_hash_commands<'t>(text: &'t str, second: &str) -> Cow<'t, str> {
    let mut out: Option<String> = None;
    let (mut from, mut search) = (0, 0);
    while let Some(at) = text
        .get(search..)
        .and_then(|t| t.find("##"))
        .map(|n| search + n)
    {
        search = at + 1;
        if text.get(at..).is_some_and(starts_hash_command) {
            let out = out.get_or_insert_with(|| String::with_capacity(text.len() + 16));
            out.push_str(text.get(from..=at).unwrap_or_default());
            out.push_str(second);
            from = at + 2;
            search = from;
        }
    }
    match out {
        None => Cow::Borrowed(text),
        Some(mut out) => {
            out.push_str(text.get(from..).unwrap_or_default());
            Cow::Owned(out)
        }
    }
}

/// A whole document for a log, such that no line of it is a command: `##[`, `##vso[`, and `::` at the start of a line.
#[must_use]
pub fn log(document: &str) -> String {
    let document = without_hash_commands(document, "\\u{23}");
    let mut out = String::with_capacity(document.len());
    for line in document.split_inclusive('\n') {
        let start = line.len() - line.trim_start().len();
        match (
            line.get(..start),
            line.get(start..).and_then(|l| l.strip_prefix("::")),
        ) {
            (Some(indent), Some(rest)) => {
                out.push_str(indent);
                out.push_str(":\\u{3a}");
                out.push_str(rest);
            }
            _ => out.push_str(line),
        }
    }
    out
}

/// A whole JSON document with everything invisible inside its strings escaped, and without commands. The values stay the same.
#[must_use]
pub fn json(document: &str) -> String {
    let document = without_hash_commands(document, "\\u0023");
    let mut out = String::with_capacity(document.len());
    for c in document.chars() {
        // A line break or tab outside a string is layout; inside one the writer has already escaped it.
        if is_invisible(c) && !matches!(c, '\n' | '\r' | '\t') {
            for unit in c.encode_utf16(&mut [0; 2]) {
                let _ = write!(out, "\\u{unit:04x}");
            }
        } else {
            out.push(c);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_line_is_a_command() {
        assert_eq!(
            log("a\n  ::error::x\na::b\n"),
            "a\n  :\\u{3a}error::x\na::b\n"
        );
        assert_eq!(
            log("x ##vso[a] ##VSO[b] ##[c] ## d ###[e]"),
            "x #\\u{23}vso[a] #\\u{23}VSO[b] #\\u{23}[c] ## d ##\\u{23}[e]"
        );
    }

    proptest::proptest! {
        #[test]
        fn json_keeps_its_values(text in "(\\PC|[#\\[vVsSoO:\n\r\u{1b}\u{202e}\u{9b}\u{e0041}]){0,40}") {
            let document = serde_json::to_string(&text).unwrap();
            let escaped = json(&document);
            proptest::prop_assert_eq!(serde_json::from_str::<String>(&escaped).unwrap(), text);
            proptest::prop_assert!(!escaped.chars().any(is_invisible));
            proptest::prop_assert!(!escaped.to_lowercase().contains("##[") && !escaped.to_lowercase().contains("##vso["));
        }

        #[test]
        fn logs_hold_no_command(text in "([#\\[vVsSoO: \u{a0}a\n]|\\PC){0,60}") {
            let out = log(&text);
            proptest::prop_assert!(!out.to_lowercase().contains("##[") && !out.to_lowercase().contains("##vso["));
            proptest::prop_assert!(!out.lines().any(|l| l.trim_start().starts_with("::")));
        }
    }
}
