//! A trial: a rush, while passwords are hardened, in which something is killed, perhaps again and again.

use std::sync::Arc;
use std::time::Duration;

use sluice_testkit::PrivateCluster;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep};

use super::book::Book;
use super::crowd::Dice;
use super::door::Door;
use super::hardener::{Counted, Hardener};
use super::rows::{Rows, Seen};
use super::rush::Rush;
use super::until;
use super::victim::{Victim, kill_postgres};
use crate::process::{Process, Site};

/// Each hash takes long enough for a worker to always have some in hand; a lease is as short as it may be.
const SETTINGS: &[(&str, &str)] = &[
    ("identity.password_hash.memory", "1024"),
    ("identity.password_hash.passes", "1"),
    ("identity.password_hash.lanes", "1"),
    ("identity.hardening.batch", "128"),
    ("identity.hardening.lease", "5s"),
    ("identity.hardening.poll", "200ms"),
];

/// What is tried.
#[derive(Debug, Clone, Copy)]
pub(super) struct Trial {
    pub(super) victim: Victim,
    pub(super) seed: u64,
    pub(super) requests: usize,
    pub(super) kills: usize,
}

/// What runs.
struct Stage {
    trial: Trial,
    dice: Dice,
    cluster: Arc<PrivateCluster>,
    site: Site,
    server: Option<Process>,
    hardeners: Vec<Hardener>,
    /// How many credentials those had hardened that were killed, at least.
    hardened_by_killed: usize,
    /// How many credentials were being hardened, at most, when somebody was killed who may have hardened them.
    in_danger: i64,
    door: Door,
    seen: Seen,
}

impl Trial {
    /// Tries it; panics if anything answered is lost, or anything is done twice or never.
    pub(super) async fn run(self) {
        println!("{self:?}");
        let mut stage = Stage::set(self).await;
        let mut rush = Rush::start(&stage.door, self.seed, self.requests);
        for kill in 1..=self.kills {
            // Each in a part of the rush of its own, at any moment of it.
            let part = self.requests / (self.kills + 1);
            rush.have_come(part * kill - stage.dice.below(part)).await;
            sleep(Duration::from_millis(stage.dice.below(60).try_into().unwrap())).await;
            stage.kill(kill).await;
            stage.look().await;
        }
        let book = rush.over().await;
        println!("{:?}: {book}", self.victim);
        stage.all_hardened().await;
        stage.check(&book).await;
    }
}

impl Stage {
    async fn set(trial: Trial) -> Self {
        let cluster = Arc::new(spawn_blocking(|| PrivateCluster::start().unwrap()).await.unwrap());
        let mut site = Site::on(cluster.database().await);
        site.set(SETTINGS);
        let (serve_hardens, workers) = match trial.victim {
            Victim::Server => ("true", 0),
            Victim::Worker => ("false", 2),
            Victim::Postgres => ("true", 1),
        };
        site.set(&[("identity.hardening.enabled", serve_hardens)]);
        let server = site.start().await;
        let mut hardeners = Vec::new();
        for _ in 0..workers {
            hardeners.push(Hardener::start(&site).await);
        }
        let door = Door::of(&server);
        let dice = Dice::new(trial.seed.wrapping_add(1));
        let (server, hardened_by_killed, in_danger, seen) = (Some(server), 0, 0, Seen::default());
        Self { trial, dice, cluster, site, server, hardeners, hardened_by_killed, in_danger, door, seen }
    }

    async fn kill(&mut self, number: usize) {
        let (began, mut in_hand) = (Instant::now(), None);
        match self.trial.victim {
            Victim::Server => {
                self.server.take().expect("a server").kill().await;
                in_hand = Some(self.rows().await.leased().await);
                let next = self.site.start().await;
                self.door.lead_to(&next);
                self.server = Some(next);
            }
            Victim::Worker => {
                let victim = self.hardeners.remove(0);
                self.hardened_by_killed += victim.counted().await.hardened;
                victim.kill().await;
                in_hand = Some(self.rows().await.leased().await);
                // The other one has to finish what the first ones had in hand.
                if number < self.trial.kills {
                    self.hardeners.push(Hardener::start(&self.site).await);
                }
            }
            Victim::Postgres => kill_postgres(&self.cluster).await,
        }
        self.in_danger = self.in_danger.max(in_hand.unwrap_or_default());
        println!("kill {number}, {in_hand:?} credentials in hand; back after {:.1?}", began.elapsed());
    }

    async fn rows(&self) -> Rows {
        Rows::of(self.site.dsn()).await
    }

    async fn look(&mut self) {
        self.seen.look(self.site.dsn()).await;
    }

    /// No credential waits for ever, and none stays with somebody who was killed.
    async fn all_hardened(&mut self) {
        let (began, rows) = (Instant::now(), self.rows().await);
        self.look().await;
        until("all credentials are hardened", async || rows.waiting().await == 0).await;
        println!("all hardened {:.1?} after the last registration", began.elapsed());
        self.look().await;
    }

    async fn check(mut self, book: &Book) {
        let rows = self.rows().await.everybody().await;
        book.check(&rows);
        assert!(book.created() * 2 > self.trial.requests, "most were turned away: {book}");
        let hits_hardening = self.trial.victim != Victim::Postgres;
        assert!(self.in_danger > 0 || !hits_hardening, "nothing was being hardened when it was killed");
        assert!(rows.values().all(|row| row.is_hardened() && !row.waits), "not all are hardened");
        self.check_counts(rows.len()).await;
        let began = Instant::now();
        book.check_logins(&self.door, &rows).await;
        println!("{} people logged in within {:.1?}", rows.len(), began.elapsed());
        // A login does not harden what is hardened.
        self.look().await;
        assert_eq!(self.seen.len(), rows.len());
        self.server.take().expect("a server").kill().await;
        for hardener in self.hardeners {
            hardener.kill().await;
        }
    }

    /// Nothing was hardened more than once: together they hardened no more than there are. What was stored when the database
    /// died may be stored again, which is counted as superseded.
    async fn check_counts(&self, people: usize) {
        let mut counted = vec![Counted::of_server(self.server.as_ref().expect("a server")).await];
        for hardener in &self.hardeners {
            counted.push(hardener.counted().await);
        }
        let hardened = counted.iter().map(|one| one.hardened).sum::<usize>() + self.hardened_by_killed;
        let superseded: usize = counted.iter().map(|one| one.superseded).sum();
        println!("{hardened} hardened as far as was counted, {superseded} in vain; {people} people");
        assert_eq!(counted.iter().map(|one| one.given_up).sum::<usize>(), 0);
        assert!(hardened <= people, "{hardened} hardened of {people}");
        match self.trial.victim {
            Victim::Postgres => assert!(hardened + superseded >= people, "{hardened} + {superseded}"),
            Victim::Server | Victim::Worker => assert_eq!(superseded, 0, "leases were not respected"),
        }
    }
}
