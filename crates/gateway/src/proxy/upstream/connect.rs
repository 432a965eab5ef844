//! A connection to a server: name, TCP, TLS.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::ClientConfig;
use tokio_rustls::rustls::pki_types::ServerName;
use tracing::debug;

use super::config::UpstreamProtocol;
use super::health::Server;
use super::shared::SharedUpstream;
use crate::proxy::fault::Fault;

/// A connection, encrypted or not.
#[derive(Debug)]
pub(super) enum Wire {
    /// TCP.
    Plain(TcpStream),
    /// TLS.
    Tls(Box<TlsStream<TcpStream>>),
}

/// One of the connections being made to a server.
struct Connecting<'a>(&'a AtomicUsize);

impl<'a> Connecting<'a> {
    /// Counts one more, if there may be.
    fn begin(count: &'a AtomicUsize, most: usize) -> Result<Self, Fault> {
        let counted = Self(count);
        if count.fetch_add(1, Ordering::Relaxed) < most { Ok(counted) } else { Err(Fault::Overloaded) }
    }
}

impl Drop for Connecting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Connects to `server` for a request, in the time that its upstream grants, if there may be one more connection being made to it: one
/// that does not answer takes no places of the others.
pub(super) async fn connect(upstream: &SharedUpstream, server: &Server) -> Result<Wire, Fault> {
    let _counted = Connecting::begin(&server.connecting, upstream.config.breaker.connecting.get())?;
    connect_uncounted(upstream, server).await
}

/// Connects to `server`, however many connections to it are being made: for who asks how it is.
pub(super) async fn connect_uncounted(upstream: &SharedUpstream, server: &Server) -> Result<Wire, Fault> {
    match timeout(upstream.config.timeouts.connect, reach(upstream, server)).await {
        Ok(Ok(wire)) => Ok(wire),
        Ok(Err(error)) => {
            debug!(server = %server.label, %error, "a server cannot be reached");
            Err(Fault::Connect)
        }
        Err(_) => Err(Fault::ConnectTimeout),
    }
}

async fn reach(upstream: &SharedUpstream, server: &Server) -> io::Result<Wire> {
    let tcp = TcpStream::connect((server.config.host.as_str(), server.config.port)).await?;
    tcp.set_nodelay(true)?;
    if !server.config.tls {
        return Ok(Wire::Plain(tcp));
    }
    let config = upstream.tls.clone().ok_or_else(|| io::Error::other("TLS is not set up"))?;
    let name = upstream.config.tls.server_name.as_ref().unwrap_or(&server.config.host);
    let stream = encrypt(tcp, config, name.clone()).await?;
    let (_, session) = stream.get_ref();
    if upstream.config.protocol == UpstreamProtocol::Http2 && session.alpn_protocol() != Some(b"h2") {
        return Err(io::Error::other("the server does not speak HTTP/2"));
    }
    Ok(Wire::Tls(Box::new(stream)))
}

async fn encrypt(
    tcp: TcpStream,
    config: Arc<ClientConfig>,
    name: String,
) -> io::Result<TlsStream<TcpStream>> {
    let name = ServerName::try_from(name).map_err(io::Error::other)?;
    TlsConnector::from(config).connect(name, tcp).await
}

impl AsyncRead for Wire {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(tcp) => Pin::new(tcp).poll_read(context, buffer),
            Self::Tls(tls) => Pin::new(tls).poll_read(context, buffer),
        }
    }
}

impl AsyncWrite for Wire {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(tcp) => Pin::new(tcp).poll_write(context, bytes),
            Self::Tls(tls) => Pin::new(tls).poll_write(context, bytes),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match (self.get_mut(), parts) {
            // A head without a body: the system has less to do for one part.
            (Self::Plain(tcp), [only]) => Pin::new(tcp).poll_write(context, only),
            (Self::Plain(tcp), parts) => Pin::new(tcp).poll_write_vectored(context, parts),
            (Self::Tls(tls), parts) => Pin::new(tls).poll_write_vectored(context, parts),
        }
    }

    fn is_write_vectored(&self) -> bool {
        match self {
            Self::Plain(tcp) => tcp.is_write_vectored(),
            Self::Tls(tls) => tls.is_write_vectored(),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(tcp) => Pin::new(tcp).poll_flush(context),
            Self::Tls(tls) => Pin::new(tls).poll_flush(context),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(tcp) => Pin::new(tcp).poll_shutdown(context),
            Self::Tls(tls) => Pin::new(tls).poll_shutdown(context),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_connections_are_begun_than_may_be_and_those_that_ended_do_not_count() {
        let count = AtomicUsize::new(0);
        let one = Connecting::begin(&count, 1);
        assert!(one.is_ok());
        assert!(Connecting::begin(&count, 1).is_err() && Connecting::begin(&count, 1).is_err());
        drop(one);
        assert!(Connecting::begin(&count, 1).is_ok());
    }
}
