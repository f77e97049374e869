//! Access: who may do what, and who can replace the code that runs.

mod grants;
mod list;
mod paths;
mod permissions;

pub(super) use grants::{GrantBroadened, GrantRemoved};
pub(super) use list::{Text, Who, permissions_after, permissions_now};
pub(super) use paths::{PersonalRootPath, SharedRootPath};
pub(super) use permissions::{PermissionBroadened, PermissionRemoved};
