//! What becomes of a pipeline's tables.

use crate::effect::{Effect, Field, World};
use crate::json::Value;
use crate::plan::{Action, FieldPath, Mark, Segment, Trail};

use super::super::{Context, Doc, Family, Found, Rule, fires, quiet, unknown};
use super::register::with_register;

rule!(PipelineTables, Doc {
    id: "pipeline-tables",
    family: Family::State,
    trigger: "A pipeline is deleted or recreated.",
    impact: "Its checkpoints go; its tables are dropped, or kept as orphans that nothing updates.",
    remedy: "Decide about the tables first: set cascade_on_destroy in a deploy of its own before this one (it is read from the last deploy's state), back up what must stay, or move the tables to another pipeline while this one is alive (pipelines.pipelineId).",
    source: "Databricks CLI 1.13, reproduced; publishing modes and the server's default of 2026-09-25 as documented by Databricks",
    needs: &[],
    examples: &[
        fires(r#""pipelines.orders": {"action": "delete", "remote_state": {"catalog": "main", "effective_publishing_mode": "DEFAULT_PUBLISHING_MODE"}}"#).state(r#""pipelines.orders": {"cascade_on_destroy": false}"#),
        quiet(r#""pipelines.orders": {"action": "delete", "gone": true}"#),
        quiet(r#""pipelines.orders": {"action": "update", "new_state": {"value": {"photon": true}}, "remote_state": {}, "changes": {"photon": {"action": "update", "new": true}}}"#),
    ],
}, |cx, out| {
    for e in cx.world.of_kind("pipelines").filter(|e| e.loses()) {
        let fate = fate(cx.world, e);
        let again = if e.action() == Action::Recreate {
            " After the recreate the first update fails with \"Table ... is already managed by pipeline ...\" as long as kept tables stand in its way: drop or move them before; a full refresh does not help."
        } else {
            ""
        };
        let found = Found::on(e, fate.message()).field(&["cascade_on_destroy"]);
        let impact = format!("{} Its checkpoints and its event log go in any case.{again}", fate.impact());
        out.push(found.impact(with_register(&impact, cx.policy, e.key().resource())));
    }
});

/// What becomes of the tables of a pipeline that is deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It publishes to the Hive metastore: dropped, whatever `cascade_on_destroy` says.
    DroppedHive,
    /// Legacy publishing mode: dropped.
    DroppedLegacy,
    /// `cascade_on_destroy: true` was deployed: dropped.
    Dropped,
    /// `cascade_on_destroy: false` was deployed: kept, and nothing updates them.
    Orphaned,
    /// It was never set: the server's default decides.
    ServerDecides,
    /// Nothing that was given tells what was deployed.
    CannotTell,
}

impl Fate {
    /// What becomes of them, in one sentence.
    pub(crate) fn message(self) -> &'static str {
        match self {
            Fate::DroppedHive => {
                "Its tables in the Hive metastore are dropped with it, whatever cascade_on_destroy says."
            }
            Fate::DroppedLegacy => {
                "Its tables are dropped with it: it publishes in the legacy mode."
            }
            Fate::Dropped => {
                "Its tables are dropped with it: cascade_on_destroy: true was deployed."
            }
            Fate::Orphaned => {
                "Its tables are kept and orphaned: cascade_on_destroy: false was deployed."
            }
            Fate::ServerDecides => {
                "What becomes of its tables is the server's default: cascade_on_destroy was never set."
            }
            Fate::CannotTell => {
                "What becomes of its tables cannot be told: the last deploy's cascade_on_destroy is not known (give --state)."
            }
        }
    }

    /// What that means.
    pub(crate) fn impact(self) -> &'static str {
        match self {
            Fate::DroppedHive => {
                "All tables of the pipeline and their data are dropped; UNDROP does not work on the Hive metastore."
            }
            Fate::DroppedLegacy | Fate::Dropped => {
                "All its streaming tables and materialized views are dropped with their data; UNDROP brings tables of Unity Catalog back within 7 days."
            }
            Fate::Orphaned => {
                "The tables stay readable, are never updated again and are still paid for; their owner stays the identity that was run_as."
            }
            Fate::ServerDecides => {
                "In the default publishing mode the server keeps the tables since 2026-09-25 (readable, never updated again) and dropped them before; never count on it."
            }
            Fate::CannotTell => {
                "The tables are dropped or orphaned, depending on what was deployed."
            }
        }
    }
}

