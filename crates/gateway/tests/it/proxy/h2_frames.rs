//! Servers over HTTP/2 that are known by their frames: how many streams and how much room they give, and what speaks against them.
//! And a client that is.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::join_all;
use futures_util::{StreamExt, stream};
use http::Request;
use http::header::CONTENT_LENGTH;
use http_body::Frame;
use http_body_util::{BodyExt, Empty, StreamBody};
use sluice_gateway::Refusal;
use sluice_gateway::proxy::upstream::PassiveHealth;
use tokio::sync::{Notify, mpsc};

use super::given::*;
use super::h2::{http2_client, http2_client_with_room_for, http2_server, spoken_over_http2};

/// Types and flags of frames (RFC 9113 §6).
pub(super) const DATA: u8 = 0;
pub(super) const HEADERS: u8 = 1;
pub(super) const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
pub(super) const GOAWAY: u8 = 7;
pub(super) const WINDOW_UPDATE: u8 = 8;
const ACK: u8 = 1;
pub(super) const END_STREAM: u8 = 1;
pub(super) const END_HEADERS: u8 = 4;

/// Codes of errors (RFC 9113 §7).
const NO_ERROR: [u8; 4] = [0, 0, 0, 0];
const PROTOCOL_ERROR: [u8; 4] = [0, 0, 0, 1];
pub(super) const INTERNAL_ERROR: [u8; 4] = [0, 0, 0, 2];
pub(super) const REFUSED_STREAM: [u8; 4] = [0, 0, 0, 7];
const CANCEL: [u8; 4] = [0, 0, 0, 8];
const ENHANCE_YOUR_CALM: [u8; 4] = [0, 0, 0, 11];

pub(super) fn frame(kind: u8, flags: u8, stream: u8, payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![0, 0, u8::try_from(payload.len()).unwrap(), kind, flags, 0, 0, 0, stream];
    frame.extend(payload);
    frame
}

/// Type, flags and stream of the next frame.
pub(super) async fn next_frame(peer: &mut Peer) -> Option<(u8, u8, u8)> {
    let head = peer.exactly(9).await?;
    let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
    peer.exactly(usize::try_from(length).unwrap()).await?;
    Some((head[3], head[4], head[8]))
}

/// The side of a server in the beginning of a connection, with what it says of itself.
pub(super) async fn greet(peer: &mut Peer, settings: &[u8]) {
    peer.until(b"SM\r\n\r\n").await;
    peer.say(frame(SETTINGS, 0, 0, settings)).await;
    peer.say(frame(SETTINGS, ACK, 0, &[])).await;
}

/// The head of an answer: `:status: 200` is the eighth field of HPACK's static table.
pub(super) fn head(flags: u8, stream: u8) -> Vec<u8> {
    frame(HEADERS, END_HEADERS | flags, stream, &[0x88])
}

/// Streams at once of a narrow server.
const STREAMS: u8 = 2;

/// A server over HTTP/2 that has `room` for a body, answers with 200 and `flags` when that is full or the body has ended, and tells
/// which streams are reset.
async fn narrow_server(room: u8, flags: u8) -> (SocketAddr, mpsc::UnboundedReceiver<u8>) {
    let (told, resets) = mpsc::unbounded_channel();
    let address = Backend::bind().await.serve(move |mut peer, _| {
        let told = told.clone();
        async move {
            // SETTINGS_MAX_CONCURRENT_STREAMS and SETTINGS_INITIAL_WINDOW_SIZE.
            greet(&mut peer, &[0, 3, 0, 0, 0, STREAMS, 0, 4, 0, 0, 0, room]).await;
            let mut answered = 0;
            while let Some((kind, sent, stream)) = next_frame(&mut peer).await {
                let is_full = kind == DATA || kind == HEADERS && (room == 0 || sent & END_STREAM != 0);
                if is_full && stream > answered {
                    answered = stream;
                    peer.say(head(flags, stream)).await;
                } else if kind == RST_STREAM {
                    told.send(stream).unwrap();
                }
            }
        }
    });
    (address, resets)
}

