//! Which findings a waiver covers, and until when.

pub use super::file::Waiver;

impl Waiver {
    /// Whether the waiver still holds at `now`; its last day ends at 24:00 UTC.
    #[must_use]
    pub fn status(&self, now: jiff::Timestamp) -> WaiverStatus {
        let end = self
            .until
            .date()
            .tomorrow()
            .ok()
            .and_then(|day| day.to_zoned_datetime(jiff::tz::TimeZone::UTC).ok())
            .map(|end| end.timestamp());
        // A day that has no next one is the last of the calendar.
        if end.is_none_or(|end| now < end) {
            WaiverStatus::Active
        } else {
            WaiverStatus::Expired
        }
    }

    /// Whether the waiver is for this finding: its rule, the resource's short key, its fingerprint, and the CLI that made the plan.
    ///
    /// A waiver with a CLI range does not cover a plan whose CLI version is not known. A finding about no resource is covered by `*` alone.
    #[must_use]
    pub fn covers(
        &self,
        rule: &str,
        key: Option<&str>,
        fingerprint: &str,
        cli: Option<&semver::Version>,
    ) -> bool {
        self.rule.value == rule
            && key.map_or_else(
                || self.resource.is_everything(),
                |key| self.resource.matches(key),
            )
            && self
                .fingerprint
                .as_ref()
                .is_none_or(|only| only.as_str().eq_ignore_ascii_case(fingerprint))
            && self
                .cli
                .as_ref()
                .is_none_or(|range| cli.is_some_and(|cli| range.contains(cli)))
    }
}

/// Whether a waiver still holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaiverStatus {
    /// It waives.
    Active,
    /// It does not waive any more.
    Expired,
}
