//! `deploy PLAN`: authorize, hand exactly the judged bytes to the CLI, verify.

use std::ffi::OsStr;
use std::io::{Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use clap::Args;
use sha2::{Digest as _, Sha256};

use super::Failure;
use super::args::Globals;
use super::authorize::{WhoArgs, details};
use super::cli_args::CliArgs;
use super::deploy_checks::{Found, by_cli, by_workspace};
use super::log::{self, LogArgs};
use super::outputs::{OutputArgs, Outputs};
use super::platforms;
use super::subject::{Subject, SubjectArgs, look_at, own_files};
use super::trust::Strictness;
use super::verify::WitnessChoice;
use super::witnesses::{Asking, connect, verify};
use crate::approval::Sha256Hex;
use crate::approval::statement::SourceTree;
use crate::authorize::Decision;
use crate::effect::World;
use crate::host::cli::Cli;
use crate::host::deploy_record::{Deploy, DeployRecord, FILE_NAME, RecordError};
use crate::host::manifest::OwnFiles;
use crate::host::out;
use crate::host::target_lock::{LockError, TargetLock};
use crate::json::{Limits, Value};
use crate::plan::{Action, Plan, resource_type};
use crate::remote::run::block_on;
use crate::report::{Body, DeployBody, Exit, Step, Verdict, Verification};
use crate::secret::{is_scope_reference, is_secret_field_of};
use crate::text::visible;
use crate::verify::Mode;

/// Deploy exactly this plan, if it is authorized, and verify what came of it
#[derive(Debug, Args)]
#[command(
    after_help = "Authorizes, with the checks that `databricks bundle deploy --plan` leaves out: the state is still the one that the plan was made
against (or proven to be absent), the git branch, active runs of what changes, dashboards that were edited, the CLI's version.
Then runs `databricks bundle deploy --plan` on a private copy of the judged bytes, with --auto-approve only where the approved
plan contains what the CLI would ask about, and never with --force. Then verifies, as `bundlegate verify` does.

deploy.json says how far it came. After a run that was killed, `--resume-record` verifies what is there and deploys nothing.

Examples:
  bundlegate deploy gate -t prod --trusted-ref origin/main
  bundlegate deploy plan.json --bundle bundle.json --state state.json --trusted-ref origin/main --log gate.log
  bundlegate deploy gate -t prod --trusted-ref origin/main --resume-record

Exit codes: 0 deployed and verified, 1 the policy denies the plan, 2 an input cannot be read or another deploy is running,
3 an approval is missing, 4 an approval is not valid for this or the workspace has changed, 5 the deploy failed or the workspace
does not hold what was approved, 6 the workspace or a witness could not be reached, 130 interrupted."
)]
pub(super) struct DeployArgs {
    #[command(flatten)]
    subject: SubjectArgs,
    #[command(flatten)]
    who: WhoArgs,
    #[command(flatten)]
    cli: CliArgs,
    /// Who tells afterwards what the workspace holds
    #[arg(long, value_enum, value_name = "WITNESS", default_value_t = WitnessChoice::Both)]
    witness: WitnessChoice,
    /// Deploy also while jobs or pipelines that change are running
    #[arg(long)]
    allow_active_runs: bool,
    /// The record of how far it came [default: deploy.json beside the plan]
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Deploy nothing: verify what an earlier run of this plan, which did not finish, left behind
    #[arg(long)]
    resume_record: bool,
    /// Show every check, not only those that say no
    #[arg(long)]
    explain: bool,
    #[command(flatten)]
    outputs: OutputArgs,
    #[command(flatten)]
    log: LogArgs,
}

impl From<RecordError> for Failure {
    fn from(e: RecordError) -> Self {
        Self::input(format!("error: {e}"))
    }
}

impl From<LockError> for Failure {
    fn from(e: LockError) -> Self {
        Self::input(format!("error: {e}"))
    }
}

