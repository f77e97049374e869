//! Known secret fields, values that look like a token, and how a value is shown to people.

use std::fmt;

use crate::json::Value;

/// What stands in place of a secret, in every output.
pub const SECRET: &str = "(secret)";
/// What the CLI writes in place of a secret in `changes` and `remote_state` (CLI 1.13).
pub const REDACTED: &str = "[redacted]";

/// Field names whose value is a secret. Also every name that ends in `_plaintext` or `_password`.
const SECRET_FIELDS: &[&str] = &[
    "access_token",
    "account_key",
    "api_key",
    "client_secret",
    "password",
    "private_key",
    "secret_key",
    "string_value",
    "token_value",
];

/// Whether a field of this name holds a secret. Keys of free maps count by their last dotted part (`db.password`).
#[must_use]
pub fn is_secret_field(name: &str) -> bool {
    let name = name.rsplit('.').next().unwrap_or(name).as_bytes();
    let fold = |b: &u8| {
        if *b == b'-' {
            b'_'
        } else {
            b.to_ascii_lowercase()
        }
    };
    let ends = |end: &str| {
        let from = name.len().checked_sub(end.len());
        from.and_then(|at| name.get(at..))
            .is_some_and(|tail| tail.iter().map(fold).eq(end.bytes()))
    };
    ends("_plaintext")
        || ends("_password")
        || SECRET_FIELDS
            .iter()
            .any(|f| f.len() == name.len() && ends(f))
}

/// Whether a field of a resource of this type holds a secret: [`is_secret_field`], and `value` of a `secrets` resource.
#[must_use]
pub fn is_secret_field_of(kind: &str, name: &str) -> bool {
    is_secret_field(name) || (kind == "secrets" && (name == "value" || name == "string_value"))
}

/// Whether a value is a reference to a secret scope and not the secret itself.
#[must_use]
pub fn is_scope_reference(text: &str) -> bool {
    let t = text.trim();
    t.starts_with("{{secrets/") && t.ends_with("}}") && t.matches("}}").count() == 1
}

/// Starts of well-known tokens, and how many token characters must follow.
/// Sources: the issuers' public descriptions of their token formats (Databricks, GitHub, GitLab, AWS, Google, Slack, OpenAI, Hugging Face).
const TOKEN_STARTS: &[(&str, usize)] = &[
    ("dapi", 32),
    ("dose", 32),
    ("dkea", 32),
    ("ghp_", 30),
    ("gho_", 30),
    ("ghs_", 30),
    ("ghu_", 30),
    ("github_pat_", 30),
    ("glpat-", 20),
    ("AKIA", 16),
    ("ASIA", 16),
    ("AIza", 35),
    ("xoxb-", 20),
    ("xoxp-", 20),
    ("sk-", 20),
    ("sk_live_", 20),
    ("hf_", 30),
];

/// Whether a text holds something that looks like a token or a private key.
#[must_use]
pub fn looks_like_token(text: &str) -> bool {
    if text.len() < 16 {
        return false;
    }
    let is_token = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
    // One pass over the bytes, after which most texts need no closer look.
    let (mut long_word, mut sign) = (false, false);
    let (mut length, mut digit, mut before) = (0_usize, false, 0_u8);
    for b in text.bytes() {
        // `AccountKey=`, `eyJ`, `PRIVATE KEY-----`
        sign |= b == b'=' || (b == b'J' && before == b'y') || (b == b'-' && before == b'Y');
        before = b;
        (length, digit) = if is_token(b) {
            (length + 1, digit || b.is_ascii_digit())
        } else {
            (0, false)
        };
        long_word |= length >= 16 && digit;
    }
    // A word of letters alone is a name ("sk-learn-experiments"), not a token.
    let is_secret = |word: &str| {
        TOKEN_STARTS.iter().any(|(start, more)| {
            // Compared by length first: no other part of this costs less.
            word.len() >= start.len() + more
                && word
                    .strip_prefix(start)
                    .is_some_and(|r| r.bytes().any(|b| b.is_ascii_digit()))
        })
    };
    (long_word
        && text
            .split(|c: char| !(c.is_ascii() && is_token(c as u8)))
            .any(is_secret))
        || (sign
            && (text.contains("PRIVATE KEY-----")
                || text.contains("AccountKey=")
                || text.contains("SharedAccessKey=")
                || is_jwt(text)))
}

