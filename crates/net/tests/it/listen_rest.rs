//! Answers that are given before the body of their request was read: the connection goes on if the rest comes soon and is little, and
//! otherwise the answer says that it is the last one (RFC 9112 §9.3, §9.6).

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::ready;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::routing::any;
use http::StatusCode;
use http_body::Body as _;
use sluice_net::{Limits, Linger};
use tokio::net::TcpStream;
use tokio::sync::mpsc;

use crate::given::*;

pub(crate) const SOON: Duration = Duration::from_millis(100);
const LAST: &str = "\r\nConnection: close\r\n";
/// One byte more than is read of what nobody wants.
pub(crate) const TOO_LONG: usize = 64 * 1024 + 1;

/// Answers every `GET`; refuses every `POST` and drops its body. Of every `PUT`, `PATCH` and `DELETE` it hands the body on and answers at
/// once, 200, 302 and 500; of every `OPTIONS` it reads some of the body before, and answers 302.
fn hasty(bodies: mpsc::UnboundedSender<Body>) -> Router {
    let answer = move |request: Request| {
        let bodies = bodies.clone();
        async move {
            match request.method().as_str() {
                "GET" => StatusCode::OK,
                "POST" => StatusCode::UNAUTHORIZED,
                method => {
                    let (reads_some, status) = match method {
                        "PUT" => (false, StatusCode::OK),
                        "DELETE" => (false, StatusCode::INTERNAL_SERVER_ERROR),
                        _ => (method == "OPTIONS", StatusCode::FOUND),
                    };
                    let mut body = request.into_body();
                    if reads_some {
                        poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await.unwrap().unwrap();
                    }
                    bodies.send(body).unwrap();
                    status
                }
            }
        }
    };
    Router::new().route("/", any(answer))
}

pub(crate) async fn hasty_server() -> (Running, mpsc::UnboundedReceiver<Body>) {
    let (bodies, handed_on) = mpsc::unbounded_channel();
    let linger = Linger { silence: SOON, ..Linger::default() };
    (running(hasty(bodies), Limits { linger, ..Limits::default() }).await, handed_on)
}

fn head(method: &str, fields: &str) -> String {
    format!("{method} / HTTP/1.1\r\nhost: sluice\r\n{fields}\r\n\r\n")
}

async fn head_of_answer(stream: &mut TcpStream) -> String {
    answer_until(stream, "\r\n\r\n").await
}

async fn next_request_is_answered(stream: &mut TcpStream) {
    say(stream, GET).await;
    let next = head_of_answer(stream).await;
    assert!(next.starts_with("HTTP/1.1 200 "), "{next:?}");
}

#[tokio::test]
async fn a_refusal_before_the_body_came_leaves_the_connection_to_the_next_request() {
    let (server, _) = hasty_server().await;
    let chunked = "4\r\nfour\r\n0\r\n\r\n";
    let long = "x".repeat(TOO_LONG - 1);
    for (fields, body) in [
        ("content-length: 4", "four"),
        ("transfer-encoding: chunked", chunked),
        ("content-length: 65536", long.as_str()),
    ] {
        let mut stream = server.connect().await;
        for pause in [None, Some(SOON), Some(SOON)] {
            say(&mut stream, &head("POST", fields)).await;
            if let Some(pause) = pause {
                tokio::time::sleep(pause).await;
            }
            say(&mut stream, body).await;
            let answer = head_of_answer(&mut stream).await;
            assert!(answer.starts_with("HTTP/1.1 401 ") && !answer.contains(LAST), "{answer:?}");
            next_request_is_answered(&mut stream).await;
        }
    }
}

