//! The report in which every command ends: findings, the verdict, and a body for each command.

mod authorize;
mod deploy;
mod digest;
pub mod exposure;
mod finding;
mod head;
pub mod show;
mod verdict;
mod verify;

pub use authorize::AuthorizeBody;
pub use deploy::{DeployBody, Step, StepAt};
pub use digest::{DigestBody, LeftOut};
pub use finding::{Finding, Place, Status, WaiverNote, fingerprint};
pub use head::{
    Body, Counts, Digests, InputDigest, NotRun, PlanHead, PolicyHead, Report, SCHEMA, json_schema,
};
pub use verdict::{Exit, Verdict, sort, verdict};
pub use verify::{Check, Outcome, Row, Silence, Tally, Verification, Witness};
