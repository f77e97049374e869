//! What `show` has to say: every entry with its fields before and after, what goes with it, and the order in which the CLI acts.

mod diff;
mod fields;
mod order;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::effect::{Effect, Successor, World};
use crate::impact::{self, Loss};
use crate::plan::Action;
use crate::policy::Selector;
use crate::report::Place;
use crate::secret::hide;

/// What `show` has to say. Secrets are already replaced.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct ShowBody {
    /// The entries, the most dangerous first.
    pub entries: Vec<ShownEntry>,
    /// What is deleted under one key and created under another.
    pub renamed: Vec<Renamed>,
    /// The order in which the CLI acts, by short key: what stands in one step does not wait for each other.
    pub order: Vec<Vec<String>>,
    /// Whether no resource changes: the deploy still uploads the files of the bundle, so code may differ.
    pub only_code: bool,
    /// Entries that the plan leaves alone and that are not listed.
    pub skipped: usize,
    /// Entries that `--only` or `--resource` left out.
    pub filtered: usize,
}

/// One entry of the plan.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ShownEntry {
    /// The short key, with `permissions` or `grants` where the entry is one.
    pub key: String,
    /// What the CLI will do, in its own word.
    pub action: &'static str,
    /// Whether it is already gone in the workspace: the delete only cleans the state.
    pub gone: bool,
    /// Whether it loses data that a deploy does not bring back.
    pub loses_data: bool,
    /// The name that the workspace knows.
    pub name: Option<String>,
    /// What it can delete or break.
    pub impact: Option<String>,
    /// Short keys of what goes with it although the plan does not delete it.
    pub takes_along: Vec<String>,
    /// Short keys of the entries that it depends on.
    pub depends_on: Vec<String>,
    /// Where in the bundle's source.
    pub location: Option<Place>,
    /// The fields that the bundle changes.
    pub changes: Vec<FieldChange>,
    /// The fields that someone changed in the workspace and that the deploy puts back: `workspace` is what stands there now,
    /// `before` what the last deploy set.
    pub drift: Vec<FieldChange>,
}

/// One field before and after.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct FieldChange {
    /// The field, as the CLI writes paths; empty: the whole list of permissions or grants.
    pub path: String,
    /// What this change alone would take, in the CLI's own word.
    pub action: &'static str,
    /// Why, in the CLI's words.
    pub reason: Option<String>,
    /// What it is before: what the last deploy set, else what the workspace holds.
    pub before: Option<serde_json::Value>,
    /// What it will be, by what the CLI sends.
    pub after: Option<serde_json::Value>,
    /// What the workspace holds, where that is neither.
    pub workspace: Option<serde_json::Value>,
    /// The reference that gives the value during the deploy; `after` is not known until then.
    pub waits_for: Option<String>,
    /// Whether the plan's own list of changes names it; if not, the CLI sends it all the same.
    pub announced: bool,
    /// Both texts line by line, for people.
    #[serde(skip)]
    pub diff: Option<Vec<DiffLine>>,
}

/// One line of a text before and after.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiffLine {
    /// What became of it.
    pub kind: LineKind,
    /// Its pieces, without line break; `true`: this piece differs.
    pub parts: Vec<(bool, String)>,
}

/// What became of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineKind {
    /// It stays.
    Same,
    /// It is taken out.
    Removed,
    /// It is put in.
    Added,
    /// Lines are left out here.
    LeftOut,
}

/// A key that was renamed in the YAML.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Renamed {
    /// The short key that is deleted.
    pub from: String,
    /// The short key that is created.
    pub to: String,
    /// The name of both in the workspace.
    pub name: String,
    /// The reference for which the new name waits: then it cannot be told whether this is a rename.
    pub waits_for: Option<String>,
}

/// What `show` lists.
#[derive(Debug, Clone, Default)]
pub struct ShowOptions {
    /// Only these actions; empty: all.
    pub only: Vec<Action>,
    /// Only these resources (with their permissions and grants); empty: all.
    pub resources: Vec<Selector>,
    /// Whether entries that the plan leaves alone are listed.
    pub all: bool,
    /// Whether fields are left out.
    pub no_diff: bool,
}

