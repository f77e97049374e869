//! What `databricks bundle plan` writes to standard error: fields that it does not know and drops.

use super::{Location, fault};
use crate::json::{Error, Limits};
use crate::plan::{FieldPath, ResourceKey, Segment};

/// One field that the CLI said it does not know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IgnoredField {
    /// The name of the field.
    pub field: String,
    /// Where it stands in the configuration, as the CLI wrote it; empty where it did not say.
    pub at: String,
    /// The resource it belongs to, if it is one's.
    pub key: Option<ResourceKey>,
    /// The path of the field below the resource, the field itself included.
    pub path: FieldPath,
    /// The place in the source.
    pub location: Option<Location>,
}

/// The CLI's warnings, as far as rules need them.
#[derive(Debug, Clone, Default)]
pub struct Warnings {
    /// The fields that it dropped, in the order of the text.
    pub ignored: Vec<IgnoredField>,
}

impl Warnings {
    /// Reads the text. Other warnings and progress lines are passed over.
    ///
    /// # Errors
    /// A text that is larger than the limit or not UTF-8.
    pub fn read(bytes: &[u8], limits: &Limits) -> Result<Self, Error> {
        const HOW: &str =
            "keep it with `databricks bundle plan -o json -t TARGET > plan.json 2> warnings.txt`";
        if bytes.len() as u64 > limits.bytes {
            return Err(fault(
                format!(
                    "expected at most {} bytes of warnings, found {}",
                    limits.bytes,
                    bytes.len()
                ),
                HOW,
            ));
        }
        let text = std::str::from_utf8(bytes).map_err(|_| {
            fault(
                "expected the CLI's warnings as UTF-8 text, found bytes that are not",
                HOW,
            )
        })?;
        let lines: Vec<&str> = text.lines().collect();
        let mut ignored = Vec::new();
        for (i, line) in lines.iter().enumerate() {
            let Some(field) = unknown_field(line) else {
                continue;
            };
            let detail = |word: &str| {
                lines
                    .iter()
                    .skip(i + 1)
                    .take(3)
                    .take_while(|l| l.starts_with("  "))
                    .find_map(|l| l.trim().strip_prefix(word))
                    .map(str::trim)
            };
            let at = detail("at ").unwrap_or_default();
            let (key, mut path) = split(at);
            path.push(Segment::Field(field.into()));
            ignored.push(IgnoredField {
                field: field.to_owned(),
                at: at.to_owned(),
                key,
                path,
                location: detail("in ").and_then(place),
            });
        }
        Ok(Self { ignored })
    }
}

/// `Warning: unknown field: group_name`, with or without colour (CLI 1.13).
fn unknown_field(line: &str) -> Option<&str> {
    let at = line.find("unknown field: ")?;
    let before = line.get(..at)?;
    if !before.contains("Warning") && !before.contains("Error") {
        return None;
    }
    let name = line.get(at + "unknown field: ".len()..)?;
    let name = name
        .split(|c: char| c.is_whitespace() || c == '\u{1b}')
        .next()?;
    (!name.is_empty()).then_some(name)
}

/// `resources.pipelines.orders.run_as` → the key and what is below it.
fn split(at: &str) -> (Option<ResourceKey>, FieldPath) {
    let mut path = FieldPath::parse(at).unwrap_or_default();
    // What a target overrides stands below it: `targets.prod.resources.pipelines.orders`.
    if let [Segment::Field(targets), _, rest @ ..] = path.segments()
        && &**targets == "targets"
    {
        path = FieldPath::from(rest.to_vec());
    }
    let fields: Vec<&str> = path
        .segments()
        .iter()
        .take(3)
        .filter_map(|s| match s {
            Segment::Field(f) => Some(&**f),
            _ => None,
        })
        .collect();
    match fields.as_slice() {
        ["resources", kind, name] => {
            let rest = path.segments().get(3..).unwrap_or_default().to_vec();
            (
                ResourceKey::parse(&format!("resources.{kind}.{name}")).ok(),
                FieldPath::from(rest),
            )
        }
        _ => (None, path),
    }
}

/// `databricks.yml:29:9`
fn place(text: &str) -> Option<Location> {
    let mut parts = text.rsplitn(3, ':');
    let column = parts.next()?.parse().ok()?;
    let line = parts.next()?.parse().ok()?;
    Some(Location {
        file: parts.next()?.to_owned(),
        line,
        column,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_fields_only() {
        let w = Warnings::read(
            b"Building lib...\nWarning: unknown field: group_name\n  at resources.pipelines.orders.run_as\n  in databricks.yml:29:9\n\nWarning: the bundle root path is odd\n\nWarning: unknown field: nme\n  at bundle\n",
            &Limits::default(),
        )
        .unwrap();
        assert_eq!(w.ignored.len(), 2);
        assert_eq!(
            w.ignored[0].key.as_ref().map(ResourceKey::short),
            Some("pipelines.orders")
        );
        assert_eq!(w.ignored[0].path.to_string(), "run_as.group_name");
        assert_eq!(
            w.ignored[0]
                .location
                .as_ref()
                .map(|l| (l.file.as_str(), l.line, l.column)),
            Some(("databricks.yml", 29, 9))
        );
        assert_eq!(
            (
                w.ignored[1].key.as_ref(),
                w.ignored[1].path.to_string().as_str()
            ),
            (None, "bundle.nme")
        );
        let w = Warnings::read(b"Warning: unknown field: group_name\n  at targets.prod.resources.pipelines.orders.run_as\n", &Limits::default()).unwrap();
        assert_eq!(
            w.ignored[0].key.as_ref().map(ResourceKey::short),
            Some("pipelines.orders"),
            "what a target overrides"
        );
        assert!(Warnings::read(b"\xff", &Limits::default()).is_err());
    }

    proptest::proptest! {
        #[test]
        fn never_panics(text in "(Warning: unknown field: [a-z ]{0,5}\n|  at [a-z.\\[]{0,20}\n|  in [a-z:0-9]{0,9}\n){0,6}") {
            let _ = Warnings::read(text.as_bytes(), &Limits::default());
        }
    }
}
