//! Answers over HTTP/2 that are given before the body of their request was read: a stream is not reset at once, because there are clients that
//! drop the answer then.

use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::given::*;
use crate::listen_rest::{SOON, TOO_LONG, hasty_server};
use crate::listen_small_frames::{
    BEGINNING, DATA, END_HEADERS, END_STREAM, GOAWAY, HEADERS, WINDOW_UPDATE, frame, next_frame,
};

const RST_STREAM: u8 = 3;
/// `POST /` and `GET /`, all of whose names are in the static table (RFC 7541, appendix A).
const POST: &[u8] = b"\x83\x86\x84\x41\x06sluice";
const NEXT: &[u8] = b"\x82\x86\x84\x41\x06sluice";
/// `content-length` of so many bytes.
const FOUR: &[u8] = b"\x5c\x014";
const MUCH: &[u8] = b"\x5c\x0565537";
const UNTOLD: &[u8] = b"";
/// As long as a frame may be.
const PART: [u8; 16 * 1024] = [b'x'; 16 * 1024];

/// A connection on whose first stream a body of that `length` is refused before it came.
async fn refused(server: &Running, length: &[u8]) -> TcpStream {
    let mut client = server.connect().await;
    client.write_all(BEGINNING).await.unwrap();
    client.write_all(&frame(HEADERS, END_HEADERS, 1, &[POST, length].concat())).await.unwrap();
    while in_time(next_frame(&mut client)).await.unwrap() != (HEADERS, 1) {}
    client
}

async fn is_reset(client: &mut TcpStream) {
    while in_time(next_frame(client)).await.unwrap() != (RST_STREAM, 1) {}
}

/// Whether the first stream is reset before another request is answered, which it is in any case.
async fn is_reset_before_the_next_answer(client: &mut TcpStream) -> bool {
    client.write_all(&frame(HEADERS, END_HEADERS | END_STREAM, 3, NEXT)).await.unwrap();
    let mut is_reset = false;
    loop {
        match in_time(next_frame(client)).await.unwrap() {
            (RST_STREAM, 1) => is_reset = true,
            (HEADERS, 3) => return is_reset,
            (kind, _) => assert_ne!(kind, GOAWAY, "the connection ends"),
        }
    }
}

#[tokio::test]
async fn a_body_that_comes_after_its_answer_over_http_2_is_read_away_if_it_is_little() {
    let (server, _) = hasty_server().await;
    for length in [FOUR, UNTOLD] {
        let mut client = refused(&server, length).await;
        tokio::time::sleep(SOON).await;
        client.write_all(&frame(DATA, 0, 1, b"fo")).await.unwrap();
        client.write_all(&frame(DATA, END_STREAM, 1, b"ur")).await.unwrap();
        assert!(!is_reset_before_the_next_answer(&mut client).await);
    }
}

#[tokio::test]
async fn the_stream_of_a_long_body_is_reset_after_its_answer() {
    assert_eq!(MUCH[2..], *TOO_LONG.to_string().as_bytes());
    let (server, _) = hasty_server().await;
    let mut client = refused(&server, MUCH).await;
    is_reset(&mut client).await;
    assert!(!is_reset_before_the_next_answer(&mut client).await, "once");
    let mut client = refused(&server, UNTOLD).await;
    for _ in 0..3 {
        client.write_all(&frame(DATA, 0, 1, &PART)).await.unwrap();
    }
    // There is room for more, as what came was read.
    while in_time(next_frame(&mut client)).await.unwrap() != (WINDOW_UPDATE, 1) {}
    for _ in 0..2 {
        client.write_all(&frame(DATA, 0, 1, &PART)).await.unwrap();
    }
    is_reset(&mut client).await;
    assert!(!is_reset_before_the_next_answer(&mut client).await, "once");
}

#[tokio::test]
async fn the_stream_of_a_body_that_does_not_come_is_reset_after_its_answer() {
    let (server, _) = hasty_server().await;
    for (length, part) in [(FOUR, &b"fou"[..]), (UNTOLD, &b"four"[..])] {
        let mut client = refused(&server, length).await;
        client.write_all(&frame(DATA, 0, 1, part)).await.unwrap();
        is_reset(&mut client).await;
        assert!(!is_reset_before_the_next_answer(&mut client).await, "once");
    }
}

/// Waits for the answer on a stream, before which none is reset.
async fn is_answered(client: &mut TcpStream, stream: u8) {
    loop {
        match in_time(next_frame(client)).await.unwrap() {
            (HEADERS, answered) if answered == stream => return,
            (kind, of) => assert!(![RST_STREAM, GOAWAY].contains(&kind), "{kind} of {of}"),
        }
    }
}

/// The next stream that is reset.
async fn next_reset(client: &mut TcpStream) -> u8 {
    loop {
        match in_time(next_frame(client)).await.unwrap() {
            (RST_STREAM, stream) => return stream,
            (kind, _) => assert_ne!(kind, GOAWAY, "the connection ends"),
        }
    }
}

#[tokio::test]
async fn no_more_than_sixteen_streams_of_a_connection_wait_for_what_is_left() {
    const WAITING: [u8; 16] = [1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31];
    const ONE_MORE: u8 = 33;
    const LATER: u8 = 35;
    const NEXT_ONE: u8 = 37;
    let (server, _) = hasty_server().await;
    let mut client = server.connect().await;
    client.write_all(BEGINNING).await.unwrap();
    let post = |stream| frame(HEADERS, END_HEADERS, stream, &[POST, FOUR].concat());
    // At once: they are looked at in their order, long before the first has had its time.
    let all: Vec<_> = WAITING.into_iter().chain([ONE_MORE]).flat_map(post).collect();
    client.write_all(&all).await.unwrap();
    assert_eq!(next_reset(&mut client).await, ONE_MORE);
    let mut given_up = Vec::new();
    while given_up.len() < WAITING.len() {
        given_up.push(next_reset(&mut client).await);
    }
    given_up.sort_unstable();
    assert_eq!(given_up, WAITING, "each had its time");
    // Then there is room again.
    client.write_all(&post(LATER)).await.unwrap();
    is_answered(&mut client, LATER).await;
    client.write_all(&frame(HEADERS, END_HEADERS | END_STREAM, NEXT_ONE, NEXT)).await.unwrap();
    is_answered(&mut client, NEXT_ONE).await;
}
