//! Expectation against observation: one row for each check and each witness that can see it.

use std::collections::BTreeMap;

use super::expect::{Expectation, Want, Who};
use super::observe::{Observation, Resolution, Said, Table, Thing};
use crate::plan::ResourceKey;
use crate::report::{Check, Outcome, Row, Witness};
use crate::secret::hide;

/// What one witness has to say to one expectation.
enum Answer {
    /// It is so; what was seen.
    Yes(String),
    /// It is not; what was seen.
    No(String),
    /// It should be able to tell and could not: why.
    Silent(String),
    /// It cannot see such a thing.
    Unseen,
}

/// Compares what should be with what each witness says: the rows of each expectation, in their order. What no witness can see
/// is listed as not witnessed.
#[must_use]
pub fn compare(expectations: &[Expectation], observations: &[Observation]) -> Vec<Vec<Row>> {
    let views: Vec<View<'_>> = observations
        .iter()
        .zip(shared_references(observations))
        .map(|(seen, references)| View { seen, references })
        .collect();
    expectations
        .iter()
        .map(|expectation| rows_of(expectation, &views))
        .collect()
}

fn rows_of(expectation: &Expectation, observations: &[View<'_>]) -> Vec<Row> {
    let mut rows = Vec::new();
    if let Want::Only(keys) = &expectation.want {
        for seen in observations.iter().filter(|o| o.witness == Witness::Plan) {
            unplanned(keys, seen, &mut rows);
        }
        return rows;
    }
    let mut seen_by_any = false;
    for seen in observations {
        let (outcome, observed) = match answer(expectation, seen) {
            Answer::Yes(what) => (Outcome::Verified, what),
            Answer::No(what) => (Outcome::Mismatch, what),
            Answer::Silent(why) => (Outcome::Silent, why),
            Answer::Unseen => continue,
        };
        seen_by_any = true;
        rows.push(row(expectation, outcome, Some(observed), seen));
    }
    if !seen_by_any {
        rows.push(Row {
            outcome: Outcome::NotWitnessed,
            resource: short(expectation.key.as_deref()),
            check: expectation.check,
            expected: hide(&wanted(expectation, None)),
            observed: None,
            witness: Witness::Api,
            remedy: None,
        });
    }

    rows
}

/// What the witnesses together know of references: for each witness its own word first.
fn shared_references(observations: &[Observation]) -> Vec<BTreeMap<String, Resolution>> {
    let known: BTreeMap<&String, &Resolution> = observations
        .iter()
        .flat_map(|o| &o.references)
        .filter(|(_, r)| **r != Resolution::Unseen)
        .collect();
    observations
        .iter()
        .map(|seen| {
            let mut all: BTreeMap<String, Resolution> = known
                .iter()
                .map(|(text, r)| ((*text).clone(), (*r).clone()))
                .collect();
            let own = seen.references.iter();
            all.extend(
                own.filter(|(_, r)| **r != Resolution::Unseen)
                    .map(|(text, r)| (text.clone(), r.clone())),
            );
            all
        })
        .collect()
}

/// A witness, and what it can know of references.
struct View<'a> {
    seen: &'a Observation,
    references: BTreeMap<String, Resolution>,
}

impl std::ops::Deref for View<'_> {
    type Target = Observation;

    fn deref(&self) -> &Observation {
        self.seen
    }
}

fn row(
    expectation: &Expectation,
    outcome: Outcome,
    observed: Option<String>,
    seen: &View<'_>,
) -> Row {
    Row {
        outcome,
        resource: short(expectation.key.as_deref()),
        check: expectation.check,
        expected: hide(&wanted(expectation, Some(seen))),
        observed: observed.map(|o| hide(&o)),
        witness: seen.witness,
        remedy: (outcome == Outcome::Mismatch).then(|| remedy(expectation).to_owned()),
    }
}

fn short(key: Option<&str>) -> Option<String> {
    let key = key?;
    Some(match ResourceKey::parse(key) {
        Ok(parsed) => parsed.short().to_owned(),
        Err(_) => key.to_owned(),
    })
}

