//! Grants in Unity Catalog.

use crate::effect::Effect;
use crate::plan::{Action, FieldPath, Segment, Sub};
use crate::text::{quoted, visible};

use super::super::{Context, Doc, Family, Found, Rule, fires, quiet, unknown};
use super::list::{Grant, Text, grants_after, grants_now, resource_stays};

/// Privileges that give everything, or let the holder give it on.
const WIDE: &[&str] = &["ALL_PRIVILEGES", "MANAGE", "OWNERSHIP"];

/// What `ALL_PRIVILEGES` does not include. Source: Databricks documentation, Unity Catalog privileges.
const NOT_IN_ALL: &[&str] = &[
    "MANAGE",
    "OWNERSHIP",
    "EXTERNAL_USE_SCHEMA",
    "EXTERNAL_USE_LOCATION",
];

fn is_everyone(principal: &str) -> bool {
    principal.trim().eq_ignore_ascii_case("account users")
}

/// The privileges of a principal. Several items of one principal count together.
fn held<'l>(list: &'l [Grant], principal: &str) -> Vec<&'l str> {
    let mut out: Vec<&str> = list
        .iter()
        .filter(|g| matches!(&g.who, Text::Is(name) if name == principal))
        .flat_map(|g| g.privileges.iter().map(String::as_str))
        .collect();
    out.sort_unstable();
    out.dedup();
    out
}

/// Those of the privileges that `other` does not include.
fn beyond<'l>(privileges: &[&'l str], other: &[&str]) -> Vec<&'l str> {
    let all = other.contains(&"ALL_PRIVILEGES");
    privileges
        .iter()
        .copied()
        .filter(|p| !other.contains(p) && (!all || NOT_IN_ALL.contains(p)))
        .collect()
}

/// The principals of a list, each once.
fn principals(list: &[Grant]) -> Vec<&str> {
    let mut out: Vec<&str> = list
        .iter()
        .filter_map(|g| match &g.who {
            Text::Is(name) => Some(name.as_str()),
            _ => None,
        })
        .collect();
    out.sort_unstable();
    out.dedup();
    out
}

fn at(principal: &str) -> FieldPath {
    FieldPath::from(vec![
        Segment::Item("principal".into(), principal.into()),
        Segment::Field("privileges".into()),
    ])
}

fn names(privileges: &[&str]) -> String {
    visible(&privileges.join(", "))
}

fn list_waits(e: &Effect<'_>, text: &str) -> Found {
    Found::on(
        e,
        format!("Who gets which privilege waits for {}.", visible(text)),
    )
    .path(FieldPath::default())
    .unknown()
}

rule!(
    GrantBroadened,
    Doc {
        id: "grant-broadened",
        family: Family::Access,
        trigger: "ALL_PRIVILEGES, MANAGE or OWNERSHIP is granted, or anything is granted to `account users`.",
        impact: "The principal can read, change and drop the data, or grant that to others; what account users get, everyone in the account has.",
        remedy: "Grant the privileges that are needed, to a group of its own; or approve it.",
        source: "Databricks documentation: Unity Catalog privileges; Databricks CLI 1.13, reproduced: grant-broadened",
        needs: &[],
        examples: &[
            fires(
                r#""schemas.s": {"action": "skip", "remote_state": {"name": "s"}}, "schemas.s.grants": {"action": "update", "new_state": {"value": {"__embed__": [{"principal": "analysts", "privileges": ["ALL_PRIVILEGES"]}]}}, "remote_state": {"__embed__": [{"principal": "analysts", "privileges": ["SELECT"]}]}, "changes": {"[principal='analysts'].privileges": {"action": "update", "old": ["SELECT"], "new": ["ALL_PRIVILEGES"], "remote": ["SELECT"]}}}"#
            ),
            fires(
                r#""schemas.s": {"action": "create", "new_state": {"value": {"name": "s", "catalog_name": "main"}}}, "schemas.s.grants": {"action": "create", "new_state": {"value": {"__embed__": [{"principal": "account users", "privileges": ["USE_SCHEMA"]}]}}}"#
            ),
            quiet(
                r#""schemas.s": {"action": "skip", "remote_state": {"name": "s"}}, "schemas.s.grants": {"action": "update", "new_state": {"value": {"__embed__": [{"principal": "analysts", "privileges": ["ALL_PRIVILEGES"]}, {"principal": "readers", "privileges": ["SELECT"]}]}}, "remote_state": {"__embed__": [{"principal": "analysts", "privileges": ["ALL_PRIVILEGES"]}]}, "changes": {"[principal='readers']": {"action": "update", "new": {"principal": "readers", "privileges": ["SELECT"]}}}}"#
            ),
            unknown(
                r#""apps.portal": {"action": "create", "new_state": {"value": {"name": "portal"}}}, "schemas.s": {"action": "skip", "remote_state": {"name": "s"}}, "schemas.s.grants": {"action": "create", "depends_on": [{"node": "resources.apps.portal"}], "new_state": {"value": {"__embed__": [{"principal": "", "privileges": ["SELECT"]}]}, "vars": {"__embed__[0].principal": "${resources.apps.portal.service_principal_client_id}"}}}"#
            ),
        ],
    },
    |cx, out| {
        for e in cx
            .world
            .of_sub(Sub::Grants)
            .filter(|e| e.action() != Action::Delete)
        {
            let list = match grants_after(cx.world, e) {
                None => continue,
                Some(Err(text)) => {
                    out.push(list_waits(e, &text));
                    continue;
                }
                Some(Ok(list)) => list,
            };
            let now = grants_now(e);
            for principal in principals(&list) {
                let (before, after) = (held(&now, principal), held(&list, principal));
                let new: Vec<&str> = beyond(&after, &before)
                    .into_iter()
                    .filter(|p| is_everyone(principal) || WIDE.contains(p))
                    .collect();
                if !new.is_empty() {
                    out.push(
                        Found::on(e, format!("{} gets {}.", quoted(principal), names(&new)))
                            .path(at(principal))
                            .from_to(
                                Some(&before.join(", "))
                                    .filter(|b| !b.is_empty())
                                    .map(String::as_str),
                                Some(&after.join(", ")),
                            ),
                    );
                }
            }
            for grant in &list {
                let waits = match (&grant.who, &grant.waits) {
                    (Text::Waits(text), _) => text,
                    (_, Some(text)) => text,
                    _ => continue,
                };
                out.push(list_waits(e, waits));
            }
        }
    }
);

