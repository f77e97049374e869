//! Guards: settings that decide whether a later command can delete data.

use crate::effect::{Effect, Field, World};
use crate::json::Value;
use crate::plan::{Action, FieldPath, Segment};

use super::super::{Context, Doc, Family, Found, Rule, fires, quiet, unknown};
use super::prevent::prevents_destroy;
use super::tables::cascade_deployed;

rule!(
    CascadeArmed,
    Doc {
        id: "cascade-armed",
        family: Family::State,
        trigger: "A pipeline stands with cascade_on_destroy: true.",
        impact: "The next delete of the pipeline, also by a renamed or dropped block, drops all its tables.",
        remedy: "Set cascade_on_destroy: false and deploy it; it is read from the last deploy's state.",
        source: "Databricks CLI 1.13, reproduced: pipeline-destroy-cascade-true",
        needs: &[],
        examples: &[
            fires(
                r#""pipelines.orders": {"action": "create", "new_state": {"value": {"cascade_on_destroy": true}}}"#
            ),
            fires(
                r#""pipelines.orders": {"action": "skip", "remote_state": {}, "changes": {"cascade_on_destroy": {"action": "skip", "reason": "input_only", "old": true, "new": true}}}"#
            ),
            quiet(
                r#""pipelines.orders": {"action": "create", "new_state": {"value": {"cascade_on_destroy": false}}}"#
            ),
            unknown(
                r#""apps.portal": {"action": "create", "new_state": {"value": {"name": "portal"}}}, "pipelines.orders": {"action": "create", "depends_on": [{"node": "resources.apps.portal"}], "new_state": {"value": {"cascade_on_destroy": ""}, "vars": {"cascade_on_destroy": "${resources.apps.portal.x}"}}}"#
            ),
        ],
    },
    |cx, out| {
        for e in cx
            .world
            .of_kind("pipelines")
            .filter(|e| e.action() != Action::Delete)
        {
            match cx.world.standing_at(e, &["cascade_on_destroy"]) {
                Field::Known(v) if v.as_bool() == Some(true) => {
                    out.push(
                        Found::on(
                            e,
                            "cascade_on_destroy is true: deleting the pipeline drops its tables.",
                        )
                        .field(&["cascade_on_destroy"])
                        .new(Some(&v)),
                    );
                }
                Field::Unknown(text) => out.push(
                    Found::on(
                        e,
                        format!(
                            "cascade_on_destroy waits for {}.",
                            crate::text::visible(&text)
                        ),
                    )
                    .field(&["cascade_on_destroy"])
                    .unknown(),
                ),
                _ => {}
            }
        }
    }
);

rule!(
    PurgeArmed,
    Doc {
        id: "purge-armed",
        family: Family::State,
        trigger: "purge_on_delete becomes true.",
        impact: "A later delete is final: the data cannot be restored within the retention time.",
        remedy: "Leave purge_on_delete out, or approve it knowing that the next delete is for good.",
        source: "Databricks CLI 1.13, reproduced: lakebase-purge-armed",
        needs: &[],
        examples: &[
            fires(
                r#""postgres_projects.db": {"action": "update", "new_state": {"value": {"purge_on_delete": true}}, "remote_state": {"name": "db"}, "changes": {"purge_on_delete": {"action": "update", "new": true}}}"#
            ),
            quiet(
                r#""postgres_projects.db": {"action": "update", "new_state": {"value": {"purge_on_delete": true, "display_name": "x"}}, "remote_state": {"name": "db"}, "changes": {"display_name": {"action": "update", "new": "x"}, "purge_on_delete": {"action": "skip", "reason": "input_only", "old": true, "new": true}}}"#
            ),
            unknown(
                r#""apps.portal": {"action": "create", "new_state": {"value": {"name": "portal"}}}, "postgres_projects.db": {"action": "create", "depends_on": [{"node": "resources.apps.portal"}], "new_state": {"value": {"purge_on_delete": ""}, "vars": {"purge_on_delete": "${resources.apps.portal.x}"}}}"#
            ),
        ],
    },
    |cx, out| {
        for e in cx.world.resources() {
            let before = if e.action() == Action::Create {
                Field::Absent
            } else {
                cx.world.now_at(e, &["purge_on_delete"])
            };
            if before.value().and_then(Value::as_bool) == Some(true) {
                continue;
            }
            match cx.world.after_at(e, &["purge_on_delete"]) {
                Field::Known(v) if v.as_bool() == Some(true) => out.push(
                    Found::on(
                        e,
                        "purge_on_delete becomes true: a later delete cannot be undone.",
                    )
                    .field(&["purge_on_delete"])
                    .old(before.value())
                    .new(Some(&v)),
                ),
                Field::Unknown(text) => out.push(
                    Found::on(
                        e,
                        format!("purge_on_delete waits for {}.", crate::text::visible(&text)),
                    )
                    .field(&["purge_on_delete"])
                    .unknown(),
                ),
                _ => {}
            }
        }
    }
);

