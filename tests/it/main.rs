//! The integration tests: one binary, to keep linking short.
#![cfg(test)]

mod approval_openssh;
#[cfg(unix)]
mod approve;
mod architecture;
#[cfg(unix)]
mod audit_log;
#[cfg(unix)]
mod authorize;
mod ci_output;
mod cli;
#[cfg(feature = "remote")]
mod collect;
#[cfg(feature = "remote")]
mod deploy_e2e;
mod digest;
mod documented;
mod fake_workspace;
#[cfg(unix)]
mod gate;
mod hostile;
mod loader;
mod pages;
#[cfg(all(unix, feature = "remote"))]
mod platforms;
mod policy_commands;
mod remote;
mod render;
mod reports;
mod scenarios;
mod source;
#[cfg(feature = "remote")]
mod stage;
mod support;
#[cfg(unix)]
mod tampering;
mod verify;
