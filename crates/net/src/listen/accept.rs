//! Taking connections: one loop per socket, never more connections than permitted, undeterred by errors.

use std::io::{self, ErrorKind};
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
use super::socket::{self, BACKLOG, Socket};

/// The pause after a failed accept, as with no file descriptor left: doubled each time up to the second value.
const BACK_OFF: (Duration, Duration) = (Duration::from_millis(5), Duration::from_secs(1));

/// One accept loop.
pub(super) struct Acceptor {
    pub(super) places: Arc<Places>,
    pub(super) tasks: TaskTracker,
    pub(super) shutdown: CancellationToken,
    /// Cancelled when who has no place is waited for no longer.
    pub(super) closing: CancellationToken,
}

enum Accepted {
    Tcp(TcpStream, SocketAddr),
    Unix(UnixStream),
}

impl Acceptor {
    /// Accepts until shutdown, and then those who are connected already; the socket is closed then.
    pub(super) async fn run<M, S, B>(self, socket: Socket, connections: Arc<Connections<M>>)
    where
        M: Fn(ConnectionFacts) -> S + Send + Sync + 'static,
        S: Service<Request<IncomingBody>, Response = Response<B>> + Send + 'static,
        S::Future: Send + 'static,
        S::Error: Into<BoxError>,
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        let serving = |accepted: Accepted| {
            let connections = connections.clone();
            move |place: Place| async move {
                match accepted {
                    Accepted::Tcp(stream, peer) => {
                        connections.serve_tcp(stream, PeerAddress::of(peer), place).await;
                    }
                    Accepted::Unix(stream) => connections.serve_unix(stream, place).await,
                }
            }
        };
        while let Some(accepted) = self.shutdown.run_until_cancelled(self.accept(&socket)).await {
            let serve = serving(accepted);
            // The next one is accepted when this one has a place: so no loop holds more than one for a client that has yet to come.
            match self.shutdown.run_until_cancelled(self.places.take()).await {
                Some(Some(place)) => {
                    self.tasks.spawn(serve(place));
                }
                // Never: the places were closed.
                Some(None) => return,
                None => self.serve_at_last(serve),
            }
        }
        for accepted in queued(socket) {
            self.serve_at_last(serving(accepted));
        }
    }

    /// Serves a connection that was accepted at the end, if it gets a place in time: nobody else takes it up, and its client has sent its
    /// request.
    fn serve_at_last<F>(&self, serve: impl FnOnce(Place) -> F + Send + 'static)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let (places, closing) = (self.places.clone(), self.closing.clone());
        self.tasks.spawn(async move {
            if let Some(Some(place)) = closing.run_until_cancelled(places.take()).await {
                serve(place).await;
            }
        });
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
            Ok(of_tcp(stream, peer))
        }
        Socket::Unix(listener) => Ok(Accepted::Unix(listener.accept().await?.0)),
    }
}

fn of_tcp(stream: TcpStream, peer: SocketAddr) -> Accepted {
    socket::tune(&stream);
    Accepted::Tcp(stream, peer)
}

/// Those who are connected, of whom the kernel alone knows: it would reset them with the socket, which is closed after this.
fn queued(socket: Socket) -> Vec<Accepted> {
    // Asked directly: the runtime may not have heard of them yet.
    let taken = match socket {
        Socket::Tcp(listener) => listener.into_std().map(|listener| {
            all_of(|| {
                let (stream, peer) = listener.accept()?;
                stream.set_nonblocking(true)?;
                Ok(of_tcp(TcpStream::from_std(stream)?, peer))
            })
        }),
        Socket::Unix(listener) => listener.into_std().map(|listener| {
            all_of(|| {
                let (stream, _) = listener.accept()?;
                stream.set_nonblocking(true)?;
                Ok(Accepted::Unix(UnixStream::from_std(stream)?))
            })
        }),
    };
    taken.unwrap_or_default()
}

/// All that can be had without waiting, and no more than may queue: others may come all the time.
fn all_of(mut accept: impl FnMut() -> io::Result<Accepted>) -> Vec<Accepted> {
    let most = usize::try_from(BACKLOG).unwrap_or(usize::MAX);
    let mut taken = Vec::new();
    while taken.len() < most {
        match accept() {
            Ok(accepted) => taken.push(accepted),
            Err(error) if is_of_one_connection(&error) => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => break,
            Err(error) => {
                warn!(%error, "connections that wait at the end cannot be accepted");
                break;
            }
        }
    }
    taken
}

/// Whether the connection failed rather than the accepting: its peer left before it was taken.
fn is_of_one_connection(error: &io::Error) -> bool {
    use ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset, Interrupted};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset | Interrupted)
}
