//! Guards as they stand: `cascade_on_destroy` that nobody set, and `lifecycle.prevent_destroy`.

use crate::effect::{Effect, Field};
use crate::impact::is_data_bearing;
use crate::json::Value;
use crate::plan::Action;
use crate::text::visible;

use super::super::{Context, Doc, Family, Found, Need, Rule, fires, quiet, unknown};

const PREVENT: &[&str] = &["lifecycle", "prevent_destroy"];

/// Whether the bundle JSON guards a resource (or one configuration of it) by `prevent_destroy: true`.
pub(crate) fn prevents_destroy(config: &Value) -> bool {
    config.at(PREVENT).and_then(Value::as_bool) == Some(true)
}

rule!(
    CascadeUnset,
    Doc {
        id: "cascade-unset",
        family: Family::State,
        trigger: "A pipeline has no explicit cascade_on_destroy.",
        impact: "Whether deleting or recreating the pipeline drops its tables depends on the server's default and the publishing mode.",
        remedy: "Set cascade_on_destroy: false and deploy it; it is read from the last deploy's state.",
        source: "Databricks CLI 1.13, reproduced: pipeline-destroy-cascade-unset, cascade-unset-update; the plan lists the field whenever it was deployed",
        needs: &[],
        examples: &[
            fires(
                r#""pipelines.orders": {"action": "create", "new_state": {"value": {"name": "orders"}}}"#
            ),
            fires(r#""pipelines.orders": {"action": "skip", "remote_state": {"name": "orders"}}"#),
            quiet(
                r#""pipelines.orders": {"action": "create", "new_state": {"value": {"name": "orders", "cascade_on_destroy": false}}}"#
            ),
            quiet(
                r#""pipelines.orders": {"action": "skip", "remote_state": {"name": "orders"}, "changes": {"cascade_on_destroy": {"action": "skip", "reason": "empty", "old": false, "new": false}}}"#
            ),
            quiet(
                r#""pipelines.orders": {"action": "delete", "remote_state": {"name": "orders"}}"#
            ),
            unknown(
                r#""apps.portal": {"action": "create", "new_state": {"value": {"name": "portal"}}}, "pipelines.orders": {"action": "create", "depends_on": [{"node": "resources.apps.portal"}], "new_state": {"value": {"name": "orders", "cascade_on_destroy": false}, "vars": {"cascade_on_destroy": "${resources.apps.portal.compute_active}"}}}"#
            ),
        ],
    },
    |cx, out| {
        const PATH: &[&str] = &["cascade_on_destroy"];
        for e in cx
            .world
            .of_kind("pipelines")
            .filter(|e| e.action() != Action::Delete)
        {
            match cx.world.standing_at(e, PATH) {
            Field::Absent => out.push(Found::on(e, "cascade_on_destroy is not set: what becomes of its tables when it is deleted is the server's choice.").field(PATH)),
            Field::Unknown(text) => out.push(Found::on(e, format!("cascade_on_destroy waits for {}.", visible(&text))).field(PATH).unknown()),
            Field::Known(_) => {}
        }
        }
    }
);

rule!(PreventDestroyMissing, Doc {
    id: "prevent-destroy-missing",
    family: Family::State,
    trigger: "A resource that holds data has no `lifecycle.prevent_destroy: true`.",
    impact: "The CLI will not refuse a deploy that recreates it, or `bundle destroy`.",
    remedy: "Set `lifecycle: {prevent_destroy: true}` on the resource; it protects only as long as its block is there, so list it under `protect` of the policy, too.",
    source: "Databricks CLI 1.13, reproduced: prevent-destroy-kept, prevent-destroy-removed-with-block",
    needs: &[Need::Bundle],
    examples: &[
        fires(r#""volumes.raw": {"action": "skip", "remote_state": {"name": "raw"}}"#).bundle(r#""resources": {"volumes": {"raw": {"name": "raw"}}}"#),
        quiet(r#""volumes.raw": {"action": "skip", "remote_state": {"name": "raw"}}"#).bundle(r#""resources": {"volumes": {"raw": {"name": "raw", "lifecycle": {"prevent_destroy": true}}}}"#),
        quiet(r#""jobs.report": {"action": "skip", "remote_state": {"name": "report"}}"#).bundle(r#""resources": {"jobs": {"report": {"name": "report"}}}"#),
    ],
}, |cx, out| {
    for e in cx.world.resources().filter(|e| e.action() != Action::Delete && is_data_bearing(e.kind())) {
        if e.config.is_some_and(|c| !prevents_destroy(c)) {
            out.push(Found::on(e, "It holds data and has no prevent_destroy.").field(PREVENT));
        }
    }
});

rule!(PreventDestroyBlocks, Doc {
    id: "prevent-destroy-blocks",
    family: Family::State,
    trigger: "The plan deletes or recreates a resource whose YAML says `prevent_destroy: true`.",
    impact: "The CLI refuses the deploy after it has uploaded the files: the workspace then has new code beside old definitions.",
    remedy: "Take the change back; or take prevent_destroy away in a change of its own, after deciding about the data.",
    source: "Databricks CLI 1.13, reproduced: `plan` does not look at prevent_destroy, deploy refuses (prevent-destroy-kept)",
    needs: &[Need::Bundle],
    examples: &[
        fires(r#""volumes.raw": {"action": "recreate", "new_state": {"value": {"name": "raw", "volume_type": "EXTERNAL"}}, "remote_state": {"name": "raw", "volume_type": "MANAGED"}, "changes": {"volume_type": {"action": "recreate", "old": "MANAGED", "new": "EXTERNAL", "remote": "MANAGED"}}}"#)
            .bundle(r#""resources": {"volumes": {"raw": {"name": "raw", "volume_type": "EXTERNAL", "lifecycle": {"prevent_destroy": true}}}}"#),
        quiet(r#""volumes.raw": {"action": "update", "new_state": {"value": {"name": "raw", "comment": "x"}}, "remote_state": {"name": "raw"}, "changes": {"comment": {"action": "update", "new": "x"}}}"#)
            .bundle(r#""resources": {"volumes": {"raw": {"name": "raw", "comment": "x", "lifecycle": {"prevent_destroy": true}}}}"#),
        quiet(r#""volumes.raw": {"action": "delete", "remote_state": {"name": "raw"}}"#).bundle(r#""resources": {}"#),
    ],
}, |cx, out| {
    let guarded = |e: &&Effect<'_>| e.loses() && e.config.is_some_and(prevents_destroy);
    for e in cx.world.resources().filter(guarded) {
        let how = if e.action() == Action::Recreate { "recreates" } else { "deletes" };
        out.push(Found::on(e, format!("The plan {how} it, and prevent_destroy: true forbids that: the deploy will fail half-way.")).field(PREVENT).new(Some(&Value::Bool(true))));
    }
});
