//! The JSON value: exact integers, unique and sorted keys.

use std::fmt;
use std::sync::Arc;

/// A JSON value as the strict reader yields it.
///
/// Integers are exact: [`Value::UInt`] is used only above `i64::MAX`, so equal numbers are equal values.
#[derive(Clone, PartialEq)]
pub enum Value {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// An integer that fits in 64 bits with a sign.
    Int(i64),
    /// An integer above `i64::MAX`.
    UInt(u64),
    /// A number written with a fraction or an exponent.
    Float(f64),
    /// A string.
    String(Box<str>),
    /// An array.
    Array(Vec<Value>),
    /// An object.
    Object(Object),
}

/// A JSON object: members sorted by key (by bytes), each key once. Objects of one document share the texts of their keys.
#[derive(Clone, PartialEq, Default)]
pub struct Object(Vec<(Arc<str>, Value)>);

impl Object {
    /// Makes an object of members whose keys are unique; sorts them.
    pub(super) fn from_unique(mut members: Vec<(Arc<str>, Value)>) -> Self {
        if !members.is_sorted_by(|a, b| a.0 < b.0) {
            members.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        }
        Self(members)
    }

    /// The member of this name.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.0.get(self.position(key)?).map(|(_, v)| v)
    }

    /// Takes the member of this name out.
    pub fn take(&mut self, key: &str) -> Option<Value> {
        Some(self.0.remove(self.position(key)?).1)
    }

    fn position(&self, key: &str) -> Option<usize> {
        /// Up to this many members a scan is faster: it reads only the names that are as long as the one it looks for.
        const SCAN: usize = 48;
        if self.0.len() <= SCAN {
            self.0.iter().position(|(k, _)| **k == *key)
        } else {
            self.0.binary_search_by(|(k, _)| (**k).cmp(key)).ok()
        }
    }

    /// The members in the order of their keys.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.0.iter().map(|(k, v)| (&**k, v))
    }

    /// How many members there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is no member.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl IntoIterator for Object {
    type Item = (Arc<str>, Value);
    type IntoIter = std::vec::IntoIter<Self::Item>;
    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl Value {
    /// An object of these members; of two with one name the last counts.
    #[must_use]
    pub fn object(members: impl IntoIterator<Item = (Arc<str>, Value)>) -> Self {
        let members: Vec<(Arc<str>, Value)> = members.into_iter().collect();
        if members.is_sorted_by(|a, b| a.0 < b.0) {
            return Value::Object(Object(members));
        }
        let unique: std::collections::BTreeMap<_, _> = members.into_iter().collect();
        Value::Object(Object(unique.into_iter().collect()))
    }

    /// The member of this name, if this is an object that has it.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.as_object()?.get(key)
    }

    /// The value at a chain of member names.
    #[must_use]
    pub fn at(&self, path: &[&str]) -> Option<&Value> {
        path.iter().try_fold(self, |v, key| v.get(key))
    }

    /// The text, if this is a string.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Value::String(s) => Some(s),
            _ => None,
        }
    }

    /// The members, if this is an object.
    #[must_use]
    pub fn as_object(&self) -> Option<&Object> {
        match self {
            Value::Object(o) => Some(o),
            _ => None,
        }
    }

    /// The items, if this is an array.
    #[must_use]
    pub fn as_array(&self) -> Option<&[Value]> {
        match self {
            Value::Array(a) => Some(a),
            _ => None,
        }
    }

    /// The truth value, if this is one.
    #[must_use]
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Value::Bool(b) => Some(*b),
            _ => None,
        }
    }

    /// Whether the CLI treats this like an absent field: `null`, `""`, `0`, `false`, `[]`, `{}` (Go's `omitempty`).
    #[must_use]
    pub fn is_blank(&self) -> bool {
        match self {
            Value::Null | Value::Bool(false) | Value::Int(0) => true,
            Value::Float(f) => *f == 0.0,
            Value::String(s) => s.is_empty(),
            Value::Array(a) => a.is_empty(),
            Value::Object(o) => o.is_empty(),
            _ => false,
        }
    }

    /// What kind of JSON value this is, for messages.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Value::Null => "null",
            Value::Bool(_) => "a truth value",
            Value::Int(_) | Value::UInt(_) => "an integer",
            Value::Float(_) => "a number with a fraction or an exponent",
            Value::String(_) => "a string",
            Value::Array(_) => "an array",
            Value::Object(_) => "an object",
        }
    }

    /// Compact JSON text, keys in order. Not for people who must not see secrets: see [`crate::secret`].
    #[must_use]
    pub fn to_json(&self) -> String {
        let mut out = String::new();
        self.write_json(&mut out);
        out
    }

    /// The same value for code that works on `serde_json` values. Not for people who must not see secrets: see [`crate::secret`].
    #[must_use]
    pub fn to_serde(&self) -> serde_json::Value {
        use serde_json::Value as J;
        match self {
            Value::Null => J::Null,
            Value::Bool(b) => J::Bool(*b),
            Value::Int(n) => J::from(*n),
            Value::UInt(n) => J::from(*n),
            Value::Float(f) => J::from(*f),
            Value::String(s) => J::String(s.to_string()),
            Value::Array(items) => J::Array(items.iter().map(Value::to_serde).collect()),
            Value::Object(members) => J::Object(
                members
                    .iter()
                    .map(|(k, v)| (k.to_owned(), v.to_serde()))
                    .collect(),
            ),
        }
    }

    /// Appends the compact JSON text: no white space, keys sorted by bytes, one escape form, integers exact, floats by
    /// shortest round trip.
    pub fn write_json(&self, out: &mut String) {
        use fmt::Write as _;
        match self {
            Value::Null => out.push_str("null"),
            Value::Bool(b) => out.push_str(if *b { "true" } else { "false" }),
            Value::Int(n) => drop(write!(out, "{n}")),
            Value::UInt(n) => drop(write!(out, "{n}")),
            Value::Float(f) => drop(write!(out, "{f:?}")),
            Value::String(s) => write_string(out, s),
            Value::Array(items) => {
                out.push('[');
                for (i, item) in items.iter().enumerate() {
                    if i > 0 {
                        out.push(',');
                    }
                    item.write_json(out);
                }
                out.push(']');
            }
            Value::Object(members) => {
                out.push('{');
                for (i, (key, value)) in members.iter().enumerate() {
                    if i > 0 {
                        out.push(',');
                    }
                    write_string(out, key);
                    out.push(':');
                    value.write_json(out);
                }
                out.push('}');
            }
        }
    }
}

/// Appends a JSON string: `\"`, `\\` and `\u00XX` for control characters, everything else as it is.
fn write_string(out: &mut String, s: &str) {
    use fmt::Write as _;
    out.push('"');
    let mut rest = s;
    // What needs no escape is most of a text: it is copied in one piece.
    while let Some(at) = rest
        .bytes()
        .position(|b| matches!(b, b'"' | b'\\' | 0..0x20))
    {
        let (plain, escaped) = rest.split_at(at);
        out.push_str(plain);
        let mut chars = escaped.chars();
        match chars.next() {
            Some('"') => out.push_str("\\\""),
            Some('\\') => out.push_str("\\\\"),
            Some(c) => drop(write!(out, "\\u{:04x}", c as u32)),
            None => {}
        }
        rest = chars.as_str();
    }
    out.push_str(rest);
    out.push('"');
}

/// A plan value may be a secret: `Debug` names only the kind.
impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind())
    }
}

impl fmt::Debug for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an object with {} members", self.len())
    }
}
