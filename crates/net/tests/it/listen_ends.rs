//! How connections end whose clients do not keep step: they still send, send no more, or have left.

use std::convert::Infallible;
use std::future::pending;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::routing::{any, get};
use http::{Request, Response, StatusCode};
use hyper::service::service_fn;
use sluice_net::{BindAddress, Drained, IncomingBody, Limits, Linger, Listener, LocalAddress, serve_each};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::{Notify, oneshot};
use tokio_util::sync::CancellationToken;

use crate::given::*;
use crate::tls::{certificate, handshake};

const SOON: Duration = Duration::from_millis(100);
/// Time enough for a request that is at hand, also on a busy machine.
const A_WHILE: Duration = Duration::from_secs(1);
/// Longer than any test: what waits so long fails.
const NEVER: Duration = Duration::from_hours(1);
const LATE: &str = "HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
const LENGTH: usize = 12 << 20;

/// Refuses every `POST` before its body came.
fn refusing() -> Router {
    let refuse = |request: axum::extract::Request| async move {
        if request.method() == "POST" { StatusCode::UNAUTHORIZED } else { StatusCode::OK }
    };
    Router::new().route("/", any(refuse))
}

fn post(length: usize) -> String {
    format!("POST / HTTP/1.1\r\nhost: sluice\r\ncontent-length: {length}\r\n\r\n")
}

fn limits(linger: Linger) -> Limits {
    Limits { linger, max_connections: 1, ..Limits::default() }
}

/// Sends all of a large body and looks for an answer only then.
async fn send_all(mut stream: impl AsyncRead + AsyncWrite + Unpin) -> String {
    in_time(async {
        stream.write_all(post(LENGTH).as_bytes()).await.unwrap();
        stream.write_all(&vec![b'x'; LENGTH]).await.unwrap();
    })
    .await;
    answer_until(&mut stream, "never").await
}

#[tokio::test]
async fn an_answer_reaches_a_client_that_sends_on() {
    let server = running(refusing(), Limits::default()).await;
    for _ in 0..5 {
        let answer = send_all(server.connect().await).await;
        assert!(answer.starts_with("HTTP/1.1 401 "), "{answer}");
    }
    assert_eq!(server.stop().await, Drained { cut: 0 });
}

#[tokio::test]
async fn an_answer_reaches_a_client_that_sends_on_over_tls() {
    let certificate = certificate();
    let server = running_tls(certificate.acceptor().unwrap(), refusing(), Limits::default()).await;
    let answer = send_all(handshake(&server, &certificate, &["http/1.1"]).await.unwrap()).await;
    assert!(answer.starts_with("HTTP/1.1 401 "), "{answer}");
}

#[tokio::test]
async fn a_head_that_is_too_large_is_answered_however_much_of_it_comes() {
    let server = running(refusing(), Limits::default()).await;
    let mut stream = server.connect().await;
    let head = format!("GET / HTTP/1.1\r\nhost: sluice\r\nx: {}\r\n\r\n", "y".repeat(LENGTH));
    in_time(stream.write_all(head.as_bytes())).await.unwrap();
    let answer = answer_until(&mut stream, "never").await;
    assert!(answer.starts_with("HTTP/1.1 431 "), "{answer}");
}

/// The one permitted connection lingers; ended by `linger` it makes room for another.
async fn a_lingering_connection_makes_room(linger: Linger, goes_on: bool) {
    let server = running(refusing(), limits(linger)).await;
    let mut first = server.connect().await;
    say(&mut first, &post(usize::MAX >> 2)).await;
    assert!(answer_until(&mut first, "\r\n\r\n").await.starts_with("HTTP/1.1 401 "));
    let mut second = server.connect().await;
    say(&mut second, GET).await;
    let sending = tokio::spawn(async move {
        let chunk = vec![b'x'; 4096];
        while goes_on && first.write_all(&chunk).await.is_ok() {
            tokio::task::yield_now().await;
        }
        pending::<()>().await;
        drop(first);
    });
    assert!(answer_until(&mut second, "\r\n\r\n").await.starts_with("HTTP/1.1 200 "));
    sending.abort();
}

