//! The hardening worker.

use std::collections::HashSet;
use std::io;
use std::num::NonZeroUsize;
use std::sync::atomic::Ordering;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use parking_lot::Mutex;
use sluice_commit::StoreError;
use sluice_crypto::hash_pool::{HashPool, PoolBusy, Priority};
use sluice_identity::LoginOutcome;
use sluice_identity::config::{HardeningConfig, LimitsConfig};
use sluice_identity::hardening::{HardeningRepository, HardeningWorker, Round};
use sluice_primitives::{Clock, Lifetime};
use sluice_testkit::Captured;
use tokio::sync::oneshot;
use tracing::Dispatch;
use tracing::subscriber::{DefaultGuard, NoSubscriber};

use super::fake::{FakeStore, Setup, World};
use super::no_memory::{costly, is_short};

const PASSWORD: &str = "correct horse";
/// Far more than anything here takes.
const TOO_LONG: Duration = Duration::from_hours(1);

async fn world_with_people(count: usize, setup: Setup) -> World {
    let limits = LimitsConfig { registrations_per_network: None, ..LimitsConfig::default() };
    let world = World::with(&Setup { limits, ..setup });
    for n in 0..count {
        world.register(&format!("person{n}@example.com"), PASSWORD).await;
    }
    world
}

fn config(batch: u32, jobs: usize) -> HardeningConfig {
    HardeningConfig { batch, jobs: NonZeroUsize::new(jobs), ..HardeningConfig::default() }
}

/// A worker that works, until it is told not to.
struct Working {
    worker: Arc<HardeningWorker>,
    stop: oneshot::Sender<()>,
    task: tokio::task::JoinHandle<()>,
}

impl Working {
    fn start(worker: HardeningWorker) -> Self {
        let (stop, stopped) = oneshot::channel();
        let worker = Arc::new(worker);
        let task = tokio::spawn({
            let worker = Arc::clone(&worker);
            async move { worker.run(async { drop(stopped.await) }).await }
        });
        Self { worker, stop, task }
    }

    async fn stop(self) {
        drop(self.stop);
        tokio::time::timeout(TOO_LONG, self.task).await.unwrap().unwrap();
    }
}

/// A login that keeps a thread of the pool busy until it is ended.
struct Login {
    hold: mpsc::Sender<()>,
    done: tokio::task::JoinHandle<Result<bool, PoolBusy>>,
}

impl Login {
    fn begin(pool: &HashPool) -> Self {
        let (hold, held) = mpsc::channel();
        let done = tokio::spawn(pool.run(Priority::Login, move |_| held.recv().is_err()));
        Self { hold, done }
    }

    async fn end(self) {
        drop(self.hold);
        assert!(self.done.await.unwrap().unwrap());
    }
}

