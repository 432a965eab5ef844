//! What may go wrong at the token endpoint.

use std::borrow::Cow;

use sluice_commit::StoreError;
use sluice_crypto::OpenError;
use sluice_primitives::GrantId;
use sluice_protocol::ErrorCode;
use sluice_protocol::parameters::InvalidParameters;
use sluice_protocol::token_request::InvalidTokenRequest;
use thiserror::Error;

use crate::client_auth::ClientAuthError;
use crate::dpop::DpopError;
use crate::hooks::HookError;
use crate::issuing::IssueError;
use crate::refused_value::RefusedValue;
use crate::token_exchange::ExchangeError;
use crate::trust::AssertionRefused;

/// Why a token request was refused. The text is for the operator; the client reads [`TokenError::description`].
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
    /// The DPoP proof does not hold.
    #[error(transparent)]
    Proof(#[from] DpopError),
    /// The client must bind its tokens to a DPoP key, and there is no proof (RFC 9449 §5.2).
    #[error("the client must prove a DPoP key, and there is no proof")]
    ProofMissing,
    /// The client must bind its tokens to its certificate, and there is none (RFC 8705 §3.4).
    #[error("the client must present a certificate, and there is none")]
    CertificateMissing,
    /// The code or refresh token is bound to another key than the one that was proven (RFC 9449 §5, §10; RFC 8705 §7.1).
    #[error("the code or refresh token is bound to another key, or to a key and none was proven")]
    OtherKey,
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
    /// The PKCE verifier is missing, malformed, wrong, or was never announced. The client reads why: a reason is a constant.
    #[error("PKCE: {0}")]
    Pkce(&'static str),
    /// The code was redeemed before: its grant is revoked now.
    #[error("the code of grant {0} was redeemed before; the grant is revoked")]
    CodeReplayed(GrantId),
    /// The code of a device was redeemed before; nothing was revoked.
    #[error("the device code of grant {0} was redeemed before, by a poll that may have had no answer")]
    RedeemedBefore(GrantId),
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
    /// The user of the device has not decided yet.
    #[error("the user of the device has not decided yet")]
    DevicePending,
    /// The device polls too often.
    #[error("the device polls too often")]
    DeviceTooFast,
    /// Devices of this network, or of a client that authenticates, poll too often.
    #[error("the devices of this network, or of the client if it authenticates, poll too often")]
    DevicesTooFast,
    /// The user of the device refused.
    #[error("the user of the device refused")]
    DeviceDenied,
    /// The codes of the device have expired.
    #[error("the codes of the device have expired")]
    DeviceExpired,
    /// A scope beyond what was granted or registered.
    #[error("the scope goes beyond what the client may ask for{0}")]
    Scope(RefusedValue),
    /// An audience beyond what was granted or registered.
    #[error("the audience goes beyond what the client may ask for{0}")]
    Audience(RefusedValue),
    /// Authorization details beyond what was granted or registered, or malformed.
    #[error("the authorization details are malformed, or go beyond what the client may ask for")]
    AuthorizationDetails,
    /// The assertion of another issuer does not hold.
    #[error(transparent)]
    Assertion(#[from] AssertionRefused),
    /// The token is not exchanged.
    #[error(transparent)]
    Exchange(#[from] ExchangeError),
    /// A hook stands in the way.
    #[error(transparent)]
    Hook(#[from] HookError),
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
    /// Whether whoever asked has left, and was turned away for that: nobody has to hear of it.
    pub const fn is_unheard(&self) -> bool {
        matches!(self, Self::Client(error) if error.is_unheard())
    }

    /// The RFC 6749 §5.2 code for this failure.
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Parameters(_) => ErrorCode::InvalidRequest,
            Self::Request(InvalidTokenRequest::UnsupportedGrantType) => ErrorCode::UnsupportedGrantType,
            Self::Request(InvalidTokenRequest::Scope) | Self::Scope(_) => ErrorCode::InvalidScope,
            Self::Request(InvalidTokenRequest::Missing(_)) => ErrorCode::InvalidRequest,
            Self::Client(error) => error.code(),
            Self::Proof(error) => error.code(),
            Self::ProofMissing | Self::CertificateMissing => ErrorCode::InvalidRequest,
            Self::GrantTypeNotAllowed(_) | Self::PublicClient => ErrorCode::UnauthorizedClient,
            Self::NotOurs(_)
            | Self::OtherClient
            | Self::OtherKey
            | Self::Expired
            | Self::RedirectUriMismatch
            | Self::Pkce(_)
            | Self::CodeReplayed(_)
            | Self::RedeemedBefore(_)
            | Self::RefreshTokenReused(_)
            | Self::RefreshTokenStale(_)
            | Self::Revoked(_)
            | Self::UnknownGrant(_) => ErrorCode::InvalidGrant,
            Self::Request(InvalidTokenRequest::Target(_)) | Self::Audience(_) => ErrorCode::InvalidTarget,
            Self::Assertion(AssertionRefused::Store(error)) => store_code(error),
            Self::Assertion(_) => ErrorCode::InvalidGrant,
            Self::Exchange(error) => error.code(),
            Self::Hook(error) => error.code(),
            Self::DevicePending => ErrorCode::AuthorizationPending,
            Self::DeviceTooFast | Self::DevicesTooFast => ErrorCode::SlowDown,
            Self::DeviceDenied => ErrorCode::AccessDenied,
            Self::DeviceExpired => ErrorCode::ExpiredToken,
            Self::AuthorizationDetails => ErrorCode::InvalidAuthorizationDetails,
            Self::Issue(error) => error.code(),
            Self::Store(error) => store_code(error),
        }
    }

    /// What the client reads: the sentence of the code, where it says enough, which value was refused, and what is wrong with an exchange of
    /// its own code. Who is not the client hears none of it: they do not authenticate, or the code is another's. Of a public client everybody
    /// who has the code does; a verifier is guessed no sooner for that.
    pub fn description(&self) -> Cow<'static, str> {
        let usual = self.code().description();
        let naming = |sentence: Option<String>| {
            sentence.map_or(Cow::Borrowed(usual), |sentence| Cow::Owned(format!("{usual} {sentence}")))
        };
        match self {
            Self::Scope(value) => naming(value.sentence("scope")),
            Self::Audience(value) => naming(value.sentence("audience")),
            Self::Issue(IssueError::TooLong) => {
                "The access token would be too long: ask for less, in `authorization_details` say.".into()
            }
            Self::Issue(IssueError::NotEncrypted(why)) => why.description().into(),
            Self::Client(why) => why.description().into(),
            Self::Pkce(why) => format!("The code cannot be exchanged (PKCE): {why}.").into(),
            Self::RedirectUriMismatch => {
                "The `redirect_uri` is missing, or is not that of the authorization request.".into()
            }
            Self::Assertion(AssertionRefused::Store(error)) => store_code(error).description().into(),
            Self::Assertion(_) => {
                "The assertion is invalid, expired, used before, or of an issuer that is not trusted for it."
                    .into()
            }
            _ => usual.into(),
        }
    }
}

/// What a client is told when the store failed.
fn store_code(error: &StoreError) -> ErrorCode {
    if error.is_temporary() { ErrorCode::TemporarilyUnavailable } else { ErrorCode::ServerError }
}
