//! A crowd with duplicates and nonsense in it: as many answers 201 as records, each duplicate told so, each nonsense refused
//! alone. People log in while their password is provisional, and when it is hardened, at the cost that is the default; then
//! everybody does, at a small one.

use std::collections::HashMap;

use sluice_testkit::Backend;
use tokio::time::Instant;

use super::book::Book;
use super::crowd::{Crowd, Dice, seed};
use super::door::{Door, LogIn, Told};
use super::hardener::Hardener;
use super::rows::{Row, Rows};
use super::rush::Rush;
use super::until;
use super::{SMALL_HASH, soak_seconds};
use crate::process::{Process, Site};

/// Requests, and people who log in at full cost before and after hardening, of an ordinary run.
const ORDINARY: (usize, usize) = (5_000, 50);
/// The same of a soak.
const LONG: (usize, usize) = (200_000, 500);
/// What a hardened credential says that costs what it costs by default.
const FULL_COST: &str = "m=65536,t=1,p=4";
const NOT_WITHIN_SERVE: &[(&str, &str)] = &[
    ("identity.hardening.enabled", "false"),
    ("identity.hardening.lease", "5s"),
    ("identity.hardening.poll", "200ms"),
];

/// A database that is served at one cost of hashes, then at another.
struct Served {
    site: Site,
    server: Process,
    door: Door,
}

impl Served {
    async fn fresh() -> Self {
        let mut site = Site::fresh(Backend::Postgres).await;
        site.set(NOT_WITHIN_SERVE);
        let server = site.start().await;
        let door = Door::of(&server);
        Self { site, server, door }
    }

    /// The same at a small cost.
    async fn at_small_cost(mut self) -> Self {
        self.server.kill().await;
        self.site.set(SMALL_HASH);
        let server = self.site.start().await;
        self.door.lead_to(&server);
        Self { server, ..self }
    }

    async fn rows(&self) -> Rows {
        Rows::of(self.site.dsn()).await
    }
}

/// So many of these people, as chance has it.
fn some(mut people: Vec<usize>, count: usize, dice: &Dice) -> Vec<usize> {
    people.sort_unstable();
    let mut picked = Vec::new();
    while picked.len() < count && !people.is_empty() {
        picked.push(people.swap_remove(dice.below(people.len())));
    }
    picked
}

/// Those whose record is so.
fn who(seed: u64, rows: &HashMap<String, Row>, is: impl Fn(&Row) -> bool) -> Vec<usize> {
    let is = |number: &usize| rows.get(&Crowd::of(seed, *number).email).is_some_and(&is);
    (0..rows.len()).filter(is).collect()
}

fn costs_in_full(row: &Row) -> bool {
    row.is_hardened() && row.credential.contains(FULL_COST)
}

/// The first half: everybody registers; nothing is hardened meanwhile.
async fn all_register(served: &Served, seed: u64, requests: usize) -> (Book, HashMap<String, Row>) {
    let book = Rush::start(&served.door, seed, requests).over().await;
    println!("{book}");
    let rows = served.rows().await.everybody().await;
    book.check(&rows);
    assert_eq!(book.unknown(), 0, "nothing was in the way");
    assert_eq!(book.created(), rows.len(), "as many answers 201 as records");
    assert!(rows.values().all(|row| row.is_provisional() && row.waits), "nothing hardens yet");
    let (taken, invalid) =
        (book.count(|told| *told == Told::Taken), book.count(|told| matches!(told, Told::Invalid(_))));
    assert_eq!(book.created() + taken + invalid, requests);
    assert!(taken * 100 > requests * 3 && invalid * 200 > requests, "{taken} taken, {invalid} invalid");
    (book, rows)
}

/// Logs in people whose password is provisional, which hardens it; then the same people again.
async fn log_in_before_hardening(served: &Served, book: &Book, people: &[usize], seed: u64) {
    let rows = served.rows().await.everybody().await;
    book.log_in(&served.door, people, &rows).await;
    let rows = served.rows().await.everybody().await;
    let hardened = who(seed, &rows, |row| costs_in_full(row) && !row.waits);
    assert_eq!(hardened.len(), people.len(), "a login hardens what it verified, and nothing else");
    book.log_in(&served.door, people, &rows).await;
    let email = Crowd::of(seed, people[0]).email;
    assert_eq!(served.door.log_in(&email, "another pass phrase").await, LogIn::Refused);
}

/// A worker hardens at full cost until it has hardened so many; these log in.
async fn log_in_after_hardening(served: &Served, book: &Book, (seed, count, dice): (u64, usize, &Dice)) {
    let before = who(seed, &served.rows().await.everybody().await, Row::is_hardened);
    let (began, worker) = (Instant::now(), Hardener::start(&served.site).await);
    until("the worker has hardened some", async || worker.counted().await.hardened >= count).await;
    let took = began.elapsed();
    println!("{count} hardened at full cost within {took:.1?}, from the start of the worker");
    worker.stop().await;
    let rows = served.rows().await.everybody().await;
    let mut hardened = who(seed, &rows, costs_in_full);
    hardened.retain(|number| !before.contains(number));
    assert!(hardened.len() >= count);
    book.log_in(&served.door, &some(hardened, count, dice), &rows).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_crowd_registers_once_each_and_logs_in_before_and_after_hardening() {
    let (requests, sampled) = soak_seconds()
        .map_or(ORDINARY, |seconds| (LONG.0 * seconds / 600, LONG.1.min(LONG.0 * seconds / 600 / 4)));
    let seed = seed();
    let dice = Dice::new(seed.wrapping_add(1));
    let served = Served::fresh().await;
    let (book, rows) = all_register(&served, seed, requests).await;
    let sample = some(who(seed, &rows, Row::is_provisional), sampled, &dice);
    log_in_before_hardening(&served, &book, &sample, seed).await;
    log_in_after_hardening(&served, &book, (seed, sampled, &dice)).await;

    let served = served.at_small_cost().await;
    let worker = Hardener::start(&served.site).await;
    let rows = served.rows().await;
    let began = Instant::now();
    until("all credentials are hardened", async || rows.waiting().await == 0).await;
    println!("the others hardened at a small cost within {:.1?}", began.elapsed());
    worker.stop().await;
    let rows = rows.everybody().await;
    assert!(rows.values().all(|row| row.is_hardened() && !row.waits), "not all are hardened");
    assert_eq!(rows.len(), book.created());
    let began = Instant::now();
    book.check_logins(&served.door, &rows).await;
    println!("{} people logged in within {:.1?}", rows.len(), began.elapsed());
    served.server.kill().await;
}
