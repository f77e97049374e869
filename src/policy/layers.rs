//! The level of one rule: what each file says about it, one upon the other.

use serde::Serialize;

use super::level::Level;
use super::location::{At, Location};
use super::selector::Selector;

/// What all the files together say about one rule.
#[derive(Debug, Clone, Default)]
pub struct RuleSetting {
    /// Later layers win.
    pub(super) layers: Vec<Layer>,
    pub(super) locked: Option<Location>,
}

impl RuleSetting {
    /// What was said, the last word last.
    #[must_use]
    pub fn layers(&self) -> &[Layer] {
        &self.layers
    }

    /// Where it is locked by itself; see [`Policy::is_locked`](super::Policy::is_locked) for the policy's own lock.
    #[must_use]
    pub fn locked(&self) -> Option<&Location> {
        self.locked.as_ref()
    }

    /// Puts a layer on top; what it hides entirely is dropped.
    pub(super) fn push(&mut self, layer: Layer) {
        if layer.is_unconditional() {
            self.layers.clear();
        }
        self.layers.push(layer);
    }

    pub(super) fn decided_by(&self, key: Option<&str>) -> Option<&Layer> {
        self.layers.iter().rev().find(|layer| layer.holds_for(key))
    }

    /// The strictest thing said so far that `new` would make milder, as far as can be told; errs towards yes.
    pub(super) fn softened_by(&self, new: &Layer) -> Option<Option<&Layer>> {
        let everything = Selector::everything();
        let selectors: Vec<&Selector> = match &new.resources {
            Some(selectors) => selectors.iter().map(|selector| &selector.value).collect(),
            None => vec![&everything],
        };
        'selectors: for selector in selectors {
            if new.except.iter().any(|except| except.covers(selector)) {
                continue;
            }
            for layer in self.layers.iter().rev() {
                if layer.level > new.level && layer.may_hold_for(selector) {
                    return Some(Some(layer));
                }
                if layer.holds_for_all(selector) {
                    continue 'selectors;
                }
            }
            // Nothing says a level for all that is selected: there the rule denies.
            if new.level < Level::Deny {
                return Some(None);
            }
        }
        None
    }
}

/// One statement about a rule.
#[derive(Debug, Clone, Serialize)]
pub struct Layer {
    /// The level.
    pub level: Level,
    /// The resources it holds for; `None`: everything.
    pub resources: Option<Vec<At<Selector>>>,
    /// Resources it does not hold for.
    pub except: Vec<At<Selector>>,
    /// Where it is said; `None`: by `--level`.
    #[serde(skip)]
    pub at: Option<Location>,
}

impl Layer {
    pub(super) fn is_unconditional(&self) -> bool {
        self.except.is_empty()
            && self
                .resources
                .as_ref()
                .is_none_or(|all| all.iter().any(|one| one.is_everything()))
    }

    /// Whether it holds for the resource, or, without one, for what is about the whole deployment.
    fn holds_for(&self, key: Option<&str>) -> bool {
        let selects = |selector: &At<Selector>| {
            key.map_or_else(|| selector.is_everything(), |key| selector.matches(key))
        };
        self.resources
            .as_ref()
            .is_none_or(|all| all.iter().any(selects))
            && !self.except.iter().any(selects)
    }

    fn may_hold_for(&self, selector: &Selector) -> bool {
        self.resources
            .as_ref()
            .is_none_or(|all| all.iter().any(|one| one.may_overlap(selector)))
            && !self.except.iter().any(|one| one.covers(selector))
    }

    fn holds_for_all(&self, selector: &Selector) -> bool {
        self.resources
            .as_ref()
            .is_none_or(|all| all.iter().any(|one| one.covers(selector)))
            && self.except.is_empty()
    }
}
