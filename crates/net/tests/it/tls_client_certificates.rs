//! Certificates of clients, seen by this server itself (RFC 8705).

use std::io;
use std::sync::Arc;

use axum::body::Body;
use axum::routing::get;
use axum::{Extension, Router};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::{ClientConfig, ConfigBuilder, HandshakeKind, RootCertStore, SupportedProtocolVersion, client};
use sluice_net::{Limits, PeerCertificates, SelfSigned, TlsAcceptorHandle, self_signed};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::given::*;

const TLS_1_2: &[&SupportedProtocolVersion] = &[&rustls::version::TLS12];
const TLS_1_3: &[&SupportedProtocolVersion] = &[&rustls::version::TLS13];
const NONE_SHOWN: &str = "none.";

fn certificate(host: &str) -> SelfSigned {
    self_signed(&[host.into()], now()).unwrap()
}

fn der(certificate: &SelfSigned) -> CertificateDer<'static> {
    CertificateDer::from_pem_slice(certificate.certificate.as_bytes()).unwrap()
}

fn key(certificate: &SelfSigned) -> PrivateKeyDer<'static> {
    PrivateKeyDer::from_pem_slice(certificate.private_key.expose().as_bytes()).unwrap()
}

/// How `router` tells of a chain.
fn told<'a>(chain: impl IntoIterator<Item = &'a [u8]>) -> String {
    let chain: Vec<String> = chain.into_iter().map(|certificate| STANDARD.encode(certificate)).collect();
    format!("{}.", chain.join(","))
}

/// Answers with the certificates that a request carries.
fn router() -> Router {
    let tell = |certificates: Option<Extension<PeerCertificates>>| async {
        certificates.map_or_else(
            || NONE_SHOWN.to_owned(),
            |Extension(PeerCertificates(chain))| told(chain.iter().map(Vec::as_slice)),
        )
    };
    Router::new().route("/", get(tell))
}

struct Given {
    server: Running,
    own: SelfSigned,
}

async fn server(tls: impl FnOnce(TlsAcceptorHandle) -> TlsAcceptorHandle) -> Given {
    let own = certificate("localhost");
    let server = running_tls(tls(own.acceptor().unwrap()), router(), Limits::default()).await;
    Given { server, own }
}

async fn asking_server() -> Given {
    server(TlsAcceptorHandle::requesting_client_certificates).await
}

