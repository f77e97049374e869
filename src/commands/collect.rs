//! `collect`: what the CLI says of a target, in one folder with a manifest: the artifact that CI hands from job to job.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::Args;
use sha2::{Digest as _, Sha256};

use super::Failure;
use super::args::Globals;
use super::cli_args::{CliArgs, target_of, words};
use crate::bundle::{Bundle, State};
use crate::host::cli::Cli;
use crate::host::git::Git;
use crate::host::out;
use crate::input::{MANIFEST, Manifest, ManifestSchema};
use crate::json::{Limits, MAX_INPUT_BYTES};
use crate::plan::{self, Engine, Plan};
use crate::remote::databricks::{Environment, Presence, Wanted, Workspace};
use crate::remote::http::HttpOptions;
use crate::remote::run::block_on;
use crate::report::Exit;
use crate::text::{quoted, visible};

/// Collect plan, bundle JSON, state and warnings of a target in one folder
#[derive(Debug, Args)]
#[command(
    after_help = "Runs `databricks bundle plan`, `bundle validate` and `bundle summary` in the current folder, and writes
    plan.json bundle.json summary.json state.json warnings.txt manifest.json
The folder appears whole or not at all. It can hold secrets in clear: keep it as you keep them.

Examples:
  bundlegate collect -t prod --out gate
  bundlegate collect -t prod --out gate --var region=eu --profile prod
  bundlegate check gate

Exit codes: 0 collected, 2 the CLI is missing, too old, failed, or says what cannot be judged, 130 interrupted."
)]
pub(super) struct CollectArgs {
    /// The target [env: DATABRICKS_BUNDLE_TARGET, then DATABRICKS_BUNDLE_ENV]
    #[arg(short, long, value_name = "TARGET")]
    target: Option<String>,
    /// The folder; one that `collect` made before is replaced
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    #[command(flatten)]
    cli: CliArgs,
    /// Largest output of the CLI that is kept, in bytes
    #[arg(long, value_name = "BYTES", default_value_t = MAX_INPUT_BYTES)]
    max_size: u64,
}

pub(super) fn run(args: &CollectArgs, globals: Globals) -> Result<Exit, Failure> {
    let target = target_of(args.target.as_deref())?;
    let limits = Limits {
        bytes: args.max_size,
        ..Limits::default()
    };
    check_out(&args.out)?;
    let cli = args.cli.cli(&target, Path::new("."));
    let files = block_on(collect(args, &cli, &target, &limits, globals))??;
    write(&args.out, &files)?;
    if !globals.quiet {
        out::stderr(&format!(
            "collected {} for target {}\n",
            visible(&args.out.display().to_string()),
            visible(&target)
        ));
    }
    Ok(Exit::Open)
}

