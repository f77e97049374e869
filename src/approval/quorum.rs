//! Do enough distinct people agree, and does nobody object?
//!
//! What comes in has been verified: whose decision it is, and that it is about this plan. For an approval that means everything
//! that the statement binds; for a rejection the plan's digest alone, since nobody should get rid of a "no" by changing a policy or
//! a file. A rejection always counts, whoever
//! made it, whenever, and wins. An approval counts when it is neither expired nor from the future and its maker is someone who
//! may approve. People are counted, not files, keys or accounts.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};

use super::CLOCK_SKEW;
use super::refusal::Refusal;
use super::statement::Decision;

/// How somebody is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Identity {
    /// By an SSH key that `allowed_signers` grants a principal.
    Ssh {
        /// The principal.
        principal: String,
        /// `SHA256:...` of the key.
        key: String,
    },
    /// By a GitHub account.
    Github {
        /// The login, which can change hands.
        login: String,
        /// The numeric id, which cannot.
        id: Option<u64>,
    },
    /// By an Azure DevOps subject descriptor.
    Azure {
        /// The descriptor.
        descriptor: String,
    },
    /// By the address in a git commit. Anyone can write any: it can exclude somebody, never admit.
    Git {
        /// The address.
        address: String,
    },
}

impl Identity {
    fn kind(&self) -> &'static str {
        match self {
            Self::Ssh { .. } => "ssh",
            Self::Github { .. } => "github",
            Self::Azure { .. } => "azure",
            Self::Git { .. } => "git",
        }
    }

    /// The name that people know.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Ssh { principal, .. } => principal,
            Self::Github { login, .. } => login,
            Self::Azure { descriptor } => descriptor,
            Self::Git { address } => address,
        }
    }

    /// Two persons cannot hold one of these.
    fn key(&self) -> Option<&str> {
        match self {
            Self::Ssh { key, .. } => Some(key),
            _ => None,
        }
    }
}

/// A GitHub account in the policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GithubAccount {
    /// The login.
    pub login: String,
    /// The numeric id; when given, it alone decides.
    pub id: Option<u64>,
}

impl GithubAccount {
    /// The id decides where both are known; else the login.
    fn is(&self, id: Option<u64>, login: &str) -> bool {
        match (self.id, id) {
            (Some(own), Some(id)) => own == id,
            _ => self.login.eq_ignore_ascii_case(login),
        }
    }
}

/// One human of the policy's `people:`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Person {
    /// The name in the policy.
    pub name: String,
    /// SSH principals.
    pub ssh: Vec<String>,
    /// The GitHub account.
    pub github: Option<GithubAccount>,
    /// The Azure DevOps subject descriptor.
    pub azure: Option<String>,
    /// Git addresses.
    pub git: Vec<String>,
}

impl Person {
    /// Is it they? `None` when the policy does not say how they are known in this kind of place.
    fn is(&self, identity: &Identity) -> Option<bool> {
        match identity {
            Identity::Ssh { principal, .. } => {
                (!self.ssh.is_empty()).then(|| self.ssh.contains(principal))
            }
            Identity::Github { login, id } => self.github.as_ref().map(|own| own.is(*id, login)),
            Identity::Azure { descriptor } => self.azure.as_ref().map(|own| own == descriptor),
            Identity::Git { address } => {
                let account = self.github.as_ref().zip(hidden_address(address));
                if account.is_some_and(|(own, (id, login))| own.is(id, login)) {
                    return Some(true);
                }
                (!self.git.is_empty())
                    .then(|| self.git.iter().any(|own| own.eq_ignore_ascii_case(address)))
            }
        }
    }
}

/// The account behind the address that GitHub gives out for commits in its web pages: `ID+LOGIN@users.noreply.github.com`, without the
/// id for accounts before July 2017 (GitHub docs, "Email addresses reference").
fn hidden_address(address: &str) -> Option<(Option<u64>, &str)> {
    let (name, host) = address.split_once('@')?;
    // GitHub Enterprise Server gives out the same at its own host.
    if !host.to_ascii_lowercase().starts_with("users.noreply.") {
        return None;
    }
    match name.split_once('+') {
        Some((id, login)) => Some((Some(id.parse().ok()?), login)),
        None => Some((None, name)),
    }
}

/// A role that an approver may not have in this change.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Role {
    /// The policy does not ask.
    #[default]
    Any,
    /// The policy asks for separation from these; an empty list means that nobody could tell who it is.
    SeparateFrom(Vec<Identity>),
}

/// A verified decision about this plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decided {
    /// Where it stands, such as a file name.
    pub label: String,
    /// Who decided.
    pub by: Identity,
    /// What.
    pub decision: Decision,
    /// When.
    pub time: Timestamp,
    /// Until when.
    pub expires: Timestamp,
}

