//! Time-outs. What hangs here hangs for ever: only the gateway ends it.

use std::num::{NonZeroU32, NonZeroUsize};
use std::time::Duration;

use futures_util::future::join_all;
use sluice_gateway::proxy::upstream::{PassiveHealth, UpstreamProtocol};
use tokio::io::AsyncWriteExt;

use super::given::*;

/// A server that reads a request, says `beginning` and hangs.
async fn hanging(beginning: &'static str) -> std::net::SocketAddr {
    Backend::bind().await.serve(move |mut peer, _| async move {
        peer.head().await;
        peer.say(beginning).await;
        peer.rest().await;
    })
}

#[tokio::test]
async fn a_head_that_does_not_come_is_504_and_not_tried_again() {
    let mut setup = Setup::to(&[hanging("").await, hanging("").await]);
    setup.upstream.timeouts.first_byte = SOON;
    let mut world = setup.start().await;
    assert_eq!(world.ask(GET).await.status(), 504);
    let told = world.told().await;
    assert_eq!((told.fault, told.retries), (Some("timeout"), 0));
}

#[tokio::test]
async fn an_answer_that_stalls_is_cut() {
    let mut setup = Setup::to(&[hanging(HALF).await]);
    setup.upstream.timeouts.idle = SOON;
    let world = setup.start().await;
    let mut client = Peer::new(world.connect().await);
    client.say(GET).await;
    let head = client.head().await.unwrap();
    assert!(client.body_of(head).await.is_none());
}

#[tokio::test]
async fn the_total_bounds_head_and_body() {
    for (beginning, total, status) in [("", SOON, Some(504)), (HALF, SOON * 20, None)] {
        let mut setup = Setup::to(&[hanging(beginning).await]);
        setup.route.total_timeout = Some(total);
        let world = setup.start().await;
        let mut client = Peer::new(world.connect().await);
        client.say(GET).await;
        assert_eq!(client.answer().await.map(|answer| answer.status()), status);
    }
}

/// HTTP/1.1 does not ask for more of a body while its client reads nothing: nothing in the body would notice.
#[tokio::test]
async fn the_total_bounds_an_answer_that_its_client_does_not_read() {
    let address = Backend::bind().await.serve(|mut peer, number| async move {
        peer.request().await;
        if number > 0 {
            return peer.say(OK).await;
        }
        // More than the buffers of all sockets on the way.
        peer.say("HTTP/1.1 200 OK\r\ncontent-length: 20000000\r\n\r\n").await;
        peer.say(vec![b'x'; 20_000_000]).await;
    });
    let mut setup = Setup::to(&[address]);
    setup.route.total_timeout = Some(SOON * 25);
    setup.upstream.breaker.requests = NonZeroUsize::MIN;
    let world = setup.start().await;
    let mut client = Peer::new(world.connect().await);
    client.say(GET).await;
    let head = client.head().await.unwrap();
    in_time(async {
        while world.ask(GET).await.status() != 200 {
            tokio::time::sleep(SOON).await;
        }
    })
    .await;
    assert!(client.body_of(head).await.is_none(), "the client sees that it was cut");
}

/// How often each of two servers that hang was asked by two requests at once and two after them, the smaller number first.
async fn asked_of_each(judged_after: Duration) -> [usize; 2] {
    let servers = [hanging("").await, hanging("").await];
    let mut setup = Setup::to(&servers);
    let failures = NonZeroU32::MIN;
    setup.upstream.passive_health = Some(PassiveHealth { failures, eject_for: Duration::from_mins(10) });
    setup.route.total_timeout = Some(Duration::from_secs(4));
    setup.judged_after = judged_after;
    let mut world = setup.start().await;
    let mut asked = [0; 2];
    for _ in 0..2 {
        let answers = join_all([world.ask(GET), world.ask(GET)]).await;
        for answer in answers {
            assert_eq!(answer.status(), 504);
            let told = world.told().await.upstream.unwrap();
            let place = servers.iter().position(|server| server.to_string() == told).unwrap();
            asked[place] += 1;
        }
    }
    asked.sort_unstable();
    asked
}

