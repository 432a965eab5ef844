//! The services that issue tokens, and say whether they hold.

use std::sync::Arc;

use sluice_oauth::device::DevicePolls;
use sluice_oauth::grant_handler::TokenService;
use sluice_oauth::introspection::IntrospectionService;
use sluice_oauth::introspection::for_clients::ClientIntrospection;
use sluice_oauth::revocation::RevocationService;
use sluice_oauth::token_exchange::PresentedTokens;
use sluice_oauth::trust::TrustedAssertions;
use sluice_oauth::userinfo::UserinfoService;

use super::shared::Shared;
use crate::app::hooks;
use crate::app::stores::StartError;
use crate::config::Settings;

impl Shared {
    pub(super) fn tokens(
        &self,
        settings: &Settings,
        polls: Arc<DevicePolls>,
    ) -> Result<TokenService, StartError> {
        let assertions = Arc::new(self.assertions());
        let told = (&self.config, &self.ring);
        let hooks = hooks::hooks(&settings.oauth2.hooks, &self.own_fetcher, told, &self.metrics)?;
        Ok(TokenService {
            config: Arc::clone(&self.config),
            clients: Arc::clone(&self.authenticator),
            constraint: Arc::clone(&self.constraint),
            grants: Arc::clone(&self.base.store) as _,
            sessions: Arc::clone(&self.base.store) as _,
            devices: Arc::clone(&self.base.store) as _,
            polls,
            exchanged: Arc::new(self.exchanged(&assertions)),
            assertions,
            hooks,
            issuer: Arc::clone(&self.token_issuer),
            sealer: Arc::clone(&self.sealer),
            hydra: Arc::clone(&self.hydra_tokens),
            follower: Arc::clone(&self.follower),
            revocations: Arc::clone(&self.revocations),
            metrics: Arc::clone(&self.metrics),
            clock: Arc::clone(&self.base.clock),
            rng: Arc::clone(&self.base.rng),
        })
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
            clients: Arc::clone(&self.directory),
            reader: Arc::clone(&self.reader),
            keys: Arc::clone(&self.ring),
            grants: Arc::clone(&self.base.store) as _,
            sealer: Arc::clone(&self.sealer),
            hydra: Arc::clone(&self.hydra_tokens),
            revocations: Arc::clone(&self.revocations),
            assertions: Arc::clone(assertions),
            rng: Arc::clone(&self.base.rng),
        }
    }

    pub(super) fn revocation(&self) -> RevocationService {
        RevocationService {
            clients: Arc::clone(&self.authenticator),
            reader: Arc::clone(&self.reader),
            grants: Arc::clone(&self.base.store) as _,
            sealer: Arc::clone(&self.sealer),
            hydra: Arc::clone(&self.hydra_tokens),
            revocations: Arc::clone(&self.revocations),
            marker_lifetime: self.config.lifetimes.revocation,
            clock: Arc::clone(&self.base.clock),
        }
    }

    pub(super) fn introspection(&self) -> IntrospectionService {
        IntrospectionService {
            config: Arc::clone(&self.config),
            reader: Arc::clone(&self.reader),
            grants: Arc::clone(&self.base.store) as _,
            sealer: Arc::clone(&self.sealer),
            hydra: Arc::clone(&self.hydra_tokens),
            revocations: Arc::clone(&self.revocations),
            clock: Arc::clone(&self.base.clock),
        }
    }

    pub(super) fn client_introspection(
        &self,
        introspection: &Arc<IntrospectionService>,
    ) -> ClientIntrospection {
        ClientIntrospection {
            clients: Arc::clone(&self.authenticator),
            introspection: Arc::clone(introspection),
            keys: Arc::clone(&self.ring),
            encryption: Arc::clone(&self.encryption),
            clock: Arc::clone(&self.base.clock),
        }
    }

    pub(super) fn userinfo(&self) -> UserinfoService {
        UserinfoService {
            config: Arc::clone(&self.config),
            clients: Arc::clone(&self.directory),
            keys: Arc::clone(&self.ring),
            encryption: Arc::clone(&self.encryption),
            reader: Arc::clone(&self.reader),
            constraint: Arc::clone(&self.constraint),
            grants: Arc::clone(&self.base.store) as _,
            clock: Arc::clone(&self.base.clock),
            rng: Arc::clone(&self.base.rng),
        }
    }
}
