//! One HTTP client for all services.
//!
//! It waits for its turn (see [`HttpOptions::per_second`]), retries only what may be repeated and may succeed later, reads no more than a limit,
//! and turns every bad answer into an [`HttpError`] that says what was asked, what came and what to do. No redirect is followed:
//! an API does not redirect, a login page does.

mod ask;
mod error;
mod pace;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use backon::{ExponentialBuilder, Retryable};
use reqwest::header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, LOCATION, RETRY_AFTER};
use reqwest::{Method, StatusCode};
use secrecy::ExposeSecret;
use serde::de::DeserializeOwned;
use tokio::time::Instant;

pub use ask::Ask;
use ask::{Sign, not_json};
pub(crate) use error::quote;
pub use error::{Advice, Failure, HttpError, Said, WORKSPACE};
use pace::Pace;

/// Environment variable that names a PEM file with further certificate authorities, added to the system's.
/// (`SSL_CERT_FILE` and `SSL_CERT_DIR` work too; on Linux they *replace* the system's.)
pub const CA_BUNDLE: &str = "BUNDLEGATE_CA_BUNDLE";
/// Requests a second unless told otherwise: what the workspace's list and get calls allow one identity.
pub const REQUESTS_PER_SECOND: u32 = 30;
/// Time to connect, TLS included.
pub const CONNECT_WITHIN: Duration = Duration::from_secs(10);
/// Time for one attempt, body included.
pub const ANSWER_WITHIN: Duration = Duration::from_secs(60);
/// Time after which no further attempt is started.
pub const RETRY_FOR: Duration = Duration::from_secs(180);
/// The same for a service that cannot be reached at all: most often the host is wrong, and nobody wants to wait for that.
pub const UNREACHABLE_FOR: Duration = Duration::from_secs(20);
/// Shortest pause before a second attempt; it doubles, with jitter.
pub const FIRST_PAUSE: Duration = Duration::from_millis(500);
/// Longest pause, also where `Retry-After` asks for more.
pub const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// Longest body of an answer, in bytes, unless a request sets its own.
pub const LONGEST_BODY: usize = 16 * 1024 * 1024;

const USER_AGENT: &str = concat!("bundlegate/", env!("CARGO_PKG_VERSION"));

/// How the client behaves.
#[derive(Debug, Clone)]
pub struct HttpOptions {
    /// PEM file with certificate authorities to trust beside the system's.
    pub ca_bundle: Option<PathBuf>,
    /// Requests a second, evenly spaced.
    pub per_second: u32,
    /// Time for one attempt, body included.
    pub answer_within: Duration,
    /// Time after which no further attempt is started.
    pub retry_for: Duration,
    /// Shortest pause before a second attempt.
    pub first_pause: Duration,
    /// Whether `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY` count.
    pub system_proxy: bool,
}

impl Default for HttpOptions {
    fn default() -> HttpOptions {
        HttpOptions {
            ca_bundle: None,
            per_second: REQUESTS_PER_SECOND,
            answer_within: ANSWER_WITHIN,
            retry_for: RETRY_FOR,
            first_pause: FIRST_PAUSE,
            system_proxy: true,
        }
    }
}

/// The client. Clones share connections and pace.
#[derive(Debug, Clone)]
pub struct Http {
    client: reqwest::Client,
    pace: Arc<Pace>,
    options: Arc<HttpOptions>,
}

/// A whole answer of any status.
#[derive(Debug)]
struct Answer {
    status: StatusCode,
    content_type: String,
    location: Option<String>,
    retry_after: Option<Duration>,
    body: Vec<u8>,
}

impl Http {
    /// Makes the client.
    ///
    /// # Errors
    /// [`Failure::Setup`] when the CA bundle cannot be read or holds no certificate, or the system has no certificates at all.
    pub fn new(options: HttpOptions) -> Result<Http, HttpError> {
        let setup = |why: String| HttpError::new("", "", Failure::Setup(why));
        // Another part of the program may have installed one; then that one is used.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut builder = reqwest::Client::builder()
            .user_agent(USER_AGENT)
            .connect_timeout(CONNECT_WITHIN)
            .timeout(options.answer_within)
            .redirect(reqwest::redirect::Policy::none())
            .retry(reqwest::retry::never())
            .referer(false);
        if !options.system_proxy {
            builder = builder.no_proxy();
        }
        if let Some(path) = &options.ca_bundle {
            let shown = path.display();
            let pem = std::fs::read(path).map_err(|cause| {
                setup(format!(
                    "the CA bundle {shown} cannot be read: {cause}; correct {CA_BUNDLE}"
                ))
            })?;
            let certificates = reqwest::Certificate::from_pem_bundle(&pem).map_err(|cause| {
                setup(format!(
                    "the CA bundle {shown} is not PEM: {}; correct {CA_BUNDLE}",
                    root_cause(&cause)
                ))
            })?;
            if certificates.is_empty() {
                return Err(setup(format!(
                    "the CA bundle {shown} holds no certificate; expected PEM blocks `BEGIN CERTIFICATE`"
                )));
            }
            builder = builder.tls_certs_merge(certificates);
        }
        let client = builder.build().map_err(|cause| {
            setup(format!(
                "no HTTPS client: {}; install the system's CA certificates or set SSL_CERT_FILE",
                root_cause(&cause)
            ))
        })?;
        Ok(Http {
            client,
            pace: Arc::new(Pace::new(options.per_second)),
            options: Arc::new(options),
        })
    }