#[tokio::test]
async fn an_upload_that_waits_for_room_ends_with_its_answer() {
    let (address, mut resets) = narrow_server(0, END_STREAM).await;
    let world = spoken_over_http2(Setup::to(&[address])).start().await;
    // From here on it is known that there is no room.
    assert_eq!(world.ask(GET).await.status(), 200);
    for (stream, body) in [(3, "hel"), (5, "hello")] {
        let mut client = Peer::new(world.connect().await);
        client.say(format!("POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 5\r\n\r\n{body}")).await;
        assert_eq!(client.answer().await.unwrap().status(), 200);
        assert_eq!(in_time(resets.recv()).await, Some(stream), "{body}");
    }
}

#[tokio::test]
async fn an_upload_that_waits_for_room_ends_with_an_answer_that_comes_to_no_end() {
    let (address, mut resets) = narrow_server(0, 0).await;
    let mut setup = spoken_over_http2(Setup::to(&[address]));
    setup.upstream.timeouts.idle = SOON;
    let world = setup.start().await;
    for stream in [1, 3] {
        let mut client = Peer::new(world.connect().await);
        client.say("POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 5\r\n\r\nhello").await;
        client.rest().await;
        assert_eq!(in_time(resets.recv()).await, Some(stream));
    }
}

/// What the server had no room for keeps its place among the streams, though the exchange has ended: nothing resets it.
#[tokio::test]
async fn a_connection_whose_streams_are_used_up_gets_no_further_requests() {
    let (address, _resets) = narrow_server(2, END_STREAM).await;
    let mut setup = spoken_over_http2(Setup::to(&[address]));
    (setup.upstream.timeouts.first_byte, setup.upstream.timeouts.idle) = (SOON * 50, SOON * 50);
    let world = setup.start().await;
    // From here on it is known how much room there is, and how many streams.
    assert_eq!(world.ask(GET).await.status(), 200);
    let upload = "POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 5\r\n\r\nhello";
    for _ in 0..STREAMS {
        assert_eq!(world.ask(upload).await.status(), 200);
    }
    assert_eq!(world.ask(upload).await.status(), 504, "there is no stream for it");
    assert_eq!(world.ask(GET).await.status(), 200);
}

/// Answers that last keep their streams: another connection is made, also for requests that came before the server had said how many it
/// permits.
#[tokio::test]
async fn a_connection_gets_no_more_streams_at_once_than_its_server_permits() {
    let (address, _resets) = narrow_server(0, 0).await;
    let mut setup = spoken_over_http2(Setup::to(&[address]));
    setup.upstream.timeouts.first_byte = AT_MOST / 2;
    let world = setup.start().await;
    let answers = (0..5).map(|_| async {
        let mut client = Peer::new(world.connect().await);
        client.say(GET).await;
        let head = client.head().await.unwrap();
        (client, head)
    });
    for (_client, head) in join_all(answers).await {
        assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    }
}

/// Answers that nobody takes, and the frames of five bytes in each.
const UNTAKEN: u8 = 40;
const SMALL_FRAMES: usize = 2_000;

