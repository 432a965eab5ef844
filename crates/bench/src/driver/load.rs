//! So many users, for so long, as fast as they can or at a pace.

mod alarm;
mod board;
mod crew;
mod schedule;
mod tally;
#[cfg(test)]
mod tests;
mod user;

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use tokio::time::sleep;

use super::{Endpoints, Failure, Ledger, Observer};
use crate::scenario::Scenario;
use board::Board;
use crew::Crew;
use schedule::Schedule;
use tally::Tally;

/// How often the observer is asked and told.
const GLANCE: Duration = Duration::from_millis(100);
/// What operations are counted as that were due, and never began because every user was busy.
pub(crate) const NOT_BEGUN: &str = "not begun in time";

/// When the next operation begins.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Pace {
    /// When the user's last one has ended (closed loop).
    Closed,
    /// When it is due, whether those before have ended or not (open loop): an operation is late from the moment when it was due,
    /// not from the moment when a user was free.
    Open {
        /// Operations a second, of all users; the highest, if the scenario has a [shape](Scenario::shape).
        rate: f64,
    },
}

impl Pace {
    /// Whether the driver's threads wait for a free core. In a closed loop nothing is late; in an open one their own wait would count
    /// as the server's.
    pub(crate) const fn lets_others_go_first(self) -> bool {
        matches!(self, Self::Closed)
    }
}

/// When the run ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Length {
    /// After so many operations.
    Operations(u64),
    /// After so much time.
    Duration(Duration),
}

/// How a scenario is run.
#[derive(Debug, Clone)]
pub struct Load {
    /// Users, each with connections of its own.
    pub users: NonZeroUsize,
    /// Threads of the driver.
    pub threads: NonZeroUsize,
    /// When operations begin.
    pub pace: Pace,
    /// When the run ends.
    pub length: Length,
    /// The number of the first operation: after a warm-up, [`Measured::next_turn`] of that, so that no turn comes twice.
    pub first_turn: u64,
}

/// What happened within a second of the run.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Second {
    /// Operations that ended well.
    pub operations: u64,
    /// Operations that did not.
    pub errors: u64,
    /// Median latency of those that ended well, in µs.
    pub p50_us: u64,
    /// 99th percentile, in µs.
    pub p99_us: u64,
}

/// What happened.
#[derive(Debug)]
pub struct Measured {
    /// Operations that ended well.
    pub operations: u64,
    /// Operations that did not, by [`Failure`].
    pub errors: BTreeMap<String, u64>,
    /// From the first operation to the end of the last; of an open loop no less than the time in which operations were due: a few of
    /// them would look like a higher rate than was asked for.
    pub elapsed: Duration,
    /// Of the operations that ended well, in µs; in an open loop from the moment when they were due.
    pub latency: Histogram<u64>,
    /// Second by second, up to the end of the last operation: the last of them is seldom whole.
    pub seconds: Vec<Second>,
    /// The number that the next operation would have had.
    pub next_turn: u64,
}

impl Measured {
    /// Operations that did not end well.
    pub fn failed(&self) -> u64 {
        self.errors.values().sum()
    }

    /// Operations a second that ended well.
    #[expect(clippy::cast_precision_loss, reason = "there are not so many")]
    pub fn rate(&self) -> f64 {
        if self.elapsed.is_zero() { 0.0 } else { self.operations as f64 / self.elapsed.as_secs_f64() }
    }
}

/// Runs it, on threads of its own. The future sleeps meanwhile, but for what `observer` does; when it is dropped, no user begins
/// anything more.
///
/// # Errors
/// [`Failure::Setup`], if a thread of the driver cannot be had. What users meet is in [`Measured::errors`].
pub async fn run(
    load: &Load,
    endpoints: Arc<Endpoints>,
    scenario: Arc<dyn Scenario>,
    ledger: Option<Arc<Ledger>>,
    observer: &dyn Observer,
) -> Result<Measured, Failure> {
    let start = Instant::now();
    let schedule = Arc::new(Schedule::new(load, scenario.shape(), start)?);
    let board = Arc::new(Board::new(load.threads.get()));
    let crew =
        Crew { endpoints, scenario, ledger, schedule: Arc::clone(&schedule), board: Arc::clone(&board) };
    let _ends_with_this = StopWhenDropped(Arc::clone(&schedule));
    let mut threads = Vec::new();
    for number in 0..load.threads.get().min(load.users.get()) {
        threads.push(crew.clone().start(number, load)?);
    }
    for unused in threads.len()..load.threads.get() {
        board.leave(unused);
    }
    let mut all = Tally::new(start)?;
    let mut told = 0;
    for mut thread in threads {
        loop {
            tokio::select! {
                tally = &mut thread => break all.add(&tally.map_err(|_| Failure::Setup("a thread of the driver broke".to_owned()))??)?,
                () = sleep(GLANCE) => told = glance(observer, &schedule, &board, told),
            }
        }
    }
    glance(observer, &schedule, &board, told);
    Ok(measured(all, &schedule, &board))
}

struct StopWhenDropped(Arc<Schedule>);

impl Drop for StopWhenDropped {
    fn drop(&mut self) {
        self.0.stop(Instant::now());
    }
}

/// Tells the observer which seconds are over, beside the first `told`, and asks whether it has had enough.
fn glance(observer: &dyn Observer, schedule: &Schedule, board: &Board, told: usize) -> usize {
    let seconds = board.finished();
    for second in seconds.iter().skip(told) {
        observer.second(second);
    }
    if observer.has_enough() {
        schedule.stop(Instant::now());
    }
    seconds.len()
}

fn measured(all: Tally, schedule: &Schedule, board: &Board) -> Measured {
    let ended = all.elapsed();
    let mut errors = all.errors;
    let not_begun = schedule.not_begun();
    if not_begun > 0 {
        errors.insert(NOT_BEGUN.to_owned(), not_begun);
    }
    let mut seconds = board.finished();
    // A thread may have written one more, in which nothing ended.
    seconds.truncate(usize::try_from(ended.as_secs()).unwrap_or(usize::MAX).saturating_add(1));
    Measured {
        operations: all.operations,
        errors,
        elapsed: ended.max(schedule.lasts()),
        latency: all.latency,
        seconds,
        next_turn: schedule.next_turn(),
    }
}
