//! Where tokens come from.

use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde_json::Value;
use url::Url;

use super::host::Host;
use crate::remote::address::may_carry_a_secret;
use crate::remote::environment::{Environment, ProgramError};
use crate::remote::http::{Ask, Failure, Http, HttpError};

/// Azure Databricks as Microsoft Entra ID knows it (Microsoft Learn, "Get Microsoft Entra ID tokens for service principals").
pub(super) const AZURE_DATABRICKS: &str = "2ff814a6-3304-4ab8-85cb-cd0e6f879c1d";
/// The audience that Entra ID demands of a federated token.
const AZURE_EXCHANGE: &str = "api://AzureADTokenExchange";
/// A token is renewed this long before its end, or at half its life if that is shorter.
const RENEW_BEFORE: Duration = Duration::from_secs(60);
/// Life of a token whose end is not told.
const UNTOLD_LIFE: Duration = Duration::from_secs(300);

/// A token and how long it will be used.
pub(super) struct Token {
    pub(super) secret: SecretString,
    /// `None`: until it is rejected.
    pub(super) good_for: Option<Duration>,
}

/// Where tokens come from.
#[derive(Debug)]
pub(super) enum Source {
    /// Given.
    Fixed(SecretString),
    /// A service principal's OAuth secret.
    ClientSecret {
        client_id: String,
        secret: SecretString,
    },
    /// A token of the CI system, exchanged for one of the workspace (RFC 8693).
    Exchange {
        id_token: IdToken,
        client_id: Option<String>,
        audience: Option<String>,
    },
    /// A service principal of Microsoft Entra ID.
    Azure {
        login: Url,
        tenant: String,
        client_id: String,
        proof: AzureProof,
    },
    /// A program that prints one.
    Program {
        program: String,
        arguments: Vec<String>,
        printed: Printed,
    },
}

/// Where a token of the CI system comes from.
#[derive(Debug)]
pub(super) enum IdToken {
    GitHub { url: Url, token: SecretString },
    AzureDevOps { url: Url, token: SecretString },
    Variable(String),
    File(String),
}

/// How a service principal of Entra ID proves itself.
#[derive(Debug)]
pub(super) enum AzureProof {
    Secret(SecretString),
    IdToken(IdToken),
}

/// What a program prints.
#[derive(Debug, Clone, Copy)]
pub(super) enum Printed {
    /// `{"access_token", "expiry"}`
    DatabricksCli,
    /// `{"accessToken", "expires_on"}`
    AzureCli,
}

/// RFC 6749, 5.1. No `Debug`: it is all secret.
#[derive(Deserialize)]
struct Issued {
    access_token: String,
    /// A number, or (Entra ID) a number as text.
    expires_in: Option<Value>,
}

#[derive(Deserialize)]
struct Discovered {
    token_endpoint: String,
}

#[derive(Deserialize)]
struct GitHubIdToken {
    value: String,
}

#[derive(Deserialize)]
struct AzureDevOpsIdToken {
    #[serde(rename = "oidcToken")]
    oidc_token: String,
}

#[derive(Deserialize)]
struct DatabricksCliToken {
    access_token: String,
    expiry: Option<String>,
}

#[derive(Deserialize)]
struct AzureCliToken {
    #[serde(rename = "accessToken")]
    access_token: String,
    /// Seconds since 1970, since Azure CLI 2.54.
    expires_on: Option<Value>,
}

impl Source {
    /// A new token, or why there is none, in words.
    pub(super) async fn fetch(
        &self,
        host: &Host,
        http: &Http,
        environment: &Environment,
    ) -> Result<Token, String> {
        match self {
            Source::Fixed(secret) => Ok(Token {
                secret: secret.clone(),
                good_for: None,
            }),
            Source::ClientSecret { client_id, secret } => {
                let endpoint = token_endpoint(host, http).await?;
                // RFC 6749, 2.3.1: both are form-encoded before they become a Basic password.
                let encoded = SecretString::from(form_encoded(secret.expose_secret()));
                let form = vec![
                    ("grant_type", "client_credentials".to_owned()),
                    ("scope", "all-apis".to_owned()),
                ];
                issued(
                    http,
                    Ask::post_form(endpoint, "an OAuth token", form)
                        .basic(form_encoded(client_id), encoded),
                )
                .await
            }
            Source::Exchange {
                id_token,
                client_id,
                audience,
            } => {
                let endpoint = token_endpoint(host, http).await?;
                let id_token = id_token
                    .fetch(
                        audience.as_deref().unwrap_or(endpoint.as_str()),
                        http,
                        environment,
                    )
                    .await?;
                let mut form = vec![
                    (
                        "grant_type",
                        "urn:ietf:params:oauth:grant-type:token-exchange".to_owned(),
                    ),
                    (
                        "subject_token_type",
                        "urn:ietf:params:oauth:token-type:jwt".to_owned(),
                    ),
                    ("scope", "all-apis".to_owned()),
                ];
                form.extend(client_id.iter().map(|id| ("client_id", id.clone())));
                let ask =
                    Ask::post_form(endpoint, "an OAuth token for the CI system's token", form);
                issued(http, ask.secret_field("subject_token", &id_token)).await
            }
            Source::Azure {
                login,
                tenant,
                client_id,
                proof,
            } => {
                let mut url = login.clone();
                url.path_segments_mut()
                    .map_err(|()| "the Azure login address is unusable".to_owned())?
                    .pop_if_empty()
                    .extend([tenant, "oauth2", "token"]);
                let form = vec![
                    ("grant_type", "client_credentials".to_owned()),
                    ("client_id", client_id.clone()),
                    ("resource", AZURE_DATABRICKS.to_owned()),
                ];
                let ask = Ask::post_form(url, "a Microsoft Entra ID token", form);
                let ask = match proof {
                    AzureProof::Secret(secret) => ask.secret_field("client_secret", secret),
                    AzureProof::IdToken(id_token) => ask
                        .secret_field(
                            "client_assertion",
                            &id_token.fetch(AZURE_EXCHANGE, http, environment).await?,
                        )
                        .form_field(
                            "client_assertion_type",
                            "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
                        ),
                };
                issued(http, ask).await
            }
            Source::Program {
                program,
                arguments,
                printed,
            } => {
                let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
                let output =
                    environment
                        .run(program, &arguments)
                        .await
                        .map_err(|error| match error {
                            ProgramError::Missing => format!("`{program}` is not on the path"),
                            ProgramError::Failed(why) => why,
                        })?;
                printed
                    .read(&output)
                    .ok_or_else(|| format!("`{program} {}` printed no token", arguments.join(" ")))
            }
        }
    }
}

