//! The `git` program, asked read-only: which commit, which tree, what a ref holds.
//!
//! No shell, no hooks, no pager, no file-system monitor, no replaced objects, no prompt, no optional locks; variables that point
//! git to another repository are taken out of its environment.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

use crate::approval::GitObjectId;

/// The largest file that is read from a ref, in bytes.
pub const MAX_FILE_AT_REF: u64 = 16 * 1024 * 1024;

/// Options for every call. The file-system monitor and hooks are programs that the repository chooses; the others make git
/// look at every file instead of trusting what it remembers.
const OPTIONS: [&str; 14] = [
    "-c",
    "core.fsmonitor=false",
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "core.untrackedCache=false",
    "-c",
    "core.trustctime=true",
    "-c",
    "core.checkStat=default",
    "-c",
    "core.sparseCheckout=false",
    "-c",
    "core.quotePath=false",
];

/// What could send git to another repository, index or object store.
const REMOVED_VARIABLES: [&str; 18] = [
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_ATTR_SOURCE",
    "GIT_COMMON_DIR",
    "GIT_DEFAULT_HASH",
    "GIT_DIR",
    "GIT_EXTERNAL_DIFF",
    "GIT_GLOB_PATHSPECS",
    "GIT_GRAFT_FILE",
    "GIT_ICASE_PATHSPECS",
    "GIT_INDEX_FILE",
    "GIT_INTERNAL_SUPER_PREFIX",
    "GIT_LITERAL_PATHSPECS",
    "GIT_NAMESPACE",
    "GIT_NOGLOB_PATHSPECS",
    "GIT_OBJECT_DIRECTORY",
    "GIT_PREFIX",
    "GIT_SHALLOW_FILE",
    "GIT_WORK_TREE",
];

/// What git did not answer.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    /// No such program.
    #[error(
        "git is not installed or not on the path: install it, or work outside a repository with the policy's digest"
    )]
    NoProgram,
    /// It could not be started for another reason.
    #[error("git cannot be started: {0}")]
    Start(#[source] io::Error),
    /// Not in a repository.
    #[error("{} is not in a git repository", folder.display())]
    NotARepository {
        /// The folder.
        folder: PathBuf,
    },
    /// Git refuses a repository of another user.
    #[error(
        "git refuses {}: it belongs to another user (\"dubious ownership\"); run as its owner, or trust it with \
         `git config --global --add safe.directory PATH`",
        folder.display()
    )]
    DubiousOwnership {
        /// The folder.
        folder: PathBuf,
    },
    /// A repository without files.
    #[error("{} is in a git repository without a working tree: check it out", folder.display())]
    NoWorkingTree {
        /// The folder.
        folder: PathBuf,
    },
    /// Nothing committed.
    #[error("the repository at {} has no commit yet: commit first", folder.display())]
    NoCommit {
        /// The folder.
        folder: PathBuf,
    },
    /// Not a name for a ref.
    #[error(
        "{found:?} is not the name of a branch, a tag or a full commit id: expected a name such as origin/main"
    )]
    RefName {
        /// The text.
        found: String,
    },
    /// No such ref.
    #[error(
        "the ref {name:?} is not in the repository: fetch it (`git fetch origin`); in CI, check out with its history"
    )]
    NoRef {
        /// The name.
        name: String,
    },
    /// Several refs of one name: whoever can push a tag could choose which one is meant.
    #[error("the ref {name:?} is ambiguous ({}): write it out in full", candidates.join(", "))]
    AmbiguousRef {
        /// The name.
        name: String,
        /// The full names.
        candidates: Vec<String>,
    },
    /// Not a path inside the repository.
    #[error(
        "{found:?} is not a path inside the repository: expected one like config/bundlegate.yml"
    )]
    Path {
        /// The text.
        found: String,
    },
    /// Not in that commit.
    #[error("{path:?} is not in {reference} ({commit})")]
    NoFile {
        /// The path.
        path: String,
        /// The ref as it was given.
        reference: String,
        /// Its commit.
        commit: GitObjectId,
    },
    /// A link, a folder or a submodule.
    #[error("{path:?} in {reference} is not a regular file (mode {mode})")]
    NotAFile {
        /// The path.
        path: String,
        /// The ref as it was given.
        reference: String,
        /// Git's mode.
        mode: String,
    },
    /// Too large.
    #[error("{path:?} in {reference} has {found} bytes: expected at most {MAX_FILE_AT_REF}")]
    TooLarge {
        /// The path.
        path: String,
        /// The ref as it was given.
        reference: String,
        /// Its size in bytes.
        found: u64,
    },
    /// It failed for another reason.
    #[error("`git {command}` failed ({status}): {words:?}")]
    Failed {
        /// What was asked.
        command: String,
        /// How it ended.
        status: ExitStatus,
        /// What it said.
        words: String,
    },
    /// It answered in a form that we do not know.
    #[error("`git {command}` answered in an unexpected form: {found:?}")]
    Answer {
        /// What was asked.
        command: String,
        /// The beginning of the answer.
        found: String,
    },
}

