//! Bodies both ways: streamed, bounded, and cut where they are cut.

use std::fs;

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::given::*;

const MIB: usize = 1 << 20;
const LARGE: usize = 100 * MIB;

/// The most memory that this process has had, in bytes.
fn peak_memory() -> usize {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() * 1024
}

#[tokio::test]
async fn bodies_of_100_mb_go_both_ways_in_flat_memory() {
    let address = Backend::bind().await.serve(|mut peer, _| async move {
        peer.head().await.unwrap();
        peer.say(format!("HTTP/1.1 200 OK\r\ncontent-length: {LARGE}\r\n\r\n")).await;
        let begun = peer.taken();
        peer.say(begun).await;
        let (mut read, mut write) = peer.stream.into_split();
        tokio::io::copy(&mut read, &mut write).await.unwrap();
    });
    let world = Setup::to(&[address]).start().await;
    let before = peak_memory();
    let stream = world.connect().await;
    let (mut read, mut write) = stream.into_split();
    let sending = tokio::spawn(async move {
        let head = format!("POST / HTTP/1.1\r\nhost: a\r\ncontent-length: {LARGE}\r\n\r\n");
        write.write_all(head.as_bytes()).await.unwrap();
        let chunk = vec![b'x'; 64 * 1024];
        for _ in 0..LARGE / chunk.len() {
            write.write_all(&chunk).await.unwrap();
        }
        write
    });
    let mut received = 0;
    let mut chunk = vec![0; 64 * 1024];
    in_time(async {
        while received < LARGE {
            let read = read.read(&mut chunk).await.unwrap();
            assert!(read > 0, "ended after {received}");
            received += read;
        }
    })
    .await;
    drop(sending.await.unwrap());
    let grown = peak_memory().saturating_sub(before);
    assert!(grown < 40 * MIB, "{} MiB more", grown / MIB);
}

#[tokio::test]
async fn an_event_reaches_the_client_before_the_next_one_is_sent() {
    let backend = Backend::bind().await;
    let world = Setup::to(&[backend.address]).start().await;
    let mut client = Peer::new(world.connect().await);
    client.say(GET).await;
    let mut upstream = backend.accept().await;
    upstream.request().await.unwrap();
    upstream.say("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n").await;
    assert_eq!(client.head().await.unwrap().lines().next(), Some("HTTP/1.1 200 OK"));
    for event in ["data: 1\n\n", "data: 2\n\n", "data: 3\n\n"] {
        upstream.say(event).await;
        assert!(client.until(event.as_bytes()).await.is_some());
    }
}

#[tokio::test]
async fn a_body_larger_than_the_route_permits_gets_413() {
    let (address, mut requests) = Backend::bind().await.recording();
    let mut setup = Setup::to(&[address]);
    setup.route.max_body = Some(8);
    let world = setup.start().await;
    let fits = world.ask("POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 8\r\n\r\n12345678").await;
    assert_eq!(fits.status(), 200);
    requests.recv().await.unwrap();
    let known = world.ask("POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 9\r\n\r\n123456789").await;
    let chunked =
        world.ask("POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n5\r\n12345\r\n4\r\n6789\r\n0\r\n\r\n").await;
    for answer in [known, chunked] {
        assert_eq!(answer.status(), 413);
        assert_eq!(answer.header("content-type"), Some("application/problem+json"));
    }
    assert!(requests.try_recv().is_err(), "no complete request reached the upstream");
}

/// Some servers answer 411 to a `POST` of which nothing says that it has no body.
#[tokio::test]
async fn an_upstream_is_told_that_there_is_no_body_where_one_is_expected() {
    let (address, mut requests) = Backend::bind().await.recording();
    let world = Setup::to(&[address]).start().await;
    for (method, lengths) in
        [("POST", vec!["0"]), ("PUT", vec!["0"]), ("PATCH", vec!["0"]), ("GET", vec![]), ("DELETE", vec![])]
    {
        let answer = world.ask(&format!("{method} / HTTP/1.1\r\nhost: a\r\n\r\n")).await;
        assert_eq!(answer.status(), 200);
        let seen = in_time(requests.recv()).await.unwrap();
        assert_eq!(
            (seen.all("content-length"), seen.header("transfer-encoding")),
            (lengths, None),
            "{method}"
        );
    }
}

