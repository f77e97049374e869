//! What `approve`, `authorize` and `deploy` are about: the same inputs, judged by the trusted policy, and the same facts.

use std::path::{Path, PathBuf};

use clap::Args;
use jiff::Timestamp;

use super::Failure;
use super::args::{Globals, InputArgs};
use super::trust::{Signers, Strictness, TrustArgs, Trusted, failure};
use super::{check, who};
use crate::approval::statement::{Deployment, Inputs, Source};
use crate::approval::{IntentDigest, Person, Sha256Hex};
use crate::authorize::{self, Decision, Facts, Given, Platforms, Terms};
use crate::bundle::Bundle;
use crate::host::approval_files::{self, ApprovalFile};
use crate::host::manifest::OwnFiles;
use crate::host::out;
use crate::host::source::{ARTIFACT_GLOBS, SourceQuery, glob_set, inspect};
use crate::host::sync::SyncGlobs;
use crate::input::{self, Input, Loaded, MANIFEST};
use crate::json::Value;
use crate::policy::Level;
use crate::report::{Report, Status};
use crate::text::visible;

/// Names by which the CLI finds a bundle (`bundle/config/filename.go`, seen at 1.13).
const BUNDLE_FILES: [&str; 4] = [
    "databricks.yml",
    "databricks.yaml",
    "bundle.yml",
    "bundle.yaml",
];

/// Names of approvals and of what is exported beside them.
pub(super) const APPROVAL_FILES: &str = "*.json,*.pae,*.sig";

/// The folder of approvals beside the plan.
const APPROVALS: &str = "approvals";

/// The plan, what it is judged by, and the code that ships with it.
#[derive(Debug, Args)]
pub(super) struct SubjectArgs {
    #[command(flatten)]
    pub(super) inputs: InputArgs,
    #[command(flatten)]
    pub(super) trust: TrustArgs,
    /// The bundle's folder, where databricks.yml is
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(super) source: PathBuf,
    /// The folder of approvals [default: approvals/ beside the plan]
    #[arg(long, value_name = "DIR")]
    pub(super) approvals: Option<PathBuf>,
    /// The CI run that an approval is for, as PROVIDER:REPOSITORY:RUN:ATTEMPT [default: this run, in GitHub Actions and Azure Pipelines]
    #[arg(long, value_name = "RUN")]
    pub(super) ci_run: Option<String>,
}

/// Everything about one plan.
#[derive(Debug)]
pub(super) struct Subject {
    pub(super) loaded: Loaded,
    /// The judgement, with an empty body.
    pub(super) report: Report,
    pub(super) trusted: Trusted,
    pub(super) people: Vec<Person>,
    pub(super) facts: Facts,
    /// What differs from the commit, in words.
    pub(super) differences: Vec<String>,
    /// The folder of approvals.
    pub(super) folder: PathBuf,
}

impl SubjectArgs {
    /// The folder of approvals.
    pub(super) fn folder(&self) -> PathBuf {
        let plan = &self.inputs.plan;
        match &self.approvals {
            Some(folder) => folder.clone(),
            None if plan.is_dir() => plan.join(APPROVALS),
            None => plan.parent().unwrap_or(Path::new("")).join(APPROVALS),
        }
    }

    /// Reads, judges and looks at the source. `own` are further files of the gate's own: the log, reports.
    pub(super) fn gather(
        &self,
        command: &'static str,
        own: &[&Path],
        strict: Strictness,
        globals: Globals,
    ) -> Result<Subject, Failure> {
        let colour = globals.colour(out::stderr_is_terminal());
        let (trusted, loaded) = both(
            || self.trust.load(&self.source, strict, colour),
            || input::load(&self.inputs.paths(), &self.inputs.limits()),
        );
        let (trusted, loaded) = (trusted?, loaded?);
        let now = Timestamp::now();
        let bundle = loaded.bundle.as_ref().ok_or_else(|| {
            Failure::input(
                "error: expected the bundle JSON, found none: the plan alone says neither bundle nor target nor workspace\n  help: give it with --bundle, or a folder made by `collect`",
            )
        })?;
        let folder = self.folder();
        let own = own
            .iter()
            .fold(OwnFiles::default(), |files, path| files.file(path));
        let own = own_files(&self.inputs, own.folder(&folder, APPROVAL_FILES));
        let targets = self.inputs.targets();
        let (looked, report) = both(
            || look_at(&self.source, Some(bundle), &own),
            || check::judged(command, &loaded, &targets, &trusted.policy, now),
        );
        let looked = looked?;
        let facts = Facts {
            now,
            plan: sha256(&report.plan.sha256)?,
            intent: intent(&report)?,
            inputs: inputs(&loaded)?,
            unbound: looked.unbound,
            source: looked.source,
            policy: trusted.bound.clone(),
            deployment: deployment(&loaded, bundle)?,
            cli_version: report.plan.cli_version.clone(),
            verdict: report.verdict,
            denied: denied(&report),
            to_accept: to_accept(&report)?,
            first_deploy_proof: None,
            ci: match &self.ci_run {
                Some(text) => Some(who::ci_run(text)?),
                None => who::this_run(),
            },
            author: Vec::new(),
            actor: Vec::new(),
            witnessed: Vec::new(),
            platforms: Platforms::default(),
        };
        Ok(Subject {
            people: authorize::people(&trusted.policy),
            loaded,
            report,
            trusted,
            facts,
            differences: looked.differences,
            folder,
        })
    }
}