rule!(
    GrantRemoved,
    Doc {
        id: "grant-removed",
        family: Family::Access,
        trigger: "A principal or a privilege leaves a grant, or the whole grants block goes while its resource stays.",
        impact: "Whoever reads or writes by this grant fails from the deploy on: jobs, dashboards, people.",
        remedy: "Put the grant back, or tell those who lose it and approve.",
        source: "Databricks CLI 1.13, reproduced: grant-removed",
        needs: &[],
        examples: &[
            fires(
                r#""schemas.s": {"action": "skip", "remote_state": {"name": "s"}}, "schemas.s.grants": {"action": "update", "new_state": {"value": {"__embed__": [{"principal": "analysts", "privileges": ["USE_SCHEMA"]}]}}, "remote_state": {"__embed__": [{"principal": "analysts", "privileges": ["SELECT", "USE_SCHEMA"]}]}, "changes": {"[principal='analysts'].privileges": {"action": "update", "old": ["SELECT", "USE_SCHEMA"], "new": ["USE_SCHEMA"], "remote": ["SELECT", "USE_SCHEMA"]}}}"#
            ),
            fires(
                r#""schemas.s": {"action": "skip", "remote_state": {"name": "s"}}, "schemas.s.grants": {"action": "delete", "remote_state": {"__embed__": [{"principal": "analysts", "privileges": ["SELECT"]}]}}"#
            ),
            quiet(
                r#""schemas.s": {"action": "skip", "remote_state": {"name": "s"}}, "schemas.s.grants": {"action": "update", "new_state": {"value": {"__embed__": [{"principal": "analysts", "privileges": ["ALL_PRIVILEGES"]}]}}, "remote_state": {"__embed__": [{"principal": "analysts", "privileges": ["SELECT"]}]}, "changes": {"[principal='analysts'].privileges": {"action": "update", "old": ["SELECT"], "new": ["ALL_PRIVILEGES"], "remote": ["SELECT"]}}}"#
            ),
            quiet(
                r#""schemas.s": {"action": "delete", "remote_state": {"name": "s"}}, "schemas.s.grants": {"action": "delete", "remote_state": {"__embed__": [{"principal": "analysts", "privileges": ["SELECT"]}]}}"#
            ),
            unknown(
                r#""apps.portal": {"action": "create", "new_state": {"value": {"name": "portal"}}}, "schemas.s": {"action": "skip", "remote_state": {"name": "s"}}, "schemas.s.grants": {"action": "update", "depends_on": [{"node": "resources.apps.portal"}], "new_state": {"value": {"__embed__": [{"principal": "", "privileges": ["SELECT"]}]}, "vars": {"__embed__[0].principal": "${resources.apps.portal.service_principal_client_id}"}}, "remote_state": {"__embed__": [{"principal": "analysts", "privileges": ["SELECT"]}]}, "changes": {"": {"action": "update"}}}"#
            ),
        ],
    },
    |cx, out| {
        for e in cx.world.of_sub(Sub::Grants) {
            if e.deletes() && resource_stays(cx.world, e) {
                out.push(Found::on(e, "The grants block is taken out while the resource stays: all its grants go.").path(FieldPath::default()));
            }
            if !e.action().is_update_like() {
                continue;
            }
            let list = match grants_after(cx.world, e) {
                None => continue,
                Some(Err(text)) => {
                    out.push(list_waits(e, &text));
                    continue;
                }
                Some(Ok(list)) => list,
            };
            let now = grants_now(e);
            for principal in principals(&now) {
                let (before, after) = (held(&now, principal), held(&list, principal));
                let gone = beyond(&before, &after);
                if gone.is_empty() {
                    continue;
                }
                let waits = list.iter().find_map(|g| match (&g.who, &g.waits) {
                    (Text::Waits(text), _) => Some(text),
                    (Text::Is(name), Some(text)) if name == principal => Some(text),
                    _ => None,
                });
                let found = match waits {
                    Some(text) => Found::on(
                        e,
                        format!(
                            "Whether {} keeps {} waits for {}.",
                            quoted(principal),
                            names(&gone),
                            visible(text)
                        ),
                    )
                    .path(at(principal))
                    .unknown(),
                    None => Found::on(e, format!("{} loses {}.", quoted(principal), names(&gone)))
                        .path(at(principal)),
                };
                out.push(
                    found.from_to(
                        Some(&before.join(", ")),
                        Some(&after.join(", "))
                            .filter(|a| !a.is_empty())
                            .map(String::as_str),
                    ),
                );
            }
        }
    }
);
