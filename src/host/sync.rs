//! What the bundle's `sync` uploads although git ignores it.
//!
//! As the Databricks CLI does it (`libs/sync` and `bundle/config/mutator/rewrite_sync_paths.go`): patterns are `.gitignore`
//! patterns, moved from the bundle's folder to the sync root, which is the nearest folder above all of `sync.paths`; `include`
//! adds ignored files below the sync root, `exclude` takes files away.

use ignore::gitignore::{Gitignore, GitignoreBuilder};

/// The bundle's `sync` section.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SyncGlobs {
    /// `sync.include`.
    pub include: Vec<String>,
    /// `sync.exclude`.
    pub exclude: Vec<String>,
    /// `sync.paths`; none means the bundle's folder.
    pub paths: Vec<String>,
}

/// A pattern that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("the bundle's sync pattern {pattern:?} cannot be read: {source}")]
pub struct SyncError {
    pattern: String,
    source: ignore::Error,
}

/// Matches paths from the top of the repository (outside git: from the bundle's folder).
#[derive(Debug, Clone)]
pub(super) struct SyncMatcher {
    root: Vec<String>,
    include: Gitignore,
    exclude: Gitignore,
}

impl SyncMatcher {
    /// `folder` is the bundle's folder from the top, `""` at the top.
    pub(super) fn new(globs: &SyncGlobs, folder: &str) -> Result<Self, SyncError> {
        let folder = join(&[], folder);
        let mut root = folder.clone();
        for path in &globs.paths {
            let path = join(&folder, path);
            let shared = root.iter().zip(&path).take_while(|(a, b)| a == b).count();
            root.truncate(shared);
        }
        let prefix: Vec<_> = folder.iter().skip(root.len()).cloned().collect();
        Ok(Self {
            include: matcher(&globs.include, &prefix)?,
            exclude: matcher(&globs.exclude, &prefix)?,
            root,
        })
    }

    /// Would this file ship even if git ignores it?
    pub(super) fn includes(&self, path: &str) -> bool {
        let parts: Vec<_> = path.split('/').collect();
        // No real path looks like this, and the library would panic on some: it counts.
        if parts.iter().any(|part| matches!(*part, "" | "." | "..")) {
            return true;
        }
        let below =
            parts.len() > self.root.len() && self.root.iter().zip(&parts).all(|(a, b)| a == b);
        if !below {
            return false;
        }
        let relative = parts
            .into_iter()
            .skip(self.root.len())
            .collect::<Vec<_>>()
            .join("/");
        let matches = |globs: &Gitignore| {
            !globs.is_empty()
                && globs
                    .matched_path_or_any_parents(&relative, false)
                    .is_ignore()
        };
        matches(&self.include) && !matches(&self.exclude)
    }

    /// Can any ignored file ship at all?
    pub(super) fn is_empty(&self) -> bool {
        self.include.is_empty()
    }
}

fn matcher(patterns: &[String], prefix: &[String]) -> Result<Gitignore, SyncError> {
    let mut builder = GitignoreBuilder::new("");
    let error = |pattern: &str| {
        let pattern = pattern.to_owned();
        move |source| SyncError { pattern, source }
    };
    for pattern in patterns {
        // The CLI joins the prefix before it looks at the pattern; a trailing slash is lost there, and with it only "folders".
        let moved = if prefix.is_empty() {
            pattern.strip_prefix("./").unwrap_or(pattern).to_owned()
        } else {
            join(prefix, pattern).join("/")
        };
        builder.add_line(None, &moved).map_err(error(pattern))?;
    }
    builder.build().map_err(error("(all)"))
}

/// `base` and `path` as parts, `.` and `..` taken out; `..` at the top stays there.
fn join(base: &[String], path: &str) -> Vec<String> {
    let mut parts = base.to_vec();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part.to_owned()),
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn matcher(include: &[&str], exclude: &[&str], paths: &[&str], folder: &str) -> SyncMatcher {
        let own = |list: &[&str]| list.iter().map(|&s| s.to_owned()).collect();
        let globs = SyncGlobs {
            include: own(include),
            exclude: own(exclude),
            paths: own(paths),
        };
        SyncMatcher::new(&globs, folder).unwrap()
    }

    #[test]
    fn like_the_cli() {
        let plain = matcher(&["dist/*.py", "*.env", "data/"], &["dist/skip.py"], &[], "");
        for (path, ships) in [
            ("dist/a.py", true),
            ("dist/skip.py", false),
            ("sub/dist/a.py", false),
            ("sub/x.env", true),
            ("data/deep/file", true),
            ("other", false),
        ] {
            assert_eq!(plain.includes(path), ships, "{path}");
        }
        let nested = matcher(&["*.env", "./gen/**"], &[], &[], "bundles/a");
        assert!(nested.includes("bundles/a/sub/x.env"));
        assert!(nested.includes("bundles/a/gen/deep/x"));
        assert!(!nested.includes("bundles/b/x.env"));
        let shared = matcher(&["../shared/*.whl"], &[], &[".", "../shared"], "bundles/a");
        assert!(shared.includes("bundles/shared/x.whl"));
        assert!(!shared.includes("x.whl"));
        assert!(matcher(&[], &["*"], &[], "").is_empty());
    }

    proptest! {
        #[test]
        fn never_panics(pattern in ".{0,30}", path in ".{0,30}", folder in "[a-z./]{0,10}") {
            let globs = SyncGlobs {
                include: vec![pattern.clone()],
                exclude: vec![],
                paths: vec![pattern],
            };
            if let Ok(matcher) = SyncMatcher::new(&globs, &folder) {
                let _ = matcher.includes(&path);
            }
        }
    }
}
