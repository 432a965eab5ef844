//! Who works with what.

use std::sync::Arc;

use sluice_crypto::Sealer;
use sluice_crypto::certificate::TrustAnchors;
use sluice_crypto::hash_pool::HashPool;
use sluice_crypto::secret_hash::FastHashKeys;
use sluice_net::{FetchPolicy, Fetcher, UrlPattern};
use sluice_oauth::access_token_reader::AccessTokenReader;
use sluice_oauth::authorization::request_object::{Decryption, FetchedObjects};
use sluice_oauth::authorization::{AuthorizationService, PushedRequests, RequestObjects};
use sluice_oauth::client::{
    ClientDirectory, ClientSecrets, ClientService, ClientServiceParts, DynamicRegistration, RegistrationRules,
};
use sluice_oauth::client_auth::{Audiences, ClientAuthParts, ClientAuthenticator, ClientKeys};
use sluice_oauth::config::LONGEST_ACCESS_TOKEN;
use sluice_oauth::consent::ConsentService;
use sluice_oauth::device::{DeviceAuthorizationService, UserCodeKeys, UserCodeService};
use sluice_oauth::flow::{FlowSealer, FlowService, SpentFlows};
use sluice_oauth::grant_handler::TokenService;
use sluice_oauth::introspection::IntrospectionService;
use sluice_oauth::introspection::for_clients::ClientIntrospection;
use sluice_oauth::issuing::TokenIssuer;
use sluice_oauth::issuing::encrypt::ClientEncryption;
use sluice_oauth::keys::{ID_TOKEN_SET, KeyRing, KeyService, RingOptions};
use sluice_oauth::login_session::LoginSessionService;
use sluice_oauth::logout::{LogoutDelivery, LogoutService};
use sluice_oauth::revocation::RevocationService;
use sluice_oauth::sender_constraint::{SenderConstraint, SenderConstraintParts};
use sluice_oauth::token_exchange::PresentedTokens;
use sluice_oauth::trust::{TrustService, TrustedAssertions};
use sluice_oauth::userinfo::UserinfoService;
use sluice_oauth::{Config, OAuthMetrics};
use sluice_primitives::{Clock, NetworkId, Rng};
use sluice_token::{FeedFollower, RevocationSet};

use super::hearing::Hearing;
use super::identity_config::{self, PeopleConfig};
use super::people::{Around, People};
use super::secrets::{KeyMaterial, SecretsError};
use super::stores::{Repositories, StartError};
use super::{hooks, oauth_config, registration};
use crate::config::Settings;

/// How many clients are kept in memory.
const CLIENTS_CACHED: usize = 10_000;
/// How many completed flows a node remembers, for a clearer answer.
const SPENT_REMEMBERED: usize = 65_536;

/// What everything is made of.
pub(crate) struct Foundation {
    pub(crate) store: Arc<dyn Repositories>,
    pub(crate) network: NetworkId,
    pub(crate) secrets: KeyMaterial,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) rng: Arc<dyn Rng>,
}

/// The services of a node.
pub(crate) struct Services {
    pub(crate) config: Arc<Config>,
    pub(crate) authorization: Arc<AuthorizationService>,
    pub(crate) pushed: Arc<PushedRequests>,
    pub(crate) flows: Arc<FlowService>,
    pub(crate) tokens: Arc<TokenService>,
    pub(crate) devices: Arc<DeviceAuthorizationService>,
    pub(crate) user_codes: Arc<UserCodeService>,
    pub(crate) revocation: Arc<RevocationService>,
    pub(crate) constraint: Arc<SenderConstraint>,
    pub(crate) introspection: Arc<IntrospectionService>,
    pub(crate) client_introspection: Arc<ClientIntrospection>,
    pub(crate) userinfo: Arc<UserinfoService>,
    pub(crate) logout: Arc<LogoutService>,
    pub(crate) delivery: Arc<LogoutDelivery>,
    pub(crate) consents: Arc<ConsentService>,
    pub(crate) sessions: Arc<LoginSessionService>,
    pub(crate) clients: Arc<ClientService>,
    /// None where clients do not register themselves.
    pub(crate) dynamic_registration: Option<Arc<DynamicRegistration>>,
    pub(crate) directory: Arc<ClientDirectory>,
    pub(crate) keys: Arc<KeyService>,
    pub(crate) trust: Arc<TrustService>,
    pub(crate) ring: Arc<KeyRing>,
    pub(crate) people: Arc<People>,
    pub(crate) revocations: Arc<RevocationSet>,
    pub(crate) follower: Arc<FeedFollower>,
    pub(crate) hearing: Arc<Hearing>,
    pub(crate) metrics: Arc<OAuthMetrics>,
    pub(crate) pool: Arc<HashPool>,
}

