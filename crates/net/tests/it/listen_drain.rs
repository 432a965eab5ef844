//! The end of a listener.

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::routing::get;
use sluice_net::{Drained, Limits};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::given::*;
use crate::listen_small_frames::{BEGINNING, GOAWAY, next_frame};
use crate::tls::{certificate, handshake_on};

const SOON: Duration = Duration::from_millis(100);

/// A handler that says when it began, and waits to be let go.
#[derive(Clone, Default)]
struct Gate {
    began: Arc<Notify>,
    let_go: Arc<Notify>,
}

impl Gate {
    fn router(&self) -> Router {
        let gate = self.clone();
        Router::new().route(
            "/",
            get(|| async move {
                gate.began.notify_one();
                gate.let_go.notified().await;
                "finished"
            }),
        )
    }
}

fn hello() -> Router {
    Router::new().route("/", get(|| async { "hello" }))
}

/// Whether an answer says that no other follows it.
#[track_caller]
fn is_the_last(answer: &str) {
    let says = answer.to_ascii_lowercase().contains("\r\nconnection: close\r\n");
    assert!(answer.starts_with("HTTP/1.1 200 ") && says, "{answer}");
}

/// Clients whose requests nobody has seen but the kernel. Nothing of the server runs meanwhile.
fn queued(server: &Running, count: usize) -> Vec<TcpStream> {
    let ask = |_| {
        let mut stream = std::net::TcpStream::connect(server.address).unwrap();
        stream.write_all(GET.as_bytes()).unwrap();
        stream.set_nonblocking(true).unwrap();
        TcpStream::from_std(stream).unwrap()
    };
    (0..count).map(ask).collect()
}

/// A connection of which one request was answered.
async fn answered(server: &Running) -> TcpStream {
    let mut stream = server.connect().await;
    say(&mut stream, GET).await;
    assert!(answer_until(&mut stream, "hello").await.ends_with("hello"));
    stream
}

/// Waits until nobody is accepted.
async fn stopping(server: &Running) {
    server.shutdown.cancel();
    in_time(async { while TcpStream::connect(server.address).await.is_ok() {} }).await;
}

#[tokio::test]
async fn a_request_in_flight_is_finished_after_the_shutdown_began() {
    let gate = Gate::default();
    let server = running(gate.router(), Limits::default()).await;
    let mut stream = server.connect().await;
    let mut idle = server.connect().await;
    say(&mut stream, GET).await;
    in_time(gate.began.notified()).await;

    server.shutdown.cancel();
    assert!(is_closed(&mut idle).await, "who has no request in flight is sent away");
    in_time(async { while TcpStream::connect(server.address).await.is_ok() {} }).await;
    gate.let_go.notify_one();

    let answer = answer_until(&mut stream, "finished").await;
    assert!(answer.ends_with("finished"), "{answer}");
    is_the_last(&answer);
    assert!(is_closed(&mut stream).await);
    assert_eq!(server.stop().await, Drained { cut: 0 });
}

#[tokio::test]
async fn a_request_that_outlasts_the_grace_period_is_cut() {
    let gate = Gate::default();
    let limits = Limits { drain_grace: Duration::from_millis(30), ..Limits::default() };
    let server = running(gate.router(), limits).await;
    let mut stream = server.connect().await;
    say(&mut stream, GET).await;
    in_time(gate.began.notified()).await;
    assert_eq!(server.stop().await, Drained { cut: 1 });
    assert!(is_closed(&mut stream).await);
}

/// A client that begins a head and does not go on holds up no restart: it has as long as without one.
#[tokio::test]
async fn a_head_that_is_late_ends_before_the_grace_period() {
    let limits = Limits {
        first_request_timeout: Duration::from_millis(200),
        drain_grace: AT_MOST,
        ..Limits::default()
    };
    let server = running(Gate::default().router(), limits).await;
    let mut stream = server.connect().await;
    let mut later = server.connect().await;
    say(&mut stream, "GET /x HTTP/1.1\r\nHo").await;
    say(&mut later, "GET /none HTTP/1.1\r\nhost: sluice\r\n\r\n").await;
    // When this is answered, what came before was read.
    assert!(answer_until(&mut later, "\r\n\r\n").await.starts_with("HTTP/1.1 404 "));
    server.shutdown.cancel();
    assert!(answer_until(&mut stream, "\r\n\r\n").await.starts_with("HTTP/1.1 408 "));
    drop(stream);
    assert_eq!(server.stop().await, Drained { cut: 0 });
}

