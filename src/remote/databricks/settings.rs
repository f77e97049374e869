//! What the environment and the profile file say about the sign-in. Names and precedence are those of the Databricks SDKs
//! (Go SDK: `config/config.go`, `config_attributes.go`, `config_file.go`).

use std::collections::{BTreeMap, BTreeSet};

use secrecy::{ExposeSecret, SecretString};

use super::AccessError;
use super::host::{AZURE_LOGIN, Cloud, Host};
use super::profile;
use crate::remote::environment::Environment;

/// One setting: its name in a profile, its environment variable, and the family of sign-ins that it belongs to.
struct Attribute {
    name: &'static str,
    variable: &'static str,
    family: Option<&'static str>,
}

const fn attribute(
    name: &'static str,
    variable: &'static str,
    family: Option<&'static str>,
) -> Attribute {
    Attribute {
        name,
        variable,
        family,
    }
}

const ATTRIBUTES: [Attribute; 21] = [
    attribute("host", "DATABRICKS_HOST", None),
    attribute("auth_type", "DATABRICKS_AUTH_TYPE", None),
    attribute("databricks_cli_path", "DATABRICKS_CLI_PATH", None),
    attribute("audience", "DATABRICKS_TOKEN_AUDIENCE", None),
    attribute("rate_limit", "DATABRICKS_RATE_LIMIT", None),
    attribute("token", "DATABRICKS_TOKEN", Some("pat")),
    attribute("username", "DATABRICKS_USERNAME", Some("basic")),
    attribute("password", "DATABRICKS_PASSWORD", Some("basic")),
    attribute("client_id", "DATABRICKS_CLIENT_ID", Some("oauth")),
    attribute("client_secret", "DATABRICKS_CLIENT_SECRET", Some("oauth")),
    attribute(
        "metadata_service_url",
        "DATABRICKS_METADATA_SERVICE_URL",
        Some("metadata-service"),
    ),
    attribute(
        "oidc_token_env",
        "DATABRICKS_OIDC_TOKEN_ENV",
        Some("env-oidc"),
    ),
    attribute(
        "databricks_id_token_filepath",
        "DATABRICKS_OIDC_TOKEN_FILEPATH",
        Some("file-oidc"),
    ),
    attribute(
        "azure_workspace_resource_id",
        "DATABRICKS_AZURE_RESOURCE_ID",
        Some("azure"),
    ),
    attribute("azure_use_msi", "ARM_USE_MSI", Some("azure")),
    attribute("azure_client_id", "ARM_CLIENT_ID", Some("azure")),
    attribute("azure_client_secret", "ARM_CLIENT_SECRET", Some("azure")),
    attribute("azure_tenant_id", "ARM_TENANT_ID", Some("azure")),
    attribute(
        "google_service_account",
        "DATABRICKS_GOOGLE_SERVICE_ACCOUNT",
        Some("google"),
    ),
    attribute("google_credentials", "GOOGLE_CREDENTIALS", Some("google")),
    attribute("azure_environment", "ARM_ENVIRONMENT", None),
];

/// What the caller already knows about the workspace.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    /// The profile, from a flag.
    pub profile: Option<String>,
    /// The host that the bundle names. A sign-in for another host is refused.
    pub host: Option<String>,
}

/// The settings that hold.
#[derive(Debug)]
pub(super) struct Settings {
    pub(super) host: Host,
    /// The profile that was read, if one was.
    pub(super) profile: Option<String>,
    values: BTreeMap<&'static str, SecretString>,
}

impl Settings {
    /// Reads environment and profile file.
    pub(super) fn resolve(
        environment: &Environment,
        wanted: &Wanted,
    ) -> Result<Settings, AccessError> {
        let mut values: BTreeMap<&'static str, SecretString> = ATTRIBUTES
            .iter()
            .filter_map(|attribute| {
                Some((
                    attribute.name,
                    SecretString::from(environment.get(attribute.variable)?),
                ))
            })
            .collect();
        let wanted_host = wanted
            .host
            .as_deref()
            .map(Host::parse)
            .transpose()
            .map_err(AccessError::Host)?;
        let named = wanted
            .profile
            .as_deref()
            .or_else(|| environment.get("DATABRICKS_CONFIG_PROFILE"));
        let profile = chosen_profile(environment, named, wanted_host.as_ref(), &values)?;
        if let Some((name, settings)) = &profile {
            merge(&mut values, name, settings)?;
        }
        let configured = values
            .get("host")
            .map(|text| Host::parse(text.expose_secret()))
            .transpose()
            .map_err(AccessError::Host)?;
        let host = match (wanted_host, configured) {
            (Some(wanted), Some(configured)) if wanted != configured => {
                return Err(AccessError::HostMismatch { wanted, configured });
            }
            (Some(host), _) | (None, Some(host)) => host,
            (None, None) => return Err(AccessError::NoHost),
        };
        let settings = Settings {
            host,
            profile: profile.map(|(name, _)| name),
            values,
        };
        let families = settings.families();
        if families.len() > 1 && settings.get("auth_type").is_none() {
            return Err(AccessError::Ambiguous {
                families: families.into_iter().collect::<Vec<_>>().join(" and "),
            });
        }
        Ok(settings)
    }

