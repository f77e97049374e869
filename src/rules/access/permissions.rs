//! Permissions: levels that are added or raised, and levels that are lost.

use crate::effect::{Effect, Kind, Principal};
use crate::plan::{Action, FieldPath, Segment, Sub};
use crate::text::visible;

use super::super::{Context, Doc, Family, Found, Rule, fires, quiet, unknown};
use super::list::{Permission, Text, Who, permissions_after, permissions_now, resource_stays};

/// The levels of every object type from the lowest to the highest; levels in one line are of different types or of equal rank.
/// Source: Databricks documentation, access control lists of each object type, and secret scope permissions.
const LEVELS: &[&[&str]] = &[
    &["CAN_VIEW_METADATA", "CAN_MONITOR_ONLY"],
    &["CAN_VIEW", "CAN_READ", "READ", "CAN_ATTACH_TO", "CAN_BIND"],
    &[
        "CAN_USE",
        "CAN_RUN",
        "CAN_QUERY",
        "CAN_RESTART",
        "CAN_EDIT_METADATA",
    ],
    &[
        "CAN_MONITOR",
        "CAN_EDIT",
        "CAN_MANAGE_RUN",
        "CAN_CREATE",
        "WRITE",
    ],
    &["CAN_MANAGE_STAGING_VERSIONS"],
    &["CAN_MANAGE_PRODUCTION_VERSIONS"],
    &["CAN_MANAGE", "MANAGE"],
    &["IS_OWNER"],
];

/// The rank of `CAN_MANAGE` and `MANAGE`.
const MANAGE: usize = 6;

fn rank(level: &str) -> Option<usize> {
    LEVELS.iter().position(|line| line.contains(&level))
}

/// Whether a level gives what `CAN_MANAGE` gives; one of unknown rank counts as one that does.
pub(crate) fn is_manage(level: &str) -> bool {
    rank(level).is_none_or(|r| r >= MANAGE)
}

/// Whether a level gives at least what another gives; one of unknown rank counts as one that does.
pub(crate) fn at_least(level: &str, other: &str) -> bool {
    rank(level).is_none() || rank(level) >= rank(other)
}

/// Whether this is a group that everybody is in.
fn is_everyone(p: &Principal) -> bool {
    p.kind == Kind::Group
        && ["users", "account users"].contains(&p.name.trim().to_lowercase().as_str())
}

/// The strongest of the levels that the list gives to a principal; a level of unknown rank counts as the strongest.
fn strongest<'l>(list: &'l [Permission], p: &Principal) -> Option<&'l str> {
    list.iter()
        .filter(|item| item.who == Who::Is(p.clone()))
        .filter_map(|item| match &item.level {
            Text::Is(level) => Some(level.as_str()),
            _ => None,
        })
        .max_by_key(|level| rank(level).unwrap_or(usize::MAX))
}

/// Where the level of this principal stands.
fn at(p: &Principal) -> FieldPath {
    FieldPath::from(vec![
        Segment::Item(p.kind.field().into(), p.name.as_str().into()),
        Segment::Field("level".into()),
    ])
}

/// Whether the principal is the one that deploys, whose own entry the CLI adds. `None`: nothing says who that is.
fn is_deployer(cx: &Context<'_, '_>, p: &Principal) -> Option<bool> {
    if p.kind == Kind::Group {
        return Some(false);
    }
    let current = cx
        .world
        .inputs
        .bundle
        .and_then(|b| b.text(&["workspace", "current_user", "userName"]));
    let named = cx.policy.identity.deployer.as_ref().map(|d| d.value.name());
    if current.is_none() && named.is_none() {
        return None;
    }
    Some([current, named].contains(&Some(p.name.as_str())))
}

