//! HTTP/2 on either side.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::num::{NonZeroU32, NonZeroUsize};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::join_all;
use futures_util::stream::{self, StreamExt};
use http::{HeaderMap, HeaderName, Method, Request, Response, Version};
use http_body::Frame;
use http_body_util::{BodyExt, Empty, Full, StreamBody};
use hyper::body::Incoming;
use hyper::client::conn::http2;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use sluice_gateway::Refusal;
use sluice_gateway::proxy::upstream::{PassiveHealth, UpstreamProtocol};
use sluice_net::{CertificateHeader, ForwardedCertificatePolicy, MAX_HEADER_LINES};
use tokio::io::AsyncWriteExt;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

use super::given::*;

type Chunks = StreamBody<futures_util::stream::Iter<std::vec::IntoIter<Result<Frame<Bytes>, Infallible>>>>;

fn chunks(data: &'static [&'static str], trailers: &[(&'static str, &'static str)]) -> Chunks {
    let mut frames: Vec<_> =
        data.iter().map(|data| Ok(Frame::data(Bytes::from_static(data.as_bytes())))).collect();
    let mut map = HeaderMap::new();
    for (name, value) in trailers {
        map.append(*name, value.parse().unwrap());
    }
    if !map.is_empty() {
        frames.push(Ok(Frame::trailers(map)));
    }
    StreamBody::new(futures_util::stream::iter(frames))
}

/// A server over HTTP/2 that says what it got, and how many connections there were.
pub(super) async fn http2_server() -> (SocketAddr, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let connections = Arc::new(AtomicUsize::new(0));
    let counted = connections.clone();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            counted.fetch_add(1, Ordering::SeqCst);
            let serving = hyper::server::conn::http2::Builder::new(TokioExecutor::new())
                .serve_connection(TokioIo::new(stream), service_fn(say_what_came));
            tokio::spawn(serving);
        }
    });
    (address, connections)
}

async fn say_what_came(request: Request<Incoming>) -> Result<Response<Chunks>, Infallible> {
    let (parts, body) = request.into_parts();
    let Ok(body) = body.collect().await else { return Ok(Response::new(chunks(&[], &[]))) };
    let trailers = [("grpc-status", "0"), ("grpc-message", "not found ")];
    let mut response = Response::new(chunks(&["one ", "two"], &trailers));
    let headers = response.headers_mut();
    headers.insert("x-blank", " answered ".parse().unwrap());
    let came = parts.headers.iter().chain(body.trailers().into_iter().flatten());
    let edges: Vec<_> = came.filter(|(name, _)| ["x-asked", "x-checksum"].contains(&name.as_str())).collect();
    let edges: Vec<_> =
        edges.iter().map(|(name, value)| format!("{name}={}", value.to_str().unwrap())).collect();
    headers.insert("x-edges", edges.join(" ").parse().unwrap());
    let told =
        format!("{} {:?}", parts.uri, parts.headers.get("te").map(|te| te.to_str().unwrap().to_owned()));
    headers.insert("x-told", told.parse().unwrap());
    let trailers: Vec<_> =
        body.trailers().into_iter().flat_map(HeaderMap::keys).map(HeaderName::as_str).collect();
    headers.insert("x-trailers", trailers.join(",").parse().unwrap());
    headers.insert("x-body", body.to_bytes().len().into());
    Ok(response)
}