/// What is deployed and stands in no approved plan.
fn unplanned(keys: &std::collections::BTreeSet<String>, seen: &Observation, rows: &mut Vec<Row>) {
    for (key, thing) in &seen.things {
        if keys.contains(key) {
            continue;
        }
        let observed = match &thing.left {
            Said::Is(left) => format!("left to do: {left}"),
            _ => "it is deployed".to_owned(),
        };
        rows.push(Row {
            outcome: Outcome::Mismatch,
            resource: short(Some(key)),
            check: Check::Unplanned,
            expected: "not in the approved plan".to_owned(),
            observed: Some(hide(&observed)),
            witness: seen.witness,
            remedy: Some("The configuration or the deployment is not the one that was approved: plan again, and have that plan approved.".to_owned()),
        });
    }
}

fn answer(expectation: &Expectation, seen: &View<'_>) -> Answer {
    let thing = expectation.key.as_deref().and_then(|k| seen.things.get(k));
    match (&expectation.want, expectation.check) {
        (Want::Lineage(wanted), _) => match (&seen.lineage, wanted) {
            (Said::Is(is), Some(wanted)) => same(is, wanted),
            (Said::Is(is), None) => Answer::Yes(is.clone()),
            (Said::None, _) => Answer::No("none: there is no deployment".to_owned()),
            (Said::Silent(why), _) => Answer::Silent(why.clone()),
            (Said::Unseen, _) => Answer::Unseen,
        },
        (Want::Serial(wanted), _) => match &seen.serial {
            Said::Is(is) if is == wanted => Answer::Yes(is.to_string()),
            Said::Is(is) => Answer::No(serial_words(*is, *wanted)),
            Said::None => Answer::No("none".to_owned()),
            Said::Silent(why) => Answer::Silent(why.clone()),
            Said::Unseen => Answer::Unseen,
        },
        (Want::Commit(wanted), _) => said(&seen.commit, "none", |is| same(is, wanted)),
        (Want::Deployment(wanted), _) => on(thing, |t| {
            said(&t.deployment, "none", |is| same(is, wanted))
        }),
        (Want::Who(who), check) => on(thing, |t| {
            let fact = if check == Check::Owner {
                &t.owner
            } else {
                &t.run_as
            };
            said(fact, "nobody", |is| matches_who(is, who, t, seen))
        }),
        (Want::Nothing, Check::Dropped) => match thing {
            None if seen.witness != Witness::Plan => Answer::Unseen,
            None if seen.is_whole => Answer::Yes("not in the fresh plan".to_owned()),
            None => Answer::Silent("the fresh plan was made for a selection (--select)".to_owned()),
            Some(t) => match &t.left {
                Said::Is(left) => Answer::No(format!("still deployed; left to do: {left}")),
                _ => Answer::No("still deployed".to_owned()),
            },
        },
        (Want::Nothing, _) => match thing {
            None if seen.witness != Witness::Plan => Answer::Unseen,
            None if seen.is_whole => Answer::No("not in the fresh plan".to_owned()),
            None => Answer::Silent("the fresh plan was made for a selection (--select)".to_owned()),
            Some(t) => match &t.left {
                Said::None => Answer::Yes("nothing left to do".to_owned()),
                Said::Is(left) => Answer::No(format!("left to do: {left}")),
                Said::Silent(why) => Answer::Silent(why.clone()),
                Said::Unseen => Answer::Unseen,
            },
        },
        (Want::Name(_), _) if thing.is_none() && seen.witness == Witness::Plan && seen.is_whole => {
            Answer::No("it is not there".to_owned())
        }
        (Want::Name(name), _) => match thing.map(|t| (&t.there, t)) {
            None | Some((Said::Unseen, _)) => Answer::Unseen,
            Some((Said::None, _)) => Answer::No("it is not there".to_owned()),
            Some((Said::Silent(why), _)) => Answer::Silent(why.clone()),
            Some((Said::Is(()), t)) => has_name(t, name.as_ref(), seen),
        },
        (Want::Id(wanted), _) => on(thing, |t| said(&t.id, "none", |is| same(is, wanted))),
        (Want::NewId(before), _) => on(thing, |t| new_id(t, before)),
        (Want::Gone(_), _) => {
            let fact = expectation.key.as_deref().and_then(|k| seen.deleted.get(k));
            match fact {
                Some(Said::None) => Answer::Yes("gone".to_owned()),
                Some(Said::Is(what)) => Answer::No(what.clone()),
                Some(Said::Silent(why)) => Answer::Silent(why.clone()),
                Some(Said::Unseen) | None => Answer::Unseen,
            }
        }
        (Want::Table { name, kept }, _) => table(name, *kept, seen),
        (Want::TableOwner { name, who }, _) => match seen.tables.get(name) {
            Some(Said::Is(found)) => matches_who(&found.owner, who, &Thing::default(), seen),
            Some(Said::None) => Answer::Silent("there is no such table".to_owned()),
            Some(Said::Silent(why)) => Answer::Silent(why.clone()),
            Some(Said::Unseen) | None => Answer::Unseen,
        },
        (Want::Orphans { pipeline, kept, .. }, _) => match seen.orphans.get(pipeline) {
            Some(Said::Is(names)) if names.is_empty() => Answer::Yes("none".to_owned()),
            Some(Said::Is(names)) if *kept == Some(false) => {
                Answer::No(format!("still there: {}", names.join(", ")))
            }
            Some(Said::Is(names)) => Answer::Yes(format!("left behind: {}", names.join(", "))),
            Some(Said::None) => Answer::Yes("the schema is gone".to_owned()),
            Some(Said::Silent(why)) => Answer::Silent(why.clone()),
            Some(Said::Unseen) | None => Answer::Unseen,
        },
        (Want::ResetGuard(name), _) => match seen.tables.get(name) {
            Some(Said::Is(Table {
                reset_allowed: Some(value),
                ..
            })) if value.eq_ignore_ascii_case("false") => Answer::Yes(value.clone()),
            Some(Said::Is(Table {
                reset_allowed: Some(value),
                ..
            })) => Answer::No(value.clone()),
            Some(Said::Is(_)) => Answer::No("not set: a full refresh is allowed".to_owned()),
            Some(Said::None) => Answer::No("there is no such table".to_owned()),
            Some(Said::Silent(why)) => Answer::Silent(why.clone()),
            Some(Said::Unseen) | None => Answer::Unseen,
        },
        (Want::Only(_), _) => Answer::Unseen,
    }
}