impl Given {
    fn client(
        &self,
        versions: &[&'static SupportedProtocolVersion],
    ) -> ConfigBuilder<ClientConfig, client::WantsClientCert> {
        let mut roots = RootCertStore::empty();
        roots.add(der(&self.own)).unwrap();
        let provider = Arc::new(aws_lc_rs::default_provider());
        ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(versions)
            .unwrap()
            .with_root_certificates(roots)
    }

    async fn connect(&self, config: &Arc<ClientConfig>) -> io::Result<TlsStream<TcpStream>> {
        let name = ServerName::try_from("localhost").unwrap();
        in_time(TlsConnector::from(config.clone()).connect(name, self.server.connect().await)).await
    }

    /// What the server says; nothing if it refuses the client, in the handshake or after what the client takes for
    /// its end.
    async fn try_ask(&self, config: ClientConfig) -> String {
        match self.connect(&Arc::new(config)).await {
            Ok(mut stream) => ask(&mut stream).await,
            Err(_) => String::new(),
        }
    }
}

/// What the server says over HTTP/1.1, to the end of its answer; nothing if it hangs up.
async fn ask(stream: &mut TlsStream<TcpStream>) -> String {
    say(stream, GET).await;
    let answer = answer_until(stream, ".").await;
    answer.rsplit("\r\n").next().unwrap_or_default().to_owned()
}

#[tokio::test]
async fn a_self_signed_certificate_is_seen_with_all_that_came_with_it() {
    let given = asking_server().await;
    let (leaf, other) = (certificate("client"), certificate("issuer"));
    for versions in [TLS_1_2, TLS_1_3] {
        let chain = vec![der(&leaf), der(&other)];
        let config = given.client(versions).with_client_auth_cert(chain, key(&leaf)).unwrap();
        let mut stream = given.connect(&Arc::new(config)).await.unwrap();
        for _ in 0..2 {
            assert_eq!(ask(&mut stream).await, told([der(&leaf).as_ref(), der(&other).as_ref()]));
        }
    }
}

#[tokio::test]
async fn a_client_without_a_certificate_is_served_without() {
    let given = asking_server().await;
    for versions in [TLS_1_2, TLS_1_3] {
        let config = given.client(versions).with_no_client_auth();
        let mut stream = given.connect(&Arc::new(config)).await.unwrap();
        assert_eq!(ask(&mut stream).await, NONE_SHOWN);
    }
}

#[tokio::test]
async fn a_certificate_is_seen_over_http_2() {
    let given = asking_server().await;
    let leaf = certificate("client");
    let mut config = given.client(TLS_1_3).with_client_auth_cert(vec![der(&leaf)], key(&leaf)).unwrap();
    config.alpn_protocols = vec![b"h2".to_vec()];
    let stream = given.connect(&Arc::new(config)).await.unwrap();
    let (mut sender, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    for _ in 0..2 {
        let request = http::Request::get("https://localhost/").body(Body::empty()).unwrap();
        let response = in_time(sender.send_request(request)).await.unwrap();
        let body = axum::body::to_bytes(Body::new(response.into_body()), 4096).await.unwrap();
        assert_eq!(body, told([der(&leaf).as_ref()]));
    }
}

#[tokio::test]
async fn a_resumed_session_still_has_its_certificate() {
    let given = asking_server().await;
    let leaf = certificate("client");
    for versions in [TLS_1_2, TLS_1_3] {
        let config = given.client(versions).with_client_auth_cert(vec![der(&leaf)], key(&leaf)).unwrap();
        let config = Arc::new(config);
        for expected in [HandshakeKind::Full, HandshakeKind::Resumed, HandshakeKind::Resumed] {
            let mut stream = given.connect(&config).await.unwrap();
            assert_eq!(stream.get_ref().1.handshake_kind(), Some(expected));
            assert_eq!(ask(&mut stream).await, told([der(&leaf).as_ref()]));
        }
    }
}

#[tokio::test]
async fn a_certificate_of_which_the_client_lacks_the_key_is_refused() {
    let given = asking_server().await;
    let (stolen, own) = (certificate("client"), certificate("thief"));
    for versions in [TLS_1_2, TLS_1_3] {
        let signing_key = aws_lc_rs::sign::any_supported_type(&key(&own)).unwrap();
        let pretended = SingleCertAndKey::from(CertifiedKey::new(vec![der(&stolen)], signing_key));
        let config = given.client(versions).with_client_cert_resolver(Arc::new(pretended));
        assert_eq!(given.try_ask(config).await, "");
    }
}

#[tokio::test]
async fn a_chain_is_taken_and_resumed_up_to_the_length_that_a_ticket_may_have() {
    let given = asking_server().await;
    let leaf = certificate("client");
    let most = 16 * 1024 / der(&leaf).len();
    for versions in [TLS_1_2, TLS_1_3] {
        let chain = vec![der(&leaf); most];
        let config = given.client(versions).with_client_auth_cert(chain.clone(), key(&leaf)).unwrap();
        let config = Arc::new(config);
        for expected in [HandshakeKind::Full, HandshakeKind::Resumed] {
            let mut stream = given.connect(&config).await.unwrap();
            assert_eq!(stream.get_ref().1.handshake_kind(), Some(expected));
            assert_eq!(ask(&mut stream).await, told(chain.iter().map(AsRef::as_ref)));
        }
        let chain = vec![der(&leaf); most + 1];
        let config = given.client(versions).with_client_auth_cert(chain, key(&leaf)).unwrap();
        assert_eq!(given.try_ask(config).await, "");
    }
}

#[tokio::test]
async fn nobody_is_asked_for_a_certificate_unless_the_listener_says_so() {
    let given = server(|tls| tls).await;
    let leaf = certificate("client");
    let config = given.client(TLS_1_3).with_client_auth_cert(vec![der(&leaf)], key(&leaf)).unwrap();
    let mut stream = given.connect(&Arc::new(config)).await.unwrap();
    assert_eq!(ask(&mut stream).await, NONE_SHOWN);
}

#[tokio::test]
async fn a_session_of_a_listener_that_does_not_ask_is_not_resumed_where_one_does() {
    let own = certificate("localhost");
    let tls = own.acceptor().unwrap();
    let silent = running_tls(tls.clone(), router(), Limits::default()).await;
    let asking = running_tls(tls.requesting_client_certificates(), router(), Limits::default()).await;
    let (silent, asking) = (Given { server: silent, own: own.clone() }, Given { server: asking, own });
    let leaf = certificate("client");
    let config = silent.client(TLS_1_3).with_client_auth_cert(vec![der(&leaf)], key(&leaf)).unwrap();
    let config = Arc::new(config);
    assert_eq!(ask(&mut silent.connect(&config).await.unwrap()).await, NONE_SHOWN);
    let mut stream = asking.connect(&config).await.unwrap();
    assert_eq!(stream.get_ref().1.handshake_kind(), Some(HandshakeKind::Full));
    assert_eq!(ask(&mut stream).await, told([der(&leaf).as_ref()]));
}