/// A file out of a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileAt {
    /// The commit that the ref named.
    pub commit: GitObjectId,
    /// The file's bytes.
    pub bytes: Vec<u8>,
}

/// A repository, seen from a folder in it.
#[derive(Debug, Clone)]
pub struct Git {
    top: PathBuf,
    folder: String,
}

impl Git {
    /// Finds the repository that a folder is in.
    ///
    /// # Errors
    /// [`GitError::NotARepository`] where there is none; see [`GitError`].
    pub fn open(folder: &Path) -> Result<Self, GitError> {
        let ask = |questions: &[&str]| -> Result<String, GitError> {
            let args = [&["rev-parse"], questions].concat();
            let bytes = run(folder, &args, &[])?;
            text("rev-parse", bytes)
        };
        if ask(&["--is-inside-work-tree"])?.trim_end() != "true" {
            return Err(GitError::NoWorkingTree {
                folder: folder.to_owned(),
            });
        }
        let answer = ask(&["--show-toplevel", "--show-prefix"])?;
        // A line break in a folder's name would make it more than two lines.
        let lines: Vec<&str> = answer.lines().collect();
        let [top, prefix] = lines.as_slice() else {
            return Err(unexpected("rev-parse", answer.as_bytes()));
        };
        Ok(Self {
            top: PathBuf::from(top),
            folder: prefix.trim_end_matches('/').to_owned(),
        })
    }

    /// The top of the working tree.
    #[must_use]
    pub fn top(&self) -> &Path {
        &self.top
    }

    /// The folder's path from the top, with `/`; `""` at the top.
    #[must_use]
    pub fn folder(&self) -> &str {
        &self.folder
    }

    /// The checked-out commit and its tree.
    ///
    /// # Errors
    /// [`GitError::NoCommit`].
    pub fn head(&self) -> Result<(GitObjectId, GitObjectId), GitError> {
        let missing = || GitError::NoCommit {
            folder: self.top.clone(),
        };
        let commit = self.object("HEAD^{commit}")?.ok_or_else(missing)?;
        let tree = self.object("HEAD^{tree}")?.ok_or_else(missing)?;
        Ok((commit, tree))
    }

    /// Is the history cut off?
    ///
    /// # Errors
    /// See [`GitError`].
    pub fn is_shallow(&self) -> Result<bool, GitError> {
        let answer = self.run(&["rev-parse", "--is-shallow-repository"], &[])?;
        Ok(answer.trim_ascii() == b"true")
    }

    /// The commit that a branch, a tag or a full commit id names. A name that is a tag and a branch at once is refused.
    ///
    /// # Errors
    /// See [`GitError`].
    pub fn resolve(&self, reference: &str) -> Result<GitObjectId, GitError> {
        check_ref(reference)?;
        let no_ref = || GitError::NoRef {
            name: reference.to_owned(),
        };
        if reference == "HEAD" || GitObjectId::new(reference).is_ok() {
            return self
                .object(&format!("{reference}^{{commit}}"))?
                .ok_or_else(no_ref);
        }
        let candidates: &[&str] = if reference.starts_with("refs/") {
            &[""]
        } else {
            &["refs/heads/", "refs/tags/", "refs/remotes/"]
        };
        let mut found = Vec::new();
        for prefix in candidates {
            let name = format!("{prefix}{reference}");
            if let Some(commit) = self.object(&format!("{name}^{{commit}}"))? {
                found.push((name, commit));
            }
        }
        match found.as_slice() {
            [] => Err(no_ref()),
            [(_, commit)] => Ok(commit.clone()),
            _ => Err(GitError::AmbiguousRef {
                name: reference.to_owned(),
                candidates: found.into_iter().map(|(name, _)| name).collect(),
            }),
        }
    }

    /// A regular file as a ref has it. `path` starts at the top of the repository.
    ///
    /// # Errors
    /// See [`GitError`].
    pub fn file_at(&self, reference: &str, path: &str) -> Result<FileAt, GitError> {
        let commit = self.resolve(reference)?;
        let bytes = self.file_of(&commit, path)?;
        Ok(FileAt { commit, bytes })
    }

