//! May this exact plan be deployed now? Facts in, decision out: no I/O, no clock.
//!
//! The order of meaning: what the policy denies is denied, whoever approved it, so approvals are then not looked at. Else
//! every approval is taken alone: is it one, whose is it, is it about exactly this; then people are counted. Each approval is
//! refused by the first check that says no, so a refusal names the one thing that differs.

mod binding;
mod platforms;

use jiff::Timestamp;

use crate::approval::quorum::{GithubAccount, Role, Standing, State};
use crate::approval::statement::{
    Approval as Predicate, CiRun, Decision as Word, Deployment, Inputs, PolicyRef, Source,
    Statement, StatementError, Verdict as Judgement,
};
use crate::approval::{
    Decided, Envelope, Identity, IntentDigest, Outcome, Person, Quorum, Refusal, Sha256Hex,
    SshTrust,
};
use crate::policy::{Approval, Policy, Separation};
use crate::report::{AuthorizeBody, Exit, Verdict};

pub use crate::report::{CheckResult, GateCheck as Check};
pub use binding::BINDING_CHECKS;
pub use platforms::{Answer, BOUND_DOMAIN, Platforms, ends_here, to_look_up};

/// Proof about a plan without a lineage, which the CLI compares with nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FirstDeployProof {
    /// The workspace answered that the deployment's state does not exist (404 on `resources.json`), in this run.
    NoState,
    /// There is a state: the target was deployed before.
    StateExists,
}

/// Everything that an approval binds, as it is now.
#[derive(Debug, Clone)]
pub struct Facts {
    /// Now.
    pub now: Timestamp,
    /// The digest of the plan file.
    pub plan: Sha256Hex,
    /// The plan's intent digest.
    pub intent: IntentDigest,
    /// Digests of the inputs beside the plan.
    pub inputs: Inputs,
    /// The code that ships.
    pub source: Source,
    /// What ships and no digest binds, in words; anything here refuses the deploy.
    pub unbound: Vec<String>,
    /// The policy that judged.
    pub policy: PolicyRef,
    /// Where the plan goes.
    pub deployment: Deployment,
    /// The CLI that wrote the plan.
    pub cli_version: Option<String>,
    /// What the gate says of the plan.
    pub verdict: Verdict,
    /// The `deny` findings in short, for the refusal.
    pub denied: Vec<String>,
    /// Fingerprints of the `review` findings: sorted, each once.
    pub to_accept: Vec<Sha256Hex>,
    /// For a plan without a lineage: whether the workspace holds a state. `None`: nobody could tell.
    pub first_deploy_proof: Option<FirstDeployProof>,
    /// The run of a CI system that this is, if it is one.
    pub ci: Option<CiRun>,
    /// Who wrote the change; empty: nobody could tell.
    pub author: Vec<Identity>,
    /// Who started this run; empty: nobody could tell.
    pub actor: Vec<Identity>,
    /// Checks that the caller made itself, against the workspace or with the CLI.
    pub witnessed: Vec<Check>,
    /// What GitHub and Azure DevOps said, where the policy accepts approvals from there.
    pub platforms: Platforms,
}

/// What a person adds to the facts when they decide.
#[derive(Debug, Clone)]
pub struct Said {
    /// Yes or no.
    pub decision: Word,
    /// The principal.
    pub approver: String,
    /// Until when an approval counts.
    pub expires: Timestamp,
    /// Why.
    pub reason: Option<String>,
    /// A ticket or change number.
    pub ticket: Option<String>,
}

/// What the policy asks for, and whose signatures are accepted.
#[derive(Debug, Clone, Copy)]
pub struct Terms<'a> {
    /// The policy's `approval`; `None`: it names no way to approve.
    pub approval: Option<&'a Approval>,
    /// The policy's `people`, see [`people`].
    pub people: &'a [Person],
    /// Whose SSH signatures are accepted; `None`: nobody's.
    pub trust: Option<SshTrust<'a>>,
}

/// A file in the folder of approvals.
#[derive(Debug, Clone, Copy)]
pub struct Given<'a> {
    /// Its name.
    pub name: &'a str,
    /// What it holds, or why it cannot be read as an approval.
    pub content: Result<&'a Envelope, &'a Refusal>,
}

/// The answer, and every check that led to it.
#[derive(Debug, Clone)]
pub struct Decision {
    /// [`Exit::Open`]: it may be deployed now.
    pub exit: Exit,
    /// Every check: about the deploy as a whole, then file by file, then about the people.
    pub checks: Vec<Check>,
    /// How many distinct people the policy asks for; 0 when it names no way to approve.
    pub required: u32,
    /// The people whose approvals count, sorted.
    pub persons: Vec<String>,
}

