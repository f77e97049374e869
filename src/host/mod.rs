//! Files, clock, programs: everything that touches the machine.

pub mod git;
pub mod log_file;
pub mod ssh_keygen;
