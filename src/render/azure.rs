//! Azure DevOps: logging commands for issues, the run's summary, and output variables.

use super::escape::{azure_data, azure_property};
use super::{Severity, github, markdown, words};
use crate::report::{Finding, Report, Status};

/// The logging commands, one a line: an issue for each finding that is neither a note nor a standing weakness, then the output
/// variables (`verdict`, `exitCode`, ...).
pub(super) fn render(report: &Report) -> String {
    let mut out = String::new();
    for f in words::parts(report)
        .single
        .into_iter()
        .filter(|f| f.status != Status::Waived)
    {
        match Severity::of(report, f) {
            Severity::Error => out.push_str(&issue(report, "error", f)),
            Severity::Warning => out.push_str(&issue(report, "warning", f)),
            Severity::Note => {}
        }
    }
    for (name, value) in github::values(report) {
        out.push_str(&format!(
            "##vso[task.setvariable variable={};isOutput=true]{}\n",
            azure_property(&camel(name)),
            azure_data(&value)
        ));
    }
    out
}

/// `exit-code` as a variable is called: `exitCode`.
fn camel(name: &str) -> String {
    let mut parts = name.split('-');
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (first, rest) = part.split_at(part.len().min(1));
        out.push_str(&first.to_ascii_uppercase());
        out.push_str(rest);
    }
    out
}

fn issue(report: &Report, kind: &str, f: &Finding) -> String {
    let place = f.location.as_ref().map_or_else(String::new, |p| {
        format!(
            "sourcepath={};linenumber={};columnnumber={};",
            azure_property(&p.file),
            p.line,
            p.column
        )
    });
    format!(
        "##vso[task.logissue type={kind};{place}code={};]{}\n",
        azure_property(&f.rule),
        azure_data(&format!(
            "{} {}: {} Why: {} Do: {}",
            words::level(report, f),
            words::subject(f),
            f.message,
            f.impact,
            f.remedy
        ))
    )
}

/// The Markdown for the run's summary page; written to a file, which [`upload_summary`] names.
#[must_use]
pub fn summary(report: &Report) -> String {
    markdown::within(report, markdown::SUMMARY_LIMIT)
}

/// The command that adds a Markdown file to the run's summary page. The path is absolute.
#[must_use]
pub fn upload_summary(path: &str) -> String {
    format!("##vso[task.uploadsummary]{}\n", azure_data(path))
}

#[cfg(test)]
mod tests {
    use super::super::sample;
    use super::*;

    #[test]
    fn commands() {
        insta::assert_snapshot!(render(&sample::report()), @r#"
##vso[task.logissue type=error;sourcepath=databricks.yml;linenumber=12;columnnumber=5;code=destroy;]deny schemas.orders: The plan deletes it. Why: All its data goes. Do: Keep it in the bundle.
##vso[task.logissue type=error;code=destroy;]deny volumes.raw: The plan deletes it. Why: All its data goes. Do: Keep it in the bundle.
##vso[task.logissue type=error;code=run-as-change;]review jobs.nightly: Whether the identity changes waits for ${resources.apps.a.id}. Why: All its data goes. Do: Keep it in the bundle.
##vso[task.setvariable variable=verdict;isOutput=true]closed
##vso[task.setvariable variable=exitCode;isOutput=true]1
##vso[task.setvariable variable=deny;isOutput=true]2
##vso[task.setvariable variable=review;isOutput=true]1
##vso[task.setvariable variable=warn;isOutput=true]2
##vso[task.setvariable variable=planSha256;isOutput=true]0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef
##vso[task.setvariable variable=intent;isOutput=true]
##vso[task.setvariable variable=approval;isOutput=true]
##vso[task.setvariable variable=message;isOutput=true]2 findings forbid this deploy, 1 more needs a review
"#);
        assert_eq!(
            upload_summary("/tmp/100%.md"),
            "##vso[task.uploadsummary]/tmp/100%AZP25.md\n"
        );
    }
}