#[tokio::test]
async fn a_connection_lingers_neither_in_silence_nor_for_ever_nor_for_any_number_of_bytes() {
    let most = Linger { silence: NEVER, total: NEVER, bytes: u64::MAX };
    a_lingering_connection_makes_room(Linger { silence: SOON, ..most }, false).await;
    a_lingering_connection_makes_room(Linger { total: SOON, ..most }, true).await;
    a_lingering_connection_makes_room(Linger { bytes: 1 << 20, ..most }, true).await;
}

#[tokio::test]
async fn a_shutdown_waits_for_lingering_connections_and_cuts_them_in_the_end() {
    let short = Linger { silence: SOON, ..Linger::default() };
    let long = Linger { silence: NEVER, total: NEVER, bytes: u64::MAX };
    for (linger, grace, cut) in [(short, AT_MOST, 0), (long, SOON, 1)] {
        let limits = Limits { linger, drain_grace: grace, ..Limits::default() };
        let server = running(refusing(), limits).await;
        let mut stream = server.connect().await;
        say(&mut stream, &post(9)).await;
        assert!(answer_until(&mut stream, "\r\n\r\n").await.starts_with("HTTP/1.1 401 "));
        assert_eq!(server.stop().await, Drained { cut });
    }
}

#[tokio::test]
async fn an_idle_connection_does_not_linger() {
    let long = Linger { silence: NEVER, total: NEVER, bytes: u64::MAX };
    let server = running(echoing(), limits(long)).await;
    let mut stream = server.connect().await;
    say(&mut stream, &post(4)).await;
    say(&mut stream, "four").await;
    assert!(answer_until(&mut stream, "four").await.ends_with("four"));
    assert_eq!(server.stop().await, Drained { cut: 0 });
    assert!(is_closed(&mut stream).await);
}

#[tokio::test]
async fn a_first_head_that_is_late_is_answered_408_and_silence_with_silence() {
    let server = running(refusing(), Limits { first_request_timeout: SOON, ..Limits::default() }).await;
    for (beginning, expected) in [
        ("G", LATE),
        ("POST", LATE),
        ("GET / HTTP/1.1\r\nhost: slu", LATE),
        ("", ""),
        ("P", ""),
        ("PRI * HTTP/2.0\r\n", ""),
    ] {
        let mut stream = server.connect().await;
        say(&mut stream, beginning).await;
        assert_eq!(answer_until(&mut stream, "never").await, expected, "{beginning:?}");
    }
}

/// Answers with the body that came.
fn echoing() -> Router {
    let echo = |body: String| async move { body };
    Router::new().route("/", any(echo))
}

/// Connections whose requests were answered, and on which then this was sent.
async fn answered_and_then(server: &Running, cases: &[(String, &str)]) -> Vec<TcpStream> {
    let mut streams = Vec::new();
    for (request, then) in cases {
        let mut stream = server.connect().await;
        say(&mut stream, request).await;
        let end = if request.ends_with("four") { "four" } else { "\r\n\r\n" };
        assert!(answer_until(&mut stream, end).await.starts_with("HTTP/1.1 200 "));
        say(&mut stream, then).await;
        streams.push(stream);
    }
    streams
}

#[tokio::test]
async fn a_later_head_that_is_late_is_answered_408() {
    let limits = Limits { first_request_timeout: A_WHILE, ..Limits::default() };
    let server = running(echoing(), limits).await;
    let beginnings = ["G", "GET / HTTP/1.1\r\nhost: slu", "\r\nPOST"];
    let cases = beginnings.map(|beginning| (GET.to_owned(), beginning));
    for mut stream in answered_and_then(&server, &cases).await {
        assert_eq!(answer_until(&mut stream, "never").await, LATE);
    }
}

