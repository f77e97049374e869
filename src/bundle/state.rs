//! The deployed state: `resources.json` of the direct engine.

use std::collections::BTreeMap;

use super::fault;
use crate::json::{self, Error, Limits, Value};

/// What the last deploy left behind.
#[derive(Debug, Clone)]
pub struct State {
    /// The deployment's lineage; empty counts as absent.
    pub lineage: Option<Box<str>>,
    /// The serial; 0 counts as absent.
    pub serial: Option<u64>,
    /// The CLI that wrote it.
    pub cli_version: Option<Box<str>>,
    /// What was deployed, by full key. `None`: the file holds only its header (newer CLIs), which says nothing about resources.
    pub resources: Option<BTreeMap<Box<str>, Deployed>>,
}

/// What the last deploy set for one entry.
#[derive(Debug, Clone)]
pub struct Deployed {
    /// The id in the workspace.
    pub id: Option<Box<str>>,
    /// The configuration that was sent.
    pub config: Value,
}

const HOW: &str = "export it from ${workspace.state_path}/resources.json, or take .databricks/bundle/<target>/resources.json after a deploy";

impl State {
    /// Reads a state of version 2 or 3 (CLI 1.13; version 3 as described for newer CLIs).
    ///
    /// # Errors
    /// A file that is no such state.
    pub fn read(bytes: &[u8], limits: &Limits) -> Result<Self, Error> {
        let root = json::parse(bytes, limits)?;
        let wrong = |found: String| {
            fault(
                format!("expected a deployment state with state_version 2 or 3, found {found}"),
                HOW,
            )
        };
        match root.get("state_version") {
            Some(Value::Int(2 | 3)) => {}
            Some(Value::Int(n)) => return Err(wrong(format!("version {n}"))),
            Some(other) => return Err(wrong(other.kind().to_owned())),
            None if root.get("plan").is_some() => return Err(wrong("a plan".to_owned())),
            None if root.get("bundle").is_some() => return Err(wrong("a bundle JSON".to_owned())),
            None if root.get("terraform_version").is_some() => {
                return Err(wrong("a state of the Terraform engine".to_owned()));
            }
            None => return Err(wrong("no state_version".to_owned())),
        }
        let text = |name: &str| match root.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(s)) => Ok(Some(s.clone()).filter(|s| !s.is_empty())),
            Some(other) => Err(fault(
                format!(
                    "expected {name} of the state to be a string, found {}",
                    other.kind()
                ),
                HOW,
            )),
        };
        let serial = match root.get("serial") {
            None | Some(Value::Null) => None,
            Some(Value::Int(n)) => Some(u64::try_from(*n).map_err(|_| {
                fault(
                    format!("expected serial of the state to be an integer from 0 on, found {n}"),
                    HOW,
                )
            })?),
            Some(other) => {
                return Err(fault(
                    format!(
                        "expected serial of the state to be an integer, found {}",
                        other.kind()
                    ),
                    HOW,
                ));
            }
        };
        let resources = match root.get("state") {
            None | Some(Value::Null) => None,
            Some(Value::Object(members)) => Some(
                members
                    .iter()
                    .map(|(k, v)| (k.into(), deployed(v)))
                    .collect(),
            ),
            Some(other) => {
                return Err(fault(
                    format!(
                        "expected state to be an object of resources, found {}",
                        other.kind()
                    ),
                    HOW,
                ));
            }
        };
        Ok(Self {
            lineage: text("lineage")?,
            serial: serial.filter(|s| *s > 0),
            cli_version: text("cli_version")?,
            resources,
        })
    }

    /// What was deployed under this full key; `None` also when the file does not say.
    #[must_use]
    pub fn deployed(&self, full_key: &str) -> Option<&Deployed> {
        self.resources.as_ref()?.get(full_key)
    }

    /// Whether nothing was ever deployed, as far as the file tells.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.lineage.is_none()
            && self.serial.is_none()
            && self.resources.as_ref().is_none_or(BTreeMap::is_empty)
    }
}

fn deployed(value: &Value) -> Deployed {
    let id = match value.get("__id__") {
        Some(Value::String(s)) if !s.is_empty() => Some(s.clone()),
        Some(Value::Int(n)) => Some(n.to_string().into()),
        _ => None,
    };
    Deployed {
        id,
        config: value.get("state").cloned().unwrap_or(Value::Null),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<State, String> {
        State::read(text.as_bytes(), &Limits::default()).map_err(|e| e.message)
    }

    #[test]
    fn versions_two_three_and_header_only() {
        let full = read(r#"{"state_version":2,"lineage":"l","serial":4,"state":{"resources.jobs.a":{"__id__":"1","state":{"name":"a"}}}}"#).unwrap();
        assert_eq!(
            full.deployed("resources.jobs.a")
                .and_then(|d| d.id.as_deref()),
            Some("1")
        );
        let header =
            read(r#"{"state_version":3,"lineage":"l","serial":4,"features":["x"]}"#).unwrap();
        assert!(header.resources.is_none() && !header.is_empty());
        assert!(read(r#"{"state_version":2}"#).unwrap().is_empty());
    }

    #[test]
    fn other_files_are_named() {
        for (text, part) in [
            ("{}", "no state_version"),
            ("[]", "no state_version"),
            (r#"{"state_version":9}"#, "version 9"),
            (r#"{"plan":{}}"#, "a plan"),
            (r#"{"terraform_version":"1"}"#, "Terraform"),
            (r#"{"state_version":2,"serial":-1}"#, "serial"),
            (r#"{"state_version":2,"state":[]}"#, "an array"),
        ] {
            assert!(read(text).unwrap_err().contains(part), "{text}");
        }
    }
}
