//! PLAN, a folder made by `collect`, and the flags: from bytes on the disk to inputs that can be judged.

mod manifest;
mod read;

pub use manifest::{MANIFEST, Manifest, Schema as ManifestSchema};
pub use read::{Error, Input, Loaded, Paths, Source, load, load_one};
