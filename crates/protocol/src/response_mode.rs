//! How the authorization response travels.

use std::str::FromStr;

use thiserror::Error;

/// The `response_mode` parameter (OAuth 2.0 Multiple Response Type Encoding Practices §2.1, Form Post Response Mode, JARM
/// §2.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum ResponseMode {
    /// Parameters in the query of the redirect URI.
    #[default]
    Query,
    /// Parameters in its fragment.
    Fragment,
    /// Parameters in a form that the browser posts.
    FormPost,
    /// One signed parameter in the query.
    QueryJwt,
    /// One signed parameter in the fragment.
    FragmentJwt,
    /// One signed parameter in a form.
    FormPostJwt,
}

/// The text is no response mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("unknown response mode")]
pub struct UnknownResponseMode;

impl ResponseMode {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Query, Self::Fragment, Self::FormPost, Self::QueryJwt, Self::FragmentJwt, Self::FormPostJwt];

    /// The name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Query => "query",
            Self::Fragment => "fragment",
            Self::FormPost => "form_post",
            Self::QueryJwt => "query.jwt",
            Self::FragmentJwt => "fragment.jwt",
            Self::FormPostJwt => "form_post.jwt",
        }
    }

    /// Whether the answer is one signed parameter (JARM §2.3).
    pub const fn is_signed(self) -> bool {
        matches!(self, Self::QueryJwt | Self::FragmentJwt | Self::FormPostJwt)
    }

    /// The same way, with or without a signature.
    #[must_use]
    pub const fn signed(self, signed: bool) -> Self {
        match (self, signed) {
            (Self::Query | Self::QueryJwt, false) => Self::Query,
            (Self::Query | Self::QueryJwt, true) => Self::QueryJwt,
            (Self::Fragment | Self::FragmentJwt, false) => Self::Fragment,
            (Self::Fragment | Self::FragmentJwt, true) => Self::FragmentJwt,
            (Self::FormPost | Self::FormPostJwt, false) => Self::FormPost,
            (Self::FormPost | Self::FormPostJwt, true) => Self::FormPostJwt,
        }
    }
}

impl FromStr for ResponseMode {
    type Err = UnknownResponseMode;
    /// `jwt` alone depends on the response type (JARM §2.3.4), so it is not known here.
    fn from_str(raw: &str) -> Result<Self, UnknownResponseMode> {
        Self::ALL.into_iter().find(|mode| mode.as_str() == raw).ok_or(UnknownResponseMode)
    }
}
