//! Where Azure DevOps is, and which build and stage this is: the predefined variables of Azure Pipelines.

use std::path::PathBuf;

use secrecy::SecretString;

use crate::remote::address::Address;
use crate::remote::environment::Environment;
use crate::remote::http::CA_BUNDLE;
use crate::remote::setting::{self, SettingError};

const IN_A_JOB: &str = "Azure Pipelines sets it in every job; run this in the stage that deploys";

/// The settings for Azure DevOps.
#[derive(Debug, Clone)]
pub struct AzureAccess {
    pub(super) token: SecretString,
    pub(super) collection: Address,
    pub(super) project: String,
    pub(super) build: u64,
    pub(super) stage: String,
    pub(super) attempt: u64,
    pub(super) ca_bundle: Option<PathBuf>,
}

impl AzureAccess {
    /// Reads `SYSTEM_ACCESSTOKEN`, `SYSTEM_COLLECTIONURI` (else `SYSTEM_TEAMFOUNDATIONCOLLECTIONURI`), `SYSTEM_TEAMPROJECTID` (else
    /// `SYSTEM_TEAMPROJECT`), `BUILD_BUILDID`, `SYSTEM_STAGENAME`, `SYSTEM_STAGEATTEMPT` and `BUNDLEGATE_CA_BUNDLE` (Azure Pipelines docs,
    /// "Use predefined variables").
    ///
    /// # Errors
    /// The first variable that is missing or wrong.
    pub fn of(environment: &Environment) -> Result<AzureAccess, SettingError> {
        let needed = |names| setting::needed(environment, names, IN_A_JOB);
        let token = setting::token(
            environment,
            &["SYSTEM_ACCESSTOKEN"],
            "Azure Pipelines gives it only to steps that ask: add `SYSTEM_ACCESSTOKEN: $(System.AccessToken)` to the step's env",
        )?;
        let (name, value) =
            needed(&["SYSTEM_COLLECTIONURI", "SYSTEM_TEAMFOUNDATIONCOLLECTIONURI"])?;
        let collection = setting::address(name, value)?;
        let (_, project) = needed(&["SYSTEM_TEAMPROJECTID", "SYSTEM_TEAMPROJECT"])?;
        let number = |names| {
            let (name, value) = needed(names)?;
            setting::number(name, value)
        };
        let build = number(&["BUILD_BUILDID"])?;
        let (_, stage) = needed(&["SYSTEM_STAGENAME"])?;
        let attempt = number(&["SYSTEM_STAGEATTEMPT"])?;
        Ok(AzureAccess {
            token,
            collection,
            project: project.to_owned(),
            build,
            stage: stage.to_owned(),
            attempt,
            ca_bundle: environment.get(CA_BUNDLE).map(PathBuf::from),
        })
    }

    /// The id of the build that this is part of.
    pub fn build(&self) -> u64 {
        self.build
    }
}