/// What a run ends with.
struct Done {
    exit: Exit,
    body: DeployBody,
    details: Vec<(&'static str, String)>,
}

pub(super) fn run(args: &DeployArgs, globals: Globals) -> Result<Exit, Failure> {
    let outputs = Outputs::parse(&args.outputs)?;
    let path = args.record_path();
    let own: Vec<&Path> = args
        .log
        .log
        .iter()
        .map(PathBuf::as_path)
        .chain(outputs.files())
        .chain([path.as_path()])
        .collect();
    let mut subject = args
        .subject
        .gather("deploy", &own, Strictness::Gate, globals)?;
    let lock = TargetLock::take(&args.subject.source, &subject.facts.deployment.target)?;
    let earlier = DeployRecord::read(&path)?.filter(|r| r.plan() == Some(&subject.facts.plan));
    let cli = args
        .cli
        .cli(&subject.facts.deployment.target, &args.subject.source)
        .masking(secrets_of(&subject.loaded.plan));
    let job = Job {
        args,
        cli: &cli,
        path: &path,
        limits: args.subject.inputs.limits(),
        globals,
    };
    let done = match (args.resume_record, earlier) {
        (true, Some(record)) => block_on(job.resume(&subject, record))??,
        (true, None) => {
            return Err(Failure::input(format!(
                "error: --resume-record: expected the record of an earlier deploy of this plan at {}, found none",
                visible(&path.display().to_string())
            )));
        }
        (false, Some(record)) if is_unfinished(&record) => {
            return Err(Failure::input(format!(
                "error: an earlier deploy of this plan did not finish: {}\n  help: verify it with --resume-record; then plan again for the rest",
                record.predicate.step().map_or("no step began", Step::words)
            )));
        }
        (false, _) => {
            args.who.tell(&mut subject)?;
            match block_on(job.deploy(&mut subject, &own, &lock)) {
                Ok(done) => done?,
                Err(e) => {
                    let mut failure = Failure::from(e);
                    failure.message.push_str(&interrupted(&path));
                    return Err(failure);
                }
            }
        }
    };
    let mut report = subject.report;
    report.verdict = match done.exit {
        Exit::Open => Verdict::Open,
        Exit::Review => Verdict::Review,
        _ => Verdict::Closed,
    };
    report.exit_code = done.exit.code();
    let word = word(&done);
    report.findings = done.body.findings(report.findings);
    report.body = Body::Deploy(done.body);
    let actor = subject.facts.actor.first().map(|a| a.name().to_owned());
    args.log
        .append(log::event(&report, word, actor.as_deref(), done.details))?;
    outputs.write(&report, globals)?;
    Ok(done.exit)
}

fn word(done: &Done) -> &'static str {
    match (&done.body.verification, done.exit) {
        (None, _) => "refused",
        (Some(_), Exit::Open) => "deployed",
        (Some(_), Exit::Mismatch) => "mismatch",
        (Some(_), _) => "not-verified",
    }
}

/// Whether a run stopped in a step after which the workspace may hold a part of the plan, or was not compared.
fn is_unfinished(record: &DeployRecord) -> bool {
    matches!(
        record.predicate.step(),
        Some(Step::Deploying | Step::Verifying)
    )
}

fn interrupted(path: &Path) -> String {
    let step = DeployRecord::read(path)
        .ok()
        .flatten()
        .and_then(|r| r.predicate.step());
    let Some(step) = step else {
        return String::new();
    };
    format!(
        ": {}; see {}{}",
        step.words(),
        visible(&path.display().to_string()),
        if matches!(step, Step::Deploying | Step::Verifying) {
            ", and verify with --resume-record"
        } else {
            ""
        }
    )
}

impl DeployArgs {
    /// Where the record is.
    fn record_path(&self) -> PathBuf {
        let plan = &self.subject.inputs.plan;
        match &self.record {
            Some(path) => path.clone(),
            None if plan.is_dir() => plan.join(FILE_NAME),
            None => plan.parent().unwrap_or(Path::new("")).join(FILE_NAME),
        }
    }
}

/// One run.
struct Job<'a> {
    args: &'a DeployArgs,
    cli: &'a Cli,
    path: &'a Path,
    limits: Limits,
    globals: Globals,
}

