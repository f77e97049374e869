//! OpenSSH's `allowed_signers` file, as `ssh-keygen(1)` describes it under ALLOWED SIGNERS.
//!
//! Two differences, both on the safe side: a line that OpenSSH would skip or stumble over later is an error here, with its
//! number; and a time without `Z` is UTC, where OpenSSH takes the zone of the machine that verifies (see [`AllowedSigners::notes`]).

use jiff::{Timestamp, civil, tz::TimeZone};
use ssh_key::public::KeyData;

use super::keys::{self, KeyError};
use super::patterns::PatternList;

/// The largest `allowed_signers` file that is read, in bytes.
pub const MAX_ALLOWED_SIGNERS_BYTES: usize = 1024 * 1024;

/// Key types start with one of these; no option does.
const KEY_TYPE_PREFIXES: [&str; 4] = ["ssh-", "ecdsa-", "sk-ssh-", "sk-ecdsa-"];

/// A file that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AllowedSignersError {
    /// Too large.
    #[error("allowed_signers has {found} bytes: expected at most {MAX_ALLOWED_SIGNERS_BYTES}")]
    TooLarge {
        /// Its size in bytes.
        found: usize,
    },
    /// A line that cannot be used.
    #[error("allowed_signers line {line}: {problem}")]
    Line {
        /// From 1.
        line: usize,
        /// What is wrong with it.
        problem: LineError,
    },
}

/// What is wrong with a line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LineError {
    /// Not UTF-8, or a byte order mark, or a control character.
    #[error("expected UTF-8 text without a byte order mark and control characters")]
    NotText,
    /// No principals, or an unclosed or misplaced quote in them.
    #[error(
        "expected principals first, then options, then the key; quotes stand around all principals or none"
    )]
    Principals,
    /// No key after the principals.
    #[error("expected a key after the principals and options, found none")]
    NoKey,
    /// A key that is not accepted.
    #[error("the key is {0}")]
    Key(#[from] KeyError),
    /// An option that OpenSSH does not know.
    #[error(
        "unknown option {0:?}: expected cert-authority, namespaces=\"...\", valid-after=\"...\" or valid-before=\"...\""
    )]
    UnknownOption(String),
    /// An option given twice.
    #[error("option {0} is given twice")]
    Twice(&'static str),
    /// An option whose value is not in quotes.
    #[error("option {0} needs its value in double quotes")]
    Quotes(&'static str),
    /// A comma with no option after it.
    #[error("a comma with no option after it")]
    TrailingComma,
    /// A time in none of the forms.
    #[error(
        "option {option}: expected YYYYMMDD, YYYYMMDDHHMM or YYYYMMDDHHMMSS after 1970, with Z for UTC, found {found:?}"
    )]
    Time {
        /// The option.
        option: &'static str,
        /// Its value.
        found: String,
    },
    /// `valid-before` is not after `valid-after`.
    #[error("valid-before is not after valid-after: the key is never valid")]
    NeverValid,
}

/// One line.
#[derive(Debug, Clone)]
pub struct Entry {
    line: usize,
    principals: PatternList,
    namespaces: Option<PatternList>,
    valid_after: Option<Timestamp>,
    valid_before: Option<Timestamp>,
    cert_authority: bool,
    key: KeyData,
}

impl Entry {
    /// Line number, from 1.
    #[must_use]
    pub fn line(&self) -> usize {
        self.line
    }

    /// Whom the key stands for.
    #[must_use]
    pub fn principals(&self) -> &PatternList {
        &self.principals
    }

    /// For which namespaces; none given: for all.
    #[must_use]
    pub fn namespaces(&self) -> Option<&PatternList> {
        self.namespaces.as_ref()
    }

    /// The first moment at which the key counts.
    #[must_use]
    pub fn valid_after(&self) -> Option<Timestamp> {
        self.valid_after
    }

    /// The last moment at which the key counts.
    #[must_use]
    pub fn valid_before(&self) -> Option<Timestamp> {
        self.valid_before
    }

    /// Is the key an authority that signs certificates, rather than a signer?
    #[must_use]
    pub fn cert_authority(&self) -> bool {
        self.cert_authority
    }

