//! Asks the witnesses until what they say agrees with what should be, or the time to settle is over.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::Failure;
use super::cli_args::{CliArgs, words};
use super::progress::Progress;
use super::verify::{WitnessChoice, parse_after};
use crate::effect::World;
use crate::host::cli::Cli;
use crate::json::Limits;
use crate::plan::Plan;
use crate::policy::Policy;
use crate::remote::databricks::{AccessError, Environment, Wanted, Workspace};
use crate::remote::http::HttpOptions;
use crate::remote::witness::{Questions, observe};
use crate::report::{Outcome, Row, Silence, Verification, Witness};
use crate::verify::{Expectation, Mode, Observation, Said, compare, expect, from_plan};

/// Shortest pause before the workspace is asked again; it doubles.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// Longest pause before the workspace is asked again.
const LONGEST_PAUSE: Duration = Duration::from_secs(15);

/// How the witnesses are asked.
pub(super) struct Asking<'a> {
    /// Who.
    pub(super) choice: WitnessChoice,
    /// A plan that was made after the deploy, if one was given.
    pub(super) after: Option<&'a Plan>,
    /// The CLI, which makes one otherwise.
    pub(super) cli: &'a Cli,
    /// Its flags.
    pub(super) args: &'a CliArgs,
    /// The bounds of what is read.
    pub(super) limits: &'a Limits,
    /// Whether nothing is said on the way.
    pub(super) quiet: bool,
}

impl WitnessChoice {
    fn asks(self, witness: Witness) -> bool {
        match self {
            WitnessChoice::Both => true,
            WitnessChoice::Plan => witness == Witness::Plan,
            WitnessChoice::Api => witness == Witness::Api,
        }
    }
}

/// Asks the witnesses and compares.
///
/// # Errors
/// Settings of the access to the workspace that are wrong. A witness that cannot speak is no error but part of the answer.
pub(super) async fn verify(
    world: &World<'_>,
    policy: &Policy,
    mode: Mode,
    asking: &Asking<'_>,
) -> Result<Verification, Failure> {
    let mut pending = expect(world, policy, mode);
    let settle = match mode {
        Mode::Deployed => policy.verify.settle.as_duration(),
        Mode::Drift => Duration::ZERO,
    };
    let state_path = world
        .inputs
        .bundle
        .and_then(|b| b.text(&["workspace", "state_path"]));
    let before = ids_before(world);
    let mut silences = Vec::new();
    let workspace = if asking.choice.asks(Witness::Api) {
        match connect(world, asking.args).await? {
            Ok(workspace) => Some(workspace),
            Err(why) => {
                silences.push(silence(Witness::Api, why));
                None
            }
        }
    } else {
        None
    };
    let deadline = Instant::now() + settle;
    let mut pause = FIRST_PAUSE;
    let mut settled: Vec<Row> = Vec::new();
    let mut given = asking.after.cloned();
    loop {
        let mut observations: Vec<Observation> = Vec::new();
        let mut ids = before.clone();
        if asking.choice.asks(Witness::Plan) && !silences.iter().any(|s| s.witness == Witness::Plan)
        {
            let plan = match &given {
                Some(plan) => Ok(plan.clone()),
                None => fresh_plan(asking).await,
            };
            match plan {
                Ok(plan) => {
                    let seen = from_plan(&plan, &pending);
                    for (key, thing) in &seen.things {
                        if let Said::Is(id) = &thing.id {
                            ids.insert(key.clone(), id.clone());
                        }
                    }
                    observations.push(seen);
                }
                Err(why) => silences.push(silence(Witness::Plan, why)),
            }
        }
        if let Some(workspace) = &workspace {
            let questions = Questions::of(&pending, state_path);
            let mut progress =
                Progress::new("reading the workspace", questions.len(), asking.quiet);
            observations.push(
                observe(workspace, &questions, &ids, asking.limits, |n| {
                    progress.at(n)
                })
                .await,
            );
        }
        let rows = compare(&pending, &observations);
        let is_over = Instant::now() + pause > deadline;
        let mut again: Vec<Expectation> = Vec::new();
        for (expectation, rows) in pending.into_iter().zip(rows) {
            let may_settle = rows.iter().any(|r| {
                r.outcome == Outcome::Mismatch && (r.witness == Witness::Api || given.is_none())
            });
            if may_settle && !is_over {
                again.push(expectation);
            } else {
                settled.extend(rows);
            }
        }
        if again.is_empty() {
            let witnesses = [Witness::Plan, Witness::Api]
                .into_iter()
                .filter(|w| asking.choice.asks(*w))
                .collect();
            return Ok(Verification::new(witnesses, silences, settled));
        }
        tracing::info!(
            checks = again.len(),
            ?pause,
            "not as approved yet; asking again"
        );
        pending = again;
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
        // What was given does not change; what the CLI says does.
        given = asking.after.cloned();
    }
}

fn silence(witness: Witness, why: String) -> Silence {
    Silence { witness, why }
}

/// Signs in to the workspace of the bundle. The inner error is why it cannot speak.
pub(super) async fn connect(
    world: &World<'_>,
    args: &CliArgs,
) -> Result<Result<Workspace, String>, Failure> {
    let wanted = Wanted {
        profile: args.profile.clone(),
        host: world
            .inputs
            .bundle
            .and_then(|b| b.text(&["workspace", "host"]))
            .map(str::to_owned),
    };
    let access =
        Workspace::connect(&Environment::of_process(), &wanted, HttpOptions::default()).await;
    match access {
        Ok(workspace) => Ok(Ok(workspace)),
        Err(AccessError::NoHost) => Ok(Err(AccessError::NoHost.to_string())),
        Err(e) if e.is_usage() => Err(Failure::input(format!("error: {e}"))),
        Err(e) => Ok(Err(e.to_string())),
    }
}

/// Has the CLI make a plan now.
async fn fresh_plan(asking: &Asking<'_>) -> Result<Plan, String> {
    let hint = "; give --after-plan FILE, or choose --witness api";
    asking
        .cli
        .version()
        .await
        .map_err(|e| format!("{e}{hint}"))?;
    let made = asking
        .cli
        .capture(
            &words(&["bundle", "plan", "-o", "json"]),
            asking.limits.bytes,
        )
        .await
        .map_err(|e| e.to_string())?;
    parse_after(&made.stdout, asking.limits)
        .map_err(|e| format!("the output of `databricks bundle plan`{e}"))
}

/// The ids that plan and state name of what stays.
fn ids_before(world: &World<'_>) -> BTreeMap<String, String> {
    world
        .resources()
        .filter(|e| {
            matches!(
                e.action(),
                crate::plan::Action::Skip
                    | crate::plan::Action::Update
                    | crate::plan::Action::Resize
            )
        })
        .filter_map(|e| Some((e.key().full().to_owned(), crate::verify::id_before(e)?)))
        .collect()
}
