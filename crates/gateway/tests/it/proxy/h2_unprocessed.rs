//! Requests of which a server over HTTP/2 says that it did not look at them, and those of which it says nothing.

use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::future::join_all;
use sluice_gateway::proxy::upstream::PassiveHealth;
use tokio::sync::mpsc;

use super::given::*;
use super::h2::{http2_server, spoken_over_http2};
use super::h2_frames::{
    END_STREAM, GOAWAY, HEADERS, INTERNAL_ERROR, REFUSED_STREAM, RST_STREAM, frame, greet, head, next_frame,
};

/// Of stream 3, that it was not looked at: a GOAWAY after stream 1 (`NO_ERROR`), as of servers that have had as many requests on a
/// connection as they want, and `REFUSED_STREAM`.
fn refusals() -> [Vec<u8>; 2] {
    [frame(GOAWAY, 0, 0, &[0, 0, 0, 1, 0, 0, 0, 0]), frame(RST_STREAM, 0, 3, &REFUSED_STREAM)]
}

/// A server over HTTP/2 that says `refusal` instead of an answer to stream 3 of its first connection.
async fn refusing_server(refusal: Vec<u8>) -> SocketAddr {
    Backend::bind().await.serve(move |mut peer, connection| {
        let refusal = refusal.clone();
        async move {
            greet(&mut peer, &[]).await;
            while let Some((kind, _, stream)) = next_frame(&mut peer).await {
                if kind == HEADERS {
                    let is_refused = connection == 0 && stream == 3;
                    peer.say(if is_refused { refusal.clone() } else { head(END_STREAM, stream) }).await;
                }
            }
        }
    })
}

const POST_NOTHING: &str = "POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 0\r\n\r\n";

#[tokio::test]
async fn what_a_server_has_not_processed_is_sent_anew_if_it_has_no_body() {
    for (refusal, counted) in refusals().into_iter().zip([0, 1]) {
        for (retries, request, expected) in [
            (1, POST_NOTHING, (200, counted, None)),
            (0, POST_NOTHING, (502, 0, Some("unprocessed"))),
            (1, "POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\n\r\nx", (502, 0, Some("unprocessed"))),
        ] {
            let mut setup = spoken_over_http2(Setup::to(&[refusing_server(refusal.clone()).await]));
            setup.upstream.retries = retries;
            let mut world = setup.start().await;
            assert_eq!(world.ask(GET).await.status(), 200);
            drop(world.told().await);
            let status = world.ask(request).await.status();
            let told = world.told().await;
            assert_eq!((status, told.retries, told.fault), expected, "{refusal:?} {retries} {request:?}");
            assert_eq!(world.ask(POST_NOTHING).await.status(), 200, "and on with the server");
        }
    }
}

#[tokio::test]
async fn a_server_is_not_left_alone_for_what_it_has_not_processed() {
    for refusal in refusals() {
        let (sound, _) = http2_server().await;
        let refusing = refusing_server(refusal).await;
        let mut setup = spoken_over_http2(Setup::to(&[refusing, sound]));
        setup.upstream.passive_health =
            Some(PassiveHealth { failures: NonZeroU32::MIN, eject_for: Duration::from_hours(1) });
        let mut world = setup.start().await;
        let mut asked = Vec::new();
        for _ in 0..12 {
            assert_eq!(world.ask(POST_NOTHING).await.status(), 200);
            asked.push(world.told().await);
        }
        let refusing = refusing.to_string();
        let answered = asked.iter().filter(|told| told.upstream.as_ref() == Some(&refusing)).count();
        assert!(answered > 2, "one before, and more after: {asked:?}");
    }
}

/// As after the thousandth request of each connection with nginx, while the other server is being restarted.
#[tokio::test]
async fn what_the_end_of_a_connection_costs_is_sent_on_another_to_the_same_server() {
    let [end, _] = refusals();
    let ending = refusing_server(end).await;
    let mut setup = spoken_over_http2(Setup::to(&[nowhere(), ending]));
    setup.upstream.passive_health = None;
    let world = setup.start().await;
    for _ in 0..12 {
        assert_eq!(world.ask(POST_NOTHING).await.status(), 200);
    }
}

