//! `starts-runs`: does the deploy itself set something running?

use crate::effect::{Effect, Field, World};
use crate::json::Value;
use crate::plan::{Action, FieldPath, Segment};

use super::super::{Context, Doc, Family, Found, Rule, fires, quiet, unknown};

rule!(
    StartsRuns,
    Doc {
        id: "starts-runs",
        family: Family::Actions,
        trigger: "The deploy starts work: a job_runs entry that will run, a job or pipeline that becomes continuous, a schedule or trigger that is switched on for something that exists.",
        impact: "Runs start without anybody pressing a button: they write data and cost money, and a continuous one does not stop.",
        remedy: "Deploy it paused and start it by hand, or approve the start.",
        source: "Databricks CLI 1.13, reproduced; Jobs API: an absent pause_status means UNPAUSED",
        needs: &[],
        examples: &[
            fires(
                r#""jobs.nightly": {"action": "update", "new_state": {"value": {"continuous": {"pause_status": "UNPAUSED"}}}, "remote_state": {}, "changes": {"continuous": {"action": "update", "new": {"pause_status": "UNPAUSED"}}}}"#
            ),
            fires(
                r#""job_runs.migrate": {"action": "create", "new_state": {"value": {"job_id": 1}}}"#
            ),
            fires(
                r#""pipelines.orders": {"action": "create", "new_state": {"value": {"continuous": true}}}"#
            ),
            quiet(
                r#""jobs.weekly": {"action": "create", "new_state": {"value": {"schedule": {"quartz_cron_expression": "0 0 3 * * ?"}}}}"#
            ),
            quiet(
                r#""jobs.nightly": {"action": "update", "new_state": {"value": {"schedule": {"quartz_cron_expression": "0 0 4 * * ?", "pause_status": "UNPAUSED"}}}, "remote_state": {"schedule": {"quartz_cron_expression": "0 0 3 * * ?"}}, "changes": {"schedule.quartz_cron_expression": {"action": "update", "old": "0 0 3 * * ?", "new": "0 0 4 * * ?", "remote": "0 0 3 * * ?"}}}"#
            ),
            unknown(
                r#""apps.portal": {"action": "create", "new_state": {"value": {"name": "portal"}}}, "jobs.nightly": {"action": "update", "depends_on": [{"node": "resources.apps.portal"}], "new_state": {"value": {"schedule": {"pause_status": ""}}, "vars": {"schedule.pause_status": "${resources.apps.portal.url}"}}, "remote_state": {}, "changes": {"schedule": {"action": "update", "new": {"pause_status": "${resources.apps.portal.url}"}}}}"#
            ),
        ],
    },
    |cx, out| {
        for e in cx
            .world
            .where_kind(|kind| matches!(kind, "job_runs" | "jobs" | "pipelines"))
        {
            match (e.kind(), e.action()) {
                (
                    "job_runs",
                    Action::Create | Action::Recreate | Action::Update | Action::UpdateId,
                ) => {
                    out.push(Found::on(e, "The deploy runs the job of this entry.").impact("The job runs once as part of the deploy, and again at each deploy that triggers it."));
                }
                ("jobs", Action::Create) => start(cx.world, e, &["continuous"], out),
                ("jobs", a) if a.is_update_like() => {
                    for field in ["continuous", "schedule", "trigger"] {
                        start(cx.world, e, &[field], out);
                    }
                    triggers(e, out);
                }
                ("pipelines", a) if a == Action::Create || a.is_update_like() => {
                    pipeline(cx.world, e, out)
                }
                _ => {}
            }
        }
    }
);

/// How a schedule, trigger or continuous setting stands.
#[derive(Debug, PartialEq)]
pub(in crate::rules) enum Runs {
    Yes,
    No,
    Cannot(String),
}

/// Whether a schedule, trigger or continuous setting runs, by itself and by its `pause_status`.
pub(in crate::rules) fn runs(whole: &Field<'_>, pause: &Field<'_>) -> Runs {
    match (whole, pause) {
        (Field::Unknown(text), _) | (_, Field::Unknown(text)) => Runs::Cannot(text.to_string()),
        (Field::Absent, _) => Runs::No,
        (Field::Known(v), _) if **v == Value::Null => Runs::No,
        (_, Field::Known(p)) if p.as_str().is_some_and(|p| p.eq_ignore_ascii_case("PAUSED")) => {
            Runs::No
        }
        _ => Runs::Yes,
    }
}

