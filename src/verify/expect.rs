//! What the workspace should hold after the deploy: from the approved plan, the bundle JSON, the state and the policy.

use std::collections::BTreeSet;

use super::observe::owner_in;
use crate::effect::{Effect, IDENTITY_TYPES, RunAs, World, principal_of};
use crate::json::Value;
use crate::plan::{Action, Sub, resource_type};
use crate::policy::{Policy, Verify};
use crate::report::Check;
use crate::rules::{Fate, fate};

/// One thing that should be so.
#[derive(Debug, Clone)]
pub struct Expectation {
    /// Full key of the entry; none: the whole deployment.
    pub key: Option<String>,
    /// What is compared.
    pub check: Check,
    /// What should be.
    pub want: Want,
}

/// What should be.
#[derive(Debug, Clone)]
pub enum Want {
    /// This lineage; none: any, since the deploy was the first.
    Lineage(Option<String>),
    /// This serial.
    Serial(u64),
    /// This commit in the deployment's metadata.
    Commit(String),
    /// This metadata file.
    Deployment(String),
    /// This identity.
    Who(Who),
    /// Nothing left to do; of what is dropped: not known any more.
    Nothing,
    /// It is there; where a name is known, under this one, or one that a reference gives.
    Name(Option<Result<String, String>>),
    /// This id.
    Id(String),
    /// None of the ids that it had, by field.
    NewId(Vec<(String, String)>),
    /// This id is gone.
    Gone(Option<String>),
    /// Entries that may be deployed, by full key.
    Only(BTreeSet<String>),
    /// A table of a pipeline that is deleted or made again.
    Table {
        /// Its full name.
        name: String,
        /// Whether it should be there; none: it cannot be told.
        kept: Option<bool>,
    },
    /// The tables that a deleted pipeline leaves behind.
    Orphans {
        /// The schema: catalog and name.
        schema: (String, String),
        /// The pipeline's id.
        pipeline: String,
        /// Whether they should be kept; none: it cannot be told.
        kept: Option<bool>,
    },
    /// This identity owns this table.
    TableOwner {
        /// Its full name.
        name: String,
        /// Who should.
        who: Who,
    },
    /// The property `pipelines.reset.allowed` of this table is `false`.
    ResetGuard(String),
}

/// An identity that should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Who {
    /// This one, and who says so.
    Is {
        /// The login, application id or name of the group.
        name: String,
        /// Where it comes from.
        source: &'static str,
    },
    /// The one that a reference gives.
    Reference(String),
    /// Whoever created it: no `run_as` is set.
    Creator,
}

/// What the deploy is verified against.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// A plan that was deployed.
    Deployed,
    /// No deploy: the plan was made now, and nothing should be left to do.
    Drift,
}

/// What should be so after this plan was deployed.
#[must_use]
pub fn expect(world: &World<'_>, policy: &Policy, mode: Mode) -> Vec<Expectation> {
    let mut all = Vec::new();
    let verify = &policy.verify;
    let mut push = |key: Option<&str>, check: Check, want: Want| {
        all.push(Expectation {
            key: key.map(str::to_owned),
            check,
            want,
        });
    };
    let plan = world.inputs.plan;
    if mode == Mode::Deployed {
        let lineage = plan.lineage.as_deref().map(str::to_owned);
        let first = lineage.is_none();
        push(None, Check::Lineage, Want::Lineage(lineage));
        let writes = plan.entries.iter().any(|e| e.action != Action::Skip);
        let before = if first { 0 } else { plan.serial.unwrap_or(0) };
        // A first deploy of nothing writes nothing, and there is no serial to compare.
        if !first || writes {
            push(
                None,
                Check::Serial,
                Want::Serial(before.saturating_add(u64::from(writes))),
            );
        }
        if plan.not_selected == 0 {
            let keys = plan
                .entries
                .iter()
                .map(|e| e.key.full().to_owned())
                .collect();
            push(None, Check::Unplanned, Want::Only(keys));
        }
        if let Some(commit) = world
            .inputs
            .bundle
            .and_then(|b| b.text(&["bundle", "git", "commit"]))
        {
            push(None, Check::Commit, Want::Commit(commit.to_owned()));
        }
    }
    for e in world.effects() {
        let mut push = |check: Check, want: Want| push(Some(e.key().full()), check, want);
        if e.kind() == "pipelines" && e.is_resource() {
            tables(world, e, policy, mode, &mut push);
        }
        if e.action() == Action::Delete && mode == Mode::Deployed {
            if verify.deleted {
                push(Check::Dropped, Want::Nothing);
                if e.is_resource() && e.deletes() && is_deleted_for_good(e.kind()) {
                    push(Check::Gone, Want::Gone(id_before(e)));
                }
            }
            continue;
        }
        if verify.converged {
            push(Check::Converged, Want::Nothing);
        }
        match e.key().sub() {
            Some(Sub::Permissions) if verify.owner => {
                if let Some(who) = owner(world, e, policy) {
                    push(Check::Owner, Want::Who(who));
                }
            }
            Some(_) => {}
            None => resource(world, e, policy, &mut push),
        }
    }
    all
}

