//! What stands beside the plan: the bundle JSON, the deployed state, the CLI's warnings.

mod config;
mod state;
mod warnings;

pub use config::{Bundle, Location};
pub use state::{Deployed, State};
pub use warnings::{IgnoredField, Warnings};

use crate::json::Error;

/// A fault of the whole file, with what to do about it.
fn fault(message: impl Into<String>, help: &str) -> Error {
    Error::new(message, None).with_help(help)
}
