//! Which policy judges: `--policy`, else `bundlegate.yml` here or above, else the embedded one.

use std::path::{Path, PathBuf};

use clap::Args;

use super::Failure;
use crate::host::{files, out};
use crate::policy::{Embedded, Level, MAX_BYTES, Policy, PolicyError, PolicyRef, load};
use crate::rules::known;

/// The name of a policy file that is found by itself.
pub(super) const FILE_NAME: &str = "bundlegate.yml";

#[derive(Debug, Args)]
pub(super) struct PolicyArgs {
    /// Policy: a file, or an embedded one (production, staging, development) [default: bundlegate.yml here or above, else production]
    #[arg(short, long, value_name = "POLICY")]
    pub(super) policy: Option<String>,
    /// Give a rule another level (off, note, warn, review, deny); refused where the policy locks it
    #[arg(long, value_name = "RULE=LEVEL")]
    pub(super) level: Vec<String>,
    /// The time at which waivers are judged, such as 2026-10-01T00:00:00Z [default: now]
    #[arg(long, value_name = "TIME")]
    now: Option<jiff::Timestamp>,
}

impl PolicyArgs {
    /// The time at which waivers are judged.
    pub(super) fn now(&self) -> jiff::Timestamp {
        self.now.unwrap_or_else(jiff::Timestamp::now)
    }

    /// Loads the policy.
    pub(super) fn load(&self, colour: bool) -> Result<Policy, Failure> {
        let source = match &self.policy {
            Some(text) => policy_ref(text),
            None => found_by_itself(&std::env::current_dir().unwrap_or_default()),
        };
        let policy = load_policy(&source, colour, &mut read_bounded)?;
        let levels: Vec<(String, Level)> = self
            .level
            .iter()
            .map(|text| level_override(text))
            .collect::<Result<_, _>>()?;
        policy
            .with_levels(&levels)
            .map_err(|e| Failure::input(format!("error: --level: {e}")))
    }
}

fn level_override(text: &str) -> Result<(String, Level), Failure> {
    let wrong = || {
        Failure::input(format!(
            "error: --level: expected RULE=LEVEL with a level of off, note, warn, review, deny, found {}",
            crate::text::quoted(text)
        ))
    };
    let (rule, level) = text.split_once('=').ok_or_else(wrong)?;
    Ok((rule.to_owned(), level.parse().map_err(|_| wrong())?))
}

/// The policy that a name on the command line means.
pub(super) fn policy_ref(name: &str) -> PolicyRef {
    name.parse()
        .unwrap_or_else(|never: std::convert::Infallible| match never {})
}

/// Loads a policy; `read` says from where.
pub(super) fn load_policy(
    source: &PolicyRef,
    colour: bool,
    read: &mut dyn FnMut(&Path) -> Result<String, std::io::Error>,
) -> Result<Policy, Failure> {
    let policy = load(source, &known(), read).map_err(|e| {
        let text = match &e {
            PolicyError::Invalid(diagnostics) => diagnostics.render(colour),
            PolicyError::Read { source, .. } => format!("error: {e}: {source}"),
        };
        Failure::input(text)
    })?;
    for warning in policy.warnings() {
        out::stderr(&format!("{}\n", warning.render(colour)));
    }
    Ok(policy)
}

/// Reads no more than the loader takes: a policy can be a pipe without an end.
pub(super) fn read_bounded(path: &Path) -> std::io::Result<String> {
    let bytes = files::read(path, MAX_BYTES as u64).map_err(|e| match e {
        files::Error::Other(e) => e,
        e => std::io::Error::other(e.to_string()),
    })?;
    String::from_utf8(bytes)
        .map_err(|_| std::io::Error::other("expected UTF-8 text, found bytes that are not"))
}

/// `bundlegate.yml` in this folder or above, up to the folder that holds `.git`; else the embedded production policy.
pub(super) fn found_by_itself(from: &Path) -> PolicyRef {
    let mut relative = PathBuf::new();
    for folder in from.ancestors() {
        if folder.join(FILE_NAME).is_file() {
            return PolicyRef::File(relative.join(FILE_NAME));
        }
        if folder.join(".git").exists() {
            break;
        }
        relative.push("..");
    }
    PolicyRef::Embedded(Embedded::Production)
}
