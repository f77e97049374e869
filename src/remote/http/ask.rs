//! A request, and how its answer is read.

use reqwest::{Method, StatusCode};
use secrecy::{ExposeSecret, SecretString};
use serde::de::DeserializeOwned;
use url::Url;

use super::LONGEST_BODY;
use super::error::{Advice, Failure, HttpError, WORKSPACE, quote};

/// How much of an unexpected answer is repeated, in bytes.
const PEEK: usize = 40;

/// One request.
#[derive(Debug, Clone)]
pub struct Ask {
    pub(super) what: String,
    pub(super) method: Method,
    pub(super) url: Url,
    pub(super) sign: Sign,
    pub(super) headers: Vec<(&'static str, &'static str)>,
    pub(super) form: Vec<(&'static str, String)>,
    pub(super) secret_form: Vec<(&'static str, SecretString)>,
    pub(super) repeatable: bool,
    pub(super) limit: usize,
    pub(super) advice: &'static Advice,
}

#[derive(Debug, Clone)]
pub(super) enum Sign {
    None,
    Bearer(SecretString),
    Basic(String, SecretString),
}

impl Ask {
    /// A read. `what` names the thing in messages, as in "job 42".
    pub fn get(url: Url, what: impl Into<String>) -> Ask {
        Ask {
            what: what.into(),
            method: Method::GET,
            url,
            sign: Sign::None,
            headers: Vec::new(),
            form: Vec::new(),
            secret_form: Vec::new(),
            repeatable: true,
            limit: LONGEST_BODY,
            advice: &WORKSPACE,
        }
    }

    /// A read of an address with a query; without one `what` has a name that cannot be part of an address.
    pub(crate) fn read(
        what: String,
        url: Option<Url>,
        query: &[(&str, &str)],
    ) -> Result<Ask, HttpError> {
        let Some(mut url) = url else {
            return Err(HttpError::new(
                what,
                "",
                Failure::Setup("its name cannot be part of an address".to_owned()),
            ));
        };
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        Ok(Ask::get(url, what))
    }

    /// A POST of form fields, or of nothing when there are none. It is not repeated unless [`Ask::repeatable`] says that a second one does no harm.
    pub fn post_form(url: Url, what: impl Into<String>, form: Vec<(&'static str, String)>) -> Ask {
        Ask {
            method: Method::POST,
            form,
            repeatable: false,
            ..Ask::get(url, what)
        }
    }

    /// Adds a form field.
    pub fn form_field(mut self, name: &'static str, value: impl Into<String>) -> Ask {
        self.form.push((name, value.into()));
        self
    }

    /// Adds a form field that must not come back in any message.
    pub fn secret_field(mut self, name: &'static str, value: &SecretString) -> Ask {
        self.secret_form.push((name, value.clone()));
        self
    }

    /// This request may be sent twice.
    pub fn repeatable(self) -> Ask {
        Ask {
            repeatable: true,
            ..self
        }
    }

    /// Signs with `Authorization: Bearer`.
    pub fn bearer(self, token: &SecretString) -> Ask {
        Ask {
            sign: Sign::Bearer(token.clone()),
            ..self
        }
    }

    /// Signs with `Authorization: Basic`.
    pub fn basic(self, user: impl Into<String>, password: SecretString) -> Ask {
        Ask {
            sign: Sign::Basic(user.into(), password),
            ..self
        }
    }

    /// Adds a header. Not for secrets.
    pub fn header(mut self, name: &'static str, value: &'static str) -> Ask {
        self.headers.push((name, value));
        self
    }

    /// The most bytes that are read of the answer.
    pub fn at_most(self, limit: usize) -> Ask {
        Ask { limit, ..self }
    }

    /// What a person is told to do after a refusal, where that is not about a workspace.
    pub fn advised(self, advice: &'static Advice) -> Ask {
        Ask { advice, ..self }
    }

    /// Where it goes.
    pub(crate) fn url(&self) -> &Url {
        &self.url
    }

    /// Text of the service, neutralised, without the secrets of this request.
    pub(crate) fn quoted(&self, text: &str) -> String {
        quote(text, &self.secrets())
    }

    /// Every secret that this request carries: none of them may come back in a message.
    pub(super) fn secrets(&self) -> Vec<&str> {
        let signed = match &self.sign {
            Sign::None => None,
            Sign::Bearer(secret) | Sign::Basic(_, secret) => Some(secret),
        };
        signed
            .into_iter()
            .chain(self.secret_form.iter().map(|(_, value)| value))
            .map(ExposeSecret::expose_secret)
            .collect()
    }

    /// Method and address without the query, which can be long and can name what need not be in a log.
    fn asked(&self) -> String {
        let mut url = self.url.clone();
        url.set_query(None);
        url.set_fragment(None);
        format!("{} {url}", self.method)
    }

    /// Reads the body of a successful answer to this request.
    pub(crate) fn parse<T: DeserializeOwned>(&self, body: &[u8]) -> Result<T, HttpError> {
        if !matches!(
            body.iter().find(|byte| !byte.is_ascii_whitespace()),
            Some(b'{' | b'[')
        ) {
            return Err(self.failed(not_json(StatusCode::OK, body, self)));
        }
        serde_json::from_slice(body).map_err(|cause| self.malformed(&cause.to_string()))
    }

    /// The answer is JSON and not what was promised.
    pub(crate) fn malformed(&self, why: &str) -> HttpError {
        self.failed(Failure::Malformed(self.quoted(why)))
    }

    /// The answer is about something else than what was asked for.
    pub(crate) fn mismatch(&self, why: &str) -> HttpError {
        self.failed(Failure::Mismatch(self.quoted(why)))
    }

    pub(crate) fn failed(&self, failure: Failure) -> HttpError {
        HttpError::new(self.what.clone(), self.asked(), failure).advised(self.advice)
    }
}

/// An answer that is no JSON, told by its start.
pub(super) fn not_json(status: StatusCode, body: &[u8], ask: &Ask) -> Failure {
    let start: Vec<u8> = body
        .iter()
        .copied()
        .skip_while(u8::is_ascii_whitespace)
        .take(PEEK)
        .collect();
    Failure::NotJson(
        status,
        quote(&String::from_utf8_lossy(&start), &ask.secrets()),
    )
}
