//! The strict reader: `serde_json` with a visitor of our own.

use std::cell::RefCell;
use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};

use super::{Object, Position, Value};

/// Largest input file by default, in bytes (`--max-size` changes it).
pub const MAX_INPUT_BYTES: u64 = 256 << 20;
/// Deepest nesting. `serde_json` stops at 128; real plans stay below 30.
pub const MAX_NESTING: usize = 120;
/// Most members of one object or items of one array.
pub const MAX_MEMBERS: usize = 1_000_000;
/// Longest string, in bytes after unescaping.
pub const MAX_STRING_BYTES: usize = 32 << 20;

/// Bounds of one read.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Largest input, in bytes.
    pub bytes: u64,
    /// Deepest nesting of objects and arrays.
    pub nesting: usize,
    /// Most members of one object or items of one array.
    pub members: usize,
    /// Longest string, in bytes.
    pub string: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            bytes: MAX_INPUT_BYTES,
            nesting: MAX_NESTING,
            members: MAX_MEMBERS,
            string: MAX_STRING_BYTES,
        }
    }
}

/// Why an input is not the JSON that was expected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    /// What was expected and what was found, in one sentence.
    pub message: String,
    /// Where, if the fault has a place.
    pub position: Option<Position>,
    /// What to do about it, if it is known.
    pub help: Option<String>,
}

impl Error {
    pub(crate) fn new(message: impl Into<String>, position: Option<Position>) -> Self {
        Self {
            message: message.into(),
            position,
            help: None,
        }
    }

    pub(crate) fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

/// Reads one JSON document, strictly.
///
/// # Errors
/// Anything that is not exactly one JSON document within the limits; well-known mistakes (UTF-16, a byte order mark, gzip,
/// a log line before the JSON, an empty file) are named.
pub fn parse(bytes: &[u8], limits: &Limits) -> Result<Value, Error> {
    recognise(bytes, limits)?;
    let mut de = serde_json::Deserializer::from_slice(bytes);
    let seed = Seed {
        limits,
        depth: 0,
        keys: &RefCell::default(),
    };
    let value = seed
        .deserialize(&mut de)
        .map_err(|e| syntax_error(bytes, &e))?;
    de.end().map_err(|e| {
        Error::new(
            "expected the end of the file after the JSON document, found more text; the Databricks CLI would ignore it silently",
            position_of(&e),
        )
    })?;
    Ok(value)
}

/// Names the inputs that are not UTF-8 JSON text at all.
fn recognise(bytes: &[u8], limits: &Limits) -> Result<(), Error> {
    let start = Some(Position { line: 1, column: 1 });
    if bytes.len() as u64 > limits.bytes {
        return Err(Error::new(
            format!(
                "expected at most {} bytes, found {}",
                limits.bytes,
                bytes.len()
            ),
            None,
        )
        .with_help("raise the bound with --max-size if the file really is that large"));
    }
    if bytes.starts_with(&[0xEF, 0xBB, 0xBF]) {
        return Err(Error::new("expected JSON, found a UTF-8 byte order mark; the Databricks CLI refuses it too", start)
            .with_help("write the file without a byte order mark (PowerShell: `Out-File -Encoding utf8NoBOM`, or `cmd /c \"databricks bundle plan -o json > plan.json\"`)"));
    }
    let utf16 = bytes.starts_with(&[0xFF, 0xFE])
        || bytes.starts_with(&[0xFE, 0xFF])
        || matches!(bytes, [b'{', 0, ..] | [0, b'{', ..]);
    if utf16 {
        return Err(Error::new("expected UTF-8, found UTF-16 text", start)
            .with_help("Windows PowerShell 5 writes UTF-16 with `>`: run `cmd /c \"databricks bundle plan -o json > plan.json\"`, or use PowerShell 7"));
    }
    if bytes.starts_with(&[0x1F, 0x8B]) {
        return Err(
            Error::new("expected JSON, found gzip-compressed data", start)
                .with_help("unpack it first: `gunzip -c FILE > plan.json`"),
        );
    }
    if bytes.starts_with(b"PK\x03\x04") {
        return Err(Error::new("expected JSON, found a zip archive", start)
            .with_help("unpack the downloaded CI artifact first"));
    }
    match bytes.iter().find(|b| !b.is_ascii_whitespace()) {
        None => Err(Error::new(
            if bytes.is_empty() { "expected JSON, found an empty file" } else { "expected JSON, found only white space" },
            start,
        )
        .with_help("the command that should have written it probably failed: look at its exit code and standard error")),
        Some(b'{' | b'[' | b'"' | b't' | b'f' | b'n' | b'-' | b'0'..=b'9') => Ok(()),
        Some(b'/' | b'#') => Err(Error::new("expected JSON, found a comment; JSON has none", start)),
        Some(_) if bytes.contains(&b'{') => Err(Error::new("expected JSON, found other text before the first `{`", start)
            .with_help("the log of a command was mixed into the file: redirect standard output alone (`databricks bundle plan -o json > plan.json`, without `2>&1`)")),
        Some(_) => Err(Error::new("expected JSON, found other text", start)),
    }
}

fn position_of(e: &serde_json::Error) -> Option<Position> {
    (e.line() > 0).then(|| Position {
        line: e.line(),
        column: e.column().max(1),
    })
}

fn syntax_error(bytes: &[u8], e: &serde_json::Error) -> Error {
    let position = position_of(e);
    if e.is_eof() {
        return Error::new(
            "expected more JSON, found the end of the file: it is cut off",
            position,
        )
        .with_help(
            "the command that wrote it was interrupted, or the disk was full: write it again",
        );
    }
    let text = e.to_string();
    let text = text.split(" at line ").next().unwrap_or(&text);
    let message = match text {
        "control character (\\u0000-\\u001F) found while parsing a string" => "expected an escaped character, found a raw control character in a string".to_owned(),
        "lone leading surrogate in hex escape" | "unexpected end of hex escape" => "expected a pair of surrogates, found a lone one in a string".to_owned(),
        "invalid unicode code point" => "expected UTF-8 text, found bytes that are not".to_owned(),
        "number out of range" => "expected a number within 64 bits, found a larger one".to_owned(),
        "recursion limit exceeded" => format!("expected at most {MAX_NESTING} levels of nesting, found more"),
        "expected value" | "expected ident" if std::str::from_utf8(bytes).is_err() => "expected UTF-8 text, found bytes that are not".to_owned(),
        "expected value" | "expected ident" => "expected a JSON value, found something else (a comment, `NaN`, a quote of another kind, or a trailing comma)".to_owned(),
        other => other.to_owned(),
    };
    Error::new(message, position)
}

#[derive(Clone, Copy)]
struct Seed<'l> {
    limits: &'l Limits,
    depth: usize,
    /// The keys that the document has had so far: most stand in it thousands of times, and each is kept once.
    keys: &'l RefCell<HashSet<Arc<str>>>,
}