/// What `show` has to say about a plan.
#[must_use]
pub fn build(world: &World<'_>, options: &ShowOptions) -> ShowBody {
    let mut along: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    let lost = world.lost_with_parent();
    for l in &lost {
        along
            .entry(l.container)
            .or_default()
            .push(hide(&l.resource));
    }
    let mut body = ShowBody {
        only_code: !world.effects().is_empty()
            && world.effects().iter().all(|e| e.action() == Action::Skip),
        order: order::steps(world),
        renamed: renamed(world),
        ..ShowBody::default()
    };
    let mut listed: Vec<&Effect<'_>> = Vec::new();
    for e in world.effects() {
        let wanted = (options.only.is_empty() || options.only.contains(&e.action()))
            && (options.resources.is_empty()
                || options.resources.iter().any(|s| s.matches(e.key().short())));
        if !wanted {
            body.filtered += 1;
        } else if e.action() == Action::Skip
            && !options.all
            && !options.only.contains(&Action::Skip)
        {
            body.skipped += 1;
        } else {
            listed.push(e);
        }
    }
    listed.sort_by(|a, b| danger(a).cmp(&danger(b)).then_with(|| a.key().cmp(b.key())));
    let mut budget = diff::Budget::default();
    body.entries = listed
        .into_iter()
        .map(|e| entry(world, e, options, &mut along, &mut budget))
        .collect();
    body
}

fn entry<'w>(
    world: &'w World<'_>,
    e: &Effect<'_>,
    options: &ShowOptions,
    along: &mut BTreeMap<&'w str, Vec<String>>,
    budget: &mut diff::Budget,
) -> ShownEntry {
    let (changes, drift) = if options.no_diff {
        (Vec::new(), Vec::new())
    } else {
        fields::of(e, budget)
    };
    ShownEntry {
        key: hide(e.key().short()),
        action: e.action().as_str(),
        gone: e.entry.is_gone(),
        loses_data: e.is_resource() && e.loses() && impact::is_data_bearing(e.kind()),
        name: world
            .remote_name(e)
            .or_else(|| world.name_after(e).ok().flatten())
            .map(|n| hide(&n)),
        impact: impact_of(e),
        takes_along: along.remove(e.key().full()).unwrap_or_default(),
        depends_on: e
            .entry
            .depends_on
            .iter()
            .map(|d| hide(d.node.strip_prefix("resources.").unwrap_or(&d.node)))
            .collect(),
        location: world.location(e.key(), None).map(Place::from),
        changes,
        drift,
    }
}

/// What an entry can delete or break.
fn impact_of(e: &Effect<'_>) -> Option<String> {
    if !e.is_resource() {
        return (e.deletes() || e.action() == Action::Recreate)
            .then(|| "Who may do what on it is taken away.".to_owned());
    }
    match e.action() {
        Action::Delete if e.entry.is_gone() => {
            Some("It is already gone in the workspace: only the state is cleaned.".to_owned())
        }
        Action::Delete => Some(impact::of(e.kind()).text.to_owned()),
        Action::Recreate => Some(impact::recreated(e.kind())),
        Action::UpdateId => Some("Its id changes: what refers to the old one breaks.".to_owned()),
        _ => None,
    }
}

/// The place in the list: 0 is the most dangerous.
fn danger(e: &Effect<'_>) -> u8 {
    let data = impact::of(e.kind()).loss == Loss::Data;
    match (e.action(), e.is_resource()) {
        (Action::Delete, _) if e.entry.is_gone() => 9,
        (Action::Delete, true) if data => 0,
        (Action::Recreate, true) if data => 1,
        (Action::Delete, true) => 2,
        (Action::Recreate, true) => 3,
        (Action::UpdateId, _) => 4,
        (Action::Delete | Action::Recreate, false) => 5,
        (Action::Update, _) => 6,
        (Action::Resize, _) => 7,
        (Action::Create, _) => 8,
        (Action::Skip, _) => 10,
    }
}

fn renamed(world: &World<'_>) -> Vec<Renamed> {
    world
        .renamed_keys()
        .into_iter()
        .map(|(old, name, successor)| {
            let (new, waits_for) = match successor {
                Successor::Is(new) => (new, None),
                Successor::Unknown(new, text) => (new, Some(hide(&text))),
            };
            Renamed {
                from: hide(old.key().resource()),
                to: hide(new.key().resource()),
                name: hide(&name),
                waits_for,
            }
        })
        .collect()
}
