//! Globs: resources by key, targets, root paths. A key is matched segment by segment, so that `*` never crosses a dot.

use globset::{GlobBuilder, GlobMatcher};

use super::value::{TextValue, text_value};

/// Longest glob, in bytes.
const MAX_GLOB: usize = 512;

/// One segment of a glob.
#[derive(Debug, Clone)]
enum Segment {
    Any,
    Literal(String),
    Glob(GlobMatcher),
}

impl Segment {
    fn new(text: &str) -> Result<Self, String> {
        if text == "*" {
            Ok(Self::Any)
        } else if text.contains(['*', '?', '[', ']', '{', '}', '\\']) {
            glob(text).map(Self::Glob)
        } else {
            Ok(Self::Literal(text.to_owned()))
        }
    }

    fn matches(&self, text: &str) -> bool {
        match self {
            Self::Any => true,
            Self::Literal(literal) => literal == text,
            Self::Glob(glob) => glob.is_match(text),
        }
    }

    /// Whether a text may exist that both match; says yes when it cannot be told.
    fn may_overlap(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Literal(text), segment) | (segment, Self::Literal(text)) => {
                segment.matches(text)
            }
            _ => true,
        }
    }

    /// Whether everything that `other` matches is matched; says no when it cannot be told.
    fn covers(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Any, _) => true,
            (segment, Self::Literal(text)) => segment.matches(text),
            (Self::Glob(one), Self::Glob(two)) => one.glob().glob() == two.glob().glob(),
            _ => false,
        }
    }
}

fn glob(text: &str) -> Result<GlobMatcher, String> {
    if text.len() > MAX_GLOB {
        return Err(format!("a pattern has at most {MAX_GLOB} bytes"));
    }
    GlobBuilder::new(text)
        .literal_separator(true)
        // The default differs between systems.
        .backslash_escape(true)
        .build()
        .map(|glob| glob.compile_matcher())
        .map_err(|error| error.kind().to_string())
}

fn segments(text: &str) -> Result<Vec<Segment>, String> {
    if text.len() > MAX_GLOB {
        return Err(format!("a pattern has at most {MAX_GLOB} bytes"));
    }
    text.split('.')
        .map(|segment| {
            if segment.is_empty() {
                Err("a segment is empty".to_owned())
            } else {
                Segment::new(segment)
            }
        })
        .collect()
}

/// Selects resources by short key: `jobs.*`, `pipelines.orders`, or `*` for everything.
///
/// A selector of two segments selects the resource and its sub-resources (`jobs.etl` and `jobs.etl.permissions`).
#[derive(Debug, Clone)]
pub struct Selector {
    text: String,
    /// Empty: everything.
    segments: Vec<Segment>,
}

impl Selector {
    pub(super) fn everything() -> Self {
        Self {
            text: "*".to_owned(),
            segments: Vec::new(),
        }
    }

    /// As it is written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether it selects everything, and so also what is about no resource.
    #[must_use]
    pub fn is_everything(&self) -> bool {
        self.segments.is_empty()
    }

    /// Whether it selects the resource with this short key, such as `jobs.etl`.
    #[must_use]
    pub fn matches(&self, key: &str) -> bool {
        if self.is_everything() {
            return true;
        }
        let mut key = key.split('.');
        let all = self
            .segments
            .iter()
            .all(|segment| key.next().is_some_and(|part| segment.matches(part)));
        all && (self.segments.len() == 2 || key.next().is_none())
    }

    /// The type it names, when it names one and not a pattern.
    #[must_use]
    pub fn resource_type(&self) -> Option<&str> {
        match self.segments.first() {
            Some(Segment::Literal(name)) => Some(name),
            _ => None,
        }
    }

    /// Whether a key may exist that both select; says yes when it cannot be told.
    pub(super) fn may_overlap(&self, other: &Self) -> bool {
        self.segments
            .iter()
            .zip(&other.segments)
            .all(|(one, two)| one.may_overlap(two))
    }

