//! Principals: who a resource runs as, who owns it.

use super::{Effect, Field, World};
use crate::json::Value;

/// The types that run as somebody: `run_as` in their definition (Databricks CLI 1.13; alerts and apps as of 1.20).
pub const IDENTITY_TYPES: &[&str] = &["jobs", "pipelines", "alerts", "apps"];

/// What kind of principal it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// `user_name`
    User,
    /// `group_name`
    Group,
    /// `service_principal_name`
    ServicePrincipal,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Kind; 3] = [Kind::User, Kind::Group, Kind::ServicePrincipal];

    /// The field that holds a principal of this kind.
    #[must_use]
    pub fn field(self) -> &'static str {
        match self {
            Kind::User => "user_name",
            Kind::Group => "group_name",
            Kind::ServicePrincipal => "service_principal_name",
        }
    }

    /// The kind in words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Kind::User => "the user",
            Kind::Group => "the group",
            Kind::ServicePrincipal => "the service principal",
        }
    }
}

/// A principal.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Principal {
    /// Its kind.
    pub kind: Kind,
    /// The login, the application id, or the name of the group.
    pub name: String,
}

impl Principal {
    /// The principal in words.
    #[must_use]
    pub fn words(&self) -> String {
        format!("{} {}", self.kind.words(), self.name)
    }
}

/// Whether this is a person: a user, or any name with an `@`.
#[must_use]
pub fn is_person(principal: &Principal) -> bool {
    principal.kind == Kind::User || looks_like_person(&principal.name)
}

/// Whether two names are one principal's. Logins and application ids do not tell cases apart; names of groups do.
#[must_use]
pub fn same_name(a: &str, b: &str) -> bool {
    let folds = |n: &str| n.contains('@') || is_application_id(n);
    a == b || (folds(a) && folds(b) && a.eq_ignore_ascii_case(b))
}

/// Eight, four, four, four and twelve hexadecimal digits: the application id of a service principal.
fn is_application_id(name: &str) -> bool {
    let parts: Vec<&str> = name.split('-').collect();
    parts.iter().map(|p| p.len()).eq([8, 4, 4, 4, 12])
        && parts
            .iter()
            .all(|p| p.bytes().all(|b| b.is_ascii_hexdigit()))
}

/// Whether a bare name (`run_as_user_name`, `creator_user_name`) is a person's.
#[must_use]
pub fn looks_like_person(name: &str) -> bool {
    name.contains('@')
}

/// The principal that an object with `user_name`, `group_name` or `service_principal_name` names.
#[must_use]
pub fn principal_of(value: &Value) -> Option<Principal> {
    Kind::ALL.into_iter().find_map(|kind| {
        let name = value
            .get(kind.field())
            .and_then(Value::as_str)
            .filter(|n| !n.is_empty())?;
        Some(Principal {
            kind,
            name: name.to_owned(),
        })
    })
}

/// What is known of a `run_as`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunAs {
    /// It is not set.
    Unset,
    /// It is there and names nobody (`run_as: {}`).
    Empty,
    /// It names this principal.
    Is(Principal),
    /// It is a principal of this kind, named by a reference that is not resolved.
    Waits(Option<Kind>, String),
}

impl RunAs {
    /// Of a `run_as` as it stands in a value in which nothing waits for a reference.
    fn plain(run_as: Option<&Value>) -> Self {
        match run_as {
            None | Some(Value::Null) => RunAs::Unset,
            Some(v) => principal_of(v).map_or(RunAs::Empty, RunAs::Is),
        }
    }

    fn of<'f>(field: impl Fn(&[&str]) -> Field<'f>) -> Self {
        for kind in Kind::ALL {
            match field(&["run_as", kind.field()]) {
                Field::Unknown(text) => return RunAs::Waits(Some(kind), text.into_owned()),
                Field::Known(v) => {
                    if let Some(name) = v.as_str().filter(|n| !n.is_empty()) {
                        return RunAs::Is(Principal {
                            kind,
                            name: name.to_owned(),
                        });
                    }
                }
                Field::Absent => {}
            }
        }
        match field(&["run_as"]) {
            Field::Absent => RunAs::Unset,
            Field::Unknown(text) => RunAs::Waits(None, text.into_owned()),
            Field::Known(_) => RunAs::Empty,
        }
    }

    /// The principal, if it is known.
    #[must_use]
    pub fn principal(&self) -> Option<&Principal> {
        match self {
            RunAs::Is(p) => Some(p),
            _ => None,
        }
    }
}

impl<'a> World<'a> {
    /// Whom the deploy will set as `run_as`.
    #[must_use]
    pub fn run_as_after(&self, effect: &Effect<'a>) -> RunAs {
        match &effect.entry.new_state {
            Some(sent) if sent.vars.is_empty() => RunAs::plain(sent.value.get("run_as")),
            _ => RunAs::of(|names| self.after_at(effect, names)),
        }
    }

    /// Whom the definition names: what the CLI sends, else what stands.
    #[must_use]
    pub fn run_as_standing(&self, effect: &Effect<'a>) -> RunAs {
        if effect.sent().is_some() {
            return self.run_as_after(effect);
        }
        let remote_only =
            effect.entry.changes.is_empty() && effect.config.is_none() && effect.deployed.is_none();
        if remote_only {
            return RunAs::plain(effect.remote().and_then(|r| r.get("run_as")));
        }
        RunAs::of(|names| self.standing_at(effect, names))
    }

    /// As whom it runs today: `run_as_user_name`, the only truth, else `remote_state.run_as`.
    #[must_use]
    pub fn runs_as_today(&self, effect: &Effect<'a>) -> Option<String> {
        let remote = effect.remote()?;
        let name = remote
            .get("run_as_user_name")
            .and_then(Value::as_str)
            .filter(|n| !n.is_empty());
        name.map(str::to_owned)
            .or_else(|| remote.get("run_as").and_then(principal_of).map(|p| p.name))
    }

    /// Whom the last deploy set, by the state file, else by what `changes` call old. `None`: neither says anything.
    #[must_use]
    pub fn run_as_deployed(&self, effect: &Effect<'a>) -> Option<RunAs> {
        if let Some(deployed) = effect.deployed
            && deployed.config != Value::Null
        {
            return Some(RunAs::of(|names| Field::of(deployed.config.at(names))));
        }
        let old = |names: &[&str]| Field::of(effect.in_changes_at(names, |c| c.old.as_ref()));
        match RunAs::of(old) {
            RunAs::Unset => None,
            found => Some(found),
        }
    }
}
