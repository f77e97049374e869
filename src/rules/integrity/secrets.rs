//! Secrets in the plan, and the CLI's placeholder for them where it would be applied.

use crate::effect::Effect;
use crate::json::Value;
use crate::plan::{Action, FieldPath, Mark, Trail};
use crate::secret::{REDACTED, is_scope_reference, is_secret_field_of, looks_like_token};

use super::super::{Context, Doc, Family, Found, Rule, fires, quiet, unknown};

rule!(
    RedactedValue,
    Doc {
        id: "redacted-value",
        family: Family::Integrity,
        trigger: "The text [redacted] stands in what the CLI will send.",
        impact: "The placeholder would be written in place of the secret: whatever reads it fails.",
        remedy: "Plan again, and keep tools that mask secrets away from the plan file.",
        source: "Databricks CLI 1.13, reproduced: [redacted] belongs in changes and remote_state only",
        needs: &[],
        examples: &[
            fires(
                r#""secrets.token": {"action": "create", "new_state": {"value": {"name": "token", "value": "[redacted]"}}}"#
            ),
            quiet(
                r#""secrets.token": {"action": "skip", "remote_state": {"name": "token", "value": "[redacted]"}}"#
            ),
        ],
    },
    |cx, out| {
        for e in cx.world.effects().iter().filter(|e| e.signs.redacted) {
            let Some(sent) = e.sent() else { continue };
            texts(sent, &mut Trail::default(), &mut |trail, text| {
                if text.trim() == REDACTED {
                    let path = trail.path();
                    out.push(Found::on(e, format!("The placeholder {REDACTED} would be applied as the value of {path}.")).path(path));
                }
            });
        }
    }
);

rule!(
    PlaintextSecret,
    Doc {
        id: "plaintext-secret",
        family: Family::Integrity,
        trigger: "A known secret field, or a value that looks like a token, is in the plan in clear.",
        impact: "Whoever can read the plan, which is kept as a CI artifact, has the secret; so has everyone who can see the resource's definition.",
        remedy: "Keep the value in a secret scope and write {{secrets/<scope>/<key>}}; treat this plan as a secret and delete it afterwards.",
        source: "Databricks CLI 1.13, reproduced: new_state holds secrets in clear",
        needs: &[],
        examples: &[
            fires(
                r#""model_serving_endpoints.chat": {"action": "create", "new_state": {"value": {"name": "chat", "config": {"served_entities": [{"external_model": {"openai_config": {"openai_api_key_plaintext": "example"}}}]}}}}"#
            ),
            quiet(
                r#""model_serving_endpoints.chat": {"action": "create", "new_state": {"value": {"name": "chat", "config": {"served_entities": [{"external_model": {"openai_config": {"openai_api_key": "{{secrets/creds/openai}}"}}}]}}}}"#
            ),
            unknown(
                r#""apps.portal": {"action": "create", "new_state": {"value": {"name": "portal"}}}, "jobs.report": {"action": "create", "depends_on": [{"node": "resources.apps.portal"}], "new_state": {"value": {"name": "report", "git_source": {"password": ""}}, "vars": {"git_source.password": "${resources.apps.portal.url}"}}}"#
            ),
        ],
    },
    |cx, out| {
        for e in cx.world.effects() {
            // The state that will be, else the one that is: one finding for each field.
            let Some(value) = e.sent().or_else(|| e.remote()) else {
                continue;
            };
            for (path, text) in e.entry.new_state.iter().flat_map(|s| &s.vars) {
                if path
                    .last_field()
                    .is_some_and(|f| is_secret_field_of(e.kind(), f))
                    && cx.world.resolve(text).is_none()
                {
                    out.push(
                        Found::on(
                            e,
                            format!(
                                "{path} is a secret field and waits for {}.",
                                crate::text::visible(text)
                            ),
                        )
                        .path(path.clone())
                        .unknown(),
                    );
                }
            }
            if !e.signs.secret {
                continue;
            }
            texts(value, &mut Trail::default(), &mut |trail, text| {
                if let Some((path, message)) = secret(e, trail, text) {
                    let found = Found::on(e, message).path(path);
                    out.push(if e.action() == Action::Skip {
                        found
                    } else {
                        found.done()
                    });
                }
            });
        }
    }
);

/// What is wrong with this text, if it is a secret in clear, and where it stands.
fn secret(e: &Effect<'_>, trail: &Trail<'_>, text: &str) -> Option<(FieldPath, String)> {
    let named = trail
        .last_field()
        .is_some_and(|f| is_secret_field_of(e.kind(), f));
    if text.is_empty()
        || !(named || looks_like_token(text))
        || text.trim() == REDACTED
        || text.starts_with("${")
        || is_scope_reference(text)
    {
        return None;
    }
    let path = trail.path();
    if e.waits_for(&path).is_some() {
        return None;
    }
    let message = if named {
        format!("The secret in {path} is in the plan in clear.")
    } else {
        format!("The value of {path} looks like a token, and it is in the plan in clear.")
    };
    Some((path, message))
}

/// Every text below a value, with the way to it.
pub(in crate::rules) fn texts<'v>(
    value: &'v Value,
    trail: &mut Trail<'v>,
    see: &mut impl FnMut(&Trail<'v>, &'v str),
) {
    match value {
        Value::String(s) => see(trail, s),
        Value::Array(items) => {
            for (i, item) in items.iter().enumerate() {
                trail.push(Mark::Index(i));
                texts(item, trail, see);
                trail.pop();
            }
        }
        Value::Object(members) => {
            for (k, v) in members.iter() {
                trail.push(Mark::Field(k));
                texts(v, trail, see);
                trail.pop();
            }
        }
        _ => {}
    }
}
