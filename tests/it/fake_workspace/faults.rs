//! How the workspace can misbehave.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::state::State;

/// A misbehaviour of the routes that begin with a path.
#[derive(Debug, Clone)]
pub(crate) struct Fault {
    method: String,
    path: String,
    query: String,
    pub(crate) what: What,
    left: Option<usize>,
}

/// What happens instead of the answer, or with it.
#[derive(Clone)]
pub(crate) enum What {
    /// 403, "may not".
    Forbid,
    /// 401: the token is no longer good.
    Unauthorized,
    /// 429 with `Retry-After`.
    Storm { retry_after: u64 },
    /// Any status, with an error of the API's form.
    Status(u16),
    /// The right answer, later.
    Slow(Duration),
    /// The right answer's first half.
    Truncated,
    /// The page of a proxy.
    Html,
    /// What was right at an earlier moment.
    Stale(Box<State>),
    /// The right answer, and then a change.
    Then(Arc<dyn Fn(&mut State) + Send + Sync>),
}

impl fmt::Debug for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            What::Forbid => "Forbid",
            What::Unauthorized => "Unauthorized",
            What::Storm { .. } => "Storm",
            What::Status(_) => "Status",
            What::Slow(_) => "Slow",
            What::Truncated => "Truncated",
            What::Html => "Html",
            What::Stale(_) => "Stale",
            What::Then(_) => "Then",
        })
    }
}

impl Fault {
    /// For all requests of a method (`*` for any) whose path begins like this. With `?` also the query must contain what follows it.
    pub(crate) fn new(method: &str, path: &str, what: What) -> Fault {
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        Fault {
            method: method.to_owned(),
            path: path.to_owned(),
            query: query.to_owned(),
            what,
            left: None,
        }
    }

    /// Only this many times.
    pub(crate) fn times(self, times: usize) -> Fault {
        Fault {
            left: Some(times),
            ..self
        }
    }

    fn fits(&self, method: &str, path: &str, query: &str) -> bool {
        self.left != Some(0)
            && (self.method == "*" || self.method == method)
            && path.starts_with(&self.path)
            && query.contains(&self.query)
    }
}

/// The first fault that fits, used up once.
pub(super) fn next(faults: &mut [Fault], method: &str, path: &str, query: &str) -> Option<What> {
    let fault = faults
        .iter_mut()
        .find(|fault| fault.fits(method, path, query))?;
    if let Some(left) = &mut fault.left {
        *left -= 1;
    }
    Some(fault.what.clone())
}
