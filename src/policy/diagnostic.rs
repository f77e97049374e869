//! What is wrong with a policy file, shown with the line that says it.

use std::fmt;

use annotate_snippets::{AnnotationKind, Group, Level as Title, Renderer, Snippet};

use super::location::Location;
use super::text;

/// Most findings about a policy that are shown at once.
const MAX_SHOWN: usize = 50;
/// Columns of a rendered diagnostic.
const WIDTH: usize = 120;
/// Bytes of a line that are shown around the place.
const LINE_WINDOW: usize = 400;

/// How much a diagnostic weighs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The policy is used; this is said.
    Warning,
    /// The policy is refused.
    Error,
}

/// One thing that is wrong with a policy file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// Whether it refuses the policy.
    pub severity: Severity,
    /// What is wrong: what was found, what was expected.
    pub message: String,
    /// Said under the place; may be empty.
    pub label: String,
    /// Where; `None` when the whole file is meant.
    pub at: Option<Location>,
    /// Another place that matters, with what it is.
    pub related: Option<(Location, String)>,
    /// What to do.
    pub help: Option<String>,
}

impl Diagnostic {
    pub(super) fn error(at: &Location, message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Error,
            message: message.into(),
            label: String::new(),
            at: Some(at.clone()),
            related: None,
            help: None,
        }
    }

    pub(super) fn warning(at: &Location, message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Warning,
            ..Self::error(at, message)
        }
    }

    pub(super) fn label(mut self, label: impl Into<String>) -> Self {
        self.label = label.into();
        self
    }

    pub(super) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    pub(super) fn related(mut self, at: &Location, label: impl Into<String>) -> Self {
        self.related = Some((at.clone(), label.into()));
        self
    }

    /// Adds "did you mean", if a candidate is near, else the list of what is valid.
    pub(super) fn or_nearest(self, found: &str, candidates: &[&str]) -> Self {
        match text::nearest(found, candidates.iter().copied()) {
            Some(near) => self.label(format!("did you mean `{near}`?")),
            None if candidates.len() > 24 => self,
            None => self.help(format!("expected {}", text::alternatives(candidates))),
        }
    }

    /// The diagnostic with the lines it is about, as people read it. It ends without a line feed.
    #[must_use]
    pub fn render(&self, colour: bool) -> String {
        let level = match self.severity {
            Severity::Error => Title::ERROR,
            Severity::Warning => Title::WARNING,
        };
        let mut group = Group::with_title(level.primary_title(self.message.as_str()));
        if let Some(at) = &self.at {
            group = group.element(snippet(at, &self.label, true));
        }
        if let Some((at, label)) = &self.related {
            group = group.element(snippet(at, label, false));
        }
        if let Some(help) = &self.help {
            group = group.element(Title::HELP.message(help.as_str()));
        }
        let renderer = if colour {
            Renderer::styled()
        } else {
            Renderer::plain()
        };
        renderer.term_width(WIDTH).render(&[group])
    }
}

/// The lines around a place. Only a window of them is handed on, so that a hostile line cannot make the rendering slow.
fn snippet<'a>(
    at: &'a Location,
    label: &'a str,
    primary: bool,
) -> Snippet<'a, annotate_snippets::Annotation<'a>> {
    let text = at.source().text();
    let range = at.range();
    let line_start = text
        .get(..range.start)
        .and_then(|before| before.rfind('\n'))
        .map_or(0, |at| at + 1);
    let start = boundary(
        text,
        line_start.max(range.start.saturating_sub(LINE_WINDOW)),
    );
    let line_end = text
        .get(range.start..)
        .and_then(|after| after.find('\n'))
        .map_or(text.len(), |at| range.start + at);
    let end = boundary(text, line_end.min(range.start + LINE_WINDOW)).max(range.start);
    let window = text.get(start..end).unwrap_or_default();
    let covered = range.start.saturating_sub(start)..range.end.min(end).saturating_sub(start);
    let kind = if primary {
        AnnotationKind::Primary
    } else {
        AnnotationKind::Context
    };
    let mut annotation = kind.span(covered);
    if !label.is_empty() {
        annotation = annotation.label(label);
    }
    Snippet::source(window)
        .line_start(at.line())
        .path(at.file())
        .annotation(annotation)
}

fn boundary(text: &str, at: usize) -> usize {
    (0..=at.min(text.len()))
        .rev()
        .find(|at| text.is_char_boundary(*at))
        .unwrap_or(0)
}

/// Everything that is wrong with a policy; never empty, errors first, then by place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostics(Vec<Diagnostic>);

impl Diagnostics {
    pub(super) fn new(mut all: Vec<Diagnostic>) -> Self {
        all.sort_by_key(|one| std::cmp::Reverse(one.severity));
        Self(all)
    }

    /// Each of them.
    pub fn iter(&self) -> impl Iterator<Item = &Diagnostic> {
        self.0.iter()
    }

    /// All of them as people read them, one after the other with an empty line between.
    #[must_use]
    pub fn render(&self, colour: bool) -> String {
        let mut out: Vec<String> = self
            .0
            .iter()
            .take(MAX_SHOWN)
            .map(|one| one.render(colour))
            .collect();
        if let Some(more) = self.0.len().checked_sub(MAX_SHOWN).filter(|more| *more > 0) {
            out.push(format!("... and {more} more"));
        }
        out.join("\n\n")
    }
}

impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render(false))
    }
}