pub(super) async fn http2_client_with_room_for<B>(bytes: u32, stream: TcpStream) -> http2::SendRequest<B>
where
    B: http_body::Body<Data = Bytes, Error = Infallible> + Unpin + Send + 'static,
{
    let mut builder = http2::Builder::new(TokioExecutor::new());
    builder.initial_stream_window_size(bytes);
    let (sender, connection) = builder.handshake(TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    sender
}

pub(super) async fn http2_client<S, B>(stream: S) -> http2::SendRequest<B>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    B: http_body::Body<Data = Bytes, Error = Infallible> + Unpin + Send + 'static,
{
    let (sender, connection) = http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    sender
}

pub(super) fn spoken_over_http2(mut setup: Setup) -> Setup {
    setup.upstream.protocol = UpstreamProtocol::Http2;
    setup
}

#[tokio::test]
async fn a_grpc_call_keeps_its_trailers_both_ways() {
    let (address, _) = http2_server().await;
    let mut setup = spoken_over_http2(Setup::to(&[address]));
    let header = CertificateHeader::from(HeaderName::from_static("x-tls-cert"));
    // Also of a proxy that is believed about certificates: it says so in the head.
    let from = vec!["127.0.0.0/8".parse().unwrap()];
    setup.certificates = ForwardedCertificatePolicy { headers: vec![header], from };
    let world = setup.start().await;
    let mut client = http2_client(world.connect().await).await;
    let trailers = [
        ("x-checksum", "1"),
        ("oauth-user-id", "root"),
        ("configured", "x"),
        ("x-real-ip", "127.0.0.1"),
        ("x-tls-cert", "forged"),
        ("x_tls.cert", "forged"),
    ];
    let request = Request::post("http://api.example/service/Method")
        .header("te", "trailers")
        .header("content-type", "application/grpc")
        .body(chunks(&["a", "b"], &trailers))
        .unwrap();
    let response = in_time(client.send_request(request)).await.unwrap();
    assert_eq!(response.version(), Version::HTTP_2);
    let told = response.headers()["x-told"].to_str().unwrap().to_owned();
    assert_eq!(told, "http://api.example/service/Method Some(\"trailers\")");
    assert_eq!(response.headers()["x-trailers"], "x-checksum");
    assert_eq!(response.headers()["x-body"], "2");
    let body = in_time(response.into_body().collect()).await.unwrap();
    assert_eq!(body.trailers().unwrap()["grpc-status"], "0");
    assert_eq!(body.to_bytes(), "one two");
}

#[tokio::test]
async fn requests_at_once_share_a_connection_over_http_2() {
    let (address, connections) = http2_server().await;
    let world = spoken_over_http2(Setup::to(&[address])).start().await;
    let asking = (0..40).map(|_| world.ask(GET));
    for answer in join_all(asking).await {
        assert_eq!(answer.status(), 200);
        assert!(answer.text().contains("one "), "{answer:?}");
    }
    assert_eq!(connections.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_request_over_http_2_reaches_an_upstream_over_http_1() {
    let (address, mut requests) = Backend::bind().await.recording();
    let world = Setup::to(&[address]).start().await;
    let mut client = http2_client(world.connect().await).await;
    let known = Request::post("http://api.example/known?x=1")
        .header("content-length", "4")
        .body(chunks(&["fo", "ur"], &[]));
    let unknown = Request::post("http://api.example/unknown").body(chunks(&["fo", "ur"], &[]));
    for request in [known, unknown] {
        let response = in_time(client.send_request(request.unwrap())).await.unwrap();
        assert_eq!(in_time(response.into_body().collect()).await.unwrap().to_bytes(), "ok");
    }
    let known = requests.recv().await.unwrap();
    assert_eq!(known.line(), "POST /known?x=1 HTTP/1.1");
    assert_eq!((known.all("host"), known.text()), (vec!["api.example"], "four"));
    assert_eq!((known.all("content-length"), known.all("transfer-encoding")), (vec!["4"], vec![]));
    let unknown = requests.recv().await.unwrap();
    assert_eq!((unknown.all("content-length"), unknown.all("transfer-encoding")), (vec![], vec!["chunked"]));
    assert_eq!(unknown.text(), "2\r\nfo\r\n2\r\nur\r\n0\r\n\r\n");
    let mut client = http2_client(world.connect().await).await;
    let none = Request::get("http://api.example/none").body(Empty::new()).unwrap();
    assert_eq!(in_time(client.send_request(none)).await.unwrap().status(), 200);
    let none = requests.recv().await.unwrap();
    assert_eq!((none.line(), none.text()), ("GET /none HTTP/1.1", ""));
}

/// RFC 9110 §8.6: what has no body by its status has no length, but for what `304` says of the body that it does not repeat.
#[tokio::test]
async fn an_answer_without_content_is_told_without_a_length() {
    let address = Backend::bind().await.serve(|mut peer, _| async move {
        while let Some(head) = peer.head().await {
            let status = if head.starts_with("GET /204 ") { "204 No Content" } else { "304 Not Modified" };
            peer.say(format!("HTTP/1.1 {status}\r\ncontent-length: 2\r\n\r\n")).await;
        }
    });
    let world = Setup::to(&[address]).start().await;
    for (status, length) in [(204, None), (304, Some("2"))] {
        let mut client = http2_client(world.connect().await).await;
        let request = Request::get(format!("http://api.example/{status}")).body(Empty::new()).unwrap();
        let answer = in_time(client.send_request(request)).await.unwrap();
        let told = answer.headers().get("content-length").map(|length| length.to_str().unwrap());
        assert_eq!((answer.status().as_u16(), told), (status, length));
    }
    let mut client = Peer::new(world.connect().await);
    client.say("GET /204 HTTP/1.1\r\nhost: a\r\n\r\n").await;
    let head = client.head().await.unwrap().to_lowercase();
    assert!(head.starts_with("http/1.1 204 ") && !head.contains("content-length"), "{head}");
}

/// The server looks at what came: elsewhere an empty path is told as a slash.
#[tokio::test]
async fn an_empty_path_before_a_query_reaches_an_upstream_over_http_2_as_a_slash() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let service = service_fn(|request: Request<Incoming>| async move {
        let target = request.uri().path_and_query().unwrap().as_str().to_owned();
        Ok::<_, Infallible>(Response::new(Full::<Bytes>::from(target)))
    });
    tokio::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        let _ = hyper::server::conn::http2::Builder::new(TokioExecutor::new())
            .serve_connection(TokioIo::new(stream), service)
            .await;
    });
    let world = spoken_over_http2(Setup::to(&[address])).start().await;
    for (asked, target) in [("http://api.example?x=1", "/?x=1"), ("http://api.example", "/"), ("/?x", "/?x")]
    {
        let answer = world.ask(&format!("GET {asked} HTTP/1.1\r\nhost: api.example\r\n\r\n")).await;
        assert_eq!((answer.status(), answer.text()), (200, target));
    }
}

