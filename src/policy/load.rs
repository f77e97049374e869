//! From a name to a resolved policy: reading, `extends`, and all that is wrong at once.

use std::convert::Infallible;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use super::decode::Cx;
use super::diagnostic::{Diagnostic, Diagnostics, Severity};
use super::file::{self, Read};
use super::location::{At, SourceFile};
use super::resolved::Policy;
use super::text::quoted;
use super::yaml;
use crate::text::nearest;

/// Most policies in one chain of `extends`.
const MAX_EXTENDS: usize = 8;

/// What a policy may name.
#[derive(Debug, Clone, Copy)]
pub struct Catalogue<'a> {
    /// The ids of the built-in rules.
    pub rules: &'a [&'a str],
    /// The resource types, such as `jobs`.
    pub types: &'a [&'a str],
}

/// A policy that is part of bundlegate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Embedded {
    /// For what people depend on.
    Production,
    /// For the rehearsal of production.
    Staging,
    /// For a developer's own target.
    Development,
}

impl Embedded {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Production, Self::Staging, Self::Development];

    /// The name by which it is chosen.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Production => "production",
            Self::Staging => "staging",
            Self::Development => "development",
        }
    }

    /// The text.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Self::Production => include_str!("../../policies/production.yml"),
            Self::Staging => include_str!("../../policies/staging.yml"),
            Self::Development => include_str!("../../policies/development.yml"),
        }
    }

    fn named(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|embedded| embedded.name() == name)
    }
}

/// Which policy is meant: `production`, `staging` and `development` are embedded, everything else is a file (`./production` too).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PolicyRef {
    /// Part of bundlegate.
    Embedded(Embedded),
    /// A file.
    File(PathBuf),
}

impl FromStr for PolicyRef {
    type Err = Infallible;

    fn from_str(name: &str) -> Result<Self, Infallible> {
        Ok(Embedded::named(name).map_or_else(|| Self::File(PathBuf::from(name)), Self::Embedded))
    }
}

impl fmt::Display for PolicyRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Embedded(embedded) => write!(f, "{} (embedded)", embedded.name()),
            Self::File(path) => write!(f, "{}", path.display()),
        }
    }
}

/// Why there is no policy.
#[derive(Debug, thiserror::Error)]
pub enum PolicyError {
    /// The file cannot be read.
    #[error("cannot read the policy {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The policy says something that it cannot say.
    #[error("{0}")]
    Invalid(Diagnostics),
}

/// Reads a policy and all that it extends.
///
/// `read` hands over the text of a file; paths are those of the policy files, as they were named.
///
/// # Errors
/// A file that cannot be read, or everything that is wrong with the policy.
pub fn load(
    source: &PolicyRef,
    catalogue: &Catalogue<'_>,
    read: &mut dyn FnMut(&Path) -> Result<String, io::Error>,
) -> Result<Policy, PolicyError> {
    let mut cx = Cx::default();
    let mut policy = Policy::empty();
    let chain = chain(source, read, &mut cx, &mut policy)?;
    for (file, root) in chain.into_iter().rev() {
        policy.apply(file, root, catalogue, &mut cx);
    }
    policy.finish(catalogue, &mut cx);
    let warnings = std::mem::take(&mut policy.warnings);
    if cx
        .diagnostics
        .iter()
        .any(|one| one.severity == Severity::Error)
    {
        cx.diagnostics.extend(warnings);
        return Err(PolicyError::Invalid(Diagnostics::new(
            cx.diagnostics,
            &policy.sources,
        )));
    }
    let warnings = cx.diagnostics.into_iter().chain(warnings).collect();
    policy.warnings = Diagnostics::new(warnings, &policy.sources).into_vec();
    Ok(policy)
}