#[tokio::test]
async fn a_refusal_is_the_last_answer_if_the_rest_is_long_or_broken_or_does_not_come() {
    let (server, _) = hasty_server().await;
    let long_chunk = format!("{TOO_LONG:x}\r\n{}\r\n", "x".repeat(TOO_LONG));
    for (fields, body) in [
        (format!("content-length: {TOO_LONG}"), ""),
        ("transfer-encoding: chunked".to_owned(), long_chunk.as_str()),
        ("transfer-encoding: chunked".to_owned(), "no size\r\n"),
        ("content-length: 4".to_owned(), ""),
        ("content-length: 4".to_owned(), "fou"),
        ("transfer-encoding: chunked".to_owned(), "4\r\nfour\r\n"),
    ] {
        let mut stream = server.connect().await;
        say(&mut stream, &head("POST", &fields)).await;
        tokio::time::sleep(SOON).await;
        say(&mut stream, body).await;
        let answer = head_of_answer(&mut stream).await;
        assert!(answer.starts_with("HTTP/1.1 401 ") && answer.contains(LAST), "{fields}: {answer:?}");
        assert!(is_closed(&mut stream).await);
    }
}

#[tokio::test]
async fn over_http_1_0_an_answer_says_that_the_connection_ends_or_goes_on_and_never_both() {
    let (server, _) = hasty_server().await;
    let old = |fields: &str| {
        let fields = format!("connection: keep-alive\r\nexpect: 100-continue\r\n{fields}");
        head("POST", &fields).replace("HTTP/1.1", "HTTP/1.0")
    };
    let mut stream = server.connect().await;
    say(&mut stream, &(old("content-length: 4") + "four")).await;
    let answer = head_of_answer(&mut stream).await;
    assert!(answer.starts_with("HTTP/1.0 401 "), "{answer:?}");
    assert!(answer.contains("\r\nConnection: keep-alive\r\n"), "it waits for nothing: {answer:?}");
    say(&mut stream, &old(&format!("content-length: {TOO_LONG}"))).await;
    let answer = head_of_answer(&mut stream).await;
    assert!(answer.starts_with("HTTP/1.0 401 ") && answer.contains(LAST), "{answer:?}");
    assert!(is_closed(&mut stream).await);
}

#[tokio::test]
async fn a_body_whose_client_waits_to_be_asked_for_it_is_not_asked_for_to_be_thrown_away() {
    let (server, _) = hasty_server().await;
    let mut stream = server.connect().await;
    say(&mut stream, &head("POST", "expect: 100-continue\r\ncontent-length: 4")).await;
    let answer = head_of_answer(&mut stream).await;
    assert!(answer.starts_with("HTTP/1.1 401 ") && answer.contains(LAST), "{answer:?}");
    assert!(is_closed(&mut stream).await);
}

#[tokio::test]
async fn what_is_left_of_a_body_after_its_answer_is_read_away_too() {
    let (server, mut handed_on) = hasty_server().await;
    let mut stream = server.connect().await;
    for comes_first in [false, true] {
        say(&mut stream, &head("PUT", "content-length: 4")).await;
        let answer = head_of_answer(&mut stream).await;
        assert!(answer.starts_with("HTTP/1.1 200 ") && !answer.contains(LAST), "{answer:?}");
        let body = in_time(handed_on.recv()).await.unwrap();
        if comes_first {
            say(&mut stream, "four").await;
            drop(body);
        } else {
            drop(body);
            say(&mut stream, "four").await;
        }
        next_request_is_answered(&mut stream).await;
    }
    say(&mut stream, &head("PUT", "content-length: 4")).await;
    assert!(head_of_answer(&mut stream).await.starts_with("HTTP/1.1 200 "));
    drop(in_time(handed_on.recv()).await);
    assert!(is_closed(&mut stream).await, "the rest does not come");
}

#[tokio::test]
async fn a_body_that_somebody_reads_after_the_answer_is_theirs() {
    let (server, mut handed_on) = hasty_server().await;
    let mut stream = server.connect().await;
    say(&mut stream, &head("PUT", &format!("content-length: {}", 2 * TOO_LONG))).await;
    let answer = head_of_answer(&mut stream).await;
    assert!(answer.starts_with("HTTP/1.1 200 ") && answer.contains(LAST), "{answer:?}");
    let (body, sent) = (in_time(handed_on.recv()).await.unwrap(), "x".repeat(2 * TOO_LONG));
    let ((), read) = tokio::join!(say(&mut stream, &sent), in_time(axum::body::to_bytes(body, usize::MAX)));
    assert_eq!(read.unwrap().len(), sent.len());
    assert!(is_closed(&mut stream).await);
}

