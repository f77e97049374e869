//! Why there is no access to a workspace.

use std::fmt;

use super::host::{Host, HostError};
use crate::remote::http::HttpError;

/// Why there is no access to a workspace.
#[derive(Debug, thiserror::Error)]
pub enum AccessError {
    /// The host is refused.
    #[error(transparent)]
    Host(HostError),
    /// No host anywhere.
    #[error(
        "no workspace host: set DATABRICKS_HOST, choose a profile with DATABRICKS_CONFIG_PROFILE, or give the bundle JSON, which names it"
    )]
    NoHost,
    /// The sign-in is for another workspace than the bundle's.
    #[error(
        "wrong workspace: the bundle belongs to {wanted}, the sign-in (DATABRICKS_HOST or the profile) is for {configured}; correct one of them"
    )]
    HostMismatch {
        /// The bundle's host.
        wanted: Host,
        /// The host of the sign-in.
        configured: Host,
    },
    /// The environment and the chosen profile name different hosts.
    #[error(
        "DATABRICKS_HOST is {variable}, and the profile {profile:?} is for {other}; unset one of them"
    )]
    ProfileHost {
        /// The host of the environment.
        variable: Host,
        /// The profile.
        profile: String,
        /// The host of the profile.
        other: Host,
    },
    /// The profile file cannot be read.
    #[error("the profile file {path} cannot be used: {why}")]
    ConfigFile {
        /// As it was given.
        path: String,
        /// Why.
        why: String,
    },
    /// A profile was named that is not there.
    #[error(
        "{path} has no profile {profile:?} with settings; name one that it has, or set DATABRICKS_CONFIG_FILE"
    )]
    NoProfile {
        /// The file.
        path: String,
        /// The profile.
        profile: String,
    },
    /// More than one profile fits the bundle's host.
    #[error(
        "several profiles are for {host}: {names}; choose one with DATABRICKS_CONFIG_PROFILE or --profile"
    )]
    SeveralProfiles {
        /// The host.
        host: Host,
        /// The profiles.
        names: String,
    },
    /// Settings of several ways to sign in. The SDKs refuse that too.
    #[error(
        "more than one way to sign in is configured: {families}; unset the others or name one in DATABRICKS_AUTH_TYPE"
    )]
    Ambiguous {
        /// The families.
        families: String,
    },
    /// `DATABRICKS_AUTH_TYPE` names nothing known.
    #[error("DATABRICKS_AUTH_TYPE is {name:?}; expected one of {known}")]
    UnknownAuthType {
        /// What it names.
        name: String,
        /// What it can name.
        known: String,
    },
    /// A way to sign in that is configured and that this program does not have.
    #[error(
        "{name} is configured, and bundlegate cannot sign in that way; set DATABRICKS_AUTH_TYPE to one of {known}"
    )]
    UnsupportedAuthType {
        /// What is configured.
        name: String,
        /// What there is.
        known: String,
    },
    /// `DATABRICKS_RATE_LIMIT` is no number.
    #[error(
        "DATABRICKS_RATE_LIMIT is {0:?}; expected a whole number of requests a second, at least 1"
    )]
    RateLimit(String),
    /// No way to sign in worked.
    #[error("{0}")]
    NoSignIn(NoSignIn),
    /// The HTTP client could not be made: the CA bundle, the system's certificates.
    #[error(transparent)]
    Http(HttpError),
}

/// Every way that was tried, in order, and why it did not apply.
#[derive(Debug)]
pub struct NoSignIn {
    /// The workspace.
    pub host: Host,
    /// Name of the way and the reason.
    pub tried: Vec<(&'static str, String)>,
}

impl AccessError {
    /// Whether the settings are wrong, rather than the service unable or unwilling.
    pub fn is_usage(&self) -> bool {
        !matches!(self, AccessError::NoSignIn(_))
    }
}

impl fmt::Display for NoSignIn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot sign in to {}. Tried, in this order:", self.host)?;
        for (name, why) in &self.tried {
            write!(f, "\n  {name}: {why}")?;
        }
        write!(
            f,
            "\nSet the variables of one of them; DATABRICKS_AUTH_TYPE names the one to use."
        )
    }
}
