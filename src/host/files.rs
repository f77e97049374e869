//! Files: read within a bound, written whole or not at all.

use std::fs::File;
use std::io::{self, IsTerminal as _, Read, Write as _};
use std::path::Path;

/// Why a file could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It is not there.
    #[error("expected a file, found nothing at this path")]
    Missing,
    /// It is a folder.
    #[error("expected a file, found a folder")]
    Folder,
    /// The system does not let this user at it.
    #[error("no permission")]
    Permission,
    /// Standard input is a terminal.
    #[error("expected the file on standard input, found a terminal: nobody is writing to it")]
    Terminal,
    /// It is there already.
    #[error("expected no file at this path, found one")]
    Taken,
    /// It is larger than the bound.
    #[error("expected at most {0} bytes, found more")]
    TooLarge(u64),
    /// Anything else.
    #[error("{0}")]
    Other(io::Error),
}

impl From<io::Error> for Error {
    fn from(e: io::Error) -> Self {
        match e.kind() {
            io::ErrorKind::NotFound => Error::Missing,
            io::ErrorKind::PermissionDenied => Error::Permission,
            io::ErrorKind::IsADirectory => Error::Folder,
            io::ErrorKind::AlreadyExists => Error::Taken,
            _ => Error::Other(e),
        }
    }
}

/// Reads a file of at most `max` bytes; `-` is standard input.
///
/// # Errors
/// See [`Error`].
pub fn read(path: &Path, max: u64) -> Result<Vec<u8>, Error> {
    if path.as_os_str() == "-" {
        let stdin = io::stdin();
        if stdin.is_terminal() {
            return Err(Error::Terminal);
        }
        return bounded(stdin.lock(), max);
    }
    let file = File::open(path)?;
    if file.metadata()?.is_dir() {
        return Err(Error::Folder);
    }
    bounded(file, max)
}

fn bounded(from: impl Read, max: u64) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    from.take(max.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > max {
        return Err(Error::TooLarge(max));
    }
    Ok(bytes)
}

/// Writes a file whole or not at all: to a temporary file beside it, which then takes its name. What is no regular
/// file (a device, a pipe) is written directly.
///
/// # Errors
/// See [`Error`].
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    match std::fs::metadata(path) {
        Ok(m) if m.is_dir() => return Err(Error::Folder),
        Ok(m) if !m.is_file() => {
            let mut file = File::options().write(true).open(path)?;
            file.write_all(bytes)?;
            return Ok(());
        }
        _ => {}
    }
    let file = whole(path, bytes)?;
    file.persist(path).map_err(|e| Error::from(e.error))?;
    Ok(())
}

/// Writes a file that is not there yet, whole or not at all.
///
/// # Errors
/// [`Error::Taken`] where anything has this name, a broken link too; see [`Error`] for the rest.
pub fn write_new(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let file = whole(path, bytes)?;
    file.persist_noclobber(path)
        .map_err(|e| Error::from(e.error))?;
    Ok(())
}

/// A temporary file beside the path, with everything in it.
fn whole(path: &Path, bytes: &[u8]) -> Result<tempfile::NamedTempFile, Error> {
    let folder = path
        .parent()
        .filter(|p| !p.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    let mut file = tempfile::Builder::new()
        .prefix(".bundlegate-")
        .permissions_like_new_files()
        .tempfile_in(folder)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    Ok(file)
}

/// Temporary files are private by default; a report is made with the rights that any new file gets.
trait LikeNewFiles {
    fn permissions_like_new_files(&mut self) -> &mut Self;
}

impl LikeNewFiles for tempfile::Builder<'_, '_> {
    #[cfg(unix)]
    fn permissions_like_new_files(&mut self) -> &mut Self {
        use std::os::unix::fs::PermissionsExt as _;
        // The system takes the umask off.
        self.permissions(std::fs::Permissions::from_mode(0o666))
    }

    #[cfg(not(unix))]
    fn permissions_like_new_files(&mut self) -> &mut Self {
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_or_not_at_all() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("r.json");
        write(&path, b"one").unwrap();
        write(&path, b"two").unwrap();
        assert_eq!(read(&path, 3).unwrap(), b"two");
        assert!(matches!(read(&path, 2), Err(Error::TooLarge(2))));
        assert!(matches!(write_new(&path, b"x"), Err(Error::Taken)));
        assert_eq!(read(&path, 3).unwrap(), b"two");
        assert!(matches!(write(dir.path(), b"x"), Err(Error::Folder)));
        assert!(matches!(
            write(&dir.path().join("no/r.json"), b"x"),
            Err(Error::Missing)
        ));
        assert_eq!(
            std::fs::read_dir(dir.path()).unwrap().count(),
            1,
            "nothing else is left behind"
        );
    }
}
