//! Where something stands in a policy file.

use std::borrow::Cow;
use std::fmt;
use std::ops::{Deref, Range};
use std::sync::Arc;

use serde::{Serialize, Serializer};
use sha2::{Digest, Sha256};

/// One policy file as it was read.
pub struct SourceFile {
    name: String,
    text: String,
    sha256: String,
    lines: Vec<usize>,
}

impl SourceFile {
    pub(super) fn new(name: String, text: String) -> Self {
        let sha256 = hex::encode(Sha256::digest(text.as_bytes()));
        let lines = std::iter::once(0)
            .chain(text.match_indices('\n').map(|(at, _)| at + 1))
            .collect();
        Self {
            name,
            text,
            sha256,
            lines,
        }
    }

    /// The path as it was named, or `production (embedded)`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// SHA-256 of the file's bytes, in hex.
    #[must_use]
    pub fn sha256(&self) -> &str {
        &self.sha256
    }
}

impl fmt::Debug for SourceFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SourceFile")
            .field("name", &self.name)
            .field("sha256", &self.sha256)
            .finish_non_exhaustive()
    }
}

/// A place in a policy file: cheap to clone, shown as `file:line:column`.
#[derive(Clone)]
pub struct Location {
    source: Arc<SourceFile>,
    start: usize,
    end: usize,
}

impl Location {
    /// A place in no file, for tests of what was read.
    #[cfg(test)]
    pub(crate) fn nowhere() -> Self {
        Self::new(
            &Arc::new(SourceFile::new(String::new(), String::new())),
            0,
            0,
        )
    }

    /// `start..end` are bytes of the text; both are moved inwards to the nearest character boundary.
    pub(super) fn new(source: &Arc<SourceFile>, start: usize, end: usize) -> Self {
        let start = floor(&source.text, start);
        let end = floor(&source.text, end.max(start));
        Self {
            source: Arc::clone(source),
            start,
            end,
        }
    }

    /// The file, as it was named.
    #[must_use]
    pub fn file(&self) -> &str {
        &self.source.name
    }

    /// The file itself.
    #[must_use]
    pub fn source(&self) -> &Arc<SourceFile> {
        &self.source
    }

    /// The line, from 1.
    #[must_use]
    pub fn line(&self) -> usize {
        self.source
            .lines
            .partition_point(|start| *start <= self.start)
    }

    /// The column in characters, from 1.
    #[must_use]
    pub fn column(&self) -> usize {
        let line = self
            .line()
            .checked_sub(1)
            .and_then(|index| self.source.lines.get(index))
            .copied()
            .unwrap_or(0);
        self.source
            .text
            .get(line..self.start)
            .map_or(1, |before| before.chars().count() + 1)
    }

    /// The bytes it covers.
    pub(super) fn range(&self) -> Range<usize> {
        self.start..self.end
    }

    /// Whether both can be shown in one piece of the same file.
    pub(super) fn is_near(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.source, &other.source) && self.start.abs_diff(other.start) < 2_000
    }

    /// The text it covers.
    pub(super) fn covered(&self) -> &str {
        self.source.text.get(self.range()).unwrap_or_default()
    }
}

fn floor(text: &str, at: usize) -> usize {
    (0..=at.min(text.len()))
        .rev()
        .find(|at| text.is_char_boundary(*at))
        .unwrap_or(0)
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file(), self.line(), self.column())
    }
}

impl fmt::Debug for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl PartialEq for Location {
    fn eq(&self, other: &Self) -> bool {
        self.start == other.start && self.end == other.end && self.source.name == other.source.name
    }
}

impl Eq for Location {}

/// A value and the place that says it. Two are equal when their values are.
#[derive(Debug, Clone)]
pub struct At<T> {
    /// What is said.
    pub value: T,
    /// Where.
    pub at: Location,
}

impl<T> Deref for At<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T: PartialEq> PartialEq for At<T> {
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
    }
}

impl<T: Serialize> Serialize for At<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.value.serialize(serializer)
    }
}

impl<T: schemars::JsonSchema> schemars::JsonSchema for At<T> {
    fn schema_name() -> Cow<'static, str> {
        T::schema_name()
    }

    fn schema_id() -> Cow<'static, str> {
        T::schema_id()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        T::json_schema(generator)
    }

    fn inline_schema() -> bool {
        T::inline_schema()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_characters() {
        let source = Arc::new(SourceFile::new(
            "p.yml".to_owned(),
            "a: ä\nbé: c\n".to_owned(),
        ));
        let at = source.text().find('c').unwrap();
        assert_eq!(Location::new(&source, at, at + 1).to_string(), "p.yml:2:5");
        assert_eq!(Location::new(&source, 9999, 99999).line(), 3);
    }
}
