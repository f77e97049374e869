//! `manifest.json` of a folder made by `collect`: what is in it, and the digest of each file.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The file name.
pub const MANIFEST: &str = "manifest.json";

/// What a collected folder holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// The format: `bundlegate-manifest-v1`.
    pub schema: Schema,
    /// SHA-256 of each file, in hexadecimal, by its name.
    pub files: BTreeMap<String, String>,
    /// The CLI that wrote them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cli_version: Option<String>,
    /// When, in RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<String>,
    /// The commit of the source tree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// The target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
}

/// The name of the format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Schema {
    /// The only one.
    #[serde(rename = "bundlegate-manifest-v1")]
    V1,
}
