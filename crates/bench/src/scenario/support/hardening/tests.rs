use std::convert::Infallible;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::time::sleep;

use super::*;
use crate::driver::Nobody;

/// Longer than any of these tests.
const LONG: Duration = Duration::from_hours(1);

/// A server that says how many it has hardened.
async fn served(hardened: Arc<AtomicU64>) -> Target {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url: url::Url = format!("http://{}/", listener.local_addr().unwrap()).parse().unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let hardened = Arc::clone(&hardened);
            let service = service_fn(move |_: Request<Incoming>| {
                let hardened = hardened.load(Ordering::Relaxed);
                let text = format!("sluice_hardening_total{{outcome=\"hardened\"}} {hardened}\n");
                async move { Ok::<_, Infallible>(Response::new(Full::new(Bytes::from(text)))) }
            });
            tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
        }
    });
    Target::at(url)
}

/// Seven were hardened before. Who registers here, whom the server has hardened, and the server.
async fn prepared(drain: Duration) -> (Hardening, Arc<AtomicU64>, Arc<AtomicU64>, Target) {
    let (registered, hardened) = (Arc::<AtomicU64>::default(), Arc::new(AtomicU64::new(7)));
    let target = served(Arc::clone(&hardened)).await;
    let mut hardening = Hardening::of(Arc::clone(&registered), drain);
    assert!(hardening.prepare(&target).await.unwrap());
    (hardening, registered, hardened, target)
}

/// Somebody who has had enough.
struct Enough;

impl Observer for Enough {
    fn has_enough(&self) -> bool {
        true
    }
}

#[tokio::test]
async fn a_run_counts_what_is_its_own_and_tells_what_it_found() {
    let (hardening, registered, done, target) = prepared(Duration::ZERO).await;
    let goes_on = |more, hardened| {
        registered.fetch_add(more, Ordering::Relaxed);
        done.fetch_add(hardened, Ordering::Relaxed);
    };
    let counts = async || -> Vec<String> {
        let lines = hardening.finish(&target, &Nobody).await.unwrap();
        lines.into_iter().map(|(_, value)| value.split(" in ").next().unwrap().to_owned()).collect()
    };
    goes_on(50, 10);
    hardening.begin(&target).await.unwrap();
    goes_on(100, 20);
    let first = counts().await;
    hardening.begin(&target).await.unwrap();
    goes_on(30, 35);
    let second = counts().await;
    assert_eq!([&first[0], &first[1], &first[4]], ["100", "40", "120"]);
    assert_eq!([&second[0], &second[1], &second[4]], ["30", "120", "115"]);
    assert!(first[2].ends_with("(20") && second[2].ends_with("(35"), "{first:?} {second:?}");
}

#[tokio::test]
async fn a_run_that_waits_for_the_warm_up_begins_with_nobody_to_be_hardened() {
    let (hardening, registered, done, target) = prepared(LONG).await;
    registered.fetch_add(5, Ordering::Relaxed);
    let harden = async {
        for _ in 0..5 {
            sleep(Duration::from_millis(20)).await;
            done.fetch_add(1, Ordering::Relaxed);
        }
    };
    let (settled, ()) = tokio::join!(hardening.settle(&target, &Nobody), harden);
    settled.unwrap();
    hardening.begin(&target).await.unwrap();
    let lines = hardening.finish(&target, &Nobody).await.unwrap();
    assert_eq!(lines[1], ("not hardened when the run began".to_owned(), "0".to_owned()));
}

#[tokio::test]
async fn who_is_hardened_by_nobody_is_not_waited_for_twice() {
    let (hardening, registered, _, target) = prepared(LONG).await;
    registered.fetch_add(5, Ordering::Relaxed);
    hardening.settle(&target, &Nobody).await.unwrap();
    assert_eq!(*hardening.stalled_at.lock().unwrap(), Some(7));
    hardening.begin(&target).await.unwrap();
    let lines = hardening.finish(&target, &Nobody).await.unwrap();
    assert_eq!(lines[4], ("still to be hardened".to_owned(), "5".to_owned()));
}

#[tokio::test]
async fn whoever_has_had_enough_does_not_wait() {
    let (hardening, registered, _, target) = prepared(LONG).await;
    registered.fetch_add(5, Ordering::Relaxed);
    hardening.settle(&target, &Enough).await.unwrap();
    assert_eq!(*hardening.stalled_at.lock().unwrap(), None, "it was not tried");
}

#[tokio::test]
async fn a_server_that_does_not_say_is_not_waited_for() {
    // Nobody is asked anything there.
    let target = Target::at("http://127.0.0.1:9/".parse().unwrap());
    let hardening = Hardening::of(Arc::new(AtomicU64::new(5)), LONG);
    hardening.settle(&target, &Nobody).await.unwrap();
    hardening.begin(&target).await.unwrap();
    assert_eq!(hardening.finish(&target, &Nobody).await.unwrap(), []);
}

#[test]
fn what_was_hardened_is_told_with_its_rate() {
    let drained = Drained {
        waiting: 20,
        registered: 100,
        during: (10, Duration::from_secs(5)),
        after: (60, Duration::from_secs(3)),
    };
    let lines = drained.lines();
    let values: Vec<_> = lines.iter().map(|(_, value)| value.as_str()).collect();
    assert_eq!(values, ["100", "20", "2.0/s (10 in 5.0 s)", "20.0/s (60 in 3.0 s)", "50"]);
}