/// Its client cannot be told to go on, and what it sends meanwhile, trailers above all, would wait in the memory here.
#[tokio::test]
async fn a_body_over_http_2_waits_for_no_word_of_the_upstream() {
    let backend = Backend::bind().await;
    let world = Setup::to(&[backend.address]).start().await;
    let mut client = http2_client(world.connect().await).await;
    let request = Request::post("http://api.example/")
        .header("expect", "100-continue")
        .header("content-length", "5")
        .body(chunks(&["hello"], &[]))
        .unwrap();
    let answer = tokio::spawn(client.send_request(request));
    let mut upstream = backend.accept().await;
    let head = upstream.head().await.unwrap();
    assert!(!head.contains("expect"), "{head}");
    assert_eq!(upstream.body_of(head).await.unwrap().text(), "hello");
    upstream.say(OK).await;
    assert_eq!(in_time(answer).await.unwrap().unwrap().status(), 200);
}

#[tokio::test]
async fn cookies_that_came_apart_over_http_2_reach_an_upstream_over_http_1_in_one_line() {
    let (address, mut requests) = Backend::bind().await.recording();
    let world = Setup::to(&[address]).start().await;
    let mut client = http2_client(world.connect().await).await;
    let request = Request::get("http://api.example/")
        .header("cookie", "a=1")
        .header("cookie", "b=2; c=3")
        .header("cookie", "d=4")
        .body(Empty::<Bytes>::new())
        .unwrap();
    assert_eq!(in_time(client.send_request(request)).await.unwrap().status(), 200);
    assert_eq!(in_time(requests.recv()).await.unwrap().all("cookie"), ["a=1; b=2; c=3; d=4"]);
}

