//! The integration tests: one binary, to keep linking short.
#![cfg(test)]

mod approval_openssh;
mod architecture;
mod cli;
mod documented;
mod fake_workspace;
mod loader;
mod policy_commands;
mod remote;
mod scenarios;
mod source;
mod support;
