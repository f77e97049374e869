//! The audit log: JSON Lines, each line holding the SHA-256 of the line before it.
//!
//! A change, a removal or a move inside the log breaks the chain. What no chain shows by itself is a log that was cut at its
//! end or written anew from its beginning: for that, keep the head (the digest of the last line) somewhere else and hand it to
//! [`read`] as an anchor. This module is pure; [`crate::host::log_file`] appends.

mod chain;

use std::collections::BTreeMap;
use std::io;

use jiff::Timestamp;
use serde::de::{Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use crate::approval::{IntentDigest, Sha256Hex};

pub use chain::{Break, Broken, Log, TornNote, read};

/// The name of the format, in every line.
pub const SCHEMA: &str = "bundlegate-log-v1";

/// The longest line, in bytes, without its line break.
pub const MAX_LINE_BYTES: usize = 64 * 1024;

/// The largest log that is read or appended to, in bytes. Start a new file before: its first line can name the old one's head.
pub const MAX_LOG_BYTES: u64 = 256 * 1024 * 1024;

/// How much of the end of a log [`Tail::of`] needs to see, in bytes: a torn line, one that was torn before it, a whole one.
pub const TAIL_BYTES: u64 = 4 * MAX_LINE_BYTES as u64;

/// What is before the first line.
#[must_use]
pub fn genesis() -> Sha256Hex {
    Sha256Hex::of(SCHEMA.as_bytes())
}

/// What a command did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Event {
    /// The command's name.
    pub command: String,
    /// Its verdict in one word.
    pub verdict: String,
    /// Its exit code.
    pub exit_code: u8,
    /// The plan's digest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<Sha256Hex>,
    /// The plan's intent digest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub intent: Option<IntentDigest>,
    /// The target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// Who ran the command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actor: Option<String>,
    /// More, by name. Never a secret.
    #[serde(default, deserialize_with = "unique_keys")]
    pub details: BTreeMap<String, String>,
}

/// One line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// [`SCHEMA`].
    pub schema: String,
    /// From 0, one more each line.
    pub seq: u64,
    /// The digest of the line before, [`genesis`] in the first.
    pub prev: Sha256Hex,
    /// When it was written.
    pub time: Timestamp,
    /// What stands between the line before and this one and is no line: a write that was cut off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub torn: Option<Torn>,
    /// What happened.
    pub event: Event,
}

/// The rest of a write that was cut off.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Torn {
    /// Its size in bytes.
    pub bytes: u64,
    /// Its digest.
    pub sha256: Sha256Hex,
}

impl Torn {
    fn of(bytes: &[u8]) -> Self {
        Self {
            bytes: bytes.len() as u64,
            sha256: Sha256Hex::of(bytes),
        }
    }
}

/// A log that cannot be read or continued.
#[derive(Debug, thiserror::Error)]
pub enum AuditError {
    /// The reader failed.
    #[error("the log cannot be read: {0}")]
    Io(#[from] io::Error),
    /// Too large.
    #[error("the log has {found} bytes, expected at most {MAX_LOG_BYTES}: start a new file")]
    TooLarge {
        /// Its size in bytes.
        found: u64,
    },
    /// The event does not fit a line.
    #[error(
        "the log entry has {found} bytes, expected at most {MAX_LINE_BYTES}: shorten its details"
    )]
    EntryTooLong {
        /// Its size in bytes.
        found: usize,
    },
    /// The last line is no log entry: appending would bury that.
    #[error(
        "the last line is not a log entry of {SCHEMA}: run `bundlegate log verify`, or name another file"
    )]
    NotALog,
    /// The event cannot be written as JSON.
    #[error("the log entry cannot be written: {0}")]
    Json(#[from] serde_json::Error),
}

/// The end of a log: what the next line must say about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tail {
    seq: u64,
    prev: Sha256Hex,
    torn: Option<Torn>,
}

