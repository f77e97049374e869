//! Resource keys: `resources.<type>.<name>`, with `.permissions` or `.grants` for a sub-resource.

use std::fmt;

/// A part of a resource that the plan lists as an entry of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Sub {
    /// `.permissions`
    Permissions,
    /// `.grants`
    Grants,
}

impl Sub {
    /// The name as it stands in keys and in the bundle JSON.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Sub::Permissions => "permissions",
            Sub::Grants => "grants",
        }
    }
}

/// The key of a plan's entry.
///
/// A name with a dot cannot be told apart from a sub-resource; like the CLI (seen at 1.13) this assumes there is none, and
/// a key with more parts than are known has a type that no list knows.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ResourceKey {
    full: Box<str>,
    type_end: usize,
    name_end: usize,
    sub: Option<Sub>,
}

const PREFIX: &str = "resources.";

impl ResourceKey {
    /// Reads a full key.
    ///
    /// # Errors
    /// A text that does not start with `resources.`, has fewer than three parts, or an empty one.
    pub fn parse(full: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "expected a key of the form resources.<type>.<name>, found {}",
                crate::text::quoted(full)
            )
        };
        let rest = full.strip_prefix(PREFIX).ok_or_else(wrong)?;
        let parts: Vec<&str> = rest.split('.').collect();
        if parts.len() < 2 || parts.iter().any(|p| p.is_empty()) {
            return Err(wrong());
        }
        let sub = match (parts.len() > 2, parts.last()) {
            (true, Some(&"permissions")) => Some(Sub::Permissions),
            (true, Some(&"grants")) => Some(Sub::Grants),
            _ => None,
        };
        let name_end = full.len() - sub.map_or(0, |s| s.as_str().len() + 1);
        // One part too many: everything before the last one is the type, which no list knows.
        let name_len = full
            .get(..name_end)
            .and_then(|f| f.rsplit('.').next())
            .map_or(0, str::len);
        Ok(Self {
            full: full.into(),
            type_end: name_end - name_len - 1,
            name_end,
            sub,
        })
    }

    /// The key as the plan writes it.
    #[must_use]
    pub fn full(&self) -> &str {
        &self.full
    }

    /// The key as people write it, with the sub-resource: `jobs.report.permissions`.
    #[must_use]
    pub fn short(&self) -> &str {
        self.full.get(PREFIX.len()..).unwrap_or_default()
    }

    /// The short key of the resource itself: `jobs.report`, for `jobs.report.permissions` too.
    #[must_use]
    pub fn resource(&self) -> &str {
        self.full
            .get(PREFIX.len()..self.name_end)
            .unwrap_or_default()
    }

    /// The full key of the resource itself.
    #[must_use]
    pub fn resource_full(&self) -> &str {
        self.full.get(..self.name_end).unwrap_or_default()
    }

    /// The type, in the plural: `jobs`.
    #[must_use]
    pub fn kind(&self) -> &str {
        self.full
            .get(PREFIX.len()..self.type_end)
            .unwrap_or_default()
    }

    /// The name of the resource in the bundle: `report`.
    #[must_use]
    pub fn name(&self) -> &str {
        self.full
            .get(self.type_end + 1..self.name_end)
            .unwrap_or_default()
    }

    /// Which sub-resource this is, if it is one.
    #[must_use]
    pub fn sub(&self) -> Option<Sub> {
        self.sub
    }
}

impl fmt::Debug for ResourceKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.short())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts() {
        let k = ResourceKey::parse("resources.jobs.report.permissions").unwrap();
        assert_eq!(
            (k.short(), k.resource(), k.kind(), k.name(), k.sub()),
            (
                "jobs.report.permissions",
                "jobs.report",
                "jobs",
                "report",
                Some(Sub::Permissions)
            )
        );
        let k = ResourceKey::parse("resources.jobs.permissions").unwrap();
        assert_eq!((k.kind(), k.name(), k.sub()), ("jobs", "permissions", None));
        let k = ResourceKey::parse("resources.jobs.a.b").unwrap();
        assert_eq!((k.kind(), k.name(), k.sub()), ("jobs.a", "b", None));
        for bad in [
            "",
            "jobs.report",
            "resources.jobs",
            "resources.jobs.",
            "resources..x",
            "resources.",
            "resources.jobs..permissions",
        ] {
            assert!(ResourceKey::parse(bad).is_err(), "{bad}");
        }
    }

    proptest::proptest! {
        #[test]
        fn never_panics(text in "(resources)?[a-z.é]{0,20}(permissions)?") {
            if let Ok(k) = ResourceKey::parse(&text) {
                proptest::prop_assert_eq!(format!("{}.{}", k.kind(), k.name()), k.resource());
            }
        }
    }
}
