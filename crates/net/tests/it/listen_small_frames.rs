//! Clients over HTTP/2 whose bodies come in small frames and wait: h2 ends a connection on which too many of them do, with all of its
//! requests, and hyper cannot be told how many may.

use std::future::pending;

use axum::Router;
use axum::extract::Request;
use axum::routing::{get, post};
use sluice_net::Limits;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::given::*;

/// Types and flags of frames (RFC 9113 §6).
pub(crate) const DATA: u8 = 0;
pub(crate) const HEADERS: u8 = 1;
pub(crate) const GOAWAY: u8 = 7;
pub(crate) const WINDOW_UPDATE: u8 = 8;
pub(crate) const END_STREAM: u8 = 1;
pub(crate) const END_HEADERS: u8 = 4;
/// The preface, and SETTINGS that say nothing.
pub(crate) const BEGINNING: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
/// `POST /held` and `GET /`, most of whose fields are in the static table (RFC 7541, appendix A).
const HELD: &[u8] = b"\x83\x86\x44\x05/held\x41\x06sluice";
const OTHER: &[u8] = b"\x82\x86\x84\x41\x06sluice";

/// Requests whose bodies wait, and the frames of five bytes in each.
const WAITING: u8 = 40;
const SMALL_FRAMES: usize = 1_000;

pub(crate) fn frame(kind: u8, flags: u8, stream: u8, payload: &[u8]) -> Vec<u8> {
    let [high, low] = u16::try_from(payload.len()).unwrap().to_be_bytes();
    [&[0, high, low, kind, flags, 0, 0, 0, stream][..], payload].concat()
}

/// Type and stream of the next frame. `None`: the connection has ended.
pub(crate) async fn next_frame(stream: &mut TcpStream) -> Option<(u8, u8)> {
    let mut head = [0; 9];
    stream.read_exact(&mut head).await.ok()?;
    let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
    stream.read_exact(&mut vec![0; usize::try_from(length).unwrap()]).await.ok()?;
    Some((head[3], head[8]))
}

#[tokio::test]
async fn bodies_in_small_frames_that_wait_end_no_other_request() {
    let holding = |request: Request| async move {
        pending::<()>().await;
        drop(request);
    };
    let router = Router::new().route("/held", post(holding)).route("/", get(|| async { "hello" }));
    let server = running(router, Limits::default()).await;
    let mut client = server.connect().await;
    client.write_all(BEGINNING).await.unwrap();
    // Until then there is little room.
    while in_time(next_frame(&mut client)).await.unwrap() != (WINDOW_UPDATE, 0) {}
    for stream in (0..WAITING).map(|number| 2 * number + 1) {
        client.write_all(&frame(HEADERS, END_HEADERS, stream, HELD)).await.unwrap();
        let body = frame(DATA, 0, stream, b"small").repeat(SMALL_FRAMES);
        in_time(client.write_all(&body)).await.unwrap();
    }
    let other = 2 * WAITING + 1;
    client.write_all(&frame(HEADERS, END_HEADERS | END_STREAM, other, OTHER)).await.unwrap();
    loop {
        let (kind, stream) = in_time(next_frame(&mut client)).await.unwrap();
        assert_ne!(kind, GOAWAY, "the connection ends");
        if (kind, stream) == (HEADERS, other) {
            return;
        }
    }
}
