//! Whose turn it is, and when.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
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
    /// The moment of the first [`Self::stop`].
    stopped: OnceLock<Instant>,
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
            stopped: OnceLock::new(),
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

    /// For how long operations of an open loop are due. A run that was stopped, and a closed loop, last as long as they last.
    pub(super) fn lasts(&self) -> Duration {
        let timetable = self.timetable.as_ref().filter(|_| !self.is_stopped());
        timetable.map_or(Duration::ZERO, |timetable| timetable.length)
    }

    /// Nobody gets another turn from now on.
    pub(super) fn stop(&self, now: Instant) {
        // The first that stops it says when.
        let _was_stopped = self.stopped.set(now);
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.stopped.get().is_some()
    }

    /// Turns of an open loop that were due, before it was stopped if it was, and that nobody took. Whoever stops a run whose server
    /// answers nobody is told how many waited for it.
    pub(super) fn not_begun(&self) -> u64 {
        let Some(timetable) = &self.timetable else { return 0 };
        let due = self.stopped.get().map_or(self.operations, |stopped| {
            timetable.due_before(stopped.saturating_duration_since(self.start), self.operations)
        });
        due.saturating_sub(self.taken())
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

    /// How many of the first `operations` are due before then.
    fn due_before(&self, then: Duration, operations: u64) -> u64 {
        let (mut low, mut high) = (0, operations);
        while low < high {
            let middle = u64::midpoint(low, high);
            if self.due(middle).is_some_and(|due| due < then) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
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

#[cfg(test)]
mod tests {
    use std::num::NonZeroUsize;

    use super::*;

    const fn millis(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    fn schedule(pace: Pace, length: Length, shape: Option<Shape>, start: Instant) -> Schedule {
        let load = Load { users: NonZeroUsize::MIN, threads: NonZeroUsize::MIN, pace, length, first_turn: 7 };
        Schedule::new(&load, shape, start).unwrap()
    }

    #[test]
    fn turns_of_an_open_loop_are_due_when_they_were_whoever_comes_late() {
        let (start, pace) = (Instant::now(), Pace::Open { rate: 1000.0 });
        let schedule = schedule(pace, Length::Duration(millis(500)), None, start);
        let turns: Vec<_> = (0..4).map(|_| schedule.take(start + millis(100)).unwrap()).collect();
        let expected: Vec<_> = (0..4).map(|n| Turn { number: 7 + n, due: start + millis(n) }).collect();
        assert_eq!(turns, expected);
        assert_eq!(schedule.take(start + millis(500)), None, "it is over");
        assert_eq!((schedule.not_begun(), schedule.next_turn()), (496, 11));
    }

    #[test]
    fn an_open_loop_lasts_as_long_as_its_operations_take_at_their_rate() {
        let (start, pace) = (Instant::now(), Pace::Open { rate: 2000.0 });
        let schedule = schedule(pace, Length::Operations(300), None, start);
        assert_eq!((schedule.not_begun(), schedule.lasts()), (300, millis(150)));
        assert!(schedule.take(start + millis(149)).is_some() && schedule.take(start + millis(150)).is_none());
    }

    #[test]
    fn turns_of_a_closed_loop_are_due_when_somebody_is_free() {
        let start = Instant::now();
        let schedule = schedule(Pace::Closed, Length::Operations(2), None, start);
        let later = start + millis(3_600_000);
        assert_eq!(schedule.take(later), Some(Turn { number: 7, due: later }));
        assert!(schedule.take(later).is_some() && schedule.take(later).is_none());
        assert_eq!((schedule.not_begun(), schedule.next_turn()), (0, 9));
        assert_eq!(schedule.lasts(), Duration::ZERO);
    }

    #[test]
    fn nobody_gets_a_turn_of_a_run_that_was_stopped_and_those_that_were_due_before_were_not_begun() {
        let start = Instant::now();
        let stopped = |taken: u64, after: Duration| {
            let schedule = schedule(Pace::Open { rate: 10.0 }, Length::Operations(300), None, start);
            (0..taken).for_each(|_| assert!(schedule.take(start).is_some()));
            schedule.stop(start + after);
            schedule.stop(start + millis(20_000));
            assert_eq!((schedule.take(start + after), schedule.lasts()), (None, Duration::ZERO));
            schedule.not_begun()
        };
        assert_eq!(stopped(0, Duration::ZERO), 0, "nobody was to have any");
        assert_eq!(stopped(4, millis(2_050)), 17, "21 were due");
        assert_eq!(stopped(25, millis(2_050)), 0, "those that were taken ahead of their time are not missed");
        assert_eq!(stopped(4, millis(60_000)), 296, "there are no more");
    }

    #[test]
    fn a_closed_loop_that_was_stopped_lacks_nothing() {
        let schedule = schedule(Pace::Closed, Length::Operations(300), None, Instant::now());
        schedule.stop(Instant::now());
        assert_eq!(schedule.not_begun(), 0);
    }

    #[test]
    fn a_shape_says_how_many_were_due_when_it_was_stopped() {
        let (start, shape) = (Instant::now(), Shape::through(&[(0.0, 0.0), (1.0, 1.0)]));
        let schedule =
            schedule(Pace::Open { rate: 1000.0 }, Length::Duration(millis(400)), Some(shape), start);
        schedule.stop(start + millis(200));
        assert_eq!(schedule.not_begun(), 50, "a quarter in the first half");
    }

    #[test]
    fn a_shape_says_how_many_are_due_and_when() {
        let shape = Shape::through(&[(0.0, 0.0), (1.0, 1.0)]);
        let timetable = Timetable::new(1000.0, Length::Duration(millis(400)), Some(shape)).unwrap();
        assert_eq!(timetable.operations(), 200);
        let due: Vec<_> = (0..200).map(|number| timetable.due(number).unwrap()).collect();
        assert!(due.is_sorted() && due.iter().all(|due| *due < millis(400)));
        assert_eq!(due.iter().filter(|due| **due < millis(200)).count(), 50, "a quarter in the first half");
    }
}