fn start<'a>(world: &World<'a>, e: &Effect<'a>, field: &[&str], out: &mut Vec<Found>) {
    let pause: Vec<&str> = field.iter().copied().chain(["pause_status"]).collect();
    let after = runs(&world.after_at(e, field), &world.after_at(e, &pause));
    let now = if e.action() == Action::Create {
        Runs::No
    } else {
        runs(&world.now_at(e, field), &world.now_at(e, &pause))
    };
    say(e, FieldPath::of(field), &now, &after, out);
}

/// Whether an item of `triggers` runs: it is not paused, and neither is the setting in it.
pub(in crate::rules) fn trigger_runs(trigger: &Value) -> bool {
    let paused = |v: &Value| {
        v.get("pause_status")
            .and_then(Value::as_str)
            .is_some_and(|p| p.eq_ignore_ascii_case("PAUSED"))
    };
    !paused(trigger)
        && trigger
            .as_object()
            .is_some_and(|o| !o.iter().any(|(_, inner)| paused(inner)))
}

/// `triggers` is a list of settings, each with its own pause (CLI 1.21).
fn triggers(e: &Effect<'_>, out: &mut Vec<Found>) {
    fn list(v: Option<&Value>) -> &[Value] {
        v.and_then(|v| v.get("triggers"))
            .and_then(Value::as_array)
            .unwrap_or_default()
    }
    let count = |items: &[Value]| items.iter().filter(|i| trigger_runs(i)).count();
    let (now, after) = (list(e.remote()), list(e.sent()));
    let mut path = FieldPath::of(&["triggers"]);
    if let Some(text) = e.waits_for(&path).or_else(|| {
        (0..after.len()).find_map(|i| {
            e.waits_for(
                &path
                    .join(Segment::Index(i))
                    .join(Segment::Field("pause_status".into())),
            )
        })
    }) {
        say(e, path, &Runs::No, &Runs::Cannot(text.to_owned()), out);
    } else if count(after) > count(now) {
        path.push(Segment::Any);
        say(e, path, &Runs::No, &Runs::Yes, out);
    }
}

fn pipeline<'a>(world: &World<'a>, e: &Effect<'a>, out: &mut Vec<Found>) {
    let truth = |f: &Field<'_>| match f {
        Field::Unknown(text) => Runs::Cannot(text.to_string()),
        Field::Known(v) if v.as_bool() == Some(true) => Runs::Yes,
        _ => Runs::No,
    };
    let now = if e.action() == Action::Create {
        Runs::No
    } else {
        truth(&world.now_at(e, &["continuous"]))
    };
    say(
        e,
        FieldPath::of(&["continuous"]),
        &now,
        &truth(&world.after_at(e, &["continuous"])),
        out,
    );
}

fn say(e: &Effect<'_>, path: FieldPath, now: &Runs, after: &Runs, out: &mut Vec<Found>) {
    let continuous = path.starts_with(&["continuous"]);
    match (now, after) {
        (Runs::No | Runs::Cannot(_), Runs::Yes) => {
            let message = if continuous {
                "It becomes continuous: it starts with the deploy and does not stop.".to_owned()
            } else {
                format!(
                    "Its {} is switched on: it runs from now on by itself.",
                    path.last_field().unwrap_or("schedule")
                )
            };
            let (old, new) = (
                e.in_changes(&path, |c| c.old.as_ref()),
                e.sent()
                    .and_then(|s| crate::effect::lookup(s, path.segments())),
            );
            out.push(Found::on(e, message).path(path.clone()).old(old).new(new));
        }
        (Runs::No | Runs::Cannot(_), Runs::Cannot(text)) => {
            out.push(
                Found::on(
                    e,
                    format!(
                        "Whether {path} is on waits for {}.",
                        crate::text::visible(text)
                    ),
                )
                .path(path)
                .unknown(),
            );
        }
        _ => {}
    }
}