/// Does two things at once: git is waited for while the plan is read and judged.
fn both<A: Send, B>(one: impl FnOnce() -> A + Send, other: impl FnOnce() -> B) -> (A, B) {
    std::thread::scope(|scope| {
        let one = scope.spawn(one);
        let other = other();
        match one.join() {
            Ok(one) => (one, other),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

/// The gate's own files: they never count as a change of the source.
pub(super) fn own_files(inputs: &InputArgs, mut files: OwnFiles) -> OwnFiles {
    let paths = inputs.paths();
    if paths.plan.is_dir() {
        let names = [Input::Plan, Input::Bundle, Input::State, Input::Warnings]
            .into_iter()
            .filter_map(Input::file)
            .chain([MANIFEST, "summary.json"]);
        for name in names {
            files = files.file(&paths.plan.join(name));
        }
    } else {
        files = files.file(&paths.plan);
    }
    let beside = [paths.bundle, paths.base_bundle, paths.state, paths.warnings];
    beside
        .iter()
        .flatten()
        .fold(files, |files, path| files.file(path))
}

impl Subject {
    /// The files in the folder of approvals.
    pub(super) fn approvals(&self) -> Result<Vec<ApprovalFile>, Failure> {
        approval_files::read_folder(&self.folder).map_err(|e| failure(&e))
    }

    /// May it be deployed now?
    pub(super) fn decide(&self, files: &[ApprovalFile]) -> Decision {
        let given: Vec<Given<'_>> = files
            .iter()
            .map(|file| Given {
                name: &file.name,
                content: file.content.as_ref(),
            })
            .collect();
        let terms = Terms {
            approval: self.trusted.policy.approval.as_ref(),
            people: &self.people,
            trust: self.trusted.signers.as_ref().map(Signers::trust),
        };
        authorize::decide(&self.facts, &terms, &given)
    }
}

/// The source in a bundle's folder.
#[derive(Debug)]
pub(super) struct Looked {
    /// What an approval binds.
    pub(super) source: Source,
    /// What ships and has no digest, in words.
    pub(super) unbound: Vec<String>,
    /// What differs from the commit, in words.
    pub(super) differences: Vec<String>,
}

/// Looks at the source in a bundle's folder.
pub(super) fn look_at(
    folder: &Path,
    bundle: Option<&Bundle>,
    own: &OwnFiles,
) -> Result<Looked, Failure> {
    if !is_bundle_folder(folder) {
        return Err(Failure::input(format!(
            "error: --source: expected the bundle's folder (with {}), found {} without it",
            BUNDLE_FILES[0],
            visible(&folder.display().to_string())
        )));
    }
    let texts = |path: &[&str]| -> Vec<String> {
        bundle
            .and_then(|b| b.at(path))
            .and_then(Value::as_array)
            .unwrap_or_default()
            .iter()
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect()
    };
    let sync = SyncGlobs {
        include: texts(&["sync", "include"]),
        exclude: texts(&["sync", "exclude"]),
        paths: texts(&["sync", "paths"]),
    };
    let named = bundle.map(artifact_files).unwrap_or_default();
    let patterns = named.iter().flat_map(|(_, patterns)| patterns);
    let artifacts: Vec<&str> = ARTIFACT_GLOBS
        .into_iter()
        .chain(patterns.map(String::as_str))
        .collect();
    let found = inspect(SourceQuery {
        folder,
        sync: &sync,
        own,
        artifacts: &artifacts,
    })
    .map_err(|e| failure(&e))?;
    let mut unbound: Vec<String> = found
        .differences
        .iter()
        .filter(|d| !d.kind.is_bound())
        .map(ToString::to_string)
        .collect();
    for (name, patterns) in &named {
        let globs = glob_set(patterns).map_err(|e| failure(&e))?;
        if !found
            .source
            .artifacts
            .iter()
            .any(|a| globs.is_match(&a.path))
        {
            unbound.push(format!(
                "artifact {name}: no built file in the bundle's folder"
            ));
        }
    }
    Ok(Looked {
        source: found.source,
        unbound,
        differences: found.differences.iter().map(ToString::to_string).collect(),
    })
}

/// Whether the CLI would find a bundle here.
pub(super) fn is_bundle_folder(folder: &Path) -> bool {
    BUNDLE_FILES.iter().any(|name| folder.join(name).is_file())
}

/// `artifacts.<name>.files[].source` of the bundle JSON, by artifact.
///
/// They are absolute paths on the machine that planned, whose folder for the bundle is not known here: every end of such a path
/// counts from the bundle's folder, so what is bound is rather too much than too little.
fn artifact_files(bundle: &Bundle) -> Vec<(String, Vec<String>)> {
    let mut all = Vec::new();
    let artifacts = bundle.at(&["artifacts"]).and_then(Value::as_object);
    for (name, artifact) in artifacts.into_iter().flat_map(|all| all.iter()) {
        let files = artifact.get("files").and_then(Value::as_array);
        for file in files.unwrap_or_default() {
            if let Some(path) = file.get("source").and_then(Value::as_str) {
                let mut rest = path.trim_start_matches("./").trim_start_matches('/');
                let mut ends = vec![rest.to_owned()];
                while let Some((_, end)) = rest.split_once('/') {
                    ends.push(end.to_owned());
                    rest = end;
                }
                all.push((name.to_owned(), ends));
            }
        }
    }
    all
}

fn sha256(text: &str) -> Result<Sha256Hex, Failure> {
    Sha256Hex::new(text).map_err(|e| failure(&e))
}

fn intent(report: &Report) -> Result<IntentDigest, Failure> {
    let intent = report.plan.intent.as_deref().ok_or_else(|| {
        Failure::input(
            "error: expected a plan of the direct engine, found one of the Terraform engine: it says only which actions it takes, and `deploy --plan` cannot replay it\n  help: use a CLI with the direct engine",
        )
    })?;
    IntentDigest::new(intent).map_err(|e| failure(&e))
}

fn inputs(loaded: &Loaded) -> Result<Inputs, Failure> {
    let mut inputs = Inputs::default();
    for source in &loaded.sources {
        let digest = Some(sha256(&source.sha256)?);
        match source.input {
            Input::Plan => {}
            Input::Bundle => inputs.bundle = digest,
            Input::BaseBundle => inputs.base_bundle = digest,
            Input::State => inputs.state = digest,
            Input::Warnings => inputs.warnings = digest,
        }
    }
    Ok(inputs)
}

fn deployment(loaded: &Loaded, bundle: &Bundle) -> Result<Deployment, Failure> {
    let text = |path: &[&str]| {
        bundle.text(path).map(str::to_owned).ok_or_else(|| {
            Failure::input(format!(
                "error: expected a bundle JSON with {}, found none\n  help: write it again with `databricks bundle validate -o json --include-locations -t TARGET`",
                path.join(".")
            ))
        })
    };
    let plan = &loaded.plan;
    Ok(Deployment {
        bundle: text(&["bundle", "name"])?,
        target: bundle.target().to_owned(),
        host: text(&["workspace", "host"])?,
        root_path: text(&["workspace", "root_path"])?,
        lineage: plan.lineage.as_deref().map(str::to_owned),
        serial: plan.serial,
        first_deploy: plan.lineage.is_none(),
    })
}

fn denied(report: &Report) -> Vec<String> {
    report
        .findings
        .iter()
        .filter(|f| f.level == Level::Deny && f.status != Status::Waived)
        .map(|f| match &f.resource {
            Some(resource) => format!("{} {resource}", f.rule),
            None => f.rule.clone(),
        })
        .collect()
}

fn to_accept(report: &Report) -> Result<Vec<Sha256Hex>, Failure> {
    let mut all = report
        .findings
        .iter()
        .filter(|f| f.level == Level::Review && f.status != Status::Waived)
        .map(|f| sha256(&f.fingerprint))
        .collect::<Result<Vec<_>, _>>()?;
    all.sort();
    all.dedup();
    Ok(all)
}
