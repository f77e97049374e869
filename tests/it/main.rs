//! The integration tests: one binary, to keep linking short.

mod approval_openssh;
mod fake_workspace;
mod loader;
mod remote;
mod scenarios;
mod source;
mod support;
