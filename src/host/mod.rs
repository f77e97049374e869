//! Everything that touches the machine: files, standard input and output, environment.

pub mod files;
pub mod out;