/// Waits for a request that is on its way for as long as any test may take.
fn patient() -> Limits {
    Limits { idle_grace: AT_MOST, drain_grace: AT_MOST * 2, ..Limits::default() }
}

#[tokio::test]
async fn who_was_connected_when_the_shutdown_began_is_answered() {
    for (loops, max_connections) in [(1, 1), (1, 100), (3, 100)] {
        let limits = Limits { max_connections, ..patient() };
        let server = running_with(listener(loops).await, None, hello(), limits);
        let clients = queued(&server, 8);
        server.shutdown.cancel();
        for mut client in clients {
            let answer = answer_until(&mut client, "hello").await;
            assert!(answer.ends_with("hello"), "{answer}");
            is_the_last(&answer);
            assert!(is_closed(&mut client).await);
        }
        assert_eq!(server.stop().await, Drained { cut: 0 });
    }
}

#[tokio::test]
async fn who_was_connected_when_the_shutdown_began_may_still_shake_hands() {
    let certificate = certificate();
    let server = running_tls(certificate.acceptor().unwrap(), hello(), patient()).await;
    let stream = server.connect().await;
    stopping(&server).await;
    let mut stream = handshake_on(stream, "localhost", &certificate, &["http/1.1"]).await.unwrap();
    say(&mut stream, GET).await;
    is_the_last(&answer_until(&mut stream, "hello").await);
    drop(stream);
    assert_eq!(server.stop().await, Drained { cut: 0 });
}

#[tokio::test]
async fn who_gets_no_place_holds_up_no_shutdown() {
    let gate = Gate::default();
    let limits = Limits { max_connections: 1, idle_grace: SOON, drain_grace: SOON * 3, ..Limits::default() };
    let server = running(gate.router(), limits).await;
    let mut first = server.connect().await;
    say(&mut first, GET).await;
    in_time(gate.began.notified()).await;
    let others = queued(&server, 3);
    assert_eq!(server.stop().await, Drained { cut: 1 });
    for mut other in others {
        assert!(is_closed(&mut other).await);
    }
}

/// A proxy may have chosen an idle connection for a request that it cannot send again.
#[tokio::test]
async fn a_request_that_is_on_its_way_when_the_shutdown_begins_is_answered() {
    let server = running(hello(), patient()).await;
    let (idle, silent) = (answered(&server).await, server.connect().await);
    stopping(&server).await;
    for mut stream in [idle, silent] {
        say(&mut stream, GET).await;
        let answer = answer_until(&mut stream, "hello").await;
        assert!(answer.ends_with("hello"), "{answer}");
        is_the_last(&answer);
        assert!(is_closed(&mut stream).await);
    }
    assert_eq!(server.stop().await, Drained { cut: 0 });
}

#[tokio::test]
async fn who_brings_no_request_after_the_shutdown_began_is_closed_in_the_end() {
    let server =
        running(hello(), Limits { idle_grace: SOON, drain_grace: AT_MOST, ..Limits::default() }).await;
    let (idle, silent) = (answered(&server).await, server.connect().await);
    let begun = Instant::now();
    server.shutdown.cancel();
    for mut stream in [idle, silent] {
        assert!(is_closed(&mut stream).await);
        assert!(begun.elapsed() >= SOON, "after {:?}", begun.elapsed());
    }
    assert_eq!(server.stop().await, Drained { cut: 0 });
}

#[tokio::test]
async fn a_connection_over_http_2_is_told_at_once_that_it_ends() {
    let server = running(hello(), patient()).await;
    let mut client = server.connect().await;
    client.write_all(BEGINNING).await.unwrap();
    in_time(next_frame(&mut client)).await.unwrap();
    let begun = Instant::now();
    server.shutdown.cancel();
    while in_time(next_frame(&mut client)).await.unwrap() != (GOAWAY, 0) {}
    assert!(begun.elapsed() < AT_MOST / 2, "after {:?}", begun.elapsed());
}
