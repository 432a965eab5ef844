//! Who a token speaks for.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use thiserror::Error;

/// A subject identifier (OpenID Connect Core §2 `sub`): 1 to 255 bytes without control characters.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Subject(Arc<str>);

/// The text is no subject identifier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("a subject has 1 to 255 bytes and no control characters")]
pub struct InvalidSubject;

impl Subject {
    /// The identifier as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Subject {
    type Err = InvalidSubject;
    fn from_str(raw: &str) -> Result<Self, InvalidSubject> {
        if raw.is_empty() || raw.len() > 255 || raw.chars().any(char::is_control) {
            return Err(InvalidSubject);
        }
        Ok(Self(raw.into()))
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
