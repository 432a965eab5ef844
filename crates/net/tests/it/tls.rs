//! TLS: versions of HTTP, and certificates that change.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use axum::routing::get;
use axum::{Extension, Router};
use base64::Engine;
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use sluice_net::{
    AcceptorError, Limits, PemSource, Reload, SelfSigned, TlsAcceptorHandle, TlsError, Transport, self_signed,
};
use sluice_primitives::Secret;
use sluice_testkit::Captured;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_util::sync::CancellationToken;

use crate::given::*;

pub(crate) fn certificate() -> SelfSigned {
    self_signed(&["localhost".into(), "127.0.0.1".into()], now()).unwrap()
}

pub(crate) fn router() -> Router {
    let told = |Extension(transport): Extension<Transport>| async move { format!("tls: {}", transport.tls) };
    Router::new().route("/", get(told))
}

/// Shakes hands as a client that trusts `trusted` and offers `alpn`.
pub(crate) async fn handshake(
    server: &Running,
    trusted: &SelfSigned,
    alpn: &[&str],
) -> std::io::Result<TlsStream<TcpStream>> {
    handshake_with(server, "localhost", trusted, alpn).await
}

/// The same, with the host of that name.
pub(crate) async fn handshake_with(
    server: &Running,
    host: &'static str,
    trusted: &SelfSigned,
    alpn: &[&str],
) -> std::io::Result<TlsStream<TcpStream>> {
    handshake_on(server.connect().await, host, trusted, alpn).await
}

/// The same, on a connection that is there.
pub(crate) async fn handshake_on(
    stream: TcpStream,
    host: &'static str,
    trusted: &SelfSigned,
    alpn: &[&str],
) -> std::io::Result<TlsStream<TcpStream>> {
    let mut config = client(trusted);
    config.alpn_protocols = alpn.iter().map(|name| name.as_bytes().to_vec()).collect();
    connect_with(&Arc::new(config), stream, host).await
}

/// A client that trusts `trusted`, and knows its sessions.
pub(crate) fn client(trusted: &SelfSigned) -> ClientConfig {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(trusted.certificate.as_bytes()).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    config.with_root_certificates(roots).with_no_client_auth()
}

/// Shakes hands as this client with the host of that name.
pub(crate) async fn connect_with(
    client: &Arc<ClientConfig>,
    stream: TcpStream,
    host: &'static str,
) -> std::io::Result<TlsStream<TcpStream>> {
    let name = ServerName::try_from(host).unwrap();
    in_time(TlsConnector::from(client.clone()).connect(name, stream)).await
}

fn der(certificate: &SelfSigned) -> Vec<u8> {
    CertificateDer::from_pem_slice(certificate.certificate.as_bytes()).unwrap().to_vec()
}

fn write(folder: &Path, certificate: &SelfSigned) {
    fs::write(folder.join("cert.pem"), &certificate.certificate).unwrap();
    fs::write(folder.join("key.pem"), certificate.private_key.expose()).unwrap();
}

fn load(folder: &Path) -> TlsAcceptorHandle {
    let file = |name| PemSource::File(folder.join(name));
    TlsAcceptorHandle::load(file("cert.pem"), file("key.pem")).unwrap()
}

