//! How servers are doing, and what is done about it.

use std::net::SocketAddr;
use std::num::{NonZeroU32, NonZeroUsize};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request};
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http2::SendRequest;
use sluice_gateway::proxy::upstream::{ActiveHealth, PassiveHealth};
use tokio::sync::Notify;

use super::given::*;
use super::h2::{http2_client, http2_server, spoken_over_http2};
use super::h2_frames::{
    DATA, END_HEADERS, END_STREAM, HEADERS, INTERNAL_ERROR, RST_STREAM, frame, greet, head, next_frame,
};

#[tokio::test]
async fn requests_beyond_the_breaker_are_answered_at_once() {
    let backend = Backend::bind().await;
    let mut setup = Setup::to(&[backend.address]);
    setup.upstream.breaker.requests = NonZeroUsize::MIN;
    let mut world = setup.start().await;
    let mut first = Peer::new(world.connect().await);
    first.say(GET).await;
    let mut upstream = backend.accept().await;
    upstream.request().await.unwrap();
    let refused = world.ask(GET).await;
    assert_eq!((refused.status(), refused.header("retry-after")), (503, Some("1")));
    assert_eq!(world.told().await.fault, Some("overloaded"));
    upstream.say(OK).await;
    assert_eq!(first.answer().await.unwrap().status(), 200);
    let mut second = Peer::new(world.connect().await);
    second.say(GET).await;
    upstream.request().await.expect("on the same connection");
    upstream.say(OK).await;
    assert_eq!(second.answer().await.unwrap().status(), 200);
}

#[tokio::test]
async fn a_server_that_fails_again_and_again_is_left_alone() {
    let (sound, _requests) = Backend::bind().await.recording();
    let mut setup = Setup::to(&[nowhere(), sound]);
    let failures = NonZeroU32::new(3).unwrap();
    setup.upstream.passive_health = Some(PassiveHealth { failures, eject_for: Duration::from_mins(10) });
    let mut world = setup.start().await;
    let mut retries = 0;
    for _ in 0..40 {
        assert_eq!(world.ask(GET).await.status(), 200);
        retries += world.told().await.retries;
    }
    assert_eq!(retries, 3, "then it was not asked any more");
}

/// That their heads are good says nothing of the rest.
#[tokio::test]
async fn a_server_whose_answers_break_off_again_and_again_is_left_alone() {
    for hangs in [false, true] {
        let breaking_off = Backend::bind().await.serve(move |mut peer, _| async move {
            peer.request().await;
            peer.say(HALF).await;
            if hangs {
                peer.rest().await;
            }
        });
        let (sound, _requests) = Backend::bind().await.recording();
        let mut setup = Setup::to(&[breaking_off, sound]);
        let failures = NonZeroU32::new(3).unwrap();
        setup.upstream.passive_health = Some(PassiveHealth { failures, eject_for: Duration::from_mins(10) });
        setup.upstream.timeouts.idle = SOON * 2;
        let world = setup.start().await;
        let mut broken_off = 0;
        for _ in 0..40 {
            let mut client = Peer::new(world.connect().await);
            client.say(GET).await;
            broken_off += usize::from(client.answer().await.is_none());
        }
        assert_eq!(broken_off, 3, "then it was not asked any more: {hangs}");
    }
}

/// Nobody said that there is more, as in a stream of events.
#[tokio::test]
async fn a_stream_that_falls_silent_speaks_against_no_server() {
    const EVENT: &str = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\nhalf\r\n";
    for (beginning, is_left_alone) in [(EVENT, false), (HALF, true)] {
        let silent = Backend::bind().await.serve(move |mut peer, _| async move {
            peer.request().await;
            peer.say(beginning).await;
            peer.rest().await;
        });
        let (sound, _requests) = Backend::bind().await.recording();
        let mut setup = Setup::to(&[silent, sound]);
        setup.upstream.passive_health =
            Some(PassiveHealth { failures: NonZeroU32::MIN, eject_for: Duration::from_mins(10) });
        setup.upstream.timeouts.idle = SOON * 4;
        let mut world = setup.start().await;
        let mut cut = 0;
        for _ in 0..6 {
            let mut client = Peer::new(world.connect().await);
            client.say(GET).await;
            cut += usize::from(client.answer().await.is_none());
        }
        assert_eq!(cut == 1, is_left_alone, "{beginning}: {cut}");
        assert_eq!(in_time(world.broken.recv()).await, Some(("all".to_owned(), "stalled")), "{beginning}");
    }
}

