//! Two states of one resource compared field by field, list items by identity.

use std::collections::BTreeMap;

use crate::json::Value;
use crate::plan::{FieldPath, Mark, Trail};

/// One field in which two states differ.
#[derive(Debug, Clone)]
pub struct Difference<'v> {
    /// The field; items of lists by identity where they have one.
    pub path: FieldPath,
    /// Before.
    pub from: Option<&'v Value>,
    /// After.
    pub to: Option<&'v Value>,
}

/// What makes an item of a list the same item in another state: its principal, `task_key`, `job_cluster_key`,
/// `environment_key`, and `name` under `parameters` only.
#[must_use]
pub fn item_identity<'v>(list: Option<&str>, item: &'v Value) -> Option<(&'static str, &'v str)> {
    const PRINCIPALS: &[&str] = &[
        "principal",
        "user_name",
        "group_name",
        "service_principal_name",
    ];
    const KEYS: &[&str] = &["task_key", "job_cluster_key", "environment_key"];
    let text = |name: &'static str| {
        item.get(name)
            .and_then(Value::as_str)
            .filter(|t| !t.is_empty())
            .map(|t| (name, t))
    };
    if let Some(found) = KEYS.iter().find_map(|k| text(k)) {
        return Some(found);
    }
    if list == Some("parameters") {
        return text("name");
    }
    PRINCIPALS.iter().find_map(|k| text(k))
}

/// Whether two values are the same to the CLI: absent equals `null`, `""`, `0`, `false`, `[]`, `{}`; lists by identity of their items.
#[must_use]
pub fn same(list: Option<&str>, a: Option<&Value>, b: Option<&Value>) -> bool {
    match (a, b) {
        (Some(Value::Object(x)), Some(Value::Object(y))) => {
            x.iter().all(|(k, v)| same(Some(k), Some(v), y.get(k)))
                && y.iter().all(|(k, v)| x.get(k).is_some() || is_nothing(v))
        }
        (Some(Value::Array(x)), Some(Value::Array(y))) => {
            x.len() == y.len()
                && match (by_identity(list, x), by_identity(list, y)) {
                    (Some(x), Some(y)) => x
                        .iter()
                        .all(|(id, v)| y.get(id).is_some_and(|w| same(None, Some(v), Some(w)))),
                    _ => same_multiset(x, y),
                }
        }
        (Some(x), Some(y)) => x == y || (x.is_blank() && y.is_blank()),
        (Some(x), None) | (None, Some(x)) => is_nothing(x),
        (None, None) => true,
    }
}

/// Whether a value says no more than its absence: blank, or an object of blank fields.
fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Object(members) => members.iter().all(|(_, v)| is_nothing(v)),
        other => other.is_blank(),
    }
}

type Items<'v> = BTreeMap<(&'static str, &'v str), &'v Value>;

/// The items by identity, if all have one and no two the same.
fn by_identity<'v>(list: Option<&str>, items: &'v [Value]) -> Option<Items<'v>> {
    let mut out = BTreeMap::new();
    for item in items {
        if out.insert(item_identity(list, item)?, item).is_some() {
            return None;
        }
    }
    Some(out)
}

/// Above this many items a list is compared in order: matching each with each would take too long.
const MAX_MULTISET: usize = 2_000;

fn same_multiset(x: &[Value], y: &[Value]) -> bool {
    if x.iter().zip(y).all(|(a, b)| same(None, Some(a), Some(b))) {
        return true;
    }
    if x.len() > MAX_MULTISET {
        return false;
    }
    let mut left: Vec<&Value> = y.iter().collect();
    x.iter().all(|a| {
        left.iter()
            .position(|b| same(None, Some(a), Some(b)))
            .map(|i| left.swap_remove(i))
            .is_some()
    })
}

/// The fields in which two states differ. Lists whose items have no identity are compared item by item where they have one
/// length, else they are one field.
#[must_use]
pub fn differences<'v>(from: &'v Value, to: &'v Value) -> Vec<Difference<'v>> {
    let mut out = Vec::new();
    walk(
        &mut Trail::default(),
        None,
        Some(from),
        Some(to),
        true,
        &mut out,
    );
    out
}

