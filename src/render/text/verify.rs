//! The text of `deploy` and `verify`: mismatches and silences in full, the rest counted.

use anstyle::{AnsiColor, Effects, Style};

use super::{DIM, PLAIN, Page, gate, style_of};
use crate::policy::Level;
use crate::report::{DeployBody, Exit, Outcome, Report, Row, Verification};

/// Whether it was allowed, how the CLI ended, what the workspace holds.
pub(super) fn deploy(page: &mut Page, report: &Report, body: &DeployBody, verbose: bool) {
    if let Some(authorization) = &body.authorization {
        gate::authorize(page, report, authorization, verbose);
    }
    if let Some(verification) = &body.verification {
        let style = if body.cli_exit == Some(0) {
            AnsiColor::Green.on_default()
        } else {
            style_of(Level::Deny)
        };
        page.line("the CLI: ", style, &body.cli_words());
        verify(page, report.exit_code, verification, verbose);
    }
    page.gap();
    let last = body
        .steps
        .last()
        .map_or("no step began", |s| s.step.words());
    page.line("record  ", DIM, &format!("{} ({last})", body.record));
}

pub(super) fn verify(page: &mut Page, exit_code: u8, body: &Verification, verbose: bool) {
    head(page, exit_code, body);
    for silence in &body.silences {
        page.gap();
        page.line(
            &format!("witness {} is silent: ", silence.witness),
            style_of(Level::Deny),
            &silence.why,
        );
    }
    for (outcome, word, level) in [
        (Outcome::Mismatch, "mismatch ", Level::Deny),
        (Outcome::Silent, "silent ", Level::Review),
    ] {
        for row in body.of(outcome) {
            page.gap();
            full(page, word, style_of(level), row);
        }
    }
    let unseen: Vec<&Row> = body.of(Outcome::NotWitnessed).collect();
    if !unseen.is_empty() {
        page.gap();
        page.line(
            "not witnessed: ",
            Style::new().effects(Effects::BOLD),
            "nobody who was asked can see it; it does not decide",
        );
        for row in unseen {
            page.line("  ", PLAIN, &short(row));
        }
    }
    if verbose {
        page.gap();
        for row in body.of(Outcome::Verified) {
            page.line(
                "ok ",
                AnsiColor::Green.on_default(),
                &format!(
                    "{}; {} says {}",
                    short(row),
                    row.witness,
                    row.observed.as_deref().unwrap_or_default()
                ),
            );
        }
    }
}

fn head(page: &mut Page, exit_code: u8, body: &Verification) {
    let (word, style) = match body.exit() {
        Exit::Open => (
            "verified: ",
            AnsiColor::Green.on_default().effects(Effects::BOLD),
        ),
        Exit::Mismatch => ("mismatch: ", style_of(Level::Deny)),
        _ => ("not verified: ", style_of(Level::Deny)),
    };
    page.line(word, style, &format!("{} (exit {exit_code})", body.words()));
    page.line("  ", PLAIN, &body.tally_words());
}

fn full(page: &mut Page, word: &str, style: Style, row: &Row) {
    let about = row.resource.as_deref().unwrap_or("the deployment");
    page.line(word, style, &format!("{about}: {}", row.check.words()));
    page.line("  expected: ", DIM, &row.expected);
    page.line(
        "  observed: ",
        DIM,
        &format!(
            "{} (witness: {})",
            row.observed.as_deref().unwrap_or("nothing"),
            row.witness
        ),
    );
    if let Some(remedy) = &row.remedy {
        page.line("  do:       ", DIM, remedy);
    }
}

fn short(row: &Row) -> String {
    let about = row.resource.as_deref().unwrap_or("the deployment");
    format!("{about}: {}, expected {}", row.check.words(), row.expected)
}

#[cfg(test)]
mod tests {
    use super::super::super::{Options, sample};
    use crate::report::{Body, Check, Outcome, Row, Silence, Verification, Witness};

    fn row(outcome: Outcome, resource: Option<&str>, check: Check) -> Row {
        Row {
            outcome,
            resource: resource.map(str::to_owned),
            check,
            expected: "a (the plan)".to_owned(),
            observed: (outcome != Outcome::NotWitnessed).then(|| "b\u{1b}[31m".to_owned()),
            witness: Witness::Plan,
            remedy: (outcome == Outcome::Mismatch).then(|| "Set it back.".to_owned()),
        }
    }

    fn text(silences: Vec<Silence>, rows: Vec<Row>, verbose: bool) -> String {
        let verification = Verification::new(vec![Witness::Plan, Witness::Api], silences, rows);
        let mut report = sample::report();
        report.exit_code = verification.exit().code();
        report.body = Body::Verify(verification);
        super::super::render(
            &report,
            &Options {
                verbose,
                ..Options::default()
            },
        )
    }

    #[test]
    fn a_mismatch_says_what_and_how_to_mend_it() {
        let rows = vec![
            row(Outcome::Verified, Some("jobs.a"), Check::RunAs),
            row(Outcome::Mismatch, Some("pipelines.orders"), Check::RunAs),
            row(Outcome::NotWitnessed, Some("jobs.b"), Check::Gone),
        ];
        insta::assert_snapshot!(text(Vec::new(), rows, false), @r#"
mismatch: the workspace does not hold what was approved: 1 of 3 checks differ (exit 5)
  1 verified, 1 mismatch, 0 silent, 1 not witnessed; asked: plan, api

mismatch pipelines.orders: runs as
  expected: a (the plan)
  observed: b\u{1b}[31m (witness: plan)
  do:       Set it back.

not witnessed: nobody who was asked can see it; it does not decide
  jobs.b: gone, expected a (the plan)

plan    plan.json (CLI 1.13.0, serial 7, sha256 0123456789ab)
target  prod
policy  production (sha256 fedcba987654)
does    1 delete, 2 update, 1 skip
"#);
    }

    #[test]
    fn a_silence_is_said() {
        let silences = vec![Silence {
            witness: Witness::Api,
            why: "no workspace host".to_owned(),
        }];
        insta::assert_snapshot!(text(silences, vec![row(Outcome::Verified, None, Check::Serial)], true), @r#"
not verified: a witness that had to speak did not (exit 6)
  1 verified, 0 mismatch, 0 silent, 0 not witnessed; asked: plan, api

witness api is silent: no workspace host

ok the deployment: serial, expected a (the plan); plan says b\u{1b}[31m

plan    plan.json (CLI 1.13.0, serial 7, sha256 0123456789ab)
target  prod
policy  production (sha256 fedcba987654)
does    1 delete, 2 update, 1 skip
"#);
        assert!(
            text(Vec::new(), Vec::new(), false)
                .starts_with("not verified: nothing was observed (exit 6)")
        );
    }
}
