//! Why a request object does not count.

use sluice_crypto::jwe::DecryptError;
use sluice_crypto::jws::VerifyError;
use sluice_protocol::ErrorCode;
use thiserror::Error;

use super::fetched::RequestObjectUnreachable;
use crate::client_auth::remote_keys::NOT_FETCHED;
use crate::client_auth::{ClientSignatureError, KeysNotFetched};

/// Why a request object does not count: for the operator. The client learns [`RequestObjectError::code`] only.
#[derive(Debug, Error)]
pub enum RequestObjectError {
    /// It is no JWT, or not signed by a key of the client.
    #[error("the request object is refused: {0}")]
    Signature(#[from] VerifyError),
    /// It could not be decrypted.
    #[error("the request object is refused: {0}")]
    Encryption(#[from] DecryptError),
    /// Too many are being decrypted.
    #[error("too many request objects are being decrypted")]
    Busy,
    /// It is not signed, and must be.
    #[error("the request object is not signed")]
    Unsigned,
    /// It is signed with another algorithm than registered, or than FAPI allows.
    #[error("the request object is signed with an algorithm that this client may not use")]
    Algorithm,
    /// It says that it is something else.
    #[error("the `typ` of the request object is that of another token")]
    Type,
    /// A claim is missing or malformed.
    #[error("the claim `{0}` of the request object is missing or malformed")]
    Claim(&'static str),
    /// `iss` or `client_id` is another client, or `sub` is a client.
    #[error("the request object is another client's, or meant for another purpose")]
    Client,
    /// `aud` does not name this server.
    #[error("the `aud` of the request object does not name this server")]
    Audience,
    /// It has expired, or does not hold yet, or for too long.
    #[error("the request object does not hold now: {0}")]
    Time(&'static str),
    /// It holds another request (RFC 9101 §4).
    #[error("the request object holds another request")]
    Nested,
    /// Request objects are not fetched here.
    #[error("request objects are not fetched here")]
    NotByReference,
    /// The client registered no such URI.
    #[error("the client registered no such request URI")]
    NotRegistered,
    /// There is no request object at the URI.
    #[error(transparent)]
    Unreachable(#[from] RequestObjectUnreachable),
    /// The client's keys could not be fetched from its `jwks_uri`.
    #[error(transparent)]
    KeysNotFetched(KeysNotFetched),
}

impl From<ClientSignatureError> for RequestObjectError {
    fn from(error: ClientSignatureError) -> Self {
        match error {
            ClientSignatureError::Signature(error) => Self::Signature(error),
            ClientSignatureError::Keys(error) => Self::KeysNotFetched(error),
        }
    }
}

impl RequestObjectError {
    /// The code for this failure (RFC 9101 §7, OpenID Connect Core §3.1.2.6).
    pub const fn code(&self) -> ErrorCode {
        match self {
            Self::Signature(_)
            | Self::Encryption(_)
            | Self::Unsigned
            | Self::Algorithm
            | Self::Type
            | Self::Claim(_)
            | Self::Client
            | Self::Audience
            | Self::Time(_)
            | Self::Nested => ErrorCode::InvalidRequestObject,
            Self::NotByReference => ErrorCode::RequestUriNotSupported,
            Self::NotRegistered | Self::Unreachable(_) => ErrorCode::InvalidRequestUri,
            Self::KeysNotFetched(why) if !why.is_busy() => ErrorCode::InvalidRequestObject,
            Self::KeysNotFetched(_) | Self::Busy => ErrorCode::TemporarilyUnavailable,
        }
    }

    /// The sentence that the client reads.
    pub const fn description(&self) -> &'static str {
        match self {
            Self::KeysNotFetched(why) if !why.is_busy() => NOT_FETCHED,
            _ => self.code().description(),
        }
    }
}
