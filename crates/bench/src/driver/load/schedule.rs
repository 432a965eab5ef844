//! Whose turn it is, and when.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::{Length, Load, Pace};
use crate::driver::Failure;
use crate::scenario::Shape;

/// An operation that somebody is to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Turn {
    pub(super) number: u64,
    /// When it is due; what its latency counts from.
    pub(super) due: Instant,
}

/// Shared by all users: each takes the next turn that nobody has.
#[derive(Debug)]
pub(super) struct Schedule {
    start: Instant,
    end: Option<Instant>,
    operations: u64,
    timetable: Option<Timetable>,
    first_turn: u64,
    taken: AtomicU64,
    is_stopped: AtomicBool,
}

impl Schedule {
    pub(super) fn new(load: &Load, shape: Option<Shape>, start: Instant) -> Result<Self, Failure> {
        let timetable = match load.pace {
            Pace::Closed => None,
            Pace::Open { rate } => Some(Timetable::new(rate, load.length, shape)?),
        };
        let length = match (&timetable, load.length) {
            (Some(timetable), _) => Some(timetable.length),
            (None, Length::Duration(length)) => Some(length),
            (None, Length::Operations(_)) => None,
        };
        let operations = match (&timetable, load.length) {
            (_, Length::Operations(operations)) => operations,
            (Some(timetable), _) => timetable.operations(),
            (None, Length::Duration(_)) => u64::MAX,
        };
        Ok(Self {
            start,
            end: length.map(|length| start + length),
            operations,
            timetable,
            first_turn: load.first_turn,
            taken: AtomicU64::new(0),
            is_stopped: AtomicBool::new(false),
        })
    }

    /// The next turn, if the run is not over.
    pub(super) fn take(&self, now: Instant) -> Option<Turn> {
        if self.is_stopped() || self.end.is_some_and(|end| now >= end) {
            return None;
        }
        let number = self.taken.fetch_add(1, Ordering::Relaxed);
        if number >= self.operations {
            return None;
        }
        let due = match &self.timetable {
            Some(timetable) => self.start + timetable.due(number)?,
            None => now,
        };
        Some(Turn { number: self.first_turn + number, due })
    }

    /// Whether a user waits for its next turn, not the other way round.
    pub(super) const fn is_open(&self) -> bool {
        self.timetable.is_some()
    }

    /// The start of the run.
    pub(super) const fn start(&self) -> Instant {
        self.start
    }

    /// Nobody gets another turn.
    pub(super) fn stop(&self) {
        self.is_stopped.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.is_stopped.load(Ordering::Relaxed)
    }

    /// Turns of an open loop that were due, and that nobody took. None in a run that was stopped.
    pub(super) fn not_begun(&self) -> u64 {
        if !self.is_open() || self.is_stopped() { 0 } else { self.operations.saturating_sub(self.taken()) }
    }

    /// The number of the turn that would have been next.
    pub(super) fn next_turn(&self) -> u64 {
        self.first_turn + self.taken()
    }

    /// Turns that were taken: users who find none left count beyond the last.
    fn taken(&self) -> u64 {
        self.taken.load(Ordering::Relaxed).min(self.operations)
    }
}

/// When each operation of an open loop is due.
#[derive(Debug)]
struct Timetable {
    rate: f64,
    length: Duration,
    shape: Option<Shape>,
}

impl Timetable {
    fn new(rate: f64, length: Length, shape: Option<Shape>) -> Result<Self, Failure> {
        let mean = rate * shape.as_ref().map_or(1.0, Shape::mean);
        if !(mean.is_finite() && mean > 0.0) {
            return Err(Failure::Setup(format!("{rate} operations a second are no rate")));
        }
        let length = match length {
            Length::Duration(length) => length,
            #[expect(clippy::cast_precision_loss, reason = "there are not so many")]
            Length::Operations(operations) => Duration::try_from_secs_f64(operations as f64 / mean)
                .map_err(|_| Failure::Setup("a run as long as that never ends".to_owned()))?,
        };
        Ok(Self { rate, length, shape })
    }

    #[expect(clippy::cast_precision_loss, reason = "there are not so many")]
    fn due(&self, number: u64) -> Option<Duration> {
        match &self.shape {
            Some(shape) => shape.due(number, self.rate, self.length),
            None => Duration::try_from_secs_f64(number as f64 / self.rate).ok(),
        }
    }

    /// How many are due before the end.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "neither so many nor less than none"
    )]
    fn operations(&self) -> u64 {
        let mean = self.rate * self.shape.as_ref().map_or(1.0, Shape::mean);
        (mean * self.length.as_secs_f64()).round() as u64
    }
}
