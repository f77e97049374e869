//! Values that a policy writes as one text: durations, dates, versions, hosts, fingerprints, rule ids.

use jiff::civil::Date;

/// A value with a text form.
pub(super) trait TextValue: Sized {
    /// What a message says is expected.
    const EXPECTED: &'static str;
    /// A regular expression for the JSON Schema, looser than the reader where it must be.
    const PATTERN: &'static str = "";

    /// Reads it; the error is shown under the place.
    fn from_text(text: &str) -> Result<Self, String>;

    /// The text form.
    fn text(&self) -> String;
}

/// Implements reading, serialisation, comparison, display and schema by the text form.
macro_rules! text_value {
    ($name:ident) => {
        impl $crate::policy::decode::Decode for $name {
            fn decode(
                node: $crate::policy::yaml::Node,
                cx: &mut $crate::policy::decode::Cx,
            ) -> Option<Self> {
                $crate::policy::decode::parsed(
                    node,
                    <Self as $crate::policy::value::TextValue>::EXPECTED,
                    <Self as $crate::policy::value::TextValue>::from_text,
                    cx,
                )
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(&$crate::policy::value::TextValue::text(self))
            }
        }

        impl std::str::FromStr for $name {
            type Err = String;

            /// The error says what is wrong with the text.
            fn from_str(text: &str) -> Result<Self, String> {
                $crate::policy::value::TextValue::from_text(text)
            }
        }

        impl PartialEq for $name {
            fn eq(&self, other: &Self) -> bool {
                $crate::policy::value::TextValue::text(self)
                    == $crate::policy::value::TextValue::text(other)
            }
        }

        impl Eq for $name {}

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&$crate::policy::value::TextValue::text(self))
            }
        }

        impl schemars::JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                $crate::policy::value::string_schema(
                    <Self as $crate::policy::value::TextValue>::EXPECTED,
                    <Self as $crate::policy::value::TextValue>::PATTERN,
                )
            }
        }
    };
}

pub(super) use text_value;

pub(super) fn string_schema(expected: &str, pattern: &str) -> schemars::Schema {
    let description = expected.replace('`', "");
    if pattern.is_empty() {
        schemars::json_schema!({"type": "string", "description": description})
    } else {
        schemars::json_schema!({"type": "string", "description": description, "pattern": pattern})
    }
}

/// A span of time in whole seconds, written `60s`, `30m`, `24h` or `7d`.
#[derive(Debug, Clone, Copy)]
pub struct PolicyDuration {
    count: u64,
    unit: Unit,
}

#[derive(Debug, Clone, Copy)]
enum Unit {
    Seconds,
    Minutes,
    Hours,
    Days,
}

impl Unit {
    fn seconds(self) -> u64 {
        match self {
            Self::Seconds => 1,
            Self::Minutes => 60,
            Self::Hours => 3_600,
            Self::Days => 86_400,
        }
    }

    fn suffix(self) -> char {
        match self {
            Self::Seconds => 's',
            Self::Minutes => 'm',
            Self::Hours => 'h',
            Self::Days => 'd',
        }
    }
}

/// Longest duration: a hundred years.
const MAX_SECONDS: u64 = 36_525 * 86_400;

impl PolicyDuration {
    pub(super) const fn seconds(count: u64) -> Self {
        Self {
            count,
            unit: Unit::Seconds,
        }
    }

    pub(super) const fn hours(count: u64) -> Self {
        Self {
            count,
            unit: Unit::Hours,
        }
    }

    /// In seconds; at most a hundred years.
    #[must_use]
    pub fn as_secs(self) -> u64 {
        self.count.saturating_mul(self.unit.seconds())
    }

    /// As the standard library's type.
    #[must_use]
    pub fn as_duration(self) -> std::time::Duration {
        std::time::Duration::from_secs(self.as_secs())
    }
}

impl TextValue for PolicyDuration {
    const EXPECTED: &'static str = "a duration, such as `60s`, `30m`, `24h` or `7d`";
    const PATTERN: &'static str = "^[0-9]+[smhd]$";

