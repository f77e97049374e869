//! Access to a Databricks workspace: the sign-in of the official SDKs, and the few reads that a verdict needs.
//!
//! Nothing here writes to a workspace.

mod auth;
mod error;
mod exists;
mod host;
mod profile;
mod reads;
mod settings;
mod token;
mod types;

use std::path::PathBuf;
use std::sync::Arc;

use secrecy::{ExposeSecret, SecretString};

pub use error::{AccessError, NoSignIn};
pub use host::{Host, HostError};
pub use settings::Wanted;
pub use types::*;

pub use crate::remote::environment::{Environment, PROGRAM_WITHIN};
use crate::remote::http::{Ask, CA_BUNDLE, Failure, Http, HttpError, HttpOptions};

/// A workspace that one is signed in to. Clones share the sign-in, the connections and the pace.
#[derive(Debug, Clone)]
pub struct Workspace(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    host: Host,
    http: Http,
    sign_in: auth::SignIn,
}

impl Workspace {
    /// Signs in as the Databricks SDKs and CLI would with this environment.
    ///
    /// `DATABRICKS_RATE_LIMIT` and `BUNDLEGATE_CA_BUNDLE` of the environment win over `options`. Requests to this machine use no proxy.
    ///
    /// # Errors
    /// [`AccessError`]: wrong settings, or every way that was tried and why it did not work.
    pub async fn connect(
        environment: &Environment,
        wanted: &Wanted,
        mut options: HttpOptions,
    ) -> Result<Workspace, AccessError> {
        let settings = settings::Settings::resolve(environment, wanted)?;
        if let Some(text) = settings.get("rate_limit") {
            options.per_second = text
                .parse()
                .ok()
                .filter(|limit| *limit > 0)
                .ok_or_else(|| AccessError::RateLimit(text.to_owned()))?;
        }
        if let Some(path) = environment.get(CA_BUNDLE) {
            options.ca_bundle = Some(PathBuf::from(path));
        }
        options.system_proxy &= !settings.host.is_loopback();
        let http = Http::new(options).map_err(AccessError::Http)?;
        let sign_in = auth::SignIn::find(&settings, environment, &http).await?;
        Ok(Workspace(Arc::new(Inner {
            host: settings.host,
            http,
            sign_in,
        })))
    }

    /// The workspace's address.
    pub fn host(&self) -> &Host {
        &self.0.host
    }

    /// How the sign-in was made, by the name that `DATABRICKS_AUTH_TYPE` uses.
    pub fn auth_type(&self) -> &'static str {
        self.0.sign_in.method.name()
    }

    /// The request for a path below the host.
    fn ask(&self, what: String, path: &[&str], query: &[(&str, &str)]) -> Result<Ask, HttpError> {
        Ask::read(what, self.0.host.at(path), query)
    }

    /// Sends a request with the token. After a 401 one time more with a new token, where there can be one.
    async fn send(&self, ask: &Ask) -> Result<Vec<u8>, HttpError> {
        let Inner {
            host,
            http,
            sign_in,
        } = &*self.0;
        let token = |rejected: Option<SecretString>| async move {
            sign_in
                .token(host, http, rejected.as_ref())
                .await
                .map_err(|why| ask.failed(Failure::NoToken(why)))
        };
        let first = token(None).await?;
        match http.bytes(&ask.clone().bearer(&first)).await {
            Err(error) if matches!(error.failure(), Failure::Unauthorized(..)) => {
                let next = token(Some(first.clone())).await?;
                if next.expose_secret() == first.expose_secret() {
                    Err(error)
                } else {
                    http.bytes(&ask.clone().bearer(&next)).await
                }
            }
            other => other,
        }
    }
}

#[cfg(test)]
mod tests;
