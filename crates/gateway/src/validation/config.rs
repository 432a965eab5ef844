//! What is configured about issuers whose tokens count besides this installation's own.

use std::num::{NonZeroU32, NonZeroUsize};
use std::sync::Arc;
use std::time::Duration;

use sluice_crypto::jwk::SigningAlgorithm;
use sluice_primitives::Secret;
use url::Url;

/// The name by which routes mean this installation among other issuers.
pub const OWN_ISSUER: &str = "sluice";

/// The algorithms that are believed where nothing is configured: all that are asymmetric. `none` and those with a shared
/// secret cannot be configured.
pub const ALGORITHMS: [SigningAlgorithm; 10] = SigningAlgorithm::ALL;

/// Another issuer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IssuerConfig {
    /// Its name in the file, metrics and logs; routes list it. Never [`OWN_ISSUER`].
    pub name: Arc<str>,
    /// Its identifier: what `iss` must be, byte for byte. Empty if it has none: then it only answers questions, whatever `iss` they name.
    pub issuer: String,
    /// What it issues: JWTs. `None`: none that count.
    pub jwt: Option<JwtConfig>,
    /// How it is asked about its other tokens. `None`: not.
    pub introspection: Option<IntrospectionConfig>,
    /// Tokens must be for one of these, if there are any. Default: none.
    pub audience: Vec<String>,
    /// How far its clock may differ from ours: 0 to 5 min, default 30 s.
    pub clock_skew: Duration,
    /// What tells the tokens that clients get for themselves, beside what is told of them everywhere. Default: nothing.
    pub clients: Option<ClientMark>,
}

/// What an issuer writes into the tokens that clients get for themselves, and into no person's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientMark {
    /// The claim.
    pub claim: String,
    /// What its text begins with. Empty: it is enough that the claim is there.
    pub prefix: String,
}

/// How the JWTs of an issuer are verified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JwtConfig {
    /// Where its keys are.
    pub keys: KeySource,
    /// The algorithms that are believed. Default: [`ALGORITHMS`].
    pub algorithms: Vec<SigningAlgorithm>,
    /// How long old keys serve while the issuer cannot be reached. Default: 24 h.
    pub keep_keys: Duration,
    /// How long an answer may take. Default: 5 s.
    pub timeout: Duration,
}

/// Where the keys of an issuer are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeySource {
    /// Where its metadata says: OpenID Connect Discovery §4, else RFC 8414 §3. Default.
    Discovery,
    /// At this address.
    JwksUri(Url),
}

/// How an issuer is asked about a token (RFC 7662).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IntrospectionConfig {
    /// Where it is asked.
    pub endpoint: Url,
    /// How the gateway authenticates itself there.
    pub client: IntrospectionClient,
    /// How long an answer may take. Default: 2 s.
    pub timeout: Duration,
    /// How long `active` is believed without asking again, at most until the token ends. Default: 10 s; 0: not at all.
    pub cache: Duration,
    /// How long the contrary is. Default: 10 s; 0: not at all.
    pub negative_cache: Duration,
    /// The most tokens whose answers are kept, of 4 KiB each; those that say more count for several. Default: 100,000.
    pub cache_entries: NonZeroUsize,
    /// The most questions under way at once; a further one is answered like an authority that is out of reach. Default: 256.
    pub concurrency: NonZeroU32,
}

/// How the gateway authenticates itself to the issuer that it asks.
#[derive(Debug, Clone)]
pub enum IntrospectionClient {
    /// Not at all.
    None,
    /// `client_secret_basic`: id and secret.
    Basic(String, Secret<String>),
    /// `client_secret_post`: id and secret.
    Post(String, Secret<String>),
    /// A bearer token.
    Bearer(Secret<String>),
}

impl PartialEq for IntrospectionClient {
    fn eq(&self, other: &Self) -> bool {
        let same = |one: &Secret<String>, other: &Secret<String>| one.same_as(other.expose().as_bytes());
        match (self, other) {
            (Self::None, Self::None) => true,
            (Self::Basic(id, secret), Self::Basic(other_id, other))
            | (Self::Post(id, secret), Self::Post(other_id, other)) => id == other_id && same(secret, other),
            (Self::Bearer(token), Self::Bearer(other)) => same(token, other),
            _ => false,
        }
    }
}

impl Eq for IntrospectionClient {}

impl Default for JwtConfig {
    fn default() -> Self {
        Self {
            keys: KeySource::Discovery,
            algorithms: ALGORITHMS.to_vec(),
            keep_keys: Duration::from_hours(24),
            timeout: Duration::from_secs(5),
        }
    }
}

impl IntrospectionConfig {
    /// Questions to `endpoint`, everything else as it is by default.
    pub fn new(endpoint: Url, client: IntrospectionClient) -> Self {
        Self {
            endpoint,
            client,
            timeout: Duration::from_secs(2),
            cache: Duration::from_secs(10),
            negative_cache: Duration::from_secs(10),
            cache_entries: NonZeroUsize::new(100_000).unwrap_or(NonZeroUsize::MIN),
            concurrency: NonZeroU32::new(256).unwrap_or(NonZeroU32::MIN),
        }
    }
}

impl IssuerConfig {
    /// An issuer that issues nothing yet.
    pub fn new(name: &str, issuer: &str) -> Self {
        Self {
            name: name.into(),
            issuer: issuer.to_owned(),
            jwt: None,
            introspection: None,
            audience: Vec::new(),
            clock_skew: Duration::from_secs(30),
            clients: None,
        }
    }

    /// What its subjects and clients are told apart by from those of all others: its identifier, or its name if it has none. Never what
    /// it says of itself.
    pub fn known_as(&self) -> &str {
        if self.issuer.is_empty() { &self.name } else { &self.issuer }
    }
}