    /// The client itself, for libraries that bring their own requests: same proxies, roots and time limits.
    pub fn client(&self) -> &reqwest::Client {
        &self.client
    }

    /// The body of a successful answer.
    ///
    /// # Errors
    /// Any [`Failure`]; a web page in place of the data is [`Failure::NotJson`].
    pub async fn bytes(&self, ask: &Ask) -> Result<Vec<u8>, HttpError> {
        self.bytes_by(ask, || self.send(ask), |_| None).await
    }

    /// The same for a request that a library sends. `ask` describes it, `send` sends it once, and `told` finds a failure that the service
    /// tells with a 200.
    ///
    /// # Errors
    /// Any [`Failure`].
    pub(crate) async fn bytes_by<F>(
        &self,
        ask: &Ask,
        send: impl Fn() -> F,
        told: impl Fn(&[u8]) -> Option<Failure>,
    ) -> Result<Vec<u8>, HttpError>
    where
        F: Future<Output = Result<reqwest::Response, Failure>>,
    {
        let answer = self.answered(ask, send, told).await?;
        if answer.content_type.starts_with("text/html") {
            return Err(ask.failed(not_json(answer.status, &answer.body, ask)));
        }
        Ok(answer.body)
    }

    /// A successful answer as JSON. Unknown fields are ignored, missing ones are an error.
    ///
    /// # Errors
    /// Any [`Failure`].
    pub async fn json<T: DeserializeOwned>(&self, ask: &Ask) -> Result<T, HttpError> {
        ask.parse(&self.bytes(ask).await?)
    }

    /// The successful answer, after as many attempts as allowed.
    async fn answered<F>(
        &self,
        ask: &Ask,
        send: impl Fn() -> F,
        told: impl Fn(&[u8]) -> Option<Failure>,
    ) -> Result<Answer, HttpError>
    where
        F: Future<Output = Result<reqwest::Response, Failure>>,
    {
        let started = Instant::now();
        let pauses = ExponentialBuilder::new()
            .with_jitter()
            .with_min_delay(self.options.first_pause)
            .with_max_delay(LONGEST_PAUSE)
            .without_max_times();
        let last = (|| self.attempt(ask, &send, &told))
            .retry(pauses)
            .when(|(failure, _)| ask.repeatable && failure.is_transient())
            .adjust(|(failure, retry_after), pause| {
                let wanted = retry_after.or(pause)?.min(LONGEST_PAUSE);
                if matches!(failure, Failure::RateLimited { .. }) {
                    self.pace.hold(wanted);
                }
                let patience = match failure {
                    Failure::Unreachable(_) => self.options.retry_for.min(UNREACHABLE_FOR),
                    _ => self.options.retry_for,
                };
                (started.elapsed() + wanted <= patience).then_some(wanted)
            })
            .notify(|(failure, _), pause| {
                tracing::debug!(what = ask.what, ?failure, ?pause, "trying again")
            })
            .await;
        last.map_err(|(failure, _)| {
            ask.failed(match failure {
                Failure::RateLimited { status, said, .. } => Failure::RateLimited {
                    status,
                    tried: started.elapsed(),
                    said,
                },
                other => other,
            })
        })
    }

    /// One attempt: the successful answer, or the failure and what the service said about when to come again.
    async fn attempt<F>(
        &self,
        ask: &Ask,
        send: &impl Fn() -> F,
        told: &impl Fn(&[u8]) -> Option<Failure>,
    ) -> Result<Answer, (Failure, Option<Duration>)>
    where
        F: Future<Output = Result<reqwest::Response, Failure>>,
    {
        self.pace.turn().await;
        let response = send().await.map_err(|failure| (failure, None))?;
        let answer = Answer::read(response, ask.limit)
            .await
            .map_err(|failure| (failure, None))?;
        let retry_after = answer.retry_after;
        let failure = if !answer.status.is_success() {
            refusal(answer, ask)
        } else if let Some(failure) = told(&answer.body) {
            failure
        } else {
            return Ok(answer);
        };
        let least = match &failure {
            // GitHub, "Rate limits for the REST API": without a header, wait at least a minute.
            Failure::RateLimited { status, .. } if status.as_u16() != 429 => Some(LONGEST_PAUSE),
            _ => None,
        };
        Err((failure, retry_after.or(least)))
    }

