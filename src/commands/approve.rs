//! `approve PLAN` and `reject PLAN`: a person's word about exactly this plan, signed.

mod list;

use std::path::{Path, PathBuf};

use clap::Args;
use jiff::{SignedDuration, Timestamp};

use super::args::Globals;
use super::log::{self, LogArgs};
use super::subject::{Subject, SubjectArgs};
use super::trust::{Signers, Strictness, Trusted, failure};
use super::{Failure, key};
use crate::approval::envelope::pae;
use crate::approval::statement::{Decision, SourceTree, Statement};
use crate::approval::{Envelope, Sha256Hex};
use crate::authorize::Said;
use crate::host::{approval_files, out, ssh_keygen, terminal};
use crate::policy::{Approval, PolicyDuration};
use crate::render::{self, Format, Options};
use crate::report::{Exit, Verdict};
use crate::text::{quoted, visible};

/// Approve exactly this plan and this code
#[derive(Debug, Args)]
#[command(
    after_help = "Shows the judgement and what is accepted with it, asks for the first 12 digits of the plan's digest, and writes
approvals/<12 digits>-<principal>.json beside the plan: an in-toto Statement in a DSSE envelope, signed by
`ssh-keygen -Y sign` (agents, passphrases, security keys and certificates work). A deny finding cannot be approved.

Examples:
  bundlegate approve plan.json --bundle bundle.json --reason 'planned move' --ticket DATA-7
  bundlegate approve collected/ --key ~/.ssh/id_ed25519_sk --expires 4h
  bundlegate approve plan.json --bundle bundle.json --yes --digest $(sha256sum plan.json | cut -d' ' -f1)
  bundlegate approve plan.json --bundle bundle.json --trusted-ref origin/main --comment
  bundlegate approve --list plan.json
  bundlegate approve --show approvals/0123456789ab-rm1@example.com.json

Exit codes: 0 approved, 1 the policy denies the plan, 2 an input cannot be read or nothing could be signed,
3 the policy names no way to approve, 4 the digest that was given is not the plan's."
)]
pub(super) struct ApproveArgs {
    #[command(flatten)]
    decide: DecideArgs,
    /// List the approvals of PLAN, and whether their signatures count
    #[arg(long, conflicts_with_all = ["show", "yes", "digest", "comment"])]
    list: bool,
    /// Show one approval; PLAN is then its file
    #[arg(long, conflicts_with_all = ["yes", "digest", "comment"])]
    show: bool,
}

/// Reject exactly this plan: whoever approves it, it is not deployed
#[derive(Debug, Args)]
#[command(
    after_help = "A rejection is recorded like an approval, in <12 digits>-<principal>.reject.json. It wins over every approval and does
not expire. Any signer of allowed_signers may reject, also a plan that the policy denies.

Examples:
  bundlegate reject plan.json --bundle bundle.json --reason 'not before the audit'

Exit codes: 0 recorded, 2 an input cannot be read or nothing could be signed, 3 the policy names no way to approve,
4 the digest that was given is not the plan's."
)]
pub(super) struct RejectArgs {
    #[command(flatten)]
    decide: DecideArgs,
}

#[derive(Debug, Args)]
struct DecideArgs {
    #[command(flatten)]
    subject: SubjectArgs,
    /// Why, in your own words
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// A ticket or change number
    #[arg(long, value_name = "ID")]
    ticket: Option<String>,
    /// How long the approval counts, such as 4h; at most what the policy says [default: what the policy says]
    #[arg(long, value_name = "DURATION")]
    expires: Option<PolicyDuration>,
    /// The key to sign with: a private key, or a public key or certificate whose private half the agent holds [default: as ssh]
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
    /// As whom to sign [default: the principal that allowed_signers names for the key]
    #[arg(long, value_name = "PRINCIPAL")]
    principal: Option<String>,
    /// Do not ask; needs --digest
    #[arg(long, requires = "digest")]
    yes: bool,
    /// The plan's whole digest, with --yes
    #[arg(long, value_name = "SHA256", requires = "yes")]
    digest: Option<Sha256Hex>,
    /// Write beside the approval what `ssh-keygen -Y verify` needs to check it
    #[arg(long)]
    export: bool,
    /// Sign nothing: print the line that says the same in a pull request (approval.accept.github.reviewers)
    #[arg(long, conflicts_with_all = ["reason", "ticket", "expires", "key", "principal", "yes", "digest", "export", "log", "ci_run"])]
    comment: bool,
    #[command(flatten)]
    log: LogArgs,
}