#[tokio::test]
async fn a_server_is_blamed_for_the_time_that_it_had_itself() {
    let asked = asked_of_each(Duration::ZERO).await;
    assert_eq!(asked, [1, 3], "one is left alone after its first request, the other is the last");
}

#[tokio::test]
async fn a_server_is_not_blamed_for_the_time_that_others_had() {
    let asked = asked_of_each(SOON * 40).await;
    assert_eq!(asked, [2, 2], "it was used up by who was asked about tokens");
}

#[tokio::test]
async fn the_total_bounds_connecting_too() {
    for protocol in [UpstreamProtocol::Http1, UpstreamProtocol::Http2] {
        // It waits for a request and never answers the handshake.
        let mut setup = Setup::to(&[hanging("").await]);
        setup.upstream.protocol = protocol;
        setup.upstream.servers[0].tls = true;
        setup.upstream.timeouts.connect = AT_MOST * 10;
        setup.route.total_timeout = Some(SOON);
        let mut world = setup.start().await;
        assert_eq!(world.ask(GET).await.status(), 504, "{protocol:?}");
        let told = world.told().await;
        assert_eq!((told.fault, told.retries), (Some("timeout"), 0), "{protocol:?}");
    }
}

#[tokio::test]
async fn a_client_that_stops_sending_gets_408_and_an_upstream_that_stops_reading_504() {
    let mut setup = Setup::to(&[hanging("").await]);
    setup.upstream.timeouts.idle = SOON;
    let world = setup.start().await;
    let answer = world.ask("POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 5\r\n\r\nhel").await;
    assert_eq!(answer.status(), 408);

    let backend = Backend::bind().await;
    let mut setup = Setup::to(&[backend.address]);
    setup.upstream.timeouts.idle = SOON * 4;
    let mut world = setup.start().await;
    let mut client = Peer::new(world.connect().await);
    client.say("POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 1000000000\r\n\r\n").await;
    let sending = tokio::spawn(async move {
        let chunk = vec![b'x'; 1 << 20];
        while client.stream.write_all(&chunk).await.is_ok() {}
    });
    let _does_not_read = backend.accept().await;
    assert_eq!(world.told().await.fault, Some("timeout"));
    sending.abort();
}

#[tokio::test]
async fn progress_moves_the_deadline() {
    let address = Backend::bind().await.serve(|mut peer, _| async move {
        peer.request().await;
        peer.say("HTTP/1.1 200 OK\r\ncontent-length: 40\r\n\r\n").await;
        for _ in 0..40 {
            tokio::time::sleep(SOON * 2 / 3).await;
            peer.say("x").await;
        }
    });
    let mut setup = Setup::to(&[address]);
    setup.upstream.timeouts.idle = SOON * 20;
    let world = setup.start().await;
    assert_eq!(world.ask(GET).await.text().len(), 40);
}

/// A server that begins its answer at once and ends it when it has the request's body.
async fn early() -> std::net::SocketAddr {
    Backend::bind().await.serve(|mut peer, _| async move {
        let head = peer.head().await.unwrap();
        peer.say("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n").await;
        peer.body_of(head).await;
        peer.say("ok").await;
    })
}

#[tokio::test]
async fn a_body_that_moves_keeps_an_answer_that_has_begun_and_one_that_stalls_does_not() {
    for (bytes, expected) in [(130, Some("ok".to_owned())), (1, None)] {
        let mut setup = Setup::to(&[early().await]);
        setup.upstream.timeouts.idle = SOON * 50;
        let world = setup.start().await;
        let mut client = Peer::new(world.connect().await);
        client.say("POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 130\r\n\r\n").await;
        let head = client.head().await.unwrap();
        for _ in 0..bytes {
            tokio::time::sleep(SOON / 2).await;
            client.say("x").await;
        }
        let answer = client.body_of(head).await;
        assert_eq!(answer.map(|answer| answer.text().to_owned()), expected);
    }
}
