//! From YAML values to the records of the policy file. Unlike serde, it goes on after a mistake, so that all are reported at once.

use std::collections::BTreeMap;

use super::diagnostic::Diagnostic;
use super::location::{At, Location};
use super::text;
use super::yaml::{Node, Value};

/// Most keys that a message lists.
const MAX_LISTED: usize = 12;

/// Collects what is wrong while a file is read.
#[derive(Debug, Default)]
pub(super) struct Cx {
    pub(super) diagnostics: Vec<Diagnostic>,
}

impl Cx {
    pub(super) fn report(&mut self, diagnostic: Diagnostic) {
        self.diagnostics.push(diagnostic);
    }

    /// Reports `expected ..., found ...` at `node`.
    pub(super) fn mismatch<T>(&mut self, node: &Node, expected: &str) -> Option<T> {
        let diagnostic = Diagnostic::error(
            &node.at,
            format!("expected {expected}, found {}", node.describe()),
        );
        self.report(match &node.value {
            Value::Integer(_) | Value::Float if expected.contains("text") => {
                diagnostic.help("put it in quotes")
            }
            _ => diagnostic,
        });
        None
    }
}

/// What can be read from a YAML value. `None` means that a diagnostic was reported.
pub(super) trait Decode: Sized {
    fn decode(node: Node, cx: &mut Cx) -> Option<Self>;
}

/// A field of a record: `T` is required, `Option<T>` is not, `Vec<T>` is a list that may be left out.
pub(super) trait Field: Sized {
    fn take(fields: &mut Fields, name: &'static str, cx: &mut Cx) -> Option<Self>;
}

impl<T: Decode> Field for T {
    fn take(fields: &mut Fields, name: &'static str, cx: &mut Cx) -> Option<Self> {
        match fields.entries.remove(name) {
            Some((_, node)) => T::decode(node, cx),
            None => {
                cx.report(Diagnostic::error(
                    &fields.at,
                    format!("{} has no `{name}`", fields.what),
                ));
                None
            }
        }
    }
}

impl<T: Decode> Field for Option<T> {
    fn take(fields: &mut Fields, name: &'static str, cx: &mut Cx) -> Option<Self> {
        Some(
            fields
                .entries
                .remove(name)
                .and_then(|(_, node)| T::decode(node, cx)),
        )
    }
}

impl<T: Decode> Field for Vec<T> {
    fn take(fields: &mut Fields, name: &'static str, cx: &mut Cx) -> Option<Self> {
        Some(
            fields
                .entries
                .remove(name)
                .map(|(_, node)| list(node, cx))
                .unwrap_or_default(),
        )
    }
}

impl<T: Decode> Field for Option<Vec<T>> {
    fn take(fields: &mut Fields, name: &'static str, cx: &mut Cx) -> Option<Self> {
        // A list with a mistake in it is as if it were not there: what is left of it would be another list.
        let before = cx.diagnostics.len();
        let list = fields.entries.remove(name).map(|(_, node)| list(node, cx));
        Some(list.filter(|_| cx.diagnostics.len() == before))
    }
}

fn list<T: Decode>(node: Node, cx: &mut Cx) -> Vec<T> {
    match node.value {
        Value::List(items) => items
            .into_iter()
            .filter_map(|item| T::decode(item, cx))
            .collect(),
        _ => {
            let _: Option<()> = cx.mismatch(&node, "a list, such as `[...]`");
            Vec::new()
        }
    }
}

/// The fields of one mapping, each taken once.
pub(super) struct Fields {
    what: &'static str,
    at: Location,
    entries: BTreeMap<String, (Location, Node)>,
}

impl Fields {
    /// Opens a mapping whose keys are `names`; reports keys that are unknown or stand twice.
    pub(super) fn open(
        node: Node,
        what: &'static str,
        names: &[&'static str],
        cx: &mut Cx,
    ) -> Option<Self> {
        let at = node.at.clone();
        let Value::Map(pairs) = node.value else {
            let names = if names.len() > MAX_LISTED {
                String::new()
            } else {
                format!(" with {}", text::alternatives(names))
            };
            return cx.mismatch(&node, &format!("{what}: a mapping{names}"));
        };
        let mut entries: BTreeMap<String, (Location, Node)> = BTreeMap::new();
        for (key, value) in pairs {
            if !names.contains(&key.value.as_str()) {
                let message = format!("{what} has no key {}", text::quoted(&key.value));
                cx.report(Diagnostic::error(&key.at, message).or_nearest(&key.value, names));
            } else if let Some((first, _)) = entries.get(&key.value) {
                cx.report(twice(&key, first));
            } else {
                entries.insert(key.value, (key.at, value));
            }
        }
        Some(Self { what, at, entries })
    }

    /// Where each key that is there stands.
    pub(super) fn keys(&self) -> impl Iterator<Item = (&str, &Location)> {
        self.entries.iter().map(|(key, (at, _))| (key.as_str(), at))
    }
}

fn twice(key: &At<String>, first: &Location) -> Diagnostic {
    Diagnostic::error(
        &key.at,
        format!("the key {} stands here twice", text::quoted(&key.value)),
    )
    .label("again here")
    .related(first, "first here")
}

impl<T: Decode> Decode for At<T> {
    fn decode(node: Node, cx: &mut Cx) -> Option<Self> {
        let at = node.at.clone();
        T::decode(node, cx).map(|value| Self { value, at })
    }
}

impl Decode for bool {
    fn decode(node: Node, cx: &mut Cx) -> Option<Self> {
        match node.value {
            Value::Bool(value) => Some(value),
            _ => cx.mismatch(&node, "`true` or `false`"),
        }
    }
}

impl Decode for u64 {
    fn decode(node: Node, cx: &mut Cx) -> Option<Self> {
        match node.value {
            Value::Integer(value) if u64::try_from(value).is_ok() => u64::try_from(value).ok(),
            _ => cx.mismatch(&node, "a whole number, 0 or more"),
        }
    }
}

impl Decode for String {
    fn decode(node: Node, cx: &mut Cx) -> Option<Self> {
        match node.value {
            Value::Text(value) if !value.trim().is_empty() => Some(value),
            Value::Text(_) => {
                cx.report(Diagnostic::error(
                    &node.at,
                    "expected a text, found an empty one",
                ));
                None
            }
            _ => cx.mismatch(&node, "a text"),
        }
    }
}

/// A mapping with free keys, in the file's order.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub(super) struct Table<T>(pub(super) Vec<(At<String>, T)>);

impl<T: Decode> Decode for Table<T> {
    fn decode(node: Node, cx: &mut Cx) -> Option<Self> {
        let Value::Map(pairs) = node.value else {
            return cx.mismatch(&node, "a mapping");
        };
        let mut seen: BTreeMap<String, Location> = BTreeMap::new();
        let mut entries = Vec::new();
        for (key, value) in pairs {
            if let Some(first) = seen.get(&key.value) {
                cx.report(twice(&key, first));
                continue;
            }
            seen.insert(key.value.clone(), key.at.clone());
            if let Some(value) = T::decode(value, cx) {
                entries.push((key, value));
            }
        }
        Some(Self(entries))
    }
}

impl<T: schemars::JsonSchema> schemars::JsonSchema for Table<T> {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        format!("Table_of_{}", T::schema_name()).into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        BTreeMap::<String, T>::json_schema(generator)
    }

