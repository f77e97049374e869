//! The one place that writes to standard output and standard error.

use std::io::{self, IsTerminal as _, Write};

/// Writes to standard output. A reader that has gone away is no failure.
///
/// # Errors
/// Any other failure, such as a full disk.
pub fn stdout(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}

/// Writes to standard error; there is nowhere to say that it failed.
pub fn stderr(text: &str) {
    let mut out = io::stderr().lock();
    drop(out.write_all(text.as_bytes()));
}

/// Whether standard output is a terminal.
#[must_use]
pub fn stdout_is_terminal() -> bool {
    io::stdout().is_terminal()
}

/// Whether standard error is a terminal.
#[must_use]
pub fn stderr_is_terminal() -> bool {
    io::stderr().is_terminal()
}
