//! One deploy at a time per target, on this machine: an advisory lock that a started CLI keeps holding when its gate is killed.

use std::fs::{File, TryLockError};
use std::io;
use std::path::Path;

/// Why there is no lock.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Another run has it.
    #[error(
        "expected to be the only deploy of target {0}, found another one (or the CLI that one started) still running on this machine; wait for it, then verify with `deploy --resume-record`"
    )]
    Held(String),
    /// The file.
    #[error("the lock file {path} cannot be used: {source}")]
    Io {
        /// Where.
        path: String,
        /// Why.
        source: io::Error,
    },
}

/// The lock; given up when it and every copy of it are closed.
#[derive(Debug)]
pub struct TargetLock(File);

impl TargetLock {
    /// Takes the lock of a target in a bundle's folder: a file below `.databricks`, which is the CLI's own and no part of the source.
    ///
    /// # Errors
    /// See [`LockError`].
    pub fn take(folder: &Path, target: &str) -> Result<Self, LockError> {
        // The name of a target may hold anything.
        let name: String = target
            .chars()
            .map(|c| {
                if c.is_ascii_alphanumeric() || "-_".contains(c) {
                    c
                } else {
                    '_'
                }
            })
            .collect();
        let below = folder.join(".databricks").join("bundlegate");
        let path = below.join(format!("{name}.lock"));
        let io = |source| LockError::Io {
            path: crate::text::visible(&path.display().to_string()),
            source,
        };
        std::fs::create_dir_all(&below).map_err(io)?;
        let file = File::options()
            .create(true)
            .truncate(false)
            .read(true)
            .write(true)
            .open(&path)
            .map_err(io)?;
        match file.try_lock() {
            Ok(()) => Ok(Self(file)),
            Err(TryLockError::WouldBlock) => Err(LockError::Held(crate::text::quoted(target))),
            Err(TryLockError::Error(e)) => Err(io(e)),
        }
    }

    /// A copy for a program's standard input: it reads nothing there, and holds the lock as long as it runs.
    ///
    /// # Errors
    /// Too many open files.
    pub fn copy(&self) -> io::Result<File> {
        self.0.try_clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_at_a_time_and_a_copy_holds_it() {
        let dir = tempfile::tempdir().unwrap();
        let first = TargetLock::take(dir.path(), "prod").unwrap();
        assert!(matches!(
            TargetLock::take(dir.path(), "prod"),
            Err(LockError::Held(_))
        ));
        TargetLock::take(dir.path(), "../other").unwrap();
        let copy = first.copy().unwrap();
        drop(first);
        assert!(TargetLock::take(dir.path(), "prod").is_err());
        drop(copy);
        TargetLock::take(dir.path(), "prod").unwrap();
    }
}
