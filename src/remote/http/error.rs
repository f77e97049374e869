//! What can go wrong with a request, in words: what was asked, what came, what to do.

use std::fmt;
use std::time::Duration;

use reqwest::StatusCode;

/// Longest text of a server that a message repeats, in characters.
const LONGEST_QUOTE: usize = 300;

/// A request that has no usable answer.
#[derive(Debug)]
pub struct HttpError {
    /// What was to be had, as in "job 42".
    what: String,
    /// Method and address, without the query.
    asked: String,
    failure: Box<Failure>,
    advice: &'static Advice,
}

/// What to do after a refusal: the end of a message, which depends on the service and on what was asked for.
#[derive(Debug)]
pub struct Advice {
    /// After a 401.
    pub unauthorized: &'static str,
    /// After a 403.
    pub forbidden: &'static str,
    /// After a 404.
    pub not_found: &'static str,
    /// After too many requests.
    pub rate_limited: &'static str,
    /// After another refusal.
    pub refused: &'static str,
    /// After a redirect.
    pub redirected: &'static str,
    /// After a web page or other text.
    pub not_json: &'static str,
    /// After JSON of another form.
    pub malformed: &'static str,
}

/// The advice about a Databricks workspace.
pub static WORKSPACE: Advice = Advice {
    unauthorized: "the credentials are wrong, expired or of another workspace: sign in again",
    forbidden: "give the identity that signs in the right to read it",
    not_found: "check that the host is the right workspace and that the id is of it",
    rate_limited: "ask for less with DATABRICKS_RATE_LIMIT (requests a second) or try later",
    refused: "check that host and id are the right ones",
    redirected: "the host is not a workspace, or a login page stands before it: check the host",
    not_json: "a proxy or a login page answered in its place: check the host and HTTPS_PROXY / NO_PROXY",
    malformed: "this version may be too old for the workspace",
};

/// Why there is no usable answer. Texts from the server are neutralised and hold no token that was sent.
#[derive(Debug)]
pub enum Failure {
    /// The client could not be made: the CA bundle, the system's certificates, an address.
    Setup(String),
    /// No connection: name, route, TLS, a connection that broke.
    Unreachable(String),
    /// No whole answer within the time limit.
    TimedOut,
    /// The body ended before its announced end.
    Truncated,
    /// 401, or 403 for a token that the service does not know.
    Unauthorized(StatusCode, Said),
    /// A new token was needed and could not be had.
    NoToken(String),
    /// 403.
    Forbidden(Said),
    /// 404, or an answer that is known to mean the same. See [`Said::proves_absence`].
    NotFound(Said),
    /// 429, or what means the same, until patience ended.
    RateLimited {
        /// The last answer.
        status: StatusCode,
        /// How long it was tried.
        tried: Duration,
        /// What the service said.
        said: Said,
    },
    /// 5xx.
    Server(StatusCode, Said),
    /// Another 4xx.
    Refused(StatusCode, Said),
    /// 3xx: an API of this kind never redirects.
    Redirected(StatusCode, Option<String>),
    /// The answer is a web page or other text.
    NotJson(StatusCode, String),
    /// The body is longer than the limit in bytes.
    TooLarge(usize),
    /// A list with more entries than are read, and what they are. Never cut: what matters could be in the rest.
    TooMany(usize, &'static str),
    /// JSON, but not of the expected form.
    Malformed(String),
    /// JSON of the expected form about something else: what, and what to check.
    Mismatch(String),
}

/// What a service said about an error: its code and its message.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Said {
    /// `error_code` of Databricks, `error` of OAuth.
    pub code: Option<String>,
    /// `message`, `detail` or `error_description`.
    pub message: Option<String>,
}

impl HttpError {
    pub(crate) fn new(
        what: impl Into<String>,
        asked: impl Into<String>,
        failure: Failure,
    ) -> HttpError {
        // Names come from plans and bundles, which anyone may have written.
        HttpError {
            what: quote(&what.into(), &[]),
            asked: asked.into(),
            failure: Box::new(failure),
            advice: &WORKSPACE,
        }
    }

    pub(crate) fn advised(self, advice: &'static Advice) -> HttpError {
        HttpError { advice, ..self }
    }

