//! What a token may do.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use thiserror::Error;

use crate::distinct::Distinct;

/// The longest scope that a request may ask for, in bytes.
const MAX_ASKED_TEXT: usize = 4096;
/// The most values that a request may ask for.
const MAX_ASKED: usize = 256;

/// A set of scope values in the order they were named (RFC 6749 §3.3), kept as its space-separated form.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Scope(Arc<str>);

/// The text is no scope.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error(
    "a scope is a list of printable ASCII words without quotes and backslashes, 256 in a request at most"
)]
pub struct InvalidScope;

impl Default for Scope {
    fn default() -> Self {
        Self("".into())
    }
}

impl Scope {
    /// Each of these asks for a refresh token (OpenID Connect Core §11, and Hydra's older `offline`).
    pub const OFFLINE: [&str; 2] = ["offline_access", "offline"];

    /// The scope that a request asks for: at most 256 values in 4096 bytes. What an administrator registered or somebody
    /// granted may be longer, and is parsed without this bound.
    ///
    /// # Errors
    /// [`InvalidScope`] if it is longer, or malformed.
    pub fn asked(raw: &str) -> Result<Self, InvalidScope> {
        if raw.len() > MAX_ASKED_TEXT
            || raw.split(' ').filter(|value| !value.is_empty()).nth(MAX_ASKED).is_some()
        {
            return Err(InvalidScope);
        }
        raw.parse()
    }

    /// The scope of these values; repeated ones count once.
    ///
    /// # Errors
    /// [`InvalidScope`] if one is no `scope-token`.
    pub fn from_values<'a>(values: impl IntoIterator<Item = &'a str>) -> Result<Self, InvalidScope> {
        let mut kept: Vec<&str> = Vec::new();
        let mut seen = Distinct::default();
        for value in values {
            if value.is_empty() || !value.bytes().all(is_scope_char) {
                return Err(InvalidScope);
            }
            if seen.is_new(value) {
                kept.push(value);
            }
        }
        Ok(Self(kept.join(" ").into()))
    }

    /// The space-separated form.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The single values.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.split(' ').filter(|value| !value.is_empty())
    }

    /// Whether `value` is one of them.
    pub fn contains(&self, value: &str) -> bool {
        self.iter().any(|own| own == value)
    }

    /// Whether every value of `other` is one of them.
    pub fn covers(&self, other: &Self) -> bool {
        other.iter().all(|value| self.contains(value))
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// `scope-token = 1*( %x21 / %x23-5B / %x5D-7E )`
const fn is_scope_char(byte: u8) -> bool {
    matches!(byte, 0x21 | 0x23..=0x5B | 0x5D..=0x7E)
}

impl FromStr for Scope {
    type Err = InvalidScope;
    fn from_str(raw: &str) -> Result<Self, InvalidScope> {
        if is_normal(raw) {
            return Ok(Self(raw.into()));
        }
        Self::from_values(raw.split(' ').filter(|value| !value.is_empty()))
    }
}

/// Whether this is a scope as [`Scope`] keeps it: nothing is to be put together.
fn is_normal(raw: &str) -> bool {
    let mut seen = Distinct::default();
    raw.split(' ').all(|value| !value.is_empty() && value.bytes().all(is_scope_char) && seen.is_new(value))
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scope_is_a_set_in_order() {
        let scope: Scope = "openid  email openid".parse().unwrap();
        assert_eq!(scope.as_str(), "openid email");
        assert!(scope.contains("email") && !scope.contains("mail"));
        assert!("a\"b".parse::<Scope>().is_err() && "a b\\".parse::<Scope>().is_err());
        for (raw, kept) in
            [("", ""), (" ", ""), ("a b ab", "a b ab"), (" a", "a"), ("a b a", "a b"), ("a b ", "a b")]
        {
            assert_eq!(raw.parse::<Scope>().unwrap().as_str(), kept);
        }
    }

    fn numbered(count: usize) -> String {
        (0..count).map(|number| number.to_string()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn more_values_than_a_few_are_a_set_too() {
        let many = numbered(40);
        assert_eq!(many.parse::<Scope>().unwrap().as_str(), many);
        assert_eq!(format!("{many} 3 39 0").parse::<Scope>().unwrap().as_str(), many);
        assert_eq!(Scope::from_values(many.split(' ').chain(["20"])).unwrap().as_str(), many);
    }

    #[test]
    fn a_request_may_ask_for_so_much_and_a_client_may_have_more() {
        assert!(Scope::asked(&numbered(256)).is_ok());
        assert_eq!(Scope::asked(&numbered(257)), Err(InvalidScope));
        assert!(Scope::asked(&"a".repeat(4096)).is_ok());
        assert_eq!(Scope::asked(&"a".repeat(4097)), Err(InvalidScope));
        let form = numbered(12_000);
        assert!(form.len() > 60_000);
        assert_eq!(Scope::asked(&form), Err(InvalidScope));
        assert_eq!(form.parse::<Scope>().unwrap().as_str(), form);
    }
}