impl<'l> Seed<'l> {
    fn deeper<E: serde::de::Error>(self) -> Result<Seed<'l>, E> {
        if self.depth >= self.limits.nesting {
            return Err(E::custom(format_args!(
                "expected at most {} levels of nesting, found more",
                self.limits.nesting
            )));
        }
        Ok(Seed {
            depth: self.depth + 1,
            ..self
        })
    }

    fn text<E: serde::de::Error>(self, s: &str) -> Result<(), E> {
        if s.len() > self.limits.string {
            return Err(E::custom(format_args!(
                "expected a string of at most {} bytes, found {}",
                self.limits.string,
                s.len()
            )));
        }
        if s.as_bytes().contains(&0) {
            return Err(E::custom(
                "expected text, found a NUL character in a string",
            ));
        }
        Ok(())
    }
}

impl<'de> DeserializeSeed<'de> for Seed<'_> {
    type Value = Value;
    fn deserialize<D: Deserializer<'de>>(self, d: D) -> Result<Value, D::Error> {
        d.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Seed<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, b: bool) -> Result<Value, E> {
        Ok(Value::Bool(b))
    }

    fn visit_i64<E>(self, n: i64) -> Result<Value, E> {
        Ok(Value::Int(n))
    }

    fn visit_u64<E>(self, n: u64) -> Result<Value, E> {
        Ok(i64::try_from(n).map_or(Value::UInt(n), Value::Int))
    }

    fn visit_f64<E: serde::de::Error>(self, f: f64) -> Result<Value, E> {
        // serde_json turns integers beyond 64 bits into floats: everything of that size is refused.
        if f >= 18_446_744_073_709_551_615.0 || f <= -9_223_372_036_854_775_808.0 {
            return Err(E::custom(
                "expected a number within 64 bits, found a larger one",
            ));
        }
        Ok(Value::Float(f))
    }

    fn visit_str<E: serde::de::Error>(self, s: &str) -> Result<Value, E> {
        self.text(s)?;
        Ok(Value::String(s.into()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let inner = self.deeper()?;
        let mut items = Vec::new();
        while let Some(item) = seq.next_element_seed(inner)? {
            if items.len() >= self.limits.members {
                return Err(A::Error::custom(format_args!(
                    "expected at most {} items in one array, found more",
                    self.limits.members
                )));
            }
            items.push(item);
        }
        Ok(Value::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        /// Up to this many members a scan is faster than a set.
        const SCAN: usize = 24;
        let inner = self.deeper()?;
        let mut members: Vec<(Arc<str>, Value)> = Vec::new();
        let mut seen: HashSet<Arc<str>> = HashSet::new();
        let mut sorted = true;
        while let Some(key) = map.next_key_seed(KeySeed(self))? {
            // The CLI sorts most objects: a key above the last one of a sorted object is new.
            sorted = sorted && members.last().is_none_or(|(last, _)| **last < *key);
            let twice = if sorted {
                false
            } else if members.len() < SCAN {
                members.iter().any(|(k, _)| *k == key)
            } else {
                if seen.is_empty() {
                    seen.extend(members.iter().map(|(k, _)| k.clone()));
                }
                !seen.insert(key.clone())
            };
            if twice {
                return Err(A::Error::custom(format_args!(
                    "expected each key once, found {} a second time; the Databricks CLI would take the last one silently",
                    crate::text::quoted(&key)
                )));
            }
            if members.len() >= self.limits.members {
                return Err(A::Error::custom(format_args!(
                    "expected at most {} keys in one object, found more",
                    self.limits.members
                )));
            }
            let value = map.next_value_seed(inner)?;
            members.push((key, value));
        }
        Ok(Value::Object(Object::from_unique(members)))
    }
}

struct KeySeed<'l>(Seed<'l>);

impl<'de> DeserializeSeed<'de> for KeySeed<'_> {
    type Value = Arc<str>;
    fn deserialize<D: Deserializer<'de>>(self, d: D) -> Result<Arc<str>, D::Error> {
        d.deserialize_str(self)
    }
}