    fn inline_schema() -> bool {
        true
    }
}

/// Reads one of a list of words.
pub(super) fn word<T: std::str::FromStr>(
    node: Node,
    what: &str,
    words: &[&str],
    cx: &mut Cx,
) -> Option<T> {
    let Value::Text(found) = &node.value else {
        return cx.mismatch(&node, &format!("{what}: {}", text::alternatives(words)));
    };
    if let Ok(value) = found.parse() {
        return Some(value);
    }
    let diagnostic = Diagnostic::error(
        &node.at,
        format!("expected {what}, found {}", text::quoted(found)),
    );
    cx.report(diagnostic.or_nearest(found, words));
    None
}

/// Reads a value that is written as one text, with its own words for what is wrong.
pub(super) fn parsed<T>(
    node: Node,
    expected: &str,
    parse: impl FnOnce(&str) -> Result<T, String>,
    cx: &mut Cx,
) -> Option<T> {
    let Value::Text(found) = &node.value else {
        return cx.mismatch(&node, &format!("a text: {expected}"));
    };
    match parse(found) {
        Ok(value) => Some(value),
        Err(why) => {
            let message = format!("expected {expected}, found {}", text::quoted(found));
            cx.report(Diagnostic::error(&node.at, message).label(why));
            None
        }
    }
}

/// Declares a mapping of the policy file: struct, reading, serialisation and schema from one list of fields.
macro_rules! record {
    ($(#[$meta:meta])* $vis:vis struct $name:ident ($what:literal) {
        $($(#[$fmeta:meta])* $fvis:vis $field:ident $(= $key:literal)? : $ty:ty,)+
    }) => {
        #[derive(Debug, Clone, PartialEq, serde::Serialize, schemars::JsonSchema)]
        #[schemars(deny_unknown_fields)]
        $(#[$meta])*
        $vis struct $name {
            $($(#[$fmeta])* $(#[serde(rename = $key)])? $fvis $field: $ty,)+
        }

        impl $name {
            /// The keys of the mapping, in the order of the documentation.
            pub(super) const KEYS: &'static [&'static str] = &[$($crate::policy::decode::record!(@key $field $($key)?)),+];

            /// Takes the fields out of an opened mapping.
            pub(super) fn from_fields(
                fields: &mut $crate::policy::decode::Fields,
                cx: &mut $crate::policy::decode::Cx,
            ) -> Option<Self> {
                $(let $field = <$ty as $crate::policy::decode::Field>::take(fields, $crate::policy::decode::record!(@key $field $($key)?), cx);)+
                Some(Self { $($field: $field?,)+ })
            }
        }

        impl $crate::policy::decode::Decode for $name {
            fn decode(node: $crate::policy::yaml::Node, cx: &mut $crate::policy::decode::Cx) -> Option<Self> {
                let mut fields = $crate::policy::decode::Fields::open(node, $what, Self::KEYS, cx)?;
                Self::from_fields(&mut fields, cx)
            }
        }
    };
    (@key $field:ident $key:literal) => { $key };
    (@key $field:ident) => { stringify!($field) };
}

pub(super) use record;
