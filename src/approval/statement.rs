//! What a person signs: an in-toto Statement v1 about one plan.
//!
//! The shape follows the in-toto Attestation Framework, "Statement layer" v1. Every struct refuses unknown fields, and a
//! derived struct refuses a field given twice; nothing is a free map, is flattened or untagged.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::digest_types::{GitObjectId, IntentDigest, Sha256Hex};

/// The predicate type of an approval.
pub const PREDICATE_TYPE: &str = "urn:bundlegate:approval:v1";

/// The type of every in-toto Statement of version 1.
pub const STATEMENT_TYPE: &str = "https://in-toto.io/Statement/v1";

/// The longest text field of an approval, in bytes.
pub const MAX_TEXT_BYTES: usize = 4096;

/// The most findings or artifacts that one approval can list.
pub const MAX_LIST_ITEMS: usize = 10_000;

/// A statement that cannot be an approval.
#[derive(Debug, thiserror::Error)]
pub enum StatementError {
    /// Not the JSON that was expected.
    #[error("the approval's payload cannot be read: {0}")]
    Json(#[from] serde_json::Error),
    /// The JSON is right and its content is not.
    #[error("the approval's {field}: expected {expected}, found {found}")]
    Content {
        /// The field, by its path.
        field: &'static str,
        /// What was expected.
        expected: &'static str,
        /// What was found.
        found: String,
    },
}

/// An in-toto Statement v1 whose predicate is an approval.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Statement {
    /// [`STATEMENT_TYPE`].
    #[serde(rename = "_type")]
    pub statement_type: String,
    /// The plan file, and nothing else.
    pub subject: Vec<Subject>,
    /// [`PREDICATE_TYPE`].
    #[serde(rename = "predicateType")]
    pub predicate_type: String,
    /// What was decided, about what, by whom.
    pub predicate: Approval,
}

/// The plan file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Subject {
    /// The file's name, for people. It is not compared.
    pub name: String,
    /// Its digest.
    pub digest: SubjectDigest,
}

/// A digest set of one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SubjectDigest {
    /// SHA-256 of the plan file's bytes.
    pub sha256: Sha256Hex,
}

/// What was decided, about what, by whom.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Approval {
    /// Yes or no.
    pub decision: Decision,
    /// The plan's intent digest.
    pub intent: IntentDigest,
    /// Digests of the other inputs of the judgement.
    pub inputs: Inputs,
    /// The code that ships with the plan.
    pub source: Source,
    /// The policy that judged.
    pub policy: PolicyRef,
    /// Where the plan goes.
    pub deployment: Deployment,
    /// `cli_version` of the plan, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cli_version: Option<String>,
    /// What the gate said when the person decided.
    pub verdict: Verdict,
    /// Fingerprints of the findings that the person accepted, sorted, each once.
    pub accepted: Vec<Sha256Hex>,
    /// The principal who decides, as `allowed_signers` knows them.
    pub approver: String,
    /// When.
    pub time: Timestamp,
    /// Until when an approval counts. A rejection does not expire.
    pub expires: Timestamp,
    /// Why, in the person's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// A ticket or change number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ticket: Option<String>,
    /// The CI run that the decision is for, if it is for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ci: Option<CiRun>,
}

/// Yes or no.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Decision {
    /// This plan may be deployed.
    Approve,
    /// This plan must not be deployed, whoever else approves it.
    Reject,
}

/// What the gate said when the person decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// Nothing to review.
    Open,
    /// Findings that a person may accept.
    Review,
    /// A finding that no approval lifts: only a rejection can be recorded.
    Closed,
}

/// Digests of the inputs beside the plan; absent means that there was none.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Inputs {
    /// The bundle JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bundle: Option<Sha256Hex>,
    /// The bundle JSON of the branch that is deployed now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_bundle: Option<Sha256Hex>,
    /// The deployed state (`resources.json`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<Sha256Hex>,
    /// What `bundle plan` wrote to stderr.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warnings: Option<Sha256Hex>,
}

/// The code that ships with the plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Source {
    /// The source tree.
    pub tree: SourceTree,
    /// Built files that the deploy uploads, sorted by path, each once.
    pub artifacts: Vec<Artifact>,
}