    async fn send(&self, ask: &Ask) -> Result<reqwest::Response, Failure> {
        let mut request = self.client.request(ask.method.clone(), ask.url.clone());
        request = match &ask.sign {
            Sign::None => request,
            Sign::Bearer(token) => request.bearer_auth(token.expose_secret()),
            Sign::Basic(user, password) => request.basic_auth(user, Some(password.expose_secret())),
        };
        for (name, value) in &ask.headers {
            request = request.header(*name, *value);
        }
        if !ask.form.is_empty() || !ask.secret_form.is_empty() {
            let plain = ask.form.iter().map(|(name, value)| (*name, value.as_str()));
            let secret = ask
                .secret_form
                .iter()
                .map(|(name, value)| (*name, value.expose_secret()));
            request = request.form(&plain.chain(secret).collect::<Vec<(&str, &str)>>());
        }
        if ask.method == Method::POST && ask.form.is_empty() && ask.secret_form.is_empty() {
            request = request.header(CONTENT_LENGTH, 0).body(Vec::new());
        }
        request.send().await.map_err(|cause| failure_of(&cause))
    }
}

impl Answer {
    /// Reads an answer to its end, or to the limit.
    async fn read(mut response: reqwest::Response, limit: usize) -> Result<Answer, Failure> {
        let headers = response.headers();
        let mut answer = Answer {
            status: response.status(),
            content_type: text(headers, CONTENT_TYPE.as_str())
                .unwrap_or_default()
                .to_ascii_lowercase(),
            location: text(headers, LOCATION.as_str()).map(str::to_owned),
            retry_after: wanted_pause(headers, jiff::Timestamp::now()),
            body: Vec::new(),
        };
        loop {
            match response.chunk().await {
                Ok(Some(chunk)) if answer.body.len() + chunk.len() > limit => {
                    return Err(Failure::TooLarge(limit));
                }
                Ok(Some(chunk)) => answer.body.extend_from_slice(&chunk),
                Ok(None) => return Ok(answer),
                Err(cause) if cause.is_timeout() => return Err(Failure::TimedOut),
                Err(_) => return Err(Failure::Truncated),
            }
        }
    }
}

/// What a request without an answer died of.
pub(crate) fn failure_of(cause: &reqwest::Error) -> Failure {
    if cause.is_timeout() {
        Failure::TimedOut
    } else if cause.is_builder() {
        Failure::Setup(format!(
            "the request could not be made: {}",
            root_cause(cause)
        ))
    } else {
        Failure::Unreachable(quote(&root_cause(cause), &[]))
    }
}

/// What an answer other than 2xx means.
fn refusal(answer: Answer, ask: &Ask) -> Failure {
    let said = Said::read(&answer.body, &ask.secrets());
    let status = answer.status;
    match (status.as_u16(), said) {
        (401, said) => Failure::Unauthorized(status, said.unwrap_or_default()),
        (429, said) => Failure::RateLimited {
            status,
            tried: Duration::ZERO,
            said: said.unwrap_or_default(),
        },
        (500.., said) => Failure::Server(status, said.unwrap_or_default()),
        (300..=399, _) => {
            // Only the host: the rest can hold session data.
            let to = answer
                .location
                .and_then(|to| ask.url.join(&to).ok())
                .and_then(|to| to.host_str().map(str::to_owned));
            Failure::Redirected(status, to)
        }
        (_, None) => not_json(status, &answer.body, ask),
        (403, Some(said)) if answer.retry_after.is_some() || said.limits_the_rate() => {
            Failure::RateLimited {
                status,
                tried: Duration::ZERO,
                said,
            }
        }
        (403, Some(said)) if said.rejects_the_token() => Failure::Unauthorized(status, said),
        (403, Some(said)) => Failure::Forbidden(said),
        (404, Some(said)) => Failure::NotFound(said),
        (_, Some(said)) => Failure::Refused(status, said),
    }
}

fn text<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    headers.get(name)?.to_str().ok()
}

/// How long the service wants one to wait: `Retry-After`, or on GitHub the time when a spent allowance is renewed
/// (`x-ratelimit-remaining`, `x-ratelimit-reset` in seconds since 1970; "Rate limits for the REST API").
fn wanted_pause(headers: &HeaderMap, now: jiff::Timestamp) -> Option<Duration> {
    if let Some(wanted) = text(headers, RETRY_AFTER.as_str()) {
        return pause_of(wanted, now);
    }
    if text(headers, "x-ratelimit-remaining")? != "0" {
        return None;
    }
    let renewed: i64 = text(headers, "x-ratelimit-reset")?.parse().ok()?;
    let wait = renewed.checked_sub(now.as_second())?;
    Some(Duration::from_secs(wait.try_into().unwrap_or(0)))
}

/// `Retry-After`: seconds or an HTTP date (RFC 9110, 10.2.3). A date that is past means now.
fn pause_of(text: &str, now: jiff::Timestamp) -> Option<Duration> {
    let text = text.trim();
    if let Ok(seconds) = text.parse::<u64>() {
        return Some(Duration::from_secs(seconds));
    }
    let when = jiff::fmt::rfc2822::DateTimeParser::new()
        .relaxed_weekday(true)
        .parse_timestamp(text)
        .ok()?;
    Some(Duration::from_secs(
        when.as_second()
            .checked_sub(now.as_second())?
            .try_into()
            .unwrap_or(0),
    ))
}

/// The innermost cause: "invalid peer certificate: UnknownIssuer" says more than "error sending request".
pub(crate) fn root_cause(error: &dyn std::error::Error) -> String {
    let mut innermost = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    innermost.to_string()
}

#[cfg(test)]
mod tests;
