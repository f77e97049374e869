//! Digests of a plan: of its bytes, and of what it would do. `docs/digests.md` is the specification, with test vectors.

mod normalise;

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::approval::{IntentDigest, Sha256Hex};
use crate::json::Value;
use crate::plan::{
    Action, Change, Engine, Entry, FieldPath, Mark, Plan, ResourceKey, Segment, Trail,
};
use crate::policy::Policy;
use crate::secret::{REDACTED, Shown};

use normalise::Normal;
pub use normalise::Normaliser;

/// What stands before the canonical form when it is hashed.
pub const INTENT_DOMAIN: &str = "bundlegate-intent-v1\n";

/// What a plan would do, in its canonical form.
#[derive(Clone)]
pub struct Intent {
    /// The digest: SHA-256 over [`INTENT_DOMAIN`] and the canonical form.
    pub digest: IntentDigest,
    /// What is hashed: [`INTENT_DOMAIN`] and the canonical form.
    text: String,
    /// What was left out by a normaliser: which one, the short key, the field.
    pub left_out: Vec<(Normaliser, String, String)>,
    /// Fields that hold `[redacted]`: their value is in no digest.
    pub redacted: Vec<String>,
}

impl std::fmt::Debug for Intent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.digest)
    }
}

impl Intent {
    /// The canonical form as it is hashed. It holds the plan's secrets: for tests and for comparing, never for people.
    #[must_use]
    pub fn canonical(&self) -> &str {
        self.text.strip_prefix(INTENT_DOMAIN).unwrap_or_default()
    }
}

/// The canonical form of a plan for people: with `(secret)` in place of secrets. `None` as of [`intent`].
#[must_use]
pub fn shown(plan: &Plan) -> Option<serde_json::Value> {
    if plan.engine != Engine::Direct {
        return None;
    }
    let mut form = Form::default();
    let entries: serde_json::Map<_, _> = plan
        .entries
        .iter()
        .map(|e| {
            let key = e.key.full();
            (key.to_owned(), shown_entry(key, &form.entry(e)))
        })
        .collect();
    let mut top = serde_json::Map::new();
    if let Some(lineage) = &plan.lineage {
        let shown = Shown::of("", Some("lineage"), &text(lineage));
        top.insert("lineage".to_owned(), shown.into_json());
    }
    top.insert("not_selected".to_owned(), plan.not_selected.into());
    top.insert("plan".to_owned(), entries.into());
    if let Some(serial) = plan.serial {
        top.insert("serial".to_owned(), serial.into());
    }
    Some(top.into())
}

/// `changes` names the field in its key, not in the value's own member: each is shown by the field that it is about.
fn shown_entry(key: &str, entry: &Value) -> serde_json::Value {
    let kind = ResourceKey::parse(key).map_or(String::new(), |k| k.kind().to_owned());
    let mut out = serde_json::Map::new();
    for (name, value) in entry.as_object().into_iter().flat_map(|o| o.iter()) {
        let shown = match (name, value.as_object()) {
            ("changes", Some(changes)) => changes
                .iter()
                .map(|(path, change)| (path.to_owned(), shown_change(&kind, path, change)))
                .collect::<serde_json::Map<_, _>>()
                .into(),
            // `value` is the state's own name here, not the field of a secret.
            ("new_state", Some(state)) => state
                .iter()
                .map(|(part, value)| {
                    (
                        part.to_owned(),
                        Shown::of(&kind, None, value).json().clone(),
                    )
                })
                .collect::<serde_json::Map<_, _>>()
                .into(),
            _ => Shown::of(&kind, None, value).json().clone(),
        };
        out.insert(name.to_owned(), shown);
    }
    out.into()
}

fn shown_change(kind: &str, path: &str, change: &Value) -> serde_json::Value {
    let path = FieldPath::parse(path).unwrap_or_default();
    let field = path.segments().iter().rev().find_map(|s| match s {
        Segment::Field(name) => Some(&**name),
        _ => None,
    });
    change
        .as_object()
        .into_iter()
        .flat_map(|o| o.iter())
        .map(|(part, value)| {
            let field = field.filter(|_| part != "action");
            (
                part.to_owned(),
                Shown::of(kind, field, value).json().clone(),
            )
        })
        .collect::<serde_json::Map<_, _>>()
        .into()
}

/// The digest of a policy: SHA-256 of its resolved form, so `extends`, comments and order make no difference.
#[must_use]
pub fn policy(policy: &Policy) -> Sha256Hex {
    Sha256Hex::of(policy.resolved_canonical().as_bytes())
}

/// The intent of a plan; `None` for one of the Terraform engine, which says only which actions it takes.
#[must_use]
pub fn intent(plan: &Plan) -> Option<Intent> {
    if plan.engine != Engine::Direct {
        return None;
    }
    let mut form = Form::default();
    // Written entry by entry: as a tree the form of a large plan would take as much memory as the plan.
    let mut out = format!("{INTENT_DOMAIN}{{");
    if let Some(lineage) = &plan.lineage {
        out.push_str("\"lineage\":");
        text(lineage).write_json(&mut out);
        out.push(',');
    }
    out.push_str(&format!(
        "\"not_selected\":{},\"plan\":{{",
        plan.not_selected
    ));
    for (i, entry) in plan.entries.iter().enumerate() {
        if i > 0 {
            out.push(',');
        }
        text(entry.key.full()).write_json(&mut out);
        out.push(':');
        form.entry(entry).write_json(&mut out);
    }
    out.push('}');
    if let Some(serial) = plan.serial {
        out.push_str(&format!(",\"serial\":{serial}"));
    }
    out.push('}');
    Some(Intent {
        digest: IntentDigest::of(out.as_bytes()),
        text: out,
        left_out: form.left_out.into_iter().collect(),
        redacted: form.redacted,
    })
}

