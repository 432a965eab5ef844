//! What a token may do.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use thiserror::Error;

/// A set of scope values in the order they were named (RFC 6749 §3.3), kept as its space-separated form.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Scope(Arc<str>);

/// The text is no scope.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("a scope is a list of printable ASCII words without quotes and backslashes")]
pub struct InvalidScope;

impl Default for Scope {
    fn default() -> Self {
        Self("".into())
    }
}

impl Scope {
    /// The scope of these values; repeated ones count once.
    ///
    /// # Errors
    /// [`InvalidScope`] if one is no `scope-token`.
    pub fn from_values<'a>(values: impl IntoIterator<Item = &'a str>) -> Result<Self, InvalidScope> {
        let mut kept: Vec<&str> = Vec::new();
        for value in values {
            if value.is_empty() || !value.bytes().all(is_scope_char) {
                return Err(InvalidScope);
            }
            if !kept.contains(&value) {
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

    /// Whether a refresh token is asked for (OpenID Connect Core §11, and Hydra's older `offline`).
    pub fn asks_offline(&self) -> bool {
        self.contains("offline_access") || self.contains("offline")
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
    let is_first = |place: usize, value: &str| !raw.split(' ').take(place).any(|earlier| earlier == value);
    raw.split(' ')
        .enumerate()
        .all(|(place, value)| !value.is_empty() && value.bytes().all(is_scope_char) && is_first(place, value))
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
}
