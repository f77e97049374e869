//! The rule catalogue: one explicit list, one family a file, one short type a rule with its documentation beside it.
//!
//! A rule reads effects and the policy, and returns findings. It never prints, reads no file, no clock, no environment.

/// A rule: its type, its documentation, and what it checks.
macro_rules! rule {
    ($name:ident, $doc:expr, |$cx:ident, $out:ident| $body:block) => {
        pub(in crate::rules) struct $name;
        impl Rule for $name {
            fn doc(&self) -> &'static Doc {
                static DOC: Doc = $doc;
                &DOC
            }
            fn check(&self, $cx: &Context<'_, '_>, $out: &mut Vec<Found>) $body
        }
    };
}

mod access;
mod actions;
mod catalogue;
mod configuration;
mod custom;
pub mod docs;
mod engine;
#[cfg(test)]
mod examples;
pub(crate) mod facts;
mod found;
mod identity;
mod integrity;
mod policy_rules;
mod state;
mod waive;

pub use catalogue::{RULES, find, known};
pub use engine::{Judged, judge};
pub use found::Found;
pub(crate) use state::{Fate, fate};

use crate::effect::World;
use crate::policy::Policy;
use crate::report::Finding;

/// What a rule sees.
#[derive(Debug, Clone, Copy)]
pub struct Context<'c, 'a> {
    /// The effects, and everything they were made of.
    pub world: &'c World<'a>,
    /// The policy.
    pub policy: &'c Policy,
    /// The time at which waivers are judged.
    pub now: jiff::Timestamp,
}

/// A rule of the catalogue.
pub trait Rule: Sync {
    /// What it is.
    fn doc(&self) -> &'static Doc;
    /// What it finds.
    fn check(&self, cx: &Context<'_, '_>, out: &mut Vec<Found>);
    /// What it finds in the findings of all rules, after waivers.
    fn check_findings(&self, _: &Context<'_, '_>, _: &[Finding], _: &mut Vec<Found>) {}
}

/// What a rule is, for `rules ID`, `docs/rules.md` and the reports.
#[derive(Debug)]
pub struct Doc {
    /// The id: stable for ever.
    pub id: &'static str,
    /// The family.
    pub family: Family,
    /// When it fires.
    pub trigger: &'static str,
    /// What it can delete or break.
    pub impact: &'static str,
    /// What to do.
    pub remedy: &'static str,
    /// Where the facts come from.
    pub source: &'static str,
    /// Inputs without which it cannot run at all: any one of them is enough.
    pub needs: &'static [Need],
    /// Small plans that show it at work; every one is run by the tests.
    pub examples: &'static [Example],
}

/// A family of rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Family {
    /// Can the plan be believed?
    Integrity,
    /// What it does.
    Actions,
    /// State that the bundle does not carry.
    State,
    /// Who it runs as.
    Identity,
    /// Who may do what.
    Access,
    /// How an environment is set up.
    Configuration,
    /// What the policy itself says and does not say.
    Policy,
    /// Rules of the policy's own.
    Custom,
}

impl Family {
    /// The families of the catalogue, in its order.
    pub const ALL: [Family; 7] = [
        Family::Integrity,
        Family::Actions,
        Family::State,
        Family::Identity,
        Family::Access,
        Family::Configuration,
        Family::Policy,
    ];

    /// The name in reports.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Family::Integrity => "plan-integrity",
            Family::Actions => "actions",
            Family::State => "state",
            Family::Identity => "identity",
            Family::Access => "access",
            Family::Configuration => "configuration",
            Family::Policy => "policy",
            Family::Custom => "custom",
        }
    }

    /// The title in documentation.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Family::Integrity => "Plan integrity",
            Family::Actions => "Actions",
            Family::State => "State that the bundle does not carry",
            Family::Identity => "Identity",
            Family::Access => "Access",
            Family::Configuration => "Configuration of an environment",
            Family::Policy => "Policy",
            Family::Custom => "Rules of the policy's own",
        }
    }
}

/// An input beside the plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Need {
    /// `--bundle`
    Bundle,
    /// `--state`
    State,
    /// `--warnings`
    Warnings,
}

impl Need {
    /// The option that gives it.
    #[must_use]
    pub fn flag(self) -> &'static str {
        match self {
            Need::Bundle => "--bundle",
            Need::State => "--state",
            Need::Warnings => "--warnings",
        }
    }
}

/// What an example shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shows {
    /// The rule fires.
    Fires,
    /// The rule has nothing to say.
    Quiet,
    /// The rule cannot tell, and says so.
    Unknown,
}

/// A small plan, and what the rule says about it.
#[derive(Debug)]
pub struct Example {
    /// What it shows.
    pub shows: Shows,
    /// Head fields of the plan in place of the usual ones (`plan_version`, `cli_version`, `lineage`, `serial`), as JSON members; empty: the usual.
    pub head: &'static str,
    /// Entries of the plan by short key, as JSON members.
    pub plan: &'static str,
    /// Members of the bundle JSON; empty: not given.
    pub bundle: &'static str,
    /// The same of what is deployed now; empty: not given.
    pub base_bundle: &'static str,
    /// Resources of the state by short key, as JSON members; empty: not given.
    pub state: &'static str,
    /// The CLI's warnings; empty: not given.
    pub warnings: &'static str,
    /// Keys of the policy, as YAML; empty: none.
    pub policy: &'static str,
}

/// An example with nothing in it yet.
const EXAMPLE: Example = Example {
    shows: Shows::Quiet,
    head: "",
    plan: "",
    bundle: "",
    base_bundle: "",
    state: "",
    warnings: "",
    policy: "",
};

/// An example of a plan on which the rule fires.
const fn fires(plan: &'static str) -> Example {
    Example {
        shows: Shows::Fires,
        plan,
        ..EXAMPLE
    }
}

/// An example of a plan on which the rule is quiet.
const fn quiet(plan: &'static str) -> Example {
    Example {
        shows: Shows::Quiet,
        plan,
        ..EXAMPLE
    }
}

/// An example of a plan on which the rule cannot tell.
const fn unknown(plan: &'static str) -> Example {
    Example {
        shows: Shows::Unknown,
        plan,
        ..EXAMPLE
    }
}

impl Example {
    const fn head(self, head: &'static str) -> Self {
        Self { head, ..self }
    }
    const fn bundle(self, bundle: &'static str) -> Self {
        Self { bundle, ..self }
    }
    const fn base_bundle(self, base_bundle: &'static str) -> Self {
        Self {
            base_bundle,
            ..self
        }
    }
    const fn state(self, state: &'static str) -> Self {
        Self { state, ..self }
    }
    const fn warnings(self, warnings: &'static str) -> Self {
        Self { warnings, ..self }
    }
    const fn policy(self, policy: &'static str) -> Self {
        Self { policy, ..self }
    }
}