fn resource(
    world: &World<'_>,
    e: &Effect<'_>,
    policy: &Policy,
    push: &mut impl FnMut(Check, Want),
) {
    let verify: &Verify = &policy.verify;
    match e.action() {
        Action::Skip | Action::Update | Action::Resize => {
            if !verify.converged {
                push(Check::Exists, Want::Name(None));
            }
            if let Some(id) = id_before(e) {
                push(Check::SameId, Want::Id(id));
            }
        }
        Action::Create | Action::UpdateId => push(Check::Exists, Want::Name(name_of(world, e))),
        Action::Recreate => {
            push(Check::Exists, Want::Name(name_of(world, e)));
            let before = given_ids(e);
            if !before.is_empty() {
                push(Check::NewId, Want::NewId(before));
            }
            if verify.deleted && id_is_given(e.kind()) && is_deleted_for_good(e.kind()) {
                push(Check::Gone, Want::Gone(id_before(e)));
            }
        }
        Action::Delete => {}
    }
    if world.inputs.plan.lineage.is_none()
        && let Some(path) = world
            .after_at(e, &["deployment", "metadata_file_path"])
            .text()
    {
        push(Check::Deployment, Want::Deployment(path.to_owned()));
    }
    if verify.run_as
        && IDENTITY_TYPES.contains(&e.kind())
        && let Some(who) = run_as(world, e, policy)
    {
        push(Check::RunAs, Want::Who(who));
    }
    let has_permissions = world
        .effect(&format!("{}.permissions", e.key().full()))
        .is_some();
    if verify.owner
        && !has_permissions
        && matches!(e.kind(), "jobs" | "pipelines")
        && let Some(who) = owner_unstated(world, e, policy)
    {
        push(Check::Owner, Want::Who(who));
    }
}

/// What should become of the tables of a pipeline, and how they are guarded.
fn tables(
    world: &World<'_>,
    e: &Effect<'_>,
    policy: &Policy,
    mode: Mode,
    push: &mut impl FnMut(Check, Want),
) {
    let verify = &policy.verify;
    let register = policy.state.get(e.key().resource());
    let names = || register.into_iter().flat_map(|r| r.value.tables.iter());
    if verify.orphans && mode == Mode::Deployed && e.loses() {
        let kept = match fate(world, e) {
            Fate::Orphaned => Some(true),
            // A pipeline that is made again makes its tables again.
            Fate::Dropped | Fate::DroppedHive | Fate::DroppedLegacy => {
                (e.action() == Action::Delete).then_some(false)
            }
            Fate::ServerDecides | Fate::CannotTell => None,
        };
        for table in names() {
            push(
                Check::Tables,
                Want::Table {
                    name: table.value.name.clone(),
                    kept,
                },
            );
        }
        let text = |names: &[&str]| names.iter().find_map(|n| e.remote()?.get(n)?.as_str());
        if let (Some(catalog), Some(schema), Some(pipeline)) = (
            text(&["catalog"]),
            text(&["schema", "target"]),
            id_before(e),
        ) {
            push(
                Check::Tables,
                Want::Orphans {
                    schema: (catalog.to_owned(), schema.to_owned()),
                    pipeline,
                    kept,
                },
            );
        }
    }
    if e.action() == Action::Delete {
        return;
    }
    for table in names() {
        if verify.reset_guards && table.value.reset_allowed == Some(false) {
            push(
                Check::ResetGuard,
                Want::ResetGuard(table.value.name.clone()),
            );
        }
        // Before its first update a pipeline has no tables.
        if verify.owner
            && !matches!(e.action(), Action::Create | Action::Recreate)
            && let Some(who) = run_as(world, e, policy).filter(|w| *w != Who::Creator)
        {
            push(
                Check::TableOwner,
                Want::TableOwner {
                    name: table.value.name.clone(),
                    who,
                },
            );
        }
    }
}

