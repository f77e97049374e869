//! One output format a file. A renderer is a pure function of the [`Report`]: it never judges, and what a plan says reaches
//! an output only through [`escape`].

mod azure;
mod budget;
mod changes;
pub mod escape;
pub mod exposure;
mod github;
mod html;
mod json;
mod junit;
mod markdown;
#[cfg(test)]
mod sample;
mod sarif;
mod text;
mod words;
mod wrap;

use std::fmt;
use std::str::FromStr;

pub use azure::{summary as azure_summary, upload_summary as azure_upload_summary};
pub use github::{outputs as github_outputs, summary as github_summary};

use crate::policy::Level;
use crate::report::{Finding, Report};
use crate::text::{nearest, quoted};

/// An output format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Format {
    /// For a terminal or a log.
    Text,
    /// The report itself; stable, with a schema (`docs/report.schema.json`).
    Json,
    /// For a pull request's comment.
    Markdown,
    /// One page that needs nothing else.
    Html,
    /// SARIF 2.1.0, for code scanning.
    Sarif,
    /// JUnit XML, for test reports.
    Junit,
    /// Workflow commands of GitHub Actions.
    Github,
    /// Logging commands of Azure DevOps.
    Azure,
}

impl Format {
    /// All formats.
    pub const ALL: &'static [Format] = &[
        Format::Text,
        Format::Json,
        Format::Markdown,
        Format::Html,
        Format::Sarif,
        Format::Junit,
        Format::Github,
        Format::Azure,
    ];

    /// The name on the command line.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Format::Text => "text",
            Format::Json => "json",
            Format::Markdown => "markdown",
            Format::Html => "html",
            Format::Sarif => "sarif",
            Format::Junit => "junit",
            Format::Github => "github",
            Format::Azure => "azure",
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A name that is no format's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected a format ({}), found {}{}", Format::names(), quoted(.found), Format::did_you_mean(.found))]
pub struct UnknownFormat {
    found: String,
}

impl Format {
    fn names() -> String {
        let names: Vec<&str> = Self::ALL.iter().map(|f| f.as_str()).collect();
        names.join(", ")
    }

    fn did_you_mean(found: &str) -> String {
        nearest(found, Self::ALL.iter().map(|f| f.as_str()))
            .map_or_else(String::new, |n| format!("; did you mean {n}?"))
    }
}

impl FromStr for Format {
    type Err = UnknownFormat;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .iter()
            .copied()
            .find(|f| f.as_str() == name)
            .ok_or_else(|| UnknownFormat {
                found: name.to_owned(),
            })
    }
}

/// How a report is shown. Only [`Format::Text`] reads it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Options {
    /// Whether the output may hold colours (ANSI sequences).
    pub colour: bool,
    /// Columns of the terminal; none: [`DEFAULT_WIDTH`].
    pub width: Option<usize>,
    /// Whether values, fingerprints, digests and each standing weakness are written out.
    pub verbose: bool,
}

/// Columns where nobody says how many there are.
pub const DEFAULT_WIDTH: usize = 100;

/// How loud a finding is for readers that know three steps only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Severity {
    /// It is said.
    Note,
    /// It is worth reading.
    Warning,
    /// It holds up the deploy.
    Error,
}

impl Severity {
    fn of(report: &Report, finding: &Finding) -> Self {
        match finding.level {
            Level::Review if report.is_approved(finding) => Severity::Warning,
            Level::Deny | Level::Review => Severity::Error,
            Level::Warn => Severity::Warning,
            Level::Note | Level::Off => Severity::Note,
        }
    }

    /// The word in SARIF.
    fn sarif(self) -> &'static str {
        match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Note => "note",
        }
    }
}

/// The report in this format. Ends with a newline.
#[must_use]
pub fn render(format: Format, report: &Report, options: &Options) -> String {
    match format {
        Format::Text => text::render(report, options),
        Format::Json => json::render(report),
        Format::Markdown => markdown::within(report, markdown::COMMENT_LIMIT),
        Format::Html => html::render(report),
        Format::Sarif => sarif::render(report),
        Format::Junit => junit::render(report),
        Format::Github => github::render(report),
        Format::Azure => azure::render(report),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_by_name() {
        for f in Format::ALL {
            assert_eq!(f.as_str().parse(), Ok(*f));
        }
        assert_eq!(
            "jsn".parse::<Format>().unwrap_err().to_string(),
            "expected a format (text, json, markdown, html, sarif, junit, github, azure), found \"jsn\"; did you mean json?"
        );
        assert!(
            !"wombat"
                .parse::<Format>()
                .unwrap_err()
                .to_string()
                .contains("mean")
        );
    }
}
