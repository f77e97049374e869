//! What is sent, by the paths that `changes` and `vars` write.

use super::{Effect, lookup};
use crate::json::Value;
use crate::plan::{FieldPath, Segment};

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
                    .or_else(|| self.waiting_item(&out, field, id))
                    .map_or_else(|| segment.clone(), Segment::Index),
                _ => segment.clone(),
            };
            here = here.and_then(|v| lookup(v, std::slice::from_ref(&found)));
            out.push(found);
        }
        FieldPath::from(out)
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