#[tokio::test]
async fn a_later_head_that_begins_in_one_packet_with_a_request_is_answered_408() {
    let limits = Limits { first_request_timeout: A_WHILE, ..Limits::default() };
    let server = running(echoing(), limits).await;
    for (requests, beginning) in [(1, "GET / HT"), (2, "\r\nGET / HTTP/1.1\r\n")] {
        let mut stream = server.connect().await;
        say(&mut stream, &(GET.repeat(requests) + beginning)).await;
        let answers = answer_until(&mut stream, "never").await;
        assert!(answers.ends_with(LATE), "{answers}");
        assert_eq!(answers.matches("HTTP/1.1 200 ").count(), requests);
        let mut stream = server.connect().await;
        say(&mut stream, GET).await;
        assert!(answer_until(&mut stream, "\r\n\r\n").await.starts_with("HTTP/1.1 200 "));
        say(&mut stream, &(GET.repeat(requests) + beginning)).await;
        assert!(answer_until(&mut stream, "never").await.ends_with(LATE));
    }
}

#[tokio::test]
async fn what_may_be_no_head_is_never_answered_408() {
    let (first_request_timeout, keep_alive_timeout) = (A_WHILE, A_WHILE * 2);
    let limits = Limits { first_request_timeout, keep_alive_timeout, ..Limits::default() };
    let server = running(echoing(), limits).await;
    let cases = [
        (GET.to_owned(), ""),
        (GET.to_owned(), "\r\n\r\n"),
        (GET.to_owned() + "\r\n\r", ""),
        (post(4) + "four", ""),
        (post(4) + "four", "G"),
    ];
    for mut stream in answered_and_then(&server, &cases).await {
        assert_eq!(answer_until(&mut stream, "never").await, "");
    }
}

