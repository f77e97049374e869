//! The ways to sign in, tried in the order of the Databricks SDKs (Go SDK: `config/auth_default.go`): the first that yields a token is used.

use secrecy::SecretString;
use tokio::sync::Mutex;
use tokio::time::Instant;
use url::Url;

use super::error::{AccessError, NoSignIn};
use super::host::Host;
use super::settings::Settings;
use super::token::{AzureProof, IdToken, Printed, Source, Token};
use crate::remote::address::may_carry_a_secret;
use crate::remote::environment::Environment;
use crate::remote::http::Http;

/// A way to sign in, by the name that `DATABRICKS_AUTH_TYPE` uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Method {
    Pat,
    Basic,
    OauthM2m,
    DatabricksCli,
    MetadataService,
    GithubOidc,
    AzureDevopsOidc,
    EnvOidc,
    FileOidc,
    GithubOidcAzure,
    AzureMsi,
    AzureClientSecret,
    AzureCli,
    GoogleCredentials,
    GoogleId,
}

impl Method {
    /// All of them, in the SDKs' order.
    const ORDER: [Method; 15] = [
        Method::Pat,
        Method::Basic,
        Method::OauthM2m,
        Method::DatabricksCli,
        Method::MetadataService,
        Method::GithubOidc,
        Method::AzureDevopsOidc,
        Method::EnvOidc,
        Method::FileOidc,
        Method::GithubOidcAzure,
        Method::AzureMsi,
        Method::AzureClientSecret,
        Method::AzureCli,
        Method::GoogleCredentials,
        Method::GoogleId,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Method::Pat => "pat",
            Method::Basic => "basic",
            Method::OauthM2m => "oauth-m2m",
            Method::DatabricksCli => "databricks-cli",
            Method::MetadataService => "metadata-service",
            Method::GithubOidc => "github-oidc",
            Method::AzureDevopsOidc => "azure-devops-oidc",
            Method::EnvOidc => "env-oidc",
            Method::FileOidc => "file-oidc",
            Method::GithubOidcAzure => "github-oidc-azure",
            Method::AzureMsi => "azure-msi",
            Method::AzureClientSecret => "azure-client-secret",
            Method::AzureCli => "azure-cli",
            Method::GoogleCredentials => "google-credentials",
            Method::GoogleId => "google-id",
        }
    }

    /// The settings with which the SDKs choose a way that is not here; `None` for the ways that are.
    fn unsupported(self) -> Option<&'static [&'static str]> {
        match self {
            Method::Basic => Some(&["username", "password"]),
            Method::MetadataService => Some(&["metadata_service_url"]),
            Method::AzureMsi => Some(&["azure_use_msi"]),
            Method::GoogleCredentials => Some(&["google_credentials"]),
            Method::GoogleId => Some(&["google_service_account"]),
            _ => None,
        }
    }

    /// Whether the SDKs would choose this way. For one that is not here that ends the search: another way would be another identity.
    fn is_chosen(self, needs: &[&str], settings: &Settings) -> bool {
        let right_cloud = match self {
            Method::AzureMsi => settings.azure_login().is_some(),
            Method::GoogleCredentials | Method::GoogleId => settings.host.is_google(),
            _ => true,
        };
        let is_set = |name: &&str| {
            settings
                .get(name)
                .is_some_and(|value| !matches!(value.to_ascii_lowercase().as_str(), "false" | "0"))
        };
        right_cloud && needs.iter().all(is_set)
    }

    fn known() -> String {
        let names: Vec<&str> = Method::ORDER
            .into_iter()
            .filter(|method| method.unsupported().is_none())
            .map(Method::name)
            .collect();
        names.join(", ")
    }
}

/// A sign-in that worked, and its token as long as it is good.
#[derive(Debug)]
pub(super) struct SignIn {
    pub(super) method: Method,
    source: Source,
    environment: Environment,
    held: Mutex<Held>,
}

#[derive(Debug)]
struct Held {
    secret: SecretString,
    good_until: Option<Instant>,
}

impl From<Token> for Held {
    fn from(token: Token) -> Held {
        Held {
            good_until: token
                .good_for
                .and_then(|good_for| Instant::now().checked_add(good_for)),
            secret: token.secret,
        }
    }
}