#[tokio::test]
async fn an_answer_is_the_last_one_while_somebody_has_a_long_body() {
    let (server, mut handed_on) = hasty_server().await;
    for (method, status) in [("PUT", "200"), ("PATCH", "302"), ("DELETE", "500")] {
        for fields in [&format!("content-length: {TOO_LONG}"), "transfer-encoding: chunked"] {
            let mut stream = server.connect().await;
            say(&mut stream, &head(method, fields)).await;
            let answer = head_of_answer(&mut stream).await;
            assert!(
                answer.starts_with(&format!("HTTP/1.1 {status} ")) && answer.contains(LAST),
                "{answer:?}"
            );
            drop(in_time(handed_on.recv()).await);
            assert!(is_closed(&mut stream).await);
        }
    }
}

#[tokio::test]
async fn an_answer_leaves_the_connection_to_the_next_request_while_somebody_has_a_short_body() {
    let (server, mut handed_on) = hasty_server().await;
    let mut stream = server.connect().await;
    for (method, status) in [("PATCH", "302"), ("DELETE", "500")] {
        say(&mut stream, &head(method, "content-length: 4")).await;
        let answer = head_of_answer(&mut stream).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")) && !answer.contains(LAST), "{answer:?}");
        drop(in_time(handed_on.recv()).await);
        say(&mut stream, "four").await;
        next_request_is_answered(&mut stream).await;
    }
}

#[tokio::test]
async fn how_long_a_body_is_is_what_is_left_of_it() {
    let (server, mut handed_on) = hasty_server().await;
    let mut stream = server.connect().await;
    say(&mut stream, &head("OPTIONS", &format!("content-length: {TOO_LONG}"))).await;
    say(&mut stream, "x").await;
    let answer = head_of_answer(&mut stream).await;
    assert!(answer.starts_with("HTTP/1.1 302 ") && !answer.contains(LAST), "{answer:?}");
    drop(in_time(handed_on.recv()).await);
    say(&mut stream, &"x".repeat(TOO_LONG - 1)).await;
    next_request_is_answered(&mut stream).await;
}

/// hyper wakes a connection for the last part of a body, too: what waits for something else was asked about it in vain.
#[tokio::test]
async fn who_has_taken_a_whole_body_and_waits_is_not_asked_again_for_it() {
    let asked = Arc::new(AtomicUsize::new(0));
    let counts = asked.clone();
    let answer = move |request: Request| {
        let (counts, mut body) = (counts.clone(), request.into_body());
        async move {
            let mut sleep = pin!(tokio::time::sleep(SOON));
            let mut taken = Vec::new();
            let mut ended = false;
            poll_fn(|context| {
                counts.fetch_add(1, Ordering::Relaxed);
                while !ended {
                    match ready!(Pin::new(&mut body).poll_frame(context)) {
                        Some(part) => taken.extend_from_slice(part.unwrap().data_ref().unwrap()),
                        None => ended = true,
                    }
                }
                sleep.as_mut().poll(context)
            })
            .await;
            taken
        }
    };
    let server = running(Router::new().route("/", any(answer)), Limits::default()).await;
    let mut stream = server.connect().await;
    for _ in 0..3 {
        asked.store(0, Ordering::Relaxed);
        say(&mut stream, &format!("{}four", head("POST", "content-length: 4"))).await;
        let answer = answer_until(&mut stream, "four").await;
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer:?}");
        assert_eq!(asked.load(Ordering::Relaxed), 2, "at the beginning, and when the time was over");
    }
    // What comes in parts is taken to its end.
    for (fields, parts) in [
        ("content-length: 8", ["fo", "ur", "four"]),
        ("transfer-encoding: chunked", ["4\r\nfour\r\n", "4\r\nfo", "ur\r\n0\r\n\r\n"]),
        ("expect: 100-continue\r\ncontent-length: 8", ["four", "fo", "ur"]),
    ] {
        say(&mut stream, &head("POST", fields)).await;
        for part in parts {
            tokio::time::sleep(SOON).await;
            say(&mut stream, part).await;
        }
        let answer = answer_until(&mut stream, "fourfour").await;
        assert!(answer.contains("HTTP/1.1 200 "), "{answer:?}");
    }
}
