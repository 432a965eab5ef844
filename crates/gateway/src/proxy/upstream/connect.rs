//! A connection to a server: TCP, TLS.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use socket2::{SockRef, TcpKeepalive};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::ClientConfig;
use tokio_rustls::rustls::pki_types::ServerName;
use tracing::{info, warn};

use super::config::UpstreamProtocol;
use super::dial::dial;
use super::health::Server;
use super::shared::SharedUpstream;
use crate::proxy::fault::Fault;

/// How long a server may be silent before the kernel asks whether its machine is there.
const PROBE_AFTER: Duration = Duration::from_secs(20);
/// How long after that it asks again, and how often in all.
const PROBE_EVERY: Duration = Duration::from_secs(5);
const PROBES: u32 = 3;
/// How long a server may leave sent bytes unacknowledged.
#[cfg(target_os = "linux")]
const UNACKNOWLEDGED_FOR: Duration = Duration::from_secs(30);

/// What is said of a certificate that a server shows for its own and that may issue others, as `openssl req -x509` makes them.
const OF_AN_AUTHORITY: &str = "CaUsedAsEndEntity";

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

/// Connects to `server`, however many connections to it are being made: for who asks how it is. Why it does not come to that is
/// said here alone.
pub(super) async fn connect_uncounted(upstream: &SharedUpstream, server: &Server) -> Result<Wire, Fault> {
    let name = &upstream.config.name;
    let (fault, error) = match timeout(upstream.config.timeouts.connect, reach(upstream, server)).await {
        Ok(Ok(wire)) => {
            if server.is_back() {
                info!(upstream = %name, server = %server.label, "a server can be reached again");
            }
            return Ok(wire);
        }
        Ok(Err(error)) => (Fault::Connect, explained(error)),
        Err(elapsed) => (Fault::ConnectTimeout, elapsed.into()),
    };
    if server.is_to_be_reported() {
        warn!(upstream = %name, server = %server.label, %error, "a server cannot be reached");
    }
    Err(fault)
}

/// An error, with what to do about it where its own words do not tell.
fn explained(error: io::Error) -> io::Error {
    if !error.to_string().contains(OF_AN_AUTHORITY) {
        return error;
    }
    io::Error::other(format!(
        "{error}: the certificate of the server is that of an authority (CA:TRUE); make it with \
         `-addext basicConstraints=critical,CA:FALSE`, or one for the server with that of the authority"
    ))
}

