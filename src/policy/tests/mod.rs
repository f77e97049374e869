//! The policy as its users meet it: files in, answers or diagnostics out.

mod cases;
mod diagnostics;
mod docs;
mod embedded;
mod properties;
mod resolve;
mod schema;

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use super::{Catalogue, Policy, PolicyError, PolicyRef, load};

/// Every rule, with its level in production, staging and development.
const RULES: &[(&str, [&str; 3])] = &[
    ("terraform-engine", ["deny", "review", "warn"]),
    ("missing-input", ["review", "note", "off"]),
    ("ignored-field", ["review", "warn", "note"]),
    ("inconsistent-plan", ["deny", "deny", "review"]),
    ("unknown-type", ["deny", "review", "warn"]),
    ("state-mismatch", ["deny", "deny", "deny"]),
    ("empty-plan", ["deny", "review", "note"]),
    ("partial-plan", ["review", "warn", "note"]),
    ("first-deploy", ["review", "note", "off"]),
    ("lost-state", ["deny", "deny", "off"]),
    ("cli-version", ["deny", "warn", "note"]),
    ("artifact-wipe", ["deny", "deny", "warn"]),
    ("redacted-value", ["deny", "deny", "deny"]),
    ("wrong-target", ["deny", "deny", "deny"]),
    ("bundle-mismatch", ["deny", "deny", "warn"]),
    ("plaintext-secret", ["review", "warn", "note"]),
    ("destroy", ["deny", "review", "note"]),
    ("lost-with-parent", ["deny", "review", "note"]),
    ("recreate", ["review", "review", "note"]),
    ("rename", ["review", "warn", "note"]),
    ("protected", ["deny", "deny", "deny"]),
    ("renamed-key", ["review", "review", "warn"]),
    ("missing-remote", ["review", "warn", "note"]),
    ("blast-radius", ["review", "warn", "off"]),
    ("starts-runs", ["review", "warn", "note"]),
    ("remote-edit", ["review", "warn", "note"]),
    ("field-reset", ["warn", "note", "off"]),
    ("pipeline-tables", ["deny", "review", "warn"]),
    ("cascade-unset", ["review", "warn", "off"]),
    ("cascade-armed", ["deny", "note", "off"]),
    ("prevent-destroy-missing", ["warn", "off", "off"]),
    ("prevent-destroy-blocks", ["deny", "deny", "warn"]),
    ("purge-armed", ["deny", "review", "warn"]),
    ("dataset-move", ["review", "warn", "note"]),
    ("full-refresh", ["deny", "review", "note"]),
    ("drop-inactive-tables", ["deny", "review", "warn"]),
    ("guard-removed", ["deny", "review", "note"]),
    ("unregistered-state", ["warn", "off", "off"]),
    ("run-as-change", ["deny", "review", "note"]),
    ("run-as-drift", ["deny", "warn", "note"]),
    ("run-as-unexpected", ["deny", "warn", "off"]),
    ("run-as-person", ["deny", "warn", "off"]),
    ("run-as-unset", ["deny", "warn", "off"]),
    ("run-as-removed", ["deny", "review", "note"]),
    ("run-as-builtin-group", ["deny", "deny", "deny"]),
    ("run-as-group-cli", ["deny", "deny", "warn"]),
    ("owner", ["deny", "warn", "off"]),
    ("creator-person", ["warn", "off", "off"]),
    ("permission-broadened", ["review", "warn", "off"]),
    ("permission-removed", ["review", "warn", "off"]),
    ("grant-broadened", ["review", "warn", "off"]),
    ("grant-removed", ["review", "warn", "off"]),
    ("shared-root-path", ["deny", "warn", "off"]),
    ("personal-root-path", ["deny", "warn", "off"]),
    ("production-mode", ["deny", "note", "off"]),
    ("development-pipeline", ["deny", "warn", "off"]),
    ("preview-channel", ["warn", "note", "off"]),
    ("git-branch", ["deny", "warn", "off"]),
    ("maintenance-window", ["warn", "off", "off"]),
    ("unpaused-outside-production", ["off", "warn", "warn"]),
    ("unlocked", ["deny", "warn", "off"]),
    ("expired-waiver", ["review", "warn", "note"]),
    ("unused-waiver", ["warn", "note", "note"]),
    ("dead-selector", ["warn", "note", "note"]),
    ("empty-policy", ["deny", "deny", "deny"]),
];

const TYPES: &[&str] = &[
    "catalogs",
    "jobs",
    "job_runs",
    "pipelines",
    "quality_monitors",
    "schemas",
    "volumes",
];

fn load_files(files: &[(&str, &str)]) -> Result<Policy, PolicyError> {
    let map: BTreeMap<&Path, &str> = files
        .iter()
        .map(|(name, text)| (Path::new(*name), *text))
        .collect();
    let rules: Vec<&str> = RULES.iter().map(|(id, _)| *id).collect();
    let first: PolicyRef = files[0].0.parse().unwrap();
    load(
        &first,
        &Catalogue {
            rules: &rules,
            types: TYPES,
        },
        &mut |path| {
            map.get(path)
                .map(|text| (*text).to_owned())
                .ok_or_else(|| io::ErrorKind::NotFound.into())
        },
    )
}

/// A policy from one file.
fn policy(text: &str) -> Policy {
    match load_files(&[("bundlegate.yml", text)]) {
        Ok(policy) => policy,
        Err(error) => panic!("{error}"),
    }
}

/// What a user sees about one file that is refused.
fn refused(text: &str) -> String {
    refused_files(&[("bundlegate.yml", text)])
}

fn refused_files(files: &[(&str, &str)]) -> String {
    match load_files(files) {
        Ok(_) => panic!("the policy was accepted"),
        Err(error) => error.to_string(),
    }
}
