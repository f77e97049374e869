//! Actions: what the plan does to resources.

mod edits;
mod runs;

pub(super) use edits::{FieldReset, RemoteEdit};
pub(super) use runs::{Runs, StartsRuns, runs, trigger_runs};

use super::state::with_register;
use super::{Context, Doc, Family, Found, Need, Rule, fires, quiet, unknown};
use crate::effect::{Effect, Successor};
use crate::impact;
use crate::plan::{Action, FieldPath};
use crate::text::quoted;

/// The name that the workspace knows, for messages.
fn called(cx: &Context<'_, '_>, e: &Effect<'_>) -> String {
    cx.world
        .remote_name(e)
        .filter(|n| n != e.key().name())
        .map_or(String::new(), |n| format!(" ({})", quoted(&n)))
}

/// What kind of thing it is, in the singular: `jobs` → `job`.
fn singular(kind: &str) -> String {
    let one = match kind.strip_suffix("ies") {
        Some(stem) => format!("{stem}y"),
        None => kind.strip_suffix("ches").map_or_else(
            || {
                kind.strip_suffix("indexes").map_or_else(
                    || kind.strip_suffix('s').unwrap_or(kind).to_owned(),
                    |stem| format!("{stem}index"),
                )
            },
            |stem| format!("{stem}ch"),
        ),
    };
    one.replace('_', " ")
}

