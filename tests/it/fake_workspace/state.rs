//! What the workspace holds.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::IDENTITY;

/// The kinds of objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Job,
    Pipeline,
    Catalog,
    Schema,
    Volume,
    RegisteredModel,
    Table,
    Alert,
    App,
    Cluster,
    Dashboard,
}

/// What a kind is called where.
pub(super) struct Names {
    /// The type in a resource key.
    pub(super) in_plan: &'static str,
    /// The field of `remote_state` that holds the id.
    pub(super) id: &'static str,
    /// The segment below `/api/2.0/permissions/` or `/api/2.1/unity-catalog/permissions/`.
    pub(super) permissions: &'static str,
    /// The code of Unity Catalog for one that is not there.
    pub(super) absent: &'static str,
}

impl Kind {
    pub(super) const ALL: [Kind; 11] = [
        Kind::Job,
        Kind::Pipeline,
        Kind::Catalog,
        Kind::Schema,
        Kind::Volume,
        Kind::RegisteredModel,
        Kind::Table,
        Kind::Alert,
        Kind::App,
        Kind::Cluster,
        Kind::Dashboard,
    ];

    pub(super) fn names(self) -> Names {
        let (in_plan, id, permissions, absent) = match self {
            Kind::Job => ("jobs", "job_id", "jobs", "INVALID_PARAMETER_VALUE"),
            Kind::Pipeline => (
                "pipelines",
                "pipeline_id",
                "pipelines",
                "RESOURCE_DOES_NOT_EXIST",
            ),
            Kind::Catalog => ("catalogs", "name", "catalog", "CATALOG_DOES_NOT_EXIST"),
            Kind::Schema => ("schemas", "full_name", "schema", "SCHEMA_DOES_NOT_EXIST"),
            Kind::Volume => ("volumes", "full_name", "volume", "VOLUME_DOES_NOT_EXIST"),
            Kind::RegisteredModel => (
                "registered_models",
                "full_name",
                "function",
                "RESOURCE_DOES_NOT_EXIST",
            ),
            Kind::Table => ("tables", "full_name", "table", "TABLE_DOES_NOT_EXIST"),
            Kind::Alert => ("alerts", "id", "alertsv2", "RESOURCE_DOES_NOT_EXIST"),
            Kind::App => ("apps", "name", "apps", "NOT_FOUND"),
            Kind::Cluster => (
                "clusters",
                "cluster_id",
                "clusters",
                "INVALID_PARAMETER_VALUE",
            ),
            Kind::Dashboard => (
                "dashboards",
                "dashboard_id",
                "dashboards",
                "RESOURCE_DOES_NOT_EXIST",
            ),
        };
        Names {
            in_plan,
            id,
            permissions,
            absent,
        }
    }

    pub(super) fn is_unity_catalog(self) -> bool {
        matches!(
            self,
            Kind::Catalog | Kind::Schema | Kind::Volume | Kind::RegisteredModel | Kind::Table
        )
    }
}

/// Where one reads an object; a `?` begins the query.
pub(crate) fn path_of(kind: Kind, id: &str) -> String {
    match kind {
        Kind::Job => format!("/api/2.2/jobs/get?job_id={id}"),
        Kind::Cluster => format!("/api/2.1/clusters/get?cluster_id={id}"),
        Kind::Pipeline => format!("/api/2.0/pipelines/{id}"),
        Kind::Alert => format!("/api/2.0/alerts/{id}"),
        Kind::App => format!("/api/2.0/apps/{id}"),
        Kind::Dashboard => format!("/api/2.0/lakeview/dashboards/{id}"),
        Kind::RegisteredModel => format!("/api/2.1/unity-catalog/models/{id}"),
        Kind::Catalog | Kind::Schema | Kind::Volume | Kind::Table => {
            format!("/api/2.1/unity-catalog/{}/{id}", kind.names().in_plan)
        }
    }
}

/// Everything in the workspace.
#[derive(Debug, Clone, Default)]
pub(crate) struct State {
    /// Objects as the API returns them.
    pub(crate) objects: BTreeMap<(Kind, String), Value>,
    /// Permissions as entries of `access_control_list`, by object.
    pub(crate) permissions: BTreeMap<(Kind, String), Vec<Value>>,
    /// Grants as entries of `privilege_assignments`, by object.
    pub(crate) grants: BTreeMap<(Kind, String), Vec<Value>>,
    /// Active runs by job.
    pub(crate) runs: BTreeMap<String, Vec<Value>>,
    /// Updates by pipeline, newest first.
    pub(crate) updates: BTreeMap<String, Vec<Value>>,
    /// Workspace files.
    pub(crate) files: BTreeMap<String, Vec<u8>>,
    /// Folders that were made without a file in them.
    pub(crate) folders: BTreeSet<String>,
    /// Objects whose deletion is answered 403.
    pub(crate) kept: BTreeSet<(Kind, String)>,
    made: i64,
}