/// h2 ends a connection on which too many small frames wait, and hyper cannot be told how many may.
#[tokio::test]
async fn small_frames_of_answers_that_nobody_takes_end_no_other_answer() {
    let last = 2 * UNTAKEN + 1;
    let address = Backend::bind().await.serve(move |mut peer, _| async move {
        greet(&mut peer, &[]).await;
        while let Some((kind, _, stream)) = next_frame(&mut peer).await {
            if kind != HEADERS {
                continue;
            }
            peer.say(head(0, stream)).await;
            if stream == 1 {
                peer.say(frame(DATA, 0, stream, b"it goes")).await;
            } else {
                peer.say(frame(DATA, 0, stream, b"small").repeat(SMALL_FRAMES)).await;
            }
            if stream == last {
                peer.say(frame(DATA, END_STREAM, 1, b" on")).await;
            }
        }
    });
    let world = spoken_over_http2(Setup::to(&[address])).start().await;
    let mut reading = Peer::new(world.connect().await);
    reading.say(GET).await;
    let head = reading.head().await.unwrap();
    let mut client = http2_client_with_room_for(0, world.connect().await).await;
    let mut untaken = Vec::new();
    for _ in 0..UNTAKEN {
        let request = Request::get("http://api.example/").body(Empty::<Bytes>::new()).unwrap();
        let answer = in_time(client.send_request(request)).await.unwrap();
        assert_eq!(answer.status(), 200);
        untaken.push(answer);
    }
    let answer = reading.body_of(head).await.expect("it was cut");
    assert_eq!(answer.text(), "7\r\nit goes\r\n3\r\n on\r\n0\r\n\r\n");
}

#[tokio::test]
async fn a_server_that_says_nothing_of_itself_gets_requests_at_once_all_the_same() {
    let address = Backend::bind().await.serve(|mut peer, _| async move {
        peer.until(b"SM\r\n\r\n").await;
        let mut waiting = Vec::new();
        while let Some((kind, _, stream)) = next_frame(&mut peer).await {
            if kind == HEADERS {
                waiting.push(stream);
            }
            if waiting.len() == 2 {
                for stream in waiting.drain(..) {
                    peer.say(head(END_STREAM, stream)).await;
                }
            }
        }
    });
    let mut setup = spoken_over_http2(Setup::to(&[address]));
    setup.upstream.timeouts.connect = SOON * 50;
    let world = setup.start().await;
    for answer in join_all([world.ask(GET), world.ask(GET)]).await {
        assert_eq!(answer.status(), 200);
    }
}

/// Servers say so when they are overloaded: further connections would not help them.
#[tokio::test]
async fn a_server_that_permits_no_streams_is_left_to_the_others_and_gets_few_connections() {
    let connections = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&connections);
    let closed = Backend::bind().await.serve(move |mut peer, _| {
        counted.fetch_add(1, Ordering::SeqCst);
        async move {
            // SETTINGS_MAX_CONCURRENT_STREAMS.
            greet(&mut peer, &[0, 3, 0, 0, 0, 0]).await;
            while let Some((kind, _, stream)) = next_frame(&mut peer).await {
                if kind == HEADERS {
                    peer.say(frame(RST_STREAM, 0, stream, &REFUSED_STREAM)).await;
                }
            }
        }
    });
    let (sound, _) = http2_server().await;
    let world = spoken_over_http2(Setup::to(&[closed, sound])).start().await;
    for _ in 0..60 {
        assert_eq!(world.ask(GET).await.status(), 200);
    }
    let connections = connections.load(Ordering::SeqCst);
    assert!((1..15).contains(&connections), "{connections}");
}

/// The client may have bounded its time, as those of gRPC do, or asks for what no server takes.
#[tokio::test]
async fn a_request_that_its_server_resets_for_its_client_speaks_against_nobody() {
    for (code, is_left_alone) in [
        (CANCEL, false),
        (PROTOCOL_ERROR, false),
        (ENHANCE_YOUR_CALM, false),
        (NO_ERROR, false),
        (INTERNAL_ERROR, true),
    ] {
        let resetting = Backend::bind().await.serve(move |mut peer, _| async move {
            greet(&mut peer, &[]).await;
            while let Some((kind, _, stream)) = next_frame(&mut peer).await {
                if kind == HEADERS {
                    peer.say(frame(RST_STREAM, 0, stream, &code)).await;
                }
            }
        });
        let (sound, _) = http2_server().await;
        let mut setup = spoken_over_http2(Setup::to(&[resetting, sound]));
        setup.upstream.passive_health =
            Some(PassiveHealth { failures: NonZeroU32::MIN, eject_for: Duration::from_hours(1) });
        let mut world = setup.start().await;
        let mut resets = 0;
        for _ in 0..12 {
            let status = world.ask(GET).await.status();
            let told = world.told().await;
            match (status, told.retries, told.fault) {
                (200, 0, None) => {}
                (200, 1, None) => resets += 1,
                other => panic!("{code:?}: {other:?}"),
            }
        }
        assert!(resets > 0 && (resets == 1) == is_left_alone, "{code:?}: {resets}");
    }
}

