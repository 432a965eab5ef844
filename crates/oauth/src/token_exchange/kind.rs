//! Kinds of tokens (RFC 8693 §3).

use std::str::FromStr;

use super::ExchangeError;

/// What kind of token one is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenKind {
    /// An access token of this server.
    AccessToken,
    /// A JWT: an access token of this server, or an assertion of a trusted issuer (RFC 7523).
    Jwt,
    /// An id token of this server.
    IdToken,
    /// A refresh token of this server.
    RefreshToken,
}

impl TokenKind {
    const ALL: [Self; 4] = [Self::AccessToken, Self::Jwt, Self::IdToken, Self::RefreshToken];

    /// The registered name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::AccessToken => "urn:ietf:params:oauth:token-type:access_token",
            Self::Jwt => "urn:ietf:params:oauth:token-type:jwt",
            Self::IdToken => "urn:ietf:params:oauth:token-type:id_token",
            Self::RefreshToken => "urn:ietf:params:oauth:token-type:refresh_token",
        }
    }

    /// What is asked for: an access token, of the client's kind or in any case a JWT.
    ///
    /// # Errors
    /// [`ExchangeError::RequestedType`] for anything else.
    pub fn requested(name: Option<&str>) -> Result<Self, ExchangeError> {
        match name.map(str::parse) {
            None => Ok(Self::AccessToken),
            Some(Ok(kind @ (Self::AccessToken | Self::Jwt))) => Ok(kind),
            Some(_) => Err(ExchangeError::RequestedType),
        }
    }
}

impl FromStr for TokenKind {
    type Err = ExchangeError;
    fn from_str(raw: &str) -> Result<Self, ExchangeError> {
        Self::ALL.into_iter().find(|known| known.as_str() == raw).ok_or(ExchangeError::UnknownType)
    }
}
