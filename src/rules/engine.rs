//! Runs the catalogue and weighs what it finds by the policy.

use std::collections::HashSet;

use super::waive::waive;
use super::{Context, Doc, Family, Found, Need, RULES, Rule, custom};
use crate::effect::Inputs;
use crate::plan::{Engine, FieldPath, Segment};
use crate::policy::{Level, Work};
use crate::report::{Finding, NotRun, Place, Status, fingerprint, sort};
use crate::secret::Shown;

/// What the catalogue has to say about a plan.
#[derive(Debug, Default)]
pub struct Judged {
    /// The findings, in their order.
    pub findings: Vec<Finding>,
    /// Rules that could not run for want of an input.
    pub not_run: Vec<NotRun>,
}

/// A finding of the first rule silences those of the second about the same resource: one cause, one finding.
const SILENCES: &[(&str, &[&str])] = &[
    ("run-as-removed", &["run-as-unset", "run-as-change"]),
    ("run-as-unset", &["run-as-person"]),
    ("run-as-group-cli", &["run-as-unset"]),
];

/// Judges: runs every rule that the policy has on and that has what it needs.
#[must_use]
pub fn judge(cx: &Context<'_, '_>) -> Judged {
    let mut raw: Vec<(Finding, Option<FieldPath>)> = Vec::new();
    let mut found = Vec::new();
    for rule in applicable(cx) {
        let doc = rule.doc();
        if lacks(doc, &cx.world.inputs).is_some() {
            continue;
        }
        rule.check(cx, &mut found);
        raw.extend(
            found
                .drain(..)
                .filter_map(|f| weigh(cx, &About::rule(doc), f)),
        );
    }
    let work = Work::default();
    for rule in &cx.policy.custom {
        if cx.policy.highest_level(rule.id.as_str()) == Level::Off
            || cx.world.inputs.plan.engine == Engine::Terraform
        {
            continue;
        }
        custom::check(cx, rule, &work, &mut found);
        let impact = custom::impact(rule);
        let about = About {
            id: rule.id.as_str(),
            family: Family::Custom,
            impact: &impact,
            remedy: "",
        };
        raw.extend(found.drain(..).filter_map(|f| weigh(cx, &about, f)));
    }
    silence(&mut raw);
    let mut findings: Vec<Finding> = raw.into_iter().map(|(f, _)| f).collect();
    waive(cx, &mut findings);
    for rule in applicable(cx) {
        rule.check_findings(cx, &findings, &mut found);
        let about = About::rule(rule.doc());
        let after = found.drain(..).filter_map(|f| weigh(cx, &about, f));
        findings.extend(after.map(|(f, _)| f));
    }
    sort(&mut findings);
    findings.dedup();
    Judged {
        findings,
        not_run: not_run(cx),
    }
}

/// Whose finding it is.
struct About<'r> {
    id: &'r str,
    family: Family,
    impact: &'r str,
    remedy: &'r str,
}

impl About<'_> {
    fn rule(doc: &'static Doc) -> About<'static> {
        About {
            id: doc.id,
            family: doc.family,
            impact: doc.impact,
            remedy: doc.remedy,
        }
    }
}

/// The rule that a policy cannot switch off by a level: it says that all of them are off.
const ALWAYS: &str = "empty-policy";

/// The rules that the policy has on anywhere; of a Terraform plan only those that speak of actions, and of the policy itself.
fn applicable<'r>(cx: &'r Context<'_, '_>) -> impl Iterator<Item = &'static dyn Rule> + 'r {
    let terraform = cx.world.inputs.plan.engine == Engine::Terraform;
    RULES.iter().copied().filter(move |r| {
        let doc = r.doc();
        let fits = !terraform
            || matches!(doc.family, Family::Actions | Family::Policy)
            || doc.id == "terraform-engine";
        fits && (doc.id == ALWAYS || cx.policy.highest_level(doc.id) != Level::Off)
    })
}

/// The input for want of which a rule cannot run.
fn lacks(doc: &Doc, inputs: &Inputs<'_>) -> Option<Need> {
    let given = |need: &Need| match need {
        Need::Bundle => inputs.bundle.is_some(),
        Need::State => inputs.state.is_some(),
        Need::Warnings => inputs.warnings.is_some(),
    };
    if doc.needs.iter().any(given) {
        None
    } else {
        doc.needs.first().copied()
    }
}

