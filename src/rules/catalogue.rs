//! The one explicit list of rules.

use super::Rule;
use super::{access, actions, configuration, identity, integrity, state};

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
    &state::CascadeArmed,
    &state::PurgeArmed,
    &state::DatasetMove,
    &state::FullRefresh,
    &state::DropInactiveTables,
    &state::GuardRemoved,
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
];

/// The rule of this id.
#[must_use]
pub fn find(id: &str) -> Option<&'static dyn Rule> {
    RULES.iter().copied().find(|r| r.doc().id == id)
}