    /// The key.
    #[must_use]
    pub fn key(&self) -> &KeyData {
        &self.key
    }
}

/// Something that a reader of the file should know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// Line number, from 1.
    pub line: usize,
    /// One sentence.
    pub text: String,
}

/// A parsed `allowed_signers` file.
#[derive(Debug, Clone, Default)]
pub struct AllowedSigners {
    entries: Vec<Entry>,
    notes: Vec<Note>,
}

impl AllowedSigners {
    /// Reads a file.
    ///
    /// # Errors
    /// The first line that cannot be used, with its number: a key that is silently left out would look like a wrong signature.
    pub fn parse(bytes: &[u8]) -> Result<Self, AllowedSignersError> {
        if bytes.len() > MAX_ALLOWED_SIGNERS_BYTES {
            return Err(AllowedSignersError::TooLarge { found: bytes.len() });
        }
        let mut signers = Self::default();
        for (index, raw) in bytes.split(|&b| b == b'\n').enumerate() {
            let line = index.saturating_add(1);
            let entry = parse_line(raw, line, &mut signers.notes)
                .map_err(|problem| AllowedSignersError::Line { line, problem })?;
            signers.entries.extend(entry);
        }
        Ok(signers)
    }

    /// The entries in the order of the file.
    #[must_use]
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// What a reader should know: times that are taken as UTC, patterns that let one key speak for many.
    #[must_use]
    pub fn notes(&self) -> &[Note] {
        &self.notes
    }
}

fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\r')
}

fn parse_line(raw: &[u8], line: usize, notes: &mut Vec<Note>) -> Result<Option<Entry>, LineError> {
    let text = raw.trim_ascii();
    if text.is_empty() || text.starts_with(b"#") {
        return Ok(None);
    }
    let text = std::str::from_utf8(text).map_err(|_| LineError::NotText)?;
    if text.starts_with('\u{feff}') || text.chars().any(|c| c.is_control() && !is_blank(c)) {
        return Err(LineError::NotText);
    }
    let (principals, rest) = split_principals(text)?;
    let (options, key_text) = split_options(rest)?;
    let options = parse_options(options)?;
    if key_text.is_empty() {
        return Err(LineError::NoKey);
    }
    let key = keys::parse_key(key_text)?;
    keys::check_key(&key)?;
    for (option, bound) in [
        ("valid-after", options.valid_after),
        ("valid-before", options.valid_before),
    ] {
        if let Some(bound) = bound.filter(|bound| !bound.utc) {
            notes.push(Note {
                line,
                text: format!(
                    "{option} has no Z: taken as UTC ({}); ssh-keygen takes the time zone of the machine it runs on",
                    bound.at
                ),
            });
        }
    }
    let principals = PatternList::new(principals);
    if !options.cert_authority && !principals.is_literal() {
        notes.push(Note {
            line,
            text: "one key for several principals: whoever holds it still counts as one person"
                .to_owned(),
        });
    }
    Ok(Some(Entry {
        line,
        principals,
        namespaces: options.namespaces,
        valid_after: options.valid_after.map(|bound| bound.at),
        valid_before: options.valid_before.map(|bound| bound.at),
        cert_authority: options.cert_authority,
        key,
    }))
}

fn split_principals(text: &str) -> Result<(&str, &str), LineError> {
    let (principals, rest) = match text.strip_prefix('"') {
        Some(quoted) => {
            let (principals, rest) = quoted.split_once('"').ok_or(LineError::Principals)?;
            if !rest.starts_with(is_blank) {
                return Err(LineError::Principals);
            }
            (principals, rest)
        }
        None => text.split_once(is_blank).ok_or(LineError::NoKey)?,
    };
    if principals.is_empty() || principals.contains('"') {
        return Err(LineError::Principals);
    }
    Ok((principals, rest.trim_matches(is_blank)))
}