/// The source tree, under git or outside it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum SourceTree {
    /// A commit, and whether the working tree holds just that.
    Git {
        /// The commit.
        commit: GitObjectId,
        /// Its tree.
        tree: GitObjectId,
        /// The bundle's folder inside the repository, `""` at its top.
        folder: String,
        /// Does the working tree hold just that?
        clean: bool,
        /// If not: the digest of everything that differs, contents included.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        changes: Option<Sha256Hex>,
    },
    /// Outside git.
    Manifest {
        /// The digest of all files with their modes and contents.
        sha256: Sha256Hex,
        /// How many there are.
        files: u64,
    },
}

/// A built file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Artifact {
    /// Its path from the bundle's folder, with `/`.
    pub path: String,
    /// Its digest.
    pub sha256: Sha256Hex,
    /// Its size in bytes.
    pub size: u64,
}

/// The policy that judged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PolicyRef {
    /// The digest of its resolved form.
    pub sha256: Sha256Hex,
    /// Where it came from: a path, or the name of an embedded policy.
    pub path: String,
}

/// Where the plan goes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Deployment {
    /// The bundle's name.
    pub bundle: String,
    /// The target.
    pub target: String,
    /// The workspace's host.
    pub host: String,
    /// The bundle's root path in the workspace.
    pub root_path: String,
    /// The state's lineage; absent on a first deploy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lineage: Option<String>,
    /// The state's serial that the plan was made for; absent on a first deploy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub serial: Option<u64>,
    /// No state exists yet.
    pub first_deploy: bool,
}

/// A run of a CI system.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CiRun {
    /// `github` or `azure`.
    pub provider: String,
    /// The repository, as the provider names it.
    pub repository: String,
    /// The run's id.
    pub run_id: String,
    /// Which attempt of it, from 1.
    pub attempt: u32,
    /// A link for people; not compared.
    pub url: String,
}

impl Statement {
    /// Puts an approval around a plan.
    ///
    /// # Errors
    /// [`StatementError::Content`]: what could not be read back is not written either.
    pub fn new(
        plan_name: &str,
        plan: &Sha256Hex,
        predicate: Approval,
    ) -> Result<Self, StatementError> {
        let statement = Self {
            statement_type: STATEMENT_TYPE.to_owned(),
            subject: vec![Subject {
                name: plan_name.to_owned(),
                digest: SubjectDigest {
                    sha256: plan.clone(),
                },
            }],
            predicate_type: PREDICATE_TYPE.to_owned(),
            predicate,
        };
        statement.validate()?;
        Ok(statement)
    }

    /// Reads the payload of an envelope.
    ///
    /// # Errors
    /// JSON that is not exactly an approval of this version, and content that contradicts itself.
    pub fn parse(payload: &[u8]) -> Result<Self, StatementError> {
        let statement: Self = serde_json::from_slice(payload)?;
        statement.validate()?;
        Ok(statement)
    }

    /// The payload to sign: compact JSON in the order of the fields.
    ///
    /// # Errors
    /// Only if JSON cannot be written.
    pub fn to_payload(&self) -> Result<Vec<u8>, StatementError> {
        Ok(serde_json::to_vec(self)?)
    }

    /// The digest of the plan that this is about.
    ///
    /// # Errors
    /// Not exactly one subject; cannot happen after [`Self::new`] and [`Self::parse`].
    pub fn plan(&self) -> Result<&Sha256Hex, StatementError> {
        match self.subject.as_slice() {
            [only] => Ok(&only.digest.sha256),
            other => Err(content(
                "subject",
                "exactly one plan file",
                format!("{} subjects", other.len()),
            )),
        }
    }

    /// The name of the file that holds this decision: `<12 hex>-<principal>.json`, a rejection ends in `.reject.json`, so
    /// that it never replaces an approval.
    ///
    /// # Errors
    /// As for [`Self::plan`].
    pub fn file_name(&self) -> Result<String, StatementError> {
        let principal = &self.predicate.approver;
        let mut name: String = principal
            .chars()
            .take(64)
            .map(|c| match c {
                'a'..='z' | 'A'..='Z' | '0'..='9' | '.' | '_' | '-' | '@' | '+' => c,
                _ => '_',
            })
            .collect();
        if name != *principal {
            // Two principals that look alike as file names must not share one.
            name.push('-');
            name.push_str(Sha256Hex::of(principal.as_bytes()).short());
        }
        let suffix = match self.predicate.decision {
            Decision::Approve => "json",
            Decision::Reject => "reject.json",
        };
        Ok(format!("{}-{name}.{suffix}", self.plan()?.short()))
    }

