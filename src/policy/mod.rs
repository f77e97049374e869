//! The policy: its file format, `extends`, selectors, waivers, and the resolved form that rules ask.
//!
//! - `yaml`: text to values with places; refuses what makes YAML ambiguous
//! - `decode`, `choice`, `value`: values to typed records, going on after a mistake
//! - `file`: the records of the format
//! - `load`, `merge`: `extends`, and what a locked policy does not let a child do
//! - `resolved`: the result
//! - `custom`: rules of the policy's own, in CEL
//!
//! Files come in through a closure, rule ids and resource types as arguments: nothing here reads the disk, the clock or the registry.

mod choice;
mod custom;
mod decode;
mod diagnostic;
mod file;
mod level;
mod load;
mod location;
mod merge;
mod resolved;
mod schema;
mod selector;
#[cfg(test)]
mod tests;
mod text;
mod value;
mod waiver;
mod yaml;

pub use choice::UnknownWord;
pub use custom::{CustomContext, CustomError, CustomRule, UNKNOWN, Work};
pub use diagnostic::{Diagnostic, Diagnostics, Severity};
pub use file::{
    Accept, AcceptAzure, AcceptGithub, AcceptSsh, BundleSection, CliSection, GithubAccount, Input,
    Limits, Match, Person, Principal, Reviewers, RunAsRule, Section, Separation, StateEntry,
    StateTable,
};
pub use level::{Level, Standing};
pub use load::{Catalogue, Embedded, PolicyError, PolicyRef, load};
pub use location::{At, Location, SourceFile};
pub use resolved::{
    Approval, Identity, Layer, LevelOverrideError, Origin, Policy, RuleSetting, SelectorUse, Verify,
};
pub use schema::json_schema;
pub use selector::{NameGlob, PathGlob, Protect, Selector};
pub use value::{
    CliRange, CliVersion, Fingerprint, LastDay, PolicyDuration, RuleId, WorkspaceHost,
};
pub use waiver::{Waiver, WaiverStatus};
pub use yaml::MAX_BYTES;
