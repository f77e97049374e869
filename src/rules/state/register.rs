//! The policy's register of where the tables of each pipeline come back from.

use crate::plan::Action;
use crate::policy::{Policy, StateTable};
use crate::text::visible;

use super::super::{Context, Doc, Family, Found, Rule, fires, quiet};

/// What is lost when the tables of a pipeline start from nothing, by the policy's register. `None`: it says nothing about the pipeline.
#[must_use]
pub(crate) fn refilled(policy: &Policy, key: &str) -> Option<String> {
    let entry = policy.state.get(key)?;
    let tables: Vec<String> = entry.tables.iter().map(|t| table(&t.value)).collect();
    (!tables.is_empty()).then(|| format!("By the policy's register: {}.", tables.join("; ")))
}

/// The sentence with what the register says after it.
pub(in crate::rules) fn with_register(text: &str, policy: &Policy, key: &str) -> String {
    match refilled(policy, key) {
        Some(register) => format!("{text} {register}"),
        None => text.to_owned(),
    }
}

/// Where one table comes back from.
#[must_use]
pub(in crate::rules) fn table(table: &StateTable) -> String {
    let name = visible(&table.name);
    let mut out = match (&table.source, &table.retention) {
        (Some(source), Some(kept)) => format!(
            "{name} re-reads {}, retention {kept}: older records are lost",
            visible(source)
        ),
        (Some(source), None) => format!(
            "{name} re-reads {}, and nothing says how long that keeps its records",
            visible(source)
        ),
        (None, _) => format!("{name}: nothing says what it is read from"),
    };
    if table.reset_allowed == Some(false) {
        out.push_str(", and it must not be reset");
    }
    if let Some(runbook) = &table.recovery {
        out.push_str(&format!(" (runbook: {})", visible(runbook)));
    }
    out
}

rule!(UnregisteredState, Doc {
    id: "unregistered-state",
    family: Family::State,
    trigger: "The policy has a register (`state`), and a pipeline has no entry in it.",
    impact: "When its tables are lost, nobody knows where they come back from and how much history is gone.",
    remedy: "Add the pipeline to `state` of the policy: each table with its source, the source's retention and the runbook.",
    source: "the policy's state",
    needs: &[],
    examples: &[
        fires(r#""pipelines.orders": {"action": "skip", "remote_state": {"name": "orders"}}, "pipelines.other": {"action": "skip", "remote_state": {"name": "other"}}"#)
            .policy("state: {pipelines.other: {tables: [{name: main.other.t, source: \"kafka://other\"}]}}"),
        quiet(r#""pipelines.orders": {"action": "skip", "remote_state": {"name": "orders"}}"#)
            .policy("state: {pipelines.orders: {tables: [{name: main.orders.bronze, source: \"kafka://orders\", retention: 24h}]}}"),
        quiet(r#""pipelines.orders": {"action": "skip", "remote_state": {"name": "orders"}}"#),
    ],
}, |cx, out| {
    if cx.policy.state.is_empty() {
        return;
    }
    for e in cx.world.of_kind("pipelines").filter(|e| e.action() != Action::Delete) {
        if !cx.policy.state.contains_key(e.key().resource()) {
            out.push(Found::on(e, "The policy's register does not say where its tables come back from."));
        }
    }
});