/// Three base64url parts, the first two of which start like `{"`.
fn is_jwt(text: &str) -> bool {
    text.match_indices("eyJ").any(|(at, _)| {
        let rest = text.get(at..).unwrap_or_default();
        let word = rest.split(|c: char| !(c.is_ascii_alphanumeric() || "._-".contains(c))).next().unwrap_or_default();
        let parts: Vec<&str> = word.split('.').collect();
        matches!(parts.as_slice(), [_, payload, _, ..] if payload.starts_with("eyJ") && payload.len() > 10)
    })
}

/// A value of a plan, on its way to a person: secrets are replaced when it is made, so it can be shown everywhere.
#[derive(Clone, PartialEq)]
pub struct Shown(serde_json::Value);

impl Shown {
    /// Makes a value showable. `kind` is the resource type, `field` the name of the field that holds the value.
    #[must_use]
    pub fn of(kind: &str, field: Option<&str>, value: &Value) -> Self {
        Self(show(kind, field, value))
    }

    /// A text that is known to be no secret, such as a principal or a reference.
    #[must_use]
    pub fn text(text: &str) -> Self {
        Self(serde_json::Value::String(hide(text)))
    }

    /// The value as JSON, secrets replaced.
    #[must_use]
    pub fn json(&self) -> &serde_json::Value {
        &self.0
    }

    /// The same, taken out.
    #[must_use]
    pub fn into_json(self) -> serde_json::Value {
        self.0
    }

    /// The value as people read it: a string without quotes, everything else as compact JSON.
    #[must_use]
    pub fn plain(&self) -> String {
        match &self.0 {
            serde_json::Value::String(s) => s.clone(),
            other => other.to_string(),
        }
    }
}

/// The text, or [`SECRET`] where it holds something that looks like a token.
#[must_use]
pub fn hide(text: &str) -> String {
    if looks_like_token(text) {
        SECRET.to_owned()
    } else {
        text.to_owned()
    }
}

fn show(kind: &str, field: Option<&str>, value: &Value) -> serde_json::Value {
    use serde_json::Value as J;
    if field.is_some_and(|f| is_secret_field_of(kind, f)) {
        return match value {
            Value::Null => J::Null,
            Value::String(s) if s.is_empty() || is_scope_reference(s) || &**s == REDACTED => {
                J::String(s.to_string())
            }
            _ => J::String(SECRET.to_owned()),
        };
    }
    match value {
        Value::Null => J::Null,
        Value::Bool(b) => J::Bool(*b),
        Value::Int(n) => J::from(*n),
        Value::UInt(n) => J::from(*n),
        Value::Float(f) => J::from(*f),
        Value::String(s) => J::String(hide(s)),
        Value::Array(items) => J::Array(items.iter().map(|i| show(kind, field, i)).collect()),
        Value::Object(members) => J::Object(
            members
                .iter()
                .map(|(k, v)| (hide(k), show(kind, Some(k), v)))
                .collect(),
        ),
    }
}

impl fmt::Debug for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::{Limits, parse};

    #[test]
    fn fields_and_tokens() {
        for name in [
            "openai_api_key_plaintext",
            "password",
            "db.password",
            "Client-Secret",
            "admin_password",
        ] {
            assert!(is_secret_field(name), "{name}");
        }
        for name in ["api_key_scope", "name", "value", "password_policy"] {
            assert!(!is_secret_field(name), "{name}");
        }
        assert!(is_secret_field_of("secrets", "value"));
        for token in [
            "dapi0123456789abcdef0123456789abcdef",
            "Bearer ghp_0123456789abcdefghijABCDEFGHIJ012345",
            "-----BEGIN RSA PRIVATE KEY-----",
            "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.abc",
            "sk-0123456789abcdefghij0123",
        ] {
            assert!(looks_like_token(token), "{token}");
        }
        for plain in [
            "sk-learn-experiments-for-everyone",
            "5f0c6c1e-0000-4000-8000-0000000000aa",
            "dapi",
            "/Workspace/Users/a/.bundle",
            "task-0123456789abcdefghijk",
        ] {
            assert!(!looks_like_token(plain), "{plain}");
        }
        assert!(is_scope_reference("{{secrets/a/b}}"));
        assert!(!is_scope_reference("{{secrets/a/b}} {{x}}"));
    }

    #[test]
    fn shown_values_hold_no_secret() {
        let v = parse(br#"{"a":{"password":"hunter2","n":9007199254740993},"l":["dapi0123456789abcdef0123456789abcdef"],"s":{"api_key":"{{secrets/a/b}}"}}"#, &Limits::default()).unwrap();
        assert_eq!(
            Shown::of("jobs", None, &v).plain(),
            r#"{"a":{"n":9007199254740993,"password":"(secret)"},"l":["(secret)"],"s":{"api_key":"{{secrets/a/b}}"}}"#
        );
    }
}
