//! Which code ships with a plan: a commit and whether the working tree holds just that, or a manifest outside git; and what was
//! built.
//!
//! Git's own index is not believed: every tracked file is compared with the commit through a fresh index, so neither
//! `assume-unchanged` nor a forged time stamp hides a change.

use std::collections::HashSet;
use std::fmt;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use super::git::{self, Git, GitError};
use super::manifest::{
    FileRecord, Listing, ManifestError, OwnFiles, link_target, list, manifest_digest, never_ships,
};
use super::sync::{SyncError, SyncGlobs, SyncMatcher};
use crate::approval::Sha256Hex;
use crate::approval::statement::{Artifact, Source, SourceTree};

/// Where builds leave what a deploy uploads, as glob patterns from the bundle's folder.
pub const ARTIFACT_GLOBS: [&str; 5] = [
    "*.jar",
    "**/dist/*.jar",
    "**/dist/*.whl",
    "**/build/libs/*.jar",
    "**/target/*.jar",
];

/// The first line of what the digest of changes is taken over.
const CHANGES_HEADER: &[u8] = b"bundlegate-changes-v1\n";

/// The first line of a git LFS pointer (git-lfs, `docs/spec.md`).
const LFS_POINTER: &[u8] = b"version https://git-lfs.github.com/spec/v1\n";

/// How deep submodules may be nested.
const MAX_SUBMODULE_DEPTH: usize = 8;

/// What to look at.
#[derive(Debug, Clone, Copy)]
pub struct SourceQuery<'a> {
    /// The bundle's folder.
    pub folder: &'a Path,
    /// The bundle's `sync` section.
    pub sync: &'a SyncGlobs,
    /// The gate's own files.
    pub own: &'a OwnFiles,
    /// Where built files are, as glob patterns from the bundle's folder: [`ARTIFACT_GLOBS`] and what the bundle names.
    pub artifacts: &'a [&'a str],
}

/// A source tree that cannot be judged.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// Git.
    #[error(transparent)]
    Git(#[from] GitError),
    /// Files.
    #[error(transparent)]
    Manifest(#[from] ManifestError),
    /// The `sync` section.
    #[error(transparent)]
    Sync(#[from] SyncError),
    /// A glob pattern.
    #[error("the artifact pattern cannot be read: {0}")]
    Glob(#[from] globset::Error),
    /// The fresh index.
    #[error("cannot make a temporary folder for git's index: {0}")]
    Index(#[source] std::io::Error),
    /// Submodules in submodules in submodules.
    #[error("submodules are nested more than {MAX_SUBMODULE_DEPTH} deep at {at:?}")]
    TooDeep {
        /// The path.
        at: String,
    },
}

/// How a path differs from the commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ChangeKind {
    /// Another content, mode or type.
    Modified,
    /// Not there.
    Deleted,
    /// There, and in no commit.
    Untracked,
    /// Ignored by git, and uploaded all the same by the bundle's `sync.include`.
    IgnoredButSynced,
    /// A git LFS pointer in place of the file: the pointer's text would ship.
    LfsPointer,
    /// A link to something that is not in the commit: what it leads to ships, and no digest binds it.
    LinkOut,
    /// A submodule that is not checked out.
    SubmoduleMissing,
    /// A submodule at another commit.
    SubmoduleCommit,
}

impl ChangeKind {
    /// The change in words.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Modified => "modified",
            Self::Deleted => "deleted",
            Self::Untracked => "untracked",
            Self::IgnoredButSynced => "ignored by git, uploaded by sync.include",
            Self::LfsPointer => "git LFS pointer, not fetched (git lfs pull)",
            Self::LinkOut => "link to something outside the commit",
            Self::SubmoduleMissing => "submodule not checked out (git submodule update --init)",
            Self::SubmoduleCommit => "submodule at another commit",
        }
    }

    /// Does the digest of changes bind what ships? If not, no approval can cover it.
    #[must_use]
    pub fn is_bound(self) -> bool {
        self != Self::LinkOut
    }
}

/// One difference.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Difference {
    /// The path from the top of the repository (outside git: from the bundle's folder).
    pub path: String,
    /// How it differs.
    pub kind: ChangeKind,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.kind.as_str())
    }
}

/// What is known of the source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceFacts {
    /// What an approval binds.
    pub source: Source,
    /// What differs from the commit, sorted. Outside git: what no digest can bind.
    pub differences: Vec<Difference>,
    /// The history is cut off; the commit and its tree are whole all the same.
    pub is_shallow: bool,
}

