//! What is wrong with a policy file, shown with the line that says it.

use std::cmp::Reverse;
use std::fmt;
use std::sync::Arc;

use annotate_snippets::{Annotation, AnnotationKind, Group, Level as Title, Renderer, Snippet};

use super::location::{Location, SourceFile};
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
        match crate::text::nearest(found, candidates.iter().copied()) {
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
        let primary = self
            .at
            .as_ref()
            .map(|at| (at, self.label.as_str(), AnnotationKind::Primary));
        let related = self
            .related
            .as_ref()
            .map(|(at, label)| (at, label.as_str(), AnnotationKind::Context));
        group = match (primary, related) {
            (Some(one), Some(two)) if one.0.is_near(two.0) => group.element(snippet(&[one, two])),
            (one, two) => group.elements(
                [one, two]
                    .into_iter()
                    .flatten()
                    .map(|place| snippet(&[place])),
            ),
        };
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

/// A place, what is said under it, and how it is marked.
type Mark<'a> = (&'a Location, &'a str, AnnotationKind);

/// The lines around places of one file. Only a window of them is handed on, so that a hostile line cannot make the rendering slow.
fn snippet<'a>(marks: &[Mark<'a>]) -> Snippet<'a, Annotation<'a>> {
    let Some((first, ..)) = marks.iter().min_by_key(|(at, ..)| at.range().start) else {
        return Snippet::source("");
    };
    let last = marks
        .iter()
        .map(|(at, ..)| at.range().start)
        .max()
        .unwrap_or_default();
    let text = first.source().text();
    let from = first.range().start;
    let line_start = text
        .get(..from)
        .and_then(|before| before.rfind('\n'))
        .map_or(0, |at| at + 1);
    let line_end = text
        .get(last..)
        .and_then(|after| after.find('\n'))
        .map_or(text.len(), |at| last + at);
    let start = boundary(text, line_start.max(from.saturating_sub(LINE_WINDOW)));
    let end = boundary(text, line_end.min(last.saturating_add(LINE_WINDOW))).max(from);
    let annotations = marks.iter().map(|(at, label, kind)| {
        let range = at.range();
        let covered = range.start.saturating_sub(start)..range.end.min(end).saturating_sub(start);
        kind.span(covered)
            .label((!label.is_empty()).then_some(*label))
    });
    Snippet::source(text.get(start..end).unwrap_or_default())
        .line_start(first.line())
        .path(first.file())
        .annotations(annotations)
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
    /// `sources`: the files in the order in which they were read.
    pub(super) fn new(mut all: Vec<Diagnostic>, sources: &[Arc<SourceFile>]) -> Self {
        all.sort_by_key(|one| {
            let place = one.at.as_ref().map(|at| {
                let file = sources
                    .iter()
                    .position(|source| Arc::ptr_eq(source, at.source()));
                (file, at.range().start)
            });
            (Reverse(one.severity), place)
        });
        Self(all)
    }

    pub(super) fn into_vec(self) -> Vec<Diagnostic> {
        self.0
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
