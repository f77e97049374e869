//! What is trusted: the policy, what it extends, `allowed_signers` and the revoked keys, read from a ref that the branch under
//! review cannot change; never from the working tree.

use std::io;
use std::path::{Component, Path, PathBuf};

use clap::Args;

use super::Failure;
use super::policy::{FILE_NAME, load_policy};
use crate::approval::statement::PolicyRef as Bound;
use crate::approval::{AllowedSigners, GitObjectId, RevokedKeys, Sha256Hex, SshTrust};
use crate::digest;
use crate::host::files;
use crate::host::git::{Git, GitError, MAX_FILE_AT_REF};
use crate::host::out;
use crate::policy::{AcceptSsh, Embedded, Policy, PolicyRef};
use crate::text::{quoted, visible};

/// Which policy judges, and from where it is read.
#[derive(Debug, Args)]
pub(super) struct TrustArgs {
    /// Policy: a file, or an embedded one (production, staging, development) [default: bundlegate.yml in the bundle's folder or above, else production]
    #[arg(short, long, value_name = "POLICY")]
    policy: Option<String>,
    /// Branch, tag or full commit from which policy, `extends`, allowed_signers and revoked keys are read [default: HEAD; must be given in CI]
    #[arg(long, value_name = "REF")]
    trusted_ref: Option<String>,
    /// The policy's digest as `bundlegate digest` prints it; must be given outside git
    #[arg(long, value_name = "SHA256")]
    policy_sha256: Option<Sha256Hex>,
    /// SHA-256 of the allowed_signers file; must be given outside git
    #[arg(long, value_name = "SHA256")]
    signers_sha256: Option<Sha256Hex>,
    /// SHA-256 of the file of revoked keys; must be given outside git if the policy names one
    #[arg(long, value_name = "SHA256")]
    revoked_sha256: Option<Sha256Hex>,
    #[arg(long, hide = true, value_name = "RULE=LEVEL")]
    level: Vec<String>,
    #[arg(long, hide = true, value_name = "TIME")]
    now: Option<String>,
}

/// Whether the digests that stand in for a trusted ref must be there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Strictness {
    /// A person who looks at what is shown.
    Person,
    /// A machine that opens the gate.
    Gate,
}

/// Who may sign.
#[derive(Debug)]
pub(super) struct Signers {
    pub(super) allowed: AllowedSigners,
    revoked: RevokedKeys,
}

impl Signers {
    pub(super) fn trust(&self) -> SshTrust<'_> {
        SshTrust {
            signers: &self.allowed,
            revoked: &self.revoked,
        }
    }
}

/// Everything that was read from the trusted place.
#[derive(Debug)]
pub(super) struct Trusted {
    pub(super) policy: Policy,
    /// What an approval says of the policy.
    pub(super) bound: Bound,
    /// `None`: the policy accepts no SSH signature.
    pub(super) signers: Option<Signers>,
    /// The repository of the bundle, if it is in one.
    pub(super) git: Option<Git>,
    /// The commit of the trusted ref, if one was named: what a change is compared with.
    pub(super) base: Option<GitObjectId>,
}

/// Where trusted files come from.
enum Place<'a> {
    Git(&'a Git, &'a GitObjectId),
    Folder(&'a Path),
}

impl TrustArgs {
    /// Reads policy and signers for the bundle in `folder`.
    pub(super) fn load(
        &self,
        folder: &Path,
        strict: Strictness,
        colour: bool,
    ) -> Result<Trusted, Failure> {
        self.refuse_switches()?;
        let git = match Git::open(folder) {
            Ok(git) => Some(git),
            Err(GitError::NotARepository { .. }) => None,
            Err(error) => return Err(failure(&error)),
        };
        let reference = self.reference(git.is_some(), strict)?;
        // One commit for everything, even if the branch moves meanwhile.
        let commit = git
            .as_ref()
            .map(|git| git.resolve(&reference))
            .transpose()
            .map_err(|e| failure(&e))?;
        let place = match git.as_ref().zip(commit.as_ref()) {
            Some((git, commit)) => Place::Git(git, commit),
            None => Place::Folder(folder),
        };
        let source = self.source(&place)?;
        let policy = load_policy(&source, colour, &mut |path| place.policy_text(path))?;
        let bound = Bound {
            sha256: digest::policy(&policy),
            path: source.to_string(),
        };
        must_be(
            "--policy-sha256",
            self.policy_sha256.as_ref(),
            &bound.sha256,
        )?;
        let ssh = policy
            .approval
            .as_ref()
            .and_then(|a| a.accept.ssh.as_ref())
            .map(|at| at.value.clone());
        let signers = ssh
            .map(|ssh| self.signers(&place, &ssh, strict))
            .transpose()?;
        Ok(Trusted {
            policy,
            bound,
            signers,
            base: commit.filter(|_| self.trusted_ref.is_some()),
            git,
        })
    }

