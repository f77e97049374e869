//! Azure DevOps: the build, the stage that this runs in, and the approvals that it waited for. Nothing here writes.
//!
//! How the parts hang together: in the timeline a stage has a child `Checkpoint`, and that has children `Checkpoint.Approval`, whose ids are
//! those of the approvals. The checkpoint's id is also that of the check suite ("Check Evaluations - Get"), whose check runs say to which
//! resource each check belongs; the check run of an approval has the approval's id.

mod access;
mod answers;

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;

pub use access::AzureAccess;

use self::answers::{
    Approval, Build, CheckSuite, EnvironmentInstance, Identity, Pipeline, Record, Timeline,
};
use super::http::{Advice, Ask, Failure, Http, HttpError, HttpOptions};
use crate::approval::platform::{AzureAccount, AzureApproval, AzureRun, AzureStep};

const VERSION: &str = "7.1";
const PREVIEW: &str = "7.1-preview.1";

const ADVICE: Advice = Advice {
    unauthorized: "the job's token is not accepted: pass `SYSTEM_ACCESSTOKEN: $(System.AccessToken)` in the step's env; it ends with the job",
    forbidden: "give the project's build service (`<project> Build Service`) the permission `View builds` on the pipeline",
    not_found: "Azure DevOps also answers so when the token may not see it: check that `Limit job authorization scope` does not shut out this project, and that the build service may view the pipeline's builds",
    rate_limited: "Azure DevOps delays this identity: try later",
    refused: "check SYSTEM_COLLECTIONURI, and that the server knows version 7.1 of its API",
    redirected: "Azure DevOps sends one to its sign-in page when it does not accept the token: pass `SYSTEM_ACCESSTOKEN: $(System.AccessToken)` in the step's env, and check SYSTEM_COLLECTIONURI",
    not_json: "Azure DevOps answers with its sign-in page when it does not accept the token: pass `SYSTEM_ACCESSTOKEN: $(System.AccessToken)` in the step's env, and check HTTPS_PROXY / NO_PROXY",
    malformed: "this version may be too old or too new for this Azure DevOps",
};
static BUILD: Advice = ADVICE;
static CHECKS: Advice = Advice {
    forbidden: "give the project's build service (`<project> Build Service`) the permission `View builds` on the pipeline and the role Reader on the environment",
    ..ADVICE
};
static ENVIRONMENT: Advice = Advice {
    forbidden: "give the project's build service (`<project> Build Service`) the role Reader on the environment",
    not_found: "Azure DevOps also answers so when the token may not see it: give the project's build service (`<project> Build Service`) the role Reader on the environment",
    ..ADVICE
};

/// Azure DevOps, for one stage of one build. Clones share the connections and the pace.
#[derive(Debug, Clone)]
pub struct Azure {
    access: AzureAccess,
    http: Http,
}

impl Azure {
    /// Makes the client.
    ///
    /// `BUNDLEGATE_CA_BUNDLE` wins over `options`. Requests to this machine use no proxy.
    ///
    /// # Errors
    /// [`Failure::Setup`]: the CA bundle, the system's certificates.
    pub fn connect(access: AzureAccess, mut options: HttpOptions) -> Result<Azure, HttpError> {
        if access.ca_bundle.is_some() {
            options.ca_bundle.clone_from(&access.ca_bundle);
        }
        options.system_proxy &= !access.collection.is_loopback();
        let http = Http::new(options)?;
        Ok(Azure { access, http })
    }

    /// The settings.
    pub fn access(&self) -> &AzureAccess {
        &self.access
    }

