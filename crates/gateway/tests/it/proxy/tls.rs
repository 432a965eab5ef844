//! TLS with clients and with upstreams.

use std::num::NonZeroUsize;
use std::path::Path;

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt, Empty};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use sluice_gateway::proxy::upstream::{TlsClient, UpstreamProtocol};
use sluice_net::{ClientTls, SelfSigned, client_config, self_signed};
use sluice_primitives::{Clock, SystemClock};
use tokio_rustls::TlsConnector;

use super::given::*;
use super::h2::http2_client;

fn certificate() -> SelfSigned {
    self_signed(&["localhost".into(), "127.0.0.1".into()], SystemClock.now()).unwrap()
}

/// Trust in what is in `ca_file`, for an upstream that speaks `protocol`.
fn trusting(ca_file: &Path, protocol: UpstreamProtocol) -> TlsClient {
    let alpn = if protocol == UpstreamProtocol::Http2 { "h2" } else { "http/1.1" };
    let protocols = vec![alpn.as_bytes().to_vec()];
    TlsClient::read(&ClientTls { ca_file: Some(ca_file.to_owned()), certificate: None, protocols }).unwrap()
}

#[tokio::test]
async fn tls_is_spoken_with_clients_and_upstreams_and_http_2_by_agreement() {
    let certificate = certificate();
    let folder = tempfile::tempdir().unwrap();
    let ca_file = folder.path().join("ca.pem");
    std::fs::write(&ca_file, &certificate.certificate).unwrap();
    let (plain, _requests) = Backend::bind().await.recording();
    // The upstream with TLS is a gateway itself.
    for protocol in [UpstreamProtocol::Http1, UpstreamProtocol::Http2] {
        let mut inner = Setup::to(&[plain]);
        inner.tls = Some(certificate.acceptor().unwrap());
        let inner = inner.start().await;
        let mut outer = Setup::to(&[inner.address]);
        outer.tls = Some(certificate.acceptor().unwrap());
        outer.upstream.protocol = protocol;
        outer.upstream.servers[0].tls = true;
        outer.upstream.tls.server_name = Some("localhost".into());
        outer.upstream.tls.client = Some(trusting(&ca_file, protocol));
        let outer = outer.start().await;
        for alpn in ["h2", "http/1.1"] {
            let config = client_config(&ClientTls {
                ca_file: Some(ca_file.clone()),
                certificate: None,
                protocols: vec![alpn.as_bytes().to_vec()],
            });
            let connector = TlsConnector::from(config.unwrap());
            let name = "localhost".to_owned().try_into().unwrap();
            let stream = in_time(connector.connect(name, outer.connect().await)).await.unwrap();
            assert_eq!(stream.get_ref().1.alpn_protocol(), Some(alpn.as_bytes()));
            let request = Request::get("https://localhost/")
                .header("host", "localhost")
                .body(Empty::<Bytes>::new())
                .unwrap();
            let response = if alpn == "h2" {
                in_time(http2_client(stream).await.send_request(request)).await.unwrap()
            } else {
                let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.unwrap();
                tokio::spawn(connection);
                in_time(sender.send_request(request)).await.unwrap()
            };
            assert_eq!(response.status(), 200, "{protocol:?} {alpn}");
            assert_eq!(in_time(response.into_body().collect()).await.unwrap().to_bytes(), "ok");
        }
    }
}

#[tokio::test]
async fn a_certificate_that_nobody_vouches_for_gives_502() {
    let (plain, _requests) = Backend::bind().await.recording();
    let mut inner = Setup::to(&[plain]);
    inner.tls = Some(certificate().acceptor().unwrap());
    let inner = inner.start().await;
    let folder = tempfile::tempdir().unwrap();
    let ca_file = folder.path().join("ca.pem");
    std::fs::write(&ca_file, certificate().certificate).unwrap();
    let mut outer = Setup::to(&[inner.address]);
    outer.upstream.servers[0].tls = true;
    outer.upstream.tls.client = Some(trusting(&ca_file, UpstreamProtocol::Http1));
    let mut outer = outer.start().await;
    assert_eq!(outer.ask(GET).await.status(), 502);
    assert_eq!(outer.told().await.fault, Some("connect"));
}

/// A handshake that comes to nothing holds its place until it is given up.
#[tokio::test]
async fn a_server_that_does_not_answer_takes_no_places_of_the_others() {
    let folder = tempfile::tempdir().unwrap();
    let ca_file = folder.path().join("ca.pem");
    std::fs::write(&ca_file, certificate().certificate).unwrap();
    let silent = Backend::bind().await;
    let (sound, _requests) = Backend::bind().await.recording();
    let mut setup = Setup::to(&[silent.address, sound]);
    setup.upstream.servers[0].tls = true;
    setup.upstream.tls.client = Some(trusting(&ca_file, UpstreamProtocol::Http1));
    setup.upstream.timeouts.connect = AT_MOST;
    setup.upstream.breaker.connecting = NonZeroUsize::MIN;
    let mut world = setup.start().await;
    let mut first = Peer::new(world.connect().await);
    first.say(GET).await;
    let _held = silent.accept().await;
    let mut passed_over = 0;
    for _ in 0..6 {
        assert_eq!(world.ask(GET).await.status(), 200);
        passed_over += world.told().await.retries;
    }
    assert!((1..6).contains(&passed_over), "{passed_over}");
}
