//! What a client is.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sluice_crypto::jwk::JwkSet;
use sluice_primitives::{Lifetime, Timestamp};
use sluice_protocol::{Audience, ClientId, GrantType, RedirectUri, ResponseType, Scope};

use super::given_url::GivenUrl;
use super::profile::{ClientSecurity, RequestDefaults, ResponseFormats, Software, TokenExchangePolicy};

/// A registered application. Wire names are Hydra's; see Hydra's API document for what each means.
#[derive(Debug, Clone, PartialEq)]
#[expect(
    missing_docs,
    reason = "the fields are the client metadata values of RFC 7591 §2 and Hydra's of the same name"
)]
pub struct Client {
    pub id: ClientId,
    /// Grows by one with every change.
    pub revision: i64,
    pub name: String,
    pub owner: String,
    /// Hashes of its secrets: the current one first, then rotated ones. They are accepted while its method uses a secret.
    pub secret_hashes: Vec<String>,
    /// When secrets end that an earlier version let end.
    pub secrets_end: Option<SecretsEnd>,
    pub redirect_uris: Vec<RedirectUri>,
    /// As registered; [`Self::may_use`] tells what an empty list means.
    pub grant_types: Vec<String>,
    /// As registered; [`Self::response_types_or_default`] tells what an empty list means.
    pub response_types: Vec<String>,
    pub scope: Scope,
    pub audience: Audience,
    pub auth_method: AuthMethod,
    pub auth_signing_alg: Option<String>,
    pub jwks: Option<JwkSet>,
    pub jwks_uri: Option<GivenUrl>,
    pub allowed_cors_origins: Vec<String>,
    pub post_logout_redirect_uris: Vec<RedirectUri>,
    /// Where, in a frame, it wants to hear of the end of a session.
    pub frontchannel_logout: Option<GivenUrl>,
    /// Where this server tells it.
    pub backchannel_logout: Option<GivenUrl>,
    pub logout_sessions: LogoutSessions,
    pub client_uri: String,
    pub logo_uri: String,
    pub policy_uri: String,
    pub tos_uri: String,
    pub contacts: Vec<String>,
    pub subject_type: String,
    pub sector_identifier_uri: Option<String>,
    pub request_uris: Vec<String>,
    pub request_object_signing_alg: Option<String>,
    pub userinfo_signed_response_alg: Option<String>,
    pub id_token_signed_response_alg: Option<String>,
    /// Opaque or JWT; by configuration if none.
    pub access_token_strategy: Option<AccessTokenStrategy>,
    pub skip_consent: bool,
    pub skip_logout_consent: bool,
    /// Free JSON of the administrator, of whatever kind; `{}` if never set.
    pub metadata: Value,
    pub lifespans: Lifespans,
    pub security: ClientSecurity,
    pub formats: ResponseFormats,
    pub defaults: RequestDefaults,
    pub software: Software,
    /// Types of `authorization_details` that the client may ask for (RFC 9396 §10).
    pub authorization_details_types: Vec<String>,
    pub token_exchange: TokenExchangePolicy,
    /// Hash of the registration access token (RFC 7592).
    pub registration_token_hash: Option<String>,
    /// Whether what it says of itself is nobody's word but its own: it registered itself where anybody may, or calls itself otherwise
    /// since, and no administrator has changed it after that.
    pub registered_itself: bool,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// The end of secrets. Nobody can set one any more; what was set holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SecretsEnd {
    /// When.
    pub at: Timestamp,
    /// How many secrets were set since, which have no end: the first of the hashes are theirs.
    pub newer: usize,
}

impl Client {
    /// The hashes of the secrets that hold at `now`.
    pub fn secret_hashes_at(&self, now: Timestamp) -> &[String] {
        let all = self.secret_hashes.as_slice();
        let ended = self.secrets_end.filter(|end| end.at <= now);
        ended.and_then(|end| all.get(..end.newer)).unwrap_or(all)
    }

    /// Whether all its secrets have ended.
    pub fn secrets_have_ended(&self, now: Timestamp) -> bool {
        self.secrets_end.is_some_and(|end| end.at <= now && end.newer == 0)
    }

    /// The grant types that it is registered for: `authorization_code` if it names none (RFC 7591 §2).
    pub fn grant_types_or_default(&self) -> impl Iterator<Item = &str> {
        named_or(&self.grant_types, GrantType::AuthorizationCode.as_str())
    }

    /// The response types that it is registered for: `code` if it names none (RFC 7591 §2).
    pub fn response_types_or_default(&self) -> impl Iterator<Item = &str> {
        named_or(&self.response_types, "code")
    }

