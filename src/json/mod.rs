//! Strict JSON: one reader for every JSON input, the value it yields, and positions for messages.
//!
//! The reader refuses what the Databricks CLI's own reader lets pass or settles silently: duplicate keys (after
//! unescaping, at every depth), integers beyond 64 bits, lone surrogates, NUL in strings, anything after the document.

mod locate;
mod reader;
mod value;

pub use locate::{Position, Step, locate};
pub use reader::{
    Error, Limits, MAX_INPUT_BYTES, MAX_MEMBERS, MAX_NESTING, MAX_STRING_BYTES, parse,
};
pub use value::{Object, Value};
