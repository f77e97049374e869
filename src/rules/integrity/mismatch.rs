//! `bundle-mismatch`: does the bundle JSON belong to this plan?

use crate::effect::{Effect, World, differences, item_identity};
use crate::json::Value;
use crate::plan::{Action, FieldPath, ResourceKey, Segment, Sub, resource_type};
use crate::secret::REDACTED;

use super::super::{Context, Doc, Family, Found, Need, Rule, fires, quiet};

rule!(BundleMismatch, Doc {
    id: "bundle-mismatch",
    family: Family::Integrity,
    trigger: "The bundle JSON does not belong to this plan: a resource is in one of them only, or is defined otherwise.",
    impact: "Plan and configuration were made from different code or for different targets: what was read is not what is deployed.",
    remedy: "Write the plan and the bundle JSON in one run, of one commit and one target.",
    source: "Databricks CLI 1.13, reproduced: an entry that is in no configuration is deployed all the same",
    needs: &[Need::Bundle],
    examples: &[
        fires(r#""jobs.ghost": {"action": "create", "new_state": {"value": {"name": "ghost"}}}"#).bundle(r#""resources": {"jobs": {}}"#),
        fires(r#""jobs.report": {"action": "create", "new_state": {"value": {"name": "other"}}}"#).bundle(r#""resources": {"jobs": {"report": {"name": "report"}}}"#),
        fires(r#""jobs.report": {"action": "delete", "remote_state": {"name": "report"}}"#).bundle(r#""resources": {"jobs": {"report": {"name": "report"}}}"#),
        quiet(r#""jobs.report": {"action": "create", "new_state": {"value": {"name": "report"}}}"#).bundle(r#""resources": {"jobs": {"report": {"name": "report", "id": "1", "lifecycle": {"prevent_destroy": true}}}}"#),
    ],
}, |cx, out| {
    let Some(bundle) = cx.world.inputs.bundle else { return };
    for e in cx.world.effects() {
        let fault = match (e.action(), e.config) {
            (Action::Delete, Some(_)) => Some((None, "the plan deletes it, but the bundle JSON has it".to_owned())),
            (Action::Delete, None) => None,
            // The CLI adds the deployer to the permissions of secret scopes, also where the bundle has none.
            (_, None) if e.kind() == "secret_scopes" && !e.is_resource() => None,
            // What the bundle JSON does not have is said once, of the resource.
            (_, None) if !e.is_resource() && cx.world.effect(e.key().resource_full()).is_some_and(|p| p.config.is_none()) => None,
            (_, None) => Some((None, "the plan has it, but the bundle JSON does not".to_owned())),
            (_, Some(config)) => ids_disagree(e, config).or_else(|| defined_otherwise(cx.world, e, config)),
        };
        if let Some((path, what)) = fault {
            let what_is_it = if e.is_resource() { String::new() } else { format!(" ({})", e.key().sub().map_or("", Sub::as_str)) };
            let found = Found::on(e, format!("The bundle JSON does not belong to this plan: {what}{what_is_it}."));
            out.push(match path {
                Some(p) => found.path(p),
                None => found,
            });
        }
    }
    if cx.world.inputs.plan.not_selected > 0 {
        return;
    }
    for (kind, name, config) in bundle.resources() {
        let full = format!("resources.{kind}.{name}");
        let sub = resource_type(kind).and_then(|t| t.sub).filter(|s| config.get(s.as_str()).is_some_and(|b| !b.is_blank()));
        let missing = if cx.world.effect(&full).is_none() {
            "the bundle JSON has it, but the plan does not".to_owned()
        } else if let Some(sub) = sub.filter(|s| cx.world.effect(&format!("{full}.{}", s.as_str())).is_none()) {
            format!("the bundle JSON has its {}, but the plan does not", sub.as_str())
        } else {
            continue;
        };
        if ResourceKey::parse(&full).is_ok() {
            out.push(Found::at(&format!("{kind}.{name}"), format!("The bundle JSON does not belong to this plan: {missing}.")));
        }
    }
});

type Fault = Option<(Option<FieldPath>, String)>;

/// `summary` says the id of what is deployed.
fn ids_disagree(e: &Effect<'_>, config: &Value) -> Fault {
    let id = config
        .get("id")
        .and_then(Value::as_str)
        .filter(|i| !i.is_empty())?;
    let kind = resource_type(e.kind())?;
    let remote = match e.remote()?.get(kind.id_field)? {
        Value::String(s) => s.to_string(),
        Value::Int(n) => n.to_string(),
        _ => return None,
    };
    (e.is_resource()
        && id != remote
        && !id.ends_with(&format!("/{remote}"))
        && !remote.ends_with(&format!("/{id}")))
    .then(|| {
        (
            Some(FieldPath::of(&["id"])),
            format!(
                "its id is {} in the bundle JSON and {} in the plan",
                crate::text::quoted(id),
                crate::text::quoted(&remote)
            ),
        )
    })
}

/// Fields of the bundle JSON that are not part of what is sent, for every type (CLI 1.13 to 1.21).
const ASIDE: &[&str] = &[
    "id",
    "url",
    "lifecycle",
    "modified_status",
    "permissions",
    "grants",
];

/// Fields that the CLI rewrites on the way from the bundle JSON to `new_state` (reproduced with CLI 1.13).
const REWRITTEN: &[(&str, &[&str])] = &[
    ("dashboards", &["file_path", "published", "etag"]),
    ("genie_spaces", &["file_path", "etag"]),
    ("job_runs", &["lifecycle", "result_state"]),
    (
        "secret_scopes",
        &["name", "scope", "backend_type", "keyvault_metadata"],
    ),
    ("secrets", &["value"]),
    ("volumes", &["volume_path"]),
    ("jobs", &["resolved_job_id"]),
    ("alerts", &["file_path"]),
    ("apps", &["config", "git_source"]),
];

fn defined_otherwise(world: &World<'_>, e: &Effect<'_>, config: &Value) -> Fault {
    let sent = e.sent()?;
    if !e.is_resource() {
        return list_otherwise(world, e, config, sent);
    }
    let rewritten = REWRITTEN
        .iter()
        .find(|(kind, _)| *kind == e.kind())
        .map(|(_, f)| *f)
        .unwrap_or_default();
    let skip = |path: &FieldPath| match path.segments().first() {
        Some(Segment::Field(f)) => ASIDE.contains(&&**f) || rewritten.contains(&&**f),
        _ => true,
    };
    let fault = differences(config, sent)
        .into_iter()
        .filter(|d| !skip(&d.path))
        .find(|d| !e.is_open(&d.path) && !equal(world, d.from, d.to))?;
    let path = fault.path;
    Some((
        Some(path.clone()),
        format!(
            "{} is not what the bundle JSON says",
            crate::text::visible(&path.to_string())
        ),
    ))
}

/// Whether two values are the same once references are resolved; a reference that cannot be resolved matches anything.
fn equal(world: &World<'_>, config: Option<&Value>, sent: Option<&Value>) -> bool {
    match (config, sent) {
        (Some(Value::String(c)), Some(Value::String(s))) => {
            c == s
                || &**s == REDACTED
                || (is_built(c) && is_built(s))
                || (c.contains("${resources.") && resolves(world, c, sent))
        }
        (Some(Value::String(c)), _) if c.contains("${resources.") => resolves(world, c, sent),
        (Some(Value::Array(c)), Some(Value::Array(s))) => {
            c.len() == s.len()
                && c.iter()
                    .all(|x| s.iter().any(|y| equal(world, Some(x), Some(y))))
        }
        (Some(Value::Object(c)), Some(Value::Object(s))) => {
            c.iter().all(|(k, v)| equal(world, Some(v), s.get(k)))
                && s.iter().all(|(k, v)| c.get(k).is_some() || v.is_blank())
        }
        // An inline dashboard or Genie space is sent as text.
        (Some(c @ Value::Object(_)), Some(Value::String(s))) => {
            crate::json::parse(s.as_bytes(), &crate::json::Limits::default())
                .is_ok_and(|v| equal(world, Some(c), Some(&v)))
        }
        (c, s) => crate::effect::same(None, c, s),
    }
}

fn resolves(world: &World<'_>, text: &str, sent: Option<&Value>) -> bool {
    world.resolve(text).is_none_or(|v| match (&v, sent) {
        (Value::Int(n), Some(Value::String(s))) => n.to_string() == **s,
        (Value::String(s), Some(Value::Int(n))) => n.to_string() == **s,
        (v, sent) => sent == Some(v),
    })
}

/// A wheel or jar: the CLI writes where it was uploaded in place of where it was built.
fn is_built(text: &str) -> bool {
    std::path::Path::new(text)
        .extension()
        .is_some_and(|e| e.eq_ignore_ascii_case("whl") || e.eq_ignore_ascii_case("jar"))
}

/// A permissions or grants block against its entry: the same principals with the same levels or privileges.
fn list_otherwise(world: &World<'_>, e: &Effect<'_>, config: &Value, sent: &Value) -> Fault {
    if e.kind() == "secret_scopes" {
        return None;
    }
    let (block, list) = (config.as_array()?, Effect::list(sent)?);
    let differs = block.len() != list.len()
        || block.iter().any(|b| {
            !list
                .iter()
                .any(|l| equal(world, Some(b), Some(l)) && equal(world, Some(l), Some(b)))
        });
    if !differs || e.is_open(&FieldPath::of(&["__embed__"])) {
        return None;
    }
    let odd = list
        .iter()
        .find(|l| !block.iter().any(|b| equal(world, Some(b), Some(l))))
        .or_else(|| {
            block
                .iter()
                .find(|b| !list.iter().any(|l| equal(world, Some(b), Some(l))))
        });
    let who = odd
        .and_then(|o| item_identity(None, o))
        .map_or(String::new(), |(_, n)| {
            format!(" for {}", crate::text::quoted(n))
        });
    Some((
        None,
        format!("what the plan sets{who} is not what the bundle JSON says"),
    ))
}
