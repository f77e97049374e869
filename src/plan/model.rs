//! What a plan says, after the strict reader.

use crate::json::Value;

use super::{FieldPath, ResourceKey};

/// What the CLI will do with a resource, in rising severity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Action {
    /// Nothing.
    Skip,
    /// A change of size in place.
    Resize,
    /// A change in place.
    Update,
    /// A change in place that gives it another id (a rename).
    UpdateId,
    /// It is made.
    Create,
    /// It is deleted and made again.
    Recreate,
    /// It is deleted.
    Delete,
}

impl Action {
    /// All actions, in rising severity.
    pub const ALL: [Action; 7] = [
        Action::Skip,
        Action::Resize,
        Action::Update,
        Action::UpdateId,
        Action::Create,
        Action::Recreate,
        Action::Delete,
    ];

    /// The word that stands in the plan.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Action::Skip => "skip",
            Action::Resize => "resize",
            Action::Update => "update",
            Action::UpdateId => "update_id",
            Action::Create => "create",
            Action::Recreate => "recreate",
            Action::Delete => "delete",
        }
    }

    /// The action of this word.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|a| a.as_str() == word)
    }

    /// Whether something that exists is changed and stays under its key: both states are there.
    #[must_use]
    pub fn is_update_like(self) -> bool {
        matches!(
            self,
            Action::Update | Action::UpdateId | Action::Resize | Action::Recreate
        )
    }
}

/// Which engine wrote the plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Engine {
    /// The CLI's own: states, changes, lineage; can be replayed with `deploy --plan`.
    Direct,
    /// Terraform (removed from CLI 1.20): actions only; cannot be replayed.
    Terraform,
}

/// A plan.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Which engine wrote it.
    pub engine: Engine,
    /// The CLI that wrote it, if the file says so.
    pub cli_version: Option<Box<str>>,
    /// The deployment's lineage; absent on a first deploy. Empty counts as absent, as in the CLI.
    pub lineage: Option<Box<str>>,
    /// The serial of the state it was made against; 0 counts as absent, as in the CLI.
    pub serial: Option<u64>,
    /// How many resources `--select` left out.
    pub not_selected: u64,
    /// The entries, sorted by key.
    pub entries: Vec<Entry>,
}

impl Plan {
    /// The entry of this full key.
    #[must_use]
    pub fn entry(&self, full_key: &str) -> Option<&Entry> {
        let at = self
            .entries
            .binary_search_by(|e| e.key.full().cmp(full_key))
            .ok()?;
        self.entries.get(at)
    }
}

/// What the plan does to one resource or sub-resource.
#[derive(Debug, Clone)]
pub struct Entry {
    /// Its key.
    pub key: ResourceKey,
    /// Its id, where the plan names one.
    pub id: Option<Box<str>>,
    /// What must be done before.
    pub depends_on: Vec<Dependency>,
    /// What the CLI will do.
    pub action: Action,
    /// Whether the CLI found it already absent in the workspace.
    pub gone: bool,
    /// What the CLI will send.
    pub new_state: Option<NewState>,
    /// What the workspace holds now.
    pub remote_state: Option<Value>,
    /// What the plan says about single fields, sorted by path.
    pub changes: Vec<(FieldPath, Change)>,
}

impl Entry {
    /// The changes whose own action is not `skip`: only these count.
    pub fn actionable(&self) -> impl Iterator<Item = &(FieldPath, Change)> {
        self.changes
            .iter()
            .filter(|(_, c)| c.action != Action::Skip)
    }

    /// Whether it still exists in the workspace, as far as the plan tells: `gone` is only believed without a `remote_state`.
    #[must_use]
    pub fn is_gone(&self) -> bool {
        self.gone && self.remote_state.is_none()
    }
}

/// One edge of the order in which the CLI acts.
#[derive(Debug, Clone)]
pub struct Dependency {
    /// The full key of the entry that comes first.
    pub node: Box<str>,
    /// The reference that makes the edge.
    pub label: Option<Box<str>>,
}

/// What the CLI will send, whole.
#[derive(Debug, Clone)]
pub struct NewState {
    /// The value; fields named in `vars` hold a placeholder.
    pub value: Value,
    /// Fields that are references until the deploy resolves them: path (with the keys as they stand in `value`) and text.
    pub vars: Vec<(FieldPath, Box<str>)>,
}

/// What the plan says about one field.
#[derive(Debug, Clone)]
pub struct Change {
    /// What this change alone would take.
    pub action: Action,
    /// Why, in the CLI's words; free text.
    pub reason: Option<Box<str>>,
    /// What the last deploy set.
    pub old: Option<Value>,
    /// What this deploy sets.
    pub new: Option<Value>,
    /// What the workspace holds.
    pub remote: Option<Value>,
}