/// A server over HTTP/2 whose first connection ends when so many answers have begun on it.
async fn breaking_off(answers: usize) -> SocketAddr {
    Backend::bind().await.serve(move |mut peer, connection| async move {
        greet(&mut peer, &[]).await;
        let mut begun = 0;
        while let Some((kind, _, stream)) = next_frame(&mut peer).await {
            if kind != HEADERS {
                continue;
            }
            begun += 1;
            peer.say(head(if connection == 0 { 0 } else { END_STREAM }, stream)).await;
            if connection == 0 && begun == answers {
                return;
            }
        }
    })
}

#[tokio::test]
async fn answers_that_end_with_their_connection_speak_against_its_server_once() {
    let (sound, _) = http2_server().await;
    let breaking_off = breaking_off(3).await;
    let is_there = |told: &Told| told.upstream == Some(breaking_off.to_string());
    let mut setup = spoken_over_http2(Setup::to(&[breaking_off, sound]));
    let failures = NonZeroU32::new(2).unwrap();
    setup.upstream.passive_health = Some(PassiveHealth { failures, eject_for: Duration::from_hours(1) });
    let mut world = setup.start().await;
    let (mut clients, mut begun) = (Vec::new(), 0);
    while begun < 3 {
        let mut client = Peer::new(world.connect().await);
        client.say(GET).await;
        client.head().await.unwrap();
        begun += usize::from(is_there(&world.told().await));
        clients.push(client);
    }
    for _ in 0..3 {
        assert_eq!(in_time(world.broken.recv()).await, Some(("all".to_owned(), "cut")));
    }
    let mut was_asked = false;
    for _ in 0..8 {
        assert_eq!(world.ask(GET).await.status(), 200);
        was_asked |= is_there(&world.told().await);
    }
    assert!(was_asked, "it is not left alone");
}

/// A server over HTTP/2 that sends, once the head of an answer `is_there`, all there is of its body, with `flags`, and resets it with
/// `code`.
async fn resetting_server(flags: u8, code: [u8; 4], is_there: Arc<Notify>) -> SocketAddr {
    Backend::bind().await.serve(move |mut peer, _| {
        let is_there = Arc::clone(&is_there);
        async move {
            greet(&mut peer, &[]).await;
            while let Some((kind, _, stream)) = next_frame(&mut peer).await {
                if kind == HEADERS {
                    peer.say(head(0, stream)).await;
                    is_there.notified().await;
                    let body = frame(DATA, flags, stream, b"half");
                    peer.say([body, frame(RST_STREAM, 0, stream, &code)].concat()).await;
                }
            }
        }
    })
}

