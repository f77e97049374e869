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

/// A text in which every `::` at the start of a line, white space aside, has both colons replaced.
fn without_colon_commands<'t>(text: Cow<'t, str>, colons: &str) -> Cow<'t, str> {
    if !text.lines().any(|line| line.trim_start().starts_with("::")) {
        return text;
    }
    let mut out = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let (indent, rest) = line.split_at(line.len() - line.trim_start().len());
        match rest.strip_prefix("::") {
            Some(rest) => {
                out.push_str(indent);
                out.push_str(colons);
                out.push_str(rest);
            }
            None => out.push_str(line),
        }
    }
    Cow::Owned(out)
}

/// A whole document for a log, such that no line of it is a command: `##[`, `##vso[`, and `::` at the start of a line.
#[must_use]
pub fn log(document: &str) -> String {
    without_colon_commands(without_hash_commands(document, "\\u{23}"), ":\\u{3a}").into_owned()
}

/// A whole JSON document with everything invisible inside its strings escaped, and without commands. The values stay the same.
#[must_use]
pub fn json(document: String) -> String {
    // A line break or tab outside a string is layout; inside one the writer has already escaped it.
    let hidden = |c: char| is_invisible(c) && !matches!(c, '\n' | '\r' | '\t');
    let document = match without_hash_commands(&document, "\\u0023") {
        Cow::Borrowed(_) => document,
        Cow::Owned(changed) => changed,
    };
    if !document.chars().any(hidden) {
        return document;
    }
    let mut out = String::with_capacity(document.len());
    for c in document.chars() {
        if hidden(c) {
            for unit in c.encode_utf16(&mut [0; 2]) {
                let _ = write!(out, "\\u{unit:04x}");
            }
        } else {
            out.push(c);
        }
    }
    out
}

/// A whole HTML or XML document without commands of a log; the text stays the same.
#[must_use]
pub fn markup(document: &str) -> String {
    without_colon_commands(without_hash_commands(document, "&#35;"), "&#58;:").into_owned()
}