    /// Whether everything that `other` selects is selected; says no when it cannot be told.
    pub(super) fn covers(&self, other: &Self) -> bool {
        if self.is_everything() {
            return true;
        }
        let enough = self.segments.len() == other.segments.len()
            || (self.segments.len() == 2 && other.segments.len() > 2);
        enough
            && self
                .segments
                .iter()
                .zip(&other.segments)
                .all(|(one, two)| one.covers(two))
    }
}

impl TextValue for Selector {
    const EXPECTED: &'static str = "a selector, such as `jobs.*`, `pipelines.orders` or `*`";

    fn from_text(text: &str) -> Result<Self, String> {
        if text == "*" {
            return Ok(Self::everything());
        }
        if let Some(rest) = text.strip_prefix("resources.") {
            return Err(format!("without `resources.`: `{rest}`"));
        }
        let segments = segments(text)?;
        match segments.len() {
            2 | 3 => Ok(Self {
                text: text.to_owned(),
                segments,
            }),
            1 => Err("a type and a name, with a dot between".to_owned()),
            _ => Err("at most three segments".to_owned()),
        }
    }

    fn text(&self) -> String {
        self.text.clone()
    }
}

text_value!(Selector);

/// What the policy protects: a short key, as in [`Selector`], or the name of a resource in the workspace (`prod.orders.bronze`).
#[derive(Debug, Clone)]
pub struct Protect {
    text: String,
    /// `None` when it cannot be a key.
    key: Option<Selector>,
    segments: Vec<Segment>,
}

impl Protect {
    /// As it is written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether it protects the resource with this short key or this name in the workspace.
    #[must_use]
    pub fn matches(&self, key: &str, remote_name: Option<&str>) -> bool {
        self.key
            .as_ref()
            .is_some_and(|selector| selector.matches(key))
            || remote_name.is_some_and(|name| {
                let mut parts = name.split('.');
                self.segments
                    .iter()
                    .all(|segment| parts.next().is_some_and(|part| segment.matches(part)))
                    && parts.next().is_none()
            })
    }

    /// The selector, when it can be read as one.
    #[must_use]
    pub fn as_selector(&self) -> Option<&Selector> {
        self.key.as_ref()
    }
}

impl TextValue for Protect {
    const EXPECTED: &'static str = "a resource to protect: a key such as `schemas.*`, or a name in the workspace such as `prod.orders.bronze`";

    fn from_text(text: &str) -> Result<Self, String> {
        if let Some(rest) = text.strip_prefix("resources.") {
            return Err(format!("without `resources.`: `{rest}`"));
        }
        Ok(Self {
            text: text.to_owned(),
            key: Selector::from_text(text).ok(),
            segments: segments(text)?,
        })
    }

    fn text(&self) -> String {
        self.text.clone()
    }
}

text_value!(Protect);

/// A glob on the name of a target, such as `prod-*`.
#[derive(Debug, Clone)]
pub struct NameGlob(GlobMatcher);

impl NameGlob {
    /// As it is written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.0.glob().glob()
    }

    /// Whether the name matches.
    #[must_use]
    pub fn matches(&self, name: &str) -> bool {
        self.0.is_match(name)
    }
}

impl TextValue for NameGlob {
    const EXPECTED: &'static str = "a target or a pattern for targets, such as `prod-*`";

    fn from_text(text: &str) -> Result<Self, String> {
        if text.is_empty() {
            return Err("it is empty".to_owned());
        }
        glob(text).map(Self)
    }

    fn text(&self) -> String {
        self.as_str().to_owned()
    }
}

text_value!(NameGlob);

/// A glob on a workspace path, such as `/Workspace/Users/*/.bundle/orders/prod`; `*` does not cross `/`.
#[derive(Debug, Clone)]
pub struct PathGlob(GlobMatcher);

