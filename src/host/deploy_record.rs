//! `deploy.json`: how far a deploy came. It is on the disk before each step begins, so that it names the step at which a run was killed.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::files;
use crate::approval::Sha256Hex;
use crate::approval::statement::{STATEMENT_TYPE, Source};
use crate::report::{Step, StepAt};
use crate::text::visible;

/// The in-toto predicate type of the record.
pub const PREDICATE_TYPE: &str = "urn:bundlegate:deploy:v1";
/// The file name.
pub const FILE_NAME: &str = "deploy.json";
/// Largest record that is read, in bytes.
const LARGEST: u64 = 1024 * 1024;

/// An in-toto Statement about a deploy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeployRecord {
    #[serde(rename = "_type")]
    statement_type: String,
    subject: Vec<Subject>,
    #[serde(rename = "predicateType")]
    predicate_type: String,
    /// What happened.
    pub predicate: Deploy,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Subject {
    name: String,
    digest: BTreeMap<String, Sha256Hex>,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Deploy {
    /// The target.
    pub target: String,
    /// The workspace.
    pub host: String,
    /// `${workspace.root_path}`.
    pub root_path: String,
    /// The policy's digest.
    pub policy: Sha256Hex,
    /// The code that shipped.
    pub source: Source,
    /// The CLI that deployed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cli_version: Option<String>,
    /// Who approved.
    #[serde(default)]
    pub approved_by: Vec<String>,
    /// The steps that began, in their order.
    pub steps: Vec<StepAt>,
    /// How the CLI ended; none: not known, or by a signal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cli_exit: Option<i32>,
    /// The exit code that the run ended with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<u8>,
}

impl Deploy {
    /// The last step that began.
    #[must_use]
    pub fn step(&self) -> Option<Step> {
        self.steps.last().map(|s| s.step)
    }
}

/// Why a record cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[error("{}: {why}", visible(&path.display().to_string()))]
pub struct RecordError {
    path: PathBuf,
    why: String,
}

fn error(path: &Path, why: impl Into<String>) -> RecordError {
    RecordError {
        path: path.to_owned(),
        why: why.into(),
    }
}

impl DeployRecord {
    /// A record of a plan that no step has begun for.
    #[must_use]
    pub fn new(plan_name: &str, plan: &Sha256Hex, predicate: Deploy) -> Self {
        Self {
            statement_type: STATEMENT_TYPE.to_owned(),
            subject: vec![Subject {
                name: plan_name.to_owned(),
                digest: BTreeMap::from([("sha256".to_owned(), plan.clone())]),
            }],
            predicate_type: PREDICATE_TYPE.to_owned(),
            predicate,
        }
    }

    /// The plan that was deployed.
    #[must_use]
    pub fn plan(&self) -> Option<&Sha256Hex> {
        self.subject.first().and_then(|s| s.digest.get("sha256"))
    }

    /// Reads a record; none: there is no such file.
    ///
    /// # Errors
    /// A file that is no such record.
    pub fn read(path: &Path) -> Result<Option<Self>, RecordError> {
        let bytes = match files::read(path, LARGEST) {
            Ok(bytes) => bytes,
            Err(files::Error::Missing) => return Ok(None),
            Err(e) => return Err(error(path, e.to_string())),
        };
        let wrong = |why: String| {
            error(
                path,
                format!(
                    "expected the record of a deploy, found something else: {why}; name another file with --record"
                ),
            )
        };
        let record: DeployRecord =
            serde_json::from_slice(&bytes).map_err(|e| wrong(visible(&e.to_string())))?;
        if record.statement_type != STATEMENT_TYPE
            || record.predicate_type != PREDICATE_TYPE
            || record.plan().is_none()
        {
            return Err(wrong("another type of statement".to_owned()));
        }
        Ok(Some(record))
    }

    /// Notes that a step begins, and puts the record on the disk before it does.
    ///
    /// # Errors
    /// A file that cannot be written: the step must not begin then.
    pub fn begin(&mut self, step: Step, path: &Path) -> Result<(), RecordError> {
        self.predicate.steps.push(StepAt {
            step,
            at: Timestamp::now(),
        });
        self.save(path)
    }

    /// Puts the record on the disk: whole or not at all, and synced with its folder.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn save(&self, path: &Path) -> Result<(), RecordError> {
        let mut text = serde_json::to_vec_pretty(self).map_err(|e| error(path, e.to_string()))?;
        text.push(b'\n');
        files::write(path, &text).map_err(|e| {
            error(
                path,
                format!("the record of the deploy could not be written ({e}); nothing goes on without it"),
            )
        })?;
        let folder = path
            .parent()
            .filter(|p| !p.as_os_str().is_empty())
            .unwrap_or(Path::new("."));
        // Windows cannot open a folder as a file; there the rename itself is durable enough.
        if cfg!(unix) {
            File::open(folder)
                .and_then(|f| f.sync_all())
                .map_err(|e| error(path, e.to_string()))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record() -> DeployRecord {
        DeployRecord::new(
            "plan.json",
            &Sha256Hex::new(&"ab".repeat(32)).unwrap(),
            Deploy {
                target: "prod".to_owned(),
                host: "https://example.test".to_owned(),
                root_path: "/Workspace/x".to_owned(),
                policy: Sha256Hex::new(&"cd".repeat(32)).unwrap(),
                source: Source {
                    tree: crate::approval::statement::SourceTree::Manifest {
                        sha256: Sha256Hex::new(&"ef".repeat(32)).unwrap(),
                        files: 3,
                    },
                    artifacts: Vec::new(),
                },
                cli_version: None,
                approved_by: vec!["rm1".to_owned()],
                steps: Vec::new(),
                cli_exit: None,
                exit_code: None,
            },
        )
    }

    #[test]
    fn each_step_is_on_the_disk_before_it_begins() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(FILE_NAME);
        assert!(DeployRecord::read(&path).unwrap().is_none());
        let mut record = record();
        for step in [Step::Checking, Step::Deploying] {
            record.begin(step, &path).unwrap();
            let read = DeployRecord::read(&path).unwrap().unwrap();
            assert_eq!(read.predicate.step(), Some(step));
            assert_eq!(read, record);
        }
        assert!(
            record
                .begin(Step::Verifying, &dir.path().join("no/deploy.json"))
                .is_err()
        );
    }

    #[test]
    fn other_files_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(FILE_NAME);
        let mut record = record();
        record.begin(Step::Checking, &path).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        for other in [
            "{}",
            "",
            "[]",
            &text.replace("deploy:v1", "deploy:v2"),
            &text.replace("\"target\"", "\"tarjet\""),
        ] {
            std::fs::write(&path, other).unwrap();
            assert!(DeployRecord::read(&path).is_err(), "{other}");
        }
    }
}