impl IdToken {
    async fn fetch(
        &self,
        audience: &str,
        http: &Http,
        environment: &Environment,
    ) -> Result<SecretString, String> {
        let found = match self {
            IdToken::GitHub { url, token } => {
                let mut url = url.clone();
                url.query_pairs_mut().append_pair("audience", audience);
                let ask = Ask::get(url, "the GitHub Actions ID token").bearer(token);
                http.json::<GitHubIdToken>(&ask)
                    .await
                    .map_err(in_words)?
                    .value
            }
            IdToken::AzureDevOps { url, token } => {
                let ask = Ask::post_form(url.clone(), "the Azure DevOps ID token", Vec::new())
                    .bearer(token);
                let ask = ask.header("Content-Type", "application/json").repeatable();
                http.json::<AzureDevOpsIdToken>(&ask)
                    .await
                    .map_err(in_words)?
                    .oidc_token
            }
            IdToken::Variable(name) => environment
                .get(name)
                .ok_or_else(|| format!("{name} is not set"))?
                .to_owned(),
            IdToken::File(name) => {
                let path = environment
                    .expand(name)
                    .ok_or_else(|| format!("{name}: there is no home folder"))?;
                let text = environment
                    .read(&path)
                    .map_err(|cause| format!("{name} cannot be read: {cause}"))?;
                text.ok_or_else(|| format!("{name} is not there"))?
                    .trim()
                    .to_owned()
            }
        };
        if found.is_empty() {
            Err("the CI system's token is empty".to_owned())
        } else {
            Ok(found.into())
        }
    }
}

impl Printed {
    fn read(self, output: &[u8]) -> Option<Token> {
        let now = jiff::Timestamp::now().as_second();
        let (secret, end) = match self {
            Printed::DatabricksCli => {
                let token: DatabricksCliToken = serde_json::from_slice(output).ok()?;
                (
                    token.access_token,
                    token
                        .expiry
                        .and_then(|text| text.parse::<jiff::Timestamp>().ok())
                        .map(|end| end.as_second()),
                )
            }
            Printed::AzureCli => {
                let token: AzureCliToken = serde_json::from_slice(output).ok()?;
                (
                    token.access_token,
                    token.expires_on.as_ref().and_then(whole_number),
                )
            }
        };
        let life = end
            .and_then(|end| u64::try_from(end.saturating_sub(now)).ok())
            .map(Duration::from_secs);
        (!secret.is_empty()).then(|| Token {
            secret: secret.into(),
            good_for: Some(usable(life)),
        })
    }
}

/// Where the workspace issues tokens (OAuth 2.0 Authorization Server Metadata, RFC 8414).
async fn token_endpoint(host: &Host, http: &Http) -> Result<Url, String> {
    let at = |segments: &[&str]| {
        host.at(segments)
            .ok_or_else(|| "the host is unusable".to_owned())
    };
    let ask = Ask::get(
        at(&["oidc", ".well-known", "oauth-authorization-server"])?,
        "where the workspace issues tokens",
    );
    match http.json::<Discovered>(&ask).await {
        Ok(found) => Url::parse(&found.token_endpoint)
            .ok()
            .filter(may_carry_a_secret)
            .ok_or_else(|| "the workspace names a token endpoint that is not https".to_owned()),
        Err(error) if matches!(error.failure(), Failure::NotFound(_)) => {
            at(&["oidc", "v1", "token"])
        }
        Err(error) => Err(in_words(error)),
    }
}

/// Sends a request for a token. A second one does no harm: the first token is simply not used.
async fn issued(http: &Http, ask: Ask) -> Result<Token, String> {
    let issued: Issued = http.json(&ask.repeatable()).await.map_err(in_words)?;
    if issued.access_token.is_empty() {
        return Err("the token endpoint answered with an empty token".to_owned());
    }
    let life = issued
        .expires_in
        .as_ref()
        .and_then(whole_number)
        .and_then(|seconds| u64::try_from(seconds).ok());
    Ok(Token {
        secret: issued.access_token.into(),
        good_for: Some(usable(life.map(Duration::from_secs))),
    })
}

#[expect(clippy::needless_pass_by_value, reason = "used as a map_err function")]
fn in_words(error: HttpError) -> String {
    error.to_string()
}

/// How long a token of this life is used.
fn usable(life: Option<Duration>) -> Duration {
    let life = life.unwrap_or(UNTOLD_LIFE);
    life.saturating_sub(RENEW_BEFORE.min(life / 2))
}

fn whole_number(value: &Value) -> Option<i64> {
    value.as_i64().or_else(|| value.as_str()?.parse().ok())
}

fn form_encoded(text: &str) -> String {
    url::form_urlencoded::byte_serialize(text.as_bytes()).collect()
}