pub(super) fn run(args: &ApproveArgs, globals: Globals) -> Result<Exit, Failure> {
    if args.show {
        list::show(&args.decide.subject.inputs.plan, globals)
    } else if args.list {
        list::list(&args.decide.subject, globals)
    } else {
        args.decide.run(Decision::Approve, globals)
    }
}

pub(super) fn reject(args: &RejectArgs, globals: Globals) -> Result<Exit, Failure> {
    args.decide.run(Decision::Reject, globals)
}

impl DecideArgs {
    fn run(&self, decision: Decision, globals: Globals) -> Result<Exit, Failure> {
        let command = match decision {
            Decision::Approve => "approve",
            Decision::Reject => "reject",
        };
        let own: Vec<&Path> = self.log.log.iter().map(PathBuf::as_path).collect();
        let mut subject = self
            .subject
            .gather(command, &own, Strictness::Person, globals)?;
        if self.comment {
            // The line alone is on standard output, so that it can be passed on.
            if !globals.quiet {
                out::stderr(&summary(&subject, globals, out::stderr_is_terminal()));
            }
        } else {
            say(
                globals,
                &summary(&subject, globals, out::stdout_is_terminal()),
            )?;
        }
        if decision == Decision::Approve {
            if subject.facts.verdict == Verdict::Closed {
                return self.denied(subject);
            }
            if !subject.facts.unbound.is_empty() {
                return Err(Failure::input(format!(
                    "error: expected a digest of every file that ships, found none of: {}\n  help: put the files themselves into the bundle's folder, and build what is built before the deploy",
                    visible(&subject.facts.unbound.join("; "))
                )));
            }
        }
        if self.comment {
            let line = line_of(decision, &subject)?;
            super::print(&format!("{line}\n"))?;
            return Ok(Exit::Open);
        }
        let (approval, signers) = way(&subject.trusted)?;
        let key = key::path(self.key.as_ref())?;
        let approver = key::principal(self.principal.as_deref(), &key, &signers.allowed)?;
        self.confirm(decision, &subject, &approver)?;
        let (reason, ticket) = self.words()?;
        let life = self.life(approval);
        subject.facts.now = Timestamp::now();
        let said = Said {
            decision,
            approver,
            expires: subject
                .facts
                .now
                .checked_add(life)
                .map_err(|e| failure(&e))?,
            reason,
            ticket,
        };
        let source = subject.loaded.plan_source();
        let name = source
            .and_then(|s| Path::new(&s.path).file_name())
            .map_or_else(
                || "plan.json".to_owned(),
                |name| name.to_string_lossy().into_owned(),
            );
        let statement = subject
            .facts
            .statement(&name, said)
            .map_err(|e| failure(&e))?;
        let envelope = sign(&key, &statement, signers, subject.facts.now)?;
        let path = approval_files::write(&subject.folder, &envelope).map_err(|e| failure(&e))?;
        self.record(&subject, &statement, &path)?;
        let verb = match decision {
            Decision::Approve => "approved",
            Decision::Reject => "rejected",
        };
        say(globals, &format!("{verb}: {}\n", shown(&path)))?;
        if self.export {
            let (message, signature) =
                approval_files::export(&path, &envelope).map_err(|e| failure(&e))?;
            say(
                globals,
                &format!(
                    "exported: check it without bundlegate:\n  ssh-keygen -Y verify -n {} -I {} -f allowed_signers -s {} < {}\n",
                    crate::approval::NAMESPACE,
                    visible(&statement.predicate.approver),
                    shown(&signature),
                    shown(&message)
                ),
            )?;
        }
        Ok(Exit::Open)
    }

    /// What the policy denies cannot be approved; the attempt is in the log.
    fn denied(&self, subject: Subject) -> Result<Exit, Failure> {
        let mut report = subject.report;
        report.exit_code = Exit::Closed.code();
        self.log
            .append(log::event(&report, "denied", self.principal.as_deref(), []))?;
        Err(Failure {
            exit: Exit::Closed,
            message: format!(
                "error: expected a plan that the policy does not deny, found {}: no approval lifts a deny\n  help: change the bundle, or agree on a waiver in the policy on the trusted ref",
                visible(&subject.facts.denied.join(", "))
            ),
        })
    }

