//! What happens to `run_as`: changed, drifted, removed, other than the policy says.

use crate::effect::{Effect, RunAs, World, same_name};
use crate::json::Value;
use crate::plan::{Action, FieldPath};
use crate::policy::Level;
use crate::text::quoted;

use super::super::{Context, Doc, Family, Found, Need, Rule, fires, quiet, unknown};
use super::{consequences, named_by_policy, runners};

const RUN_AS: &[&str] = &["run_as"];

rule!(
    RunAsChange,
    Doc {
        id: "run-as-change",
        family: Family::Identity,
        trigger: "After the deploy a job, pipeline, alert or app runs as another identity than today.",
        impact: "It acts with the rights of another identity.",
        remedy: "Take the change back, or plan the move: name the new identity in `identity.run_as` of the policy; then a review is enough.",
        source: "Databricks CLI 1.13, reproduced: run-as-changed, run-as-added; only run_as_user_name is the truth",
        needs: &[],
        examples: &[
            fires(
                r#""jobs.nightly": {"action": "update", "new_state": {"value": {"run_as": {"service_principal_name": "b"}}}, "remote_state": {"run_as_user_name": "a", "run_as": {"service_principal_name": "a"}}, "changes": {"run_as.service_principal_name": {"action": "update", "old": "a", "new": "b", "remote": "a"}}}"#
            ),
            quiet(
                r#""jobs.nightly": {"action": "update", "new_state": {"value": {"run_as": {"service_principal_name": "a"}, "timeout_seconds": 1}}, "remote_state": {"run_as_user_name": "a"}, "changes": {"timeout_seconds": {"action": "update", "new": 1}}}"#
            ),
            unknown(
                r#""apps.portal": {"action": "create", "new_state": {"value": {"name": "portal"}}}, "jobs.nightly": {"action": "update", "depends_on": [{"node": "resources.apps.portal"}], "new_state": {"value": {"run_as": {"service_principal_name": ""}}, "vars": {"run_as.service_principal_name": "${resources.apps.portal.service_principal_client_id}"}}, "remote_state": {"run_as_user_name": "a"}, "changes": {"run_as": {"action": "update", "new": {"service_principal_name": ""}}}}"#
            ),
        ],
    },
    |cx, out| {
        for e in runners(cx.world).filter(|e| e.action().is_update_like()) {
            let today = cx.world.runs_as_today(e).or_else(|| {
                cx.world
                    .run_as_deployed(e)
                    .and_then(|r| r.principal().map(|p| p.name.clone()))
            });
            match cx.world.run_as_after(e) {
                RunAs::Is(after) => {
                    let Some(today) = today else {
                        // Nothing tells who it runs as: a change that names the field is one all the same.
                        if e.entry.actionable().any(|(p, _)| p.starts_with(RUN_AS)) {
                            out.push(changed(cx, e, None, &after.name));
                        }
                        continue;
                    };
                    if !same_name(&after.name, &today) && !puts_back(cx, e, &after.name, &today) {
                        out.push(changed(cx, e, Some(&today), &after.name));
                    }
                }
                RunAs::Waits(_, text) => {
                    let message = format!(
                        "Whether it will run as another identity than today{} waits for {}.",
                        today.map_or(String::new(), |t| format!(" ({})", quoted(&t))),
                        crate::text::visible(&text)
                    );
                    out.push(Found::on(e, message).field(RUN_AS).unknown());
                }
                RunAs::Unset | RunAs::Empty => {}
            }
        }
    }
);

fn changed(cx: &Context<'_, '_>, e: &Effect<'_>, today: Option<&str>, after: &str) -> Found {
    let message = match today {
        Some(today) => format!(
            "It runs as {} today and will run as {}.",
            quoted(today),
            quoted(after)
        ),
        None => format!(
            "It will run as {}; who it runs as today is not known.",
            quoted(after)
        ),
    };
    let found = Found::on(e, message)
        .field(RUN_AS)
        .from_to(today, Some(after))
        .impact(consequences(e.kind()));
    let first_time = !was_set(cx.world, e);
    if first_time || named_by_policy(cx.policy, e).is_some_and(|n| same_name(n, after)) {
        found.at_most(Level::Review)
    } else {
        found
    }
}

/// Whether any account of the past sets a `run_as`.
fn was_set(world: &World<'_>, e: &Effect<'_>) -> bool {
    let deployed = world.run_as_deployed(e).is_some_and(|r| r != RunAs::Unset);
    deployed
        || e.remote()
            .and_then(|r| r.get("run_as"))
            .is_some_and(|v| !v.is_blank())
}

/// Whether the deploy only sets again what was deployed, against a change by hand: that is `run-as-drift`.
fn puts_back(cx: &Context<'_, '_>, e: &Effect<'_>, after: &str, today: &str) -> bool {
    matches!(last_deployed(cx, e), Last::Is(name) if same_name(&name, after) && !same_name(&name, today))
}

