//! Files by path, mode, size and digest: what a source tree is outside git, and what differs from a commit inside it.

use std::fs::{self, File, Metadata};
use std::io;
use std::path::{Component, Path, PathBuf};

use ignore::WalkBuilder;

use crate::approval::Sha256Hex;
use crate::approval::patterns::PatternList;

/// The most files of a source tree.
pub const MAX_FILES: usize = 500_000;

/// The first line of what a manifest digest is taken over.
const MANIFEST_HEADER: &[u8] = b"bundlegate-manifest-v1\n";

/// Folders that never ship and never count: the CLI's own, and git's.
const NEVER: [&str; 2] = [".databricks", ".git"];

/// A source tree that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ManifestError {
    /// A file or folder cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Io {
        /// What.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The walk failed.
    #[error("cannot list the source tree: {0}")]
    Walk(#[from] ignore::Error),
    /// A name that is not UTF-8: it would have no one spelling in a manifest.
    #[error("the file name {found:?} is not UTF-8: rename it")]
    NotUtf8 {
        /// The name, made printable.
        found: String,
    },
    /// A socket, a pipe or a device.
    #[error("{} is neither a file nor a link: remove it", path.display())]
    Special {
        /// What.
        path: PathBuf,
    },
    /// A link where a built file should be: what it leads to would ship, and its digest would bind only the link.
    #[error("the built file {path:?} is a link: put the file itself there")]
    LinkedArtifact {
        /// What.
        path: String,
    },
    /// Too many files.
    #[error(
        "the source tree has more than {MAX_FILES} files: name the bundle's folder, not one above it"
    )]
    TooMany,
}

/// The gate's own files: they never count as a change of the source.
///
/// A folder is exempt only for the names that belong there, so that nothing else can ship unseen from it.
#[derive(Debug, Clone, Default)]
pub struct OwnFiles {
    files: Vec<PathBuf>,
    folders: Vec<(PathBuf, PatternList)>,
}

impl OwnFiles {
    /// Adds a file, such as the plan or the log. It need not exist yet.
    #[must_use]
    pub fn file(mut self, path: &Path) -> Self {
        self.files.push(real_place(path));
        self
    }

    /// Adds the files right inside a folder whose names match a pattern list, such as `*.json`.
    #[must_use]
    pub fn folder(mut self, path: &Path, names: &str) -> Self {
        let path = fs::canonicalize(path).unwrap_or_else(|_| real_place(path));
        self.folders.push((path, PatternList::new(names)));
        self
    }

    /// Is it one of them? `path` is absolute, its folder without links.
    #[must_use]
    pub fn owns(&self, path: &Path) -> bool {
        if self.files.iter().any(|own| own == path) {
            return true;
        }
        let (Some(folder), Some(name)) = (path.parent(), path.file_name().and_then(|n| n.to_str()))
        else {
            return false;
        };
        self.folders
            .iter()
            .any(|(own, names)| own == folder && names.matches(name))
    }
}

/// The path with its folder's links resolved; the file itself may be missing or a link.
fn real_place(path: &Path) -> PathBuf {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    match (
        absolute.parent().map(fs::canonicalize),
        absolute.file_name(),
    ) {
        (Some(Ok(folder)), Some(name)) => folder.join(name),
        _ => absolute,
    }
}

/// One file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct FileRecord {
    /// Its path from the root, with `/`.
    pub path: String,
    /// `100644`, `100755`, or `120000` for a link, as in git.
    pub mode: &'static str,
    /// Its size in bytes; of a link, that of its text.
    pub size: u64,
    /// Its digest; of a link, that of its text.
    pub sha256: Sha256Hex,
}

impl FileRecord {
    /// Reads one file. A link is read as a link, never followed.
    ///
    /// # Errors
    /// See [`ManifestError`].
    pub fn read(root: &Path, path: &str) -> Result<Self, ManifestError> {
        let full = root.join(path);
        let io_error = |source| ManifestError::Io {
            path: full.clone(),
            source,
        };
        let metadata = fs::symlink_metadata(&full).map_err(io_error)?;
        let (mode, sha256, size) = if metadata.is_symlink() {
            let target = fs::read_link(&full).map_err(io_error)?;
            let target = utf8(&target)?;
            (
                "120000",
                Sha256Hex::of(target.as_bytes()),
                target.len() as u64,
            )
        } else if metadata.is_file() {
            let mut file = File::open(&full).map_err(io_error)?;
            let (sha256, size) = Sha256Hex::of_reader(&mut file).map_err(io_error)?;
            (file_mode(&metadata), sha256, size)
        } else {
            return Err(ManifestError::Special { path: full });
        };
        Ok(Self {
            path: path.to_owned(),
            mode,
            size,
            sha256,
        })
    }

