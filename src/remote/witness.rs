//! The REST API as a witness: what the workspace holds, asked for exactly what was expected.

use std::collections::{BTreeMap, BTreeSet};

use crate::bundle::State;
use crate::json::{self, Limits, Value};
use crate::plan::{FieldPath, ResourceKey, Segment};
use crate::remote::databricks::{Presence, Workspace};
use crate::remote::http::HttpError;
use crate::remote::run::each;
use crate::report::{Check, Witness};
use crate::verify::{Expectation, Observation, Resolution, Said, Table, Thing, Want, Who};

/// What is asked, worked out before the first request.
#[derive(Debug, Default)]
pub struct Questions {
    /// Full keys of resources that are read, and whether their owner is wanted.
    things: BTreeMap<String, bool>,
    /// Deleted resources by full key: the id that should be gone.
    deleted: BTreeMap<String, Option<String>>,
    tables: BTreeSet<String>,
    /// Schemas whose tables are listed: catalog, schema, the deleted pipeline's id.
    schemas: BTreeSet<(String, String, String)>,
    references: BTreeSet<String>,
    commit: bool,
    /// `${workspace.state_path}`.
    state_path: Option<String>,
}

impl Questions {
    /// What has to be asked to answer these expectations.
    #[must_use]
    pub fn of(expectations: &[Expectation], state_path: Option<&str>) -> Self {
        let mut all = Questions {
            state_path: state_path.map(str::to_owned),
            ..Questions::default()
        };
        for e in expectations {
            if let Want::Commit(_) = e.want {
                all.commit = true;
            }
            let Some(full) = &e.key else { continue };
            let Ok(key) = ResourceKey::parse(full) else {
                continue;
            };
            match &e.want {
                Want::Gone(id) => {
                    all.deleted.insert(full.clone(), id.clone());
                }
                Want::Table { name, .. } | Want::ResetGuard(name) => {
                    all.tables.insert(name.clone());
                }
                Want::TableOwner { name, who } => {
                    all.tables.insert(name.clone());
                    all.reference(who);
                }
                Want::Orphans {
                    schema, pipeline, ..
                } => {
                    all.schemas
                        .insert((schema.0.clone(), schema.1.clone(), pipeline.clone()));
                }
                Want::Who(who) => {
                    all.reference(who);
                    let wanted = all
                        .things
                        .entry(key.resource_full().to_owned())
                        .or_insert(false);
                    *wanted |= e.check == Check::Owner;
                }
                Want::Name(_) | Want::NewId(_) => {
                    all.things.entry(full.clone()).or_insert(false);
                }
                Want::Lineage(_)
                | Want::Serial(_)
                | Want::Commit(_)
                | Want::Deployment(_)
                | Want::Nothing
                | Want::Id(_)
                | Want::Only(_) => {}
            }
        }
        // What a reference names has to be read as well.
        for text in &all.references {
            for node in crate::effect::nodes(text) {
                all.things.entry(node).or_insert(false);
            }
        }
        all
    }

    fn reference(&mut self, who: &Who) {
        if let Who::Reference(text) = who {
            self.references.insert(text.clone());
        }
    }

    /// How many things are read, for a progress bar.
    #[must_use]
    pub fn len(&self) -> usize {
        self.things.len() + self.deleted.len() + self.tables.len() + self.schemas.len()
    }

