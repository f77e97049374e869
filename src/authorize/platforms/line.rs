//! The lines of a remark that are meant for the gate.
//!
//! A line that approves has to be exactly that, in the author's own words. A line that rejects is taken however it is written: nobody who
//! meant to stop a deploy should find that a capital letter let it through.

use pulldown_cmark::{Event, Options, Parser, Tag};

use crate::authorize::Facts;
use crate::policy::Match;

/// The fewest digits that are taken for the beginning of a digest.
const SHORTEST: usize = 7;
/// Stands for what is no plain text, so that a line with it is no approving line.
const OTHER: char = '\u{0}';

/// `bundlegate approve PLAN BOUND`.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Approving {
    pub(super) plan: String,
    pub(super) bound: Option<String>,
}

/// The approving lines of a Markdown text: lines of their own, outside quotes, code blocks, HTML and links.
pub(super) fn approving(body: &str) -> Vec<Approving> {
    let mut found = Vec::new();
    let mut line = String::new();
    let mut foreign = 0_usize;
    let is_foreign = |tag: &Tag<'_>| {
        matches!(
            tag,
            Tag::BlockQuote(_) | Tag::CodeBlock(_) | Tag::HtmlBlock | Tag::FootnoteDefinition(_)
        )
    };
    let mut open: Vec<bool> = Vec::new();
    for event in Parser::new_ext(body, Options::empty()) {
        match event {
            Event::Start(tag) => {
                let is = is_foreign(&tag);
                open.push(is);
                foreign += usize::from(is);
                match tag {
                    Tag::Emphasis | Tag::Strong => {}
                    Tag::Link { .. } | Tag::Image { .. } => line.push(OTHER),
                    _ => end(&mut line, &mut found),
                }
            }
            Event::End(tag) => {
                foreign -= usize::from(open.pop().unwrap_or(false));
                if !matches!(
                    tag,
                    pulldown_cmark::TagEnd::Emphasis
                        | pulldown_cmark::TagEnd::Strong
                        | pulldown_cmark::TagEnd::Link
                        | pulldown_cmark::TagEnd::Image
                ) {
                    end(&mut line, &mut found);
                }
            }
            Event::SoftBreak | Event::HardBreak | Event::Rule => end(&mut line, &mut found),
            Event::Text(text) | Event::Code(text) if foreign == 0 => line.push_str(&text),
            Event::Text(_) | Event::Code(_) => {}
            _ => line.push(OTHER),
        }
    }
    end(&mut line, &mut found);
    found
}

fn end(line: &mut String, found: &mut Vec<Approving>) {
    let words: Vec<&str> = line.split_whitespace().collect();
    let (plan, bound) = match words.as_slice() {
        [gate, word, plan] if is_approve(gate, word) => (*plan, None),
        [gate, word, plan, bound] if is_approve(gate, word) => (*plan, Some(*bound)),
        _ => {
            line.clear();
            return;
        }
    };
    found.push(Approving {
        plan: plan.to_owned(),
        bound: bound.map(str::to_owned),
    });
    line.clear();
}

fn is_approve(gate: &str, word: &str) -> bool {
    gate.eq_ignore_ascii_case("bundlegate") && word.eq_ignore_ascii_case("approve")
}

/// Whether the text holds the words of an approving line for this plan anywhere, as in a quote.
pub(super) fn mentions_approval(body: &str, facts: &Facts, matching: Match) -> bool {
    words_after(body, &["approve"])
        .any(|line| line.words.iter().any(|word| begins(word, facts, matching)))
}

/// What a text rejects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rejects {
    /// This plan.
    This,
    /// Something, and nobody can tell what.
    Unclear,
}

/// Whether a text rejects this plan. Quotes of others do not.
pub(super) fn rejecting(body: &str, facts: &Facts, matching: Match) -> Option<Rejects> {
    let mut unclear = None;
    for line in words_after(body, &["reject", "rejects", "rejected"]) {
        let mut digests = line.words.iter().filter(|word| is_digits(word)).peekable();
        if digests.peek().is_none() {
            // In the middle of a sentence the words are talk about the gate.
            unclear = unclear.or(line.is_at_start.then_some(Rejects::Unclear));
        }
        if digests.any(|word| begins(word, facts, matching)) {
            return Some(Rejects::This);
        }
    }
    unclear
}

/// The words of a line after `bundlegate` and one of the wanted words.
struct After<'a> {
    words: Vec<&'a str>,
    is_at_start: bool,
}

fn words_after<'a>(body: &'a str, wanted: &'a [&str]) -> impl Iterator<Item = After<'a>> {
    body.split(['\n', '\r', '\u{2028}', '\u{2029}'])
        .filter(|line| !line.trim_start().starts_with('>'))
        .filter_map(move |line| {
            let words: Vec<&str> = line
                .split(|c: char| !c.is_alphanumeric())
                .filter(|word| !word.is_empty())
                .collect();
            let at = words.windows(2).position(|pair| match pair {
                [gate, word] => {
                    gate.eq_ignore_ascii_case("bundlegate")
                        && wanted.iter().any(|w| word.eq_ignore_ascii_case(w))
                }
                _ => false,
            })?;
            Some(After {
                words: words.get(at + 2..).unwrap_or_default().to_vec(),
                // A list's number may stand before it.
                is_at_start: at <= 1,
            })
        })
}

