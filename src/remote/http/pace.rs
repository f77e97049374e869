//! The pace of requests: evenly spaced, and held back for all when the service asks for it.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

/// What a second of the limit is stretched to. The small margin keeps a second of the service from seeing one request more than a second
/// of ours when the network delivers unevenly: each answer 429 would cost far more.
const SECOND: Duration = Duration::from_millis(1030);

/// Hands out turns at a fixed rate. Evenly spaced turns stay under a limit of the same rate however the service counts it.
#[derive(Debug)]
pub(super) struct Pace {
    interval: Duration,
    next: Mutex<Option<Instant>>,
}

impl Pace {
    /// `per_second` turns a second; 0 counts as 1.
    pub(super) fn new(per_second: u32) -> Pace {
        Pace {
            interval: SECOND / per_second.max(1),
            next: Mutex::new(None),
        }
    }

    /// Waits for the next free turn.
    pub(super) async fn turn(&self) {
        let mine = {
            let now = Instant::now();
            let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
            let mine = next.map_or(now, |next| next.max(now));
            *next = Some(mine + self.interval);
            mine
        };
        sleep_until(mine).await;
    }

    /// No new turn before `pause` is over: one answer 429 speaks for all requests.
    pub(super) fn hold(&self, pause: Duration) {
        let until = Instant::now() + pause;
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        *next = Some(next.map_or(until, |next| next.max(until)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_are_evenly_spaced_and_can_be_held() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            let pace = Pace::new(100);
            let start = Instant::now();
            for _ in 0..6 {
                pace.turn().await;
            }
            assert!(
                start.elapsed() >= Duration::from_millis(50),
                "the first turn is free, five wait 10 ms each"
            );
            pace.hold(Duration::from_millis(80));
            let held = Instant::now();
            pace.turn().await;
            assert!(held.elapsed() >= Duration::from_millis(80));
        });
    }
}