rule!(
    DropInactiveTables,
    Doc {
        id: "drop-inactive-tables",
        family: Family::State,
        trigger: "pipelines.dropInactiveTables is true in a pipeline's configuration.",
        impact: "Every table that leaves the pipeline's code is dropped by its next update, without any plan showing it.",
        remedy: "Take the setting out; drop inactive tables by hand after looking at them.",
        source: "Lakeflow documentation: pipelines.dropInactiveTables",
        needs: &[],
        examples: &[
            fires(
                r#""pipelines.orders": {"action": "create", "new_state": {"value": {"configuration": {"pipelines.dropInactiveTables": "true"}}}}"#
            ),
            quiet(
                r#""pipelines.orders": {"action": "create", "new_state": {"value": {"configuration": {"pipelines.dropInactiveTables": "false"}}}}"#
            ),
            unknown(
                r#""apps.portal": {"action": "create", "new_state": {"value": {"name": "portal"}}}, "pipelines.orders": {"action": "create", "depends_on": [{"node": "resources.apps.portal"}], "new_state": {"value": {"configuration": {"pipelines.dropInactiveTables": ""}}, "vars": {"configuration.pipelines.dropInactiveTables": "${resources.apps.portal.x}"}}}"#
            ),
        ],
    },
    |cx, out| {
        const PATH: &[&str] = &["configuration", "pipelines.dropInactiveTables"];
        for e in cx
            .world
            .of_kind("pipelines")
            .filter(|e| e.action() != Action::Delete)
        {
            match cx.world.standing_at(e, PATH) {
                Field::Known(v) if is_true(&v) => out.push(
                    Found::on(
                        e,
                        "Tables that leave its code are dropped by its next update.",
                    )
                    .field(PATH)
                    .new(Some(&v)),
                ),
                Field::Unknown(text) => out.push(
                    Found::on(
                        e,
                        format!(
                            "pipelines.dropInactiveTables waits for {}.",
                            crate::text::visible(&text)
                        ),
                    )
                    .field(PATH)
                    .unknown(),
                ),
                _ => {}
            }
        }
    }
);

fn is_true(v: &Value) -> bool {
    v.as_bool() == Some(true)
        || v.as_str()
            .is_some_and(|s| s.trim().eq_ignore_ascii_case("true"))
}

fn is_false(v: &Value) -> bool {
    v.as_bool() == Some(false)
        || v.as_str()
            .is_some_and(|s| s.trim().eq_ignore_ascii_case("false"))
}

