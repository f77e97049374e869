//! The text of `digest` and `authorize`.

use anstyle::{AnsiColor, Effects, Style};

use super::{DIM, PLAIN, Page, style_of};
use crate::policy::Level;
use crate::render::words;
use crate::report::{AuthorizeBody, CheckResult, DigestBody, GateCheck, Report};

/// The digests, each on a line of its own; with the canonical form, what was left out of it and why.
pub(super) fn digest(page: &mut Page, body: &DigestBody) {
    for (name, value) in words::digests(body) {
        page.line(&format!("{name:<7} "), DIM, &value);
    }
    let Some(canonical) = &body.canonical else {
        return;
    };
    page.gap();
    for left_out in &body.left_out {
        page.line(
            "left out ",
            DIM,
            &format!(
                "{} {} ({}): {}",
                left_out.resource, left_out.path, left_out.normaliser, left_out.reason
            ),
        );
    }
    page.line(
        "left out ",
        DIM,
        "remote_state, changes that are skipped, reason and remote of the others, cli_version: they say what is, not what will be done",
    );
    page.line(
        "canonical form ",
        DIM,
        "(secrets are shown as (secret) and hashed as they are)",
    );
    page.line("", PLAIN, &canonical.to_string());
}

/// The answer, and what stands against it; every check if that was asked for.
pub(super) fn authorize(page: &mut Page, report: &Report, body: &AuthorizeBody, verbose: bool) {
    let all = body.explain || verbose;
    let style = if body.authorized {
        AnsiColor::Green.on_default().effects(Effects::BOLD)
    } else {
        style_of(Level::Deny)
    };
    page.line(
        &format!("{}: ", words::authorized_word(body)),
        style,
        &words::authorized(report, body),
    );
    page.gap();
    for check in body.checks.iter().filter(|c| all || c.is_refused()) {
        one(page, check);
    }
    if all || !body.authorized {
        page.gap();
    }
}

fn one(page: &mut Page, check: &GateCheck) {
    let about = check
        .approval
        .as_ref()
        .map_or(String::new(), |approval| format!("  {approval}"));
    let (word, style) = match check.result {
        CheckResult::Passed => ("ok      ", AnsiColor::Green.on_default()),
        CheckResult::Refused => ("no      ", style_of(Level::Deny)),
        CheckResult::NotCounted => ("note    ", Style::new().effects(Effects::DIMMED)),
        CheckResult::NotReached => ("-       ", Style::new().effects(Effects::DIMMED)),
    };
    match check.result {
        CheckResult::Passed | CheckResult::NotReached => {
            page.line(
                word,
                style,
                &format!("{}{about}: {}", check.check, check.found),
            );
        }
        CheckResult::Refused | CheckResult::NotCounted => {
            page.line(word, style, &format!("{}{about}", check.check));
            page.line("  expected: ", DIM, &check.expected);
            page.line("  found:    ", DIM, &check.found);
            page.line("  do:       ", DIM, &check.remedy);
        }
    }
}
