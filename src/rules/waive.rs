//! Waivers: findings that the policy accepts for a time.

use semver::Version;

use super::{Context, Family};
use crate::policy::{Waiver, WaiverStatus};
use crate::report::{Finding, Status, WaiverNote};

/// Marks the findings that a waiver of the policy lifts; they stay visible.
pub(super) fn waive(cx: &Context<'_, '_>, findings: &mut [Finding]) {
    let active: Vec<&Waiver> = cx
        .policy
        .waivers
        .iter()
        .map(|w| &w.value)
        .filter(|w| w.status(cx.now) == WaiverStatus::Active)
        .collect();
    if active.is_empty() {
        return;
    }
    for finding in findings {
        if let Some(waiver) = active.iter().find(|w| lifts(cx, w, finding)) {
            finding.status = Status::Waived;
            finding.waiver = Some(WaiverNote {
                owner: waiver.owner.clone(),
                reason: waiver.reason.clone(),
                until: waiver.until.date().to_string(),
                ticket: waiver.ticket.clone(),
            });
        }
    }
}

/// Whether a waiver is for this finding and may lift it: not one of a locked rule, nor what is said of the policy itself.
pub(super) fn lifts(cx: &Context<'_, '_>, waiver: &Waiver, finding: &Finding) -> bool {
    let cli = cx.world.inputs.plan.cli_version.as_deref();
    let cli = cli.and_then(|v| Version::parse(v).ok());
    let resource = finding.resource.as_deref();
    finding.family != Family::Policy.as_str()
        && cx.policy.is_locked(&finding.rule).is_none()
        && waiver.covers(&finding.rule, resource, &finding.fingerprint, cli.as_ref())
}

#[cfg(test)]
mod tests {
    use super::super::examples::judged;
    use super::super::{Judged, quiet};
    use crate::policy::Level;
    use crate::report::{Status, Verdict, verdict};

    const DELETED: &str =
        r#""jobs.report": {"action": "delete", "remote_state": {"name": "report"}}"#;

    fn with(policy: &'static str) -> Judged {
        judged(&quiet(DELETED).policy(policy))
    }

    fn said(judged: &Judged) -> Vec<(&str, Status, Level)> {
        let findings = judged.findings.iter();
        findings
            .filter(|f| f.rule != "missing-input")
            .map(|f| (f.rule.as_str(), f.status, f.level))
            .collect()
    }

    #[test]
    fn a_waived_finding_stays_visible_and_does_not_count() {
        let judged = with(
            "inputs: {require: []}\nwaivers: [{rule: destroy, resource: \"jobs.*\", until: 2026-10-01, reason: replaced, owner: platform, ticket: DATA-7, cli: \">=1.20\"}]",
        );
        assert_eq!(
            said(&judged),
            [("destroy", Status::Waived, Level::Deny)],
            "the last day counts"
        );
        assert_eq!(verdict(&judged.findings), Verdict::Open);
        let note = judged.findings[0].waiver.clone().unwrap();
        assert_eq!(
            (note.until.as_str(), note.ticket.as_deref()),
            ("2026-10-01", Some("DATA-7"))
        );
    }

    #[test]
    fn what_does_not_fit_is_not_waived() {
        let fired = ("destroy", Status::Fired, Level::Deny);
        let unused = ("unused-waiver", Status::Fired, Level::Warn);
        for policy in [
            "waivers: [{rule: destroy, resource: jobs.other, until: 2026-10-31, reason: r, owner: o}]",
            "waivers: [{rule: destroy, resource: jobs.report, until: 2026-10-31, reason: r, owner: o, cli: \"<1.20\"}]",
            "waivers: [{rule: destroy, resource: jobs.report, until: 2026-10-31, reason: r, owner: o, fingerprint: \"0000000000000000000000000000000000000000000000000000000000000000\"}]",
        ] {
            assert_eq!(said(&with(policy)), [fired, unused], "{policy}");
        }
        let expired = with(
            "waivers: [{rule: destroy, resource: jobs.report, until: 2026-09-30, reason: r, owner: o}]",
        );
        assert_eq!(
            said(&expired),
            [fired, ("expired-waiver", Status::Fired, Level::Review)]
        );
        assert_eq!(
            expired
                .findings
                .iter()
                .find(|f| f.rule == "expired-waiver")
                .unwrap()
                .location
                .as_ref()
                .unwrap()
                .line,
            4
        );
    }

    #[test]
    fn what_is_said_of_the_policy_cannot_be_waived() {
        let judged = with(
            "waivers: [{rule: expired-waiver, resource: \"*\", until: 2026-10-31, reason: r, owner: o}, {rule: destroy, resource: jobs.report, until: 2026-09-30, reason: r, owner: o}]",
        );
        assert!(judged.findings.iter().all(|f| f.status != Status::Waived));
    }
}
