//! What a plan does, computed once: for every entry what is now, what will be, and what is not known.
//!
//! Rules and renderers read effects, never raw `changes`: the CLI sends `new_state` whole, and `changes` only describes it.

mod container;
mod diff;
mod identity;
mod reference;
mod renamed;
mod sent;
mod signs;

pub use container::{Lost, Namespace, namespaces};
pub use diff::{Difference, differences, differences_by_index, item_identity, same};
pub use identity::{
    IDENTITY_TYPES, Kind, Principal, RunAs, is_person, looks_like_person, principal_of, same_name,
};
pub(crate) use reference::nodes;
pub use renamed::Successor;
pub use sent::{Named, indexed};
pub(crate) use signs::Signs;

use std::borrow::Cow;
use std::ops::Range;

use crate::bundle::{Bundle, Deployed, Location, State, Warnings};
use crate::json::Value;
use crate::plan::{
    Action, Change, Entry, FieldPath, Plan, ResourceKey, Segment, Sub, resource_type,
};

/// Everything a verdict can be based on, as it was read.
#[derive(Debug, Clone, Copy)]
pub struct Inputs<'a> {
    /// The plan.
    pub plan: &'a Plan,
    /// The bundle JSON.
    pub bundle: Option<&'a Bundle>,
    /// The bundle JSON of what is deployed now.
    pub base_bundle: Option<&'a Bundle>,
    /// The deployed state.
    pub state: Option<&'a State>,
    /// What the CLI warned of.
    pub warnings: Option<&'a Warnings>,
    /// The target, by source (`--target`, an environment variable), in the order in which they count. The bundle JSON's is not among them.
    pub targets: &'a [(&'static str, String)],
}

/// A plan seen together with all that is known beside it.
#[derive(Debug)]
pub struct World<'a> {
    /// What it was made of.
    pub inputs: Inputs<'a>,
    effects: Vec<Effect<'a>>,
    /// Where the effects of each type are: sorted by key, they stand next to each other.
    kinds: Vec<(&'a str, Range<usize>)>,
}

/// One entry, with what the other inputs say about it.
#[derive(Debug)]
pub struct Effect<'a> {
    /// The entry of the plan.
    pub entry: &'a Entry,
    /// Its part of the bundle JSON.
    pub config: Option<&'a Value>,
    /// What the last deploy set.
    pub deployed: Option<&'a Deployed>,
    /// What the texts of [`World::standing_value`] hold.
    pub(crate) signs: Signs<'a>,
}

/// What is known of a field.
#[derive(Debug, Clone, PartialEq)]
pub enum Field<'a> {
    /// It is not set.
    Absent,
    /// It has this value.
    Known(Cow<'a, Value>),
    /// It is a reference that cannot be resolved yet.
    Unknown(Cow<'a, str>),
}

impl<'a> Field<'a> {
    fn of(value: Option<&'a Value>) -> Self {
        match value {
            None | Some(Value::Null) => Field::Absent,
            Some(v) => Field::Known(Cow::Borrowed(v)),
        }
    }

    /// The text, if it is known and one.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        match self {
            Field::Known(v) => v.as_str(),
            _ => None,
        }
    }

    /// The value, if it is known.
    #[must_use]
    pub fn value(&self) -> Option<&Value> {
        match self {
            Field::Known(v) => Some(v),
            _ => None,
        }
    }

    /// Whether it is not set, or set to what the CLI treats as not set.
    #[must_use]
    pub fn is_blank(&self) -> bool {
        match self {
            Field::Absent => true,
            Field::Known(v) => v.is_blank(),
            Field::Unknown(_) => false,
        }
    }

    /// `self` if it says anything, else the other.
    #[must_use]
    pub fn or_else(self, other: impl FnOnce() -> Field<'a>) -> Field<'a> {
        if self == Field::Absent { other() } else { self }
    }
}