    /// `<mode> <size> <sha256> <path>\0`: a path cannot hold a NUL, so no two lists read the same.
    pub(super) fn write_to(&self, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(
            format!(
                "{} {} {} {}\0",
                self.mode, self.size, self.sha256, self.path
            )
            .as_bytes(),
        );
    }
}

#[cfg(unix)]
fn file_mode(metadata: &Metadata) -> &'static str {
    use std::os::unix::fs::PermissionsExt;

    // Git's rule: the owner's bit decides.
    if metadata.permissions().mode() & 0o100 != 0 {
        "100755"
    } else {
        "100644"
    }
}

#[cfg(not(unix))]
fn file_mode(_metadata: &Metadata) -> &'static str {
    "100644"
}

/// The digest of a list of files, sorted by path.
#[must_use]
pub fn manifest_digest(files: &[FileRecord]) -> Sha256Hex {
    let mut bytes = MANIFEST_HEADER.to_vec();
    for file in files {
        file.write_to(&mut bytes);
    }
    Sha256Hex::of(&bytes)
}

/// Which files a walk lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Listing {
    /// All of them.
    All,
    /// Those that no `.gitignore` leaves out, as the CLI lists them outside a repository.
    NotIgnored,
    /// Those that a build of this project can have made: not in virtual environments, `node_modules` and folders whose name
    /// starts with a dot, where other people's builds are.
    Builds,
}

/// The paths of all files and links below a root, sorted, without `.git` and `.databricks`. Links are not followed.
pub(super) fn list(root: &Path, listing: Listing) -> Result<Vec<String>, ManifestError> {
    let use_ignore_files = listing == Listing::NotIgnored;
    let walk = WalkBuilder::new(root)
        .standard_filters(false)
        .git_ignore(use_ignore_files)
        .require_git(false)
        .follow_links(false)
        .filter_entry(move |entry| {
            let name = entry.file_name().to_string_lossy();
            let is_folder = entry.file_type().is_some_and(|kind| kind.is_dir());
            entry.depth() == 0
                || !(NEVER.contains(&name.as_ref())
                    || listing == Listing::Builds && is_folder && is_foreign(entry.path(), &name))
        })
        .build();
    let mut paths = Vec::new();
    for entry in walk {
        let entry = entry?;
        let Ok(relative) = entry.path().strip_prefix(root) else {
            continue;
        };
        if entry.file_type().is_none_or(|kind| kind.is_dir()) {
            continue;
        }
        if paths.len() >= MAX_FILES {
            return Err(ManifestError::TooMany);
        }
        paths.push(slashed(relative)?);
    }
    paths.sort();
    Ok(paths)
}

fn is_foreign(folder: &Path, name: &str) -> bool {
    name.starts_with('.') || name == "node_modules" || folder.join("pyvenv.cfg").is_file()
}

/// A relative path with `/`.
fn slashed(path: &Path) -> Result<String, ManifestError> {
    let mut parts = Vec::new();
    for component in path.components() {
        if let Component::Normal(part) = component {
            parts.push(utf8(Path::new(part))?);
        }
    }
    Ok(parts.join("/"))
}

fn utf8(path: &Path) -> Result<&str, ManifestError> {
    path.to_str().ok_or_else(|| ManifestError::NotUtf8 {
        found: path.to_string_lossy().into_owned(),
    })
}

/// Is some part of this path a folder that never ships?
pub(super) fn never_ships(path: &str) -> bool {
    path.split('/').any(|part| NEVER.contains(&part))
}

/// Where a link leads, if that is a place inside the root: its path from there. `None`: outside, or no one can tell.
pub(super) fn link_target(root: &Path, link: &str) -> Option<String> {
    let full = root.join(link);
    let target = match fs::canonicalize(&full) {
        Ok(target) => target,
        // Nothing there yet: what its text says, without asking the file system.
        Err(_) => {
            let text = fs::read_link(&full).ok()?;
            let folder = fs::canonicalize(full.parent()?).ok()?;
            without_dots(&folder.join(text))?
        }
    };
    slashed(target.strip_prefix(root).ok()?).ok()
}

/// `..` and `.` taken out by text alone.
fn without_dots(path: &Path) -> Option<PathBuf> {
    let mut clean = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => {
                if !clean.pop() {
                    return None;
                }
            }
            Component::CurDir => {}
            other => clean.push(other),
        }
    }
    Some(clean)
}
