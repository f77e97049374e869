//! The integration tests: one binary, to keep linking short.
#![cfg(test)]

mod approval_openssh;
mod approve;
mod audit_log;
mod authorize;
mod digest;
mod documented;
mod fake_workspace;
mod gate;
mod loader;
mod remote;
mod scenarios;
mod source;
mod support;
mod tampering;
