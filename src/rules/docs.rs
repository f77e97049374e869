//! The catalogue as documentation: `docs/rules.md`, `rules`, `rules ID`. All of it comes from the registry and the embedded policies.

use std::fmt::Write as _;
use std::sync::LazyLock;

use serde::Serialize;

use super::{Example, Family, Need, RULES, Rule, Shows, known};
use crate::policy::{Embedded, Level, Policy, PolicyRef, load};

/// The embedded policies, resolved.
static POLICIES: LazyLock<Vec<(Embedded, Option<Policy>)>> = LazyLock::new(|| {
    let resolved = |embedded| {
        let mut no_file = |_: &std::path::Path| Err(std::io::ErrorKind::NotFound.into());
        load(&PolicyRef::Embedded(embedded), &known(), &mut no_file).ok()
    };
    Embedded::ALL
        .into_iter()
        .map(|e| (e, resolved(e)))
        .collect()
});

/// The levels of a rule in the embedded policies, with their names.
fn levels(id: &str) -> impl Iterator<Item = (&'static str, Level)> + '_ {
    POLICIES.iter().map(move |(embedded, policy)| {
        // As everywhere: a rule that no policy names denies.
        let level = policy.as_ref().map_or(Level::Deny, |p| p.level(id, None));
        (embedded.name(), level)
    })
}

/// One rule as JSON.
#[derive(Serialize)]
struct RuleJson {
    id: &'static str,
    family: &'static str,
    trigger: &'static str,
    impact: &'static str,
    remedy: &'static str,
    source: &'static str,
    /// Options; without all of them the rule cannot run.
    needs: Vec<&'static str>,
    levels: serde_json::Map<String, serde_json::Value>,
    /// `shows` (`fires`, `quiet`, `unknown`); `head`, `plan`, `bundle`, `base_bundle`, `state`: members of a JSON object; `warnings`, `policy`: text.
    examples: Vec<serde_json::Map<String, serde_json::Value>>,
}

fn shows(example: &Example) -> &'static str {
    match example.shows {
        Shows::Fires => "fires",
        Shows::Quiet => "quiet",
        Shows::Unknown => "unknown",
    }
}

/// A part of an example.
struct Part {
    name: &'static str,
    title: &'static str,
    language: &'static str,
    text: &'static str,
}

/// The parts of an example that are there.
fn parts(example: &Example) -> impl Iterator<Item = Part> {
    let part = |name, title, language, text: &'static str| Part {
        name,
        title,
        language,
        text: text.trim_end(),
    };
    [
        part("head", "head of the plan", "json", example.head),
        part("plan", "plan", "json", example.plan),
        part("bundle", "bundle JSON", "json", example.bundle),
        part(
            "base_bundle",
            "bundle JSON of what is deployed now",
            "json",
            example.base_bundle,
        ),
        part("state", "state", "json", example.state),
        part("warnings", "warnings of the CLI", "text", example.warnings),
        part("policy", "policy", "yaml", example.policy),
    ]
    .into_iter()
    .filter(|p| !p.text.is_empty() || p.name == "plan")
}

/// Rules as a JSON array; ends with a newline.
#[must_use]
pub fn json(rules: &[&dyn Rule]) -> String {
    let all: Vec<RuleJson> = rules
        .iter()
        .map(|rule| {
            let doc = rule.doc();
            RuleJson {
                id: doc.id,
                family: doc.family.as_str(),
                trigger: doc.trigger,
                impact: doc.impact,
                remedy: doc.remedy,
                source: doc.source,
                needs: doc.needs.iter().map(|n| n.flag()).collect(),
                levels: levels(doc.id)
                    .map(|(policy, level)| (policy.to_owned(), level.as_str().into()))
                    .collect(),
                examples: doc
                    .examples
                    .iter()
                    .map(|e| {
                        let shows = ("shows".to_owned(), shows(e).into());
                        let parts = parts(e).map(|p| (p.name.to_owned(), p.text.into()));
                        std::iter::once(shows).chain(parts).collect()
                    })
                    .collect(),
            }
        })
        .collect();
    // Strings, lists and maps with text keys: there is nothing that JSON cannot hold.
    let mut out = serde_json::to_string_pretty(&all).unwrap_or_default();
    out.push('\n');
    out
}

/// The list of all rules, a line each, by family; ends with a newline.
#[must_use]
pub fn list() -> String {
    let width = RULES.iter().map(|r| r.doc().id.len()).max().unwrap_or(0);
    let mut out = String::new();
    for family in Family::ALL {
        let _ = writeln!(out, "{}", family.title());
        for doc in RULES.iter().map(|r| r.doc()).filter(|d| d.family == family) {
            let levels: Vec<&str> = levels(doc.id).map(|(_, l)| l.as_str()).collect();
            let _ = writeln!(
                out,
                "  {:width$}  {:22}  {}",
                doc.id,
                levels.join("/"),
                doc.trigger
            );
        }
        out.push('\n');
    }
    let names: Vec<&str> = Embedded::ALL.map(Embedded::name).to_vec();
    let _ = writeln!(
        out,
        "Levels are those of the embedded policies {}. `bundlegate rules ID` explains a rule.",
        names.join("/")
    );
    out
}