/// Over HTTP/2 a line may be a byte on the wire, and each stream would hold a whole list for as long as its body takes.
#[tokio::test]
async fn a_head_of_too_many_lines_is_refused_before_its_body_came() {
    let (address, _requests) = Backend::bind().await.recording();
    let mut world = Setup::to(&[address]).start().await;
    let with_lines = |request: http::request::Builder, lines: usize| {
        (0..lines).fold(request, |request, _| request.header("cookie", "a=1"))
    };
    let mut client = http2_client(world.connect().await).await;
    let get = with_lines(Request::get("http://api.example/"), MAX_HEADER_LINES);
    let answer = in_time(client.send_request(get.body(Empty::<Bytes>::new()).unwrap())).await.unwrap();
    assert_eq!((answer.status().as_u16(), world.told().await.verdict), (200, "anonymous"));
    let mut client = http2_client(world.connect().await).await;
    let post = with_lines(Request::post("http://api.example/orders"), MAX_HEADER_LINES + 1);
    let open = StreamBody::new(stream::pending::<Result<Frame<Bytes>, Infallible>>());
    let answer = in_time(client.send_request(post.body(open).unwrap())).await.unwrap();
    assert_eq!(answer.status(), 431);
    assert_eq!(answer.headers()["content-type"], "application/problem+json");
    let told = world.told().await;
    assert_eq!((told.verdict, told.path.as_str()), ("too_many_header_lines", "/orders"));
}

/// Servers end a whole connection over such a field (RFC 9113 §8.2.1), and the requests of others with it; but clients send them.
#[tokio::test]
async fn blanks_at_the_edges_of_values_go_no_further() {
    let (address, mut requests) = Backend::bind().await.recording();
    let world = Setup::to(&[address]).start().await;
    let mut client = http2_client(world.connect().await).await;
    for (value, read) in [(" a b ", "a b"), ("a\t", "a"), ("\t a", "a"), (" ", ""), ("", ""), ("a", "a")] {
        let get =
            Request::get("http://api.example/").header("x-a", value).body(Empty::<Bytes>::new()).unwrap();
        assert_eq!(in_time(client.send_request(get)).await.unwrap().status(), 200);
        assert_eq!(in_time(requests.recv()).await.unwrap().all("x-a"), [read]);
    }
}

/// Either way, in heads and in trailers: here a server, and there a client, says what it got to the byte.
#[tokio::test]
async fn no_blank_at_the_edge_of_a_value_goes_through_over_http_2_alone() {
    let (address, connections) = http2_server().await;
    let world = spoken_over_http2(Setup::to(&[address])).start().await;
    let mut client = http2_client(world.connect().await).await;
    let request = Request::post("http://api.example/service/Method")
        .header("te", "trailers")
        .header("content-type", "application/grpc")
        .header("x-asked", " both ")
        .body(chunks(&["a"], &[("x-checksum", " 1 ")]))
        .unwrap();
    let response = in_time(client.send_request(request)).await.unwrap();
    assert_eq!(response.headers()["x-edges"], "x-asked=both x-checksum=1");
    assert_eq!(response.headers()["x-blank"], "answered");
    let trailers = in_time(response.into_body().collect()).await.unwrap().trailers().unwrap().clone();
    assert_eq!(trailers["grpc-message"], "not found");
    assert_eq!(connections.load(Ordering::SeqCst), 1);
}

/// Many servers take 64 KiB as HTTP/2 counts it, and end the connection over more: with what others have on it.
#[tokio::test]
async fn a_head_that_only_http_1_counts_as_small_enough_is_not_sent_over_http_2() {
    let (address, connections) = http2_server().await;
    let mut world = spoken_over_http2(Setup::to(&[address])).start().await;
    let long = "x".repeat(65_300);
    let answer = world.ask(&format!("GET / HTTP/1.1\r\nHost: api.example\r\nX-A: {long}\r\n\r\n")).await;
    assert_eq!(answer.status(), 431);
    assert_eq!(world.told().await.fault, Some("head_too_large"));
    let answer = world.ask("GET / HTTP/1.1\r\nHost: api.example\r\n\r\n").await;
    assert_eq!((answer.status(), connections.load(Ordering::SeqCst)), (200, 1));
}

