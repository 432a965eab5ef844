//! The identifier of a client.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use thiserror::Error;

/// The identifier of a registered client (RFC 6749 §2.2): 1 to 255 printable ASCII characters.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClientId(Arc<str>);

/// The text is no client identifier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("a client_id has 1 to 255 printable ASCII characters")]
pub struct InvalidClientId;

impl ClientId {
    /// The identifier as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for ClientId {
    type Err = InvalidClientId;
    fn from_str(raw: &str) -> Result<Self, InvalidClientId> {
        let printable = raw.bytes().all(|byte| (0x20..=0x7E).contains(&byte));
        if raw.is_empty() || raw.len() > 255 || !printable {
            return Err(InvalidClientId);
        }
        Ok(Self(raw.into()))
    }
}

impl fmt::Display for ClientId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