    /// What would let somebody bend the judgement.
    fn refuse_switches(&self) -> Result<(), Failure> {
        for (flag, given, instead) in [
            (
                "--level",
                !self.level.is_empty(),
                "change the policy on the trusted ref",
            ),
            ("--now", self.now.is_some(), "set the machine's clock"),
        ] {
            if given {
                return Err(Failure::input(format!(
                    "error: {flag} is refused here: what is approved is judged by the policy and the clock alone\n  help: {instead}"
                )));
            }
        }
        Ok(())
    }

    fn reference(&self, in_git: bool, strict: Strictness) -> Result<String, Failure> {
        match (&self.trusted_ref, in_git) {
            (Some(_), false) => Err(Failure::input(
                "error: --trusted-ref: expected a git repository around the bundle's folder, found none\n  help: give --policy-sha256 and --signers-sha256 instead",
            )),
            (Some(name), true) => Ok(name.clone()),
            (None, true) if strict == Strictness::Gate && is_ci() => Err(Failure::input(
                "error: expected --trusted-ref in CI, found none: HEAD is the branch under review there, and could bring its own policy and signers\n  help: name a protected branch, such as --trusted-ref origin/main",
            )),
            (None, true) => Ok("HEAD".to_owned()),
            (None, false) if strict == Strictness::Gate && self.policy_sha256.is_none() => {
                Err(Failure::input(
                    "error: expected --policy-sha256 outside git, found none: nothing else says that this is the policy that was agreed on\n  help: `bundlegate digest` prints it; keep it where the change cannot reach it",
                ))
            }
            (None, false) => Ok(String::new()),
        }
    }

    fn source(&self, place: &Place<'_>) -> Result<PolicyRef, Failure> {
        let named = match &self.policy {
            Some(text) => text
                .parse()
                .unwrap_or_else(|never: std::convert::Infallible| match never {}),
            None => return place.find_policy(),
        };
        match (named, place) {
            (PolicyRef::File(path), Place::Git(git, _)) => in_repository(git, &path),
            (named, _) => Ok(named),
        }
    }

    fn signers(
        &self,
        place: &Place<'_>,
        ssh: &AcceptSsh,
        strict: Strictness,
    ) -> Result<Signers, Failure> {
        let wrong = |path: &str, e: &dyn std::fmt::Display| {
            Failure::input(format!(
                "error: {}: {}",
                visible(path),
                visible(&e.to_string())
            ))
        };
        let needed = matches!(place, Place::Folder(_)) && strict == Strictness::Gate;
        let read = |flag: &str, path: &str, expected: Option<&Sha256Hex>| {
            let bytes = place.bytes(path)?;
            if needed && expected.is_none() {
                return Err(Failure::input(format!(
                    "error: expected {flag} outside git, found none: nothing else says that {} is what was agreed on\n  help: `sha256sum` prints it; keep it where the change cannot reach it",
                    visible(path)
                )));
            }
            must_be(flag, expected, &Sha256Hex::of(&bytes))?;
            Ok(bytes)
        };
        let path = &ssh.allowed_signers;
        let bytes = read("--signers-sha256", path, self.signers_sha256.as_ref())?;
        let allowed = AllowedSigners::parse(&bytes).map_err(|e| wrong(path, &e))?;
        for note in allowed.notes() {
            out::stderr(&format!(
                "note: {}:{}: {}\n",
                visible(path),
                note.line,
                visible(&note.text)
            ));
        }
        let revoked = match &ssh.revoked {
            None => RevokedKeys::default(),
            Some(path) => {
                let bytes = read("--revoked-sha256", path, self.revoked_sha256.as_ref())?;
                RevokedKeys::parse(&bytes).map_err(|e| wrong(path, &e))?
            }
        };
        Ok(Signers { allowed, revoked })
    }
}

