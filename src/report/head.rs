//! The common head of every report, and the bodies of the commands.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::{Finding, Status, Verdict};
use crate::plan::{Action, Plan};
use crate::policy::Level;

/// The name of the report's format.
pub const SCHEMA: &str = "bundlegate-report-v1";

/// What a command found.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Report {
    /// The format: `bundlegate-report-v1`.
    pub schema: &'static str,
    /// The command.
    pub command: &'static str,
    /// Whether the gate is open.
    pub verdict: Verdict,
    /// The exit code that the command ends with.
    pub exit_code: u8,
    /// What was judged.
    pub plan: PlanHead,
    /// The target, if one is known.
    pub target: Option<String>,
    /// The policy that judged.
    pub policy: Option<PolicyHead>,
    /// SHA-256 of every input that was given, by its name (`plan`, `bundle`, `base_bundle`, `state`, `warnings`).
    pub inputs: BTreeMap<&'static str, InputDigest>,
    /// Rules that could not run, and the input that each needs.
    pub not_run: Vec<NotRun>,
    /// How many entries the plan has of each action.
    pub summary: Counts,
    /// What the rules have to say, the heaviest first. The checks that refuse a deploy stand before them; after a deploy,
    /// what does not match stands in their place.
    pub findings: Vec<Finding>,
    /// What this command alone has to say.
    #[serde(skip_serializing_if = "Body::is_none")]
    pub body: Body,
}

impl Report {
    /// Whether an approval lifts this finding: it asks for a person's, and the plan is authorized.
    #[must_use]
    pub fn is_approved(&self, finding: &Finding) -> bool {
        finding.level == Level::Review
            && finding.status != Status::Waived
            && self.body.authorization().is_some_and(|a| a.authorized)
    }
}

/// SHA-256 of a file, in hexadecimal.
pub type InputDigest = String;

/// Digests of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Digests {
    /// SHA-256 of the file.
    pub sha256: String,
    /// The intent digest (`bgi1:...`).
    pub intent: Option<String>,
}

/// The plan that was judged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PlanHead {
    /// Where it was read from.
    pub path: String,
    /// SHA-256 of the file, in hexadecimal.
    pub sha256: String,
    /// The intent digest; none for a plan of the Terraform engine.
    pub intent: Option<String>,
    /// The version of the format; none for a plan of the Terraform engine.
    pub plan_version: Option<i64>,
    /// The CLI that wrote it.
    pub cli_version: Option<String>,
    /// The deployment's lineage; none on a first deploy.
    pub lineage: Option<String>,
    /// The serial of the state it was made against.
    pub serial: Option<u64>,
    /// How many resources `--select` left out.
    pub not_selected: u64,
    /// How many entries it has.
    pub entries: usize,
}

/// The policy that judged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PolicyHead {
    /// The file, or the name of the embedded one.
    pub source: String,
    /// SHA-256 of its resolved form, in hexadecimal.
    pub sha256: String,
}

/// A rule that could not run.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub struct NotRun {
    /// The rule's id.
    pub rule: String,
    /// The option that would let it run.
    pub needs: String,
}

/// How many entries of each action; `gone` are deletes of what is already gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, JsonSchema)]
pub struct Counts {
    /// Made.
    pub create: usize,
    /// Changed in place.
    pub update: usize,
    /// Renamed in place.
    pub update_id: usize,
    /// Resized.
    pub resize: usize,
    /// Deleted and made again.
    pub recreate: usize,
    /// Deleted.
    pub delete: usize,
    /// Left alone.
    pub skip: usize,
    /// Deleted, and already gone in the workspace.
    pub gone: usize,
}

impl Counts {
    /// Counts the entries of a plan; permissions and grants count by their own action, as in the CLI.
    #[must_use]
    pub fn of(plan: &Plan) -> Self {
        let mut c = Self::default();
        for entry in &plan.entries {
            let cell = match entry.action {
                Action::Delete if entry.is_gone() => &mut c.gone,
                Action::Skip => &mut c.skip,
                Action::Resize => &mut c.resize,
                Action::Update => &mut c.update,
                Action::UpdateId => &mut c.update_id,
                Action::Create => &mut c.create,
                Action::Recreate => &mut c.recreate,
                Action::Delete => &mut c.delete,
            };
            *cell += 1;
        }
        c
    }
}

/// What one command alone has to say.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Body {
    /// `check` has nothing beyond its findings.
    None,
    /// What `show` has to say.
    Show(Box<super::show::ShowBody>),
    /// `digest`
    Digest(super::DigestBody),
    /// `authorize`, and `deploy` before it deploys
    Authorize(super::AuthorizeBody),
    /// `verify`: expectation, observation, witness.
    Verify(super::Verification),
    /// `deploy`
    Deploy(super::DeployBody),
}

impl Body {
    /// What the workspace holds, where the command asked for it.
    #[must_use]
    pub fn verification(&self) -> Option<&super::Verification> {
        match self {
            Body::Verify(verification) => Some(verification),
            Body::Deploy(deploy) => deploy.verification.as_ref(),
            _ => None,
        }
    }

    /// Whether the plan may be deployed, where the command asked for it.
    #[must_use]
    pub fn authorization(&self) -> Option<&super::AuthorizeBody> {
        match self {
            Body::Authorize(authorization) => Some(authorization),
            Body::Deploy(deploy) => deploy.authorization.as_ref(),
            _ => None,
        }
    }

    /// Whether there is nothing.
    #[must_use]
    pub fn is_none(&self) -> bool {
        matches!(self, Body::None)
    }
}

/// The JSON Schema of a report.
#[must_use]
pub fn json_schema() -> serde_json::Value {
    schemars::generate::SchemaSettings::draft2020_12()
        .for_serialize()
        .into_generator()
        .into_root_schema_for::<Report>()
        .to_value()
}
