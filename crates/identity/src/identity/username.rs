//! What a person wants to be called.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;
use unicode_normalization::UnicodeNormalization;

use super::email::is_unseen;

/// The longest username, in characters.
pub const MAX_CHARACTERS: usize = 64;
/// A longer text is not normalised, in bytes.
const MAX_RAW: usize = 4 * 4 * MAX_CHARACTERS;

/// What a person wants to be called: shown, never compared, not unique, and empty if it was not said, or if nobody would see anything
/// of it. Without white space around it, in Unicode form NFC, 64 characters at most.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Username(String);

/// Why a text is no username.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum InvalidUsername {
    /// More than 64 characters.
    #[error("the username is longer than 64 characters")]
    TooLong,
    /// Control characters, line separators, or characters that turn the direction of what stands around them.
    #[error("the username holds control characters")]
    Malformed,
}

impl Username {
    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The text.
    pub fn into_string(self) -> String {
        self.0
    }
}

impl FromStr for Username {
    type Err = InvalidUsername;
    fn from_str(raw: &str) -> Result<Self, InvalidUsername> {
        let raw = raw.trim();
        if raw.len() > MAX_RAW {
            return Err(InvalidUsername::TooLong);
        }
        let normalised: String = if raw.is_ascii() { raw.to_owned() } else { raw.nfc().collect() };
        if normalised.chars().count() > MAX_CHARACTERS {
            return Err(InvalidUsername::TooLong);
        }
        if normalised.contains(is_disruptive) {
            return Err(InvalidUsername::Malformed);
        }
        if normalised.chars().all(shows_nothing) {
            return Ok(Self::default());
        }
        Ok(Self(normalised))
    }
}

impl fmt::Display for Username {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What would break or turn the line that the name is shown in (Unicode UAX #9 §2).
pub(crate) fn is_disruptive(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
}

/// Whether it leaves the place empty where it stands: white space, what nobody sees by itself, Braille without a dot. Beside others it has its use,
/// as what joins the parts of an emoji.
fn shows_nothing(c: char) -> bool {
    c.is_whitespace() || c == '\u{2800}' || is_unseen(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(raw: &str) -> Result<String, InvalidUsername> {
        raw.parse().map(Username::into_string)
    }

    #[test]
    fn a_username_is_trimmed_and_composed() {
        assert_eq!(read("  Zoe\u{308} 🐱 ").unwrap(), "Zoë 🐱");
        assert_eq!(read(" \t").unwrap(), "");
        assert_eq!(read(&"ë".repeat(64)).unwrap().chars().count(), 64);
    }

    #[test]
    fn a_username_that_nobody_would_see_is_none() {
        for raw in
            ["\u{200B}", "\u{3164}\u{200B}", "\u{2800}", "\u{E0041}", "\u{200F}\u{200E}", "\u{AD} \u{2800}"]
        {
            assert_eq!(read(raw).unwrap(), "", "{raw:?}");
        }
        for raw in ["👩\u{200D}🚀", "می\u{200C}خواهم", "a\u{200B}", "."] {
            assert_eq!(read(raw).unwrap(), raw);
        }
        assert_eq!(read("\u{202E}"), Err(InvalidUsername::Malformed));
    }

    #[test]
    fn what_breaks_a_line_or_is_too_long_is_refused() {
        for raw in ["a\0b", "a\nb", "a\u{7f}b", "a\u{2028}b", "a\u{202E}b", "a\u{2066}b"] {
            assert_eq!(read(raw), Err(InvalidUsername::Malformed), "{raw:?}");
        }
        assert_eq!(read(&"a".repeat(65)), Err(InvalidUsername::TooLong));
        assert_eq!(read(&"a".repeat(100_000)), Err(InvalidUsername::TooLong));
    }
}