/// A text inside HTML, in an element or in a quoted attribute.
#[must_use]
pub fn html(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in terminal(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

/// A text for an XML 1.0 writer that escapes markup itself: what XML cannot hold is made visible.
#[must_use]
pub fn xml(text: &str) -> String {
    let text = terminal(text);
    if text.contains(['\u{fffe}', '\u{ffff}']) {
        text.replace('\u{fffe}', "\\u{fffe}")
            .replace('\u{ffff}', "\\u{ffff}")
    } else {
        text
    }
}

/// Most characters of a text in a message for a viewer that reads links in it (`[text](target)`): none of them is one.
#[must_use]
pub fn sarif(text: &str) -> String {
    terminal(text).replace("](", "]\\u{28}")
}

/// The data of a GitHub workflow command. Source: actions/toolkit, `command.ts`, `escapeData`.
#[must_use]
pub fn github_data(text: &str) -> String {
    without_hash_commands(&terminal(text), "\\u{23}").replace('%', "%25")
}

/// A property of a GitHub workflow command. Source: actions/toolkit, `command.ts`, `escapeProperty`.
#[must_use]
pub fn github_property(text: &str) -> String {
    github_data(text).replace(':', "%3A").replace(',', "%2C")
}

/// The data of an Azure DevOps logging command. Source: azure-pipelines-agent, `Command.cs`: `%AZP25` stands for a percent sign.
#[must_use]
pub fn azure_data(text: &str) -> String {
    without_hash_commands(&terminal(text), "\\u{23}").replace('%', "%AZP25")
}

/// A property of an Azure DevOps logging command: `;` ends it, `]` ends all of them.
#[must_use]
pub fn azure_property(text: &str) -> String {
    azure_data(text).replace(';', "%3B").replace(']', "%5D")
}

/// A text inside a paragraph, list item or table cell of Markdown, on one line. Words that could mean anything to a Markdown
/// reader or to GitHub (mentions, links, issue and commit numbers, HTML, emphasis, formulas) stand in code, where nothing
/// means anything; so does what the text itself puts between backticks.
#[must_use]
pub fn markdown(text: &str) -> String {
    let text = terminal(text);
    let mut out = String::with_capacity(text.len() + 16);
    let pieces: Vec<&str> = text.split('`').collect();
    // An odd number of backticks: the last one opens nothing.
    let paired = pieces.len() | 1;
    let open = pieces.len().is_multiple_of(2);
    for (i, piece) in pieces.iter().enumerate() {
        let last = open && i + 1 == pieces.len();
        if i % 2 == 1 && i < paired && !last {
            code(&mut out, piece);
        } else {
            if last {
                code(&mut out, "`");
            }
            words(&mut out, piece);
        }
    }
    out
}

fn words(out: &mut String, text: &str) {
    for (i, word) in text.split(' ').enumerate() {
        if i > 0 {
            out.push(' ');
        }
        if is_plain(word) {
            out.push_str(word);
        } else {
            let (before, core, after) = core(word);
            out.push_str(before);
            code(out, core);
            out.push_str(after);
        }
    }
}

/// A word without the punctuation around it.
fn core(word: &str) -> (&str, &str, &str) {
    let inner = word.trim_start_matches('(');
    let (before, _) = word.split_at(word.len() - inner.len());
    let core = inner.trim_end_matches(|c| {
        matches!(c, '.' | ',' | ';' | ':' | '!' | '?') || (c == ')' && !before.is_empty())
    });
    let (_, after) = inner.split_at(core.len());
    (before, core, after)
}

/// Whether a word means nothing to any Markdown reader.
fn is_plain(word: &str) -> bool {
    let (_, core, _) = core(word);
    let letters = |c: char| {
        c.is_alphanumeric()
            || matches!(
                c,
                '-' | '/' | '.' | ',' | '\'' | '"' | '(' | ')' | ';' | '?' | '=' | '+' | '%' | '…'
            )
    };
    let commit = core.len() >= 7 && core.bytes().all(|b| b.is_ascii_hexdigit());
    let issue = core.get(..3).is_some_and(|p| p.eq_ignore_ascii_case("gh-"));
    let www = core.to_ascii_lowercase().contains("www.");
    core.chars().all(letters) && !commit && !issue && !www
}

/// Code inside a line. A backtick or a bar inside it is written out: a code span of many backticks is not one for every reader,
/// and a bar ends a table's cell.
fn code(out: &mut String, text: &str) {
    if text.is_empty() {
        return;
    }
    let text = text.replace('`', "\\u{60}").replace('|', "\\u{7c}");
    out.push('`');
    out.push_str(&text);
    out.push('`');
}

/// A text as code inside a line of Markdown, whatever it holds.
#[must_use]
pub fn markdown_code(text: &str) -> String {
    let mut out = String::new();
    let text = terminal(text);
    // Spaces alone make no code, and a space at each end is taken off.
    if text.trim().is_empty() {
        out.push_str("(empty)");
    } else {
        code(&mut out, text.trim());
    }
    out
}

/// Longest fence that every Markdown reader takes for one.
const MAX_FENCE: usize = 100;

/// Lines in a fenced block of this language. Each line is made visible; the fence is longer than any run of backticks inside.
#[must_use]
pub fn markdown_block(language: &str, lines: &[String]) -> String {
    let longest = lines.iter().map(|l| longest_run(l, '`')).max().unwrap_or(0);
    let plain = longest < MAX_FENCE;
    let fence = "`".repeat(if plain { longest.max(2) + 1 } else { 3 });
    let mut out = format!("{fence}{language}\n");
    for line in lines {
        let line = terminal(line);
        out.push_str(&if plain {
            line
        } else {
            line.replace('`', "\\u{60}")
        });
        out.push('\n');
    }
    out.push_str(&fence);
    out.push('\n');
    out
}

fn longest_run(text: &str, wanted: char) -> usize {
    let mut longest = 0;
    let mut run = 0;
    for c in text.chars() {
        run = if c == wanted { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    longest
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
            let escaped = json(document);
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

    #[test]
    fn markdown_puts_in_code_what_could_mean_something() {
        for (text, expected) in [
            (
                "It is deleted (jobs.report), with all data.",
                "It is deleted (jobs.report), with all data.",
            ),
            (
                "runs as \"a@example.com\" today.",
                "runs as `\"a@example.com\"` today.",
            ),
            (
                "@everyone see #12, GH-3 or 0a1b2c3d",
                "`@everyone` see `#12`, `GH-3` or `0a1b2c3d`",
            ),
            (
                "<b>**x**</b> [a](javascript:b) https://x.y",
                "`<b>**x**</b>` `[a](javascript:b)` `https://x.y`",
            ),
            ("a | b `c|d` e`", "a `\\u{7c}` b `c\\u{7c}d` e`\\u{60}`"),
            (
                "Run `databricks bundle plan` again",
                "Run `databricks bundle plan` again",
            ),
            ("x\n# y", "x\\n# y"),
        ] {
            let expected = if text.starts_with('x') {
                "`x\\n#` y"
            } else {
                expected
            };
            assert_eq!(markdown(text), expected);
        }
    }

    #[test]
    fn a_fence_is_longer_than_what_it_holds() {
        assert_eq!(
            markdown_block("diff", &["+a````b".to_owned()]),
            "`````diff\n+a````b\n`````\n"
        );
        let block = markdown_block("", &["`".repeat(300)]);
        assert_eq!(block.matches('`').count(), 6);
    }

    /// Anything that can do harm somewhere, often.
    fn hostile() -> impl proptest::strategy::Strategy<Value = String> {
        proptest::string::string_regex("(\\PC|[-:#%,;\\]\\[`|@<>&\"'(){}*_~$!\\\\ \n\r\t\0\u{1b}\u{85}\u{2028}\u{202e}\u{200b}\u{fffe}]|vso|AZP25|www\\.|GH-1|&#64;|\\]\\(|<!--){0,24}").unwrap()
    }

    proptest::proptest! {
        #[test]
        fn github_has_no_line_end_and_no_separator(text in hostile()) {
            let data = github_data(&text);
            proptest::prop_assert!(!data.chars().any(is_invisible));
            let bare = data.replace("%25", "%").replace("#\\u{23}", "##");
            proptest::prop_assert_eq!(bare, terminal(&text).replace("#\\u{23}", "##"));
            let property = github_property(&text);
            proptest::prop_assert!(!property.contains([':', ',']));
        }

        #[test]
        fn azure_has_no_line_end_and_no_separator(text in hostile()) {
            let data = azure_data(&text);
            proptest::prop_assert!(!data.chars().any(is_invisible));
            proptest::prop_assert!(!data.to_lowercase().contains("##vso[") && !data.contains("##["));
            proptest::prop_assert!(!data.replace("%AZP25", "").contains('%'));
            proptest::prop_assert!(!azure_property(&text).contains([';', ']']));
        }

        #[test]
        fn html_has_no_markup(text in hostile()) {
            let out = html(&text);
            proptest::prop_assert!(!out.contains(['<', '>', '"', '\'']) && !out.chars().any(is_invisible));
            let back = out.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&#39;", "'").replace("&amp;", "&");
            proptest::prop_assert_eq!(back, terminal(&text));
        }

        #[test]
        fn xml_holds_only_what_xml_holds(text in hostile()) {
            let holds = |c| matches!(c, ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..);
            proptest::prop_assert!(xml(&text).chars().all(holds), "{text:?}");
        }

        #[test]
        fn sarif_has_no_link(text in hostile()) {
            proptest::prop_assert!(!sarif(&text).contains("]("));
        }

        #[test]
        fn markdown_is_one_paragraph_of_text_and_code(text in hostile()) {
            use pulldown_cmark::{Event, Options, Parser, Tag};
            for source in [format!("x {}\n", markdown(&text)), format!("x {}\n", markdown_code(&text)), format!("|a|b|\n|-|-|\n|x {}|y|\n", markdown(&text))] {
                let table = source.starts_with('|');
                let mut cells = 0;
                for event in Parser::new_ext(&source, Options::all()) {
                    match event {
                        Event::Text(t) => proptest::prop_assert!(!t.contains('@') && !t.contains("://"), "{source}"),
                        Event::Code(_) | Event::End(_) => {}
                        Event::Start(Tag::Paragraph) => proptest::prop_assert!(!table, "{source}"),
                        Event::Start(Tag::Table(_) | Tag::TableHead | Tag::TableRow) => proptest::prop_assert!(table, "{source}"),
                        Event::Start(Tag::TableCell) => cells += 1,
                        other => proptest::prop_assert!(false, "{other:?} in {source}"),
                    }
                }
                proptest::prop_assert_eq!(cells, if table { 4 } else { 0 }, "{}", source);
            }
        }

        #[test]
        fn markdown_blocks_stay_closed(lines in proptest::collection::vec(hostile(), 0..4)) {
            use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
            let source = format!("{}\nend\n", markdown_block("diff", &lines));
            let shape: Vec<_> = Parser::new_ext(&source, Options::all()).filter(|e| !matches!(e, Event::Text(_))).collect();
            proptest::prop_assert!(matches!(shape.as_slice(), [Event::Start(Tag::CodeBlock(_)), Event::End(TagEnd::CodeBlock), Event::Start(Tag::Paragraph), Event::End(TagEnd::Paragraph)]), "{source}");
        }
    }
}
