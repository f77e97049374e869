//! A document that must not grow beyond a size: the least dangerous details are left out, and their number is said.

use std::collections::BTreeMap;

/// The document as it grows, the most dangerous first.
pub(super) struct Document {
    out: String,
    limit: usize,
    open: Vec<&'static str>,
    full: bool,
    left_out: BTreeMap<&'static str, usize>,
}

/// Room for the sentence about what is left out.
const RESERVE: usize = 400;

impl Document {
    /// A document of at most this many bytes.
    pub(super) fn new(limit: usize) -> Self {
        Self {
            out: String::new(),
            limit: limit.saturating_sub(RESERVE),
            open: Vec::new(),
            full: false,
            left_out: BTreeMap::new(),
        }
    }

    /// Adds a piece that stands in any case: the head, the foot.
    pub(super) fn must(&mut self, piece: &str) {
        self.out.push_str(piece);
    }

    /// Adds a piece, or counts it as left out under this name. Once a piece did not fit, none that comes later does.
    pub(super) fn may(&mut self, what: &'static str, piece: &str) {
        let closings: usize = self.open.iter().map(|c| c.len()).sum();
        if self.full || self.out.len() + piece.len() + closings > self.limit {
            self.full = true;
            *self.left_out.entry(what).or_default() += 1;
        } else {
            self.out.push_str(piece);
        }
    }

    /// Opens a section if it fits. It is closed by [`Document::close`].
    pub(super) fn open(&mut self, start: &str, end: &'static str) {
        let closings: usize = self.open.iter().map(|c| c.len()).sum();
        if self.full || self.out.len() + start.len() + end.len() + closings > self.limit {
            self.full = true;
            self.open.push("");
        } else {
            self.out.push_str(start);
            self.open.push(end);
        }
    }

    /// Closes the last section that was opened.
    pub(super) fn close(&mut self) {
        if let Some(end) = self.open.pop() {
            self.out.push_str(end);
        }
    }

    /// What was left out, in words.
    pub(super) fn left_out(&self) -> Option<String> {
        let parts: Vec<String> = self
            .left_out
            .iter()
            .map(|(what, n)| format!("{n} {what}"))
            .collect();
        (!parts.is_empty()).then(|| {
            format!(
                "Left out here to stay below the size limit, the least dangerous last: {}. `-o json` has all of them.",
                parts.join(", ")
            )
        })
    }

    /// The document.
    pub(super) fn finish(mut self) -> String {
        while !self.open.is_empty() {
            self.close();
        }
        self.out
    }
}
