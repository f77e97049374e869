//! Everything that touches the network. Behind the cargo feature `remote`.
//!
//! - [`http`]: one client for all services: time limits, retries, pace, size limits, and errors that say what to do
//! - [`databricks`]: the sign-in of the Databricks SDKs and the few reads of the workspace that a verdict needs
//! - [`witness`]: the REST API as a witness for `verify`
//! - [`run`]: the bridge from a synchronous `main`, and many reads at once in a bounded way

pub mod databricks;
pub mod http;
pub mod run;
pub mod witness;
