//! Follows the feed: keeps the set in memory up to date and tells caches what to forget.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use sluice_commit::StoreError;
use sluice_primitives::{Clock, Lifetime, Timestamp};
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
    began_at: Instant,
    /// When the feed was heard by the monotonic clock, in milliseconds after the beginning; [`NEVER`] if never. Read about each request.
    heard_at: AtomicI64,
    /// The same by the time of day, in milliseconds.
    heard_at_day: AtomicI64,
    /// Counts the times that something new was heard.
    advanced: watch::Sender<u64>,
}

impl FeedFollower {
    /// A follower that has heard nothing yet.
    pub fn new(feed: Arc<dyn Feed>, set: Arc<RevocationSet>, clock: Arc<dyn Clock>) -> Self {
        let (began_at, heard_at, heard_at_day) =
            (Instant::now(), AtomicI64::new(NEVER), AtomicI64::new(NEVER));
        let (position, advanced) = (Mutex::default(), watch::Sender::default());
        Self { feed, set, clock, position, began_at, heard_at, heard_at_day, advanced }
    }

    /// Applies what is new; the changes that caches must hear of. One task at a time calls this.
    pub async fn catch_up(&self) -> Result<Vec<Change>, StoreError> {
        let (asked_at, asked_at_day) = (Instant::now(), self.clock.now());
        let from = self.position.lock().clone();
        let batch = self.feed.read(&from).await?;
        for marker in &batch.markers {
            self.set.apply(marker);
        }
        let is_new = batch.position != from;
        *self.position.lock() = batch.position;
        self.set.forget_some_expired(self.clock.now(), Instant::now());
        self.heard_at_day.store((asked_at_day - batch.age).as_millis(), Ordering::Release);
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

    /// How long ago the feed was heard at most; without end if never. By the clock that tells of more: the monotonic one stands
    /// still while the machine is suspended, or lies about as a snapshot; the time of day may be set back.
    pub fn age(&self) -> Lifetime {
        let heard_at_day = self.heard_at_day.load(Ordering::Acquire);
        self.running_age().max(self.clock.now().since(Timestamp::from_millis(heard_at_day)))
    }

    /// Whether revocations may have been missed: the feed was not heard for 10 s that this process ran.
    pub fn is_stale(&self) -> bool {
        self.running_age() > TOO_OLD
    }

    /// How long ago the feed was heard, while this process ran.
    fn running_age(&self) -> Lifetime {
        let heard_at = self.heard_at.load(Ordering::Acquire);
        if heard_at == NEVER {
            return Lifetime::FOREVER;
        }
        let age = Lifetime::from(self.began_at.elapsed()).as_millis().saturating_sub(heard_at);
        Duration::from_millis(u64::try_from(age).unwrap_or(0)).into()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU32;

    use async_trait::async_trait;
    use sluice_primitives::{GrantId, ManualClock};

    use super::super::feed::FeedBatch;
    use super::super::marker::{Marker, Target};
    use super::*;

    /// A feed that tells once of a grant that was revoked.
    #[derive(Default)]
    struct Once(AtomicU32);

    const GRANT: GrantId = GrantId::from_bytes([1; 16]);
    const START: Timestamp = Timestamp::from_secs(1_000_000);

    #[async_trait]
    impl Feed for Once {
        async fn read(&self, from: &FeedPosition) -> Result<FeedBatch, StoreError> {
            let markers = match self.0.fetch_add(1, Ordering::SeqCst) {
                0 => vec![Marker {
                    target: Target::Grant(GRANT),
                    at: START,
                    expires_at: START + Lifetime::hours(1),
                }],
                _ => Vec::new(),
            };
            Ok(FeedBatch { markers, position: from.clone(), ..FeedBatch::default() })
        }

        async fn wait(&self) {}
    }

    fn follower() -> (FeedFollower, Arc<RevocationSet>, Arc<ManualClock>) {
        let (set, clock) = (Arc::new(RevocationSet::default()), Arc::new(ManualClock::at(START)));
        (FeedFollower::new(Arc::new(Once::default()), set.clone(), clock.clone()), set, clock)
    }

    #[tokio::test]
    async fn a_machine_that_was_suspended_knows_that_its_knowledge_is_old() {
        let (follower, _, clock) = follower();
        assert!(follower.age().is_forever());
        follower.catch_up().await.unwrap();
        assert!(follower.age() < Lifetime::secs(10));
        clock.advance(Lifetime::hours(8));
        assert!(follower.age() >= Lifetime::hours(8), "the monotonic clock stood still");
        follower.catch_up().await.unwrap();
        assert!(follower.age() < Lifetime::secs(10));
        clock.set(START);
        assert!(follower.age() < Lifetime::secs(10), "a clock that is set back makes nothing older");
    }

    #[tokio::test]
    async fn a_clock_that_jumps_hours_ahead_and_back_makes_nobody_forget_what_was_revoked() {
        let (follower, set, clock) = follower();
        follower.catch_up().await.unwrap();
        assert!(set.holds_grant(GRANT));
        clock.advance(Lifetime::hours(5));
        for _ in 0..3 {
            follower.catch_up().await.unwrap();
        }
        clock.set(START);
        follower.catch_up().await.unwrap();
        assert!(set.holds_grant(GRANT), "its tokens have an hour yet");
    }
}