impl<'a> Effect<'a> {
    /// The key.
    #[must_use]
    pub fn key(&self) -> &'a ResourceKey {
        &self.entry.key
    }

    /// The action.
    #[must_use]
    pub fn action(&self) -> Action {
        self.entry.action
    }

    /// The type, in the plural.
    #[must_use]
    pub fn kind(&self) -> &'a str {
        self.entry.key.kind()
    }

    /// Whether this is a resource and not its permissions or grants.
    #[must_use]
    pub fn is_resource(&self) -> bool {
        self.entry.key.sub().is_none()
    }

    /// Whether something that exists is deleted.
    #[must_use]
    pub fn deletes(&self) -> bool {
        self.entry.action == Action::Delete && !self.entry.is_gone()
    }

    /// Whether something that exists is lost: deleted, or deleted and made again.
    #[must_use]
    pub fn loses(&self) -> bool {
        self.deletes() || self.entry.action == Action::Recreate
    }

    /// What the workspace holds.
    #[must_use]
    pub fn remote(&self) -> Option<&'a Value> {
        self.entry.remote_state.as_ref()
    }

    /// What the CLI will send.
    #[must_use]
    pub fn sent(&self) -> Option<&'a Value> {
        self.entry.new_state.as_ref().map(|s| &s.value)
    }

    /// [`World::standing_value`]
    fn standing_value(&self) -> Option<&'a Value> {
        self.sent()
            .or(self.remote())
            .or(self.config)
            .or(self.deployed.map(|d| &d.config))
    }

    /// The change that names exactly this field.
    #[must_use]
    pub fn change(&self, path: &FieldPath) -> Option<&'a Change> {
        self.entry
            .changes
            .binary_search_by(|(p, _)| p.cmp(path))
            .ok()
            .and_then(|i| self.entry.changes.get(i))
            .map(|(_, c)| c)
    }

    /// The value that `pick` finds in the change at this field or in one above it.
    #[must_use]
    pub fn in_changes(
        &self,
        path: &FieldPath,
        pick: impl Fn(&Change) -> Option<&Value>,
    ) -> Option<&'a Value> {
        self.entry
            .changes
            .iter()
            .filter(|(p, _)| p.covers(path))
            .find_map(|(p, c)| {
                let below = path.segments().get(p.segments().len()..)?;
                lookup(pick(c)?, below)
            })
    }

    /// [`Effect::in_changes`] for a chain of names.
    #[must_use]
    pub fn in_changes_at(
        &self,
        names: &[&str],
        pick: impl Fn(&Change) -> Option<&Value>,
    ) -> Option<&'a Value> {
        self.entry
            .changes
            .iter()
            .filter(|(p, _)| p.covers_names(names))
            .find_map(|(p, c)| pick(c)?.at(names.get(p.segments().len()..)?))
    }

    /// The reference that this field, or one above it, waits for.
    #[must_use]
    pub fn waits_for(&self, path: &FieldPath) -> Option<&'a str> {
        self.waits_where(|p| p.covers(path))
    }

    fn waits_where(&self, is: impl Fn(&FieldPath) -> bool) -> Option<&'a str> {
        let state = self.entry.new_state.as_ref()?;
        let found = state.vars.iter().find(|(p, _)| is(p))?;
        Some(&found.1)
    }

    /// Whether a field at, above or below this one waits for a reference.
    #[must_use]
    pub fn is_open(&self, path: &FieldPath) -> bool {
        let Some(state) = self.entry.new_state.as_ref().filter(|s| !s.vars.is_empty()) else {
            return false;
        };
        let plain = self.plain(&state.value, path);
        state
            .vars
            .iter()
            .any(|(p, _)| p.overlaps(path) || self.plain(&state.value, p).overlaps(&plain))
    }

    /// The list of a permissions or grants entry in one of its states.
    #[must_use]
    pub fn list(value: &Value) -> Option<&[Value]> {
        value
            .get("__embed__")
            .or_else(|| value.get("acls"))
            .and_then(Value::as_array)
    }
}

/// The value at this path; items of a list by identity or index.
#[must_use]
pub fn lookup<'v>(value: &'v Value, path: &[Segment]) -> Option<&'v Value> {
    path.iter().try_fold(value, |v, segment| match segment {
        Segment::Field(name) => v.get(name),
        Segment::Index(i) => v.as_array()?.get(*i),
        Segment::Item(field, id) => v
            .as_array()?
            .iter()
            .find(|item| item.get(field).and_then(Value::as_str) == Some(id)),
        Segment::Any => None,
    })
}

