//! What lives in which schema and catalog.

use std::collections::HashMap;

use super::{Effect, Field, World};
use crate::json::Value;

/// A schema, or a whole catalog, in lower case: Unity Catalog does not tell cases apart.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Namespace {
    /// The catalog.
    pub catalog: String,
    /// The schema; `None`: the catalog itself.
    pub schema: Option<String>,
}

impl Namespace {
    /// The full name.
    #[must_use]
    pub fn full_name(&self) -> String {
        self.schema
            .as_ref()
            .map_or_else(|| self.catalog.clone(), |s| format!("{}.{s}", self.catalog))
    }
}

/// Where a resource of this type lives or publishes, by its fields. Several for a pipeline that publishes to several schemas.
#[must_use]
pub fn namespaces(kind: &str, value: &Value) -> Vec<Namespace> {
    let text = |name: &str| {
        value
            .get(name)
            .and_then(Value::as_str)
            .filter(|t| !t.is_empty() && !t.contains("${"))
    };
    let of = |catalog: Option<&str>, schema: Option<&str>| {
        catalog.map(|c| Namespace {
            catalog: c.to_lowercase(),
            schema: schema.map(str::to_lowercase),
        })
    };
    let dotted = |name: Option<&str>| {
        let mut parts = name?.split('.');
        match (parts.next(), parts.next(), parts.next()) {
            (Some(c), Some(s), Some(_)) => of(Some(c), Some(s)),
            _ => None,
        }
    };
    match kind {
        "schemas" => of(text("catalog_name"), None).into_iter().collect(),
        "volumes" | "registered_models" | "secrets" => {
            of(text("catalog_name"), text("schema_name"))
                .into_iter()
                .collect()
        }
        "quality_monitors" => dotted(text("table_name")).into_iter().collect(),
        "vector_search_indexes" | "synced_database_tables" | "postgres_synced_tables" => {
            dotted(text("name")).into_iter().collect()
        }
        "pipelines" => {
            let mut out: Vec<Namespace> =
                of(text("catalog"), text("schema").or_else(|| text("target")))
                    .into_iter()
                    .collect();
            let objects = value
                .at(&["ingestion_definition", "objects"])
                .and_then(Value::as_array)
                .unwrap_or_default();
            for object in objects {
                for part in ["table", "schema", "report"] {
                    let own = |name: &str| {
                        object
                            .at(&[part, name])
                            .and_then(Value::as_str)
                            .filter(|t| !t.is_empty())
                    };
                    out.extend(of(own("destination_catalog"), own("destination_schema")));
                }
            }
            out.sort();
            out.dedup();
            out
        }
        _ => Vec::new(),
    }
}

/// The types that live in a schema or catalog or publish to one: those that [`namespaces`] knows.
const PLACED: &[&str] = &[
    "schemas",
    "volumes",
    "registered_models",
    "secrets",
    "quality_monitors",
    "vector_search_indexes",
    "synced_database_tables",
    "postgres_synced_tables",
    "pipelines",
];

/// The container that an effect on a schema or catalog is about.
fn own_namespace(kind: &str, value: &Value) -> Option<Namespace> {
    let text = |name: &str| {
        value
            .get(name)
            .and_then(Value::as_str)
            .filter(|t| !t.is_empty())
            .map(str::to_lowercase)
    };
    match kind {
        "schemas" => Some(Namespace {
            catalog: text("catalog_name")?,
            schema: Some(text("name")?),
        }),
        "catalogs" => Some(Namespace {
            catalog: text("name")?,
            schema: None,
        }),
        _ => None,
    }
}

/// Something that goes with a container that is deleted or recreated.
#[derive(Debug)]
pub struct Lost<'w> {
    /// Short key of what is lost.
    pub resource: String,
    /// Its type.
    pub kind: String,
    /// Where it lives.
    pub namespace: Namespace,
    /// Full key of the schema or catalog with which it goes.
    pub container: &'w str,
    /// Whether that is made again, and not only deleted.
    pub recreated: bool,
}

impl<'a> World<'a> {
    /// The schemas and catalogs that this plan deletes or recreates.
    #[must_use]
    pub fn lost_containers(&self) -> Vec<(Namespace, &Effect<'a>)> {
        self.where_kind(|kind| matches!(kind, "schemas" | "catalogs"))
            .filter(|e| e.loses())
            .filter_map(|e| {
                let now = e
                    .remote()
                    .or_else(|| e.deployed.map(|d| &d.config))
                    .or(e.config);
                Some((own_namespace(e.kind(), now?)?, e))
            })
            .collect()
    }