impl Visitor<'_> for KeySeed<'_> {
    type Value = Arc<str>;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }
    fn visit_str<E: serde::de::Error>(self, s: &str) -> Result<Arc<str>, E> {
        self.0.text(s)?;
        let mut keys = self.0.keys.borrow_mut();
        if let Some(key) = keys.get(s) {
            return Ok(key.clone());
        }
        let key: Arc<str> = s.into();
        keys.insert(key.clone());
        Ok(key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Value, String> {
        parse(text.as_bytes(), &Limits::default()).map_err(|e| match e.position {
            Some(p) => format!("{}:{}: {}", p.line, p.column, e.message),
            None => e.message,
        })
    }

    #[test]
    fn integers_are_exact_and_larger_ones_refused() {
        assert_eq!(read("9223372036854775807"), Ok(Value::Int(i64::MAX)));
        assert_eq!(read("18446744073709551615"), Ok(Value::UInt(u64::MAX)));
        assert_eq!(read("-9223372036854775808"), Ok(Value::Int(i64::MIN)));
        assert!(read("18446744073709551616").is_err());
        assert!(read("-9223372036854775809").is_err());
        assert!(read("1e400").is_err());
        assert_eq!(read("1.0"), Ok(Value::Float(1.0)));
    }

    #[test]
    fn duplicate_keys_are_refused_where_they_stand() {
        insta::assert_snapshot!(read("{\"a\":1,\n \"b\":{\"c\":1,\"\\u0063\":2}}").unwrap_err(),
            @r#"2:20: expected each key once, found "c" a second time; the Databricks CLI would take the last one silently"#);
        let many: String = (0..100).map(|i| format!("\"k{i}\":1,")).collect();
        assert!(read(&format!("{{{many}\"k7\":2}}")).is_err());
        assert!(read(&format!("{{{many}\"k100\":2}}")).is_ok());
    }

    #[test]
    fn what_is_not_json_is_named() {
        let cases: &[(&[u8], &str)] = &[
            (b"", "empty file"),
            (b" \n", "only white space"),
            (b"\xEF\xBB\xBF{}", "byte order mark"),
            (b"\xFF\xFE{\0}\0", "UTF-16"),
            (b"{\0}\0", "UTF-16"),
            (b"\x1F\x8B\x08", "gzip"),
            (b"PK\x03\x04", "zip"),
            (b"// no\n{}", "comment"),
            (b"Building...\n{}", "before the first"),
            (b"nothing here", "found something else"),
            (b"hello", "other text"),
            (b"{\"a\":", "cut off"),
            (b"{} {}", "end of the file"),
            (b"{}}", "end of the file"),
            (b"{\"a\":NaN}", "NaN"),
            (b"{\"a\":\"\\ud800\"}", "lone"),
            (b"{\"a\":\"\\u0000\"}", "NUL"),
            (b"{\"a\":\"\x01\"}", "control character"),
            (b"{\"a\":\"\xff\"}", "not"),
            (b"{\"a\":1,}", "trailing comma"),
        ];
        for (bytes, part) in cases {
            let e = parse(bytes, &Limits::default()).expect_err(part);
            assert!(e.message.contains(part), "{part}: {}", e.message);
        }
    }

    #[test]
    fn bounds_hold() {
        let limits = Limits {
            bytes: 1000,
            nesting: 3,
            members: 3,
            string: 4,
        };
        for bad in [
            "[[[[1]]]]",
            "[1,2,3,4]",
            "\"12345\"",
            "{\"a\":1,\"b\":1,\"c\":1,\"d\":1}",
        ] {
            assert!(parse(bad.as_bytes(), &limits).is_err(), "{bad}");
        }
        assert!(parse(b"[[[1]]]", &limits).is_ok());
        let deep = "[".repeat(100_000);
        assert!(parse(deep.as_bytes(), &Limits::default()).is_err());
    }

    proptest::proptest! {
        #[test]
        fn never_panics(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..200)) {
            let _ = parse(&bytes, &Limits::default());
        }

        #[test]
        fn written_and_read_again_is_the_same(text in "\\PC{0,20}", n in proptest::num::i64::ANY, f in -1e9f64..1e9) {
            let v = Value::Array(vec![Value::String(text.into()), Value::Int(n), Value::Float(f), Value::Null]);
            proptest::prop_assert_eq!(parse(v.to_json().as_bytes(), &Limits::default()).unwrap(), v);
        }
    }
}