#[tokio::test]
async fn an_answer_that_is_cut_is_seen_to_be_cut() {
    for beginning in [
        "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nonly this",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n9\r\nonly this\r\n",
    ] {
        let address = Backend::bind().await.serve(move |mut peer, _| async move {
            peer.request().await;
            peer.say(beginning).await;
        });
        let world = Setup::to(&[address]).start().await;
        let mut client = Peer::new(world.connect().await);
        client.say(GET).await;
        let head = client.head().await.unwrap();
        assert!(head.starts_with("HTTP/1.1 200"));
        assert!(client.body_of(head).await.is_none(), "no clean end");
    }
}

#[tokio::test]
async fn a_client_that_leaves_takes_the_upstreams_connection_with_it() {
    let backend = Backend::bind().await;
    let mut setup = Setup::to(&[backend.address]);
    setup.limits.half_closed_timeout = SOON;
    let mut world = setup.start().await;
    let mut client = Peer::new(world.connect().await);
    client.say(GET).await;
    let mut upstream = backend.accept().await;
    upstream.request().await.unwrap();
    drop(client);
    assert!(upstream.is_closed().await);
    assert_eq!(world.told().await.status, None);
}

#[tokio::test]
async fn a_client_that_sends_no_more_gets_all_of_its_answer() {
    let backend = Backend::bind().await;
    let world = Setup::to(&[backend.address]).start().await;
    let mut client = Peer::new(world.connect().await);
    client.say(GET).await;
    let mut upstream = backend.accept().await;
    upstream.request().await.unwrap();
    upstream.say("HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nfirst").await;
    let head = client.until(b"first").await.unwrap();
    assert!(head.starts_with(b"HTTP/1.1 200 "));
    client.stream.shutdown().await.unwrap();
    upstream.say("after").await;
    assert_eq!(client.rest().await, b"after");
}

#[tokio::test]
async fn a_refusal_reaches_a_client_that_sends_all_of_its_body_first() {
    let mut setup = Setup::to(&[nowhere()]);
    setup.refusal = Some(sluice_gateway::Refusal::TokenMissing);
    let world = setup.start().await;
    let mut client = Peer::new(world.connect().await);
    client.say(format!("POST / HTTP/1.1\r\nhost: a\r\ncontent-length: {LARGE}\r\n\r\n")).await;
    let chunk = vec![b'x'; MIB];
    for _ in 0..(LARGE / 2 / MIB) {
        in_time(client.stream.write_all(&chunk)).await.unwrap();
    }
    let answer = client.answer().await.unwrap();
    assert_eq!((answer.status(), answer.text()), (401, "refused"));
    assert!(client.is_closed().await);
}

#[tokio::test]
async fn a_refusal_before_the_body_came_leaves_the_connection_to_the_next_request() {
    let mut setup = Setup::to(&[nowhere()]);
    setup.refusal = Some(sluice_gateway::Refusal::TokenMissing);
    let world = setup.start().await;
    let mut client = Peer::new(world.connect().await);
    for _ in 0..3 {
        client.say("POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 4\r\n\r\n").await;
        tokio::time::sleep(SOON).await;
        client.say("four").await;
        let answer = client.answer().await.unwrap();
        assert_eq!((answer.status(), answer.header("connection")), (401, None));
    }
}

#[tokio::test]
async fn an_upstream_that_answers_before_the_body_came_leaves_the_clients_connection_to_the_next_request() {
    let address = Backend::bind().await.serve(|mut peer, _| async move {
        peer.head().await.unwrap();
        peer.say("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok").await;
    });
    let world = Setup::to(&[address]).start().await;
    let mut client = Peer::new(world.connect().await);
    for _ in 0..3 {
        client.say("POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 4\r\n\r\n").await;
        tokio::time::sleep(SOON).await;
        client.say("four").await;
        let answer = client.answer().await.unwrap();
        assert_eq!((answer.status(), answer.text(), answer.header("connection")), (200, "ok", None));
    }
}

#[tokio::test]
async fn an_upstream_that_answers_and_reads_on_leaves_the_clients_connection_to_the_next_request() {
    for status in [200, 302, 401, 500] {
        let address = Backend::bind().await.serve(move |mut peer, _| async move {
            let head = peer.head().await.unwrap();
            peer.say(format!("HTTP/1.1 {status} Early\r\ncontent-length: 2\r\n\r\nok")).await;
            peer.body_of(head).await.unwrap();
        });
        let world = Setup::to(&[address]).start().await;
        let mut client = Peer::new(world.connect().await);
        for _ in 0..3 {
            client.say("POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 4\r\n\r\n").await;
            let answer = client.answer().await.unwrap();
            let expected = (status, "ok", None);
            assert_eq!((answer.status(), answer.text(), answer.header("connection")), expected);
            client.say("four").await;
        }
    }
}

