//! Reading a log and walking its chain.

use std::io::{self, BufRead};

use super::{AuditError, Entry, MAX_LINE_BYTES, MAX_LOG_BYTES, SCHEMA, Torn, genesis, parse_entry};
use crate::approval::Sha256Hex;

/// How a chain is broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Break {
    /// The line is no entry, and no later entry says that it was torn.
    NotAnEntry,
    /// This line, or the one before it, was changed after it was written.
    Edited,
    /// Lines before this one are gone.
    Removed,
    /// Lines stand in another order than they were written.
    Reordered,
    /// The line is there twice.
    Duplicate,
    /// The anchor's line is not in the log: it was cut at its end or written anew.
    AnchorMissing,
}

impl Break {
    /// The break in words.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NotAnEntry => "the line is not a log entry",
            Self::Edited => "this line or the one before it was edited",
            Self::Removed => "lines before this one were removed",
            Self::Reordered => "lines were reordered",
            Self::Duplicate => "the line is a duplicate",
            Self::AnchorMissing => {
                "the log was cut or written anew: it does not hold the line of the anchor"
            }
        }
    }
}

/// The first place where a chain is broken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broken {
    /// The line, from 1.
    pub line: u64,
    /// How.
    pub kind: Break,
    /// What the chain expected there.
    pub expected: String,
    /// What it found.
    pub found: String,
}

/// A torn write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TornNote {
    /// Where it begins, from 1.
    pub line: u64,
    /// Its size in bytes.
    pub bytes: u64,
    /// Does a later entry speak of it? If not, it is the end of the log.
    pub recorded: bool,
}

/// A log that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Log {
    /// The entries before the first break.
    pub entries: Vec<Entry>,
    /// The digest of the last of them, [`genesis`] if there is none: keep it elsewhere as an anchor.
    pub head: Sha256Hex,
    /// Writes that were cut off.
    pub torn: Vec<TornNote>,
    /// The first break, if there is one.
    pub broken: Option<Broken>,
}

/// Reads a log and walks its chain up to the first break.
///
/// # Errors
/// The reader's own, and a log that is too large. A broken chain is an answer, not an error.
pub fn read(reader: impl BufRead, anchor: Option<&Sha256Hex>) -> Result<Log, AuditError> {
    let mut walk = Walk::default();
    let mut lines = Lines {
        reader,
        read: 0,
        number: 0,
    };
    while let Some(line) = lines.next()? {
        if walk.broken.is_some() {
            walk.look_ahead(&line.bytes);
        } else if line.is_complete {
            walk.step(line.bytes, line.number);
        } else {
            walk.torn_end(&line.bytes, line.number);
        }
    }
    Ok(walk.finish(anchor))
}

struct Line {
    bytes: Vec<u8>,
    number: u64,
    is_complete: bool,
}

struct Lines<R> {
    reader: R,
    read: u64,
    number: u64,
}

impl<R: BufRead> Lines<R> {
    /// The next line without its line break. A line that is too long is cut just beyond the limit and so is no entry.
    fn next(&mut self) -> Result<Option<Line>, AuditError> {
        let mut bytes = Vec::new();
        let mut is_complete = false;
        let mut any = false;
        while !is_complete {
            let available = match self.reader.fill_buf() {
                Ok(available) => available,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error.into()),
            };
            if available.is_empty() {
                break;
            }
            any = true;
            let (part, used) = match available.iter().position(|&b| b == b'\n') {
                Some(at) => {
                    is_complete = true;
                    (
                        available.get(..at).unwrap_or_default(),
                        at.saturating_add(1),
                    )
                }
                None => (available, available.len()),
            };
            let room = MAX_LINE_BYTES.saturating_add(1).saturating_sub(bytes.len());
            bytes.extend(part.iter().take(room));
            self.read = self.read.saturating_add(used as u64);
            self.reader.consume(used);
            if self.read > MAX_LOG_BYTES {
                return Err(AuditError::TooLarge { found: self.read });
            }
        }
        self.number = self.number.saturating_add(1);
        Ok(any.then_some(Line {
            bytes,
            number: self.number,
            is_complete,
        }))
    }
}

#[derive(Default)]
struct Walk {
    entries: Vec<Entry>,
    /// The digest of every entry's line.
    hashes: Vec<Sha256Hex>,
    /// The last entry's line, which may turn out to be a torn write that lacked only its line break.
    last_line: Vec<u8>,
    last_number: u64,
    /// Lines since then that are no entries.
    junk: Vec<Vec<u8>>,
    junk_number: u64,
    torn: Vec<TornNote>,
    broken: Option<Broken>,
    /// The sequence number that was expected at the break.
    missing: Option<u64>,
}

impl Walk {
    fn head(&self) -> Sha256Hex {
        self.hashes.last().cloned().unwrap_or_else(genesis)
    }

