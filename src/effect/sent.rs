//! What is sent, by the paths that `changes` and `vars` write.

use std::collections::BTreeMap;

use super::{Effect, lookup};
use crate::json::Value;
use crate::plan::{Change, FieldPath, Segment};

/// Fields that the workspace takes and never returns (Databricks REST API; `run_as` of a pipeline stands in `run_as_user_name` only).
const INPUT_ONLY: &[(&str, &str)] = &[
    ("pipelines", "run_as"),
    ("pipelines", "cascade_on_destroy"),
    ("pipelines", "allow_duplicate_names"),
    ("pipelines", "dry_run"),
    ("jobs", "run_as"),
    ("alerts", "run_as"),
    ("apps", "run_as"),
    ("*", "purge_on_delete"),
    ("*", "cascade_on_destroy"),
    ("*", "lifecycle"),
];

impl<'a> Effect<'a> {
    /// The path as `changes` write it: those of permissions and grants start in the list itself, without `__embed__` or `acls`.
    #[must_use]
    pub fn unrooted(&self, path: FieldPath) -> FieldPath {
        match path.segments() {
            [Segment::Field(f), rest @ ..]
                if !self.is_resource() && matches!(&**f, "__embed__" | "acls") =>
            {
                FieldPath::from(rest.to_vec())
            }
            _ => path,
        }
    }

    /// What is sent at the path of a change.
    #[must_use]
    pub fn sent_at(&self, path: &FieldPath) -> Option<&'a Value> {
        let sent = self.sent()?;
        let in_list =
            !self.is_resource() && !matches!(path.segments().first(), Some(Segment::Field(_)));
        if !in_list {
            return lookup(sent, path.segments());
        }
        let list = sent.get("__embed__").or_else(|| sent.get("acls"))?;
        lookup(list, path.segments())
    }

    /// The path from the root of what is sent: those of permissions and grants start in the list.
    #[must_use]
    pub fn rooted(&self, sent: &Value, path: &FieldPath) -> FieldPath {
        if self.is_resource() || matches!(path.segments().first(), Some(Segment::Field(_))) {
            return path.clone();
        }
        let list = if sent.get("__embed__").is_some() {
            "__embed__"
        } else {
            "acls"
        };
        let mut segments = vec![Segment::Field(list.into())];
        segments.extend_from_slice(path.segments());
        FieldPath::from(segments)
    }

    /// The path of a change with items by index.
    #[must_use]
    pub fn indexed(&self, sent: &Value, path: &FieldPath) -> FieldPath {
        self.unrooted(indexed(sent, &self.rooted(sent, path)))
    }

    /// Whether the workspace lacks this field only because it takes it and never returns it.
    #[must_use]
    pub fn never_returned(&self, path: &FieldPath, from: Option<&Value>) -> bool {
        from.is_none_or(Value::is_blank)
            && INPUT_ONLY.iter().any(|(kind, field)| {
                (*kind == "*" || *kind == self.kind()) && path.starts_with(&[field])
            })
            && self
                .remote()
                .and_then(|r| {
                    path.segments()
                        .first()
                        .and_then(|s| lookup(r, std::slice::from_ref(s)))
                })
                .is_none_or(Value::is_blank)
    }
}

/// The path with items by index, as `vars` writes them.
#[must_use]
pub fn indexed(value: &Value, path: &FieldPath) -> FieldPath {
    let mut here = Some(value);
    let segments = path.segments().iter().map(|segment| {
        let found = match (segment, here) {
            (Segment::Item(field, id), Some(v)) => {
                let at = v.as_array().and_then(|a| {
                    a.iter()
                        .position(|i| i.get(field).and_then(Value::as_str) == Some(id))
                });
                at.map_or_else(|| segment.clone(), Segment::Index)
            }
            _ => segment.clone(),
        };
        here = here.and_then(|v| lookup(v, std::slice::from_ref(&found)));
        found
    });
    FieldPath::from(segments.collect::<Vec<_>>())
}

/// The fields that the changes of an entry name, as they stand and by index. Finds those at, above or below a field without
/// looking at all of them: an entry can have thousands.
#[derive(Debug)]
pub struct Named<'a>(BTreeMap<FieldPath, Vec<&'a Change>>);

impl<'a> Named<'a> {
    /// Those of an entry.
    #[must_use]
    pub fn of(effect: &Effect<'a>) -> Self {
        let mut map: BTreeMap<FieldPath, Vec<&'a Change>> = BTreeMap::new();
        for (path, change) in &effect.entry.changes {
            let path = effect.unrooted(path.clone());
            if let Some(sent) = effect.sent() {
                let by_index = effect.indexed(sent, &path);
                if by_index != path {
                    map.entry(by_index).or_default().push(change);
                }
            }
            map.entry(path).or_default().push(change);
        }
        Self(map)
    }

    /// Adds a field that no change names.
    pub fn add(&mut self, path: FieldPath) {
        self.0.entry(path).or_default();
    }

    /// Whether a change names this field: at, above or below it.
    #[must_use]
    pub fn overlaps(&self, path: &FieldPath) -> bool {
        self.is_covered(path) || self.below(path).next().is_some()
    }

    /// Whether a change names this field or one above it.
    #[must_use]
    pub fn is_covered(&self, path: &FieldPath) -> bool {
        self.above(path).next().is_some()
    }

    /// The changes that name this field: at, above or below it.
    #[must_use]
    pub fn changes(&self, path: &FieldPath) -> Vec<&'a Change> {
        let above = self.above(path).filter(|(p, _)| *p != path);
        above
            .chain(self.below(path))
            .flat_map(|(_, changes)| changes.iter().copied())
            .collect()
    }

    fn above(&self, path: &FieldPath) -> impl Iterator<Item = (&FieldPath, &Vec<&'a Change>)> {
        let segments = path.segments();
        (0..=segments.len()).filter_map(move |n| {
            self.0
                .get_key_value(&FieldPath::from(segments.get(..n)?.to_vec()))
        })
    }

    fn below(&self, path: &FieldPath) -> impl Iterator<Item = (&FieldPath, &Vec<&'a Change>)> {
        let path = path.clone();
        self.0
            .range(path.clone()..)
            .take_while(move |(p, _)| path.covers(p))
    }
}
