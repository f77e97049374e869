//! What stands beside the plan: the bundle JSON, the deployed state, the CLI's warnings.

mod config;
mod state;
mod warnings;

pub use config::{Bundle, Location};
pub use state::{Deployed, State};
pub use warnings::{IgnoredField, Warnings};

use crate::json::{self, Position};

/// Why an input beside the plan cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    /// What was expected and what was found, in one sentence.
    pub message: String,
    /// Where, if the fault has a place.
    pub position: Option<Position>,
    /// What to do about it.
    pub help: Option<String>,
}

impl Error {
    fn new(message: impl Into<String>, help: &str) -> Self {
        Self {
            message: message.into(),
            position: None,
            help: Some(help.to_owned()),
        }
    }
}

impl From<json::Error> for Error {
    fn from(e: json::Error) -> Self {
        Self {
            message: e.message,
            position: e.position,
            help: e.help,
        }
    }
}