    /// This build, this attempt of this stage, and its approvals.
    ///
    /// Azure DevOps REST API: "Builds - Get" 7.1, "Timeline - Get" 7.1, "Approvals - Get" 7.1, "Check Evaluations - Get" 7.1-preview.1,
    /// "Environments - Get" 7.1-preview.1.
    ///
    /// # Errors
    /// Any [`Failure`]; [`Failure::Mismatch`] for a build, a stage or an approval that is not this one.
    pub async fn run(&self) -> Result<AzureRun, HttpError> {
        let AzureAccess {
            build,
            stage,
            attempt,
            ..
        } = &self.access;
        let id = build.to_string();
        let ask = self.ask(
            format!("build {build}"),
            &["build", "builds", &id],
            &[],
            VERSION,
            &BUILD,
        )?;
        let answer: Build = self.get(&ask).await?;
        if answer.id != *build {
            return Err(ask.mismatch(&format!("build {}; check BUILD_BUILDID", answer.id)));
        }
        let project = &self.access.project;
        if ![&answer.project.id, &answer.project.name]
            .iter()
            .any(|known| known.eq_ignore_ascii_case(project))
        {
            return Err(ask.mismatch(&format!(
                "a build of the project {}, not of {project}; check BUILD_BUILDID and SYSTEM_TEAMPROJECTID",
                answer.project.name
            )));
        }
        let requested_for = account(&ask, answer.requested_for)?;
        let requested_by = account(&ask, answer.requested_by)?;
        Ok(AzureRun {
            build: *build,
            stage: stage.clone(),
            attempt: *attempt,
            commit: answer.source_version,
            requested_for,
            requested_by,
            url: answer.links.web.href,
            approvals: self.approvals().await?,
        })
    }

    /// The approvals of this attempt of the stage, in the order of the timeline.
    async fn approvals(&self) -> Result<Vec<AzureApproval>, HttpError> {
        let AzureAccess {
            build,
            stage,
            attempt,
            ..
        } = &self.access;
        let id = build.to_string();
        let ask = self.ask(
            format!("the timeline of build {build}"),
            &["build", "builds", &id, "timeline"],
            &[],
            VERSION,
            &BUILD,
        )?;
        let Timeline { records } = self.get(&ask).await?;
        let mut stages = records
            .iter()
            .filter(|record| record.kind == "Stage" && record.identifier.as_deref() == Some(stage));
        let (Some(own), None) = (stages.next(), stages.next()) else {
            return Err(ask.mismatch(&format!(
                "it has no stage {stage}, or several; check SYSTEM_STAGENAME and BUILD_BUILDID"
            )));
        };
        if own.attempt != Some(*attempt) {
            return Err(ask.mismatch(&format!(
                "attempt {} of the stage {stage}, not attempt {attempt}; this job is of an attempt that was run again",
                own.attempt.map_or_else(|| "?".to_owned(), |attempt| attempt.to_string())
            )));
        }
        let mut approvals = Vec::new();
        let mut names = BTreeMap::new();
        for checkpoint in records.iter().filter(|r| r.is_below(own, "Checkpoint")) {
            let waited: Vec<&Record> = records
                .iter()
                .filter(|record| record.is_below(checkpoint, "Checkpoint.Approval"))
                .collect();
            if waited.is_empty() {
                continue;
            }
            let suite = self.suite(&checkpoint.id).await?;
            for record in waited {
                let environments = self
                    .environments(suite.as_ref(), &record.id, &mut names)
                    .await?;
                approvals.push(self.approval(&record.id, environments).await?);
            }
        }
        Ok(approvals)
    }

    /// An approval with its steps.
    async fn approval(
        &self,
        id: &str,
        environments: Vec<String>,
    ) -> Result<AzureApproval, HttpError> {
        let ask = self.ask(
            format!("approval {id}"),
            &["pipelines", "approvals", id],
            &[("$expand", "steps")],
            VERSION,
            &CHECKS,
        )?;
        let answer: Approval = self.get(&ask).await?;
        if !answer.id.eq_ignore_ascii_case(id) {
            return Err(ask.mismatch(&format!("approval {}", answer.id)));
        }
        self.is_of_this_build(&ask, answer.pipeline.as_ref())?;
        let steps = answer
            .steps
            .into_iter()
            .map(|step| {
                Ok(AzureStep {
                    status: step.status.to_lowercase(),
                    by: account(&ask, step.actual_approver)?,
                    when: step.last_modified_on,
                    comment: step.comment.unwrap_or_default(),
                })
            })
            .collect::<Result<_, HttpError>>()?;
        Ok(AzureApproval {
            id: answer.id,
            environments,
            steps,
        })
    }

