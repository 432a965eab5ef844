//! The services that a browser or a device goes through: authorization, consent, sessions, logout.

use std::sync::Arc;

use sluice_oauth::authorization::request_object::{Decryption, FetchedObjects};
use sluice_oauth::authorization::{AuthorizationService, PushedRequests, RequestObjects};
use sluice_oauth::consent::{ConsentService, LateDocuments};
use sluice_oauth::device::{DeviceAuthorizationService, DevicePolls, UserCodeService};
use sluice_oauth::flow::{FlowSealer, SpentFlows};
use sluice_oauth::login_session::LoginSessionService;
use sluice_oauth::logout::{LogoutDelivery, LogoutService};

use super::shared::Shared;

impl Shared {
    pub(super) fn flow_sealer(&self) -> FlowSealer {
        FlowSealer::new(
            Arc::clone(&self.sealer),
            Arc::clone(&self.base.store) as _,
            (Arc::clone(&self.base.rng), Arc::clone(&self.base.clock)),
            self.config.lifetimes.flow,
            self.config.parked_quota,
        )
        .with_policy(&self.config.policies.long_requests)
    }

    pub(super) fn authorization(
        &self,
        flows: &Arc<FlowSealer>,
        (spent, polls): (&Arc<SpentFlows>, &Arc<DevicePolls>),
    ) -> AuthorizationService {
        AuthorizationService {
            config: Arc::clone(&self.config),
            flows: Arc::clone(flows),
            sealer: Arc::clone(&self.sealer),
            clients: Arc::clone(&self.directory),
            objects: Arc::new(self.request_objects()),
            grants: Arc::clone(&self.base.store) as _,
            devices: Arc::clone(&self.base.store) as _,
            polls: Arc::clone(polls),
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

    pub(super) fn pushed(&self, authorization: &Arc<AuthorizationService>) -> PushedRequests {
        PushedRequests {
            authorization: Arc::clone(authorization),
            clients: Arc::clone(&self.authenticator),
            constraint: Arc::clone(&self.constraint),
            follower: Arc::clone(&self.follower),
        }
    }

    pub(super) fn devices(&self, flows: &Arc<FlowSealer>) -> DeviceAuthorizationService {
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

    pub(super) fn user_codes(&self, polls: &Arc<DevicePolls>) -> UserCodeService {
        UserCodeService {
            config: Arc::clone(&self.config),
            clients: Arc::clone(&self.directory),
            devices: Arc::clone(&self.base.store) as _,
            polls: Arc::clone(polls),
            sealer: Arc::clone(&self.sealer),
            user_codes: self.user_codes.clone(),
            wrong: UserCodeService::limit(),
            clock: Arc::clone(&self.base.clock),
            rng: Arc::clone(&self.base.rng),
        }
    }

    pub(super) fn sessions(&self) -> LoginSessionService {
        LoginSessionService {
            config: Arc::clone(&self.config),
            sessions: Arc::clone(&self.base.store) as _,
            clients: Arc::clone(&self.directory),
            revocations: Arc::clone(&self.revocations),
            clock: Arc::clone(&self.base.clock),
        }
    }

    pub(super) fn consents(&self) -> ConsentService {
        ConsentService {
            consents: Arc::clone(&self.base.store) as _,
            grants: Arc::clone(&self.base.store) as _,
            clients: Arc::clone(&self.directory),
            late: LateDocuments::default(),
            revocations: Arc::clone(&self.revocations),
            marker_lifetime: self.config.lifetimes.revocation,
            sealer: Arc::clone(&self.sealer),
            clock: Arc::clone(&self.base.clock),
            rng: Arc::clone(&self.base.rng),
        }
    }

    pub(super) fn logout(&self) -> LogoutService {
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

    pub(super) fn delivery(&self) -> LogoutDelivery {
        LogoutDelivery {
            outbox: Arc::clone(&self.base.store) as _,
            sender: Arc::clone(&self.fetcher) as _,
            keys: Arc::clone(&self.ring),
            encryption: Arc::clone(&self.encryption),
            clients: Arc::clone(&self.directory),
            config: Arc::clone(&self.config),
            metrics: Arc::default(),
            clock: Arc::clone(&self.base.clock),
            rng: Arc::clone(&self.base.rng),
        }
    }
}