    fn expected_seq(&self) -> u64 {
        self.entries.len() as u64
    }

    fn step(&mut self, line: Vec<u8>, number: u64) {
        let Some(entry) = parse_entry(&line) else {
            if self.junk.is_empty() {
                self.junk_number = number;
            }
            // More torn writes in a row than a tail can hold are no accident.
            if self.junk.len() >= 8 {
                self.not_an_entry();
            } else {
                self.junk.push(line);
            }
            return;
        };
        if let Some(torn) = entry.torn.clone() {
            if self.junk_is(&torn) {
                self.note_torn(self.junk_number, &torn);
            } else if entry.seq.checked_add(1) == Some(self.expected_seq())
                && self.last_and_junk_are(&torn)
            {
                self.entries.pop();
                self.hashes.pop();
                self.note_torn(self.last_number, &torn);
            } else {
                self.break_at(
                    number,
                    Break::Removed,
                    format!("{} bytes of a torn line", torn.bytes),
                    "none",
                );
                return;
            }
        } else if !self.junk.is_empty() {
            self.not_an_entry();
            return;
        }
        if entry.seq != self.expected_seq() || entry.prev != self.head() {
            self.wrong_place(&entry, &line, number);
            return;
        }
        self.hashes.push(Sha256Hex::of(&line));
        self.entries.push(entry);
        self.last_line = line;
        self.last_number = number;
    }

    fn junk_is(&self, torn: &Torn) -> bool {
        !self.junk.is_empty() && Torn::of(&self.junk.join(&b'\n')) == *torn
    }

    fn last_and_junk_are(&self, torn: &Torn) -> bool {
        let mut pieces = vec![self.last_line.clone()];
        pieces.extend(self.junk.iter().cloned());
        Torn::of(&pieces.join(&b'\n')) == *torn
    }

    fn note_torn(&mut self, line: u64, torn: &Torn) {
        self.junk.clear();
        self.torn.push(TornNote {
            line,
            bytes: torn.bytes,
            recorded: true,
        });
    }

    fn torn_end(&mut self, line: &[u8], number: u64) {
        let bytes = self.junk.iter().fold(line.len(), |sum, piece| {
            sum.saturating_add(piece.len()).saturating_add(1)
        });
        let line = if self.junk.is_empty() {
            number
        } else {
            self.junk_number
        };
        self.junk.clear();
        self.torn.push(TornNote {
            line,
            bytes: bytes as u64,
            recorded: false,
        });
    }

    fn not_an_entry(&mut self) {
        let found: String = self
            .junk
            .first()
            .map(|line| String::from_utf8_lossy(line).chars().take(80).collect())
            .unwrap_or_default();
        self.break_at(
            self.junk_number,
            Break::NotAnEntry,
            format!("entry {} of {SCHEMA}", self.expected_seq()),
            format!("{found:?}"),
        );
    }

    fn wrong_place(&mut self, entry: &Entry, line: &[u8], number: u64) {
        let expected = format!(
            "entry {} after {}",
            self.expected_seq(),
            self.head().short()
        );
        let found = format!("entry {} after {}", entry.seq, entry.prev.short());
        let kind = if self.hashes.contains(&Sha256Hex::of(line)) {
            Break::Duplicate
        } else if entry.seq == self.expected_seq() {
            Break::Edited
        } else if entry.seq > self.expected_seq() {
            self.missing = Some(self.expected_seq());
            Break::Removed
        } else {
            Break::Reordered
        };
        self.break_at(number, kind, expected, found);
    }

    fn break_at(
        &mut self,
        line: u64,
        kind: Break,
        expected: impl Into<String>,
        found: impl Into<String>,
    ) {
        self.broken = Some(Broken {
            line,
            kind,
            expected: expected.into(),
            found: found.into(),
        });
    }

    /// After a break: is the line that seemed removed further down?
    fn look_ahead(&mut self, line: &[u8]) {
        if self.missing.is_some()
            && parse_entry(line).map(|entry| entry.seq) == self.missing
            && let Some(broken) = &mut self.broken
        {
            broken.kind = Break::Reordered;
        }
    }

    fn finish(mut self, anchor: Option<&Sha256Hex>) -> Log {
        if self.broken.is_none() && !self.junk.is_empty() {
            self.not_an_entry();
        }
        if let Some(anchor) = anchor
            && self.broken.is_none()
            && *anchor != genesis()
            && !self.hashes.contains(anchor)
        {
            let line = self.last_number.saturating_add(1);
            let found = format!(
                "{} entries up to {}",
                self.entries.len(),
                self.head().short()
            );
            self.break_at(
                line,
                Break::AnchorMissing,
                format!("the line {anchor}"),
                found,
            );
        }
        Log {
            head: self.head(),
            entries: self.entries,
            torn: self.torn,
            broken: self.broken,
        }
    }
}