/// What several services share.
struct Shared {
    config: Arc<Config>,
    sealer: Arc<Sealer>,
    at_rest: Arc<Sealer>,
    secret_keys: FastHashKeys,
    user_codes: UserCodeKeys,
    directory: Arc<ClientDirectory>,
    revocations: Arc<RevocationSet>,
    ring: Arc<KeyRing>,
    token_issuer: Arc<TokenIssuer>,
    pool: Arc<HashPool>,
    fetcher: Arc<Fetcher>,
    client_keys: Arc<ClientKeys>,
    encryption: Arc<ClientEncryption>,
    constraint: Arc<SenderConstraint>,
    authenticator: Arc<ClientAuthenticator>,
    reader: Arc<AccessTokenReader>,
    follower: Arc<FeedFollower>,
    metrics: Arc<OAuthMetrics>,
    rules: RegistrationRules,
    base: Foundation,
}

impl Services {
    /// Makes the services; reads the signing keys and makes those that are missing.
    pub(crate) async fn start(settings: &Settings, base: Foundation) -> Result<Self, StartError> {
        let shared = Shared::new(settings, base).await?;
        let spent = Arc::new(SpentFlows::new(SPENT_REMEMBERED));
        let flows = Arc::new(shared.flow_sealer());
        let sessions = Arc::new(shared.sessions());
        let people = shared.people(PeopleConfig::of(settings, &shared.config), &sessions)?;
        let clock = Arc::clone(&shared.base.clock);
        let clients = Arc::new(shared.clients());
        let authorization = Arc::new(shared.authorization(&flows, &spent));
        let introspection = Arc::new(shared.introspection());
        Ok(Self {
            pushed: Arc::new(shared.pushed(&authorization)),
            authorization,
            flows: Arc::new(FlowService::new(
                Arc::clone(&flows),
                Arc::clone(&shared.directory),
                Arc::clone(&shared.config),
                Arc::clone(&clock),
                spent,
            )),
            tokens: Arc::new(shared.tokens(settings)?),
            trust: Arc::new(shared.trust()),
            devices: Arc::new(shared.devices(&flows)),
            user_codes: Arc::new(shared.user_codes()),
            revocation: Arc::new(shared.revocation()),
            constraint: Arc::clone(&shared.constraint),
            client_introspection: Arc::new(shared.client_introspection(&introspection)),
            introspection,
            userinfo: Arc::new(shared.userinfo()),
            logout: Arc::new(shared.logout()),
            delivery: Arc::new(shared.delivery()),
            consents: Arc::new(shared.consents()),
            sessions,
            dynamic_registration: shared.dynamic_registration(&clients)?,
            clients,
            keys: Arc::new(shared.keys()),
            people: Arc::new(people),
            hearing: Arc::new(Hearing::new(
                Arc::clone(&shared.follower),
                Arc::clone(&shared.directory),
                Arc::clone(&shared.ring),
            )),
            follower: shared.follower,
            metrics: shared.metrics,
            config: shared.config,
            directory: shared.directory,
            ring: shared.ring,
            revocations: shared.revocations,
            pool: shared.pool,
        })
    }
}

impl Services {
    /// Reads the feed now; caches forget what changed.
    pub(crate) async fn catch_up(&self) -> Result<(), sluice_commit::StoreError> {
        self.hearing.catch_up().await
    }
}

