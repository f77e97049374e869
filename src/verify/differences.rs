//! Differences that a fresh plan shows for ever, as data: they are no sign that a deploy did not arrive.

use semver::Version;

use crate::json::Value;
use crate::plan::{Action, Change, Entry, FieldPath};

/// What the CLI plans again after every deploy.
struct Permanent {
    kind: &'static str,
    action: Action,
    /// Whether a change is of this sort.
    is: fn(&FieldPath, &Change) -> bool,
    /// The CLI at which it was seen first; later ones are taken to do the same until they are known not to.
    since: Version,
    /// The first CLI that does not do it any more.
    until: Option<Version>,
}

/// All that are known.
const PERMANENT: &[Permanent] = &[
    // A job_runs entry with on_bundle_deploy has a new UUID in every plan; its effect is to run the job at each deploy.
    // Reproduced with CLI 1.13: job-run-on-deploy.
    Permanent {
        kind: "job_runs",
        action: Action::Recreate,
        is: is_run_at_deploy,
        since: Version::new(1, 13, 0),
        until: None,
    },
    // A wheel with dynamic_version has another build number in every plan. Databricks CLI, pull request 4074.
    Permanent {
        kind: "jobs",
        action: Action::Update,
        is: is_build_number,
        since: Version::new(1, 0, 0),
        until: None,
    },
    // securable_kind of an app's tables is filled by the server and cannot be set. Databricks CLI, issue 6342; mended in 1.14.0.
    Permanent {
        kind: "apps",
        action: Action::Update,
        is: is_securable_kind,
        since: Version::new(1, 0, 0),
        until: Some(Version::new(1, 14, 0)),
    },
];

/// Whether all that this entry of a fresh plan would do are differences that never go away with this CLI.
#[must_use]
pub fn is_permanent(entry: &Entry, cli: Option<&str>) -> bool {
    // A pre-release counts as its release.
    let Some(version) = cli
        .and_then(|v| Version::parse(v).ok())
        .map(|v| Version::new(v.major, v.minor, v.patch))
    else {
        return false;
    };
    PERMANENT.iter().any(|known| {
        known.kind == entry.key.kind()
            && entry.key.sub().is_none()
            && known.action == entry.action
            && version >= known.since
            && known.until.as_ref().is_none_or(|end| version < *end)
            && entry.actionable().next().is_some()
            && entry
                .actionable()
                .all(|(path, change)| (known.is)(path, change))
    })
}

fn is_run_at_deploy(path: &FieldPath, change: &Change) -> bool {
    // The change of the whole `lifecycle` may be about nothing but the trigger.
    let only_triggers = |v: &Value| {
        v.as_object()
            .is_some_and(|o| o.iter().all(|(name, _)| name == "triggers"))
    };
    path.starts_with(&["lifecycle", "triggers"])
        || (*path == FieldPath::of(&["lifecycle"])
            && [&change.old, &change.new]
                .into_iter()
                .flatten()
                .all(only_triggers))
}

fn is_securable_kind(path: &FieldPath, change: &Change) -> bool {
    path.starts_with(&["resources"])
        && path.last_field() == Some("securable_kind")
        && change.old.is_none()
        && change.new.is_none()
}

fn is_build_number(_: &FieldPath, change: &Change) -> bool {
    let text = |v: &Option<Value>| v.as_ref().map(Value::to_json);
    match (text(&change.old), text(&change.new)) {
        (Some(old), Some(new)) => {
            old.contains("/artifacts/.internal/")
                && old != new
                && without_build_numbers(&old) == without_build_numbers(&new)
        }
        _ => false,
    }
}

/// `lib-0.1.0+1796048631-py3-none-any.whl` → `lib-0.1.0+-py3-none-any.whl`
fn without_build_numbers(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut after_plus = false;
    for c in text.chars() {
        if after_plus && c.is_ascii_digit() {
            continue;
        }
        after_plus = c == '+';
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Limits;

    fn entry(kind: &str, action: &str, changes: &str) -> Entry {
        let text = format!(
            r#"{{"plan_version":2,"lineage":"l","serial":1,"plan":{{"resources.{kind}.x":{{"action":"{action}","new_state":{{"value":{{}}}},"remote_state":{{}},"changes":{{{changes}}}}}}}}}"#
        );
        let plan = crate::plan::read(text.as_bytes(), &Limits::default()).unwrap();
        plan.entries.into_iter().next().unwrap()
    }

    #[test]
    fn a_run_at_each_deploy_and_nothing_else() {
        const WHOLE: &str = r#""lifecycle":{"action":"recreate","old":{"triggers":{"on_bundle_deploy":"a"}},"new":{"triggers":{"on_bundle_deploy":"b"}}}"#;
        const LEAF: &str =
            r#""lifecycle.triggers.on_bundle_deploy":{"action":"recreate","old":"a","new":"b"}"#;
        const OTHER: &str = r#""job_id":{"action":"recreate","old":1,"new":2}"#;
        const MORE: &str = r#""lifecycle":{"action":"recreate","old":{"prevent_destroy":true,"triggers":{}},"new":{"triggers":{}}}"#;
        let run = |changes: &str| entry("job_runs", "recreate", changes);
        assert!(is_permanent(
            &run(&format!("{WHOLE},{LEAF}")),
            Some("1.13.0")
        ));
        assert!(is_permanent(&run(LEAF), Some("1.21.3-dev+7")));
        for (changes, cli) in [
            (format!("{LEAF},{OTHER}"), Some("1.13.0")),
            (MORE.to_owned(), Some("1.13.0")),
            (String::new(), Some("1.13.0")),
            (LEAF.to_owned(), Some("1.12.0")),
            (LEAF.to_owned(), None),
        ] {
            assert!(!is_permanent(&run(&changes), cli), "{changes} {cli:?}");
        }
        assert!(!is_permanent(
            &entry("jobs", "recreate", LEAF),
            Some("1.13.0")
        ));
    }

    #[test]
    fn a_build_number_but_not_another_wheel() {
        let wheel = |old: &str, new: &str| {
            entry(
                "jobs",
                "update",
                &format!(
                    r#""tasks[task_key='a'].libraries[0].whl":{{"action":"update","old":"/x/artifacts/.internal/{old}","new":"/x/artifacts/.internal/{new}"}}"#
                ),
            )
        };
        assert!(is_permanent(
            &wheel("l-1+17.whl", "l-1+18.whl"),
            Some("1.13.0")
        ));
        assert!(!is_permanent(
            &wheel("l-1+17.whl", "l-2+18.whl"),
            Some("1.13.0")
        ));
        assert!(!is_permanent(&wheel("l-1.whl", "k-1.whl"), Some("1.13.0")));
    }

    #[test]
    fn a_field_of_the_server_until_it_was_mended() {
        let app = entry(
            "apps",
            "update",
            r#""resources[6].uc_securable.securable_kind":{"action":"update","remote":"TABLE_DELTA"}"#,
        );
        assert!(is_permanent(&app, Some("1.13.0")));
        assert!(!is_permanent(&app, Some("1.14.0")));
    }
}
