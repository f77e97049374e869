//! What must hold for any text: the loader ends, never panics, and a locked rule never gets milder.

use std::io;

use proptest::prelude::*;

use super::resolve::FULL;
use super::{RULES, TYPES, load_files};
use crate::policy::{Catalogue, Level, PolicyRef, load};

/// Whatever the text, there is a policy or there are diagnostics that can be shown.
fn ends(text: &str) {
    let rules: Vec<&str> = RULES.iter().map(|(id, _)| *id).collect();
    let catalogue = Catalogue {
        rules: &rules,
        types: TYPES,
    };
    let mut read = |_: &std::path::Path| Ok::<_, io::Error>(text.to_owned());
    match load(&PolicyRef::File("p.yml".into()), &catalogue, &mut read) {
        Ok(policy) => {
            let _ = (
                policy.resolved_canonical(),
                policy.selectors().len(),
                policy.level("destroy", Some("jobs.a")),
            );
            assert!(
                policy
                    .warnings()
                    .iter()
                    .all(|warning| !warning.render(true).is_empty())
            );
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

/// The whole format with one piece of it taken out, doubled or replaced.
fn mutated() -> impl Strategy<Value = String> {
    let cut = (0..FULL.len(), 0..40_usize);
    let piece = prop::sample::select(vec![
        "",
        "*",
        "&a ",
        "!t ",
        "<<: ",
        "- ",
        ": ",
        "\t",
        "\n",
        "[",
        "]",
        "{",
        "}",
        "'",
        "\"",
        "~",
        "yes",
        "1e9",
        "-1",
        "é",
        "\u{feff}",
        "\u{0}",
        "#",
        "|\n",
        ">",
        "? ",
        "%",
        "@",
        "`",
        "99999999999999999999999999999999999999999999",
        "null",
        "\\",
        "---\n",
        "...\n",
        "  ",
        "extends: p.yml\n",
        "(",
        "&&",
    ]);
    prop::collection::vec((cut, piece), 1..4).prop_map(|changes| {
        let mut text = FULL.to_owned();
        for ((at, len), piece) in changes {
            let at = (0..=at.min(text.len()))
                .rev()
                .find(|at| text.is_char_boundary(*at))
                .unwrap_or(0);
            let end = (0..=(at + len).min(text.len()))
                .rev()
                .find(|end| text.is_char_boundary(*end))
                .unwrap_or(at)
                .max(at);
            text.replace_range(at..end, piece);
        }
        text
    })
}

fn level() -> impl Strategy<Value = Level> {
    prop::sample::select(Level::ALL.to_vec())
}

const KEYS: &[&str] = &[
    "jobs.a",
    "jobs.b",
    "jobs.a.permissions",
    "pipelines.a",
    "volumes.x",
];

fn selector() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "*",
        "jobs.*",
        "*.a",
        "jobs.a",
        "jobs.b",
        "pipelines.*",
        "*.*.permissions",
        "j*.?",
        "volumes.{x,y}",
        "jobs.a.permissions",
        "jobs.[ab]",
    ])
}

fn rule() -> impl Strategy<Value = String> {
    let selectors = || prop::collection::vec(selector(), 1..3);
    let long = (
        level(),
        prop::option::of(selectors()),
        prop::option::of(selectors()),
    )
        .prop_map(|(level, resources, except)| {
            let list = |name: &str, all: Option<Vec<&str>>| {
                all.map(|all| format!(", {name}: {all:?}"))
                    .unwrap_or_default()
            };
            format!(
                "{{level: {level}{}{}}}",
                list("resources", resources),
                list("except", except)
            )
        });
    prop_oneof![level().prop_map(|level| level.to_string()), long]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn any_text_ends(text in any::<String>()) {
        ends(&text);
    }

    #[test]
    fn any_printable_text_after_a_good_start_ends(text in "\\PC{0,80}(\n\\PC{0,40}){0,3}") {
        ends(&format!("version: 1\n{text}"));
    }

    #[test]
    fn a_mutated_policy_ends(text in mutated()) {
        ends(&text);
    }

    #[test]
    fn a_child_never_softens_a_locked_rule(
        base in rule(), parent in rule(), child in rule(), top in any::<bool>(), middle in prop::option::of(rule()),
    ) {
        let lock = if top { "locked: true\n" } else { "" };
        let locked = format!("version: 1\nextends: base.yml\n{lock}rules: {{rename: {}}}\n", if top {
            parent
        } else {
            match parent.strip_suffix('}') {
                Some(open) => format!("{open}, locked: true}}"),
                None => format!("{{level: {parent}, locked: true}}"),
            }
        });
        let base = format!("version: 1\nextends: staging\nrules: {{rename: {base}}}\n");
        let middle = middle.map(|rule| format!("rules: {{rename: {rule}}}\n")).unwrap_or_default();
        let middle = format!("version: 1\nextends: locked.yml\n{middle}");
        let child = format!("version: 1\nextends: middle.yml\nrules: {{rename: {child}}}\n");
        let files = [("child.yml", child.as_str()), ("middle.yml", &middle), ("locked.yml", &locked), ("base.yml", &base)];
        let before = load_files(files.get(2..).unwrap_or_default()).unwrap();
        if let Ok(after) = load_files(&files) {
            for key in KEYS.iter().copied().map(Some).chain([None]) {
                prop_assert!(after.level("rename", key) >= before.level("rename", key), "{key:?}");
            }
        }
    }

    #[test]
    fn a_stricter_short_form_is_always_let_through(parent in level(), child in level()) {
        let locked = format!("version: 1\nrules: {{rename: {{level: {parent}, locked: true}}}}\n");
        let child_text = format!("version: 1\nextends: locked.yml\nrules: {{rename: {child}}}\n");
        let loaded = load_files(&[("child.yml", &child_text), ("locked.yml", &locked)]);
        prop_assert_eq!(loaded.is_ok(), child >= parent);
    }
}