impl Shared {
    async fn new(settings: &Settings, base: Foundation) -> Result<Self, StartError> {
        let config = Arc::new(oauth_config::oauth(settings)?);
        let sealer = Arc::new(base.secrets.in_flight(base.network));
        let at_rest = Arc::new(base.secrets.at_rest(base.network));
        let secret_keys = base.secrets.client_secrets().ok_or(SecretsError::Missing)?;
        let user_codes = base.secrets.user_codes().ok_or(SecretsError::Missing)?;
        let revocations = Arc::new(RevocationSet::default());
        let (clock, rng) = (Arc::clone(&base.clock), Arc::clone(&base.rng));
        let further = settings.webfinger.broadcast_keys.clone();
        let repo = Arc::clone(&base.store) as _;
        let options = RingOptions { further, rotation: oauth_config::key_rotation(settings)? };
        let ring = KeyRing::start_with(repo, Arc::clone(&at_rest), rng, clock, options).await?;
        ring.ensure(ID_TOKEN_SET, config.policies.id_token_alg).await?;
        ring.ensure_request_object_keys().await?;
        let pool = Arc::new(
            HashPool::start(&identity_config::hash_pool(&settings.identity)).map_err(StartError::HashPool)?,
        );
        let fetcher = Arc::new(Fetcher::new(fetch_policy(settings))?);
        let rules = registration::rules(settings, &config);
        let documents = registration::documents((&config, &rules), &fetcher, &ring, &base.clock);
        let directory = ClientDirectory::new(Arc::clone(&base.store) as _, CLIENTS_CACHED);
        let directory = Arc::new(match documents {
            Some(documents) => directory.with_documents(documents),
            None => directory,
        });
        let client_keys = Arc::new(ClientKeys::new(Arc::clone(&fetcher) as _));
        let parts = ClientAuthParts {
            directory: Arc::clone(&directory),
            secret_keys: secret_keys.clone(),
            pool: Arc::clone(&pool),
            replay: Arc::clone(&base.store) as _,
            keys: Arc::clone(&client_keys),
            at_rest: Arc::clone(&at_rest),
            audiences: Audiences::of(&config),
            trust_anchors: trust_anchors(&config)?,
            proxy_verifies: config.policies.mtls.proxy_verifies,
        };
        let encryption = Arc::new(ClientEncryption::new(Arc::clone(&client_keys), Arc::clone(&base.clock)));
        let token_issuer = TokenIssuer::new(
            Arc::clone(&config),
            (Arc::clone(&ring), Arc::clone(&encryption)),
            Arc::clone(&sealer),
            Arc::clone(&base.rng),
        );
        let authenticator = Arc::new(ClientAuthenticator::new(parts, &*base.rng));
        let feed = Arc::clone(&base.store) as _;
        let follower = Arc::new(FeedFollower::new(feed, Arc::clone(&revocations), Arc::clone(&base.clock)));
        let (sealed, known) = (Arc::clone(&sealer), Arc::clone(&revocations));
        let reader = AccessTokenReader::new(sealed, Arc::clone(&ring), known, Arc::clone(&follower));
        Ok(Self {
            config: Arc::clone(&config),
            sealer: Arc::clone(&sealer),
            at_rest,
            secret_keys,
            user_codes,
            directory,
            revocations,
            ring,
            token_issuer: Arc::new(token_issuer),
            pool,
            fetcher,
            client_keys,
            encryption,
            constraint: Arc::new(sender_constraint(&config, &sealer, &base)),
            authenticator,
            reader: Arc::new(reader),
            follower,
            metrics: Arc::default(),
            rules,
            base,
        })
    }

    fn people(
        &self,
        config: PeopleConfig,
        login_sessions: &Arc<LoginSessionService>,
    ) -> Result<People, StartError> {
        let around = Around {
            in_flight: &self.sealer,
            at_rest: &self.at_rest,
            pool: &self.pool,
            fetcher: &self.fetcher,
            revocations: &self.revocations,
            follower: &self.follower,
            login_sessions,
        };
        People::new(&self.base, config, &around)
    }

    fn flow_sealer(&self) -> FlowSealer {
        FlowSealer::new(
            Arc::clone(&self.sealer),
            Arc::clone(&self.base.store) as _,
            (Arc::clone(&self.base.rng), Arc::clone(&self.base.clock)),
            self.config.lifetimes.flow,
            self.config.parked_quota,
        )
    }

    fn authorization(&self, flows: &Arc<FlowSealer>, spent: &Arc<SpentFlows>) -> AuthorizationService {
        AuthorizationService {
            config: Arc::clone(&self.config),
            flows: Arc::clone(flows),
            sealer: Arc::clone(&self.sealer),
            clients: Arc::clone(&self.directory),
            objects: Arc::new(self.request_objects()),
            grants: Arc::clone(&self.base.store) as _,
            devices: Arc::clone(&self.base.store) as _,
            consents: Arc::clone(&self.base.store) as _,
            sessions: Arc::clone(&self.base.store) as _,
            keys: Arc::clone(&self.ring),
            issuer: Arc::clone(&self.token_issuer),
            revocations: Arc::clone(&self.revocations),
            spent: Arc::clone(spent),
            metrics: Arc::clone(&self.metrics),
            clock: Arc::clone(&self.base.clock),
            rng: Arc::clone(&self.base.rng),
        }
    }

    fn request_objects(&self) -> RequestObjects {
        RequestObjects {
            config: Arc::clone(&self.config),
            keys: Arc::clone(&self.client_keys),
            ring: Arc::clone(&self.ring),
            decryption: Decryption::default(),
            fetched: FetchedObjects::new(Arc::clone(&self.fetcher) as _),
        }
    }

