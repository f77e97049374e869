//! What is read of a workspace: of each answer the fields that a verdict needs. Those are required, all others are ignored.
//! Field names and paths: Databricks REST API reference, and the Go SDK's `service/*` packages.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::remote::http::Said;

/// Whether a thing is there. "May not look" is not "is not there".
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Presence<T> {
    /// It is there.
    There(T),
    /// The workspace itself says that it does not exist.
    Gone,
    /// The identity may not look (403): it may or may not exist.
    Forbidden(Said),
}

impl<T> Presence<T> {
    /// The thing, if it is there.
    pub fn there(self) -> Option<T> {
        match self {
            Presence::There(thing) => Some(thing),
            Presence::Gone | Presence::Forbidden(_) => None,
        }
    }

    pub(crate) fn map<U>(self, change: impl FnOnce(T) -> U) -> Presence<U> {
        match self {
            Presence::There(thing) => Presence::There(change(thing)),
            Presence::Gone => Presence::Gone,
            Presence::Forbidden(said) => Presence::Forbidden(said),
        }
    }
}

/// Who is signed in. `GET /api/2.0/preview/scim/v2/Me`
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Me {
    /// Numeric id, as text.
    pub id: String,
    /// Login of a user, application id of a service principal.
    #[serde(rename = "userName")]
    pub user_name: String,
    /// Name for people.
    #[serde(rename = "displayName")]
    pub display_name: Option<String>,
}

/// A pipeline. `GET /api/2.0/pipelines/{id}`
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Pipeline {
    /// Its id.
    pub pipeline_id: String,
    /// Its name.
    pub name: String,
    /// As whom it runs: login, application id or group name.
    pub run_as_user_name: String,
    /// Who made it; absent when that user was deleted.
    pub creator_user_name: Option<String>,
    /// `DEFAULT_PUBLISHING_MODE`, `LEGACY_PUBLISHING_MODE`.
    pub effective_publishing_mode: Option<String>,
    /// `IDLE`, `RUNNING`, `FAILED`, ...
    pub state: String,
}

impl Pipeline {
    /// Whether it works, or may work, now. Only `IDLE`, `FAILED` and `DELETED` say that it does not; the CLI's `--fail-on-active-runs` reads it so too.
    pub fn is_active(&self) -> bool {
        !matches!(self.state.as_str(), "IDLE" | "FAILED" | "DELETED")
    }
}

/// An update of a pipeline. `GET /api/2.0/pipelines/{id}/updates`
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct PipelineUpdate {
    /// Its id.
    pub update_id: String,
    /// `QUEUED`, `RUNNING`, `COMPLETED`, ...
    pub state: String,
    /// Whether it is a full refresh.
    #[serde(default)]
    pub full_refresh: bool,
}

impl PipelineUpdate {
    /// Whether it is not over. An unknown state counts as not over.
    pub fn is_active(&self) -> bool {
        !matches!(self.state.as_str(), "COMPLETED" | "FAILED" | "CANCELED")
    }
}

/// A job. `GET /api/2.2/jobs/get?job_id=`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    /// Its id, exact: ids exceed 2^53.
    pub job_id: i64,
    /// Its name.
    pub name: String,
    /// As whom it runs: login, application id or group name.
    pub run_as_user_name: String,
    /// Who made it; absent when that user was deleted.
    pub creator_user_name: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct JobAnswer {
    job_id: i64,
    run_as_user_name: String,
    creator_user_name: Option<String>,
    settings: JobSettings,
}

#[derive(Deserialize)]
struct JobSettings {
    /// A job that was made without a name has none.
    #[serde(default)]
    name: String,
}

impl From<JobAnswer> for Job {
    fn from(answer: JobAnswer) -> Job {
        let JobAnswer {
            job_id,
            run_as_user_name,
            creator_user_name,
            settings,
        } = answer;
        Job {
            job_id,
            name: settings.name,
            run_as_user_name,
            creator_user_name,
        }
    }
}

/// A run of a job that is not over. `GET /api/2.2/jobs/runs/list?job_id=&active_only=true`
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Run {
    /// Its id.
    pub run_id: i64,
    /// Its page, for people.
    pub run_page_url: Option<String>,
}

/// The permissions of an object. `GET /api/2.0/permissions/{kind}/{id}`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Permissions(pub Vec<Permission>);

/// One principal's level.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Permission {
    /// What kind of principal.
    pub kind: PrincipalKind,
    /// Login, group name or application id.
    pub principal: String,
    /// `IS_OWNER`, `CAN_MANAGE`, ...
    pub level: String,
    /// Whether it comes from a parent folder or from being an administrator.
    pub inherited: bool,
}

/// The kinds of principals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PrincipalKind {
    /// A person, by login.
    User,
    /// A group, by name.
    Group,
    /// A service principal, by application id.
    ServicePrincipal,
}

impl Permissions {
    /// The owner: the one `IS_OWNER` entry that is not inherited.
    pub fn owner(&self) -> Option<&Permission> {
        self.0
            .iter()
            .find(|permission| permission.level == "IS_OWNER" && !permission.inherited)
    }
}

