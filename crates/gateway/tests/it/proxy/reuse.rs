//! Connections that are used again, and requests that are sent anew.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::future::join_all;
use sluice_gateway::proxy::upstream::RetryBudget;
use tokio::sync::{Barrier, mpsc};

use super::given::*;

const POST: &str = "POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 5\r\n\r\nhello";

#[tokio::test]
async fn one_connection_serves_requests_of_many_clients() {
    let connections = Arc::new(AtomicUsize::new(0));
    let counted = connections.clone();
    let address = Backend::bind().await.serve(move |mut peer, _| {
        counted.fetch_add(1, Ordering::SeqCst);
        async move {
            for answer in [
                OK,
                "HTTP/1.1 204 No Content\r\n\r\n",
                "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
            ]
            .iter()
            .cycle()
            {
                if peer.request().await.is_none() {
                    return;
                }
                peer.say(answer).await;
            }
        }
    });
    let world = Setup::to(&[address]).start().await;
    for number in 0..12 {
        let request = if number % 2 == 0 { GET } else { POST };
        assert!(world.ask(request).await.status() < 300);
    }
    assert_eq!(connections.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_connection_that_the_upstream_ends_is_not_used_again() {
    for last in [
        "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nok",
        "HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\nok",
        OK,
    ] {
        let address = Backend::bind().await.serve(move |mut peer, _| async move {
            peer.request().await;
            peer.say(last).await;
        });
        let mut setup = Setup::to(&[address]);
        setup.upstream.retries = 0;
        let world = setup.start().await;
        for _ in 0..10 {
            let answer = world.ask(GET).await;
            assert_eq!((answer.status(), answer.text()), (200, "ok"));
        }
    }
}

/// It knows no chunks: a body of unknown length would be lost on its connection.
#[tokio::test]
async fn a_connection_to_a_server_of_http_1_0_is_not_used_again() {
    let backend = Backend::bind().await;
    let mut world = Setup::to(&[backend.address]).start().await;
    for (request, body) in [
        (GET, ""),
        (
            "POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n",
            "2\r\nhi\r\n0\r\n\r\n",
        ),
    ] {
        let (mut client, mut upstream) = (Peer::new(world.connect().await), None);
        client.say(request).await;
        let upstream = upstream.insert(backend.accept().await);
        assert_eq!(upstream.request().await.unwrap().text(), body);
        upstream.say("HTTP/1.0 200 OK\r\nconnection: keep-alive\r\ncontent-length: 2\r\n\r\nok").await;
        assert_eq!(client.answer().await.unwrap().text(), "ok");
        assert_eq!(world.told().await.status.unwrap(), 200);
    }
}

/// A request that may not be repeated shows that a connection is dead; the next ones do not have to find out anew.
#[tokio::test]
async fn one_dead_connection_condemns_those_that_rested_with_it() {
    let all_are_there = Arc::new(Barrier::new(8));
    let address = Backend::bind().await.serve(move |mut peer, number| {
        let all_are_there = all_are_there.clone();
        async move {
            peer.request().await;
            if number < 8 {
                all_are_there.wait().await;
            }
            peer.say(OK).await;
            // The first connections end at their second request, unanswered.
            while peer.request().await.is_some() && number >= 8 {
                peer.say(OK).await;
            }
        }
    });
    let world = Setup::to(&[address]).start().await;
    let all = join_all((0..8).map(|_| world.ask(GET))).await;
    assert!(all.iter().all(|answer| answer.status() == 200));
    let mut refused = 0;
    for _ in 0..8 {
        refused += usize::from(world.ask(POST).await.status() == 502);
    }
    assert_eq!(refused, 1);
}

/// Some servers hang up on what they do not like, or do so once and then never answer. Whoever asks for that costs the others no
/// connections.
#[tokio::test]
async fn a_request_that_no_connection_survives_closes_none_but_its_own() {
    for (disliked, status) in [("/disliked", 502), ("/disliked/silently", 504)] {
        let connections = Arc::new(AtomicUsize::new(0));
        let (counted, all_are_there) = (connections.clone(), Arc::new(Barrier::new(8)));
        let address = Backend::bind().await.serve(move |mut peer, number| {
            counted.fetch_add(1, Ordering::SeqCst);
            let all_are_there = all_are_there.clone();
            async move {
                while let Some(request) = peer.request().await {
                    if request.line().contains("/disliked") {
                        if request.line().contains("/silently") && number >= 8 {
                            peer.rest().await;
                        }
                        return;
                    }
                    if request.line().contains("/together") && number < 8 {
                        all_are_there.wait().await;
                    }
                    peer.say(OK).await;
                }
            }
        });
        let mut setup = Setup::to(&[address]);
        setup.upstream.retries = 1;
        setup.upstream.timeouts.first_byte = SOON * 15;
        let world = setup.start().await;
        let together = || world.ask("GET /together HTTP/1.1\r\nhost: a\r\n\r\n");
        assert!(join_all((0..8).map(|_| together())).await.iter().all(|answer| answer.status() == 200));
        let request = format!("GET {disliked} HTTP/1.1\r\nhost: a\r\n\r\n");
        assert_eq!(world.ask(&request).await.status(), status, "{disliked}");
        let before = connections.load(Ordering::SeqCst);
        assert!(join_all((0..6).map(|_| world.ask(GET))).await.iter().all(|answer| answer.status() == 200));
        assert_eq!(connections.load(Ordering::SeqCst), before, "{disliked}");
    }
}

#[tokio::test]
async fn what_a_server_says_unasked_is_nobodys_answer() {
    let address = Backend::bind().await.serve(move |mut peer, _| async move {
        while peer.request().await.is_some() {
            peer.say(&format!("{OK}HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nother")).await;
        }
    });
    let world = Setup::to(&[address]).start().await;
    for _ in 0..10 {
        let answer = world.ask(GET).await;
        assert_eq!((answer.status(), answer.text()), (200, "ok"));
    }
}

#[tokio::test]
async fn requests_survive_a_restart_of_the_upstream() {
    let (first, _requests) = Backend::bind().await.recording();
    let mut world = Setup::to(&[first]).start().await;
    assert_eq!(world.ask(GET).await.status(), 200);
    drop(world.told().await);
    // Every connection ends at its second request, unanswered: what a restart looks like to who keeps connections.
    let dying = Backend::bind().await.serve(|mut peer, _| async move {
        peer.request().await;
        peer.say(OK).await;
        peer.request().await;
    });
    let mut world = Setup::to(&[dying]).start().await;
    for number in 0..10 {
        assert_eq!(world.ask(GET).await.status(), 200);
        let told = world.told().await;
        assert_eq!((told.retries, told.fault), (0, None), "{number}: a dead connection is no try");
    }
}

#[tokio::test]
async fn a_request_that_reached_nobody_goes_to_another_server() {
    let (address, mut requests) = Backend::bind().await.recording();
    let mut world = Setup::to(&[nowhere(), address]).start().await;
    let mut retried = 0;
    for _ in 0..8 {
        assert_eq!(world.ask(POST).await.status(), 200);
        assert_eq!(requests.recv().await.unwrap().text(), "hello");
        let told = world.told().await;
        assert_eq!(told.upstream, Some(address.to_string()));
        retried += told.retries;
    }
    assert!((1..8).contains(&retried), "{retried}");
}

/// A server that reads requests and hangs up, and one that answers; which of them saw a request.
async fn half_broken() -> (Vec<SocketAddr>, mpsc::UnboundedReceiver<&'static str>) {
    let (seen, sightings) = mpsc::unbounded_channel();
    let told = seen.clone();
    let broken = Backend::bind().await.serve(move |mut peer, _| {
        let told = told.clone();
        async move {
            peer.request().await;
            told.send("broken").unwrap();
        }
    });
    let sound = Backend::bind().await.serve(move |mut peer, _| {
        let seen = seen.clone();
        async move {
            while peer.request().await.is_some() {
                seen.send("sound").unwrap();
                peer.say(OK).await;
            }
        }
    });
    (vec![broken, sound], sightings)
}

#[tokio::test]
async fn only_what_may_be_repeated_is_sent_again_when_an_answer_fails_to_come() {
    let (servers, mut sightings) = half_broken().await;
    let world = Setup::to(&servers).start().await;
    for _ in 0..6 {
        assert_eq!(world.ask(GET).await.status(), 200);
        while in_time(sightings.recv()).await.unwrap() == "broken" {}
    }
    let mut statuses = Vec::new();
    for request in [
        POST,
        "PUT / HTTP/1.1\r\nhost: a\r\ncontent-length: 5\r\n\r\nhello",
        "POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 0\r\n\r\n",
    ]
    .repeat(3)
    {
        let status = world.ask(request).await.status();
        let saw = in_time(sightings.recv()).await.unwrap();
        assert_eq!(status, if saw == "broken" { 502 } else { 200 }, "{request:?}");
        assert!(sightings.try_recv().is_err(), "sent twice: {request:?}");
        statuses.push(status);
    }
    assert!(statuses.contains(&502) && statuses.contains(&200));
}

/// An outage would double the load of servers that fail under it.
#[tokio::test]
async fn no_more_requests_are_sent_anew_than_the_budget_permits() {
    let dying = || async {
        Backend::bind().await.serve(|mut peer, _| async move {
            peer.request().await;
        })
    };
    let mut setup = Setup::to(&[dying().await, dying().await]);
    setup.upstream.retry_budget = Some(RetryBudget { percent: 0, at_least: 2 });
    let mut world = setup.start().await;
    for retries in [1, 1, 0, 0, 0] {
        assert_eq!(world.ask(GET).await.status(), 502);
        let told = world.told().await;
        assert_eq!((told.retries, told.is_beyond_budget), (retries, retries == 0));
        assert_eq!(told.fault, Some("reset"));
    }
}

#[tokio::test]
async fn a_request_that_reached_nobody_costs_no_budget() {
    let (address, _requests) = Backend::bind().await.recording();
    let mut setup = Setup::to(&[nowhere(), address]);
    setup.upstream.retry_budget = Some(RetryBudget { percent: 0, at_least: 0 });
    let mut world = setup.start().await;
    let mut retried = 0;
    for _ in 0..8 {
        assert_eq!(world.ask(GET).await.status(), 200);
        retried += world.told().await.retries;
    }
    assert!(retried > 0, "one of the servers is not there");
}

#[tokio::test]
async fn a_server_that_cannot_be_reached_gives_502_and_one_that_speaks_nonsense_too() {
    let mut world = Setup::to(&[nowhere()]).start().await;
    let answer = world.ask(GET).await;
    assert_eq!((answer.status(), answer.header("content-type")), (502, Some("application/problem+json")));
    assert_eq!(world.told().await.fault, Some("connect"));
    for nonsense in [
        "SSH-2.0-OpenSSH_9.9\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nx",
        "HTTP/1.1 200 OK\r\nx : y\r\n\r\n",
        "HTTP/1.1 200 OK\r\nx: y\r\n folded\r\ncontent-length: 0\r\n\r\n",
        "HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n",
    ] {
        let address = Backend::bind().await.serve(move |mut peer, _| async move {
            peer.request().await;
            peer.say(nonsense).await;
            peer.rest().await;
        });
        let mut world = Setup::to(&[address]).start().await;
        assert_eq!(world.ask(GET).await.status(), 502, "{nonsense:?}");
        assert_eq!(world.told().await.fault, Some("bad_answer"), "{nonsense:?}");
    }
}

#[tokio::test]
async fn upstreams_follow_the_file_without_losing_a_request() {
    let (one, mut at_one) = Backend::bind().await.recording();
    let (two, mut at_two) = Backend::bind().await.recording();
    let world = Setup::to(&[one]).start().await;
    assert_eq!(world.ask(GET).await.status(), 200);
    assert!(at_one.recv().await.is_some());
    world.move_to(two);
    assert_eq!(world.ask(GET).await.status(), 200);
    assert!(at_two.recv().await.is_some() && at_one.try_recv().is_err());
}

#[tokio::test]
async fn several_cores_share_one_port_and_end_together() {
    let (address, _requests) = Backend::bind().await.recording();
    let mut setup = Setup::to(&[address]);
    setup.cores = 3;
    let world = setup.start().await;
    for _ in 0..12 {
        assert_eq!(world.ask(GET).await.status(), 200);
    }
    assert_eq!(world.stop().await.cut, 0);
}

#[tokio::test]
async fn a_shutdown_lets_a_request_finish() {
    let backend = Backend::bind().await;
    let world = Setup::to(&[backend.address]).start().await;
    let mut client = Peer::new(world.connect().await);
    client.say(GET).await;
    let mut upstream = backend.accept().await;
    upstream.request().await.unwrap();
    world.shutdown.cancel();
    upstream.say(OK).await;
    assert_eq!(client.answer().await.unwrap().text(), "ok");
    assert_eq!(world.stop().await.cut, 0);
}

#[tokio::test]
async fn whoever_is_connected_when_a_shutdown_begins_is_answered_on_every_core() {
    let (address, _requests) = Backend::bind().await.recording();
    let mut setup = Setup::to(&[address]);
    (setup.cores, setup.limits.idle_grace, setup.limits.drain_grace) = (3, AT_MOST, AT_MOST * 2);
    let world = setup.start().await;
    let mut idle = Peer::new(world.connect().await);
    idle.say(GET).await;
    assert_eq!(idle.answer().await.unwrap().status(), 200);
    let mut clients = Vec::new();
    for _ in 0..24 {
        let mut client = Peer::new(world.connect().await);
        client.say(GET).await;
        clients.push(client);
    }
    world.shutdown.cancel();
    for client in &mut clients {
        assert_eq!(client.answer().await.unwrap().status(), 200);
    }
    drop(clients);
    // The core may not have heard of it at once.
    let mut last: Option<String> = None;
    while last.as_deref() != Some("close") {
        idle.say(GET).await;
        let answer = idle.answer().await.unwrap();
        assert_eq!(answer.status(), 200);
        last = answer.header("connection").map(str::to_owned);
    }
    assert!(idle.is_closed().await);
    assert_eq!(world.stop().await.cut, 0);
}