#[tokio::test]
async fn what_an_upstream_says_before_a_long_body_came_is_the_last_answer() {
    for status in [200, 302, 401, 503] {
        for length in ["content-length: 100000", "transfer-encoding: chunked"] {
            let backend = Backend::bind().await;
            let world = Setup::to(&[backend.address]).start().await;
            let mut client = Peer::new(world.connect().await);
            client.say(format!("POST / HTTP/1.1\r\nhost: a\r\n{length}\r\n\r\n")).await;
            let mut upstream = backend.accept().await;
            upstream.head().await.unwrap();
            upstream.say(format!("HTTP/1.1 {status} Early\r\ncontent-length: 2\r\n\r\nno")).await;
            let answer = client.answer().await.unwrap();
            let expected = (status, "no", Some("close"));
            assert_eq!((answer.status(), answer.text(), answer.header("connection")), expected);
        }
    }
}

#[tokio::test]
async fn the_body_waits_for_the_upstreams_word_where_the_client_does() {
    let backend = Backend::bind().await;
    let world = Setup::to(&[backend.address]).start().await;
    let mut client = Peer::new(world.connect().await);
    client.say("POST / HTTP/1.1\r\nhost: a\r\nexpect: 100-continue\r\ncontent-length: 5\r\n\r\n").await;
    let mut upstream = backend.accept().await;
    let head = upstream.head().await.unwrap();
    assert!(head.contains("expect: 100-continue\r\n"), "{head}");
    upstream.say("HTTP/1.1 100 Continue\r\n\r\n").await;
    assert_eq!(client.head().await.unwrap(), "HTTP/1.1 100 Continue\r\n\r\n");
    client.say("hello").await;
    assert_eq!(upstream.body_of(head).await.unwrap().text(), "hello");
    upstream.say(OK).await;
    assert_eq!(client.answer().await.unwrap().status(), 200);
}

/// It waits for nothing (RFC 9110 §10.1.1).
#[tokio::test]
async fn the_word_of_a_client_of_http_1_0_that_it_waits_goes_no_further() {
    let (address, mut requests) = Backend::bind().await.recording();
    let world = Setup::to(&[address]).start().await;
    let request = "POST / HTTP/1.0\r\nhost: a\r\nexpect: 100-continue\r\ncontent-length: 5\r\n\r\nhello";
    assert_eq!(world.ask(request).await.line(), "HTTP/1.0 200 OK");
    let seen = in_time(requests.recv()).await.unwrap();
    assert_eq!((seen.header("expect"), seen.text()), (None, "hello"));
}

#[tokio::test]
async fn a_body_that_the_upstream_refuses_is_never_asked_for() {
    let backend = Backend::bind().await;
    let world = Setup::to(&[backend.address]).start().await;
    let mut client = Peer::new(world.connect().await);
    client.say("POST / HTTP/1.1\r\nhost: a\r\nexpect: 100-continue\r\ncontent-length: 5\r\n\r\n").await;
    let mut upstream = backend.accept().await;
    upstream.head().await.unwrap();
    upstream.say("HTTP/1.1 403 Forbidden\r\ncontent-length: 2\r\n\r\nno").await;
    let answer = client.answer().await.unwrap();
    assert_eq!((answer.status(), answer.text()), (403, "no"));
    assert!(upstream.is_closed().await, "it cannot be used again: half a request is on it");
}

#[tokio::test]
async fn a_body_is_sent_to_an_upstream_that_does_not_know_100_continue() {
    let (address, mut requests) = Backend::bind().await.recording();
    let world = Setup::to(&[address]).start().await;
    let mut client = Peer::new(world.connect().await);
    client.say("POST / HTTP/1.1\r\nhost: a\r\nexpect: 100-continue\r\ncontent-length: 5\r\n\r\n").await;
    assert_eq!(client.head().await.unwrap(), "HTTP/1.1 100 Continue\r\n\r\n", "after a second");
    client.say("hello").await;
    assert_eq!(client.answer().await.unwrap().status(), 200);
    assert_eq!(in_time(requests.recv()).await.unwrap().text(), "hello");
}
