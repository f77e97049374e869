//! `authorize PLAN`: may this exact plan be deployed now?

use std::path::Path;

use clap::Args;

use super::Failure;
use super::args::Globals;
use super::log::{self, LogArgs};
use super::outputs::{OutputArgs, Outputs};
use super::platforms::{self, Roles};
use super::subject::{Subject, SubjectArgs};
use super::trust::Strictness;
use super::who;
use crate::authorize::Decision;
use crate::report::{Body, Exit, Verdict};

/// May this exact plan be deployed now?
#[derive(Debug, Args)]
#[command(
    after_help = "Judges the plan again, takes every digest again, and compares: signatures, people, time, target, host, bundle, CLI
version, policy, source and inputs. Policy, `extends`, allowed_signers and revoked keys come from --trusted-ref, never
from the working tree. Where the policy accepts what is said on GitHub or Azure DevOps, they are asked now; docs/approvals.md says
what access the run needs, and explains each check.

Examples:
  bundlegate authorize plan.json --bundle bundle.json --trusted-ref origin/main
  bundlegate authorize collected/ -t prod --trusted-ref origin/main --log gate.log
  bundlegate authorize plan.json --bundle bundle.json --explain
  bundlegate authorize plan.json --bundle bundle.json -o json=authorize.json

Exit codes: 0 authorized, 1 the policy denies the plan, 2 an input cannot be read, 3 an approval is missing,
4 an approval is there and not valid for this, 6 a proof could not be had, or a platform did not answer."
)]
pub(super) struct AuthorizeArgs {
    #[command(flatten)]
    subject: SubjectArgs,
    #[command(flatten)]
    who: WhoArgs,
    /// Show every check, not only those that say no
    #[arg(long)]
    explain: bool,
    #[command(flatten)]
    outputs: OutputArgs,
    #[command(flatten)]
    log: LogArgs,
}

/// Who is kept from approving by the policy's `separation`.
#[derive(Debug, Args)]
pub(super) struct WhoArgs {
    /// Who wrote the change, as git:ADDRESS, github:LOGIN[:ID], azure:DESCRIPTOR or ssh:PRINCIPAL; repeatable [default: the pull request's author and the addresses in the commits]
    #[arg(long, value_name = "WHO")]
    author: Vec<String>,
    /// Who started this run, in the same form; repeatable [default: GITHUB_ACTOR and GITHUB_TRIGGERING_ACTOR, or BUILD_REQUESTEDFOREMAIL]
    #[arg(long, value_name = "WHO")]
    actor: Vec<String>,
}

impl WhoArgs {
    /// Fills in author and actor.
    pub(super) fn tell(&self, subject: &mut Subject) -> Result<(), Failure> {
        let trusted = &subject.trusted;
        subject.facts.author = match self.author.as_slice() {
            [] => who::authors(trusted.git.as_ref(), trusted.base.as_ref())?,
            given => who::identities("--author", given)?,
        };
        subject.facts.actor = match self.actor.as_slice() {
            [] => who::actors(),
            given => who::identities("--actor", given)?,
        };
        Ok(())
    }

    /// Whom the flags leave to be found out.
    pub(super) fn roles(&self) -> Roles {
        Roles {
            author: self.author.is_empty(),
            actor: self.actor.is_empty(),
        }
    }
}

pub(super) fn run(args: &AuthorizeArgs, globals: Globals) -> Result<Exit, Failure> {
    let outputs = Outputs::parse(&args.outputs)?;
    let own: Vec<&Path> = args
        .log
        .log
        .iter()
        .map(std::path::PathBuf::as_path)
        .chain(outputs.files())
        .collect();
    let mut subject = args
        .subject
        .gather("authorize", &own, Strictness::Gate, globals)?;
    args.who.tell(&mut subject)?;
    platforms::ask_now(&mut subject, args.who.roles())?;
    subject.facts.now = jiff::Timestamp::now();
    let files = subject.approvals()?;
    let decision = subject.decide(&files);
    let mut report = subject.report;
    report.verdict = verdict(&decision);
    report.exit_code = decision.exit.code();
    let body = decision.body(args.explain);
    report.findings = body.findings(report.findings);
    report.body = Body::Authorize(body);
    let actor = subject.facts.actor.first().map(|a| a.name().to_owned());
    args.log.append(log::event(
        &report,
        word(&decision),
        actor.as_deref(),
        details(&decision),
    ))?;
    outputs.write(&report, globals)?;
    Ok(decision.exit)
}

/// What the log says of a decision.
pub(super) fn details(decision: &Decision) -> Vec<(&'static str, String)> {
    let refusals: Vec<&str> = decision.refusals().map(|c| c.check).collect();
    [
        ("approved_by", decision.persons.join(", ")),
        ("refused_by", refusals.join(", ")),
    ]
    .into_iter()
    .filter(|(_, text)| !text.is_empty())
    .collect()
}

/// The verdict of a decision in one word.
pub(super) fn word(decision: &Decision) -> &'static str {
    if decision.is_authorized() {
        "authorized"
    } else {
        "refused"
    }
}

/// The report's verdict: whether the gate is open.
pub(super) fn verdict(decision: &Decision) -> Verdict {
    match decision.exit {
        Exit::Open => Verdict::Open,
        Exit::Review => Verdict::Review,
        _ => Verdict::Closed,
    }
}