rule!(PermissionBroadened, Doc {
    id: "permission-broadened",
    family: Family::Access,
    trigger: "A level is added or raised for `users` or `account users`, or CAN_MANAGE, MANAGE or IS_OWNER goes to anyone who did not have it; the CLI's own entry for the deployer aside.",
    impact: "Who can manage a job or pipeline can change what it runs, and so acts with the rights of its run_as; what everybody can run or read is open to the whole workspace.",
    remedy: "Give the lowest level that is needed, to a group of its own; or approve it.",
    source: "Databricks documentation: access control lists; Databricks CLI 1.13, reproduced: permission-broadened, job-added",
    needs: &[],
    examples: &[
        fires(r#""jobs.a": {"action": "skip", "remote_state": {"name": "a"}}, "jobs.a.permissions": {"action": "update", "new_state": {"value": {"object_id": "/jobs/1", "__embed__": [{"level": "CAN_VIEW", "group_name": "users"}]}}, "remote_state": {"object_id": "/jobs/1", "__embed__": []}, "changes": {"[group_name='users']": {"action": "update", "new": {"level": "CAN_VIEW", "group_name": "users"}}}}"#),
        fires(r#""jobs.a": {"action": "create", "new_state": {"value": {"name": "a"}}}, "jobs.a.permissions": {"action": "create", "depends_on": [{"node": "resources.jobs.a"}], "new_state": {"value": {"object_id": "", "__embed__": [{"level": "CAN_MANAGE", "group_name": "analysts"}]}, "vars": {"object_id": "/jobs/${resources.jobs.a.id}"}}}"#),
        fires(r#""secret_scopes.creds": {"action": "skip", "remote_state": {"name": "creds"}}, "secret_scopes.creds.permissions": {"action": "update", "new_state": {"value": {"scope_name": "creds", "acls": [{"permission": "MANAGE", "principal": "analysts"}]}}, "remote_state": {"scope_name": "creds", "acls": [{"permission": "READ", "principal": "analysts"}]}, "changes": {"acls[principal='analysts'].permission": {"action": "update", "old": "READ", "new": "MANAGE", "remote": "READ"}}}"#),
        quiet(r#""jobs.a": {"action": "create", "new_state": {"value": {"name": "a"}}}, "jobs.a.permissions": {"action": "create", "depends_on": [{"node": "resources.jobs.a"}], "new_state": {"value": {"object_id": "", "__embed__": [{"level": "CAN_VIEW", "group_name": "analysts"}, {"level": "IS_OWNER", "service_principal_name": "deployer"}]}, "vars": {"object_id": "/jobs/${resources.jobs.a.id}"}}}"#)
            .bundle(r#""resources": {"jobs": {"a": {"name": "a", "permissions": [{"level": "CAN_VIEW", "group_name": "analysts"}, {"level": "IS_OWNER", "service_principal_name": "deployer"}]}}}"#),
        quiet(r#""jobs.a": {"action": "skip", "remote_state": {"name": "a"}}, "jobs.a.permissions": {"action": "update", "new_state": {"value": {"object_id": "/jobs/1", "__embed__": [{"level": "CAN_VIEW", "group_name": "users"}]}}, "remote_state": {"object_id": "/jobs/1", "__embed__": [{"level": "CAN_MANAGE_RUN", "group_name": "users"}]}, "changes": {"[group_name='users'].level": {"action": "update", "old": "CAN_MANAGE_RUN", "new": "CAN_VIEW", "remote": "CAN_MANAGE_RUN"}}}"#),
        unknown(r#""apps.portal": {"action": "create", "new_state": {"value": {"name": "portal"}}}, "jobs.a": {"action": "skip", "remote_state": {"name": "a"}}, "jobs.a.permissions": {"action": "create", "depends_on": [{"node": "resources.apps.portal"}], "new_state": {"value": {"object_id": "/jobs/1", "__embed__": [{"level": "CAN_MANAGE", "service_principal_name": ""}]}, "vars": {"__embed__[0].service_principal_name": "${resources.apps.portal.service_principal_client_id}"}}}"#),
    ],
}, |cx, out| {
    for e in cx.world.of_sub(Sub::Permissions).filter(|e| e.action() != Action::Delete) {
        let list = match permissions_after(cx.world, e) {
            None => continue,
            Some(Err(text)) => {
                out.push(Found::on(e, format!("Who gets which permission waits for {}.", visible(&text))).path(FieldPath::default()).unknown());
                continue;
            }
            Some(Ok(list)) => list,
        };
        let now = permissions_now(e);
        for item in &list {
            out.extend(broadened(cx, e, &now, item));
        }
    }
});

fn broadened(
    cx: &Context<'_, '_>,
    e: &Effect<'_>,
    now: &[Permission],
    item: &Permission,
) -> Option<Found> {
    let root = FieldPath::default();
    let (p, level) = match (&item.who, &item.level) {
        (Who::Is(p), Text::Is(level)) => (p, level),
        (_, Text::Absent) => return None,
        (Who::Is(p), Text::Waits(text)) => {
            let message = format!(
                "The level that {} gets waits for {}.",
                p.words(),
                visible(text)
            );
            return (is_deployer(cx, p) != Some(true))
                .then(|| Found::on(e, message).path(at(p)).unknown());
        }
        (Who::Waits(kind, text), level) => {
            // A group can be everyone; of the others only a high level counts.
            let may_be_everyone = matches!(kind, Some(Kind::Group) | None);
            let high = match level {
                Text::Is(l) => rank(l).is_none_or(|r| r >= MANAGE),
                _ => true,
            };
            let message = format!("Who gets a permission waits for {}.", visible(text));
            return (may_be_everyone || high).then(|| Found::on(e, message).path(root).unknown());
        }
        (Who::Nobody, Text::Is(_) | Text::Waits(_)) => {
            return Some(
                Found::on(
                    e,
                    "A permission is given, and the plan does not say to whom.",
                )
                .path(root)
                .unknown(),
            );
        }
    };
    let before = strongest(now, p);
    if before == Some(level) {
        return None;
    }
    let (old_rank, new_rank) = (before.map(rank), rank(level));
    let counts = new_rank.is_none_or(|r| r >= MANAGE) || is_everyone(p);
    // Workspace admins can manage everything as it is.
    let always = p.kind == Kind::Group && p.name == "admins" && new_rank == Some(MANAGE);
    if !counts || always {
        return None;
    }
    let certain = match (old_rank, new_rank) {
        (None, Some(_)) => true,
        (Some(Some(old)), Some(new)) if new > old => true,
        (Some(Some(_)), Some(_)) => return None,
        // A level that is not in the list: added for everyone it counts all the same.
        (None, None) => is_everyone(p),
        (Some(None), _) | (Some(_), None) => false,
    };
    let deployer = if new_rank.is_some_and(|r| r >= MANAGE) {
        is_deployer(cx, p)
    } else {
        Some(false)
    };
    if deployer == Some(true) {
        return None;
    }
    let had = before.map_or("nothing".to_owned(), visible);
    let mut message = format!("{} gets {} (before: {had}).", p.words(), visible(level));
    if deployer.is_none() {
        message.push_str(
            " Whether that is the CLI's own entry for the deployer is not known: give --bundle, or name identity.deployer in the policy.",
        );
    } else if !certain {
        message.push_str(" Whether that is more than before is not known.");
    }
    let found = Found::on(e, capitalised(&message))
        .path(at(p))
        .from_to(before, Some(level));
    Some(if certain && deployer.is_some() {
        found
    } else {
        found.unknown()
    })
}

fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars
        .next()
        .map(|c| c.to_uppercase().chain(chars).collect())
        .unwrap_or_default()
}

rule!(
    PermissionRemoved,
    Doc {
        id: "permission-removed",
        family: Family::Access,
        trigger: "A principal loses a permission or gets a lower level, or the whole permissions block goes while its resource stays.",
        impact: "Whoever worked with it cannot any more: on-call staff cannot stop or restart a run, readers lose the page.",
        remedy: "Put the entry back, or tell those who lose it and approve.",
        source: "Databricks CLI 1.13, reproduced: permissions-removed",
        needs: &[],
        examples: &[
            fires(
                r#""jobs.a": {"action": "skip", "remote_state": {"name": "a"}}, "jobs.a.permissions": {"action": "update", "new_state": {"value": {"object_id": "/jobs/1", "__embed__": [{"level": "CAN_VIEW", "group_name": "analysts"}]}}, "remote_state": {"object_id": "/jobs/1", "__embed__": [{"level": "CAN_MANAGE_RUN", "group_name": "analysts"}]}, "changes": {"[group_name='analysts'].level": {"action": "update", "old": "CAN_MANAGE_RUN", "new": "CAN_VIEW", "remote": "CAN_MANAGE_RUN"}}}"#
            ),
            fires(
                r#""jobs.a": {"action": "skip", "remote_state": {"name": "a"}}, "jobs.a.permissions": {"action": "delete", "remote_state": {"object_id": "/jobs/1", "__embed__": [{"level": "CAN_VIEW", "group_name": "analysts"}]}}"#
            ),
            quiet(
                r#""jobs.a": {"action": "delete", "remote_state": {"name": "a"}}, "jobs.a.permissions": {"action": "delete", "remote_state": {"object_id": "/jobs/1", "__embed__": [{"level": "CAN_VIEW", "group_name": "analysts"}]}}"#
            ),
            quiet(
                r#""jobs.a": {"action": "skip", "remote_state": {"name": "a"}}, "jobs.a.permissions": {"action": "update", "new_state": {"value": {"object_id": "/jobs/1", "__embed__": [{"level": "CAN_MANAGE", "group_name": "analysts"}]}}, "remote_state": {"object_id": "/jobs/1", "__embed__": [{"level": "CAN_VIEW", "group_name": "analysts"}]}, "changes": {"[group_name='analysts'].level": {"action": "update", "old": "CAN_VIEW", "new": "CAN_MANAGE", "remote": "CAN_VIEW"}}}"#
            ),
            unknown(
                r#""apps.portal": {"action": "create", "new_state": {"value": {"name": "portal"}}}, "jobs.a": {"action": "skip", "remote_state": {"name": "a"}}, "jobs.a.permissions": {"action": "update", "depends_on": [{"node": "resources.apps.portal"}], "new_state": {"value": {"object_id": "/jobs/1", "__embed__": [{"level": "CAN_VIEW", "group_name": ""}]}, "vars": {"__embed__[0].group_name": "${resources.apps.portal.creator}"}}, "remote_state": {"object_id": "/jobs/1", "__embed__": [{"level": "CAN_VIEW", "group_name": "analysts"}]}, "changes": {"": {"action": "update"}}}"#
            ),
        ],
    },
    |cx, out| {
        for e in cx.world.of_sub(Sub::Permissions) {
            if e.deletes() && resource_stays(cx.world, e) {
                out.push(
                Found::on(e, "The permissions block is taken out while the resource stays.")
                    .path(FieldPath::default())
                    .impact("Depending on the CLI version the permissions stay as they are and nobody manages them any more, or all but the owner's are removed."),
            );
            }
            if !e.action().is_update_like() {
                continue;
            }
            let list = match permissions_after(cx.world, e) {
                None => continue,
                Some(Err(text)) => {
                    out.push(
                        Found::on(
                            e,
                            format!("Who keeps which permission waits for {}.", visible(&text)),
                        )
                        .path(FieldPath::default())
                        .unknown(),
                    );
                    continue;
                }
                Some(Ok(list)) => list,
            };
            let now = permissions_now(e);
            let mut seen: Vec<&Principal> = Vec::new();
            for item in &now {
                if let Who::Is(p) = &item.who
                    && !seen.contains(&p)
                {
                    seen.push(p);
                    out.extend(removed(e, &now, &list, p));
                }
            }
        }
    }
);

fn removed(
    e: &Effect<'_>,
    now: &[Permission],
    list: &[Permission],
    p: &Principal,
) -> Option<Found> {
    let before = strongest(now, p)?;
    let after = strongest(list, p);
    if after == Some(before) {
        return None;
    }
    let waits = list.iter().find_map(|item| match (&item.who, &item.level) {
        (Who::Waits(kind, text), _) if kind.is_none_or(|k| k == p.kind) => Some(text),
        (Who::Is(q), Text::Waits(text)) if q == p => Some(text),
        _ => None,
    });
    let (certain, message) = match (after, waits) {
        (Some(after), _) => match (rank(before), rank(after)) {
            (Some(old), Some(new)) if new >= old => return None,
            (Some(_), Some(_)) => (
                true,
                format!(
                    "{} has {} and gets {}.",
                    p.words(),
                    visible(before),
                    visible(after)
                ),
            ),
            _ => (
                false,
                format!(
                    "{} has {} and gets {}; whether that is less is not known.",
                    p.words(),
                    visible(before),
                    visible(after)
                ),
            ),
        },
        (None, Some(text)) => (
            false,
            format!(
                "Whether {} keeps {} waits for {}.",
                p.words(),
                visible(before),
                visible(text)
            ),
        ),
        (None, None) => (true, format!("{} loses {}.", p.words(), visible(before))),
    };
    let found = Found::on(e, capitalised(&message))
        .path(at(p))
        .from_to(Some(before), after);
    Some(if certain { found } else { found.unknown() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_of_each_type_rise() {
        for rising in [
            &["CAN_VIEW", "CAN_MANAGE_RUN", "CAN_MANAGE", "IS_OWNER"][..],
            &["CAN_VIEW", "CAN_RUN", "CAN_MANAGE", "IS_OWNER"],
            &["CAN_VIEW", "CAN_RUN", "CAN_MANAGE_RUN", "CAN_MANAGE"],
            &["CAN_ATTACH_TO", "CAN_RESTART", "CAN_MANAGE"],
            &["CAN_VIEW", "CAN_USE", "CAN_MONITOR", "CAN_MANAGE"],
            &["CAN_READ", "CAN_RUN", "CAN_EDIT", "CAN_MANAGE"],
            &[
                "CAN_READ",
                "CAN_EDIT",
                "CAN_MANAGE_STAGING_VERSIONS",
                "CAN_MANAGE_PRODUCTION_VERSIONS",
                "CAN_MANAGE",
            ],
            &["CAN_VIEW", "CAN_QUERY", "CAN_MANAGE"],
            &["READ", "WRITE", "MANAGE"],
        ] {
            assert!(rising.is_sorted_by(|a, b| rank(a) < rank(b)), "{rising:?}");
        }
        assert_eq!(rank("CAN_MANAGE"), Some(MANAGE));
        assert_eq!(rank("CAN_FLY"), None);
    }
}
