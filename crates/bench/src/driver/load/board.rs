//! Second by second: each thread writes down its own, and what all have written is told.

use std::sync::{Mutex, PoisonError};

use hdrhistogram::Histogram;

use super::Second;
use super::tally::Moment;
use crate::driver::Failure;

#[derive(Debug)]
pub(super) struct Board(Mutex<Written>);

#[derive(Debug)]
struct Written {
    /// Seconds that each thread has written down.
    by_thread: Vec<usize>,
    finished: Vec<Second>,
    /// Those after `finished`, with what some threads have written.
    open: Vec<Open>,
}

#[derive(Debug)]
struct Open {
    errors: u64,
    latency: Histogram<u32>,
}

impl Board {
    pub(super) fn new(threads: usize) -> Self {
        Self(Mutex::new(Written { by_thread: vec![0; threads], finished: Vec::new(), open: Vec::new() }))
    }

    /// What a thread has counted in its next second.
    pub(super) fn write(&self, thread: usize, moment: &Moment) -> Result<(), Failure> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).write(thread, moment)
    }

    /// A thread will write no more.
    pub(super) fn leave(&self, thread: usize) {
        let mut written = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(seconds) = written.by_thread.get_mut(thread) {
            *seconds = usize::MAX;
        }
        written.finish();
    }

    /// Seconds that every thread has written down.
    pub(super) fn finished(&self) -> Vec<Second> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).finished.clone()
    }
}

impl Written {
    fn write(&mut self, thread: usize, moment: &Moment) -> Result<(), Failure> {
        let Some(second) = self.by_thread.get_mut(thread) else { return Ok(()) };
        let at = *second - self.finished.len().min(*second);
        *second += 1;
        while self.open.len() <= at {
            self.open.push(Open { errors: 0, latency: Moment::new()?.latency });
        }
        if let Some(open) = self.open.get_mut(at) {
            open.errors += moment.errors;
            open.latency.add(&moment.latency).map_err(|error| super::tally::unusable(&error))?;
        }
        self.finish();
        Ok(())
    }

    fn finish(&mut self) {
        let written = self.by_thread.iter().copied().min().unwrap_or_default();
        let over = written.saturating_sub(self.finished.len()).min(self.open.len());
        self.finished.extend(self.open.drain(..over).map(|open| Second {
            operations: open.latency.len(),
            errors: open.errors,
            p50_us: open.latency.value_at_quantile(0.5),
            p99_us: open.latency.value_at_quantile(0.99),
        }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A second in which so many took so long.
    fn moment(operations: u32, micros: u64, errors: u64) -> Moment {
        let mut moment = Moment::new().unwrap();
        moment.latency.saturating_record_n(micros, operations);
        moment.errors = errors;
        moment
    }

    #[test]
    fn a_second_is_over_when_every_thread_has_written_it_down() {
        let board = Board::new(2);
        board.write(0, &moment(3, 100, 1)).unwrap();
        board.write(0, &moment(9, 100, 0)).unwrap();
        assert_eq!(board.finished(), []);
        board.write(1, &moment(2, 100, 4)).unwrap();
        let seconds = board.finished();
        let counted: Vec<_> = seconds.iter().map(|second| (second.operations, second.errors)).collect();
        assert_eq!(counted, [(5, 5)]);
        board.leave(1);
        assert_eq!(board.finished().len(), 2, "nobody waits for one that has left");
    }
}