    /// The bytes of a regular file of a commit.
    ///
    /// # Errors
    /// See [`GitError`].
    pub fn file_of(&self, commit: &GitObjectId, path: &str) -> Result<Vec<u8>, GitError> {
        let object = self.blob(commit, path)?;
        self.run(&["cat-file", "blob", &object], &[])
    }

    /// Proves that [`Self::file_of`] can read a file.
    ///
    /// # Errors
    /// See [`GitError`].
    pub fn must_have_file(&self, commit: &GitObjectId, path: &str) -> Result<(), GitError> {
        self.blob(commit, path).map(drop)
    }

    /// The object of a regular file of a commit.
    fn blob(&self, commit: &GitObjectId, path: &str) -> Result<String, GitError> {
        let inside = !path.is_empty()
            && !path.contains(['\\', '\0', '\n'])
            && path.split('/').all(|part| !matches!(part, "" | "." | ".."));
        if !inside {
            return Err(GitError::Path {
                found: path.chars().take(200).collect(),
            });
        }
        let literal = [("GIT_LITERAL_PATHSPECS", "1")];
        let whole = ["ls-tree", "-z", "-l", "--full-tree", commit.as_str()];
        let listing = self.run(&[&whole[..], &["--", path]].concat(), &literal)?;
        let listing = text("ls-tree", listing)?;
        // `<mode> <type> <object> <size>\t<path>\0`, the size with spaces before it
        let Some((entry, listed)) = listing.split_once('\t') else {
            return Err(GitError::NoFile {
                path: path.to_owned(),
                reference: commit.to_string(),
                commit: commit.clone(),
            });
        };
        let fields: Vec<_> = entry.split_whitespace().collect();
        let [mode, kind, object, size] = fields.as_slice() else {
            return Err(unexpected("ls-tree", listing.as_bytes()));
        };
        if listed.trim_end_matches('\0') != path {
            return Err(unexpected("ls-tree", listing.as_bytes()));
        }
        if *kind != "blob" || !mode.starts_with("100") {
            return Err(GitError::NotAFile {
                path: path.to_owned(),
                reference: commit.to_string(),
                mode: (*mode).to_owned(),
            });
        }
        let size: u64 = size
            .parse()
            .map_err(|_| unexpected("ls-tree", listing.as_bytes()))?;
        if size > MAX_FILE_AT_REF {
            return Err(GitError::TooLarge {
                path: path.to_owned(),
                reference: commit.to_string(),
                found: size,
            });
        }
        Ok((*object).to_owned())
    }

    /// The addresses of all authors and co-authors: of the commits that are in `HEAD` and not in `base`; without a base of `HEAD`
    /// alone, and of what it merged if it is a merge.
    /// They are what the commits say, not proof: good enough to exclude somebody, never to admit.
    ///
    /// # Errors
    /// See [`GitError`].
    pub fn authors(&self, base: Option<&GitObjectId>) -> Result<Vec<String>, GitError> {
        let (head, _) = self.head()?;
        let mut args = vec![
            "log".to_owned(),
            "--no-show-signature".to_owned(),
            "-z".to_owned(),
            "--format=%ae%n%B".to_owned(),
        ];
        match base {
            Some(base) => args.push(format!("{base}..{head}")),
            None if self.object("HEAD^2^{commit}")?.is_some() => {
                args.push(format!("{head}^1..{head}"));
            }
            None => args.extend(["--max-count=1".to_owned(), head.to_string()]),
        }
        let args: Vec<_> = args.iter().map(String::as_str).collect();
        let answer = self.run(&args, &[])?;
        let answer = String::from_utf8_lossy(&answer);
        let mut addresses: Vec<String> = answer
            .split('\0')
            .flat_map(|commit| {
                let (author, message) = commit.split_once('\n').unwrap_or((commit, ""));
                // Anywhere in the message, not in its last paragraph alone: a squash puts them where it likes.
                let others = message.lines().filter_map(co_author);
                std::iter::once(author.trim()).chain(others)
            })
            .filter(|address| !address.is_empty())
            .map(str::to_owned)
            .collect();
        addresses.sort();
        addresses.dedup();
        Ok(addresses)
    }

    /// Runs git at the top of the working tree.
    pub(super) fn run(&self, args: &[&str], env: &[(&str, &str)]) -> Result<Vec<u8>, GitError> {
        run(&self.top, args, env)
    }