    fn pushed(&self, authorization: &Arc<AuthorizationService>) -> PushedRequests {
        PushedRequests {
            authorization: Arc::clone(authorization),
            clients: Arc::clone(&self.authenticator),
            constraint: Arc::clone(&self.constraint),
            follower: Arc::clone(&self.follower),
        }
    }

    fn assertions(&self) -> TrustedAssertions {
        TrustedAssertions {
            config: Arc::clone(&self.config),
            issuers: Arc::clone(&self.base.store) as _,
            replay: Arc::clone(&self.base.store) as _,
        }
    }

    fn exchanged(&self, assertions: &Arc<TrustedAssertions>) -> PresentedTokens {
        PresentedTokens {
            config: Arc::clone(&self.config),
            reader: Arc::clone(&self.reader),
            keys: Arc::clone(&self.ring),
            grants: Arc::clone(&self.base.store) as _,
            sealer: Arc::clone(&self.sealer),
            revocations: Arc::clone(&self.revocations),
            assertions: Arc::clone(assertions),
            rng: Arc::clone(&self.base.rng),
        }
    }

    fn trust(&self) -> TrustService {
        TrustService {
            issuers: Arc::clone(&self.base.store) as _,
            sealer: Arc::clone(&self.sealer),
            clock: Arc::clone(&self.base.clock),
            rng: Arc::clone(&self.base.rng),
        }
    }

    fn tokens(&self, settings: &Settings) -> Result<TokenService, StartError> {
        let assertions = Arc::new(self.assertions());
        let hooks = hooks::hooks(&settings.oauth2.hooks, &self.fetcher, &self.config, &self.metrics)?;
        Ok(TokenService {
            config: Arc::clone(&self.config),
            clients: Arc::clone(&self.authenticator),
            constraint: Arc::clone(&self.constraint),
            grants: Arc::clone(&self.base.store) as _,
            devices: Arc::clone(&self.base.store) as _,
            exchanged: Arc::new(self.exchanged(&assertions)),
            assertions,
            hooks,
            issuer: Arc::clone(&self.token_issuer),
            sealer: Arc::clone(&self.sealer),
            follower: Arc::clone(&self.follower),
            revocations: Arc::clone(&self.revocations),
            metrics: Arc::clone(&self.metrics),
            clock: Arc::clone(&self.base.clock),
            rng: Arc::clone(&self.base.rng),
        })
    }

    fn devices(&self, flows: &Arc<FlowSealer>) -> DeviceAuthorizationService {
        DeviceAuthorizationService {
            config: Arc::clone(&self.config),
            clients: Arc::clone(&self.authenticator),
            devices: Arc::clone(&self.base.store) as _,
            flows: Arc::clone(flows),
            sealer: Arc::clone(&self.sealer),
            user_codes: self.user_codes.clone(),
            given: DeviceAuthorizationService::limit(),
            follower: Arc::clone(&self.follower),
            clock: Arc::clone(&self.base.clock),
            rng: Arc::clone(&self.base.rng),
        }
    }

    fn user_codes(&self) -> UserCodeService {
        UserCodeService {
            config: Arc::clone(&self.config),
            clients: Arc::clone(&self.directory),
            devices: Arc::clone(&self.base.store) as _,
            sealer: Arc::clone(&self.sealer),
            user_codes: self.user_codes.clone(),
            wrong: UserCodeService::limit(),
            clock: Arc::clone(&self.base.clock),
            rng: Arc::clone(&self.base.rng),
        }
    }

    fn revocation(&self) -> RevocationService {
        RevocationService {
            clients: Arc::clone(&self.authenticator),
            reader: Arc::clone(&self.reader),
            grants: Arc::clone(&self.base.store) as _,
            sealer: Arc::clone(&self.sealer),
            revocations: Arc::clone(&self.revocations),
            clock: Arc::clone(&self.base.clock),
        }
    }

    fn introspection(&self) -> IntrospectionService {
        IntrospectionService {
            config: Arc::clone(&self.config),
            reader: Arc::clone(&self.reader),
            grants: Arc::clone(&self.base.store) as _,
            sealer: Arc::clone(&self.sealer),
            revocations: Arc::clone(&self.revocations),
            clock: Arc::clone(&self.base.clock),
        }
    }

