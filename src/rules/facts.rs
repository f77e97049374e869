//! What rules know and `exposure` tells as well: one account of it for both.

pub(crate) use super::access::{Text, Who, at_least, holders, is_manage, writable_by_people};
pub(crate) use super::state::{
    Fate, cascade_deployed, fate_by, prevents_destroy, refilled as register,
};
