//! What handlers work with: which of a node's services each API is given.

use std::sync::Arc;

use sluice_http::{AdminState, IdentityState, Proxies, PublicState, UiState};
use sluice_primitives::Secret;

use super::Node;
use crate::app::health::NodeHealth;
use crate::app::oauth_config;
use crate::config::{SecretString, Settings};

impl Node {
    pub(super) fn health(&self) -> Arc<NodeHealth> {
        Arc::new(self.health_that_tells(false))
    }

    /// The health of a node that is a gateway and nothing else.
    pub(super) fn gateway_health(&self) -> Arc<NodeHealth> {
        Arc::new(self.health_that_tells(true))
    }

    fn health_that_tells(&self, tells_feed_age: bool) -> NodeHealth {
        let (stores, follower) = (self.stores.clone(), Arc::clone(&self.services.follower));
        let (outage, shutdown) = (Arc::clone(&self.outage), self.shutdown.clone());
        NodeHealth { stores, outage, follower, tells_feed_age, shutdown }
    }

    pub(super) fn public_state(&self, settings: &Settings, has_tls: bool) -> PublicState {
        let services = &self.services;
        let over_tls = has_tls || services.config.issuer.is_https();
        let cookies = Arc::new(oauth_config::cookies(settings, over_tls, &services.sealer));
        let proxies = Arc::new(oauth_config::proxies(settings));
        PublicState {
            identity: Some(Arc::new(self.identity_state(&proxies))),
            config: Arc::clone(&services.config),
            authorization: Arc::clone(&services.authorization),
            pushed: Arc::clone(&services.pushed),
            tokens: Arc::clone(&services.tokens),
            devices: Arc::clone(&services.devices),
            registration: services.dynamic_registration.clone(),
            revocation: Arc::clone(&services.revocation),
            introspection: Arc::clone(&services.client_introspection),
            constraint: Arc::clone(&services.constraint),
            userinfo: Arc::clone(&services.userinfo),
            logout: Arc::clone(&services.logout),
            keys: Arc::clone(&services.ring),
            clients: Arc::clone(&services.directory),
            cors: settings.serve.public.cors.as_ref().map(|cors| Arc::new(oauth_config::cors(cors))),
            health: self.health(),
            ui: UiState {
                config: Arc::clone(&services.config),
                flows: Arc::clone(&services.flows),
                devices: Arc::clone(&services.user_codes),
                login: Arc::clone(&services.people.login),
                registration: Arc::clone(&services.people.registration),
                proof_of_work: Arc::clone(&services.people.proof_of_work),
                identities: self.stores.repositories() as _,
                cookies: Arc::clone(&cookies),
                logout: Arc::clone(&services.logout),
                rng: Arc::clone(&services.people.sessions.rng),
                login_sessions: Arc::clone(&services.sessions),
                consents: Arc::clone(&services.consents),
                accounts: Arc::clone(&services.people.accounts),
                factors: Arc::clone(&services.people.factors),
                proxies: Arc::clone(&proxies),
                language: services.config.pages.look.languages.english(),
            },
            cookies,
            version: crate::VERSION,
        }
    }

    fn identity_state(&self, proxies: &Arc<Proxies>) -> IdentityState {
        let people = &self.services.people;
        IdentityState {
            registration: Arc::clone(&people.registration),
            login: Arc::clone(&people.login),
            sessions: Arc::clone(&people.sessions),
            accounts: Arc::clone(&people.accounts),
            factors: Arc::clone(&people.factors),
            proof_of_work: Arc::clone(&people.proof_of_work),
            proxies: Arc::clone(proxies),
        }
    }

    pub(super) fn admin_state(&self, settings: &Settings) -> AdminState {
        let services = &self.services;
        let bearer = &settings.serve.admin.bearer_tokens;
        AdminState {
            identities: Some(Arc::clone(&services.people.administration)),
            flows: Arc::clone(&services.flows),
            devices: Arc::clone(&services.user_codes),
            logout: Arc::clone(&services.logout),
            consents: Arc::clone(&services.consents),
            sessions: Arc::clone(&services.sessions),
            introspection: Arc::clone(&services.introspection),
            clients: Arc::clone(&services.clients),
            client_texts: Arc::default(),
            keys: Arc::clone(&services.keys),
            trust: Arc::clone(&services.trust),
            public_keys: Arc::clone(&services.ring),
            cors: settings.serve.admin.listener.cors.as_ref().map(|cors| Arc::new(oauth_config::cors(cors))),
            health: self.health(),
            bearer: (!bearer.is_empty()).then(|| any_of(bearer)),
            hosts: settings.serve.admin.allowed_hosts.clone(),
            version: crate::VERSION,
        }
    }
}

/// Tokens, any of which is taken.
pub(super) fn any_of(tokens: &[SecretString]) -> Arc<[Secret<String>]> {
    tokens.iter().map(|token| Secret::new(token.expose().to_owned())).collect()
}
