//! The bridge from a synchronous `main` to the asynchronous reads.

use std::future::Future;
use std::io;

use tokio::task::JoinSet;

/// How many reads [`each`] keeps under way at once. At 20 ms a read this allows 800 a second, far more than any limit of the workspace.
pub const IN_FLIGHT: usize = 16;

/// Why [`block_on`] has no result.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The runtime could not be started.
    #[error(
        "the runtime for network calls could not be started: {0}; check the limits of open files and memory"
    )]
    Start(#[source] io::Error),
    /// Ctrl-C, or on Unix a SIGTERM: what was under way was dropped.
    #[error("interrupted")]
    Interrupted,
}

/// Runs `work` to its end on this thread, or stops it at Ctrl-C (on Unix also at SIGTERM, which CI systems send when a run is cancelled).
///
/// Dropping the work closes its connections and kills the programs that it started.
///
/// # Errors
/// [`RunError::Interrupted`] when a signal came first, [`RunError::Start`] when there is no runtime.
pub fn block_on<T>(work: impl Future<Output = T>) -> Result<T, RunError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(RunError::Start)?;
    runtime.block_on(async {
        tokio::select! {
            biased;
            stopped = interrupted() => match stopped {
                Ok(()) => Err(RunError::Interrupted),
                Err(cause) => Err(RunError::Start(cause)),
            },
            result = work => Ok(result),
        }
    })
}

#[cfg(unix)]
async fn interrupted() -> io::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminate = signal(SignalKind::terminate())?;
    tokio::select! {
        stopped = tokio::signal::ctrl_c() => stopped,
        _ = terminate.recv() => Ok(()),
    }
}

#[cfg(not(unix))]
async fn interrupted() -> io::Result<()> {
    tokio::signal::ctrl_c().await
}

/// Runs `job` for each item, at most [`IN_FLIGHT`] at a time, and returns the results in the items' order.
///
/// `done` hears after each finished item how many are finished, for a progress bar. Dropping the future stops all jobs.
///
/// # Panics
/// Only when a job panics: its panic is carried on.
pub async fn each<T, R, Fut>(
    items: impl IntoIterator<Item = T>,
    job: impl Fn(T) -> Fut,
    mut done: impl FnMut(usize),
) -> Vec<R>
where
    Fut: Future<Output = R> + Send + 'static,
    R: Send + 'static,
{
    let mut items = items.into_iter().enumerate();
    let mut results: Vec<(usize, R)> = Vec::new();
    let mut running = JoinSet::new();
    loop {
        while running.len() < IN_FLIGHT
            && let Some((place, item)) = items.next()
        {
            let work = job(item);
            running.spawn(async move { (place, work.await) });
        }
        match running.join_next().await {
            None => break,
            Some(Ok(result)) => {
                results.push(result);
                done(results.len());
            }
            Some(Err(failed)) => {
                if let Ok(panic) = failed.try_into_panic() {
                    std::panic::resume_unwind(panic);
                }
            }
        }
    }
    results.sort_by_key(|(place, _)| *place);
    results.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use super::*;

    #[test]
    fn keeps_the_order_and_the_bound() {
        let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let mut seen = Vec::new();
        let results = block_on(each(
            0..100_u64,
            |n| {
                let (now, most) = (now.clone(), most.clone());
                async move {
                    most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                    tokio::time::sleep(Duration::from_millis((100 - n) % 7)).await;
                    now.fetch_sub(1, Ordering::SeqCst);
                    n * 2
                }
            },
            |finished| seen.push(finished),
        ))
        .unwrap();
        assert_eq!(results, (0..100).map(|n| n * 2).collect::<Vec<u64>>());
        assert_eq!(seen, (1..=100).collect::<Vec<_>>());
        assert_eq!(most.load(Ordering::SeqCst), IN_FLIGHT);
    }

    /// In a process of its own: the signal would stop the work of all other tests too.
    #[cfg(unix)]
    #[test]
    fn a_signal_stops_the_work() {
        const CHILD: &str = "BUNDLEGATE_TEST_SIGNAL_CHILD";
        if std::env::var_os(CHILD).is_none() {
            let child = std::process::Command::new(std::env::current_exe().unwrap())
                .args(["--exact", "remote::run::tests::a_signal_stops_the_work"])
                .env(CHILD, "1")
                .status()
                .unwrap();
            assert!(child.success());
            return;
        }
        for signal in ["TERM", "INT"] {
            let stopped = block_on(async {
                let kill = format!("kill -{signal} $PPID");
                let sent = tokio::process::Command::new("sh")
                    .args(["-c", &kill])
                    .status()
                    .await;
                assert!(sent.unwrap().success());
                std::future::pending::<()>().await;
            });
            assert!(matches!(stopped, Err(RunError::Interrupted)), "{signal}");
        }
    }

    #[test]
    fn nothing_to_do_is_done() {
        let none: Vec<u8> = block_on(each(Vec::<u8>::new(), |n| async move { n }, |_| {})).unwrap();
        assert!(none.is_empty());
    }
}
