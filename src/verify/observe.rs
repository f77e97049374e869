//! What a witness says. One form for all witnesses, so that one comparison serves them all.

use std::collections::{BTreeMap, BTreeSet};

use super::differences::is_permanent;
use super::expect::{Expectation, Want, Who};
use crate::effect::{Effect, Inputs, Principal, World, principal_of};
use crate::json::Value;
use crate::plan::{Action, Plan, Sub, resource_type};
use crate::report::Witness;

/// What a witness says about one fact.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Said<T> {
    /// It is this.
    Is(T),
    /// There is none.
    None,
    /// This witness cannot see such a thing.
    #[default]
    Unseen,
    /// It should be able to tell and could not: why.
    Silent(String),
}

/// What one witness says about one entry of the plan.
#[derive(Debug, Clone, Default)]
pub struct Thing {
    /// Whether it is there ([`Said::None`]: the workspace, or the deployment, does not have it).
    pub there: Said<()>,
    /// What is left to do for it ([`Said::None`]: nothing).
    pub left: Said<String>,
    /// Its id.
    pub id: Said<String>,
    /// Other ids that it was given when it was made, by field.
    pub ids: BTreeMap<String, String>,
    /// Its name.
    pub name: Said<String>,
    /// As whom it runs.
    pub run_as: Said<String>,
    /// Who made it.
    pub creator: Said<String>,
    /// Who owns it.
    pub owner: Said<String>,
    /// The metadata file of the deployment that it belongs to.
    pub deployment: Said<String>,
}

/// What a reference stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resolution {
    /// This.
    To(String),
    /// Nothing: what it names is not there or is empty.
    Nothing,
    /// This witness does not see what it names.
    Unseen,
}

/// A table of Unity Catalog.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// Who owns it.
    pub owner: String,
    /// The pipeline that fills it.
    pub pipeline: Option<String>,
    /// The table property `pipelines.reset.allowed`.
    pub reset_allowed: Option<String>,
}

/// Everything that one witness says.
#[derive(Debug, Clone)]
pub struct Observation {
    /// Who.
    pub witness: Witness,
    /// The deployment's lineage.
    pub lineage: Said<String>,
    /// The deployment's serial.
    pub serial: Said<u64>,
    /// The commit that the deployment's metadata names.
    pub commit: Said<String>,
    /// Entries by full key.
    pub things: BTreeMap<String, Thing>,
    /// Deleted resources by full key: [`Said::None`] where the id is gone, the id where it is still there.
    pub deleted: BTreeMap<String, Said<String>>,
    /// What references stand for.
    pub references: BTreeMap<String, Resolution>,
    /// Tables by full name; [`Said::None`] where there is none of this name.
    pub tables: BTreeMap<String, Said<Table>>,
    /// Tables that name a deleted pipeline as theirs, by the pipeline's id: full names.
    pub orphans: BTreeMap<String, Said<Vec<String>>>,
    /// Whether it tells of everything that is deployed, so that what it leaves out is not deployed.
    pub is_whole: bool,
}

impl Observation {
    /// A witness that has said nothing yet.
    #[must_use]
    pub fn new(witness: Witness) -> Self {
        Self {
            witness,
            lineage: Said::Unseen,
            serial: Said::Unseen,
            commit: Said::Unseen,
            things: BTreeMap::new(),
            deleted: BTreeMap::new(),
            references: BTreeMap::new(),
            tables: BTreeMap::new(),
            orphans: BTreeMap::new(),
            is_whole: false,
        }
    }
}

/// Reads a plan that was made after the deploy as a witness.
#[must_use]
pub fn from_plan(after: &Plan, expectations: &[Expectation]) -> Observation {
    let world = World::new(Inputs {
        plan: after,
        bundle: None,
        base_bundle: None,
        state: None,
        warnings: None,
        targets: &[],
    });
    let references: BTreeSet<&str> = expectations
        .iter()
        .filter_map(|e| match &e.want {
            Want::Who(Who::Reference(text))
            | Want::Name(Some(Err(text)))
            | Want::TableOwner {
                who: Who::Reference(text),
                ..
            } => Some(text.as_str()),
            _ => None,
        })
        .collect();
    let is_whole = after.not_selected == 0;
    Observation {
        lineage: after
            .lineage
            .as_deref()
            .map_or(Said::None, |l| Said::Is(l.to_owned())),
        serial: after.serial.map_or(Said::None, Said::Is),
        things: world
            .effects()
            .iter()
            .map(|e| (e.key().full().to_owned(), thing(&world, e)))
            .collect(),
        references: references
            .into_iter()
            .map(|text| (text.to_owned(), resolve(&world, text, is_whole)))
            .collect(),
        is_whole,
        ..Observation::new(Witness::Plan)
    }
}