/// What becomes of the tables of a pipeline when it is deleted now.
#[must_use]
pub(crate) fn fate(world: &World<'_>, e: &Effect<'_>) -> Fate {
    let now = e.remote().or_else(|| e.deployed.map(|d| &d.config));
    fate_by(now, cascade_deployed(world, e))
}

/// The same by the pipeline as it is now and the `cascade_on_destroy` that counts: outer `None`, nothing tells; inner, it is not set.
#[must_use]
pub(crate) fn fate_by(now: Option<&Value>, cascade: Option<Option<bool>>) -> Fate {
    let text = |name: &str| {
        now.and_then(|v| v.get(name))
            .and_then(Value::as_str)
            .filter(|t| !t.is_empty())
    };
    if now.is_some() && text("catalog").is_none() {
        return Fate::DroppedHive;
    }
    match text("effective_publishing_mode") {
        Some("DEFAULT_PUBLISHING_MODE") => {}
        Some("LEGACY_PUBLISHING_MODE") => return Fate::DroppedLegacy,
        _ if text("target").is_some() && text("schema").is_none() => return Fate::DroppedLegacy,
        _ => {}
    }
    match cascade {
        Some(Some(true)) => Fate::Dropped,
        Some(Some(false)) => Fate::Orphaned,
        Some(None) => Fate::ServerDecides,
        None => Fate::CannotTell,
    }
}

/// The deployed `cascade_on_destroy`: outer `None`, nothing tells; inner `None`, it was not set.
pub(crate) fn cascade_deployed(world: &World<'_>, e: &Effect<'_>) -> Option<Option<bool>> {
    if let Some(deployed) = e.deployed {
        return Some(
            deployed
                .config
                .get("cascade_on_destroy")
                .and_then(Value::as_bool),
        );
    }
    if let Some(old) = e.in_changes_at(&["cascade_on_destroy"], |c| c.old.as_ref()) {
        return Some(old.as_bool());
    }
    // The plan lists the field in its changes whenever it was deployed (CLI 1.13); a delete has none at all.
    let told = e.action() != Action::Delete
        && e.action() != Action::Create
        && e.remote().is_some()
        && world.inputs.plan.lineage.is_some();
    told.then_some(None)
}

