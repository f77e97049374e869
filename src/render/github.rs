//! GitHub Actions: annotations as workflow commands, the job's summary, and a step's outputs.

use super::escape::{github_data, github_property};
use super::{Severity, markdown, words};
use crate::policy::Level;
use crate::report::{Finding, Report, Status};

/// GitHub shows at most this many annotations of each kind for a step.
const MAX_EACH: usize = 10;

/// The workflow commands, one a line: at most ten errors and ten warnings; the rest, and standing weaknesses, are
/// counted in a notice.
pub(super) fn render(report: &Report) -> String {
    let mut out = String::new();
    let mut left: Vec<String> = Vec::new();
    let parts = words::parts(report);
    for (severity, command, one, many) in [
        (Severity::Error, "error", "error", "errors"),
        (Severity::Warning, "warning", "warning", "warnings"),
    ] {
        let all: Vec<&Finding> = parts
            .single
            .iter()
            .filter(|f| f.status != Status::Waived && Severity::of(report, f) == severity)
            .copied()
            .collect();
        for f in all.iter().take(MAX_EACH) {
            out.push_str(&annotation(report, command, f));
        }
        if all.len() > MAX_EACH {
            left.push(format!(
                "{} more",
                words::count(all.len() - MAX_EACH, one, many)
            ));
        }
    }
    let standing: usize = parts.standing.iter().map(|g| g.resources.len()).sum();
    if standing > 0 {
        left.push(words::count(
            standing,
            "standing weakness",
            "standing weaknesses",
        ));
    }
    let more = if left.is_empty() {
        String::new()
    } else {
        format!(
            " Not shown here: {}; see the job's summary.",
            left.join(", ")
        )
    };
    out.push_str(&format!(
        "::notice title=bundlegate::{}\n",
        github_data(&format!(
            "{}: {}.{more}",
            words::verdict_word(report),
            words::verdict(report)
        ))
    ));
    out
}

fn annotation(report: &Report, command: &str, f: &Finding) -> String {
    let mut properties = Vec::new();
    if let Some(place) = &f.location {
        properties.push(format!("file={}", github_property(&place.file)));
        properties.push(format!("line={}", place.line));
        properties.push(format!("col={}", place.column));
    }
    properties.push(format!(
        "title={}",
        github_property(&format!(
            "{} {} {}",
            words::level(report, f),
            f.rule,
            words::subject(f)
        ))
    ));
    // %0A is a line break inside the annotation; what stands between is escaped.
    format!(
        "::{command} {}::{}%0Awhy: {}%0Ado: {}\n",
        properties.join(","),
        github_data(&f.message),
        github_data(&f.impact),
        github_data(&f.remedy)
    )
}

/// What is appended to `$GITHUB_STEP_SUMMARY`: Markdown, below GitHub's limit.
#[must_use]
pub fn summary(report: &Report) -> String {
    markdown::within(report, markdown::SUMMARY_LIMIT)
}

/// What is appended to `$GITHUB_OUTPUT`: `verdict`, `exit-code`, `deny`, `review`, `warn` (counts), `plan-sha256`,
/// `intent`, `approval` (who approved what is authorized) and `message`, the verdict in words.
#[must_use]
pub fn outputs(report: &Report) -> String {
    let mut out = String::new();
    for (name, value) in values(report) {
        output(&mut out, name, &value);
    }
    out
}

/// The outputs of a step, by name.
pub(super) fn values(report: &Report) -> [(&'static str, String); 9] {
    [
        ("verdict", report.verdict.as_str().to_owned()),
        ("exit-code", report.exit_code.to_string()),
        ("deny", words::of_level(report, Level::Deny).to_string()),
        ("review", words::of_level(report, Level::Review).to_string()),
        ("warn", words::of_level(report, Level::Warn).to_string()),
        ("plan-sha256", report.plan.sha256.clone()),
        ("intent", report.plan.intent.clone().unwrap_or_default()),
        ("approval", approval(report)),
        ("message", words::verdict(report)),
    ]
}

/// Who approved, if it is authorized.
fn approval(report: &Report) -> String {
    match report.body.authorization() {
        Some(body) if body.authorized => body.persons.join(", "),
        _ => String::new(),
    }
}

/// One output in the form that takes any value: `name<<delimiter`, the value, the delimiter. No line of the value is the delimiter.
fn output(out: &mut String, name: &str, value: &str) {
    let mut delimiter = String::from("BUNDLEGATE_END");
    while value.lines().any(|line| line.trim() == delimiter) {
        delimiter.push('_');
    }
    out.push_str(&format!("{name}<<{delimiter}\n{value}\n{delimiter}\n"));
}

#[cfg(test)]
mod tests {
    use super::super::sample;
    use super::*;

    #[test]
    fn ten_of_each_and_the_rest_counted() {
        let findings = (0..12)
            .map(|i| {
                sample::finding(
                    Level::Review,
                    "recreate",
                    Some(&format!("jobs.j{i:02}")),
                    "It is made again.",
                )
            })
            .collect();
        let out = render(&sample::with(findings));
        assert_eq!(
            out.lines().filter(|l| l.starts_with("::error ")).count(),
            10
        );
        assert!(
            out.ends_with(
                "of exactly this plan. Not shown here: 2 errors more; see the job's summary.\n"
            ),
            "{out}"
        );
    }

    #[test]
    fn annotations() {
        insta::assert_snapshot!(render(&sample::report()), @r#"
::error file=databricks.yml,line=12,col=5,title=deny destroy schemas.orders::The plan deletes it.%0Awhy: All its data goes.%0Ado: Keep it in the bundle.
::error title=deny destroy volumes.raw::The plan deletes it.%0Awhy: All its data goes.%0Ado: Keep it in the bundle.
::error title=review run-as-change jobs.nightly::Whether the identity changes waits for ${resources.apps.a.id}.%0Awhy: All its data goes.%0Ado: Keep it in the bundle.
::notice title=bundlegate::closed: 2 findings forbid this deploy, 1 more needs a review. Not shown here: 2 standing weaknesses; see the job's summary.
"#);
    }

    #[test]
    fn an_output_ends_where_it_says() {
        insta::assert_snapshot!(outputs(&sample::report()), @r#"
verdict<<BUNDLEGATE_END
closed
BUNDLEGATE_END
exit-code<<BUNDLEGATE_END
1
BUNDLEGATE_END
deny<<BUNDLEGATE_END
2
BUNDLEGATE_END
review<<BUNDLEGATE_END
1
BUNDLEGATE_END
warn<<BUNDLEGATE_END
2
BUNDLEGATE_END
plan-sha256<<BUNDLEGATE_END
0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef
BUNDLEGATE_END
intent<<BUNDLEGATE_END

BUNDLEGATE_END
approval<<BUNDLEGATE_END

BUNDLEGATE_END
message<<BUNDLEGATE_END
2 findings forbid this deploy, 1 more needs a review
BUNDLEGATE_END
"#);
        let mut out = String::new();
        output(
            &mut out,
            "x",
            "a\nBUNDLEGATE_END\nverdict=open\n BUNDLEGATE_END_",
        );
        assert_eq!(
            out,
            "x<<BUNDLEGATE_END__\na\nBUNDLEGATE_END\nverdict=open\n BUNDLEGATE_END_\nBUNDLEGATE_END__\n"
        );
    }
}