impl Decision {
    /// Whether the plan may be deployed now.
    #[must_use]
    pub fn is_authorized(&self) -> bool {
        self.exit == Exit::Open
    }

    /// What the report says of it; with `explain` its text shows the checks that passed too.
    #[must_use]
    pub fn body(&self, explain: bool) -> AuthorizeBody {
        AuthorizeBody {
            authorized: self.is_authorized(),
            required: self.required,
            persons: self.persons.clone(),
            checks: self.checks.clone(),
            explain,
        }
    }

    /// The checks that say no.
    pub fn refusals(&self) -> impl Iterator<Item = &Check> {
        self.checks.iter().filter(|c| c.is_refused())
    }
}

impl Facts {
    /// The statement that a person signs about these facts.
    ///
    /// # Errors
    /// Facts that no approval can hold, such as an approval of a plan that the policy denies.
    pub fn statement(&self, plan_name: &str, said: Said) -> Result<Statement, StatementError> {
        Statement::new(
            plan_name,
            &self.plan,
            Predicate {
                decision: said.decision,
                intent: self.intent.clone(),
                inputs: self.inputs.clone(),
                source: self.source.clone(),
                policy: self.policy.clone(),
                deployment: self.deployment.clone(),
                cli_version: self.cli_version.clone(),
                verdict: match self.verdict {
                    Verdict::Open => Judgement::Open,
                    Verdict::Review => Judgement::Review,
                    Verdict::Closed => Judgement::Closed,
                },
                accepted: match said.decision {
                    Word::Approve => self.to_accept.clone(),
                    Word::Reject => Vec::new(),
                },
                approver: said.approver,
                time: self.now,
                expires: said.expires,
                reason: said.reason,
                ticket: said.ticket,
                ci: self.ci.clone(),
            },
        )
    }
}

/// The policy's `people:`, as the quorum knows them.
#[must_use]
pub fn people(policy: &Policy) -> Vec<Person> {
    policy
        .people
        .iter()
        .map(|p| Person {
            name: p.name.clone(),
            ssh: p.ssh.iter().cloned().collect(),
            github: p.github.as_ref().map(|g| GithubAccount {
                login: g.login.clone(),
                id: Some(g.id),
            }),
            azure: p.azure.clone(),
            git: p.git.clone(),
        })
        .collect()
}

/// The exit code over all checks: of those that say no, the first of 2 > 6 > 1 > 4 > 3 wins.
#[must_use]
pub fn exit(checks: &[Check]) -> Exit {
    [
        Exit::Input,
        Exit::Unreachable,
        Exit::Closed,
        Exit::Invalid,
        Exit::Review,
    ]
    .into_iter()
    .find(|exit| {
        checks
            .iter()
            .any(|c| c.is_refused() && c.exit_code == exit.code())
    })
    .unwrap_or(Exit::Open)
}

/// May this exact plan be deployed now?
#[must_use]
pub fn decide(facts: &Facts, terms: &Terms<'_>, approvals: &[Given<'_>]) -> Decision {
    let mut checks = plan_checks(facts);
    checks.extend(facts.witnessed.iter().cloned());
    let closed = facts.verdict == Verdict::Closed;
    let (required, persons) = match terms.approval {
        None => {
            checks.push(no_way_to_approve());
            (0, Vec::new())
        }
        Some(_) if closed => {
            checks.push(Check::not_reached(
                "quorum",
                "no approval lifts what the policy denies",
            ));
            (0, Vec::new())
        }
        Some(approval) => {
            let outcome = judge_approvals(facts, terms, approval, approvals, &mut checks);
            (outcome.required, outcome.persons)
        }
    };
    Decision {
        exit: exit(&checks),
        checks,
        required,
        persons,
    }
}

fn no_way_to_approve() -> Check {
    Check::refused(
        Refusal::new(
            "approval-way",
            "a policy that says who may approve",
            "this policy names no way to approve",
            "Write one with `bundlegate policy init`: a section `approval` with `accept`.",
        ),
        Exit::Review,
    )
}

/// The checks about the deploy as a whole.
fn plan_checks(facts: &Facts) -> Vec<Check> {
    let mut checks = vec![if facts.verdict == Verdict::Closed {
        Check::refused(
            Refusal::new(
                "judgement",
                "a plan that the policy does not deny",
                facts.denied.join("; "),
                "Change the bundle, or agree on a waiver in the policy on the trusted ref.",
            ),
            Exit::Closed,
        )
    } else {
        Check::passed("judgement", facts.verdict.as_str())
    }];
    checks.push(if facts.unbound.is_empty() {
        Check::passed("source-bound", "every file that ships has a digest")
    } else {
        Check::refused(
            Refusal::new(
                "source-bound",
                "a digest of every file that ships",
                facts.unbound.join("; "),
                "Put the files themselves into the bundle's folder.",
            ),
            Exit::Invalid,
        )
    });
    if facts.deployment.first_deploy && facts.verdict != Verdict::Closed {
        checks.push(first_deploy(facts.first_deploy_proof));
    }
    checks
}

