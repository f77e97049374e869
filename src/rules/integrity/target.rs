//! `wrong-target`: is this plan for the target, workspace, bundle and path that the policy is about?

use crate::json::Value;
use crate::plan::{Action, Engine};
use crate::text::quoted;

use super::super::{Context, Doc, Family, Found, Rule, fires, quiet, unknown};

rule!(WrongTarget, Doc {
    id: "wrong-target",
    family: Family::Integrity,
    trigger: "Target, workspace, bundle name or root path differ from what the policy allows, two sources of the target disagree, or the plan's own paths name another target.",
    impact: "This is the plan of another deployment: it would be judged by the wrong policy, or deployed to the wrong place.",
    remedy: "Give the plan, bundle JSON, policy and --target of one and the same target.",
    source: "the policy's targets, workspaces and bundle; deployment.metadata_file_path as Databricks CLI 1.13 writes it",
    needs: &[],
    examples: &[
        fires(r#""jobs.report": {"action": "skip", "remote_state": {"deployment": {"metadata_file_path": "/Workspace/Users/x/.bundle/orders/staging/state/metadata.json"}}}"#)
            .bundle(r#""bundle": {"name": "orders", "target": "prod"}, "resources": {"jobs": {"report": {}}}"#),
        fires(r#""jobs.report": {"action": "skip", "remote_state": {"name": "report"}}"#).policy("targets: [\"prod-*\"]").bundle(r#""bundle": {"name": "orders", "target": "staging"}, "resources": {"jobs": {"report": {}}}"#),
        quiet(r#""jobs.report": {"action": "skip", "remote_state": {"deployment": {"metadata_file_path": "/Workspace/Users/x/.bundle/orders/prod/state/metadata.json"}}}"#)
            .policy("targets: [prod]").bundle(r#""bundle": {"name": "orders", "target": "prod"}, "resources": {"jobs": {"report": {}}}"#),
        unknown(r#""jobs.report": {"action": "skip", "remote_state": {"name": "report"}}"#).policy("targets: [prod]"),
    ],
}, |cx, out| {
    sources(cx, out);
    policy(cx, out);
    plan_paths(cx, out);
});

/// The sources of the target among each other.
fn sources(cx: &Context<'_, '_>, out: &mut Vec<Found>) {
    let inputs = &cx.world.inputs;
    let of_bundle = inputs.bundle.map(|b| ("the bundle JSON", b.target()));
    let all: Vec<(&str, &str)> = inputs
        .targets
        .iter()
        .map(|(s, t)| (*s, t.as_str()))
        .chain(of_bundle)
        .collect();
    if let Some((first, rest)) = all.split_first()
        && let Some(other) = rest.iter().find(|(_, t)| *t != first.1)
    {
        let message = format!(
            "{} says the target is {}, {} says {}.",
            first.0,
            quoted(first.1),
            other.0,
            quoted(other.1)
        );
        out.push(
            Found::deployment(message)
                .field(&["bundle", "target"])
                .from_to(Some(first.1), Some(other.1)),
        );
    }
}

/// What the policy allows.
fn policy(cx: &Context<'_, '_>, out: &mut Vec<Found>) {
    let policy = cx.policy;
    let bundle = cx.world.inputs.bundle;
    match cx.world.target() {
        Some(target) if !policy.allows_target(target) => {
            out.push(
                Found::deployment(format!(
                    "The policy is not for the target {}.",
                    quoted(target)
                ))
                .field(&["bundle", "target"])
                .from_to(None, Some(target)),
            );
        }
        None if !policy.targets.is_empty() => {
            out.push(Found::deployment("The policy names the targets that it is for, and no target is known: give --target or --bundle.").unknown());
        }
        _ => {}
    }
    let known = |path: &[&str], wanted: bool, what: &str, out: &mut Vec<Found>| {
        if !wanted {
            return None;
        }
        let found = bundle.and_then(|b| b.text(path)).map(str::to_owned);
        if found.is_none() {
            out.push(Found::deployment(format!("The policy names the {what} that it is for, and it is not known: give --bundle.")).field(path).unknown());
        }
        found
    };
    if let Some(host) = known(
        &["workspace", "host"],
        !policy.workspaces.is_empty(),
        "workspace",
        out,
    ) && !policy.allows_host(&host)
    {
        out.push(
            Found::deployment(format!(
                "The policy is not for the workspace {}.",
                quoted(&host)
            ))
            .field(&["workspace", "host"])
            .from_to(None, Some(&host)),
        );
    }
    if let Some(name) = known(
        &["bundle", "name"],
        policy.bundle.name.is_some(),
        "bundle",
        out,
    ) && policy.bundle.name.as_ref().is_some_and(|n| n.value != name)
    {
        out.push(
            Found::deployment(format!(
                "The policy is not for the bundle {}.",
                quoted(&name)
            ))
            .field(&["bundle", "name"])
            .from_to(None, Some(&name)),
        );
    }
    if let Some(root) = known(
        &["workspace", "root_path"],
        policy.bundle.root_path.is_some(),
        "root path",
        out,
    ) && policy
        .bundle
        .root_path
        .as_ref()
        .is_some_and(|p| !p.value.matches(&root))
    {
        out.push(
            Found::deployment(format!(
                "The policy is not for the root path {}.",
                quoted(&root)
            ))
            .field(&["workspace", "root_path"])
            .from_to(None, Some(&root)),
        );
    }
}

/// The paths that the plan itself writes into jobs and pipelines.
fn plan_paths(cx: &Context<'_, '_>, out: &mut Vec<Found>) {
    let inputs = &cx.world.inputs;
    if inputs.plan.engine == Engine::Terraform {
        return;
    }
    let mut told: Vec<&str> = Vec::new();
    for e in cx
        .world
        .resources()
        .filter(|e| e.action() != Action::Delete)
    {
        let Some(path) = e
            .sent()
            .or_else(|| e.remote())
            .and_then(|v| v.at(&["deployment", "metadata_file_path"]))
            .and_then(Value::as_str)
        else {
            continue;
        };
        if told.contains(&path) {
            continue;
        }
        let wrong = match inputs
            .bundle
            .and_then(|b| b.text(&["workspace", "state_path"]))
        {
            Some(state_path) => (workspace_path(path)
                != format!("{}/metadata.json", workspace_path(state_path)))
            .then(|| format!("the bundle JSON's state path is {}", quoted(state_path))),
            None => by_form(path).and_then(|(name, target)| {
                let other_target = cx
                    .world
                    .target()
                    .filter(|t| *t != target)
                    .map(|t| format!("the target is {}", quoted(t)));
                let bundle_name = inputs
                    .bundle
                    .and_then(|b| b.text(&["bundle", "name"]))
                    .or(cx.policy.bundle.name.as_ref().map(|n| n.value.as_str()));
                other_target.or_else(|| {
                    bundle_name
                        .filter(|n| *n != name)
                        .map(|n| format!("the bundle is {}", quoted(n)))
                })
            }),
        };
        if let Some(wrong) = wrong {
            told.push(path);
            out.push(
                Found::on(
                    e,
                    format!(
                        "The plan was made for another place: it writes {}, but {wrong}.",
                        quoted(path)
                    ),
                )
                .field(&["deployment", "metadata_file_path"])
                .from_to(None, Some(path)),
            );
        }
    }
}

/// The CLI writes workspace paths with and without the prefix.
fn workspace_path(path: &str) -> &str {
    path.strip_prefix("/Workspace").unwrap_or(path)
}

/// Bundle and target of a path of the usual form `.../.bundle/<name>/<target>/state/metadata.json`.
fn by_form(path: &str) -> Option<(&str, &str)> {
    let (_, after) = path.split_once("/.bundle/")?;
    let mut parts = after.split('/');
    let found = (parts.next()?, parts.next()?);
    (parts.next() == Some("state")).then_some(found)
}
