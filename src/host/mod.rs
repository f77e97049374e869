//! Everything that touches the machine: files, standard input and output, programs, environment.

pub mod approval_files;
#[cfg(feature = "remote")]
pub mod cli;
pub mod deploy_record;
pub mod files;
pub mod git;
pub mod log_file;
pub mod manifest;
pub mod out;
pub mod recorded;
pub mod source;
pub mod ssh_keygen;
pub mod sync;
pub mod target_lock;
pub mod terminal;