/// Clients would take it for a breach of the protocol.
#[tokio::test]
async fn what_the_gateway_itself_answers_to_head_over_http_2_has_no_body() {
    for (refusal, path, status) in
        [(Some(Refusal::InsufficientScope), "/", 401), (None, "/document", 200), (None, "/", 502)]
    {
        let mut setup = Setup::to(&[nowhere()]);
        setup.refusal = refusal;
        let mut world = setup.start().await;
        let mut client = http2_client(world.connect().await).await;
        let mut ask = async |method: Method| {
            let request = Request::builder().method(method).uri(format!("http://api.example{path}"));
            let request = request.body(Empty::<Bytes>::new()).unwrap();
            let (head, body) = in_time(client.send_request(request)).await.unwrap().into_parts();
            let body = in_time(body.collect()).await.unwrap().to_bytes();
            let length = head.headers["content-length"].to_str().unwrap().to_owned();
            (head.status.as_u16(), length, body.len())
        };
        let (answered, length, bytes) = ask(Method::GET).await;
        assert_eq!((answered, &length), (status, &bytes.to_string()), "{path}");
        assert_eq!(world.told().await.lengths.1, u64::try_from(bytes).ok(), "{path}");
        assert_eq!(ask(Method::HEAD).await, (status, length, 0), "{path}");
        assert_eq!(world.told().await.lengths.1, Some(0), "what nobody was sent is not counted: {path}");
    }
}

#[tokio::test]
async fn a_stream_that_the_client_resets_ends_at_the_upstream_too() {
    let backend = Backend::bind().await;
    let mut world = Setup::to(&[backend.address]).start().await;
    let mut client = http2_client(world.connect().await).await;
    let request = Request::get("http://api.example/").body(Empty::new()).unwrap();
    let answer = tokio::spawn(client.send_request(request));
    let mut upstream = backend.accept().await;
    upstream.request().await.unwrap();
    answer.abort();
    assert!(upstream.is_closed().await);
    assert_eq!(world.told().await.status, None);
}

/// HTTP/2 does not ask for more of a body that its client has no room for: nothing in the body would notice.
#[tokio::test]
async fn an_answer_that_its_client_does_not_take_holds_nothing_for_ever() {
    let backend = Backend::bind().await;
    let mut setup = Setup::to(&[backend.address]);
    setup.upstream.timeouts.idle = SOON;
    setup.upstream.breaker.requests = NonZeroUsize::MIN;
    let world = setup.start().await;
    let mut client = http2_client_with_room_for(16 << 10, world.connect().await).await;
    let request = Request::get("http://api.example/").body(Empty::<Bytes>::new()).unwrap();
    let answer = tokio::spawn(client.send_request(request));
    let mut upstream = backend.accept().await;
    upstream.request().await.unwrap();
    upstream.say("HTTP/1.1 200 OK\r\ncontent-length: 300000\r\n\r\n").await;
    upstream.say(vec![b'x'; 290_000]).await;
    // Nothing is late here but the client.
    let trickle = tokio::spawn(async move {
        while upstream.stream.write_all(b"x").await.is_ok() {
            tokio::time::sleep(SOON / 6).await;
        }
    });
    let answer = in_time(answer).await.unwrap().unwrap();
    in_time(trickle).await.unwrap();
    let other = tokio::spawn(async move { world.ask(GET).await });
    let mut upstream = backend.accept().await;
    upstream.request().await.unwrap();
    upstream.say(OK).await;
    assert_eq!(in_time(other).await.unwrap().status(), 200, "and the request does not count any more");
    assert!(in_time(answer.into_body().collect()).await.is_err(), "the client sees that it was cut");
}

/// However long it takes: each piece that it reads shows that it is there.
#[tokio::test]
async fn an_answer_that_is_read_slowly_is_not_given_up() {
    let address = Backend::bind().await.serve(|mut peer, _| async move {
        peer.request().await;
        peer.say("HTTP/1.1 200 OK\r\ncontent-length: 450000\r\n\r\n").await;
        peer.say(vec![b'x'; 450_000]).await;
    });
    let mut setup = Setup::to(&[address]);
    setup.upstream.timeouts.idle = SOON * 15;
    let world = setup.start().await;
    let mut client = http2_client_with_room_for(16 << 10, world.connect().await).await;
    let request = Request::get("http://api.example/").body(Empty::<Bytes>::new()).unwrap();
    let mut body = in_time(client.send_request(request)).await.unwrap().into_body();
    let mut length = 0;
    while let Some(frame) = in_time(body.frame()).await {
        length += frame.unwrap().into_data().unwrap().len();
        tokio::time::sleep(SOON * 3).await;
    }
    assert_eq!(length, 450_000);
}