/// The name it should have. Not of a type whose name is a path: the workspace writes it in another form.
fn name_of(world: &World<'_>, e: &Effect<'_>) -> Option<Result<String, String>> {
    match world.name_after(e) {
        Ok(name) => name.map(Ok),
        Err(reference) if reference.starts_with("${") => Some(Err(reference)),
        Err(_) => None,
    }
}

/// Whether a deletion takes the object out of the workspace: a run that was made stays in the history.
fn is_deleted_for_good(kind: &str) -> bool {
    kind != "job_runs"
}

/// Types whose id the workspace makes up, so that another object has another id. Of all others the id is the name.
fn id_is_given(kind: &str) -> bool {
    matches!(
        kind,
        "alerts"
            | "clusters"
            | "dashboards"
            | "experiments"
            | "genie_spaces"
            | "instance_pools"
            | "job_runs"
            | "jobs"
            | "pipelines"
            | "sql_warehouses"
    )
}

/// The ids that were given to it when it was made, by field.
fn given_ids(e: &Effect<'_>) -> Vec<(String, String)> {
    let id_field = resource_type(e.kind()).map_or("id", |t| t.id_field);
    let fields = super::observe::GIVEN_IDS.iter().copied();
    let fields = fields.chain(id_is_given(e.kind()).then_some(id_field));
    let of = |field: &str| {
        e.remote()
            .and_then(|r| r.get(field))
            .and_then(as_id)
            .map(|id| (field.to_owned(), id))
    };
    let mut ids: Vec<(String, String)> = fields.filter_map(of).collect();
    ids.sort();
    ids.dedup();
    ids
}

fn as_id(value: &Value) -> Option<String> {
    match value {
        Value::String(s) if !s.is_empty() => Some(s.to_string()),
        Value::Int(n) => Some(n.to_string()),
        Value::UInt(n) => Some(n.to_string()),
        _ => None,
    }
}

/// The id it had when the plan was made.
#[must_use]
pub fn id_before(e: &Effect<'_>) -> Option<String> {
    let field = resource_type(e.kind()).map_or("id", |t| t.id_field);
    e.entry
        .id
        .as_deref()
        .map(str::to_owned)
        .or_else(|| e.remote().and_then(|r| r.get(field)).and_then(as_id))
        .or_else(|| e.deployed.and_then(|d| d.id.as_deref()).map(str::to_owned))
}

fn named_by_policy(policy: &Policy, e: &Effect<'_>) -> Option<Who> {
    let rule = policy.identity.run_as_for(e.key().resource())?;
    Some(Who::Is {
        name: rule.value.principal.name().to_owned(),
        source: "the policy",
    })
}

