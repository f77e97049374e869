//! Configuration of an environment: what production should not look like.

use super::{Context, Doc, Family, Found, Need, Rule, fires, quiet, unknown};
use crate::effect::{Effect, Field};
use crate::json::Value;
use crate::plan::{Action, FieldPath, Segment};
use crate::text::{quoted, visible};

use super::actions::{Runs, runs, trigger_runs};

const SKIPPED: &str = r#""jobs.a": {"action": "skip", "remote_state": {"name": "a"}}"#;

rule!(
    ProductionMode,
    Doc {
        id: "production-mode",
        family: Family::Configuration,
        trigger: "The target is not `mode: production`.",
        impact: "The CLI's own checks for production are off: git branch, run_as, root path, development pipelines; in `mode: development` names get a prefix and schedules are paused.",
        remedy: "Set `mode: production` on the target.",
        source: "Databricks documentation: deployment modes",
        needs: &[Need::Bundle],
        examples: &[
            fires(SKIPPED).bundle(
                r#""bundle": {"mode": "development"}, "resources": {"jobs": {"a": {"name": "a"}}}"#
            ),
            fires(SKIPPED).bundle(r#""resources": {"jobs": {"a": {"name": "a"}}}"#),
            quiet(SKIPPED).bundle(
                r#""bundle": {"mode": "production"}, "resources": {"jobs": {"a": {"name": "a"}}}"#
            ),
        ],
    },
    |cx, out| {
        let Some(bundle) = cx.world.inputs.bundle else {
            return;
        };
        let mode = bundle.text(&["bundle", "mode"]);
        if mode != Some("production") {
            let message = match mode {
                Some(mode) => format!("The target has mode {}, not production.", quoted(mode)),
                None => "The target has no mode; production is expected.".to_owned(),
            };
            out.push(
                Found::deployment(message)
                    .field(&["bundle", "mode"])
                    .from_to(None, mode),
            );
        }
    }
);

rule!(
    DevelopmentPipeline,
    Doc {
        id: "development-pipeline",
        family: Family::Configuration,
        trigger: "A pipeline has `development: true`.",
        impact: "It does not retry after a failure, and its compute stays up after each update and costs money.",
        remedy: "Take `development: true` out, for production at least.",
        source: "Lakeflow documentation: development and production modes",
        needs: &[],
        examples: &[
            fires(
                r#""pipelines.orders": {"action": "create", "new_state": {"value": {"name": "orders", "development": true}}}"#
            ),
            quiet(
                r#""pipelines.orders": {"action": "create", "new_state": {"value": {"name": "orders"}}}"#
            ),
            quiet(
                r#""pipelines.orders": {"action": "delete", "remote_state": {"name": "orders", "development": true}}"#
            ),
            unknown(
                r#""apps.portal": {"action": "create", "new_state": {"value": {"name": "portal"}}}, "pipelines.orders": {"action": "create", "depends_on": [{"node": "resources.apps.portal"}], "new_state": {"value": {"name": "orders", "development": false}, "vars": {"development": "${resources.apps.portal.compute_active}"}}}"#
            ),
        ],
    },
    |cx, out| {
        for e in standing(cx, &["pipelines"]) {
            let says = |v: &Value| {
                v.as_bool() == Some(true)
                    || v.as_str().is_some_and(|s| s.eq_ignore_ascii_case("true"))
            };
            one_field(
                cx,
                e,
                "development",
                &says,
                "It runs in development mode.",
                out,
            );
        }
    }
);

rule!(
    PreviewChannel,
    Doc {
        id: "preview-channel",
        family: Family::Configuration,
        trigger: "A pipeline has `channel: PREVIEW`.",
        impact: "It gets a runtime that is not released yet, and new behaviour without a change of the code.",
        remedy: "Use `channel: CURRENT`, and PREVIEW in a staging target that runs the same code.",
        source: "Lakeflow documentation: runtime channels",
        needs: &[],
        examples: &[
            fires(
                r#""pipelines.orders": {"action": "create", "new_state": {"value": {"name": "orders", "channel": "PREVIEW"}}}"#
            ),
            quiet(
                r#""pipelines.orders": {"action": "create", "new_state": {"value": {"name": "orders", "channel": "CURRENT"}}}"#
            ),
            unknown(
                r#""apps.portal": {"action": "create", "new_state": {"value": {"name": "portal"}}}, "pipelines.orders": {"action": "create", "depends_on": [{"node": "resources.apps.portal"}], "new_state": {"value": {"name": "orders", "channel": ""}, "vars": {"channel": "${resources.apps.portal.description}"}}}"#
            ),
        ],
    },
    |cx, out| {
        for e in standing(cx, &["pipelines"]) {
            let says = |v: &Value| {
                v.as_str()
                    .is_some_and(|s| s.eq_ignore_ascii_case("PREVIEW"))
            };
            one_field(
                cx,
                e,
                "channel",
                &says,
                "It runs on the preview channel.",
                out,
            );
        }
    }
);

/// The resources of these types that are there after the deploy.
fn standing<'w, 'a>(
    cx: &Context<'w, 'a>,
    kinds: &'static [&'static str],
) -> impl Iterator<Item = &'w Effect<'a>> + use<'w, 'a> {
    cx.world
        .where_kind(|kind| kinds.contains(&kind))
        .filter(|e| e.action() != Action::Delete)
}

