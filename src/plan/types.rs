//! The resource types that are known, as data.

use super::Sub;

/// What is known of a resource type.
#[derive(Debug, Clone, Copy)]
pub struct ResourceType {
    /// The type as it stands in keys.
    pub name: &'static str,
    /// The sub-resource that the CLI plans beside it, if any.
    pub sub: Option<Sub>,
    /// Where a resource's id stands in `remote_state`.
    pub id_field: &'static str,
    /// Where its name stands in `remote_state` and `new_state`.
    pub name_field: &'static str,
    /// The CLI version at which it was seen.
    pub since: &'static str,
}

const fn t(
    name: &'static str,
    sub: Option<Sub>,
    id_field: &'static str,
    name_field: &'static str,
) -> ResourceType {
    ResourceType {
        name,
        sub,
        id_field,
        name_field,
        since: "1.13.0",
    }
}

const P: Option<Sub> = Some(Sub::Permissions);
const G: Option<Sub> = Some(Sub::Grants);

/// All known types, sorted. Source: the direct engine of the Databricks CLI 1.13.0; ids as in its `remote_state`.
pub const TYPES: &[ResourceType] = &[
    t("alerts", P, "id", "display_name"),
    t("apps", P, "name", "name"),
    t("catalogs", G, "name", "name"),
    t("clusters", P, "cluster_id", "cluster_name"),
    t("dashboards", P, "dashboard_id", "display_name"),
    t("database_catalogs", None, "name", "name"),
    t("database_instances", P, "name", "name"),
    t("experiments", P, "experiment_id", "name"),
    t("external_locations", G, "name", "name"),
    t("genie_spaces", P, "space_id", "title"),
    t(
        "instance_pools",
        P,
        "instance_pool_id",
        "instance_pool_name",
    ),
    t("job_runs", None, "run_id", "run_name"),
    t("jobs", P, "job_id", "name"),
    t("model_serving_endpoints", P, "name", "name"),
    t("models", P, "name", "name"),
    t("pipelines", P, "pipeline_id", "name"),
    t("postgres_branches", None, "name", "name"),
    t("postgres_catalogs", None, "name", "name"),
    t("postgres_databases", None, "name", "name"),
    t("postgres_endpoints", None, "name", "name"),
    t("postgres_projects", P, "name", "name"),
    t("postgres_roles", None, "name", "name"),
    t("postgres_synced_tables", None, "name", "name"),
    t("quality_monitors", None, "table_name", "table_name"),
    t("registered_models", G, "full_name", "name"),
    t("schemas", G, "full_name", "name"),
    t("secret_scopes", P, "name", "scope"),
    t("secrets", G, "full_name", "name"),
    t("sql_warehouses", P, "id", "name"),
    t("synced_database_tables", None, "name", "name"),
    t("vector_search_endpoints", P, "name", "name"),
    t("vector_search_indexes", G, "name", "name"),
    t("volumes", G, "full_name", "name"),
];

/// The type of this name, if it is known.
#[must_use]
pub fn resource_type(name: &str) -> Option<&'static ResourceType> {
    TYPES
        .binary_search_by(|t| t.name.cmp(name))
        .ok()
        .and_then(|i| TYPES.get(i))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sorted_and_found() {
        assert!(TYPES.is_sorted_by(|a, b| a.name < b.name));
        assert_eq!(TYPES.len(), 33);
        assert_eq!(resource_type("jobs").map(|t| t.id_field), Some("job_id"));
        assert!(resource_type("wombats").is_none());
    }
}