/// Whom the last deploy set, as far as the inputs tell.
enum Last {
    /// This identity.
    Is(String),
    /// None: it runs as its creator.
    None,
    /// A reference that cannot be resolved.
    Waits(String),
    /// Nothing tells.
    CannotTell,
}

fn last_deployed(cx: &Context<'_, '_>, e: &Effect<'_>) -> Last {
    let of = |run_as: RunAs| match run_as {
        RunAs::Is(p) => Last::Is(p.name),
        RunAs::Waits(_, text) => Last::Waits(text),
        RunAs::Unset | RunAs::Empty => Last::None,
    };
    if let Some(deployed) = cx.world.run_as_deployed(e) {
        return of(deployed);
    }
    let changes_it = e.entry.actionable().any(|(p, _)| p.starts_with(RUN_AS));
    if changes_it {
        // The change calls nothing old: the last deploy set none.
        return Last::None;
    }
    let bundle = e.config.and_then(|c| c.get("run_as"));
    match bundle {
        Some(run_as) if !run_as.is_blank() => {
            let name = crate::effect::principal_of(run_as).map(|p| p.name);
            match name {
                Some(n) if n.contains("${") => match cx.world.resolve(&n) {
                    Some(Value::String(s)) => Last::Is(s.into()),
                    _ => Last::Waits(n),
                },
                Some(n) => Last::Is(n),
                None => Last::CannotTell,
            }
        }
        _ => match named_by_policy(cx.policy, e) {
            Some(name) => Last::Is(name.to_owned()),
            None if e.config.is_some() && cx.world.inputs.state.is_none() => Last::None,
            None => Last::CannotTell,
        },
    }
}

