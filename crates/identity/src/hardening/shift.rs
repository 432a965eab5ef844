//! A worker at work: the pool always has something to hash, because the next batch is taken before the last one is done,
//! and results wait to be stored together.

use std::collections::VecDeque;
use std::future::pending;
use std::pin::pin;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use sluice_commit::{StoreError, chain};
use sluice_crypto::credential::CredentialError;
use sluice_crypto::hash_pool::PoolBusy;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval};
use tracing::{debug, error, info, warn};

use super::repository::Backlog;
use super::worker::{HardeningWorker, Results, Taken, Worked};

/// How long the store is left alone after a failure; each further one doubles it.
const FIRST_BACK_OFF: Duration = Duration::from_secs(1);
const LONGEST_BACK_OFF: Duration = Duration::from_secs(30);
/// A store that has not failed for so long is told of again when it does, whether or not it has written since.
const TOLD_ANEW_AFTER: Duration = Duration::from_mins(5);
/// No poll is shorter.
const SHORTEST_POLL: Duration = Duration::from_millis(10);
/// So many batches may wait for a store that does not answer; then hashing waits too.
const UNSTORED_BATCHES: usize = 4;

type Storing = BoxFuture<'static, (Results, Option<StoreError>)>;
type Counting = BoxFuture<'static, Result<Backlog, StoreError>>;

pub(super) struct Shift<'a> {
    worker: &'a HardeningWorker,
    jobs: usize,
    batch: usize,
    ready: VecDeque<Taken>,
    running: FuturesUnordered<BoxFuture<'static, Worked>>,
    results: Results,
    taking: Option<BoxFuture<'static, Result<Vec<Taken>, StoreError>>>,
    storing: Option<Storing>,
    counting: Option<Counting>,
    ticks: Interval,
    /// Whether there may be something to take.
    may_take: bool,
    /// Whether results have waited for company long enough.
    must_store: bool,
    pool: Pool,
    rest_until: Instant,
    count_at: Instant,
    /// Failures in a row.
    failures: u32,
    /// When the store has failed last, if it has written nothing since.
    failed_at: Option<Instant>,
    left_alone_in_a_row: usize,
    /// What was last missing, so that it is said once.
    missing: Option<CredentialError>,
    /// Until when a want of memory is the one that was said last.
    short_until: Instant,
}

/// What is known of the hash pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pool {
    Open,
    /// It had no place, or there was no memory.
    Full,
    /// It was shut down.
    Gone,
}

impl Pool {
    fn is_tried_again(&mut self) {
        if *self == Self::Full {
            *self = Self::Open;
        }
    }
}

/// What happens next.
enum Event {
    Worked(Worked),
    Taken(Result<Vec<Taken>, StoreError>),
    Stored((Results, Option<StoreError>)),
    Counted(Result<Backlog, StoreError>),
    Tick,
}

impl<'a> Shift<'a> {
    pub(super) fn new(worker: &'a HardeningWorker) -> Self {
        let mut ticks = interval(worker.config.poll.as_duration().max(SHORTEST_POLL));
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let now = Instant::now();
        Self {
            worker,
            jobs: worker.jobs(),
            batch: usize::try_from(worker.config.batch.max(1)).unwrap_or(usize::MAX),
            ready: VecDeque::new(),
            running: FuturesUnordered::new(),
            results: Results::default(),
            taking: None,
            storing: None,
            counting: None,
            ticks,
            may_take: true,
            must_store: false,
            pool: Pool::Open,
            rest_until: now,
            count_at: now,
            failures: 0,
            failed_at: None,
            left_alone_in_a_row: 0,
            missing: None,
            short_until: now,
        }
    }

    pub(super) async fn work(mut self, shutdown: impl Future<Output = ()> + Send) {
        let mut shutdown = pin!(shutdown);
        while self.pool != Pool::Gone {
            self.start_what_can_be();
            let event = tokio::select! {
                biased;
                () = &mut shutdown => break,
                event = self.next() => event,
            };
            self.heed(event);
        }
        self.finish().await;
    }

    fn start_what_can_be(&mut self) {
        let unstored = self.results.len();
        let may_hash = self.pool == Pool::Open && unstored < self.batch.saturating_mul(UNSTORED_BATCHES);
        while may_hash && self.running.len() < self.jobs {
            let Some(taken) = self.ready.pop_front() else { break };
            self.running.push(self.worker.work(taken));
        }
        let now = Instant::now();
        let rested = now >= self.rest_until;
        if self.taking.is_none() && self.may_take && rested && may_hash && self.ready.len() < self.jobs {
            self.taking = Some(self.worker.take());
        }
        let idle = self.running.is_empty() && self.ready.is_empty() && self.taking.is_none();
        let enough = unstored >= self.batch || self.must_store || idle;
        if self.storing.is_none() && unstored > 0 && enough && rested {
            let results = std::mem::take(&mut self.results);
            self.storing = Some(Box::pin(self.worker.clone().store(results)));
            self.must_store = false;
        }
        if self.counting.is_none() && now >= self.count_at {
            let repo = std::sync::Arc::clone(&self.worker.repo);
            self.counting = Some(Box::pin(async move { repo.backlog().await }));
            self.count_at = now + HardeningWorker::COUNT_EVERY;
        }
        self.worker.metrics.set_leased(self.ready.len() + self.running.len() + self.results.len());
    }

