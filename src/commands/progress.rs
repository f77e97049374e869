//! How far a long read is: a bar on a terminal, else a line every 30 seconds.

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::host::out;

/// Time between two lines where there is no terminal.
const BETWEEN_LINES: Duration = Duration::from_secs(30);

/// How far a long read is.
#[derive(Debug)]
pub(super) struct Progress {
    what: &'static str,
    total: usize,
    bar: Option<ProgressBar>,
    next: Option<Instant>,
}

impl Progress {
    /// Of `total` things; nothing is shown when `quiet`.
    pub(super) fn new(what: &'static str, total: usize, quiet: bool) -> Self {
        let terminal = out::stderr_is_terminal() && !quiet;
        let bar = terminal.then(|| {
            let bar = ProgressBar::with_draw_target(
                Some(total as u64),
                ProgressDrawTarget::stderr_with_hz(4),
            );
            if let Ok(style) = ProgressStyle::with_template("{prefix} {bar:30} {pos}/{len} ({eta})")
            {
                bar.set_style(style);
            }
            bar.set_prefix(what);
            bar
        });
        Self {
            what,
            total,
            next: (!terminal && !quiet).then(|| Instant::now() + BETWEEN_LINES),
            bar,
        }
    }

    /// So many are done.
    pub(super) fn at(&mut self, done: usize) {
        if let Some(bar) = &self.bar {
            bar.set_position(done as u64);
            return;
        }
        let now = Instant::now();
        if let Some(next) = self.next
            && now >= next
            && done < self.total
        {
            out::stderr(&format!("{}: {done} of {}\n", self.what, self.total));
            self.next = Some(now + BETWEEN_LINES);
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
