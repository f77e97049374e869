//! Recorded plans in folders: what was collected, and plans with the other inputs beside them.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use crate::input::{MANIFEST, Paths};

/// Deepest folder that is searched.
const MAX_DEPTH: usize = 64;
/// Bytes of a `manifest.json` in which its format is looked for.
const HEAD: u64 = 64 << 10;

/// What a recorded plan is called.
const PLAN: &str = "plan.json";

/// What is found, by path: the inputs, or why something could not be searched.
pub type Found = BTreeMap<PathBuf, Result<Paths, String>>;

/// Every recorded plan in this folder and below. A file is a plan itself.
#[must_use]
pub fn find(start: &Path) -> Found {
    let mut found = Found::new();
    if !start.is_dir() {
        found.insert(start.to_owned(), Ok(beside(start)));
        return found;
    }
    let mut folders = vec![(start.to_owned(), 0)];
    while let Some((folder, depth)) = folders.pop() {
        match search(&folder, &mut found) {
            Err(why) => drop(found.insert(folder, Err(why))),
            Ok(below) if depth >= MAX_DEPTH && !below.is_empty() => {
                let why =
                    format!("expected at most {MAX_DEPTH} folders in one another, found more");
                found.insert(folder, Err(why));
            }
            Ok(below) => folders.extend(below.into_iter().map(|f| (f, depth + 1))),
        }
    }
    found
}

/// Takes the plan of one folder; returns the folders below it.
fn search(folder: &Path, found: &mut Found) -> Result<Vec<PathBuf>, String> {
    let mut below = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(|e| e.to_string())? {
        let entry = entry.map_err(|e| e.to_string())?;
        let path = entry.path();
        let kind = entry.file_type().map_err(|e| e.to_string())?;
        if kind.is_dir() {
            below.push(path);
        } else if kind.is_symlink() && path.is_dir() {
            let why = "expected a folder, found a link to one: links are not followed".to_owned();
            found.insert(path, Err(why));
        }
    }
    if is_collected(folder) {
        let paths = Paths {
            plan: folder.to_owned(),
            ..Paths::default()
        };
        found.insert(folder.to_owned(), Ok(paths));
    } else if folder.join(PLAN).symlink_metadata().is_ok() {
        found.insert(folder.join(PLAN), Ok(beside(&folder.join(PLAN))));
    }
    Ok(below)
}

/// Whether `collect` made the folder: other tools have a `manifest.json`, too.
fn is_collected(folder: &Path) -> bool {
    let mut head = Vec::new();
    let read = std::fs::File::open(folder.join(MANIFEST))
        .and_then(|file| file.take(HEAD).read_to_end(&mut head));
    read.is_ok() && String::from_utf8_lossy(&head).contains("bundlegate-manifest")
}

/// A plan and the inputs that lie beside it. What cannot be read is there, too, so that reading it says why.
fn beside(plan: &Path) -> Paths {
    let folder = plan.parent().unwrap_or(Path::new(""));
    let there = |name: &str| Some(folder.join(name)).filter(|path| path.symlink_metadata().is_ok());
    Paths {
        plan: plan.to_owned(),
        bundle: there("bundle.json"),
        base_bundle: there("base-bundle.json"),
        state: there("state.json"),
        warnings: there("warnings.txt"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn touch(path: &Path, text: &str) {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    #[test]
    fn plans_are_found_with_what_lies_beside_them() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        touch(&at("a/plan.json"), "{}");
        touch(&at("a/bundle.json"), "{}");
        touch(&at("a/other.json"), "{}");
        touch(&at("b/c/plan.json"), "{}");
        touch(
            &at("b/c/manifest.json"),
            r#"{"schema": "bundlegate-manifest-v1"}"#,
        );
        touch(&at("d/manifest.json"), r#"{"name": "a web page"}"#);
        let found = find(dir.path());
        let names: Vec<_> = found.keys().cloned().collect();
        assert_eq!(names, [at("a/plan.json"), at("b/c")]);
        let plain = found[&at("a/plan.json")].as_ref().unwrap();
        assert_eq!(plain.bundle, Some(at("a/bundle.json")));
        assert_eq!(plain.state, None);
        assert_eq!(found[&at("b/c")].as_ref().unwrap().plan, at("b/c"));
    }

    #[cfg(unix)]
    #[test]
    fn a_link_to_a_folder_is_said_and_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        touch(&dir.path().join("a/plan.json"), "{}");
        std::os::unix::fs::symlink("..", dir.path().join("a/up")).unwrap();
        let found = find(dir.path());
        assert_eq!(found.len(), 2);
        assert!(found[&dir.path().join("a/up")].is_err());
    }
}