impl Job<'_> {
    async fn deploy(
        &self,
        subject: &mut Subject,
        own: &[&Path],
        lock: &TargetLock,
    ) -> Result<Done, Failure> {
        let mut record = record_of(subject);
        record.begin(Step::Checking, self.path)?;
        let found = self.check(subject).await?;
        subject.facts.first_deploy_proof = found.proof;
        subject.facts.witnessed = found.checks;
        record.predicate.cli_version = found.cli_version;
        platforms::ask(subject, self.args.who.roles()).await;
        let files = subject.approvals()?;
        subject.facts.now = jiff::Timestamp::now();
        let decision = subject.decide(&files);
        if !decision.is_authorized() {
            record.predicate.exit_code = Some(decision.exit.code());
            record.begin(Step::Refused, self.path)?;
            return Ok(self.done(decision.exit, &record, Some(&decision), None));
        }
        record.predicate.approved_by.clone_from(&decision.persons);
        self.source_is_as_judged(subject, own)?;
        let ended = self.start(subject, &mut record, lock).await?;
        record.predicate.cli_exit = ended;
        record.begin(Step::Verifying, self.path)?;
        let verification = self.verify(subject).await?;
        // A CLI that failed is a failed deploy, whatever the workspace holds.
        let exit = if ended == Some(0) {
            verification.exit()
        } else {
            Exit::Mismatch
        };
        record.predicate.exit_code = Some(exit.code());
        record.begin(Step::Finished, self.path)?;
        Ok(self.done(exit, &record, Some(&decision), Some(verification)))
    }

    /// Verifies what an earlier run left behind.
    async fn resume(&self, subject: &Subject, mut record: DeployRecord) -> Result<Done, Failure> {
        let step = record.predicate.step();
        self.say(&format!(
            "the earlier deploy: {}",
            step.map_or("no step began", Step::words)
        ));
        let verification = self.verify(subject).await?;
        let exit = match (verification.exit(), record.predicate.cli_exit) {
            (Exit::Open, Some(code)) if code != 0 => Exit::Mismatch,
            (exit, _) => exit,
        };
        record.predicate.exit_code = Some(exit.code());
        // A run that never started the CLI stays what it is: nothing was deployed.
        if is_unfinished(&record) {
            record.begin(Step::Finished, self.path)?;
        }
        Ok(self.done(exit, &record, None, Some(verification)))
    }

    /// The checks that `--plan` leaves out.
    async fn check(&self, subject: &Subject) -> Result<Found, Failure> {
        let targets = self.args.subject.inputs.targets();
        let world = World::new(subject.loaded.inputs(&targets));
        let mut found = Found::default();
        let Some(bundle) = world.inputs.bundle else {
            return Err(Failure::input(
                "error: expected the bundle JSON, found none",
            ));
        };
        self.say("checking what the CLI resolves and what the workspace holds");
        by_cli(self.cli, &world, bundle, &self.limits, &mut found).await?;
        let workspace = connect(&world, &self.args.cli)
            .await?
            .map_err(|why| Failure {
                exit: Exit::Unreachable,
                message: format!("error: {why}"),
            })?;
        by_workspace(
            &workspace,
            &world,
            bundle,
            self.args.allow_active_runs,
            &self.limits,
            &mut found,
        )
        .await;
        Ok(found)
    }

    /// The code that ships is still what was judged.
    fn source_is_as_judged(&self, subject: &Subject, own: &[&Path]) -> Result<(), Failure> {
        let own = own
            .iter()
            .fold(OwnFiles::default(), |files, path| files.file(path));
        let own = own_files(
            &self.args.subject.inputs,
            own.folder(&subject.folder, super::subject::APPROVAL_FILES),
        );
        let now = look_at(
            &self.args.subject.source,
            subject.loaded.bundle.as_ref(),
            &own,
        )?;
        if now.source == subject.facts.source {
            return Ok(());
        }
        Err(Failure {
            exit: Exit::Invalid,
            message: format!(
                "error: the source changed while it was being authorized: expected {}, found {}; nothing was deployed",
                words_of(&subject.facts.source.tree),
                words_of(&now.source.tree)
            ),
        })
    }

    /// Starts the CLI on a private copy of the judged bytes. How it ended; none: by a signal.
    async fn start(
        &self,
        subject: &Subject,
        record: &mut DeployRecord,
        lock: &TargetLock,
    ) -> Result<Option<i32>, Failure> {
        let io = |e: std::io::Error| {
            Failure::input(format!(
                "error: the private copy of the plan: {e}; nothing was deployed"
            ))
        };
        let folder = tempfile::Builder::new()
            .prefix("bundlegate-")
            .tempdir()
            .map_err(io)?;
        let copy = folder.path().join("plan.json");
        let mut file = std::fs::File::options()
            .create_new(true)
            .read(true)
            .write(true)
            .open(&copy)
            .map_err(io)?;
        file.write_all(&subject.loaded.plan_bytes)
            .and_then(|()| file.sync_all())
            .map_err(io)?;
        let mut command: Vec<&OsStr> = self.args.cli.selecting(&["bundle", "deploy", "--plan"]);
        command.insert(3, copy.as_os_str());
        if asks(&subject.loaded.plan) {
            command.push(OsStr::new("--auto-approve"));
        }
        let stdin = lock.copy().map_err(io)?;
        record.begin(Step::Deploying, self.path)?;
        // Right before the start the file holds what was judged; it stays open until the CLI has ended.
        let mut held = Vec::new();
        file.seek(SeekFrom::Start(0)).map_err(io)?;
        std::io::Read::read_to_end(&mut file, &mut held).map_err(io)?;
        if hex::encode(Sha256::digest(&held)) != subject.facts.plan.as_str() {
            return Err(Failure::input(
                "error: the private copy of the plan is not what was judged; nothing was deployed",
            ));
        }
        self.say("running databricks bundle deploy --plan");
        let quiet = self.globals.quiet;
        let status = self
            .cli
            .stream(&command, stdin.into(), |line| {
                if !quiet {
                    out::stderr(&format!("databricks | {line}\n"));
                }
            })
            .await?;
        drop(file);
        match status.code() {
            Some(0) => {}
            Some(code) => self.say(&format!(
                "the CLI failed (exit {code}); verifying what was applied"
            )),
            None => self.say("the CLI was killed; verifying what was applied"),
        }
        Ok(status.code())
    }

    async fn verify(&self, subject: &Subject) -> Result<Verification, Failure> {
        let targets = self.args.subject.inputs.targets();
        let world = World::new(subject.loaded.inputs(&targets));
        let asking = Asking {
            choice: self.args.witness,
            after: None,
            cli: self.cli,
            args: &self.args.cli,
            limits: &self.limits,
            quiet: self.globals.quiet,
        };
        self.say("verifying");
        verify(&world, &subject.trusted.policy, Mode::Deployed, &asking).await
    }

    fn say(&self, text: &str) {
        if !self.globals.quiet {
            out::stderr(&format!("{text}\n"));
        }
    }

    fn done(
        &self,
        exit: Exit,
        record: &DeployRecord,
        decision: Option<&Decision>,
        verification: Option<Verification>,
    ) -> Done {
        let deploy = &record.predicate;
        let mut all = decision.map(details).unwrap_or_default();
        if let Some(code) = deploy.cli_exit {
            all.push(("cli_exit", code.to_string()));
        }
        Done {
            exit,
            details: all,
            body: DeployBody {
                record: self.path.display().to_string(),
                steps: deploy.steps.clone(),
                cli_exit: deploy.cli_exit,
                authorization: decision.map(|d| d.body(self.args.explain)),
                verification,
            },
        }
    }
}

