//! What a rule hands back; the engine makes a finding of it.

use crate::effect::Effect;
use crate::json::Value;
use crate::plan::{Action, FieldPath};
use crate::policy::Level;
use crate::report::{Place, Status};
use crate::secret::{Shown, hide};

/// What a rule found, before the policy weighs it.
#[derive(Debug, Clone)]
pub struct Found {
    pub(super) status: Status,
    /// Full key of the entry.
    pub(super) entry: Option<String>,
    /// Short key of the resource.
    pub(super) resource: Option<String>,
    /// Its type.
    pub(super) kind: String,
    pub(super) path: Option<FieldPath>,
    /// What stands before the path in reports (`permissions`, `grants`).
    pub(super) sub: Option<&'static str>,
    pub(super) old: Option<Shown>,
    pub(super) new: Option<Shown>,
    pub(super) remote: Option<Shown>,
    pub(super) message: String,
    pub(super) impact: Option<String>,
    pub(super) remedy: Option<String>,
    pub(super) standing: bool,
    pub(super) at_most: Level,
    pub(super) at_least: Level,
    pub(super) place: Option<Place>,
}

impl Found {
    /// About one entry. It is standing where the plan leaves the entry alone; [`Found::done`] takes that back.
    #[must_use]
    pub fn on(effect: &Effect<'_>, message: impl Into<String>) -> Self {
        Self {
            entry: Some(effect.key().full().to_owned()),
            standing: effect.action() == Action::Skip,
            sub: effect.key().sub().map(crate::plan::Sub::as_str),
            ..Self::at(effect.key().resource(), message)
        }
    }

    /// About a resource that may be in no entry of the plan.
    #[must_use]
    pub fn at(resource: &str, message: impl Into<String>) -> Self {
        Self {
            entry: Some(format!("resources.{resource}")),
            resource: Some(resource.to_owned()),
            kind: resource.split('.').next().unwrap_or_default().to_owned(),
            ..Self::deployment(message)
        }
    }

    /// About the whole deployment.
    #[must_use]
    pub fn deployment(message: impl Into<String>) -> Self {
        Self {
            status: Status::Fired,
            entry: None,
            resource: None,
            kind: String::new(),
            path: None,
            sub: None,
            old: None,
            new: None,
            remote: None,
            message: hide(&message.into()),
            impact: None,
            remedy: None,
            standing: false,
            at_most: Level::Deny,
            at_least: Level::Off,
            place: None,
        }
    }

    /// The rule cannot tell.
    #[must_use]
    pub fn unknown(self) -> Self {
        Self {
            status: Status::Unknown,
            ..self
        }
    }

    /// The field.
    #[must_use]
    pub fn path(self, path: FieldPath) -> Self {
        Self {
            path: Some(path),
            ..self
        }
    }

    /// The field, by plain names.
    #[must_use]
    pub fn field(self, names: &[&str]) -> Self {
        self.path(FieldPath::of(names))
    }

    fn shown(&self, value: Option<&Value>) -> Option<Shown> {
        value.map(|v| {
            Shown::of(
                &self.kind,
                self.path.as_ref().and_then(FieldPath::last_field),
                v,
            )
        })
    }

    /// What the last deploy set. Call after [`Found::path`]: the field's name decides whether it is a secret.
    #[must_use]
    pub fn old(self, value: Option<&Value>) -> Self {
        Self {
            old: self.shown(value),
            ..self
        }
    }

    /// What this deploy sets. Call after [`Found::path`].
    #[must_use]
    pub fn new(self, value: Option<&Value>) -> Self {
        Self {
            new: self.shown(value),
            ..self
        }
    }

    /// What the workspace holds. Call after [`Found::path`].
    #[must_use]
    pub fn remote(self, value: Option<&Value>) -> Self {
        Self {
            remote: self.shown(value),
            ..self
        }
    }

    /// The same as [`Found::old`] and [`Found::new`] for plain text such as a principal.
    #[must_use]
    pub fn from_to(self, old: Option<&str>, new: Option<&str>) -> Self {
        Self {
            old: old.map(Shown::text),
            new: new.map(Shown::text),
            ..self
        }
    }

    /// What the workspace holds, as plain text.
    #[must_use]
    pub fn remote_text(self, remote: &str) -> Self {
        Self {
            remote: Some(Shown::text(remote)),
            ..self
        }
    }

    /// What it can delete or break here, in place of the rule's general text.
    #[must_use]
    pub fn impact(self, text: impl Into<String>) -> Self {
        Self {
            impact: Some(hide(&text.into())),
            ..self
        }
    }

    /// What to do here, in place of the rule's general text.
    #[must_use]
    pub fn remedy(self, text: impl Into<String>) -> Self {
        Self {
            remedy: Some(hide(&text.into())),
            ..self
        }
    }

    /// It is about what the plan does even where the entry is left alone.
    #[must_use]
    pub fn done(self) -> Self {
        Self {
            standing: false,
            ..self
        }
    }

    /// It weighs no more than this, whatever the policy says.
    #[must_use]
    pub fn at_most(self, level: Level) -> Self {
        Self {
            at_most: level,
            ..self
        }
    }

    /// It weighs no less than this, unless the policy switches the rule off.
    #[must_use]
    pub fn at_least(self, level: Level) -> Self {
        Self {
            at_least: level,
            ..self
        }
    }

    /// Where it stands, if the bundle JSON does not tell.
    #[must_use]
    pub fn place(self, place: Option<Place>) -> Self {
        Self { place, ..self }
    }
}