/// Looks at the bundle's folder.
///
/// # Errors
/// See [`SourceError`]. No repository is no error: the source is then a manifest.
pub fn inspect(query: SourceQuery<'_>) -> Result<SourceFacts, SourceError> {
    let folder = fs::canonicalize(query.folder).map_err(|source| ManifestError::Io {
        path: query.folder.to_owned(),
        source,
    })?;
    let artifacts = artifacts(&folder, query.artifacts, query.own)?;
    match Git::open(&folder) {
        Ok(git) => in_git(&git, query, artifacts),
        Err(GitError::NotARepository { .. }) => outside_git(&folder, query, artifacts),
        Err(error) => Err(error.into()),
    }
}

fn in_git(
    git: &Git,
    query: SourceQuery<'_>,
    artifacts: Vec<Artifact>,
) -> Result<SourceFacts, SourceError> {
    let (commit, tree) = git.head()?;
    let prefix = if git.folder().is_empty() {
        String::new()
    } else {
        format!("{}/", git.folder())
    };
    let mut comparison = Comparison {
        top: canonical(git.top())?,
        sync: SyncMatcher::new(query.sync, git.folder())?,
        own: query.own,
        // Artifacts are bound by their own digests.
        bound: artifacts
            .iter()
            .map(|artifact| format!("{prefix}{}", artifact.path))
            .collect(),
        found: Vec::new(),
    };
    comparison.compare("", 0)?;
    let mut found = comparison.found;
    found.sort();
    found.dedup();
    let differences: Vec<Difference> = found.iter().map(|(d, _)| d.clone()).collect();
    let changes = (!found.is_empty()).then(|| {
        let mut bytes = CHANGES_HEADER.to_vec();
        for (difference, content) in &found {
            bytes.extend_from_slice(difference.kind.as_str().as_bytes());
            bytes.push(b' ');
            bytes.extend_from_slice(content);
        }
        Sha256Hex::of(&bytes)
    });
    Ok(SourceFacts {
        source: Source {
            tree: SourceTree::Git {
                commit,
                tree,
                folder: git.folder().to_owned(),
                clean: changes.is_none(),
                changes,
            },
            artifacts,
        },
        differences,
        is_shallow: git.is_shallow()?,
    })
}

fn outside_git(
    folder: &Path,
    query: SourceQuery<'_>,
    artifacts: Vec<Artifact>,
) -> Result<SourceFacts, SourceError> {
    let sync = SyncMatcher::new(query.sync, "")?;
    let mut paths = list(folder, Listing::NotIgnored)?;
    if !sync.is_empty() {
        paths.extend(
            list(folder, Listing::All)?
                .into_iter()
                .filter(|p| sync.includes(p)),
        );
        paths.sort();
        paths.dedup();
    }
    paths.retain(|path| !query.own.owns(&folder.join(path)));
    let files = paths
        .iter()
        .map(|path| FileRecord::read(folder, path))
        .collect::<Result<Vec<_>, _>>()?;
    let known: HashSet<&str> = paths.iter().map(String::as_str).collect();
    let differences = files
        .iter()
        .filter(|file| file.mode == "120000" && leads_out(folder, &file.path, &known))
        .map(|file| Difference {
            path: file.path.clone(),
            kind: ChangeKind::LinkOut,
        })
        .collect();
    Ok(SourceFacts {
        source: Source {
            tree: SourceTree::Manifest {
                sha256: manifest_digest(&files),
                files: files.len() as u64,
            },
            artifacts,
        },
        differences,
        is_shallow: false,
    })
}

/// Does a link lead to something that is not among the known files? A folder inside is fine: links to folders are not followed.
fn leads_out(root: &Path, link: &str, known: &HashSet<&str>) -> bool {
    match link_target(root, link) {
        Some(target) => !known.contains(target.as_str()) && !root.join(&target).is_dir(),
        None => true,
    }
}

/// The working tree against the commit.
struct Comparison<'a> {
    top: PathBuf,
    sync: SyncMatcher,
    own: &'a OwnFiles,
    bound: HashSet<String>,
    /// Differences with what a digest binds of each.
    found: Vec<(Difference, Vec<u8>)>,
}

