//! The listener of the gateway.

use std::sync::Arc;
use std::time::Duration;

use hyper::service::service_fn;
use sluice_net::{ConnectionCount, Drained, LocalAddress, PeerAddress, Unreadable, serve_each};
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;

use super::account::tell_of_unreadable;
use super::core::{Believed, Core};
use super::forward::answer;
use super::headers::Visitor;
use super::rooms::Rooms;
use super::traffic::Traffic;
use super::upstream::{Registry, ServerState};
use crate::cores::{Cores, OneCore, ProxyConfig, StartError};

/// A running gateway.
#[derive(Debug)]
pub struct RunningProxy {
    cores: Cores,
    registry: Arc<Registry>,
}

/// The servers behind a gateway.
#[derive(Debug, Clone)]
pub struct Servers(Arc<Registry>);

impl Servers {
    /// How they are doing: those of the routes in force.
    pub fn states(&self) -> Vec<ServerState> {
        self.0.servers()
    }
}

impl RunningProxy {
    /// Starts to serve `traffic`, until `shutdown`.
    ///
    /// # Errors
    /// [`StartError`]: the address cannot be bound, or there are no more threads.
    pub async fn start<T: Traffic>(
        config: ProxyConfig,
        traffic: Arc<T>,
        shutdown: CancellationToken,
    ) -> Result<Self, StartError> {
        let registry = Arc::new(Registry::new(config.cores.get()));
        let believed: Believed = (config.certificates.clone(), config.plain_http.clone(), Arc::default());
        let of_cores = registry.clone();
        let work = move |one: OneCore| {
            let core = Core::new(one.number, traffic.clone(), believed.clone(), of_cores.clone());
            serve(Arc::new(core), one)
        };
        let cores = Cores::start(&config, "gateway", &shutdown, work).await?;
        Ok(Self { cores, registry })
    }

    /// What it listens on.
    pub const fn local_address(&self) -> &LocalAddress {
        self.cores.local_address()
    }

    /// The servers behind it.
    pub fn servers(&self) -> Servers {
        Servers(self.registry.clone())
    }

    /// How many connections it serves.
    pub fn connections(&self) -> ConnectionCount {
        self.cores.connections()
    }

    /// Ends when, after the shutdown, the last request has: connections that outlasted the grace period were cut.
    pub async fn drained(self) -> Drained {
        self.cores.drained().await
    }
}

async fn serve<T: Traffic>(core: Arc<Core<T>>, one: OneCore) -> Drained {
    let OneCore { listener, tls, limits, shutdown, .. } = one;
    let sweeper = core.clone();
    let sweeping = tokio::spawn(async move { sweeper.sweep().await });
    let (handler, rooms) = (core.clone(), Rooms::new());
    let make = move |facts| {
        let (core, rooms, visitor) = (handler.clone(), rooms.clone(), Arc::new(Visitor::new(facts)));
        service_fn(move |request| rooms.enter(|| answer(core.clone(), visitor.clone(), request)))
    };
    let grace = limits.drain_grace;
    let ended = shutdown.clone();
    let hearing = core.clone();
    let unreadable: Unreadable = Arc::new(move |PeerAddress(peer), status| {
        tell_of_unreadable(hearing.traffic.observer(), peer.ip().to_canonical(), status);
    });
    let serving = serve_each(listener, tls, make, Some(unreadable), shutdown, limits);
    let (drained, cut_at) = tokio::join!(serving, async {
        ended.cancelled().await;
        Instant::now() + grace
    });
    sweeping.abort();
    Drained { cut: drained.cut + end_tunnels(&core, cut_at).await }
}

/// Waits for upgraded connections as long as for others; says how many were left.
async fn end_tunnels<T: Traffic>(core: &Core<T>, cut_at: Instant) -> usize {
    core.tunnels.close();
    let _ = timeout_at(cut_at.max(Instant::now() + Duration::from_millis(1)), core.tunnels.wait()).await;
    core.tunnels.len()
}
