//! References such as `${resources.pipelines.orders.id}`: resolved from the plan itself where that is certain.

use super::{Field, World, lookup};
use crate::json::Value;
use crate::plan::{Action, FieldPath, ResourceKey, Segment, resource_type};

/// How many references may stand behind each other.
const MAX_DEPTH: usize = 8;

/// The text with all its references resolved; a text that is one reference alone keeps its type.
pub(super) fn resolve(world: &World<'_>, text: &str, depth: usize) -> Option<Value> {
    if depth > MAX_DEPTH {
        return None;
    }
    if let Some(inner) = text.strip_prefix("${").and_then(|t| t.strip_suffix('}'))
        && !inner.contains("${")
    {
        return one(world, inner, depth);
    }
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        let (inner, behind) = after.split_once('}')?;
        out.push_str(before);
        match one(world, inner, depth)? {
            Value::String(s) => out.push_str(&s),
            Value::Int(n) => out.push_str(&n.to_string()),
            Value::UInt(n) => out.push_str(&n.to_string()),
            _ => return None,
        }
        rest = behind;
    }
    out.push_str(rest);
    Some(Value::String(out.into()))
}

/// The nodes (full keys) that a text refers to.
pub(crate) fn nodes(text: &str) -> impl Iterator<Item = String> {
    text.split("${")
        .skip(1)
        .filter_map(|t| t.split_once('}'))
        .filter_map(|(inner, _)| {
            let mut parts = inner.split('.');
            match (parts.next(), parts.next(), parts.next()) {
                (Some("resources"), Some(kind), Some(name)) => Some(format!(
                    "resources.{kind}.{}",
                    name.split('[').next().unwrap_or(name)
                )),
                _ => None,
            }
        })
}

fn one(world: &World<'_>, inner: &str, depth: usize) -> Option<Value> {
    let path = FieldPath::parse(inner).ok()?;
    let [
        Segment::Field(root),
        Segment::Field(kind),
        Segment::Field(name),
        below @ ..,
    ] = path.segments()
    else {
        return None;
    };
    if &**root != "resources" || below.is_empty() {
        return None;
    }
    let key = ResourceKey::parse(&format!("resources.{kind}.{name}")).ok()?;
    let is_id = matches!(below, [Segment::Field(f)] if &**f == "id");
    let Some(effect) = world.effect(key.full()) else {
        // Not selected: what is deployed stays as it is.
        let deployed = world.inputs.state?.deployed(key.full())?;
        return if is_id {
            deployed.id.clone().map(Value::String)
        } else {
            text_or_number(lookup(&deployed.config, below)?)
        };
    };
    if is_id {
        if matches!(
            effect.action(),
            Action::Create | Action::Recreate | Action::UpdateId | Action::Delete
        ) {
            return None;
        }
        let id_field = resource_type(kind).map_or("id", |t| t.id_field);
        return effect
            .entry
            .id
            .clone()
            .map(Value::String)
            .or_else(|| {
                effect
                    .remote()
                    .and_then(|r| r.get(id_field))
                    .and_then(text_or_number)
            })
            .or_else(|| {
                effect
                    .deployed
                    .and_then(|d| d.id.clone())
                    .map(Value::String)
            });
    }
    let below = FieldPath::from(below.to_vec());
    if effect.sent().is_some() {
        if let Some(text) = effect.waits_for(&below) {
            return resolve(world, text, depth + 1);
        }
        match world.after(effect, &below) {
            Field::Known(v) if !v.is_blank() => return text_or_number(&v),
            _ if matches!(effect.action(), Action::Create | Action::Recreate) => return None,
            _ => {}
        }
    }
    effect
        .remote()
        .and_then(|r| lookup(r, below.segments()))
        .or_else(|| {
            effect
                .deployed
                .and_then(|d| lookup(&d.config, below.segments()))
        })
        .and_then(text_or_number)
}

fn text_or_number(value: &Value) -> Option<Value> {
    match value {
        Value::String(_) | Value::Int(_) | Value::UInt(_) | Value::Bool(_) => Some(value.clone()),
        _ => None,
    }
}