impl Comparison<'_> {
    /// Compares the repository at `at` (`""` or `path/to/submodule/`) and the submodules in it.
    fn compare(&mut self, at: &str, depth: usize) -> Result<(), SourceError> {
        if depth > MAX_SUBMODULE_DEPTH {
            return Err(SourceError::TooDeep { at: at.to_owned() });
        }
        let folder = self.top.join(at);
        let scratch = tempfile::tempdir().map_err(SourceError::Index)?;
        let index = scratch.path().join("index");
        let index = index.to_string_lossy().into_owned();
        let env = [("GIT_INDEX_FILE", index.as_str())];
        let ask = |args: &[&str]| git::run(&folder, args, &env);

        ask(&["read-tree", "--no-sparse-checkout", "HEAD"])?;
        let status = ask(&[
            "status",
            "--porcelain=v2",
            "-z",
            "--untracked-files=all",
            "--ignore-submodules=all",
            "--no-renames",
        ])?;
        for record in records(&status) {
            self.status_record(at, record)?;
        }
        let lfs = ask(&["ls-files", "-z", "--", ":(top,attr:filter=lfs)"])?;
        for record in records(&lfs) {
            let path = in_repository(at, record)?;
            if is_lfs_pointer(&self.top.join(&path)) {
                self.push(path, ChangeKind::LfsPointer, None)?;
            }
        }
        if !self.sync.is_empty() {
            let args = [
                "ls-files",
                "-z",
                "--others",
                "--ignored",
                "--exclude-standard",
            ];
            let ignored = ask(&args)?;
            for record in records(&ignored) {
                self.ignored_path(in_repository(at, record)?)?;
            }
        }
        self.special_entries(at, &ask(&["ls-files", "-z", "--stage"])?, depth)
    }

    /// One record of `git status --porcelain=v2 -z` (see git-status, "Porcelain Format Version 2").
    fn status_record(&mut self, at: &str, record: &[u8]) -> Result<(), SourceError> {
        let unexpected = || git::unexpected("status", record);
        let record_text = std::str::from_utf8(record).map_err(|_| not_utf8(record))?;
        match record_text.split_once(' ') {
            Some(("?", path)) => self.untracked(format!("{at}{path}")),
            Some(("1", rest)) => {
                let fields: Vec<_> = rest.splitn(8, ' ').collect();
                let [codes, _, _, _, _, _, _, path] = fields.as_slice() else {
                    return Err(unexpected().into());
                };
                let kind = if codes.ends_with('D') {
                    ChangeKind::Deleted
                } else {
                    ChangeKind::Modified
                };
                self.push(format!("{at}{path}"), kind, None)
            }
            // A fresh index knows neither renames nor conflicts.
            _ => Err(unexpected().into()),
        }
    }

    /// A file, or a whole repository (a trailing `/`) that git does not look into.
    fn untracked(&mut self, path: String) -> Result<(), SourceError> {
        for path in self.expand(path)? {
            self.push(path, ChangeKind::Untracked, None)?;
        }
        Ok(())
    }

    fn ignored_path(&mut self, path: String) -> Result<(), SourceError> {
        for path in self.expand(path)? {
            if self.sync.includes(&path) {
                self.push(path, ChangeKind::IgnoredButSynced, None)?;
            }
        }
        Ok(())
    }

    fn expand(&self, path: String) -> Result<Vec<String>, SourceError> {
        match path.strip_suffix('/') {
            None => Ok(vec![path]),
            Some(folder) => Ok(list(&self.top.join(folder), Listing::All)?
                .into_iter()
                .map(|inner| format!("{folder}/{inner}"))
                .collect()),
        }
    }

    /// Links and submodules, from `git ls-files --stage -z`: `<mode> <object> <stage>\t<path>`.
    fn special_entries(&mut self, at: &str, stage: &[u8], depth: usize) -> Result<(), SourceError> {
        let mut links = Vec::new();
        let mut submodules = Vec::new();
        let mut tracked = HashSet::new();
        for record in records(stage) {
            let split = record.iter().position(|&b| b == b'\t');
            let (entry, path) = split
                .and_then(|tab| record.split_at_checked(tab))
                .ok_or_else(|| git::unexpected("ls-files", record))?;
            let entry = String::from_utf8_lossy(entry).into_owned();
            let path = path.strip_prefix(b"\t").unwrap_or(path);
            if let Some(object) = entry.strip_prefix("160000 ") {
                let object = object.split(' ').next().unwrap_or_default().to_owned();
                submodules.push((in_repository(at, path)?, object));
            } else if entry.starts_with("120000 ") {
                links.push(in_repository(at, path)?);
            } else if let Ok(path) = in_repository(at, path) {
                tracked.insert(path);
            }
        }
        let known: HashSet<&str> = tracked.iter().map(String::as_str).collect();
        for link in links {
            if fs::symlink_metadata(self.top.join(&link)).is_ok_and(|m| m.is_symlink())
                && leads_out(&self.top, &link, &known)
            {
                self.push(link, ChangeKind::LinkOut, None)?;
            }
        }
        for (path, expected) in submodules {
            self.submodule(path, &expected, depth)?;
        }
        Ok(())
    }

    fn submodule(&mut self, path: String, expected: &str, depth: usize) -> Result<(), SourceError> {
        let folder = self.top.join(&path);
        // Without its own `.git`, git would answer for the repository around it.
        if fs::symlink_metadata(folder.join(".git")).is_err() {
            return self.push(path, ChangeKind::SubmoduleMissing, Some(Vec::new()));
        }
        let (head, _) = Git::open(&folder)?.head()?;
        if head.as_str() != expected {
            let content = format!("{head} {path}\0").into_bytes();
            self.push(path.clone(), ChangeKind::SubmoduleCommit, Some(content))?;
        }
        self.compare(&format!("{path}/"), depth.saturating_add(1))
    }

    /// Keeps a difference, unless it is the gate's own file or bound elsewhere.
    fn push(
        &mut self,
        path: String,
        kind: ChangeKind,
        content: Option<Vec<u8>>,
    ) -> Result<(), SourceError> {
        let untracked = matches!(kind, ChangeKind::Untracked | ChangeKind::IgnoredButSynced);
        if self.own.owns(&self.top.join(&path))
            || (untracked && (never_ships(&path) || self.bound.contains(&path)))
        {
            return Ok(());
        }
        let content = match (content, kind) {
            (Some(content), _) => content,
            (None, ChangeKind::Deleted) => format!("{path}\0").into_bytes(),
            (None, _) => {
                let mut bytes = Vec::new();
                FileRecord::read(&self.top, &path)?.write_to(&mut bytes);
                bytes
            }
        };
        self.found.push((Difference { path, kind }, content));
        Ok(())
    }
}