impl State {
    pub(crate) fn get(&self, kind: Kind, id: &str) -> Option<&Value> {
        self.objects.get(&(kind, id.to_owned()))
    }

    /// Puts an object in, as the API returns it.
    pub(crate) fn put(&mut self, kind: Kind, id: &str, object: Value) {
        self.objects.insert((kind, id.to_owned()), object);
    }

    /// Takes an object out, and all that lives in it.
    pub(crate) fn delete(&mut self, kind: Kind, id: &str) -> bool {
        let inside = format!("{id}.");
        if kind == Kind::Catalog || kind == Kind::Schema {
            self.objects
                .retain(|(kind, name), _| !(kind.is_unity_catalog() && name.starts_with(&inside)));
        }
        self.permissions.remove(&(kind, id.to_owned()));
        self.grants.remove(&(kind, id.to_owned()));
        self.objects.remove(&(kind, id.to_owned())).is_some()
    }

    /// A manual change of `run_as` in the workspace.
    pub(crate) fn set_run_as(&mut self, kind: Kind, id: &str, who: &str) {
        let object = self
            .objects
            .get_mut(&(kind, id.to_owned()))
            .unwrap_or_else(|| panic!("no {kind:?} {id}"));
        object["run_as_user_name"] = json!(who);
    }

    /// A table that a pipeline fills.
    pub(crate) fn add_table(
        &mut self,
        full_name: &str,
        pipeline: Option<&str>,
        owner: &str,
        properties: &[(&str, &str)],
    ) {
        let properties: BTreeMap<_, _> = properties.iter().copied().collect();
        let mut table = json!({"full_name": full_name, "owner": owner, "table_type": "STREAMING_TABLE", "properties": properties});
        for (field, part) in ["catalog_name", "schema_name", "name"]
            .into_iter()
            .zip(full_name.split('.'))
        {
            table[field] = json!(part);
        }
        if let Some(pipeline) = pipeline {
            table["pipeline_id"] = json!(pipeline);
        }
        self.put(Kind::Table, full_name, table);
    }

    pub(crate) fn write_file(&mut self, path: &str, bytes: Vec<u8>) {
        self.files.insert(normal(path).to_owned(), bytes);
    }

    pub(crate) fn file(&self, path: &str) -> Option<&Vec<u8>> {
        self.files.get(normal(path))
    }

    /// Whether there is a folder: made by itself, or implied by a file.
    pub(super) fn has_folder(&self, path: &str) -> bool {
        let below = format!("{}/", normal(path));
        self.folders.contains(normal(path))
            || self
                .files
                .keys()
                .chain(&self.folders)
                .any(|known| known.starts_with(&below))
    }

    /// A new numeric id, beyond 2^53.
    pub(super) fn new_number(&mut self) -> i64 {
        self.made += 1;
        9_100_000_000_000_000_001 + self.made
    }

    /// A new id of the form of a UUID.
    pub(super) fn new_uuid(&mut self) -> String {
        self.made += 1;
        format!("fa4e0000-0000-4000-8000-{:012}", self.made)
    }

    pub(super) fn seed_plan(&mut self, plan: &Value) {
        for (key, entry) in plan["plan"].as_object().expect("a plan has `plan`") {
            if let Some(remote) = entry.get("remote_state").filter(|remote| !remote.is_null()) {
                self.seed_entry(key, remote);
            }
        }
    }

    /// Types that the fake does not serve are passed over.
    fn seed_entry(&mut self, key: &str, remote: &Value) {
        let parts: Vec<&str> = key.split('.').collect();
        match parts[..] {
            ["resources", kind, _] => {
                if let Some((kind, id)) = identify(kind, remote) {
                    self.put(kind, &id, returned(kind, &id, remote));
                }
            }
            ["resources", _, _, "permissions"] => {
                let path = remote["object_id"].as_str().unwrap_or_default();
                if let Some((kind, id)) =
                    path.trim_start_matches('/')
                        .split_once('/')
                        .and_then(|(word, id)| {
                            Some((
                                Kind::ALL
                                    .into_iter()
                                    .find(|kind| kind.names().permissions == word)?,
                                id.to_owned(),
                            ))
                        })
                {
                    let entries = remote["__embed__"].as_array().cloned().unwrap_or_default();
                    self.permissions
                        .insert((kind, id), entries.iter().map(access_control).collect());
                }
            }
            ["resources", _, _, "grants"] => {
                let kind = Kind::ALL.into_iter().find(|kind| {
                    Some(kind.names().permissions) == remote["securable_type"].as_str()
                });
                if let (Some(kind), Some(name)) = (kind, remote["full_name"].as_str()) {
                    self.grants.insert(
                        (kind, name.to_owned()),
                        remote["__embed__"].as_array().cloned().unwrap_or_default(),
                    );
                }
            }
            _ => {}
        }
    }

