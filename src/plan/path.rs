//! Field paths: `schedule.pause_status`, `tasks[task_key='main'].x`, `tags['cost.centre']`, `[0]`.

use std::fmt;

/// One segment of a field path.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Segment {
    /// `.name` or `['any key']`: the member of an object.
    Field(Box<str>),
    /// `[3]`
    Index(usize),
    /// `[*]`
    Any,
    /// `[task_key='main']`: the item of a list whose field has this value.
    Item(Box<str>, Box<str>),
}

/// A path to a field, compared by segment, never as text.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct FieldPath(Vec<Segment>);

/// Most segments of a path; deeper than any document that the reader accepts.
const MAX_SEGMENTS: usize = 256;

impl FieldPath {
    /// Reads a path as the CLI writes it; `""` is the root.
    ///
    /// # Errors
    /// A text that is not a path: an open bracket or quote, an empty segment.
    pub fn parse(text: &str) -> Result<Self, String> {
        let wrong = |what: &str| {
            format!(
                "expected a field path, found {} ({what})",
                crate::text::quoted(text)
            )
        };
        let mut segments = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            if segments.len() >= MAX_SEGMENTS {
                return Err(wrong("too many segments"));
            }
            if let Some(inner) = rest.strip_prefix('[') {
                let (segment, after) = bracket(inner)
                    .ok_or_else(|| wrong("a bracket that is not closed or not understood"))?;
                segments.push(segment);
                rest = after;
            } else {
                let name = match rest.strip_prefix('.') {
                    Some(after) if !segments.is_empty() => after,
                    None if segments.is_empty() => rest,
                    _ => return Err(wrong("a misplaced dot")),
                };
                let end = name.find(['.', '[']).unwrap_or(name.len());
                let (field, after) = name.split_at(end);
                if field.is_empty() {
                    return Err(wrong("an empty segment"));
                }
                segments.push(Segment::Field(field.into()));
                rest = after;
            }
        }
        Ok(Self(segments))
    }

    /// A path of plain fields.
    #[must_use]
    pub fn of(fields: &[&str]) -> Self {
        Self(fields.iter().map(|f| Segment::Field((*f).into())).collect())
    }

    /// The segments, from the root.
    #[must_use]
    pub fn segments(&self) -> &[Segment] {
        &self.0
    }

    /// Whether this is the root.
    #[must_use]
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// This path with one more segment.
    #[must_use]
    pub fn join(&self, segment: Segment) -> Self {
        let mut segments = self.0.clone();
        segments.push(segment);
        Self(segments)
    }

    /// Adds a segment at the end.
    pub fn push(&mut self, segment: Segment) {
        self.0.push(segment);
    }

    /// Takes the last segment off.
    pub fn pop(&mut self) {
        self.0.pop();
    }

    /// Whether this is `other` or above it.
    #[must_use]
    pub fn covers(&self, other: &FieldPath) -> bool {
        other.0.starts_with(&self.0)
    }

    /// Whether this is the field at the end of a chain of names, or above it.
    #[must_use]
    pub fn covers_names(&self, names: &[&str]) -> bool {
        names
            .get(..self.0.len())
            .is_some_and(|above| self.starts_with(above))
    }

    /// Whether one of the two is at or above the other.
    #[must_use]
    pub fn overlaps(&self, other: &FieldPath) -> bool {
        self.covers(other) || other.covers(self)
    }

    /// Whether the path starts with these plain fields.
    #[must_use]
    pub fn starts_with(&self, fields: &[&str]) -> bool {
        self.0.len() >= fields.len()
            && self
                .0
                .iter()
                .zip(fields)
                .all(|(s, f)| matches!(s, Segment::Field(name) if **name == **f))
    }

    /// The names of the fields on the way, from the root.
    pub fn fields(&self) -> impl DoubleEndedIterator<Item = &str> + Clone {
        self.0.iter().filter_map(|s| match s {
            Segment::Field(name) => Some(&**name),
            _ => None,
        })
    }

    /// The name of the last segment that has one.
    #[must_use]
    pub fn last_field(&self) -> Option<&str> {
        self.fields().next_back()
    }
}

impl From<Vec<Segment>> for FieldPath {
    fn from(segments: Vec<Segment>) -> Self {
        Self(segments)
    }
}

/// One step of a [`Trail`], borrowed from the value that is walked through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark<'v> {
    /// The member of an object.
    Field(&'v str),
    /// The item of a list, by its place.
    Index(usize),
    /// Any item of a list.
    Any,
    /// The item of a list whose field has this value.
    Item(&'v str, &'v str),
}

/// The way from the root of a value to where a walk through it stands. It costs nothing until a path is made of it: a walk
/// passes by thousands of fields and stops at few.
#[derive(Debug, Default)]
pub struct Trail<'v>(Vec<Mark<'v>>);

impl<'v> Trail<'v> {
    /// The steps, from the root.
    #[must_use]
    pub fn marks(&self) -> &[Mark<'v>] {
        &self.0
    }

    /// Goes one step down.
    pub fn push(&mut self, mark: Mark<'v>) {
        self.0.push(mark);
    }

    /// Goes one step back up.
    pub fn pop(&mut self) {
        self.0.pop();
    }

