//! What may go wrong at the token endpoint.

use sluice_commit::StoreError;
use sluice_crypto::OpenError;
use sluice_primitives::GrantId;
use sluice_protocol::ErrorCode;
use sluice_protocol::parameters::InvalidParameters;
use sluice_protocol::token_request::InvalidTokenRequest;
use thiserror::Error;

use crate::client_auth::ClientAuthError;
use crate::issuing::IssueError;

/// Why a token request was refused. The text is for the operator; the client reads the sentence of the code.
#[derive(Debug, Error)]
pub enum TokenError {
    /// The form could not be read.
    #[error(transparent)]
    Parameters(#[from] InvalidParameters),
    /// A parameter is missing or malformed.
    #[error(transparent)]
    Request(#[from] InvalidTokenRequest),
    /// The client did not prove who it is.
    #[error(transparent)]
    Client(#[from] ClientAuthError),
    /// The client is not registered for the grant type.
    #[error("the client is not registered for the grant type {0}")]
    GrantTypeNotAllowed(&'static str),
    /// The code or refresh token does not open.
    #[error("the code or refresh token does not open: {0}")]
    NotOurs(#[from] OpenError),
    /// The code or refresh token belongs to another client.
    #[error("the code or refresh token was issued to another client")]
    OtherClient,
    /// The code or refresh token has expired.
    #[error("the code or refresh token has expired")]
    Expired,
    /// The redirect URI is not that of the authorization request.
    #[error("the redirect URI is not that of the authorization request")]
    RedirectUriMismatch,
    /// The PKCE verifier is missing, malformed, wrong, or was never announced.
    #[error("PKCE: {0}")]
    Pkce(&'static str),
    /// The code was redeemed before: its grant is revoked now.
    #[error("the code of grant {0} was redeemed before; the grant is revoked")]
    CodeReplayed(GrantId),
    /// An old refresh token was presented: its grant is revoked now.
    #[error("an old refresh token of grant {0} was presented; the grant is revoked")]
    RefreshTokenReused(GrantId),
    /// The twin of this refresh token was used already; nothing was revoked.
    #[error("a sibling of this refresh token of grant {0} was used, or with another request")]
    RefreshTokenStale(GrantId),
    /// The grant was revoked.
    #[error("grant {0} is revoked")]
    Revoked(GrantId),
    /// There is no such grant.
    #[error("grant {0} is not known, or has expired")]
    UnknownGrant(GrantId),
    /// A scope beyond what was granted or registered.
    #[error("the scope goes beyond what the client may ask for")]
    Scope,
    /// An audience beyond what was granted or registered.
    #[error("the audience goes beyond what the client may ask for")]
    Audience,
    /// A public client cannot ask for itself.
    #[error("a public client cannot use client credentials")]
    PublicClient,
    /// A token could not be made.
    #[error(transparent)]
    Issue(#[from] IssueError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl TokenError {
    /// The RFC 6749 §5.2 code for this failure.
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Parameters(_) => ErrorCode::InvalidRequest,
            Self::Request(InvalidTokenRequest::UnsupportedGrantType) => ErrorCode::UnsupportedGrantType,
            Self::Request(InvalidTokenRequest::Scope) | Self::Scope => ErrorCode::InvalidScope,
            Self::Request(InvalidTokenRequest::Missing(_)) => ErrorCode::InvalidRequest,
            Self::Client(error) => error.code(),
            Self::GrantTypeNotAllowed(_) | Self::PublicClient => ErrorCode::UnauthorizedClient,
            Self::NotOurs(_)
            | Self::OtherClient
            | Self::Expired
            | Self::RedirectUriMismatch
            | Self::Pkce(_)
            | Self::CodeReplayed(_)
            | Self::RefreshTokenReused(_)
            | Self::RefreshTokenStale(_)
            | Self::Revoked(_)
            | Self::UnknownGrant(_) => ErrorCode::InvalidGrant,
            Self::Audience => ErrorCode::InvalidTarget,
            Self::Issue(_) => ErrorCode::ServerError,
            Self::Store(error) if error.is_temporary() => ErrorCode::TemporarilyUnavailable,
            Self::Store(_) => ErrorCode::ServerError,
        }
    }
}
