//! Who works with what.
//!
//! [`shared`]: what several services work with. [`flows`], [`tokens`], [`clients`]: how each service is made of it. What people
//! need is made in `people`.

mod clients;
mod flows;
mod shared;
mod tokens;

use std::sync::Arc;

use sluice_crypto::Sealer;
use sluice_crypto::hash_pool::HashPool;
use sluice_oauth::access_token_reader::AccessTokenReader;
use sluice_oauth::authorization::{AuthorizationService, PushedRequests};
use sluice_oauth::client::{ClientDirectory, ClientService, DynamicRegistration};
use sluice_oauth::consent::ConsentService;
use sluice_oauth::device::{DeviceAuthorizationService, DevicePolls, UserCodeService};
use sluice_oauth::flow::{FlowService, SpentFlows};
use sluice_oauth::grant_handler::TokenService;
use sluice_oauth::introspection::IntrospectionService;
use sluice_oauth::introspection::for_clients::ClientIntrospection;
use sluice_oauth::keys::{KeyMaker, KeyRing, KeyService};
use sluice_oauth::login_session::LoginSessionService;
use sluice_oauth::logout::{LogoutDelivery, LogoutService};
use sluice_oauth::revocation::RevocationService;
use sluice_oauth::sender_constraint::SenderConstraint;
use sluice_oauth::trust::TrustService;
use sluice_oauth::userinfo::UserinfoService;
use sluice_oauth::{Config, OAuthMetrics};
use sluice_primitives::{Clock, NetworkId, Rng};
use sluice_token::{FeedFollower, RevocationSet};

use super::authorities::Authorities;
use super::hearing::Hearing;
use super::identity_config::PeopleConfig;
use super::identity_tokens::IdentityTokenKeys;
use super::people::People;
use super::secrets::KeyMaterial;
use super::stores::{Repositories, StartError};
use crate::config::Settings;
use shared::Shared;
pub(crate) use shared::fetch_policy;

/// How many completed flows a node remembers, for a clearer answer.
const SPENT_REMEMBERED: usize = 65_536;

/// What everything is made of.
pub(crate) struct Foundation {
    pub(crate) store: Arc<dyn Repositories>,
    pub(crate) network: NetworkId,
    pub(crate) secrets: KeyMaterial,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) rng: Arc<dyn Rng>,
    pub(crate) keys: Arc<dyn KeyMaker>,
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
    /// Who vouches for the certificates of clients; none: nobody.
    pub(crate) authorities: Option<Arc<Authorities>>,
    pub(crate) keys: Arc<KeyService>,
    pub(crate) trust: Arc<TrustService>,
    pub(crate) ring: Arc<KeyRing>,
    pub(crate) people: Arc<People>,
    pub(crate) reader: Arc<AccessTokenReader>,
    /// Seals what is in flight.
    pub(crate) sealer: Arc<Sealer>,
    /// Seals what is at rest.
    pub(crate) at_rest: Arc<Sealer>,
    pub(crate) identity_tokens: Arc<IdentityTokenKeys>,
    pub(crate) network: NetworkId,
    pub(crate) revocations: Arc<RevocationSet>,
    pub(crate) follower: Arc<FeedFollower>,
    pub(crate) hearing: Arc<Hearing>,
    pub(crate) metrics: Arc<OAuthMetrics>,
    pub(crate) pool: Arc<HashPool>,
}

impl Services {
    /// Makes the services; reads the signing keys and makes those that are missing.
    pub(crate) async fn start(settings: &Settings, base: Foundation) -> Result<Self, StartError> {
        let shared = Shared::new(settings, base).await?;
        let spent = Arc::new(SpentFlows::new(SPENT_REMEMBERED));
        let flows = Arc::new(shared.flow_sealer());
        let (sessions, consents) = (Arc::new(shared.sessions()), Arc::new(shared.consents()));
        let config = PeopleConfig::of(settings, &shared.config);
        let people = shared.people(config, (&sessions, &consents))?;
        let clock = Arc::clone(&shared.base.clock);
        let clients = Arc::new(shared.clients());
        let polls = Arc::new(DevicePolls::default());
        let authorization = Arc::new(shared.authorization(&flows, (&spent, &polls)));
        let introspection = Arc::new(shared.introspection());
        let hearing = Hearing::new(
            Arc::clone(&shared.follower),
            Arc::clone(&shared.directory),
            Arc::clone(&shared.ring),
        );
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
            tokens: Arc::new(shared.tokens(settings, Arc::clone(&polls))?),
            trust: Arc::new(shared.trust()),
            devices: Arc::new(shared.devices(&flows)),
            user_codes: Arc::new(shared.user_codes(&polls)),
            revocation: Arc::new(shared.revocation()),
            constraint: Arc::clone(&shared.constraint),
            client_introspection: Arc::new(shared.client_introspection(&introspection)),
            introspection,
            userinfo: Arc::new(shared.userinfo()),
            logout: Arc::new(shared.logout()),
            delivery: Arc::new(shared.delivery()),
            consents,
            sessions,
            dynamic_registration: shared.dynamic_registration(&clients)?,
            hearing: Arc::new(hearing.with_endings(Arc::clone(&clients))),
            clients,
            keys: Arc::new(shared.keys()),
            people: Arc::new(people),
            reader: shared.reader,
            sealer: shared.sealer,
            at_rest: shared.at_rest,
            identity_tokens: Arc::new(shared.base.secrets.identity_tokens(shared.base.network)?),
            network: shared.base.network,
            follower: shared.follower,
            metrics: shared.metrics,
            config: shared.config,
            directory: shared.directory,
            authorities: shared.authorities,
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
