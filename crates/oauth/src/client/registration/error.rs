//! What a refused registration says.

use sluice_protocol::ErrorCode;
use thiserror::Error;

use crate::sector::SectorRefused;

/// Why a client was not registered. The text is a sentence for the administrator who sent the values.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RegistrationError {
    /// A metadata value (RFC 7591 §3.2.2 `invalid_client_metadata`).
    #[error("{0}")]
    Metadata(String),
    /// A redirect URI (RFC 7591 §3.2.2 `invalid_redirect_uri`).
    #[error("{0}")]
    RedirectUri(String),
    /// The sector does not list the client's redirect URIs.
    #[error(
        "Value sector_identifier_uri is refused: its document cannot be read, or does not list each redirect URI."
    )]
    Sector(#[from] SectorRefused),
}

impl RegistrationError {
    /// The code on the wire.
    pub const fn code(&self) -> ErrorCode {
        match self {
            Self::Metadata(_) | Self::Sector(_) => ErrorCode::InvalidClientMetadata,
            Self::RedirectUri(_) => ErrorCode::InvalidRedirectUri,
        }
    }

    pub(super) fn metadata(hint: impl Into<String>) -> Self {
        Self::Metadata(hint.into())
    }
}
