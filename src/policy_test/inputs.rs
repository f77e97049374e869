//! The inputs of one case: read from files, or made of what the test file holds.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::{Map, Value, json};

use super::{ReadFile, wrong};
use crate::bundle::{Bundle, State, Warnings};
use crate::json::{Error, Limits};
use crate::plan::{self, Plan};
use crate::policy::{At, Case, Diagnostic, Given, Members};
use crate::text::visible;

/// What a case is judged on.
#[derive(Debug)]
pub(super) struct Prepared {
    pub(super) plan: Plan,
    pub(super) bundle: Option<Bundle>,
    pub(super) base_bundle: Option<Bundle>,
    pub(super) state: Option<State>,
    pub(super) warnings: Option<Warnings>,
}

/// Reads the files of one case, keeping what is wrong.
struct Reader<'c, 'r, 'f> {
    case: &'c Case,
    folder: &'c Path,
    read: &'r mut ReadFile<'f>,
    wrong: Vec<Diagnostic>,
}

impl Prepared {
    pub(super) fn read(
        case: &Case,
        folder: &Path,
        read: &mut ReadFile<'_>,
    ) -> Result<Self, Vec<Diagnostic>> {
        let mut reader = Reader {
            case,
            folder,
            read,
            wrong: Vec::new(),
        };
        let limits = Limits::default();
        let plan = reader.plan(&limits);
        let bundle = reader.bundle(case.bundle.as_ref(), &limits);
        let base_bundle = reader.bundle(case.base_bundle.as_ref(), &limits);
        let state = reader.state(plan.as_ref(), &limits);
        let warnings = case
            .warnings
            .as_ref()
            .and_then(|path| reader.file(path, |bytes| Warnings::read(bytes, &limits)));
        match plan {
            Some(plan) if reader.wrong.is_empty() => Ok(Self {
                plan,
                bundle,
                base_bundle,
                state,
                warnings,
            }),
            _ => Err(reader.wrong),
        }
    }

    /// The short keys of all resources in any of the inputs.
    pub(super) fn keys(&self) -> BTreeSet<String> {
        let plan = self
            .plan
            .entries
            .iter()
            .map(|e| e.key.resource().to_owned());
        let bundles = self.bundle.iter().chain(&self.base_bundle);
        let bundles = bundles
            .flat_map(Bundle::resources)
            .map(|(kind, name, _)| format!("{kind}.{name}"));
        let state = self.state.iter().filter_map(|s| s.resources.as_ref());
        let state = state
            .flat_map(|resources| resources.keys())
            .filter_map(|key| key.strip_prefix("resources."))
            .map(str::to_owned);
        plan.chain(bundles).chain(state).collect()
    }
}