    fn from_text(text: &str) -> Result<Self, String> {
        let unit = match text.chars().last() {
            Some('s') => Unit::Seconds,
            Some('m') => Unit::Minutes,
            Some('h') => Unit::Hours,
            Some('d') => Unit::Days,
            _ => return Err("a whole number and one of s, m, h, d".to_owned()),
        };
        let digits = text.get(..text.len().saturating_sub(1)).unwrap_or_default();
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err("a whole number and one of s, m, h, d".to_owned());
        }
        let count: u64 = digits
            .parse()
            .map_err(|_| "at most a hundred years".to_owned())?;
        match count.checked_mul(unit.seconds()) {
            Some(seconds) if seconds <= MAX_SECONDS => Ok(Self { count, unit }),
            _ => Err("at most a hundred years".to_owned()),
        }
    }

    fn text(&self) -> String {
        format!("{}{}", self.count, self.unit.suffix())
    }
}

text_value!(PolicyDuration);

/// The last day on which a waiver holds; it ends at 24:00 UTC.
#[derive(Debug, Clone, Copy)]
pub struct LastDay(pub(super) Date);

impl LastDay {
    /// The calendar day.
    #[must_use]
    pub fn date(self) -> Date {
        self.0
    }
}

impl TextValue for LastDay {
    const EXPECTED: &'static str = "a date, such as `2027-01-31`";
    const PATTERN: &'static str = "^[0-9]{4}-[0-9]{2}-[0-9]{2}$";

    fn from_text(text: &str) -> Result<Self, String> {
        let shape = text.len() == 10
            && text.bytes().enumerate().all(|(at, byte)| {
                if at == 4 || at == 7 {
                    byte == b'-'
                } else {
                    byte.is_ascii_digit()
                }
            });
        if !shape {
            return Err("year-month-day".to_owned());
        }
        text.parse()
            .map(Self)
            .map_err(|_| "the calendar has no such day".to_owned())
    }

    fn text(&self) -> String {
        self.0.to_string()
    }
}

text_value!(LastDay);

/// A version of the Databricks CLI; `1.20` is read as `1.20.0`.
#[derive(Debug, Clone)]
pub struct CliVersion(semver::Version);

impl CliVersion {
    /// The version.
    #[must_use]
    pub fn version(&self) -> &semver::Version {
        &self.0
    }
}

impl TextValue for CliVersion {
    const EXPECTED: &'static str = "a version of the Databricks CLI, such as \"1.20.0\"";

    fn from_text(text: &str) -> Result<Self, String> {
        let text = text.strip_prefix('v').unwrap_or(text);
        let padded = if text.split('.').count() == 2 {
            format!("{text}.0")
        } else {
            text.to_owned()
        };
        semver::Version::parse(&padded)
            .map(Self)
            .map_err(|error| error.to_string())
    }

    fn text(&self) -> String {
        self.0.to_string()
    }
}

text_value!(CliVersion);

/// A range of versions of the Databricks CLI, such as `<1.20`.
#[derive(Debug, Clone)]
pub struct CliRange(semver::VersionReq);

impl CliRange {
    /// Whether the version lies in the range.
    #[must_use]
    pub fn contains(&self, version: &semver::Version) -> bool {
        self.0.matches(version)
    }
}

impl TextValue for CliRange {
    const EXPECTED: &'static str = "a range of versions of the Databricks CLI, such as \"<1.20\"";

    fn from_text(text: &str) -> Result<Self, String> {
        semver::VersionReq::parse(text)
            .map(Self)
            .map_err(|error| error.to_string())
    }

    fn text(&self) -> String {
        self.0.to_string()
    }
}

text_value!(CliRange);

/// The host of a workspace, in one spelling: `https://`, lower case, no port 443, nothing behind it.
#[derive(Debug, Clone)]
pub struct WorkspaceHost(String);

impl WorkspaceHost {
    /// The host with its scheme.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TextValue for WorkspaceHost {
    const EXPECTED: &'static str =
        "a workspace, such as `https://adb-1234567890123456.7.azuredatabricks.net`";

    fn from_text(text: &str) -> Result<Self, String> {
        let lower = text.to_ascii_lowercase();
        let rest = lower
            .strip_prefix("https://")
            .ok_or("it starts with `https://`")?;
        let host = rest.strip_suffix('/').unwrap_or(rest);
        let host = host.strip_suffix(":443").unwrap_or(host);
        let (name, port) = host
            .split_once(':')
            .map_or((host, None), |(name, port)| (name, Some(port)));
        let label = |label: &str| {
            !label.is_empty()
                && label
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
        };
        if !name.split('.').all(label) {
            return Err("only the host, without user, path or question mark".to_owned());
        }
        if port.is_some_and(|port| port.parse::<u16>().is_err()) {
            return Err("the port is not a number".to_owned());
        }
        Ok(Self(format!("https://{host}")))
    }