/// The source tree in words.
fn words_of(tree: &SourceTree) -> String {
    match tree {
        SourceTree::Git {
            commit,
            clean: true,
            ..
        } => format!("commit {commit}"),
        SourceTree::Git {
            commit, changes, ..
        } => format!(
            "commit {commit} with changes {}",
            changes.as_ref().map_or("", Sha256Hex::as_str)
        ),
        SourceTree::Manifest { sha256, files } => format!("{files} files, {sha256}"),
    }
}

fn record_of(subject: &Subject) -> DeployRecord {
    let facts = &subject.facts;
    DeployRecord::new(
        &subject.report.plan.path,
        &facts.plan,
        Deploy {
            target: facts.deployment.target.clone(),
            host: facts.deployment.host.clone(),
            root_path: facts.deployment.root_path.clone(),
            policy: facts.policy.sha256.clone(),
            source: facts.source.clone(),
            cli_version: None,
            approved_by: Vec::new(),
            steps: Vec::new(),
            cli_exit: None,
            exit_code: None,
        },
    )
}

/// Types about whose deletion or recreation the CLI asks (`bundle/phases/deploy.go`, `deployApprovalGroups`, as of CLI 1.21).
const ASKED_ABOUT: &[&str] = &[
    "dashboards",
    "database_instances",
    "genie_spaces",
    "pipelines",
    "postgres_branches",
    "postgres_databases",
    "postgres_projects",
    "schemas",
    "synced_database_tables",
    "vector_search_indexes",
    "volumes",
];

/// Whether the CLI would ask before it deploys this plan. A type that is not known may be one that it asks about.
fn asks(plan: &Plan) -> bool {
    plan.entries.iter().any(|e| {
        matches!(e.action, Action::Delete | Action::Recreate)
            && (ASKED_ABOUT.contains(&e.key.kind()) || resource_type(e.key.kind()).is_none())
    })
}

/// The secrets that the plan holds in clear: the CLI may repeat them.
fn secrets_of(plan: &Plan) -> Vec<String> {
    fn walk(kind: &str, field: &str, value: &Value, out: &mut Vec<String>) {
        match value {
            Value::String(s) if is_secret_field_of(kind, field) && !is_scope_reference(s) => {
                out.push(s.to_string());
            }
            // The reader bounds how deep a plan is nested.
            Value::Array(items) => items.iter().for_each(|v| walk(kind, field, v, out)),
            Value::Object(members) => members.iter().for_each(|(k, v)| walk(kind, k, v, out)),
            _ => {}
        }
    }
    let mut out = Vec::new();
    for entry in &plan.entries {
        if let Some(state) = &entry.new_state {
            walk(entry.key.kind(), "", &state.value, &mut out);
        }
    }
    out
}