/// The same with the items of all lists by index where they have one length.
#[must_use]
pub fn differences_by_index<'v>(from: &'v Value, to: &'v Value) -> Vec<Difference<'v>> {
    let mut out = Vec::new();
    walk(
        &mut Trail::default(),
        None,
        Some(from),
        Some(to),
        false,
        &mut out,
    );
    out
}

fn walk<'v>(
    trail: &mut Trail<'v>,
    list: Option<&str>,
    from: Option<&'v Value>,
    to: Option<&'v Value>,
    identity: bool,
    out: &mut Vec<Difference<'v>>,
) {
    match (from, to) {
        (Some(Value::Object(x)), Some(Value::Object(y))) => {
            for (k, v) in x.iter() {
                trail.push(Mark::Field(k));
                walk(trail, Some(k), Some(v), y.get(k), identity, out);
                trail.pop();
            }
            for (k, v) in y.iter().filter(|(k, _)| x.get(k).is_none()) {
                trail.push(Mark::Field(k));
                walk(trail, Some(k), None, Some(v), identity, out);
                trail.pop();
            }
        }
        (Some(Value::Array(x)), Some(Value::Array(y))) => {
            match (by_identity(list, x), by_identity(list, y)) {
                (Some(x), Some(y)) if identity => {
                    let ids = x.keys().chain(y.keys().filter(|id| !x.contains_key(*id)));
                    for id in ids {
                        trail.push(Mark::Item(id.0, id.1));
                        walk(
                            trail,
                            None,
                            x.get(id).copied(),
                            y.get(id).copied(),
                            identity,
                            out,
                        );
                        trail.pop();
                    }
                }
                _ if x.len() == y.len() && same_multiset(x, y) => {}
                // Of the same length: item by item, as the CLI compares them.
                _ if x.len() == y.len() => {
                    for (i, (x, y)) in x.iter().zip(y).enumerate() {
                        trail.push(Mark::Index(i));
                        walk(trail, None, Some(x), Some(y), identity, out);
                        trail.pop();
                    }
                }
                _ => out.push(Difference {
                    path: trail.path(),
                    from,
                    to,
                }),
            }
        }
        _ if same(list, from, to) => {}
        _ => out.push(Difference {
            path: trail.path(),
            from,
            to,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::{Limits, parse};

    fn diff(a: &str, b: &str) -> String {
        let v = |t: &str| parse(t.as_bytes(), &Limits::default()).unwrap();
        let (a, b) = (v(a), v(b));
        differences(&a, &b)
            .iter()
            .map(|d| d.path.to_string())
            .collect::<Vec<_>>()
            .join(" ")
    }

    #[test]
    fn lists_by_identity_absent_equals_blank() {
        assert_eq!(diff(r#"{"a":0,"b":{"c":""}}"#, r#"{"d":[],"e":{}}"#), "");
        assert_eq!(
            diff(
                r#"{"tasks":[{"task_key":"a","x":1},{"task_key":"b"}]}"#,
                r#"{"tasks":[{"task_key":"b"},{"task_key":"a","x":2}]}"#
            ),
            "tasks[task_key='a'].x"
        );
        assert_eq!(diff(r#"{"l":[1,2,3]}"#, r#"{"l":[3,2,1]}"#), "");
        assert_eq!(diff(r#"{"l":[1,2,2]}"#, r#"{"l":[1,1,2]}"#), "l[1]");
        assert_eq!(diff(r#"{"l":[1,2]}"#, r#"{"l":[1]}"#), "l");
        assert_eq!(
            diff(
                r#"{"parameters":[{"name":"x","default":1}]}"#,
                r#"{"parameters":[{"name":"x","default":2}]}"#
            ),
            "parameters[name='x'].default"
        );
        assert_eq!(
            diff(
                r#"{"other":[{"name":"x","default":1}]}"#,
                r#"{"other":[{"name":"x","default":2}]}"#
            ),
            "other[0].default"
        );
        assert_eq!(
            diff(
                r#"{"__embed__":[{"group_name":"a","level":"X"}]}"#,
                r#"{"__embed__":[]}"#
            ),
            "__embed__[group_name='a']"
        );
        assert_eq!(
            diff(
                r#"{"tasks":[{"task_key":"a"},{"task_key":"a"}]}"#,
                r#"{"tasks":[{"task_key":"a"}]}"#
            ),
            "tasks",
            "twice the same identity: no identity"
        );
    }
}
