//! Which policy judges: `--policy`, else `bundlegate.yml` here or above, else the embedded one.

use std::path::{Path, PathBuf};

use clap::Args;

use super::Failure;
use crate::host::out;
use crate::plan::TYPES;
use crate::policy::{Catalogue, Embedded, Level, Policy, PolicyError, PolicyRef, load};
use crate::rules::RULES;

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
}

impl PolicyArgs {
    /// Loads the policy.
    pub(super) fn load(&self, colour: bool) -> Result<Policy, Failure> {
        let source = match &self.policy {
            Some(text) => text
                .parse()
                .unwrap_or_else(|never: std::convert::Infallible| match never {}),
            None => found_by_itself(&std::env::current_dir().unwrap_or_default()),
        };
        let policy = load_policy(&source, colour, &mut |path| std::fs::read_to_string(path))?;
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

/// Loads a policy; `read` says from where.
pub(super) fn load_policy(
    source: &PolicyRef,
    colour: bool,
    read: &mut dyn FnMut(&Path) -> Result<String, std::io::Error>,
) -> Result<Policy, Failure> {
    let mut rules: Vec<&str> = RULES.iter().map(|r| r.doc().id).collect();
    for id in [
        "cascade-unset",
        "prevent-destroy-missing",
        "prevent-destroy-blocks",
        "unregistered-state",
        "permission-broadened",
        "permission-removed",
        "grant-broadened",
        "grant-removed",
        "shared-root-path",
        "personal-root-path",
        "production-mode",
        "development-pipeline",
        "preview-channel",
        "git-branch",
        "maintenance-window",
        "unpaused-outside-production",
        "unlocked",
        "expired-waiver",
        "unused-waiver",
        "dead-selector",
        "empty-policy",
    ] {
        if !rules.contains(&id) {
            rules.push(id);
        }
    } // TEMP
    let types: Vec<&str> = TYPES.iter().map(|t| t.name).collect();
    let catalogue = Catalogue {
        rules: &rules,
        types: &types,
    };
    let policy = load(source, &catalogue, read).map_err(|e| {
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

/// `bundlegate.yml` in this folder or above, up to the folder that holds `.git`; else the embedded production policy.
fn found_by_itself(from: &Path) -> PolicyRef {
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