/// What the policy asks for.
#[derive(Debug, Clone)]
pub struct Quorum<'a> {
    /// How many distinct people; 0 asks for nobody, and a rejection still closes.
    pub required: u32,
    /// The longest life of an approval, whatever it says itself.
    pub expires_after: Option<SignedDuration>,
    /// The policy's `people:`.
    pub people: &'a [Person],
    /// Who wrote the change.
    pub author: Role,
    /// Who started the run.
    pub actor: Role,
}

/// What a decision is worth.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// It counts for this person.
    Counts {
        /// The person.
        person: String,
    },
    /// It stands, but its maker is counted already.
    CountedAlready {
        /// The person.
        person: String,
        /// The decision that counts for them.
        with: String,
    },
    /// It closes the gate.
    Rejects {
        /// The person.
        person: String,
    },
    /// It does not count.
    Refused(Refusal),
}

/// A decision and what it is worth.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judged {
    /// Where it stands.
    pub label: String,
    /// What it is worth.
    pub standing: Standing,
}

/// The answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Enough people agree and nobody objects.
    Satisfied,
    /// Too few people agree.
    Missing,
    /// Somebody objects.
    Rejected,
}

/// The answer and how it came about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// The answer.
    pub state: State,
    /// How many distinct people the policy asks for.
    pub required: u32,
    /// The people that count, sorted.
    pub persons: Vec<String>,
    /// Every decision, in the order of their labels.
    pub decisions: Vec<Judged>,
}

impl Quorum<'_> {
    /// Judges all decisions about one plan. Their order makes no difference.
    #[must_use]
    pub fn judge(&self, decisions: &[Decided], now: Timestamp) -> Outcome {
        let mut sorted: Vec<&Decided> = decisions.iter().collect();
        sorted.sort_by(|a, b| a.label.cmp(&b.label).then(a.time.cmp(&b.time)));

        let mut judged = Vec::new();
        let mut standing: Vec<(&Decided, Result<&Person, &str>)> = Vec::new();
        let mut rejected = false;
        for decided in sorted {
            if decided.decision == Decision::Reject {
                rejected = true;
                judged.push(Judged {
                    label: decided.label.clone(),
                    standing: Standing::Rejects {
                        person: self.person_name(&decided.by),
                    },
                });
                continue;
            }
            match self
                .check_time(decided, now)
                .and_then(|()| self.check_person(decided))
            {
                Ok(person) => standing.push((decided, person)),
                Err(refusal) => judged.push(Judged {
                    label: decided.label.clone(),
                    standing: Standing::Refused(refusal),
                }),
            }
        }
        let persons = self.count(&standing, &mut judged);
        judged.sort_by(|a, b| a.label.cmp(&b.label));
        let state = if rejected {
            State::Rejected
        } else if u32::try_from(persons.len()).unwrap_or(u32::MAX) >= self.required {
            State::Satisfied
        } else {
            State::Missing
        };
        Outcome {
            state,
            required: self.required,
            persons,
            decisions: judged,
        }
    }

    /// Until when this approval counts: its own word, cut short by the policy.
    fn end(&self, decided: &Decided) -> Timestamp {
        self.expires_after
            // A cap that leads beyond the calendar caps nothing.
            .and_then(|life| decided.time.checked_add(life).ok())
            .map_or(decided.expires, |cap| cap.min(decided.expires))
    }

    fn check_time(&self, decided: &Decided, now: Timestamp) -> Result<(), Refusal> {
        if decided.time.duration_since(now) > CLOCK_SKEW {
            return Err(Refusal::new(
                "from-the-future",
                format!("an approval made before now, {now}"),
                format!("one made at {}", decided.time),
                "Check the clocks of this machine and of the approver's, then approve again.",
            ));
        }
        let end = self.end(decided);
        if now >= end {
            return Err(Refusal::new(
                "expired",
                format!("an approval that is valid at {now}"),
                format!("one that ended at {end}"),
                "Approve again; what was said to a run counts from the run's start, so start a new one.",
            ));
        }
        Ok(())
    }

    /// The person, or the bare name of somebody whom the policy does not know.
    fn check_person<'s>(
        &'s self,
        decided: &'s Decided,
    ) -> Result<Result<&'s Person, &'s str>, Refusal> {
        if matches!(decided.by, Identity::Git { .. }) {
            return Err(Refusal::new(
                "approver",
                "an approver who proved who they are",
                "a git address, which anyone can write",
                "Approve with an SSH key or on the CI platform.",
            ));
        }
        let mut found = self
            .people
            .iter()
            .filter(|p| p.is(&decided.by) == Some(true));
        let person = match (found.next(), found.next()) {
            (Some(person), None) => Ok(person),
            (None, _) => Err(decided.by.name()),
            (Some(a), Some(b)) => {
                return Err(Refusal::new(
                    "approver",
                    "an approver who is one person of the policy",
                    format!(
                        "{}, who is both {:?} and {:?}",
                        decided.by.name(),
                        a.name,
                        b.name
                    ),
                    "Give each account to one person in the policy's `people:`.",
                ));
            }
        };
        for (name, role) in [("author", &self.author), ("actor", &self.actor)] {
            if let Role::SeparateFrom(others) = role {
                check_separate(name, others, person, decided)?;
            }
        }
        Ok(person)
    }

    fn person_name(&self, identity: &Identity) -> String {
        self.people
            .iter()
            .find(|p| p.is(identity) == Some(true))
            .map_or_else(|| identity.name().to_owned(), |p| p.name.clone())
    }

    /// Counts people: whoever shares a name or a key with somebody is the same person.
    fn count(
        &self,
        standing: &[(&Decided, Result<&Person, &str>)],
        judged: &mut Vec<Judged>,
    ) -> Vec<String> {
        let kinds: BTreeSet<_> = standing.iter().map(|(d, _)| d.by.kind()).collect();
        let cannot_tell_apart = self.required > 1 && kinds.len() > 1;
        let mut groups = Groups::default();
        let mut counted: Vec<(&Decided, String)> = Vec::new();
        for (decided, person) in standing {
            let name = match person {
                Ok(person) => person.name.clone(),
                Err(name) if cannot_tell_apart => {
                    judged.push(Judged {
                        label: decided.label.clone(),
                        standing: Standing::Refused(Refusal::new(
                            "approver",
                            "an approver whom the policy knows, since approvals come from several platforms",
                            format!("{name}, who is not in `people:`"),
                            "Add them to the policy's `people:`, so that nobody counts twice.",
                        )),
                    });
                    continue;
                }
                Err(name) => (*name).to_owned(),
            };
            let person_node = groups.node(format!("person {name}"));
            if let Some(key) = decided.by.key() {
                let key_node = groups.node(format!("key {key}"));
                groups.join(person_node, key_node);
            }
            counted.push((decided, name));
        }
        let mut first: BTreeMap<usize, (String, String)> = BTreeMap::new();
        for (decided, name) in counted {
            let node = groups.node(format!("person {name}"));
            let group = groups.find(node);
            let standing = match first.get(&group) {
                None => {
                    first.insert(group, (name.clone(), decided.label.clone()));
                    Standing::Counts { person: name }
                }
                Some((_, with)) => Standing::CountedAlready {
                    person: name,
                    with: with.clone(),
                },
            };
            judged.push(Judged {
                label: decided.label.clone(),
                standing,
            });
        }
        let mut persons: Vec<_> = first.into_values().map(|(name, _)| name).collect();
        persons.sort();
        persons
    }
}