#[derive(Deserialize)]
pub(super) struct PermissionsAnswer {
    access_control_list: Vec<AccessControl>,
}

#[derive(Deserialize)]
struct AccessControl {
    user_name: Option<String>,
    group_name: Option<String>,
    service_principal_name: Option<String>,
    all_permissions: Vec<Level>,
}

#[derive(Deserialize)]
struct Level {
    permission_level: String,
    #[serde(default)]
    inherited: bool,
}

impl PermissionsAnswer {
    /// `Err` with the reason when an entry names no principal of a known kind, or more than one.
    pub(super) fn read(self) -> Result<Permissions, String> {
        let mut all = Vec::new();
        for entry in self.access_control_list {
            let (kind, principal) = match (entry.user_name, entry.group_name, entry.service_principal_name) {
                (Some(name), None, None) => (PrincipalKind::User, name),
                (None, Some(name), None) => (PrincipalKind::Group, name),
                (None, None, Some(name)) => (PrincipalKind::ServicePrincipal, name),
                _ => return Err("an entry of access_control_list does not name exactly one user, group or service principal".to_owned()),
            };
            all.extend(entry.all_permissions.into_iter().map(|level| Permission {
                kind,
                principal: principal.clone(),
                level: level.permission_level,
                inherited: level.inherited,
            }));
        }
        Ok(Permissions(all))
    }
}

/// A catalog, schema, volume or registered model of Unity Catalog. `GET /api/2.1/unity-catalog/{kind}/{full_name}`
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Securable {
    /// Its name with its parents'.
    pub full_name: String,
    /// Login, group name or application id.
    pub owner: String,
}

/// The kinds of [`Securable`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SecurableKind {
    /// A catalog.
    Catalog,
    /// A schema.
    Schema,
    /// A volume.
    Volume,
    /// A registered model.
    RegisteredModel,
}

impl SecurableKind {
    /// The path segment of the REST API, and the word for people.
    pub(super) fn names(self) -> (&'static str, &'static str) {
        match self {
            SecurableKind::Catalog => ("catalogs", "catalog"),
            SecurableKind::Schema => ("schemas", "schema"),
            SecurableKind::Volume => ("volumes", "volume"),
            SecurableKind::RegisteredModel => ("models", "registered model"),
        }
    }
}

/// A table, view, streaming table or materialized view. `GET /api/2.1/unity-catalog/tables/{full_name}`
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Table {
    /// `catalog.schema.table`
    pub full_name: String,
    /// Login, group name or application id.
    pub owner: String,
    /// `STREAMING_TABLE`, `MATERIALIZED_VIEW`, `MANAGED`, ...
    pub table_type: String,
    /// The pipeline that fills it; absent for other tables and after the pipeline is gone.
    pub pipeline_id: Option<String>,
    /// Table properties, as `pipelines.reset.allowed`.
    #[serde(default)]
    pub properties: BTreeMap<String, String>,
}

/// An app. `GET /api/2.0/apps/{name}`
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct App {
    /// Its name, which is its id for the API.
    pub name: String,
    /// Its id; a new one after a recreate.
    pub id: String,
    /// Who made it.
    pub creator: Option<String>,
    /// Application id of the service principal as which it runs.
    pub service_principal_client_id: Option<String>,
}

/// An alert. `GET /api/2.0/alerts/{id}`
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Alert {
    /// Its id.
    pub id: String,
    /// Its name.
    pub display_name: String,
    /// Who owns it.
    pub owner_user_name: Option<String>,
    /// `ACTIVE`, or `DELETED` while it is in the trash.
    pub lifecycle_state: Option<String>,
    effective_run_as: Option<AlertRunAs>,
    run_as_user_name: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
struct AlertRunAs {
    user_name: Option<String>,
    service_principal_name: Option<String>,
}

impl Alert {
    /// As whom it runs: `effective_run_as`, else the older `run_as_user_name`.
    pub fn run_as(&self) -> Option<&str> {
        let effective = self.effective_run_as.as_ref();
        let effective = effective.and_then(|who| {
            who.service_principal_name
                .as_deref()
                .or(who.user_name.as_deref())
        });
        effective.or(self.run_as_user_name.as_deref())
    }
}

/// A cluster. `GET /api/2.1/clusters/get?cluster_id=`
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Cluster {
    /// Its id.
    pub cluster_id: String,
    /// Its name.
    pub cluster_name: String,
    /// Who made it; absent when that user was deleted.
    pub creator_user_name: Option<String>,
    /// `RUNNING`, `TERMINATED`, ...
    pub state: String,
}

/// A dashboard. `GET /api/2.0/lakeview/dashboards/{id}`
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Dashboard {
    /// Its id.
    pub dashboard_id: String,
    /// Its name.
    pub display_name: String,
    /// Changes with every edit of the draft: the state file holds that of the last deploy.
    pub etag: String,
    /// `ACTIVE` or `TRASHED`.
    pub lifecycle_state: String,
}
