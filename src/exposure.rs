//! What each command that can be run in a target can delete or break there, resource by resource.
//!
//! Pure: from bundle JSON, state, policy and, if there is one, a plan. What none of them tells counts as unguarded.

mod commands;
mod inventory;

pub use inventory::Sources;

use crate::report::exposure::{ExposureBody, ExposureRow};
use inventory::Inventory;

/// Builds the table.
#[must_use]
pub fn build(sources: &Sources<'_>) -> ExposureBody {
    let inventory = Inventory::of(sources);
    let mut rows: Vec<ExposureRow> = Vec::new();
    commands::this_plan(&inventory, &mut rows);
    commands::any_deploy(&inventory, &mut rows);
    commands::dropped_block(&inventory, &mut rows);
    commands::destroy(&inventory, &mut rows);
    commands::delete_pipeline(&inventory, &mut rows);
    commands::refresh(&inventory, &mut rows);
    commands::flags(&inventory, &mut rows);
    commands::run_as_by_hand(&inventory, &mut rows);
    ExposureBody {
        rows,
        not_told: inventory.not_told(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bundle::{Bundle, State};
    use crate::effect::{Inputs, World};
    use crate::json::Limits;
    use crate::policy::{Policy, PolicyRef, load};
    use crate::rules::known;

    const BUNDLE: &str = r#"{"bundle": {"name": "orders", "target": "prod"}, "workspace": {"current_user": {"userName": "d"}, "root_path": "/Workspace/Users/d/.bundle/orders/prod"},
        "resources": {"pipelines": {"orders": {"name": "orders", "catalog": "main", "schema": "orders", "lifecycle": {"prevent_destroy": true},
            "permissions": [{"level": "IS_OWNER", "service_principal_name": "d"}, {"level": "CAN_RUN", "group_name": "analysts"}]}},
          "volumes": {"raw": {"name": "raw", "catalog_name": "main", "schema_name": "orders"}}}}"#;
    const STATE: &str = r#"{"state_version": 2, "lineage": "l", "serial": 1, "state": {
        "resources.pipelines.orders": {"__id__": "p", "state": {"name": "orders", "catalog": "main", "schema": "orders", "cascade_on_destroy": false}},
        "resources.volumes.raw": {"__id__": "v", "state": {"name": "raw", "catalog_name": "main", "schema_name": "orders"}}}}"#;

    fn policy(text: &str) -> Policy {
        let text = format!("version: 1\nextends: production\n{text}\n");
        let file = PolicyRef::File("bundlegate.yml".into());
        load(&file, &known(), &mut |_| Ok(text.clone())).unwrap()
    }

    fn rows(policy_text: &str, plan: Option<&str>) -> Vec<ExposureRow> {
        let limits = Limits::default();
        let bundle = Bundle::read(BUNDLE.as_bytes(), &limits).unwrap();
        let state = State::read(STATE.as_bytes(), &limits).unwrap();
        let plan = plan.map(|p| crate::plan::read(p.as_bytes(), &limits).unwrap());
        let world = plan.as_ref().map(|plan| {
            World::new(Inputs {
                plan,
                bundle: Some(&bundle),
                base_bundle: None,
                state: Some(&state),
                warnings: None,
                targets: &[],
            })
        });
        let policy = policy(policy_text);
        build(&Sources {
            world: world.as_ref(),
            bundle: Some(&bundle),
            state: Some(&state),
            policy: &policy,
        })
        .rows
    }

    fn line(rows: &[ExposureRow], command: &str, resource: &str) -> String {
        let row = rows
            .iter()
            .find(|r| r.command == command && r.resource.as_deref() == Some(resource))
            .unwrap();
        let mark = if row.unguarded {
            "UNGUARDED"
        } else {
            "guarded"
        };
        format!(
            "{mark}\nlost: {}\nkept: {}\nguard: {}\nrecovery: {}",
            row.lost, row.kept, row.guard, row.recovery
        )
    }

    #[test]
    fn destroy_stops_at_prevent_destroy_alone() {
        let rows = rows("protect: [volumes.raw]", None);
        assert!(line(&rows, "bundle destroy", "pipelines.orders").starts_with("guarded"));
        assert!(line(&rows, "bundle destroy", "volumes.raw").starts_with("UNGUARDED"));
        let dropped = line(
            &rows,
            "bundle deploy after its block was dropped or renamed",
            "volumes.raw",
        );
        assert!(
            dropped.starts_with("guarded") && dropped.contains("protect"),
            "{dropped}"
        );
    }

    #[test]
    fn a_full_refresh_says_what_history_is_missing() {
        let register = "state: {pipelines.orders: {tables: [{name: main.orders.bronze, source: \"kafka://orders\", retention: 24h, reset_allowed: RESET}]}}";
        let open = rows(&register.replace("RESET", "true"), None);
        insta::assert_snapshot!(line(&open, "full refresh of a pipeline", "pipelines.orders"), @r"
        UNGUARDED
        lost: The streaming tables are truncated and every checkpoint is removed; records that the sources no longer keep are gone.
        kept: The definition, the tables' names and grants; time travel within the retention of the tables, but no Rewind across the refresh.
        guard: the group analysts (CAN_RUN), the service principal d (IS_OWNER) and workspace admins may
        recovery: By the policy's register: main.orders.bronze re-reads kafka://orders, retention 24h: older records are lost.
        ");
        let guarded = rows(&register.replace("RESET", "false"), None);
        assert!(
            line(&guarded, "full refresh of a pipeline", "pipelines.orders").starts_with("guarded")
        );
    }

    #[test]
    fn only_a_service_principal_may_delete_it() {
        let rows = rows("", None);
        insta::assert_snapshot!(line(&rows, "pipelines delete with cascade", "pipelines.orders"), @r"
        guarded
        lost: All its streaming tables and materialized views are dropped with their data. Its checkpoints and its event log go.
        kept: nothing
        guard: only the service principal d (IS_OWNER) and workspace admins may
        recovery: The policy's register says nothing about its tables; UNDROP brings dropped tables of Unity Catalog back within 7 days.
        ");
    }

    #[test]
    fn this_plan_comes_first() {
        let plan = r#"{"plan_version": 2, "cli_version": "1.21.0", "lineage": "l", "serial": 1, "plan": {
            "resources.volumes.raw": {"action": "delete", "remote_state": {"name": "raw", "catalog_name": "main", "schema_name": "orders"}}}}"#;
        let rows = rows("", Some(plan));
        assert_eq!(rows[0].command, "bundle deploy of this plan");
        assert_eq!(rows[0].resource.as_deref(), Some("volumes.raw"));
        assert!(!rows[0].unguarded, "destroy is deny: {}", rows[0].guard);
    }

    #[test]
    fn what_is_not_given_is_said_and_guards_nothing() {
        let policy = policy("");
        let body = build(&Sources {
            world: None,
            bundle: None,
            state: None,
            policy: &policy,
        });
        assert!(body.not_told.len() >= 3, "{:?}", body.not_told);
        assert!(
            body.rows
                .iter()
                .any(|r| r.command == "bundle deploy --force-lock" && r.unguarded)
        );
    }
}
