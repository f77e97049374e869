//! What may take the place of a value that a policy has locked.

use super::decode::Cx;
use super::diagnostic::Diagnostic;
use super::location::{At, Location};

/// What may replace a locked value: nothing but an equal or a stricter one.
pub(super) struct Lock<'a> {
    pub(super) at: Option<&'a Location>,
    pub(super) cx: &'a mut Cx,
}

impl Lock<'_> {
    pub(super) fn refuse(&mut self, at: &Location, what: &str) {
        if let Some(locked) = self.at {
            self.cx.report(
                Diagnostic::error(
                    at,
                    format!("{what} is locked by the policy that this one extends"),
                )
                .related(locked, "locked here"),
            );
        }
    }

    /// Puts `new` in the place of `slot`, unless that is locked and `new` is not at least as strict.
    pub(super) fn replace<T: PartialEq>(
        &mut self,
        slot: &mut T,
        new: Option<At<T>>,
        what: &str,
        strict: impl FnOnce(&T, &T) -> bool,
    ) {
        let Some(new) = new else { return };
        if self.at.is_some() && *slot != new.value && !strict(slot, &new.value) {
            self.refuse(&new.at, what);
        } else {
            *slot = new.value;
        }
    }

    /// As [`Lock::replace`], where nothing stands yet nothing is locked.
    pub(super) fn fill<T: PartialEq>(
        &mut self,
        slot: &mut Option<At<T>>,
        new: Option<At<T>>,
        what: &str,
        strict: impl FnOnce(&T, &T) -> bool,
    ) {
        let Some(new) = new else { return };
        match slot {
            Some(old)
                if self.at.is_some() && **old != new.value && !strict(&old.value, &new.value) =>
            {
                self.refuse(&new.at, what)
            }
            _ => *slot = Some(new),
        }
    }

    /// Puts a list in the place of another; a locked list that is not empty stays.
    pub(super) fn list<T: PartialEq>(
        &mut self,
        slot: &mut Vec<At<T>>,
        new: Vec<At<T>>,
        what: &str,
    ) {
        let Some(first) = new.first() else { return };
        if self.at.is_some() && !slot.is_empty() && *slot != new {
            self.refuse(&first.at, what);
        } else {
            *slot = new;
        }
    }
}
