//! The lines of a remark that are meant for the gate.
//!
//! A line that approves has to be exactly that, in the author's own words. A line that rejects is taken however it is written: nobody who
//! meant to stop a deploy should find that a capital letter let it through.

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use crate::approval::statement::SourceTree;
use crate::authorize::Facts;
use crate::policy::Match;

/// The fewest digits that are taken for the beginning of a digest.
const SHORTEST: usize = 7;
/// The fewest digits that look like a digest in a text about anything.
const SHORT: usize = 12;
/// Stands for what is no plain text, so that a line with it is no approving line.
const OTHER: char = '\u{0}';

/// `bundlegate approve PLAN BOUND`.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Approving {
    pub(super) plan: String,
    pub(super) bound: Option<String>,
}

/// The approving lines of a Markdown text: lines of their own, outside quotes, code blocks, tables and links, and not struck out. A text with HTML
/// has none: what of it people see is not known here.
pub(super) fn approving(body: &str) -> Vec<Approving> {
    let mut found = Vec::new();
    let mut line = String::new();
    let mut open: Vec<bool> = Vec::new();
    let body = body.replace('\r', "\n");
    let known = Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_TABLES
        | Options::ENABLE_MATH;
    for event in Parser::new_ext(&body, known) {
        match event {
            Event::Html(_) | Event::InlineHtml(_) => return Vec::new(),
            Event::Start(tag) => {
                // Of what else there is, nobody can say that it is the author's own visible word.
                let own = matches!(
                    tag,
                    Tag::Paragraph
                        | Tag::Heading { .. }
                        | Tag::List(_)
                        | Tag::Item
                        | Tag::Emphasis
                        | Tag::Strong
                );
                open.push(!own);
                match tag {
                    Tag::Emphasis | Tag::Strong => {}
                    Tag::Link { .. } | Tag::Image { .. } | Tag::Strikethrough => line.push(OTHER),
                    _ => end(&mut line, &mut found),
                }
            }
            Event::End(tag) => {
                open.pop();
                match tag {
                    TagEnd::Emphasis | TagEnd::Strong => {}
                    TagEnd::Link | TagEnd::Image | TagEnd::Strikethrough => line.push(OTHER),
                    _ => end(&mut line, &mut found),
                }
            }
            Event::SoftBreak | Event::HardBreak | Event::Rule => end(&mut line, &mut found),
            Event::Text(text) | Event::Code(text) if !open.contains(&true) => line.push_str(&text),
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

/// Whether the text holds the words of an approving line and names this plan, as in a quote.
pub(super) fn mentions_approval(body: &str, facts: &Facts) -> bool {
    let words = words(body, true);
    let says = words.windows(2).any(|pair| match pair {
        [gate, word] => is_approve(&gate.text, &word.text),
        _ => false,
    });
    says && words.iter().any(|word| begins(&word.text, facts))
}

/// What a text rejects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rejects {
    /// This plan.
    This,
    /// Something, and nobody can tell what.
    Unclear,
}

/// Whether a text rejects this plan. Quotes of others do not, and neither does a line that names another plan's whole digest.
pub(super) fn rejecting(body: &str, facts: &Facts, matching: Match) -> Option<Rejects> {
    let words = words(body, false);
    let names_this = words.iter().any(|word| begins(&word.text, facts));
    let mut unclear = None;
    for (at, pair) in words.windows(2).enumerate() {
        let [gate, verb] = pair else { continue };
        if gate.text != "bundlegate" || !verb.text.starts_with("reject") {
            continue;
        }
        if names_this {
            return Some(Rejects::This);
        }
        // Told about the gate ("bundlegate rejected it"), or in the middle of a sentence, it is talk.
        let is_said = verb.text == "reject" && gate.place <= 1;
        if is_said && !is_another(words.get(at + 2..).unwrap_or_default(), matching) {
            unclear = Some(Rejects::Unclear);
        }
    }
    unclear
}

/// Whether the words after a rejection begin with the whole digest of another plan. By intent, another file may be the same plan.
fn is_another(rest: &[Word], matching: Match) -> bool {
    let is_whole = |word: &Word| word.text.len() == 64 && is_hex(&word.text);
    match rest {
        [kind, digest, ..] if kind.text == "bgi1" => is_whole(digest),
        [kind, digest, ..] if kind.text == "sha256" => is_whole(digest) && matching == Match::Plan,
        [digest, ..] => is_whole(digest) && matching == Match::Plan,
        [] => false,
    }
}

/// A word in lower case, and which of its line it is.
struct Word {
    text: String,
    place: usize,
}

/// The words of a text, whatever marks stand around them.
fn words(body: &str, with_quotes: bool) -> Vec<Word> {
    let body = body.replace("&nbsp;", " ");
    body.split(['\n', '\r', '\u{2028}', '\u{2029}'])
        .filter(|line| with_quotes || !line.trim_start().starts_with('>'))
        .flat_map(|line| {
            // What nobody sees does not part a word.
            let seen: String = line
                .chars()
                .filter(|c| {
                    !matches!(
                        c,
                        '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{feff}' | '*' | '`'
                    )
                })
                .collect();
            seen.split(|c: char| !c.is_alphanumeric())
                .filter(|word| !word.is_empty())
                .enumerate()
                .map(|(place, word)| Word {
                    text: word.to_ascii_lowercase(),
                    place,
                })
                .collect::<Vec<_>>()
        })
        .collect()
}

fn is_hex(word: &str) -> bool {
    word.chars().all(|c| c.is_ascii_hexdigit())
}

/// Whether a word is the beginning of this plan's digest, of its intent digest or of the commit that ships.
fn begins(word: &str, facts: &Facts) -> bool {
    let word = word.to_ascii_lowercase();
    let commit = match &facts.source.tree {
        SourceTree::Git { commit, .. } => commit.as_str(),
        SourceTree::Manifest { sha256, .. } => sha256.as_str(),
    };
    word.len() >= SHORTEST
        && is_hex(&word)
        && [
            facts.plan.as_str(),
            digits(&facts.intent.to_string()),
            commit,
        ]
        .iter()
        .any(|whole| whole.starts_with(&word))
}

/// `bgi1:<digits>` without its kind.
fn digits(digest: &str) -> &str {
    digest.rsplit(':').next().unwrap_or_default()
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
    let text = digits(text).to_ascii_lowercase();
    let intent = facts.intent.to_string();
    let wanted = match matching {
        Match::Plan => vec![facts.plan.as_str()],
        Match::Intent => vec![facts.plan.as_str(), digits(&intent)],
    };
    if wanted.contains(&text.as_str()) {
        Names::This
    } else if text.len() >= SHORTEST && wanted.iter().any(|whole| whole.starts_with(&text)) {
        Names::InShort
    } else {
        Names::Another
    }
}

/// The first of the digests in a comment to an approval, if none of them is this plan's, its intent's or the commit's.
pub(super) fn names_another(comment: &str, facts: &Facts) -> Option<String> {
    let named: Vec<String> = words(comment, true)
        .into_iter()
        .map(|word| word.text)
        // Decimal digits alone are a number or a date.
        .filter(|word| {
            word.len() >= SHORT && is_hex(word) && !word.chars().all(|c| c.is_ascii_digit())
        })
        .collect();
    if named.iter().any(|word| begins(word, facts)) {
        return None;
    }
    named.into_iter().next()
}

/// Whether a comment to an approval takes it back.
pub(super) fn takes_back(comment: &str, facts: &Facts, matching: Match) -> bool {
    rejecting(comment, facts, matching).is_some()
        || words(comment, false)
            .iter()
            .any(|word| word.text == "reject")
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
            "[^1]: x\nbundlegate approve X Y",
            "~~Old:\nbundlegate approve X Y\nx~~",
            "Old: <s>\nbundlegate approve X Y\n</s>",
            "[a\nbundlegate approve X Y\nb](https://x.example)",
            "![lgtm\nbundlegate approve X Y\n](badge.svg)",
            "[x](https://x.example) bundlegate approve X Y",
            "<blockquote>\n\nbundlegate approve X Y\n\n</blockquote>",
            "<p hidden>\n\nbundlegate approve X Y",
            "$$\nbundlegate approve X Y\n$$",
            "```\rbundlegate approve X Y\r```",
            "|a|\n|-|\n|bundlegate approve X Y|",
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
            format!("please bundlegate reject\n\n{whole}"),
            format!("bundlegate\nreject {short}"),
            format!("bundlegate&nbsp;reject {short}"),
            format!("**b**undle\u{200b}gate reject {short}"),
            format!("bundlegate reject {}", facts.intent),
            format!("bundlegate reject commit {}", &"a".repeat(40)[..10]),
        ] {
            assert_eq!(said(&body), Some(Rejects::This), "{body}");
        }
        for body in [
            "bundlegate reject",
            "1. bundlegate reject this, please",
            "bundlegate reject: it deletes job 482910384756123",
            "**bundlegate reject** - drops 12345678 rows",
            "bundlegate reject, see 1234567",
            &format!("bundlegate reject {}0", "b".repeat(64)),
        ] {
            assert_eq!(said(body), Some(Rejects::Unclear), "{body}");
        }
        for body in [
            format!("> bundlegate reject {whole}"),
            format!("bundlegate reject {}", "b".repeat(64)),
            format!("bundlegate reject sha256:{}", "b".repeat(64)),
            format!("bundlegate reject bgi1:{}", "b".repeat(64)),
            "to stop it there is also `bundlegate reject`".to_owned(),
            "bundlegate rejected my plan yesterday, fixed now".to_owned(),
            "bundlegate rejects recreations by default".to_owned(),
            "rejected".to_owned(),
        ] {
            assert_eq!(said(&body), None, "{body}");
        }
        let intent = facts.intent.to_string();
        let by_intent = |body: &str| rejecting(body, &facts, Match::Intent);
        // Another file may be the same plan.
        let other = format!("bundlegate reject {}", "b".repeat(64));
        assert_eq!(by_intent(&other), Some(Rejects::Unclear));
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