    /// Why there is no usable answer.
    pub fn failure(&self) -> &Failure {
        &self.failure
    }
}

impl Failure {
    /// Whether the same request may succeed a little later: 429, 502, 503, 504 and broken connections.
    pub fn is_transient(&self) -> bool {
        match self {
            Failure::RateLimited { .. } | Failure::TimedOut | Failure::Truncated => true,
            Failure::Unreachable(why) => !is_about_a_certificate(why),
            Failure::Server(status, _) => matches!(status.as_u16(), 502..=504),
            _ => false,
        }
    }
}

impl Said {
    /// Reads the error forms of Databricks (`error_code`, `message`), SCIM (`detail`) and OAuth (`error`, `error_description`).
    ///
    /// `None` when the body is no JSON object.
    pub(super) fn read(body: &[u8], secrets: &[&str]) -> Option<Said> {
        let object: serde_json::Map<String, serde_json::Value> =
            serde_json::from_slice(body).ok()?;
        let text = |name: &str| match object.get(name)? {
            serde_json::Value::String(text) if !text.is_empty() => Some(quote(text, secrets)),
            _ => None,
        };
        Some(Said {
            code: text("error_code").or_else(|| text("error")),
            message: text("message")
                .or_else(|| text("error_description"))
                .or_else(|| text("detail")),
        })
    }

    /// Whether a 403 is about the token itself, and not about a right. Databricks answers so for a personal token that was revoked.
    pub(super) fn rejects_the_token(&self) -> bool {
        self.message
            .as_deref()
            .is_some_and(|message| message.starts_with("Invalid access token"))
    }

    /// Whether a 403 is about too many requests. GitHub answers so ("API rate limit exceeded", "secondary rate limit").
    pub(super) fn limits_the_rate(&self) -> bool {
        self.message
            .as_deref()
            .is_some_and(|message| message.contains("rate limit"))
    }

    /// Whether the service itself said that the thing does not exist.
    ///
    /// A bare 404, or one for the route (`ENDPOINT_NOT_FOUND`), proves nothing: a wrong host and a proxy answer so too.
    /// Codes: Databricks REST API, "Error codes"; Unity Catalog has one a type (`SCHEMA_DOES_NOT_EXIST`, ...).
    pub fn proves_absence(&self) -> bool {
        match self.code.as_deref() {
            Some("ENDPOINT_NOT_FOUND") | None => false,
            Some(code) => {
                code == "NOT_FOUND"
                    || code.ends_with("_DOES_NOT_EXIST")
                    || code.ends_with("_NOT_FOUND")
            }
        }
    }
}

impl fmt::Display for Said {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.code, &self.message) {
            (Some(code), Some(message)) => {
                write!(f, " ({code}: {})", message.trim_end_matches('.'))
            }
            (Some(code), None) => write!(f, " ({code})"),
            (None, Some(message)) => write!(f, " ({})", message.trim_end_matches('.')),
            (None, None) => Ok(()),
        }
    }
}

