//! The plan: its model, resource keys, field paths, and the strict reader.

mod graph;
mod key;
mod model;
mod path;
mod read;
mod types;

pub use key::{ResourceKey, Sub};
pub use model::{Action, Change, Dependency, Engine, Entry, NewState, Plan};
pub use path::{FieldPath, Mark, Segment, Trail};
pub use read::{PLAN_VERSION, read};
pub use types::{ResourceType, TYPES, resource_type};