    /// A setting that is no secret.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.secret(name).map(ExposeSecret::expose_secret)
    }

    /// A setting that is a secret.
    pub(super) fn secret(&self, name: &str) -> Option<&SecretString> {
        self.values.get(name)
    }

    /// The environment variable of a setting, for messages.
    pub(super) fn variable(name: &str) -> &str {
        ATTRIBUTES
            .iter()
            .find(|attribute| attribute.name == name)
            .map_or(name, |attribute| attribute.variable)
    }

    /// Where Azure issues tokens for this workspace; `None` for a workspace that is not on Azure.
    pub(super) fn azure_login(&self) -> Option<&'static str> {
        match self.host.cloud() {
            Cloud::Azure { login } => Some(login),
            Cloud::Other => self.get("azure_workspace_resource_id").map(|_| AZURE_LOGIN),
        }
    }

    fn families(&self) -> BTreeSet<&'static str> {
        families(&self.values)
    }
}

fn families(values: &BTreeMap<&'static str, SecretString>) -> BTreeSet<&'static str> {
    ATTRIBUTES
        .iter()
        .filter(|attribute| values.contains_key(attribute.name))
        .filter_map(|attribute| attribute.family)
        .collect()
}

/// The profile to use: the named one; else the one of the wanted host; else `DEFAULT`. None is read where the environment says enough.
fn chosen_profile(
    environment: &Environment,
    named: Option<&str>,
    wanted_host: Option<&Host>,
    values: &BTreeMap<&'static str, SecretString>,
) -> Result<Option<(String, profile::Profile)>, AccessError> {
    let enough = !families(values).is_empty() || values.contains_key("host");
    if named.is_none() && enough {
        return Ok(None);
    }
    let shown = environment
        .get("DATABRICKS_CONFIG_FILE")
        .unwrap_or("~/.databrickscfg");
    let unreadable = |why: String| AccessError::ConfigFile {
        path: shown.to_owned(),
        why,
    };
    let text = match environment.expand(shown) {
        Some(path) => environment
            .read(&path)
            .map_err(|cause| unreadable(cause.to_string()))?,
        None => None,
    };
    let mut profiles =
        profile::parse(&text.unwrap_or_default()).map_err(|cause| unreadable(cause.to_string()))?;
    let name = if let Some(name) = named {
        name.to_owned()
    } else if let Some(host) = wanted_host {
        let same = |settings: &profile::Profile| {
            settings.get("host").is_some_and(|text| {
                Host::parse(text.expose_secret()).is_ok_and(|known| known == *host)
            })
        };
        let mut names: Vec<String> = profiles
            .iter()
            .filter(|(_, settings)| same(settings))
            .map(|(name, _)| name.clone())
            .collect();
        match (names.pop(), names.is_empty()) {
            (None, _) => return Ok(None),
            (Some(only), true) => only,
            (Some(last), false) => {
                names.push(last);
                return Err(AccessError::SeveralProfiles {
                    host: host.clone(),
                    names: names.join(", "),
                });
            }
        }
    } else {
        profile::DEFAULT.to_owned()
    };
    match profiles.remove(&name) {
        Some(settings) if !settings.is_empty() => Ok(Some((name, settings))),
        _ if named.is_none() => Ok(None),
        _ => Err(AccessError::NoProfile {
            path: shown.to_owned(),
            profile: name,
        }),
    }
}

/// Adds a profile's settings to those of the environment, which win. A host that differs is refused: the token of one would go to the other.
fn merge(
    values: &mut BTreeMap<&'static str, SecretString>,
    profile: &str,
    settings: &profile::Profile,
) -> Result<(), AccessError> {
    if let (Some(set), Some(other)) = (values.get("host"), settings.get("host")) {
        let [set, other] = [set, other].map(|text| Host::parse(text.expose_secret()));
        let (set, other) = (
            set.map_err(AccessError::Host)?,
            other.map_err(AccessError::Host)?,
        );
        if set != other {
            return Err(AccessError::ProfileHost {
                variable: set,
                profile: profile.to_owned(),
                other,
            });
        }
    }
    for attribute in &ATTRIBUTES {
        if let Some(value) = settings
            .get(attribute.name)
            .filter(|value| !value.expose_secret().is_empty())
        {
            values
                .entry(attribute.name)
                .or_insert_with(|| value.clone());
        }
    }
    Ok(())
}
