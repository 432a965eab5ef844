//! A request to the token endpoint (RFC 6749 §4.1.3, §4.4.2, §6), without the client's credentials.

use sluice_primitives::Secret;
use thiserror::Error;

use crate::audience::{self, InvalidTarget};
use crate::grant_type::GrantType;
use crate::parameters::Parameters;
use crate::scope::Scope;

/// What a client asks the token endpoint for.
#[derive(Debug, Clone)]
pub enum TokenRequest {
    /// A code is exchanged.
    AuthorizationCode {
        /// The sealed code.
        code: String,
        /// The redirect URI of the authorization request, as sent.
        redirect_uri: Option<String>,
        /// The PKCE verifier, as sent.
        code_verifier: Option<String>,
        /// A narrower audience, if asked for by `resource`.
        audience: Vec<String>,
        /// Fewer `authorization_details` (RFC 9396 §6.1), as sent.
        authorization_details: Option<String>,
    },
    /// A refresh token is exchanged.
    RefreshToken {
        /// The sealed refresh token.
        refresh_token: String,
        /// A narrower scope, if asked for.
        scope: Option<Scope>,
        /// A narrower audience, if asked for by `resource`.
        audience: Vec<String>,
        /// Fewer `authorization_details` (RFC 9396 §6.1), as sent.
        authorization_details: Option<String>,
    },
    /// The client asks for itself.
    ClientCredentials {
        /// The scope, if named.
        scope: Option<Scope>,
        /// The audience, if named.
        audience: Vec<String>,
        /// `authorization_details` (RFC 9396 §6), as sent.
        authorization_details: Option<String>,
    },
    /// A device asks whether its user has decided (RFC 8628 §3.4).
    DeviceCode {
        /// The sealed device code.
        device_code: String,
        /// A narrower audience, if asked for by `resource`.
        audience: Vec<String>,
        /// Fewer `authorization_details` (RFC 9396 §6.1), as sent.
        authorization_details: Option<String>,
    },
    /// An assertion of another issuer is exchanged (RFC 7523 §2.1).
    JwtBearer {
        /// The assertion.
        assertion: Secret<String>,
        /// The scope, if named.
        scope: Option<Scope>,
        /// The audience, if named.
        audience: Vec<String>,
    },
    /// A token is exchanged for another one (RFC 8693 §2.1).
    TokenExchange(Box<TokenExchangeRequest>),
}

/// A token exchange (RFC 8693 §2.1), as sent.
#[derive(Debug, Clone)]
pub struct TokenExchangeRequest {
    /// On whose behalf.
    pub subject_token: Secret<String>,
    /// What kind of token that is.
    pub subject_token_type: String,
    /// Who acts, if somebody else does.
    pub actor_token: Option<Secret<String>>,
    /// What kind of token that is.
    pub actor_token_type: Option<String>,
    /// What kind of token is asked for.
    pub requested_token_type: Option<String>,
    /// The scope, if named.
    pub scope: Option<Scope>,
    /// The audience and resources, if named.
    pub audience: Vec<String>,
    /// Fewer `authorization_details` (RFC 9396 §6.1), as sent.
    pub authorization_details: Option<String>,
}

/// Why a token request could not be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum InvalidTokenRequest {
    /// A required parameter is missing.
    #[error("the parameter `{0}` is missing")]
    Missing(&'static str),
    /// No such grant type here.
    #[error("the grant type is not supported")]
    UnsupportedGrantType,
    /// A malformed scope, or one that is too long.
    #[error("the scope is malformed or too long")]
    Scope,
    /// A malformed `resource`, or too many of them.
    #[error(transparent)]
    Target(#[from] InvalidTarget),
}

impl TokenRequest {
    /// Reads the request from the form.
    ///
    /// # Errors
    /// [`InvalidTokenRequest`] says what is wrong.
    pub fn read(form: &Parameters<'_>) -> Result<Self, InvalidTokenRequest> {
        let required = |name: &'static str| form.get(name).ok_or(InvalidTokenRequest::Missing(name));
        let grant_type =
            required("grant_type")?.parse().map_err(|_| InvalidTokenRequest::UnsupportedGrantType)?;
        match grant_type {
            GrantType::AuthorizationCode => Ok(Self::AuthorizationCode {
                code: required("code")?.to_owned(),
                redirect_uri: form.get("redirect_uri").map(str::to_owned),
                code_verifier: form.get("code_verifier").map(str::to_owned),
                audience: audience::resources(form)?,
                authorization_details: form.get("authorization_details").map(str::to_owned),
            }),
            GrantType::RefreshToken => Ok(Self::RefreshToken {
                refresh_token: required("refresh_token")?.to_owned(),
                scope: scope(form)?,
                audience: audience::resources(form)?,
                authorization_details: form.get("authorization_details").map(str::to_owned),
            }),
            GrantType::ClientCredentials => Ok(Self::ClientCredentials {
                scope: scope(form)?,
                audience: audience::asked(form)?,
                authorization_details: form.get("authorization_details").map(str::to_owned),
            }),
            GrantType::DeviceCode => Ok(Self::DeviceCode {
                device_code: required("device_code")?.to_owned(),
                audience: audience::resources(form)?,
                authorization_details: form.get("authorization_details").map(str::to_owned),
            }),
            GrantType::JwtBearer => Ok(Self::JwtBearer {
                assertion: Secret::new(required("assertion")?.to_owned()),
                scope: scope(form)?,
                audience: audience::asked(form)?,
            }),
            GrantType::TokenExchange => {
                TokenExchangeRequest::read(form).map(Box::new).map(Self::TokenExchange)
            }
            GrantType::Implicit => Err(InvalidTokenRequest::UnsupportedGrantType),
        }
    }

    /// The grant type that is asked for.
    pub const fn grant_type(&self) -> GrantType {
        match self {
            Self::AuthorizationCode { .. } => GrantType::AuthorizationCode,
            Self::RefreshToken { .. } => GrantType::RefreshToken,
            Self::ClientCredentials { .. } => GrantType::ClientCredentials,
            Self::DeviceCode { .. } => GrantType::DeviceCode,
            Self::JwtBearer { .. } => GrantType::JwtBearer,
            Self::TokenExchange(_) => GrantType::TokenExchange,
        }
    }
}

impl TokenExchangeRequest {
    fn read(form: &Parameters<'_>) -> Result<Self, InvalidTokenRequest> {
        let required = |name: &'static str| form.get(name).ok_or(InvalidTokenRequest::Missing(name));
        let secret = |text: &str| Secret::new(text.to_owned());
        let request = Self {
            subject_token: secret(required("subject_token")?),
            subject_token_type: required("subject_token_type")?.to_owned(),
            actor_token: form.get("actor_token").map(secret),
            actor_token_type: form.get("actor_token_type").map(str::to_owned),
            requested_token_type: form.get("requested_token_type").map(str::to_owned),
            scope: scope(form)?,
            audience: audience::asked(form)?,
            authorization_details: form.get("authorization_details").map(str::to_owned),
        };
        // RFC 8693 §2.1: the type stands if and only if the token does.
        if request.actor_token.is_some() != request.actor_token_type.is_some() {
            return Err(InvalidTokenRequest::Missing("actor_token_type"));
        }
        Ok(request)
    }
}

fn scope(form: &Parameters<'_>) -> Result<Option<Scope>, InvalidTokenRequest> {
    form.get("scope").map(Scope::asked).transpose().map_err(|_| InvalidTokenRequest::Scope)
}