    /// Whether it is registered for this grant type.
    pub fn may_use(&self, grant_type: GrantType) -> bool {
        self.grant_types_or_default().any(|own| own == grant_type.as_str())
    }

    /// Whether it is registered for exactly this response type. What is registered may name a value twice, as `code code` does: it
    /// stands for the same set.
    pub fn may_ask_for(&self, response_type: ResponseType) -> bool {
        self.response_types_or_default().any(|own| ResponseType::of_client(own) == Ok(response_type))
    }

    /// Whether the client cannot keep a secret (RFC 6749 §2.1).
    pub fn is_public(&self) -> bool {
        self.auth_method == AuthMethod::None
    }

    /// Whether the client wants to hear of the end of sessions.
    pub const fn hears_logout(&self) -> bool {
        self.frontchannel_logout.is_some() || self.backchannel_logout.is_some()
    }
}

fn named_or<'a>(named: &'a [String], default: &'a str) -> impl Iterator<Item = &'a str> {
    let default = named.is_empty().then_some(default);
    named.iter().map(String::as_str).chain(default)
}

/// How a client proves who it is (`token_endpoint_auth_method`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AuthMethod {
    /// HTTP Basic (RFC 6749 §2.3.1).
    ClientSecretBasic,
    /// Secret in the form (RFC 6749 §2.3.1).
    ClientSecretPost,
    /// Assertion signed with the secret (OpenID Connect Core §9).
    ClientSecretJwt,
    /// Signed assertion (RFC 7523 §2.2).
    PrivateKeyJwt,
    /// A certificate of a known authority, by its name (RFC 8705 §2.1).
    TlsClientAuth,
    /// A certificate whose key the client registered (RFC 8705 §2.2).
    SelfSignedTlsClientAuth,
    /// Not at all: a public client.
    None,
}

impl AuthMethod {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::ClientSecretBasic,
        Self::ClientSecretPost,
        Self::ClientSecretJwt,
        Self::PrivateKeyJwt,
        Self::TlsClientAuth,
        Self::SelfSignedTlsClientAuth,
        Self::None,
    ];

    /// Whether a secret is what the client proves it by.
    pub const fn uses_secret(self) -> bool {
        matches!(self, Self::ClientSecretBasic | Self::ClientSecretPost | Self::ClientSecretJwt)
    }

    /// The registered name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ClientSecretBasic => "client_secret_basic",
            Self::ClientSecretPost => "client_secret_post",
            Self::ClientSecretJwt => "client_secret_jwt",
            Self::PrivateKeyJwt => "private_key_jwt",
            Self::TlsClientAuth => "tls_client_auth",
            Self::SelfSignedTlsClientAuth => "self_signed_tls_client_auth",
            Self::None => "none",
        }
    }
}

/// Which kind of access token a client gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AccessTokenStrategy {
    /// Sealed.
    Opaque,
    /// RFC 9068.
    Jwt,
}

impl AccessTokenStrategy {
    /// The name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Opaque => "opaque",
            Self::Jwt => "jwt",
        }
    }
}

/// Whether a client says that it must be told issuer and `sid` of a session that ends, by channel. It is told them anyway; what it
/// said is kept without a URI, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct LogoutSessions {
    /// `frontchannel_logout_session_required`.
    pub frontchannel: bool,
    /// `backchannel_logout_session_required`.
    pub backchannel: bool,
}

/// Lifespans of one grant type; what is not set follows the configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct GrantLifespans {
    /// Of access tokens.
    pub access_token: Option<Lifetime>,
    /// Of id tokens.
    pub id_token: Option<Lifetime>,
    /// Of refresh tokens.
    pub refresh_token: Option<Lifetime>,
}

/// Lifespans by grant type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[expect(missing_docs, reason = "the fields are the grant types")]
pub struct Lifespans {
    pub authorization_code: GrantLifespans,
    pub refresh_token: GrantLifespans,
    pub client_credentials: GrantLifespans,
    pub implicit: GrantLifespans,
    pub device_authorization: GrantLifespans,
    pub jwt_bearer: GrantLifespans,
}

impl Lifespans {
    /// The lifespans of each grant type.
    pub const fn all(&self) -> [&GrantLifespans; 6] {
        [
            &self.authorization_code,
            &self.refresh_token,
            &self.client_credentials,
            &self.implicit,
            &self.device_authorization,
            &self.jwt_bearer,
        ]
    }

    /// The longest life that an access token gets by these, if any is set.
    pub fn longest_access_token(&self) -> Option<Lifetime> {
        self.all().into_iter().filter_map(|of| of.access_token).max()
    }
}
