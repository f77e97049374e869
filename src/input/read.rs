//! Reads every input and says precisely what is wrong with one.

use std::fmt;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use super::{MANIFEST, Manifest};
use crate::bundle::{Bundle, State, Warnings};
use crate::effect::Inputs;
use crate::host::files;
use crate::json::{self, Limits, Position};
use crate::plan::{self, Plan};
use crate::text::visible;

/// Which input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Input {
    /// The plan.
    Plan,
    /// The bundle JSON.
    Bundle,
    /// The bundle JSON of what is deployed now.
    BaseBundle,
    /// The deployed state.
    State,
    /// The CLI's warnings.
    Warnings,
}

impl Input {
    /// The name in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Input::Plan => "plan",
            Input::Bundle => "bundle",
            Input::BaseBundle => "base_bundle",
            Input::State => "state",
            Input::Warnings => "warnings",
        }
    }

    /// The file name in a collected folder.
    pub(crate) fn file(self) -> Option<&'static str> {
        match self {
            Input::Plan => Some("plan.json"),
            Input::Bundle => Some("bundle.json"),
            Input::State => Some("state.json"),
            Input::Warnings => Some("warnings.txt"),
            Input::BaseBundle => None,
        }
    }
}

/// Where the inputs are, as given on the command line.
#[derive(Debug, Clone, Default)]
pub struct Paths {
    /// PLAN: a file, `-`, or a collected folder.
    pub plan: PathBuf,
    /// `--bundle`
    pub bundle: Option<PathBuf>,
    /// `--base-bundle`
    pub base_bundle: Option<PathBuf>,
    /// `--state`
    pub state: Option<PathBuf>,
    /// `--warnings`
    pub warnings: Option<PathBuf>,
}

/// An input that was read.
#[derive(Debug, Clone)]
pub struct Source {
    /// Which one.
    pub input: Input,
    /// Where it was read from, as shown to people.
    pub path: String,
    /// SHA-256 of its bytes, in hexadecimal.
    pub sha256: String,
}

/// Every input, read.
#[derive(Debug)]
pub struct Loaded {
    /// The plan.
    pub plan: Plan,
    /// The bytes of the plan.
    pub plan_bytes: Vec<u8>,
    /// The bundle JSON.
    pub bundle: Option<Bundle>,
    /// The bundle JSON of what is deployed now.
    pub base_bundle: Option<Bundle>,
    /// The deployed state.
    pub state: Option<State>,
    /// The CLI's warnings.
    pub warnings: Option<Warnings>,
    /// What was read, the plan first.
    pub sources: Vec<Source>,
    /// Flags that were taken in place of a file of the collected folder, for the report.
    pub overridden: Vec<&'static str>,
}

impl Loaded {
    /// The inputs, for [`crate::effect::World::new`].
    #[must_use]
    pub fn inputs<'a>(&'a self, targets: &'a [(&'static str, String)]) -> Inputs<'a> {
        Inputs {
            plan: &self.plan,
            bundle: self.bundle.as_ref(),
            base_bundle: self.base_bundle.as_ref(),
            state: self.state.as_ref(),
            warnings: self.warnings.as_ref(),
            targets,
        }
    }

    /// The plan as it was read.
    #[must_use]
    pub fn plan_source(&self) -> Option<&Source> {
        self.sources.iter().find(|s| s.input == Input::Plan)
    }
}

