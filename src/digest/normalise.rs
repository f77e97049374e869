//! What is different in every plan of an unchanged bundle: each left out of the intent digest by a named normaliser.
//!
//! What takes a part's place holds a NUL, which no text of a plan can hold: nothing that somebody writes into a plan looks
//! like something that was left out.

use crate::json::Value;
use crate::plan::{Mark, ResourceKey, Trail};

/// A named reason to leave something out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Normaliser {
    /// The UUID of a `job_runs` entry's `lifecycle.triggers.on_bundle_deploy`.
    JobRunTrigger,
    /// `deployment.version_id` of jobs and pipelines.
    DeploymentVersion,
    /// The build number of a dynamic wheel.
    DynamicWheel,
}

impl Normaliser {
    /// All of them.
    pub const ALL: [Self; 3] = [
        Self::JobRunTrigger,
        Self::DeploymentVersion,
        Self::DynamicWheel,
    ];

    /// The name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::JobRunTrigger => "job-run-trigger",
            Self::DeploymentVersion => "deployment-version",
            Self::DynamicWheel => "dynamic-wheel",
        }
    }

    /// What it leaves out, and why.
    #[must_use]
    pub fn reason(self) -> &'static str {
        match self {
            Self::JobRunTrigger => {
                "the UUID in lifecycle.triggers.on_bundle_deploy of a job run: the CLI makes a new one at each plan; the effect is that the job runs"
            }
            Self::DeploymentVersion => {
                "deployment.version_id of a job or a pipeline: the CLI counts it up at each deploy; it changes nothing that runs"
            }
            Self::DynamicWheel => {
                "the build number of a dynamic wheel (the wheel's time stamp after +): the wheel itself is bound by its sha256 in the source"
            }
        }
    }
}

/// What stands where a part was left out.
pub(super) const LEFT_OUT: &str = "\0";

/// A change of a value on its way into the canonical form.
pub(super) enum Normal {
    /// As it is.
    Same,
    /// Not there.
    Gone(Normaliser),
    /// Another value.
    Other(Normaliser, Value),
}

/// Whether anything can apply to resources of this type; spares a walk through the others.
pub(super) fn applies(key: &ResourceKey) -> bool {
    key.sub().is_none() && matches!(key.kind(), "job_runs" | "jobs" | "pipelines")
}

/// What becomes of the value at a path of a resource.
pub(super) fn normal(key: &ResourceKey, trail: &Trail<'_>, value: &Value) -> Normal {
    match key.kind() {
        "job_runs" if is_at(trail, &["lifecycle", "triggers", "on_bundle_deploy"]) => match value {
            Value::String(text) if is_uuid(text) => {
                Normal::Other(Normaliser::JobRunTrigger, Value::String(LEFT_OUT.into()))
            }
            _ => Normal::Same,
        },
        "jobs" | "pipelines" if is_at(trail, &["deployment", "version_id"]) => {
            Normal::Gone(Normaliser::DeploymentVersion)
        }
        "jobs" | "pipelines" => match value {
            Value::String(text) => match without_build_number(text) {
                Some(text) => Normal::Other(Normaliser::DynamicWheel, Value::String(text.into())),
                None => Normal::Same,
            },
            _ => Normal::Same,
        },
        _ => Normal::Same,
    }
}

fn is_at(trail: &Trail<'_>, names: &[&str]) -> bool {
    trail.marks().len() == names.len()
        && trail
            .marks()
            .iter()
            .zip(names)
            .all(|(mark, name)| *mark == Mark::Field(name))
}

/// 8-4-4-4-12 lower-case hex digits, as the CLI writes it.
fn is_uuid(text: &str) -> bool {
    let lengths = [8, 4, 4, 4, 12];
    let parts: Vec<&str> = text.split('-').collect();
    parts.len() == lengths.len()
        && parts.iter().zip(lengths).all(|(part, length)| {
            part.len() == length
                && part
                    .bytes()
                    .all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
        })
}

/// A wheel that the CLI built and uploads, with its time stamp taken out of the version.
///
/// The CLI (`libs/patchwheel`, seen at 1.13) sets the version to `<version>+<modification time in ns since 1970>`, 19 digits
/// from 2001 to 2286, and uploads what it built to `<artifact_path>/.internal/`.
fn without_build_number(text: &str) -> Option<String> {
    let (folder, file) = text.rsplit_once('/')?;
    if !folder.ends_with("/.internal") {
        return None;
    }
    // PEP 427: name-version(-build)?-python-abi-platform.whl
    let parts: Vec<&str> = file.strip_suffix(".whl")?.split('-').collect();
    if !(5..=6).contains(&parts.len()) {
        return None;
    }
    let (name, version, rest) = match parts.as_slice() {
        [name, version, rest @ ..] => (name, version, rest),
        _ => return None,
    };
    let (base, number) = version.split_once('+')?;
    if number.len() != 19 || !number.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    Some(format!(
        "{folder}/{name}-{base}+{LEFT_OUT}-{}.whl",
        rest.join("-")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_dynamic_wheel_of_the_bundle() {
        let at = |file: &str| format!("/Workspace/b/artifacts/.internal/{file}");
        assert_eq!(
            without_build_number(&at("lib-1.2.3+1741091696780123321-py3-none-any.whl")).as_deref(),
            Some("/Workspace/b/artifacts/.internal/lib-1.2.3+\0-py3-none-any.whl")
        );
        assert!(
            without_build_number(&at("lib-1.2.3+1741091696780123321-1-py3-none-any.whl")).is_some()
        );
        for other in [
            at("lib-1.2.3-py3-none-any.whl"),
            at("lib-1.2.3+174109169678012332-py3-none-any.whl"),
            at("lib-1.2.3+174109169678012332x-py3-none-any.whl"),
            at("lib-1.2.3+local.1-py3-none-any.whl"),
            at("lib+1741091696780123321-1.2.3-py3-none-any.whl"),
            at("lib-1.2.3+1741091696780123321-py3-none-any.jar"),
            at("lib-1.2.3+1741091696780123321.whl"),
            "/Volumes/a/b/c/lib-1.2.3+1741091696780123321-py3-none-any.whl".to_owned(),
            "lib-1.2.3+1741091696780123321-py3-none-any.whl".to_owned(),
            String::new(),
        ] {
            assert_eq!(without_build_number(&other), None, "{other}");
        }
    }

    #[test]
    fn uuids() {
        assert!(is_uuid("f58e75ee-2abb-4831-b963-08faf23295ae"));
        for other in [
            "",
            "true",
            "F58E75EE-2ABB-4831-B963-08FAF23295AE",
            "f58e75ee2abb4831b96308faf23295ae",
            "f58e75ee-2abb-4831-b963-08faf23295a",
            "f58e75ee-2abb-4831-b963-08faf23295ae-",
        ] {
            assert!(!is_uuid(other), "{other}");
        }
    }
}
