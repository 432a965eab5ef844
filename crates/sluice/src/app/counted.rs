//! What waits to be hardened, for a process that shows how old its count of it is: while the database is away, the last one stays.

use std::sync::Arc;

use async_trait::async_trait;
use sluice_commit::StoreError;
use sluice_identity::hardening::{Backlog, HardenedCredential, HardeningRepository, LeasedCredential};
use sluice_primitives::{IdentityId, Lifetime, Timestamp};

use super::last_time::LastTime;

/// The queue of a store, and when it was counted last.
pub(super) struct Counted {
    pub(super) queue: Arc<dyn HardeningRepository>,
    pub(super) counted: Arc<LastTime>,
}

#[async_trait]
impl HardeningRepository for Counted {
    async fn lease(
        &self,
        now: Timestamp,
        lease: Lifetime,
        limit: u32,
    ) -> Result<Vec<LeasedCredential>, StoreError> {
        self.queue.lease(now, lease, limit).await
    }

    async fn harden(&self, hardened: &[HardenedCredential]) -> Result<u64, StoreError> {
        self.queue.harden(hardened).await
    }

    async fn give_up(&self, id: IdentityId, old: &str) -> Result<(), StoreError> {
        self.queue.give_up(id, old).await
    }

    async fn backlog(&self) -> Result<Backlog, StoreError> {
        let backlog = self.queue.backlog().await?;
        self.counted.note();
        Ok(backlog)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    /// A queue that can be counted, or not.
    #[derive(Default)]
    struct Queue(AtomicBool);

    #[async_trait]
    impl HardeningRepository for Queue {
        async fn lease(
            &self,
            _: Timestamp,
            _: Lifetime,
            _: u32,
        ) -> Result<Vec<LeasedCredential>, StoreError> {
            Ok(Vec::new())
        }

        async fn harden(&self, _: &[HardenedCredential]) -> Result<u64, StoreError> {
            Ok(0)
        }

        async fn give_up(&self, _: IdentityId, _: &str) -> Result<(), StoreError> {
            Ok(())
        }

        async fn backlog(&self) -> Result<Backlog, StoreError> {
            let answers = self.0.load(Ordering::Relaxed);
            answers.then(Backlog::default).ok_or(StoreError::Unavailable(None))
        }
    }

    #[tokio::test]
    async fn a_count_is_of_when_the_database_answered_and_not_of_when_it_was_asked() {
        let (queue, counted) = (Arc::new(Queue::default()), Arc::new(LastTime::default()));
        let watched = Counted { queue: queue.clone(), counted: counted.clone() };
        watched.backlog().await.unwrap_err();
        watched.lease(Timestamp::from_secs(1), Lifetime::secs(1), 1).await.unwrap();
        assert!(counted.age_seconds().is_infinite());
        queue.0.store(true, Ordering::Relaxed);
        watched.backlog().await.unwrap();
        assert!(counted.age_seconds() < 60.0);
    }
}
