//! State that the bundle does not carry: tables, checkpoints, and the guards that keep them.

mod guards;
mod prevent;
mod register;
mod tables;

pub(super) use guards::{CascadeArmed, DropInactiveTables, GuardRemoved, PurgeArmed};
pub(crate) use prevent::prevents_destroy;
pub(super) use prevent::{CascadeUnset, PreventDestroyBlocks, PreventDestroyMissing};
pub(crate) use register::refilled;
pub(super) use register::{UnregisteredState, with_register};
pub(super) use tables::{DatasetMove, FullRefresh, PipelineTables};
pub(crate) use tables::{Fate, cascade_deployed, fate, fate_by};
