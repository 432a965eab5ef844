//! When something happened last, by a clock that nobody sets.

use std::time::Instant;

use parking_lot::Mutex;

/// When something happened last, if ever.
#[derive(Debug, Default)]
pub(crate) struct LastTime(Mutex<Option<Instant>>);

impl LastTime {
    /// It happens.
    pub(crate) fn note(&self) {
        *self.0.lock() = Some(Instant::now());
    }

    /// How long ago that was, in seconds; without end if never.
    pub(crate) fn age_seconds(&self) -> f64 {
        self.0.lock().map_or(f64::INFINITY, |at| at.elapsed().as_secs_f64())
    }
}
