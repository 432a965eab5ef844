//! Why a token is not exchanged.

use sluice_commit::StoreError;
use sluice_protocol::ErrorCode;
use thiserror::Error;

use crate::access_token_reader::NotActive;
use crate::trust::AssertionRefused;

/// Why a token is not exchanged.
#[derive(Debug, Error)]
pub enum ExchangeError {
    /// A public client: whoever finds a token could say that it is this client.
    #[error("a public client cannot exchange tokens")]
    PublicClient,
    /// A token comes with a type that is not taken in its place.
    #[error("the type of a presented token is not one that is taken here")]
    UnknownType,
    /// Something else than an access token is asked for.
    #[error("the requested token type is not one that is issued here")]
    RequestedType,
    /// `actor_token` and `actor_token_type` come together or not at all (RFC 8693 §2.1).
    #[error("actor_token and actor_token_type do not come together")]
    ActorType,
    /// A presented access token does not hold.
    #[error("a presented token does not hold: {0}")]
    NotActive(#[from] NotActive),
    /// A presented id token or refresh token does not hold, or its grant does not.
    #[error("a presented token does not hold, or its grant does not")]
    NotUsable,
    /// The client may not use its refresh tokens any more.
    #[error("a refresh token of a client that may not refresh any more")]
    NoRefresh,
    /// A token of the client's own is bound to a key that was not proven.
    #[error("a presented token of the client is bound to another key")]
    OtherKey,
    /// Somebody else's token, or all those of its client, are bound to a key, and what comes of it would be bound to none.
    #[error("a presented token, or all those of its client, are bound to a key, and the client proved none")]
    Unbound,
    /// A presented token of another issuer does not hold.
    #[error(transparent)]
    Assertion(#[from] AssertionRefused),
    /// The token is another client's, and the client may not exchange those.
    #[error("the client may not exchange tokens of that client")]
    OtherClient,
    /// The client may not act as others.
    #[error("the client may not act as the subject of that token")]
    Impersonation,
    /// The client may not act for others.
    #[error("the client may not act for the subject of that token")]
    Delegation,
    /// The presented token says who may act for its subject, and it is somebody else (RFC 8693 §4.4).
    #[error("the subject token lets somebody else act")]
    MayAct,
    /// The token was handed on too often.
    #[error("the token was exchanged too often")]
    TooDeep,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl ExchangeError {
    /// What the client is told (RFC 8693 §2.2.2).
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::PublicClient => ErrorCode::UnauthorizedClient,
            Self::Store(error) | Self::Assertion(AssertionRefused::Store(error)) => {
                if error.is_temporary() {
                    ErrorCode::TemporarilyUnavailable
                } else {
                    ErrorCode::ServerError
                }
            }
            Self::UnknownType
            | Self::RequestedType
            | Self::ActorType
            | Self::NotActive(_)
            | Self::NotUsable
            | Self::NoRefresh
            | Self::OtherKey
            | Self::Unbound
            | Self::Assertion(_)
            | Self::OtherClient
            | Self::Impersonation
            | Self::Delegation
            | Self::MayAct
            | Self::TooDeep => ErrorCode::InvalidRequest,
        }
    }
}