    /// The names of the fields on the way, from the root.
    pub fn fields(&self) -> impl DoubleEndedIterator<Item = &'v str> + Clone + use<'_, 'v> {
        self.0.iter().filter_map(|m| match m {
            Mark::Field(name) => Some(*name),
            _ => None,
        })
    }

    /// The name of the last step that has one.
    #[must_use]
    pub fn last_field(&self) -> Option<&'v str> {
        self.fields().next_back()
    }

    /// The path to where the walk stands.
    #[must_use]
    pub fn path(&self) -> FieldPath {
        let segments = self.0.iter().map(|m| match *m {
            Mark::Field(name) => Segment::Field(name.into()),
            Mark::Index(i) => Segment::Index(i),
            Mark::Any => Segment::Any,
            Mark::Item(field, id) => Segment::Item(field.into(), id.into()),
        });
        FieldPath(segments.collect())
    }
}

impl<'v> From<&'v FieldPath> for Trail<'v> {
    fn from(path: &'v FieldPath) -> Self {
        let marks = path.0.iter().map(|s| match s {
            Segment::Field(name) => Mark::Field(name),
            Segment::Index(i) => Mark::Index(*i),
            Segment::Any => Mark::Any,
            Segment::Item(field, id) => Mark::Item(field, id),
        });
        Self(marks.collect())
    }
}

/// Reads what stands behind a `[` up to its `]`; returns the segment and the rest.
fn bracket(text: &str) -> Option<(Segment, &str)> {
    if let Some(after) = text.strip_prefix("*]") {
        return Some((Segment::Any, after));
    }
    if let Some(quoted) = text.strip_prefix('\'') {
        let (key, after) = quote_end(quoted)?;
        return Some((Segment::Field(key), after.strip_prefix(']')?));
    }
    let digits = text.find(|c: char| !c.is_ascii_digit())?;
    if digits > 0 {
        let (number, after) = text.split_at(digits);
        return Some((
            Segment::Index(number.parse().ok()?),
            after.strip_prefix(']')?,
        ));
    }
    let (field, quoted) = text.split_once("='")?;
    let plain = !field.is_empty()
        && field
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b == b'_');
    let (value, after) = quote_end(quoted)?;
    plain.then_some(())?;
    Some((Segment::Item(field.into(), value), after.strip_prefix(']')?))
}

/// The quoted text up to its closing quote (two quotes stand for one, as the CLI writes them), and what follows.
fn quote_end(text: &str) -> Option<(Box<str>, &str)> {
    let mut value = String::new();
    let mut rest = text;
    loop {
        let (part, after) = rest.split_once('\'')?;
        value.push_str(part);
        if let Some(more) = after.strip_prefix('\'') {
            value.push('\'');
            rest = more;
        } else {
            return Some((value.into(), after));
        }
    }
}

/// Written as the CLI writes it; a field that is no plain name stands in `['...']`.
impl fmt::Display for FieldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, segment) in self.0.iter().enumerate() {
            match segment {
                Segment::Field(name)
                    if !name.is_empty()
                        && name
                            .bytes()
                            .all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-') =>
                {
                    if i > 0 {
                        f.write_str(".")?;
                    }
                    f.write_str(name)?;
                }
                Segment::Field(name) => write!(f, "['{}']", name.replace('\'', "''"))?,
                Segment::Index(n) => write!(f, "[{n}]")?,
                Segment::Any => f.write_str("[*]")?,
                Segment::Item(field, value) => {
                    write!(f, "[{field}='{}']", value.replace('\'', "''"))?
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_and_writes() {
        for text in [
            "",
            "run_as",
            "run_as.service_principal_name",
            "tasks[task_key='refresh'].pipeline_task.full_refresh",
            "configuration['pipelines.reset.allowed']",
            "[group_name='analysts'].level",
            "[principal='it''s me'].privileges[0]",
            "tasks[0].x",
            "tasks[*].x",
            "environments[environment_key='e'].spec.dependencies[0]",
        ] {
            assert_eq!(FieldPath::parse(text).unwrap().to_string(), text);
        }
        for bad in [
            "a..b",
            ".a",
            "a.",
            "a[",
            "a[1",
            "a['x",
            "a[x=y]",
            "a[='x']",
            "a['x'",
            "[]",
            "a[99999999999999999999]",
        ] {
            assert!(FieldPath::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn compares_by_segment() {
        let p = |t| FieldPath::parse(t).unwrap();
        assert!(!p("run_as").covers(&p("run_as_repl")));
        assert!(!p("spark_jar_task.run_as_repl").starts_with(&["run_as"]));
        assert!(p("run_as").covers(&p("run_as.user_name")));
        assert!(p("").covers(&p("x")));
        assert!(p("run_as.user_name").overlaps(&p("run_as")));
        assert_eq!(
            p("tags['a']"),
            p("tags.a"),
            "both forms of a plain key are one field"
        );
    }

    proptest::proptest! {
        #[test]
        fn never_panics_and_is_stable(text in "[a-z.\\[\\]'=0-9*é]{0,30}") {
            if let Ok(p) = FieldPath::parse(&text) {
                proptest::prop_assert_eq!(FieldPath::parse(&p.to_string()), Ok(p));
            }
        }
    }
}