    /// The person says which plan they mean.
    fn confirm(
        &self,
        decision: Decision,
        subject: &Subject,
        approver: &str,
    ) -> Result<(), Failure> {
        let plan = &subject.facts.plan;
        let mismatch = |found: &str| Failure {
            exit: Exit::Invalid,
            message: format!(
                "error: expected the digest of this plan, {plan}, found {}: nothing was signed",
                quoted(found)
            ),
        };
        if let Some(given) = &self.digest {
            return if given == plan {
                Ok(())
            } else {
                Err(mismatch(given.as_str()))
            };
        }
        if !terminal::is_interactive() {
            return Err(Failure::input(
                "error: expected a terminal to ask on, found none: nothing was signed\n  help: in scripts give --yes --digest with the plan's whole SHA-256",
            ));
        }
        let verb = match decision {
            Decision::Approve => "approve",
            Decision::Reject => "reject",
        };
        let typed = ask(&format!(
            "The plan's digest is {plan}.\nCompare it with what was reviewed. To {verb} as {}, type its first {} digits: ",
            visible(approver),
            plan.short().len()
        ))?;
        if typed == plan.short() || typed == plan.as_str() {
            Ok(())
        } else {
            Err(mismatch(&typed))
        }
    }

    /// Reason and ticket: from the flags, else asked for on a terminal.
    fn words(&self) -> Result<(Option<String>, Option<String>), Failure> {
        let word = |given: &Option<String>, question: &str| match given {
            Some(text) => Ok(Some(text.clone())),
            None if self.yes => Ok(None),
            None => ask(question).map(|text| Some(text).filter(|t| !t.is_empty())),
        };
        Ok((
            word(&self.reason, "Why (Enter: nothing to say): ")?,
            word(&self.ticket, "Ticket (Enter: none): ")?,
        ))
    }

    /// How long it counts: what was asked for, cut short by the policy.
    fn life(&self, approval: &Approval) -> SignedDuration {
        let cap = approval.expires_after.as_secs();
        let asked = self.expires.map_or(cap, PolicyDuration::as_secs);
        if asked > cap {
            out::stderr(&format!(
                "note: --expires: the policy lets an approval count for {} at most\n",
                approval.expires_after
            ));
        }
        SignedDuration::from_secs(i64::try_from(asked.min(cap)).unwrap_or(i64::MAX))
    }

    fn record(&self, subject: &Subject, statement: &Statement, path: &Path) -> Result<(), Failure> {
        let mut report = subject.report.clone();
        report.exit_code = Exit::Open.code();
        let said = &statement.predicate;
        let verdict = match said.decision {
            Decision::Approve => "approved",
            Decision::Reject => "rejected",
        };
        let details = [
            ("expires", Some(said.expires.to_string())),
            ("reason", said.reason.clone()),
            ("ticket", said.ticket.clone()),
            (
                "file",
                path.file_name().map(|n| n.to_string_lossy().into_owned()),
            ),
        ];
        self.log.append(log::event(
            &report,
            verdict,
            Some(&said.approver),
            details
                .into_iter()
                .filter_map(|(name, value)| Some((name, value?))),
        ))
    }
}

/// The judgement, what is accepted with an approval, and what ships.
fn summary(subject: &Subject, globals: Globals, terminal: bool) -> String {
    let mut text = render::render(
        Format::Text,
        &subject.report,
        &Options {
            colour: globals.colour(terminal),
            verbose: globals.verbose,
            ..Options::default()
        },
    );
    let facts = &subject.facts;
    text.push_str(&format!(
        "\nbundle  {} to {} at {}, {}\n",
        visible(&facts.deployment.bundle),
        visible(&facts.deployment.target),
        visible(&facts.deployment.host),
        visible(&facts.deployment.root_path)
    ));
    let first = subject.differences.iter().take(SHOWN_DIFFERENCES);
    for difference in first {
        text.push_str(&format!(
            "source  differs from the commit: {}\n",
            visible(difference)
        ));
    }
    let more = subject.differences.len().saturating_sub(SHOWN_DIFFERENCES);
    if more > 0 {
        text.push_str(&format!("source  and {more} more differences\n"));
    }
    for artifact in &facts.source.artifacts {
        text.push_str(&format!(
            "built   {} (sha256 {})\n",
            visible(&artifact.path),
            artifact.sha256.short()
        ));
    }
    match facts.to_accept.len() {
        0 => {}
        1 => text.push_str("accept  1 finding that needs a review is accepted with the approval\n"),
        n => text.push_str(&format!(
            "accept  {n} findings that need a review are accepted with the approval\n"
        )),
    }
    text
}

