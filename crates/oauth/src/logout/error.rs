//! Why a logout did not go on.

use sluice_commit::StoreError;
use sluice_protocol::ErrorCode;
use sluice_protocol::parameters::InvalidParameters;
use thiserror::Error;

/// Why the logout endpoint shows an error. It never redirects to an address that is not registered.
#[derive(Debug, Error)]
pub enum LogoutError {
    /// The parameters could not be read.
    #[error("the request is malformed: {0}")]
    Parameters(#[from] InvalidParameters),
    /// The `id_token_hint` is not one of ours.
    #[error("the id_token_hint is not an id token of this server")]
    Hint,
    /// The `client_id` is not that of the `id_token_hint`.
    #[error("the client_id is not that of the id_token_hint")]
    ClientMismatch,
    /// The `post_logout_redirect_uri` is not registered.
    #[error("the post_logout_redirect_uri is not registered")]
    RedirectUri,
    /// The `state` is too long for the URLs that carry it.
    #[error("the state is longer than 4096 bytes, as it stands in a URL")]
    State,
    /// The verifier does not open, has expired, or was used before, and its user is signed in again.
    #[error("the logout verifier is not valid, was used before, or has expired")]
    Verifier,
    /// The logout began in another browser.
    #[error("the logout does not belong to this browser")]
    WrongBrowser,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl LogoutError {
    /// The error value.
    pub const fn code(&self) -> ErrorCode {
        match self {
            Self::Parameters(_)
            | Self::Hint
            | Self::ClientMismatch
            | Self::RedirectUri
            | Self::State
            | Self::Verifier
            | Self::WrongBrowser => ErrorCode::InvalidRequest,
            Self::Store(error) if error.is_temporary() => ErrorCode::TemporarilyUnavailable,
            Self::Store(_) => ErrorCode::ServerError,
        }
    }

    /// What the user reads.
    pub const fn sentence(&self) -> &'static str {
        match self {
            Self::Parameters(_) => "The sign-out request is malformed.",
            Self::Hint | Self::ClientMismatch => {
                "The application that sent you here did not say who you are."
            }
            Self::State => "The application that sent you here asked for too much to be sent back.",
            Self::RedirectUri => {
                "The application asked to send you back to an address that is not registered for it."
            }
            Self::Verifier => "This sign-out link is damaged, was used before, or has expired.",
            Self::WrongBrowser => "This sign-out began in another browser.",
            Self::Store(_) => "The service is busy at the moment. Please try again.",
        }
    }
}

/// Why a logout page gets no answer.
#[derive(Debug, Error)]
pub enum LogoutProblem {
    /// The challenge is not one of ours.
    #[error("unknown challenge")]
    Unknown,
    /// The logout has expired, or is over.
    #[error("the logout has expired or is over")]
    Gone {
        /// Where the browser can start again.
        redirect_to: String,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}
