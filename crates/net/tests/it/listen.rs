//! What a listener gives requests, and what it refuses.

use std::convert::Infallible;
use std::io::ErrorKind;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::body::Body;
use axum::extract::Request;
use axum::routing::get;
use axum::{Extension, Router};
use http::{Response, StatusCode, Version};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use sluice_net::{
    BindAddress, ConnectionFacts, IncomingBody, Limits, ListenError, Listener, LocalAddress, PeerAddress,
    Transport, Unreadable, serve, serve_each,
};
use sluice_testkit::Captured;
use tokio::net::TcpStream;
use tokio::sync::{Notify, mpsc};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::given::*;

const SOON: Duration = Duration::from_millis(250);

fn hello() -> Router {
    Router::new().route("/", get(|| async { "hello" }))
}

#[tokio::test]
async fn a_request_is_told_its_peer_and_that_nothing_was_encrypted() {
    let facts = |Extension(peer): Extension<PeerAddress>, Extension(transport): Extension<Transport>| async move {
        format!("{} {}", peer.0, transport.tls)
    };
    let server = running(Router::new().route("/", get(facts)), Limits::default()).await;
    let mut stream = server.connect().await;
    let expected = format!("{} false", stream.local_addr().unwrap());
    say(&mut stream, GET).await;
    let answer = answer_until(&mut stream, &expected).await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert!(answer.ends_with(&expected), "{answer}");
}

#[tokio::test]
async fn a_connection_serves_one_request_after_the_other() {
    let server = running(hello(), Limits::default()).await;
    let mut stream = server.connect().await;
    for _ in 0..3 {
        say(&mut stream, GET).await;
        assert!(answer_until(&mut stream, "hello").await.ends_with("hello"));
    }
}

#[tokio::test]
async fn http_2_is_spoken_when_a_client_begins_with_it() {
    let version = |request: Request| async move { format!("{:?}", request.version()) };
    let server = running(Router::new().route("/", get(version)), Limits::default()).await;
    let io = TokioIo::new(server.connect().await);
    let (mut sender, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), io).await.unwrap();
    tokio::spawn(connection);
    let request = Request::get("http://sluice/").body(Body::empty()).unwrap();
    let response = in_time(sender.send_request(request)).await.unwrap();
    assert_eq!(response.version(), Version::HTTP_2);
    let body = axum::body::to_bytes(Body::new(response.into_body()), 64).await.unwrap();
    assert_eq!(body, "HTTP/2.0");
}

#[tokio::test]
async fn several_accept_loops_share_one_port() {
    let server = running_with(listener(3).await, None, hello(), Limits::default());
    for _ in 0..12 {
        let mut stream = server.connect().await;
        say(&mut stream, GET).await;
        assert!(answer_until(&mut stream, "hello").await.ends_with("hello"));
    }
    assert_eq!(server.stop().await.cut, 0);
}

#[tokio::test]
async fn a_client_that_brings_no_request_or_half_a_head_is_cut_off() {
    let server = running(hello(), Limits { first_request_timeout: SOON, ..Limits::default() }).await;
    for beginning in
        ["", "G", "GET / HTTP/1.1\r\nhost: slu", "PRI * HTTP/2.0\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"]
    {
        let mut stream = server.connect().await;
        say(&mut stream, beginning).await;
        let rest = answer_until(&mut stream, "never").await;
        assert!(!rest.contains("HTTP/1.1 2"), "{beginning:?}: {rest}");
    }
}

#[tokio::test]
async fn an_idle_connection_is_closed_and_a_slow_second_head_with_it() {
    let server = running(hello(), Limits { keep_alive_timeout: SOON, ..Limits::default() }).await;
    for second in ["", "GET / HTTP/1.1\r\nho"] {
        let mut stream = server.connect().await;
        say(&mut stream, GET).await;
        assert!(answer_until(&mut stream, "hello").await.ends_with("hello"));
        say(&mut stream, second).await;
        assert!(is_closed(&mut stream).await, "{second:?}");
    }
}

#[tokio::test]
async fn a_request_that_is_long_in_the_answering_is_not_idle() {
    let (let_go, gate) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let waiting = (let_go.clone(), gate.clone());
    let slow = || async move {
        waiting.1.notify_one();
        waiting.0.notified().await;
        "at last"
    };
    let limits = Limits { keep_alive_timeout: SOON, first_request_timeout: SOON, ..Limits::default() };
    let server = running(hello().route("/slow", get(slow)), limits).await;
    let mut stream = server.connect().await;
    say(&mut stream, "GET /slow HTTP/1.1\r\nhost: sluice\r\n\r\n").await;
    in_time(gate.notified()).await;
    let mut idle = server.connect().await;
    say(&mut idle, GET).await;
    assert!(answer_until(&mut idle, "hello").await.ends_with("hello"));
    assert!(is_closed(&mut idle).await, "by now the slow one has waited longer");
    let_go.notify_one();
    assert!(answer_until(&mut stream, "at last").await.ends_with("at last"));
}