impl Tail {
    /// Reads the end of a log: all of it, or at least its last [`TAIL_BYTES`].
    ///
    /// # Errors
    /// [`AuditError::NotALog`].
    pub fn of(end: &[u8], is_whole_log: bool) -> Result<Self, AuditError> {
        let (body, last) = match end.iter().rposition(|&b| b == b'\n') {
            Some(at) => (
                end.get(..at).unwrap_or_default(),
                end.get(at.saturating_add(1)..).unwrap_or_default(),
            ),
            None => (&[][..], end),
        };
        let has_lines = end.len() > last.len();
        // From the end backwards: lines that are torn writes, then one that is an entry.
        let mut lines: Vec<&[u8]> = body.split(|&b| b == b'\n').collect();
        if !has_lines {
            lines.clear();
        }
        let mut torn: Vec<&[u8]> = vec![last];
        while let Some(line) = lines.pop() {
            // The first piece of a window may be the end of a longer line.
            let is_cut = lines.is_empty() && !is_whole_log;
            match parse_entry(line).filter(|_| !is_cut) {
                Some(entry) => {
                    return Ok(Self {
                        seq: entry.seq.saturating_add(1),
                        prev: Sha256Hex::of(line),
                        torn: torn_piece(&torn),
                    });
                }
                // A complete line that is no entry was not torn: somebody wrote it.
                None if last.is_empty() => return Err(AuditError::NotALog),
                None => torn.push(line),
            }
        }
        if !is_whole_log || (has_lines && last.is_empty()) {
            return Err(AuditError::NotALog);
        }
        let torn = torn_piece(&torn);
        // A file of something else that merely lacks its last line break is no torn log.
        if torn.is_some() && !looks_torn(end) {
            return Err(AuditError::NotALog);
        }
        Ok(Self {
            seq: 0,
            prev: genesis(),
            torn,
        })
    }

    /// The next line, ready for one write; it closes a torn line first.
    ///
    /// # Errors
    /// An event that is too long.
    pub fn next(&self, time: Timestamp, event: Event) -> Result<NextLine, AuditError> {
        let entry = Entry {
            schema: SCHEMA.to_owned(),
            seq: self.seq,
            prev: self.prev.clone(),
            time,
            torn: self.torn.clone(),
            event,
        };
        let line = serde_json::to_vec(&entry)?;
        if line.len() > MAX_LINE_BYTES {
            return Err(AuditError::EntryTooLong { found: line.len() });
        }
        let head = Sha256Hex::of(&line);
        let mut bytes = Vec::with_capacity(line.len().saturating_add(2));
        if self.torn.is_some() {
            bytes.push(b'\n');
        }
        bytes.extend(line);
        bytes.push(b'\n');
        Ok(NextLine { bytes, entry, head })
    }
}

/// A line ready to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NextLine {
    /// The bytes to append in one write.
    pub bytes: Vec<u8>,
    /// What they say.
    pub entry: Entry,
    /// The log's head after it.
    pub head: Sha256Hex,
}

fn torn_piece(pieces_from_the_end: &[&[u8]]) -> Option<Torn> {
    let mut pieces = pieces_from_the_end.to_vec();
    pieces.reverse();
    let joined = pieces.join(&b'\n');
    (!joined.is_empty()).then(|| Torn::of(&joined))
}

/// A torn first line still begins like a line.
fn looks_torn(bytes: &[u8]) -> bool {
    let start = format!("{{\"schema\":\"{SCHEMA}\"").into_bytes();
    let shared = bytes.len().min(start.len());
    bytes.get(..shared) == start.get(..shared)
}

fn parse_entry(line: &[u8]) -> Option<Entry> {
    if line.len() > MAX_LINE_BYTES {
        return None;
    }
    serde_json::from_slice::<Entry>(line)
        .ok()
        .filter(|entry| entry.schema == SCHEMA)
}

/// The log as text, one line an entry, its details below it. `escape` makes foreign text safe for a terminal.
#[must_use]
pub fn show(log: &Log, escape: impl Fn(&str) -> String) -> String {
    let mut lines = Vec::new();
    for entry in &log.entries {
        let event = &entry.event;
        let mut line = format!(
            "{:>5}  {}  {}: {} (exit {})",
            entry.seq,
            entry.time,
            escape(&event.command),
            escape(&event.verdict),
            event.exit_code
        );
        for (name, value) in [
            (
                "plan",
                event.plan.as_ref().map(|plan| plan.short().to_owned()),
            ),
            ("target", event.target.clone()),
            ("by", event.actor.clone()),
        ] {
            if let Some(value) = value {
                line.push_str(&format!("  {name} {}", escape(&value)));
            }
        }
        lines.push(line);
        for (name, value) in &event.details {
            lines.push(format!("         {}: {}", escape(name), escape(value)));
        }
        if let Some(torn) = &entry.torn {
            lines.push(format!(
                "         before it, a write was cut off ({} bytes)",
                torn.bytes
            ));
        }
    }
    for torn in log.torn.iter().filter(|torn| !torn.recorded) {
        lines.push(format!(
            "line {}: the last write was cut off ({} bytes); it is no entry",
            torn.line, torn.bytes
        ));
    }
    if let Some(broken) = &log.broken {
        lines.push(format!(
            "line {}: {}: expected {}, found {}",
            broken.line,
            broken.kind.as_str(),
            escape(&broken.expected),
            escape(&broken.found)
        ));
    }
    let mut text = lines.join("\n");
    if !text.is_empty() {
        text.push('\n');
    }
    text
}