/// A finding where the field, as it stands, says what it should not.
fn one_field<'a>(
    cx: &Context<'_, 'a>,
    e: &Effect<'a>,
    field: &str,
    says: &dyn Fn(&Value) -> bool,
    message: &str,
    out: &mut Vec<Found>,
) {
    match cx.world.standing_at(e, &[field]) {
        Field::Known(v) if says(&v) => {
            out.push(Found::on(e, message).field(&[field]).new(Some(&v)));
        }
        Field::Unknown(text) => out.push(
            Found::on(e, format!("Its {field} waits for {}.", visible(&text)))
                .field(&[field])
                .unknown(),
        ),
        _ => {}
    }
}

rule!(
    GitBranch,
    Doc {
        id: "git-branch",
        family: Family::Configuration,
        trigger: "The bundle names a branch (`bundle.git.branch`) and was read from another, or from a checkout whose branch is not known.",
        impact: "Code of another branch goes to this target; `deploy --plan` does not make the CLI's own check of the branch.",
        remedy: "Check the named branch out and plan again; in CI check it out by name, not by its commit.",
        source: "Databricks CLI 1.13, reproduced: git-branch-mismatch",
        needs: &[Need::Bundle],
        examples: &[
            fires(SKIPPED).bundle(r#""bundle": {"git": {"branch": "main", "actual_branch": "feature"}}, "resources": {"jobs": {"a": {"name": "a"}}}"#),
            quiet(SKIPPED).bundle(r#""bundle": {"git": {"branch": "main", "actual_branch": "main"}}, "resources": {"jobs": {"a": {"name": "a"}}}"#),
            quiet(SKIPPED).bundle(r#""bundle": {"git": {"actual_branch": "feature"}}, "resources": {"jobs": {"a": {"name": "a"}}}"#),
            unknown(SKIPPED).bundle(r#""bundle": {"git": {"branch": "main"}}, "resources": {"jobs": {"a": {"name": "a"}}}"#),
        ],
    },
    |cx, out| {
        let Some(bundle) = cx.world.inputs.bundle else {
            return;
        };
        let git = |name: &str| bundle.text(&["bundle", "git", name]);
        let inferred = bundle.at(&["bundle", "git", "inferred"]).and_then(Value::as_bool) == Some(true);
        let Some(branch) = git("branch").filter(|_| !inferred) else {
            return;
        };
        let found = match git("actual_branch") {
            Some(actual) if actual == branch => return,
            Some(actual) => Found::deployment(format!("The bundle is for the branch {}, and was read from {}.", quoted(branch), quoted(actual))),
            None => Found::deployment(format!("The bundle is for the branch {}; which one it was read from is not known.", quoted(branch))).unknown(),
        };
        out.push(found.field(&["bundle", "git", "branch"]).from_to(Some(branch), git("actual_branch")));
    }
);

rule!(
    MaintenanceWindow,
    Doc {
        id: "maintenance-window",
        family: Family::Configuration,
        trigger: "A continuous job that runs has no `continuous.maintenance_window`.",
        impact: "Its compute is restarted for maintenance at any hour, also in the middle of the day's load.",
        remedy: "Set `continuous.maintenance_window` (CLI 1.16; in `triggers[].continuous` CLI 1.21): day_of_week, start_hour and time_zone_id are all required.",
        source: "Jobs API: continuous.maintenance_window",
        needs: &[],
        examples: &[
            fires(
                r#""jobs.a": {"action": "create", "new_state": {"value": {"name": "a", "continuous": {"pause_status": "UNPAUSED"}}}}"#
            ),
            quiet(
                r#""jobs.a": {"action": "create", "new_state": {"value": {"name": "a", "continuous": {"pause_status": "UNPAUSED", "maintenance_window": {"day_of_week": "SUNDAY", "start_hour": 3, "time_zone_id": "UTC"}}}}}"#
            ),
            quiet(
                r#""jobs.a": {"action": "create", "new_state": {"value": {"name": "a", "continuous": {"pause_status": "PAUSED"}}}}"#
            ),
            unknown(
                r#""apps.portal": {"action": "create", "new_state": {"value": {"name": "portal"}}}, "jobs.a": {"action": "create", "depends_on": [{"node": "resources.apps.portal"}], "new_state": {"value": {"name": "a", "continuous": {"pause_status": ""}}, "vars": {"continuous.pause_status": "${resources.apps.portal.description}"}}}"#
            ),
        ],
    },
    |cx, out| {
        const WINDOW: &[&str] = &["continuous", "maintenance_window"];
        for e in standing(cx, &["jobs"]) {
            let at = |names: &[&str]| cx.world.standing_at(e, names);
            let runs = runs(&at(&["continuous"]), &at(&["continuous", "pause_status"]));
            let found = match (runs, at(WINDOW)) {
                (Runs::No, _) => None,
                (_, Field::Known(window)) if !window.is_blank() => None,
                (_, Field::Unknown(text)) => Some(Found::on(e, format!("Its maintenance window waits for {}.", visible(&text))).unknown()),
                (Runs::Cannot(text), _) => Some(Found::on(e, format!("Whether it runs continuously waits for {}; it has no maintenance window.", visible(&text))).unknown()),
                (Runs::Yes, _) => Some(Found::on(e, "It runs continuously and has no maintenance window.")),
            };
            out.extend(found.map(|f| f.field(WINDOW)));
            for (i, trigger) in trigger_list(cx, e).iter().enumerate() {
                let continuous = trigger.get("continuous").filter(|c| **c != Value::Null);
                let bare = continuous
                    .is_some_and(|c| c.get("maintenance_window").is_none_or(Value::is_blank));
                let path = FieldPath::from(vec![
                    Segment::Field("triggers".into()),
                    Segment::Index(i),
                    Segment::Field("continuous".into()),
                    Segment::Field("maintenance_window".into()),
                ]);
                if bare && trigger_runs(trigger) && !e.is_open(&path) {
                    out.push(
                        Found::on(e, "It runs continuously and has no maintenance window.")
                            .path(path),
                    );
                }
            }
        }
    }
);

/// The list `triggers` of a job as it stands (CLI 1.21).
fn trigger_list<'a>(cx: &Context<'_, 'a>, e: &Effect<'a>) -> &'a [Value] {
    let list = cx.world.standing_value(e).and_then(|v| v.get("triggers"));
    list.and_then(Value::as_array).unwrap_or_default()
}

rule!(
    UnpausedOutsideProduction,
    Doc {
        id: "unpaused-outside-production",
        family: Family::Configuration,
        trigger: "A schedule, a trigger or a continuous setting runs in this target.",
        impact: "Work runs by itself in a target that is for rehearsal: it costs money, and it can write where production writes.",
        remedy: "Set `presets.trigger_pause_status: PAUSED` on the target, or `mode: development`.",
        source: "Databricks documentation: deployment modes and presets; an absent pause_status means UNPAUSED",
        needs: &[],
        examples: &[
            fires(r#""jobs.a": {"action": "skip", "remote_state": {"name": "a", "schedule": {"quartz_cron_expression": "0 0 3 * * ?"}}}"#).policy("rules: {unpaused-outside-production: warn}"),
            fires(r#""alerts.late": {"action": "skip", "remote_state": {"display_name": "late", "schedule": {"quartz_cron_schedule": "0 0 3 * * ?", "pause_status": "UNPAUSED"}}}"#).policy("rules: {unpaused-outside-production: warn}"),
            quiet(r#""jobs.a": {"action": "skip", "remote_state": {"name": "a", "schedule": {"quartz_cron_expression": "0 0 3 * * ?", "pause_status": "PAUSED"}}}"#).policy("rules: {unpaused-outside-production: warn}"),
            quiet(r#""jobs.a": {"action": "delete", "remote_state": {"name": "a", "schedule": {"quartz_cron_expression": "0 0 3 * * ?"}}}"#).policy("rules: {unpaused-outside-production: warn}"),
            unknown(r#""apps.portal": {"action": "create", "new_state": {"value": {"name": "portal"}}}, "jobs.a": {"action": "create", "depends_on": [{"node": "resources.apps.portal"}], "new_state": {"value": {"name": "a", "schedule": {"pause_status": ""}}, "vars": {"schedule.pause_status": "${resources.apps.portal.description}"}}}"#).policy("rules: {unpaused-outside-production: warn}"),
        ],
    },
    |cx, out| {
        for e in standing(cx, &["jobs", "alerts", "quality_monitors"]) {
            for field in ["schedule", "trigger", "continuous"] {
                let at = |names: &[&str]| cx.world.standing_at(e, names);
                let found = match runs(&at(&[field]), &at(&[field, "pause_status"])) {
                    Runs::No => continue,
                    Runs::Yes if field == "continuous" => Found::on(e, "It runs continuously in this target."),
                    Runs::Yes => Found::on(e, format!("Its {field} runs in this target.")),
                    Runs::Cannot(text) => Found::on(e, format!("Whether its {field} runs waits for {}.", visible(&text))).unknown(),
                };
                out.push(found.field(&[field, "pause_status"]));
            }
            if trigger_list(cx, e).iter().any(trigger_runs) {
                out.push(Found::on(e, "A trigger of it runs in this target.").field(&["triggers"]));
            }
        }
    }
);

rule!(
    Unlocked,
    Doc {
        id: "unlocked",
        family: Family::Configuration,
        trigger: "The deployment lock is off (`bundle.deployment.lock.enabled: false`).",
        impact: "Two deploys can run at the same time and overwrite each other's state: resources are made twice or forgotten.",
        remedy: "Take `bundle.deployment.lock` out of the target; it is on by default.",
        source: "Databricks documentation: bundle.deployment.lock; `mode: development` switches it off",
        needs: &[Need::Bundle],
        examples: &[
            fires(SKIPPED).bundle(r#""bundle": {"deployment": {"lock": {"enabled": false}}}, "resources": {"jobs": {"a": {"name": "a"}}}"#),
            quiet(SKIPPED).bundle(r#""bundle": {"deployment": {"lock": {"enabled": true}}}, "resources": {"jobs": {"a": {"name": "a"}}}"#),
            quiet(SKIPPED).bundle(r#""resources": {"jobs": {"a": {"name": "a"}}}"#),
        ],
    },
    |cx, out| {
        let enabled = cx
            .world
            .inputs
            .bundle
            .and_then(|b| b.at(&["bundle", "deployment", "lock", "enabled"])?.as_bool());
        if enabled == Some(false) {
            out.push(
                Found::deployment("The deployment lock is off.").field(&["bundle", "deployment", "lock"]),
            );
        }
    }
);