#[tokio::test]
async fn a_server_over_http_2_that_resets_what_cannot_be_repeated_is_left_alone() {
    let dying = || async {
        Backend::bind().await.serve(|mut peer, _| async move {
            peer.until(b"SM\r\n\r\n").await;
        })
    };
    let mut setup = spoken_over_http2(Setup::to(&[dying().await, dying().await]));
    setup.upstream.retries = 0;
    setup.upstream.passive_health =
        Some(PassiveHealth { failures: NonZeroU32::MIN, eject_for: Duration::from_hours(1) });
    let mut world = setup.start().await;
    let mut asked = Vec::new();
    for _ in 0..6 {
        assert_eq!(world.ask("POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\n\r\nx").await.status(), 502);
        asked.push(world.told().await.upstream.unwrap());
    }
    assert!(asked[1..].iter().all(|other| *other != asked[0]), "the first was left alone: {asked:?}");
}

/// A server over HTTP/2 that answers at once, and tells whether the body that it goes on to read is whole.
async fn early_server(answer: &'static str) -> (SocketAddr, mpsc::UnboundedReceiver<bool>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (told, heard) = mpsc::unbounded_channel();
    let service = service_fn(move |request: Request<Incoming>| {
        let told = told.clone();
        tokio::spawn(async move {
            let _ = told.send(request.into_body().collect().await.is_ok());
        });
        async move { Ok::<_, Infallible>(Response::new(Full::<Bytes>::from(answer))) }
    });
    tokio::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        let _ = hyper::server::conn::http2::Builder::new(TokioExecutor::new())
            .serve_connection(TokioIo::new(stream), service)
            .await;
    });
    (address, heard)
}

#[tokio::test]
async fn a_client_that_stops_sending_after_its_answer_has_ended_holds_no_stream() {
    for answer in ["", "early"] {
        let (address, mut heard) = early_server(answer).await;
        let world = spoken_over_http2(Setup::to(&[address])).start().await;
        let mut client = Peer::new(world.connect().await);
        client.say("POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 5\r\n\r\nhel").await;
        assert_eq!(client.answer().await.unwrap().text(), answer);
        assert_eq!(in_time(heard.recv()).await, Some(false), "{answer:?}");
    }
}

/// The gateway has the answer to its end, and keeps it until there is room.
#[tokio::test]
async fn a_client_that_stops_sending_and_does_not_take_its_answer_holds_no_stream() {
    let (address, mut heard) = early_server("early").await;
    let world = spoken_over_http2(Setup::to(&[address])).start().await;
    let mut client = http2_client_with_room_for(0, world.connect().await).await;
    let half = stream::iter([Ok::<_, Infallible>(Frame::data(Bytes::from_static(b"hel")))]);
    let body = StreamBody::new(half.chain(stream::pending()));
    let request = Request::post("http://api.example/").header("content-length", "5").body(body).unwrap();
    let answer = in_time(client.send_request(request)).await.unwrap();
    assert_eq!(in_time(heard.recv()).await, Some(false));
    assert_eq!(answer.status(), 200);
}

#[tokio::test]
async fn an_upstream_over_http_2_that_dies_gives_502() {
    let address = Backend::bind().await.serve(|mut peer, _| async move {
        peer.until(b"SM\r\n\r\n").await;
    });
    let mut setup = spoken_over_http2(Setup::to(&[address]));
    setup.upstream.retries = 0;
    let mut world = setup.start().await;
    for request in [GET, "POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\n\r\nx"] {
        assert_eq!(world.ask(request).await.status(), 502);
        assert_eq!(world.told().await.fault, Some("reset"));
    }
}

#[tokio::test]
async fn the_breaker_bounds_streams_as_it_does_connections() {
    let backend = Backend::bind().await;
    let mut setup = Setup::to(&[backend.address]);
    setup.upstream.breaker.requests = NonZeroUsize::MIN;
    let world = setup.start().await;
    let mut client = http2_client(world.connect().await).await;
    let request = || Request::get("http://api.example/").body(Full::<Bytes>::default()).unwrap();
    let first = tokio::spawn(client.send_request(request()));
    let mut upstream = backend.accept().await;
    upstream.request().await.unwrap();
    assert_eq!(in_time(client.send_request(request())).await.unwrap().status(), 503);
    upstream.say(OK).await;
    assert_eq!(in_time(first).await.unwrap().unwrap().status(), 200);
}