    pub(super) fn deploy(&mut self, plan: &Value, after: &Value) {
        for (key, entry) in plan["plan"].as_object().expect("a plan has `plan`") {
            let parts: Vec<&str> = key.split('.').collect();
            let (["resources", kind, _], Some("delete" | "recreate")) =
                (&parts[..], entry["action"].as_str())
            else {
                continue;
            };
            let Some((kind, id)) = entry
                .get("remote_state")
                .and_then(|remote| identify(kind, remote))
            else {
                continue;
            };
            if !self.is_kept(kind, &id) {
                self.delete(kind, &id);
            }
        }
        self.seed_plan(after);
    }

    pub(super) fn is_kept(&self, kind: Kind, id: &str) -> bool {
        self.kept.contains(&(kind, id.to_owned()))
    }
}

/// Kind and id of a plan's remote state.
fn identify(in_plan: &str, remote: &Value) -> Option<(Kind, String)> {
    let kind = Kind::ALL
        .into_iter()
        .find(|kind| kind.names().in_plan == in_plan)?;
    let id = match remote.get(kind.names().id)? {
        Value::String(text) => text.clone(),
        number => number.to_string(),
    };
    Some((kind, id))
}

/// A plan's remote state in the form in which the API returns the object.
fn returned(kind: Kind, id: &str, remote: &Value) -> Value {
    let mut rest = remote.clone();
    let mut take = |name: &str| {
        rest.as_object_mut()
            .and_then(|fields| fields.remove(name))
            .unwrap_or(Value::Null)
    };
    match kind {
        Kind::Job => {
            let (creator, run_as, created) = (
                take("creator_user_name"),
                take("run_as_user_name"),
                take("created_time"),
            );
            take("job_id");
            // The id as a number, exact.
            let number: i64 = id.parse().expect("job ids are numbers");
            json!({"job_id": number, "creator_user_name": creator, "run_as_user_name": run_as, "created_time": created, "settings": rest})
        }
        Kind::Pipeline => {
            let (creator, run_as, state) = (
                take("creator_user_name"),
                take("run_as_user_name"),
                take("state"),
            );
            let (mode, modified) = (take("effective_publishing_mode"), take("last_modified"));
            take("pipeline_id");
            json!({
                "pipeline_id": id, "name": rest["name"], "creator_user_name": creator, "run_as_user_name": run_as, "state": state,
                "effective_publishing_mode": mode, "last_modified": modified, "spec": rest,
            })
        }
        _ => rest,
    }
}

/// A plan's permission in the form in which the API returns it.
fn access_control(entry: &Value) -> Value {
    let mut entry = entry.clone();
    let level = entry
        .as_object_mut()
        .and_then(|fields| fields.remove("level"))
        .or_else(|| entry.as_object_mut()?.remove("permission_level"));
    entry["all_permissions"] = json!([{"permission_level": level, "inherited": false}]);
    entry
}

/// What everything has without being told: its owner, and the administrators from above.
pub(super) fn standing_permissions() -> Vec<Value> {
    vec![
        json!({"service_principal_name": IDENTITY, "all_permissions": [{"permission_level": "IS_OWNER", "inherited": false}]}),
        json!({"group_name": "admins", "all_permissions": [{"permission_level": "CAN_MANAGE", "inherited": true, "inherited_from_object": ["/"]}]}),
    ]
}

/// The API takes `/Workspace/Users/x` and `/Users/x` for one path.
pub(super) fn normal(path: &str) -> &str {
    path.strip_prefix("/Workspace")
        .filter(|rest| rest.starts_with('/'))
        .unwrap_or(path)
        .trim_end_matches('/')
}

/// New permissions as they were sent.
pub(super) fn sent_permissions(body: &Value) -> Vec<Value> {
    body["access_control_list"]
        .as_array()
        .map(|list| list.iter().map(access_control).collect())
        .unwrap_or_default()
}
