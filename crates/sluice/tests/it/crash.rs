//! kill -9 of the server under load, and again: every login that was answered is there, every code works at most once.
//! With `SOAK_SECONDS` in the environment (`make soak`) it goes on for so long.

use std::time::Duration;

use sluice_primitives::OsRng;
use sluice_primitives::rng::random_bytes;
use sluice_testkit::Backend;
use tokio::time::{Instant, sleep};

use crate::application::Application;
use crate::load::Load;
use crate::process::{Process, Site};

/// How often the server is killed in an ordinary run.
const ROUNDS: usize = 3;
/// How many logins are answered before a kill: this many, and at random up to 255 more.
const LEAST_LOGINS: usize = 40;

/// When it is enough.
struct Rounds {
    done: usize,
    until: Option<Instant>,
}

impl Rounds {
    fn from_environment() -> Self {
        let seconds =
            std::env::var("SOAK_SECONDS").ok().map(|text| text.parse().expect("SOAK_SECONDS is a number"));
        Self { done: 0, until: seconds.map(|seconds| Instant::now() + Duration::from_secs(seconds)) }
    }

    fn another(&mut self) -> bool {
        let another = self.until.map_or(self.done < ROUNDS, |until| Instant::now() < until);
        self.done += usize::from(another);
        another
    }
}

fn random_byte() -> u8 {
    let [byte] = random_bytes::<1>(&OsRng);
    byte
}

/// Starts a process again and again, and kills each before it can be of use.
async fn killed_while_it_starts(site: &Site, times: usize) {
    for _ in 0..times {
        let mut child = site.spawn();
        // A random moment is what this is about: from nothing done to everything done.
        sleep(Duration::from_millis(u64::from(random_byte()) * 2)).await;
        child.kill().await.expect("killed, or ended");
    }
}

async fn killed_under_load(backend: Backend) {
    let site = Site::fresh(backend).await;
    killed_while_it_starts(&site, 4).await;
    let mut process = site.start().await;
    let application = Application::register(&[&process]).await;
    let mut rounds = Rounds::from_environment();
    while rounds.another() {
        let asked = application.at(&[&process]);
        let mut load = Load::start(&asked);
        load.more_logins(LEAST_LOGINS + usize::from(random_byte())).await;
        process.kill().await;
        let ledger = load.stop().await;
        let told = ledger.to_string();
        let killed = Instant::now();
        process = site.start().await;
        let back = killed.elapsed();
        ledger.check(&application.at(&[&process])).await;
        let lost = asked.tally().lost;
        println!(
            "{backend:?}, kill {}: {told}, {lost} requests cut; back after {back:.1?}; all there",
            rounds.done
        );
    }
    process.kill().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_answered_is_lost_when_the_server_is_killed_under_load_on_sqlite() {
    killed_under_load(Backend::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_answered_is_lost_when_the_server_is_killed_under_load_on_postgres() {
    killed_under_load(Backend::Postgres).await;
}

/// One of two nodes is killed; the other goes on and knows what both answered.
async fn one_of_two_killed_under_load(backend: Backend) {
    let site = Site::fresh(backend).await;
    let (killed, other): (Process, Process) = (site.start().await, site.start().await);
    let application = Application::register(&[&killed, &other]).await;
    let mut load = Load::start(&application);
    load.more_logins(LEAST_LOGINS + usize::from(random_byte()) / 2).await;
    killed.kill().await;
    let ledger = load.stop().await;
    ledger.check(&application.at(&[&other])).await;
    other.kill().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_answered_is_lost_when_one_of_two_nodes_is_killed_under_load_on_sqlite() {
    one_of_two_killed_under_load(Backend::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_answered_is_lost_when_one_of_two_nodes_is_killed_under_load_on_postgres() {
    one_of_two_killed_under_load(Backend::Postgres).await;
}
