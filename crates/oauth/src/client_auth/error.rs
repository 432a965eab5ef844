//! Why a client was not authenticated.

use sluice_commit::StoreError;
use sluice_crypto::OpenError;
use sluice_crypto::hash_pool::PoolBusy;
use sluice_crypto::jws::VerifyError;
use sluice_crypto::secret_hash::SecretHashError;
use sluice_protocol::ErrorCode;
use thiserror::Error;

use super::certificate::CertificateAuthError;
use super::client_keys::ClientSignatureError;
use super::remote_keys::{KeysNotFetched, NOT_FETCHED};
use crate::client::metadata_document::DocumentError;
use crate::client::{AuthMethod, NoClient};

/// Why a client was not authenticated: for the operator. The client learns [`ClientAuthError::code`] only.
#[derive(Debug, Clone, Error)]
pub enum ClientAuthError {
    /// Neither header nor form names a client.
    #[error("the request names no client")]
    Missing,
    /// HTTP Basic that does not decode to an id and a secret.
    #[error("the Authorization header is malformed")]
    MalformedHeader,
    /// More than one way of authenticating at once (RFC 6749 §2.3).
    #[error("the request uses more than one way of client authentication")]
    SeveralMethods,
    /// Header, form and assertion name different clients.
    #[error("the request names different clients")]
    DifferentClients,
    /// `client_assertion_type` is not RFC 7523's, or stands without `client_assertion`, or the other way round.
    #[error("client_assertion and client_assertion_type do not fit together")]
    AssertionType,
    /// No client has this id.
    #[error("there is no such client")]
    UnknownClient,
    /// Nobody registered the client, and the document that would describe it cannot be fetched now.
    #[error(transparent)]
    Undescribed(DocumentError),
    /// The client registered another method.
    #[error("the client is registered for `{}`, not for `{}`", registered.as_str(), presented.as_str())]
    MethodNotRegistered {
        /// The method of the request.
        presented: AuthMethod,
        /// The method of the client.
        registered: AuthMethod,
    },
    /// The secret is none of the client's.
    #[error("wrong client secret")]
    WrongSecret,
    /// The client's secrets are past the end that an earlier version gave them.
    #[error("the client secret has expired: set a new one")]
    SecretExpired,
    /// The assertion does not hold.
    #[error("client assertion refused: {0}")]
    Assertion(#[from] AssertionError),
    /// The certificate does not hold.
    #[error("client certificate refused: {0}")]
    Certificate(#[from] CertificateAuthError),
    /// The secret that the client signs with is not kept: it was set before the client registered `client_secret_jwt`.
    #[error("the secret of the client is not kept, so its signatures cannot be checked: set a new one")]
    NoSealedSecret,
    /// The secret that the client signs with does not open.
    #[error("the sealed secret of the client does not open: {0}")]
    SealedSecret(#[from] OpenError),
    /// Too many wrong secrets for this client: none that would cost a slow hash is looked at for a while.
    #[error("too many wrong secrets for this client")]
    TooManyFailures,
    /// The hash pool has too much to do, there is no memory for the hash, or it shuts down: try later. Or who asks has left. Nothing is known of the secret.
    #[error(transparent)]
    HashPool(#[from] PoolBusy),
    /// The client's keys could not be fetched from its `jwks_uri`.
    #[error(transparent)]
    KeysNotFetched(#[from] KeysNotFetched),
    /// The stored hash cannot be verified.
    #[error("the stored secret hash cannot be verified")]
    SecretHash(#[from] SecretHashError),
    /// The store's.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl ClientAuthError {
    /// The RFC 6749 §5.2 code for this failure.
    pub const fn code(&self) -> ErrorCode {
        match self {
            Self::Missing | Self::SeveralMethods | Self::DifferentClients | Self::AssertionType => {
                ErrorCode::InvalidRequest
            }
            // Too much is fetched here: that speaks of nobody's document.
            Self::Undescribed(DocumentError::Busy) => ErrorCode::TemporarilyUnavailable,
            // RFC 6749 §5.2: who tries it by the header is told how that is done.
            Self::MalformedHeader
            | Self::UnknownClient
            | Self::Undescribed(_)
            | Self::MethodNotRegistered { .. }
            | Self::WrongSecret
            | Self::SecretExpired
            | Self::NoSealedSecret
            | Self::Certificate(_)
            | Self::Assertion(_) => ErrorCode::InvalidClient,
            // Whoever named the URI cannot prove who they are: anybody may name one where nobody answers.
            Self::KeysNotFetched(why) if !why.is_busy() => ErrorCode::InvalidClient,
            Self::TooManyFailures | Self::HashPool(_) | Self::KeysNotFetched(_) => {
                ErrorCode::TemporarilyUnavailable
            }
            Self::SecretHash(_) | Self::SealedSecret(_) => ErrorCode::ServerError,
            Self::Store(error) => {
                if error.is_temporary() {
                    ErrorCode::TemporarilyUnavailable
                } else {
                    ErrorCode::ServerError
                }
            }
        }
    }

    /// Whether whoever asked has left, and the secret was not looked at for that: nobody has to hear of it.
    pub const fn is_unheard(&self) -> bool {
        matches!(self, Self::HashPool(PoolBusy::Unheard))
    }

    /// The sentence that the client reads: that of the code, where it says enough.
    pub const fn description(&self) -> &'static str {
        match self {
            Self::Missing => {
                "The request names no client, neither in `Authorization: Basic` nor by `client_id` or an assertion."
            }
            Self::MalformedHeader => {
                "The `Authorization` header is no HTTP Basic with the id and the secret of a client."
            }
            Self::Undescribed(DocumentError::Busy) => self.code().description(),
            Self::Undescribed(_) => "The document that describes the client cannot be fetched.",
            Self::KeysNotFetched(why) if !why.is_busy() => NOT_FETCHED,
            _ => self.code().description(),
        }
    }
}

impl From<NoClient> for ClientAuthError {
    fn from(none: NoClient) -> Self {
        match none {
            NoClient::Unknown => Self::UnknownClient,
            NoClient::Undescribed(why) => Self::Undescribed(why),
            NoClient::Store(error) => Self::Store(error),
        }
    }
}

impl From<ClientSignatureError> for ClientAuthError {
    fn from(error: ClientSignatureError) -> Self {
        match error {
            ClientSignatureError::Signature(error) => AssertionError::from(error).into(),
            ClientSignatureError::Keys(error) => error.into(),
        }
    }
}

/// Why a client's assertion does not hold (RFC 7523 §3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum AssertionError {
    /// It is no JWT, or not signed by a key of the client.
    #[error(transparent)]
    Signature(#[from] VerifyError),
    /// It says that it is something else.
    #[error("the `typ` of the assertion is that of another token")]
    Type,
    /// Claims are missing, or of the wrong type.
    #[error("claims are missing or malformed")]
    Claims,
    /// The client registered another algorithm.
    #[error("not signed with the algorithm that the client registered")]
    Algorithm,
    /// `iss` and `sub` are not both the client.
    #[error("`iss` and `sub` are not the client")]
    Issuer,
    /// `aud` names neither the issuer nor one of its endpoints, or more than a FAPI 2.0 client may.
    #[error("`aud` does not name this server")]
    Audience,
    /// `exp` has passed.
    #[error("`exp` has passed")]
    Expired,
    /// `exp` is more than an hour ahead.
    #[error("`exp` is too far ahead")]
    TooLong,
    /// `nbf` or `iat` is ahead.
    #[error("`nbf` or `iat` is ahead")]
    NotYet,
    /// `jti` was used before.
    #[error("`jti` was used before")]
    Replayed,
}
