//! The services of clients, of those whom they may trust, and of signing keys.

use std::sync::Arc;

use sluice_crypto::Sealer;
use sluice_oauth::client::{ClientSecrets, ClientService, ClientServiceParts, DynamicRegistration};
use sluice_oauth::keys::{KeyRing, KeyService};
use sluice_oauth::trust::TrustService;

use super::Foundation;
use super::shared::Shared;
use crate::app::registration;
use crate::app::stores::StartError;

impl Shared {
    pub(super) fn clients(&self) -> ClientService {
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
            marker_lifetime: self.config.lifetimes.revocation,
        })
    }

    pub(super) fn dynamic_registration(
        &self,
        clients: &Arc<ClientService>,
    ) -> Result<Option<Arc<DynamicRegistration>>, StartError> {
        let bounds = (&*self.config, &self.rules);
        registration::dynamic(bounds, clients, &self.secret_keys, &self.own_fetcher, &self.base.clock)
    }

    pub(super) fn trust(&self) -> TrustService {
        TrustService {
            issuers: Arc::clone(&self.base.store) as _,
            sealer: Arc::clone(&self.sealer),
            clock: Arc::clone(&self.base.clock),
            rng: Arc::clone(&self.base.rng),
        }
    }

    pub(super) fn keys(&self) -> KeyService {
        key_service(&self.base, &self.at_rest, &self.ring)
    }
}

/// What an administrator may do with key sets.
pub(super) fn key_service(base: &Foundation, at_rest: &Arc<Sealer>, ring: &Arc<KeyRing>) -> KeyService {
    KeyService::new(
        Arc::clone(&base.store) as _,
        Arc::clone(at_rest),
        Arc::clone(&base.rng),
        Arc::clone(&base.clock),
        Arc::clone(ring),
    )
}
