//! Retry: trying again within a deadline, with growing pauses.

use std::time::Duration;

use sluice_commit::StoreError;
use tokio::time::{Instant, sleep};

use crate::error::{Failure, Nature};

const FIRST_PAUSE: Duration = Duration::from_millis(5);
const LONGEST_PAUSE: Duration = Duration::from_millis(250);

/// The attempts at one thing. What is tried must be harmless to repeat.
pub(crate) struct Tries {
    deadline: Instant,
    pause: Duration,
    is_start: bool,
    /// How many more times a server may refuse to write.
    refusals_left: u32,
}

impl Tries {
    /// Attempts until `patience` has passed.
    pub(crate) fn within(patience: Duration) -> Self {
        let (deadline, refusals_left) = (Instant::now() + patience, u32::MAX);
        Self { deadline, pause: FIRST_PAUSE, is_start: false, refusals_left }
    }

    /// The same of what nobody waits for. A server that refuses to write is asked once more, over another connection, which may lead to one that
    /// writes; then it is left alone until the next time: each attempt leaves an error in its log. A standby is told nothing that it could refuse,
    /// and is waited for like one that is away.
    pub(crate) fn that_nobody_waits_for(patience: Duration) -> Self {
        Self { refusals_left: 1, ..Self::within(patience) }
    }

    /// The same before anything was answered: who is turned away then has the wrong password or the wrong database, and is told at once,
    /// unless another server of the address is away: that may be the one to wait for.
    pub(crate) fn at_the_start(patience: Duration) -> Self {
        Self { is_start: true, ..Self::within(patience) }
    }

    /// When the last attempt may begin.
    pub(crate) const fn deadline(&self) -> Instant {
        self.deadline
    }

    /// Returns when the next attempt is due.
    ///
    /// # Errors
    /// What failed, if trying again does not help or it is too late.
    pub(crate) async fn again(&mut self, failure: Failure) -> Result<(), StoreError> {
        if self.is_start && failure.is_mistake() {
            return Err(StoreError::refused(failure));
        }
        let helps = matches!(failure.nature(), Nature::Lost | Nature::Busy);
        if !helps || self.is_over() || self.is_refused_for_good(&failure) {
            return Err(failure.into_store_error());
        }
        self.rest().await;
        Ok(())
    }

    fn is_over(&self) -> bool {
        Instant::now() + self.pause >= self.deadline
    }

    /// Whether this is said once too often.
    fn is_refused_for_good(&mut self, failure: &Failure) -> bool {
        if !failure.is_refusal_to_write() {
            return false;
        }
        let left = self.refusals_left.checked_sub(1);
        self.refusals_left = left.unwrap_or_default();
        left.is_none()
    }

    async fn rest(&mut self) {
        sleep(self.pause).await;
        self.pause = (self.pause * 2).min(LONGEST_PAUSE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether an attempt that finds a standby is tried again.
    async fn goes_on(tries: &mut Tries) -> bool {
        tries.again(Failure::Standby).await.is_ok()
    }

    /// All who ask within a moment share the failure of one attempt to connect.
    #[tokio::test(start_paused = true)]
    async fn what_nobody_waits_for_waits_for_a_standby_as_long_as_anything() {
        let (began, patience) = (Instant::now(), Duration::from_secs(5));
        let mut tries = Tries::that_nobody_waits_for(patience);
        while goes_on(&mut tries).await {}
        let waited = began.elapsed();
        assert!(waited <= patience && waited + LONGEST_PAUSE >= patience, "{waited:?}");
    }
}