/// Also of those that waited for it to be made.
#[tokio::test]
async fn requests_that_end_with_their_connection_speak_against_its_server_once() {
    const AT_ONCE: usize = 4;
    let ending = Backend::bind().await.serve(|mut peer, connection| async move {
        greet(&mut peer, &[]).await;
        let mut begun = 0;
        while let Some((kind, _, stream)) = next_frame(&mut peer).await {
            begun += usize::from(kind == HEADERS);
            if connection == 0 && begun == AT_ONCE {
                return;
            }
            if connection > 0 && kind == HEADERS {
                peer.say(head(END_STREAM, stream)).await;
            }
        }
    });
    let (sound, _) = http2_server().await;
    let mut setup = spoken_over_http2(Setup::to(&[ending, sound]));
    let failures = NonZeroU32::new(2).unwrap();
    setup.upstream.passive_health = Some(PassiveHealth { failures, eject_for: Duration::from_hours(1) });
    let mut world = setup.start().await;
    let post = "POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\n\r\nx";
    let answers = join_all((0..2 * AT_ONCE).map(|_| world.ask(post))).await;
    let failed = answers.iter().filter(|answer| answer.status() == 502).count();
    assert!(failed >= AT_ONCE, "{failed}");
    for _ in &answers {
        drop(world.told().await);
    }
    let mut was_asked = false;
    for _ in 0..8 {
        assert_eq!(world.ask(GET).await.status(), 200);
        was_asked |= world.told().await.upstream == Some(ending.to_string());
    }
    assert!(was_asked, "it is not left alone");
}

/// A request that may be repeated costs its servers no more over HTTP/2 than over HTTP/1.1.
#[tokio::test]
async fn what_makes_its_server_fail_is_sent_as_often_as_the_retries_say() {
    for ends_connection in [false, true] {
        let asked = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&asked);
        let failing = Backend::bind().await.serve(move |mut peer, _| {
            let counted = Arc::clone(&counted);
            async move {
                greet(&mut peer, &[]).await;
                while let Some((kind, _, stream)) = next_frame(&mut peer).await {
                    if kind == HEADERS {
                        counted.fetch_add(1, Ordering::SeqCst);
                        if ends_connection {
                            return;
                        }
                        peer.say(frame(RST_STREAM, 0, stream, &INTERNAL_ERROR)).await;
                    }
                }
            }
        });
        for retries in [1, 2] {
            let mut setup = spoken_over_http2(Setup::to(&[failing]));
            setup.upstream.retries = retries;
            let world = setup.start().await;
            let answer = world.ask("DELETE / HTTP/1.1\r\nhost: a\r\n\r\n").await;
            let sent = asked.swap(0, Ordering::SeqCst);
            assert_eq!((answer.status(), sent), (502, usize::from(retries) + 1), "{ends_connection}");
        }
    }
}

/// Also where it has said before that it will take no more.
#[tokio::test]
async fn what_a_server_may_have_processed_is_not_sent_anew() {
    for last_words in [Vec::new(), frame(GOAWAY, 0, 0, &[0, 0, 0, 1, 0, 0, 0, 0])] {
        let (told, mut sightings) = mpsc::unbounded_channel();
        let address = Backend::bind().await.serve(move |mut peer, _| {
            let (told, last_words) = (told.clone(), last_words.clone());
            async move {
                greet(&mut peer, &[]).await;
                while let Some((kind, _, stream)) = next_frame(&mut peer).await {
                    if kind == HEADERS {
                        told.send(stream).unwrap();
                        peer.say(last_words).await;
                        return;
                    }
                }
            }
        });
        let mut world = spoken_over_http2(Setup::to(&[address])).start().await;
        assert_eq!(world.ask(POST_NOTHING).await.status(), 502);
        let told = world.told().await;
        assert_eq!((told.retries, told.fault), (0, Some("reset")));
        assert_eq!((in_time(sightings.recv()).await, sightings.try_recv().ok()), (Some(1), None));
    }
}