#[tokio::test]
async fn each_core_has_a_socket_of_its_own_and_each_connection_a_service() {
    let address = BindAddress::Tcp { host: "127.0.0.1".into(), port: 0 };
    let cores = NonZeroUsize::new(3).unwrap();
    let detached = Listener::bind_per_core(&address, cores).await.unwrap();
    let LocalAddress::Tcp(address) = *detached[0].local_address() else { panic!("not TCP") };
    let shutdown = CancellationToken::new();
    let mut serving = Vec::new();
    for listener in detached {
        let make = |facts: ConnectionFacts| {
            service_fn(move |_| async move { Ok::<_, Infallible>(Response::new(facts.peer.0.to_string())) })
        };
        let listener = listener.attach().unwrap();
        serving.push(tokio::spawn(serve_each(
            listener,
            None,
            make,
            None,
            shutdown.clone(),
            Limits::default(),
        )));
    }
    for _ in 0..12 {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let expected = stream.local_addr().unwrap().to_string();
        say(&mut stream, GET).await;
        assert!(answer_until(&mut stream, &expected).await.ends_with(&expected));
    }
    shutdown.cancel();
    for core in serving {
        assert_eq!(in_time(core).await.unwrap().cut, 0);
    }
}

#[tokio::test]
async fn sockets_of_many_cores_share_their_port_with_nobody_else() {
    let at = async |port| {
        let address = BindAddress::Tcp { host: "127.0.0.1".into(), port };
        Listener::bind_per_core(&address, NonZeroUsize::new(2).unwrap()).await
    };
    let first = at(0).await.unwrap();
    let LocalAddress::Tcp(address) = *first[0].local_address() else { panic!("not TCP") };
    let refused = at(address.port()).await.unwrap_err();
    let in_use =
        matches!(&refused, ListenError::Bind { source, .. } if source.kind() == ErrorKind::AddrInUse);
    assert!(in_use, "{refused:?}");
    drop(first);
    assert_eq!(at(address.port()).await.unwrap().len(), 2);
}

#[tokio::test]
async fn an_empty_host_is_every_interface_of_ipv4_and_of_ipv6() {
    let address = BindAddress::Tcp { host: String::new(), port: 0 };
    let listener = Listener::bind(&address, NonZeroUsize::MIN).await.unwrap();
    let told = |Extension(peer): Extension<PeerAddress>| async move { peer.0.to_string() };
    let server = running_with(listener, None, Router::new().route("/", get(told)), Limits::default());
    let has_ipv6 = std::net::TcpListener::bind("[::1]:0").is_ok();
    for host in ["127.0.0.1", "::1"].into_iter().take(1 + usize::from(has_ipv6)) {
        let mut stream = TcpStream::connect((host, server.address.port())).await.unwrap();
        let expected = format!("\r\n\r\n{}", stream.local_addr().unwrap());
        say(&mut stream, GET).await;
        assert!(answer_until(&mut stream, &expected).await.ends_with(&expected), "{host}");
    }
}

#[tokio::test]
async fn a_head_that_is_too_large_gets_431() {
    let server = running(hello(), Limits { max_header_bytes: 8 * 1024, ..Limits::default() }).await;
    let mut stream = server.connect().await;
    let many = "x: y\r\n".repeat(101);
    let long = format!("x: {}\r\n", "y".repeat(9 * 1024));
    for headers in [many, long] {
        say(&mut stream, &format!("GET / HTTP/1.1\r\nhost: sluice\r\n{headers}\r\n")).await;
        let answer = answer_until(&mut stream, "\r\n\r\n").await;
        assert!(answer.starts_with("HTTP/1.1 431"), "{answer}");
        stream = server.connect().await;
    }
}

#[tokio::test]
async fn what_cannot_be_read_and_what_is_late_is_heard_of() {
    let (tell, mut heard) = mpsc::unbounded_channel();
    let unreadable: Unreadable = Arc::new(move |PeerAddress(peer), status| {
        let _ = tell.send((peer, status.as_u16()));
    });
    let listener = listener(1).await;
    let LocalAddress::Tcp(address) = *listener.local_address() else { panic!("not TCP") };
    let shutdown = CancellationToken::new();
    let limits = Limits { first_request_timeout: SOON, ..Limits::default() };
    tokio::spawn(serve(listener, None, hello(), Some(unreadable), shutdown.clone(), limits));
    for (said, status) in [
        (GET.to_owned() + "GET /?\" HTTP/1.1\r\nhost: sluice\r\n\r\n", 400),
        (format!("GET / HTTP/1.1\r\nhost: sluice\r\n{}\r\n", "x: y\r\n".repeat(101)), 431),
        ("GET / HT".to_owned(), 408),
        (GET.to_owned() + "GET / HT", 408),
    ] {
        let mut stream = TcpStream::connect(address).await.unwrap();
        say(&mut stream, &said).await;
        let answer = answer_until(&mut stream, "never").await;
        assert!(answer.contains(&format!("HTTP/1.1 {status} ")), "{answer}");
        let peer = stream.local_addr().unwrap();
        drop(stream);
        assert_eq!(in_time(heard.recv()).await, Some((peer, status)), "{said}");
    }
    assert!(heard.try_recv().is_err(), "of what was answered nothing is heard");
    shutdown.cancel();
}

