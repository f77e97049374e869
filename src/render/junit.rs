//! JUnit XML: one test case a finding. What holds up the deploy is a failure; what is waived or did not run is skipped.

use quick_junit::{NonSuccessKind, Report as Suites, TestCase, TestCaseStatus, TestSuite};

use super::{Severity, escape, words};
use crate::report::{CheckResult, Finding, Outcome, Report, Status};

#[expect(
    clippy::expect_used,
    reason = "writing to memory does not fail, and the texts hold only what XML can hold"
)]
pub(super) fn render(report: &Report) -> String {
    let mut suite = TestSuite::new(format!("bundlegate {}", report.command));
    for f in report.findings.iter().filter(|f| !f.is_refusal()) {
        let path = f
            .path
            .as_ref()
            .map_or_else(String::new, |p| format!(" {p}"));
        let name = format!("{} {}{path}", f.rule, words::subject(f));
        suite.add_test_case(case(report, f, &name));
    }
    // A check has one name, whatever it says: readers compare it with the run before.
    for check in report.body.authorization().iter().flat_map(|a| &a.checks) {
        let about = check
            .approval
            .as_ref()
            .map_or_else(String::new, |name| format!(" {name}"));
        let name = format!("{}{about}", check.rule());
        if check.is_refused() {
            suite.add_test_case(case(report, &check.finding(), &name));
            continue;
        }
        let status = if check.result == CheckResult::Passed {
            TestCaseStatus::success()
        } else {
            let mut status = TestCaseStatus::skipped();
            status.set_message(escape::xml(&format!(
                "{}: {}",
                check.result.words(),
                check.found
            )));
            status
        };
        let mut case = TestCase::new(escape::xml(&name), status);
        case.set_classname("authorize");
        suite.add_test_case(case);
    }
    // What does not match is among the findings.
    for row in report.body.verification().iter().flat_map(|v| &v.rows) {
        let status = match row.outcome {
            Outcome::Mismatch | Outcome::Silent => continue,
            Outcome::Verified => TestCaseStatus::success(),
            Outcome::NotWitnessed => {
                let mut status = TestCaseStatus::skipped();
                status.set_message("not witnessed");
                status
            }
        };
        let name = format!(
            "{}: {}, {} ({})",
            row.resource.as_deref().unwrap_or("the deployment"),
            row.check.words(),
            row.expected,
            row.witness
        );
        let mut case = TestCase::new(escape::xml(&name), status);
        case.set_classname("verification");
        suite.add_test_case(case);
    }
    for n in &report.not_run {
        let mut status = TestCaseStatus::skipped();
        status.set_message(escape::xml(&format!("did not run: give {}", n.needs)));
        let mut case = TestCase::new(escape::xml(&n.rule), status);
        case.set_classname("not-run");
        suite.add_test_case(case);
    }
    // A suite without a case counts as a failure for some readers, and as nothing for others.
    let mut verdict = TestCase::new("verdict", TestCaseStatus::success());
    verdict.set_classname("bundlegate");
    verdict.set_system_out(escape::xml(&format!(
        "{}: {}",
        words::verdict_word(report),
        words::verdict(report)
    )));
    suite.add_test_case(verdict);
    let mut suites = Suites::new("bundlegate");
    suites.add_test_suite(suite);
    let text = suites.to_string().expect("JUnit XML is written to memory");
    let mut text = escape::markup(&text);
    if !text.ends_with('\n') {
        text.push('\n');
    }
    text
}

fn case(report: &Report, f: &Finding, name: &str) -> TestCase {
    let place = words::place(f).map_or_else(String::new, |p| format!(" ({p})"));
    let message = escape::xml(&format!("{}: {}", words::level(report, f), f.message));
    let details = [
        format!("{}{place}", words::subject(f)),
        f.message.clone(),
        format!("why: {}", f.impact),
        format!("do: {}", f.remedy),
        format!("fingerprint: {}", f.fingerprint),
    ]
    .iter()
    .map(|line| escape::xml(line))
    .collect::<Vec<_>>()
    .join("\n");
    let mut passes = false;
    let status = match (f.status, Severity::of(report, f)) {
        (Status::Waived, _) => {
            let mut status = TestCaseStatus::skipped();
            status.set_message(escape::xml(&format!(
                "waived by {}",
                words::waiver(f).unwrap_or_default()
            )));
            status
        }
        (_, Severity::Error) => {
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
            status.set_message(message.clone());
            status.set_type(f.level.as_str());
            status.set_description(details.clone());
            status
        }
        _ => {
            passes = true;
            TestCaseStatus::success()
        }
    };
    let mut case = TestCase::new(escape::xml(name), status);
    case.set_classname(escape::xml(&f.family));
    if passes {
        case.set_system_out(format!("{message}\n{details}"));
    }
    case
}
