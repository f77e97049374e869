//! See the crate map in lib.rs.
