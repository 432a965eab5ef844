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
    /// RFC 8628 §3.4.
    DeviceCode,
    /// RFC 7523 §2.1.
    JwtBearer,
    /// RFC 8693 §2.1.
    TokenExchange,
}

/// The text names no grant type that Sluice knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("unknown grant type")]
pub struct UnknownGrantType;

impl GrantType {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::AuthorizationCode,
        Self::RefreshToken,
        Self::ClientCredentials,
        Self::Implicit,
        Self::DeviceCode,
        Self::JwtBearer,
        Self::TokenExchange,
    ];

    /// The registered name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::AuthorizationCode => "authorization_code",
            Self::RefreshToken => "refresh_token",
            Self::ClientCredentials => "client_credentials",
            Self::Implicit => "implicit",
            Self::DeviceCode => "urn:ietf:params:oauth:grant-type:device_code",
            Self::JwtBearer => "urn:ietf:params:oauth:grant-type:jwt-bearer",
            Self::TokenExchange => "urn:ietf:params:oauth:grant-type:token-exchange",
        }
    }
}

impl FromStr for GrantType {
    type Err = UnknownGrantType;
    fn from_str(raw: &str) -> Result<Self, UnknownGrantType> {
        Self::ALL.into_iter().find(|known| known.as_str() == raw).ok_or(UnknownGrantType)
    }
}
