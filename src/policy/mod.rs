//! The policy: its file format, `extends`, selectors, waivers, and the resolved form that rules ask.
//!
//! - `yaml`: text to values with places; refuses what makes YAML ambiguous
//! - `decode`, `choice`, `value`: values to typed records, going on after a mistake
//! - `file`, `identity`, `approval`: the records of the format
//! - `load`, `merge`, `lock`: `extends`, and what a locked policy does not let a child do
//! - `resolved`, `layers`: the result
//! - `custom`: rules of the policy's own, in CEL
//! - `cases`: the file of `policy test`
//!
//! Files come in through a closure, rule ids and resource types as arguments: nothing here reads the disk, the clock or the registry.

mod approval;
mod cases;
mod choice;
mod custom;
mod decode;
mod diagnostic;
mod file;
mod identity;
mod layers;
mod level;
mod load;
mod location;
mod lock;
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

pub use approval::{
    Accept, AcceptAzure, AcceptGithub, AcceptSsh, Approval, Match, Reviewers, Separation, Verify,
};
pub use cases::{
    Case, CaseFile, Expect, ExpectedVerdict, Given, Inline, Line, Members, Moment,
    cases_json_schema, load_cases,
};
pub use choice::UnknownWord;
pub use custom::{CustomContext, CustomError, CustomRule, UNKNOWN, Work};
pub use diagnostic::{Diagnostic, Diagnostics, Severity};
pub use file::{
    BundleSection, CliSection, GithubAccount, Input, Limits, Person, Section, StateEntry,
    StateTable,
};
pub use identity::{Identity, Principal, RunAsRule};
pub use layers::{Layer, RuleSetting};
pub use level::{Level, Standing};
pub use load::{Catalogue, Embedded, PolicyError, PolicyRef, load};
pub use location::{At, Location, SourceFile};
pub use resolved::{LevelOverrideError, Origin, Policy, SelectorUse};
pub use schema::json_schema;
pub use selector::{NameGlob, PathGlob, Protect, Selector};
pub use value::{
    CliRange, CliVersion, Fingerprint, LastDay, PolicyDuration, RuleId, WorkspaceHost,
};
pub use waiver::{Waiver, WaiverStatus};
pub use yaml::MAX_BYTES;
