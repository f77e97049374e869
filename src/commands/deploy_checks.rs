//! The checks that `databricks bundle deploy --plan` leaves out (CLI 1.13, reproduced: git-branch-mismatch, dashboard-remote-edit,
//! stale-first-deploy), made right before it is started: what the CLI resolves now, and what the workspace holds now.

use super::cli_args::words;
use crate::approval::Refusal;
use crate::authorize::{Check, FirstDeployProof};
use crate::bundle::{Bundle, State};
use crate::effect::{Effect, World};
use crate::host::cli::{Cli, CliError};
use crate::json::{Limits, Value};
use crate::plan::Action;
use crate::remote::databricks::{Presence, Workspace};
use crate::remote::http::HttpError;
use crate::remote::run::each;
use crate::report::Exit;
use crate::text::quoted;
use crate::verify::id_before;

/// What was found out.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) checks: Vec<Check>,
    pub(super) proof: Option<FirstDeployProof>,
    pub(super) cli_version: Option<String>,
}

fn refused(
    check: &'static str,
    expected: impl Into<String>,
    found: impl Into<String>,
    remedy: impl Into<String>,
    exit: Exit,
) -> Check {
    Check::refused(Refusal::new(check, expected, found, remedy), exit)
}

/// What the CLI is and what it resolves: version, host, root path, target, git branch.
pub(super) async fn by_cli(
    cli: &Cli,
    world: &World<'_>,
    bundle: &Bundle,
    limits: &Limits,
    out: &mut Found,
) -> Result<(), CliError> {
    let version = cli.version().await?.to_string();
    let made_by = world.inputs.plan.cli_version.as_deref().unwrap_or("none");
    out.checks.push(if version == made_by {
        Check::passed("cli", format!("Databricks CLI {version}"))
    } else {
        refused(
            "cli",
            format!("the CLI that made the plan, {}", quoted(made_by)),
            version.clone(),
            "Use the same version in the job that plans and in the one that deploys, or plan again.",
            Exit::Invalid,
        )
    });
    out.cli_version = Some(version);
    let answer = cli
        .capture(&words(&["bundle", "summary", "-o", "json"]), limits.bytes)
        .await?;
    let now = match Bundle::read(&answer.stdout, limits) {
        Ok(now) => now,
        Err(e) => {
            out.checks.push(refused(
                "resolved",
                "a bundle that `databricks bundle summary` resolves",
                e.message,
                "Mend what it reports.",
                Exit::Input,
            ));
            return Ok(());
        }
    };
    let places: [(&str, &[&str]); 4] = [
        ("bundle", &["bundle", "name"]),
        ("target", &["bundle", "target"]),
        ("host", &["workspace", "host"]),
        ("root path", &["workspace", "root_path"]),
    ];
    let differs = places
        .iter()
        .find(|(_, path)| now.text(path) != bundle.text(path));
    out.checks.push(match differs {
        None => Check::passed("resolved", "bundle, target, host and root path are those that were approved"),
        Some((what, path)) => refused(
            "resolved",
            format!("the {what} {}", quoted(bundle.text(path).unwrap_or_default())),
            quoted(now.text(path).unwrap_or_default()),
            "The CLI would deploy elsewhere: compare variables, profile and DATABRICKS_HOST of this job with those of the job that planned.",
            Exit::Invalid,
        ),
    });
    let named = now.text(&["bundle", "git", "branch"]);
    let actual = now.text(&["bundle", "git", "actual_branch"]);
    if let (Some(named), Some(actual)) = (named, actual) {
        out.checks.push(if named == actual {
            Check::passed("git-branch", named)
        } else {
            refused(
                "git-branch",
                format!("the branch {} that the target names", quoted(named)),
                quoted(actual),
                "Deploy from that branch, or change the target's git.branch.",
                Exit::Invalid,
            )
        });
    }
    Ok(())
}

