//! YAML to a tree of values that know where they stand. Everything that makes YAML ambiguous is refused here.

use std::sync::Arc;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::{
    Budget, DuplicateKeyPolicy, MergeKeyPolicy, NonFiniteFloatPolicy, Spanned, budget::BudgetBreach,
};

use super::diagnostic::Diagnostic;
use super::location::{At, Location, SourceFile};
use super::text::quoted;

/// Largest policy file, in bytes.
pub const MAX_BYTES: usize = 4 * 1024 * 1024;
/// Deepest nesting of a policy file; the format itself needs 6.
const MAX_DEPTH: usize = 32;
/// Most values in a policy file.
const MAX_NODES: usize = 1_000_000;

/// A value with its place.
#[derive(Debug, Clone)]
pub(super) struct Node {
    pub(super) value: Value,
    pub(super) at: Location,
}

/// What YAML can say, as far as a policy needs it.
#[derive(Debug, Clone)]
pub(super) enum Value {
    Nothing,
    Bool(bool),
    Integer(i128),
    Float,
    Text(String),
    List(Vec<Node>),
    Map(Vec<(At<String>, Node)>),
}

impl Node {
    /// What it is, in the words of a message.
    pub(super) fn describe(&self) -> String {
        match &self.value {
            Value::Nothing => "nothing".to_owned(),
            Value::Bool(value) => format!("`{value}`"),
            Value::Integer(_) | Value::Float => format!("the number {}", quoted(self.at.covered())),
            Value::Text(text) => format!("the text {}", quoted(text)),
            Value::List(_) => "a list".to_owned(),
            Value::Map(_) => "a mapping".to_owned(),
        }
    }
}

/// Reads one document.
pub(super) fn parse(source: &Arc<SourceFile>) -> Result<Node, Box<Diagnostic>> {
    let start = Location::new(source, 0, 0);
    let text = source.text();
    if text.len() > MAX_BYTES {
        let message = format!(
            "{}: a policy has at most {MAX_BYTES} bytes, this one has {}",
            quoted(source.name()),
            text.len()
        );
        return Err(Box::new(Diagnostic {
            at: None,
            ..Diagnostic::error(&start, message)
        }));
    }
    if let Some(at) = indented_by_tab(text) {
        let tab = Location::new(source, at, at + 1);
        return Err(Box::new(
            Diagnostic::error(&tab, "YAML is indented with spaces, found a tab").label("a tab"),
        ));
    }
    let options = serde_saphyr::options! {
        budget: budget(),
        duplicate_keys: DuplicateKeyPolicy::PassThrough,
        merge_keys: MergeKeyPolicy::Error,
        strict_booleans: true,
        reject_unsupported_tags: true,
        reject_tagged_field_names: true,
        non_finite_float_policy: NonFiniteFloatPolicy::Reject,
        with_snippet: false,
    };
    match serde_saphyr::from_str_with_options::<Spanned<Raw>>(text, options) {
        Ok(raw) => node(raw, source),
        Err(error) => Err(Box::new(syntax(&error, source))),
    }
}

fn budget() -> Option<Budget> {
    serde_saphyr::budget! {
        max_events: MAX_NODES * 3,
        max_aliases: 0,
        max_anchors: 0,
        max_depth: MAX_DEPTH,
        max_documents: 1,
        max_nodes: MAX_NODES,
        max_merge_keys: 0,
    }
}

/// The first line that is indented by a tab. The parser says this less clearly.
fn indented_by_tab(text: &str) -> Option<usize> {
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let indent = line.len() - line.trim_start_matches([' ', '\t']).len();
        let tab = line.get(..indent).and_then(|indent| indent.find('\t'));
        if let (Some(tab), false) = (tab, line.trim().is_empty()) {
            return Some(start + tab);
        }
        start += line.len();
    }
    None
}

/// Our words for what the parser refuses.
fn syntax(error: &serde_saphyr::Error, source: &Arc<SourceFile>) -> Diagnostic {
    use serde_saphyr::Error;
    let error = error.without_snippet();
    let at = place(error.location().as_ref(), source);
    let message = match error {
        Error::MergeKeyNotAllowed { .. } | Error::MergeValueNotMapOrSeqOfMaps { .. } => {
            return Diagnostic::error(&at, "a policy has no merge keys (`<<`)")
                .help("write the fields out, or use `extends`");
        }
        Error::Budget {
            breach: BudgetBreach::Anchors { .. } | BudgetBreach::Aliases { .. },
            ..
        }
        | Error::UnknownAnchor { .. } => {
            return Diagnostic::error(
                &at,
                "a policy has no anchors (`&name`) and no aliases (`*name`)",
            )
            .help("write the value out; quote a text that starts with `*` or `&`");
        }
        Error::Budget {
            breach: BudgetBreach::Depth { .. },
            ..
        } => format!("a policy nests at most {MAX_DEPTH} levels deep"),
        Error::Budget {
            breach: BudgetBreach::Documents { .. },
            ..
        }
        | Error::MultipleDocuments { .. } => {
            "a policy is one YAML document, found a second one".to_owned()
        }
        Error::Budget {
            breach: BudgetBreach::MergeKeys { .. },
            ..
        } => "a policy has no merge keys (`<<`)".to_owned(),
        Error::Budget { .. } => format!("a policy has at most {MAX_NODES} values"),
        Error::Eof { .. } => "an empty policy: expected at least `version: 1`".to_owned(),
        Error::Unexpected { .. } => "this is not valid YAML".to_owned(),
        other => {
            let text = other.render_with_options(serde_saphyr::RenderOptions::default());
            let first = text.lines().next().unwrap_or_default();
            let mut said: String = first
                .chars()
                .filter(|c| !c.is_control())
                .take(200)
                .collect();
            if let Some(cut) = said.find(" at line ") {
                said.truncate(cut);
            }
            format!("this is not the YAML of a policy: {said}")
        }
    };
    let diagnostic = Diagnostic::error(&at, message);
    if diagnostic.message.contains("anchor or alias") {
        return diagnostic.help("quote a text that starts with `*` or `&`");
    }
    diagnostic
}

