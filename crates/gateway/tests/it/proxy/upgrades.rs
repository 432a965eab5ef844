//! Connections that become something else.

use tokio::time::timeout;

use super::given::*;

const UPGRADE: &str = "GET /chat HTTP/1.1\r\nhost: a\r\nconnection: keep-alive, Upgrade\r\nupgrade: websocket\r\n\
    sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\nsec-websocket-version: 13\r\n\r\n";
const SWITCHING: &str = "HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: websocket\r\n\
    sec-websocket-accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n";

/// A client and a server, connected through the gateway after an upgrade.
async fn tunnel(setup: impl FnOnce(&mut Setup)) -> (World, Peer, Peer) {
    let backend = Backend::bind().await;
    let mut prepared = Setup::to(&[backend.address]);
    setup(&mut prepared);
    let world = prepared.start().await;
    let mut client = Peer::new(world.connect().await);
    client.say(UPGRADE).await;
    let mut upstream = backend.accept().await;
    let request = upstream.request().await.unwrap();
    assert_eq!((request.all("connection"), request.all("upgrade")), (vec!["upgrade"], vec!["websocket"]));
    assert!(request.header("sec-websocket-key").is_some());
    upstream.say(SWITCHING).await;
    let head = client.head().await.unwrap().to_lowercase();
    assert!(head.starts_with("http/1.1 101") && head.contains("upgrade: websocket"), "{head}");
    assert!(head.contains("sec-websocket-accept: s3pplmbitxaq9kygzzhzrbk+xoo="), "{head}");
    assert!(head.contains("ratelimit: announced"), "{head}");
    (world, client, upstream)
}

#[tokio::test]
async fn bytes_go_both_ways_after_an_upgrade_until_both_sides_end() {
    let (mut world, mut client, mut upstream) = tunnel(|_| {}).await;
    for word in ["one", "two", "three"] {
        client.say(word).await;
        assert_eq!(upstream.until(word.as_bytes()).await.unwrap(), word.as_bytes());
        upstream.say(word.to_uppercase()).await;
        assert!(client.until(word.to_uppercase().as_bytes()).await.is_some());
    }
    assert_eq!(world.told().await.status.unwrap(), 101);
    drop(upstream);
    assert!(client.is_closed().await);
    drop(client);
    assert_eq!(world.stop().await.cut, 0);
}

#[tokio::test]
async fn an_upgraded_connection_on_which_nothing_moves_is_ended() {
    let (_world, mut client, mut upstream) = tunnel(|setup| setup.upstream.timeouts.idle = SOON).await;
    assert!(client.is_closed().await && upstream.is_closed().await);
}

/// Nothing is handed over before the body has ended, and a server that changes the protocol before would wait with everybody.
#[tokio::test]
async fn a_request_with_a_body_changes_no_protocol() {
    let (address, mut requests) = Backend::bind().await.recording();
    let world = Setup::to(&[address]).start().await;
    let request = UPGRADE.replace("GET", "POST").replace("host: a", "host: a\r\ncontent-length: 5") + "hello";
    assert_eq!(world.ask(&request).await.status(), 200);
    let seen = requests.recv().await.unwrap();
    assert_eq!((seen.header("upgrade"), seen.header("connection"), seen.text()), (None, None, "hello"));

    let backend = Backend::bind().await;
    let mut world = Setup::to(&[backend.address]).start().await;
    let mut client = Peer::new(world.connect().await);
    client.say(request.strip_suffix("hello").unwrap()).await;
    let mut upstream = backend.accept().await;
    upstream.head().await.unwrap();
    upstream.say(SWITCHING).await;
    assert_eq!(client.answer().await.unwrap().status(), 502);
    assert_eq!(world.told().await.fault, Some("bad_answer"));
}

#[tokio::test]
async fn an_upgraded_connection_counts_until_it_ends() {
    let one = |setup: &mut Setup| setup.upstream.breaker.requests = std::num::NonZeroUsize::MIN;
    let (world, client, _upstream) = tunnel(one).await;
    assert_eq!(world.ask(GET).await.status(), 503);
    drop(client);
}

#[tokio::test]
async fn an_upgraded_connection_has_its_place_among_those_of_clients_until_it_ends() {
    let (world, client, upstream) = tunnel(|setup| setup.limits.max_connections = 1).await;
    let mut next = Peer::new(world.connect().await);
    next.say("GET /document HTTP/1.1\r\nhost: a\r\n\r\n").await;
    assert!(timeout(SOON * 5, next.head()).await.is_err(), "there is no place");
    drop((client, upstream));
    assert_eq!(next.answer().await.unwrap().status(), 200);
}

#[tokio::test]
async fn a_shutdown_waits_for_upgraded_connections_as_long_as_for_others() {
    let grace = |setup: &mut Setup| setup.limits.drain_grace = SOON;
    let (world, mut client, _upstream) = tunnel(grace).await;
    assert_eq!(world.stop().await.cut, 1);
    assert!(client.is_closed().await);
}

#[tokio::test]
async fn an_upgrade_that_is_refused_is_an_ordinary_answer() {
    let (address, _requests) = Backend::bind().await.recording();
    let world = Setup::to(&[address]).start().await;
    let mut client = Peer::new(world.connect().await);
    for _ in 0..2 {
        client.say(UPGRADE).await;
        assert_eq!(client.answer().await.unwrap().text(), "ok");
    }
}

/// Whoever says `Upgrade` says so in `Connection` (RFC 9110 §7.8).
#[tokio::test]
async fn an_answer_that_asks_for_an_upgrade_asks_clients_of_http_1_1_alone() {
    let address = Backend::bind().await.serve(|mut peer, _| async move {
        while peer.head().await.is_some() {
            peer.say(
                "HTTP/1.1 426 Upgrade Required\r\nconnection: Upgrade, x-hop\r\nx-hop: 1\r\n\
                upgrade: websocket\r\ncontent-length: 2\r\n\r\nno",
            )
            .await;
        }
    });
    let world = Setup::to(&[address]).start().await;
    let last = "POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 100000\r\n\r\n";
    for (request, connection) in [(GET, "upgrade"), (last, "upgrade, close")] {
        let answer = world.ask(request).await;
        assert_eq!((answer.status(), answer.text(), answer.header("x-hop")), (426, "no", None));
        assert_eq!((answer.all("connection"), answer.all("upgrade")), (vec![connection], vec!["websocket"]));
    }
    let old = world.ask(&GET.replace("HTTP/1.1", "HTTP/1.0")).await;
    assert_eq!((old.status(), old.header("upgrade")), (426, None));
}

#[tokio::test]
async fn http_2_is_no_way_around_the_gateway() {
    let (address, mut requests) = Backend::bind().await.recording();
    let world = Setup::to(&[address]).start().await;
    let request = "GET / HTTP/1.1\r\nhost: a\r\nconnection: Upgrade, HTTP2-Settings\r\nupgrade: h2c\r\n\
        http2-settings: AAMAAABkAAQCAAAAAAIAAAAA\r\n\r\n";
    assert_eq!(world.ask(request).await.status(), 200);
    let seen = requests.recv().await.unwrap();
    assert_eq!(
        (seen.header("upgrade"), seen.header("http2-settings"), seen.header("connection")),
        (None, None, None)
    );
}