async fn reach(upstream: &SharedUpstream, server: &Server) -> io::Result<Wire> {
    let tcp = dial(&server.config.host, server.config.port, upstream.config.timeouts.connect).await?;
    tcp.set_nodelay(true)?;
    probe(&tcp);
    #[cfg(target_os = "linux")]
    bound_silence(&tcp, upstream);
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

/// Has the kernel ask whether the other machine is there. A connection that refuses it is used all the same, here and below.
fn probe(tcp: &TcpStream) {
    let probes = TcpKeepalive::new().with_time(PROBE_AFTER).with_interval(PROBE_EVERY).with_retries(PROBES);
    let _ = SockRef::from(tcp).set_tcp_keepalive(&probes);
}

/// Has the kernel give up a server that acknowledges nothing: probes are not sent while it is to acknowledge something.
#[cfg(target_os = "linux")]
fn bound_silence(tcp: &TcpStream, upstream: &SharedUpstream) {
    let longest = match upstream.config.protocol {
        // The kernel counts a server that is there and does not read, too. Here that is an upload that stands still, and the gateway
        // itself says for how long it may.
        UpstreamProtocol::Http1 => upstream.config.timeouts.idle.saturating_add(UNACKNOWLEDGED_FOR),
        UpstreamProtocol::Http2 => UNACKNOWLEDGED_FOR,
    };
    let _ = SockRef::from(tcp).set_tcp_user_timeout(Some(longest));
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
    use std::path::Path;

    use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair};
    use sluice_net::{ClientTls, SelfSigned, self_signed};
    use sluice_primitives::{Clock, Secret, SystemClock};
    use sluice_testkit::Captured;
    use tokio::net::TcpListener;
    use tokio_rustls::TlsAcceptor;
    use tokio_rustls::rustls::ServerConfig as TlsServerConfig;
    use tokio_rustls::rustls::crypto::aws_lc_rs;
    use tokio_rustls::rustls::pki_types::pem::PemObject;
    use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

    use super::super::config::{UpstreamConfig, UpstreamTls};
    use super::super::given;
    use super::super::tls_client::TlsClient;
    use super::*;

    fn certificate() -> SelfSigned {
        self_signed(&["localhost".to_owned()], SystemClock.now()).unwrap()
    }

    /// Serves TLS with this certificate; its port.
    async fn serve(own: &SelfSigned) -> u16 {
        let chain = CertificateDer::pem_slice_iter(own.certificate.as_bytes()).map(Result::unwrap).collect();
        let key = PrivateKeyDer::from_pem_slice(own.private_key.expose().as_bytes()).unwrap();
        let config = TlsServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .unwrap();
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(acceptor.accept(stream));
            }
        });
        port
    }

    /// The same over TLS: it must show what is in `ca_file`.
    fn trusting(ca_file: &Path, port: u16) -> SharedUpstream {
        let files = ClientTls { ca_file: Some(ca_file.to_owned()), ..ClientTls::default() };
        let mut config = given::upstream("shop", &[port]);
        config.servers[0].tls = true;
        let client = Some(TlsClient::read(&files).unwrap());
        config.tls = UpstreamTls { server_name: Some("localhost".into()), client };
        SharedUpstream::new(Arc::new(config), 1, None)
    }

    /// With PINGs alone it would take minutes over HTTP/2.
    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn the_kernel_finds_out_that_the_machine_of_a_server_is_gone() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        for (protocol, longest) in [(UpstreamProtocol::Http2, 30), (UpstreamProtocol::Http1, 90)] {
            let upstream = Arc::new(UpstreamConfig { protocol, ..given::upstream("shop", &[port]) });
            let upstream = SharedUpstream::new(upstream, 1, None);
            let Ok(Wire::Plain(tcp)) = connect(&upstream, &upstream.servers[0]).await else {
                panic!("no connection");
            };
            let socket = SockRef::from(&tcp);
            assert!(socket.keepalive().unwrap());
            let every = (socket.tcp_keepalive_time().unwrap(), socket.tcp_keepalive_interval().unwrap());
            assert_eq!(every, (Duration::from_secs(20), Duration::from_secs(5)));
            assert_eq!(socket.tcp_keepalive_retries().unwrap(), 3);
            let longest = Some(Duration::from_secs(longest));
            assert_eq!(socket.tcp_user_timeout().unwrap(), longest, "{protocol:?}");
        }
    }

    #[tokio::test]
    async fn why_a_server_cannot_be_reached_is_logged_and_that_it_can_be_again() {
        let (log, _guard) = Captured::begin();
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let (own, other) = (certificate(), certificate());
        std::fs::write(path("own.pem"), &own.certificate).unwrap();
        std::fs::write(path("other.pem"), &other.certificate).unwrap();
        let port = serve(&own).await;
        let (wrong, right) = (trusting(&path("other.pem"), port), trusting(&path("own.pem"), port));
        let server = &wrong.servers[0];
        for _ in 0..3 {
            assert_eq!(connect(&wrong, server).await.err(), Some(Fault::Connect));
        }
        let said = log.lines("a server cannot be reached");
        let [why] = said.as_slice() else { panic!("{said:?}") };
        assert!(why.contains("invalid peer certificate") && why.contains("shop"), "{why}");
        assert_eq!(log.lines("again").len(), 0);
        for _ in 0..2 {
            assert!(connect(&right, server).await.is_ok());
        }
        assert_eq!(log.lines("a server can be reached again").len(), 1);
    }

    #[tokio::test]
    async fn what_to_do_about_a_server_that_shows_the_certificate_of_an_authority_is_logged() {
        let (log, _guard) = Captured::begin();
        let folder = tempfile::tempdir().unwrap();
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(["localhost".to_owned()]).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let authority = SelfSigned {
            certificate: params.self_signed(&key).unwrap().pem(),
            private_key: Secret::new(key.serialize_pem()),
        };
        let path = folder.path().join("authority.pem");
        std::fs::write(&path, &authority.certificate).unwrap();
        let upstream = trusting(&path, serve(&authority).await);
        assert_eq!(connect(&upstream, &upstream.servers[0]).await.err(), Some(Fault::Connect));
        let said = log.lines("a server cannot be reached");
        let [why] = said.as_slice() else { panic!("{said:?}") };
        assert!(why.contains(OF_AN_AUTHORITY) && why.contains("CA:FALSE"), "{why}");
    }

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
