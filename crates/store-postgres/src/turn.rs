//! Turn: one at a time. Who waits for it is counted, and does not wait for ever.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use sluice_commit::StoreError;
use thiserror::Error;
use tokio::sync::{Mutex, OwnedMutexGuard};
use tokio::time::{Instant, timeout_at};

/// Who had the turn before had it all the time.
#[derive(Debug, Error)]
#[error("those before it were not answered in time")]
pub(crate) struct NoTurn;

/// What is done by one caller at a time.
#[derive(Clone)]
pub(crate) struct Turn {
    lock: Arc<Mutex<()>>,
    waiting: Arc<AtomicUsize>,
    depth: usize,
}

impl Turn {
    /// At most `depth` wait.
    pub(crate) fn new(depth: usize) -> Self {
        Self { lock: Arc::default(), waiting: Arc::default(), depth }
    }

    /// The turn, until what is returned is dropped.
    ///
    /// # Errors
    /// [`StoreError::Busy`] if too many wait; [`StoreError::Unavailable`] if it has not come by `deadline`.
    pub(crate) async fn take(&self, deadline: Instant) -> Result<OwnedMutexGuard<()>, StoreError> {
        let _place = Place::take(&self.waiting, self.depth)?;
        let turn = timeout_at(deadline, self.lock.clone().lock_owned()).await;
        turn.map_err(|_| StoreError::unavailable(NoTurn))
    }
}

/// A place among those who wait; given back when dropped.
pub(crate) struct Place(Arc<AtomicUsize>);

impl Place {
    /// One of `depth` places, of which `waiting` are taken.
    ///
    /// # Errors
    /// [`StoreError::Busy`] if all are.
    pub(crate) fn take(waiting: &Arc<AtomicUsize>, depth: usize) -> Result<Self, StoreError> {
        let place = Self(waiting.clone());
        if waiting.fetch_add(1, Ordering::AcqRel) >= depth { Err(StoreError::Busy) } else { Ok(place) }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn no_more_wait_than_may_and_none_for_ever() {
        let turn = Turn::new(1);
        let deadline = Instant::now() + Duration::from_secs(5);
        let held = turn.take(deadline).await.unwrap();
        let (waited, turned_away) = tokio::join!(turn.take(deadline), turn.take(deadline));
        assert!(matches!(waited, Err(StoreError::Unavailable(Some(_)))), "with the reason: {waited:?}");
        assert!(matches!(turned_away, Err(StoreError::Busy)));
        drop(held);
        assert!(turn.take(Instant::now() + Duration::from_secs(5)).await.is_ok());
    }
}