    fn validate(&self) -> Result<(), StatementError> {
        let p = &self.predicate;
        expect_text("_type", STATEMENT_TYPE, &self.statement_type)?;
        expect_text("predicateType", PREDICATE_TYPE, &self.predicate_type)?;
        self.plan()?;
        check_principal(&p.approver)?;
        for subject in &self.subject {
            check_text("subject.name", &subject.name)?;
        }
        for (field, text) in [
            ("policy.path", &p.policy.path),
            ("deployment.bundle", &p.deployment.bundle),
            ("deployment.target", &p.deployment.target),
            ("deployment.host", &p.deployment.host),
            ("deployment.root_path", &p.deployment.root_path),
        ] {
            check_text(field, text)?;
        }
        for (field, text) in [
            ("cli_version", &p.cli_version),
            ("deployment.lineage", &p.deployment.lineage),
            ("reason", &p.reason),
            ("ticket", &p.ticket),
        ] {
            if let Some(text) = text {
                check_text(field, text)?;
            }
        }
        if let Some(ci) = &p.ci {
            check_text("ci.provider", &ci.provider)?;
            check_text("ci.repository", &ci.repository)?;
            check_text("ci.run_id", &ci.run_id)?;
            check_text("ci.url", &ci.url)?;
        }
        check_sorted("accepted", &p.accepted)?;
        let paths: Vec<_> = p.source.artifacts.iter().map(|a| &a.path).collect();
        check_sorted("source.artifacts", &paths)?;
        for path in paths {
            check_text("source.artifacts.path", path)?;
        }
        self.validate_meaning()
    }

    /// Fields that must agree with each other.
    fn validate_meaning(&self) -> Result<(), StatementError> {
        let p = &self.predicate;
        if p.decision == Decision::Approve && p.verdict == Verdict::Closed {
            return Err(content(
                "decision",
                "no approval of a plan that the policy denies",
                "approve with the verdict closed",
            ));
        }
        if p.expires <= p.time {
            return Err(content(
                "expires",
                "a time after the approval's own",
                format!("{} after {}", p.expires, p.time),
            ));
        }
        let d = &p.deployment;
        if d.first_deploy != d.lineage.is_none() || d.lineage.is_some() != d.serial.is_some() {
            return Err(content(
                "deployment",
                "lineage and serial, or first_deploy without both",
                format!(
                    "first_deploy {}, lineage {}, serial {}",
                    d.first_deploy,
                    d.lineage.is_some(),
                    d.serial.is_some()
                ),
            ));
        }
        if let SourceTree::Git { clean, changes, .. } = &p.source.tree
            && *clean == changes.is_some()
        {
            return Err(content(
                "source.tree",
                "a clean tree, or the digest of its changes",
                format!("clean {clean}, changes {}", changes.is_some()),
            ));
        }
        Ok(())
    }
}

fn content(
    field: &'static str,
    expected: &'static str,
    found: impl Into<String>,
) -> StatementError {
    StatementError::Content {
        field,
        expected,
        found: found.into(),
    }
}

fn expect_text(
    field: &'static str,
    expected: &'static str,
    found: &str,
) -> Result<(), StatementError> {
    if found == expected {
        return Ok(());
    }
    let found: String = found.chars().take(100).collect();
    Err(content(field, expected, format!("{found:?}")))
}

fn check_text(field: &'static str, text: &str) -> Result<(), StatementError> {
    if text.is_empty() {
        return Err(content(field, "some text", "none"));
    }
    if text.len() > MAX_TEXT_BYTES {
        return Err(content(
            field,
            "at most 4096 bytes",
            format!("{} bytes", text.len()),
        ));
    }
    Ok(())
}

/// A principal is one name: no pattern, nothing that a list or a terminal could take for something else.
fn check_principal(principal: &str) -> Result<(), StatementError> {
    let odd = |c: char| c.is_control() || matches!(c, ',' | '*' | '?' | '!' | '"');
    if principal.is_empty()
        || principal.len() > 256
        || principal.trim() != principal
        || principal.contains(odd)
    {
        let found: String = principal.chars().take(100).collect();
        return Err(content(
            "approver",
            "one principal of at most 256 bytes, without , * ? ! and quotes",
            format!("{found:?}"),
        ));
    }
    Ok(())
}

