//! How the authorization response travels.

use std::str::FromStr;

use thiserror::Error;

/// The `response_mode` parameter (OAuth 2.0 Multiple Response Type Encoding Practices §2.1, Form Post Response Mode).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum ResponseMode {
    /// Parameters in the query of the redirect URI.
    #[default]
    Query,
    /// Parameters in its fragment.
    Fragment,
    /// Parameters in a form that the browser posts.
    FormPost,
}

/// The text is no response mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("unknown response mode")]
pub struct UnknownResponseMode;

impl FromStr for ResponseMode {
    type Err = UnknownResponseMode;
    fn from_str(raw: &str) -> Result<Self, UnknownResponseMode> {
        match raw {
            "query" => Ok(Self::Query),
            "fragment" => Ok(Self::Fragment),
            "form_post" => Ok(Self::FormPost),
            _ => Err(UnknownResponseMode),
        }
    }
}
