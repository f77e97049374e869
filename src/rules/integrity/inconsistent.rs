//! `inconsistent-plan`: an entry's two accounts differ. The CLI sends `new_state`; a plan that describes less than it sends is a lie.

use std::cell::LazyCell;

use crate::effect::{
    Difference, Effect, Named, World, differences, differences_by_index, nodes, same,
};
use crate::json::Value;
use crate::plan::{Action, Engine, FieldPath, Segment};
use crate::secret::REDACTED;

use super::super::{Context, Doc, Family, Found, Rule, fires, quiet};

rule!(InconsistentPlan, Doc {
    id: "inconsistent-plan",
    family: Family::Integrity,
    trigger: "The two accounts of an entry differ: what the CLI will send (new_state), and what the plan says that it changes (changes, action, states).",
    impact: "The CLI sends new_state whole, also what no change names: the deploy does something that the plan does not say.",
    remedy: "Do not deploy this file. Plan again; if a fresh plan says the same, report it with the entry.",
    source: "Databricks CLI 1.13, reproduced: a name changed in new_state alone reached the jobs API",
    needs: &[],
    examples: &[
        fires(r#""jobs.report": {"action": "update", "new_state": {"value": {"name": "hidden", "timeout_seconds": 60}}, "remote_state": {"name": "report", "timeout_seconds": 0}, "changes": {"timeout_seconds": {"action": "update", "new": 60, "remote": 0}}}"#),
        fires(r#""jobs.report": {"action": "create", "new_state": {"value": {"name": "report"}}, "remote_state": {"name": "report"}}"#),
        fires(r#""jobs.report": {"action": "update", "new_state": {"value": {"timeout_seconds": 60}}, "remote_state": {"timeout_seconds": 60}, "changes": {"timeout_seconds": {"action": "update", "old": 60, "new": 60, "remote": 0}}}"#)
            .state(r#""jobs.report": {"timeout_seconds": 60, "name": "report"}"#),
        quiet(r#""jobs.report": {"action": "update", "new_state": {"value": {"name": "report", "timeout_seconds": 60}}, "remote_state": {"name": "report", "timeout_seconds": 0}, "changes": {"timeout_seconds": {"action": "update", "new": 60, "remote": 0}}}"#),
        quiet(r#""pipelines.orders": {"action": "update", "new_state": {"value": {"run_as": {"group_name": "g"}, "photon": true}}, "remote_state": {"run_as_user_name": "g"}, "changes": {"photon": {"action": "update", "new": true}}}"#),
    ],
}, |cx, out| {
    let plan = cx.world.inputs.plan;
    if plan.engine == Engine::Terraform {
        return;
    }
    if let Some(message) = head(cx.world) {
        out.push(Found::deployment(message));
    }
    for e in cx.world.effects() {
        let mut faults: Vec<(FieldPath, String)> = Vec::new();
        check(e, &mut faults);
        let Some((path, first)) = faults.first().cloned() else { continue };
        let more = if faults.len() > 1 { format!(" ({} more of the kind)", faults.len() - 1) } else { String::new() };
        let found = Found::on(e, format!("The plan contradicts itself: {first}{more}."));
        out.push(if path.is_root() { found } else { found.path(path) });
    }
});

/// Points 8: the plan's head against its entries.
fn head(world: &World<'_>) -> Option<String> {
    let plan = world.inputs.plan;
    if plan.lineage.is_some() {
        return plan.serial.is_none().then(|| "The plan contradicts itself: it has a lineage but no serial above 0; the CLI refuses it as stale.".to_owned());
    }
    let odd = plan
        .entries
        .iter()
        .find(|e| e.action != Action::Create || e.remote_state.is_some())?;
    Some(format!(
        "The plan contradicts itself: it has no lineage, as for a first deploy, but the action of {} is {}; without a lineage the CLI checks nothing.",
        odd.key.short(),
        odd.action.as_str()
    ))
}

fn check(e: &Effect<'_>, faults: &mut Vec<(FieldPath, String)>) {
    let entry = e.entry;
    let mut say = |what: String| faults.push((FieldPath::default(), what));
    if entry.gone && entry.remote_state.is_some() {
        say("gone is true, but a remote_state is there".to_owned());
    }
    match entry.action {
        Action::Create => {
            if entry.remote_state.is_some() || entry.id.is_some() {
                say(
                    "the action is create, but the resource has a remote_state or an id".to_owned(),
                );
            }
            if entry.new_state.is_none() {
                say("the action is create, but there is no new_state".to_owned());
            }
        }
        Action::Skip | Action::Delete => {
            if entry.new_state.is_some() {
                say(format!(
                    "the action is {}, but there is a new_state",
                    entry.action.as_str()
                ));
            }
            if entry.actionable().next().is_some() {
                say(format!(
                    "the action is {}, but a change has another one",
                    entry.action.as_str()
                ));
            }
        }
        _ => {
            let highest = entry
                .changes
                .iter()
                .map(|(_, c)| c.action)
                .max()
                .unwrap_or(Action::Skip);
            if highest != entry.action {
                say(format!(
                    "the action is {}, but the highest among its changes is {}",
                    entry.action.as_str(),
                    highest.as_str()
                ));
            }
            if entry.remote_state.is_none() {
                say(format!(
                    "the action is {}, but there is no remote_state",
                    entry.action.as_str()
                ));
            }
            if entry.new_state.is_none() {
                say(format!(
                    "the action is {}, but there is no new_state",
                    entry.action.as_str()
                ));
            }
        }
    }
    // Most entries have nothing that a change would have to name.
    let named = LazyCell::new(|| Named::of(e));
    let is_named = |path: &FieldPath| {
        named.overlaps(path)
            || e.sent()
                .is_some_and(|sent| named.overlaps(&e.plain(sent, path)))
    };
    vars(e, &is_named, faults);
    changes_against_sent(e, faults);
    if entry.action.is_update_like()
        && let Some(sent) = e.sent()
    {
        if let Some(remote) = e.remote() {
            let differences = differences(remote, sent);
            if !differences.is_empty() {
                sent_against_remote(e, &named, (remote, sent), differences, faults);
            }
        }
        if let Some(deployed) = e
            .deployed
            .map(|d| &d.config)
            .filter(|c| c.as_object().is_some())
        {
            let unnamed = |differences: Vec<Difference<'_>>| -> Vec<(FieldPath, String)> {
                let paths = differences.into_iter().map(|d| e.unrooted(d.path));
                paths
                    .filter(|path| !is_named(path) && !e.is_open(path))
                    .map(|path| {
                        let what = format!(
                            "{} is sent otherwise than it was deployed, and no change names it",
                            shown(&path)
                        );
                        (path, what)
                    })
                    .collect()
            };
            let found = unnamed(differences(deployed, sent));
            if !found.is_empty() && !unnamed(differences_by_index(deployed, sent)).is_empty() {
                faults.extend(found);
            }
        }
    }
}

/// Point 7: what waits for a reference, waits for an entry that comes before, and in an update it is a change.
fn vars(
    e: &Effect<'_>,
    is_named: &dyn Fn(&FieldPath) -> bool,
    faults: &mut Vec<(FieldPath, String)>,
) {
    for (path, text) in e.entry.new_state.iter().flat_map(|s| &s.vars) {
        if let Some(node) = nodes(text).find(|n| !e.entry.depends_on.iter().any(|d| *d.node == **n))
        {
            faults.push((
                path.clone(),
                format!(
                    "{path} waits for {}, which is not in depends_on",
                    crate::text::visible(&node)
                ),
            ));
        }
        if e.entry.action.is_update_like() && !is_named(path) {
            faults.push((
                path.clone(),
                format!("{path} waits for a reference, and no change names it"),
            ));
        }
    }
}

/// Point 6: what a change calls new is what is sent.
fn changes_against_sent(e: &Effect<'_>, faults: &mut Vec<(FieldPath, String)>) {
    if e.sent().is_none() {
        return;
    }
    for (path, change) in &e.entry.changes {
        let Some(new) = &change.new else { continue };
        if !same(path.last_field(), Some(new), e.sent_at(path))
            && !holds_redacted(new)
            && !e.is_open(path)
        {
            faults.push((
                path.clone(),
                format!(
                    "the change of {} calls another value new than the one that is sent",
                    shown(path)
                ),
            ));
        }
    }
}

/// Point 5: what is sent otherwise than the workspace has it, a change names.
fn sent_against_remote(
    e: &Effect<'_>,
    named: &Named<'_>,
    (remote, sent): (&Value, &Value),
    differences: Vec<Difference<'_>>,
    faults: &mut Vec<(FieldPath, String)>,
) {
    if !e.is_resource() && Effect::list(remote).is_none() {
        return;
    }
    let found = untold(e, named, remote, sent, differences);
    // Lists in another order, or of other items, are the same plan seen by index: a lie is one in both views.
    if !found.is_empty()
        && !untold(e, named, remote, sent, differences_by_index(remote, sent)).is_empty()
    {
        faults.extend(found);
    }
}

/// The differences that no change tells.
fn untold(
    e: &Effect<'_>,
    named: &Named<'_>,
    remote: &Value,
    sent: &Value,
    differences: Vec<Difference<'_>>,
) -> Vec<(FieldPath, String)> {
    let mut named_remote = None;
    let mut out = Vec::new();
    for d in differences {
        let path = e.unrooted(d.path);
        if e.is_open(&path) || e.never_returned(&path, d.from) {
            continue;
        }
        let told = match d.to {
            Some(to) => is_told(e, named, sent, &path, to),
            None => match path.segments().last() {
                Some(Segment::Item(field, _)) => {
                    let named_remote =
                        named_remote.get_or_insert_with(|| Named::seen_in(e, Some(remote)));
                    let item = e.plain(remote, &path);
                    named_remote.is_covered(&path)
                        || named_remote.is_covered(&item)
                        || named_remote.is_exactly(&item.join(Segment::Field(field.clone())))
                }
                // A field that is not sent is no field that is sent otherwise; a list is one by its items.
                _ => true,
            },
        };
        if !told {
            let what = format!(
                "{} is sent otherwise than the workspace has it, and no change says so",
                shown(&path)
            );
            out.push((path, what));
        }
    }
    out
}

/// Whether changes tell that this value is sent: one at or above it that has a `new`, or, of an object, one for each part.
fn is_told(e: &Effect<'_>, named: &Named<'_>, sent: &Value, path: &FieldPath, to: &Value) -> bool {
    let mut above = named.covering(path);
    above.extend(named.covering(&e.plain(sent, path)));
    if !above.is_empty() {
        return above.iter().any(|c| c.new.is_some());
    }
    match to {
        Value::Object(members) => members.iter().filter(|(_, v)| !v.is_blank()).all(|(k, v)| {
            let part = path.join(Segment::Field(k.into()));
            e.is_open(&part) || is_told(e, named, sent, &part, v)
        }),
        // What is below a list without identities of another length is no account of it.
        _ => false,
    }
}

/// Whether the CLI has put [`REDACTED`] anywhere in it.
fn holds_redacted(value: &Value) -> bool {
    match value {
        Value::String(s) => &**s == REDACTED,
        Value::Array(items) => items.iter().any(holds_redacted),
        Value::Object(members) => members.iter().any(|(_, v)| holds_redacted(v)),
        _ => false,
    }
}

fn shown(path: &FieldPath) -> String {
    if path.is_root() {
        "the whole list".to_owned()
    } else {
        crate::text::visible(&path.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::effect::Inputs;
    use crate::json::Limits;

    /// What the rule finds in a plan of one entry.
    fn faults(key: &str, entry: &str) -> Vec<String> {
        let text = format!(
            r#"{{"plan_version":2,"cli_version":"1.21.0","lineage":"l","serial":1,"plan":{{"{key}":{entry}}}}}"#
        );
        let plan = crate::plan::read(text.as_bytes(), &Limits::default()).unwrap();
        let world = World::new(Inputs {
            plan: &plan,
            bundle: None,
            base_bundle: None,
            state: None,
            warnings: None,
            targets: &[],
        });
        let mut out = Vec::new();
        check(&world.effects()[0], &mut out);
        out.into_iter().map(|(_, what)| what).collect()
    }

    #[test]
    fn what_the_cli_writes_is_no_contradiction() {
        let quiet = [
            // The workspace adds a default inside an item that has no identity.
            (
                "resources.pipelines.p",
                r#"{"action":"update","new_state":{"value":{"photon":true,"clusters":[{"label":"default"}]}},
                "remote_state":{"clusters":[{"label":"default","aws_attributes":{"zone_id":"auto"}}]},
                "changes":{"photon":{"action":"update","new":true},"clusters[0].aws_attributes":{"action":"skip","remote":{"zone_id":"auto"}}}}"#,
            ),
            // A task no longer depends on another one.
            (
                "resources.jobs.j",
                r#"{"action":"update","new_state":{"value":{"tasks":[{"task_key":"c","depends_on":[{"task_key":"b"}]}]}},
                "remote_state":{"tasks":[{"task_key":"c","depends_on":[{"task_key":"a"},{"task_key":"b"}]}]},
                "changes":{"tasks[task_key='c'].depends_on[task_key='a']":{"action":"update","old":{"task_key":"a"},"remote":{"task_key":"a"}}}}"#,
            ),
            // The CLI names entries of a secret scope by index.
            (
                "resources.secret_scopes.s.permissions",
                r#"{"action":"update","new_state":{"value":{"scope_name":"s","acls":[{"principal":"a","permission":"MANAGE"},{"principal":"dev","permission":"READ"}]}},
                "remote_state":{"scope_name":"s","acls":[{"principal":"a","permission":"MANAGE"},{"principal":"ops","permission":"READ"}]},
                "changes":{"acls[1].principal":{"action":"update","old":"ops","new":"dev","remote":"ops"}}}"#,
            ),
        ];
        for (key, entry) in quiet {
            assert_eq!(faults(key, entry), Vec::<String>::new(), "{key}");
        }
    }

    #[test]
    fn a_hidden_item_is_one() {
        let hidden = faults(
            "resources.secret_scopes.s.permissions",
            r#"{"action":"update","new_state":{"value":{"scope_name":"s","acls":[{"principal":"a","permission":"MANAGE"},{"principal":"dev","permission":"MANAGE"}]}},
            "remote_state":{"scope_name":"s","acls":[{"principal":"a","permission":"MANAGE"},{"principal":"ops","permission":"READ"}]},
            "changes":{"acls[1].principal":{"action":"update","old":"ops","new":"dev","remote":"ops"}}}"#,
        );
        assert!(!hidden.is_empty());
    }
}
