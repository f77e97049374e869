//! Who a definition names: a person, nobody, a group of everyone, a group that the CLI does not know.

use semver::Version;

use crate::effect::{Effect, Kind, RunAs, is_person};
use crate::json::Value;
use crate::plan::{Action, Segment};
use crate::text::quoted;

use super::super::integrity::cli;
use super::super::{Context, Doc, Family, Found, Rule, fires, quiet, unknown};
use super::runners;

const RUN_AS: &[&str] = &["run_as"];

rule!(
    RunAsPerson,
    Doc {
        id: "run-as-person",
        family: Family::Identity,
        trigger: "run_as names a user, not a service principal or a group.",
        impact: "It stops when the person leaves or loses a right, and everything it does is done in that person's name.",
        remedy: "Run it as a service principal, or as an empty role group.",
        source: "Databricks documentation: run jobs and pipelines as a service principal",
        needs: &[],
        examples: &[
            fires(
                r#""jobs.nightly": {"action": "create", "new_state": {"value": {"run_as": {"user_name": "someone@example.com"}}}}"#
            ),
            fires(
                r#""jobs.nightly": {"action": "create", "new_state": {"value": {"run_as": {"service_principal_name": "someone@example.com"}}}}"#
            ),
            quiet(
                r#""jobs.nightly": {"action": "create", "new_state": {"value": {"run_as": {"service_principal_name": "5f0c6c1e-0000-4000-8000-0000000000aa"}}}}"#
            ),
            unknown(
                r#""apps.portal": {"action": "create", "new_state": {"value": {"name": "portal"}}}, "jobs.nightly": {"action": "create", "depends_on": [{"node": "resources.apps.portal"}], "new_state": {"value": {"run_as": {"user_name": ""}}, "vars": {"run_as.user_name": "${resources.apps.portal.creator}"}}}"#
            ),
        ],
    },
    |cx, out| {
        for e in runners(cx.world).filter(|e| e.action() != Action::Delete) {
            match cx.world.run_as_standing(e) {
                RunAs::Is(p) if is_person(&p) => {
                    out.push(
                        Found::on(e, format!("It runs as the person {}.", quoted(&p.name)))
                            .field(&["run_as", p.kind.field()])
                            .from_to(None, Some(&p.name)),
                    );
                }
                // Of a group or a service principal the kind alone decides.
                RunAs::Waits(kind @ (Some(Kind::User) | None), text) => {
                    let field = kind.map_or("user_name", Kind::field);
                    out.push(
                        Found::on(
                            e,
                            format!(
                                "Who it runs as waits for {}: it may be a person.",
                                crate::text::visible(&text)
                            ),
                        )
                        .field(&["run_as", field])
                        .unknown(),
                    );
                }
                _ => {}
            }
        }
    }
);

rule!(
    RunAsUnset,
    Doc {
        id: "run-as-unset",
        family: Family::Identity,
        trigger: "A job, pipeline or alert has no run_as.",
        impact: "It runs as whoever created it: a person, or the deploying service with all its rights.",
        remedy: "Set run_as on the target (it holds for all its jobs and pipelines) or on the resource.",
        source: "Databricks CLI 1.13, reproduced: without run_as, run_as_user_name is the creator",
        needs: &[],
        examples: &[
            fires(
                r#""jobs.nightly": {"action": "create", "new_state": {"value": {"name": "nightly"}}}"#
            ),
            quiet(
                r#""jobs.nightly": {"action": "create", "new_state": {"value": {"name": "nightly", "run_as": {"service_principal_name": "a"}}}}"#
            ),
            quiet(
                r#""apps.portal": {"action": "create", "new_state": {"value": {"name": "portal"}}}"#
            ),
            unknown(
                r#""jobs.nightly": {"action": "create", "new_state": {"value": {"name": "nightly", "run_as": {}}}}"#
            ),
        ],
    },
    |cx, out| {
        for e in runners(cx.world).filter(|e| e.action() != Action::Delete && e.kind() != "apps") {
            match cx.world.run_as_standing(e) {
                RunAs::Empty => out.push(
                    Found::on(e, "run_as is there but names nobody.")
                        .field(RUN_AS)
                        .unknown(),
                ),
                RunAs::Unset => {
                    // A workspace does not return run_as for every type: without bundle JSON and state nothing tells.
                    let tells = e.sent().is_some() || e.config.is_some() || e.deployed.is_some();
                    let found = if tells {
                        Found::on(e, "It has no run_as: it runs as whoever created it.")
                    } else {
                        Found::on(e, "The plan does not say whether it has a run_as: give --bundle or --state.").unknown()
                    };
                    out.push(found.field(RUN_AS));
                }
                RunAs::Is(_) | RunAs::Waits(..) => {}
            }
        }
    }
);

/// Groups that every workspace or account has (Databricks documentation: system groups).
const BUILTIN_GROUPS: &[&str] = &["admins", "users", "account users"];