fn is_digits(word: &str) -> bool {
    word.len() >= SHORTEST && word.chars().all(|c| c.is_ascii_hexdigit())
}

/// Whether a word is this plan's digest or its beginning.
fn begins(word: &str, facts: &Facts, matching: Match) -> bool {
    let word = word.to_ascii_lowercase();
    let intent = facts.intent.to_string();
    let intent = intent.rsplit(':').next().unwrap_or_default();
    is_digits(&word)
        && (facts.plan.as_str().starts_with(&word)
            || (matching == Match::Intent && intent.starts_with(&word)))
}

/// How a word names a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Names {
    /// It is this plan's whole digest.
    This,
    /// It is only the beginning of it.
    InShort,
    /// It is something else.
    Another,
}

/// What an approving line names.
pub(super) fn names(text: &str, facts: &Facts, matching: Match) -> Names {
    let text = text.strip_prefix("sha256:").unwrap_or(text);
    let is = |digest: &str| digest.eq_ignore_ascii_case(text);
    if is(facts.plan.as_str()) || (matching == Match::Intent && is(&facts.intent.to_string())) {
        Names::This
    } else if begins(text.trim_start_matches("bgi1:"), facts, matching) {
        Names::InShort
    } else {
        Names::Another
    }
}

/// The whole digests that a free text names.
pub(super) fn digests(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_ascii_alphanumeric() || c == ':'))
        .filter(|word| {
            let digits = word.rsplit(':').next().unwrap_or_default();
            digits.len() == 64 && digits.chars().all(|c| c.is_ascii_hexdigit())
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::authorize::testing::facts;

    fn plans(body: &str) -> Vec<String> {
        approving(body).into_iter().map(|line| line.plan).collect()
    }

    #[test]
    fn a_line_of_its_own_approves() {
        for body in [
            "bundlegate approve X Y",
            "Looked at it.\nbundlegate approve X Y\nThanks",
            "- bundlegate approve X Y",
            "**Bundlegate approve X Y**",
            "`bundlegate approve X Y`",
            "bundlegate approve X Y\n---",
            "```x```\nbundlegate approve X Y",
            "> a quote\n\nbundlegate approve X Y",
        ] {
            assert_eq!(plans(body), ["X"], "{body}");
        }
        assert_eq!(
            approving("bundlegate approve X"),
            [Approving {
                plan: "X".to_owned(),
                bound: None
            }]
        );
    }

    #[test]
    fn examples_quotes_and_conditions_do_not() {
        for body in [
            "",
            "do not bundlegate approve X Y",
            "bundlegate approve X Y after Friday",
            "bundlegate approve",
            "> bundlegate approve X Y",
            "> a quote\nbundlegate approve X Y",
            "```\nbundlegate approve X Y\n```",
            "````\n```\nbundlegate approve X Y\n````",
            "```\n```not-the-end\nbundlegate approve X Y",
            "~~~\nbundlegate approve X Y",
            "    bundlegate approve X Y",
            "<!--\nbundlegate approve X Y\n-->",
            "<pre>\nbundlegate approve X Y\n</pre>",
            "<s>bundlegate approve X Y</s>",
            "~~bundlegate approve X Y~~",
            "[bundlegate approve X Y](https://x.example)",
            "[^1]: bundlegate approve X Y",
        ] {
            assert_eq!(plans(body), [""; 0], "{body}");
        }
    }

    #[test]
    fn a_rejection_is_seen_however_it_is_written() {
        let facts = facts();
        let said = |body: &str| rejecting(body, &facts, Match::Plan);
        let (whole, short) = (facts.plan.to_string(), facts.plan.short().to_owned());
        for body in [
            format!("bundlegate reject {whole}"),
            format!("Bundlegate Reject {whole}"),
            format!("bundlegate reject `{short}`"),
            format!("bundlegate reject {short}."),
            format!("bundlegate reject: {short}"),
            format!("- bundlegate reject {short}"),
            format!("**bundlegate reject {short}**"),
            format!("bundlegate\u{a0}reject\u{a0}{short}"),
            format!("```bundlegate reject {short}```"),
            format!("```\nbundlegate reject {short}\n```"),
            format!("no: bundlegate reject sha256:{}", whole.to_uppercase()),
            format!("fine\rbundlegate reject {short}"),
        ] {
            assert_eq!(said(&body), Some(Rejects::This), "{body}");
        }
        for body in ["bundlegate reject", "1. bundlegate reject this, please"] {
            assert_eq!(said(body), Some(Rejects::Unclear), "{body}");
        }
        for body in [
            format!("> bundlegate reject {whole}"),
            format!("bundlegate reject {}", "b".repeat(64)),
            "to stop it there is also `bundlegate reject`".to_owned(),
            "rejected".to_owned(),
        ] {
            assert_eq!(said(&body), None, "{body}");
        }
        let intent = facts.intent.to_string();
        let by_intent = |body: &str| rejecting(body, &facts, Match::Intent);
        for digits in [intent.as_str(), &intent[..15]] {
            let body = format!("bundlegate reject {digits}");
            assert_eq!(by_intent(&body), Some(Rejects::This), "{body}");
        }
    }

    proptest::proptest! {
        #[test]
        fn nothing_panics(body in "(?s).{0,200}") {
            let facts = facts();
            let _ = (approving(&body), rejecting(&body, &facts, Match::Intent));
        }
    }
}
