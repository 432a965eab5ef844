//! What the gateway itself answers to calls of gRPC.

use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::client::conn::http2;
use sluice_gateway::Refusal;
use sluice_gateway::proxy::RunningProxy;
use sluice_gateway::route::LiveRoutes;
use sluice_net::LocalAddress;
use tokio::net::TcpStream;
use tokio_util::sync::CancellationToken;

use super::given::*;
use super::h2::http2_client;
use super::whole::{config, gateway, routes};

fn call(path: &str, kind: &str) -> Request<Full<Bytes>> {
    Request::post(format!("http://api.example{path}"))
        .header("te", "trailers")
        .header("content-type", kind)
        .body(Full::from("hello"))
        .unwrap()
}

async fn answer(
    client: &mut http2::SendRequest<Full<Bytes>>,
    request: Request<Full<Bytes>>,
) -> Response<Incoming> {
    in_time(client.send_request(request)).await.unwrap()
}

/// What an answer says: the statuses of HTTP and of gRPC, its content type and its message.
fn said(answer: &Response<Incoming>) -> (u16, &str, &str, &str) {
    let text = |name| answer.headers().get(name).map_or("-", |value| value.to_str().unwrap());
    (answer.status().as_u16(), text("grpc-status"), text("content-type"), text("grpc-message"))
}

#[tokio::test]
async fn a_call_that_fails_is_answered_in_headers_alone_and_told_of_by_its_status_of_http() {
    let backend = Backend::bind().await;
    let silent = backend.address;
    for (server, retries, status, fault, expected) in [
        (silent, 0, 413, "too_large", ("8", "the body is too large")),
        (silent, 0, 504, "timeout", ("4", "the upstream took too long")),
        (nowhere(), 1, 502, "connect", ("14", "no connection to the upstream could be made")),
    ] {
        let mut setup = Setup::to(&[server]);
        setup.upstream.retries = retries;
        setup.upstream.timeouts.first_byte = SOON;
        setup.route.max_body = (status == 413).then_some(4);
        let mut world = setup.start().await;
        let mut client = http2_client(world.connect().await).await;
        let answer = answer(&mut client, call("/shop.Orders/Get", "application/grpc+proto")).await;
        let (code, message) = expected;
        assert_eq!(said(&answer), (200, code, "application/grpc", message));
        assert_eq!(answer.headers()["ratelimit"], "announced");
        assert!(answer.headers().get("content-length").is_none(), "{answer:?}");
        assert!(answer.body().is_end_stream(), "its head is its end");
        let told = world.told().await;
        assert_eq!((told.status.map(|told| told.as_u16()), told.fault), (Some(status), Some(fault)));
    }
}

#[tokio::test]
async fn other_requests_are_refused_as_before() {
    let mut setup = Setup::to(&[nowhere()]);
    setup.refusal = Some(Refusal::TokenMissing);
    let mut world = setup.start().await;
    let mut client = http2_client(world.connect().await).await;
    for (kind, code) in
        [("application/grpc", "16"), ("application/grpc-web+proto", "-"), ("application/json", "-")]
    {
        let answer = answer(&mut client, call("/", kind)).await;
        let expected = if code == "-" { 401 } else { 200 };
        assert_eq!((said(&answer).0, said(&answer).1), (expected, code), "{kind}");
        assert_eq!(world.told().await.status.map(|told| told.as_u16()), Some(401), "{kind}");
    }
    let over_http1 =
        "POST / HTTP/1.1\r\nhost: a\r\ncontent-type: application/grpc\r\ncontent-length: 0\r\n\r\n";
    assert_eq!(world.ask(over_http1).await.status(), 401);
}

#[tokio::test]
async fn a_call_is_refused_with_the_challenge_of_its_route_and_the_time_to_come_again() {
    let (backend, _requests) = Backend::bind().await.recording();
    let file = format!(
        "upstreams: {{app: {{servers: [\"http://{backend}\"]}}}}\n\
         routes:\n\
         - {{name: guarded, match: {{prefix: /guarded}}, upstream: app}}\n\
         - {{name: limited, match: {{prefix: /limited}}, upstream: app, auth: none, limits: [{{by: route, requests: 1, period: 1h}}]}}\n"
    );
    let gateway = gateway(Arc::new(LiveRoutes::new(routes(&file))));
    let shutdown = CancellationToken::new();
    let running = RunningProxy::start(config(), Arc::new(gateway), shutdown.clone()).await.unwrap();
    let LocalAddress::Tcp(address) = *running.local_address() else { panic!("not TCP") };
    let mut client = http2_client(TcpStream::connect(address).await.unwrap()).await;
    let refused = answer(&mut client, call("/guarded", "application/grpc")).await;
    assert_eq!(said(&refused), (200, "16", "application/grpc", "An access token is needed."));
    assert!(refused.headers()["www-authenticate"].to_str().unwrap().starts_with("Bearer realm="));
    assert!(refused.body().is_end_stream());
    let lost = answer(&mut client, call("/elsewhere", "application/grpc")).await;
    assert_eq!(said(&lost), (200, "12", "application/grpc", "Nothing is served here."));
    assert_eq!(answer(&mut client, call("/limited", "application/grpc")).await.status(), 200);
    let limited = answer(&mut client, call("/limited", "application/grpc")).await;
    assert_eq!(said(&limited), (200, "8", "application/grpc", "Too many requests."));
    for told in ["retry-after", "ratelimit", "ratelimit-policy"] {
        assert!(limited.headers().contains_key(told), "{told}");
    }
    shutdown.cancel();
}
