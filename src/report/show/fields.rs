//! The fields of an entry before and after: what the CLI sends decides, `changes` only say what was before and why.

use serde_json::Value as Json;

use super::FieldChange;
use super::diff::{self, Budget};
use crate::effect::{Effect, Named, differences, indexed, same};
use crate::json::{self, Value};
use crate::plan::{Action, Change, FieldPath, Segment};
use crate::secret::{Shown, hide, is_secret_field_of};

/// What the bundle changes, and what the deploy puts back.
pub(super) fn of(e: &Effect<'_>, budget: &mut Budget) -> (Vec<FieldChange>, Vec<FieldChange>) {
    let mut maker = Maker { e, budget };
    match e.action() {
        Action::Create => (maker.created(), Vec::new()),
        action if action.is_update_like() => {
            let mut drift = Vec::new();
            let mut changes = maker.named(&mut drift);
            changes.extend(maker.unnamed());
            changes.sort_by(|a, b| a.path.cmp(&b.path));
            drift.sort_by(|a, b| a.path.cmp(&b.path));
            (changes, drift)
        }
        _ => (Vec::new(), Vec::new()),
    }
}

struct Maker<'m, 'a> {
    e: &'m Effect<'a>,
    budget: &'m mut Budget,
}

/// What is said of one field.
struct Said<'v> {
    path: FieldPath,
    action: Action,
    reason: Option<&'v str>,
    before: Option<&'v Value>,
    after: Option<&'v Value>,
    workspace: Option<&'v Value>,
    announced: bool,
}

impl Maker<'_, '_> {
    /// The fields that the changes name; what only the workspace changed goes to `drift`.
    fn named(&mut self, drift: &mut Vec<FieldChange>) -> Vec<FieldChange> {
        let mut out = Vec::new();
        for (path, change) in self.e.entry.actionable() {
            let list = path.last_field();
            let after = self.e.sent_at(path);
            let waits = self.waits_for(path).is_some();
            // Dashboards and Genie spaces: an edit by hand shows in the etag only.
            let etag = matches!(self.e.kind(), "dashboards" | "genie_spaces")
                && path.starts_with(&["etag"]);
            let edited = !waits
                && change.old.is_some()
                && (etag || same(list, change.old.as_ref(), after))
                && !same(list, change.remote.as_ref(), change.old.as_ref());
            let before = change.old.as_ref().or(change.remote.as_ref());
            let workspace = change
                .remote
                .as_ref()
                .filter(|r| !same(list, Some(r), before));
            if edited {
                let mut field = self.field(said(
                    path.clone(),
                    change,
                    change.old.as_ref(),
                    after,
                    change.remote.as_ref(),
                ));
                field.diff = None;
                drift.push(field);
                continue;
            }
            match (before, after) {
                (Some(from @ Value::Object(_)), Some(to @ Value::Object(_)))
                    if workspace.is_none() && !waits =>
                {
                    let below = differences(from, to);
                    for d in &below {
                        let mut whole = path.segments().to_vec();
                        whole.extend_from_slice(d.path.segments());
                        let said = said(FieldPath::from(whole), change, d.from, d.to, None);
                        let field = self.field(said);
                        out.push(field);
                    }
                    if below.is_empty() {
                        let field = self.field(said(path.clone(), change, before, after, None));
                        out.push(field);
                    }
                }
                _ => {
                    let field = self.field(said(path.clone(), change, before, after, workspace));
                    out.push(field);
                }
            }
        }
        out
    }

    /// The fields that are sent otherwise than the workspace or the last deploy has them, and that no change names.
    fn unnamed(&mut self) -> Vec<FieldChange> {
        let Some(sent) = self.e.sent() else {
            return Vec::new();
        };
        let mut named = Named::of(self.e);
        let mut out = Vec::new();
        for (path, text) in self.e.entry.new_state.iter().flat_map(|s| &s.vars) {
            let path = self.e.unrooted(path.clone());
            if !named.overlaps(&path) {
                let said = Said {
                    path: path.clone(),
                    action: self.e.action(),
                    reason: None,
                    before: None,
                    after: None,
                    workspace: None,
                    announced: false,
                };
                let mut field = self.field(said);
                field.waits_for = Some(hide(text));
                field.after = None;
                out.push(field);
                named.add(path);
            }
        }
        let remote = self
            .e
            .remote()
            .filter(|r| self.e.is_resource() || Effect::list(r).is_some());
        let deployed = self
            .e
            .deployed
            .map(|d| &d.config)
            .filter(|c| c.as_object().is_some());
        for (now, from_workspace) in [(remote, true), (deployed, false)] {
            for d in now.map(|n| differences(n, sent)).unwrap_or_default() {
                let path = self.e.unrooted(d.path);
                let at = self.e.plain(sent, &path);
                let server_side = from_workspace
                    && (self.e.never_returned(&path, d.from)
                        || (d.to.is_none()
                            && !matches!(path.segments().last(), Some(Segment::Item(..)))));
                if server_side || named.overlaps(&path) || named.overlaps(&at) {
                    continue;
                }
                named.add(at);
                let said = Said {
                    path,
                    action: self.e.action(),
                    reason: None,
                    before: d.from,
                    after: d.to,
                    workspace: None,
                    announced: false,
                };
                let field = self.field(said);
                out.push(field);
            }
        }
        out
    }

