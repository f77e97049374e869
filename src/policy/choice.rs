//! One macro for the enumerations of the policy file: name, text form, order, reading and schema from one list.

use super::text;

/// A word that is not one of the words expected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected {what}: {}; found {}{}", text::alternatives(.expected), text::quoted(.found), text::did_you_mean(.nearest.as_deref()))]
pub struct UnknownWord {
    /// What the word stands for, such as "a level".
    pub what: &'static str,
    /// The words that are accepted.
    pub expected: &'static [&'static str],
    /// The word found.
    pub found: String,
    /// The accepted word that looks most like it.
    pub nearest: Option<String>,
}

/// Declares an enumeration whose variants are the words of the policy file.
macro_rules! choice {
    ($(#[$meta:meta])* pub enum $name:ident ($what:literal) { $($(#[$vmeta:meta])* $variant:ident = $word:literal,)+ }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, schemars::JsonSchema)]
        pub enum $name {
            $($(#[$vmeta])* #[serde(rename = $word)] $variant,)+
        }

        impl $name {
            /// Every value, in order.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];
            /// Every word, in order.
            pub const WORDS: &'static [&'static str] = &[$($word),+];

            /// The word that stands for it in the policy file.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word,)+ }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::policy::UnknownWord;

            fn from_str(word: &str) -> Result<Self, Self::Err> {
                match word {
                    $($word => Ok(Self::$variant),)+
                    _ => Err($crate::policy::UnknownWord {
                        what: $what,
                        expected: Self::WORDS,
                        found: word.to_owned(),
                        nearest: $crate::text::nearest(word, Self::WORDS.iter().copied()).map(str::to_owned),
                    }),
                }
            }
        }

        impl $crate::policy::decode::Decode for $name {
            fn decode(node: $crate::policy::yaml::Node, cx: &mut $crate::policy::decode::Cx) -> Option<Self> {
                $crate::policy::decode::word::<Self>(node, $what, Self::WORDS, cx)
            }
        }
    };
}

pub(super) use choice;