    fn text(&self) -> String {
        self.0.clone()
    }
}

text_value!(WorkspaceHost);

/// The fingerprint of one finding, as the report prints it: 64 hex digits.
#[derive(Debug, Clone)]
pub struct Fingerprint(String);

impl Fingerprint {
    /// The 64 digits, in lower case.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TextValue for Fingerprint {
    const EXPECTED: &'static str = "the fingerprint of a finding, 64 hex digits";
    const PATTERN: &'static str = "^[0-9a-fA-F]{64}$";

    fn from_text(text: &str) -> Result<Self, String> {
        if text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            Ok(Self(text.to_ascii_lowercase()))
        } else {
            Err("the report prints it as `fingerprint`".to_owned())
        }
    }

    fn text(&self) -> String {
        self.0.clone()
    }
}

text_value!(Fingerprint);

/// The id of a custom rule: lower case letters, digits and single hyphens.
#[derive(Debug, Clone)]
pub struct RuleId(String);

impl RuleId {
    /// The id.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TextValue for RuleId {
    const EXPECTED: &'static str = "the id of a rule, such as `no-gpu-jobs`";
    const PATTERN: &'static str = "^[a-z][a-z0-9]*(-[a-z0-9]+)*$";

    fn from_text(text: &str) -> Result<Self, String> {
        let word = |word: &str| {
            !word.is_empty()
                && word
                    .bytes()
                    .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
        };
        if text.len() > 64
            || !text.starts_with(|c: char| c.is_ascii_lowercase())
            || !text.split('-').all(word)
        {
            return Err("lower case letters, digits and single hyphens, at most 64".to_owned());
        }
        Ok(Self(text.to_owned()))
    }

    fn text(&self) -> String {
        self.0.clone()
    }
}

text_value!(RuleId);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations() {
        for (text, seconds) in [
            ("60s", 60),
            ("30m", 1_800),
            ("24h", 86_400),
            ("7d", 604_800),
            ("0s", 0),
        ] {
            let duration: PolicyDuration = text.parse().unwrap();
            assert_eq!(duration.as_secs(), seconds);
            assert_eq!(duration.to_string(), text);
        }
        for text in [
            "",
            "h",
            "24",
            "1.5h",
            "-1h",
            "24 h",
            "99999999999999999999s",
            "40000d",
            "5ü",
            "+5s",
        ] {
            assert!(text.parse::<PolicyDuration>().is_err(), "{text}");
        }
    }

    #[test]
    fn dates_are_days_of_the_calendar() {
        assert!("2028-02-29".parse::<LastDay>().is_ok());
        for text in [
            "2027-02-29",
            "2027-02-30",
            "2027-13-01",
            "2027-1-1",
            "27-01-01",
            "2027-01-01T00:00",
            "+2027-1-01",
        ] {
            assert!(text.parse::<LastDay>().is_err(), "{text}");
        }
    }

    #[test]
    fn hosts_have_one_spelling() {
        for text in [
            "https://ADB-1.azuredatabricks.net/",
            "HTTPS://adb-1.azuredatabricks.net:443",
            "https://adb-1.azuredatabricks.net",
        ] {
            assert_eq!(
                text.parse::<WorkspaceHost>().unwrap().as_str(),
                "https://adb-1.azuredatabricks.net"
            );
        }
        for text in [
            "http://a.b",
            "a.b",
            "https://",
            "https://a.b/x",
            "https://u@a.b",
            "https://a.b?o=1",
            "https://a.b:x",
            "https://a..b",
        ] {
            assert!(text.parse::<WorkspaceHost>().is_err(), "{text}");
        }
    }

    #[test]
    fn versions_and_ranges() {
        assert_eq!("1.20".parse::<CliVersion>().unwrap().to_string(), "1.20.0");
        assert!("1".parse::<CliVersion>().is_err());
        let range: CliRange = "<1.20".parse().unwrap();
        assert!(range.contains(&semver::Version::new(1, 13, 0)));
        assert!(!range.contains(&semver::Version::new(1, 20, 0)));
    }

    #[test]
    fn rule_ids_are_kebab_case() {
        assert!("no-gpu-jobs".parse::<RuleId>().is_ok());
        for text in ["", "No-gpu", "a--b", "-a", "a-", "a_b", "1a", "a b"] {
            assert!(text.parse::<RuleId>().is_err(), "{text}");
        }
    }
}
