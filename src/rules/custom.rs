//! Rules of the policy's own, asked about each entry that they select.

use serde_json::{Map, Value as Json};

use super::{Context, Found};
use crate::effect::Effect;
use crate::json::Value;
use crate::plan::{Action, FieldPath, Segment};
use crate::policy::{CustomContext, CustomError, CustomRule, UNKNOWN, Work};

/// What the rule finds. `work` bounds all custom rules of a run together.
pub(super) fn check(cx: &Context<'_, '_>, rule: &CustomRule, work: &Work, out: &mut Vec<Found>) {
    for e in cx.world.effects().iter().filter(|e| asked(rule, e)) {
        let found = match ask(cx, rule, e, work) {
            Ok(false) => continue,
            Ok(true) => Found::on(e, rule.message.as_str()),
            Err(CustomError::Unknown) => Found::on(
                e,
                format!("{} (not known: {})", rule.message, CustomError::Unknown),
            )
            .unknown(),
            Err(error) => Found::on(
                e,
                format!(
                    "The rule has no answer here: {error}. It says: {}",
                    rule.message
                ),
            ),
        };
        let found = match e.key().sub() {
            Some(_) => found.path(FieldPath::default()),
            None => found,
        };
        out.push(found.remedy(format!(
            "Change the resource, or the rule at {}.",
            rule.when.at
        )));
    }
}

/// A selector of two parts also selects sub-resources, whose fields are others: only one of three parts asks about them.
fn asked(rule: &CustomRule, e: &Effect<'_>) -> bool {
    let key = e.key().short();
    if e.is_resource() {
        return rule.selects(key);
    }
    rule.resources
        .iter()
        .flatten()
        .any(|s| s.as_str().split('.').count() == 3 && s.matches(key))
}

fn ask(
    cx: &Context<'_, '_>,
    rule: &CustomRule,
    e: &Effect<'_>,
    work: &Work,
) -> Result<bool, CustomError> {
    let json = |v: Option<&Value>| v.map_or(Json::Null, Value::to_serde);
    let changes: Map<String, Json> = e
        .entry
        .changes
        .iter()
        .map(|(path, c)| {
            let mut change = Map::new();
            change.insert("action".into(), c.action.as_str().into());
            let parts = [("old", &c.old), ("new", &c.new), ("remote", &c.remote)];
            for (name, value) in parts {
                if let Some(value) = value {
                    change.insert(name.into(), value.to_serde());
                }
            }
            (path.to_string(), change.into())
        })
        .collect();
    let vars = e.entry.new_state.as_ref().map_or(Json::Null, |s| {
        s.vars
            .iter()
            .map(|(path, text)| (path.to_string(), Json::from(&**text)))
            .collect::<Map<_, _>>()
            .into()
    });
    rule.evaluate(
        &CustomContext {
            key: e.key().short(),
            resource_type: e.kind(),
            name: e.key().name(),
            action: e.action().as_str(),
            gone: e.entry.is_gone(),
            old: &json(e.deployed.map(|d| &d.config)),
            new: &will_be(cx, e),
            remote: &json(e.remote()),
            changes: &changes.into(),
            vars: &vars,
            target: cx.world.target(),
            cli_version: cx.world.inputs.plan.cli_version.as_deref(),
        },
        work,
    )
}

/// What will be: what the CLI sends with its references resolved, or marked as unknown; of what is left alone, what is.
fn will_be(cx: &Context<'_, '_>, e: &Effect<'_>) -> Json {
    let Some(state) = &e.entry.new_state else {
        let stays = e.action() == Action::Skip;
        return e
            .remote()
            .filter(|_| stays)
            .map_or(Json::Null, Value::to_serde);
    };
    let mut out = state.value.to_serde();
    for (path, text) in &state.vars {
        let value = cx
            .world
            .resolve(text)
            .map_or_else(|| UNKNOWN.into(), |v| v.to_serde());
        if !put(&mut out, path.segments(), &value) {
            return UNKNOWN.into();
        }
    }
    out
}

