//! Everything that touches the network. Behind the cargo feature `remote`.
//!
//! - [`http`]: one client for all services: time limits, retries, pace, size limits, and errors that say what to do
//! - [`environment`]: the machine's variables as a value, for every sign-in
//! - [`databricks`]: the sign-in of the Databricks SDKs and the few reads of the workspace that a verdict needs
//! - [`github`] and [`azure`]: who decided about this run, read from the platform that it runs on
//! - [`setting`]: what can be wrong with a variable of such a platform
//! - [`witness`]: the REST API as a witness for `verify`
//! - [`run`]: the bridge from a synchronous `main`, and many reads at once in a bounded way

mod address;
pub mod azure;
pub mod databricks;
pub mod environment;
pub mod github;
pub mod http;
pub mod run;
pub mod setting;
pub mod witness;

#[cfg(test)]
pub(crate) mod testing;