    /// Everything that a created entry sets.
    fn created(&mut self) -> Vec<FieldChange> {
        let Some(sent) = self.e.sent() else {
            return Vec::new();
        };
        let mut out = Vec::new();
        let mut add = |maker: &mut Self, path: FieldPath, value| {
            let said = Said {
                path,
                action: Action::Create,
                reason: None,
                before: None,
                after: Some(value),
                workspace: None,
                announced: true,
            };
            let field = maker.field(said);
            out.push(field);
        };
        match (self.e.is_resource(), Effect::list(sent)) {
            (false, Some(items)) => {
                for (i, item) in items.iter().enumerate() {
                    let segment = crate::effect::item_identity(None, item)
                        .map_or(Segment::Index(i), |(field, id)| {
                            Segment::Item(field.into(), id.into())
                        });
                    add(self, FieldPath::from(vec![segment]), item);
                }
            }
            _ => {
                for (name, value) in sent.as_object().into_iter().flat_map(json::Object::iter) {
                    let path = FieldPath::of(&[name]);
                    if !value.is_blank() || self.waits_for(&path).is_some() {
                        add(self, path, value);
                    }
                }
            }
        }
        out
    }

    /// The reference for which exactly this field, or one above it, waits.
    fn waits_for(&self, path: &FieldPath) -> Option<&str> {
        let sent = self.e.sent()?;
        let rooted = self.e.rooted(sent, path);
        self.e
            .waits_for(&indexed(sent, &rooted))
            .or_else(|| self.e.waits_for(&rooted))
    }

    fn field(&mut self, said: Said<'_>) -> FieldChange {
        let waits_for = self.waits_for(&said.path).map(hide);
        let show = |value: Option<&Value>| {
            value.map(|v| {
                Shown::of(self.e.kind(), secret_name(self.e.kind(), &said.path), v)
                    .json()
                    .clone()
            })
        };
        let before = show(said.before);
        let mut after = if waits_for.is_some() {
            None
        } else {
            show(said.after)
        };
        if let Some(after) = &mut after {
            self.fill_in(&said.path, after);
        }
        let diff = match (said.before, said.after, &before, &after) {
            (
                Some(Value::String(a)),
                Some(Value::String(b)),
                Some(Json::String(shown_a)),
                Some(Json::String(shown_b)),
            ) if **a == **shown_a && **b == **shown_b => match (self.as_json(a), self.as_json(b)) {
                (Some(a), Some(b)) => diff::lines(&a, &b, self.budget),
                _ => diff::lines(a, b, self.budget),
            },
            _ => None,
        };
        FieldChange {
            path: hide(&said.path.to_string()),
            action: said.action.as_str(),
            reason: said.reason.map(hide),
            before,
            after,
            workspace: show(said.workspace),
            waits_for,
            announced: said.announced,
            diff,
        }
    }

    /// A text that is a JSON document (a serialized dashboard), one value a line, secrets replaced.
    fn as_json(&self, text: &str) -> Option<String> {
        if !text.starts_with(['{', '[']) {
            return None;
        }
        let value = json::parse(text.as_bytes(), &json::Limits::default()).ok()?;
        serde_json::to_string_pretty(Shown::of(self.e.kind(), None, &value).json()).ok()
    }

    /// Puts the references that are not resolved yet in the place of their placeholders inside a value.
    fn fill_in(&self, path: &FieldPath, shown: &mut Json) {
        let Some(state) = &self.e.entry.new_state else {
            return;
        };
        if state.vars.is_empty() {
            return;
        }
        let base = indexed(&state.value, &self.e.rooted(&state.value, path));
        for (var, text) in &state.vars {
            let Some(below) = var.segments().strip_prefix(base.segments()) else {
                continue;
            };
            let place = below
                .iter()
                .try_fold(&mut *shown, |v, segment| match segment {
                    Segment::Field(name) => v.get_mut(&**name),
                    Segment::Index(i) => v.get_mut(*i),
                    Segment::Item(..) | Segment::Any => None,
                });
            if let Some(place) = place {
                *place = Json::String(hide(text));
            }
        }
    }
}

fn said<'v>(
    path: FieldPath,
    change: &'v Change,
    before: Option<&'v Value>,
    after: Option<&'v Value>,
    workspace: Option<&'v Value>,
) -> Said<'v> {
    Said {
        path,
        action: change.action,
        reason: change.reason.as_deref(),
        before,
        after,
        workspace,
        announced: true,
    }
}

/// The name that decides whether a value is a secret: the first on its path that says so, else the last.
fn secret_name<'p>(kind: &str, path: &'p FieldPath) -> Option<&'p str> {
    path.segments()
        .iter()
        .find_map(|s| match s {
            Segment::Field(name) if is_secret_field_of(kind, name) => Some(&**name),
            _ => None,
        })
        .or_else(|| path.last_field())
}