/// As whom it should run. None: nothing says anything.
fn run_as(world: &World<'_>, e: &Effect<'_>, policy: &Policy) -> Option<Who> {
    let is_new = matches!(e.action(), Action::Create | Action::Recreate);
    if let Some(sent) = &e.entry.new_state {
        // Also where the reference can be resolved already, and to nothing: the resource then runs as its creator.
        let reference = sent.vars.iter().find(|(p, _)| p.starts_with(&["run_as"]));
        match world.run_as_after(e) {
            RunAs::Is(p) => {
                return Some(Who::Is {
                    name: p.name,
                    source: "the plan",
                });
            }
            RunAs::Waits(_, text) => return Some(Who::Reference(text)),
            RunAs::Unset | RunAs::Empty if reference.is_some() => {
                return reference.map(|(_, text)| Who::Reference(text.to_string()));
            }
            RunAs::Unset | RunAs::Empty if is_new => return unset(e, policy),
            // The CLI does not touch an identity that it does not send: what was set stays.
            RunAs::Unset | RunAs::Empty => {}
        }
    }
    let last = world.run_as_deployed(e);
    match last {
        Some(RunAs::Is(p)) => {
            return Some(Who::Is {
                name: p.name,
                source: "the last deploy",
            });
        }
        Some(RunAs::Waits(_, text)) => return Some(Who::Reference(text)),
        Some(RunAs::Unset | RunAs::Empty) => return unset(e, policy),
        None => {}
    }
    if e.sent().is_none()
        && let Some(config) = e.config
    {
        return match config.get("run_as").and_then(principal_of) {
            Some(p) if p.name.contains("${") => Some(Who::Reference(p.name)),
            Some(p) => Some(Who::Is {
                name: p.name,
                source: "the bundle",
            }),
            None => unset(e, policy),
        };
    }
    named_by_policy(policy, e).or_else(|| {
        Some(Who::Is {
            name: world.runs_as_today(e)?,
            source: "as when the plan was made",
        })
    })
}

/// As whom something runs that sets no identity: whom the policy names, else its creator. An app has a service principal of its own.
fn unset(e: &Effect<'_>, policy: &Policy) -> Option<Who> {
    named_by_policy(policy, e).or((e.kind() != "apps").then_some(Who::Creator))
}

/// Who should own the resource of a permissions entry.
fn owner(world: &World<'_>, e: &Effect<'_>, policy: &Policy) -> Option<Who> {
    let stated = |value: Option<&Value>, source| {
        value.and_then(owner_in).map(|p| Who::Is {
            name: p.name,
            source,
        })
    };
    if let Some(sent) = e.sent() {
        // Items whose principal is a reference hold a placeholder.
        let waits = e.entry.new_state.as_ref().and_then(|s| {
            s.vars
                .iter()
                .find(|(p, _)| p.starts_with(&["__embed__"]) && is_owner_item(sent, p))
        });
        if let Some((_, text)) = waits {
            return Some(Who::Reference(text.to_string()));
        }
        return stated(Some(sent), "the plan").or_else(|| deployer(policy));
    }
    stated(e.deployed.map(|d| &d.config), "the last deploy")
        .or_else(|| deployer(policy))
        .or_else(|| stated(e.remote(), "as when the plan was made"))
        .filter(|_| world.effect(e.key().resource_full()).is_some())
}

fn is_owner_item(sent: &Value, path: &crate::plan::FieldPath) -> bool {
    let above = path.segments().get(..2).unwrap_or_default();
    crate::effect::lookup(sent, above)
        .and_then(|item| item.get("level"))
        .and_then(Value::as_str)
        == Some("IS_OWNER")
}

/// Who should own a resource whose plan has no permissions entry.
fn owner_unstated(world: &World<'_>, e: &Effect<'_>, policy: &Policy) -> Option<Who> {
    deployer(policy).or_else(|| {
        let is_new = matches!(e.action(), Action::Create | Action::Recreate);
        let me = world
            .inputs
            .bundle?
            .text(&["workspace", "current_user", "userName"])?;
        is_new.then(|| Who::Is {
            name: me.to_owned(),
            source: "who deploys",
        })
    })
}

fn deployer(policy: &Policy) -> Option<Who> {
    policy.identity.deployer.as_ref().map(|d| Who::Is {
        name: d.value.name().to_owned(),
        source: "the policy",
    })
}
