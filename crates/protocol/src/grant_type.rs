//! How a client asks for a token.

use std::str::FromStr;

use thiserror::Error;

/// The `grant_type` parameter of the token endpoint, as far as Sluice knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum GrantType {
    /// RFC 6749 §4.1.3.
    AuthorizationCode,
    /// RFC 6749 §6.
    RefreshToken,
    /// RFC 6749 §4.4.
    ClientCredentials,
    /// RFC 6749 §4.2: named in a client's registration only.
    Implicit,
}

/// The text names no grant type that Sluice knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("unknown grant type")]
pub struct UnknownGrantType;

impl GrantType {
    /// The registered name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::AuthorizationCode => "authorization_code",
            Self::RefreshToken => "refresh_token",
            Self::ClientCredentials => "client_credentials",
            Self::Implicit => "implicit",
        }
    }
}

impl FromStr for GrantType {
    type Err = UnknownGrantType;
    fn from_str(raw: &str) -> Result<Self, UnknownGrantType> {
        match raw {
            "authorization_code" => Ok(Self::AuthorizationCode),
            "refresh_token" => Ok(Self::RefreshToken),
            "client_credentials" => Ok(Self::ClientCredentials),
            "implicit" => Ok(Self::Implicit),
            _ => Err(UnknownGrantType),
        }
    }
}
