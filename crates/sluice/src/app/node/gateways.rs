//! A node's gateway, and what it gives gateways in other processes.

use std::sync::Arc;

use arc_swap::ArcSwap;
use sluice_gateway::route::RoutesFile;
use sluice_http::LinkState;
use sluice_primitives::Rng;

use super::states::any_of;
use super::{Node, StartOptions, World};
use crate::app::gateway::{
    GatewayStart, Known, Link, RingKeys, RunningGateway, ServedKeys, local_parts, tell_of_unreached,
};
use crate::app::registration;
use crate::app::stores::StartError;
use crate::config::Settings;
use crate::observability::Metrics;

impl Node {
    /// Serves the gateway where it is wanted and there are routes.
    pub(super) async fn start_gateway(
        &self,
        settings: &Settings,
        options: &StartOptions,
        (metrics, rng): (&Metrics, &Arc<dyn Rng>),
    ) -> Result<Option<RunningGateway>, StartError> {
        if !options.listeners.has_gateway() {
            return Ok(None);
        }
        let Some(routes) = &settings.gateway.routes else {
            let is_wanted = !options.listeners.has_admin();
            let reason = "is required by `serve gateway`".to_owned();
            return if is_wanted {
                Err(StartError::Setting { key: "gateway.routes", reason })
            } else {
                Ok(None)
            };
        };
        let services = &self.services;
        let keys = RingKeys {
            ring: Arc::clone(&services.ring),
            persons: Arc::clone(&services.identity_tokens),
            longest_access_token: services.config.lifetimes.longest_access_token,
            longest_person_token: services.people.sessions.terms.lifetimes.access_token,
            issuer: services.config.issuer.as_str().to_owned(),
        };
        let known = Known {
            sealer: &services.sealer,
            revocations: &services.revocations,
            follower: &services.follower,
        };
        let world = World { clock: Arc::clone(&self.clock), rng: Arc::clone(rng), ..World::real() };
        let start = GatewayStart {
            settings: &settings.gateway,
            tls_self_signed: options.tls_self_signed,
            idle_grace: options.idle_grace,
            local: local_parts(&settings.gateway, keys, &known),
            nonces: Arc::new(ArcSwap::new(Arc::clone(&services.sealer))),
            metrics,
            world: &world,
            tasks: &self.tasks,
            shutdown: &self.shutdown,
        };
        let file = Arc::new(RoutesFile::open(routes.clone(), Arc::clone(&self.clock))?);
        let running = RunningGateway::start(file, start).await?;
        self.look_after_resources(settings, &running);
        Ok(Some(running))
    }

    /// Looks whether clients that nobody registers by hand get to what the gateway protects, where there are such clients.
    fn look_after_resources(&self, settings: &Settings, gateway: &RunningGateway) {
        if settings.oidc.registration.is_none() && settings.oidc.metadata_documents.is_none() {
            return;
        }
        let config = &self.services.config;
        let rules = (registration::rules(settings, config), config.scopes);
        self.tasks.spawn(tell_of_unreached(Arc::clone(&gateway.file), rules, self.shutdown.clone()));
    }

    /// What the link's handlers work with.
    pub(super) fn link_state(&self, settings: &Settings) -> LinkState {
        let services = &self.services;
        let source = Link {
            keys: ServedKeys {
                network: services.network,
                issuer: services.config.issuer.as_str().to_owned(),
                sealer: Arc::clone(&services.sealer),
                ring: Arc::clone(&services.ring),
                persons: Arc::clone(&services.identity_tokens),
                gives_sealing_key: settings.link.gives_sealing_key,
                longest_access_token: services.config.lifetimes.longest_access_token,
                longest_person_token: services.people.sessions.terms.lifetimes.access_token,
            },
            hearing: Arc::clone(&services.hearing),
            reader: Arc::clone(&services.reader),
            sessions: Arc::clone(&services.people.sessions),
            clock: Arc::clone(&self.clock),
        };
        LinkState {
            tokens: any_of(&settings.link.tokens),
            source: Arc::new(source),
            feed: self.stores.repositories() as _,
            follower: Arc::clone(&services.follower),
            health: self.health(),
            shutdown: self.shutdown.clone(),
        }
    }
}
