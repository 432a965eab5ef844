//! Taking connections: one loop per socket, never more connections than permitted, undeterred by errors.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use hyper::service::Service;
use tokio::net::{TcpStream, UnixStream};
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::warn;

use super::BoxError;
use super::connection::Connections;
use super::incoming_body::IncomingBody;
use super::open_files::OPEN_FILES;
use super::places::{Place, Places};
use super::request_facts::{ConnectionFacts, PeerAddress};
use super::socket::{self, Socket};

/// The pause after a failed accept, as with no file descriptor left: doubled each time up to the second value.
const BACK_OFF: (Duration, Duration) = (Duration::from_millis(5), Duration::from_secs(1));

/// One accept loop.
pub(super) struct Acceptor {
    pub(super) places: Arc<Places>,
    pub(super) tasks: TaskTracker,
    pub(super) shutdown: CancellationToken,
}

enum Accepted {
    Tcp(TcpStream, SocketAddr),
    Unix(UnixStream),
}

impl Acceptor {
    /// Accepts until shutdown; the socket is closed then.
    pub(super) async fn run<M, S, B>(self, socket: Socket, connections: Arc<Connections<M>>)
    where
        M: Fn(ConnectionFacts) -> S + Send + Sync + 'static,
        S: Service<Request<IncomingBody>, Response = Response<B>> + Send + 'static,
        S::Future: Send + 'static,
        S::Error: Into<BoxError>,
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        let shutdown = self.shutdown.clone();
        while let Some(Some((accepted, place))) = shutdown.run_until_cancelled(self.next(&socket)).await {
            let connections = connections.clone();
            self.tasks.spawn(async move {
                match accepted {
                    Accepted::Tcp(stream, peer) => {
                        connections.serve_tcp(stream, PeerAddress::of(peer), place).await;
                    }
                    Accepted::Unix(stream) => connections.serve_unix(stream, place).await,
                }
            });
        }
    }

    /// The next connection, when there is a place for it: only then, so that no loop holds one for a client that has yet to come.
    /// `None`: never, the places were closed.
    async fn next(&self, socket: &Socket) -> Option<(Accepted, Place)> {
        let accepted = self.accept(socket).await;
        let place = self.places.take().await?;
        Some((accepted, place))
    }

    async fn accept(&self, socket: &Socket) -> Accepted {
        let (mut pause, longest) = BACK_OFF;
        loop {
            match accept(socket).await {
                Ok(accepted) => return accepted,
                Err(error) if is_of_one_connection(&error) => {}
                Err(error) => {
                    if !OPEN_FILES.note(&error, Instant::now()) {
                        warn!(%error, ?pause, "a connection could not be accepted");
                    }
                    sleep(pause).await;
                    pause = (pause * 2).min(longest);
                }
            }
        }
    }
}

async fn accept(socket: &Socket) -> io::Result<Accepted> {
    match socket {
        Socket::Tcp(listener) => {
            let (stream, peer) = listener.accept().await?;
            socket::tune(&stream);
            Ok(Accepted::Tcp(stream, peer))
        }
        Socket::Unix(listener) => Ok(Accepted::Unix(listener.accept().await?.0)),
    }
}

/// Whether the connection failed rather than the accepting: its peer left before it was taken.
fn is_of_one_connection(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset, Interrupted};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset | Interrupted)
}