fn place(location: Option<&serde_saphyr::Location>, source: &Arc<SourceFile>) -> Location {
    let Some(location) = location else {
        return Location::new(source, 0, 0);
    };
    let bytes = |value: Option<u64>| value.and_then(|value| usize::try_from(value).ok());
    let start =
        bytes(location.span().byte_offset()).unwrap_or_else(|| offset(source.text(), location));
    let len = bytes(location.span().byte_len()).unwrap_or(0).max(1);
    let end = start.saturating_add(len).min(source.text().len());
    let place = Location::new(source, start, end);
    // A value ends where its line's text ends, not in the white space or comment behind it.
    let kept = place.covered().trim_end().len().max(1);
    Location::new(source, start, start.saturating_add(kept))
}

/// The byte that a line and a column name, for the errors that carry no byte offset.
fn offset(text: &str, location: &serde_saphyr::Location) -> usize {
    let line = usize::try_from(location.line().saturating_sub(1)).unwrap_or(usize::MAX);
    let column = usize::try_from(location.column().saturating_sub(1)).unwrap_or(usize::MAX);
    let start: usize = text.split_inclusive('\n').take(line).map(str::len).sum();
    let rest = text.get(start..).unwrap_or_default();
    start + rest.chars().take(column).map(char::len_utf8).sum::<usize>()
}

enum Raw {
    Nothing,
    Bool(bool),
    Integer(i128),
    Float,
    Text(String),
    List(Vec<Spanned<Raw>>),
    Map(Vec<(Spanned<Raw>, Spanned<Raw>)>),
}

impl<'de> Deserialize<'de> for Raw {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(RawVisitor)
    }
}

struct RawVisitor;

impl<'de> Visitor<'de> for RawVisitor {
    type Value = Raw;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a YAML value")
    }

    fn visit_unit<E>(self) -> Result<Raw, E> {
        Ok(Raw::Nothing)
    }

    fn visit_none<E>(self) -> Result<Raw, E> {
        Ok(Raw::Nothing)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Raw, D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Raw, E> {
        Ok(Raw::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Raw, E> {
        Ok(Raw::Integer(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Raw, E> {
        Ok(Raw::Integer(value.into()))
    }

    fn visit_i128<E>(self, value: i128) -> Result<Raw, E> {
        Ok(Raw::Integer(value))
    }

    fn visit_f64<E>(self, _: f64) -> Result<Raw, E> {
        Ok(Raw::Float)
    }

    fn visit_str<E>(self, value: &str) -> Result<Raw, E> {
        Ok(Raw::Text(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Raw, E> {
        Ok(Raw::Text(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Raw, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element()? {
            items.push(item);
        }
        Ok(Raw::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Raw, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = map.next_entry()? {
            entries.push(entry);
        }
        Ok(Raw::Map(entries))
    }
}

/// The depth is bounded by the parser's budget.
fn node(raw: Spanned<Raw>, source: &Arc<SourceFile>) -> Result<Node, Box<Diagnostic>> {
    let at = place(Some(&raw.referenced), source);
    let value = match raw.value {
        Raw::Nothing => Value::Nothing,
        Raw::Bool(value) => Value::Bool(value),
        Raw::Integer(value) => Value::Integer(value),
        Raw::Float => Value::Float,
        Raw::Text(text) => Value::Text(text),
        Raw::List(items) => Value::List(
            items
                .into_iter()
                .map(|item| node(item, source))
                .collect::<Result<_, _>>()?,
        ),
        Raw::Map(entries) => Value::Map(
            entries
                .into_iter()
                .map(|(key, value)| entry(key, value, source))
                .collect::<Result<_, _>>()?,
        ),
    };
    Ok(Node { value, at })
}

fn entry(
    key: Spanned<Raw>,
    value: Spanned<Raw>,
    source: &Arc<SourceFile>,
) -> Result<(At<String>, Node), Box<Diagnostic>> {
    let key = node(key, source)?;
    let Value::Text(text) = key.value else {
        return Err(Box::new(Diagnostic::error(
            &key.at,
            format!("expected a name as key, found {}", key.describe()),
        )));
    };
    Ok((
        At {
            value: text,
            at: key.at,
        },
        node(value, source)?,
    ))
}
