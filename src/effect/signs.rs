//! What the texts of an entry hold that a rule looks for: seen in one walk, so that no rule walks through every entry by itself.

use std::fmt;

use crate::json::Value;
use crate::secret::{REDACTED, is_secret_field_of, looks_like_token};

/// What the texts of a value hold. Where a sign is not there, no text has what it stands for.
#[derive(Default)]
pub(crate) struct Signs<'a> {
    /// Texts that are an absolute path or hold a reference.
    pub(crate) places: Vec<&'a str>,
    /// A text in a field of a secret, or one that looks like a token.
    pub(crate) secret: bool,
    /// The CLI's placeholder for a secret.
    pub(crate) redacted: bool,
}

impl<'a> Signs<'a> {
    /// Those of a value of a resource of this type.
    pub(super) fn of(kind: &str, value: &'a Value) -> Self {
        let mut out = Self::default();
        out.walk(kind, false, value);
        out
    }

    /// `secret`: the last field on the way names a secret.
    fn walk(&mut self, kind: &str, secret: bool, value: &'a Value) {
        match value {
            Value::String(text) => self.text(secret, text),
            Value::Array(items) => {
                for item in items {
                    self.walk(kind, secret, item);
                }
            }
            Value::Object(members) => {
                for (name, inner) in members.iter() {
                    // Only of a text, or of a list of them, does the name of the field matter.
                    let secret = matches!(inner, Value::String(_) | Value::Array(_))
                        && is_secret_field_of(kind, name);
                    self.walk(kind, secret, inner);
                }
            }
            _ => {}
        }
    }

    fn text(&mut self, secret: bool, text: &'a str) {
        self.secret = self.secret || (secret && !text.is_empty()) || looks_like_token(text);
        // The one sign is asked for first: that is cheaper, and few texts have it.
        self.redacted = self.redacted || (text.contains('[') && text.trim() == REDACTED);
        if text.starts_with('/') || (text.contains('$') && text.contains("${")) {
            self.places.push(text);
        }
    }
}

/// Texts of a plan may be secrets: `Debug` shows none.
impl fmt::Debug for Signs<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("signs")
    }
}