    /// The checks of a checkpoint; none where the service keeps no suite under its id.
    async fn suite(&self, id: &str) -> Result<Option<CheckSuite>, HttpError> {
        let ask = self.ask(
            format!("the checks of the stage {}", self.access.stage),
            &["pipelines", "checks", "runs", id],
            &[("$expand", "resources")],
            PREVIEW,
            &CHECKS,
        )?;
        let suite: CheckSuite = match self.get(&ask).await {
            Ok(suite) => suite,
            Err(error) if matches!(error.failure(), Failure::NotFound(_)) => return Ok(None),
            Err(error) => return Err(error),
        };
        if let Some(context) = &suite.context {
            self.is_of_this_build(&ask, context.pipeline.as_ref())?;
            if let Some(node) = &context.node {
                let AzureAccess { stage, attempt, .. } = &self.access;
                let other = node.name.as_ref().is_some_and(|name| name != stage)
                    || node.attempt.is_some_and(|number| number != *attempt);
                if other {
                    return Err(ask.mismatch(&format!(
                        "the checks of another stage or attempt ({} {})",
                        node.name.as_deref().unwrap_or("?"),
                        node.attempt.unwrap_or_default()
                    )));
                }
            }
        }
        Ok(Some(suite))
    }

    /// The environment whose check an approval is, by the name that it has now. None for another kind of resource, or where the service does
    /// not say.
    async fn environments(
        &self,
        suite: Option<&CheckSuite>,
        approval: &str,
        names: &mut BTreeMap<String, String>,
    ) -> Result<Vec<String>, HttpError> {
        let resource = suite
            .into_iter()
            .flat_map(|suite| &suite.check_runs)
            .find(|run| run.id.eq_ignore_ascii_case(approval))
            .and_then(|run| run.check_configuration_ref.as_ref()?.resource.as_ref())
            .filter(|resource| resource.kind.eq_ignore_ascii_case("environment"));
        let Some(id) = resource.map(|resource| resource.id.as_str()) else {
            return Ok(Vec::new());
        };
        if let Some(name) = names.get(id) {
            return Ok(vec![name.clone()]);
        }
        let ask = self.ask(
            format!("environment {id}"),
            &["distributedtask", "environments", id],
            &[],
            PREVIEW,
            &ENVIRONMENT,
        )?;
        let environment: EnvironmentInstance = self.get(&ask).await?;
        if environment.id.to_string() != id {
            return Err(ask.mismatch(&format!("environment {}", environment.id)));
        }
        names.insert(id.to_owned(), environment.name.clone());
        Ok(vec![environment.name])
    }

    fn is_of_this_build(&self, ask: &Ask, pipeline: Option<&Pipeline>) -> Result<(), HttpError> {
        match pipeline.and_then(|pipeline| pipeline.owner.as_ref()) {
            Some(owner) if owner.id != self.access.build => Err(ask.mismatch(&format!(
                "it is of build {}, not of build {}",
                owner.id, self.access.build
            ))),
            _ => Ok(()),
        }
    }

    fn ask(
        &self,
        what: String,
        path: &[&str],
        query: &[(&str, &str)],
        version: &str,
        advice: &'static Advice,
    ) -> Result<Ask, HttpError> {
        let path = [&[self.access.project.as_str(), "_apis"], path].concat();
        let query = [query, &[("api-version", version)]].concat();
        let ask = self.access.collection.ask(what, &path, &query)?;
        // Without this header the service may answer with its sign-in page.
        Ok(ask
            .header("accept", "application/json")
            .bearer(&self.access.token)
            .advised(advice))
    }

    async fn get<T: DeserializeOwned>(&self, ask: &Ask) -> Result<T, HttpError> {
        self.http.json(ask).await
    }
}

/// An identity. One without a descriptor is refused: a display name or an address is not who somebody is.
fn account(ask: &Ask, identity: Option<Identity>) -> Result<Option<AzureAccount>, HttpError> {
    let Some(identity) = identity else {
        return Ok(None);
    };
    let named = |text: Option<String>| text.filter(|text| !text.is_empty());
    let name = named(identity.unique_name).or_else(|| named(identity.display_name));
    let Some(descriptor) = named(identity.descriptor) else {
        return Err(ask.malformed(&format!(
            "the identity {} has no descriptor",
            name.unwrap_or_default()
        )));
    };
    Ok(Some(AzureAccount {
        name: name.unwrap_or_else(|| descriptor.clone()),
        descriptor,
    }))
}

#[cfg(test)]
mod tests;
