//! Every `error` value that Sluice answers with: its public sentence and its HTTP status, here and nowhere else.

// Sentences that are too long for a line beside their value.
const INVALID_CLIENT: &str =
    "Client authentication failed: unknown client, wrong credentials, or a method that is not registered.";
const INVALID_GRANT: &str = "The code or refresh token is invalid, expired, revoked, used before, or was issued to another client or redirect URI.";
const INVALID_CLIENT_METADATA: &str = "The value of one of the Client Metadata fields is invalid and the server has rejected this request. Note that an Authorization Server MAY choose to substitute a valid value for any requested parameter of a Client's Metadata.";

/// A registered error value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorCode {
    /// RFC 6749 §4.1.2.1, §5.2.
    InvalidRequest,
    /// RFC 6749 §5.2.
    InvalidClient,
    /// RFC 6749 §5.2.
    InvalidGrant,
    /// RFC 6749 §4.1.2.1, §5.2.
    UnauthorizedClient,
    /// RFC 6749 §5.2.
    UnsupportedGrantType,
    /// RFC 6749 §4.1.2.1.
    UnsupportedResponseType,
    /// RFC 6749 §4.1.2.1, §5.2.
    InvalidScope,
    /// RFC 6749 §4.1.2.1.
    AccessDenied,
    /// RFC 6749 §4.1.2.1.
    ServerError,
    /// RFC 6749 §4.1.2.1.
    TemporarilyUnavailable,
    /// RFC 8707 §2.
    InvalidTarget,
    /// OpenID Connect Core §3.1.2.6.
    LoginRequired,
    /// OpenID Connect Core §3.1.2.6.
    ConsentRequired,
    /// OpenID Connect Core §3.1.2.6.
    InteractionRequired,
    /// OpenID Connect Core §3.1.2.6.
    RequestNotSupported,
    /// OpenID Connect Core §3.1.2.6.
    RequestUriNotSupported,
    /// OpenID Connect Core §3.1.2.6.
    RegistrationNotSupported,
    /// RFC 6750 §3.1.
    InvalidToken,
    /// RFC 6750 §3.1.
    InsufficientScope,
    /// RFC 7009 §2.2.1.
    UnsupportedTokenType,
    /// RFC 7591 §3.2.2.
    InvalidClientMetadata,
    /// RFC 7591 §3.2.2.
    InvalidRedirectUri,
    /// RFC 8628 §3.5.
    AuthorizationPending,
    /// RFC 8628 §3.5.
    SlowDown,
    /// RFC 8628 §3.5.
    ExpiredToken,
    /// RFC 9449 §5.
    InvalidDpopProof,
    /// RFC 9449 §8.
    UseDpopNonce,
    /// OpenID Connect Core §3.1.2.6.
    InvalidRequestUri,
    /// OpenID Connect Core §3.1.2.6.
    InvalidRequestObject,
    /// OpenID Connect Core §3.1.2.6.
    AccountSelectionRequired,
    /// OpenID Connect Core Unmet Authentication Requirements §2.
    UnmetAuthenticationRequirements,
    /// RFC 9396 §5.
    InvalidAuthorizationDetails,
    /// RFC 7591 §3.2.2.
    InvalidSoftwareStatement,
    /// RFC 7591 §3.2.2.
    UnapprovedSoftwareStatement,
}

impl ErrorCode {
    /// Each, in the order of the variants.
    pub const ALL: [Self; 34] = [
        Self::InvalidRequest,
        Self::InvalidClient,
        Self::InvalidGrant,
        Self::UnauthorizedClient,
        Self::UnsupportedGrantType,
        Self::UnsupportedResponseType,
        Self::InvalidScope,
        Self::AccessDenied,
        Self::ServerError,
        Self::TemporarilyUnavailable,
        Self::InvalidTarget,
        Self::LoginRequired,
        Self::ConsentRequired,
        Self::InteractionRequired,
        Self::RequestNotSupported,
        Self::RequestUriNotSupported,
        Self::RegistrationNotSupported,
        Self::InvalidToken,
        Self::InsufficientScope,
        Self::UnsupportedTokenType,
        Self::InvalidClientMetadata,
        Self::InvalidRedirectUri,
        Self::AuthorizationPending,
        Self::SlowDown,
        Self::ExpiredToken,
        Self::InvalidDpopProof,
        Self::UseDpopNonce,
        Self::InvalidRequestUri,
        Self::InvalidRequestObject,
        Self::AccountSelectionRequired,
        Self::UnmetAuthenticationRequirements,
        Self::InvalidAuthorizationDetails,
        Self::InvalidSoftwareStatement,
        Self::UnapprovedSoftwareStatement,
    ];

