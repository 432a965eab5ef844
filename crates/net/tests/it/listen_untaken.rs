//! Clients that do not take what they are answered: over HTTP/2, and over HTTP/1.1 those that take a little, nothing but a listener ends.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::routing::get;
use bytes::Bytes;
use futures_util::stream::{once, repeat};
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use sluice_net::Limits;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::Notify;
use tokio::time::sleep;

use crate::given::*;
use crate::tls::{certificate, handshake};

const SOON: Duration = Duration::from_millis(100);
/// Types and flags of frames (RFC 9113 §6).
const DATA: u8 = 0;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const GOAWAY: u8 = 7;
const ACK: u8 = 1;
/// The preface, SETTINGS with a window of no bytes for each stream (`SETTINGS_INITIAL_WINDOW_SIZE`), and a GET, most of whose fields are
/// in the static table (RFC 7541, appendix A).
const BEGINNING: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\x06\x04\0\0\0\0\0\0\x04\0\0\0\0\
    \0\0\x0b\x01\x05\0\0\0\x01\x82\x86\x84\x41\x06sluice";

/// The next frame: type, flags and payload. `None`: the connection has ended.
async fn next_frame(stream: &mut TcpStream) -> Option<(u8, u8, Vec<u8>)> {
    let mut head = [0; 9];
    stream.read_exact(&mut head).await.ok()?;
    let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
    let mut payload = vec![0; usize::try_from(length).unwrap()];
    stream.read_exact(&mut payload).await.ok()?;
    Some((head[3], head[4], payload))
}

/// Asks, has no room for the answer, and says that it lives whenever it is asked; the types of the frames that came until it was cut.
async fn frames_until_the_end(server: &Running) -> Vec<u8> {
    let mut stream = server.connect().await;
    stream.write_all(BEGINNING).await.unwrap();
    let mut kinds = Vec::new();
    while let Some((kind, flags, payload)) = in_time(next_frame(&mut stream)).await {
        kinds.push(kind);
        if matches!(kind, SETTINGS | PING) && flags & ACK == 0 {
            let payload = if kind == PING { payload } else { Vec::new() };
            let length = u8::try_from(payload.len()).unwrap();
            let answer = [&[0, 0, length, kind, ACK, 0, 0, 0, 0][..], &payload[..]].concat();
            let _ = stream.write_all(&answer).await;
        }
    }
    kinds
}

fn limits() -> Limits {
    Limits { keep_alive_timeout: SOON, untaken_timeout: SOON, ..Limits::default() }
}

#[tokio::test]
async fn a_client_that_takes_no_answer_is_told_to_end_and_then_cut() {
    let server = running(Router::new().route("/", get(|| async { "hello" })), limits()).await;
    let kinds = in_time(frames_until_the_end(&server)).await;
    assert!(kinds.contains(&GOAWAY) && !kinds.contains(&DATA), "{kinds:?}");
}

/// A server that answers `/head` when it is told to, and of `/body` the end.
fn waiting(let_go: &Arc<Notify>) -> Router {
    let (head, body) = (let_go.clone(), let_go.clone());
    let answer = |gate: Arc<Notify>| async move {
        gate.notified().await;
        Bytes::from_static(b"at last")
    };
    let later = move || answer(head);
    let streamed = move || async move {
        let rest = answer(body);
        Body::from_stream(once(async move { Ok::<_, Infallible>(rest.await) }))
    };
    Router::new()
        .route("/", get(|| async { "hello" }))
        .route("/head", get(later))
        .route("/body", get(streamed))
}

#[tokio::test]
async fn an_answer_that_is_waited_for_is_not_cut() {
    for path in ["/head", "/body"] {
        let let_go = Arc::new(Notify::new());
        let server = running(waiting(&let_go), limits()).await;
        let io = TokioIo::new(server.connect().await);
        let (mut client, connection) = http2::handshake(TokioExecutor::new(), io).await.unwrap();
        tokio::spawn(connection);
        let request = Request::get(format!("http://sluice{path}")).body(Body::empty()).unwrap();
        let asked = tokio::spawn(client.send_request(request));
        // Those that are in the list after it are cut: by then it has waited longer.
        for _ in 0..2 {
            in_time(frames_until_the_end(&server)).await;
        }
        let_go.notify_one();
        let answer = in_time(asked).await.unwrap().unwrap();
        let body = in_time(axum::body::to_bytes(Body::new(answer.into_body()), 64)).await.unwrap();
        assert_eq!(body, "at last", "{path}");
    }
}

/// More than anybody takes.
fn endless() -> Router {
    let part = Bytes::from(vec![b'x'; 64 * 1024]);
    let answer = move || async move { Body::from_stream(repeat(Ok::<_, Infallible>(part))) };
    Router::new().route("/", get(|| async { "hello" })).route("/endless", get(answer))
}

/// Asks for what is endless and takes nothing of it, until there is a place for the second connection.
async fn makes_room<S: AsyncRead + AsyncWrite + Unpin>(mut first: S, second: impl Future<Output = S>) {
    say(&mut first, "GET /endless HTTP/1.1\r\nhost: sluice\r\n\r\n").await;
    let mut second = in_time(second).await;
    say(&mut second, GET).await;
    let answer = answer_until(&mut second, "hello").await;
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    drop(first);
}

#[tokio::test]
async fn a_client_over_http_1_that_takes_nothing_makes_room() {
    let limits = Limits { max_connections: 1, ..limits() };
    let server = running(endless(), limits.clone()).await;
    makes_room(server.connect().await, server.connect()).await;
    let certificate = certificate();
    let server = running_tls(certificate.acceptor().unwrap(), endless(), limits).await;
    let connect = async || handshake(&server, &certificate, &["http/1.1"]).await.unwrap();
    makes_room(connect().await, connect()).await;
}

#[tokio::test]
async fn a_client_over_http_1_that_takes_its_answer_slowly_is_not_cut() {
    let limits = Limits { untaken_timeout: SOON * 4, ..limits() };
    let server = running(endless(), limits).await;
    let mut stream = server.connect().await;
    say(&mut stream, "GET /endless HTTP/1.1\r\nhost: sluice\r\n\r\n").await;
    let mut part = vec![0; 256 * 1024];
    // Twice as long as one has that takes nothing.
    for _ in 0..100 {
        in_time(stream.read_exact(&mut part)).await.unwrap();
        sleep(SOON * 2 / 5).await;
    }
}

#[tokio::test]
async fn an_answer_over_http_1_that_is_waited_for_is_not_cut() {
    for path in ["/head", "/body"] {
        let let_go = Arc::new(Notify::new());
        let server = running(waiting(&let_go), limits()).await;
        let mut stream = server.connect().await;
        say(&mut stream, &format!("GET {path} HTTP/1.1\r\nhost: sluice\r\n\r\n")).await;
        // Twice as long as one has that takes nothing.
        sleep(SOON * 12).await;
        let_go.notify_one();
        let answer = answer_until(&mut stream, "never").await;
        assert!(answer.contains("at last"), "{path}: {answer}");
    }
}
