//! The integration tests: one binary, to keep linking short.
#![cfg(test)]

mod approval_openssh;
mod approve;
mod architecture;
mod audit_log;
mod authorize;
mod cli;
#[cfg(feature = "remote")]
mod collect;
#[cfg(feature = "remote")]
mod deploy_e2e;
mod digest;
mod documented;
mod fake_workspace;
mod gate;
mod loader;
mod policy_commands;
mod remote;
mod scenarios;
mod source;
#[cfg(feature = "remote")]
mod stage;
mod support;
mod tampering;
mod verify;