rule!(GuardRemoved, Doc {
    id: "guard-removed",
    family: Family::State,
    trigger: "A guard gets weaker: cascade_on_destroy from false to anything else, pipelines.reset.allowed \"false\" taken out or turned, with --base-bundle also prevent_destroy.",
    impact: "Nothing is lost yet; from this deploy on a delete drops the tables, or a full refresh can reset them.",
    remedy: "Keep the guard, or take it away in a change of its own that says why.",
    source: "Databricks CLI 1.13, reproduced: guards-weakened, prevent-destroy-removed-with-block",
    needs: &[],
    examples: &[
        fires(r#""pipelines.orders": {"action": "update", "new_state": {"value": {"cascade_on_destroy": true}}, "remote_state": {}, "changes": {"cascade_on_destroy": {"action": "update", "old": false, "new": true}}}"#),
        fires(r#""pipelines.orders": {"action": "update", "new_state": {"value": {}}, "remote_state": {"configuration": {"pipelines.reset.allowed": "false"}}, "changes": {"configuration['pipelines.reset.allowed']": {"action": "update", "old": "false", "remote": "false"}}}"#),
        fires(r#""volumes.raw": {"action": "skip", "remote_state": {"name": "raw"}}"#)
            .bundle(r#""resources": {"volumes": {"raw": {"name": "raw"}}}"#)
            .base_bundle(r#""resources": {"volumes": {"raw": {"name": "raw", "lifecycle": {"prevent_destroy": true}}}}"#),
        quiet(r#""pipelines.orders": {"action": "update", "new_state": {"value": {"cascade_on_destroy": false, "photon": true}}, "remote_state": {}, "changes": {"photon": {"action": "update", "new": true}, "cascade_on_destroy": {"action": "skip", "reason": "input_only", "old": false, "new": false}}}"#),
        unknown(r#""apps.portal": {"action": "create", "new_state": {"value": {"name": "portal"}}}, "pipelines.orders": {"action": "update", "depends_on": [{"node": "resources.apps.portal"}], "new_state": {"value": {"cascade_on_destroy": ""}, "vars": {"cascade_on_destroy": "${resources.apps.portal.x}"}}, "remote_state": {}, "changes": {"cascade_on_destroy": {"action": "update", "old": false, "new": "${resources.apps.portal.x}"}}}"#),
    ],
}, |cx, out| {
    for e in cx.world.of_kind("pipelines").filter(|e| e.action().is_update_like()) {
        cascade(cx.world, e, out);
        reset_allowed(cx.world, e, out);
    }
    prevent_destroy(cx, out);
});

fn cascade<'a>(world: &World<'a>, e: &Effect<'a>, out: &mut Vec<Found>) {
    const PATH: &[&str] = &["cascade_on_destroy"];
    if cascade_deployed(world, e) != Some(Some(false)) {
        return;
    }
    match world.after_at(e, PATH) {
        Field::Known(v) if v.as_bool() == Some(false) => {}
        Field::Unknown(text) => out.push(
            Found::on(
                e,
                format!(
                    "cascade_on_destroy was false and waits for {}.",
                    crate::text::visible(&text)
                ),
            )
            .field(PATH)
            .unknown(),
        ),
        after => {
            let to = after.value().map_or("unset".to_owned(), Value::to_json);
            out.push(Found::on(e, format!("cascade_on_destroy was false and becomes {to}: deleting the pipeline will no longer keep its tables.")).field(PATH).old(Some(&Value::Bool(false))).new(after.value()));
        }
    }
}

fn reset_allowed<'a>(world: &World<'a>, e: &Effect<'a>, out: &mut Vec<Found>) {
    const PATH: &[&str] = &["configuration", "pipelines.reset.allowed"];
    let now = world.now_at(e, PATH);
    if !now.value().is_some_and(is_false) {
        return;
    }
    match world.after_at(e, PATH) {
        Field::Known(v) if is_false(&v) => {}
        Field::Unknown(text) => out.push(Found::on(e, format!("pipelines.reset.allowed was false and waits for {}.", crate::text::visible(&text))).field(PATH).unknown()),
        after => out.push(
            Found::on(e, "pipelines.reset.allowed: \"false\" is taken away: a full refresh can reset its tables.")
                .field(PATH)
                .old(now.value())
                .new(after.value())
                .impact("A full refresh truncates the streaming tables and removes their checkpoints; what the sources no longer keep is gone."),
        ),
    }
}

/// `prevent_destroy` is read from the YAML of the day: without its block it protects nothing.
fn prevent_destroy(cx: &Context<'_, '_>, out: &mut Vec<Found>) {
    let (Some(base), Some(bundle)) = (cx.world.inputs.base_bundle, cx.world.inputs.bundle) else {
        return;
    };
    for (kind, name, _) in base.resources().filter(|(_, _, c)| prevents_destroy(c)) {
        if bundle
            .at(&["resources", kind, name])
            .filter(|c| c.get("modified_status").and_then(Value::as_str) != Some("deleted"))
            .is_some_and(prevents_destroy)
        {
            continue;
        }
        let found = match cx.world.effect(&format!("resources.{kind}.{name}")) {
            Some(e) => Found::on(e, "prevent_destroy: true is taken away: the CLI will no longer refuse to delete or recreate it.").done(),
            None => Found::at(&format!("{kind}.{name}"), "prevent_destroy: true is taken away together with its block: the CLI no longer refuses to delete it."),
        };
        out.push(
            found
                .path(FieldPath::from(vec![
                    Segment::Field("lifecycle".into()),
                    Segment::Field("prevent_destroy".into()),
                ]))
                .old(Some(&Value::Bool(true))),
        );
    }
}