/// How many differences from the commit are listed one by one.
const SHOWN_DIFFERENCES: usize = 20;

/// The policy's way to approve with an SSH key.
fn way(trusted: &Trusted) -> Result<(&Approval, &Signers), Failure> {
    let approval = accepting(
        trusted,
        "SSH signatures (approval.accept.ssh)",
        |approval| approval.accept.ssh.is_some(),
    )?;
    let signers = trusted.signers.as_ref().ok_or_else(|| {
        Failure::input("error: expected the policy's allowed signers, found none")
    })?;
    Ok((approval, signers))
}

/// The policy's `approval`, if it accepts `what`.
fn accepting<'t>(
    trusted: &'t Trusted,
    what: &str,
    accepts: impl FnOnce(&Approval) -> bool,
) -> Result<&'t Approval, Failure> {
    const WRITE: &str = "write one with `bundlegate policy init`, on the trusted ref";
    let (found, help) = match &trusted.policy.approval {
        Some(approval) if accepts(approval) => return Ok(approval),
        Some(approval) if approval.accept.github.is_some() => (
            "which accepts what is said on GitHub",
            "have the run approved, or print the line for the pull request with --comment, as the policy says",
        ),
        Some(_) => ("which names another way", WRITE),
        None => ("which names no way to approve", WRITE),
    };
    Err(Failure {
        exit: Exit::Review,
        message: format!(
            "error: expected a policy that accepts {what}, found {}, {found}\n  help: {help}",
            visible(trusted.policy.source())
        ),
    })
}

/// The line that says it in a pull request.
fn line_of(decision: Decision, subject: &Subject) -> Result<String, Failure> {
    let approval = accepting(
        &subject.trusted,
        "what is said in a pull request (approval.accept.github.reviewers)",
        |approval| {
            let github = approval.accept.github.as_ref();
            github.is_some_and(|g| g.reviewers.is_some())
        },
    )?;
    if matches!(subject.facts.source.tree, SourceTree::Manifest { .. }) {
        return Err(Failure::input(
            "error: --comment: expected a checkout of a commit, since a pull request is about commits; found a folder outside git",
        ));
    }
    let facts = &subject.facts;
    match decision {
        Decision::Approve => facts.approving_line(approval.matching),
        Decision::Reject => Ok(facts.rejecting_line(approval.matching)),
    }
    .map_err(|e| failure(&e))
}

/// Signs, and checks right away that the signature would count.
fn sign(
    key: &Path,
    statement: &Statement,
    signers: &Signers,
    now: Timestamp,
) -> Result<Envelope, Failure> {
    let payload = statement.to_payload().map_err(|e| failure(&e))?;
    let signature = ssh_keygen::sign(Path::new(ssh_keygen::PROGRAM), key, &pae(&payload))
        .map_err(|e| failure(&e))?;
    let envelope = Envelope::new(payload, signature).map_err(|e| failure(&e))?;
    envelope.verify(signers.trust(), now).map_err(|e| {
        let refusal = e.refusal();
        Failure::input(format!(
            "error: the signature would not count: {}: expected {}, found {}; nothing was written\n  help: {}",
            refusal.check,
            visible(&refusal.expected),
            visible(&refusal.found),
            visible(&refusal.remedy)
        ))
    })?;
    Ok(envelope)
}

fn ask(question: &str) -> Result<String, Failure> {
    out::stderr(question);
    terminal::line().map_err(|e| failure(&e))?.ok_or_else(|| {
        Failure::input("error: expected an answer, found the end of the input: nothing was signed")
    })
}

fn say(globals: Globals, text: &str) -> Result<(), Failure> {
    if globals.quiet {
        return Ok(());
    }
    super::print(&render::escape::log(text))
}

fn shown(path: &Path) -> String {
    visible(&path.display().to_string())
}
