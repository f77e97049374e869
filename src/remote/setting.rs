//! The variables that a CI platform sets, and what can be wrong with them.

use secrecy::SecretString;

use super::address::Address;
pub use super::address::AddressError;
use super::environment::Environment;
use super::http::quote;

/// A variable that is missing or wrong. No value of a token is repeated.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SettingError {
    /// It is not there.
    #[error("{name} is not set; {hint}")]
    Missing {
        /// The variable.
        name: &'static str,
        /// What to do.
        hint: &'static str,
    },
    /// It is there, and cannot be used.
    #[error("{name} is `{value}`; expected {expected}")]
    Wrong {
        /// The variable.
        name: &'static str,
        /// Its value, neutralised.
        value: String,
        /// What it should be.
        expected: &'static str,
    },
    /// It is an address that is refused.
    #[error("{name} {why}")]
    Address {
        /// The variable.
        name: &'static str,
        /// Why.
        why: AddressError,
    },
    /// A token with a character that cannot be sent.
    #[error(
        "{name} holds a line break or another character that no token has; set it again, without a line break at its end"
    )]
    Token {
        /// The variable.
        name: &'static str,
    },
}

/// The first of these variables that is set, with its name.
pub(super) fn first<'e>(
    environment: &'e Environment,
    names: &[&'static str],
) -> Option<(&'static str, &'e str)> {
    names
        .iter()
        .find_map(|name| Some((*name, environment.get(name)?)))
}

/// The same, where one has to be there; the message names the first.
pub(super) fn needed<'e>(
    environment: &'e Environment,
    names: &[&'static str],
    hint: &'static str,
) -> Result<(&'static str, &'e str), SettingError> {
    first(environment, names).ok_or(SettingError::Missing {
        name: names.first().copied().unwrap_or_default(),
        hint,
    })
}

/// A token.
pub(super) fn token(
    environment: &Environment,
    names: &[&'static str],
    hint: &'static str,
) -> Result<SecretString, SettingError> {
    let (name, value) = needed(environment, names, hint)?;
    // A header holds visible ASCII only; anything else would be refused in words that show it.
    if value.bytes().all(|byte| byte.is_ascii_graphic()) {
        Ok(value.into())
    } else {
        Err(SettingError::Token { name })
    }
}

/// An address.
pub(super) fn address(name: &'static str, value: &str) -> Result<Address, SettingError> {
    Address::parse(value).map_err(|why| SettingError::Address { name, why })
}

/// A number from 1.
pub(super) fn number(name: &'static str, value: &str) -> Result<u64, SettingError> {
    value
        .parse()
        .ok()
        .filter(|number| *number > 0)
        .ok_or_else(|| wrong(name, value, "a whole number from 1"))
}

/// A value of the wrong form.
pub(super) fn wrong(name: &'static str, value: &str, expected: &'static str) -> SettingError {
    SettingError::Wrong {
        name,
        value: quote(value, &[]),
        expected,
    }
}
