//! Requests over HTTP/2 that have many lines of headers and wait: a line is a byte on the wire and 72 in memory, so those of a connection
//! are counted.

use std::convert::Infallible;
use std::error::Error as _;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::routing::get;
use bytes::Bytes;
use futures_util::stream::pending;
use http::header::ACCEPT;
use http::{HeaderValue, StatusCode};
use hyper::client::conn::http2::{self, SendRequest};
use hyper_util::rt::{TokioExecutor, TokioIo};
use sluice_net::Limits;
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinHandle;

use crate::given::*;

/// As many requests of as many lines as there is room for.
const REQUESTS: usize = 32;
const LINES: usize = 256;

/// A server that answers `/` at once, `/endless` with a body that does not come, and `/held` when it is let go; of each that is held it
/// tells.
async fn holding(let_go: &Arc<Semaphore>) -> (Running, mpsc::UnboundedReceiver<()>) {
    let (tell, told) = mpsc::unbounded_channel();
    let let_go = let_go.clone();
    let held = move |request: Request| async move {
        tell.send(()).unwrap();
        let_go.acquire().await.unwrap().forget();
        drop(request);
    };
    let endless = || async { Body::from_stream(pending::<Result<Bytes, Infallible>>()) };
    let router = Router::new()
        .route("/", get(|| async { "hello" }))
        .route("/endless", get(endless))
        .route("/held", get(held));
    (running(router, Limits::default()).await, told)
}

async fn connected(server: &Running) -> (SendRequest<Body>, JoinHandle<hyper::Result<()>>) {
    let io = TokioIo::new(server.connect().await);
    let (client, connection) = http2::handshake(TokioExecutor::new(), io).await.unwrap();
    (client, tokio::spawn(connection))
}

fn request(path: &str, lines: usize) -> Request {
    let mut request = Request::get(format!("http://sluice{path}")).body(Body::empty()).unwrap();
    for _ in 0..lines {
        request.headers_mut().append(ACCEPT, HeaderValue::from_static("*/*"));
    }
    request
}

#[tokio::test]
async fn a_request_whose_lines_have_no_room_beside_those_of_others_is_refused_alone() {
    let let_go = Arc::new(Semaphore::new(0));
    let (server, mut told) = holding(&let_go).await;
    let (mut client, connection) = connected(&server).await;
    let mut held = Vec::new();
    for _ in 0..REQUESTS {
        held.push(tokio::spawn(client.send_request(request("/held", LINES))));
        in_time(told.recv()).await.unwrap();
    }
    let refused = in_time(client.send_request(request("/", 1))).await.unwrap_err();
    let reason = refused.source().and_then(|source| source.downcast_ref::<h2::Error>()?.reason());
    assert_eq!(reason, Some(h2::Reason::REFUSED_STREAM));
    let (mut other, _) = connected(&server).await;
    let other = in_time(other.send_request(request("/", 1))).await.unwrap();
    assert_eq!(other.status(), StatusCode::OK, "another connection has room of its own");
    let_go.add_permits(REQUESTS);
    for asked in held {
        assert_eq!(in_time(asked).await.unwrap().unwrap().status(), StatusCode::OK);
    }
    assert!(in_time(connection).await.unwrap().is_ok(), "it was told to end, and ends");
}

#[tokio::test]
async fn lines_of_requests_that_are_answered_or_given_up_have_room_again() {
    let (server, mut told) = holding(&Arc::new(Semaphore::new(0))).await;
    let (mut client, _connection) = connected(&server).await;
    let mut answers = Vec::new();
    for _ in 0..=REQUESTS {
        answers.push(in_time(client.send_request(request("/endless", LINES))).await.unwrap());
    }
    for _ in 0..=REQUESTS {
        let asked = tokio::spawn(client.send_request(request("/held", LINES)));
        in_time(told.recv()).await.unwrap();
        asked.abort();
    }
    let answer = in_time(client.send_request(request("/", LINES))).await.unwrap();
    assert_eq!(answer.status(), StatusCode::OK);
}
