//! After a deploy: what the workspace should hold, what it holds, and the difference. Pure: witnesses come in as data.
//!
//! - [`expect`]: from plan, bundle JSON, state and policy to expectations
//! - [`Observation`]: what a witness says, whichever it is; [`from_plan`] reads a fresh plan as one
//! - [`compare`]: expectation, observation, witness, and how to mend a mismatch

mod compare;
mod differences;
mod expect;
mod observe;

pub use compare::compare;
pub use differences::is_permanent;
pub use expect::{Expectation, Mode, Want, Who, expect, id_before};
pub use observe::{Observation, Resolution, Said, Table, Thing, from_plan};
