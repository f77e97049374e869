//! OpenSSH pattern lists, as `ssh_config(5)` PATTERNS has them: `*`, `?`, commas, and `!` for "but not".

/// A comma-separated list of patterns. Matching is case-sensitive and by byte, as in OpenSSH's `match_pattern_list`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PatternList {
    text: String,
}

impl PatternList {
    /// Keeps a list. An empty pattern in it matches the empty text only, as in OpenSSH.
    #[must_use]
    pub fn new(text: &str) -> Self {
        Self {
            text: text.to_owned(),
        }
    }

    /// The list as it was written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Does some pattern match, and no negated one? A list of negations alone matches nothing.
    #[must_use]
    pub fn matches(&self, subject: &str) -> bool {
        let mut matched = false;
        for pattern in self.text.split(',') {
            match pattern.strip_prefix('!') {
                Some(negated) if glob(negated.as_bytes(), subject.as_bytes()) => return false,
                Some(_) => {}
                None => matched |= glob(pattern.as_bytes(), subject.as_bytes()),
            }
        }
        matched
    }

    /// Is it one plain name, without `*`, `?`, `!` or a comma?
    #[must_use]
    pub fn is_literal(&self) -> bool {
        !self.text.contains(['*', '?', '!', ','])
    }
}

/// `*` and `?` by bytes, without recursion: at most `pattern * subject` steps.
fn glob(pattern: &[u8], subject: &[u8]) -> bool {
    let (mut p, mut s) = (0_usize, 0_usize);
    let mut retry: Option<(usize, usize)> = None;
    while let Some(&byte) = subject.get(s) {
        match pattern.get(p) {
            Some(b'*') => {
                retry = Some((p, s));
                p = p.saturating_add(1);
            }
            Some(&expected) if expected == b'?' || expected == byte => {
                p = p.saturating_add(1);
                s = s.saturating_add(1);
            }
            _ => match retry {
                Some((star, from)) => {
                    let next = from.saturating_add(1);
                    retry = Some((star, next));
                    p = star.saturating_add(1);
                    s = next;
                }
                None => return false,
            },
        }
    }
    pattern
        .get(p..)
        .unwrap_or_default()
        .iter()
        .all(|&b| b == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn like_openssh() {
        for (list, subject, expected) in [
            ("a@x", "a@x", true),
            ("a@x", "A@x", false),
            ("*@x", "anyone@x", true),
            ("*@x", "@x", true),
            ("*@x", "a@xy", false),
            ("?@x", "a@x", true),
            ("?@x", "@x", false),
            ("a@x,b@x", "b@x", true),
            ("*@x,!b@x", "b@x", false),
            ("!b@x,*@x", "b@x", false),
            ("!b@x,*@x", "a@x", true),
            ("!b@x", "a@x", false),
            ("a*b*c", "aXXbYYbZc", true),
            ("**", "", true),
            ("", "", true),
            ("", "a", false),
            ("a@x, b@x", "b@x", false),
        ] {
            assert_eq!(
                PatternList::new(list).matches(subject),
                expected,
                "{list:?} {subject:?}"
            );
        }
    }

    #[test]
    fn a_hostile_pattern_takes_no_time() {
        let pattern = PatternList::new(&format!("{}b", "a*".repeat(500)));
        assert!(!pattern.matches(&"a".repeat(2000)));
    }

    proptest! {
        #[test]
        fn a_literal_matches_itself_and_a_star_everything(text in "[a-z@.+_-]{0,40}") {
            prop_assert!(PatternList::new(&text).matches(&text));
            prop_assert!(PatternList::new("*").matches(&text));
            let negated = PatternList::new(&format!("*,!{text}"));
            prop_assert!(!negated.matches(&text));
        }

        #[test]
        fn never_panics(pattern in ".{0,40}", subject in ".{0,40}") {
            let _ = PatternList::new(&pattern).matches(&subject);
        }
    }
}
