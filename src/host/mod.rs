//! Files, clock, programs: everything that touches the machine.

pub mod approval_files;
pub mod git;
pub mod log_file;
pub mod manifest;
pub mod source;
pub mod ssh_keygen;
pub mod sync;
