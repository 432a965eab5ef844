//! Follows the feed: keeps the set in memory up to date and tells caches what to forget.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use parking_lot::Mutex;
use sluice_commit::StoreError;
use sluice_primitives::{Clock, Lifetime, Timestamp};

use super::feed::{Change, Feed, FeedPosition};
use super::set::RevocationSet;

/// Reads the feed into the set. A node is ready only after its first [`FeedFollower::catch_up`].
pub struct FeedFollower {
    feed: Arc<dyn Feed>,
    set: Arc<RevocationSet>,
    clock: Arc<dyn Clock>,
    position: Mutex<FeedPosition>,
    heard_at: AtomicI64,
}

impl FeedFollower {
    /// A follower that has heard nothing yet.
    pub fn new(feed: Arc<dyn Feed>, set: Arc<RevocationSet>, clock: Arc<dyn Clock>) -> Self {
        Self { feed, set, clock, position: Mutex::default(), heard_at: AtomicI64::new(0) }
    }

    /// Applies what is new; the changes that caches must hear of. One task at a time calls this.
    pub async fn catch_up(&self) -> Result<Vec<Change>, StoreError> {
        let asked_at = self.clock.now();
        let from = self.position.lock().clone();
        let batch = self.feed.read(&from).await?;
        for marker in &batch.markers {
            self.set.apply(marker);
        }
        *self.position.lock() = batch.position;
        self.set.forget_expired(asked_at);
        self.heard_at.store(asked_at.as_millis(), Ordering::Release);
        Ok(batch.changes)
    }

    /// Waits until something may be new.
    pub async fn wait(&self) {
        self.feed.wait().await;
    }

    /// How long ago the feed was heard.
    pub fn age(&self) -> Lifetime {
        self.clock.now().since(Timestamp::from_millis(self.heard_at.load(Ordering::Acquire)))
    }
}
