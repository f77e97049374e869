//! Where in a document a value stands. Worked out only when there is something to say about it.

/// A place in a file. Both count from 1; columns count bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// Line, from 1.
    pub line: usize,
    /// Column in bytes, from 1.
    pub column: usize,
}

/// One step down into a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// The value of this member.
    Value(String),
    /// The key of this member itself; nothing is below it.
    Key(String),
    /// This item of an array, from 0.
    Index(usize),
}

/// Finds the place of a value in a document that [`super::parse`] has accepted.
///
/// Returns the place of the deepest value on the way that is there.
#[must_use]
pub fn locate(bytes: &[u8], path: &[Step]) -> Position {
    let mut scan = Scan { bytes, at: 0 };
    scan.white();
    let mut best = scan.at;
    for step in path {
        let found = match step {
            Step::Value(name) | Step::Key(name) => scan.member(name, matches!(step, Step::Key(_))),
            Step::Index(n) => scan.item(*n),
        };
        if !found {
            break;
        }
        best = scan.at;
    }
    let before = bytes.get(..best).unwrap_or_default();
    let line = before.iter().filter(|b| **b == b'\n').count() + 1;
    let column = before.iter().rev().take_while(|b| **b != b'\n').count() + 1;
    Position { line, column }
}

struct Scan<'b> {
    bytes: &'b [u8],
    at: usize,
}

impl Scan<'_> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn white(&mut self) {
        while self.peek().is_some_and(|b| b.is_ascii_whitespace()) {
            self.at += 1;
        }
    }

    /// Stands behind the string that starts here.
    fn string(&mut self) -> &[u8] {
        let from = self.at;
        self.at += 1;
        while let Some(b) = self.peek() {
            self.at += if b == b'\\' { 2 } else { 1 };
            if b == b'"' {
                break;
            }
        }
        self.bytes.get(from..self.at).unwrap_or_default()
    }

    /// Stands behind the value that starts here.
    fn value(&mut self) {
        let mut depth = 0_usize;
        loop {
            match self.peek() {
                None => return,
                Some(b'"') => drop(self.string().len()),
                Some(b'{' | b'[') => {
                    depth += 1;
                    self.at += 1;
                }
                Some(b'}' | b']') if depth == 0 => return,
                Some(b'}' | b']') => {
                    depth -= 1;
                    self.at += 1;
                }
                Some(b',') if depth == 0 => return,
                Some(_) => self.at += 1,
            }
            if depth == 0
                && !self
                    .peek()
                    .is_some_and(|b| !matches!(b, b',' | b'}' | b']') && !b.is_ascii_whitespace())
            {
                return;
            }
        }
    }

    fn member(&mut self, name: &str, key: bool) -> bool {
        if self.peek() != Some(b'{') {
            return false;
        }
        self.at += 1;
        loop {
            self.white();
            if self.peek() != Some(b'"') {
                return false;
            }
            let start = self.at;
            let found = serde_json::from_slice::<String>(self.string()).is_ok_and(|k| k == name);
            if found && key {
                self.at = start;
                return true;
            }
            self.white();
            self.at += 1;
            self.white();
            if found {
                return true;
            }
            self.value();
            self.white();
            if self.peek() != Some(b',') {
                return false;
            }
            self.at += 1;
        }
    }

    fn item(&mut self, n: usize) -> bool {
        if self.peek() != Some(b'[') {
            return false;
        }
        self.at += 1;
        for i in 0.. {
            self.white();
            if self.peek().is_none_or(|b| b == b']') {
                return false;
            }
            if i == n {
                return true;
            }
            self.value();
            self.white();
            if self.peek() != Some(b',') {
                return false;
            }
            self.at += 1;
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_values_keys_and_items() {
        let text = br#"{ "a": {"x": [1, {"y,}": "]"}],
  "b\u0063": true}, "z": 2}"#;
        let at = |path: &[Step]| {
            let p = locate(text, path);
            (p.line, p.column)
        };
        let v = |s: &str| Step::Value(s.into());
        assert_eq!(at(&[]), (1, 1));
        assert_eq!(at(&[v("a"), v("x"), Step::Index(1), v("y,}")]), (1, 26));
        assert_eq!(at(&[v("a"), Step::Key("bc".into())]), (2, 3));
        assert_eq!(at(&[v("a"), v("bc")]), (2, 14));
        assert_eq!(at(&[v("z")]), (2, 26));
        assert_eq!(
            at(&[v("a"), v("nowhere")]),
            (1, 8),
            "the deepest value that is there"
        );
    }

    proptest::proptest! {
        #[test]
        fn never_panics(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..80), n in 0..4usize) {
            let _ = locate(&bytes, &[Step::Value("a".into()), Step::Index(n), Step::Key("b".into())]);
        }
    }
}