/// The files of the folder, by name; the manifest last.
type Files = Vec<(&'static str, Vec<u8>)>;

async fn collect(
    args: &CollectArgs,
    cli: &Cli,
    target: &str,
    limits: &Limits,
    globals: Globals,
) -> Result<Files, Failure> {
    let version = cli.version().await?;
    let say = |what: &str| {
        if !globals.quiet {
            out::stderr(&format!("running databricks {what}\n"));
        }
    };
    say("bundle plan");
    let planned = cli
        .capture(
            &args.cli.selecting(&["bundle", "plan", "-o", "json"]),
            limits.bytes,
        )
        .await?;
    let plan = read_plan(&planned.stdout, limits)?;
    for line in String::from_utf8_lossy(&planned.stderr).lines() {
        if !globals.quiet {
            out::stderr(&format!("databricks | {}\n", cli.shown(line)));
        }
    }
    say("bundle validate");
    let validated = cli
        .capture(
            &words(&["bundle", "validate", "-o", "json", "--include-locations"]),
            limits.bytes,
        )
        .await?;
    let bundle = Bundle::read(&validated.stdout, limits).map_err(|e| {
        Failure::input(format!(
            "error: the output of `databricks bundle validate`: {}",
            e.message
        ))
    })?;
    if bundle.target() != target {
        return Err(Failure::input(format!(
            "error: expected the bundle of target {}, found that of {}; the CLI took another target",
            quoted(target),
            quoted(bundle.target())
        )));
    }
    say("bundle summary");
    let summary = cli
        .capture(&words(&["bundle", "summary", "-o", "json"]), limits.bytes)
        .await?;
    let state = state_of(args, &plan, &bundle, target, limits).await?;
    let mut files: Files = vec![
        ("plan.json", planned.stdout),
        ("bundle.json", validated.stdout),
        ("summary.json", summary.stdout),
        ("warnings.txt", planned.stderr),
    ];
    files.extend(state.map(|bytes| ("state.json", bytes)));
    let manifest = Manifest {
        schema: ManifestSchema::V1,
        files: files
            .iter()
            .map(|(name, bytes)| ((*name).to_owned(), hex::encode(Sha256::digest(bytes))))
            .collect::<BTreeMap<_, _>>(),
        cli_version: Some(version.to_string()),
        time: Some(jiff::Timestamp::now().to_string()),
        commit: Git::open(Path::new("."))
            .and_then(|git| git.head())
            .ok()
            .map(|(commit, _)| commit.to_string()),
        target: Some(target.to_owned()),
    };
    let mut text = serde_json::to_vec_pretty(&manifest)
        .map_err(|e| Failure::input(format!("error: {MANIFEST}: {e}")))?;
    text.push(b'\n');
    files.push((MANIFEST, text));
    Ok(files)
}

fn read_plan(bytes: &[u8], limits: &Limits) -> Result<Plan, Failure> {
    let plan = plan::read(bytes, limits).map_err(|e| {
        let help = e
            .help
            .map_or_else(String::new, |h| format!("\n  help: {h}"));
        Failure::input(format!(
            "error: the output of `databricks bundle plan`: {}{help}",
            e.message
        ))
    })?;
    if plan.engine == Engine::Terraform {
        return Err(Failure::input(
            "error: expected a plan of the direct engine, found one of the Terraform engine: it shows only actions and cannot be deployed with --plan\n  help: move the deployment to the direct engine (`databricks bundle deployment migrate`), or set `bundle.engine: direct` for a new one",
        ));
    }
    Ok(plan)
}

/// The deployed state that the plan was made against: the CLI's local copy where it is the same, else the workspace's file.
///
/// It is no error when neither can be had: what needs it says so, and the policy decides whether that is enough.
async fn state_of(
    args: &CollectArgs,
    plan: &Plan,
    bundle: &Bundle,
    target: &str,
    limits: &Limits,
) -> Result<Option<Vec<u8>>, Failure> {
    let Some(lineage) = plan.lineage.as_deref() else {
        return Ok(None);
    };
    let fits = |bytes: &[u8]| {
        State::read(bytes, limits)
            .is_ok_and(|s| s.lineage.as_deref() == Some(lineage) && s.serial == plan.serial)
    };
    let root = bundle
        .text(&["bundle", "git", "bundle_root_path"])
        .unwrap_or(".");
    let local = Git::open(Path::new("."))
        .map(|git| git.top().join(root))
        .unwrap_or_else(|_| PathBuf::from("."));
    for folder in [local, PathBuf::from(".")] {
        let path = folder
            .join(".databricks/bundle")
            .join(target)
            .join("resources.json");
        if let Ok(bytes) = crate::host::files::read(&path, limits.bytes)
            && fits(&bytes)
        {
            return Ok(Some(bytes));
        }
    }
    let no = |why: String| {
        out::stderr(&format!("warning: no state.json: {why}\n"));
        Ok(None)
    };
    let Some(path) = bundle.text(&["workspace", "state_path"]) else {
        return no("the bundle JSON has no workspace.state_path".to_owned());
    };
    let wanted = Wanted {
        profile: args.cli.profile.clone(),
        host: bundle.text(&["workspace", "host"]).map(str::to_owned),
    };
    let workspace =
        match Workspace::connect(&Environment::of_process(), &wanted, HttpOptions::default()).await
        {
            Ok(workspace) => workspace,
            Err(e) => return no(e.to_string()),
        };
    match workspace.file(&format!("{path}/resources.json")).await {
        Ok(Presence::There(bytes)) if fits(&bytes) => Ok(Some(bytes)),
        Ok(Presence::There(_)) => Err(Failure::input(
            "error: expected the state that the plan was made against, found another in the workspace: someone deployed in between; collect again",
        )),
        Ok(Presence::Gone) => {
            no("the workspace has none, although the plan names a deployment".to_owned())
        }
        Ok(Presence::Forbidden(said)) => no(format!("the workspace does not let it be read{said}")),
        Err(e) => no(e.to_string()),
    }
}

/// Whether the folder can be made: there is none, an empty one, or one that `collect` made.
fn check_out(folder: &Path) -> Result<(), Failure> {
    let shown = visible(&folder.display().to_string());
    match std::fs::read_dir(folder) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Err(e) => Err(Failure::input(format!("error: --out {shown}: {e}"))),
        Ok(mut entries) => {
            if entries.next().is_none() || folder.join(MANIFEST).is_file() {
                Ok(())
            } else {
                Err(Failure::input(format!(
                    "error: --out {shown}: expected a new folder or one that `collect` made, found one with other files; name another"
                )))
            }
        }
    }
}

/// Writes the folder: a private one beside it that takes its name when it is whole.
fn write(folder: &Path, files: &Files) -> Result<(), Failure> {
    let failed = |e: std::io::Error| {
        Failure::input(format!(
            "error: --out {}: {e}; nothing was collected",
            visible(&folder.display().to_string())
        ))
    };
    let parent = folder
        .parent()
        .filter(|p| !p.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    std::fs::create_dir_all(parent).map_err(failed)?;
    // Private, since a plan can hold secrets; gone again when anything fails before the rename.
    let made = tempfile::Builder::new()
        .prefix(".bundlegate-")
        .tempdir_in(parent)
        .map_err(failed)?;
    for (name, bytes) in files {
        std::fs::write(made.path().join(name), bytes).map_err(failed)?;
    }
    let old = tempfile::Builder::new()
        .prefix(".bundlegate-")
        .tempdir_in(parent)
        .map_err(failed)?;
    match std::fs::rename(folder, old.path().join("old")) {
        Ok(()) => {}
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => {}
        Err(e) => return Err(failed(e)),
    }
    std::fs::rename(made.path(), folder).map_err(failed)
}
