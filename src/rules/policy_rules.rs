//! The policy itself: waivers that ended or that nothing needs, selectors that match nothing, and no rule at all.

use std::collections::BTreeSet;

use super::waive::lifts;
use super::{Context, Doc, Family, Found, Rule, fires, quiet};
use crate::plan::{Engine, resource_type};
use crate::policy::{Location, SelectorUse, Waiver, WaiverStatus};
use crate::report::{Finding, Place};
use crate::text::{quoted, visible};

/// The place of something in the policy.
fn place(at: &Location) -> Option<Place> {
    Some(Place {
        file: at.file().to_owned(),
        line: at.line() as u64,
        column: at.column() as u64,
    })
}

/// A waiver in words.
fn of(waiver: &Waiver) -> String {
    format!(
        "the waiver of {} for {} (owner: {})",
        waiver.rule.value,
        quoted(waiver.resource.as_str()),
        visible(&waiver.owner)
    )
}

/// What tells one waiver from another.
fn named(waiver: &Waiver) -> String {
    format!(
        "{} {} {}",
        waiver.rule.value,
        waiver.resource.as_str(),
        waiver.until.date()
    )
}

const SKIPPED: &str = r#""jobs.report": {"action": "skip", "remote_state": {"name": "report"}}"#;
const DELETED: &str = r#""jobs.report": {"action": "delete", "remote_state": {"name": "report"}}"#;
const WAIVED: &str = r#"waivers: [{rule: destroy, resource: jobs.report, until: 2026-10-31, reason: replaced, owner: platform}]"#;

rule!(ExpiredWaiver, Doc {
    id: "expired-waiver",
    family: Family::Policy,
    trigger: "A waiver of the policy has ended.",
    impact: "It lifts nothing any more: what it was for counts again, or is mended and nobody took the waiver out.",
    remedy: "Mend what it was for and take it out, or renew it with a new date and reason.",
    source: "the policy's waivers; the last day ends at 24:00 UTC",
    needs: &[],
    examples: &[
        fires(DELETED).policy("waivers: [{rule: destroy, resource: jobs.report, until: 2026-09-30, reason: replaced, owner: platform}]"),
        quiet(DELETED).policy(WAIVED),
    ],
}, |cx, out| {
    for waiver in &cx.policy.waivers {
        if waiver.status(cx.now) == WaiverStatus::Expired {
            let message = format!("It ended on {}: {}.", waiver.until.date(), of(waiver));
            out.push(Found::deployment(message).field(&["waivers"]).from_to(None, Some(&named(waiver))).place(place(&waiver.at)));
        }
    }
});

/// A waiver that lifts nothing.
pub(super) struct UnusedWaiver;

impl Rule for UnusedWaiver {
    fn doc(&self) -> &'static Doc {
        static DOC: Doc = Doc {
            id: "unused-waiver",
            family: Family::Policy,
            trigger: "A waiver of the policy lifts no finding.",
            impact: "It waits for something to lift: the next finding that it fits passes without anybody looking at it.",
            remedy: "Take it out of the policy.",
            source: "the policy's waivers",
            needs: &[],
            examples: &[fires(SKIPPED).policy(WAIVED), quiet(DELETED).policy(WAIVED)],
        };
        &DOC
    }

    fn check(&self, _: &Context<'_, '_>, _: &mut Vec<Found>) {}

    fn check_findings(&self, cx: &Context<'_, '_>, findings: &[Finding], out: &mut Vec<Found>) {
        for waiver in &cx.policy.waivers {
            let used = findings.iter().any(|f| lifts(cx, waiver, f));
            if !used && waiver.status(cx.now) == WaiverStatus::Active {
                let message = format!("It lifts nothing: {}.", of(waiver));
                out.push(
                    Found::deployment(message)
                        .field(&["waivers"])
                        .from_to(None, Some(&named(waiver)))
                        .place(place(&waiver.at)),
                );
            }
        }
    }
}

