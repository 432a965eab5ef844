//! A listener with a thread for each core: each has a runtime, a socket and connections of its own.

use std::future::Future;
use std::io;
use std::net::IpAddr;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::thread;

use futures_util::future::join_all;
use http::HeaderMap;
use ipnet::IpNet;
use sluice_net::{
    BindAddress, ConnectionCount, DetachedListener, Drained, ForwardedCertificatePolicy, Limits, ListenError,
    Listener, LocalAddress, NotTerminated, TlsAcceptorHandle, is_tls_terminated,
};
use tokio::runtime::Builder;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;
use tracing::error;

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
    /// Whose plain http is answered.
    pub plain_http: PlainHttp,
}

/// Whose plain http is answered. Others get 502.
#[derive(Debug, Clone, Default)]
pub enum PlainHttp {
    /// Everybody's.
    #[default]
    Anybody,
    /// That of proxies in these networks which were asked by https ([`is_tls_terminated`]).
    TerminatedAt(Arc<[IpNet]>),
}

impl PlainHttp {
    /// Whether what comes from there without TLS is answered, whatever it says of the request that it is about.
    pub(crate) fn admits_peer(&self, peer: IpAddr) -> bool {
        let peer = peer.to_canonical();
        match self {
            Self::Anybody => true,
            Self::TerminatedAt(networks) => networks.iter().any(|network| network.contains(&peer)),
        }
    }

    /// Whether the client of what is answered without TLS used https all the same: a proxy ended it.
    pub(crate) const fn means_https(&self) -> bool {
        matches!(self, Self::TerminatedAt(_))
    }

    /// Whether a request that did not come over TLS is answered.
    ///
    /// # Errors
    /// [`NotTerminated`]: it is not, for this reason.
    pub(crate) fn admit(&self, peer: IpAddr, headers: &HeaderMap) -> Result<(), NotTerminated> {
        match self {
            Self::Anybody => Ok(()),
            Self::TerminatedAt(networks) => is_tls_terminated(peer, headers, networks),
        }
    }
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

/// What one core serves with.
pub(crate) struct OneCore {
    pub(crate) number: usize,
    pub(crate) listener: Listener,
    pub(crate) tls: Option<TlsAcceptorHandle>,
    /// Of all cores together.
    pub(crate) limits: Limits,
    pub(crate) shutdown: CancellationToken,
}

/// Threads that serve.
#[derive(Debug)]
pub(crate) struct Cores {
    address: LocalAddress,
    connections: ConnectionCount,
    threads: Vec<oneshot::Receiver<Drained>>,
}

impl Cores {
    /// Starts a thread for each core, which serves until `shutdown`. Threads and log call it by its `name`.
    pub(crate) async fn start<W, F>(
        config: &ProxyConfig,
        name: &'static str,
        shutdown: &CancellationToken,
        work: W,
    ) -> Result<Self, StartError>
    where
        W: Fn(OneCore) -> F + Clone + Send + 'static,
        F: Future<Output = Drained>,
    {
        let listeners = Listener::bind_per_core(&config.address, config.cores).await?;
        let address = listeners
            .first()
            .map_or_else(|| LocalAddress::Unix("".into()), |listener| listener.local_address().clone());
        let connections = listeners.first().map(DetachedListener::connections).unwrap_or_default();
        let mut threads = Vec::with_capacity(config.cores.get());
        for (number, listener) in listeners.into_iter().enumerate() {
            let (work, tls, limits, shutdown) =
                (work.clone(), config.tls.clone(), config.limits.clone(), shutdown.clone());
            let serve = move |listener: Listener| {
                let listener = listener.named(name);
                work(OneCore { number, listener, tls, limits, shutdown })
            };
            threads.push(spawn(format!("{name}-{number}"), listener, serve).map_err(StartError::Thread)?);
        }
        Ok(Self { address, connections, threads })
    }

    /// What it listens on.
    pub(crate) const fn local_address(&self) -> &LocalAddress {
        &self.address
    }

    /// How many connections all cores together serve.
    pub(crate) fn connections(&self) -> ConnectionCount {
        self.connections.clone()
    }

    /// Ends when, after the shutdown, the last request has: connections that outlasted [`Limits::drain_grace`] were cut.
    pub(crate) async fn drained(self) -> Drained {
        let drained = join_all(self.threads).await;
        Drained { cut: drained.into_iter().flatten().map(|drained| drained.cut).sum() }
    }
}

fn spawn<F: Future<Output = Drained>>(
    name: String,
    listener: DetachedListener,
    serve: impl FnOnce(Listener) -> F + Send + 'static,
) -> io::Result<oneshot::Receiver<Drained>> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let (tell, told) = oneshot::channel();
    thread::Builder::new().name(name).spawn(move || {
        let drained = runtime.block_on(async {
            match listener.attach() {
                Ok(listener) => serve(listener).await,
                Err(failure) => {
                    error!(error = %failure, "a core of the gateway cannot listen");
                    Drained { cut: 0 }
                }
            }
        });
        let _ = tell.send(drained);
    })?;
    Ok(told)
}
