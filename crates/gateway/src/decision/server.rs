//! The listener of the decisions: as the gateway's, a thread for each core.

use std::io;
use std::sync::Arc;
use std::thread;

use futures_util::future::join_all;
use hyper::service::service_fn;
use sluice_net::{
    ConnectionFacts, DetachedListener, Drained, Limits, Listener, LocalAddress, PeerAddress,
    TlsAcceptorHandle, serve_each,
};
use tokio::runtime::Builder;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;
use tracing::error;

use super::decide::DecisionConfig;
use super::judge::Judge;
use super::service::DecisionService;
use crate::proxy::{ProxyConfig, StartError};

/// Decisions that are served.
#[derive(Debug)]
pub struct RunningDecisions {
    address: LocalAddress,
    cores: Vec<oneshot::Receiver<Drained>>,
}

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
        let listeners = Listener::bind_per_core(&listen.address, listen.cores).await?;
        let address = listeners
            .first()
            .map_or_else(|| LocalAddress::Unix("".into()), |listener| listener.local_address().clone());
        let config = DecisionConfig { certificates: listen.certificates, ..config };
        let service = DecisionService::new(judge, config);
        let mut limits = listen.limits;
        limits.max_connections = limits.max_connections.div_ceil(listen.cores.get());
        let serving = |listener| Serving {
            listener,
            tls: listen.tls.clone(),
            service: service.clone(),
            limits: limits.clone(),
            shutdown: shutdown.clone(),
        };
        let cores = listeners.into_iter().map(|listener| serving(listener).start()).collect::<Result<_, _>>();
        Ok(Self { address, cores: cores.map_err(StartError::Thread)? })
    }

    /// What it listens on.
    pub const fn local_address(&self) -> &LocalAddress {
        &self.address
    }

    /// Ends when, after the shutdown, the last question was answered.
    pub async fn drained(self) -> Drained {
        let drained = join_all(self.cores).await;
        Drained { cut: drained.into_iter().flatten().map(|drained| drained.cut).sum() }
    }
}

/// What one core serves.
struct Serving<J> {
    listener: DetachedListener,
    tls: Option<TlsAcceptorHandle>,
    service: DecisionService<J>,
    limits: Limits,
    shutdown: CancellationToken,
}

impl<J: Judge> Serving<J> {
    fn start(self) -> io::Result<oneshot::Receiver<Drained>> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let (tell, told) = oneshot::channel();
        thread::Builder::new().name("decisions".to_owned()).spawn(move || {
            let drained = runtime.block_on(self.run());
            let _ = tell.send(drained);
        })?;
        Ok(told)
    }

    async fn run(self) -> Drained {
        match self.listener.attach() {
            Ok(listener) => {
                let service = self.service;
                // Of one connection: the peer is known once, not told with each request.
                let make = move |facts: ConnectionFacts| {
                    let (service, PeerAddress(peer)) = (service.clone(), facts.peer);
                    service_fn(move |request| service.answer(peer.ip(), request))
                };
                serve_each(listener, self.tls, make, self.shutdown, self.limits).await
            }
            Err(failure) => {
                error!(error = %failure, "a core of the decisions cannot listen");
                Drained { cut: 0 }
            }
        }
    }
}
