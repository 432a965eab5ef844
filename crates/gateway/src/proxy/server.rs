//! The listener: one thread for each core, with a runtime, a socket and connections of its own.

use std::convert::Infallible;
use std::io;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use futures_util::future::join_all;
use hyper::service::service_fn;
use sluice_net::{
    BindAddress, DetachedListener, Drained, ForwardedCertificatePolicy, Limits, ListenError, Listener,
    LocalAddress, TlsAcceptorHandle, serve_each,
};
use tokio::runtime::Builder;
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;
use tracing::error;

use super::core::Core;
use super::forward::answer;
use super::headers::Visitor;
use super::traffic::Traffic;
use super::upstream::Registry;

/// How the gateway listens.
#[derive(Debug, Clone)]
pub struct ProxyConfig {
    /// Where.
    pub address: BindAddress,
    /// Threads, each with a listener and connections of its own.
    pub cores: NonZeroUsize,
    /// TLS, with HTTP/2 by ALPN. `None`: plain HTTP/1.1, and HTTP/2 with prior knowledge.
    pub tls: Option<TlsAcceptorHandle>,
    /// What clients are granted, all cores together.
    pub limits: Limits,
    /// Whose word about certificates of clients counts.
    pub certificates: ForwardedCertificatePolicy,
}

/// A running gateway.
#[derive(Debug)]
pub struct RunningProxy {
    address: LocalAddress,
    cores: Vec<oneshot::Receiver<Drained>>,
}

/// Why the gateway cannot run.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// It cannot listen.
    #[error(transparent)]
    Listen(#[from] ListenError),
    /// A thread or its runtime cannot be made.
    #[error("a thread of the gateway cannot be started")]
    Thread(#[source] io::Error),
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
        let listeners = Listener::bind_per_core(&config.address, config.cores).await?;
        let address = listeners
            .first()
            .map_or_else(|| LocalAddress::Unix("".into()), |listener| listener.local_address().clone());
        let registry = Arc::new(Registry::new(config.cores.get()));
        let mut limits = config.limits;
        limits.max_connections = limits.max_connections.div_ceil(config.cores.get());
        let mut cores = Vec::with_capacity(config.cores.get());
        for (number, listener) in listeners.into_iter().enumerate() {
            let (traffic, registry) = (traffic.clone(), registry.clone());
            let core = Core::new(number, traffic, config.certificates.clone(), registry);
            let serving = Serving {
                core: Arc::new(core),
                listener,
                tls: config.tls.clone(),
                limits: limits.clone(),
                shutdown: shutdown.clone(),
            };
            cores.push(serving.start(number).map_err(StartError::Thread)?);
        }
        Ok(Self { address, cores })
    }

    /// What it listens on.
    pub const fn local_address(&self) -> &LocalAddress {
        &self.address
    }

    /// Ends when, after the shutdown, the last request has: connections that outlasted [`Limits::drain_grace`] were cut.
    pub async fn drained(self) -> Drained {
        let drained = join_all(self.cores).await;
        Drained { cut: drained.into_iter().flatten().map(|drained| drained.cut).sum() }
    }
}

/// What one core serves.
struct Serving<T> {
    core: Arc<Core<T>>,
    listener: DetachedListener,
    tls: Option<TlsAcceptorHandle>,
    limits: Limits,
    shutdown: CancellationToken,
}

impl<T: Traffic> Serving<T> {
    fn start(self, number: usize) -> io::Result<oneshot::Receiver<Drained>> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let (tell, told) = oneshot::channel();
        thread::Builder::new().name(format!("gateway-{number}")).spawn(move || {
            let drained = runtime.block_on(self.run());
            let _ = tell.send(drained);
        })?;
        Ok(told)
    }

    async fn run(self) -> Drained {
        let Self { core, listener, tls, limits, shutdown } = self;
        let listener = match listener.attach() {
            Ok(listener) => listener,
            Err(failure) => {
                error!(error = %failure, "a core of the gateway cannot listen");
                return Drained { cut: 0 };
            }
        };
        let sweeper = core.clone();
        let sweeping = tokio::spawn(async move { sweeper.sweep().await });
        let handler = core.clone();
        let make = move |facts| {
            let (core, visitor) = (handler.clone(), Arc::new(Visitor::new(facts)));
            service_fn(move |request| {
                let answering = answer(core.clone(), visitor.clone(), request);
                async move { Ok::<_, Infallible>(answering.await) }
            })
        };
        let grace = limits.drain_grace;
        let ended = shutdown.clone();
        let serving = serve_each(listener, tls, make, shutdown, limits);
        let (drained, cut_at) = tokio::join!(serving, async {
            ended.cancelled().await;
            Instant::now() + grace
        });
        sweeping.abort();
        Drained { cut: drained.cut + end_tunnels(&core, cut_at).await }
    }
}

/// Waits for upgraded connections as long as for others; says how many were left.
async fn end_tunnels<T: Traffic>(core: &Core<T>, cut_at: Instant) -> usize {
    core.tunnels.close();
    let _ = timeout_at(cut_at.max(Instant::now() + Duration::from_millis(1)), core.tunnels.wait()).await;
    core.tunnels.len()
}
