//! The services of the authorization server that the pages use, on a store in memory.

use std::sync::Arc;

use sluice_crypto::Sealer;
use sluice_oauth::Config;
use sluice_oauth::client::ClientDirectory;
use sluice_oauth::consent::{ConsentService, LateDocuments};
use sluice_oauth::device::UserCodeService;
use sluice_oauth::flow::{FlowSealer, FlowService, SpentFlows};
use sluice_oauth::keys::{KeyRing, RingOptions};
use sluice_oauth::login_session::LoginSessionService;
use sluice_oauth::logout::LogoutService;
use sluice_primitives::{ManualClock, NetworkId, OsRng, Secret, Timestamp};
use sluice_store_contract::MemoryStore;
use sluice_testkit::KeysInTurn;
use sluice_token::RevocationSet;

use super::world::user_codes;

/// What they share.
pub(super) struct Parts {
    pub(super) config: Arc<Config>,
    pub(super) store: Arc<MemoryStore>,
    pub(super) clock: Arc<ManualClock>,
    pub(super) rng: Arc<OsRng>,
    pub(super) sealer: Arc<Sealer>,
    clients: Arc<ClientDirectory>,
}

impl Parts {
    pub(super) fn of(config: Config) -> Self {
        let store = Arc::new(MemoryStore::new());
        let network = NetworkId::generate(Timestamp::default(), &OsRng);
        Self {
            config: Arc::new(config),
            clock: Arc::new(ManualClock::at(Timestamp::from_secs(1_750_000_000))),
            rng: Arc::new(OsRng),
            sealer: Arc::new(Sealer::new(network, &[Secret::new(vec![7; 32])])),
            clients: Arc::new(ClientDirectory::new(store.clone(), 10)),
            store,
        }
    }

    pub(super) fn flow_sealer(&self) -> FlowSealer {
        let lifetime = self.config.lifetimes.flow;
        let (sealer, store) = (self.sealer.clone(), self.store.clone());
        FlowSealer::new(sealer, store, (self.rng.clone(), self.clock.clone()), lifetime, 100)
    }

    pub(super) fn flows(&self) -> FlowService {
        let (seals, spent) = (Arc::new(self.flow_sealer()), Arc::new(SpentFlows::new(10)));
        FlowService::new(seals, self.clients.clone(), self.config.clone(), self.clock.clone(), spent)
    }

    pub(super) fn devices(&self) -> UserCodeService {
        UserCodeService {
            config: self.config.clone(),
            clients: self.clients.clone(),
            devices: self.store.clone(),
            polls: Arc::default(),
            sealer: self.sealer.clone(),
            user_codes: user_codes(),
            wrong: UserCodeService::limit(),
            clock: self.clock.clone(),
            rng: self.rng.clone(),
        }
    }

    pub(super) fn login_sessions(&self) -> LoginSessionService {
        LoginSessionService {
            config: self.config.clone(),
            sessions: self.store.clone(),
            clients: self.clients.clone(),
            revocations: Arc::default(),
            clock: self.clock.clone(),
        }
    }

    pub(super) fn consents(&self) -> ConsentService {
        ConsentService {
            consents: self.store.clone(),
            grants: self.store.clone(),
            clients: self.clients.clone(),
            late: LateDocuments::default(),
            revocations: Arc::default(),
            marker_lifetime: self.config.lifetimes.revocation,
            sealer: self.sealer.clone(),
            clock: self.clock.clone(),
            rng: self.rng.clone(),
        }
    }

    pub(super) async fn logout(&self) -> LogoutService {
        let (store, sealer) = (self.store.clone(), self.sealer.clone());
        let options = RingOptions { maker: Arc::new(KeysInTurn), ..RingOptions::default() };
        let (rng, clock) = (self.rng.clone(), self.clock.clone());
        let keys = KeyRing::start_with(store, sealer, rng, clock, options).await.unwrap();
        LogoutService {
            config: self.config.clone(),
            clients: self.clients.clone(),
            sessions: self.store.clone(),
            replay: self.store.clone(),
            keys,
            sealer: self.sealer.clone(),
            revocations: Arc::new(RevocationSet::default()),
            clock: self.clock.clone(),
            rng: self.rng.clone(),
        }
    }
}