#[tokio::test]
async fn a_connection_beyond_the_limit_waits_until_another_ends() {
    let seen = Arc::new(AtomicUsize::new(0));
    let answered = seen.clone();
    let counted = move || async move { answered.fetch_add(1, Ordering::SeqCst).to_string() };
    let limits = Limits { max_connections: 1, ..Limits::default() };
    let server = running(Router::new().route("/", get(counted)), limits).await;
    let (mut first, mut second) = (server.connect().await, server.connect().await);
    say(&mut second, GET).await;
    say(&mut first, GET).await;
    assert!(answer_until(&mut first, "\r\n\r\n0").await.ends_with("\r\n\r\n0"));
    assert_eq!(seen.load(Ordering::SeqCst), 1);
    drop(first);
    assert!(answer_until(&mut second, "\r\n\r\n1").await.ends_with("\r\n\r\n1"));
}

#[tokio::test]
async fn an_upgraded_connection_keeps_its_place_until_it_ends() {
    let (tell, mut upgraded) = mpsc::unbounded_channel();
    let make = move |_: ConnectionFacts| {
        let tell = tell.clone();
        service_fn(move |mut request: Request<IncomingBody>| {
            let mut answer = Response::new("hello".to_owned());
            if request.headers().contains_key("upgrade") {
                answer = Response::new(String::new());
                *answer.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
                tell.send(hyper::upgrade::on(&mut request)).unwrap();
            }
            async { Ok::<_, Infallible>(answer) }
        })
    };
    let listener = listener(1).await;
    let LocalAddress::Tcp(address) = *listener.local_address() else { panic!("not TCP") };
    let connections = listener.connections();
    let limits = Limits { max_connections: 1, ..Limits::default() };
    tokio::spawn(serve_each(listener, None, make, None, CancellationToken::new(), limits));
    let mut first = TcpStream::connect(address).await.unwrap();
    say(&mut first, "GET / HTTP/1.1\r\nhost: sluice\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n").await;
    assert!(answer_until(&mut first, "\r\n\r\n").await.starts_with("HTTP/1.1 101 "));
    let upgraded = in_time(in_time(upgraded.recv()).await.unwrap()).await.unwrap();
    let mut second = TcpStream::connect(address).await.unwrap();
    say(&mut second, GET).await;
    let waiting = timeout(SOON, answer_until(&mut second, "hello")).await;
    assert!(waiting.is_err() && connections.served() == 1, "there is no place");
    drop(upgraded);
    assert!(answer_until(&mut second, "hello").await.ends_with("hello"));
    assert_eq!(connections.served(), 1);
}

#[tokio::test]
async fn that_every_place_is_taken_is_said_once_by_the_name_of_the_listener_and_shown() {
    const FULL: &str = "all connections that a listener may have are taken";
    let (log, _guard) = Captured::begin();
    let listener = listener(1).await.named("public");
    let connections = listener.connections();
    let limits = Limits { max_connections: 1, ..Limits::default() };
    let server = running_with(listener, None, hello(), limits);
    assert_eq!(connections.served(), 0);
    let mut stream = server.connect().await;
    say(&mut stream, GET).await;
    assert!(answer_until(&mut stream, "hello").await.ends_with("hello"));
    assert_eq!((connections.served(), log.lines(FULL).len()), (1, 0), "nobody waits");

    for _ in 0..2 {
        let mut next = server.connect().await;
        say(&mut next, GET).await;
        let said = logged(&log, FULL, 1).await;
        assert!(said[0].contains("listener=\"public\"") && said[0].contains("limit=1"), "{said:?}");
        drop(std::mem::replace(&mut stream, next));
        assert!(answer_until(&mut stream, "hello").await.ends_with("hello"));
        assert_eq!(connections.served(), 1);
    }
    assert_eq!(log.lines(FULL).len(), 1, "once a minute");
}

#[tokio::test]
async fn idle_connections_make_room_for_another() {
    let server = running(hello(), Limits { max_connections: 4, ..Limits::default() }).await;
    let mut idle = Vec::new();
    for _ in 0..4 {
        let mut stream = server.connect().await;
        say(&mut stream, GET).await;
        assert!(answer_until(&mut stream, "hello").await.ends_with("hello"));
        idle.push(stream);
    }
    let mut fifth = server.connect().await;
    say(&mut fifth, GET).await;
    assert!(answer_until(&mut fifth, "hello").await.ends_with("hello"));
}