    async fn next(&mut self) -> Event {
        tokio::select! {
            Some(worked) = self.running.next(), if !self.running.is_empty() => Event::Worked(worked),
            taken = outcome(&mut self.taking) => Event::Taken(taken),
            stored = outcome(&mut self.storing) => Event::Stored(stored),
            counted = outcome(&mut self.counting) => Event::Counted(counted),
            _ = self.ticks.tick() => Event::Tick,
        }
    }

    fn heed(&mut self, event: Event) {
        match event {
            Event::Worked(worked) => self.heed_worked(worked),
            Event::Taken(Ok(taken)) => {
                // Fewer than asked for: that was all, until somebody registers.
                self.may_take = taken.len() >= self.batch;
                if self.results.len() == 0 && self.storing.is_none() {
                    self.failures = 0;
                    // Who finds nothing writes nothing: what it is worth shows later.
                    if !taken.is_empty() {
                        self.go_on();
                    }
                }
                self.ready.extend(taken);
            }
            Event::Taken(Err(error)) => self.rest("no credentials could be taken for hardening", &error),
            Event::Stored((left, failed)) => self.heed_stored(left, failed),
            Event::Counted(Ok(backlog)) => self.worker.metrics.set_backlog(&backlog),
            Event::Counted(Err(error)) => {
                warn!(error = %chain(&error), "the backlog of hardening cannot be counted");
            }
            Event::Tick => {
                (self.may_take, self.must_store) = (true, true);
                self.pool.is_tried_again();
            }
        }
    }

    fn heed_worked(&mut self, worked: Worked) {
        match worked {
            Worked::Hardened(hardened) => {
                self.results.hardened.push(hardened);
                self.left_alone_in_a_row = 0;
                self.pool.is_tried_again();
            }
            Worked::Unreadable(leased) => self.results.unreadable.push(leased),
            Worked::LeftAlone(missing) => self.leave_alone(missing),
            Worked::TooLate => {}
            Worked::NoPlace(taken) => self.put_off(taken),
            Worked::NoMemory(taken) => {
                self.say_short();
                self.put_off(taken);
            }
            Worked::Stopped => self.pool = Pool::Gone,
        }
    }

    fn heed_stored(&mut self, left: Results, failed: Option<StoreError>) {
        self.results.hardened.extend(left.hardened);
        self.results.unreadable.extend(left.unreadable);
        match failed {
            Some(error) => self.rest("hardened credentials cannot be stored yet", &error),
            None => self.go_on(),
        }
    }

    /// Hashes it later, if its lease has not run out by then.
    fn put_off(&mut self, taken: Taken) {
        self.ready.push_front(taken);
        self.pool = Pool::Full;
    }

    /// Says that there is no memory, once for as long as it goes on.
    fn say_short(&mut self) {
        let now = Instant::now();
        if now >= self.short_until {
            warn!(error = %PoolBusy::NoMemory, "credentials cannot be hardened now: they are tried again");
        }
        self.short_until = now + LONGEST_BACK_OFF;
    }

    fn leave_alone(&mut self, missing: CredentialError) {
        self.worker.metrics.count_left_alone();
        if self.missing != Some(missing) {
            error!(error = %missing, "credentials cannot be hardened by this process, and are left alone");
            self.missing = Some(missing);
        }
        self.left_alone_in_a_row += 1;
        if self.left_alone_in_a_row >= self.batch {
            // Nothing here can be hardened: no reason to keep the store busy.
            self.left_alone_in_a_row = 0;
            self.rest_until = Instant::now() + FIRST_BACK_OFF;
        }
    }

    /// Leaves the store alone for a while. Why, is said once, until it has written again.
    fn rest(&mut self, what: &str, why: &StoreError) {
        let is_told = self.failed_at.is_some_and(|at| at.elapsed() < TOLD_ANEW_AFTER);
        if is_told {
            debug!(error = %chain(why), "{what}");
        } else {
            warn!(error = %chain(why), "{what}");
        }
        self.failed_at = Some(Instant::now());
        let doubled = FIRST_BACK_OFF.saturating_mul(1_u32.checked_shl(self.failures).unwrap_or(u32::MAX));
        self.rest_until = Instant::now() + doubled.min(LONGEST_BACK_OFF);
        self.failures = self.failures.saturating_add(1);
    }

    /// The store has written.
    fn go_on(&mut self) {
        self.failures = 0;
        if self.failed_at.take().is_some() {
            info!("hardening goes on");
        }
    }

    /// Finishes what is being hashed and stores what there is. What only waits here is taken again when its lease has run
    /// out.
    async fn finish(mut self) {
        self.ready.clear();
        while let Some(worked) = self.running.next().await {
            self.heed_worked(worked);
        }
        if let Some(storing) = self.storing.take() {
            let (left, failed) = storing.await;
            self.heed_stored(left, failed);
        }
        let (left, failed) = self.worker.clone().store(std::mem::take(&mut self.results)).await;
        if let Some(error) = failed {
            warn!(count = left.len(), error = %chain(&error), "hardened credentials not stored: they are hardened again");
        }
        self.worker.metrics.set_leased(0);
    }
}

/// What comes of the future in this place, which is empty afterwards; never anything if it is empty now.
async fn outcome<T>(place: &mut Option<BoxFuture<'static, T>>) -> T {
    let Some(future) = place else { return pending().await };
    let outcome = future.await;
    *place = None;
    outcome
}
