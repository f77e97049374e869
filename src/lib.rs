//! bundlegate stands between `databricks bundle plan` and `databricks bundle deploy`.
//!
//! The map of the crate. Dependencies point from the bottom of this list to its top; nothing pure imports [`host`] or `remote`.
//!
//! - [`text`]: foreign text made visible, nearest names
//! - [`json`]: the strict reader, positions, the canonical form
//! - [`plan`]: the plan's model, resource keys, field paths
//! - [`bundle`]: the bundle JSON with its locations, the deployed state, the CLI's warnings
//! - [`secret`]: known secret fields and the value type that cannot be printed
//! - [`effect`]: what a plan does to each resource, computed once from plan, bundle JSON and state
//! - [`policy`]: the policy file and its resolved form
//! - [`approval`]: what a person signed, who may sign, whether enough agree
//! - [`audit`]: the log, a chain of lines
//! - [`report`]: findings, verdict, the bodies of each command
//! - [`rules`]: the rule catalogue
//! - [`policy_test`], [`replay`]: a policy tried on cases and on recorded plans
//! - [`policy_init`]: a policy for a bundle, written from its bundle JSON
//! - [`digest`]: plan, intent and policy digests
//! - [`authorize`]: facts in, decision out
//! - [`verify`]: what the workspace should hold, what it holds, the difference
//! - [`exposure`]: what each command can delete in a target
//! - [`render`]: one output format a file
//! - [`host`]: files, clock, programs: everything that touches the machine
//! - `remote` (cargo feature `remote`): everything that touches the network
//! - [`commands`]: one file a command

pub mod approval;
pub mod audit;
pub mod authorize;
pub mod bundle;
pub mod commands;
pub mod digest;
pub mod effect;
pub mod exposure;
pub mod host;
pub mod impact;
pub mod input;
pub mod json;
pub mod plan;
pub mod policy;
pub mod policy_init;
pub mod policy_test;
#[cfg(feature = "remote")]
pub mod remote;
pub mod render;
pub mod replay;
pub mod report;
pub mod rules;
pub mod secret;
pub mod text;
pub mod verify;