    /// The value that is spelt so on the wire, if there is one.
    pub fn named(error: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|code| code.as_str() == error)
    }

    /// The value on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::InvalidRequest => "invalid_request",
            Self::InvalidClient => "invalid_client",
            Self::InvalidGrant => "invalid_grant",
            Self::UnauthorizedClient => "unauthorized_client",
            Self::UnsupportedGrantType => "unsupported_grant_type",
            Self::UnsupportedResponseType => "unsupported_response_type",
            Self::InvalidScope => "invalid_scope",
            Self::AccessDenied => "access_denied",
            Self::ServerError => "server_error",
            Self::TemporarilyUnavailable => "temporarily_unavailable",
            Self::InvalidTarget => "invalid_target",
            Self::LoginRequired => "login_required",
            Self::ConsentRequired => "consent_required",
            Self::InteractionRequired => "interaction_required",
            Self::RequestNotSupported => "request_not_supported",
            Self::RequestUriNotSupported => "request_uri_not_supported",
            Self::RegistrationNotSupported => "registration_not_supported",
            Self::InvalidToken => "invalid_token",
            Self::InsufficientScope => "insufficient_scope",
            Self::UnsupportedTokenType => "unsupported_token_type",
            Self::InvalidClientMetadata => "invalid_client_metadata",
            Self::InvalidRedirectUri => "invalid_redirect_uri",
            Self::AuthorizationPending => "authorization_pending",
            Self::SlowDown => "slow_down",
            Self::ExpiredToken => "expired_token",
            Self::InvalidDpopProof => "invalid_dpop_proof",
            Self::UseDpopNonce => "use_dpop_nonce",
            Self::InvalidRequestUri => "invalid_request_uri",
            Self::InvalidRequestObject => "invalid_request_object",
            Self::AccountSelectionRequired => "account_selection_required",
            Self::UnmetAuthenticationRequirements => "unmet_authentication_requirements",
            Self::InvalidAuthorizationDetails => "invalid_authorization_details",
            Self::InvalidSoftwareStatement => "invalid_software_statement",
            Self::UnapprovedSoftwareStatement => "unapproved_software_statement",
        }
    }

    /// The sentence that the client reads.
    pub const fn description(self) -> &'static str {
        match self {
            Self::InvalidRequest => {
                "The request lacks a parameter, repeats one, or one of them is malformed."
            }
            Self::InvalidClient => INVALID_CLIENT,
            Self::InvalidGrant => INVALID_GRANT,
            Self::UnauthorizedClient => "The client is not registered for this way of asking.",
            Self::UnsupportedGrantType => "This server does not support the grant type.",
            Self::UnsupportedResponseType => "This server does not support the response type.",
            Self::InvalidScope => "The scope is malformed, or goes beyond what the client may ask for.",
            Self::AccessDenied => "The user or this server denied the request.",
            Self::ServerError => "This server could not answer because of a fault of its own.",
            Self::TemporarilyUnavailable => {
                "This server is busy or its store cannot be reached. Try again later."
            }
            Self::InvalidTarget => "The audience or resource is not one that the client may ask for.",
            Self::LoginRequired => "The user has to log in, but the request forbids asking.",
            Self::ConsentRequired => "The user has to consent, but the request forbids asking.",
            Self::InteractionRequired => "The user has to be asked, but the request forbids asking.",
            Self::RequestNotSupported => "The `request` parameter is not supported.",
            Self::RequestUriNotSupported => "The `request_uri` parameter is not supported.",
            Self::RegistrationNotSupported => "The `registration` parameter is not supported.",
            Self::InvalidToken => "The access token is malformed, expired or revoked.",
            Self::InsufficientScope => "The access token does not cover what was asked for.",
            Self::UnsupportedTokenType => "Tokens of this type cannot be revoked.",
            Self::InvalidClientMetadata => INVALID_CLIENT_METADATA,
            Self::InvalidRedirectUri => "The value of one or more redirect_uris is invalid.",
            Self::AuthorizationPending => "The user has not decided yet.",
            Self::SlowDown => "The device asks too often: five seconds more between requests.",
            Self::ExpiredToken => "The device code has expired.",
            Self::InvalidDpopProof => {
                "The DPoP proof is missing, malformed, used before, or does not fit the request."
            }
            Self::UseDpopNonce => "The DPoP proof must carry the nonce of the `DPoP-Nonce` header.",
            Self::InvalidRequestUri => {
                "The `request_uri` is unknown, expired, not allowed, or could not be read."
            }
            Self::InvalidRequestObject => {
                "The request object is malformed, not signed as registered, or does not hold."
            }
            Self::AccountSelectionRequired => {
                "The user has to pick an account, but the request forbids asking."
            }
            Self::UnmetAuthenticationRequirements => {
                "The user could not be authenticated in the way that the request requires."
            }
            Self::InvalidAuthorizationDetails => {
                "The `authorization_details` are malformed, or of a type that the client may not ask for."
            }
            Self::InvalidSoftwareStatement => {
                "The software statement is malformed or its signature is wrong."
            }
            Self::UnapprovedSoftwareStatement => "The software statement is not approved for use here.",
        }
    }

    /// The HTTP status where the error is answered directly.
    pub const fn status(self) -> u16 {
        match self {
            Self::InvalidClient | Self::InvalidToken => 401,
            Self::AccessDenied | Self::InsufficientScope => 403,
            Self::ServerError => 500,
            Self::TemporarilyUnavailable => 503,
            _ => 400,
        }
    }
}

impl std::fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_value_stands_in_its_place_and_is_found_by_its_name() {
        for (place, code) in ErrorCode::ALL.into_iter().enumerate() {
            assert_eq!((code as usize, ErrorCode::named(code.as_str())), (place, Some(code)));
        }
        assert_eq!(ErrorCode::ALL.len(), ErrorCode::UnapprovedSoftwareStatement as usize + 1);
        assert_eq!(ErrorCode::named("INVALID_CLIENT"), None);
    }
}