/// The answer about something that is there; a missing one is said once, by `converged` or `exists`.
fn on(thing: Option<&Thing>, answer: impl FnOnce(&Thing) -> Answer) -> Answer {
    match thing.map(|t| (&t.there, t)) {
        Some((Said::Is(()), t)) => answer(t),
        Some((Said::Silent(why), _)) => Answer::Silent(why.clone()),
        Some((Said::None | Said::Unseen, _)) | None => Answer::Unseen,
    }
}

fn said(fact: &Said<String>, nothing: &str, answer: impl FnOnce(&str) -> Answer) -> Answer {
    match fact {
        Said::Is(is) => answer(is),
        Said::None => Answer::No(nothing.to_owned()),
        Said::Silent(why) => Answer::Silent(why.clone()),
        Said::Unseen => Answer::Unseen,
    }
}

fn same(is: &str, wanted: &str) -> Answer {
    if is == wanted {
        Answer::Yes(is.to_owned())
    } else {
        Answer::No(is.to_owned())
    }
}

fn matches_who(is: &str, who: &Who, thing: &Thing, seen: &View<'_>) -> Answer {
    match who {
        Who::Is { name, .. } => same(is, name),
        Who::Creator => match &thing.creator {
            Said::Is(creator) => same(is, creator),
            Said::Silent(why) => Answer::Silent(why.clone()),
            Said::None | Said::Unseen => Answer::Silent(
                "no run_as is set, and the witness does not say who created it".to_owned(),
            ),
        },
        Who::Reference(text) => match seen.references.get(text) {
            Some(Resolution::To(name)) => same(is, name),
            Some(Resolution::Nothing) => Answer::No(format!(
                "{is}: the reference stands for nothing, so its creator is left"
            )),
            Some(Resolution::Unseen) | None => Answer::Silent(format!(
                "it is {is}, and this witness cannot tell what the reference stands for"
            )),
        },
    }
}

