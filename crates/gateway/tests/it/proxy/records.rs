//! What is told about requests.

use std::net::{IpAddr, Ipv4Addr};

use bytes::Bytes;
use http::{Request, Version};
use http_body_util::Full;
use sluice_gateway::Refusal;
use sluice_gateway::proxy::{Fault, PlainHttp};

use super::given::*;
use super::h2::http2_client;

#[tokio::test]
async fn a_request_is_told_of_when_its_answer_begins() {
    let backend = Backend::bind().await;
    let mut world = Setup::to(&[backend.address]).start().await;
    let mut client = Peer::new(world.connect().await);
    client.say("GET /a/b?secret=1 HTTP/1.1\r\nhost: api.example:8443\r\nx-request-id: r-7\r\n\r\n").await;
    let mut upstream = backend.accept().await;
    upstream.request().await.unwrap();
    upstream.say("HTTP/1.1 203 Well\r\ncontent-length: 5\r\n\r\n").await;
    let expected = Told {
        path: "/a/b".into(),
        protocol: Some(Version::HTTP_11),
        host: "api.example:8443".into(),
        client: IpAddr::V4(Ipv4Addr::LOCALHOST),
        status: Some(http::StatusCode::NON_AUTHORITATIVE_INFORMATION),
        lengths: (None, Some(5)),
        verdict: "anonymous",
        request_id: Some("r-7".into()),
        upstream: Some(backend.address.to_string()),
        retries: 0,
        is_beyond_budget: false,
        fault: None,
    };
    assert_eq!(world.told().await, expected);
}

#[tokio::test]
async fn the_lengths_of_bodies_are_told_as_far_as_they_are_known_when_the_answer_begins() {
    const CHUNKED: &str = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n";
    for (request, said, lengths) in [
        ("content-length: 5\r\n\r\nhello", OK, (Some(5), Some(2))),
        ("content-length: 0\r\n\r\n", "HTTP/1.1 204 No Content\r\n\r\n", (None, Some(0))),
        ("transfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", CHUNKED, (None, None)),
    ] {
        let address = Backend::bind().await.serve(move |mut peer, _| async move {
            while peer.request().await.is_some() {
                peer.say(said).await;
            }
        });
        let mut world = Setup::to(&[address]).start().await;
        world.ask(&format!("POST / HTTP/1.1\r\nhost: a\r\n{request}")).await;
        assert_eq!(world.told().await.lengths, lengths, "{request}");
        let mut client = http2_client(world.connect().await).await;
        let request = Request::post("http://a/").body(Full::<Bytes>::from("hello")).unwrap();
        assert!(in_time(client.send_request(request)).await.unwrap().status().is_success());
        let told = world.told().await;
        assert_eq!((told.protocol, told.lengths), (Some(Version::HTTP_2), (Some(5), lengths.1)));
    }
}

#[tokio::test]
async fn each_attempt_that_failed_is_told_of_by_its_fault_and_so_is_what_a_client_did() {
    let mut setup = Setup::to(&[nowhere()]);
    setup.route.max_body = Some(4);
    let mut world = setup.start().await;
    assert_eq!(world.ask(GET).await.status(), 502);
    let told = world.told().await;
    assert_eq!((told.fault, told.retries), (Some("connect"), 1));
    let large = "POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 5\r\n\r\nhello";
    assert_eq!(world.ask(large).await.status(), 413);
    for fault in [Fault::Connect, Fault::Connect, Fault::TooLarge] {
        assert_eq!(in_time(world.faults.recv()).await, Some(("all".to_owned(), fault)));
        assert_eq!(fault.is_of_upstream(), !fault.is_of_client(), "{fault}");
    }
    assert!(world.faults.try_recv().is_err(), "each of them once");
}

/// Its head was told of as good; nothing else would tell of the rest.
#[tokio::test]
async fn an_answer_that_its_server_breaks_off_is_told_of() {
    for (hangs, fault) in [(false, "cut"), (true, "stalled")] {
        let address = Backend::bind().await.serve(move |mut peer, _| async move {
            peer.request().await;
            peer.say(HALF).await;
            if hangs {
                peer.rest().await;
            }
        });
        let mut setup = Setup::to(&[address]);
        setup.upstream.timeouts.idle = if hangs { SOON } else { AT_MOST };
        let mut world = setup.start().await;
        let mut client = Peer::new(world.connect().await);
        client.say(GET).await;
        assert_eq!(client.answer().await, None);
        let told = world.told().await;
        assert_eq!((told.status, told.fault), (Some(http::StatusCode::OK), None));
        assert_eq!(in_time(world.broken.recv()).await, Some(("all".to_owned(), fault)));
        assert!(world.broken.try_recv().is_err(), "once");
    }
}

#[tokio::test]
async fn an_answer_that_ends_by_its_client_speaks_against_no_server() {
    let post = "POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 5\r\n\r\nhel";
    for (request, leaves) in [(GET, true), (post, false)] {
        let backend = Backend::bind().await;
        let mut setup = Setup::to(&[backend.address]);
        setup.upstream.timeouts.idle = if leaves { AT_MOST } else { SOON * 4 };
        let mut world = setup.start().await;
        let mut client = Peer::new(world.connect().await);
        client.say(request).await;
        let mut upstream = backend.accept().await;
        upstream.head().await.unwrap();
        upstream.say(HALF).await;
        let head = client.head().await.unwrap();
        if leaves {
            drop(client);
        } else {
            assert_eq!(client.body_of(head).await, None, "the rest of its body is waited for");
        }
        upstream.rest().await;
        assert!(world.broken.try_recv().is_err(), "{request}");
    }
}

#[tokio::test]
async fn requests_that_go_nowhere_are_told_of_too() {
    let mut setup = Setup::to(&[nowhere()]);
    setup.refusal = Some(Refusal::InsufficientScope);
    setup.trusts = true;
    let mut world = setup.start().await;
    world.ask("GET / HTTP/1.1\r\nhost: a\r\nx-forwarded-for: 203.0.113.9\r\n\r\n").await;
    let told = world.told().await;
    assert_eq!(
        (told.verdict, told.upstream, told.client.to_string()),
        ("insufficient_scope", None, "203.0.113.9".into())
    );
    world.ask("GET /lost?x HTTP/1.1\r\nhost: a b\r\n\r\n").await;
    let told = world.told().await;
    assert_eq!((told.verdict, told.status.map(|status| status.as_u16())), ("bad_host", Some(400)));
    assert_eq!(told.path, "/lost");
    world.ask("GET /document HTTP/1.1\r\nhost: a\r\n\r\n").await;
    assert_eq!(world.told().await.verdict, "document");
}

#[tokio::test]
async fn plain_http_that_is_refused_is_told_of_with_its_host() {
    let mut setup = Setup::to(&[nowhere()]);
    setup.plain_http = PlainHttp::TerminatedAt(["127.0.0.0/8".parse().unwrap()].into());
    let mut world = setup.start().await;
    assert_eq!(world.ask("GET /a HTTP/1.1\r\nhost: api.example\r\n\r\n").await.status(), 502);
    let told = world.told().await;
    assert_eq!((told.verdict, told.host.as_str(), told.path.as_str()), ("plain_http", "api.example", "/a"));
    world.ask("GET /a HTTP/1.1\r\nhost: a b\r\n\r\n").await;
    let told = world.told().await;
    assert_eq!((told.verdict, told.host.as_str()), ("plain_http", ""));
}
