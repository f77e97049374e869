//! Rules of the policy's own.

use serde::Serialize;

use super::location::At;
use super::selector::Selector;
use super::value::RuleId;

/// A rule of the policy's own.
#[derive(Debug, Clone, Serialize)]
pub struct CustomRule {
    /// Its id.
    pub id: RuleId,
    /// The resources it is asked about; `None`: all.
    pub resources: Option<Vec<At<Selector>>>,
    /// The condition under which it fires.
    pub when: At<String>,
    /// What the finding says.
    pub message: String,
}

impl CustomRule {
    pub(super) fn compile(
        source: super::file::CustomSource,
        _: &mut super::decode::Cx,
    ) -> Option<Self> {
        Some(Self {
            id: source.id.value,
            resources: source.resources,
            when: source.when,
            message: source.message,
        })
    }
}
