//! What the data path asks about requests.

use std::net::IpAddr;
use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Response};
use http_body_util::Full;
use sluice_net::ClientAddress;

use super::headers::Via;
use super::upstream::UpstreamConfig;
use crate::authn::Asked;
use crate::gateway::{Admitted, Gateway, Judging};
use crate::observer::Observer;

/// Judges requests, and knows where they go: the [`Gateway`], and something simpler in tests.
pub trait Traffic: Send + Sync + 'static {
    /// Whether `peer` is a proxy that is believed about its clients.
    fn trusts(&self, peer: IpAddr) -> bool;

    /// The client, from `peer` back through the proxies that are trusted.
    fn client(&self, peer: IpAddr, headers: &HeaderMap) -> ClientAddress;

    /// A document of the gateway's own, if the request asks for one.
    fn metadata(&self, asked: &Asked<'_>) -> Option<Response<Full<Bytes>>>;

    /// Finds the route of a request and judges it.
    fn judge(&self, asked: &Asked<'_>) -> Judging;

    /// The methods that routes name for this host and path, as `Allow` says them. `None`: a route is for all.
    fn methods(&self, host: &str, path: &str) -> Option<HeaderValue>;

    /// The answer to a request that may not pass.
    fn refuse(&self, admitted: &Admitted) -> Response<Full<Bytes>>;

    /// Makes the headers of a request that may pass those that the upstream gets.
    fn enrich(&self, admitted: &Admitted, headers: &mut HeaderMap, client: ClientAddress);

    /// What the gateway calls itself to upstreams.
    fn via(&self) -> &Via;

    /// Takes away what clients may not say in trailers.
    fn strip(&self, admitted: &Admitted, trailers: &mut HeaderMap);

    /// Adds to an answer what the client may know of its limits.
    fn announce(&self, admitted: &Admitted, answer: &mut HeaderMap);

    /// Changes whenever [`Traffic::upstreams`] and [`Traffic::trusts`] may have, afterwards.
    fn generation(&self) -> u64;

    /// All upstreams that routes may name.
    fn upstreams(&self) -> Vec<Arc<UpstreamConfig>>;

    /// Who hears of requests.
    fn observer(&self) -> &dyn Observer;
}

impl Traffic for Gateway {
    fn trusts(&self, peer: IpAddr) -> bool {
        self.trusts(peer)
    }

    fn client(&self, peer: IpAddr, headers: &HeaderMap) -> ClientAddress {
        self.client(peer, headers)
    }

    fn metadata(&self, asked: &Asked<'_>) -> Option<Response<Full<Bytes>>> {
        self.metadata(asked)
    }

    fn judge(&self, asked: &Asked<'_>) -> Judging {
        self.judge(asked)
    }

    fn methods(&self, host: &str, path: &str) -> Option<HeaderValue> {
        self.routes().load().only_methods(host, path)
    }

    fn refuse(&self, admitted: &Admitted) -> Response<Full<Bytes>> {
        self.refuse(admitted)
    }

    fn enrich(&self, admitted: &Admitted, headers: &mut HeaderMap, client: ClientAddress) {
        self.enrich(admitted, headers, client);
    }

    fn via(&self) -> &Via {
        self.via()
    }

    fn strip(&self, admitted: &Admitted, trailers: &mut HeaderMap) {
        self.strip(admitted, trailers);
    }

    fn announce(&self, admitted: &Admitted, answer: &mut HeaderMap) {
        self.announce(admitted, answer);
    }

    fn generation(&self) -> u64 {
        self.routes().generation()
    }

    fn upstreams(&self) -> Vec<Arc<UpstreamConfig>> {
        self.routes().load().upstreams().to_vec()
    }

    fn observer(&self) -> &dyn Observer {
        self.observer()
    }
}
