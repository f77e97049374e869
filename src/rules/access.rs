//! Access: who may do what, and who can replace the code that runs.

mod grants;
mod list;
mod paths;
mod permissions;

pub(super) use grants::{GrantBroadened, GrantRemoved};
pub(crate) use list::{Text, Who, holders};
pub(super) use list::{permissions_after, permissions_now};
pub(crate) use paths::writable_by_people;
pub(super) use paths::{PersonalRootPath, SharedRootPath};
pub(super) use permissions::{PermissionBroadened, PermissionRemoved};
pub(crate) use permissions::{at_least, is_manage};