/// Options, if there are any, and what follows them. White space inside quotes does not end the options.
fn split_options(rest: &str) -> Result<(&str, &str), LineError> {
    if KEY_TYPE_PREFIXES
        .iter()
        .any(|prefix| rest.starts_with(prefix))
    {
        return Ok(("", rest));
    }
    let mut quoted = false;
    let mut escaped = false;
    for (at, c) in rest.char_indices() {
        match c {
            '"' if !escaped => quoted = !quoted,
            _ if is_blank(c) && !quoted => {
                let (options, key) = rest.split_at_checked(at).ok_or(LineError::NoKey)?;
                return Ok((options, key.trim_matches(is_blank)));
            }
            _ => {}
        }
        escaped = c == '\\' && !escaped;
    }
    // All of it is one word: an option without a key, or a key type without its data.
    parse_options(rest)?;
    Err(LineError::NoKey)
}

#[derive(Clone, Copy)]
struct Bound {
    at: Timestamp,
    utc: bool,
}

#[derive(Default)]
struct Options {
    cert_authority: bool,
    namespaces: Option<PatternList>,
    valid_after: Option<Bound>,
    valid_before: Option<Bound>,
}

fn parse_options(mut text: &str) -> Result<Options, LineError> {
    let mut options = Options::default();
    while !text.is_empty() {
        text = parse_option(text, &mut options)?;
        if let Some(rest) = text.strip_prefix(',') {
            if rest.is_empty() {
                return Err(LineError::TrailingComma);
            }
            text = rest;
        } else if !text.is_empty() {
            return Err(unknown(text));
        }
    }
    match (options.valid_after, options.valid_before) {
        (Some(after), Some(before)) if before.at <= after.at => Err(LineError::NeverValid),
        _ => Ok(options),
    }
}

/// Reads one option and returns what follows it.
fn parse_option<'a>(text: &'a str, options: &mut Options) -> Result<&'a str, LineError> {
    if let Some(rest) = strip_name(text, "cert-authority") {
        options.cert_authority = true;
        return Ok(rest);
    }
    if let Some(rest) = strip_name(text, "namespaces=") {
        let (value, rest) = dequote(rest, "namespaces")?;
        set_once(
            &mut options.namespaces,
            PatternList::new(&value),
            "namespaces",
        )?;
        return Ok(rest);
    }
    if let Some(rest) = strip_name(text, "valid-after=") {
        let (value, rest) = dequote(rest, "valid-after")?;
        let bound = parse_time(&value, "valid-after")?;
        set_once(&mut options.valid_after, bound, "valid-after")?;
        return Ok(rest);
    }
    if let Some(rest) = strip_name(text, "valid-before=") {
        let (value, rest) = dequote(rest, "valid-before")?;
        let bound = parse_time(&value, "valid-before")?;
        set_once(&mut options.valid_before, bound, "valid-before")?;
        return Ok(rest);
    }
    Err(unknown(text))
}

fn unknown(text: &str) -> LineError {
    let name = text.split([',', '=', '"']).next().unwrap_or_default();
    LineError::UnknownOption(name.chars().take(60).collect())
}

fn set_once<T>(slot: &mut Option<T>, value: T, name: &'static str) -> Result<(), LineError> {
    if slot.is_some() {
        return Err(LineError::Twice(name));
    }
    *slot = Some(value);
    Ok(())
}

/// Option names are case-insensitive.
fn strip_name<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let (head, rest) = text.split_at_checked(name.len())?;
    head.eq_ignore_ascii_case(name).then_some(rest)
}

/// `"value"` with `\"` for a quote in it; returns the value and what follows.
fn dequote<'a>(text: &'a str, option: &'static str) -> Result<(String, &'a str), LineError> {
    let mut value = String::new();
    let mut rest = text.strip_prefix('"').ok_or(LineError::Quotes(option))?;
    loop {
        let mut chars = rest.chars();
        match chars.next() {
            None => return Err(LineError::Quotes(option)),
            Some('"') => return Ok((value, chars.as_str())),
            Some('\\') if chars.as_str().starts_with('"') => {
                value.push('"');
                chars.next();
            }
            Some(c) => value.push(c),
        }
        rest = chars.as_str();
    }
}