fn first_deploy(proof: Option<FirstDeployProof>) -> Check {
    const NAME: &str = "first-deploy-proof";
    const EXPECTED: &str = "proof that the workspace holds no state of this deployment, since the plan names no lineage and the CLI compares it with nothing";
    match proof {
        Some(FirstDeployProof::NoState) => Check::passed(NAME, "the workspace holds no state"),
        Some(FirstDeployProof::StateExists) => Check::refused(
            Refusal::new(
                NAME,
                EXPECTED,
                "a state: this target was deployed before",
                "Plan again, with the state that is there.",
            ),
            Exit::Invalid,
        ),
        None => Check::refused(
            Refusal::new(
                NAME,
                EXPECTED,
                "no proof: the workspace was not asked",
                "Use a command that asks the workspace right before it deploys: `bundlegate deploy`.",
            ),
            Exit::Unreachable,
        ),
    }
}

/// A refusal of one approval, before it is known whether others are enough.
struct Refused {
    check: Check,
    /// It closes the gate even if others are enough: it may be a rejection that somebody garbled.
    always: bool,
}

fn judge_approvals(
    facts: &Facts,
    terms: &Terms<'_>,
    approval: &Approval,
    approvals: &[Given<'_>],
    checks: &mut Vec<Check>,
) -> Outcome {
    let mut passed = Vec::new();
    let mut refused = Vec::new();
    let mut decided = Vec::new();
    for given in approvals {
        match judge_one(facts, terms, approval, *given, &mut passed) {
            Ok(one) => decided.push(one),
            Err(one) => refused.push(*one),
        }
    }
    platforms::judge(
        facts,
        approval,
        terms.people,
        &mut platforms::Found {
            passed: &mut passed,
            refused: &mut refused,
            decided: &mut decided,
        },
    );
    let quorum = Quorum {
        required: u32::try_from(approval.required).unwrap_or(u32::MAX),
        expires_after: i64::try_from(approval.expires_after.as_secs())
            .ok()
            .map(jiff::SignedDuration::from_secs),
        people: terms.people,
        author: role(approval, Separation::Author, &facts.author),
        actor: role(approval, Separation::Actor, &facts.actor),
    };
    let outcome = quorum.judge(&decided, facts.now);
    let mut rejections = Vec::new();
    for judged in &outcome.decisions {
        match &judged.standing {
            Standing::Counts { person } => {
                passed.push(Check::passed("approver", format!("{person}, who counts")).of(&judged.label));
            }
            Standing::CountedAlready { person, with } => refused.push(Refused {
                check: Check::refused(
                    Refusal::new(
                        "distinct-people",
                        format!("{} distinct people", outcome.required),
                        format!("a second approval by {person}, who is counted with {with}"),
                        "Let somebody else approve too.",
                    ),
                    Exit::Invalid,
                )
                .of(&judged.label),
                always: false,
            }),
            Standing::Rejects { person } => rejections.push(
                Check::refused(
                    Refusal::new(
                        "rejection",
                        "a plan that nobody rejected",
                        format!("a rejection by {person}"),
                        "Change the plan, or start a new run where a run was rejected: a rejection does not expire and no approval outweighs it. What was said in a pull request can be edited or deleted; a review that asks for changes ends with its author's approval or by dismissing it.",
                    ),
                    Exit::Invalid,
                )
                .of(&judged.label),
            ),
            Standing::Refused(refusal) => refused.push(Refused {
                check: Check::refused(refusal.clone(), Exit::Invalid).of(&judged.label),
                always: false,
            }),
        }
    }
    let enough = outcome.state != State::Missing
        && outcome.persons.len() >= usize::try_from(outcome.required).unwrap_or(usize::MAX);
    checks.extend(passed);
    let mut explained = false;
    for mut one in refused {
        if enough && !one.always {
            one.check.result = CheckResult::NotCounted;
        } else {
            explained = true;
        }
        checks.push(one.check);
    }
    explained |= !rejections.is_empty();
    checks.extend(rejections);
    checks.push(quorum_check(&outcome, enough, explained, || ways(approval)));
    outcome
}

/// How this plan can be approved, by what the policy accepts.
fn ways(approval: &Approval) -> String {
    let mut ways = Vec::new();
    let accept = &approval.accept;
    if accept.ssh.is_some() {
        ways.push(
            "Run `bundlegate approve` on this plan, with the same inputs and source.".to_owned(),
        );
    }
    if let Some(github) = accept.github.as_ref().map(|g| &g.value) {
        if let Some(environment) = &github.environment {
            ways.push(format!(
                "Have this run approved for the GitHub environment {environment}."
            ));
        }
        if github.reviewers.is_some() {
            ways.push(
                "Have a reviewer write into the pull request what `bundlegate approve PLAN --comment` prints, with the same inputs and source.".to_owned(),
            );
        }
    }
    if let Some(azure) = accept.azure.as_ref().map(|a| &a.value) {
        ways.push(format!(
            "Have this stage approved for the Azure DevOps environment {}.",
            azure.environment
        ));
    }
    ways.join(" Or: ")
}

fn quorum_check(
    outcome: &Outcome,
    enough: bool,
    explained: bool,
    ways: impl FnOnce() -> String,
) -> Check {
    let found = match outcome.persons.as_slice() {
        [] => "nobody who counts".to_owned(),
        persons => persons.join(", "),
    };
    let expected = match outcome.required {
        1 => "the approval of one person".to_owned(),
        n => format!("the approvals of {n} distinct people"),
    };
    if enough {
        return Check::passed("quorum", found);
    }
    if explained {
        return Check {
            expected,
            ..Check::not_reached("quorum", format!("{found}; the refusals above say why"))
        };
    }
    Check::refused(
        Refusal::new("quorum", expected, found, ways()),
        Exit::Review,
    )
}

fn role(approval: &Approval, which: Separation, who: &[Identity]) -> Role {
    if approval.separation.contains(&which) {
        Role::SeparateFrom(who.to_vec())
    } else {
        Role::Any
    }
}

/// One file alone: is it an approval, whose is it, is it about exactly this?
fn judge_one(
    facts: &Facts,
    terms: &Terms<'_>,
    approval: &Approval,
    given: Given<'_>,
    passed: &mut Vec<Check>,
) -> Result<Decided, Box<Refused>> {
    let refuse = |refusal: Refusal, always: bool| {
        // What cannot be read at all is an input that cannot be judged; what can be read and is wrong is an invalid approval.
        let exit = if refusal.check == UNREADABLE {
            Exit::Input
        } else {
            Exit::Invalid
        };
        Box::new(Refused {
            check: Check::refused(refusal, exit).of(given.name),
            always,
        })
    };
    let envelope = given
        .content
        .map_err(|refusal| refuse(refusal.clone(), true))?;
    passed.push(Check::passed(UNREADABLE, "one decision with one signature").of(given.name));
    let Some(trust) = terms.trust else {
        return Err(refuse(
            Refusal::new(
                "accepted-way",
                "an approval of a kind that the policy accepts",
                "an SSH signature; the policy has no `approval.accept.ssh`",
                "Approve in a way that the policy accepts, or add `accept.ssh` on the trusted ref.",
            ),
            false,
        ));
    };
    let said = &envelope.statement().predicate;
    let is_rejection = said.decision == Word::Reject;
    let verified = envelope.verify(trust, facts.now).or_else(|error| {
        // A "no" does not expire, and neither does the key that it was made with.
        if is_rejection && said.time < facts.now {
            envelope.verify(trust, said.time)
        } else {
            Err(error)
        }
    });
    let signer = verified.map_err(|error| {
        // A signature that does not hold may have been a rejection's.
        let always = error.check() == "signature";
        refuse(error.refusal(), always)
    })?;
    passed.push(
        Check::passed(
            "signature",
            format!("{} by {}", signer.key, signer.principal),
        )
        .of(given.name),
    );
    if is_rejection {
        binding::rejection(envelope.statement(), facts, approval.matching)
            .map_err(|refusal| refuse(refusal, false))?;
    } else {
        let compared = binding::approval(envelope.statement(), facts, approval.matching);
        passed.extend(
            compared
                .passed
                .into_iter()
                .map(|check| check.of(given.name)),
        );
        if let Some(refusal) = compared.refusal {
            return Err(refuse(refusal, false));
        }
    }
    Ok(Decided {
        label: given.name.to_owned(),
        by: Identity::Ssh {
            principal: signer.principal,
            key: signer.key,
        },
        decision: said.decision,
        time: said.time,
        expires: said.expires,
    })
}

/// The check that a file is an approval at all.
const UNREADABLE: &str = "approval-readable";

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
