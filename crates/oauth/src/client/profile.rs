//! What a client may register beyond RFC 7591: how it is bound to keys, how what it is sent is signed and encrypted, and
//! what it may ask for in detail. Algorithms are kept by name: registration has checked them.

use serde::{Deserialize, Serialize};
use sluice_crypto::jwk::SigningAlgorithm;

/// Which stricter rules hold for a client; the stricter, the greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SecurityProfile {
    /// Those of the standards.
    #[default]
    None,
    /// FAPI 2.0 Security Profile: pushed requests, keys instead of secrets, bound tokens, no rotation.
    Fapi2,
    /// FAPI 2.0 Message Signing: the same, with signed requests and answers.
    Fapi2MessageSigning,
}

impl SecurityProfile {
    /// Whether FAPI 2.0 holds.
    pub const fn is_fapi(self) -> bool {
        matches!(self, Self::Fapi2 | Self::Fapi2MessageSigning)
    }

    /// Whether the client may sign with this algorithm (FAPI 2.0 Security Profile §5.4).
    pub const fn allows(self, algorithm: SigningAlgorithm) -> bool {
        let fapi =
            matches!(algorithm, SigningAlgorithm::PS256 | SigningAlgorithm::ES256 | SigningAlgorithm::EdDSA);
        fapi || !self.is_fapi()
    }
}

/// How a client proves who it is and binds what it holds.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
#[expect(clippy::struct_excessive_bools, reason = "the wire has them")]
pub struct ClientSecurity {
    /// Which stricter rules hold.
    pub profile: SecurityProfile,
    /// Whether every request must be pushed first (RFC 9126 §6).
    pub require_pushed_authorization_requests: bool,
    /// Whether every request must be a signed request object (RFC 9101 §10.5).
    pub require_signed_request_object: bool,
    /// Whether every token must be bound to a DPoP key (RFC 9449 §5.2).
    pub dpop_bound_access_tokens: bool,
    /// Whether every access token must be bound to the client's certificate (RFC 8705 §3.4).
    pub tls_client_certificate_bound_access_tokens: bool,
    /// The certificate that authenticates the client (RFC 8705 §2.1.2).
    pub tls_client_auth: Option<CertificateName>,
    /// The secret itself, sealed: only clients that sign with it (`client_secret_jwt`) have it kept so.
    pub sealed_secret: Option<String>,
}

impl ClientSecurity {
    /// Whether every access token must be bound to a key of the client, of whichever kind.
    pub const fn binds_tokens(&self) -> bool {
        self.dpop_bound_access_tokens || self.tls_client_certificate_bound_access_tokens
    }
}

/// The one name of a certificate that is looked at (RFC 8705 §2.1.2).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CertificateName {
    /// `tls_client_auth_subject_dn`.
    SubjectDn(String),
    /// `tls_client_auth_san_dns`.
    SanDns(String),
    /// `tls_client_auth_san_uri`.
    SanUri(String),
    /// `tls_client_auth_san_ip`.
    SanIp(String),
    /// `tls_client_auth_san_email`.
    SanEmail(String),
}

/// How something is encrypted for a client.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Encryption {
    /// `…_encrypted_response_alg`.
    pub alg: String,
    /// `…_encrypted_response_enc`.
    pub enc: String,
}

/// How what a client is sent is signed and encrypted, and how it encrypts its requests.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ResponseFormats {
    /// `authorization_signed_response_alg` (JARM §3).
    pub authorization_signing_alg: Option<String>,
    /// `authorization_encrypted_response_alg` and `_enc` (JARM §3).
    pub authorization_encryption: Option<Encryption>,
    /// `id_token_encrypted_response_alg` and `_enc` (OpenID Connect Registration §2).
    pub id_token_encryption: Option<Encryption>,
    /// `userinfo_encrypted_response_alg` and `_enc` (OpenID Connect Registration §2).
    pub userinfo_encryption: Option<Encryption>,
    /// `introspection_signed_response_alg` (RFC 9701 §6).
    pub introspection_signing_alg: Option<String>,
    /// `introspection_encrypted_response_alg` and `_enc` (RFC 9701 §6).
    pub introspection_encryption: Option<Encryption>,
    /// `request_object_encryption_alg` and `_enc` (OpenID Connect Registration §2): what the client says it will use.
    pub request_object_encryption: Option<Encryption>,
    /// `access_token_signed_response_alg`: with what a JWT access token is signed; if none, with what is configured.
    pub access_token_signing_alg: Option<String>,
    /// `access_token_jwt_typ`, a member of Sluice's own: what a JWT access token calls itself in its header; if none, what is
    /// configured. An administrator's.
    pub access_token_jwt_typ: Option<String>,
    /// `authorization_response_iss: false`, a member of Sluice's own: its authorization responses are without `iss` (RFC 9207), for
    /// who takes an error that has one for something else. An administrator's.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub omits_issuer: bool,
}

impl ResponseFormats {
    /// What is encrypted for the client, by the name it is registered under.
    pub fn encrypted(&self) -> impl Iterator<Item = (&'static str, &Encryption)> {
        let all = [
            ("authorization_encrypted_response", &self.authorization_encryption),
            ("id_token_encrypted_response", &self.id_token_encryption),
            ("userinfo_encrypted_response", &self.userinfo_encryption),
            ("introspection_encrypted_response", &self.introspection_encryption),
        ];
        all.into_iter().filter_map(|(name, how)| Some((name, how.as_ref()?)))
    }
}

/// What a request of the client means where it says nothing.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RequestDefaults {
    /// `default_max_age`, in seconds.
    pub max_age: Option<u32>,
    /// `require_auth_time`: id tokens always say when; ours do anyway.
    pub require_auth_time: bool,
    /// `default_acr_values`.
    pub acr_values: Vec<String>,
    /// `initiate_login_uri`: where another party can have the client begin a login (OpenID Connect Core §4).
    pub initiate_login_uri: Option<String>,
}

/// What the client is, in its maker's words.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Software {
    /// `application_type`: `web` or `native`; `web` if empty.
    pub application_type: String,
    /// `software_id` (RFC 7591 §2).
    pub id: String,
    /// `software_version` (RFC 7591 §2).
    pub version: String,
}

/// What a client may exchange tokens for (RFC 8693). Nothing, unless something is registered.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct TokenExchangePolicy {
    /// Whether the client may act as the subject itself.
    pub impersonation: bool,
    /// Whether the client may act for the subject, named in `act`.
    pub delegation: bool,
    /// The clients whose tokens may be exchanged; `*` stands for all. Its own always may.
    pub subject_token_clients: Vec<String>,
}
