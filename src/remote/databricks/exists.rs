//! Whether an object of any type is there: what a deletion is proved by.

use serde::de::IgnoredAny;

use super::Workspace;
use super::types::Presence;
use crate::remote::http::HttpError;

/// Where an object is read, by resource type of a bundle: path segments and the query that names it; `{}` is the id.
/// Source: Databricks REST API reference. Types that are read in a form of their own are not here.
const READS: &[(&str, &[&str], Option<&str>)] = &[
    ("apps", &["api", "2.0", "apps", "{}"], None),
    (
        "catalogs",
        &["api", "2.1", "unity-catalog", "catalogs", "{}"],
        None,
    ),
    (
        "clusters",
        &["api", "2.1", "clusters", "get"],
        Some("cluster_id"),
    ),
    (
        "database_catalogs",
        &["api", "2.0", "database", "catalogs", "{}"],
        None,
    ),
    (
        "database_instances",
        &["api", "2.0", "database", "instances", "{}"],
        None,
    ),
    (
        "experiments",
        &["api", "2.0", "mlflow", "experiments", "get"],
        Some("experiment_id"),
    ),
    (
        "external_locations",
        &["api", "2.1", "unity-catalog", "external-locations", "{}"],
        None,
    ),
    (
        "genie_spaces",
        &["api", "2.0", "genie", "spaces", "{}"],
        None,
    ),
    (
        "instance_pools",
        &["api", "2.0", "instance-pools", "get"],
        Some("instance_pool_id"),
    ),
    ("jobs", &["api", "2.2", "jobs", "get"], Some("job_id")),
    (
        "model_serving_endpoints",
        &["api", "2.0", "serving-endpoints", "{}"],
        None,
    ),
    (
        "models",
        &[
            "api",
            "2.0",
            "mlflow",
            "databricks",
            "registered-models",
            "get",
        ],
        Some("name"),
    ),
    ("pipelines", &["api", "2.0", "pipelines", "{}"], None),
    (
        "registered_models",
        &["api", "2.1", "unity-catalog", "models", "{}"],
        None,
    ),
    (
        "schemas",
        &["api", "2.1", "unity-catalog", "schemas", "{}"],
        None,
    ),
    (
        "secret_scopes",
        &["api", "2.0", "secrets", "list"],
        Some("scope"),
    ),
    (
        "sql_warehouses",
        &["api", "2.0", "sql", "warehouses", "{}"],
        None,
    ),
    (
        "synced_database_tables",
        &["api", "2.0", "database", "synced_tables", "{}"],
        None,
    ),
    (
        "vector_search_endpoints",
        &["api", "2.0", "vector-search", "endpoints", "{}"],
        None,
    ),
    (
        "vector_search_indexes",
        &["api", "2.0", "vector-search", "indexes", "{}"],
        None,
    ),
    (
        "volumes",
        &["api", "2.1", "unity-catalog", "volumes", "{}"],
        None,
    ),
];

impl Workspace {
    /// Whether the object of this resource type and id is there. An alert or a dashboard in the trash is gone.
    ///
    /// `None`: there is no such read for the type.
    ///
    /// # Errors
    /// Any [`Failure`](crate::remote::http::Failure) but absence and 403.
    pub async fn exists(&self, kind: &str, id: &str) -> Option<Result<Presence<()>, HttpError>> {
        if kind == "alerts" {
            return Some(self.alert(id).await.map(|found| match found {
                Presence::There(alert) if alert.lifecycle_state.as_deref() == Some("DELETED") => {
                    Presence::Gone
                }
                other => other.map(|_| ()),
            }));
        }
        if kind == "dashboards" {
            return Some(self.dashboard(id).await.map(|found| match found {
                Presence::There(d) if d.lifecycle_state == "TRASHED" => Presence::Gone,
                other => other.map(|_| ()),
            }));
        }
        let (_, path, query) = READS.iter().find(|(known, ..)| *known == kind)?;
        let path: Vec<&str> = path
            .iter()
            .map(|s| if *s == "{}" { id } else { s })
            .collect();
        let query: Vec<(&str, &str)> = query.iter().map(|name| (*name, id)).collect();
        let singular = kind.strip_suffix('s').unwrap_or(kind).replace('_', " ");
        let found = self
            .get::<IgnoredAny>(format!("{singular} {id}"), &path, &query)
            .await;
        Some(found.map(|p| p.map(|_| ())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::resource_type;

    #[test]
    fn every_type_is_known_and_named_once() {
        assert!(READS.is_sorted_by(|a, b| a.0 < b.0));
        for (kind, path, query) in READS {
            assert!(resource_type(kind).is_some(), "{kind}");
            assert_eq!(path.contains(&"{}"), query.is_none(), "{kind}");
        }
    }
}