fn has_name(thing: &Thing, name: Option<&Result<String, String>>, seen: &View<'_>) -> Answer {
    let wanted = match name {
        None => None,
        Some(Ok(name)) => Some(name.as_str()),
        Some(Err(reference)) => match seen.references.get(reference) {
            Some(Resolution::To(name)) => Some(name.as_str()),
            Some(Resolution::Nothing) => {
                return Answer::No("its name is a reference that stands for nothing".to_owned());
            }
            Some(Resolution::Unseen) | None => None,
        },
    };
    match (&thing.name, wanted) {
        (Said::Is(is), Some(wanted)) if is_same_name(is, wanted) => Answer::Yes(is.clone()),
        (Said::Is(is), Some(_)) => Answer::No(format!("its name is {is}")),
        (Said::Silent(why), Some(_)) => Answer::Silent(why.clone()),
        _ => Answer::Yes("it is there".to_owned()),
    }
}

/// The workspace takes `/Workspace/x` and `/x` for one path (experiments: CLI 1.13, many-types-created).
fn is_same_name(is: &str, wanted: &str) -> bool {
    let bare = |name: &str| {
        name.strip_prefix("/Workspace")
            .filter(|rest| rest.starts_with('/'))
            .unwrap_or(name)
            .to_owned()
    };
    is == wanted || bare(is) == bare(wanted)
}

fn new_id(thing: &Thing, before: &[(String, String)]) -> Answer {
    let mut compared = false;
    for (field, old) in before {
        if let Some(now) = thing.ids.get(field) {
            compared = true;
            if now != old {
                return Answer::Yes(now.clone());
            }
        }
    }
    match before.first() {
        Some((_, old)) if compared => Answer::No(format!("still {old}")),
        _ => Answer::Unseen,
    }
}

fn table(name: &str, kept: Option<bool>, seen: &Observation) -> Answer {
    match (seen.tables.get(name), kept) {
        (Some(Said::Is(found)), Some(false)) => {
            Answer::No(format!("still there, owned by {}", found.owner))
        }
        (Some(Said::Is(found)), _) => Answer::Yes(format!("kept, owned by {}", found.owner)),
        (Some(Said::None), Some(true)) => Answer::No("it is not there".to_owned()),
        (Some(Said::None), _) => Answer::Yes("dropped".to_owned()),
        (Some(Said::Silent(why)), _) => Answer::Silent(why.clone()),
        (Some(Said::Unseen) | None, _) => Answer::Unseen,
    }
}

fn serial_words(is: u64, wanted: u64) -> String {
    if is < wanted {
        format!("{is}: the deploy wrote nothing, or the witness spoke before it")
    } else {
        format!("{is}: someone else deployed as well")
    }
}

