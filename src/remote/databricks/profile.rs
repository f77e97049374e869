//! `~/.databrickscfg`: the profiles that the Databricks CLI and SDKs share.
//!
//! An INI file: `[name]`, `key = value`, `#` or `;` starts a comment (inside a line only after a space, so that a password may hold `#`).
//! What this reader does not understand is an error, not a setting that is quietly missing.

use std::collections::BTreeMap;

use secrecy::SecretString;

/// The profile that is used when none is named.
pub(super) const DEFAULT: &str = "DEFAULT";

/// The settings of one profile, by their names.
pub(super) type Profile = BTreeMap<String, SecretString>;

/// A line that is not understood, and why. The line itself may hold a secret and is not repeated.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {why}")]
pub(super) struct ProfileError {
    line: usize,
    why: String,
}

/// Reads all profiles.
pub(super) fn parse(text: &str) -> Result<BTreeMap<String, Profile>, ProfileError> {
    let mut profiles: BTreeMap<String, Profile> = BTreeMap::new();
    let mut current = DEFAULT.to_owned();
    for (line, content) in (1..).zip(text.trim_start_matches('\u{feff}').lines()) {
        let wrong = |why: &str| ProfileError {
            line,
            why: why.to_owned(),
        };
        let content = content.trim();
        if content.is_empty() || content.starts_with(['#', ';']) {
            continue;
        }
        if let Some(rest) = content.strip_prefix('[') {
            let (name, tail) = rest
                .split_once(']')
                .ok_or_else(|| wrong("a profile's name has no closing `]`"))?;
            if !tail.trim().is_empty() && !tail.trim_start().starts_with(['#', ';']) {
                return Err(wrong("something follows the `]` of a profile's name"));
            }
            if name.trim().is_empty() {
                return Err(wrong("a profile has no name"));
            }
            current = name.trim().to_owned();
            if profiles
                .get(&current)
                .is_some_and(|known| !known.is_empty())
            {
                return Err(ProfileError {
                    line,
                    why: format!("the profile {current:?} is there a second time"),
                });
            }
            profiles.entry(current.clone()).or_default();
            continue;
        }
        let (name, value) = content
            .split_once(['=', ':'])
            .ok_or_else(|| wrong("expected `[profile]` or `name = value`"))?;
        let name = name.trim();
        if name.is_empty()
            || !name
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'))
        {
            return Err(wrong(
                "expected a setting's name of letters, digits and `_` before the `=`",
            ));
        }
        let settings = profiles.entry(current.clone()).or_default();
        if settings
            .insert(name.to_owned(), SecretString::from(unquoted(value)))
            .is_some()
        {
            return Err(ProfileError {
                line,
                why: format!("{name} is set a second time in the profile {current:?}"),
            });
        }
    }
    Ok(profiles)
}

/// A value without its comment and its quotes.
fn unquoted(value: &str) -> String {
    let value = value.trim();
    for quote in ['"', '\'', '`'] {
        if let Some((inner, _)) = value
            .strip_prefix(quote)
            .and_then(|rest| rest.split_once(quote))
        {
            return inner.to_owned();
        }
    }
    let comment = value
        .char_indices()
        .zip(value.chars().skip(1))
        .find(|((_, before), mark)| before.is_whitespace() && matches!(mark, '#' | ';'));
    let end = comment.map_or(value.len(), |((at, _), _)| at);
    value.get(..end).unwrap_or(value).trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use secrecy::ExposeSecret;

    use super::*;

    fn shown(text: &str) -> String {
        match parse(text) {
            Err(wrong) => wrong.to_string(),
            Ok(profiles) => profiles
                .iter()
                .flat_map(|(name, profile)| {
                    profile.iter().map(move |(key, value)| {
                        format!("{name}.{key}={}\n", value.expose_secret())
                    })
                })
                .collect(),
        }
    }

    #[test]
    fn reads_what_the_cli_writes() {
        let text = "\u{feff}; The profile defined in the DEFAULT section is to be used as a fallback when no profile is explicitly specified.\n\
                    [DEFAULT]\nhost  = https://a.example\ntoken = dapi#1 # of CI\n\n[prod]\r\nhost=https://b.example\r\nclient_secret = \"a = b ; c\"\nauth_type: databricks-cli\n[empty]\n";
        insta::assert_snapshot!(shown(text), @"
        DEFAULT.host=https://a.example
        DEFAULT.token=dapi#1
        prod.auth_type=databricks-cli
        prod.client_secret=a = b ; c
        prod.host=https://b.example
        ");
    }

    #[test]
    fn says_where_it_is_wrong() {
        let texts = [
            "[prod\nhost = a",
            "[prod] x\n",
            "[ ]",
            "[a]\nhost = x\nhost = y",
            "[a]\nhost = x\n[b]\n[a]\nhost = y",
            "[a]\njust words",
            "= value",
            "ho st = x",
        ];
        let said: String = texts
            .iter()
            .map(|text| format!("{}\n", shown(text).trim_end()))
            .collect();
        insta::assert_snapshot!(said, @r#"
        line 1: a profile's name has no closing `]`
        line 1: something follows the `]` of a profile's name
        line 1: a profile has no name
        line 3: host is set a second time in the profile "a"
        line 4: the profile "a" is there a second time
        line 2: expected `[profile]` or `name = value`
        line 1: expected a setting's name of letters, digits and `_` before the `=`
        line 1: expected a setting's name of letters, digits and `_` before the `=`
        "#);
    }

    proptest! {
        #[test]
        fn never_panics(text in "(\\[[a-z]{0,3}\\]?|[a-z ]{0,4}[=:]?[ \"'`#;]{0,3}|\\PC{0,12}|\n){0,20}") {
            let _ = parse(&text);
        }

        #[test]
        fn a_value_comes_back(value in "[a-zA-Z0-9/:.=+_-]{1,40}") {
            let profiles = parse(&format!("[p]\ntoken = {value}\n")).unwrap();
            prop_assert_eq!(profiles["p"]["token"].expose_secret(), &value);
        }
    }
}
