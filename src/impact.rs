//! What losing a resource means, by type. A type that is not listed counts as data-bearing.

/// What a type holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Loss {
    /// Data that a deploy does not bring back.
    Data,
    /// No data, but others see that it is gone: an id, a URL, a history.
    Visible,
}

/// What is known of losing a resource of a type.
#[derive(Debug, Clone, Copy)]
pub struct Impact {
    /// What it holds.
    pub loss: Loss,
    /// What goes with it, in one sentence.
    pub text: &'static str,
}

const fn data(text: &'static str) -> Impact {
    Impact {
        loss: Loss::Data,
        text,
    }
}

const fn visible(text: &'static str) -> Impact {
    Impact {
        loss: Loss::Visible,
        text,
    }
}

/// What losing a resource of this type means. Source: Databricks documentation of each object, as of 2026.
#[must_use]
pub fn of(kind: &str) -> Impact {
    match kind {
        "pipelines" => data(
            "Its checkpoints and event log go; what becomes of its streaming tables and materialized views depends on cascade_on_destroy and the publishing mode.",
        ),
        "schemas" => data(
            "Every table, view, volume, function and model in the schema goes with it, also those that this plan does not show.",
        ),
        "catalogs" => data(
            "Every schema in the catalog and everything in them goes with it, also what this plan does not show.",
        ),
        "volumes" => data(
            "The files of a managed volume are deleted within 30 days; of an external one only the metadata goes.",
        ),
        "registered_models" | "models" => {
            data("All versions of the model go, and with them what serves or loads them.")
        }
        "experiments" => data("All runs with their metrics and artifacts go."),
        "database_instances" => data("All databases of the instance go, with all their data."),
        "postgres_projects" => {
            data("All branches and databases of the project go, with all their data.")
        }
        "postgres_branches" => data("All databases of the branch go, with all their data."),
        "postgres_databases" => data("All data of the database goes."),
        "synced_database_tables" | "postgres_synced_tables" => {
            data("The destination table goes with its data; the next sync starts from nothing.")
        }
        "vector_search_indexes" => data(
            "A delta-sync index has to compute all embeddings again; the vectors of a direct-access index are lost.",
        ),
        "secret_scopes" => data("All secrets of the scope go; whatever reads them fails."),
        "secrets" => data("The secret's value goes; whatever reads it fails."),
        "genie_spaces" => {
            data("The space goes with its conversations, instructions and benchmarks.")
        }
        "quality_monitors" => data(
            "Monitoring stops; its profile and drift metric tables are not refreshed any more.",
        ),
        "dashboards" => {
            visible("Its id and URL change: links, embeddings, subscriptions and schedules break.")
        }
        "apps" => visible(
            "Its URL and its service principal change: bookmarks break and every grant to the old principal is lost.",
        ),
        "model_serving_endpoints" => visible(
            "Its URL stops answering: requests in flight and callers fail until it is ready again.",
        ),
        "jobs" => visible(
            "Its id and its run history go; what refers to the id (other jobs, alerts, dashboards, API callers) breaks.",
        ),
        "clusters" => visible("Running work on it is stopped, and its id changes."),
        "sql_warehouses" => visible(
            "Running queries on it are stopped; its id changes, and dashboards, alerts and JDBC clients that name it break.",
        ),
        "instance_pools" => visible("Clusters and jobs that take instances from it cannot start."),
        "external_locations" => {
            visible("The access path goes: external tables and volumes below it cannot be read.")
        }
        "job_runs" => visible("The job runs again."),
        "alerts" => visible("Its id and history go; nobody is notified until it is there again."),
        _ => data(
            "This type is not in bundlegate's list, so it counts as holding data that a deploy does not bring back.",
        ),
    }
}

/// Whether a resource of this type holds data.
#[must_use]
pub fn is_data_bearing(kind: &str) -> bool {
    of(kind).loss == Loss::Data
}

/// What a loss means for a resource that is made again at once.
#[must_use]
pub fn recreated(kind: &str) -> String {
    let text = of(kind).text;
    if kind == "job_runs" {
        text.to_owned()
    } else {
        format!("It is deleted first and made again empty. {text}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_type_holds_data() {
        assert!(is_data_bearing("wombats"));
        assert!(!is_data_bearing("jobs"));
    }
}