rule!(DeadSelector, Doc {
    id: "dead-selector",
    family: Family::Policy,
    trigger: "A selector, a protected name or an entry of the register names a resource that does not exist, or a type that is not known.",
    impact: "What the policy says there holds for nothing: a typo takes the protection away without a word.",
    remedy: "Correct the name, or take it out.",
    source: "the policy, compared with plan, bundle JSON and state",
    needs: &[],
    examples: &[
        fires(SKIPPED).bundle(r#""resources": {"jobs": {"report": {"name": "report"}}}"#).policy("protect: [jobs.reprot]"),
        fires(SKIPPED).policy("state: {pipelines.orders: {tables: [{name: main.orders.bronze, source: \"kafka://orders\"}]}}"),
        fires(SKIPPED).policy("rules: {recreate: {level: warn, resources: [\"job.*\"]}}"),
        quiet(SKIPPED).bundle(r#""resources": {"jobs": {"report": {"name": "report"}}}"#).policy("protect: [jobs.report, \"schemas.*\"]"),
        quiet(SKIPPED).head(r#""plan_version": 2, "cli_version": "1.21.0", "lineage": "l", "serial": 1, "not_selected": 1"#).policy("protect: [jobs.other]"),
    ],
}, |cx, out| {
    let selectors = cx.policy.selectors();
    if selectors.is_empty() {
        return;
    }
    let known = Known::of(cx);
    for used in selectors {
        if let Some(why) = dead(cx, &known, &used) {
            let message = format!("{} selects nothing: {} ({why}).", visible(&used.place), quoted(used.text));
            out.push(Found::deployment(message).field(&["policy"]).from_to(None, Some(&format!("{} {}", used.place, used.text))).place(place(used.at)));
        }
    }
});

/// The resources that there are.
struct Known {
    /// Short keys.
    keys: BTreeSet<String>,
    /// Whether that is all of them.
    all: bool,
}

impl Known {
    fn of(cx: &Context<'_, '_>) -> Self {
        let inputs = &cx.world.inputs;
        let mut keys: BTreeSet<String> = cx
            .world
            .effects()
            .iter()
            .map(|e| e.key().resource().to_owned())
            .collect();
        let bundle = inputs.bundle.iter().flat_map(|b| b.resources());
        keys.extend(bundle.map(|(kind, name, _)| format!("{kind}.{name}")));
        let state = inputs.state.and_then(|s| s.resources.as_ref());
        keys.extend(
            state
                .into_iter()
                .flatten()
                .filter_map(|(k, _)| k.strip_prefix("resources.").map(str::to_owned)),
        );
        let plan = inputs.plan;
        let whole =
            plan.engine == Engine::Direct && plan.not_selected == 0 && !plan.entries.is_empty();
        Self {
            keys,
            all: whole || inputs.bundle.is_some(),
        }
    }
}

/// Why a selector matches nothing, where that is certain.
fn dead(cx: &Context<'_, '_>, known: &Known, used: &SelectorUse<'_>) -> Option<&'static str> {
    let is_pattern = used.text.contains(['*', '?', '[', '{']);
    // Said by unused-waiver, once.
    if used.place == "waivers" {
        return None;
    }
    if used.place == "protect" {
        let protects = |name: Option<&str>, key: &str| {
            let mut all = cx.policy.protect.iter();
            all.any(|p| p.as_str() == used.text && p.matches(key, name))
        };
        let by_key = known.keys.iter().any(|key| protects(None, key));
        let by_name = cx.world.resources().any(|e| {
            let after = cx.world.name_after(e).ok().flatten();
            [cx.world.remote_name(e), after]
                .iter()
                .flatten()
                .any(|name| protects(Some(name), e.key().resource()))
        });
        return (known.all && !is_pattern && !by_key && !by_name)
            .then_some("no resource has this key or name");
    }
    let selector = used.selector.as_ref()?;
    if selector
        .resource_type()
        .is_some_and(|t| resource_type(t).is_none())
        && !known.keys.iter().any(|key| selector.matches(key))
    {
        return Some("there is no such resource type");
    }
    let matches = known.keys.iter().any(|key| {
        let base = used.text.split('.').take(2).collect::<Vec<_>>().join(".");
        selector.matches(key) || *key == base
    });
    (known.all && !is_pattern && !matches).then_some("there is no such resource")
}

rule!(
    EmptyPolicy,
    Doc {
        id: "empty-policy",
        family: Family::Policy,
        trigger: "Every rule is off, and the policy does not say `allow_empty: true`. No level switches this rule off.",
        impact: "Nothing is judged: the gate would be open for everything.",
        remedy: "Switch rules on, or say `allow_empty: true` if that is meant.",
        source: "bundlegate: what cannot be judged is not fine",
        needs: &[],
        examples: &[
            fires(SKIPPED).policy(ALL_OFF),
            quiet(SKIPPED).policy(ALL_OFF_MEANT),
            quiet(SKIPPED),
        ],
    },
    |cx, out| {
        if cx.policy.every_rule_off() && !cx.policy.allow_empty {
            out.push(Found::deployment("Every rule is off: nothing is judged.").field(&["rules"]));
        }
    }
);

/// A policy with every rule off, after other keys of it.
macro_rules! all_off {
    ($before:literal) => {
        concat!(
            $before,
            "rules: {
  terraform-engine: off, missing-input: off, ignored-field: off, inconsistent-plan: off, unknown-type: off,
  state-mismatch: off, empty-plan: off, partial-plan: off, first-deploy: off, lost-state: off,
  cli-version: off, artifact-wipe: off, redacted-value: off, wrong-target: off, bundle-mismatch: off,
  plaintext-secret: off, destroy: off, lost-with-parent: off, recreate: off, rename: off, protected: off,
  renamed-key: off, missing-remote: off, blast-radius: off, starts-runs: off, remote-edit: off,
  field-reset: off, pipeline-tables: off, cascade-unset: off, cascade-armed: off, prevent-destroy-missing: off,
  prevent-destroy-blocks: off, purge-armed: off, dataset-move: off, full-refresh: off,
  drop-inactive-tables: off, guard-removed: off, unregistered-state: off, run-as-change: off,
  run-as-drift: off, run-as-unexpected: off, run-as-person: off, run-as-unset: off, run-as-removed: off,
  run-as-builtin-group: off, run-as-group-cli: off, owner: off, creator-person: off, permission-broadened: off,
  permission-removed: off, grant-broadened: off, grant-removed: off, shared-root-path: off,
  personal-root-path: off, production-mode: off, development-pipeline: off, preview-channel: off,
  git-branch: off, maintenance-window: off, unpaused-outside-production: off, unlocked: off,
  expired-waiver: off, unused-waiver: off, dead-selector: off
}"
        )
    };
}

/// A policy with every rule off.
const ALL_OFF: &str = all_off!("");

/// The same, and it is meant.
const ALL_OFF_MEANT: &str = all_off!("allow_empty: true\n");
