//! The bundle JSON: `databricks bundle summary -o json` or `databricks bundle validate -o json [--include-locations]`.

use std::collections::HashMap;

use super::fault;
use crate::json::{self, Error, Limits, Value};
use crate::plan::{FieldPath, ResourceKey, Segment};
use crate::text::quoted;

/// A place in the bundle's source.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Location {
    /// The file, relative to the bundle's root.
    pub file: String,
    /// Line, from 1.
    pub line: u64,
    /// Column, from 1.
    pub column: u64,
}

/// The resolved configuration of one target.
#[derive(Debug, Clone)]
pub struct Bundle {
    root: Value,
    target: Box<str>,
    locations: HashMap<Box<str>, Location>,
}

const HOW: &str = "write it with `databricks bundle validate -o json --include-locations -t TARGET > bundle.json` (or `databricks bundle summary -o json`)";

impl Bundle {
    /// Reads a bundle JSON.
    ///
    /// # Errors
    /// A file that is no bundle JSON, has no `bundle.target`, or is not resolved: a failed `validate` prints one too
    /// (reproduced with CLI 1.13).
    pub fn read(bytes: &[u8], limits: &Limits) -> Result<Self, Error> {
        let Value::Object(mut root) = json::parse(bytes, limits)? else {
            return Err(fault(
                "expected a bundle JSON (an object), found another JSON value",
                HOW,
            ));
        };
        if root.get("plan").is_some() && root.get("bundle").is_none() {
            return Err(fault("expected a bundle JSON, found a plan", HOW));
        }
        if root.get("state_version").is_some() {
            return Err(fault(
                "expected a bundle JSON, found a deployment state (resources.json)",
                "give it with --state",
            ));
        }
        let locations = root
            .take("__locations")
            .map(|v| read_locations(&v))
            .unwrap_or_default();
        let root = Value::Object(root);
        for part in ["bundle", "workspace", "run_as", "permissions", "resources"] {
            if let Some(found) = root.get(part).and_then(unresolved) {
                return Err(fault(
                    format!(
                        "expected a resolved bundle JSON, found the reference {} left in {part}: `bundle validate` failed and printed it all the same",
                        quoted(found)
                    ),
                    "mend what `databricks bundle validate -t TARGET` reports, and write the file again",
                ));
            }
        }
        let Some(target) = root
            .at(&["bundle", "target"])
            .and_then(Value::as_str)
            .filter(|t| !t.is_empty())
        else {
            return Err(fault(
                "expected a bundle JSON with bundle.target, found none: a failed `bundle validate` prints such a file, too",
                HOW,
            ));
        };
        let target = Box::from(target);
        if root
            .at(&["workspace", "current_user"])
            .is_none_or(Value::is_blank)
        {
            return Err(fault(
                "expected a resolved bundle JSON with workspace.current_user, found none: `bundle validate` could not ask the workspace",
                "mend what `databricks bundle validate -t TARGET` reports, and write the file again",
            ));
        }
        Ok(Self {
            root,
            target,
            locations,
        })
    }

    /// The target it was resolved for.
    #[must_use]
    pub fn target(&self) -> &str {
        &self.target
    }

    /// A text at a chain of names, such as `["workspace", "host"]`; empty counts as absent.
    #[must_use]
    pub fn text(&self, path: &[&str]) -> Option<&str> {
        self.root
            .at(path)
            .and_then(Value::as_str)
            .filter(|t| !t.is_empty())
    }

    /// A value at a chain of names.
    #[must_use]
    pub fn at(&self, path: &[&str]) -> Option<&Value> {
        self.root.at(path)
    }

    /// The configuration of a resource, or of its permissions or grants block. A resource that `summary` lists as deleted is not in it.
    #[must_use]
    pub fn resource(&self, key: &ResourceKey) -> Option<&Value> {
        let resource = self
            .root
            .at(&["resources", key.kind(), key.name()])
            .filter(|r| !is_deleted(r))?;
        match key.sub() {
            None => Some(resource),
            Some(sub) => resource.get(sub.as_str()).filter(|b| !b.is_blank()),
        }
    }

    /// All resources: type, name, configuration; deleted ones aside.
    pub fn resources(&self) -> impl Iterator<Item = (&str, &str, &Value)> {
        let kinds = self
            .root
            .get("resources")
            .and_then(Value::as_object)
            .into_iter()
            .flat_map(json::Object::iter);
        kinds.flat_map(|(kind, members)| {
            members
                .as_object()
                .into_iter()
                .flat_map(json::Object::iter)
                .filter(|(_, r)| !is_deleted(r))
                .map(move |(name, r)| (kind, name, r))
        })
    }

