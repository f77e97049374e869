//! The report in which every command ends: findings, the verdict, and a body for each command.

pub mod exposure;
mod finding;
mod head;
pub mod show;
mod verdict;

pub use finding::{Finding, Place, Status, WaiverNote, fingerprint};
pub use head::{
    Body, Counts, Digests, InputDigest, NotRun, PlanHead, PolicyHead, Report, SCHEMA, json_schema,
};
pub use verdict::{Exit, Verdict, sort, verdict};
