//! `docs/policy.md` says what is true: its examples are policies, and it speaks of every key.

use super::load_files;
use crate::policy::Section;

const TEXT: &str = include_str!("../../../docs/policy.md");

#[test]
fn every_example_is_a_policy() {
    let mut examples = 0;
    for block in TEXT.split("```yaml\n").skip(1) {
        let yaml = block.split("```").next().unwrap();
        if yaml.lines().all(|line| line.starts_with('#')) {
            continue;
        }
        let text = if yaml.starts_with("version:") {
            yaml.to_owned()
        } else {
            format!("version: 1\n{yaml}")
        };
        if let Err(error) = load_files(&[("example.yml", &text)]) {
            panic!("{text}\n{error}");
        }
        examples += 1;
    }
    assert!(examples >= 9, "{examples}");
}

#[test]
fn every_key_has_its_chapter() {
    let headings: Vec<&str> = TEXT
        .lines()
        .filter(|line| line.starts_with("### "))
        .collect();
    for key in Section::WORDS {
        assert!(
            headings
                .iter()
                .any(|heading| heading.contains(&format!("`{key}`"))),
            "{key}"
        );
    }
}

#[test]
fn the_limits_are_those_of_the_code() {
    assert!(TEXT.contains("4 MiB") && crate::policy::MAX_BYTES == 4 * 1024 * 1024);
}