/// What the workspace holds: the state, active runs, dashboards.
pub(super) async fn by_workspace(
    workspace: &Workspace,
    world: &World<'_>,
    bundle: &Bundle,
    allow_active: bool,
    limits: &Limits,
    out: &mut Found,
) {
    state(workspace, world, bundle, limits, out).await;
    if !allow_active {
        let changed: Vec<(String, &'static str, Option<String>)> = world
            .resources()
            .filter(|e| {
                matches!(
                    e.action(),
                    Action::Update | Action::UpdateId | Action::Resize | Action::Recreate
                ) || e.deletes()
            })
            .filter_map(|e| {
                let kind = match e.kind() {
                    "jobs" => "jobs",
                    "pipelines" => "pipelines",
                    _ => return None,
                };
                Some((e.key().short().to_owned(), kind, id_before(e)))
            })
            .collect();
        let answers = each(
            changed,
            |(key, kind, id)| {
                let workspace = workspace.clone();
                async move {
                    let busy = activity(&workspace, kind, id.as_deref()).await;
                    (key, busy)
                }
            },
            |_| {},
        )
        .await;
        const EXPECTED: &str = "no active run of a job or pipeline that changes";
        const WAIT: &str = "Wait for them, or give --allow-active-runs.";
        let of = |pick: fn(&Activity) -> Option<&String>| -> Vec<String> {
            answers
                .iter()
                .filter_map(|(key, a)| Some(format!("{key}: {}", pick(a)?)))
                .collect()
        };
        let busy = of(|a| match a {
            Activity::Busy(what) => Some(what),
            _ => None,
        });
        let silent = of(|a| match a {
            Activity::Silent(why) => Some(why),
            _ => None,
        });
        out.checks.push(if !busy.is_empty() {
            refused("active-runs", EXPECTED, busy.join("; "), WAIT, Exit::Invalid)
        } else if !silent.is_empty() {
            refused(
                "active-runs",
                EXPECTED,
                silent.join("; "),
                "Give the identity that deploys the right to see runs, or give --allow-active-runs.",
                Exit::Unreachable,
            )
        } else {
            Check::passed("active-runs", "none")
        });
    }
    for e in world
        .of_kind("dashboards")
        .filter(|e| e.action().is_update_like())
    {
        out.checks.push(dashboard(workspace, e).await);
    }
}

enum Activity {
    Idle,
    Busy(String),
    Silent(String),
}

async fn activity(workspace: &Workspace, kind: &str, id: Option<&str>) -> Activity {
    let Some(id) = id else {
        return Activity::Silent("its id is not known".to_owned());
    };
    fn read<T>(found: Result<Presence<Vec<T>>, HttpError>, word: &str) -> Activity {
        match found {
            Ok(Presence::There(all)) if all.is_empty() => Activity::Idle,
            Ok(Presence::There(all)) => Activity::Busy(format!("{} active {word}", all.len())),
            // What is gone cannot run.
            Ok(Presence::Gone) => Activity::Idle,
            Ok(Presence::Forbidden(said)) => Activity::Silent(format!("may not be read{said}")),
            Err(e) => Activity::Silent(e.to_string()),
        }
    }
    if kind == "jobs" {
        match id.parse() {
            Ok(number) => read(workspace.active_runs(number).await, "runs"),
            Err(_) => Activity::Silent(format!("its id is no number: {}", quoted(id))),
        }
    } else {
        read(workspace.active_updates(id).await, "updates")
    }
}

/// The state that the plan was made against is the one that is there; for a first deploy there is none.
async fn state(
    workspace: &Workspace,
    world: &World<'_>,
    bundle: &Bundle,
    limits: &Limits,
    out: &mut Found,
) {
    const NAME: &str = "state";
    let plan = world.inputs.plan;
    let silent = |why: String| {
        refused(
            NAME,
            "the deployed state, as it is now",
            why,
            "Give the identity that deploys the right to read ${workspace.state_path}.",
            Exit::Unreachable,
        )
    };
    let Some(path) = bundle.text(&["workspace", "state_path"]) else {
        out.checks.push(silent(
            "the bundle JSON has no workspace.state_path".to_owned(),
        ));
        return;
    };
    let found = workspace.file(&format!("{path}/resources.json")).await;
    let Some(lineage) = plan.lineage.as_deref() else {
        out.proof = match found {
            Ok(Presence::Gone) => Some(FirstDeployProof::NoState),
            Ok(Presence::There(_)) => Some(FirstDeployProof::StateExists),
            // 403 or silence is no proof.
            Ok(Presence::Forbidden(said)) => {
                out.checks
                    .push(silent(format!("the state file may not be read{said}")));
                None
            }
            Err(e) => {
                out.checks.push(silent(e.to_string()));
                None
            }
        };
        return;
    };
    let wanted = format!(
        "lineage {}, serial {}",
        quoted(lineage),
        plan.serial.unwrap_or_default()
    );
    out.checks.push(match found {
        Ok(Presence::There(bytes)) => match State::read(&bytes, limits) {
            Ok(state)
                if state.lineage.as_deref() == Some(lineage) && state.serial == plan.serial =>
            {
                Check::passed(NAME, wanted)
            }
            Ok(state) => refused(
                NAME,
                wanted,
                format!(
                    "lineage {}, serial {}",
                    quoted(state.lineage.as_deref().unwrap_or("none")),
                    state.serial.unwrap_or_default()
                ),
                "Someone deployed since the plan was made: plan again, and have that plan approved.",
                Exit::Invalid,
            ),
            Err(e) => refused(
                NAME,
                wanted,
                e.message,
                "The state in the workspace cannot be read: do not deploy over it.",
                Exit::Invalid,
            ),
        },
        Ok(Presence::Gone) => refused(
            NAME,
            wanted,
            "none",
            "The state was deleted or moved: find out before anything is deployed.",
            Exit::Invalid,
        ),
        Ok(Presence::Forbidden(said)) => silent(format!("the state file may not be read{said}")),
        Err(e) => silent(e.to_string()),
    });
}

/// Nobody edited the dashboard since the plan was made: the CLI would overwrite it without a word.
async fn dashboard(workspace: &Workspace, e: &Effect<'_>) -> Check {
    const NAME: &str = "dashboard-edits";
    let about = |text: &str| format!("{}: {text}", e.key().short());
    let planned = e
        .remote()
        .and_then(|r| r.get("etag"))
        .and_then(Value::as_str);
    let (Some(planned), Some(id)) = (planned, id_before(e)) else {
        return refused(
            NAME,
            about("the etag that the plan saw"),
            "the plan names none",
            "Plan again.",
            Exit::Invalid,
        );
    };
    let silent = |why: String| {
        refused(
            NAME,
            about(&format!("the etag {} that the plan saw", quoted(planned))),
            why,
            "Give the identity that deploys the right to read the dashboard.",
            Exit::Unreachable,
        )
    };
    match workspace.dashboard(&id).await {
        Ok(Presence::There(now)) if now.etag == planned => {
            Check::passed(NAME, about("as the plan saw it"))
        }
        Ok(Presence::There(now)) => refused(
            NAME,
            about(&format!("the etag {} that the plan saw", quoted(planned))),
            quoted(&now.etag),
            "Someone edited it since: take the edit over into the bundle or give it up, and plan again.",
            Exit::Invalid,
        ),
        Ok(Presence::Gone) => refused(
            NAME,
            about("a dashboard"),
            "none: it was deleted",
            "Plan again.",
            Exit::Invalid,
        ),
        Ok(Presence::Forbidden(said)) => silent(format!("it may not be read{said}")),
        Err(e) => silent(e.to_string()),
    }
}
