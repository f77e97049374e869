//! A report for the tests of this module.

use std::collections::BTreeMap;

use crate::policy::Level;
use crate::report::{
    Body, Counts, Finding, NotRun, Place, PlanHead, PolicyHead, Report, SCHEMA, Status, Verdict,
    WaiverNote, fingerprint, sort, verdict,
};

/// A finding of this rule at this level about this resource.
pub(super) fn finding(level: Level, rule: &str, resource: Option<&str>, message: &str) -> Finding {
    Finding {
        rule: rule.to_owned(),
        family: "actions".to_owned(),
        level,
        status: Status::Fired,
        resource: resource.map(str::to_owned),
        path: None,
        old: None,
        new: None,
        remote: None,
        message: message.to_owned(),
        impact: "All its data goes.".to_owned(),
        remedy: "Keep it in the bundle.".to_owned(),
        location: None,
        standing: false,
        fingerprint: fingerprint(rule, resource, None, None),
        waiver: None,
    }
}

/// A report with these findings.
pub(super) fn with(mut findings: Vec<Finding>) -> Report {
    sort(&mut findings);
    let verdict = verdict(&findings);
    Report {
        schema: SCHEMA,
        command: "check",
        verdict,
        exit_code: verdict.exit().code(),
        plan: PlanHead {
            path: "plan.json".to_owned(),
            sha256: "0123456789abcdef".repeat(4),
            intent: None,
            plan_version: Some(2),
            cli_version: Some("1.13.0".to_owned()),
            lineage: Some("b8982b94-e36e-4257-ad3e-bd1dd32aef0e".to_owned()),
            serial: Some(7),
            not_selected: 0,
            entries: 4,
        },
        target: Some("prod".to_owned()),
        policy: Some(PolicyHead {
            source: "production".to_owned(),
            sha256: "fedcba9876543210".repeat(4),
        }),
        inputs: BTreeMap::from([("plan", "0123456789abcdef".repeat(4))]),
        not_run: vec![NotRun {
            rule: "missing-remote".to_owned(),
            needs: "--state".to_owned(),
        }],
        summary: Counts {
            delete: 1,
            update: 2,
            skip: 1,
            ..Counts::default()
        },
        findings,
        body: Body::None,
    }
}

/// A report with a finding of every sort.
pub(super) fn report() -> Report {
    let mut destroy = finding(
        Level::Deny,
        "destroy",
        Some("schemas.orders"),
        "The plan deletes it.",
    );
    destroy.location = Some(Place {
        file: "databricks.yml".to_owned(),
        line: 12,
        column: 5,
    });
    let second = finding(
        Level::Deny,
        "destroy",
        Some("volumes.raw"),
        "The plan deletes it.",
    );
    let mut unknown = finding(
        Level::Review,
        "run-as-change",
        Some("jobs.nightly"),
        "Whether the identity changes waits for ${resources.apps.a.id}.",
    );
    unknown.status = Status::Unknown;
    unknown.path = Some("run_as.user_name".to_owned());
    unknown.old = Some("old@example.com".into());
    let mut weak = finding(
        Level::Warn,
        "cascade-unset",
        Some("pipelines.orders"),
        "cascade_on_destroy is not set.",
    );
    weak.standing = true;
    let mut weak2 = weak.clone();
    weak2.resource = Some("pipelines.clicks".to_owned());
    let mut waived = finding(
        Level::Review,
        "recreate",
        Some("catalogs.main"),
        "The plan deletes it and makes it again.",
    );
    waived.status = Status::Waived;
    waived.waiver = Some(WaiverNote {
        owner: "platform".to_owned(),
        reason: "cli issue 4625".to_owned(),
        until: "2027-01-31".to_owned(),
        ticket: Some("DATA-7".to_owned()),
    });
    let report = with(vec![destroy, second, unknown, weak, weak2, waived]);
    assert_eq!(report.verdict, Verdict::Closed);
    report
}
