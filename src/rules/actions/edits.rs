//! Fields: edits by hand that the deploy overwrites, fields that return to their default.

use crate::effect::same;
use crate::json::Value;
use crate::plan::{FieldPath, Segment};

use super::super::{Context, Doc, Family, Found, Rule, fires, quiet, unknown};

rule!(
    RemoteEdit,
    Doc {
        id: "remote-edit",
        family: Family::Actions,
        trigger: "The bundle does not change a field, but the workspace has another value, and the deploy overwrites it (dashboards and Genie spaces: by their etag).",
        impact: "Someone's edit in the workspace is lost.",
        remedy: "Take the edit over into the bundle (`databricks bundle generate` for dashboards), or approve its loss after asking who made it.",
        source: "Databricks CLI 1.13, reproduced: `deploy --plan` overwrites an edited dashboard without --force",
        needs: &[],
        examples: &[
            fires(
                r#""dashboards.overview": {"action": "update", "new_state": {"value": {"display_name": "o"}}, "remote_state": {"display_name": "o", "etag": "2"}, "changes": {"etag": {"action": "update", "old": "1", "remote": "2"}}}"#
            ),
            fires(
                r#""jobs.report": {"action": "update", "new_state": {"value": {"max_concurrent_runs": 1}}, "remote_state": {"max_concurrent_runs": 5}, "changes": {"max_concurrent_runs": {"action": "update", "old": 1, "new": 1, "remote": 5}}}"#
            ),
            quiet(
                r#""jobs.report": {"action": "update", "new_state": {"value": {"max_concurrent_runs": 2}}, "remote_state": {"max_concurrent_runs": 1}, "changes": {"max_concurrent_runs": {"action": "update", "old": 1, "new": 2, "remote": 1}}}"#
            ),
            unknown(
                r#""apps.portal": {"action": "create", "new_state": {"value": {"name": "portal"}}}, "jobs.report": {"action": "update", "depends_on": [{"node": "resources.apps.portal"}], "new_state": {"value": {"description": ""}, "vars": {"description": "${resources.apps.portal.url}"}}, "remote_state": {"description": "edited"}, "changes": {"description": {"action": "update", "old": "https://portal.example.com", "new": "${resources.apps.portal.url}", "remote": "edited"}}}"#
            ),
        ],
    },
    |cx, out| {
        for e in cx
            .world
            .effects()
            .iter()
            .filter(|e| e.action().is_update_like())
        {
            let etag = FieldPath::of(&["etag"]);
            if matches!(e.kind(), "dashboards" | "genie_spaces")
                && let Some(change) = e.change(&etag)
                && change.old.is_some()
                && !same(None, change.old.as_ref(), change.remote.as_ref())
            {
                out.push(
                Found::on(e, "It was edited in the workspace since the last deploy; the deploy overwrites the edit.")
                    .path(etag)
                    .old(change.old.as_ref())
                    .remote(change.remote.as_ref()),
            );
                continue;
            }
            for (path, change) in e.entry.actionable() {
                let list = path.last_field();
                let identity = path.starts_with(&["run_as"]);
                if identity {
                    continue;
                }
                let name = if path.is_root() {
                    "The list".to_owned()
                } else {
                    crate::text::visible(&path.to_string())
                };
                if let Some(text) = e.waits_for(path) {
                    let differs = !same(list, change.old.as_ref(), change.remote.as_ref());
                    if differs
                        && change.old.is_some()
                        && change.remote.is_some()
                        && cx.world.resolve(text).is_none()
                    {
                        out.push(
                            Found::on(e, format!("{name} was changed in the workspace since the last deploy; what the deploy sets in its place waits for {}.", crate::text::visible(text)))
                                .path(path.clone())
                                .old(change.old.as_ref())
                                .remote(change.remote.as_ref())
                                .unknown(),
                        );
                    }
                    continue;
                }
                let edited = same(list, change.old.as_ref(), change.new.as_ref())
                    && !same(list, change.remote.as_ref(), change.new.as_ref());
                if edited && !e.is_open(path) {
                    out.push(
                    Found::on(e, format!("{name} was changed in the workspace since the last deploy; the deploy overwrites that."))
                        .path(path.clone())
                        .old(change.old.as_ref())
                        .new(change.new.as_ref())
                        .remote(change.remote.as_ref()),
                );
                }
            }
        }
    }
);

rule!(
    FieldReset,
    Doc {
        id: "field-reset",
        family: Family::Actions,
        trigger: "A field that was set is not in the bundle any more.",
        impact: "On the direct engine it returns to its default; with the Terraform engine it stayed as it was.",
        remedy: "Set the field again if the default is not meant.",
        source: "Databricks CLI 1.13, reproduced: field-reset",
        needs: &[],
        examples: &[
            fires(
                r#""jobs.report": {"action": "update", "new_state": {"value": {"name": "report"}}, "remote_state": {"name": "report", "timeout_seconds": 60}, "changes": {"timeout_seconds": {"action": "update", "old": 60, "remote": 60}}}"#
            ),
            quiet(
                r#""jobs.report": {"action": "update", "new_state": {"value": {"name": "report", "timeout_seconds": 90}}, "remote_state": {"name": "report", "timeout_seconds": 60}, "changes": {"timeout_seconds": {"action": "update", "old": 60, "new": 90, "remote": 60}}}"#
            ),
        ],
    },
    |cx, out| {
        for e in cx.world.resources().filter(|e| e.action().is_update_like()) {
            for (path, change) in e.entry.actionable() {
                let reset = change.old.as_ref().is_some_and(|v| !v.is_blank())
                    && change.new.as_ref().is_none_or(|v| *v == Value::Null);
                // An item of a list that is gone is a change of the list.
                let item = matches!(
                    path.segments().last(),
                    Some(Segment::Item(..) | Segment::Index(_)) | None
                );
                let told_elsewhere = path.starts_with(&["etag"]) || path.starts_with(&["run_as"]);
                if reset && !item && !told_elsewhere && !e.is_open(path) {
                    out.push(
                        Found::on(
                            e,
                            format!(
                                "{} was set and is not any more: it returns to its default.",
                                crate::text::visible(&path.to_string())
                            ),
                        )
                        .path(path.clone())
                        .old(change.old.as_ref())
                        .remote(change.remote.as_ref()),
                    );
                }
            }
        }
    }
);