impl Reader<'_, '_, '_> {
    fn plan(&mut self, limits: &Limits) -> Option<Plan> {
        let case = self.case;
        if let Some(path) = &case.plan {
            return self.file(path, |bytes| plan::read(bytes, limits));
        }
        let entries = case.entries.as_ref()?;
        let mut root: Map<String, Value> = Map::from_iter([
            ("plan_version".to_owned(), json!(plan::PLAN_VERSION)),
            ("cli_version".to_owned(), json!("1.13.0")),
            (
                "lineage".to_owned(),
                json!("11111111-1111-4111-8111-111111111111"),
            ),
            ("serial".to_owned(), json!(1)),
        ]);
        // A field of the head that is set to nothing is left out.
        for (name, value) in case.head.iter().flat_map(|head| head.iter()) {
            match value {
                Value::Null => drop(root.remove(&name.value)),
                value => drop(root.insert(name.value.clone(), value.clone())),
            }
        }
        let entries_json = self.full_keys(entries);
        root.insert("plan".to_owned(), Value::Object(entries_json));
        let read = plan::read(Value::Object(root).to_string().as_bytes(), limits);
        self.inline(entries, read)
    }

    fn bundle(&mut self, given: Option<&At<Given>>, limits: &Limits) -> Option<Bundle> {
        let given = given?;
        match &given.value {
            Given::Path(path) => self.file(
                &At {
                    value: path.clone(),
                    at: given.at.clone(),
                },
                |bytes| Bundle::read(bytes, limits),
            ),
            Given::Inline(inline) => {
                let mut root = inline.0.clone();
                let target = self.case.target.as_deref().unwrap_or("test");
                fill(
                    &mut root,
                    "bundle",
                    &[("name", json!("test")), ("target", json!(target))],
                );
                fill(
                    &mut root,
                    "workspace",
                    &[("current_user", json!({"userName": "deployer"}))],
                );
                let read = Bundle::read(root.to_string().as_bytes(), limits);
                self.inline(given, read)
            }
        }
    }

    /// A state that is written here belongs to the case's plan: it has its lineage and serial.
    fn state(&mut self, plan: Option<&Plan>, limits: &Limits) -> Option<State> {
        let given = self.case.state.as_ref()?;
        match &given.value {
            Given::Path(path) => self.file(
                &At {
                    value: path.clone(),
                    at: given.at.clone(),
                },
                |bytes| State::read(bytes, limits),
            ),
            Given::Inline(inline) => {
                let resources: Map<String, Value> = inline
                    .0
                    .as_object()
                    .into_iter()
                    .flatten()
                    .map(|(key, config)| {
                        let id = json!({"__id__": "1", "state": config});
                        (format!("resources.{key}"), id)
                    })
                    .collect();
                let root = json!({
                    "state_version": 2,
                    "cli_version": plan.and_then(|p| p.cli_version.as_deref()),
                    "lineage": plan.and_then(|p| p.lineage.as_deref()),
                    "serial": plan.and_then(|p| p.serial),
                    "state": resources,
                });
                let read = State::read(root.to_string().as_bytes(), limits);
                self.inline(given, read)
            }
        }
    }

    fn full_keys(&mut self, entries: &At<Members>) -> Map<String, Value> {
        let mut out = Map::new();
        for (key, value) in entries.iter() {
            if let Some(short) = key.strip_prefix("resources.") {
                self.wrong.push(wrong(
                    &key.at,
                    "expected a key without `resources.`".to_owned(),
                    Some(format!("write `{}`", visible(short))),
                    None,
                ));
            }
            out.insert(format!("resources.{}", key.value), value.clone());
        }
        out
    }

    /// Reads a file; a fault is shown where the test file names it.
    fn file<T>(
        &mut self,
        path: &At<String>,
        parse: impl FnOnce(&[u8]) -> Result<T, Error>,
    ) -> Option<T> {
        let shown = visible(&path.value);
        let bytes = match (self.read)(&self.folder.join(&path.value)) {
            Ok(bytes) => bytes,
            Err(why) => {
                let message = format!("cannot read {shown}: {why}");
                self.wrong.push(wrong(&path.at, message, None, None));
                return None;
            }
        };
        parse(&bytes)
            .map_err(|fault| {
                let place = fault
                    .position
                    .map_or(String::new(), |p| format!(":{}:{}", p.line, p.column));
                let message = format!("{shown}{place}: {}", fault.message);
                self.wrong
                    .push(wrong(&path.at, message, None, fault.help.as_deref()));
            })
            .ok()
    }

    /// A fault of what is written here; its position is one in a JSON text that nobody sees.
    fn inline<T, V>(&mut self, at: &At<V>, read: Result<T, Error>) -> Option<T> {
        read.map_err(|fault| {
            let message = fault.message;
            self.wrong.push(wrong(&at.at, message, None, None));
        })
        .ok()
    }
}

/// Adds what is not there below `part`.
fn fill(root: &mut Value, part: &str, usual: &[(&str, Value)]) {
    let Some(root) = root.as_object_mut() else {
        return;
    };
    let part = root.entry(part).or_insert_with(|| json!({}));
    if let Some(part) = part.as_object_mut() {
        for (name, value) in usual {
            part.entry(*name).or_insert_with(|| value.clone());
        }
    }
}