rule!(
    DatasetMove,
    Doc {
        id: "dataset-move",
        family: Family::State,
        trigger: "`catalog`, `schema` or `target` of a pipeline changes in place.",
        impact: "New tables are made in the new place and filled from the start; the old ones become inactive, stay where they are, and readers keep reading stale data.",
        remedy: "Move the readers, and decide about the old tables and the history that the sources no longer keep, before you approve.",
        source: "Databricks CLI 1.13, reproduced: planned as a mere update; Lakeflow documentation",
        needs: &[],
        examples: &[
            fires(
                r#""pipelines.orders": {"action": "update", "new_state": {"value": {"catalog": "main", "schema": "v2"}}, "remote_state": {"catalog": "main", "schema": "v1"}, "changes": {"schema": {"action": "update", "old": "v1", "new": "v2", "remote": "v1"}}}"#
            ),
            quiet(
                r#""pipelines.orders": {"action": "update", "new_state": {"value": {"catalog": "main", "schema": "v1", "photon": true}}, "remote_state": {"catalog": "main", "schema": "v1"}, "changes": {"photon": {"action": "update", "new": true}}}"#
            ),
            unknown(
                r#""apps.portal": {"action": "create", "new_state": {"value": {"name": "portal"}}}, "pipelines.orders": {"action": "update", "depends_on": [{"node": "resources.apps.portal"}], "new_state": {"value": {"catalog": "main", "schema": ""}, "vars": {"schema": "${resources.apps.portal.url}"}}, "remote_state": {"catalog": "main", "schema": "v1"}, "changes": {"schema": {"action": "update", "old": "v1", "new": "${resources.apps.portal.url}", "remote": "v1"}}}"#
            ),
        ],
    },
    |cx, out| {
        for e in cx
            .world
            .of_kind("pipelines")
            .filter(|e| e.action().is_update_like() && e.action() != Action::Recreate)
        {
            for field in ["catalog", "schema", "target"] {
                let (now, after) = (cx.world.now_at(e, &[field]), cx.world.after_at(e, &[field]));
                let found = match (&now, &after) {
                    (_, Field::Unknown(text)) => Found::on(
                        e,
                        format!(
                            "Whether its {field} changes waits for {}.",
                            crate::text::visible(text)
                        ),
                    )
                    .field(&[field])
                    .unknown(),
                    _ if now.is_blank() && after.is_blank() => continue,
                    _ if moved(&now, &after) => {
                        let from = now.text().map_or("nowhere".to_owned(), crate::text::quoted);
                        let to = after
                            .text()
                            .map_or("nowhere".to_owned(), crate::text::quoted);
                        Found::on(e, format!("The pipeline publishes elsewhere: its {field} changes from {from} to {to}."))
                        .field(&[field])
                        .old(now.value())
                        .new(after.value())
                        .remote(e.remote().and_then(|r| r.get(field)))
                    }
                    _ => continue,
                };
                out.push(found.impact(with_register(
                    DatasetMove.doc().impact,
                    cx.policy,
                    e.key().resource(),
                )));
            }
        }
    }
);

/// Names in Unity Catalog and the Hive metastore do not tell cases apart.
fn moved(now: &Field<'_>, after: &Field<'_>) -> bool {
    let lower = |f: &Field<'_>| f.text().map(str::to_lowercase).unwrap_or_default();
    lower(now) != lower(after)
}

rule!(
    FullRefresh,
    Doc {
        id: "full-refresh",
        family: Family::State,
        trigger: "A task or a run asks for full_refresh: true or a full_refresh_selection.",
        impact: "A full refresh truncates the streaming tables and removes every checkpoint; records that the source no longer keeps are gone, and Rewind cannot go back before it.",
        remedy: "Run the refresh once by hand, after checking how much history the sources keep; protect tables by pipelines.reset.allowed = false.",
        source: "Lakeflow documentation: full refresh",
        needs: &[],
        examples: &[
            fires(
                r#""jobs.nightly": {"action": "create", "new_state": {"value": {"tasks": [{"task_key": "refresh", "pipeline_task": {"pipeline_id": "p", "full_refresh": true}}]}}}"#
            ),
            fires(
                r#""jobs.nightly": {"action": "create", "new_state": {"value": {"tasks": [{"task_key": "each", "for_each_task": {"task": {"task_key": "t", "pipeline_task": {"pipeline_id": "p", "full_refresh_selection": ["a"]}}}}]}}}"#
            ),
            quiet(
                r#""jobs.nightly": {"action": "create", "new_state": {"value": {"parameters": [{"name": "full_refresh", "default": "true"}], "tasks": [{"task_key": "refresh", "pipeline_task": {"pipeline_id": "p", "full_refresh": false}}]}}}"#
            ),
            unknown(
                r#""apps.portal": {"action": "create", "new_state": {"value": {"name": "portal"}}}, "jobs.nightly": {"action": "create", "depends_on": [{"node": "resources.apps.portal"}], "new_state": {"value": {"tasks": [{"task_key": "refresh", "pipeline_task": {"pipeline_id": "p", "full_refresh": ""}}]}, "vars": {"tasks[0].pipeline_task.full_refresh": "${resources.apps.portal.compute_active}"}}}"#
            ),
        ],
    },
    |cx, out| {
        for e in cx
            .world
            .where_kind(|kind| matches!(kind, "jobs" | "job_runs" | "pipelines"))
        {
            let Some(sent) = e.sent() else { continue };
            for (path, text) in e.entry.new_state.iter().flat_map(|s| &s.vars) {
                if is_refresh(path) && cx.world.resolve(text).is_none() {
                    out.push(
                        Found::on(
                            e,
                            format!(
                                "Whether it asks for a full refresh waits for {}.",
                                crate::text::visible(text)
                            ),
                        )
                        .path(path.clone())
                        .unknown(),
                    );
                }
            }
            let mut found = Vec::new();
            asks(sent, &mut Trail::default(), &mut found);
            for (path, value) in found {
                if e.waits_for(&path)
                    .is_some_and(|text| cx.world.resolve(text).is_none())
                {
                    continue;
                }
                let found = Found::on(
                    e,
                    "It asks for a full refresh: every run starts its tables from nothing.",
                );
                let impact = FullRefresh.doc().impact;
                out.push(
                    match refreshed(cx.world, e, &path) {
                        Some(key) => found.impact(with_register(impact, cx.policy, key)),
                        None => found,
                    }
                    .path(path)
                    .new(Some(value)),
                );
            }
        }
    }
);

