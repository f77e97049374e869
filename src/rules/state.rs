//! State that the bundle does not carry: tables, checkpoints, and the guards that keep them.

mod guards;
mod tables;

pub(super) use guards::{CascadeArmed, DropInactiveTables, GuardRemoved, PurgeArmed};
pub(super) use tables::{DatasetMove, FullRefresh, PipelineTables};
