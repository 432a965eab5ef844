//! What an operator sees of passwords that wait to be hardened: at a server that hardens none, and at the worker that does.

use sluice_testkit::Backend;

use super::crowd::{Crowd, seed};
use super::door::{Door, Told};
use super::hardener::Hardener;
use super::until;
use crate::application::http_client;
use crate::both_stores::on_both_stores;
use crate::process::{Process, Site};

on_both_stores!(what_waits_is_seen_where_nobody_hardens_and_drains_where_somebody_does);

const PEOPLE: u32 = 60;
/// Hashes that take a while, one after the other, at workers alone.
const SLOW: &[(&str, &str)] = &[
    ("identity.hardening.enabled", "false"),
    ("identity.hardening.threads", "1"),
    ("identity.password_hash.memory", "19456"),
    ("identity.password_hash.lanes", "1"),
];

/// What `docs/operations.md` names of hardening.
#[derive(Debug)]
struct Numbers {
    waiting: u32,
    leased: u32,
    dead: u32,
    hardened: u32,
    oldest_seconds: f64,
    drain_rate: f64,
}

impl Numbers {
    fn read(metrics: &str) -> Self {
        let sample = |name: &str| {
            let found = metrics.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
            found.unwrap_or_else(|| panic!("no {name} in {metrics}")).to_owned()
        };
        let whole = |name: &str| sample(name).trim_end_matches(".0").parse().expect("a whole number");
        Self {
            waiting: whole(r#"sluice_hardening_backlog{state="waiting"}"#),
            leased: whole(r#"sluice_hardening_backlog{state="leased"}"#),
            dead: whole(r#"sluice_hardening_backlog{state="dead"}"#),
            hardened: whole(r#"sluice_hardening_total{outcome="hardened"}"#),
            oldest_seconds: sample("sluice_hardening_oldest_seconds").parse().expect("a number"),
            drain_rate: sample("sluice_hardening_drain_rate").parse().expect("a number"),
        }
    }

    async fn of(server: &Process) -> Self {
        let url = server.admin.join("/admin/metrics/prometheus").expect("a URL");
        Self::read(&http_client().get(url).send().await.expect("metrics").text().await.expect("text"))
    }

    async fn of_worker(worker: &Hardener) -> Self {
        Self::read(&worker.read().await.expect("metrics"))
    }

    fn is_idle(&self) -> bool {
        (self.waiting, self.leased, self.dead) == (0, 0, 0) && self.oldest_seconds == 0.0
    }
}

async fn ended(server: Process) {
    server.tell_to_stop();
    assert_eq!(server.ended().await.code(), Some(0));
}

async fn what_waits_is_seen_where_nobody_hardens_and_drains_where_somebody_does(backend: Backend) {
    let mut site = Site::fresh(backend).await;
    site.set(SLOW);
    let before = site.start().await;
    let (door, seed) = (Door::of(&before), seed());
    for number in 0..usize::try_from(PEOPLE).unwrap() {
        let told = door.register(&Crowd::of(seed, number)).await;
        assert!(matches!(told, Some(Told::Created(_))), "{told:?}");
    }
    ended(before).await;
    // It is counted at the start, then now and then.
    let server = site.start().await;
    until("the server has counted", async || Numbers::of(&server).await.waiting == PEOPLE).await;
    let seen = Numbers::of(&server).await;
    assert_eq!((seen.leased, seen.dead, seen.hardened), (0, 0, 0));
    assert!(seen.oldest_seconds > 0.0 && seen.drain_rate == 0.0, "{seen:?}");
    until("they wait on", async || Numbers::of(&server).await.oldest_seconds > seen.oldest_seconds).await;

    let worker = Hardener::start(&site).await;
    until("the worker has counted", async || Numbers::of_worker(&worker).await.waiting > 0).await;
    assert!(Numbers::of_worker(&worker).await.oldest_seconds > 0.0);
    until("all are hardened", async || Numbers::of_worker(&worker).await.hardened == PEOPLE).await;
    let drained = Numbers::of_worker(&worker).await.drain_rate;
    assert!(drained > 0.0 && drained <= f64::from(PEOPLE), "{drained}");
    until("nothing waits at the worker", async || Numbers::of_worker(&worker).await.is_idle()).await;
    until("nothing waits at the server", async || Numbers::of(&server).await.is_idle()).await;
    assert!(Numbers::of(&server).await.drain_rate == 0.0, "it has hardened none");
    worker.stop().await;
    ended(server).await;
}
