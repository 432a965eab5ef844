//! What the authorization endpoint answers with.

use std::mem;
use std::str::FromStr;

use thiserror::Error;

use crate::response_mode::ResponseMode;

/// The `response_type` parameter as a set (OAuth 2.0 Multiple Response Type Encoding Practices §3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct ResponseType {
    /// An authorization code.
    pub code: bool,
    /// An access token from the authorization endpoint.
    pub token: bool,
    /// An id token from the authorization endpoint.
    pub id_token: bool,
}

/// The text is no response type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("unknown response type")]
pub struct UnknownResponseType;

impl ResponseType {
    /// `code` alone.
    pub const CODE: Self = Self { code: true, token: false, id_token: false };

    /// Whether anything but a code is answered: then the fragment carries the answer unless the request says otherwise,
    /// and never the query (Multiple Response Types §5).
    pub const fn has_front_channel_tokens(self) -> bool {
        self.token || self.id_token
    }

    /// The mode of a request that names none (Multiple Response Types §2.1, §5).
    pub const fn default_mode(self) -> ResponseMode {
        if self.has_front_channel_tokens() { ResponseMode::Fragment } else { ResponseMode::Query }
    }

    /// As a client may be registered with it: there a value may stand twice.
    ///
    /// # Errors
    /// [`UnknownResponseType`] if the text is none.
    pub fn of_client(raw: &str) -> Result<Self, UnknownResponseType> {
        Self::read(raw).map(|(parsed, _)| parsed)
    }

    /// What the text names, and whether it names a value twice.
    fn read(raw: &str) -> Result<(Self, bool), UnknownResponseType> {
        let (mut parsed, mut names_twice) = (Self::default(), false);
        for value in raw.split(' ').filter(|value| !value.is_empty()) {
            let named = match value {
                "code" => &mut parsed.code,
                "token" => &mut parsed.token,
                "id_token" => &mut parsed.id_token,
                _ => return Err(UnknownResponseType),
            };
            names_twice |= mem::replace(named, true);
        }
        if parsed == Self::default() { Err(UnknownResponseType) } else { Ok((parsed, names_twice)) }
    }
}

impl FromStr for ResponseType {
    type Err = UnknownResponseType;
    fn from_str(raw: &str) -> Result<Self, UnknownResponseType> {
        // A set has each value once; what would have another is no response type that anybody defined.
        let (parsed, names_twice) = Self::read(raw)?;
        if names_twice { Err(UnknownResponseType) } else { Ok(parsed) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_values_of_a_response_type_come_in_any_order() {
        let both = ResponseType { code: true, token: false, id_token: true };
        for raw in ["code id_token", "id_token code", " code  id_token "] {
            assert_eq!(raw.parse::<ResponseType>(), Ok(both), "{raw:?}");
        }
        assert_eq!("code".parse::<ResponseType>(), Ok(ResponseType::CODE));
    }

    #[test]
    fn what_is_no_response_type_or_names_a_value_twice_is_refused() {
        for raw in ["", " ", "none", "CODE", "code none", "code code", "code id_token code", "token token"] {
            assert_eq!(raw.parse::<ResponseType>(), Err(UnknownResponseType), "{raw:?}");
        }
    }

    #[test]
    fn a_client_may_be_registered_with_a_value_twice() {
        for (raw, parsed) in [("code", Ok(ResponseType::CODE)), ("code code", Ok(ResponseType::CODE))] {
            assert_eq!(ResponseType::of_client(raw), parsed, "{raw:?}");
        }
        for raw in ["", "code none", "CODE CODE"] {
            assert_eq!(ResponseType::of_client(raw), Err(UnknownResponseType), "{raw:?}");
        }
    }
}
