//! What decisions are made with.

use std::net::IpAddr;
use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, Response};
use http_body_util::Full;
use sluice_net::ClientAddress;

use crate::authn::Asked;
use crate::gateway::{Admitted, Gateway, Judging};
use crate::observer::Observer;
use crate::route::Route;

/// Judges requests that others ask about: the [`Gateway`], and something simpler in tests.
pub trait Judge: Send + Sync + 'static {
    /// The verdict on a request under the route that its host, path and method lead to.
    fn judge(&self, asked: &Asked<'_>) -> Judging;
    /// The verdict on a request under `route`.
    fn judge_under(&self, route: &Arc<Route>, asked: &Asked<'_>) -> Judging;
    /// Strips from `headers` what only the gateway may say, and sets what it says.
    fn enrich(&self, admitted: &Admitted, headers: &mut HeaderMap, client: ClientAddress);
    /// The answer to a request that may not pass.
    fn refuse(&self, admitted: &Admitted) -> Response<Full<Bytes>>;
    /// Adds to the answer about a request that may pass what the client may know of its limits.
    fn announce(&self, admitted: &Admitted, answer: &mut HeaderMap);
    /// Whether the proxy at `peer` may ask, and is believed about the requests that it asks about.
    fn trusts(&self, peer: IpAddr) -> bool;
    /// The client, from `peer`, which is believed, back through the proxies that are trusted.
    fn client(&self, peer: IpAddr, headers: &HeaderMap) -> ClientAddress;
    /// Who hears of decisions.
    fn observer(&self) -> &dyn Observer;
}

impl Judge for Gateway {
    fn judge(&self, asked: &Asked<'_>) -> Judging {
        self.judge(asked)
    }

    fn judge_under(&self, route: &Arc<Route>, asked: &Asked<'_>) -> Judging {
        self.judge_under(route, asked)
    }

    fn enrich(&self, admitted: &Admitted, headers: &mut HeaderMap, client: ClientAddress) {
        self.enrich(admitted, headers, client);
    }

    fn refuse(&self, admitted: &Admitted) -> Response<Full<Bytes>> {
        self.refuse(admitted)
    }

    fn announce(&self, admitted: &Admitted, answer: &mut HeaderMap) {
        self.announce(admitted, answer);
    }

    fn trusts(&self, peer: IpAddr) -> bool {
        self.trusts(peer)
    }

    fn client(&self, peer: IpAddr, headers: &HeaderMap) -> ClientAddress {
        self.routes().load().settings().trusted_proxies.client_behind(peer, headers)
    }

    fn observer(&self) -> &dyn Observer {
        self.observer()
    }
}
