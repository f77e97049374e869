//! The folder of approvals: one decision a file, written whole or not at all, read without following links.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use crate::approval::envelope::{EnvelopeError, MAX_ENVELOPE_BYTES};
use crate::approval::{Envelope, Refusal};

/// The most files that a folder of approvals may hold.
pub const MAX_APPROVALS: usize = 1000;

/// The ending of every approval file. Others, such as exported signatures, are not looked at.
const ENDING: &str = ".json";

/// A folder of approvals that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ApprovalFilesError {
    /// The folder or a file in it.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// What failed.
        action: &'static str,
        /// What.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Too many files.
    #[error("{} holds more than {MAX_APPROVALS} approvals: keep those of one plan in a folder of their own", folder.display())]
    TooMany {
        /// The folder.
        folder: PathBuf,
    },
    /// The approval itself.
    #[error(transparent)]
    Envelope(#[from] EnvelopeError),
}

/// One file.
#[derive(Debug)]
pub struct ApprovalFile {
    /// Its name in the folder.
    pub name: String,
    /// What it holds; not verified yet.
    pub content: Result<Envelope, Refusal>,
}

/// Reads all approvals of a folder, sorted by name. A folder that is not there holds none.
///
/// A file that cannot be read as an approval is in the list with the reason: it could be a rejection that somebody garbled.
///
/// # Errors
/// A folder that cannot be listed, and one with too many files.
pub fn read_folder(folder: &Path) -> Result<Vec<ApprovalFile>, ApprovalFilesError> {
    let io_error = |source| ApprovalFilesError::Io {
        action: "list",
        path: folder.to_owned(),
        source,
    };
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(io_error(error)),
    };
    let mut paths = Vec::new();
    for entry in entries {
        let path = entry.map_err(io_error)?.path();
        if !path.to_string_lossy().ends_with(ENDING) {
            continue;
        }
        if paths.len() >= MAX_APPROVALS {
            return Err(ApprovalFilesError::TooMany {
                folder: folder.to_owned(),
            });
        }
        paths.push(path);
    }
    paths.sort();
    Ok(paths
        .into_iter()
        .map(|path| ApprovalFile {
            name: path
                .file_name()
                .map(|name| name.to_string_lossy().into_owned())
                .unwrap_or_default(),
            content: read_file(&path),
        })
        .collect())
}

/// Reads one approval, without following a link.
///
/// # Errors
/// Why it cannot be read as one.
pub fn read_file(path: &Path) -> Result<Envelope, Refusal> {
    let refuse = |found: String| {
        Refusal::new(
            "approval-readable",
            "a regular file with one approval",
            found,
            "Remove it if it is no approval; else approve again.",
        )
    };
    let metadata = fs::symlink_metadata(path).map_err(|error| refuse(error.to_string()))?;
    if !metadata.is_file() {
        return Err(refuse("a link, a folder or a device".to_owned()));
    }
    let limit = (MAX_ENVELOPE_BYTES as u64).saturating_add(1);
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(limit).read_to_end(&mut bytes))
        .map_err(|error| refuse(error.to_string()))?;
    Envelope::parse(&bytes).map_err(|error| error.refusal())
}

/// Writes an approval under its own name, making the folder if there is none. An earlier decision of the same kind by the same
/// approver about the same plan is replaced.
///
/// # Errors
/// See [`ApprovalFilesError`]; then nothing has changed.
pub fn write(folder: &Path, envelope: &Envelope) -> Result<PathBuf, ApprovalFilesError> {
    let name = envelope
        .statement()
        .file_name()
        .map_err(EnvelopeError::from)?;
    let text = envelope.to_json()?;
    fs::create_dir_all(folder).map_err(|source| ApprovalFilesError::Io {
        action: "make",
        path: folder.to_owned(),
        source,
    })?;
    let path = folder.join(name);
    write_whole(&path, text.as_bytes())?;
    Ok(path)
}