impl<'a> World<'a> {
    /// Puts the inputs together.
    #[must_use]
    pub fn new(inputs: Inputs<'a>) -> Self {
        // The state of another deployment, or of another day, says nothing about this plan (`state-mismatch` says so).
        let state = inputs
            .state
            .filter(|s| s.lineage == inputs.plan.lineage && s.serial == inputs.plan.serial);
        let effect = |entry: &'a Entry| {
            let mut effect = Effect {
                entry,
                config: inputs.bundle.and_then(|b| b.resource(&entry.key)),
                deployed: state.and_then(|s| s.deployed(entry.key.full())),
                signs: Signs::default(),
            };
            if let Some(value) = effect.standing_value() {
                effect.signs = Signs::of(effect.kind(), value);
            }
            effect
        };
        let effects: Vec<Effect<'a>> = inputs.plan.entries.iter().map(effect).collect();
        let mut kinds: Vec<(&'a str, Range<usize>)> = Vec::new();
        for (at, e) in effects.iter().enumerate() {
            match kinds.last_mut() {
                Some((kind, range)) if *kind == e.kind() => range.end = at + 1,
                _ => kinds.push((e.kind(), at..at + 1)),
            }
        }
        Self {
            inputs,
            effects,
            kinds,
        }
    }

    /// All effects, sorted by key.
    #[must_use]
    pub fn effects(&self) -> &[Effect<'a>] {
        &self.effects
    }

