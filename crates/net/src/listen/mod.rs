//! Listening: from a socket to requests, until the last one is answered.
//!
//! [`serve`]: the whole of it. `socket`, `unix_socket`: what is listened on. `limits`: what clients are granted.
//! `accept`: taking connections; `places`: how many at once; `open_files`: whether there are files for them.
//! `connection`: one connection, TLS and HTTP; `versions`: the settings of HTTP. `client_io`: its bytes, and its end, which
//! `lingering` draws out where answers would be lost. `record`: what is known of it; `counted`: its requests and their answers;
//! `incoming_body`, `rest`: the bodies of requests, and what nobody reads of them; `quiet`: what of them wakes a connection. `supervision`: who
//! has been idle or slow too long, and the drain. `request_facts`: what a request is told about its connection.
//!
//! Timeouts of connections are kept by one sweep over all of them instead of a timer each: a request then costs one
//! atomic increment. Only connections that linger, or whose client sends no more, have a timer.

mod accept;
mod client_io;
mod connection;
mod counted;
mod incoming_body;
mod limits;
mod lingering;
mod open_files;
mod places;
mod quiet;
mod record;
mod request_facts;
mod rest;
mod socket;
mod supervision;
mod unix_socket;
mod versions;

use std::convert::Infallible;
use std::future::pending;
use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body::Body;
use tokio::time::{MissedTickBehavior, interval, sleep, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower::Service;
use tracing::{info, warn};

pub use incoming_body::IncomingBody;
pub use limits::{Limits, Linger};
pub use places::ConnectionCount;
pub use request_facts::{ConnectionFacts, PeerAddress, PeerCertificates, Transport};
pub use socket::{BindAddress, DetachedListener, ListenError, Listener, LocalAddress};

use accept::Acceptor;
use connection::Connections;
use open_files::OPEN_FILES;
use places::Places;
use request_facts::Stamped;
use supervision::Supervision;

use crate::tls::TlsAcceptorHandle;

/// What an error of a service or a body is turned into.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Hears of requests over HTTP/1.1 that cannot be read, or whose heads do not come in time, by whom they came, and the status with which
/// they were refused: no service is asked about them. It must not block.
pub type Unreadable = Arc<dyn Fn(PeerAddress, StatusCode) + Send + Sync>;

/// How the last connections of a listener ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Drained {
    /// Connections that were still open when the grace period was over, and were cut.
    pub cut: usize,
}

/// Serves `service` on `listener` until `shutdown`, then stops accepting and lets what is in flight finish, for
/// [`Limits::drain_grace`] at most. Who was connected by then is served, and for [`Limits::idle_grace`] a next request on any connection.
///
/// Requests carry [`PeerAddress`] and [`Transport`] in their extensions, and [`PeerCertificates`] if their peer showed
/// any. Which version of HTTP is spoken ALPN says; where nothing was agreed on by it, what the client
/// begins with. `tls` does not apply to a Unix socket. Requests that cannot be read `unreadable` hears of, when their connection has
/// ended.
pub async fn serve<S, B>(
    listener: Listener,
    tls: Option<TlsAcceptorHandle>,
    service: S,
    unreadable: Option<Unreadable>,
    shutdown: CancellationToken,
    limits: Limits,
) -> Drained
where
    S: Service<Request<IncomingBody>, Response = Response<B>> + Clone + Send + Sync + 'static,
    S::Future: Send + 'static,
    S::Error: Into<BoxError>,
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    let stamped = move |facts| Stamped { inner: service.clone(), facts };
    serve_each(listener, tls, stamped, unreadable, shutdown, limits).await
}

/// As [`serve`], but each connection has a service of its own, which `make` makes, and requests carry no facts: the service
/// has them.
pub async fn serve_each<M, S, B>(
    listener: Listener,
    tls: Option<TlsAcceptorHandle>,
    make: M,
    unreadable: Option<Unreadable>,
    shutdown: CancellationToken,
    limits: Limits,
) -> Drained
where
    M: Fn(ConnectionFacts) -> S + Send + Sync + 'static,
    S: hyper::service::Service<Request<IncomingBody>, Response = Response<B>> + Send + 'static,
    S::Future: Send + 'static,
    S::Error: Into<BoxError>,
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    let closing = CancellationToken::new();
    let connections = Arc::new(Connections::new(tls, (make, unreadable), &limits, closing.clone()));
    let places = listener.places(limits.max_connections);
    let (tasks, accepting) = (TaskTracker::new(), TaskTracker::new());
    let (sockets, socket_file) = listener.into_parts();
    for socket in sockets {
        let (shutdown, closing) = (shutdown.clone(), closing.clone());
        let acceptor = Acceptor { places: places.clone(), tasks: tasks.clone(), shutdown, closing };
        accepting.spawn(acceptor.run(socket, connections.clone()));
    }
    accepting.close();
    shutdown.run_until_cancelled(sweep(connections.supervision(), &places, &limits)).await;
    connections.supervision().let_all_leave();
    accepting.wait().await;
    drop(socket_file);
    drain(connections.supervision(), &places, &tasks, &closing, &limits).await
}

/// Ends who is slow or idle too long, for ever; sooner where there are no more `places`, or no files for them.
async fn sweep(supervision: &Supervision, places: &Places, limits: &Limits) -> Infallible {
    let mut ticks = interval(Supervision::sweep_interval(limits));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let now = ticks.tick().await;
        supervision.sweep(now);
        if places.is_full() || OPEN_FILES.are_lacking(now) {
            supervision.make_room(now);
        }
    }
}

async fn drain(
    supervision: &Supervision,
    places: &Places,
    tasks: &TaskTracker,
    closing: &CancellationToken,
    limits: &Limits,
) -> Drained {
    tasks.close();
    // A head that has begun is waited for, so it is still late at its time.
    let ending = async {
        tokio::select! {
            () = tasks.wait() => {}
            never = sweep(supervision, places, limits) => match never {},
            never = end_idle(supervision, closing, limits) => match never {},
        }
    };
    if timeout(limits.drain_grace, ending).await.is_ok() {
        info!("every connection has ended");
        return Drained { cut: 0 };
    }
    closing.cancel();
    let cut = supervision.cut_all();
    tasks.wait().await;
    warn!(connections = cut, "connections were cut: their requests outlasted the grace period");
    Drained { cut }
}

/// Ends those of whom nothing is in flight, once they have had time to bring a request.
async fn end_idle(supervision: &Supervision, closing: &CancellationToken, limits: &Limits) -> Infallible {
    sleep(limits.idle_grace.min(limits.drain_grace / 2)).await;
    closing.cancel();
    supervision.drain_all();
    pending().await
}