fn check_sorted<T: Ord>(field: &'static str, items: &[T]) -> Result<(), StatementError> {
    if items.len() > MAX_LIST_ITEMS {
        return Err(content(
            field,
            "at most 10000 items",
            format!("{} items", items.len()),
        ));
    }
    if items.iter().zip(items.iter().skip(1)).any(|(a, b)| a >= b) {
        return Err(content(field, "sorted items, each once", "others"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::approval::testing;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    fn good() -> Value {
        serde_json::to_value(testing::statement()).unwrap()
    }

    fn refuse(change: impl FnOnce(&mut Value)) -> String {
        let mut value = good();
        change(&mut value);
        Statement::parse(value.to_string().as_bytes())
            .unwrap_err()
            .to_string()
    }

    #[test]
    fn the_payload_is_this() {
        let payload = testing::statement().to_payload().unwrap();
        insta::assert_snapshot!(String::from_utf8(payload.clone()).unwrap(), @r#"{"_type":"https://in-toto.io/Statement/v1","subject":[{"name":"plan.json","digest":{"sha256":"64879f7d6b960a01909762d911a32d4582c20010c5641ee90278b644a9e3b525"}}],"predicateType":"urn:bundlegate:approval:v1","predicate":{"decision":"approve","intent":"bgi1:282bcbc3f0a34a8a4ac6f00c276fcf66cf3757a3332e83d92208e5079af46922","inputs":{"bundle":"1e6ed65d77d6364eeaed5a745ba5c4985ae2b700dd85d7cf7f027bdf294a33fc"},"source":{"tree":{"git":{"commit":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","tree":"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb","folder":"","clean":true}},"artifacts":[]},"policy":{"sha256":"823412d1eacb67956220e532959f0104603057c88704863ca38e7cd188fda812","path":"bundlegate.yml"},"deployment":{"bundle":"orders","target":"prod","host":"https://example.test","root_path":"/Workspace/orders","lineage":"8c6f","serial":7,"first_deploy":false},"cli_version":"1.21.0","verdict":"review","accepted":["8bf18252cb6dadd5f42fca108271e688696209cdb6fae22e32318b204e6eb37d"],"approver":"rm1@example.com","time":"2026-11-30T10:00:00Z","expires":"2026-12-01T10:00:00Z","reason":"planned move"}}"#);
        assert_eq!(Statement::parse(&payload).unwrap(), testing::statement());
    }

    #[test]
    fn what_contradicts_itself_is_refused() {
        let report = [
            refuse(|v| v["_type"] = json!("https://in-toto.io/Statement/v0.1")),
            refuse(|v| v["predicateType"] = json!("urn:bundlegate:approval:v2")),
            refuse(|v| v["subject"] = json!([])),
            refuse(|v| {
                let again = v["subject"][0].clone();
                v["subject"].as_array_mut().unwrap().push(again);
            }),
            refuse(|v| v["predicate"]["approver"] = json!("*")),
            refuse(|v| v["predicate"]["approver"] = json!("a@x,b@x")),
            refuse(|v| v["predicate"]["approver"] = json!(" a@x")),
            refuse(|v| v["predicate"]["verdict"] = json!("closed")),
            refuse(|v| v["predicate"]["expires"] = v["predicate"]["time"].clone()),
            refuse(|v| v["predicate"]["deployment"]["first_deploy"] = json!(true)),
            refuse(|v| v["predicate"]["deployment"]["lineage"] = Value::Null),
            refuse(|v| v["predicate"]["source"]["tree"]["git"]["clean"] = json!(false)),
            refuse(|v| v["predicate"]["reason"] = json!("x".repeat(MAX_TEXT_BYTES + 1))),
            refuse(|v| v["predicate"]["deployment"]["target"] = json!("")),
            refuse(|v| {
                let again = v["predicate"]["accepted"][0].clone();
                v["predicate"]["accepted"]
                    .as_array_mut()
                    .unwrap()
                    .push(again);
            }),
        ];
        insta::assert_snapshot!(report.join("\n"), @r#"
        the approval's _type: expected https://in-toto.io/Statement/v1, found "https://in-toto.io/Statement/v0.1"
        the approval's predicateType: expected urn:bundlegate:approval:v1, found "urn:bundlegate:approval:v2"
        the approval's subject: expected exactly one plan file, found 0 subjects
        the approval's subject: expected exactly one plan file, found 2 subjects
        the approval's approver: expected one principal of at most 256 bytes, without , * ? ! and quotes, found "*"
        the approval's approver: expected one principal of at most 256 bytes, without , * ? ! and quotes, found "a@x,b@x"
        the approval's approver: expected one principal of at most 256 bytes, without , * ? ! and quotes, found " a@x"
        the approval's decision: expected no approval of a plan that the policy denies, found approve with the verdict closed
        the approval's expires: expected a time after the approval's own, found 2026-11-30T10:00:00Z after 2026-11-30T10:00:00Z
        the approval's deployment: expected lineage and serial, or first_deploy without both, found first_deploy true, lineage true, serial true
        the approval's deployment: expected lineage and serial, or first_deploy without both, found first_deploy false, lineage false, serial true
        the approval's source.tree: expected a clean tree, or the digest of its changes, found clean false, changes false
        the approval's reason: expected at most 4096 bytes, found 4097 bytes
        the approval's deployment.target: expected some text, found none
        the approval's accepted: expected sorted items, each once, found others
        "#);
    }

    #[test]
    fn another_shape_is_refused() {
        // Every object of the statement refuses a field that it does not know.
        let mut objects = vec![String::new()];
        let mut seen = 0;
        while let Some(pointer) = objects.pop() {
            let value = good();
            let here = value.pointer(&pointer).unwrap();
            match here {
                Value::Object(map) => {
                    objects.extend(map.keys().map(|k| format!("{pointer}/{k}")));
                    let mut changed = value.clone();
                    changed.pointer_mut(&pointer).unwrap()["x"] = json!(1);
                    assert!(
                        Statement::parse(changed.to_string().as_bytes()).is_err(),
                        "{pointer}"
                    );
                    seen += 1;
                }
                Value::Array(items) => {
                    objects.extend((0..items.len()).map(|i| format!("{pointer}/{i}")))
                }
                _ => {}
            }
        }
        assert_eq!(seen, 10, "every object was tried");
        for (from, to) in [
            ("\"serial\":7", "\"serial\":7,\"serial\":8"),
            ("\"serial\":7", "\"serial\":7,\"seria\\u006c\":7"),
            ("\"serial\":7", "\"serial\":7.0"),
            ("\"serial\":7", "\"serial\":-7"),
            ("\"serial\":7", "\"serial\":18446744073709551616"),
            ("\"clean\":true", "\"clean\":true,\"clean\":true"),
            ("\"approve\"", "\"Approve\""),
            (
                "{\"git\":{",
                "{\"manifest\":{\"sha256\":\"00\",\"files\":1},\"git\":{",
            ),
            ("{\"_type\"", "\u{feff}{\"_type\""),
        ] {
            let text = String::from_utf8(testing::statement().to_payload().unwrap()).unwrap();
            assert!(text.contains(from), "{from}");
            assert!(
                Statement::parse(text.replacen(from, to, 1).as_bytes()).is_err(),
                "{to}"
            );
        }
        let mut trailing = testing::statement().to_payload().unwrap();
        trailing.extend_from_slice(b" {}");
        assert!(Statement::parse(&trailing).is_err());
    }

    #[test]
    fn file_names() {
        let named = |approver: &str, decision| {
            let mut statement = testing::statement();
            statement.predicate.approver = approver.to_owned();
            statement.predicate.decision = decision;
            statement.file_name().unwrap()
        };
        insta::assert_snapshot!(named("rm1@example.com", Decision::Approve), @"64879f7d6b96-rm1@example.com.json");
        insta::assert_snapshot!(named("rm1@example.com", Decision::Reject), @"64879f7d6b96-rm1@example.com.reject.json");
        insta::assert_snapshot!(named("../x y", Decision::Approve), @"64879f7d6b96-.._x_y-46c740c677b0.json");
        assert_ne!(
            named("a/b", Decision::Approve),
            named("a\\b", Decision::Approve)
        );
    }

    proptest! {
        #[test]
        fn file_names_stay_in_their_folder(approver in ".{1,80}") {
            let mut statement = testing::statement();
            statement.predicate.approver = approver;
            let name = statement.file_name().unwrap();
            prop_assert!(name.is_ascii() && !name.contains(['/', '\\', ':']) && name.len() < 120);
        }

        #[test]
        fn parse_never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = Statement::parse(&bytes);
        }
    }
}
