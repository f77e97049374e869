//! `digest PLAN`: the digests that an approval binds.

use std::path::PathBuf;

use clap::Args;

use super::args::{Globals, InputArgs};
use super::outputs::{OutputArgs, Outputs};
use super::policy::PolicyArgs;
use super::trust::failure;
use super::{Failure, check, subject};
use crate::digest;
use crate::host::manifest::OwnFiles;
use crate::host::out;
use crate::input;
use crate::report::{Body, DigestBody, Exit, LeftOut};

/// Print the digests of a plan: of its bytes, of its intent, of the policy and of the source
#[derive(Debug, Args)]
#[command(
    after_help = "The plan digest is SHA-256 of the file, as `sha256sum` prints it. The intent digest (`bgi1:`) is the same for two
plans that would do the same; docs/digests.md says exactly what is in it.

Examples:
  bundlegate digest plan.json
  bundlegate digest plan.json --explain
  bundlegate digest plan.json --bundle bundle.json --source . -o json

Exit codes: 0 the digests were printed, 2 an input cannot be read."
)]
pub(super) struct DigestArgs {
    #[command(flatten)]
    inputs: InputArgs,
    #[command(flatten)]
    policy: PolicyArgs,
    /// The bundle's folder, for the source's digest [default: the current folder if it holds a databricks.yml]
    #[arg(long, value_name = "DIR")]
    source: Option<PathBuf>,
    /// Show the canonical form, and what was left out of it and why
    #[arg(long)]
    explain: bool,
    #[command(flatten)]
    outputs: OutputArgs,
}

pub(super) fn run(args: &DigestArgs, globals: Globals) -> Result<Exit, Failure> {
    let outputs = Outputs::parse(&args.outputs)?;
    let policy = args
        .policy
        .load(globals.colour(out::stderr_is_terminal()))?;
    let loaded = input::load(&args.inputs.paths(), &args.inputs.limits())?;
    let mut report = check::judged(
        "digest",
        &loaded,
        &args.inputs.targets(),
        &policy,
        args.policy.now(),
    );
    let intent = digest::intent(&loaded.plan);
    let here = PathBuf::from(".");
    let folder = match &args.source {
        Some(folder) => Some(folder),
        None => Some(&here).filter(|f| subject::is_bundle_folder(f)),
    };
    let source = match folder {
        None => None,
        Some(folder) => {
            let own = subject::own_files(&args.inputs, OwnFiles::default());
            let looked = subject::look_at(folder, loaded.bundle.as_ref(), &own)?;
            Some(serde_json::to_value(&looked.source).map_err(|e| failure(&e))?)
        }
    };
    report.exit_code = Exit::Open.code();
    report.body = Body::Digest(DigestBody {
        plan: report.plan.sha256.clone(),
        intent: report.plan.intent.clone(),
        policy: digest::policy(&policy).to_string(),
        source,
        redacted: intent
            .as_ref()
            .map(|i| i.redacted.clone())
            .unwrap_or_default(),
        left_out: intent
            .iter()
            .flat_map(|i| &i.left_out)
            .map(|(by, resource, path)| LeftOut {
                normaliser: by.as_str(),
                resource: resource.clone(),
                path: path.clone(),
                reason: by.reason(),
            })
            .collect(),
        canonical: args.explain.then(|| digest::shown(&loaded.plan)).flatten(),
    });
    outputs.write(&report, globals)?;
    Ok(Exit::Open)
}
