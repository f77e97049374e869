//! The level of a rule, and the cap on what the plan does not touch.

use super::choice::choice;

choice! {
    /// How much a finding of a rule weighs, mildest first.
    pub enum Level ("a level") {
        /// The rule is not judged.
        Off = "off",
        /// Said, never counted.
        Note = "note",
        /// Said, does not close the gate.
        Warn = "warn",
        /// Closes the gate until a person has approved exactly this plan.
        Review = "review",
        /// Closes the gate; no approval lifts it.
        Deny = "deny",
    }
}

choice! {
    /// The highest level of a finding about a resource that the plan leaves alone.
    pub enum Standing ("a cap for what the plan leaves alone") {
        /// Such findings are not reported.
        Off = "off",
        /// At most a note.
        Note = "note",
        /// At most a warning.
        Warn = "warn",
        /// At most a review.
        Review = "review",
        /// No cap: the rule's own level.
        AsRule = "as-rule",
    }
}

impl Standing {
    /// The level of a standing finding whose rule has `level`.
    #[must_use]
    pub fn cap(self, level: Level) -> Level {
        let most = match self {
            Self::Off => Level::Off,
            Self::Note => Level::Note,
            Self::Warn => Level::Warn,
            Self::Review => Level::Review,
            Self::AsRule => Level::Deny,
        };
        level.min(most)
    }
}

#[cfg(test)]
mod tests {
    use super::{Level, Standing};

    #[test]
    fn levels_are_ordered_and_read_back() {
        let all = [
            Level::Off,
            Level::Note,
            Level::Warn,
            Level::Review,
            Level::Deny,
        ];
        assert!(all.is_sorted());
        for level in all {
            assert_eq!(level.as_str().parse::<Level>(), Ok(level));
        }
        assert_eq!(
            "Deny".parse::<Level>().unwrap_err().to_string(),
            "expected a level: `off`, `note`, `warn`, `review` or `deny`; found `Deny`; did you mean `deny`?"
        );
    }

    #[test]
    fn standing_caps_and_never_raises() {
        assert_eq!(Standing::Warn.cap(Level::Deny), Level::Warn);
        assert_eq!(Standing::Warn.cap(Level::Note), Level::Note);
        assert_eq!(Standing::AsRule.cap(Level::Deny), Level::Deny);
        assert_eq!(Standing::Off.cap(Level::Deny), Level::Off);
    }
}