/// Writes what `ssh-keygen -Y verify` needs beside the approval: `<name>.pae` and `<name>.sig`. Returns both paths.
///
/// # Errors
/// See [`ApprovalFilesError`].
pub fn export(
    approval: &Path,
    envelope: &Envelope,
) -> Result<(PathBuf, PathBuf), ApprovalFilesError> {
    let export = envelope.export()?;
    let message = approval.with_extension("pae");
    let signature = approval.with_extension("sig");
    write_whole(&message, &export.message)?;
    write_whole(&signature, export.signature.as_bytes())?;
    Ok((message, signature))
}

/// By way of a temporary file, so that a file of that name is always whole and a link of that name is replaced, not followed.
fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), ApprovalFilesError> {
    let io_error = |source| ApprovalFilesError::Io {
        action: "write",
        path: path.to_owned(),
        source,
    };
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let mut file = temporary_file(folder).map_err(io_error)?;
    file.write_all(bytes).map_err(io_error)?;
    file.as_file().sync_all().map_err(io_error)?;
    file.persist(path).map_err(|error| io_error(error.error))?;
    Ok(())
}

/// An approval is no secret: others may read it, as far as the umask lets them.
#[cfg(unix)]
fn temporary_file(folder: &Path) -> io::Result<tempfile::NamedTempFile> {
    use std::os::unix::fs::PermissionsExt;

    tempfile::Builder::new()
        .permissions(fs::Permissions::from_mode(0o644))
        .tempfile_in(folder)
}

#[cfg(not(unix))]
fn temporary_file(folder: &Path) -> io::Result<tempfile::NamedTempFile> {
    tempfile::NamedTempFile::new_in(folder)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::approval::testing;

    #[test]
    fn written_and_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let approvals = folder.path().join("approvals");
        assert!(read_folder(&approvals).unwrap().is_empty());
        let envelope = testing::envelope(&testing::key(1));
        let path = write(&approvals, &envelope).unwrap();
        write(&approvals, &envelope).unwrap();
        export(&path, &envelope).unwrap();
        let files = read_folder(&approvals).unwrap();
        let [only] = files.as_slice() else {
            panic!("{files:?}")
        };
        assert_eq!(only.content.as_ref().unwrap(), &envelope);
        assert_eq!(Some(only.name.as_str()), path.file_name().unwrap().to_str());
        // Nothing is left over from writing.
        assert_eq!(fs::read_dir(&approvals).unwrap().count(), 3);
    }

    #[test]
    fn what_is_no_approval_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::write(path("a.json"), "{}").unwrap();
        fs::write(path("b.json"), vec![b' '; MAX_ENVELOPE_BYTES + 10]).unwrap();
        fs::create_dir(path("c.json")).unwrap();
        fs::write(path("notes.txt"), "x").unwrap();
        let mut expected = vec!["a.json", "b.json", "c.json"];
        #[cfg(unix)]
        {
            let good = testing::envelope(&testing::key(1)).to_json().unwrap();
            fs::write(path("good"), good).unwrap();
            std::os::unix::fs::symlink(path("good"), path("d.json")).unwrap();
            expected.push("d.json");
        }
        let files = read_folder(folder.path()).unwrap();
        let names: Vec<_> = files.iter().map(|file| file.name.as_str()).collect();
        assert_eq!(names, expected);
        for file in &files {
            assert_eq!(
                file.content.as_ref().unwrap_err().check,
                "approval-readable"
            );
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_link_in_the_way_is_replaced_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let envelope = testing::envelope(&testing::key(1));
        let name = envelope.statement().file_name().unwrap();
        let victim = folder.path().join("victim");
        fs::write(&victim, "mine").unwrap();
        std::os::unix::fs::symlink(&victim, folder.path().join(&name)).unwrap();
        write(folder.path(), &envelope).unwrap();
        assert_eq!(fs::read_to_string(&victim).unwrap(), "mine");
    }
}
