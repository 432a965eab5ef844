//! What the services of a node share, and how that is made.

use std::sync::Arc;

use sluice_crypto::Sealer;
use sluice_crypto::hash_pool::HashPool;
use sluice_crypto::secret_hash::FastHashKeys;
use sluice_net::{FetchPolicy, Fetcher, UrlPattern};
use sluice_oauth::access_token_reader::AccessTokenReader;
use sluice_oauth::client::{ClientDirectory, MetadataDocuments, RegistrationRules};
use sluice_oauth::client_auth::{Audiences, ClientAuthParts, ClientAuthenticator, ClientKeys};
use sluice_oauth::consent::ConsentService;
use sluice_oauth::device::UserCodeKeys;
use sluice_oauth::issuing::TokenIssuer;
use sluice_oauth::issuing::encrypt::ClientEncryption;
use sluice_oauth::keys::{ACCESS_TOKEN_SET, DefaultAlgorithms, ID_TOKEN_SET, KeyRing, RingOptions};
use sluice_oauth::login_session::LoginSessionService;
use sluice_oauth::sender_constraint::{SenderConstraint, SenderConstraintParts};
use sluice_oauth::takeover::HydraTokens;
use sluice_oauth::{Config, OAuthMetrics};
use sluice_token::{FeedFollower, RevocationSet};

use super::Foundation;
use super::clients::key_service;
use crate::app::authorities::Authorities;
use crate::app::identity_config::PeopleConfig;
use crate::app::people::{Around, People};
use crate::app::secrets::SecretsError;
use crate::app::stores::StartError;
use crate::app::{identity_config, oauth_config, registration};
use crate::config::Settings;

/// How many clients are kept in memory.
const CLIENTS_CACHED: usize = 10_000;

/// What several services share.
pub(super) struct Shared {
    pub(super) config: Arc<Config>,
    pub(super) sealer: Arc<Sealer>,
    pub(super) at_rest: Arc<Sealer>,
    pub(super) secret_keys: FastHashKeys,
    pub(super) user_codes: UserCodeKeys,
    pub(super) directory: Arc<ClientDirectory>,
    pub(super) revocations: Arc<RevocationSet>,
    pub(super) ring: Arc<KeyRing>,
    pub(super) token_issuer: Arc<TokenIssuer>,
    pub(super) pool: Arc<HashPool>,
    /// For what clients name.
    pub(super) fetcher: Arc<Fetcher>,
    /// For what configuration names: nobody else's names keep these from being looked up.
    pub(super) own_fetcher: Arc<Fetcher>,
    /// Where what configuration names may be.
    outbound: FetchPolicy,
    pub(super) client_keys: Arc<ClientKeys>,
    pub(super) encryption: Arc<ClientEncryption>,
    pub(super) constraint: Arc<SenderConstraint>,
    pub(super) authenticator: Arc<ClientAuthenticator>,
    /// Who vouches for the certificates of clients; none: nobody.
    pub(super) authorities: Option<Arc<Authorities>>,
    pub(super) reader: Arc<AccessTokenReader>,
    /// Of those who came from there.
    pub(super) hydra_tokens: Arc<HydraTokens>,
    pub(super) follower: Arc<FeedFollower>,
    pub(super) metrics: Arc<OAuthMetrics>,
    pub(super) rules: RegistrationRules,
    pub(super) base: Foundation,
}

impl Shared {
    pub(super) async fn new(settings: &Settings, base: Foundation) -> Result<Self, StartError> {
        let config = Arc::new(oauth_config::of_node(settings)?);
        let sealer = Arc::new(base.secrets.in_flight(base.network));
        let at_rest = Arc::new(base.secrets.at_rest(base.network));
        let secret_keys = base.secrets.client_secrets().ok_or(SecretsError::Missing)?;
        let user_codes = base.secrets.user_codes().ok_or(SecretsError::Missing)?;
        let (revocations, follower) = revocations(&base);
        let ring = ring(settings, &config, &base, &at_rest).await?;
        let pool = hash_pool(settings)?;
        let fetcher = Arc::new(Fetcher::new(fetch_policy(settings))?);
        let rules = registration::rules(settings, &config);
        registration::tell_of_scopes_beyond(&config, &rules);
        identity_config::tell_of_unverified_addresses(settings, &config);
        let documents = registration::documents((settings, &config, &rules), &fetcher, &ring, &base.clock);
        let directory = Arc::new(directory(&base, documents));
        let client_keys = Arc::new(ClientKeys::new(Arc::clone(&fetcher) as _));
        let authorities = authorities(settings, &config)?;
        let parts = ClientAuthParts {
            directory: Arc::clone(&directory),
            secret_keys: secret_keys.clone(),
            pool: Arc::clone(&pool),
            replay: Arc::clone(&base.store) as _,
            keys: Arc::clone(&client_keys),
            at_rest: Arc::clone(&at_rest),
            audiences: Audiences::of(&config),
            trust_anchors: authorities.as_deref().map(Authorities::in_force),
            proxy_verifies: config.policies.mtls.proxy_verifies,
        };
        let encryption = Arc::new(ClientEncryption::new(Arc::clone(&client_keys), Arc::clone(&base.clock)));
        let (keys, rng) = ((Arc::clone(&ring), Arc::clone(&encryption)), Arc::clone(&base.rng));
        let token_issuer = TokenIssuer::new(Arc::clone(&config), keys, Arc::clone(&sealer), rng);
        let authenticator = Arc::new(ClientAuthenticator::new(parts, &*base.rng));
        let reader = reader(&config, (&sealer, &ring), (&revocations, &follower));
        Ok(Self {
            config: Arc::clone(&config),
            sealer: Arc::clone(&sealer),
            hydra_tokens: hydra_tokens(&base, &at_rest, &ring),
            at_rest,
            secret_keys,
            user_codes,
            directory,
            revocations,
            ring,
            token_issuer: Arc::new(token_issuer),
            pool,
            fetcher,
            own_fetcher: Arc::new(Fetcher::new(fetch_policy(settings))?),
            outbound: fetch_policy(settings),
            client_keys,
            encryption,
            constraint: Arc::new(sender_constraint(&config, &sealer, &base)),
            authenticator,
            authorities,
            reader,
            follower,
            metrics: Arc::default(),
            rules,
            base,
        })
    }