impl Place<'_> {
    fn policy_text(&self, path: &Path) -> Result<String, io::Error> {
        match self {
            Place::Folder(_) => std::fs::read_to_string(path),
            Place::Git(git, commit) => {
                let bytes = git.file_of(commit, &slashed(path)).map_err(|e| {
                    let kind = match e {
                        GitError::NoFile { .. } => io::ErrorKind::NotFound,
                        _ => io::ErrorKind::Other,
                    };
                    io::Error::new(kind, e.to_string())
                })?;
                String::from_utf8(bytes)
                    .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8"))
            }
        }
    }

    fn bytes(&self, path: &str) -> Result<Vec<u8>, Failure> {
        match self {
            Place::Git(git, commit) => git.file_of(commit, path).map_err(|e| failure(&e)),
            Place::Folder(folder) => {
                let path = folder.join(path);
                files::read(&path, MAX_FILE_AT_REF).map_err(|e| {
                    Failure::input(format!(
                        "error: {}: {e}",
                        visible(&path.display().to_string())
                    ))
                })
            }
        }
    }

    /// `bundlegate.yml` in the bundle's folder or above, up to the top of the repository; outside git in the folder alone.
    fn find_policy(&self) -> Result<PolicyRef, Failure> {
        let production = PolicyRef::Embedded(Embedded::Production);
        match self {
            Place::Folder(folder) => {
                let path = folder.join(FILE_NAME);
                Ok(if path.is_file() {
                    PolicyRef::File(path)
                } else {
                    production
                })
            }
            Place::Git(git, commit) => {
                for folder in Path::new(git.folder()).ancestors() {
                    let path = folder.join(FILE_NAME);
                    match git.must_have_file(commit, &slashed(&path)) {
                        Ok(()) => return Ok(PolicyRef::File(path)),
                        Err(GitError::NoFile { .. }) => {}
                        Err(error) => return Err(failure(&error)),
                    }
                    if git.top().join(&path).is_file() {
                        out::stderr(&format!(
                            "note: {} is in the working tree and not in {commit}: it is not used\n",
                            visible(&path.display().to_string())
                        ));
                    }
                }
                Ok(production)
            }
        }
    }
}

/// Whether this runs in a CI system: there HEAD is what is under review.
pub(super) fn is_ci() -> bool {
    let set = |name: &str| {
        std::env::var(name)
            .is_ok_and(|v| !matches!(v.to_ascii_lowercase().as_str(), "" | "0" | "false"))
    };
    ["CI", "GITHUB_ACTIONS", "TF_BUILD"].into_iter().any(set)
}

pub(super) fn failure(error: &dyn std::fmt::Display) -> Failure {
    Failure::input(format!("error: {}", visible(&error.to_string())))
}

fn must_be(flag: &str, expected: Option<&Sha256Hex>, found: &Sha256Hex) -> Result<(), Failure> {
    match expected {
        Some(expected) if expected != found => Err(Failure::input(format!(
            "error: {flag}: expected {expected}, found {found}: it is not the file that was agreed on"
        ))),
        _ => Ok(()),
    }
}

/// The path from the top of the repository of a policy file that was named from the current folder.
fn in_repository(git: &Git, path: &Path) -> Result<PolicyRef, Failure> {
    let outside = || {
        Failure::input(format!(
            "error: --policy: expected a file in the repository, since it is read from a ref of it, found {}",
            quoted(&path.display().to_string())
        ))
    };
    let top = std::fs::canonicalize(git.top()).map_err(|e| failure(&e))?;
    let here = std::env::current_dir()
        .and_then(std::fs::canonicalize)
        .map_err(|e| failure(&e))?;
    let mut whole = PathBuf::new();
    // The file need not be in the working tree, so `..` is taken by its name.
    for part in here.join(path).components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                whole.pop();
            }
            part => whole.push(part),
        }
    }
    let inside = whole.strip_prefix(&top).map_err(|_| outside())?;
    Ok(PolicyRef::File(inside.to_path_buf()))
}

fn slashed(path: &Path) -> String {
    path.components()
        .map(|part| part.as_os_str().to_string_lossy())
        .collect::<Vec<_>>()
        .join("/")
}