fn canonical(path: &Path) -> Result<PathBuf, SourceError> {
    fs::canonicalize(path).map_err(|source| {
        ManifestError::Io {
            path: path.to_owned(),
            source,
        }
        .into()
    })
}

/// Records that end in NUL.
fn records(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes.split(|&b| b == 0).filter(|record| !record.is_empty())
}

fn in_repository(at: &str, path: &[u8]) -> Result<String, SourceError> {
    let path = std::str::from_utf8(path).map_err(|_| not_utf8(path))?;
    Ok(format!("{at}{path}"))
}

fn not_utf8(path: &[u8]) -> ManifestError {
    ManifestError::NotUtf8 {
        found: String::from_utf8_lossy(path).into_owned(),
    }
}

fn is_lfs_pointer(path: &Path) -> bool {
    let mut start = Vec::new();
    let read = fs::symlink_metadata(path)
        .ok()
        .filter(fs::Metadata::is_file)
        .and_then(|_| File::open(path).ok())
        .and_then(|file| {
            file.take(LFS_POINTER.len() as u64)
                .read_to_end(&mut start)
                .ok()
        });
    read.is_some() && start == LFS_POINTER
}

/// Built files, sorted by path.
fn artifacts(
    folder: &Path,
    patterns: &[&str],
    own: &OwnFiles,
) -> Result<Vec<Artifact>, SourceError> {
    let globs = glob_set(patterns)?;
    let mut found = Vec::new();
    for path in list(folder, Listing::Builds)? {
        if !globs.is_match(&path) || own.owns(&folder.join(&path)) {
            continue;
        }
        let record = FileRecord::read(folder, &path)?;
        if record.mode == "120000" {
            return Err(ManifestError::LinkedArtifact { path }.into());
        }
        found.push(Artifact {
            path,
            sha256: record.sha256,
            size: record.size,
        });
    }
    Ok(found)
}

/// Globs in which `*` does not cross `/`.
///
/// # Errors
/// [`SourceError::Glob`].
pub fn glob_set(patterns: &[impl AsRef<str>]) -> Result<GlobSet, SourceError> {
    let mut builder = GlobSetBuilder::new();
    for pattern in patterns {
        builder.add(
            GlobBuilder::new(pattern.as_ref())
                .literal_separator(true)
                .build()?,
        );
    }
    Ok(builder.build()?)
}