#[tokio::test]
async fn http_2_is_agreed_on_by_alpn() {
    let certificate = certificate();
    let server = running_tls(certificate.acceptor().unwrap(), router(), Limits::default()).await;
    let stream = handshake(&server, &certificate, &["h2", "http/1.1"]).await.unwrap();
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
    let (mut sender, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    let request = http::Request::get("https://localhost/").body(axum::body::Body::empty()).unwrap();
    let response = in_time(sender.send_request(request)).await.unwrap();
    let body = axum::body::to_bytes(axum::body::Body::new(response.into_body()), 64).await.unwrap();
    assert_eq!(body, "tls: true");
}

#[tokio::test]
async fn a_client_without_http_2_is_served_http_1() {
    let certificate = certificate();
    let server = running_tls(certificate.acceptor().unwrap(), router(), Limits::default()).await;
    for alpn in [&["http/1.1"][..], &[]] {
        let mut stream = handshake(&server, &certificate, alpn).await.unwrap();
        say(&mut stream, GET).await;
        assert!(answer_until(&mut stream, "tls: true").await.ends_with("tls: true"));
    }
}

/// RFC 7301 §3.2, RFC 9113 §3.4.
#[tokio::test]
async fn no_other_version_of_http_is_spoken_than_was_agreed_on() {
    let certificate = certificate();
    let server = running_tls(certificate.acceptor().unwrap(), router(), Limits::default()).await;
    let mut stream = handshake(&server, &certificate, &["h2"]).await.unwrap();
    say(&mut stream, GET).await;
    let answer = answer_until(&mut stream, "never").await;
    assert!(!answer.contains("HTTP/1.1"), "{answer:?}");

    let mut stream = handshake(&server, &certificate, &["http/1.1"]).await.unwrap();
    say(&mut stream, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0").await;
    let answer = answer_until(&mut stream, "never").await;
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 400 "), "{answer:?}");
}

#[tokio::test]
async fn a_client_that_agreed_on_a_version_and_says_nothing_does_not_hold_up_a_shutdown() {
    let certificate = certificate();
    for alpn in [&["h2"][..], &["http/1.1"], &[]] {
        let server = running_tls(certificate.acceptor().unwrap(), router(), Limits::default()).await;
        let mut stream = handshake(&server, &certificate, alpn).await.unwrap();
        let (drained, _) = tokio::join!(server.stop(), answer_until(&mut stream, "never"));
        assert_eq!(drained.cut, 0, "{alpn:?}");
    }
}

#[tokio::test]
async fn plain_http_is_served_on_a_tls_port_only_if_that_is_accepted() {
    let certificate = certificate();
    let tls = certificate.acceptor().unwrap();
    let strict = running_tls(tls.clone(), router(), Limits::default()).await;
    let mut stream = strict.connect().await;
    say(&mut stream, GET).await;
    assert!(!answer_until(&mut stream, "never").await.contains("HTTP"));

    let both = running_tls(tls.accepting_plain_http(), router(), Limits::default()).await;
    let mut stream = both.connect().await;
    say(&mut stream, GET).await;
    assert!(answer_until(&mut stream, "tls: false").await.ends_with("tls: false"));
    assert!(handshake(&both, &certificate, &[]).await.is_ok());
}

#[tokio::test]
async fn a_handshake_that_takes_too_long_is_given_up() {
    let limits = Limits { tls_handshake_timeout: Duration::from_millis(30), ..Limits::default() };
    for tls in [certificate().acceptor().unwrap(), certificate().acceptor().unwrap().accepting_plain_http()] {
        let server = running_tls(tls, router(), limits.clone()).await;
        assert!(is_closed(&mut server.connect().await).await);
    }
}

#[tokio::test]
async fn a_changed_certificate_is_shown_to_new_connections() {
    let folder = tempfile::tempdir().unwrap();
    let (old, new) = (certificate(), certificate());
    write(folder.path(), &old);
    let tls = load(folder.path());
    let server = running_tls(tls.clone(), router(), Limits::default()).await;
    let mut before = handshake(&server, &old, &[]).await.unwrap();
    assert_eq!(tls.reload(now()).unwrap(), Reload::Unchanged);
    assert_eq!(*tls.certificates(), [der(&old)]);

    write(folder.path(), &new);
    assert_eq!(tls.reload(now()).unwrap(), Reload::Replaced);
    assert_eq!(*tls.clone().certificates(), [der(&new)]);
    assert!(handshake(&server, &new, &[]).await.is_ok());
    assert!(handshake(&server, &old, &[]).await.is_err());
    say(&mut before, GET).await;
    assert!(answer_until(&mut before, "tls: true").await.ends_with("tls: true"));
}

#[tokio::test]
async fn a_bad_certificate_is_reported_once_and_the_old_one_stays() {
    let folder = tempfile::tempdir().unwrap();
    let old = certificate();
    write(folder.path(), &old);
    let tls = load(folder.path());
    let server = running_tls(tls.clone(), router(), Limits::default()).await;
    let file = folder.path().join("cert.pem");

    fs::write(&file, certificate().certificate).unwrap();
    assert!(matches!(tls.reload(now()).unwrap_err().error(), TlsError::Unusable(_)), "of another key");
    assert_eq!(tls.reload(now()).unwrap(), Reload::Unchanged);
    fs::write(&file, "").unwrap();
    assert!(matches!(tls.reload(now()).unwrap_err().error(), TlsError::NoCertificate));
    fs::remove_file(&file).unwrap();
    assert!(matches!(tls.reload(now()).unwrap_err().error(), TlsError::Unreadable { .. }));
    assert!(handshake(&server, &old, &[]).await.is_ok());
    assert_eq!(*tls.certificates(), [der(&old)]);
}

#[tokio::test]
async fn the_files_are_watched_until_shutdown() {
    let folder = tempfile::tempdir().unwrap();
    let new = certificate();
    write(folder.path(), &certificate());
    let tls = load(folder.path());
    let server = running_tls(tls.clone(), router(), Limits::default()).await;
    let shutdown = CancellationToken::new();
    let watching =
        tokio::spawn(tls.reload_when_changed("public", Duration::from_millis(5), clock(), shutdown.clone()));
    write(folder.path(), &new);
    in_time(async { while handshake(&server, &new, &[]).await.is_err() {} }).await;
    shutdown.cancel();
    in_time(watching).await.unwrap();
}

#[tokio::test]
async fn a_missing_file_is_reported_after_a_bad_one_and_each_once_with_the_listener() {
    const NO_GOOD: &str = "the new TLS certificate is no good, the old one stays in force";
    let (log, _guard) = Captured::begin();
    let folder = tempfile::tempdir().unwrap();
    let certificate = certificate();
    write(folder.path(), &certificate);
    let (file, aside) = (folder.path().join("cert.pem"), folder.path().join("aside.pem"));
    let shutdown = CancellationToken::new();
    let watched = load(folder.path());
    let watching = tokio::spawn(watched.reload_when_changed(
        "public",
        Duration::from_millis(5),
        clock(),
        shutdown.clone(),
    ));

    fs::write(&file, "").unwrap();
    let bad = logged(&log, NO_GOOD, 1).await;
    assert!(bad[0].contains("holds no certificate") && bad[0].contains("listener=\"public\""), "{bad:?}");
    fs::remove_file(&file).unwrap();
    let missing = logged(&log, NO_GOOD, 2).await;
    assert!(missing[1].contains("cannot be read") && missing[1].contains("cert.pem"), "{missing:?}");
    assert!(missing[1].contains("listener=\"public\""), "{missing:?}");

    fs::write(&aside, &certificate.certificate).unwrap();
    fs::rename(&aside, &file).unwrap();
    let replaced = logged(&log, "the TLS certificate was replaced", 1).await;
    assert!(replaced[0].contains("listener=\"public\""), "{replaced:?}");
    assert_eq!(log.lines(NO_GOOD).len(), 2, "each once");
    shutdown.cancel();
    in_time(watching).await.unwrap();
}

#[test]
fn certificate_and_key_may_be_given_in_base64() {
    let certificate = certificate();
    let base64 = |text: &str| {
        let encoded = base64::engine::general_purpose::STANDARD_NO_PAD.encode(text);
        PemSource::Base64(Secret::new(format!("{encoded}\n")))
    };
    let chain = base64(&certificate.certificate);
    assert!(TlsAcceptorHandle::load(chain.clone(), base64(certificate.private_key.expose())).is_ok());
    let nonsense = PemSource::Base64(Secret::new("!".into()));
    let refused = TlsAcceptorHandle::load(chain, nonsense).unwrap_err();
    assert!(matches!(refused.error(), TlsError::NotBase64(_)));
    assert_eq!(refused.to_string(), "key.base64: the PEM text is not base64");
}

#[test]
fn what_is_wrong_is_said_of_the_file_that_it_is_wrong_with() {
    let folder = tempfile::tempdir().unwrap();
    let certificate = certificate();
    let [cert, key] = ["cert.pem", "key.pem"].map(|name| folder.path().join(name));
    let refused = || -> AcceptorError {
        let (cert, key) = (PemSource::File(cert.clone()), PemSource::File(key.clone()));
        TlsAcceptorHandle::load(cert, key).unwrap_err()
    };
    write(folder.path(), &certificate);
    fs::write(&cert, certificate.private_key.expose()).unwrap();
    assert_eq!(refused().to_string(), format!("{}: the PEM text holds no certificate", cert.display()));
    fs::remove_file(&cert).unwrap();
    assert_eq!(refused().to_string(), format!("{} cannot be read", cert.display()));

    write(folder.path(), &certificate);
    fs::write(&key, &certificate.certificate).unwrap();
    assert_eq!(refused().to_string(), format!("{}: the PEM text cannot be used", key.display()));
    assert!(std::error::Error::source(&refused()).is_some());
    let of_pkcs_8 = "-----BEGIN ENCRYPTED PRIVATE KEY-----\nMIHs\n-----END ENCRYPTED PRIVATE KEY-----\n";
    let of_sec_1 = "-----BEGIN EC PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,90285E55\n\nMIHs\n\
                    -----END EC PRIVATE KEY-----\n";
    for encrypted in [of_pkcs_8, of_sec_1] {
        fs::write(&key, encrypted).unwrap();
        let expected = "the private key is encrypted: store it without a passphrase";
        assert_eq!(refused().to_string(), format!("{}: {expected}", key.display()));
    }
    fs::write(&key, self::certificate().private_key.expose()).unwrap();
    let expected = format!("{} and {}: certificate and key cannot be used", cert.display(), key.display());
    assert_eq!(refused().to_string(), expected, "of another certificate");
}

#[test]
fn a_certificate_is_not_made_for_what_is_no_host() {
    assert!(matches!(self_signed(&["m\u{fc}nchen".into()], now()), Err(TlsError::NotMade(_))));
}