impl PathGlob {
    /// As it is written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.0.glob().glob()
    }

    /// Whether the path matches, a slash at its end aside.
    #[must_use]
    pub fn matches(&self, path: &str) -> bool {
        // `..` would let a path leave the folder that the pattern names.
        !path.split('/').any(|part| part == "..")
            && self.0.is_match(path.strip_suffix('/').unwrap_or(path))
    }
}

impl TextValue for PathGlob {
    const EXPECTED: &'static str =
        "a workspace path or a pattern for one, such as `/Workspace/Users/*/.bundle/orders/prod`";

    fn from_text(text: &str) -> Result<Self, String> {
        let path = text.strip_suffix('/').unwrap_or(text);
        if !path.starts_with('/') {
            return Err("a path starts with `/`".to_owned());
        }
        if path.contains("**") {
            return Err("`**` would match every folder".to_owned());
        }
        glob(path).map(Self)
    }

    fn text(&self) -> String {
        self.as_str().to_owned()
    }
}

text_value!(PathGlob);

#[cfg(test)]
mod tests {
    use super::*;

    fn selector(text: &str) -> Selector {
        Selector::from_text(text).unwrap()
    }

    #[test]
    fn a_star_does_not_cross_a_dot() {
        assert!(selector("jobs.*").matches("jobs.etl"));
        assert!(selector("jobs.*").matches("jobs.etl.permissions"));
        assert!(!selector("jobs.*").matches("job_runs.etl"));
        assert!(!selector("*.permissions").matches("jobs.etl.permissions"));
        assert!(selector("*.*.permissions").matches("jobs.etl.permissions"));
        assert!(!selector("*.*.permissions").matches("jobs.etl"));
        assert!(selector("*.orders_{a,b}").matches("pipelines.orders_b"));
        assert!(selector("*").matches("anything"));
        assert!(!selector("jobs.etl").matches("jobs"));
    }

    #[test]
    fn what_cannot_be_a_selector_is_refused() {
        for text in [
            "jobs",
            "",
            ".",
            "jobs.",
            "a.b.c.d",
            "resources.jobs.etl",
            "jobs.[",
            "jobs.{a",
        ] {
            assert!(Selector::from_text(text).is_err(), "{text}");
        }
    }

    #[test]
    fn protect_matches_keys_and_names() {
        let protect = |text| Protect::from_text(text).unwrap();
        assert!(protect("volumes.raw").matches("volumes.raw", None));
        assert!(protect("prod.orders.*").matches("schemas.orders", Some("prod.orders.bronze")));
        assert!(protect("prod.orders").matches("schemas.x", Some("prod.orders")));
        assert!(!protect("prod.orders").matches("schemas.x", Some("prod.orders.bronze")));
        assert!(protect("orders pipeline").matches("pipelines.x", Some("orders pipeline")));
        assert!(protect("*").matches("jobs.x", None));
    }

    #[test]
    fn a_path_glob_stays_in_its_folder() {
        let glob = PathGlob::from_text("/Workspace/Users/*/.bundle/orders/prod/").unwrap();
        assert!(glob.matches("/Workspace/Users/sp-1/.bundle/orders/prod"));
        assert!(!glob.matches("/Workspace/Users/a/b/.bundle/orders/prod"));
        assert!(!glob.matches("/Workspace/Users/../.bundle/orders/prod"));
        assert!(PathGlob::from_text("/**").is_err());
    }

    #[test]
    fn overlap_and_cover_err_on_the_safe_side() {
        assert!(selector("jobs.*").covers(&selector("jobs.etl")));
        assert!(selector("jobs.*").covers(&selector("jobs.etl.permissions")));
        assert!(!selector("jobs.etl").covers(&selector("jobs.*")));
        assert!(!selector("jobs.*").covers(&selector("*")));
        assert!(!selector("jobs.*").may_overlap(&selector("pipelines.*")));
        assert!(selector("jobs.a*").may_overlap(&selector("*.b*")));
        assert!(selector("*").may_overlap(&selector("pipelines.*")));
    }
}