/// The rules that could not run.
pub(super) fn not_run(cx: &Context<'_, '_>) -> Vec<NotRun> {
    let mut out: Vec<NotRun> = applicable(cx)
        .filter_map(|r| {
            let need = lacks(r.doc(), &cx.world.inputs)?;
            Some(NotRun {
                rule: r.doc().id.to_owned(),
                needs: need.flag().to_owned(),
            })
        })
        .collect();
    out.sort();
    out
}

/// Makes a finding of what a rule found; `None` where the policy switches it off.
fn weigh(
    cx: &Context<'_, '_>,
    doc: &About<'_>,
    found: Found,
) -> Option<(Finding, Option<FieldPath>)> {
    let set = match doc.id {
        ALWAYS => Level::Deny,
        id => cx.policy.level(id, found.resource.as_deref()),
    };
    if set == Level::Off {
        return None;
    }
    let mut level = set.max(found.at_least).min(found.at_most);
    if found.status == Status::Unknown {
        level = level.min(Level::Review);
    }
    let standing =
        found.standing && (doc.family != Family::Integrity || doc.id == "plaintext-secret");
    if standing {
        level = cx.policy.standing.cap(level);
    }
    let location = found.place.or_else(|| {
        // Only the bundle JSON knows places.
        cx.world.inputs.bundle?;
        let key = crate::plan::ResourceKey::parse(found.entry.as_deref()?).ok()?;
        let below = match found.sub {
            None => found.path.clone(),
            Some(sub) => Some(FieldPath::of(&[sub])),
        };
        cx.world.location(&key, below.as_ref()).map(Place::from)
    });
    let path = found.path.as_ref().map(|p| match found.sub {
        None => p.to_string(),
        Some(sub) => match p.to_string() {
            text if text.is_empty() => sub.to_owned(),
            text if text.starts_with('[') => format!("{sub}{text}"),
            text => format!("{sub}.{text}"),
        },
    });
    let new = found.new.map(Shown::into_json);
    Some((
        Finding {
            rule: doc.id.to_owned(),
            family: doc.family.as_str().to_owned(),
            level,
            status: found.status,
            fingerprint: fingerprint(
                doc.id,
                found.resource.as_deref(),
                path.as_deref(),
                new.as_ref(),
            ),
            resource: found.resource,
            path,
            old: found.old.map(Shown::into_json),
            new,
            remote: found.remote.map(Shown::into_json),
            message: found.message,
            impact: found.impact.unwrap_or_else(|| doc.impact.to_owned()),
            remedy: found.remedy.unwrap_or_else(|| doc.remedy.to_owned()),
            location,
            standing,
            waiver: None,
        },
        found.path,
    ))
}

/// Takes out what another finding already says.
fn silence(raw: &mut Vec<(Finding, Option<FieldPath>)>) {
    const RESET: &str = "field-reset";
    fn first(path: &Option<FieldPath>) -> Option<&Segment> {
        path.as_ref()?.segments().first()
    }
    let mut silenced: HashSet<(&str, Option<&str>)> = HashSet::new();
    // What another rule reports about a field is no field-reset.
    let mut told: HashSet<(Option<&str>, &Segment)> = HashSet::new();
    for (f, path) in raw.iter() {
        let resource = f.resource.as_deref();
        for (_, others) in SILENCES.iter().filter(|(rule, _)| f.rule == *rule) {
            silenced.extend(others.iter().map(|o| (*o, resource)));
        }
        if f.rule != RESET {
            told.extend(first(path).map(|s| (resource, s)));
        }
    }
    let stays = |(f, path): &(Finding, Option<FieldPath>)| {
        let resource = f.resource.as_deref();
        let reset_told =
            f.rule == RESET && first(path).is_some_and(|s| told.contains(&(resource, s)));
        !reset_told && !silenced.contains(&(f.rule.as_str(), resource))
    };
    let stay: Vec<bool> = raw.iter().map(stays).collect();
    let mut stay = stay.into_iter();
    raw.retain(|_| stay.next().unwrap_or(true));
}
