//! What the extensions of OAuth are told, each on its own, with the defaults of configuration.

use ipnet::IpNet;
use sluice_crypto::jwk::SigningAlgorithm;
use sluice_primitives::{Lifetime, Secret};
use url::Url;

/// Device authorization (RFC 8628).
#[derive(Debug, Clone)]
pub struct DevicePolicy {
    /// How long device and user code live; default 10 min.
    pub lifetime: Lifetime,
    /// How long a device waits between two requests; default 5 s (RFC 8628 §3.2).
    pub interval: Lifetime,
    /// How many characters a user code has; default 8.
    pub user_code_length: usize,
    /// Which characters; default the consonants of RFC 8628 §6.1.
    pub user_code_characters: String,
}

impl Default for DevicePolicy {
    fn default() -> Self {
        Self {
            lifetime: Lifetime::minutes(10),
            interval: Lifetime::secs(5),
            user_code_length: 8,
            user_code_characters: "BCDFGHJKLMNPQRSTVWXZ".to_owned(),
        }
    }
}

/// Assertions as grants (RFC 7523 §2.1; Hydra's `oauth2.grant.jwt`).
#[derive(Debug, Clone, Copy)]
pub struct AssertionPolicy {
    /// Whether an assertion may come without `jti`; default no.
    pub jti_optional: bool,
    /// Whether an assertion may come without `iat`; default no.
    pub iat_optional: bool,
    /// How far `exp` may be from `iat`, or from now without one; default 30 days.
    pub longest: Lifetime,
    /// Whether the assertion's audience stays out of the token; default yes.
    pub omit_audience: bool,
}

impl Default for AssertionPolicy {
    fn default() -> Self {
        Self { jti_optional: false, iat_optional: false, longest: Lifetime::hours(720), omit_audience: true }
    }
}

/// Pushed authorization requests (RFC 9126).
#[derive(Debug, Clone, Copy)]
pub struct PushedRequestPolicy {
    /// How long a request URI lives; default 60 s.
    pub lifetime: Lifetime,
    /// Whether every client must push; default no.
    pub required: bool,
}

impl Default for PushedRequestPolicy {
    fn default() -> Self {
        Self { lifetime: Lifetime::secs(60), required: false }
    }
}

/// Authorization requests that are too long for a URL.
#[derive(Debug, Clone)]
pub struct LongRequestPolicy {
    /// How many of them a network may have kept within 10 min; any number if none. Default 2,000.
    pub per_network: Option<u32>,
    /// Networks that are not told apart, and have together half of what anybody may have kept; default none.
    pub exempt: Vec<IpNet>,
}

impl Default for LongRequestPolicy {
    fn default() -> Self {
        Self { per_network: Some(2_000), exempt: Vec::new() }
    }
}

/// Request objects (RFC 9101).
#[derive(Debug, Clone, Copy, Default)]
pub struct RequestObjectPolicy {
    /// Whether every request must be a signed object; default no.
    pub require_signed: bool,
    /// Whether an object may be unsigned (`alg` = `none`); default no.
    pub allow_unsigned: bool,
    /// Whether objects are fetched from the `request_uris` that a client registered; default no.
    pub by_reference: bool,
}

/// DPoP (RFC 9449).
#[derive(Debug, Clone, Copy)]
pub struct DpopPolicy {
    /// Whether a proof must carry a nonce of this server (RFC 9449 §8); default no.
    pub nonce_required: bool,
    /// How long a nonce lives; default 5 min.
    pub nonce_lifetime: Lifetime,
    /// How old, or how far ahead, the `iat` of a proof may be; default 60 s.
    pub proof_lifetime: Lifetime,
}

impl Default for DpopPolicy {
    fn default() -> Self {
        Self {
            nonce_required: false,
            nonce_lifetime: Lifetime::minutes(5),
            proof_lifetime: Lifetime::secs(60),
        }
    }
}

/// Mutual TLS (RFC 8705).
#[derive(Debug, Clone, Default)]
pub struct MtlsPolicy {
    /// Whether client certificates can reach this server, directly or through a proxy; default no.
    pub enabled: bool,
    /// Where clients with certificates find the endpoints, if elsewhere (RFC 8705 §5).
    pub aliases: Option<Url>,
    /// The authorities whose certificates authenticate clients (`tls_client_auth`), PEM.
    pub trust_anchors: Option<String>,
    /// Whether a proxy passes certificates on, and only such as it has verified the issuers of; default no.
    pub proxy_verifies: bool,
}

impl MtlsPolicy {
    /// Whether anybody can vouch for a certificate (`tls_client_auth`).
    pub const fn has_authorities(&self) -> bool {
        self.enabled && (self.trust_anchors.is_some() || self.proxy_verifies)
    }
}

