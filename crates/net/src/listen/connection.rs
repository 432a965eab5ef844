//! One connection: the TLS handshake, then HTTP until it ends.

use std::io;
use std::pin::{Pin, pin};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body::Body;
use hyper::service::Service;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::{Builder, UpgradeableConnection};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tokio_util::sync::CancellationToken;
use tracing::debug;

use super::client_io::{ClientIo, Ends};
use super::counted::Counted;
use super::incoming_body::IncomingBody;
use super::limits::Limits;
use super::places::Place;
use super::record::Drainable;
use super::request_facts::{ConnectionFacts, PeerAddress};
use super::supervision::Supervision;
use super::{BoxError, Unreadable};
use crate::tls::{ALPN_HTTP_2, TlsAcceptorHandle};

/// The least buffer that hyper takes.
const LEAST_HEADER_BYTES: u32 = 8 * 1024;
/// How much of a body is taken over HTTP/2 before it is wanted. A connection takes as much for all of its streams together:
/// one that nobody reads does not hold up the others.
const STREAM_WINDOW: u32 = 64 * 1024;
/// It takes no less than this. Half of what it takes is also what h2 grants it for what waits in frames of less than 256 bytes: each
/// costs what it has less than these until it is read, and h2 ends a connection that costs more, with all of its streams. 128 streams
/// that are full of frames of 55 bytes cost 29 MiB. Anybody may make it cost as much.
const LEAST_WINDOW: u32 = 64 << 20;
/// The most that HTTP/2 knows (RFC 9113 §6.9.1).
const MOST_WINDOW: u32 = (1 << 31) - 1;
/// The first byte of a TLS connection: a handshake record (RFC 8446 §5.1). No HTTP request begins with it.
const TLS_HANDSHAKE: u8 = 22;

type HttpBuilder = Builder<TokioExecutor>;

/// What the connections of a listener share.
pub(super) struct Connections<M> {
    tls: Option<TlsAcceptorHandle>,
    handshake_timeout: Duration,
    /// Makes the service of a connection.
    make: M,
    unreadable: Option<Unreadable>,
    builders: Builders,
    ends: Ends,
    supervision: Supervision,
    shutdown: CancellationToken,
}

/// HTTP settings by what is known of the version.
struct Builders {
    any: HttpBuilder,
    http1: HttpBuilder,
    http2: HttpBuilder,
}

impl<M> Connections<M> {
    pub(super) fn new(
        tls: Option<TlsAcceptorHandle>,
        (make, unreadable): (M, Option<Unreadable>),
        limits: &Limits,
        shutdown: CancellationToken,
    ) -> Self {
        Self {
            tls,
            handshake_timeout: limits.tls_handshake_timeout,
            make,
            unreadable,
            builders: Builders {
                any: http_builder(limits),
                http1: http_builder(limits).http1_only(),
                http2: http_builder(limits).http2_only(),
            },
            ends: Ends::new(limits),
            supervision: Supervision::new(limits),
            shutdown,
        }
    }

    pub(super) fn supervision(&self) -> &Supervision {
        &self.supervision
    }

    /// The connection once encrypted, or as it is if it may be plain. `None`: it ended in the handshake.
    async fn handshake(&self, tls: &TlsAcceptorHandle, stream: TcpStream) -> Option<MaybeTls> {
        let shaking = async {
            if tls.accepts_plain_http() && !begins_with_tls(&stream).await? {
                return Ok(MaybeTls::Plain(stream));
            }
            let acceptor = TlsAcceptor::from(tls.server_config());
            acceptor.accept(stream).await.map(|stream| MaybeTls::Tls(Box::new(stream)))
        };
        match self.shutdown.run_until_cancelled(timeout(self.handshake_timeout, shaking)).await? {
            Ok(Ok(stream)) => Some(stream),
            Ok(Err(error)) => {
                debug!(%error, "a TLS handshake failed");
                None
            }
            Err(_) => {
                debug!("a TLS handshake took too long");
                None
            }
        }
    }
}