rule!(
    Destroy,
    Doc {
        id: "destroy",
        family: Family::Actions,
        trigger: "A resource that still exists is deleted.",
        impact: "What it holds is gone with it.",
        remedy: "Put the resource back into the bundle, or take it out of the bundle's care without deleting it (`databricks bundle deployment unbind`); lower the rule for it in the policy if the loss is meant.",
        source: "Databricks CLI 1.13: action delete; each type's documentation",
        needs: &[],
        examples: &[
            fires(r#""jobs.report": {"action": "delete", "remote_state": {"name": "report"}}"#),
            quiet(r#""jobs.report": {"action": "delete", "gone": true}"#),
            quiet(
                r#""jobs.report": {"action": "skip", "remote_state": {"name": "report"}}, "jobs.report.permissions": {"action": "delete", "remote_state": {"object_id": "/jobs/1", "__embed__": []}}"#
            ),
        ],
    },
    |cx, out| {
        for e in cx.world.resources().filter(|e| e.deletes()) {
            let found = Found::on(
                e,
                format!("The {}{} is deleted.", singular(e.kind()), called(cx, e)),
            );
            let impact = impact::of(e.kind()).text;
            out.push(found.impact(with_register(impact, cx.policy, e.key().resource())));
        }
    }
);

rule!(
    LostWithParent,
    Doc {
        id: "lost-with-parent",
        family: Family::Actions,
        trigger: "A resource that the plan leaves alone lives in a schema or catalog that is deleted or recreated.",
        impact: "The CLI deletes the container with force: what lives in it goes too, although the plan says nothing about it.",
        remedy: "Keep the container, or move what lives in it first; plan its loss in the open by taking it out of the bundle.",
        source: "Databricks CLI 1.13, reproduced: a schema was recreated and its volume was gone, planned as skip",
        needs: &[],
        examples: &[
            fires(
                r#""schemas.s": {"action": "recreate", "new_state": {"value": {"catalog_name": "lake", "name": "s"}}, "remote_state": {"catalog_name": "main", "name": "s", "full_name": "main.s"}, "changes": {"catalog_name": {"action": "recreate", "old": "main", "new": "lake", "remote": "main"}}}, "volumes.raw": {"action": "skip", "remote_state": {"catalog_name": "main", "schema_name": "s", "name": "raw"}}"#
            ),
            quiet(
                r#""schemas.s": {"action": "delete", "remote_state": {"catalog_name": "main", "name": "s", "full_name": "main.s"}}, "volumes.raw": {"action": "skip", "remote_state": {"catalog_name": "main", "schema_name": "other", "name": "raw"}}, "volumes.old": {"action": "delete", "remote_state": {"catalog_name": "main", "schema_name": "s", "name": "old"}}"#
            ),
            unknown(
                r#""schemas.s": {"action": "delete", "remote_state": {"catalog_name": "main", "name": "s", "full_name": "main.s"}}, "volumes.raw": {"action": "skip"}"#
            ),
        ],
    },
    |cx, out| {
        for lost in cx.world.lost_with_parent() {
            let container = lost
                .container
                .strip_prefix("resources.")
                .unwrap_or(lost.container);
            let how = if lost.recreated {
                "recreated"
            } else {
                "deleted"
            };
            let what = if lost.kind == "pipelines" {
                "publishes to"
            } else {
                "lives in"
            };
            let found = Found::at(
                &lost.resource,
                format!(
                    "It {what} {}, which is {how} with everything in it ({container}).",
                    quoted(&lost.namespace.full_name())
                ),
            );
            let impact = if lost.kind == "pipelines" {
                "The tables that the pipeline publishes there are dropped with the schema; the pipeline itself stays and fails."
            } else {
                impact::of(&lost.kind).text
            };
            out.push(found.impact(with_register(impact, cx.policy, &lost.resource)));
        }
        for e in cx.world.placeless() {
            out.push(Found::on(e, "A schema or catalog is deleted or recreated, and it cannot be told whether this lives in it.").done().unknown());
        }
    }
);

rule!(
    Recreate,
    Doc {
        id: "recreate",
        family: Family::Actions,
        trigger: "A resource is deleted and made again (job_runs aside).",
        impact: "What it holds is gone; it comes back empty, with another id.",
        remedy: "Undo the change of the field that cannot be changed in place, or plan the move: copy first, approve, deploy.",
        source: "Databricks CLI 1.13: action recreate, reason immutable or id_field",
        needs: &[],
        examples: &[
            fires(
                r#""apps.portal": {"action": "recreate", "new_state": {"value": {"name": "portal2"}}, "remote_state": {"name": "portal"}, "changes": {"name": {"action": "recreate", "old": "portal", "new": "portal2", "remote": "portal"}}}"#
            ),
            quiet(
                r#""job_runs.migrate": {"action": "recreate", "new_state": {"value": {"job_id": 1}}, "remote_state": {"job_id": 1}, "changes": {"job_id": {"action": "recreate", "old": 2, "new": 1, "remote": 1}}}"#
            ),
        ],
    },
    |cx, out| {
        for e in cx
            .world
            .resources()
            .filter(|e| e.action() == Action::Recreate && e.kind() != "job_runs")
        {
            let cause = e
                .entry
                .changes
                .iter()
                .find(|(_, c)| c.action == Action::Recreate);
            let because = cause.map_or(String::new(), |(p, _)| {
                format!(
                    ": {} cannot be changed in place",
                    crate::text::visible(&p.to_string())
                )
            });
            let mut found = Found::on(
                e,
                format!(
                    "The {}{} is deleted and made again{because}.",
                    singular(e.kind()),
                    called(cx, e)
                ),
            );
            if let Some((path, change)) = cause {
                found = found
                    .path(path.clone())
                    .old(change.old.as_ref())
                    .new(change.new.as_ref())
                    .remote(change.remote.as_ref());
            }
            let impact = impact::recreated(e.kind());
            out.push(found.impact(with_register(&impact, cx.policy, e.key().resource())));
        }
    }
);

rule!(
    Rename,
    Doc {
        id: "rename",
        family: Family::Actions,
        trigger: "A resource gets another id in place (update_id).",
        impact: "What refers to the old name or id breaks: queries, paths, grants made outside the bundle.",
        remedy: "Look for readers of the old name before you approve.",
        source: "Databricks CLI 1.13: action update_id, reason id_changes",
        needs: &[],
        examples: &[
            fires(
                r#""volumes.raw": {"action": "update_id", "new_state": {"value": {"name": "landing"}}, "remote_state": {"name": "raw"}, "changes": {"name": {"action": "update_id", "old": "raw", "new": "landing", "remote": "raw"}}}"#
            ),
            quiet(
                r#""volumes.raw": {"action": "update", "new_state": {"value": {"name": "raw", "comment": "x"}}, "remote_state": {"name": "raw"}, "changes": {"comment": {"action": "update", "new": "x"}}}"#
            ),
        ],
    },
    |cx, out| {
        for e in cx
            .world
            .resources()
            .filter(|e| e.action() == Action::UpdateId)
        {
            let mut found = Found::on(
                e,
                format!(
                    "The {}{} is renamed in place.",
                    singular(e.kind()),
                    called(cx, e)
                ),
            );
            if let Some((path, change)) = e
                .entry
                .changes
                .iter()
                .find(|(_, c)| c.action == Action::UpdateId)
            {
                found = found
                    .path(path.clone())
                    .old(change.old.as_ref())
                    .new(change.new.as_ref())
                    .remote(change.remote.as_ref());
            }
            out.push(found);
        }
    }
);

rule!(Protected, Doc {
    id: "protected",
    family: Family::Actions,
    trigger: "A resource that the policy protects (`protect`) is deleted, recreated or renamed.",
    impact: "The team has said that this resource must never be lost by a deploy.",
    remedy: "Take the change back. If it is meant, change `protect` in the policy first, in a review of its own.",
    source: "the policy's protect list; prevent_destroy of the YAML is gone as soon as its block is (Databricks CLI 1.13, reproduced)",
    needs: &[],
    examples: &[
        fires(r#""volumes.raw": {"action": "delete", "remote_state": {"catalog_name": "main", "schema_name": "s", "name": "raw"}}"#).policy("protect: [\"volumes.raw\"]"),
        quiet(r#""volumes.raw": {"action": "update", "new_state": {"value": {"name": "raw", "comment": "x"}}, "remote_state": {"name": "raw"}, "changes": {"comment": {"action": "update", "new": "x"}}}"#).policy("protect: [\"volumes.raw\"]"),
        quiet(r#""volumes.raw": {"action": "delete", "remote_state": {"name": "raw"}}"#).policy("protect: [\"volumes.other\"]"),
    ],
}, |cx, out| {
    for e in cx.world.resources().filter(|e| e.loses() || e.action() == Action::UpdateId) {
        let name = cx.world.remote_name(e);
        if let Some(by) = cx.policy.is_protected(e.key().resource(), name.as_deref()) {
            let what = match e.action() {
                Action::Delete => "deleted",
                Action::Recreate => "deleted and made again",
                _ => "renamed",
            };
            out.push(Found::on(e, format!("It is protected by the policy ({by}) and is {what}.", by = quoted(by.value.as_str()))).impact(impact::of(e.kind()).text));
        }
    }
});

rule!(
    RenamedKey,
    Doc {
        id: "renamed-key",
        family: Family::Actions,
        trigger: "A resource is deleted and one of the same type and name is created: its key in the bundle was renamed.",
        impact: "What looks like a rename in the YAML is a loss: the new resource starts empty, with another id.",
        remedy: "Rename the key back, or hand the resource over: `databricks bundle deployment unbind <old key>` before the rename, `databricks bundle deployment bind <new key> <id>` after it.",
        source: "Databricks CLI 1.13, reproduced: job-rename-key",
        needs: &[],
        examples: &[
            fires(
                r#""jobs.report": {"action": "delete", "remote_state": {"name": "report"}}, "jobs.monthly": {"action": "create", "new_state": {"value": {"name": "report"}}}"#
            ),
            quiet(
                r#""jobs.report": {"action": "delete", "remote_state": {"name": "report"}}, "jobs.monthly": {"action": "create", "new_state": {"value": {"name": "monthly"}}}"#
            ),
            unknown(
                r#""apps.portal": {"action": "create", "new_state": {"value": {"name": "portal"}}}, "jobs.report": {"action": "delete", "remote_state": {"name": "report"}}, "jobs.monthly": {"action": "create", "depends_on": [{"node": "resources.apps.portal"}], "new_state": {"value": {"name": ""}, "vars": {"name": "${resources.apps.portal.url}"}}}"#
            ),
        ],
    },
    |cx, out| {
        for (e, name, successor) in cx.world.renamed_keys() {
            match successor {
                Successor::Is(new) => out.push(
                    Found::on(e, format!("It is deleted and made again under the key {}: the {} {} was renamed in the YAML only.", new.key().resource(), singular(e.kind()), quoted(&name)))
                        .impact(impact::recreated(e.kind())),
                ),
                Successor::Unknown(new, text) => {
                    let message = format!(
                        "It cannot be told whether {} is its new key: that name waits for {}.",
                        new.key().resource(),
                        crate::text::visible(&text)
                    );
                    out.push(Found::on(e, message).unknown());
                }
            }
        }
    }
);

rule!(
    MissingRemote,
    Doc {
        id: "missing-remote",
        family: Family::Actions,
        trigger: "A resource that the state knows is created again: someone deleted it by hand.",
        impact: "It gets another id and starts empty; what referred to the old one stays broken until it is updated.",
        remedy: "Find out who deleted it and why; restore it (Unity Catalog: UNDROP within 7 days) or bind another one before you deploy.",
        source: "Databricks CLI 1.13, reproduced: pipeline-missing-remote",
        needs: &[Need::State],
        examples: &[
            fires(
                r#""jobs.report": {"action": "create", "new_state": {"value": {"name": "report"}}}"#
            )
            .state(r#""jobs.report": {"name": "report"}"#),
            quiet(
                r#""jobs.report": {"action": "create", "new_state": {"value": {"name": "report"}}}"#
            )
            .state(r#""jobs.other": {"name": "other"}"#),
        ],
    },
    |cx, out| {
        if cx.world.inputs.plan.lineage.is_none() {
            return;
        }
        for e in cx
            .world
            .resources()
            .filter(|e| e.action() == Action::Create)
        {
            if let Some(deployed) = e.deployed {
                let id = deployed
                    .id
                    .as_deref()
                    .map_or(String::new(), |i| format!(" with the id {}", quoted(i)));
                out.push(
                    Found::on(
                        e,
                        format!("It was deployed{id} and is gone: it is made again."),
                    )
                    .impact(impact::recreated(e.kind())),
                );
            }
        }
    }
);

rule!(
    BlastRadius,
    Doc {
        id: "blast-radius",
        family: Family::Actions,
        trigger: "The plan has more creates, changes, deletes or recreates than the policy's `limits` allow.",
        impact: "A deploy of this size is rarely one change: a renamed bundle, a wrong target or a mass edit looks like this.",
        remedy: "Split the change, or approve it after reading it whole.",
        source: "the policy's limits; entries count as in the CLI, job_runs and what is already gone aside",
        needs: &[],
        examples: &[
            fires(r#""jobs.a": {"action": "delete", "remote_state": {"name": "a"}}"#)
                .policy("limits: {delete: 0}"),
            quiet(r#""jobs.a": {"action": "delete", "remote_state": {"name": "a"}}"#)
                .policy("limits: {delete: 1}"),
            quiet(r#""jobs.a": {"action": "delete", "gone": true}"#).policy("limits: {delete: 0}"),
        ],
    },
    |cx, out| {
        let count = |wanted: &[Action]| {
            cx.world
                .effects()
                .iter()
                .filter(|e| {
                    wanted.contains(&e.action()) && !e.entry.is_gone() && e.kind() != "job_runs"
                })
                .count() as u64
        };
        let limits = &cx.policy.limits;
        for (name, limit, actions, words) in [
            ("create", &limits.create, &[Action::Create][..], "created"),
            (
                "change",
                &limits.change,
                &[Action::Update, Action::UpdateId, Action::Resize],
                "changed",
            ),
            (
                "recreate",
                &limits.recreate,
                &[Action::Recreate],
                "recreated",
            ),
            ("delete", &limits.delete, &[Action::Delete], "deleted"),
        ] {
            let Some(limit) = limit else { continue };
            let n = count(actions);
            if n > limit.value {
                out.push(
                    Found::deployment(format!(
                        "{n} entries are {words}; the policy allows {}.",
                        limit.value
                    ))
                    .path(FieldPath::of(&["limits", name]))
                    .from_to(Some(&limit.value.to_string()), Some(&n.to_string())),
                );
            }
        }
    }
);