/// What a logout token calls itself in its header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LogoutTokenType {
    /// `logout+jwt` (OpenID Connect Back-Channel Logout §2.4).
    #[default]
    Logout,
    /// `JWT`, for applications that take nothing else. Id tokens have it too.
    Plain,
}

impl LogoutTokenType {
    /// `typ` of the header.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Logout => "logout+jwt",
            Self::Plain => "JWT",
        }
    }
}

/// What the built-in consent page tells as `preferred_username`, by which some applications keep accounts (OpenID Connect Core §5.7).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PreferredUsername {
    /// What people call themselves, or else their verified address to who may know it.
    #[default]
    Username,
    /// Their verified address, to who may know it.
    Email,
    /// Nothing.
    Nothing,
}

/// When the built-in consent page tells an address as `email`, by which some applications let people in without a look at `email_verified`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum EmailClaim {
    /// Verified or not; `email_verified` says which (OpenID Connect Core §5.1).
    #[default]
    Always,
    /// Once it is verified.
    Verified,
}

/// Which subjects clients see (OpenID Connect Core §8).
#[derive(Debug, Clone)]
pub struct SubjectPolicy {
    /// The types that clients may choose; default `public` alone.
    pub types: Vec<String>,
    /// The salt of pairwise subjects; none if there are none.
    pub pairwise_salt: Option<Secret<String>>,
}

impl Default for SubjectPolicy {
    fn default() -> Self {
        Self { types: vec!["public".to_owned()], pairwise_salt: None }
    }
}

/// Dynamic registration (RFC 7591, RFC 7592).
#[derive(Debug, Clone, Default)]
pub struct DynamicRegistrationPolicy {
    /// Whether clients may register themselves; default no.
    pub enabled: bool,
    /// What a registration must bear; open to anybody if none.
    pub initial_access_token: Option<Secret<String>>,
    /// What becomes of software statements.
    pub software_statements: SoftwareStatements,
    /// Whether a client may have its keys at an `http://` URL: for development. Default no.
    pub plain_http_keys: bool,
}

/// What becomes of software statements (RFC 7591 §2.3).
#[derive(Debug, Clone, Default)]
pub enum SoftwareStatements {
    /// A registration with one is refused.
    #[default]
    Refuse,
    /// They are not looked at.
    Ignore,
    /// They are verified, and their claims take precedence.
    Verify {
        /// The keys that sign them: a JWK set, or where one is.
        keys: StatementKeys,
        /// The issuers that are approved; any if empty.
        issuers: Vec<String>,
    },
}

/// Where the keys of software statements are.
#[derive(Debug, Clone)]
pub enum StatementKeys {
    /// Here, as JSON.
    Set(String),
    /// There.
    At(Url),
}

/// Client ID metadata documents.
#[derive(Debug, Clone, Default)]
pub struct MetadataDocumentPolicy {
    /// Whether a URL may be a client's id; default no.
    pub enabled: bool,
    /// The hosts that may serve them (`host` or `*.host`); any public one if empty.
    pub allowed_hosts: Vec<String>,
}

/// What the extensions of OAuth are told.
#[derive(Debug, Clone)]
#[expect(missing_docs, reason = "the fields are what their types say")]
pub struct Policies {
    pub device: DevicePolicy,
    pub assertions: AssertionPolicy,
    pub pushed_requests: PushedRequestPolicy,
    pub long_requests: LongRequestPolicy,
    pub request_objects: RequestObjectPolicy,
    pub dpop: DpopPolicy,
    pub mtls: MtlsPolicy,
    pub subjects: SubjectPolicy,
    pub dynamic_registration: DynamicRegistrationPolicy,
    pub metadata_documents: MetadataDocumentPolicy,
    /// Of id tokens for clients that registered none.
    pub id_token_alg: SigningAlgorithm,
    /// Of JWT access tokens for clients that registered none.
    pub access_token_alg: SigningAlgorithm,
    pub logout_token_type: LogoutTokenType,
    pub preferred_username: PreferredUsername,
    pub email_claim: EmailClaim,
}

impl Default for Policies {
    fn default() -> Self {
        Self {
            device: DevicePolicy::default(),
            assertions: AssertionPolicy::default(),
            pushed_requests: PushedRequestPolicy::default(),
            long_requests: LongRequestPolicy::default(),
            request_objects: RequestObjectPolicy::default(),
            dpop: DpopPolicy::default(),
            mtls: MtlsPolicy::default(),
            subjects: SubjectPolicy::default(),
            dynamic_registration: DynamicRegistrationPolicy::default(),
            metadata_documents: MetadataDocumentPolicy::default(),
            id_token_alg: SigningAlgorithm::RS256,
            access_token_alg: SigningAlgorithm::RS256,
            logout_token_type: LogoutTokenType::default(),
            preferred_username: PreferredUsername::default(),
            email_claim: EmailClaim::default(),
        }
    }
}
