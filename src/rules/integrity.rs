//! Plan integrity: can this plan be believed, and is it the plan of this bundle and this target?

mod inconsistent;
mod mismatch;
mod secrets;
mod target;

pub(super) use inconsistent::InconsistentPlan;
pub(super) use mismatch::BundleMismatch;
pub(super) use secrets::{PlaintextSecret, RedactedValue, texts};
pub(super) use target::WrongTarget;

use semver::Version;

use super::engine::not_run;
use super::{Context, Doc, Family, Found, Need, Rule, fires, quiet, unknown};
use crate::effect::World;
use crate::json::Value;
use crate::plan::{Action, Engine, FieldPath, Mark, Segment, Trail, resource_type};
use crate::policy::{Input, Level};
use crate::text::quoted;

/// The CLI that wrote the plan.
pub(super) fn cli(world: &World<'_>) -> Option<Version> {
    Version::parse(world.inputs.plan.cli_version.as_deref()?).ok()
}

rule!(
    TerraformEngine,
    Doc {
        id: "terraform-engine",
        family: Family::Integrity,
        trigger: "The plan has no plan_version: the Terraform engine wrote it.",
        impact: "Only actions are visible: no field, no identity, no grant can be judged, and the file cannot be replayed with `deploy --plan`.",
        remedy: "Move the bundle to the direct engine (`databricks bundle deployment migrate`, or DATABRICKS_BUNDLE_ENGINE=direct) and plan again.",
        source: "Databricks CLI 1.13 source; the engine is removed from CLI 1.20",
        needs: &[],
        examples: &[
            fires(r#""jobs.report": {"action": "update"}"#).head(r#""cli_version": "1.13.0""#),
            quiet(r#""jobs.report": {"action": "skip", "remote_state": {"name": "report"}}"#),
        ],
    },
    |cx, out| {
        if cx.world.inputs.plan.engine == Engine::Terraform {
            out.push(Found::deployment(
                "The Terraform engine wrote this plan: only its actions can be judged.",
            ));
        }
    }
);

rule!(
    MissingInput,
    Doc {
        id: "missing-input",
        family: Family::Integrity,
        trigger: "An input that the policy requires (`inputs.require`) was not given.",
        impact: "Rules that need it could not run: what they look for may be in this plan.",
        remedy: "Give the input, or take it out of `inputs.require` of the policy.",
        source: "bundlegate: what cannot be judged is not fine",
        needs: &[],
        examples: &[
            fires(r#""jobs.report": {"action": "skip", "remote_state": {"name": "report"}}"#)
                .policy("inputs: {require: [bundle]}"),
            quiet(r#""jobs.report": {"action": "skip", "remote_state": {"name": "report"}}"#)
                .policy("inputs: {require: []}"),
        ],
    },
    |cx, out| {
        let inputs = &cx.world.inputs;
        for required in &cx.policy.require {
            let (flag, given) = match required.value {
                Input::Bundle => ("--bundle", inputs.bundle.is_some()),
                Input::BaseBundle => ("--base-bundle", inputs.base_bundle.is_some()),
                Input::State => ("--state", inputs.state.is_some()),
                Input::Warnings => ("--warnings", inputs.warnings.is_some()),
            };
            if given {
                continue;
            }
            let rules: Vec<String> = not_run(cx)
                .into_iter()
                .filter(|n| n.needs == flag)
                .map(|n| n.rule)
                .collect();
            let could_not = if rules.is_empty() {
                String::new()
            } else {
                format!(" These rules could not run: {}.", rules.join(", "))
            };
            out.push(
                Found::deployment(format!(
                    "The policy requires {flag}, which was not given.{could_not}"
                ))
                .field(&[flag.trim_start_matches('-')]),
            );
        }
    }
);

rule!(IgnoredField, Doc {
    id: "ignored-field",
    family: Family::Integrity,
    trigger: "The CLI warned that it does not know a field and drops it.",
    impact: "What the YAML says there is not in the plan and will not be deployed, and no pipeline fails because of it.",
    remedy: "Correct the name, or use a CLI that knows the field.",
    source: "Databricks CLI 1.13, reproduced: `Warning: unknown field` on standard error, exit 0",
    needs: &[Need::Warnings],
    examples: &[
        fires(r#""pipelines.orders": {"action": "skip", "remote_state": {"name": "orders"}}"#)
            .warnings("Warning: unknown field: group_name\n  at resources.pipelines.orders.run_as\n  in databricks.yml:29:9\n"),
        quiet(r#""pipelines.orders": {"action": "skip", "remote_state": {"name": "orders"}}"#).warnings("Building lib...\n"),
    ],
}, |cx, out| {
    /// Parts of a definition in which a dropped field takes a protection or an identity away.
    const GUARDS: &[&str] = &["run_as", "lifecycle", "permissions", "grants", "cascade_on_destroy", "purge_on_delete", "prevent_destroy", "pipelines.reset.allowed"];
    for ignored in cx.world.inputs.warnings.map(|w| w.ignored.as_slice()).unwrap_or_default() {
        let name = crate::text::visible(&ignored.field);
        let found = match &ignored.key {
            Some(key) => Found::at(key.resource(), format!("The CLI does not know the field {name} and drops it: what the YAML says there is not deployed.")),
            None => Found::deployment(format!("The CLI does not know the field {name} at {} and drops it.", quoted(&ignored.at))),
        };
        let guards = ignored.path.segments().iter().any(|s| matches!(s, Segment::Field(f) if GUARDS.contains(&&**f)));
        let found = if guards {
            found.at_least(Level::Deny).impact("The dropped field is part of an identity, a permission or a guard: the deploy runs without it and stays green.")
        } else {
            found
        };
        out.push(found.path(ignored.path.clone()).place(ignored.location.as_ref().map(Into::into)));
    }
});

rule!(
    UnknownType,
    Doc {
        id: "unknown-type",
        family: Family::Integrity,
        trigger: "The plan has an entry of a resource type that bundlegate does not know.",
        impact: "No rule knows what its fields mean or what is lost with it; it counts as holding data.",
        remedy: "Read the entry by hand (`bundlegate show`), or use a bundlegate that knows the type.",
        source: "the types of Databricks CLI 1.13",
        needs: &[],
        examples: &[
            fires(r#""wombats.x": {"action": "skip", "remote_state": {"name": "x"}}"#),
            quiet(r#""jobs.report": {"action": "skip", "remote_state": {"name": "report"}}"#),
        ],
    },
    |cx, out| {
        for e in cx.world.where_kind(|kind| resource_type(kind).is_none()) {
            out.push(Found::on(
                e,
                format!(
                    "The resource type {} is not known: the entry cannot be judged.",
                    quoted(e.kind())
                ),
            ));
        }
    }
);

rule!(
    StateMismatch,
    Doc {
        id: "state-mismatch",
        family: Family::Integrity,
        trigger: "The state file has another lineage or serial than the plan, or the plan has none and the state is not empty.",
        impact: "The plan was made against another deployment or an older state: the CLI refuses it, or, without a lineage, makes everything a second time.",
        remedy: "Plan again, and read the state in the same run.",
        source: "Databricks CLI 1.13, reproduced: lineage and serial are compared only when the plan has a lineage",
        needs: &[Need::State],
        examples: &[
            fires(
                r#""jobs.report": {"action": "create", "new_state": {"value": {"name": "report"}}}"#
            )
            .head(r#""plan_version": 2, "cli_version": "1.21.0""#)
            .state(r#""jobs.report": {"name": "report"}"#),
            quiet(r#""jobs.report": {"action": "skip", "remote_state": {"name": "report"}}"#)
                .state(r#""jobs.report": {"name": "report"}"#),
        ],
    },
    |cx, out| {
        let plan = cx.world.inputs.plan;
        let Some(state) = cx.world.inputs.state else {
            return;
        };
        let serial = |s: Option<u64>| s.map_or_else(|| "none".to_owned(), |s| s.to_string());
        let lineage = |l: &Option<Box<str>>| l.as_deref().map_or_else(|| "none".to_owned(), quoted);
        if plan.lineage != state.lineage && !(plan.lineage.is_none() && state.is_empty()) {
            let message = if plan.lineage.is_none() {
                "The plan has no lineage, as for a first deploy, but the state file shows a deployment.".to_owned()
            } else {
                format!(
                    "The plan belongs to another deployment: its lineage is {}, the state's {}.",
                    lineage(&plan.lineage),
                    lineage(&state.lineage)
                )
            };
            out.push(
                Found::deployment(message)
                    .field(&["lineage"])
                    .from_to(state.lineage.as_deref(), plan.lineage.as_deref()),
            );
        } else if plan.lineage.is_some() && plan.serial != state.serial {
            out.push(
                Found::deployment(format!(
                    "The plan was made against serial {}, the state has serial {}.",
                    serial(plan.serial),
                    serial(state.serial)
                ))
                .field(&["serial"])
                .from_to(Some(&serial(state.serial)), Some(&serial(plan.serial))),
            );
        }
    }
);

rule!(
    EmptyPlan,
    Doc {
        id: "empty-plan",
        family: Family::Integrity,
        trigger: "The plan has no entry.",
        impact: "Nothing was judged. The CLI accepts such a plan and reports success; an empty plan is often the sign that the wrong folder or target was planned.",
        remedy: "Look at the output of `databricks bundle plan`; if the bundle really has no resources, accept it by an approval.",
        source: "Databricks CLI 1.13, reproduced: \"0 changed\", exit 0",
        needs: &[],
        examples: &[
            fires(""),
            quiet(r#""jobs.report": {"action": "skip", "remote_state": {"name": "report"}}"#)
        ],
    },
    |cx, out| {
        if cx.world.inputs.plan.entries.is_empty() {
            out.push(Found::deployment(
                "The plan has no entry: nothing was judged.",
            ));
        }
    }
);

rule!(PartialPlan, Doc {
    id: "partial-plan",
    family: Family::Integrity,
    trigger: "`not_selected` is above 0: the plan was made with --select.",
    impact: "The resources left out are neither planned nor judged; the whole deployment is in no state that anybody reviewed.",
    remedy: "Plan the whole bundle, or accept the part by an approval.",
    source: "Databricks CLI 1.13, reproduced",
    needs: &[],
    examples: &[
        fires(r#""jobs.report": {"action": "skip", "remote_state": {"name": "report"}}"#).head(r#""plan_version": 2, "cli_version": "1.21.0", "lineage": "l", "serial": 1, "not_selected": 3"#),
        quiet(r#""jobs.report": {"action": "skip", "remote_state": {"name": "report"}}"#),
    ],
}, |cx, out| {
    let n = cx.world.inputs.plan.not_selected;
    if n > 0 {
        out.push(Found::deployment(format!("The plan covers a part of the bundle: {n} resources were not selected.")).field(&["not_selected"]));
    }
});

/// Whether this is a plan for a target where nothing is deployed: no lineage, and nothing but creates without a remote state.
fn is_first_deploy(world: &World<'_>) -> bool {
    let plan = world.inputs.plan;
    plan.engine == Engine::Direct
        && plan.lineage.is_none()
        && !plan.entries.is_empty()
        && plan
            .entries
            .iter()
            .all(|e| e.action == Action::Create && e.remote_state.is_none())
}

rule!(
    FirstDeploy,
    Doc {
        id: "first-deploy",
        family: Family::Integrity,
        trigger: "The plan has no lineage and every entry is a create.",
        impact: "The CLI will not check what the plan was made against: if the target exists by now, everything is made a second time.",
        remedy: "Make sure that nothing is deployed at the target's state path, then approve; the next plan has a lineage.",
        source: "Databricks CLI 1.13, reproduced: a first-deploy plan passes against any state",
        needs: &[],
        examples: &[
            fires(
                r#""jobs.report": {"action": "create", "new_state": {"value": {"name": "report"}}}"#
            )
            .head(r#""plan_version": 2, "cli_version": "1.21.0""#),
            quiet(
                r#""jobs.report": {"action": "create", "new_state": {"value": {"name": "report"}}}"#
            ),
        ],
    },
    |cx, out| {
        if is_first_deploy(cx.world) {
            out.push(Found::deployment("This is a plan for a first deploy: it has no lineage, so the CLI does not check what it was made against."));
        }
    }
);

rule!(
    LostState,
    Doc {
        id: "lost-state",
        family: Family::Integrity,
        trigger: "The plan has no lineage, although the policy says that the target is established (`bundle.established: true`).",
        impact: "The state was lost or the bundle, target or root path was renamed: everything is made a second time, and the old resources keep running outside CI.",
        remedy: "Restore resources.json, undo the rename, or bind the existing resources first (`databricks bundle deployment bind`).",
        source: "Databricks CLI 1.13, reproduced: a renamed bundle plans everything as create",
        needs: &[],
        examples: &[
            fires(
                r#""jobs.report": {"action": "create", "new_state": {"value": {"name": "report"}}}"#
            )
            .head(r#""plan_version": 2, "cli_version": "1.21.0""#)
            .policy("bundle: {established: true}"),
            quiet(
                r#""jobs.report": {"action": "create", "new_state": {"value": {"name": "report"}}}"#
            )
            .policy("bundle: {established: true}"),
        ],
    },
    |cx, out| {
        let established = cx
            .policy
            .bundle
            .established
            .as_ref()
            .is_some_and(|e| e.value);
        if established && cx.world.inputs.plan.lineage.is_none() {
            out.push(Found::deployment("The plan has no lineage, but the policy says that this target is deployed already: its state is lost, or its path changed.").field(&["lineage"]));
        }
    }
);

rule!(CliVersion, Doc {
    id: "cli-version",
    family: Family::Integrity,
    trigger: "The CLI that wrote the plan is older than `cli.minimum`, has a known fault that this plan meets, or is not named.",
    impact: "An older CLI drops fields that it does not know and deploys without them.",
    remedy: "Install the CLI version that the policy asks for, and plan again with it.",
    source: "the policy's cli.minimum; faults as in bundlegate's list, each with the versions that have it",
    needs: &[],
    examples: &[
        fires(r#""jobs.report": {"action": "skip", "remote_state": {"name": "report"}}"#).policy("cli: {minimum: \"1.22.0\"}"),
        fires(r#""jobs.report": {"action": "update", "new_state": {"value": {"continuous": {"maintenance_window": {"start_hour": 2}}}}, "remote_state": {}, "changes": {"continuous": {"action": "update", "new": {"maintenance_window": {"start_hour": 2}}}}}"#)
            .head(r#""plan_version": 2, "cli_version": "1.15.0", "lineage": "l", "serial": 1"#),
        quiet(r#""jobs.report": {"action": "skip", "remote_state": {"name": "report"}}"#).policy("cli: {minimum: \"1.21.0\"}"),
        unknown(r#""jobs.report": {"action": "skip", "remote_state": {"name": "report"}}"#).head(r#""plan_version": 2, "lineage": "l", "serial": 1"#),
    ],
}, |cx, out| {
    let text = cx.world.inputs.plan.cli_version.as_deref();
    let Some(version) = cli(cx.world) else {
        let found = text.map_or_else(|| "none".to_owned(), quoted);
        out.push(Found::deployment(format!("The plan does not say which CLI wrote it (cli_version: {found}).")).field(&["cli_version"]).unknown());
        return;
    };
    if let Some(minimum) = cx.policy.cli.minimum.as_ref().map(|m| m.value.version())
        && version < *minimum
    {
        out.push(
            Found::deployment(format!("The plan was written by CLI {version}; the policy asks for {minimum} or later."))
                .field(&["cli_version"])
                .from_to(Some(&minimum.to_string()), Some(&version.to_string())),
        );
    }
    for fault in FAULTS.iter().filter(|f| version < f.repaired) {
        for e in cx.world.resources().filter(|e| e.sent().is_some_and(|sent| e.kind() == fault.kind && sent.at(fault.field).is_some_and(|v| !v.is_blank()))) {
            out.push(Found::on(e, format!("CLI {version} {}", fault.what)).field(fault.field));
        }
    }
});

/// A fault of the CLI that a plan can meet. Faults with a rule of their own (artifact-wipe, run-as-group-cli) are not here.
struct Fault {
    /// The first version without it.
    repaired: Version,
    /// The resource type that meets it.
    kind: &'static str,
    /// The field that meets it.
    field: &'static [&'static str],
    /// What happens, after "CLI x.y.z".
    what: &'static str,
}

const FAULTS: &[Fault] = &[Fault {
    repaired: Version::new(1, 16, 0),
    kind: "jobs",
    field: &["continuous", "maintenance_window"],
    what: "does not know continuous.maintenance_window (it came with CLI 1.16): the window is not deployed.",
}];

/// The first CLI whose `deploy --plan` uploads built artifacts: the repair was merged on 2026-09-15, the release is inferred.
const ARTIFACTS_REPAIRED: Version = Version::new(1, 17, 0);

rule!(ArtifactWipe, Doc {
    id: "artifact-wipe",
    family: Family::Integrity,
    trigger: "Something that the workspace runs is under artifacts/.internal/, and the CLI's `deploy --plan` empties that folder without uploading the artifacts (before 1.17.0).",
    impact: "The deploy exits 0 and the wheel or jar is gone: the next run of the job fails.",
    remedy: "Use CLI 1.17.0 or later.",
    source: "Databricks CLI 1.13, reproduced; the repair was merged on 2026-09-15, the exact release is inferred",
    needs: &[],
    examples: &[
        fires(r#""jobs.report": {"action": "skip", "remote_state": {"tasks": [{"task_key": "main", "libraries": [{"whl": "/Workspace/b/artifacts/.internal/lib-0.1-py3-none-any.whl"}]}]}}"#)
            .head(r#""plan_version": 2, "cli_version": "1.13.0", "lineage": "l", "serial": 1"#),
        quiet(r#""jobs.report": {"action": "skip", "remote_state": {"tasks": [{"task_key": "main", "libraries": [{"whl": "/Workspace/b/artifacts/.internal/lib-0.1-py3-none-any.whl"}]}]}}"#),
        unknown(r#""jobs.report": {"action": "skip", "remote_state": {"environments": [{"environment_key": "e", "spec": {"dependencies": ["/Workspace/b/artifacts/.internal/lib-0.1-py3-none-any.whl"]}}]}}"#)
            .head(r#""plan_version": 2, "lineage": "l", "serial": 1"#),
    ],
}, |cx, out| {
    let version = cli(cx.world);
    if version.as_ref().is_some_and(|v| *v >= ARTIFACTS_REPAIRED) {
        return;
    }
    for e in cx.world.resources().filter(|e| e.action() != Action::Delete) {
        let Some((path, name)) = cx.world.standing_value(e).and_then(internal_artifact) else {
            let waiting = e.entry.new_state.iter().flat_map(|s| &s.vars).find(|(p, text)| is_library(p) && cx.world.resolve(text).is_none());
            if let Some((path, text)) = waiting {
                let message = format!("Whether it runs a built artifact, which this CLI's `deploy --plan` would take away, waits for {}.", crate::text::visible(text));
                out.push(Found::on(e, message).path(path.clone()).unknown());
            }
            continue;
        };
        let found = Found::on(e, format!("It runs {}, and this CLI's `deploy --plan` empties artifacts/.internal without uploading it again.", quoted(&name))).path(path);
        out.push(if version.is_some() { found } else { found.unknown() });
    }
});

/// Fields below which libraries are named.
const LIBRARIES: &[&str] = &["libraries", "dependencies", "jar_file", "java_dependencies"];

fn is_library(path: &FieldPath) -> bool {
    path.segments()
        .iter()
        .any(|s| matches!(s, Segment::Field(f) if LIBRARIES.contains(&&**f)))
}

/// The first text below `libraries` or `dependencies` that lies in the folder of built artifacts.
fn internal_artifact(value: &Value) -> Option<(FieldPath, String)> {
    fn walk<'v>(
        value: &'v Value,
        inside: bool,
        trail: &mut Trail<'v>,
    ) -> Option<(FieldPath, String)> {
        match value {
            Value::String(s) if inside && s.contains("/.internal/") => {
                let name = s.rsplit('/').next().unwrap_or(s);
                Some((trail.path(), name.to_owned()))
            }
            Value::Array(items) => items.iter().enumerate().find_map(|(i, item)| {
                trail.push(Mark::Index(i));
                let found = walk(item, inside, trail);
                trail.pop();
                found
            }),
            Value::Object(members) => members.iter().find_map(|(k, v)| {
                trail.push(Mark::Field(k));
                let found = walk(v, inside || LIBRARIES.contains(&k), trail);
                trail.pop();
                found
            }),
            _ => None,
        }
    }
    walk(value, false, &mut Trail::default())
}