impl fmt::Display for HttpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let HttpError {
            what,
            asked,
            failure,
            advice,
        } = self;
        if !what.is_empty() {
            write!(f, "cannot read {what}: ")?;
        }
        match &**failure {
            Failure::Setup(why) => write!(f, "{why}"),
            Failure::Unreachable(why) => {
                write!(f, "{asked} could not be reached: {why}; ")?;
                if is_about_a_certificate(why) {
                    write!(
                        f,
                        "behind a proxy with its own certificate authority, name its PEM file in {}",
                        super::CA_BUNDLE
                    )
                } else {
                    write!(f, "check the host, the network and HTTPS_PROXY / NO_PROXY")
                }
            }
            Failure::TimedOut => write!(
                f,
                "{asked} gave no whole answer in time; check the network and HTTPS_PROXY, or try again later"
            ),
            Failure::Truncated => write!(
                f,
                "the answer of {asked} ended before its announced end; a proxy or the network cut it: try again"
            ),
            Failure::Unauthorized(status, said) => write!(
                f,
                "{asked} answered {}{said}; {}",
                status.as_u16(),
                advice.unauthorized
            ),
            Failure::NoToken(why) => write!(
                f,
                "{asked} needs a new token, and there is none: {why}; sign in again"
            ),
            Failure::Forbidden(said) => {
                write!(f, "{asked} answered 403{said}; {}", advice.forbidden)
            }
            Failure::NotFound(said) => {
                write!(f, "{asked} answered 404{said}; {}", advice.not_found)
            }
            Failure::RateLimited {
                status,
                tried,
                said,
            } => write!(
                f,
                "{asked} still answered {} after {} s{said}; {}",
                status.as_u16(),
                tried.as_secs(),
                advice.rate_limited
            ),
            Failure::Server(status, said) => {
                write!(
                    f,
                    "{asked} answered {}{said}; the service has a problem: try again later",
                    status.as_u16()
                )
            }
            Failure::Refused(status, said) => {
                write!(
                    f,
                    "{asked} answered {}{said}; {}",
                    status.as_u16(),
                    advice.refused
                )
            }
            Failure::Redirected(status, to) => {
                write!(
                    f,
                    "{asked} answered {} (to {}) instead of data; ",
                    status.as_u16(),
                    to.as_deref().unwrap_or("nowhere")
                )?;
                write!(f, "{}", advice.redirected)
            }
            Failure::NotJson(status, start) if start.is_empty() => write!(
                f,
                "{asked} answered {} with nothing where JSON was expected; check the host and HTTPS_PROXY / NO_PROXY",
                status.as_u16()
            ),
            Failure::NotJson(status, start) => write!(
                f,
                "{asked} answered {} with something that is not JSON (it starts with `{start}`); {}",
                status.as_u16(),
                advice.not_json
            ),
            Failure::TooLarge(limit) => write!(
                f,
                "the answer of {asked} is longer than {limit} bytes, the most that is read"
            ),
            Failure::TooMany(limit, what) => write!(
                f,
                "the answer of {asked} has more than {limit} {what}, the most that is read"
            ),
            Failure::Malformed(why) => {
                write!(
                    f,
                    "the answer of {asked} is not what the API promises: {why}; {}",
                    advice.malformed
                )
            }
            Failure::Mismatch(why) => {
                write!(f, "the answer of {asked} is about something else: {why}")
            }
        }
    }
}

impl std::error::Error for HttpError {}

/// A certificate that is not trusted now will not be in a minute.
fn is_about_a_certificate(why: &str) -> bool {
    why.contains("certificate")
}

/// Text of a server, fit for a message: the secrets that were sent taken out, control and direction characters escaped, cut at a length.
pub(crate) fn quote(text: &str, secrets: &[&str]) -> String {
    let mut text = text.to_owned();
    for secret in secrets.iter().filter(|secret| !secret.is_empty()) {
        text = text.replace(secret, "(secret)");
    }
    let mut quoted = String::new();
    for (count, character) in text.chars().enumerate() {
        if count == LONGEST_QUOTE {
            quoted.push('…');
            break;
        }
        let unsafe_to_print = character.is_control()
            || matches!(character, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}');
        if unsafe_to_print {
            quoted.extend(character.escape_unicode());
        } else {
            quoted.push(character);
        }
    }
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_hide_secrets_and_neutralise() {
        assert_eq!(
            quote("token dapi1 is\u{1b}[31m bad\u{202e}", &["dapi1", ""]),
            "token (secret) is\\u{1b}[31m bad\\u{202e}"
        );
        assert_eq!(
            quote(&"x".repeat(1000), &[]).chars().count(),
            LONGEST_QUOTE + 1
        );
    }

    #[test]
    fn only_the_service_proves_absence() {
        let said = |body: &str| Said::read(body.as_bytes(), &[]);
        for body in [
            r#"{"error_code":"RESOURCE_DOES_NOT_EXIST","message":"Path (/x) doesn't exist."}"#,
            r#"{"error_code":"SCHEMA_DOES_NOT_EXIST"}"#,
            r#"{"error_code":"NOT_FOUND"}"#,
        ] {
            assert!(said(body).unwrap().proves_absence(), "{body}");
        }
        for body in [
            r#"{"error_code":"ENDPOINT_NOT_FOUND"}"#,
            r#"{"message":"no"}"#,
            r#"{"error_code":404}"#,
            "{}",
        ] {
            assert!(!said(body).unwrap().proves_absence(), "{body}");
        }
        assert_eq!(said("<html>"), None);
        assert_eq!(said("[]"), None);
    }
}
