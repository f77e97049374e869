//! The answers of Azure DevOps, as far as they are needed. Unknown fields are ignored.

use jiff::Timestamp;
use serde::{Deserialize, Deserializer};

/// "Builds - Get" 7.1.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Build {
    pub(super) id: u64,
    pub(super) source_version: String,
    pub(super) requested_for: Option<Identity>,
    pub(super) requested_by: Option<Identity>,
    pub(super) project: Project,
    #[serde(rename = "_links")]
    pub(super) links: Links,
}

#[derive(Deserialize)]
pub(super) struct Project {
    pub(super) id: String,
    pub(super) name: String,
}

#[derive(Deserialize)]
pub(super) struct Links {
    pub(super) web: Link,
}

#[derive(Deserialize)]
pub(super) struct Link {
    pub(super) href: String,
}

/// `IdentityRef`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Identity {
    pub(super) descriptor: Option<String>,
    pub(super) unique_name: Option<String>,
    pub(super) display_name: Option<String>,
}

/// "Timeline - Get" 7.1.
#[derive(Deserialize)]
pub(super) struct Timeline {
    pub(super) records: Vec<Record>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Record {
    pub(super) id: String,
    pub(super) parent_id: Option<String>,
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) identifier: Option<String>,
    pub(super) attempt: Option<u64>,
}

impl Record {
    /// A record of this kind right below that one.
    pub(super) fn is_below(&self, parent: &Record, kind: &str) -> bool {
        self.kind == kind
            && self
                .parent_id
                .as_ref()
                .is_some_and(|id| id.eq_ignore_ascii_case(&parent.id))
    }
}

/// "Check Evaluations - Get" 7.1-preview.1.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CheckSuite {
    pub(super) context: Option<Context>,
    pub(super) check_runs: Vec<CheckRun>,
}

/// What the checks were evaluated for. The service writes these names with capitals.
#[derive(Deserialize)]
pub(super) struct Context {
    #[serde(rename = "Pipeline", alias = "pipeline")]
    pub(super) pipeline: Option<Pipeline>,
    #[serde(rename = "GraphNode", alias = "graphNode")]
    pub(super) node: Option<Node>,
}

#[derive(Deserialize)]
pub(super) struct Pipeline {
    #[serde(rename = "owner", alias = "Owner")]
    pub(super) owner: Option<Owner>,
}

#[derive(Deserialize)]
pub(super) struct Owner {
    #[serde(rename = "id", alias = "Id", deserialize_with = "number")]
    pub(super) id: u64,
}

#[derive(Deserialize)]
pub(super) struct Node {
    #[serde(rename = "Name", alias = "name")]
    pub(super) name: Option<String>,
    #[serde(rename = "Attempt", alias = "attempt")]
    pub(super) attempt: Option<u64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CheckRun {
    pub(super) id: String,
    pub(super) check_configuration_ref: Option<CheckConfiguration>,
}

#[derive(Deserialize)]
pub(super) struct CheckConfiguration {
    pub(super) resource: Option<Resource>,
}

#[derive(Deserialize)]
pub(super) struct Resource {
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) id: String,
}

/// "Approvals - Get" 7.1, `$expand=steps`. The page leaves out `pipeline`, which the service sends.
#[derive(Deserialize)]
pub(super) struct Approval {
    pub(super) id: String,
    pub(super) pipeline: Option<Pipeline>,
    pub(super) steps: Vec<Step>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Step {
    pub(super) actual_approver: Option<Identity>,
    pub(super) status: String,
    pub(super) last_modified_on: Option<Timestamp>,
    pub(super) comment: Option<String>,
}

/// "Environments - Get" 7.1-preview.1.
#[derive(Deserialize)]
pub(super) struct EnvironmentInstance {
    #[serde(deserialize_with = "number")]
    pub(super) id: u64,
    pub(super) name: String,
}

/// An id that is written as a number or as text.
fn number<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Either {
        Number(u64),
        Text(String),
    }
    match Either::deserialize(from)? {
        Either::Number(number) => Ok(number),
        Either::Text(text) => text.parse().map_err(serde::de::Error::custom),
    }
}