    pub(super) fn people(
        &self,
        config: PeopleConfig,
        (login_sessions, consents): (&Arc<LoginSessionService>, &Arc<ConsentService>),
    ) -> Result<People, StartError> {
        let around = Around {
            in_flight: &self.sealer,
            at_rest: &self.at_rest,
            pool: &self.pool,
            outbound: &self.outbound,
            revocations: &self.revocations,
            follower: &self.follower,
            login_sessions,
            consents,
        };
        People::new(&self.base, config, &around)
    }
}

/// Where slow hashes are computed.
fn hash_pool(settings: &Settings) -> Result<Arc<HashPool>, StartError> {
    let config = identity_config::hash_pool(&settings.identity);
    HashPool::start(&config).map(Arc::new).map_err(StartError::HashPool)
}

/// The clients, with those that a document describes if there are any.
fn directory(base: &Foundation, documents: Option<Arc<MetadataDocuments>>) -> ClientDirectory {
    let directory = ClientDirectory::new(Arc::clone(&base.store) as _, CLIENTS_CACHED);
    match documents {
        Some(documents) => directory.with_documents(documents),
        None => directory,
    }
}

/// What is revoked, and who hears of it.
fn revocations(base: &Foundation) -> (Arc<RevocationSet>, Arc<FeedFollower>) {
    let revocations = Arc::new(RevocationSet::default());
    let (feed, clock) = (Arc::clone(&base.store) as _, Arc::clone(&base.clock));
    let follower = Arc::new(FeedFollower::new(feed, Arc::clone(&revocations), clock));
    (revocations, follower)
}

fn reader(
    config: &Config,
    (sealer, ring): (&Arc<Sealer>, &Arc<KeyRing>),
    (revocations, follower): (&Arc<RevocationSet>, &Arc<FeedFollower>),
) -> Arc<AccessTokenReader> {
    let (sealer, ring, known) = (Arc::clone(sealer), Arc::clone(ring), Arc::clone(revocations));
    let longest = config.lifetimes.longest_access_token;
    Arc::new(AccessTokenReader::new(sealer, ring, known, Arc::clone(follower), longest))
}

/// The signing keys; makes those that are missing.
async fn ring(
    settings: &Settings,
    config: &Config,
    base: &Foundation,
    at_rest: &Arc<Sealer>,
) -> Result<Arc<KeyRing>, StartError> {
    let (clock, rng) = (Arc::clone(&base.clock), Arc::clone(&base.rng));
    let further = settings.webfinger.broadcast_keys.clone();
    let repo = Arc::clone(&base.store) as _;
    let rotation = oauth_config::key_rotation(settings)?;
    let (id_token, access_token) = (config.policies.id_token_alg, config.policies.access_token_alg);
    let defaults = Some(DefaultAlgorithms { id_token, access_token });
    let options = RingOptions { further, rotation, maker: Arc::clone(&base.keys), defaults };
    let ring = KeyRing::start_with(repo, Arc::clone(at_rest), rng, clock, options).await?;
    ring.ensure(ID_TOKEN_SET, id_token).await?;
    ring.ensure(ACCESS_TOKEN_SET, access_token).await?;
    ring.ensure_request_object_keys().await?;
    Ok(ring)
}

/// Reads refresh tokens that a Hydra issued.
fn hydra_tokens(base: &Foundation, at_rest: &Arc<Sealer>, ring: &Arc<KeyRing>) -> Arc<HydraTokens> {
    let keys = Arc::new(key_service(base, at_rest, ring));
    Arc::new(HydraTokens::new(Arc::clone(&base.store) as _, keys, Arc::clone(&base.clock)))
}

fn sender_constraint(config: &Arc<Config>, sealer: &Arc<Sealer>, base: &Foundation) -> SenderConstraint {
    SenderConstraint::new(SenderConstraintParts {
        config: Arc::clone(config),
        sealer: Arc::clone(sealer),
        replay: Arc::clone(&base.store) as _,
        clock: Arc::clone(&base.clock),
        rng: Arc::clone(&base.rng),
    })
}

/// Who vouches for the certificates of clients, as read with the policies.
fn authorities(settings: &Settings, config: &Config) -> Result<Option<Arc<Authorities>>, StartError> {
    let (file, pem) = (&settings.oauth2.mtls.trust_anchors, &config.policies.mtls.trust_anchors);
    let authorities = file.clone().zip(pem.clone()).map(|(file, pem)| Authorities::new(file, pem));
    Ok(authorities.transpose()?.map(Arc::new))
}

/// Where this server may ask for what clients name.
pub(crate) fn fetch_policy(settings: &Settings) -> FetchPolicy {
    let exempt = settings.outbound.private_ip_exception_urls.iter();
    FetchPolicy {
        allow_private: !settings.outbound.disallow_private_ip_ranges,
        exempt_urls: exempt.filter_map(|url| url.parse::<UrlPattern>().ok()).collect(),
        extra_ca_file: settings.outbound.ca_file.clone(),
        timeout: settings.outbound.timeout,
        max_body_bytes: settings.outbound.max_bytes,
        max_redirects: u8::try_from(settings.outbound.max_redirects).unwrap_or(u8::MAX),
        ..FetchPolicy::default()
    }
}
