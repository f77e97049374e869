//! The report as JSON: stable, with a published schema.

use super::escape;
use crate::report::Report;

pub(super) fn render(report: &Report) -> String {
    document(report)
}

/// Pretty JSON that hides nothing and starts no command in a log; the values are those of the report, exactly.
#[expect(
    clippy::expect_used,
    reason = "serde_json fails on maps whose keys are no strings and on a Serialize that fails; a report has neither"
)]
pub(super) fn document(value: &impl serde::Serialize) -> String {
    let mut text =
        escape::json(serde_json::to_string_pretty(value).expect("a report is always JSON"));
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::super::sample;
    use super::*;

    /// `docs/report.schema.json` is what the code says; `BUNDLEGATE_UPDATE_DOCS=1` writes it anew.
    #[test]
    fn the_published_schema_is_the_report() {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/report.schema.json");
        let fresh = document(&crate::report::json_schema());
        if std::env::var_os("BUNDLEGATE_UPDATE_DOCS").is_some() {
            std::fs::write(&path, &fresh).unwrap();
        }
        let published = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            published.replace("\r\n", "\n") == fresh,
            "docs/report.schema.json is not the report's schema; BUNDLEGATE_UPDATE_DOCS=1 cargo test writes it anew"
        );
    }

    #[test]
    fn a_report_fits_its_schema_and_is_always_the_same() {
        let schema = crate::report::json_schema();
        let text = render(&sample::report());
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        let validator = jsonschema::validator_for(&schema).unwrap();
        let errors: Vec<String> = validator
            .iter_errors(&value)
            .map(|e| e.to_string())
            .collect();
        assert!(errors.is_empty(), "{errors:?}");
        assert!(text.ends_with("}\n"));
        assert_eq!(text, render(&sample::report()));
    }
}
