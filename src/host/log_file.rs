//! Appending to the audit log: one lock, one write, on disk before it counts.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use jiff::Timestamp;

use crate::approval::Sha256Hex;
use crate::audit::{AuditError, Event, MAX_LOG_BYTES, TAIL_BYTES, Tail, Torn};

/// How long to wait for another process that holds the log.
const LOCK_TIMEOUT: Duration = Duration::from_secs(30);

/// How often to ask for the lock meanwhile.
const LOCK_POLL: Duration = Duration::from_millis(20);

/// A line that could not be appended.
#[derive(Debug, thiserror::Error)]
pub enum LogFileError {
    /// The file cannot be opened, read, written or brought to disk.
    #[error("cannot {action} the log {}: {source}", path.display())]
    Io {
        /// What failed.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Not a file.
    #[error("the log {} is not a regular file: name one, its lines must stay", path.display())]
    NotAFile {
        /// What was named.
        path: PathBuf,
    },
    /// Another process holds the lock.
    #[error("the log {} stayed locked by another process for {} s: try again", path.display(), LOCK_TIMEOUT.as_secs())]
    Locked {
        /// The file.
        path: PathBuf,
    },
    /// The log's content.
    #[error("the log {}: {source}", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        source: AuditError,
    },
}

/// A line that was appended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Appended {
    /// Its number in the chain, from 0.
    pub seq: u64,
    /// The log's head now: the digest of the new line.
    pub head: Sha256Hex,
    /// A write before it that was cut off, and which the new line records. Say so.
    pub torn: Option<Torn>,
}

/// Appends one event, creating the log if there is none.
///
/// # Errors
/// See [`LogFileError`]. After an error the log is as it was, or ends in a torn line that the next append records.
pub fn append(path: &Path, time: Timestamp, event: Event) -> Result<Appended, LogFileError> {
    let io_error = |action| {
        move |source| LogFileError::Io {
            action,
            path: path.to_owned(),
            source,
        }
    };
    let content = |source| LogFileError::Content {
        path: path.to_owned(),
        source,
    };
    // Opening a pipe or a device could block for ever, so look first.
    if std::fs::metadata(path).is_ok_and(|m| !m.is_file()) {
        return Err(LogFileError::NotAFile {
            path: path.to_owned(),
        });
    }
    let mut file = OpenOptions::new()
        .read(true)
        .append(true)
        .create(true)
        .open(path)
        .map_err(io_error("open"))?;
    lock(&file, path)?;
    let size = file.metadata().map_err(io_error("read"))?.len();
    if size > MAX_LOG_BYTES {
        return Err(content(AuditError::TooLarge { found: size }));
    }
    let from = size.saturating_sub(TAIL_BYTES);
    let mut end = Vec::new();
    file.seek(SeekFrom::Start(from))
        .and_then(|_| {
            Read::by_ref(&mut file)
                .take(TAIL_BYTES)
                .read_to_end(&mut end)
        })
        .map_err(io_error("read"))?;
    let next = Tail::of(&end, from == 0)
        .and_then(|tail| tail.next(time, event))
        .map_err(content)?;
    if let Err(source) = file.write_all(&next.bytes) {
        // The disk is full, say: take back what was written of it. If that fails too, the rest is a torn line.
        let _ = file.set_len(size);
        return Err(io_error("write")(source));
    }
    file.sync_all().map_err(io_error("write"))?;
    if size == 0 {
        sync_folder(path).map_err(io_error("write"))?;
    }
    Ok(Appended {
        seq: next.entry.seq,
        head: next.head,
        torn: next.entry.torn,
    })
}

/// The lock ends with the file handle.
fn lock(file: &File, path: &Path) -> Result<(), LogFileError> {
    let start = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::WouldBlock) if start.elapsed() < LOCK_TIMEOUT => {
                thread::sleep(LOCK_POLL);
            }
            Err(TryLockError::WouldBlock) => {
                return Err(LogFileError::Locked {
                    path: path.to_owned(),
                });
            }
            Err(TryLockError::Error(source)) => {
                return Err(LogFileError::Io {
                    action: "lock",
                    path: path.to_owned(),
                    source,
                });
            }
        }
    }
}

/// A new file is only there for good when its folder is on disk.
#[cfg(unix)]
fn sync_folder(path: &Path) -> io::Result<()> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    File::open(folder)?.sync_all()
}

#[cfg(not(unix))]
fn sync_folder(_path: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use std::fs;

    fn event() -> Event {
        Event {
            command: "check".to_owned(),
            verdict: "open".to_owned(),
            exit_code: 0,
            plan: None,
            intent: None,
            target: None,
            actor: None,
            details: BTreeMap::new(),
        }
    }

    fn now() -> Timestamp {
        "2026-11-30T12:00:00Z".parse().unwrap()
    }

    fn read(path: &Path) -> crate::audit::Log {
        crate::audit::read(fs::read(path).unwrap().as_slice(), None).unwrap()
    }

    #[test]
    fn many_writers_make_one_chain() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log.jsonl");
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..10 {
                        append(&path, now(), event()).unwrap();
                    }
                });
            }
        });
        let log = read(&path);
        assert_eq!((log.entries.len(), log.broken), (40, None));
    }

    #[test]
    fn a_torn_line_is_said_and_survived() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log.jsonl");
        append(&path, now(), event()).unwrap();
        let first = append(&path, now(), event()).unwrap();
        assert_eq!((first.seq, first.torn), (1, None));
        let bytes = fs::read(&path).unwrap();
        fs::write(&path, &bytes[..bytes.len() - 20]).unwrap();
        let next = append(&path, now(), event()).unwrap();
        assert_eq!(next.seq, 1);
        assert!(next.torn.is_some());
        assert_eq!(read(&path).head, next.head);
        assert_eq!(read(&path).broken, None);
    }

    #[test]
    fn what_is_no_log_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notes.txt");
        fs::write(&path, "mine\n").unwrap();
        let error = append(&path, now(), event()).unwrap_err();
        assert!(matches!(error, LogFileError::Content { .. }));
        assert_eq!(fs::read_to_string(&path).unwrap(), "mine\n");
        assert!(matches!(
            append(folder.path(), now(), event()),
            Err(LogFileError::NotAFile { .. })
        ));
        assert!(matches!(
            append(&folder.path().join("no/folder"), now(), event()),
            Err(LogFileError::Io { action: "open", .. })
        ));
    }
}