/// The expectation in words; a reference with what the witness says it stands for.
fn wanted(expectation: &Expectation, seen: Option<&View<'_>>) -> String {
    match &expectation.want {
        Want::Lineage(Some(lineage)) => lineage.clone(),
        Want::Lineage(None) => "a new one".to_owned(),
        Want::Serial(serial) => serial.to_string(),
        Want::Commit(text) | Want::Deployment(text) | Want::Id(text) => text.clone(),
        Want::Who(who) => who_words(who, seen),
        Want::TableOwner { name, who } => format!("{name}: {}", who_words(who, seen)),
        Want::Nothing if expectation.check == Check::Dropped => {
            "no longer part of the deployment".to_owned()
        }
        Want::Nothing => "nothing left to do".to_owned(),
        Want::Name(Some(Ok(name) | Err(name))) => format!("there, named {name}"),
        Want::Name(None) => "there".to_owned(),
        Want::NewId(before) => match before.first() {
            Some((_, id)) => format!("another than {id}"),
            None => "another".to_owned(),
        },
        Want::Gone(Some(id)) => format!("{id} is gone"),
        Want::Gone(None) => "gone".to_owned(),
        Want::Only(_) => "nothing else".to_owned(),
        Want::Table { name, kept } => format!("{name}: {}", fate_words(*kept)),
        Want::Orphans { schema, kept, .. } => {
            format!(
                "its tables in {}.{}: {}",
                schema.0,
                schema.1,
                fate_words(*kept)
            )
        }
        Want::ResetGuard(name) => format!("pipelines.reset.allowed = false on {name}"),
    }
}

fn who_words(who: &Who, seen: Option<&View<'_>>) -> String {
    match who {
        Who::Is { name, source } => format!("{name} ({source})"),
        Who::Creator => "its creator (no run_as is set)".to_owned(),
        Who::Reference(text) => match seen.and_then(|s| s.references.get(text)) {
            Some(Resolution::To(name)) => format!("{name} ({text})"),
            _ => text.clone(),
        },
    }
}

fn fate_words(kept: Option<bool>) -> &'static str {
    match kept {
        Some(true) => "kept",
        Some(false) => "dropped",
        None => "kept or dropped (the plan cannot tell)",
    }
}

/// How to mend a mismatch.
fn remedy(expectation: &Expectation) -> &'static str {
    let kind = expectation
        .key
        .as_deref()
        .and_then(|k| ResourceKey::parse(k).ok())
        .map(|k| k.kind().to_owned());
    match expectation.check {
        Check::RunAs if kind.as_deref() == Some("pipelines") => {
            "The next deploy does not undo this: send the whole definition with run_as (PUT /api/2.0/pipelines/{id}; one without run_as is refused, and updated_run_as is ignored), or deploy a change of the pipeline's definition. Then find out who changed it."
        }
        Check::RunAs => {
            "Deploy a change of its definition (the CLI then sends run_as again), or set run_as by hand to what was approved. Then find out who changed it."
        }
        Check::Owner => {
            "Set the owner back (Permissions of the resource, IS_OWNER), or change the policy or the bundle and deploy that."
        }
        Check::Lineage => {
            "The witness is about another deployment, or the state was lost or replaced: check target, host and root path before anything else is deployed."
        }
        Check::Serial => {
            "Look at the state's history and at the CI runs of this target: make a plan again, and have it approved."
        }
        Check::Deployment => {
            "It belongs to another target or bundle: check that witness and plan are for the same one."
        }
        Check::Commit => "Other code was deployed after this, or none: compare the commits.",
        Check::Converged => {
            "The deploy did not arrive, or someone changed it since: look at the fresh plan, then plan again and have that approved."
        }
        Check::Exists => {
            "The deploy did not create it: look at the deploy's output, and plan again."
        }
        Check::SameId => {
            "Someone deleted it and another one took its place: what ran as the old one is lost."
        }
        Check::NewId => "It was not made again: the deploy did not arrive.",
        Check::Dropped => {
            "The deploy did not delete it: look at the deploy's output, and plan again."
        }
        Check::Gone => {
            "The CLI takes a refused deletion for done and forgets the resource: delete it by hand, with an identity that may, or bind it to the bundle again."
        }
        Check::Tables => {
            "The tables did not go the way that was foreseen: UNDROP works for 7 days, a kept table can be dropped by its owner."
        }
        Check::TableOwner => {
            "The owner of a pipeline's tables is its run_as: set that (SET OWNER TO does not work on them)."
        }
        Check::ResetGuard => {
            "Set the table property pipelines.reset.allowed = false in the pipeline's code and run an update."
        }
        Check::Unplanned => "Plan again, and have that plan approved.",
    }
}