fn text(text: &str) -> Value {
    Value::String(text.into())
}

/// The canonical form in the making.
#[derive(Default)]
struct Form {
    left_out: BTreeSet<(Normaliser, String, String)>,
    redacted: Vec<String>,
}

impl Form {
    fn entry(&mut self, entry: &Entry) -> Value {
        let mut members: Vec<(Arc<str>, Value)> =
            vec![("action".into(), text(entry.action.as_str()))];
        if entry.gone {
            members.push(("gone".into(), Value::Bool(true)));
        }
        if let Some(id) = &entry.id {
            members.push(("id".into(), Value::String(id.clone())));
        }
        if !entry.depends_on.is_empty() {
            members.push(("depends_on".into(), dependencies(entry)));
        }
        if let Some(state) = &entry.new_state {
            let value = self.value(&entry.key, &mut Trail::default(), &state.value);
            let mut parts: Vec<(Arc<str>, Value)> =
                vec![("value".into(), value.unwrap_or(Value::Null))];
            if !state.vars.is_empty() {
                // Two spellings can name one field: pairs, so that none is lost.
                let mut vars: Vec<(String, &str)> = state
                    .vars
                    .iter()
                    .map(|(path, reference)| (path.to_string(), &**reference))
                    .collect();
                vars.sort_unstable();
                let pairs = vars
                    .into_iter()
                    .map(|(path, reference)| Value::Array(vec![text(&path), text(reference)]));
                parts.push(("vars".into(), Value::Array(pairs.collect())));
            }
            members.push(("new_state".into(), Value::object(parts)));
        }
        let changes: Vec<(Arc<str>, Value)> = entry
            .actionable()
            .filter_map(|(path, change)| {
                Some((
                    path.to_string().into(),
                    self.change(&entry.key, path, change)?,
                ))
            })
            .collect();
        if !changes.is_empty() {
            members.push(("changes".into(), Value::object(changes)));
        }
        Value::object(members)
    }

    /// `None`: the change is about nothing but what a normaliser leaves out.
    fn change(&mut self, key: &ResourceKey, path: &FieldPath, change: &Change) -> Option<Value> {
        debug_assert!(change.action != Action::Skip);
        let mut members: Vec<(Arc<str>, Value)> =
            vec![("action".into(), text(change.action.as_str()))];
        let mut any = change.old.is_none() && change.new.is_none();
        for (name, value) in [("old", &change.old), ("new", &change.new)] {
            if let Some(value) = value
                && let Some(value) = self.value(key, &mut Trail::from(path), value)
            {
                members.push((name.into(), value));
                any = true;
            }
        }
        any.then(|| Value::object(members))
    }

    /// The value in its canonical form; `None` where a normaliser leaves it out. The reader bounds the nesting.
    fn value<'v>(
        &mut self,
        key: &ResourceKey,
        trail: &mut Trail<'v>,
        value: &'v Value,
    ) -> Option<Value> {
        if normalise::applies(key) {
            match normalise::normal(key, trail, value) {
                Normal::Same => {}
                Normal::Gone(by) => {
                    self.note(by, key, trail);
                    return None;
                }
                Normal::Other(by, other) => {
                    self.note(by, key, trail);
                    return Some(other);
                }
            }
        }
        Some(match value {
            Value::String(s) => {
                if &**s == REDACTED {
                    self.redacted
                        .push(format!("{} {}", key.short(), trail.path()));
                }
                value.clone()
            }
            Value::Array(items) => {
                let mut out = Vec::with_capacity(items.len());
                for (i, item) in items.iter().enumerate() {
                    trail.push(Mark::Index(i));
                    out.extend(self.value(key, trail, item));
                    trail.pop();
                }
                Value::Array(out)
            }
            Value::Object(members) => {
                let mut out: Vec<(Arc<str>, Value)> = Vec::with_capacity(members.len());
                for (name, member) in members.iter() {
                    trail.push(Mark::Field(name));
                    if let Some(member) = self.value(key, trail, member) {
                        out.push((name.into(), member));
                    }
                    trail.pop();
                }
                Value::object(out)
            }
            other => other.clone(),
        })
    }

    fn note(&mut self, by: Normaliser, key: &ResourceKey, trail: &Trail<'_>) {
        self.left_out
            .insert((by, key.short().to_owned(), trail.path().to_string()));
    }
}

/// Edges as a set: their order has no effect.
fn dependencies(entry: &Entry) -> Value {
    let mut edges: Vec<(&str, Option<&str>)> = entry
        .depends_on
        .iter()
        .map(|d| (&*d.node, d.label.as_deref()))
        .collect();
    edges.sort_unstable();
    edges.dedup();
    Value::Array(
        edges
            .into_iter()
            .map(|(node, label)| {
                let label = label.map(|l| (Arc::from("label"), text(l)));
                let node = (Arc::from("node"), text(node));
                Value::object(std::iter::once(node).chain(label))
            })
            .collect(),
    )
}
