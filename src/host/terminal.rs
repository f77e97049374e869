//! Asking a person on a terminal.

use std::io::{self, BufRead as _, IsTerminal as _, Read as _};

/// The longest answer, in bytes.
const MAX_ANSWER: u64 = 8 * 1024;

/// Whether there is a person to ask: standard input and standard error are a terminal.
#[must_use]
pub fn is_interactive() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// One line of standard input, trimmed; `None` at its end.
///
/// # Errors
/// Whatever reading fails with.
pub fn line() -> io::Result<Option<String>> {
    let mut line = String::new();
    let read = io::stdin().lock().take(MAX_ANSWER).read_line(&mut line)?;
    Ok((read > 0).then(|| line.trim().to_owned()))
}
