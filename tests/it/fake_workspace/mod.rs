//! A workspace on loopback that remembers: what is created stays, what is deleted is gone, and it can be told to misbehave.
//!
//! It answers what bundlegate and the Databricks CLI ask for: identity, workspace files, jobs, pipelines, permissions, Unity Catalog objects and
//! grants, and (read only) alerts, apps, clusters and dashboards. Every test has its own, on its own port.
//!
//! ```ignore
//! let fake = FakeWorkspace::start();
//! fake.seed_scenario(Path::new("tests/scenarios/run-as-drift-job"));
//! fake.fault(Fault::new("GET", "/api/2.2/jobs/get", What::Storm { retry_after: 1 }).times(3));
//! command.envs(fake.environment());
//! assert_eq!(fake.requests_to("GET", "/api/2.2/jobs/get").len(), 4);
//! ```
//!
//! A program in another process (a fake CLI) reaches it through `POST /fake/deploy`, see [`FakeWorkspace::deploy`].

#![cfg(test)]
#![cfg(feature = "remote")]

mod answer;
mod faults;
mod routes;
mod state;

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::Value;

pub(crate) use faults::{Fault, What};
pub(crate) use state::{Kind, State};

/// The token that the fake accepts unless told otherwise.
pub(crate) const TOKEN: &str = "dapi-fake-token-0123456789";
/// Who is signed in.
pub(crate) const IDENTITY: &str = "0b7a0d1e-0000-4000-8000-00000000bb01";

/// A running fake. It stops when dropped.
pub(crate) struct FakeWorkspace {
    address: std::net::SocketAddr,
    world: Arc<World>,
    stop: Option<tokio::sync::oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// What the handler shares with the test.
pub(crate) struct World {
    inside: Mutex<Inside>,
}

/// Everything that can change.
pub(crate) struct Inside {
    pub(crate) state: State,
    pub(crate) faults: Vec<Fault>,
    pub(crate) tokens: Vec<String>,
    pub(crate) seen: Vec<Seen>,
    /// Added to every answer.
    pub(crate) latency: Duration,
    /// Requests a second before 429, counted in whole seconds since the first request.
    pub(crate) limit: Option<u32>,
    /// Items on a page of a list.
    pub(crate) page: usize,
    window: Option<(Instant, u32)>,
}

/// A request that came, and how it was answered.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) query: String,
    pub(crate) status: u16,
    pub(crate) at: Instant,
}

impl World {
    pub(crate) fn lock(&self) -> MutexGuard<'_, Inside> {
        self.inside.lock().unwrap()
    }
}

impl Inside {
    /// Whether this request is over the limit.
    fn is_over_the_limit(&mut self) -> bool {
        let Some(limit) = self.limit else {
            return false;
        };
        let now = Instant::now();
        let (start, count) = match self.window {
            Some((start, count)) if now.duration_since(start) < Duration::from_secs(1) => {
                (start, count + 1)
            }
            Some((start, _)) => (
                start + Duration::from_secs(now.duration_since(start).as_secs()),
                1,
            ),
            None => (now, 1),
        };
        self.window = Some((start, count));
        count > limit
    }
}