fn check_separate(
    role: &'static str,
    others: &[Identity],
    person: Result<&Person, &str>,
    decided: &Decided,
) -> Result<(), Refusal> {
    let expected = format!("an approver who is not the {role} of this change");
    let person = person.map_err(|name| {
        Refusal::new(
            "separation",
            expected.clone(),
            format!("{name}, whom the policy cannot tell from the {role}"),
            "Add them to the policy's `people:`.",
        )
    })?;
    if others.is_empty() {
        return Err(Refusal::new(
            "separation",
            expected,
            format!("an {role} who could not be determined"),
            format!("Say who the {role} is, or take `{role}` out of the policy's `separation`."),
        ));
    }
    for other in others {
        match person.is(other) {
            Some(false) => {}
            Some(true) => {
                return Err(Refusal::new(
                    "separation",
                    expected,
                    format!(
                        "{:?} ({}), who is the {role} {}",
                        person.name,
                        decided.by.name(),
                        other.name()
                    ),
                    "Let somebody else approve.",
                ));
            }
            None => {
                return Err(Refusal::new(
                    "separation",
                    expected,
                    format!(
                        "{:?}, whose {} account the policy does not name; the {role} is {}",
                        person.name,
                        other.kind(),
                        other.name()
                    ),
                    format!(
                        "Add `{}:` to their entry in the policy's `people:`.",
                        other.kind()
                    ),
                ));
            }
        }
    }
    Ok(())
}

/// Names that belong together (union-find, without recursion).
#[derive(Default)]
struct Groups {
    nodes: BTreeMap<String, usize>,
    parents: Vec<usize>,
}

impl Groups {
    fn node(&mut self, name: String) -> usize {
        let next = self.parents.len();
        let node = *self.nodes.entry(name).or_insert(next);
        if node == next {
            self.parents.push(next);
        }
        node
    }

    fn find(&self, mut node: usize) -> usize {
        // Parents only ever point to smaller numbers, so this ends.
        while let Some(&parent) = self.parents.get(node) {
            if parent == node {
                break;
            }
            node = parent;
        }
        node
    }

    fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.find(a), self.find(b));
        if let Some(parent) = self.parents.get_mut(a.max(b)) {
            *parent = a.min(b);
        }
    }
}

#[cfg(test)]
mod tests;
