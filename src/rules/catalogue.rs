//! The one explicit list of rules.

use std::sync::LazyLock;

use super::Rule;
use super::{access, actions, configuration, identity, integrity, policy_rules, state};
use crate::plan::TYPES;
use crate::policy::Catalogue;

/// Every rule, by family in the order of the documentation.
pub static RULES: &[&dyn Rule] = &[
    &integrity::TerraformEngine,
    &integrity::MissingInput,
    &integrity::IgnoredField,
    &integrity::InconsistentPlan,
    &integrity::UnknownType,
    &integrity::StateMismatch,
    &integrity::EmptyPlan,
    &integrity::PartialPlan,
    &integrity::FirstDeploy,
    &integrity::LostState,
    &integrity::CliVersion,
    &integrity::ArtifactWipe,
    &integrity::RedactedValue,
    &integrity::WrongTarget,
    &integrity::BundleMismatch,
    &integrity::PlaintextSecret,
    &actions::Destroy,
    &actions::LostWithParent,
    &actions::Recreate,
    &actions::Rename,
    &actions::Protected,
    &actions::RenamedKey,
    &actions::MissingRemote,
    &actions::BlastRadius,
    &actions::StartsRuns,
    &actions::RemoteEdit,
    &actions::FieldReset,
    &state::PipelineTables,
    &state::CascadeUnset,
    &state::CascadeArmed,
    &state::PreventDestroyMissing,
    &state::PreventDestroyBlocks,
    &state::PurgeArmed,
    &state::DatasetMove,
    &state::FullRefresh,
    &state::DropInactiveTables,
    &state::GuardRemoved,
    &state::UnregisteredState,
    &identity::RunAsChange,
    &identity::RunAsDrift,
    &identity::RunAsUnexpected,
    &identity::RunAsPerson,
    &identity::RunAsUnset,
    &identity::RunAsRemoved,
    &identity::RunAsBuiltinGroup,
    &identity::RunAsGroupCli,
    &identity::Owner,
    &identity::CreatorPerson,
    &access::PermissionBroadened,
    &access::PermissionRemoved,
    &access::GrantBroadened,
    &access::GrantRemoved,
    &access::SharedRootPath,
    &access::PersonalRootPath,
    &configuration::ProductionMode,
    &configuration::DevelopmentPipeline,
    &configuration::PreviewChannel,
    &configuration::GitBranch,
    &configuration::MaintenanceWindow,
    &configuration::UnpausedOutsideProduction,
    &configuration::Unlocked,
    &policy_rules::ExpiredWaiver,
    &policy_rules::UnusedWaiver,
    &policy_rules::DeadSelector,
    &policy_rules::EmptyPolicy,
];

/// The rule of this id.
#[must_use]
pub fn find(id: &str) -> Option<&'static dyn Rule> {
    RULES.iter().copied().find(|r| r.doc().id == id)
}

/// What a policy may name: the ids of the rules and the resource types.
#[must_use]
pub fn known() -> Catalogue<'static> {
    static NAMES: LazyLock<(Vec<&'static str>, Vec<&'static str>)> = LazyLock::new(|| {
        let rules = RULES.iter().map(|r| r.doc().id).collect();
        (rules, TYPES.iter().map(|t| t.name).collect())
    });
    Catalogue {
        rules: &NAMES.0,
        types: &NAMES.1,
    }
}