/// It may have a bound on the time of its clients. Nor is its word that nothing is wrong the end of an answer.
#[tokio::test]
async fn an_answer_that_its_server_calls_off_is_cut_and_does_not_speak_against_it() {
    for (code, is_left_alone) in [(CANCEL, false), (NO_ERROR, false), (INTERNAL_ERROR, true)] {
        let is_there = Arc::new(Notify::new());
        let resetting = resetting_server(0, code, Arc::clone(&is_there)).await;
        let (sound, _) = http2_server().await;
        let mut setup = spoken_over_http2(Setup::to(&[resetting, sound]));
        setup.upstream.passive_health =
            Some(PassiveHealth { failures: NonZeroU32::MIN, eject_for: Duration::from_hours(1) });
        let mut world = setup.start().await;
        let mut cut = 0;
        for _ in 0..12 {
            let mut client = Peer::new(world.connect().await);
            client.say(GET).await;
            let head = client.head().await.unwrap();
            let is_reset = world.told().await.upstream == Some(resetting.to_string());
            if is_reset {
                cut += 1;
                is_there.notify_one();
            }
            assert_eq!(client.body_of(head).await.is_none(), is_reset, "{code:?}");
        }
        assert_eq!(cut == 1, is_left_alone, "{code:?}: {cut}");
        assert_eq!(in_time(world.broken.recv()).await, Some(("all".to_owned(), "cut")), "{code:?}");
    }
}

/// So a server asks for no more of a request that it has answered (RFC 9113 §8.1).
#[tokio::test]
async fn an_answer_that_is_reset_after_its_end_is_whole() {
    let is_there = Arc::new(Notify::new());
    let address = resetting_server(END_STREAM, NO_ERROR, Arc::clone(&is_there)).await;
    let mut world = spoken_over_http2(Setup::to(&[address])).start().await;
    for request in [GET, "POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 5\r\n\r\nhel"] {
        let mut client = Peer::new(world.connect().await);
        client.say(request).await;
        let head = client.head().await.unwrap();
        is_there.notify_one();
        let answer = client.body_of(head).await.expect("it was cut");
        assert_eq!(answer.text(), "4\r\nhalf\r\n0\r\n\r\n", "{request}");
        assert!(world.broken.try_recv().is_err(), "{request}");
    }
}

/// `:status` 204 and 304 are fields of HPACK's static table, too. Clients over HTTP/2 give up such an answer that has a body.
#[tokio::test]
async fn what_comes_where_there_is_no_content_goes_no_further() {
    for (field, status) in [(0x89, 204), (0x8b, 304)] {
        let address = Backend::bind().await.serve(move |mut peer, _| async move {
            greet(&mut peer, &[]).await;
            while let Some((kind, _, stream)) = next_frame(&mut peer).await {
                if kind == HEADERS {
                    let head = frame(HEADERS, END_HEADERS, stream, &[field]);
                    peer.say([head, frame(DATA, 0, stream, b"content")].concat()).await;
                }
            }
        });
        let mut world = spoken_over_http2(Setup::to(&[address])).start().await;
        let mut client = http2_client(world.connect().await).await;
        for _ in 0..2 {
            let request = Request::get("http://api.example/").body(Empty::<Bytes>::new()).unwrap();
            let answer = in_time(client.send_request(request)).await.unwrap();
            assert_eq!(answer.status().as_u16(), status);
            assert_eq!(in_time(answer.into_body().collect()).await.unwrap().to_bytes(), "", "{status}");
            assert_eq!(world.told().await.fault, None, "{status}");
        }
        assert_eq!(world.ask(GET).await.status(), status, "over HTTP/1.1");
        assert!(world.broken.try_recv().is_err(), "{status}");
    }
}