    /// Whether nothing is read but the deployment's own files.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// One question to the workspace.
enum Question {
    Thing {
        key: String,
        id: Option<String>,
        owner: bool,
    },
    Deleted {
        key: String,
        id: Option<String>,
    },
    Table(String),
    Schema(String, String, String),
}

/// Its answer.
enum Answer {
    Thing(String, Box<Thing>, Fields),
    Deleted(String, Said<String>),
    Table(String, Said<Table>),
    Schema(String, Said<Vec<String>>),
}

/// Fields that references can name; an empty one is there and has no value.
type Fields = BTreeMap<&'static str, Option<String>>;

/// Asks the workspace. `ids` are ids that are known from elsewhere, by full key; those of the deployed state win.
///
/// `done` hears after each answer how many there are.
pub async fn observe(
    workspace: &Workspace,
    questions: &Questions,
    ids: &BTreeMap<String, String>,
    limits: &Limits,
    done: impl FnMut(usize),
) -> Observation {
    let mut seen = Observation::new(Witness::Api);
    let mut ids = ids.clone();
    if let Some(path) = &questions.state_path {
        read_state(workspace, path, limits, &mut seen, &mut ids).await;
        if questions.commit {
            seen.commit = read_commit(workspace, path, limits).await;
        }
    }
    let things = questions.things.iter().map(|(key, owner)| Question::Thing {
        key: key.clone(),
        id: ids.get(key).cloned(),
        owner: *owner,
    });
    let deleted = questions.deleted.iter().map(|(key, id)| Question::Deleted {
        key: key.clone(),
        id: id.clone(),
    });
    let tables = questions.tables.iter().cloned().map(Question::Table);
    let schemas = questions
        .schemas
        .iter()
        .cloned()
        .map(|(c, s, p)| Question::Schema(c, s, p));
    let all = things.chain(deleted).chain(tables).chain(schemas);
    let answers = each(
        all,
        |question| {
            let workspace = workspace.clone();
            async move { ask(&workspace, question).await }
        },
        done,
    )
    .await;
    let mut fields = BTreeMap::new();
    for answer in answers {
        match answer {
            Answer::Thing(key, thing, known) => {
                // The owner is expected of the permissions entry where there is one.
                if questions.things.get(&key) == Some(&true) {
                    let permissions = Thing {
                        there: thing.there.clone(),
                        owner: thing.owner.clone(),
                        ..Thing::default()
                    };
                    seen.things
                        .insert(format!("{key}.permissions"), permissions);
                }
                fields.insert(key.clone(), known);
                seen.things.insert(key, *thing);
            }
            Answer::Deleted(key, said) => {
                seen.deleted.insert(key, said);
            }
            Answer::Table(name, said) => {
                seen.tables.insert(name, said);
            }
            Answer::Schema(pipeline, said) => {
                seen.orphans.insert(pipeline, said);
            }
        }
    }
    seen.references = questions
        .references
        .iter()
        .map(|text| (text.clone(), resolve(text, &fields)))
        .collect();
    seen
}

async fn read_state(
    workspace: &Workspace,
    path: &str,
    limits: &Limits,
    seen: &mut Observation,
    ids: &mut BTreeMap<String, String>,
) {
    let silent = |seen: &mut Observation, why: String| {
        seen.lineage = Said::Silent(why.clone());
        seen.serial = Said::Silent(why);
    };
    match workspace.file(&format!("{path}/resources.json")).await {
        Ok(Presence::There(bytes)) => match State::read(&bytes, limits) {
            Ok(state) => {
                seen.lineage = state
                    .lineage
                    .as_deref()
                    .map_or(Said::None, |l| Said::Is(l.to_owned()));
                seen.serial = state.serial.map_or(Said::None, Said::Is);
                for (key, deployed) in state.resources.iter().flatten() {
                    if let Some(id) = &deployed.id {
                        ids.insert(key.to_string(), id.to_string());
                    }
                }
            }
            Err(e) => silent(
                seen,
                format!("the state file in the workspace: {}", e.message),
            ),
        },
        Ok(Presence::Gone) => {
            seen.lineage = Said::None;
            seen.serial = Said::None;
        }
        Ok(Presence::Forbidden(said)) => silent(
            seen,
            format!("the state file in the workspace may not be read{said}"),
        ),
        Err(e) => silent(seen, e.to_string()),
    }
}

/// The commit in `metadata.json`, which the CLI writes beside the state (`config.bundle.git.commit`; CLI 1.13, source).
async fn read_commit(workspace: &Workspace, path: &str, limits: &Limits) -> Said<String> {
    match workspace.file(&format!("{path}/metadata.json")).await {
        Ok(Presence::There(bytes)) => match json::parse(&bytes, limits) {
            Ok(root) => match root
                .at(&["config", "bundle", "git", "commit"])
                .and_then(Value::as_str)
            {
                Some(commit) => Said::Is(commit.to_owned()),
                None => Said::None,
            },
            Err(e) => Said::Silent(format!("metadata.json in the workspace: {}", e.message)),
        },
        Ok(Presence::Gone) => Said::None,
        Ok(Presence::Forbidden(said)) => Said::Silent(format!(
            "metadata.json in the workspace may not be read{said}"
        )),
        Err(e) => Said::Silent(e.to_string()),
    }
}

async fn ask(workspace: &Workspace, question: Question) -> Answer {
    match question {
        Question::Thing { key, id, owner } => {
            let (thing, fields) = match (id, ResourceKey::parse(&key)) {
                (Some(id), Ok(parsed)) => thing(workspace, parsed.kind(), &id, owner).await,
                _ => (
                    silent_thing(
                        "its id is not known: neither the state in the workspace nor a plan names it"
                            .to_owned(),
                    ),
                    Fields::new(),
                ),
            };
            Answer::Thing(key, Box::new(thing), fields)
        }
        Question::Deleted { key, id } => {
            let said = deleted(workspace, &key, id.as_deref()).await;
            Answer::Deleted(key, said)
        }
        Question::Table(name) => {
            let said = match workspace.table(&name).await {
                Ok(Presence::There(t)) => Said::Is(Table {
                    reset_allowed: t.properties.get("pipelines.reset.allowed").cloned(),
                    owner: t.owner,
                    pipeline: t.pipeline_id,
                }),
                Ok(Presence::Gone) => Said::None,
                Ok(Presence::Forbidden(said)) => {
                    Said::Silent(format!("the table {name} may not be read{said}"))
                }
                Err(e) => Said::Silent(e.to_string()),
            };
            Answer::Table(name, said)
        }
        Question::Schema(catalog, schema, pipeline) => {
            let said = match workspace.tables(&catalog, &schema).await {
                Ok(Presence::There(tables)) => Said::Is(
                    tables
                        .into_iter()
                        .filter(|t| t.pipeline_id.as_deref() == Some(&pipeline))
                        .map(|t| t.full_name)
                        .collect(),
                ),
                Ok(Presence::Gone) => Said::None,
                Ok(Presence::Forbidden(said)) => Said::Silent(format!(
                    "the tables of {catalog}.{schema} may not be listed{said}"
                )),
                Err(e) => Said::Silent(e.to_string()),
            };
            Answer::Schema(pipeline, said)
        }
    }
}

/// Whether a deleted object is gone. "May not look" is not "is not there".
async fn deleted(workspace: &Workspace, key: &str, id: Option<&str>) -> Said<String> {
    let (Some(id), Ok(parsed)) = (id, ResourceKey::parse(key)) else {
        return Said::Silent("its id is not known: neither plan nor state names it".to_owned());
    };
    match workspace.exists(parsed.kind(), id).await {
        None => Said::Silent(format!(
            "there is no read for the type {}: look for {id} by hand, or set verify.deleted: false",
            parsed.kind()
        )),
        Some(Ok(Presence::Gone)) => Said::None,
        Some(Ok(Presence::There(()))) => Said::Is(format!("{id} is still there")),
        Some(Ok(Presence::Forbidden(said))) => Said::Silent(format!(
            "{id} may not be read{said}: that does not mean that it is gone"
        )),
        Some(Err(e)) => Said::Silent(e.to_string()),
    }
}

fn silent_thing(why: String) -> Thing {
    Thing {
        there: Said::Silent(why),
        ..Thing::default()
    }
}

async fn thing(workspace: &Workspace, kind: &str, id: &str, owner: bool) -> (Thing, Fields) {
    let is = |text: Option<String>| text.map_or(Said::None, Said::Is);
    let mut fields = Fields::from([("id", Some(id.to_owned()))]);
    let read: Result<Presence<Thing>, HttpError> = match kind {
        "jobs" => match id.parse() {
            Ok(number) => workspace.job(number).await.map(|p| {
                p.map(|job| Thing {
                    there: Said::Is(()),
                    name: Said::Is(job.name),
                    run_as: Said::Is(job.run_as_user_name),
                    creator: is(job.creator_user_name),
                    ..Thing::default()
                })
            }),
            Err(_) => {
                let why = format!(
                    "expected the number of a job, found {}",
                    crate::text::quoted(id)
                );
                return (silent_thing(why), fields);
            }
        },
        "pipelines" => workspace.pipeline(id).await.map(|p| {
            p.map(|pipeline| Thing {
                there: Said::Is(()),
                name: Said::Is(pipeline.name),
                run_as: Said::Is(pipeline.run_as_user_name),
                creator: is(pipeline.creator_user_name),
                ..Thing::default()
            })
        }),
        "alerts" => workspace.alert(id).await.map(|p| {
            p.map(|alert| Thing {
                there: Said::Is(()),
                run_as: alert.run_as().map_or_else(
                    || Said::Silent("the alert does not say who it runs as".to_owned()),
                    |who| Said::Is(who.to_owned()),
                ),
                name: Said::Is(alert.display_name),
                creator: is(alert.owner_user_name),
                ..Thing::default()
            })
        }),
        "apps" => workspace.app(id).await.map(|p| {
            p.map(|app| {
                fields = Fields::from([
                    ("name", Some(app.name.clone())),
                    ("id", Some(app.id.clone())),
                    ("creator", app.creator.clone()),
                    (
                        "service_principal_client_id",
                        app.service_principal_client_id.clone(),
                    ),
                ]);
                Thing {
                    there: Said::Is(()),
                    name: Said::Is(app.name),
                    ids: BTreeMap::from([("id".to_owned(), app.id)]),
                    creator: is(app.creator),
                    ..Thing::default()
                }
            })
        }),
        _ => match workspace.exists(kind, id).await {
            None => return (Thing::default(), fields),
            Some(found) => found.map(|p| {
                p.map(|()| Thing {
                    there: Said::Is(()),
                    ..Thing::default()
                })
            }),
        },
    };
    let mut thing = match read {
        Ok(Presence::There(thing)) => thing,
        Ok(Presence::Gone) => Thing {
            there: Said::None,
            ..Thing::default()
        },
        Ok(Presence::Forbidden(said)) => silent_thing(format!("{id} may not be read{said}")),
        Err(e) => silent_thing(e.to_string()),
    };
    if thing.there == Said::Is(()) {
        thing.id = Said::Is(id.to_owned());
        if matches!(kind, "jobs" | "pipelines") {
            let field = if kind == "jobs" {
                "job_id"
            } else {
                "pipeline_id"
            };
            thing.ids.insert(field.to_owned(), id.to_owned());
        }
        if owner {
            thing.owner = owner_of(workspace, kind, id).await;
        }
    }
    (thing, fields)
}

async fn owner_of(workspace: &Workspace, kind: &str, id: &str) -> Said<String> {
    if !matches!(kind, "jobs" | "pipelines") {
        return Said::Unseen;
    }
    match workspace.permissions(kind, id).await {
        Ok(Presence::There(all)) => all
            .owner()
            .map_or(Said::None, |p| Said::Is(p.principal.clone())),
        Ok(Presence::Gone) => Said::Silent("its permissions are not there".to_owned()),
        Ok(Presence::Forbidden(said)) => {
            Said::Silent(format!("its permissions may not be read{said}"))
        }
        Err(e) => Said::Silent(e.to_string()),
    }
}

/// What a text that is one reference alone stands for, as far as the API was asked.
fn resolve(text: &str, fields: &BTreeMap<String, Fields>) -> Resolution {
    let Some(path) = text
        .strip_prefix("${")
        .and_then(|t| t.strip_suffix('}'))
        .and_then(|inner| FieldPath::parse(inner).ok())
    else {
        return Resolution::Unseen;
    };
    let [
        Segment::Field(root),
        Segment::Field(kind),
        Segment::Field(name),
        Segment::Field(field),
    ] = path.segments()
    else {
        return Resolution::Unseen;
    };
    let known = fields
        .get(&format!("{root}.{kind}.{name}"))
        .and_then(|f| f.get(&**field));
    match known {
        Some(Some(value)) if !value.is_empty() => Resolution::To(value.clone()),
        Some(_) => Resolution::Nothing,
        None => Resolution::Unseen,
    }
}
