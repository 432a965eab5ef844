//! The ports of a node. All are bound before any is served: a node never starts by half.

use sluice_primitives::Clock;

use super::{LINK, StartOptions};
use crate::app::listeners::Port;
use crate::app::stores::StartError;
use crate::cli::Listeners;
use crate::config::Settings;

/// Those that this node has.
pub(super) struct Ports {
    pub(super) public: Option<Port>,
    pub(super) admin: Option<Port>,
    pub(super) link: Option<Port>,
    /// Of a node that is a gateway and nothing else.
    pub(super) health: Option<Port>,
}

impl Ports {
    pub(super) async fn bind(
        settings: &Settings,
        options: &StartOptions,
        clock: &dyn Clock,
    ) -> Result<Self, StartError> {
        let (listeners, self_signed, grace) =
            (options.listeners, options.tls_self_signed, options.idle_grace);
        let admin = &settings.serve.admin.listener;
        let (mut public, mut own, mut link, mut health) = (None, None, None, None);
        if listeners.has_public() {
            let port = Port::bind("public", &settings.serve.public, self_signed, clock).await?;
            let asks = settings.oauth2.mtls.listener_asks;
            let port = if asks { port.asking_for_certificates() } else { port };
            public = Some(port.waiting(grace));
        }
        if listeners.has_admin() {
            own = Some(Port::bind("admin", admin, self_signed, clock).await?.waiting(grace));
        }
        if listeners.has_admin() && !settings.link.tokens.is_empty() {
            let port = Port::bind(LINK, &settings.link.listener, self_signed, clock).await?;
            link = Some(port.waiting(grace));
        }
        if listeners == Listeners::Gateway {
            health = Some(Port::bind("health", admin, self_signed, clock).await?.waiting(grace));
        }
        Ok(Self { public, admin: own, link, health })
    }
}
