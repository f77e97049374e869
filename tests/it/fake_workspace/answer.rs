//! From a request to an answer: sign-in, pace, faults, and then the routes.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use axum::response::Response;
use serde_json::{Value, json};

use super::faults::{self, What};
use super::{Seen, World, routes};

/// An answer before it is sent.
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) kind: &'static str,
    pub(super) body: Vec<u8>,
    retry_after: Option<u64>,
    /// Send only half of what is announced.
    is_cut: bool,
}

impl Answer {
    pub(super) fn json(body: &Value) -> Answer {
        Answer {
            status: 200,
            kind: "application/json",
            body: body.to_string().into_bytes(),
            retry_after: None,
            is_cut: false,
        }
    }

    pub(super) fn bytes(body: Vec<u8>) -> Answer {
        Answer {
            kind: "application/octet-stream",
            body,
            ..Answer::json(&Value::Null)
        }
    }

    pub(super) fn error(status: u16, code: &str, message: &str) -> Answer {
        Answer {
            status,
            ..Answer::json(&json!({"error_code": code, "message": message}))
        }
    }
}

pub(super) fn router(world: Arc<World>) -> Router {
    Router::new().fallback(
        move |method: Method, uri: Uri, headers: HeaderMap, body: Bytes| {
            let world = world.clone();
            async move { handle(&world, &method, &uri, &headers, &body).await }
        },
    )
}

async fn handle(
    world: &World,
    method: &Method,
    uri: &Uri,
    headers: &HeaderMap,
    body: &[u8],
) -> Response {
    let (answer, wait) = decide(world, method, uri, headers, body);
    tokio::time::sleep(wait).await;
    let mut response = Response::builder()
        .status(StatusCode::from_u16(answer.status).unwrap())
        .header("content-type", answer.kind)
        .header("x-databricks-org-id", "900800700600");
    if let Some(seconds) = answer.retry_after {
        response = response.header("retry-after", seconds);
    }
    if !answer.is_cut {
        return response.body(Body::from(answer.body)).unwrap();
    }
    // Half the bytes, a moment for them to leave, and then a broken connection: what was announced never comes.
    let half = Bytes::from(answer.body[..answer.body.len() / 2].to_vec());
    let cut = Cut {
        half: Some(half),
        pause: Box::pin(tokio::time::sleep(CUT_AFTER)),
    };
    response
        .header("content-length", answer.body.len())
        .body(Body::from_stream(cut))
        .unwrap()
}

/// Time for the first half of a cut body to leave.
const CUT_AFTER: Duration = Duration::from_millis(30);

/// A body that breaks off.
struct Cut {
    half: Option<Bytes>,
    pause: Pin<Box<tokio::time::Sleep>>,
}

impl futures_core::Stream for Cut {
    type Item = Result<Bytes, std::io::Error>;
    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        match self.half.take() {
            Some(half) => Poll::Ready(Some(Ok(half))),
            None => self
                .pause
                .as_mut()
                .poll(context)
                .map(|()| Some(Err(std::io::Error::other("cut")))),
        }
    }
}

fn decide(
    world: &World,
    method: &Method,
    uri: &Uri,
    headers: &HeaderMap,
    body: &[u8],
) -> (Answer, Duration) {
    let (path, query) = (uri.path(), uri.query().unwrap_or_default());
    let mut inside = world.lock();
    let mut wait = inside.latency;
    let fault = if inside.is_over_the_limit() {
        Some(What::Storm { retry_after: 1 })
    } else {
        faults::next(&mut inside.faults, method.as_str(), path, query)
    };
    let is_open = path.starts_with("/oidc/")
        || path.starts_with("/fake/")
        || path.starts_with("/.well-known/");
    let is_signed_in = is_open
        || headers
            .get("authorization")
            .and_then(|value| value.to_str().ok()?.strip_prefix("Bearer "))
            .is_some_and(|token| inside.tokens.iter().any(|known| known == token));
    let answer = if !is_signed_in {
        Answer::error(
            401,
            "UNAUTHENTICATED",
            "Credential was not sent or was of an unsupported type for this API.",
        )
    } else {
        let right =
            |inside: &mut super::Inside| routes::answer(inside, method.as_str(), path, query, body);
        match fault {
            None => right(&mut inside),
            Some(What::Forbid) => Answer::error(403, "PERMISSION_DENIED", "no"),
            Some(What::Unauthorized) => Answer::error(401, "UNAUTHENTICATED", "Token is expired."),
            Some(What::Status(status)) => {
                Answer::error(status, "INTERNAL_ERROR", "the fake was told to fail")
            }
            Some(What::Storm { retry_after }) => Answer {
                retry_after: Some(retry_after),
                ..Answer::error(429, "REQUEST_LIMIT_EXCEEDED", "too many requests")
            },
            Some(What::Html) => Answer {
                kind: "text/html",
                ..Answer::bytes(b"<html><title>Proxy</title></html>".to_vec())
            },
            Some(What::Truncated) => Answer {
                is_cut: true,
                ..right(&mut inside)
            },
            Some(What::Slow(longer)) => {
                wait += longer;
                right(&mut inside)
            }
            Some(What::Stale(earlier)) => {
                let now = std::mem::replace(&mut inside.state, *earlier);
                let answer = right(&mut inside);
                inside.state = now;
                answer
            }
            Some(What::Then(change)) => {
                let answer = right(&mut inside);
                change(&mut inside.state);
                answer
            }
        }
    };
    inside.seen.push(Seen {
        method: method.to_string(),
        path: path.to_owned(),
        query: query.to_owned(),
        status: answer.status,
        at: Instant::now(),
    });
    (answer, wait)
}