/// Such an answer may come long before its request has.
#[tokio::test]
async fn an_upload_goes_on_after_an_answer_without_content() {
    for (field, status) in [(0x89, 204), (0x8b, 304)] {
        let (told, mut ended) = mpsc::unbounded_channel();
        let address = Backend::bind().await.serve(move |mut peer, _| {
            let told = told.clone();
            async move {
                greet(&mut peer, &[]).await;
                while let Some((kind, flags, stream)) = next_frame(&mut peer).await {
                    if kind == HEADERS {
                        let head = frame(HEADERS, END_HEADERS, stream, &[field]);
                        peer.say([head, frame(DATA, 0, stream, b"content")].concat()).await;
                    } else if kind == RST_STREAM || kind == DATA && flags & END_STREAM != 0 {
                        told.send(kind).unwrap();
                        peer.say(frame(DATA, END_STREAM, stream, b"")).await;
                    }
                }
            }
        });
        let mut world = spoken_over_http2(Setup::to(&[address])).start().await;
        let mut client = Peer::new(world.connect().await);
        client.say("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await;
        client.say(frame(SETTINGS, 0, 0, &[])).await;
        client.say(frame(HEADERS, END_HEADERS, 1, &UPLOAD)).await;
        client.say(frame(DATA, 0, 1, b"half")).await;
        while next_frame(&mut client).await.unwrap().0 != HEADERS {}
        client.say(frame(DATA, END_STREAM, 1, b"half")).await;
        assert_eq!(in_time(ended.recv()).await, Some(DATA), "{status}");
        let end = loop {
            if let (kind @ (DATA | RST_STREAM), flags, 1) = next_frame(&mut client).await.unwrap() {
                break (kind, flags);
            }
        };
        assert_eq!(end, (DATA, END_STREAM), "{status}");
        assert_eq!(world.told().await.fault, None, "{status}");
        assert!(world.broken.try_recv().is_err(), "{status}");
    }
}

/// To drop it would call off what is on its way of the upload. Nor is announced what goes no further: clients over HTTP/2 would give up the answer.
#[tokio::test]
async fn an_answer_without_content_ends_when_its_server_ends_it() {
    let (ended, mut is_ended) = mpsc::unbounded_channel();
    let address = Backend::bind().await.serve(move |mut peer, _| {
        let ended = ended.clone();
        async move {
            greet(&mut peer, &[]).await;
            while let Some((kind, flags, stream)) = next_frame(&mut peer).await {
                if kind == HEADERS {
                    // 304, and `content-length: 70`, whose name is a field of the table.
                    let head = frame(HEADERS, END_HEADERS, stream, &[0x8b, 0x0f, 0x0d, 2, b'7', b'0']);
                    peer.say([head, frame(DATA, 0, stream, b"content")].concat()).await;
                } else if kind == DATA && flags & END_STREAM != 0 {
                    ended.send(()).unwrap();
                    peer.say(frame(DATA, END_STREAM, stream, b"more")).await;
                }
            }
        }
    });
    let mut world = spoken_over_http2(Setup::to(&[address])).start().await;
    let mut client = http2_client(world.connect().await).await;
    let (upload, parts) = mpsc::unbounded_channel::<Frame<Bytes>>();
    let parts = stream::unfold(parts, |mut parts| async move {
        parts.recv().await.map(|part| (Ok::<_, Infallible>(part), parts))
    });
    upload.send(Frame::data(Bytes::from_static(b"half"))).unwrap();
    let request = Request::post("http://api.example/").body(StreamBody::new(parts.boxed())).unwrap();
    let answer = in_time(client.send_request(request)).await.unwrap();
    assert_eq!(answer.status(), 304);
    assert!(!answer.headers().contains_key(CONTENT_LENGTH), "{answer:?}");
    drop(upload);
    assert_eq!(in_time(answer.into_body().collect()).await.unwrap().to_bytes(), "");
    assert_eq!(in_time(is_ended.recv()).await, Some(()), "all of it has come");
    assert_eq!(world.told().await.fault, None);
    assert!(world.broken.try_recv().is_err());
}

/// The head of an upload without a length, in HPACK: `POST http://a/`.
const UPLOAD: [u8; 6] = [0x83, 0x86, 0x84, 1, 1, b'a'];

/// Its upstream would take what came for all of it.
#[tokio::test]
async fn an_upload_that_its_client_calls_off_does_not_end() {
    for code in [CANCEL, NO_ERROR] {
        let backend = Backend::bind().await;
        let world = Setup::to(&[backend.address]).start().await;
        let mut client = Peer::new(world.connect().await);
        client.say("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await;
        client.say(frame(SETTINGS, 0, 0, &[])).await;
        client.say(frame(HEADERS, END_HEADERS, 1, &UPLOAD)).await;
        client.say(frame(DATA, 0, 1, b"half")).await;
        let mut upstream = backend.accept().await;
        upstream.head().await.unwrap();
        assert_eq!(upstream.until(b"half\r\n").await.unwrap(), b"4\r\nhalf\r\n");
        client.say(frame(RST_STREAM, 0, 1, &code)).await;
        assert_eq!(upstream.rest().await, b"", "{code:?}");
    }
}

/// There are clients that drop an answer whose stream is reset (curl 7.88).
#[tokio::test]
async fn the_stream_of_an_upload_that_is_refused_before_it_came_is_not_reset() {
    let mut setup = Setup::to(&[nowhere()]);
    setup.refusal = Some(Refusal::InsufficientScope);
    let world = setup.start().await;
    let mut client = Peer::new(world.connect().await);
    client.say("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await;
    client.say(frame(SETTINGS, 0, 0, &[])).await;
    client.say(frame(HEADERS, END_HEADERS, 1, &UPLOAD)).await;
    while next_frame(&mut client).await.unwrap() != (DATA, END_STREAM, 1) {}
    client.say(frame(DATA, END_STREAM, 1, b"half")).await;
    client.say(frame(HEADERS, END_HEADERS, 3, &UPLOAD)).await;
    loop {
        match next_frame(&mut client).await.unwrap() {
            (DATA, END_STREAM, 3) => return,
            (kind, _, stream) => assert_ne!((kind, stream), (RST_STREAM, 1)),
        }
    }
}

/// As [`UPLOAD`], of length 0.
const UPLOAD_OF_NOTHING: [u8; 10] = [0x83, 0x86, 0x84, 1, 1, b'a', 0x0f, 13, 1, b'0'];

/// A body of which nothing is asked for would not be seen to end.
#[tokio::test]
async fn an_upload_of_length_0_that_is_yet_to_end_costs_its_upstream_no_connection() {
    let backend = Backend::bind().await;
    let world = Setup::to(&[backend.address]).start().await;
    let mut client = Peer::new(world.connect().await);
    client.say("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await;
    client.say(frame(SETTINGS, 0, 0, &[])).await;
    client.say(frame(HEADERS, END_HEADERS, 1, &UPLOAD_OF_NOTHING)).await;
    let mut upstream = backend.accept().await;
    for stream in [1, 3, 5] {
        let request = upstream.request().await.expect("it comes on the same connection");
        assert_eq!((request.all("content-length"), request.text()), (vec!["0"], ""));
        client.say(frame(DATA, END_STREAM, stream, &[])).await;
        upstream.say(OK).await;
        while next_frame(&mut client).await.unwrap() != (DATA, END_STREAM, stream) {}
        client.say(frame(HEADERS, END_HEADERS, stream + 2, &UPLOAD_OF_NOTHING)).await;
    }
}

/// HTTP/2 knows no empty path (RFC 9113 §8.3.1).
#[tokio::test]
async fn a_target_that_begins_with_its_query_is_refused() {
    // `GET http ?x=1`, and the host in `:authority` or in `host`.
    let target = [0x82, 0x86, 4, 4, b'?', b'x', b'=', b'1'];
    for host in [&[1, 1, b'a'][..], &[0x0f, 23, 1, b'a']] {
        let mut world = Setup::to(&[nowhere()]).start().await;
        let mut client = Peer::new(world.connect().await);
        client.say("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await;
        client.say(frame(SETTINGS, 0, 0, &[])).await;
        client.say(frame(HEADERS, END_HEADERS | END_STREAM, 1, &[&target[..], host].concat())).await;
        let told = world.told().await;
        assert_eq!((told.status.unwrap().as_u16(), told.verdict), (400, "bad_target"), "{host:?}");
    }
}