/// Why an input cannot be read or judged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    /// The file, as shown to people.
    pub path: String,
    /// Where in it.
    pub position: Option<Position>,
    /// What was expected and what was found.
    pub message: String,
    /// What to do.
    pub help: Option<String>,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.path)?;
        if let Some(p) = self.position {
            write!(f, ":{}:{}", p.line, p.column)?;
        }
        write!(f, ": {}", self.message)?;
        if let Some(help) = &self.help {
            write!(f, "\n  help: {help}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {}

fn error(path: &Path, message: impl fmt::Display, help: &str) -> Error {
    Error {
        path: shown(path),
        position: None,
        message: message.to_string(),
        help: Some(help.to_owned()).filter(|h| !h.is_empty()),
    }
}

fn shown(path: &Path) -> String {
    if path.as_os_str() == "-" {
        "standard input".to_owned()
    } else {
        visible(&path.display().to_string())
    }
}

/// Reads every input.
///
/// # Errors
/// The first input that cannot be read, is not what it should be, or does not match the folder's manifest.
pub fn load(paths: &Paths, limits: &Limits) -> Result<Loaded, Error> {
    let from_stdin = [
        Some(&paths.plan),
        paths.bundle.as_ref(),
        paths.base_bundle.as_ref(),
        paths.state.as_ref(),
        paths.warnings.as_ref(),
    ];
    if from_stdin
        .iter()
        .flatten()
        .filter(|p| p.as_os_str() == "-")
        .count()
        > 1
    {
        return Err(error(
            Path::new("-"),
            "expected one input on standard input, found several",
            "give the others as files",
        ));
    }
    let folder = folder(&paths.plan, limits)?;
    let mut sources = Vec::new();
    let mut overridden = Vec::new();
    let mut fetch = |input: Input,
                     given: Option<&PathBuf>|
     -> Result<Option<(PathBuf, Vec<u8>)>, Error> {
        let listed = folder.as_ref().and_then(|(dir, manifest)| {
            let name = input.file()?;
            manifest
                .files
                .contains_key(name)
                .then(|| (dir.join(name), manifest.files.get(name)))
        });
        if given.is_some() && listed.is_some() && input != Input::Plan {
            overridden.push(input.name());
        }
        let (path, expected) = match (given, listed) {
            (Some(path), _) => (path.clone(), None),
            (None, Some((path, expected))) => (path, expected),
            (None, None) => return Ok(None),
        };
        let bytes = bytes(&path, limits)?;
        let sha256 = hex::encode(Sha256::digest(&bytes));
        if expected.is_some_and(|e| *e != sha256) {
            return Err(error(
                &path,
                format!(
                    "expected the file that {MANIFEST} lists, found another one (SHA-256 {sha256})"
                ),
                "collect the folder again; it was changed after it was made",
            ));
        }
        sources.push(Source {
            input,
            path: shown(&path),
            sha256,
        });
        Ok(Some((path, bytes)))
    };
    let plan_path = if folder.is_some() {
        None
    } else {
        Some(&paths.plan)
    };
    let Some((path, plan_bytes)) = fetch(Input::Plan, plan_path)? else {
        return Err(error(
            &paths.plan,
            format!("expected plan.json among the files of {MANIFEST}, found none"),
            "collect the folder again",
        ));
    };
    let bundle = fetch(Input::Bundle, paths.bundle.as_ref())?;
    let base_bundle = fetch(Input::BaseBundle, paths.base_bundle.as_ref())?;
    let state = fetch(Input::State, paths.state.as_ref())?;
    let warnings = fetch(Input::Warnings, paths.warnings.as_ref())?;
    let read_bundle = |found: Option<(PathBuf, Vec<u8>)>| {
        found
            .map(|(p, b)| Bundle::read(&b, limits).map_err(|e| inside(&p, e)))
            .transpose()
    };
    Ok(Loaded {
        plan: plan::read(&plan_bytes, limits).map_err(|e| inside(&path, e))?,
        plan_bytes,
        bundle: read_bundle(bundle)?,
        base_bundle: read_bundle(base_bundle)?,
        state: state
            .map(|(p, b)| State::read(&b, limits).map_err(|e| inside(&p, e)))
            .transpose()?,
        warnings: warnings
            .map(|(p, b)| Warnings::read(&b, limits).map_err(|e| inside(&p, e)))
            .transpose()?,
        sources,
        overridden,
    })
}

/// Reads one input that stands by itself.
///
/// # Errors
/// A file that cannot be read, or is not what `parse` expects.
pub fn load_one<T>(
    path: &Path,
    limits: &Limits,
    parse: impl FnOnce(&[u8], &Limits) -> Result<T, json::Error>,
) -> Result<T, Error> {
    parse(&bytes(path, limits)?, limits).map_err(|e| inside(path, e))
}

fn bytes(path: &Path, limits: &Limits) -> Result<Vec<u8>, Error> {
    files::read(path, limits.bytes).map_err(|e| {
        let help = match e {
            files::Error::TooLarge(_) => {
                "raise the bound with --max-size if the file really is that large"
            }
            files::Error::Terminal => "pipe it in, or give a file",
            _ => "",
        };
        error(path, e, help)
    })
}

/// A fault of what a file says.
fn inside(path: &Path, e: json::Error) -> Error {
    Error {
        path: shown(path),
        position: e.position,
        message: e.message,
        help: e.help,
    }
}

/// The folder and its manifest, if PLAN is one.
fn folder(plan: &Path, limits: &Limits) -> Result<Option<(PathBuf, Manifest)>, Error> {
    if !plan.is_dir() {
        return Ok(None);
    }
    let path = plan.join(MANIFEST);
    let bytes = files::read(&path, limits.bytes).map_err(|e| match e {
        files::Error::Missing => error(
            plan,
            format!("expected a folder made by `bundlegate collect`, found one without {MANIFEST}"),
            "give the plan file itself, or collect the folder first",
        ),
        e => error(&path, e, ""),
    })?;
    let manifest: Manifest = serde_json::from_slice(&bytes).map_err(|e| Error {
        path: shown(&path),
        position: Some(Position {
            line: e.line(),
            column: e.column().max(1),
        })
        .filter(|p| p.line > 0),
        message: format!(
            "expected the manifest of a collected folder, found something else: {}",
            visible(&e.to_string())
        ),
        help: Some("collect the folder again".to_owned()),
    })?;
    if let Some(name) = manifest
        .files
        .keys()
        .find(|n| n.contains(['/', '\\']) || n.as_str() == "..")
    {
        return Err(error(
            &path,
            format!(
                "expected plain file names, found {}",
                crate::text::quoted(name)
            ),
            "collect the folder again",
        ));
    }
    Ok(Some((plan.to_path_buf(), manifest)))
}
