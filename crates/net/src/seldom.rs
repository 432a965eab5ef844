//! What is said once a minute at most, however often there is reason to.

use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

/// How often it is said, at most.
pub(crate) const SAY_EVERY: Duration = Duration::from_mins(1);

/// When it was last said.
#[derive(Debug)]
pub(crate) struct Seldom(Mutex<Option<Instant>>);

impl Seldom {
    /// It was not said yet.
    pub(crate) const fn new() -> Self {
        Self(Mutex::new(None))
    }

    /// Whether it was not said in the last minute; then it is said now.
    pub(crate) fn is_due(&self, now: Instant) -> bool {
        let mut said = self.0.lock();
        if said.is_some_and(|last| now.saturating_duration_since(last) < SAY_EVERY) {
            return false;
        }
        *said = Some(now);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_said_once_a_minute_whoever_asks() {
        let (seldom, begun) = (Seldom::new(), Instant::now());
        let said =
            [0, 1, 59, 60, 61, 119, 120].map(|second| seldom.is_due(begun + Duration::from_secs(second)));
        assert_eq!(said, [true, false, false, true, false, false, true]);
    }
}