impl FakeWorkspace {
    /// Starts an empty workspace.
    pub(crate) fn start() -> FakeWorkspace {
        let world = Arc::new(World {
            inside: Mutex::new(Inside {
                state: State::default(),
                faults: Vec::new(),
                tokens: vec![TOKEN.to_owned()],
                seen: Vec::new(),
                latency: Duration::ZERO,
                limit: None,
                page: 50,
                window: None,
            }),
        });
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = tokio::sync::oneshot::channel();
        let shared = world.clone();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap();
            runtime.block_on(async move {
                let listener = tokio::net::TcpListener::from_std(listener).unwrap();
                let server = axum::serve(listener, answer::router(shared));
                tokio::select! {
                    served = async { server.await } => served.unwrap(),
                    _ = stopped => {}
                }
            });
        });
        FakeWorkspace {
            address,
            world,
            stop: Some(stop),
            thread: Some(thread),
        }
    }

    /// Starts one that holds what a recorded scenario's workspace held before its deploy.
    pub(crate) fn of_scenario(folder: &Path) -> FakeWorkspace {
        let fake = FakeWorkspace::start();
        fake.seed_scenario(folder);
        fake
    }

    /// Its address, `http://127.0.0.1:PORT`.
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The variables with which one signs in to it.
    pub(crate) fn environment(&self) -> [(String, String); 2] {
        [
            ("DATABRICKS_HOST".to_owned(), self.url()),
            ("DATABRICKS_TOKEN".to_owned(), TOKEN.to_owned()),
        ]
    }

    /// Everything inside, to look at and to change.
    pub(crate) fn inside(&self) -> MutexGuard<'_, Inside> {
        self.world.lock()
    }

    /// Adds a fault; the first one that fits a request counts.
    pub(crate) fn fault(&self, fault: Fault) {
        self.inside().faults.push(fault);
    }

    /// From now on `request` gets the answer of this moment, for the next `times` times: the workspace's eventual consistency.
    pub(crate) fn stale(&self, method: &str, path: &str, times: usize) {
        let now = self.inside().state.clone();
        self.fault(Fault::new(method, path, What::Stale(Box::new(now))).times(times));
    }

    /// The next request that fits is answered; right after it the object runs as `who`: a drift between two reads.
    pub(crate) fn drift_after(&self, kind: Kind, id: &str, who: &str) {
        let path = state::path_of(kind, id);
        let (id, who) = (id.to_owned(), who.to_owned());
        let change = move |state: &mut State| state.set_run_as(kind, &id, &who);
        self.fault(Fault::new("GET", &path, What::Then(Arc::new(change))).times(1));
    }

    /// Whoever deletes this gets 403, and it stays.
    pub(crate) fn forbid_delete(&self, kind: Kind, id: &str) {
        self.inside().state.kept.insert((kind, id.to_owned()));
    }

    /// Puts in what a plan's entries say exists (`remote_state`).
    pub(crate) fn seed_plan(&self, plan: &Value) {
        self.inside().state.seed_plan(plan);
    }

    /// Puts in what the workspace of a recorded scenario held before its deploy: the plan's remote states and the state file.
    pub(crate) fn seed_scenario(&self, folder: &Path) {
        self.seed_plan(&read_json(&folder.join("plan.json")));
        let state_path = read_json(&folder.join("bundle.json"))
            .pointer("/workspace/state_path")
            .and_then(Value::as_str)
            .map(str::to_owned);
        if let (Some(path), Ok(bytes)) = (state_path, std::fs::read(folder.join("state.json"))) {
            self.inside()
                .state
                .write_file(&format!("{path}/resources.json"), bytes);
        }
    }

    /// Does to the workspace what a deploy of `plan` did, told by the plan that was made after it: deletes what the plan deletes or recreates
    /// (unless [`FakeWorkspace::forbid_delete`] keeps it), then puts in what `after` says exists. With `file`, writes the state file too.
    ///
    /// In another process: `POST /fake/deploy` with `{"plan": ..., "after": ..., "file": {"path": ..., "text": ...}}`.
    pub(crate) fn deploy(&self, plan: &Value, after: &Value, file: Option<(&str, &[u8])>) {
        let mut inside = self.inside();
        inside.state.deploy(plan, after);
        if let Some((path, bytes)) = file {
            inside.state.write_file(path, bytes.to_vec());
        }
    }

    /// The requests that came so far.
    pub(crate) fn requests(&self) -> Vec<Seen> {
        self.inside().seen.clone()
    }

    /// The requests to one route so far.
    pub(crate) fn requests_to(&self, method: &str, path: &str) -> Vec<Seen> {
        self.requests()
            .into_iter()
            .filter(|seen| seen.method == method && seen.path.starts_with(path))
            .collect()
    }
}

impl Drop for FakeWorkspace {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// A JSON file.
pub(crate) fn read_json(path: &Path) -> Value {
    let bytes = std::fs::read(path).unwrap_or_else(|cause| panic!("{}: {cause}", path.display()));
    serde_json::from_slice(&bytes).unwrap_or_else(|cause| panic!("{}: {cause}", path.display()))
}