    /// What the plan does not itself delete or recreate and yet goes with a container: entries of the plan, and
    /// what only the state or the bundle JSON knows (a partial plan leaves resources out).
    #[must_use]
    pub fn lost_with_parent(&self) -> Vec<Lost<'_>> {
        let containers = self.lost_containers();
        if containers.is_empty() {
            return Vec::new();
        }
        // By their names: a plan can delete thousands.
        let mut places: HashMap<(&str, Option<&str>), Vec<usize>> = HashMap::new();
        for (at, (place, _)) in containers.iter().enumerate() {
            let place = (place.catalog.as_str(), place.schema.as_deref());
            places.entry(place).or_default().push(at);
        }
        // The first container of the namespace, or of its whole catalog, that is not the resource itself.
        let holder = |key: &str, namespace: &Namespace| {
            let catalog = namespace.catalog.as_str();
            let schema = namespace.schema.as_deref();
            [Some(None), schema.map(Some)]
                .into_iter()
                .flatten()
                .filter_map(|schema| {
                    let mut all = places.get(&(catalog, schema))?.iter();
                    all.find(|at| {
                        containers
                            .get(**at)
                            .is_some_and(|(_, e)| e.entry.key.full() != key)
                    })
                })
                .min()
                .and_then(|at| containers.get(*at))
        };
        let mut out = Vec::new();
        let mut add = |key: &str, short: &str, kind: &str, value: &Value| {
            for namespace in namespaces(kind, value) {
                if let Some((_, container)) = holder(key, &namespace) {
                    let recreated = container.action() == crate::plan::Action::Recreate;
                    let container = container.entry.key.full();
                    out.push(Lost {
                        resource: short.to_owned(),
                        kind: kind.to_owned(),
                        namespace,
                        container,
                        recreated,
                    });
                    return;
                }
            }
        };
        for e in self.where_kind(|kind| PLACED.contains(&kind)) {
            if e.loses() || e.action() == crate::plan::Action::Create || e.entry.is_gone() {
                continue;
            }
            if let Some(now) = e
                .remote()
                .or_else(|| e.deployed.map(|d| &d.config))
                .or(e.config)
            {
                add(e.entry.key.full(), e.entry.key.resource(), e.kind(), now);
            }
        }
        for (key, deployed) in self
            .inputs
            .state
            .and_then(|s| s.resources.as_ref())
            .into_iter()
            .flatten()
        {
            if let Ok(parsed) = crate::plan::ResourceKey::parse(key)
                && parsed.sub().is_none()
                && self.effect(key).is_none()
            {
                add(key, parsed.resource(), parsed.kind(), &deployed.config);
            }
        }
        if self.inputs.state.is_none_or(|s| s.resources.is_none())
            && self.inputs.plan.not_selected > 0
        {
            for (kind, name, config) in self
                .inputs
                .bundle
                .into_iter()
                .flat_map(crate::bundle::Bundle::resources)
            {
                let key = format!("resources.{kind}.{name}");
                if self.effect(&key).is_none() {
                    let resolved = self.with_references(kind, config);
                    add(
                        &key,
                        key.strip_prefix("resources.").unwrap_or(&key),
                        kind,
                        &resolved,
                    );
                }
            }
        }
        out
    }

    /// What stays by the plan and may live in a container that does not: nothing tells where it lives.
    #[must_use]
    pub fn placeless(&self) -> Vec<&Effect<'a>> {
        if self.lost_containers().is_empty() {
            return Vec::new();
        }
        let stays = |e: &&Effect<'a>| {
            !e.loses() && e.action() != crate::plan::Action::Create && !e.entry.is_gone()
        };
        self.where_kind(|kind| PLACED.contains(&kind))
            .filter(stays)
            .filter(|e| e.remote().is_none() && e.deployed.is_none() && e.config.is_none())
            .collect()
    }

    /// The fields that say where a resource lives, with their references resolved.
    fn with_references(&self, kind: &str, config: &Value) -> Value {
        let names: &[&str] = if kind == "pipelines" {
            &["catalog", "schema", "target"]
        } else {
            &["catalog_name", "schema_name", "name", "table_name"]
        };
        let members = names.iter().filter_map(|n| {
            let v = match config.get(n)? {
                Value::String(s) if s.contains("${") => self.resolve(s)?,
                v => v.clone(),
            };
            Some(((*n).into(), v))
        });
        Value::object(members)
    }

    /// The field of a schema or catalog's own name as it is now.
    #[must_use]
    pub fn full_name_now(&self, effect: &Effect<'a>) -> Option<String> {
        match self.now_at(effect, &["full_name"]) {
            Field::Known(v) => v.as_str().map(str::to_owned),
            _ => self.remote_name(effect),
        }
    }
}