/// Waits as long as it takes.
async fn until(done: impl Fn() -> bool) {
    let looking = async {
        while !done() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::time::timeout(TOO_LONG, looking).await.unwrap();
}

fn hardened(store: &FakeStore) -> usize {
    store.people.lock().iter().filter(|person| person.credential.starts_with("h1$")).count()
}

#[tokio::test]
async fn a_round_hardens_a_batch() {
    let world = world_with_people(5, Setup::default()).await;
    let worker = world.worker(config(3, 1));
    assert_eq!(worker.round().await.unwrap(), Round { leased: 3, hashed: 3, given_up: 0 });
    assert_eq!(worker.round().await.unwrap(), Round { leased: 2, hashed: 2, given_up: 0 });
    assert_eq!(worker.round().await.unwrap(), Round::default());
    assert_eq!((hardened(&world.store), world.store.waiting(), world.hashes()), (5, 0, 5));
    assert_eq!(worker.metrics.hardened_total(), 5);
    let outcome = world.log_in("person4@example.com", PASSWORD).await;
    assert!(matches!(outcome, LoginOutcome::LoggedIn(_)));
}

#[tokio::test]
async fn workers_that_run_side_by_side_harden_nothing_twice() {
    let world = world_with_people(300, Setup { threads: 2, ..Setup::default() }).await;
    let working = [1, 2, 3].map(|_| Working::start(world.worker(config(16, 2))));
    until(|| world.store.waiting() == 0).await;
    let counts = working.iter().map(|working| working.worker.metrics.hardened_total()).sum::<u64>();
    for working in working {
        working.stop().await;
    }
    assert_eq!((hardened(&world.store), counts), (300, 300));
    let brought = world.store.brought.lock();
    let different: HashSet<_> = brought.iter().map(|brought| brought.id).collect();
    assert_eq!((brought.len(), different.len(), world.hashes()), (300, 300, 300));
}

#[tokio::test]
async fn who_registers_while_a_worker_runs_is_hardened_too() {
    let world = world_with_people(0, Setup::default()).await;
    let working =
        Working::start(world.worker(HardeningConfig { poll: Lifetime::millis(20), ..config(8, 1) }));
    for n in 0..3 {
        world.register(&format!("late{n}@example.com"), PASSWORD).await;
        until(|| hardened(&world.store) == n + 1).await;
    }
    let metrics = Arc::clone(&working.worker.metrics);
    working.stop().await;
    assert_eq!((metrics.hardened_total(), metrics.leased()), (3, 0));
    assert!(metrics.drain_rate(world.clock.now()) > 0.0);
}

#[tokio::test]
async fn what_a_worker_took_and_did_not_bring_back_is_anothers_when_the_lease_has_run_out() {
    let world = world_with_people(4, Setup::default()).await;
    let lost = world.store.lease(world.clock.now(), Lifetime::secs(60), 4).await.unwrap();
    assert_eq!(lost.len(), 4);
    let worker = world.worker(config(8, 1));
    assert_eq!(worker.round().await.unwrap().leased, 0);
    world.clock.advance(Lifetime::secs(59));
    assert_eq!(worker.round().await.unwrap().leased, 0);
    world.clock.advance(Lifetime::secs(1));
    assert_eq!(worker.round().await.unwrap().hashed, 4);
}

#[tokio::test]
async fn what_waited_longer_than_its_lease_is_not_hashed() {
    let world = world_with_people(3, Setup::default()).await;
    let login = Login::begin(&world.pool);
    let worker = world.worker(config(3, 3));
    let round = tokio::spawn({
        let worker = worker.clone();
        async move { worker.round().await.unwrap() }
    });
    until(|| world.pool.metrics().queue_depth(Priority::Hardening) == 3).await;
    world.clock.advance(Lifetime::secs(60));
    login.end().await;
    assert_eq!(round.await.unwrap(), Round { leased: 3, ..Round::default() });
    assert_eq!(worker.round().await.unwrap().hashed, 3);
}

#[tokio::test]
async fn credentials_that_cannot_be_read_stop_nobody() {
    let world = world_with_people(12, Setup::default()).await;
    let poisoned: Vec<_> = {
        let mut people = world.store.people.lock();
        let (first, second) = (people[0].credential.clone(), people[1].credential.clone());
        people[0].credential = second; // moved between rows
        people[1].credential = first;
        people[2].credential = "p1$AAAA".to_owned();
        people[3].credential = "nonsense".to_owned();
        people[4].credential = String::new();
        people.iter().take(5).map(|person| person.id).collect()
    };
    let working = Working::start(world.worker(config(2, 1)));
    until(|| hardened(&world.store) == 7 && world.store.dead.lock().len() == 5).await;
    let metrics = Arc::clone(&working.worker.metrics);
    working.stop().await;
    assert!(poisoned.iter().all(|id| world.store.dead.lock().contains(id)));
    assert_eq!((metrics.hardened_total(), metrics.given_up_total()), (7, 5));
}

#[tokio::test]
async fn a_worker_without_the_right_secret_writes_nothing_off() {
    let right = world_with_people(6, Setup::default()).await;
    let wrong = World::on(Arc::clone(&right.store), &Setup { storage: 6, ..Setup::default() });
    let worker = wrong.worker(config(2, 1));
    assert_eq!(worker.round().await.unwrap(), Round { leased: 2, ..Round::default() });
    let working = Working::start(worker);
    until(|| working.worker.metrics.left_alone_total() >= 4).await;
    working.stop().await;
    assert!(right.store.dead.lock().is_empty());
    right.clock.advance(Lifetime::secs(60));
    assert_eq!(right.worker(config(10, 1)).round().await.unwrap().hashed, 6);
}

#[tokio::test]
async fn what_there_is_no_memory_for_is_hashed_when_there_is() {
    if !is_short("hardening::what_there_is_no_memory_for_is_hashed_when_there_is") {
        return;
    }
    let (log, _guard) = Captured::begin();
    let short = world_with_people(3, costly()).await;
    let soon = HardeningConfig { poll: Lifetime::millis(20), ..config(3, 1) };
    let working = Working::start(short.worker(soon));
    until(|| short.pool.metrics().rejected_total(Priority::Hardening) >= 5).await;
    let metrics = Arc::clone(&working.worker.metrics);
    working.stop().await;
    assert_eq!((metrics.left_alone_total(), metrics.given_up_total(), short.hashes()), (0, 0, 0));
    assert_eq!(log.lines("there is no memory for a hash now").len(), 1, "said once: {}", log.text());
    let world = World::on(Arc::clone(&short.store), &Setup::default());
    world.clock.advance(Lifetime::secs(60));
    assert_eq!(world.worker(config(3, 1)).round().await.unwrap().hashed, 3);
}

#[tokio::test]
async fn what_is_being_hashed_at_the_end_is_stored_and_the_rest_is_left() {
    let world = world_with_people(20, Setup::default()).await;
    let login = Login::begin(&world.pool);
    let working = Working::start(world.worker(config(20, 4)));
    until(|| world.pool.metrics().queue_depth(Priority::Hardening) == 4).await;
    let stopped = tokio::spawn(working.stop());
    tokio::task::yield_now().await;
    login.end().await;
    stopped.await.unwrap();
    assert_eq!((hardened(&world.store), world.hashes()), (4, 5));
    world.clock.advance(Lifetime::secs(60));
    assert_eq!(world.worker(config(20, 4)).round().await.unwrap().hashed, 16);
}

#[tokio::test]
async fn no_more_is_hashed_at_a_time_than_is_granted() {
    let world = world_with_people(30, Setup { threads: 4, ..Setup::default() }).await;
    let logins = [(); 4].map(|()| Login::begin(&world.pool));
    until(|| world.pool.metrics().busy_threads() == 4).await;
    let working = Working::start(world.worker(config(8, 3)));
    let depth = || world.pool.metrics().queue_depth(Priority::Hardening);
    until(|| working.worker.metrics.leased() == 8).await;
    assert_eq!(depth(), 3);
    for login in logins {
        login.end().await;
    }
    until(|| world.store.waiting() == 0).await;
    working.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_lost_store_is_asked_again_and_nothing_is_hashed_anew() {
    let world = world_with_people(6, Setup::default()).await;
    let login = Login::begin(&world.pool);
    let working = Working::start(world.worker(config(6, 6)));
    until(|| world.pool.metrics().queue_depth(Priority::Hardening) == 6).await;
    *world.store.down.lock() = true;
    login.end().await;
    until(|| world.hashes() == 7).await;
    tokio::time::sleep(Duration::from_secs(20)).await;
    assert_eq!(hardened(&world.store), 0);
    *world.store.down.lock() = false;
    until(|| hardened(&world.store) == 6).await;
    working.stop().await;
    assert_eq!(world.hashes(), 7);
}

/// Not once for each: what it would say of any says nothing of one.
#[tokio::test]
async fn a_store_that_takes_nothing_more_is_asked_once_for_all() {
    let world = world_with_people(5, Setup::default()).await;
    world.store.people.lock()[0].credential = "nonsense".to_owned();
    *world.store.full.lock() = true;
    let worker = world.worker(config(5, 1));
    let refused = worker.round().await;
    assert!(matches!(refused, Err(StoreError::Refused(_))), "{refused:?}");
    assert_eq!(world.store.asked_for_room.load(Ordering::Relaxed), 1);
    assert!(world.store.dead.lock().is_empty());
}

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    /// How many lines say so.
    fn lines(&self, sentence: &str) -> usize {
        let said = String::from_utf8(self.0.lock().clone()).unwrap();
        said.lines().filter(|line| line.contains(sentence)).count()
    }

    /// Hears this thread for as long as what is answered is kept.
    fn listen(&self) -> (Dispatch, DefaultGuard) {
        let writer = self.clone();
        let subscriber =
            tracing_subscriber::fmt().with_writer(move || writer.clone()).with_ansi(false).finish();
        // With one dispatcher in the process, `tracing` asks the thread that comes first to a place whether anybody listens there:
        // another test, where nobody does.
        let second = Dispatch::new(NoSubscriber::default());
        (second, tracing::subscriber::set_default(subscriber))
    }
}

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        io::Write::write(&mut *self.0.lock(), bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[tokio::test(start_paused = true)]
async fn a_store_that_is_full_is_asked_now_and_then_and_gets_all_when_there_is_room() {
    let log = Log::default();
    let _heard = log.listen();
    let world = world_with_people(6, Setup::default()).await;
    *world.store.full.lock() = true;
    let working = Working::start(world.worker(config(6, 6)));
    let asked = || world.store.asked_for_room.load(Ordering::Relaxed);
    until(|| world.hashes() == 6 && asked() > 1).await;
    let before = asked();
    tokio::time::sleep(Duration::from_mins(1)).await;
    assert!(asked() - before <= 6, "{} times in a minute", asked() - before);
    assert_eq!(hardened(&world.store), 0);
    *world.store.full.lock() = false;
    until(|| hardened(&world.store) == 6).await;
    working.stop().await;
    assert_eq!(world.hashes(), 6, "none is hashed anew");
    assert_eq!(log.lines("no space is left"), 1, "said once");
    assert_eq!(log.lines("hardening goes on"), 1);
}

/// A database that only reads answers who finds nothing to do.
#[tokio::test(start_paused = true)]
async fn hardening_goes_on_when_something_was_written_and_not_when_nothing_was_to_do() {
    let log = Log::default();
    let _heard = log.listen();
    let world = world_with_people(0, Setup::default()).await;
    let working = Working::start(world.worker(config(6, 1)));
    for _ in 0..3 {
        *world.store.down.lock() = true;
        tokio::time::sleep(Duration::from_secs(20)).await;
        *world.store.down.lock() = false;
        tokio::time::sleep(Duration::from_mins(1)).await;
    }
    assert_eq!(log.lines("no credentials could be taken for hardening"), 1, "said once");
    assert_eq!(log.lines("hardening goes on"), 0);
    world.register("late@example.com", PASSWORD).await;
    until(|| hardened(&world.store) == 1).await;
    working.stop().await;
    assert_eq!(log.lines("hardening goes on"), 1);
}

#[tokio::test]
async fn a_worker_whose_pool_is_gone_ends() {
    let world = world_with_people(3, Setup::default()).await;
    world.pool.shutdown();
    let (_never, stop) = oneshot::channel::<()>();
    let worker = world.worker(config(3, 1));
    tokio::time::timeout(TOO_LONG, worker.run(async { drop(stop.await) })).await.unwrap();
    assert_eq!(world.store.waiting(), 3);
}
