//! Identity: who resources run as, and who owns them.

mod owner;
mod run_as;
mod standing;

pub(super) use owner::{CreatorPerson, Owner};
pub(super) use run_as::{RunAsChange, RunAsDrift, RunAsRemoved, RunAsUnexpected};
pub(super) use standing::{RunAsBuiltinGroup, RunAsGroupCli, RunAsPerson, RunAsUnset};

use crate::effect::{Effect, IDENTITY_TYPES, World};
use crate::policy::Policy;

/// The resources that run as somebody.
fn runners<'w, 'a>(world: &'w World<'a>) -> impl Iterator<Item = &'w Effect<'a>> {
    world.where_kind(|kind| IDENTITY_TYPES.contains(&kind))
}

/// The identity that the policy names for a resource.
fn named_by_policy<'p>(policy: &'p Policy, e: &Effect<'_>) -> Option<&'p str> {
    policy
        .identity
        .run_as_for(e.key().resource())
        .map(|r| r.value.principal.name())
}

/// What a change of identity does to a resource.
fn consequences(kind: &str) -> &'static str {
    match kind {
        "pipelines" => {
            "The ownership of the pipeline's tables moves at once, a continuous pipeline restarts, and where ABAC policies apply to the identity, what is in the tables can change."
        }
        "jobs" => {
            "Every run from now on has the rights of the new identity: what it may read and write, and what it leaves behind as owner."
        }
        _ => "It acts with the rights of the new identity from now on.",
    }
}