    /// The object of a revision, if there is one.
    fn object(&self, revision: &str) -> Result<Option<GitObjectId>, GitError> {
        let args = [
            "rev-parse",
            "--verify",
            "--quiet",
            "--end-of-options",
            revision,
        ];
        match self.run(&args, &[]) {
            Ok(answer) => {
                let answer = text("rev-parse", answer)?;
                GitObjectId::new(answer.trim())
                    .map(Some)
                    .map_err(|_| unexpected("rev-parse", answer.as_bytes()))
            }
            // Quiet: no such revision is exit 1 without a word.
            Err(GitError::Failed { status, words, .. })
                if status.code() == Some(1) && words.is_empty() =>
            {
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }
}

/// The address in `Co-authored-by: NAME <ADDRESS>`.
fn co_author(line: &str) -> Option<&str> {
    const KEY: &str = "co-authored-by:";
    let line = line.trim_start();
    let key = line.get(..KEY.len())?;
    let value = line
        .get(KEY.len()..)
        .filter(|_| key.eq_ignore_ascii_case(KEY))?;
    let address = value.rsplit_once('<').map_or(value, |(_, address)| address);
    Some(address.trim().trim_end_matches('>'))
}

/// Runs git in a folder. Its answer is what it wrote to stdout.
pub(super) fn run(folder: &Path, args: &[&str], env: &[(&str, &str)]) -> Result<Vec<u8>, GitError> {
    let mut command = Command::new("git");
    command
        .arg("--no-pager")
        .args(OPTIONS)
        .args(args)
        .current_dir(folder);
    for name in REMOVED_VARIABLES {
        command.env_remove(name);
    }
    let output = command
        .env("LC_ALL", "C")
        .env("LANGUAGE", "C")
        .env("GIT_NO_LAZY_FETCH", "1")
        .env("GIT_NO_REPLACE_OBJECTS", "1")
        .env("GIT_OPTIONAL_LOCKS", "0")
        .env("GIT_TERMINAL_PROMPT", "0")
        .envs(env.iter().copied())
        .stdin(Stdio::null())
        .output()
        .map_err(|error| match error.kind() {
            // The folder itself may be what is not found.
            io::ErrorKind::NotFound if folder.is_dir() => GitError::NoProgram,
            _ => GitError::Start(error),
        })?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    let words = String::from_utf8_lossy(&output.stderr);
    let folder = folder.to_owned();
    if words.contains("dubious ownership") {
        return Err(GitError::DubiousOwnership { folder });
    }
    if words.contains("not a git repository") {
        return Err(GitError::NotARepository { folder });
    }
    Err(GitError::Failed {
        command: args.iter().take(3).copied().collect::<Vec<_>>().join(" "),
        status: output.status,
        words: words.trim().chars().take(500).collect(),
    })
}

/// Git's answer as text.
pub(super) fn text(command: &str, bytes: Vec<u8>) -> Result<String, GitError> {
    String::from_utf8(bytes).map_err(|error| unexpected(command, error.as_bytes()))
}

pub(super) fn unexpected(command: &str, found: &[u8]) -> GitError {
    GitError::Answer {
        command: command.to_owned(),
        found: String::from_utf8_lossy(found).chars().take(200).collect(),
    }
}

/// Names only: no options, no ranges, no `@{...}`, no `~1` (see git-check-ref-format).
fn check_ref(name: &str) -> Result<(), GitError> {
    let bad_char = |c: char| {
        c.is_control() || c.is_whitespace() || matches!(c, ':' | '~' | '^' | '?' | '*' | '[' | '\\')
    };
    let good = !name.is_empty()
        && name.len() <= 255
        && !name.starts_with(['-', '/', '.'])
        && !name.ends_with(['/', '.'])
        && !name.ends_with(".lock")
        && !name.contains("..")
        && !name.contains("@{")
        && !name.contains("//")
        && name != "@"
        && !name.contains(bad_char);
    if good {
        return Ok(());
    }
    Err(GitError::RefName {
        found: name.chars().take(200).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_of_refs() {
        for good in [
            "main",
            "origin/main",
            "refs/heads/main",
            "v1.2",
            "feature/a-b_c",
            "HEAD",
        ] {
            assert!(check_ref(good).is_ok(), "{good}");
        }
        for bad in [
            "",
            "-x",
            "--output=x",
            "main~1",
            "main^",
            "a..b",
            "@",
            "a@{1}",
            "a b",
            "a:b",
            "/a",
            "a/",
            ".a",
            "a.lock",
            "a//b",
            "a\nb",
            "HEAD^{commit}",
        ] {
            assert!(check_ref(bad).is_err(), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn no_name_is_an_option_or_an_expression(name in ".{0,40}") {
            if check_ref(&name).is_ok() {
                prop_assert!(!name.starts_with('-') && !name.contains(['^', '~', ':', ' ', '\n']));
            }
        }
    }
}
