//! What the tests of all services share.

use std::fmt::{Debug, Display};
use std::time::Duration;

use crate::remote::http::HttpOptions;

pub(crate) fn run<T>(work: impl Future<Output = T>) -> T {
    crate::remote::run::block_on(work).unwrap()
}

/// No waiting: loopback answers at once.
pub(crate) fn quick() -> HttpOptions {
    HttpOptions {
        per_second: 10_000,
        retry_for: Duration::from_millis(100),
        first_pause: Duration::from_millis(5),
        ..HttpOptions::default()
    }
}

/// An error's text without this run's address. It never holds a secret of these tests, nor what could steer a terminal or a log.
pub(crate) fn shown(error: &(impl Display + Debug), server: &str) -> String {
    let text = error.to_string();
    assert!(!format!("{text} {error:?}").contains("s3cr3t"), "{text}");
    assert!(!text.contains(['\u{1b}', '\u{202e}']), "{text:?}");
    text.replace(server, "https://HOST")
}