/// Puts a value at a path; false where the path leads nowhere.
fn put(at: &mut Json, path: &[Segment], value: &Json) -> bool {
    let Some((first, rest)) = path.split_first() else {
        *at = value.clone();
        return true;
    };
    let below = match (first, at) {
        (Segment::Field(name), Json::Object(members)) => {
            Some(members.entry(&**name).or_insert(Json::Null))
        }
        (Segment::Index(i), Json::Array(items)) => items.get_mut(*i),
        (Segment::Item(field, id), Json::Array(items)) => items
            .iter_mut()
            .find(|item| item.get(&**field).and_then(Json::as_str) == Some(id)),
        _ => None,
    };
    below.is_some_and(|below| put(below, rest, value))
}

/// What can break, by the policy's own words.
pub(super) fn impact(rule: &CustomRule) -> String {
    format!(
        "It is what the policy's own rule {} is there to prevent.",
        rule.id
    )
}

#[cfg(test)]
mod tests {
    use super::super::examples::judged;
    use super::super::quiet;
    use crate::report::Status;

    const PLAN: &str = r#""apps.portal": {"action": "create", "new_state": {"value": {"name": "portal"}}},
        "jobs.big": {"action": "create", "new_state": {"value": {"name": "big", "max_concurrent_runs": 9}}},
        "jobs.big.permissions": {"action": "create", "new_state": {"value": {"object_id": "/jobs/1", "__embed__": []}}},
        "jobs.kept": {"action": "skip", "remote_state": {"name": "kept", "max_concurrent_runs": 9}},
        "jobs.open": {"action": "create", "depends_on": [{"node": "resources.apps.portal"}], "new_state": {"value": {"name": "open", "max_concurrent_runs": 0}, "vars": {"max_concurrent_runs": "${resources.apps.portal.x}"}}},
        "jobs.small": {"action": "create", "new_state": {"value": {"name": "small", "max_concurrent_runs": 1}}},
        "jobs.without": {"action": "create", "new_state": {"value": {"name": "without"}}}"#;

    fn said(policy: &'static str) -> String {
        let findings = judged(&quiet(PLAN).policy(policy)).findings;
        let mut lines: Vec<String> = findings
            .iter()
            .filter(|f| f.family == "custom")
            .map(|f| {
                let resource = f.resource.as_deref().unwrap_or_default();
                format!(
                    "{} {} {}: {}",
                    f.level,
                    status(f.status),
                    resource,
                    f.message
                )
            })
            .collect();
        lines.sort();
        lines.join("\n")
    }

    fn status(status: Status) -> &'static str {
        match status {
            Status::Fired => "fired",
            Status::Unknown => "unknown",
            Status::Waived => "waived",
        }
    }

    #[test]
    fn no_answer_is_a_finding() {
        insta::assert_snapshot!(said(
            "custom: [{id: few-runs, level: deny, resources: [\"jobs.*\"], when: \"new.max_concurrent_runs > 5\", message: At most five runs.}]"
        ), @r"
        deny fired jobs.big: At most five runs.
        deny fired jobs.kept: At most five runs.
        deny fired jobs.without: The rule has no answer here: the field `max_concurrent_runs` is not there; ask `has(...)` first. It says: At most five runs.
        review unknown jobs.open: At most five runs. (not known: it needs a value that is not known before the deploy)
        ");
    }

    #[test]
    fn levels_waivers_and_selectors_are_those_of_every_rule() {
        insta::assert_snapshot!(said(
            "custom: [{id: few-runs, level: deny, resources: [\"jobs.*\"], when: \"has(new.max_concurrent_runs) && new.max_concurrent_runs > 5\", message: At most five runs.}]\nrules: {few-runs: {level: note, resources: [jobs.kept]}}\nwaivers: [{rule: few-runs, resource: jobs.big, until: 2026-10-31, reason: r, owner: o}]"
        ), @r"
        deny waived jobs.big: At most five runs.
        note fired jobs.kept: At most five runs.
        review unknown jobs.open: At most five runs. (not known: it needs a value that is not known before the deploy)
        ");
        insta::assert_snapshot!(said(
            "custom: [{id: no-permissions, level: warn, resources: [\"*.*.permissions\"], when: \"true\", message: No permissions here.}]"
        ), @"warn fired jobs.big: No permissions here.");
    }
}