fn resolve(world: &World<'_>, text: &str, is_whole: bool) -> Resolution {
    match world.resolve(text) {
        Some(Value::String(s)) if s.is_empty() => Resolution::Nothing,
        Some(Value::String(s)) => Resolution::To(s.into()),
        Some(other) => Resolution::To(other.to_json()),
        None => {
            let is_shown = crate::effect::nodes(text).all(|node| world.effect(&node).is_some());
            if is_shown || is_whole {
                Resolution::Nothing
            } else {
                Resolution::Unseen
            }
        }
    }
}

/// Ids that something is given when it is made, beside the one of its type (CLI 1.13: `remote_state` of Unity Catalog types, apps, endpoints).
pub(super) const GIVEN_IDS: &[&str] = &[
    "id",
    "schema_id",
    "volume_id",
    "endpoint_id",
    "uid",
    "run_id",
];

fn thing(world: &World<'_>, e: &Effect<'_>) -> Thing {
    let left = left_to_do(world, e);
    let Some(remote) = e.remote() else {
        let there = match e.action() {
            Action::Create => Said::None,
            Action::Delete => Said::None,
            _ => Said::Silent("the fresh plan shows nothing of it (no remote_state)".to_owned()),
        };
        return Thing {
            there,
            left,
            ..Thing::default()
        };
    };
    let text = |names: &[&str]| match remote.at(names) {
        Some(Value::String(s)) if !s.is_empty() => Said::Is(s.to_string()),
        Some(Value::Int(n)) => Said::Is(n.to_string()),
        Some(Value::UInt(n)) => Said::Is(n.to_string()),
        _ => Said::None,
    };
    if e.key().sub() == Some(Sub::Permissions) {
        return Thing {
            there: Said::Is(()),
            left,
            owner: owner_in(remote).map_or(Said::None, |p| Said::Is(p.name)),
            ..Thing::default()
        };
    }
    if e.key().sub().is_some() {
        return Thing {
            there: Said::Is(()),
            left,
            ..Thing::default()
        };
    }
    let id_field = resource_type(e.kind()).map_or("id", |t| t.id_field);
    let id = match &e.entry.id {
        Some(id) => Said::Is(id.to_string()),
        None => text(&[id_field]),
    };
    Thing {
        there: Said::Is(()),
        left,
        id: or_unseen(id),
        ids: GIVEN_IDS
            .iter()
            .filter_map(|field| match text(&[field]) {
                Said::Is(value) => Some(((*field).to_owned(), value)),
                _ => None,
            })
            .collect(),
        name: world.remote_name(e).map_or(Said::Unseen, Said::Is),
        run_as: runs_as(e.kind(), remote),
        creator: ["creator_user_name", "owner_user_name", "creator"]
            .iter()
            .map(|field| text(&[field]))
            .find(|said| *said != Said::None)
            .unwrap_or(Said::None),
        owner: Said::Unseen,
        deployment: or_unseen(text(&["deployment", "metadata_file_path"])),
    }
}

fn or_unseen<T>(said: Said<T>) -> Said<T> {
    match said {
        Said::None => Said::Unseen,
        other => other,
    }
}

/// As whom something runs, by its remote state: `run_as_user_name` is the truth; `run_as` only tells what was set, and counts
/// for the types of which the workspace returns nothing else.
fn runs_as(kind: &str, remote: &Value) -> Said<String> {
    let named = remote
        .get("run_as_user_name")
        .and_then(Value::as_str)
        .filter(|n| !n.is_empty());
    if let Some(name) = named {
        return Said::Is(name.to_owned());
    }
    if matches!(kind, "jobs" | "pipelines") {
        return Said::Silent(
            "the fresh plan does not say who it runs as (run_as_user_name)".to_owned(),
        );
    }
    ["effective_run_as", "run_as"]
        .iter()
        .filter_map(|field| remote.get(field))
        .find_map(principal_of)
        .map_or_else(
            || Said::Silent("the fresh plan does not say who it runs as".to_owned()),
            |p| Said::Is(p.name),
        )
}

/// The `IS_OWNER` of a permissions entry's state.
pub(super) fn owner_in(value: &Value) -> Option<Principal> {
    Effect::list(value)?
        .iter()
        .find(|item| item.get("level").and_then(Value::as_str) == Some("IS_OWNER"))
        .and_then(principal_of)
}

fn left_to_do(world: &World<'_>, e: &Effect<'_>) -> Said<String> {
    let fields: Vec<String> = e.entry.actionable().map(|(p, _)| p.to_string()).collect();
    if e.action() == Action::Skip && fields.is_empty() {
        return Said::None;
    }
    if is_permanent(e.entry, world.inputs.plan.cli_version.as_deref()) {
        return Said::None;
    }
    const MOST: usize = 3;
    let shown: Vec<&str> = fields.iter().take(MOST).map(String::as_str).collect();
    let more = match fields.len().saturating_sub(MOST) {
        0 => String::new(),
        n => format!(" and {n} more"),
    };
    Said::Is(if shown.is_empty() {
        e.action().as_str().to_owned()
    } else {
        format!("{} of {}{more}", e.action().as_str(), shown.join(", "))
    })
}
