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

impl Effect<'_> {
    /// The path in the one form in which paths of `changes`, `vars` and differences can be compared: without the root of a
    /// list of permissions or grants, and with items by index, as far as `value` has them.
    #[must_use]
    pub fn plain(&self, value: &Value, path: &FieldPath) -> FieldPath {
        let path = self.unrooted(path.clone());
        let in_list =
            !self.is_resource() && !matches!(path.segments().first(), Some(Segment::Field(_)));
        let root = if in_list {
            value.get("__embed__").or_else(|| value.get("acls"))
        } else {
            Some(value)
        };
        by_index(root, &path, |list, field, id| {
            self.waiting_item(list, field, id)
        })
    }

    /// The item of a list whose identity is a reference: `vars` knows at which place it stands.
    fn waiting_item(&self, list: &[Segment], field: &str, reference: &str) -> Option<usize> {
        let vars = &self.entry.new_state.as_ref()?.vars;
        vars.iter()
            .filter(|(_, text)| **text == *reference)
            .find_map(|(path, _)| {
                let path = self.unrooted(path.clone());
                match path.segments().split_at_checked(list.len())? {
                    (start, [Segment::Index(at), Segment::Field(f)])
                        if start == list && **f == *field =>
                    {
                        Some(*at)
                    }
                    _ => None,
                }
            })
    }
}

/// The path with items by index, as `vars` writes them.
#[must_use]
pub fn indexed(value: &Value, path: &FieldPath) -> FieldPath {
    by_index(Some(value), path, |_, _, _| None)
}

/// The path with items by index, as far as `root` has them; `waiting` tells of a list, a field and an identity that it has not.
fn by_index(
    root: Option<&Value>,
    path: &FieldPath,
    waiting: impl Fn(&[Segment], &str, &str) -> Option<usize>,
) -> FieldPath {
    let mut here = root;
    let mut out: Vec<Segment> = Vec::with_capacity(path.segments().len());
    for segment in path.segments() {
        let found = match (segment, here) {
            (Segment::Item(field, id), Some(v)) => v
                .as_array()
                .and_then(|a| {
                    a.iter()
                        .position(|i| i.get(field).and_then(Value::as_str) == Some(id))
                })
                .or_else(|| waiting(&out, field, id))
                .map_or_else(|| segment.clone(), Segment::Index),
            _ => segment.clone(),
        };
        here = here.and_then(|v| lookup(v, std::slice::from_ref(&found)));
        out.push(found);
    }
    FieldPath::from(out)
}

/// The fields that the changes of an entry name, as they stand and by index. Finds those at, above or below a field without
/// looking at all of them: an entry can have thousands.
#[derive(Debug)]
pub struct Named<'a>(BTreeMap<FieldPath, Vec<&'a Change>>);

impl<'a> Named<'a> {
    /// Those of an entry, by index as in what is sent.
    #[must_use]
    pub fn of(effect: &Effect<'a>) -> Self {
        Self::seen_in(effect, effect.sent())
    }

    /// Those of an entry, by index as in this value.
    #[must_use]
    pub fn seen_in(effect: &Effect<'a>, value: Option<&Value>) -> Self {
        let mut map: BTreeMap<FieldPath, Vec<&'a Change>> = BTreeMap::new();
        for (path, change) in &effect.entry.changes {
            let path = effect.unrooted(path.clone());
            if let Some(value) = value {
                let by_index = effect.plain(value, &path);
                if by_index != path {
                    map.entry(by_index).or_default().push(change);
                }
            }
            map.entry(path).or_default().push(change);
        }
        Self(map)
    }

    /// Whether a change names exactly this field.
    #[must_use]
    pub fn is_exactly(&self, path: &FieldPath) -> bool {
        self.0.contains_key(path)
    }

    /// The changes that name this field or one above it.
    #[must_use]
    pub fn covering(&self, path: &FieldPath) -> Vec<&'a Change> {
        self.above(path)
            .flat_map(|(_, c)| c.iter().copied())
            .collect()
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