impl SignIn {
    /// Tries each way in order, or only the one that `DATABRICKS_AUTH_TYPE` names.
    pub(super) async fn find(
        settings: &Settings,
        environment: &Environment,
        http: &Http,
    ) -> Result<SignIn, AccessError> {
        let only = settings.get("auth_type");
        if let Some(name) = only
            && !Method::ORDER.iter().any(|method| method.name() == name)
        {
            return Err(AccessError::UnknownAuthType {
                name: name.to_owned(),
                known: Method::known(),
            });
        }
        let mut tried = Vec::new();
        for method in Method::ORDER
            .into_iter()
            .filter(|method| only.is_none_or(|name| method.name() == name))
        {
            if let Some(needs) = method.unsupported() {
                if only.is_some() || method.is_chosen(needs, settings) {
                    return Err(AccessError::UnsupportedAuthType {
                        name: method.name().to_owned(),
                        known: Method::known(),
                    });
                }
                continue;
            }
            let first = match prepare(method, settings, environment) {
                Ok(source) => source
                    .fetch(&settings.host, http, environment)
                    .await
                    .map(|token| (source, token)),
                Err(why) => Err(why),
            };
            match first {
                Ok((source, token)) => {
                    tracing::debug!(method = method.name(), host = %settings.host, "signed in");
                    return Ok(SignIn {
                        method,
                        source,
                        environment: environment.clone(),
                        held: Mutex::new(token.into()),
                    });
                }
                Err(why) => tried.push((method.name(), why)),
            }
        }
        Err(AccessError::NoSignIn(NoSignIn {
            host: settings.host.clone(),
            tried,
        }))
    }

    /// The token: the held one while it is good and is not the `rejected` one, else a new one. One caller renews, the others wait for it.
    pub(super) async fn token(
        &self,
        host: &Host,
        http: &Http,
        rejected: Option<&SecretString>,
    ) -> Result<SecretString, String> {
        use secrecy::ExposeSecret;
        let mut held = self.held.lock().await;
        let is_rejected = rejected
            .is_some_and(|rejected| rejected.expose_secret() == held.secret.expose_secret());
        let is_old = held.good_until.is_some_and(|until| until <= Instant::now());
        if is_rejected || is_old {
            *held = self
                .source
                .fetch(host, http, &self.environment)
                .await?
                .into();
        }
        Ok(held.secret.clone())
    }
}

