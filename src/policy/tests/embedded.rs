use super::{RULES, TYPES, load_files};
use crate::policy::{Catalogue, Embedded, Level, Policy, PolicyRef, Standing, load};

fn embedded(embedded: Embedded) -> Policy {
    let rules: Vec<&str> = RULES.iter().map(|(id, _)| *id).collect();
    load(
        &PolicyRef::Embedded(embedded),
        &Catalogue {
            rules: &rules,
            types: TYPES,
        },
        &mut |path| panic!("an embedded policy reads no file, but {}", path.display()),
    )
    .unwrap()
}

#[test]
fn the_embedded_policies_are_the_catalogue() {
    for (column, which) in Embedded::ALL.into_iter().enumerate() {
        let policy = embedded(which);
        let found: Vec<(&str, Level)> = policy
            .rules()
            .map(|(id, _)| (id, policy.level(id, None)))
            .collect();
        let mut expected: Vec<(&str, Level)> = RULES
            .iter()
            .map(|(id, levels)| (*id, levels[column].parse().unwrap()))
            .collect();
        expected.sort();
        assert_eq!(found, expected, "{}", which.name());
        assert!(policy.warnings().is_empty());
    }
    assert_eq!(RULES.len(), 65);
}

#[test]
fn the_embedded_policies_name_nobody() {
    for which in Embedded::ALL {
        let policy = embedded(which);
        assert_eq!(policy.standing, Standing::Warn);
        assert!(
            policy.targets.is_empty() && policy.workspaces.is_empty() && policy.people.is_empty()
        );
        assert!(
            policy.approval.is_none()
                && policy.limits.delete.is_none()
                && policy.protect.is_empty()
        );
        assert_eq!(
            policy.require.len(),
            usize::from(which == Embedded::Production)
        );
        assert_eq!(policy.source(), format!("{} (embedded)", which.name()));
    }
}

#[test]
fn every_rule_has_a_comment_that_says_what_it_is_about() {
    for which in Embedded::ALL {
        for (id, _) in RULES {
            let line = which
                .text()
                .lines()
                .find(|line| line.starts_with(&format!("  {id}: ")))
                .unwrap();
            assert!(line.contains(" # "), "{line}");
        }
    }
}

#[test]
fn a_file_named_like_an_embedded_policy_is_chosen_with_its_folder() {
    assert_eq!(
        "production".parse(),
        Ok(PolicyRef::Embedded(Embedded::Production))
    );
    assert_eq!(
        "./production".parse(),
        Ok(PolicyRef::File("./production".into()))
    );
    let policy = load_files(&[("./production", "version: 1\nextends: development\n")]).unwrap();
    assert_eq!(policy.source(), "./production");
    assert_eq!(policy.level("destroy", Some("jobs.a")), Level::Note);
}