rule!(
    RunAsBuiltinGroup,
    Doc {
        id: "run-as-builtin-group",
        family: Family::Identity,
        trigger: "run_as names admins, users or account users.",
        impact: "Every member may do what it does: with `users` that is everyone, with `admins` it has all rights.",
        remedy: "Make an empty role group, or use a service principal.",
        source: "Databricks documentation: system groups; a group as run_as gives every member what the group may do",
        needs: &[],
        examples: &[
            fires(
                r#""pipelines.orders": {"action": "create", "new_state": {"value": {"run_as": {"group_name": "users"}}}}"#
            ),
            quiet(
                r#""pipelines.orders": {"action": "create", "new_state": {"value": {"run_as": {"group_name": "orders-etl-prod"}}}}"#
            ),
            unknown(
                r#""apps.portal": {"action": "create", "new_state": {"value": {"name": "portal"}}}, "pipelines.orders": {"action": "create", "depends_on": [{"node": "resources.apps.portal"}], "new_state": {"value": {"run_as": {"group_name": ""}}, "vars": {"run_as.group_name": "${resources.apps.portal.creator}"}}}"#
            ),
        ],
    },
    |cx, out| {
        for e in runners(cx.world).filter(|e| e.action() != Action::Delete) {
            let field = ["run_as", Kind::Group.field()];
            match cx.world.run_as_standing(e) {
                RunAs::Is(p)
                    if p.kind == Kind::Group
                        && BUILTIN_GROUPS.contains(&p.name.trim().to_lowercase().as_str()) =>
                {
                    out.push(
                        Found::on(
                            e,
                            format!("It runs as the built-in group {}.", quoted(&p.name)),
                        )
                        .field(&field)
                        .from_to(None, Some(&p.name)),
                    );
                }
                RunAs::Waits(Some(Kind::Group) | None, text) => {
                    out.push(
                        Found::on(
                            e,
                            format!(
                                "Which group it runs as waits for {}.",
                                crate::text::visible(&text)
                            ),
                        )
                        .field(&field)
                        .unknown(),
                    );
                }
                _ => {}
            }
        }
    }
);

/// The first CLI that knows `group_name` in a pipeline's `run_as`.
const GROUPS_SINCE: Version = Version::new(1, 20, 0);

rule!(
    RunAsGroupCli,
    Doc {
        id: "run-as-group-cli",
        family: Family::Identity,
        trigger: "A group is meant as a pipeline's run_as, and the CLI is before 1.20.0: it drops group_name from plan and bundle JSON alike.",
        impact: "The deploy is green, and the pipeline keeps running as whoever it ran as.",
        remedy: "Use CLI 1.20.0 or later.",
        source: "Databricks CLI 1.13, reproduced: run-as-group-pipeline; support from 1.20 as announced",
        needs: &[],
        examples: &[
            fires(r#""pipelines.orders": {"action": "skip", "remote_state": {"name": "orders"}}"#)
                .head(r#""plan_version": 2, "cli_version": "1.19.0", "lineage": "l", "serial": 1"#)
                .policy("identity: {run_as: [{resources: [\"pipelines.*\"], group: g}]}"),
            quiet(r#""pipelines.orders": {"action": "skip", "remote_state": {"name": "orders"}}"#)
                .policy("identity: {run_as: [{resources: [\"pipelines.*\"], group: g}]}"),
            unknown(
                r#""pipelines.orders": {"action": "skip", "remote_state": {"name": "orders"}}"#
            )
            .head(r#""plan_version": 2, "lineage": "l", "serial": 1"#)
            .policy("identity: {run_as: [{resources: [\"pipelines.*\"], group: g}]}"),
        ],
    },
    |cx, out| {
        let version = cli(cx.world);
        if version.as_ref().is_some_and(|v| *v >= GROUPS_SINCE) {
            return;
        }
        for e in cx
            .world
            .of_kind("pipelines")
            .filter(|e| e.action() != Action::Delete)
        {
            let Some(evidence) = group_meant(cx, e) else {
                continue;
            };
            let found = match &version {
            Some(v) => Found::on(e, format!("{evidence}, and CLI {v} drops a group from a pipeline's run_as without failing.")),
            None => Found::on(e, format!("{evidence}, and the plan does not say whether its CLI knows groups there (1.20.0 does).")).unknown(),
        };
            out.push(found.field(&["run_as", Kind::Group.field()]));
        }
    }
);

/// What shows that a group is meant.
fn group_meant(cx: &Context<'_, '_>, e: &Effect<'_>) -> Option<String> {
    if let Some(rule) = cx.policy.identity.run_as_for(e.key().resource())
        && rule.value.principal.kind() == "group"
    {
        return Some(format!(
            "The policy names the group {} for it",
            quoted(rule.value.principal.name())
        ));
    }
    let ignored = cx
        .world
        .inputs
        .warnings
        .map(|w| w.ignored.as_slice())
        .unwrap_or_default();
    let dropped = ignored.iter().any(|i| {
        let is_run_as = matches!(i.path.segments(), [Segment::Field(f), ..] if &**f == "run_as");
        i.field == Kind::Group.field()
            && is_run_as
            && i.key
                .as_ref()
                .is_some_and(|k| k.resource() == e.key().resource())
    });
    if dropped {
        return Some("The CLI warned that it drops group_name from its run_as".to_owned());
    }
    let empty = |v: Option<&Value>| {
        v.and_then(|v| v.get("run_as"))
            .is_some_and(|r| r.as_object().is_some_and(crate::json::Object::is_empty))
    };
    (empty(e.sent()) || empty(e.config))
        .then(|| "Its run_as is there but empty, as if a group had been dropped".to_owned())
}
