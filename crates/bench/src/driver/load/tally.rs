//! What the users of one thread have met.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;

use crate::driver::Failure;

/// An hour, in µs: what takes longer is counted as an hour.
const LONGEST: u64 = 3_600_000_000;
/// Significant digits of a latency of the run.
const DIGITS: u8 = 3;
/// The same of one second of it.
const DIGITS_OF_A_SECOND: u8 = 2;

/// Since the last second was over.
#[derive(Debug)]
pub(super) struct Moment {
    pub(super) errors: u64,
    pub(super) latency: Histogram<u32>,
}

impl Moment {
    pub(super) fn new() -> Result<Self, Failure> {
        let latency = Histogram::new_with_bounds(1, LONGEST, DIGITS_OF_A_SECOND);
        Ok(Self { errors: 0, latency: latency.map_err(|error| unusable(&error))? })
    }

    /// Begins the next.
    pub(super) fn clear(&mut self) {
        self.errors = 0;
        self.latency.reset();
    }
}

/// Since the start.
#[derive(Debug)]
pub(super) struct Tally {
    pub(super) operations: u64,
    pub(super) errors: BTreeMap<String, u64>,
    pub(super) latency: Histogram<u64>,
    pub(super) moment: Moment,
    start: Instant,
    last: Instant,
}

impl Tally {
    pub(super) fn new(start: Instant) -> Result<Self, Failure> {
        let latency = Histogram::new_with_bounds(1, LONGEST, DIGITS).map_err(|error| unusable(&error))?;
        Ok(Self {
            operations: 0,
            errors: BTreeMap::new(),
            latency,
            moment: Moment::new()?,
            start,
            last: start,
        })
    }

    /// One operation that began, or was due, then and has ended now.
    pub(super) fn count(&mut self, outcome: &Result<(), Failure>, due: Instant, now: Instant) {
        self.last = now;
        match outcome {
            Ok(()) => {
                let micros = u64::try_from(now.saturating_duration_since(due).as_micros()).unwrap_or(LONGEST);
                self.operations += 1;
                self.latency.saturating_record(micros);
                self.moment.latency.saturating_record(micros);
            }
            Err(failure) => {
                *self.errors.entry(failure.to_string()).or_default() += 1;
                self.moment.errors += 1;
            }
        }
    }

    /// Those of another thread.
    pub(super) fn add(&mut self, other: &Self) -> Result<(), Failure> {
        self.operations += other.operations;
        self.last = self.last.max(other.last);
        for (kind, count) in &other.errors {
            *self.errors.entry(kind.clone()).or_default() += count;
        }
        self.latency.add(&other.latency).map_err(|error| unusable(&error))
    }

    /// Up to the end of the last operation.
    pub(super) fn elapsed(&self) -> Duration {
        self.last.saturating_duration_since(self.start)
    }
}

pub(super) fn unusable(error: &dyn std::error::Error) -> Failure {
    Failure::Setup(format!("latencies cannot be counted: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn millis(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    fn failed() -> Result<(), Failure> {
        Err(Failure::Status { step: "token", status: 500 })
    }

    #[test]
    fn latency_counts_from_the_moment_when_an_operation_was_due() {
        let start = Instant::now();
        let mut tally = Tally::new(start).unwrap();
        tally.count(&Ok(()), start + millis(10), start + millis(510));
        tally.count(&Ok(()), start + millis(20), start + millis(520));
        assert_eq!((tally.operations, tally.latency.len()), (2, 2));
        assert_eq!(tally.latency.count_between(499_000, 501_000), 2);
        assert_eq!(tally.moment.latency.len(), 2);
        assert_eq!(tally.elapsed(), millis(520));
    }

    #[test]
    fn what_fails_is_counted_by_what_went_wrong_and_has_no_latency() {
        let start = Instant::now();
        let mut tally = Tally::new(start).unwrap();
        tally.count(&failed(), start, start + millis(5));
        tally.count(&failed(), start, start + millis(6));
        assert_eq!(tally.errors, BTreeMap::from([("token: status 500".to_owned(), 2)]));
        assert_eq!((tally.operations, tally.latency.len(), tally.moment.errors), (0, 0, 2));
        assert_eq!(tally.elapsed(), millis(6));
        tally.moment.clear();
        assert_eq!(tally.moment.errors, 0);
    }

    #[test]
    fn what_threads_have_counted_is_summed_up_to_the_end_of_the_last() {
        let start = Instant::now();
        let [mut one, mut other] = [Tally::new(start).unwrap(), Tally::new(start).unwrap()];
        one.count(&Ok(()), start, start + millis(30));
        other.count(&Ok(()), start, start + millis(20));
        other.count(&failed(), start, start + millis(10));
        one.add(&other).unwrap();
        assert_eq!((one.operations, one.latency.len(), one.errors.len()), (2, 2, 1));
        assert_eq!(one.elapsed(), millis(30));
    }
}