/// The short key of the pipeline that a request for a full refresh at this path is about, where the plan shows it.
fn refreshed<'w>(world: &'w World<'_>, e: &'w Effect<'_>, path: &FieldPath) -> Option<&'w str> {
    if e.kind() == "pipelines" {
        return Some(e.key().resource());
    }
    let (_, task) = path.segments().split_last()?;
    let id_path = FieldPath::from(task.to_vec()).join(Segment::Field("pipeline_id".into()));
    let id = match world.after(e, &id_path) {
        Field::Known(v) => v.as_str()?.to_owned(),
        Field::Unknown(text) => {
            let node = crate::effect::nodes(&text).next()?;
            return world.effect(&node).map(|p| p.key().resource());
        }
        Field::Absent => return None,
    };
    let of_id = |p: &&Effect<'_>| {
        let remote = p.remote().and_then(|r| r.get("pipeline_id"));
        remote.and_then(Value::as_str) == Some(id.as_str())
    };
    let found = world.of_kind("pipelines").find(of_id);
    found.map(|p| p.key().resource())
}

fn is_refresh(path: &FieldPath) -> bool {
    path.segments().iter().any(|s| matches!(s, Segment::Field(f) if matches!(&**f, "full_refresh" | "full_refresh_selection")))
}

/// The fields that ask for a full refresh. Maps of the user's own (`parameters`) are not looked into.
fn asks<'v>(value: &'v Value, trail: &mut Trail<'v>, out: &mut Vec<(FieldPath, &'v Value)>) {
    match value {
        Value::Array(items) => {
            for (i, item) in items.iter().enumerate() {
                trail.push(Mark::Index(i));
                asks(item, trail, out);
                trail.pop();
            }
        }
        Value::Object(members) => {
            for (k, v) in members.iter() {
                if k == "parameters"
                    || k.ends_with("_parameters")
                    || k == "tags"
                    || k == "configuration"
                    || k == "spark_conf"
                {
                    continue;
                }
                trail.push(Mark::Field(k));
                let asked = match k {
                    "full_refresh" => {
                        v.as_bool() == Some(true)
                            || v.as_str().is_some_and(|s| s.eq_ignore_ascii_case("true"))
                    }
                    "full_refresh_selection" => !v.is_blank(),
                    _ => false,
                };
                if asked {
                    out.push((trail.path(), v));
                } else {
                    asks(v, trail, out);
                }
                trail.pop();
            }
        }
        _ => {}
    }
}