/// One rule, as Markdown that reads well in a terminal; ends with a newline.
#[must_use]
pub fn page(rule: &dyn Rule) -> String {
    let doc = rule.doc();
    let levels: Vec<String> = levels(doc.id)
        .map(|(policy, level)| format!("{policy} {level}"))
        .collect();
    let mut out = format!(
        "### {}\n\n{}\n\n- **Impact**: {}\n- **What to do**: {}\n- **Levels**: {}\n",
        doc.id,
        doc.trigger,
        doc.impact,
        doc.remedy,
        levels.join(", ")
    );
    if !doc.needs.is_empty() {
        let flags: Vec<String> = doc
            .needs
            .iter()
            .map(|n| format!("`{}`", n.flag()))
            .collect();
        let _ = writeln!(out, "- **Needs**: {}", flags.join(" or "));
    }
    let _ = writeln!(out, "- **Source**: {}", doc.source);
    let mut told: Vec<Shows> = Vec::new();
    for example in doc.examples {
        if told.contains(&example.shows) {
            continue;
        }
        told.push(example.shows);
        let heading = match example.shows {
            Shows::Fires => "It fires on",
            Shows::Quiet => "It says nothing about",
            Shows::Unknown => "It cannot tell, and says so, on",
        };
        let _ = write!(out, "\n{heading}\n");
        for part in parts(example) {
            let text = match part.language {
                "json" => members(part.text),
                _ => part.text.to_owned(),
            };
            let _ = write!(
                out,
                "\n{}:\n\n```{}\n{text}\n```\n",
                part.title, part.language
            );
        }
    }
    out
}

/// JSON members as an object, one member a line.
fn members(text: &str) -> String {
    let mut lines = vec![String::new()];
    let (mut depth, mut quoted, mut escaped) = (0_usize, false, false);
    for c in text.chars() {
        match c {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            '{' | '[' if !quoted => depth += 1,
            '}' | ']' if !quoted => depth = depth.saturating_sub(1),
            _ => {}
        }
        if c == ',' && depth == 0 && !quoted {
            lines.push(String::new());
        } else if let Some(line) = lines.last_mut() {
            line.push(c);
        }
    }
    let lines: Vec<String> = lines.iter().map(|l| format!("  {}", l.trim())).collect();
    match text.trim() {
        "" => "{}".to_owned(),
        _ => format!("{{\n{}\n}}", lines.join(",\n")),
    }
}

/// `docs/rules.md`.
#[must_use]
pub fn book() -> String {
    let mut out = String::from(
        "# Rules

Generated from the code: `BUNDLEGATE_UPDATE_DOCS=1 cargo test` writes it anew. `bundlegate rules` lists the rules, `bundlegate rules ID` prints one section.

`deny` closes the gate and no approval lifts it; `review` closes it until a person approved exactly this plan; `warn` and `note` are said; `off` is not judged. A finding about a
resource that the plan leaves alone weighs at most what the policy's `standing` says (`warn` in the embedded policies), what a rule cannot tell weighs at most `review`. See [policy.md](policy.md).

The examples are small plans (entries by key, the usual head left out) that the tests run.
",
    );
    for family in Family::ALL {
        let docs = || RULES.iter().filter(move |r| r.doc().family == family);
        let _ = write!(
            out,
            "\n## {}\n\n| rule | production | staging | development | needs |\n|---|---|---|---|---|\n",
            family.title()
        );
        for doc in docs().map(|r| r.doc()) {
            let levels: Vec<String> = levels(doc.id).map(|(_, l)| format!(" {l} ")).collect();
            let needs: Vec<&str> = doc.needs.iter().copied().map(Need::flag).collect();
            let needs = if needs.is_empty() {
                "the plan".to_owned()
            } else {
                needs.join(" or ")
            };
            let _ = writeln!(
                out,
                "| [{0}](#{0}) |{1}| {needs} |",
                doc.id,
                levels.join("|")
            );
        }
        for rule in docs() {
            let _ = write!(out, "\n{}", page(*rule));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_book_is_what_the_code_says() {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/rules.md");
        if std::env::var_os("BUNDLEGATE_UPDATE_DOCS").is_some() {
            std::fs::write(&path, book()).unwrap();
        }
        assert!(
            std::fs::read_to_string(&path).unwrap_or_default() == book(),
            "docs/rules.md is not what the rules say; BUNDLEGATE_UPDATE_DOCS=1 cargo test writes it anew"
        );
    }

    #[test]
    fn every_rule_is_in_every_embedded_policy_and_nothing_else() {
        let mut ids: Vec<&str> = RULES.iter().map(|r| r.doc().id).collect();
        ids.sort_unstable();
        for (embedded, policy) in POLICIES.iter() {
            let named: Vec<&str> = policy.as_ref().unwrap().rules().map(|(id, _)| id).collect();
            assert_eq!(named, ids, "{}", embedded.name());
        }
    }

    #[test]
    fn members_stand_a_line_each() {
        assert_eq!(
            members(r#""a": {"x": [1, "},\""]}, "b": 2"#),
            "{\n  \"a\": {\"x\": [1, \"},\\\"\"]},\n  \"b\": 2\n}"
        );
        assert_eq!(members(""), "{}");
    }

    #[test]
    fn json_is_an_array_of_rules() {
        let all: serde_json::Value = serde_json::from_str(&json(RULES)).unwrap();
        assert_eq!(all.as_array().unwrap().len(), RULES.len());
        assert_eq!(all[0]["levels"]["production"], "deny");
    }
}
