//! One connection: the TLS handshake, then HTTP until it ends.

use std::io;
use std::pin::{Pin, pin};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body::Body;
use hyper::server::conn::{http1, http2};
use hyper::service::Service;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
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
use super::supervision::{Membership, Supervision};
use super::versions::Builders;
use super::{BoxError, Unreadable};
use crate::tls::{ALPN_HTTP_2, TlsAcceptorHandle};

/// The first byte of a TLS connection: a handshake record (RFC 8446 §5.1). No HTTP request begins with it.
const TLS_HANDSHAKE: u8 = 22;

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
    /// Cancelled when handshakes are waited for no longer.
    closing: CancellationToken,
}

/// A connection that is in the list, and what of it is served.
struct Entered<'a, I, S> {
    member: Membership<'a>,
    peer: PeerAddress,
    io: TokioIo<ClientIo<I>>,
    service: Counted<S>,
}

impl<M> Connections<M> {
    pub(super) fn new(
        tls: Option<TlsAcceptorHandle>,
        (make, unreadable): (M, Option<Unreadable>),
        limits: &Limits,
        closing: CancellationToken,
    ) -> Self {
        Self {
            tls,
            handshake_timeout: limits.tls_handshake_timeout,
            make,
            unreadable,
            builders: Builders::new(limits),
            ends: Ends::new(limits),
            supervision: Supervision::new(limits),
            closing,
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
        match self.closing.run_until_cancelled(timeout(self.handshake_timeout, shaking)).await? {
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
            return self.serve(stream, ConnectionFacts::plain(peer), place).await;
        };
        match self.handshake(tls, stream).await {
            Some(MaybeTls::Plain(stream)) => self.serve(stream, ConnectionFacts::plain(peer), place).await,
            Some(MaybeTls::Tls(stream)) => self.serve_tls(stream, peer, place).await,
            None => {}
        }
    }

    /// The same of a Unix socket.
    pub(super) async fn serve_unix(&self, stream: UnixStream, place: Place) {
        self.serve(stream, ConnectionFacts::plain(PeerAddress::UNIX), place).await;
    }

    /// In the version that was agreed on, and no other (RFC 7301 §3.2).
    async fn serve_tls(&self, stream: Box<TlsStream<TcpStream>>, peer: PeerAddress, place: Place) {
        let (_, session) = stream.get_ref();
        let is_http2 = session.alpn_protocol().map(|agreed| agreed == ALPN_HTTP_2);
        let facts = ConnectionFacts::encrypted(peer, session.peer_certificates());
        match is_http2 {
            Some(true) => {
                let Entered { member, peer, io, service } = self.enter(stream, facts, place);
                let connection = self.builders.http2.serve_connection(io, service);
                let ended = member.record.supervise(pin!(connection)).await;
                self.tell_end(&member, peer, ended);
            }
            Some(false) => {
                let Entered { member, peer, io, service } = self.enter(stream, facts, place);
                let connection = self.builders.http1.serve_connection(io, service).with_upgrades();
                let ended = member.record.supervise(pin!(connection)).await;
                self.tell_end(&member, peer, ended);
            }
            None => self.serve(stream, facts, place).await,
        }
    }

    /// In the version that its client begins with.
    async fn serve<I>(&self, stream: I, facts: ConnectionFacts, place: Place)
    where
        I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let Entered { member, peer, io, service } = self.enter(stream, facts, place);
        let connection = self.builders.any.serve_connection_with_upgrades(io, service);
        let ended = member.record.supervise(pin!(connection)).await;
        self.tell_end(&member, peer, ended);
    }

    fn enter<I>(&self, stream: I, facts: ConnectionFacts, place: Place) -> Entered<'_, I, S> {
        let (member, peer) = (self.supervision.enter(), facts.peer);
        let service = Counted { inner: (self.make)(facts), record: member.record.clone() };
        let io = TokioIo::new(ClientIo::new(stream, member.record.clone(), self.ends, place));
        Entered { member, peer, io, service }
    }

    fn tell_end<E>(&self, member: &Membership<'_>, peer: PeerAddress, ended: Option<Result<(), E>>)
    where
        E: Into<BoxError>,
    {
        let ended: Option<Result<(), BoxError>> = ended.map(|ended| ended.map_err(Into::into));
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

impl<I, S, B> Drainable for auto::UpgradeableConnection<'_, TokioIo<I>, Counted<S>, TokioExecutor>
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

impl<I, S, B> Drainable for http1::UpgradeableConnection<TokioIo<I>, Counted<S>>
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

impl<I, S, B> Drainable for http2::Connection<TokioIo<I>, Counted<S>, TokioExecutor>
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

/// With which status hyper refused a request that it could not read; `None`: the connection failed otherwise. One that begins as HTTP/2
/// where HTTP/1.1 was agreed on gets no answer.
fn refused_with(error: &BoxError) -> Option<StatusCode> {
    let error = error.downcast_ref::<hyper::Error>().filter(|error| error.is_parse())?;
    if error.is_parse_version_h2() {
        return None;
    }
    let is_too_large = error.is_parse_too_large();
    Some(if is_too_large { StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE } else { StatusCode::BAD_REQUEST })
}

async fn begins_with_tls(stream: &TcpStream) -> io::Result<bool> {
    let mut first = [0];
    let read = stream.peek(&mut first).await?;
    Ok(read == 0 || first == [TLS_HANDSHAKE])
}