/// `YYYYMMDD`, `YYYYMMDDHHMM` or `YYYYMMDDHHMMSS`, with `Z` or `UTC` after it for UTC.
fn parse_time(text: &str, option: &'static str) -> Result<Bound, LineError> {
    let error = || LineError::Time {
        option,
        found: text.chars().take(60).collect(),
    };
    let upper = text.to_ascii_uppercase();
    let stripped = upper
        .strip_suffix("UTC")
        .or_else(|| upper.strip_suffix('Z'));
    let digits = stripped.unwrap_or(&upper);
    if !matches!(digits.len(), 8 | 12 | 14) || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err(error());
    }
    let number = |from: usize, to: usize| -> Result<i16, LineError> {
        match digits.get(from..to) {
            Some("") | None => Ok(0),
            Some(part) => part.parse().map_err(|_| error()),
        }
    };
    let small = |from: usize, to: usize| -> Result<i8, LineError> {
        i8::try_from(number(from, to)?).map_err(|_| error())
    };
    let civil = civil::DateTime::new(
        number(0, 4)?,
        small(4, 6)?,
        small(6, 8)?,
        small(8, 10)?,
        small(10, 12)?,
        small(12, 14)?,
        0,
    )
    .map_err(|_| error())?;
    let at = TimeZone::UTC.to_timestamp(civil).map_err(|_| error())?;
    if at.as_second() <= 0 {
        return Err(error());
    }
    Ok(Bound {
        at,
        utc: stripped.is_some(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const KEY: &str =
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAILM+rvN+ot98qgEN796jTiQfZfG1KaT0PtFDJ/XFSqti";

    fn one(options: &str) -> Result<Entry, AllowedSignersError> {
        let signers = AllowedSigners::parse(format!("a@x {options} {KEY}").as_bytes())?;
        Ok(signers.entries()[0].clone())
    }

    fn problem(line: &str) -> String {
        AllowedSigners::parse(line.as_bytes())
            .unwrap_err()
            .to_string()
    }

    #[test]
    fn the_manual_pages_example() {
        let text = format!(
            "# Comments allowed at start of line\r\n\nuser1@example.com,user2@example.com {KEY}\n  # indented\n\
             *@example.com cert-authority {KEY} a comment\n\"user 3@example.com\"\tnamespaces=\"file\"  {KEY}\r\n"
        );
        let signers = AllowedSigners::parse(text.as_bytes()).unwrap();
        let seen: Vec<_> = signers
            .entries()
            .iter()
            .map(|e| {
                (
                    e.line(),
                    e.principals().as_str(),
                    e.cert_authority(),
                    e.namespaces().map(PatternList::as_str),
                )
            })
            .collect();
        assert_eq!(
            seen,
            [
                (3, "user1@example.com,user2@example.com", false, None),
                (5, "*@example.com", true, None),
                (6, "user 3@example.com", false, Some("file")),
            ]
        );
    }

    #[test]
    fn options_in_every_form() {
        let entry =
            one("NameSpaces=\"a,b \\\"c\\\"\",CERT-authority,Valid-After=\"20260102\"").unwrap();
        assert_eq!(entry.namespaces().unwrap().as_str(), "a,b \"c\"");
        assert!(entry.cert_authority());
        for (text, expected) in [
            ("20260102", "2026-01-02T00:00:00Z"),
            ("20260102Z", "2026-01-02T00:00:00Z"),
            ("20260102z", "2026-01-02T00:00:00Z"),
            ("202601020304", "2026-01-02T03:04:00Z"),
            ("202601020304Z", "2026-01-02T03:04:00Z"),
            ("20260102030405", "2026-01-02T03:04:05Z"),
            ("20260102030405UTC", "2026-01-02T03:04:05Z"),
        ] {
            let entry = one(&format!("valid-before=\"{text}\"")).unwrap();
            assert_eq!(entry.valid_before().unwrap().to_string(), expected);
        }
    }

    #[test]
    fn a_time_without_z_is_said() {
        let text = format!("a@x valid-after=\"20260102\",valid-before=\"20270102Z\" {KEY}");
        let notes = AllowedSigners::parse(text.as_bytes())
            .unwrap()
            .notes()
            .to_vec();
        assert_eq!(notes.len(), 1);
        insta::assert_snapshot!(notes[0].text, @"valid-after has no Z: taken as UTC (2026-01-02T00:00:00Z); ssh-keygen takes the time zone of the machine it runs on");
    }

    #[test]
    fn refused_lines_name_the_line_and_the_reason() {
        let lines = [
            "\n\na@x".to_owned(),
            "a@x ssh-ed25519".to_owned(),
            "a@x ssh-ed25519 AAAA".to_owned(),
            "a@x cert-authority".to_owned(),
            format!("a@x foo {KEY}"),
            format!("a@x cert-authoritya {KEY}"),
            format!("a@x cert-authority, {KEY}"),
            format!("a@x namespaces=file {KEY}"),
            format!("a@x namespaces=\"file {KEY}"),
            format!("a@x namespaces=\"a\",namespaces=\"b\" {KEY}"),
            format!("a@x valid-after=\"2026\" {KEY}"),
            format!("a@x valid-after=\"20260230\" {KEY}"),
            format!("a@x valid-after=\"19700101Z\" {KEY}"),
            format!("a@x valid-after=\"20260102Z\",valid-before=\"20260102Z\" {KEY}"),
            format!("\"a@x {KEY}"),
            format!("\"a@x\"b {KEY}"),
            format!("a\"@x {KEY}"),
            format!("\u{feff}a@x {KEY}"),
            format!("a@x\u{1} {KEY}"),
        ];
        let report: Vec<_> = lines.iter().map(|line| problem(line)).collect();
        insta::assert_snapshot!(report.join("\n"), @r#"
        allowed_signers line 3: expected a key after the principals and options, found none
        allowed_signers line 1: the key is not a public key in OpenSSH's form (`ssh-ed25519 AAAA...`)
        allowed_signers line 1: the key is not a public key in OpenSSH's form (`ssh-ed25519 AAAA...`)
        allowed_signers line 1: expected a key after the principals and options, found none
        allowed_signers line 1: unknown option "foo": expected cert-authority, namespaces="...", valid-after="..." or valid-before="..."
        allowed_signers line 1: unknown option "a": expected cert-authority, namespaces="...", valid-after="..." or valid-before="..."
        allowed_signers line 1: a comma with no option after it
        allowed_signers line 1: option namespaces needs its value in double quotes
        allowed_signers line 1: option namespaces needs its value in double quotes
        allowed_signers line 1: option namespaces is given twice
        allowed_signers line 1: option valid-after: expected YYYYMMDD, YYYYMMDDHHMM or YYYYMMDDHHMMSS after 1970, with Z for UTC, found "2026"
        allowed_signers line 1: option valid-after: expected YYYYMMDD, YYYYMMDDHHMM or YYYYMMDDHHMMSS after 1970, with Z for UTC, found "20260230"
        allowed_signers line 1: option valid-after: expected YYYYMMDD, YYYYMMDDHHMM or YYYYMMDDHHMMSS after 1970, with Z for UTC, found "19700101Z"
        allowed_signers line 1: valid-before is not after valid-after: the key is never valid
        allowed_signers line 1: expected principals first, then options, then the key; quotes stand around all principals or none
        allowed_signers line 1: expected principals first, then options, then the key; quotes stand around all principals or none
        allowed_signers line 1: expected principals first, then options, then the key; quotes stand around all principals or none
        allowed_signers line 1: expected UTF-8 text without a byte order mark and control characters
        allowed_signers line 1: expected UTF-8 text without a byte order mark and control characters
        "#);
        assert!(AllowedSigners::parse(b"a@x \xff").is_err());
        assert!(AllowedSigners::parse(&vec![b'\n'; MAX_ALLOWED_SIGNERS_BYTES + 1]).is_err());
    }

    proptest! {
        #[test]
        fn never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = AllowedSigners::parse(&bytes);
        }

        #[test]
        fn never_panics_near_the_grammar(
            options in "[a-zA-Z\\-=\",\\\\ 0-9Zé]{0,60}",
            principals in "[a-z@*!?,\" é]{0,20}",
        ) {
            let _ = AllowedSigners::parse(format!("{principals} {options} {KEY}").as_bytes());
        }
    }
}
