//! Pause: how long work that nobody waits for leaves a store alone that could not do it.

use std::time::Duration;

use parking_lot::Mutex;
use sluice_commit::StoreError;
use tokio::time::Instant;

/// The first pause; each further one is twice as long.
const FIRST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(30);

/// The pauses of a piece of work. Each attempt at a store that only reads, is full or is away leaves lines in its log and in ours, and costs it a
/// connection perhaps. So the work rests after one, for longer each time; the first attempt that goes well ends that.
#[derive(Default)]
pub(crate) struct Pause(Mutex<Row>);

/// The failures in a row.
#[derive(Default)]
struct Row {
    length: u32,
    until: Option<Instant>,
}

impl Pause {
    /// Does the work, unless it rests: then it is nothing.
    ///
    /// # Errors
    /// That of the work.
    pub(crate) async fn or<T>(
        &self,
        work: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<Option<T>, StoreError> {
        if self.is_on() {
            return Ok(None);
        }
        let done = work.await;
        match &done {
            Err(why) if is_of_the_store(why) => self.begin(),
            _ => *self.0.lock() = Row::default(),
        }
        done.map(Some)
    }

    fn is_on(&self) -> bool {
        self.0.lock().until.is_some_and(|until| Instant::now() < until)
    }

    fn begin(&self) {
        let mut row = self.0.lock();
        let doubled = FIRST.saturating_mul(1_u32.checked_shl(row.length).unwrap_or(u32::MAX));
        row.until = Some(Instant::now() + doubled.min(LONGEST));
        row.length = row.length.saturating_add(1);
    }
}

/// Whether the store would say the same of any other work.
const fn is_of_the_store(why: &StoreError) -> bool {
    match why {
        StoreError::Busy | StoreError::Unavailable(_) | StoreError::Refused(_) => true,
        StoreError::Invalid(_) | StoreError::Fault(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

    use super::*;

    /// How often work is tried that is due every second for five minutes, and fails as this says.
    async fn tried(pause: &Pause, failure: Option<StoreError>) -> u32 {
        let tried = AtomicU32::new(0);
        for _ in 0..300 {
            let work = async {
                tried.fetch_add(1, Relaxed);
                failure.clone().map_or(Ok(()), Err)
            };
            let done = pause.or(work).await;
            assert!(done.is_ok() || failure.is_some(), "{done:?}");
            tokio::time::advance(Duration::from_secs(1)).await;
        }
        tried.into_inner()
    }

    #[tokio::test(start_paused = true)]
    async fn a_store_that_cannot_do_it_is_asked_again_after_half_a_minute_at_most() {
        let pause = Pause::default();
        // After 1, 2, 4, 8 and 16 seconds, and every 30 from then on.
        assert_eq!(tried(&pause, Some(StoreError::Unavailable(None))).await, 14);
        tokio::time::advance(LONGEST).await;
        assert_eq!(tried(&pause, None).await, 300, "it goes on");
        assert_eq!(tried(&pause, Some(StoreError::Unavailable(None))).await, 14, "and rests anew");
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_wrong_with_a_row_holds_up_no_other() {
        let fault = StoreError::fault(std::io::Error::other("a row"));
        assert_eq!(tried(&Pause::default(), Some(fault)).await, 300);
    }
}
