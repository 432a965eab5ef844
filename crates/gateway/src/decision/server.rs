//! The listener of the decisions: as the gateway's, a thread for each core.

use std::sync::Arc;

use http::Request;
use hyper::service::service_fn;
use sluice_net::{
    ConnectionCount, ConnectionFacts, Drained, IncomingBody, LocalAddress, PeerAddress, serve_each,
};
use tokio_util::sync::CancellationToken;

use super::decide::DecisionConfig;
use super::judge::Judge;
use super::malformed::Malformed;
use super::service::{DecisionService, Extent};
use crate::cores::{Cores, OneCore, PlainHttp};
use crate::proxy::{ProxyConfig, StartError};

/// Decisions that are served.
#[derive(Debug)]
pub struct RunningDecisions(Cores);

impl RunningDecisions {
    /// Starts to answer other proxies, until `shutdown`.
    ///
    /// # Errors
    /// [`StartError`]: the address cannot be bound, or there are no more threads.
    pub async fn start<J: Judge>(
        listen: ProxyConfig,
        config: DecisionConfig,
        judge: Arc<J>,
        shutdown: CancellationToken,
    ) -> Result<Self, StartError> {
        let config = DecisionConfig { certificates: listen.certificates.clone(), ..config };
        let service = DecisionService::new(judge, config);
        let plain_http = listen.plain_http.clone();
        let work = move |core| serve(service.clone(), plain_http.clone(), core);
        Ok(Self(Cores::start(&listen, "decisions", &shutdown, work).await?))
    }

    /// What it listens on.
    pub const fn local_address(&self) -> &LocalAddress {
        self.0.local_address()
    }

    /// How many connections it serves.
    pub fn connections(&self) -> ConnectionCount {
        self.0.connections()
    }

    /// Ends when, after the shutdown, the last question was answered.
    pub async fn drained(self) -> Drained {
        self.0.drained().await
    }
}

async fn serve<J: Judge>(service: DecisionService<J>, plain_http: PlainHttp, core: OneCore) -> Drained {
    // Of one connection: the peer is known once, not told with each request.
    let make = move |facts: ConnectionFacts| {
        let (service, PeerAddress(peer), tls) = (service.clone(), facts.peer, facts.transport.tls);
        let is_admitted = tls || plain_http.admits_peer(peer.ip());
        service_fn(move |request: Request<IncomingBody>| {
            if is_admitted {
                service.answer(peer.ip(), request)
            } else {
                service.refuse(Malformed::PlainHttp, peer.ip()).limited_to(Extent::of(&request))
            }
        })
    };
    serve_each(core.listener, core.tls, make, None, core.shutdown, core.limits).await
}