    fn client_introspection(&self, introspection: &Arc<IntrospectionService>) -> ClientIntrospection {
        ClientIntrospection {
            clients: Arc::clone(&self.authenticator),
            introspection: Arc::clone(introspection),
            keys: Arc::clone(&self.ring),
            encryption: Arc::clone(&self.encryption),
            clock: Arc::clone(&self.base.clock),
        }
    }

    fn userinfo(&self) -> UserinfoService {
        UserinfoService {
            config: Arc::clone(&self.config),
            clients: Arc::clone(&self.directory),
            keys: Arc::clone(&self.ring),
            encryption: Arc::clone(&self.encryption),
            reader: Arc::clone(&self.reader),
            constraint: Arc::clone(&self.constraint),
            grants: Arc::clone(&self.base.store) as _,
            clock: Arc::clone(&self.base.clock),
        }
    }

    fn logout(&self) -> LogoutService {
        LogoutService {
            config: Arc::clone(&self.config),
            clients: Arc::clone(&self.directory),
            sessions: Arc::clone(&self.base.store) as _,
            replay: Arc::clone(&self.base.store) as _,
            keys: Arc::clone(&self.ring),
            sealer: Arc::clone(&self.sealer),
            revocations: Arc::clone(&self.revocations),
            clock: Arc::clone(&self.base.clock),
            rng: Arc::clone(&self.base.rng),
        }
    }

    fn delivery(&self) -> LogoutDelivery {
        LogoutDelivery {
            outbox: Arc::clone(&self.base.store) as _,
            sender: Arc::clone(&self.fetcher) as _,
            keys: Arc::clone(&self.ring),
            clients: Arc::clone(&self.directory),
            config: Arc::clone(&self.config),
            metrics: Arc::default(),
            clock: Arc::clone(&self.base.clock),
            rng: Arc::clone(&self.base.rng),
        }
    }

    fn consents(&self) -> ConsentService {
        ConsentService {
            consents: Arc::clone(&self.base.store) as _,
            grants: Arc::clone(&self.base.store) as _,
            clients: Arc::clone(&self.directory),
            revocations: Arc::clone(&self.revocations),
            sealer: Arc::clone(&self.sealer),
            clock: Arc::clone(&self.base.clock),
            rng: Arc::clone(&self.base.rng),
        }
    }

    fn sessions(&self) -> LoginSessionService {
        LoginSessionService {
            config: Arc::clone(&self.config),
            sessions: Arc::clone(&self.base.store) as _,
            clients: Arc::clone(&self.directory),
            revocations: Arc::clone(&self.revocations),
            clock: Arc::clone(&self.base.clock),
        }
    }

    fn clients(&self) -> ClientService {
        ClientService::new(ClientServiceParts {
            repo: Arc::clone(&self.base.store) as _,
            directory: Arc::clone(&self.directory),
            revocations: Arc::clone(&self.revocations),
            secrets: ClientSecrets::new(
                self.secret_keys.clone(),
                Arc::clone(&self.pool),
                Arc::clone(&self.base.rng),
            ),
            sealer: Arc::clone(&self.sealer),
            at_rest: Arc::clone(&self.at_rest),
            keys: Arc::clone(&self.ring) as _,
            sectors: Arc::clone(&self.fetcher) as _,
            clock: Arc::clone(&self.base.clock),
            rng: Arc::clone(&self.base.rng),
            rules: self.rules.clone(),
            marker_lifetime: LONGEST_ACCESS_TOKEN,
        })
    }

    fn dynamic_registration(
        &self,
        clients: &Arc<ClientService>,
    ) -> Result<Option<Arc<DynamicRegistration>>, StartError> {
        let bounds = (&*self.config, &self.rules);
        registration::dynamic(bounds, clients, &self.secret_keys, &self.fetcher, &self.base.clock)
    }

    fn keys(&self) -> KeyService {
        KeyService::new(
            Arc::clone(&self.base.store) as _,
            Arc::clone(&self.at_rest),
            Arc::clone(&self.base.rng),
            Arc::clone(&self.base.clock),
            Arc::clone(&self.ring),
        )
    }
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

/// Who vouches for the certificates of clients.
fn trust_anchors(config: &Config) -> Result<Option<Arc<TrustAnchors>>, StartError> {
    let anchors = config.policies.mtls.trust_anchors.as_deref().map(TrustAnchors::from_pem).transpose();
    let anchors = anchors.map_err(|error| StartError::Setting {
        key: "oauth2.mtls.trust_anchors",
        reason: error.to_string(),
    })?;
    Ok(anchors.map(Arc::new))
}

fn fetch_policy(settings: &Settings) -> FetchPolicy {
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