/// A server over HTTP/2 that, once the head of an answer `is_there`, breaks off what it answers to a request without a body, and to one with
/// a body what it sends with 204, which nobody reads: or ends that.
async fn unsteady_server(breaks_off: bool, is_there: Arc<Notify>) -> SocketAddr {
    Backend::bind().await.serve(move |mut peer, _| {
        let is_there = Arc::clone(&is_there);
        async move {
            greet(&mut peer, &[]).await;
            while let Some((kind, flags, stream)) = next_frame(&mut peer).await {
                let has_ended = flags & END_STREAM != 0;
                match kind {
                    HEADERS if has_ended => peer.say(head(0, stream)).await,
                    // 204
                    HEADERS => peer.say(frame(HEADERS, END_HEADERS, stream, &[0x89])).await,
                    _ => {}
                }
                if matches!(kind, HEADERS | DATA) && has_ended {
                    is_there.notified().await;
                    let is_cut = kind == HEADERS || breaks_off;
                    let cut = frame(RST_STREAM, 0, stream, &INTERNAL_ERROR);
                    peer.say(if is_cut { cut } else { frame(DATA, END_STREAM, stream, b"") }).await;
                }
            }
        }
    })
}

/// A gateway before an unsteady server and another one.
struct Unsteady {
    world: World,
    client: SendRequest<Full<Bytes>>,
    server: SocketAddr,
    is_there: Arc<Notify>,
}

impl Unsteady {
    async fn start(breaks_off: bool) -> Self {
        let is_there = Arc::new(Notify::new());
        let server = unsteady_server(breaks_off, Arc::clone(&is_there)).await;
        let (sound, _) = http2_server().await;
        let mut setup = spoken_over_http2(Setup::to(&[server, sound]));
        let failures = NonZeroU32::new(2).unwrap();
        setup.upstream.passive_health = Some(PassiveHealth { failures, eject_for: Duration::from_hours(1) });
        let world = setup.start().await;
        let client = http2_client(world.connect().await).await;
        Self { world, client, server, is_there }
    }

    /// Sends requests until the unsteady server has got one, a dozen at most, and reads what is answered. Whether it has.
    async fn asks(&mut self, method: &Method, body: &'static str) -> bool {
        for _ in 0..12 {
            let request = Request::builder().method(method).uri("http://api.example/");
            let request = request.body(Full::from(body)).unwrap();
            let answer = in_time(self.client.send_request(request)).await.unwrap();
            let is_asked = self.world.told().await.upstream == Some(self.server.to_string());
            if is_asked {
                self.is_there.notify_one();
            }
            let _ = in_time(answer.into_body().collect()).await;
            if is_asked {
                return true;
            }
        }
        false
    }
}

/// Its client has all of the answer, but its server has not ended it.
#[tokio::test]
async fn what_breaks_off_behind_an_answer_without_content_speaks_for_no_server() {
    for breaks_off in [true, false] {
        let mut unsteady = Unsteady::start(breaks_off).await;
        for (method, body) in [(Method::GET, ""), (Method::POST, "hello"), (Method::GET, "")] {
            assert!(unsteady.asks(&method, body).await, "{method}");
            if method == Method::GET {
                let told = in_time(unsteady.world.broken.recv()).await;
                assert_eq!(told, Some(("all".to_owned(), "cut")));
            }
        }
        assert!(unsteady.world.broken.try_recv().is_err(), "of what nobody reads nothing is told");
        let is_asked = unsteady.asks(&Method::GET, "").await;
        assert_eq!(is_asked, !breaks_off, "whether two answers in a row were broken off");
    }
}

