//! The value that a request was refused for: the log says which it is, and so may the answer, whose client sent it.

use std::fmt;

/// How much of a value is told, in characters.
const LONGEST: usize = 200;

/// The beginning of a value that was refused. Empty where there is none to name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RefusedValue(String);

impl RefusedValue {
    /// As much of this value as is told.
    pub fn new(value: &str) -> Self {
        Self(value.chars().take(LONGEST).collect())
    }

    /// The same of a URI without what may be secret in it: query, fragment and user.
    pub fn of_uri(uri: &str) -> Self {
        let told = uri.split(['?', '#']).next().unwrap_or_default();
        if told.contains('@') { Self::default() } else { Self::new(told) }
    }

    /// Whether it is an address of which a page could make a link.
    pub fn is_address(&self) -> bool {
        self.0.contains("://")
    }

    /// What the client reads of it, as a value of this kind. Nothing of what an `error_description` cannot hold (RFC 6749 §5.2), nor
    /// of what has spaces: whoever makes the link that a request comes by would have a client show sentences of theirs.
    pub fn sentence(&self, kind: &str) -> Option<String> {
        let is_plain = self.0.bytes().all(|byte| matches!(byte, 0x21 | 0x23..=0x5B | 0x5D..=0x7E));
        (is_plain && !self.0.is_empty()).then(|| format!("The {kind} `{}` is refused.", self.0))
    }
}

/// Behind the reason of a refusal.
impl fmt::Display for RefusedValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() { Ok(()) } else { write!(f, ": {:?}", self.0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_told_as_far_as_it_is_short_and_plain() {
        let value = RefusedValue::new("admin");
        assert_eq!(value.to_string(), ": \"admin\"");
        assert_eq!(value.sentence("scope").unwrap(), "The scope `admin` is refused.");
        let long = RefusedValue::new(&"ä".repeat(300));
        assert_eq!(long.to_string().chars().filter(|character| *character == 'ä').count(), LONGEST);
        for unplain in ["", "a b", "a\"b", "a\\b", "ä", "a\nb", "\u{7f}"] {
            assert_eq!(RefusedValue::new(unplain).sentence("audience"), None, "{unplain:?}");
        }
        assert_eq!(RefusedValue::new("a\nb").to_string(), ": \"a\\nb\"", "a line of the log is one");
        assert_eq!(RefusedValue::default().to_string(), "");
    }

    #[test]
    fn what_may_be_secret_in_a_uri_is_not_told() {
        for (uri, told) in [
            ("https://app.example/cb?code=secret", ": \"https://app.example/cb\""),
            ("https://app.example/cb#secret", ": \"https://app.example/cb\""),
            ("https://user:secret@app.example/cb", ""),
            ("editor://cb", ": \"editor://cb\""),
        ] {
            assert_eq!(RefusedValue::of_uri(uri).to_string(), told, "{uri}");
        }
    }
}