    /// The effects on resources themselves, permissions and grants aside.
    pub fn resources(&self) -> impl Iterator<Item = &Effect<'a>> {
        self.effects.iter().filter(|e| e.is_resource())
    }

    /// The effects on resources of one type.
    pub fn of_kind<'s>(&'s self, kind: &'s str) -> impl Iterator<Item = &'s Effect<'a>> {
        self.where_kind(move |k| k == kind)
    }

    /// The effects on resources of the types that fit, in the order of their keys; asks once for each type.
    pub fn where_kind<'s>(
        &'s self,
        fits: impl Fn(&str) -> bool + 's,
    ) -> impl Iterator<Item = &'s Effect<'a>> {
        self.kinds
            .iter()
            .filter(move |(kind, _)| fits(kind))
            .flat_map(|(_, range)| self.effects.get(range.clone()).unwrap_or_default())
            .filter(|e| e.is_resource())
    }

    /// The effects on sub-resources of one sort.
    pub fn of_sub(&self, sub: Sub) -> impl Iterator<Item = &Effect<'a>> {
        self.effects
            .iter()
            .filter(move |e| e.entry.key.sub() == Some(sub))
    }

    /// The effect of this full key.
    #[must_use]
    pub fn effect(&self, full_key: &str) -> Option<&Effect<'a>> {
        let at = self
            .effects
            .binary_search_by(|e| e.entry.key.full().cmp(full_key))
            .ok()?;
        self.effects.get(at)
    }

    /// What the field will be after the deploy, by what the CLI sends.
    #[must_use]
    pub fn after(&self, effect: &Effect<'a>, path: &FieldPath) -> Field<'a> {
        let Some(sent) = effect.sent() else {
            return Field::Absent;
        };
        match effect.waits_for(path) {
            Some(text) => self.resolved(text),
            None => Field::of(lookup(sent, path.segments())),
        }
    }

    /// [`World::after`] for a chain of names.
    #[must_use]
    pub fn after_at(&self, effect: &Effect<'a>, names: &[&str]) -> Field<'a> {
        let Some(sent) = effect.sent() else {
            return Field::Absent;
        };
        match effect.waits_where(|p| p.covers_names(names)) {
            Some(text) => self.resolved(text),
            None => Field::of(sent.at(names)),
        }
    }

    /// What the field is now: the workspace, else what the last deploy set.
    #[must_use]
    pub fn now_at(&self, effect: &Effect<'a>, names: &[&str]) -> Field<'a> {
        Field::of(effect.remote().and_then(|v| v.at(names))).or_else(|| {
            Field::of(effect.in_changes_at(names, |c| c.old.as_ref()))
                .or_else(|| Field::of(effect.deployed.and_then(|d| d.config.at(names))))
        })
    }

    /// What stands: what the CLI sends if it sends anything; else the workspace, the skipped changes, the bundle JSON, the state.
    #[must_use]
    pub fn standing_at(&self, effect: &Effect<'a>, names: &[&str]) -> Field<'a> {
        if effect.sent().is_some() {
            return self.after_at(effect, names);
        }
        Field::of(effect.remote().and_then(|v| v.at(names)))
            .or_else(|| {
                Field::of(effect.in_changes_at(names, |c| c.new.as_ref().or(c.old.as_ref())))
            })
            .or_else(|| match effect.config.and_then(|c| c.at(names)) {
                Some(Value::String(text)) if text.contains("${") => self.resolved(text),
                other => Field::of(other),
            })
            .or_else(|| Field::of(effect.deployed.and_then(|d| d.config.at(names))))
    }

    /// The value whole, as it stands.
    #[must_use]
    pub fn standing_value(&self, effect: &Effect<'a>) -> Option<&'a Value> {
        effect.standing_value()
    }

    /// Where a field of this entry stands in the bundle's source.
    #[must_use]
    pub fn location(&self, key: &ResourceKey, path: Option<&FieldPath>) -> Option<&'a Location> {
        self.inputs.bundle.and_then(|b| b.location(key, path))
    }

    /// The name by which the workspace knows the resource (Unity Catalog: the full name), as it is now.
    #[must_use]
    pub fn remote_name(&self, effect: &Effect<'a>) -> Option<String> {
        let value = effect
            .remote()
            .or_else(|| effect.deployed.map(|d| &d.config))?;
        name_in(effect.kind(), |names| Field::of(value.at(names)))
            .ok()
            .flatten()
    }

    /// The name it will have after the deploy.
    ///
    /// # Errors
    /// The reference that the name waits for.
    pub fn name_after(&self, effect: &Effect<'a>) -> Result<Option<String>, String> {
        name_in(effect.kind(), |names| self.after_at(effect, names))
    }

    /// The target: the first source that names one, else the bundle JSON's.
    #[must_use]
    pub fn target(&self) -> Option<&str> {
        self.inputs
            .targets
            .first()
            .map(|(_, t)| t.as_str())
            .or_else(|| self.inputs.bundle.map(Bundle::target))
    }

    fn resolved(&self, text: &'a str) -> Field<'a> {
        match reference::resolve(self, text, 0) {
            Some(value) => Field::Known(Cow::Owned(value)),
            None => Field::Unknown(Cow::Borrowed(text)),
        }
    }

    /// The text with its `${resources...}` references resolved, if all can be.
    #[must_use]
    pub fn resolve(&self, text: &str) -> Option<Value> {
        reference::resolve(self, text, 0)
    }
}

/// The name of a resource of this type, from its fields: full for what lives in a schema or catalog, in lower case there,
/// since Unity Catalog does not tell cases apart.
fn name_in<'v>(kind: &str, field: impl Fn(&[&str]) -> Field<'v>) -> Result<Option<String>, String> {
    let own = |name: &str| match field(&[name]) {
        Field::Unknown(text) => Err(text.into_owned()),
        Field::Absent => Ok(None),
        Field::Known(v) => Ok(v.as_str().filter(|s| !s.is_empty()).map(str::to_owned)),
    };
    let joined = |names: &[&str]| -> Result<Option<String>, String> {
        let parts: Result<Vec<Option<String>>, String> = names.iter().map(|n| own(n)).collect();
        let parts: Option<Vec<String>> = parts?.into_iter().collect();
        Ok(parts.map(|p| p.join(".").to_lowercase()))
    };
    match kind {
        "schemas" => joined(&["catalog_name", "name"]),
        "volumes" | "registered_models" | "secrets" => {
            joined(&["catalog_name", "schema_name", "name"])
        }
        "secret_scopes" => Ok(own("scope")?.or(own("name")?)),
        _ => {
            let name = own(resource_type(kind).map_or("name", |t| t.name_field))?;
            Ok(
                if matches!(
                    kind,
                    "catalogs"
                        | "quality_monitors"
                        | "vector_search_indexes"
                        | "synced_database_tables"
                ) {
                    name.map(|n| n.to_lowercase())
                } else {
                    name
                },
            )
        }
    }
}
