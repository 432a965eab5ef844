//! Follows the feed: keeps the set in memory up to date and tells caches what to forget.

use std::sync::Arc;
use std::time::Instant;

use parking_lot::Mutex;
use sluice_commit::StoreError;
use sluice_primitives::{Clock, Lifetime};

use super::feed::{Change, Feed, FeedPosition};
use super::set::RevocationSet;

/// A node that has not heard the feed for so long may hold revoked tokens for good.
const TOO_OLD: Lifetime = Lifetime::secs(10);

/// Reads the feed into the set. A node is ready only after its first [`FeedFollower::catch_up`].
pub struct FeedFollower {
    feed: Arc<dyn Feed>,
    set: Arc<RevocationSet>,
    clock: Arc<dyn Clock>,
    position: Mutex<FeedPosition>,
    /// By the monotonic clock: how old knowledge is does not change when the time of day is set.
    heard_at: Mutex<Option<Instant>>,
}

impl FeedFollower {
    /// A follower that has heard nothing yet.
    pub fn new(feed: Arc<dyn Feed>, set: Arc<RevocationSet>, clock: Arc<dyn Clock>) -> Self {
        Self { feed, set, clock, position: Mutex::default(), heard_at: Mutex::default() }
    }

    /// Applies what is new; the changes that caches must hear of. One task at a time calls this.
    pub async fn catch_up(&self) -> Result<Vec<Change>, StoreError> {
        let asked_at = Instant::now();
        let from = self.position.lock().clone();
        let batch = self.feed.read(&from).await?;
        for marker in &batch.markers {
            self.set.apply(marker);
        }
        *self.position.lock() = batch.position;
        self.set.forget_expired(self.clock.now());
        *self.heard_at.lock() = Some(asked_at);
        Ok(batch.changes)
    }

    /// Waits until something may be new.
    pub async fn wait(&self) {
        self.feed.wait().await;
    }

    /// How long ago the feed was heard; without end if never.
    pub fn age(&self) -> Lifetime {
        (*self.heard_at.lock()).map_or(Lifetime::FOREVER, |heard_at| heard_at.elapsed().into())
    }

    /// Whether revocations may have been missed: the feed was not heard for 10 s.
    pub fn is_stale(&self) -> bool {
        self.age() > TOO_OLD
    }
}