impl<M, S, B> Connections<M>
where
    M: Fn(ConnectionFacts) -> S,
    S: Service<Request<IncomingBody>, Response = Response<B>> + Send + 'static,
    S::Future: Send + 'static,
    S::Error: Into<BoxError>,
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    /// Serves a TCP connection to its end, or until it is HTTP no more. It keeps its `place` beyond that.
    pub(super) async fn serve_tcp(&self, stream: TcpStream, peer: PeerAddress, place: Place) {
        let Some(tls) = &self.tls else {
            return self.serve(&self.builders.any, stream, ConnectionFacts::plain(peer), place).await;
        };
        match self.handshake(tls, stream).await {
            Some(MaybeTls::Plain(stream)) => {
                self.serve(&self.builders.any, stream, ConnectionFacts::plain(peer), place).await;
            }
            Some(MaybeTls::Tls(stream)) => {
                let (_, session) = stream.get_ref();
                let is_http2 = session.alpn_protocol() == Some(ALPN_HTTP_2);
                let facts = ConnectionFacts::encrypted(peer, session.peer_certificates());
                let builder = if is_http2 { &self.builders.http2 } else { &self.builders.http1 };
                self.serve(builder, stream, facts, place).await;
            }
            None => {}
        }
    }

    /// The same of a Unix socket.
    pub(super) async fn serve_unix(&self, stream: UnixStream, place: Place) {
        self.serve(&self.builders.any, stream, ConnectionFacts::plain(PeerAddress::UNIX), place).await;
    }

    async fn serve<I>(&self, builder: &HttpBuilder, stream: I, facts: ConnectionFacts, place: Place)
    where
        I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let (member, peer) = (self.supervision.enter(), facts.peer);
        let service = Counted { inner: (self.make)(facts), record: member.record.clone() };
        let stream = TokioIo::new(ClientIo::new(stream, member.record.clone(), self.ends, place));
        let connection = builder.serve_connection_with_upgrades(stream, service);
        let ended = member.record.supervise(pin!(connection)).await;
        let refused = if member.record.has_refused_late() {
            Some(StatusCode::REQUEST_TIMEOUT)
        } else {
            ended.as_ref().and_then(|ended| refused_with(ended.as_ref().err()?))
        };
        if let (Some(hear), Some(status)) = (&self.unreadable, refused) {
            hear(peer, status);
        }
        match ended {
            Some(Ok(())) => {}
            Some(Err(error)) => debug!(error, "a connection failed"),
            None => debug!("a connection was cut"),
        }
    }
}

enum MaybeTls {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

impl<I, S, B> Drainable for UpgradeableConnection<'_, TokioIo<I>, Counted<S>, TokioExecutor>
where
    I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    S: Service<Request<IncomingBody>, Response = Response<B>> + Send + 'static,
    S::Future: Send + 'static,
    S::Error: Into<BoxError>,
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    fn drain(self: Pin<&mut Self>) {
        self.graceful_shutdown();
    }
}

/// With which status hyper refused a request that it could not read; `None`: the connection failed otherwise.
fn refused_with(error: &BoxError) -> Option<StatusCode> {
    let error = error.downcast_ref::<hyper::Error>().filter(|error| error.is_parse())?;
    let is_too_large = error.is_parse_too_large();
    Some(if is_too_large { StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE } else { StatusCode::BAD_REQUEST })
}

async fn begins_with_tls(stream: &TcpStream) -> io::Result<bool> {
    let mut first = [0];
    let read = stream.peek(&mut first).await?;
    Ok(read == 0 || first == [TLS_HANDSHAKE])
}

/// hyper's own timer for request heads stays off: it is made anew for each request (see `supervision`). Names of headers
/// are written as Go writes them (`Link`): some clients of Hydra's look them up by case.
///
/// A client over HTTP/2 from which nothing has come for long is asked whether it lives: one that does not answer would not
/// answer the PING either for which a connection waits that is told to end (RFC 9113 §6.8), and would stay for ever.
fn http_builder(limits: &Limits) -> HttpBuilder {
    let header_bytes = limits.max_header_bytes.max(LEAST_HEADER_BYTES);
    let mut builder = Builder::new(TokioExecutor::new());
    builder
        .http1()
        .header_read_timeout(None)
        .title_case_headers(true)
        // Head and body are copied together and sent: that costs less than a system call with two parts.
        .writev(false)
        .max_buf_size(usize::try_from(header_bytes).unwrap_or(usize::MAX));
    let all_streams = STREAM_WINDOW.saturating_mul(limits.max_concurrent_streams);
    builder
        .http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(limits.keep_alive_timeout)
        .keep_alive_timeout(limits.pong_timeout)
        .max_header_list_size(header_bytes)
        .max_concurrent_streams(limits.max_concurrent_streams)
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(all_streams.clamp(LEAST_WINDOW, MOST_WINDOW));
    builder
}