/// What a way needs, or why it does not apply.
fn prepare(
    method: Method,
    settings: &Settings,
    environment: &Environment,
) -> Result<Source, String> {
    let set = |name: &str| {
        settings
            .get(name)
            .ok_or_else(|| format!("{} is not set", Settings::variable(name)))
    };
    let secret = |name: &str| set(name).map(SecretString::from);
    let variable = |name: &str| {
        environment
            .get(name)
            .ok_or_else(|| format!("{name} is not set"))
    };
    let login = || -> Result<Url, String> {
        let usual = settings
            .azure_login()
            .ok_or_else(|| format!("{} is not a workspace on Azure", settings.host))?;
        // Named as in Azure's own SDKs.
        address(
            environment.get("AZURE_AUTHORITY_HOST").unwrap_or(usual),
            "AZURE_AUTHORITY_HOST",
        )
    };
    let github = || -> Result<IdToken, String> {
        let url = address(
            variable("ACTIONS_ID_TOKEN_REQUEST_URL")?,
            "ACTIONS_ID_TOKEN_REQUEST_URL",
        );
        let url =
            url.map_err(|why| format!("{why}; the job needs `permissions: id-token: write`"))?;
        Ok(IdToken::GitHub {
            url,
            token: variable("ACTIONS_ID_TOKEN_REQUEST_TOKEN")?.into(),
        })
    };
    let exchange = |id_token: IdToken| Source::Exchange {
        id_token,
        client_id: settings.get("client_id").map(str::to_owned),
        audience: settings.get("audience").map(str::to_owned),
    };
    match method {
        Method::Pat => match set("token")? {
            token if token.chars().all(|c| c.is_ascii_graphic()) => Ok(Source::Fixed(token.into())),
            _ => Err("DATABRICKS_TOKEN holds what no token holds: a space, a line break or a letter beyond ASCII".to_owned()),
        },
        Method::OauthM2m => Ok(Source::ClientSecret {
            client_id: set("client_id")?.to_owned(),
            secret: secret("client_secret")?,
        }),
        Method::DatabricksCli => {
            let place = match &settings.profile {
                Some(profile) => ["--profile".to_owned(), profile.clone()],
                None => ["--host".to_owned(), settings.host.to_string()],
            };
            Ok(Source::Program {
                program: settings
                    .get("databricks_cli_path")
                    .unwrap_or("databricks")
                    .to_owned(),
                arguments: ["auth".to_owned(), "token".to_owned()]
                    .into_iter()
                    .chain(place)
                    .collect(),
                printed: Printed::DatabricksCli,
            })
        }
        Method::GithubOidc => Ok(exchange(github()?)),
        Method::AzureDevopsOidc => Ok(exchange(azure_devops(&variable)?)),
        Method::EnvOidc => {
            let name = settings
                .get("oidc_token_env")
                .unwrap_or("DATABRICKS_OIDC_TOKEN");
            variable(name)?;
            Ok(exchange(IdToken::Variable(name.to_owned())))
        }
        Method::FileOidc => Ok(exchange(IdToken::File(
            set("databricks_id_token_filepath")?.to_owned(),
        ))),
        Method::GithubOidcAzure => Ok(Source::Azure {
            login: login()?,
            tenant: set("azure_tenant_id")?.to_owned(),
            client_id: set("azure_client_id")?.to_owned(),
            proof: AzureProof::IdToken(github()?),
        }),
        Method::AzureClientSecret => Ok(Source::Azure {
            login: login()?,
            tenant: set("azure_tenant_id")?.to_owned(),
            client_id: set("azure_client_id")?.to_owned(),
            proof: AzureProof::Secret(secret("azure_client_secret")?),
        }),
        Method::AzureCli => {
            login()?;
            let tenant = settings
                .get("azure_tenant_id")
                .map(|tenant| ["--tenant".to_owned(), tenant.to_owned()]);
            let fixed = [
                "account",
                "get-access-token",
                "--resource",
                super::token::AZURE_DATABRICKS,
                "--output",
                "json",
            ];
            Ok(Source::Program {
                program: "az".to_owned(),
                arguments: fixed
                    .into_iter()
                    .map(str::to_owned)
                    .chain(tenant.into_iter().flatten())
                    .collect(),
                printed: Printed::AzureCli,
            })
        }
        Method::Basic
        | Method::MetadataService
        | Method::AzureMsi
        | Method::GoogleCredentials
        | Method::GoogleId => Err("bundlegate cannot sign in that way".to_owned()),
    }
}

/// The request for an ID token of an Azure DevOps pipeline (REST API "Oidctoken - Create"; Go SDK: `oidc/azuredevops.go`).
fn azure_devops<'a>(
    variable: &impl Fn(&str) -> Result<&'a str, String>,
) -> Result<IdToken, String> {
    let token = variable("SYSTEM_ACCESSTOKEN").map_err(|why| {
        format!("{why}; a step gets it by `env: SYSTEM_ACCESSTOKEN: $(System.AccessToken)`")
    })?;
    let mut url = address(
        variable("SYSTEM_TEAMFOUNDATIONCOLLECTIONURI")?,
        "SYSTEM_TEAMFOUNDATIONCOLLECTIONURI",
    )?;
    let [project, hub] = [
        variable("SYSTEM_TEAMPROJECTID")?,
        variable("SYSTEM_HOSTTYPE")?,
    ];
    let [plan, job] = [variable("SYSTEM_PLANID")?, variable("SYSTEM_JOBID")?];
    let path = [
        project,
        "_apis",
        "distributedtask",
        "hubs",
        hub,
        "plans",
        plan,
        "jobs",
        job,
        "oidctoken",
    ];
    url.path_segments_mut()
        .map_err(|()| "SYSTEM_TEAMFOUNDATIONCOLLECTIONURI is not an address".to_owned())?
        .pop_if_empty()
        .extend(path);
    url.set_query(Some("api-version=7.2-preview.1"));
    Ok(IdToken::AzureDevOps {
        url,
        token: token.into(),
    })
}

/// An address that a secret may be sent to.
fn address(text: &str, name: &str) -> Result<Url, String> {
    Url::parse(text)
        .ok()
        .filter(may_carry_a_secret)
        .ok_or_else(|| format!("{name} is not an https address"))
}
