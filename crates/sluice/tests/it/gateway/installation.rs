//! Two authorization servers on one database, and gateways of every kind: in each server, by itself with the database, by itself with a
//! link to the second server.

use std::time::Duration;

use reqwest::StatusCode;
use sluice_testkit::Backend;
use tokio::time::{Instant, timeout_at};

use super::linked::gateway_of;
use super::with_database::gateway_on;
use super::{Routes, Seen, site};
use crate::process::{Process, Site, until};

/// What is revoked is heard of everywhere within a quarter of a second where servers are told (LISTEN and NOTIFY), within one where they look
/// (DESIGN §9). A busy machine may stand still for longer, now and then: whoever revokes often looks at half of the times.
const HEARD_WITHIN: Duration = Duration::from_secs(20);
/// Where a token is asked for.
const PATH: &str = "/orders/7";

/// All of them, serving.
pub(super) struct Installation {
    pub(super) servers: [Process; 2],
    by_themselves: [Process; 2],
    /// Those of the servers first, in their order.
    gateways: [(&'static str, Seen); 4],
    _site: Site,
    _routes: Routes,
}

impl Installation {
    /// On a fresh database.
    pub(super) async fn start(backend: Backend) -> Self {
        let routes = Routes::fresh().await;
        let site = site(backend, &routes).await;
        let servers = [site.start().await, site.start().await];
        let by_themselves = [gateway_on(&site).await, gateway_of(&servers[1], &routes, &[]).await];
        for process in &by_themselves {
            until("ready", async || process.readiness().await == Some(StatusCode::OK)).await;
        }
        let gateways = [
            ("the gateway of the first server", Seen::of(&servers[0])),
            ("the gateway of the second server", Seen::of(&servers[1])),
            ("the gateway with the database", Seen::of(&by_themselves[0])),
            ("the gateway with a link", Seen::of(&by_themselves[1])),
        ];
        Self { servers, by_themselves, gateways, _site: site, _routes: routes }
    }

    /// Every gateway lets a token pass, and says whose it is.
    pub(super) async fn passes_everywhere(&self, token: &str, subject: &str) {
        for (name, gateway) in &self.gateways {
            let (status, seen) = gateway.ask(PATH, token).await;
            assert_eq!((status, seen["oauth-user-id"].as_str()), (StatusCode::OK, Some(subject)), "{name}");
        }
    }

    /// A token has just been revoked at this server, or its session ended there: the gateway of that one refuses it at once, the others in
    /// time. Gives how long the last of them took.
    pub(super) async fn is_refused_everywhere(&self, token: &str, server: usize) -> Duration {
        let revoked = Instant::now();
        let (name, in_process) = &self.gateways[server];
        assert_eq!(in_process.status(PATH, token).await, StatusCode::UNAUTHORIZED, "{name}");
        for (name, gateway) in &self.gateways {
            let refused = gateway.until(PATH, token, StatusCode::UNAUTHORIZED);
            let in_time = timeout_at(revoked + HEARD_WITHIN, refused).await;
            assert!(in_time.is_ok(), "{name} does not refuse it within {HEARD_WITHIN:?}");
        }
        revoked.elapsed()
    }

    /// Ends all of them.
    pub(super) async fn stop(self) {
        for process in self.by_themselves.into_iter().chain(self.servers) {
            process.kill().await;
        }
    }
}