rule!(RunAsDrift, Doc {
    id: "run-as-drift",
    family: Family::Identity,
    trigger: "The identity that a resource runs as today is not the one that the last deploy set: someone changed it by hand.",
    impact: "It has been running with other rights than the code says. A pipeline's manual change stays through every deploy until its definition changes.",
    remedy: "Set the identity back by a PUT of the whole definition with run_as, or deploy a change of its definition; or make today's identity the one in the code.",
    source: "Databricks CLI 1.13, reproduced: run-as-drift-pipeline (the plan is all skip), run-as-drift-job",
    needs: &[Need::State, Need::Bundle],
    examples: &[
        fires(r#""pipelines.orders": {"action": "skip", "remote_state": {"run_as_user_name": "someone@example.com", "creator_user_name": "c"}}"#).state(r#""pipelines.orders": {"run_as": {"service_principal_name": "a"}}"#),
        fires(r#""jobs.nightly": {"action": "skip", "remote_state": {"run_as_user_name": "b", "creator_user_name": "c"}}"#).state(r#""jobs.nightly": {"name": "nightly"}"#),
        quiet(r#""pipelines.orders": {"action": "skip", "remote_state": {"run_as_user_name": "a", "creator_user_name": "c"}}"#).state(r#""pipelines.orders": {"run_as": {"service_principal_name": "a"}}"#),
        unknown(r#""pipelines.orders": {"action": "skip", "remote_state": {"name": "orders"}}"#).state(r#""pipelines.orders": {"run_as": {"service_principal_name": "a"}}"#),
    ],
}, |cx, out| {
    for e in runners(cx.world).filter(|e| !matches!(e.action(), Action::Delete | Action::Create)) {
        let remote_name = e.remote().and_then(|r| r.get("run_as_user_name")).and_then(Value::as_str).filter(|n| !n.is_empty());
        let Some(today) = remote_name.map(str::to_owned).or_else(|| cx.world.runs_as_today(e)) else {
            if matches!(e.kind(), "jobs" | "pipelines") {
                out.push(Found::on(e, "The plan does not say who it runs as today (run_as_user_name).").field(&["run_as_user_name"]).done().unknown());
            }
            continue;
        };
        let expected = match last_deployed(cx, e) {
            Last::Is(name) => name,
            Last::None => match e.remote().and_then(|r| r.get("creator_user_name")).and_then(Value::as_str) {
                Some(creator) => creator.to_owned(),
                None => continue,
            },
            Last::Waits(text) => {
                out.push(Found::on(e, format!("It runs as {} today; the identity that the code names waits for {}.", quoted(&today), crate::text::visible(&text))).field(RUN_AS).done().unknown());
                continue;
            }
            Last::CannotTell => continue,
        };
        if same_name(&expected, &today) {
            continue;
        }
        let sets = match cx.world.run_as_after(e) {
            RunAs::Is(p) => Some(p.name),
            _ => None,
        };
        let put_right = sets.as_deref().is_some_and(|s| same_name(s, &expected) || named_by_policy(cx.policy, e).is_some_and(|n| same_name(n, s)));
        let what_now = if put_right {
            "This deploy sets it again."
        } else if e.action() == Action::Skip {
            "This deploy does not touch it, and no later one will put it back as long as its definition stays."
        } else {
            "This deploy does not put it back."
        };
        let found = Found::on(e, format!("It runs as {} today, but {} was deployed. {what_now}", quoted(&today), quoted(&expected)))
            .field(RUN_AS)
            .from_to(Some(&expected), sets.as_deref())
            .remote_text(&today)
            .done();
        out.push(if put_right { found.at_most(Level::Review) } else { found });
    }
});

rule!(RunAsUnexpected, Doc {
    id: "run-as-unexpected",
    family: Family::Identity,
    trigger: "The identity that a create or update would set is not the one that the policy names for the resource.",
    impact: "It would run with rights that nobody agreed to.",
    remedy: "Set the identity that `identity.run_as` of the policy names, or change the policy first.",
    source: "the policy's identity.run_as",
    needs: &[],
    examples: &[
        fires(r#""jobs.nightly": {"action": "create", "new_state": {"value": {"run_as": {"service_principal_name": "b"}}}}"#).policy("identity: {run_as: [{resources: [\"jobs.*\"], service_principal: a}]}"),
        quiet(r#""jobs.nightly": {"action": "create", "new_state": {"value": {"run_as": {"service_principal_name": "a"}}}}"#).policy("identity: {run_as: [{resources: [\"jobs.*\"], service_principal: a}]}"),
        unknown(r#""apps.portal": {"action": "create", "new_state": {"value": {"name": "portal"}}}, "jobs.nightly": {"action": "create", "depends_on": [{"node": "resources.apps.portal"}], "new_state": {"value": {"run_as": {"service_principal_name": ""}}, "vars": {"run_as.service_principal_name": "${resources.apps.portal.service_principal_client_id}"}}}"#).policy("identity: {run_as: [{resources: [\"jobs.*\"], service_principal: a}]}"),
    ],
}, |cx, out| {
    for e in runners(cx.world).filter(|e| e.sent().is_some()) {
        let Some(wanted) = cx.policy.identity.run_as_for(e.key().resource()).map(|r| &r.value.principal) else { continue };
        match cx.world.run_as_after(e) {
            RunAs::Is(p) => {
                let kind = match wanted.kind() {
                    "user" => crate::effect::Kind::User,
                    "group" => crate::effect::Kind::Group,
                    _ => crate::effect::Kind::ServicePrincipal,
                };
                if !same_name(&p.name, wanted.name()) || p.kind != kind {
                    let message = format!("It will run as {}; the policy names {} {}.", p.words(), kind.words(), quoted(wanted.name()));
                    out.push(Found::on(e, message).field(RUN_AS).from_to(Some(wanted.name()), Some(&p.name)));
                }
            }
            RunAs::Waits(_, text) => {
                out.push(Found::on(e, format!("Whether it will run as {}, as the policy says, waits for {}.", quoted(wanted.name()), crate::text::visible(&text))).field(RUN_AS).unknown());
            }
            RunAs::Unset | RunAs::Empty => {}
        }
    }
});

rule!(
    RunAsRemoved,
    Doc {
        id: "run-as-removed",
        family: Family::Identity,
        trigger: "run_as is taken out of a definition that had one.",
        impact: "The CLI reports an update, and the identity stays as it is: code and workspace say different things from now on.",
        remedy: "Put run_as back, or set the identity that is meant.",
        source: "Databricks CLI 1.13, reproduced: run-as-removed; run-as-group-pipeline (a field that the CLI does not know)",
        needs: &[],
        examples: &[
            fires(
                r#""jobs.nightly": {"action": "update", "new_state": {"value": {"name": "n"}}, "remote_state": {"name": "n", "run_as": {"service_principal_name": "a"}, "run_as_user_name": "a"}, "changes": {"run_as": {"action": "update", "old": {"service_principal_name": "a"}, "remote": {"service_principal_name": "a"}}}}"#
            ),
            quiet(
                r#""jobs.nightly": {"action": "update", "new_state": {"value": {"run_as": {"group_name": "g"}}}, "remote_state": {"run_as": {"service_principal_name": "a"}, "run_as_user_name": "a"}, "changes": {"run_as.service_principal_name": {"action": "update", "old": "a", "remote": "a"}, "run_as.group_name": {"action": "update", "new": "g"}}}"#
            ),
        ],
    },
    |cx, out| {
        for e in runners(cx.world).filter(|e| e.action().is_update_like() && e.sent().is_some()) {
            if !matches!(cx.world.run_as_after(e), RunAs::Unset | RunAs::Empty)
                || !was_set(cx.world, e)
            {
                continue;
            }
            let old = cx
                .world
                .run_as_deployed(e)
                .and_then(|r| r.principal().map(|p| p.name.clone()));
            let message = if e.action() == Action::Recreate {
                "run_as is taken out: the new resource will run as whoever deploys it."
            } else {
                "run_as is taken out: the deploy reports an update, and the identity stays as it is."
            };
            let today = cx.world.runs_as_today(e);
            let mut found = Found::on(e, message)
                .path(FieldPath::of(RUN_AS))
                .from_to(old.as_deref(), None);
            if let Some(today) = &today {
                found = found.remote_text(today);
            }
            if e.action() == Action::Recreate {
                found = found.impact(
                    "It will have the rights of the person or service that runs the deploy.",
                );
            }
            out.push(found);
        }
    }
);