    /// Where a field of a resource stands in the source: the nearest place above it that is known.
    #[must_use]
    pub fn location(&self, key: &ResourceKey, path: Option<&FieldPath>) -> Option<&Location> {
        if self.locations.is_empty() {
            return None;
        }
        let mut text = format!("resources.{}.{}", key.kind(), key.name());
        let mut known = self.locations.get(text.as_str());
        let mut here = self.root.at(&["resources", key.kind(), key.name()]);
        for segment in path.map(FieldPath::segments).unwrap_or_default() {
            let index = |i: usize| format!("[{i}]");
            let step = match segment {
                Segment::Field(name) => {
                    here = here.and_then(|v| v.get(name));
                    format!(".{name}")
                }
                Segment::Index(i) => {
                    here = here.and_then(Value::as_array).and_then(|a| a.get(*i));
                    index(*i)
                }
                Segment::Item(field, value) => {
                    let items = here.and_then(Value::as_array).unwrap_or_default();
                    let Some(i) = items
                        .iter()
                        .position(|v| v.get(field).and_then(Value::as_str) == Some(value))
                    else {
                        break;
                    };
                    here = items.get(i);
                    index(i)
                }
                Segment::Any => break,
            };
            text.push_str(&step);
            known = self.locations.get(text.as_str()).or(known);
        }
        known
    }

    /// Where a part of the bundle outside its resources stands, such as `run_as` or `workspace`.
    #[must_use]
    pub fn location_of(&self, path: &str) -> Option<&Location> {
        self.locations.get(path)
    }
}

fn is_deleted(resource: &Value) -> bool {
    resource.get("modified_status").and_then(Value::as_str) == Some("deleted")
}

/// A reference that a good bundle JSON does not hold any more.
fn unresolved(value: &Value) -> Option<&str> {
    match value {
        Value::String(s) => ["${bundle.", "${workspace.", "${var."]
            .iter()
            .find_map(|start| {
                let from = s.find(start)?;
                let text = s.get(from..)?;
                text.find('}').and_then(|end| text.get(..=end))
            }),
        Value::Array(items) => items.iter().find_map(unresolved),
        Value::Object(members) => members.iter().find_map(|(_, v)| unresolved(v)),
        _ => None,
    }
}

fn read_locations(value: &Value) -> HashMap<Box<str>, Location> {
    let files: Vec<&str> = value
        .get("files")
        .and_then(Value::as_array)
        .unwrap_or_default()
        .iter()
        .map(|f| f.as_str().unwrap_or_default())
        .collect();
    let number = |v: Option<&Value>| match v {
        Some(Value::Int(n)) => u64::try_from(*n).ok(),
        _ => None,
    };
    let mut out = HashMap::new();
    for (path, places) in value
        .get("locations")
        .and_then(Value::as_object)
        .into_iter()
        .flat_map(json::Object::iter)
    {
        // Several files can define one resource; the first one named is where the CLI points, too.
        let Some([file, line, column]) = places
            .as_array()
            .and_then(<[_]>::first)
            .and_then(Value::as_array)
        else {
            continue;
        };
        let file = number(Some(file))
            .and_then(|n| usize::try_from(n).ok())
            .and_then(|n| files.get(n));
        if let (Some(file), Some(line), Some(column)) =
            (file, number(Some(line)), number(Some(column)))
        {
            out.insert(
                path.into(),
                Location {
                    file: (*file).to_owned(),
                    line,
                    column,
                },
            );
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Bundle, String> {
        Bundle::read(text.as_bytes(), &Limits::default()).map_err(|e| e.message)
    }

    const GOOD: &str = r#"{"__locations":{"version":1,"files":["databricks.yml"],"locations":{"resources.jobs.a":[[0,3,5]],"resources.jobs.a.tasks[1]":[[0,9,7]]}},
        "bundle":{"name":"b","target":"prod"},"workspace":{"current_user":{"userName":"x"}},
        "resources":{"jobs":{"a":{"tasks":[{"task_key":"t0"},{"task_key":"t1"}],"permissions":[]},"old":{"modified_status":"deleted"}}}}"#;

    #[test]
    fn resources_and_places() {
        let b = read(GOOD).unwrap();
        let key = ResourceKey::parse("resources.jobs.a").unwrap();
        let path = FieldPath::parse("tasks[task_key='t1'].pipeline_task").unwrap();
        assert_eq!(
            b.location(&key, Some(&path)).map(|l| (l.line, l.column)),
            Some((9, 7))
        );
        assert_eq!(
            b.location(&key, Some(&FieldPath::of(&["run_as"])))
                .map(|l| l.line),
            Some(3)
        );
        assert_eq!(b.resources().count(), 1, "a deleted resource is not in it");
        assert!(
            b.resource(&ResourceKey::parse("resources.jobs.a.permissions").unwrap())
                .is_none(),
            "an empty block is none"
        );
    }

    #[test]
    fn what_is_not_resolved_is_refused() {
        assert!(read("{}").unwrap_err().contains("bundle.target"));
        assert!(read("[]").is_err());
        assert!(
            read(&GOOD.replace("\"name\":\"b\"", "\"name\":\"${var.b}\""))
                .unwrap_err()
                .contains("${var.b}")
        );
        assert!(
            read(&GOOD.replace("\"userName\":\"x\"", ""))
                .unwrap_err()
                .contains("current_user")
        );
        assert!(read(&GOOD.replace("\"t0\"", "\"${resources.jobs.a.id}\"")).is_ok());
        assert!(read(r#"{"plan":{}}"#).unwrap_err().contains("a plan"));
        assert!(
            read(r#"{"state_version":2}"#)
                .unwrap_err()
                .contains("state")
        );
    }
}