/// It closes with most of the body unread: what is written then fails, and its answer is there all the same.
#[tokio::test]
async fn a_server_that_refuses_uploads_before_it_has_read_them_is_heard_and_not_left_alone() {
    const LENGTH: usize = 200_000;
    for close in ["", "connection: close\r\n"] {
        let refusing = Backend::bind().await.serve(move |mut peer, _| async move {
            peer.head().await;
            peer.say(format!("HTTP/1.1 403 Forbidden\r\n{close}content-length: 2\r\n\r\nno")).await;
        });
        let (sound, _requests) = Backend::bind().await.recording();
        let mut setup = Setup::to(&[refusing, sound]);
        setup.upstream.passive_health =
            Some(PassiveHealth { failures: NonZeroU32::MIN, eject_for: Duration::from_mins(10) });
        let mut world = setup.start().await;
        let mut refused = 0;
        for round in 0..60 {
            let mut client = Peer::new(world.connect().await);
            client.say(format!("POST / HTTP/1.1\r\nhost: a\r\ncontent-length: {LENGTH}\r\n\r\n")).await;
            client.say(vec![b'x'; LENGTH]).await;
            let answer = client.answer().await.expect("no answer");
            assert!(
                matches!((answer.status(), answer.text()), (403, "no") | (200, "ok")),
                "{round}: {answer:?}"
            );
            assert_eq!(world.told().await.fault, None, "{round}");
            refused += usize::from(answer.status() == 403);
        }
        assert!((26..=34).contains(&refused), "{refused}: it was left alone");
    }
}

#[tokio::test]
async fn the_last_server_is_never_left_alone() {
    let mut setup = Setup::to(&[nowhere()]);
    setup.upstream.passive_health =
        Some(PassiveHealth { failures: NonZeroU32::MIN, eject_for: Duration::from_mins(10) });
    setup.upstream.retries = 0;
    let mut world = setup.start().await;
    for _ in 0..5 {
        assert_eq!(world.ask(GET).await.status(), 502);
        assert_eq!(world.told().await.fault, Some("connect"), "it was tried");
    }
}

/// A server whose probes say `health` and which answers with its own name.
async fn named(name: &'static str, health: &'static str) -> std::net::SocketAddr {
    Backend::bind().await.serve(move |mut peer, _| async move {
        while let Some(request) = peer.request().await {
            let (status, body) =
                if request.line().contains("/health") { (health, "") } else { ("200 OK", name) };
            peer.say(format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\n\r\n{body}", body.len())).await;
        }
    })
}

#[tokio::test]
async fn a_server_whose_probes_are_bad_gets_no_requests() {
    let servers = [named("ill", "500 Oh No").await, named("well", "204 No Content").await];
    let mut setup = Setup::to(&servers);
    setup.upstream.active_health = Some(ActiveHealth { interval: SOON / 6, ..ActiveHealth::at("/health") });
    let world = setup.start().await;
    in_time(async {
        let mut in_a_row = 0;
        while in_a_row < 50 {
            let is_well = world.ask(GET).await.text() == "well";
            in_a_row = if is_well { in_a_row + 1 } else { 0 };
        }
    })
    .await;
}

#[tokio::test]
async fn servers_share_requests_by_weight() {
    let mut setup = Setup::to(&[named("heavy", "200 OK").await, named("light", "200 OK").await]);
    setup.upstream.servers[0].weight = NonZeroU32::new(3).unwrap();
    let world = setup.start().await;
    let mut heavy = 0;
    for _ in 0..40 {
        heavy += usize::from(world.ask(GET).await.text() == "heavy");
    }
    assert!((28..=32).contains(&heavy), "{heavy}");
}