#[tokio::test]
async fn a_request_behind_an_answer_that_takes_long_is_answered_in_its_turn() {
    let (asked, let_go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let gates = (asked.clone(), let_go.clone());
    let slow = move || async move {
        gates.0.notify_one();
        gates.1.notified().await;
        "at last"
    };
    let limits = Limits { first_request_timeout: A_WHILE, ..Limits::default() };
    let server = running(Router::new().route("/", get(slow)), limits).await;
    let mut stream = server.connect().await;
    say(&mut stream, GET).await;
    in_time(asked.notified()).await;
    say(&mut stream, GET).await;
    tokio::time::sleep(A_WHILE * 2).await;
    for _ in 0..2 {
        let_go.notify_one();
        let answer = answer_until(&mut stream, "at last").await;
        assert!(answer.starts_with("HTTP/1.1 200 ") && answer.ends_with("at last"), "{answer}");
    }
}

#[tokio::test]
async fn a_client_that_sends_no_more_gets_its_answer_and_then_the_end() {
    let (asked, let_go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let gates = (asked.clone(), let_go.clone());
    let slow = move |body: String| async move {
        gates.0.notify_one();
        gates.1.notified().await;
        format!("at last {body}")
    };
    let server = running(Router::new().route("/", any(slow)), Limits::default()).await;
    for (request, end) in [(GET.to_owned(), "at last "), (post(4) + "four", "at last four")] {
        let mut stream = server.connect().await;
        say(&mut stream, &request).await;
        in_time(asked.notified()).await;
        stream.shutdown().await.unwrap();
        let_go.notify_one();
        let answer = answer_until(&mut stream, end).await;
        assert!(answer.starts_with("HTTP/1.1 200 ") && answer.ends_with(end), "{answer}");
        assert!(is_closed(&mut stream).await);
    }
}

#[tokio::test]
async fn a_client_that_has_left_is_waited_for_no_longer_than_one_that_sends_no_more() {
    let (dropped, noticed) = oneshot::channel::<()>();
    let held = Arc::new(std::sync::Mutex::new(Some(dropped)));
    let hanging = move || async move {
        let _dropped_with_the_request = held.lock().unwrap().take();
        pending::<()>().await;
    };
    let limits = Limits { half_closed_timeout: SOON, ..Limits::default() };
    let server = running(Router::new().route("/", get(hanging)), limits).await;
    let mut stream = server.connect().await;
    say(&mut stream, GET).await;
    drop(stream);
    assert!(in_time(noticed).await.is_err(), "the request is no more");
}

#[tokio::test]
async fn an_idle_client_that_sends_no_more_is_let_go_at_once() {
    let server = running(refusing(), Limits { half_closed_timeout: NEVER, ..Limits::default() }).await;
    let mut stream = server.connect().await;
    say(&mut stream, GET).await;
    assert!(answer_until(&mut stream, "\r\n\r\n").await.starts_with("HTTP/1.1 200 "));
    stream.shutdown().await.unwrap();
    assert!(is_closed(&mut stream).await);
    let mut silent = server.connect().await;
    silent.shutdown().await.unwrap();
    assert!(is_closed(&mut silent).await);
}

#[tokio::test]
async fn a_client_over_http_2_that_answers_no_ping_is_let_go() {
    let limits = Limits { keep_alive_timeout: A_WHILE, pong_timeout: SOON, ..Limits::default() };
    let server = running(refusing(), limits).await;
    let mut stream = server.connect().await;
    // The preface, empty SETTINGS and a GET, most of whose fields are in the static table (RFC 7541, appendix A).
    let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
    let request = b"\0\0\x0b\x01\x05\0\0\0\x01\x82\x86\x84\x41\x06sluice";
    in_time(stream.write_all(&[&preface[..], request].concat())).await.unwrap();
    let mut said = Vec::new();
    let _ = in_time(stream.read_to_end(&mut said)).await;
    assert!(said.contains(&0x88), "`:status: 200` is in {said:?}");
}

/// Connections that are served, and the most that ever were.
#[derive(Default)]
struct Open {
    now: AtomicUsize,
    most: AtomicUsize,
}

struct OneOf(Arc<Open>);

impl OneOf {
    fn enter(open: &Arc<Open>) -> Self {
        let now = open.now.fetch_add(1, Ordering::SeqCst) + 1;
        open.most.fetch_max(now, Ordering::SeqCst);
        Self(open.clone())
    }
}

impl Drop for OneOf {
    fn drop(&mut self) {
        self.0.now.fetch_sub(1, Ordering::SeqCst);
    }
}

#[tokio::test]
async fn cores_share_one_number_of_connections() {
    let address = BindAddress::Tcp { host: "127.0.0.1".into(), port: 0 };
    let detached = Listener::bind_per_core(&address, NonZeroUsize::new(3).unwrap()).await.unwrap();
    let LocalAddress::Tcp(address) = *detached[0].local_address() else { panic!("not TCP") };
    let (shutdown, open) = (CancellationToken::new(), Arc::new(Open::default()));
    for listener in detached {
        let open = open.clone();
        let make = move |_| {
            let served = OneOf::enter(&open);
            service_fn(move |_: Request<IncomingBody>| {
                let _of_the_connection = &served;
                async { Ok::<_, Infallible>(Response::new(Body::from("hello"))) }
            })
        };
        let limits = Limits { max_connections: 4, ..Limits::default() };
        tokio::spawn(serve_each(listener.attach().unwrap(), None, make, None, shutdown.clone(), limits));
    }
    for _ in 0..8 {
        let mut clients = Vec::new();
        for _ in 0..4 {
            let mut stream = TcpStream::connect(address).await.unwrap();
            say(&mut stream, GET).await;
            assert!(answer_until(&mut stream, "hello").await.ends_with("hello"), "wherever it went");
            clients.push(stream);
        }
        let mut fifth = TcpStream::connect(address).await.unwrap();
        say(&mut fifth, GET).await;
        drop(clients);
        assert!(answer_until(&mut fifth, "hello").await.ends_with("hello"));
    }
    assert_eq!(open.most.load(Ordering::SeqCst), 4);
    shutdown.cancel();
}