/// The files from the policy itself to the embedded one at the end; `true` marks the embedded one.
fn chain(
    source: &PolicyRef,
    read: &mut dyn FnMut(&Path) -> Result<String, io::Error>,
    cx: &mut Cx,
    policy: &mut Policy,
) -> Result<Vec<(Read, bool)>, PolicyError> {
    let mut files = Vec::new();
    let mut visited: Vec<PathBuf> = Vec::new();
    let mut next = source.clone();
    let mut named: Option<At<String>> = None;
    loop {
        let text = match &next {
            PolicyRef::Embedded(embedded) => embedded.text().to_owned(),
            PolicyRef::File(path) => match (read(path), &named) {
                (Ok(text), _) => text,
                (Err(source), None) => {
                    return Err(PolicyError::Read {
                        path: path.clone(),
                        source,
                    });
                }
                (Err(error), Some(named)) => {
                    cx.report(unreadable(named, &error));
                    return Ok(files);
                }
            },
        };
        let root = matches!(next, PolicyRef::Embedded(_));
        let source = Arc::new(SourceFile::new(next.to_string(), text));
        policy.sources.push(Arc::clone(&source));
        let node = match yaml::parse(&source) {
            Ok(node) => node,
            Err(diagnostic) => {
                cx.report(*diagnostic);
                return Ok(files);
            }
        };
        let Some(read) = file::read(node, cx) else {
            return Ok(files);
        };
        let extends = read.file.extends.clone();
        files.push((read, root));
        if root {
            return Ok(files);
        }
        let PolicyRef::File(path) = &next else {
            return Ok(files);
        };
        visited.push(normalised(path));
        let Some(extends) = extends else {
            next = PolicyRef::Embedded(Embedded::Production);
            continue;
        };
        match parent(path, &extends, &visited) {
            Ok(parent) => next = parent,
            Err(diagnostic) => {
                cx.report(*diagnostic);
                return Ok(files);
            }
        }
        named = Some(extends);
    }
}

/// What `extends` means in the file at `path`.
fn parent(
    path: &Path,
    extends: &At<String>,
    visited: &[PathBuf],
) -> Result<PolicyRef, Box<Diagnostic>> {
    if let Some(embedded) = Embedded::named(&extends.value) {
        return Ok(PolicyRef::Embedded(embedded));
    }
    let relative = Path::new(&extends.value);
    if relative.has_root() || relative.is_absolute() || extends.value.contains('\\') {
        let found = quoted(&extends.value);
        let message = format!(
            "expected `production`, `staging`, `development` or a path relative to this file, found {found}"
        );
        return Err(Box::new(Diagnostic::error(&extends.at, message)));
    }
    let parent = normalised(&path.parent().unwrap_or(Path::new("")).join(relative));
    if visited.contains(&parent) {
        let message = format!("{} extends itself", quoted(&parent.display().to_string()));
        return Err(Box::new(
            Diagnostic::error(&extends.at, message).label("this closes the circle"),
        ));
    }
    if visited.len() >= MAX_EXTENDS {
        let message = format!("a policy extends at most {MAX_EXTENDS} others in a row");
        return Err(Box::new(Diagnostic::error(&extends.at, message)));
    }
    Ok(PolicyRef::File(parent))
}

fn unreadable(named: &At<String>, error: &io::Error) -> Diagnostic {
    let why = match error.kind() {
        io::ErrorKind::NotFound => "there is no such file".to_owned(),
        _ => error.to_string(),
    };
    let diagnostic = Diagnostic::error(
        &named.at,
        format!("cannot read {}: {why}", quoted(&named.value)),
    );
    match nearest(&named.value, Embedded::ALL.map(Embedded::name)) {
        Some(near) => diagnostic.label(format!("did you mean `{near}`?")),
        None => diagnostic,
    }
}

/// The path without `.` and, as far as the text tells, without `..`; with `/` on every system, so that messages are the same.
fn normalised(path: &Path) -> PathBuf {
    let mut start = OsString::new();
    let mut parts: Vec<&OsStr> = Vec::new();
    for component in path.components() {
        match component {
            Component::Prefix(prefix) => start.push(prefix.as_os_str()),
            Component::RootDir => start.push("/"),
            Component::CurDir => {}
            Component::ParentDir if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            Component::ParentDir => parts.push(OsStr::new("..")),
            Component::Normal(name) => parts.push(name),
        }
    }
    start.push(parts.join(OsStr::new("/")));
    PathBuf::from(start)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_compared_in_one_spelling() {
        for (path, expected) in [
            ("a/./b/../c.yml", "a/c.yml"),
            ("../a/../b.yml", "../b.yml"),
            ("a/../../b.yml", "../b.yml"),
            ("/a/b/../c.yml", "/a/c.yml"),
            ("c.yml", "c.yml"),
        ] {
            assert_eq!(normalised(Path::new(path)).to_str(), Some(expected));
        }
    }
}
