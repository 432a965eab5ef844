//! Follows the feed: keeps the set in memory up to date and tells caches what to forget.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use sluice_commit::StoreError;
use sluice_primitives::{Clock, Lifetime};
use tokio::sync::watch;

use super::feed::{Change, Feed, FeedPosition};
use super::set::RevocationSet;

/// A node that has not heard the feed for so long may hold revoked tokens for good.
const TOO_OLD: Lifetime = Lifetime::secs(10);
/// Of a time: there is none.
const NEVER: i64 = i64::MIN;

/// Reads the feed into the set. A node is ready only after its first [`FeedFollower::catch_up`].
pub struct FeedFollower {
    feed: Arc<dyn Feed>,
    set: Arc<RevocationSet>,
    clock: Arc<dyn Clock>,
    position: Mutex<FeedPosition>,
    /// By the monotonic clock: how old knowledge is does not change when the time of day is set.
    began_at: Instant,
    /// When the feed was heard, in milliseconds after the beginning; [`NEVER`] if never. Read about each request.
    heard_at: AtomicI64,
    /// Counts the times that something new was heard.
    advanced: watch::Sender<u64>,
}

impl FeedFollower {
    /// A follower that has heard nothing yet.
    pub fn new(feed: Arc<dyn Feed>, set: Arc<RevocationSet>, clock: Arc<dyn Clock>) -> Self {
        let (began_at, heard_at) = (Instant::now(), AtomicI64::new(NEVER));
        let (position, advanced) = (Mutex::default(), watch::Sender::default());
        Self { feed, set, clock, position, began_at, heard_at, advanced }
    }

    /// Applies what is new; the changes that caches must hear of. One task at a time calls this.
    pub async fn catch_up(&self) -> Result<Vec<Change>, StoreError> {
        let asked_at = Instant::now();
        let from = self.position.lock().clone();
        let batch = self.feed.read(&from).await?;
        for marker in &batch.markers {
            self.set.apply(marker);
        }
        let is_new = batch.position != from;
        *self.position.lock() = batch.position;
        self.set.forget_some_expired(self.clock.now());
        let asked_at = Lifetime::from(asked_at.saturating_duration_since(self.began_at));
        self.heard_at.store(asked_at.as_millis().saturating_sub(batch.age.as_millis()), Ordering::Release);
        if is_new {
            self.advanced.send_modify(|times| *times += 1);
        }
        Ok(batch.changes)
    }

    /// How far it has heard.
    pub fn position(&self) -> FeedPosition {
        self.position.lock().clone()
    }

    /// Tells whenever something new was heard.
    pub fn subscribe(&self) -> watch::Receiver<u64> {
        self.advanced.subscribe()
    }

    /// Waits until something may be new.
    pub async fn wait(&self) {
        self.feed.wait().await;
    }

    /// How long ago the feed was heard; without end if never.
    pub fn age(&self) -> Lifetime {
        let heard_at = self.heard_at.load(Ordering::Acquire);
        if heard_at == NEVER {
            return Lifetime::FOREVER;
        }
        let age = Lifetime::from(self.began_at.elapsed()).as_millis().saturating_sub(heard_at);
        Duration::from_millis(u64::try_from(age).unwrap_or(0)).into()
    }

    /// Whether revocations may have been missed: the feed was not heard for 10 s.
    pub fn is_stale(&self) -> bool {
        self.age() > TOO_OLD
    }
}