/// A map keeps the last of two equal keys; here they are refused.
fn unique_keys<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<String, String>, D::Error> {
    struct Unique;

    impl<'de> Visitor<'de> for Unique {
        type Value = BTreeMap<String, String>;

        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("an object of texts, no key twice")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Self::Value, A::Error> {
            let mut map = BTreeMap::new();
            while let Some((key, value)) = access.next_entry::<String, String>()? {
                if map.insert(key, value).is_some() {
                    return Err(A::Error::custom("the same key twice"));
                }
            }
            Ok(map)
        }
    }

    deserializer.deserialize_map(Unique)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn event(n: u64) -> Event {
        Event {
            command: "check".to_owned(),
            verdict: "open".to_owned(),
            exit_code: 0,
            plan: Some(Sha256Hex::of(b"plan")),
            intent: None,
            target: Some("prod".to_owned()),
            actor: Some("ann@x".to_owned()),
            details: BTreeMap::from([("n".to_owned(), n.to_string())]),
        }
    }

    fn now() -> Timestamp {
        "2026-11-30T12:00:00Z".parse().unwrap()
    }

    fn append(log: &mut Vec<u8>, n: u64) -> Result<NextLine, AuditError> {
        let next = Tail::of(log, true)?.next(now(), event(n))?;
        log.extend_from_slice(&next.bytes);
        Ok(next)
    }

    fn log_of(entries: u64) -> Vec<u8> {
        let mut log = Vec::new();
        for n in 0..entries {
            append(&mut log, n).unwrap();
        }
        log
    }

    fn lines(log: &[u8]) -> Vec<String> {
        let text = String::from_utf8(log.to_vec()).unwrap();
        text.lines().map(str::to_owned).collect()
    }

    fn broken(lines: &[String]) -> Option<(u64, Break)> {
        let text = format!("{}\n", lines.join("\n"));
        let log = read(text.as_bytes(), None).unwrap();
        log.broken.map(|broken| (broken.line, broken.kind))
    }

    #[test]
    fn a_line_is_this() {
        insta::assert_snapshot!(lines(&log_of(1))[0], @r#"{"schema":"bundlegate-log-v1","seq":0,"prev":"fe6033bec5189dfd6a50960ca7009040dbb8d29a9b2ddc65094217b7837f4880","time":"2026-11-30T12:00:00Z","event":{"command":"check","verdict":"open","exit_code":0,"plan":"64879f7d6b960a01909762d911a32d4582c20010c5641ee90278b644a9e3b525","target":"prod","actor":"ann@x","details":{"n":"0"}}}"#);
    }

    #[test]
    fn a_good_log_is_whole() {
        let log = log_of(5);
        let read = read(log.as_slice(), None).unwrap();
        assert_eq!(
            (read.entries.len(), read.broken, read.torn),
            (5, None, vec![])
        );
        assert_eq!(read.head, Sha256Hex::of(lines(&log)[4].as_bytes()));
        assert_eq!(super::read(&b""[..], None).unwrap().head, genesis());
    }

    #[test]
    fn the_first_broken_line_is_named() {
        let good = lines(&log_of(6));
        let mut edited = good.clone();
        edited[2] = edited[2].replace("prod", "dev");
        assert_eq!(broken(&edited), Some((4, Break::Edited)));
        let mut garbled = good.clone();
        garbled[2].push('}');
        assert_eq!(broken(&garbled), Some((3, Break::NotAnEntry)));
        let mut removed = good.clone();
        removed.remove(2);
        assert_eq!(broken(&removed), Some((3, Break::Removed)));
        let mut first = good.clone();
        first.remove(0);
        assert_eq!(broken(&first), Some((1, Break::Removed)));
        let mut swapped = good.clone();
        swapped.swap(2, 3);
        assert_eq!(broken(&swapped), Some((3, Break::Reordered)));
        let mut twice = good.clone();
        twice.insert(3, good[2].clone());
        assert_eq!(broken(&twice), Some((4, Break::Duplicate)));
        let mut other = good.clone();
        other.insert(3, "not json".to_owned());
        assert_eq!(broken(&other), Some((4, Break::NotAnEntry)));
        let mut keys = good.clone();
        keys[5] = keys[5].replace("\"n\":\"5\"", "\"n\":\"4\",\"n\":\"5\"");
        assert_eq!(broken(&keys), Some((6, Break::NotAnEntry)));
        assert_eq!(broken(&good), None);
    }

    #[test]
    fn an_anchor_sees_what_the_chain_cannot() {
        let log = log_of(4);
        let head = read(log.as_slice(), None).unwrap().head;
        let kind = |lines: &[String]| {
            let text = format!("{}\n", lines.join("\n"));
            read(text.as_bytes(), Some(&head))
                .unwrap()
                .broken
                .map(|b| b.kind)
        };
        let whole = lines(&log);
        assert_eq!(kind(&whole), None);
        assert_eq!(kind(&whole[..3]), Some(Break::AnchorMissing));
        let longer = lines(&log_of(6));
        assert_eq!(kind(&longer), None);
        let empty = read(&b""[..], Some(&head)).unwrap();
        assert_eq!(empty.broken.unwrap().kind, Break::AnchorMissing);
    }

    #[test]
    fn a_torn_line_is_recorded_wherever_it_was_cut() {
        let whole = log_of(3);
        let begin = log_of(2).len();
        for cut in begin + 1..whole.len() {
            let mut log = whole[..cut].to_vec();
            let torn = read(log.as_slice(), None).unwrap();
            assert_eq!((torn.entries.len(), torn.broken), (2, None), "{cut}");
            assert!(!torn.torn[0].recorded);
            let next = append(&mut log, 9).unwrap();
            assert_eq!(next.entry.torn.unwrap().bytes, (cut - begin) as u64);
            append(&mut log, 10).unwrap();
            let after = read(log.as_slice(), None).unwrap();
            assert_eq!((after.entries.len(), after.broken), (4, None), "{cut}");
            assert!(after.torn[0].recorded);
        }
    }

    #[test]
    fn torn_twice_and_torn_at_the_beginning() {
        let mut log = log_of(1)[..40].to_vec();
        let next = Tail::of(&log, true).unwrap().next(now(), event(1)).unwrap();
        log.extend_from_slice(&next.bytes[..50]);
        append(&mut log, 2).unwrap();
        append(&mut log, 3).unwrap();
        let read = read(log.as_slice(), None).unwrap();
        assert_eq!((read.entries.len(), read.broken), (2, None));
        // What was recorded as torn cannot be taken out afterwards.
        let mut cut = lines(&log);
        cut.remove(0);
        assert!(broken(&cut).is_some());
    }

    #[test]
    fn another_file_is_not_continued() {
        for text in [
            "hello",
            "hello\n",
            "{}\n",
            "\n",
            "# notes\nfirst",
            "{\"schema\":\"x\"}",
        ] {
            assert!(
                matches!(Tail::of(text.as_bytes(), true), Err(AuditError::NotALog)),
                "{text:?}"
            );
        }
        let mut garbled = log_of(2);
        garbled.truncate(garbled.len() - 2);
        garbled.push(b'\n');
        assert!(matches!(Tail::of(&garbled, true), Err(AuditError::NotALog)));
    }

    #[test]
    fn the_window_is_enough() {
        let mut long = event(0);
        long.details
            .insert("x".to_owned(), "y".repeat(MAX_LINE_BYTES - 1000));
        let mut log = Vec::new();
        for _ in 0..6 {
            let next = Tail::of(&log, true)
                .unwrap()
                .next(now(), long.clone())
                .unwrap();
            log.extend_from_slice(&next.bytes);
        }
        log.truncate(log.len() - 1);
        let from = log.len() - usize::try_from(TAIL_BYTES).unwrap();
        assert_eq!(
            Tail::of(&log[from..], false).unwrap(),
            Tail::of(&log, true).unwrap()
        );
        long.details.insert("z".to_owned(), "y".repeat(2000));
        let error = Tail::of(&log, true).unwrap().next(now(), long).unwrap_err();
        assert!(matches!(error, AuditError::EntryTooLong { .. }));
        assert!(Tail::of(&[b'x'; 100], false).is_err());
    }

    #[test]
    fn shown_as_text() {
        let mut log = log_of(2);
        log.extend_from_slice(b"{\"sch");
        let log = read(log.as_slice(), None).unwrap();
        insta::assert_snapshot!(show(&log, |text| text.escape_debug().to_string()), @"
            0  2026-11-30T12:00:00Z  check: open (exit 0)  plan 64879f7d6b96  target prod  by ann@x
                 n: 0
            1  2026-11-30T12:00:00Z  check: open (exit 0)  plan 64879f7d6b96  target prod  by ann@x
                 n: 1
        line 3: the last write was cut off (5 bytes); it is no entry
        ");
    }

    proptest! {
        #[test]
        fn reading_never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = read(bytes.as_slice(), None);
            let _ = Tail::of(&bytes, true);
            let _ = Tail::of(&bytes, false);
        }

        #[test]
        fn any_changed_byte_before_the_last_line_is_seen(at in 0_usize..10_000, byte: u8) {
            let mut log = log_of(4);
            let before_last = log_of(3).len();
            let at = at % before_last;
            prop_assume!(log[at] != byte);
            log[at] = byte;
            prop_assert!(read(log.as_slice(), None).unwrap().broken.is_some());
        }
    }
}
