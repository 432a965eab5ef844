//! Follows the feed: keeps the set in memory up to date and tells caches what to forget.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rustix::time::{ClockId, clock_gettime};
use sluice_commit::StoreError;
use sluice_primitives::{Clock, Lifetime, Timestamp};
use tokio::sync::watch;

use super::feed::{Change, Feed, FeedBatch, FeedPosition};
use super::set::RevocationSet;

/// A node that has not heard the feed for so long may hold revoked tokens for good.
const TOO_OLD: Lifetime = Lifetime::secs(10);
/// Tells how long the machine is up: nobody sets it, and it goes on while the machine is suspended.
#[cfg(target_os = "linux")]
const UPTIME: ClockId = ClockId::Boottime;
/// The same where there is no such clock: it stands still with the machine.
#[cfg(not(target_os = "linux"))]
const UPTIME: ClockId = ClockId::Monotonic;
/// Of a time: there is none.
const NEVER: i64 = i64::MIN;

/// Tells the milliseconds since a moment that stays the same.
type Uptime = Box<dyn Fn() -> i64 + Send + Sync>;

fn uptime() -> i64 {
    let up = clock_gettime(UPTIME);
    up.tv_sec.saturating_mul(1_000).saturating_add(up.tv_nsec / 1_000_000)
}

/// Why a node does not say that a token holds.
#[derive(Debug, thiserror::Error)]
enum Stale {
    #[error("revocations were not heard yet")]
    Unheard,
    #[error("revocations were last heard {0} s ago, because the feed could not be read")]
    Since(i64),
}

/// What was read at once, beside what it told.
struct Page {
    is_new: bool,
    age: Lifetime,
    more: bool,
}

/// Reads the feed into the set. A node is ready only after its first [`FeedFollower::catch_up`].
pub struct FeedFollower {
    feed: Arc<dyn Feed>,
    set: Arc<RevocationSet>,
    clock: Arc<dyn Clock>,
    position: Mutex<FeedPosition>,
    /// Changes that were read, and nobody has been told of: a later page could not be read.
    untold: Mutex<Vec<Change>>,
    /// How many times the store had come to another server when it was read last.
    moves: AtomicU64,
    /// Nobody has been told of the last time yet.
    has_moved: AtomicBool,
    uptime: Uptime,
    /// When the feed was heard by [`Self::uptime`]; [`NEVER`] if never. Read about each request.
    heard_at: AtomicI64,
    /// The same by the time of day, in milliseconds.
    heard_at_day: AtomicI64,
    /// Counts the times that something new was heard.
    advanced: watch::Sender<u64>,
}

impl FeedFollower {
    /// A follower that has heard nothing yet.
    pub fn new(feed: Arc<dyn Feed>, set: Arc<RevocationSet>, clock: Arc<dyn Clock>) -> Self {
        Self::by(Box::new(uptime), feed, set, clock)
    }

    fn by(uptime: Uptime, feed: Arc<dyn Feed>, set: Arc<RevocationSet>, clock: Arc<dyn Clock>) -> Self {
        let (heard_at, heard_at_day) = (AtomicI64::new(NEVER), AtomicI64::new(NEVER));
        let (position, untold, advanced) = (Mutex::default(), Mutex::default(), watch::Sender::default());
        let (moves, has_moved) = (AtomicU64::new(0), AtomicBool::new(false));
        Self {
            feed,
            set,
            clock,
            position,
            untold,
            moves,
            has_moved,
            uptime,
            heard_at,
            heard_at_day,
            advanced,
        }
    }

    /// Applies what is new, page by page; the changes that caches must hear of. The first time nothing is told of clients: whoever has asked the
    /// store for some before forgets all of them. One task at a time calls this. What a page told is kept if a
    /// later one cannot be read: the next call goes on behind it.
    pub async fn catch_up(&self) -> Result<Vec<Change>, StoreError> {
        loop {
            let (asked_at, asked_at_day) = ((self.uptime)(), self.clock.now());
            let page = self.read_page().await?;
            // Only who has read to the end has heard all that there was when it asked.
            if !page.more {
                self.set.forget_some_expired(self.clock.now(), Instant::now());
                self.note_heard(asked_at, asked_at_day, page.age);
            }
            // Of each page: the next may fail.
            if page.is_new {
                self.advanced.send_modify(|times| *times += 1);
            }
            if !page.more {
                break;
            }
        }
        Ok(std::mem::take(&mut *self.untold.lock()))
    }

    /// Whether the store has come to another server since this was asked last: what was read from the former may be gone, and nobody tells of
    /// that.
    pub fn has_moved(&self) -> bool {
        self.has_moved.swap(false, Ordering::AcqRel)
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

    /// How long ago the feed was heard at most; without end if never. By the clock that tells of more: that of the machine stands still
    /// while this lies about as a snapshot; the time of day may be set back.
    pub fn age(&self) -> Lifetime {
        self.age_at(self.clock.now())
    }

    /// The same for who has just read the time of day.
    pub fn age_at(&self, now: Timestamp) -> Lifetime {
        let heard_at_day = self.heard_at_day.load(Ordering::Acquire);
        self.age_by_uptime().max(now.since(Timestamp::from_millis(heard_at_day)))
    }

    /// Whether revocations may have been missed: the feed was not heard for 10 s. Those count in which the machine was suspended; a time of
    /// day that is set makes nobody stale.
    pub fn is_stale(&self) -> bool {
        self.age_by_uptime() > TOO_OLD
    }

    /// Refuses where revocations may have been missed.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`], with how long ago they were heard.
    pub fn heard_lately(&self) -> Result<(), StoreError> {
        if !self.is_stale() {
            return Ok(());
        }
        let age = self.age();
        let stale = if age.is_forever() { Stale::Unheard } else { Stale::Since(age.as_secs()) };
        Err(StoreError::unavailable(stale))
    }

    /// Reads on, and applies what it reads.
    async fn read_page(&self) -> Result<Page, StoreError> {
        let from = self.position.lock().clone();
        let FeedBatch { markers, changes, position, age, more, moves } = self.feed.read(&from).await?;
        if self.moves.swap(moves, Ordering::AcqRel) != moves {
            self.has_moved.store(true, Ordering::Release);
        }
        for marker in &markers {
            self.set.apply(marker);
        }
        self.note_changes(changes);
        let is_new = position != from;
        *self.position.lock() = position;
        Ok(Page { is_new, age, more: more && is_new })
    }

    /// Who has heard nothing so far knows no client yet: of a day of changes, which may be millions, what counts is which keys are new.
    fn note_changes(&self, changes: Vec<Change>) {
        let is_first = self.heard_at.load(Ordering::Acquire) == NEVER;
        let mut untold = self.untold.lock();
        for change in changes {
            let is_known = is_first && (matches!(change, Change::Client(_)) || untold.contains(&change));
            if !is_known {
                untold.push(change);
            }
        }
    }

    fn note_heard(&self, asked_at: i64, asked_at_day: Timestamp, age: Lifetime) {
        self.heard_at_day.store((asked_at_day - age).as_millis(), Ordering::Release);
        self.heard_at.store(asked_at.saturating_sub(age.as_millis()), Ordering::Release);
    }

    /// How long ago the feed was heard, whatever became of the time of day.
    fn age_by_uptime(&self) -> Lifetime {
        let heard_at = self.heard_at.load(Ordering::Acquire);
        if heard_at == NEVER {
            return Lifetime::FOREVER;
        }
        let age = (self.uptime)().saturating_sub(heard_at);
        Duration::from_millis(u64::try_from(age).unwrap_or(0)).into()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::atomic::AtomicU32;

    use async_trait::async_trait;
    use sluice_commit::chain;
    use sluice_primitives::{GrantId, ManualClock, NodeId};

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
                0 => vec![marker(GRANT)],
                _ => Vec::new(),
            };
            Ok(FeedBatch { markers, position: from.clone(), ..FeedBatch::default() })
        }

        async fn wait(&self) {}
    }

    /// A feed of three pages; the second cannot be read at first.
    #[derive(Default)]
    struct Pages(AtomicU32);

    #[async_trait]
    impl Feed for Pages {
        async fn read(&self, from: &FeedPosition) -> Result<FeedBatch, StoreError> {
            if self.0.fetch_add(1, Ordering::SeqCst) == 1 {
                return Err(StoreError::Busy);
            }
            let node = NodeId::from_bytes([1; 16]);
            let page = from.revocations.get(&node).copied().unwrap_or_default() + 1;
            Ok(FeedBatch {
                markers: vec![marker(grant_of(page))],
                changes: vec![Change::Keys(page.to_string())],
                position: FeedPosition {
                    revocations: BTreeMap::from([(node, page)]),
                    ..FeedPosition::default()
                },
                more: page < 3,
                ..FeedBatch::default()
            })
        }

        async fn wait(&self) {}
    }

    fn grant_of(page: i64) -> GrantId {
        GrantId::from_bytes([u8::try_from(page).unwrap(); 16])
    }

    fn marker(grant: GrantId) -> Marker {
        Marker { target: Target::Grant(grant), at: START, expires_at: START + Lifetime::hours(1) }
    }

    fn following(feed: Arc<dyn Feed>) -> (FeedFollower, Arc<RevocationSet>, Arc<ManualClock>) {
        let (set, clock) = (Arc::new(RevocationSet::default()), Arc::new(ManualClock::at(START)));
        (FeedFollower::new(feed, set.clone(), clock.clone()), set, clock)
    }

    fn follower() -> (FeedFollower, Arc<RevocationSet>, Arc<ManualClock>) {
        following(Arc::new(Once::default()))
    }

    #[tokio::test]
    async fn a_feed_of_many_pages_is_heard_to_its_end_and_no_page_twice() {
        let (follower, set, _) = following(Arc::new(Pages::default()));
        assert!(follower.catch_up().await.is_err());
        assert!(set.holds_grant(grant_of(1)) && !set.holds_grant(grant_of(2)));
        assert!(follower.age().is_forever(), "who has not read to the end does not know what was revoked");
        let changes = follower.catch_up().await.unwrap();
        assert_eq!(changes, ["1", "2", "3"].map(|set| Change::Keys(set.to_owned())));
        assert!(set.holds_grant(grant_of(2)) && set.holds_grant(grant_of(3)));
        assert!(follower.age() < Lifetime::secs(10));
    }

    #[tokio::test]
    async fn who_refuses_for_want_of_the_feed_says_so() {
        let (follower, ..) = follower();
        let refusal = follower.heard_lately().unwrap_err();
        assert!(chain(&refusal).ends_with(": revocations were not heard yet"), "{}", chain(&refusal));
        follower.catch_up().await.unwrap();
        follower.heard_lately().unwrap();
        let since = chain(&StoreError::unavailable(Stale::Since(12)));
        assert!(since.contains("last heard 12 s ago"), "{since}");
    }

    #[tokio::test]
    async fn a_machine_that_was_suspended_knows_that_its_knowledge_is_old() {
        let (follower, _, clock) = follower();
        assert!(follower.age().is_forever());
        follower.catch_up().await.unwrap();
        assert!(follower.age() < Lifetime::secs(10));
        clock.advance(Lifetime::hours(8));
        assert!(follower.age() >= Lifetime::hours(8), "the monotonic clock stood still");
        assert!(follower.age_at(START + Lifetime::hours(9)) >= Lifetime::hours(9));
        assert!(follower.age_at(START) < Lifetime::secs(10), "as it was then");
        follower.catch_up().await.unwrap();
        assert!(follower.age() < Lifetime::secs(10));
        clock.set(START);
        assert!(follower.age() < Lifetime::secs(10), "a clock that is set back makes nothing older");
    }

    #[tokio::test]
    async fn who_was_suspended_guesses_nothing_until_the_feed_was_heard_again() {
        let up = Arc::new(AtomicI64::new(5_000));
        let uptime = {
            let up = Arc::clone(&up);
            Box::new(move || up.load(Ordering::SeqCst))
        };
        let clock = Arc::new(ManualClock::at(START));
        let follower = FeedFollower::by(uptime, Arc::new(Once::default()), Arc::default(), clock);
        follower.catch_up().await.unwrap();
        follower.heard_lately().unwrap();
        up.fetch_add(3_600_000, Ordering::SeqCst);
        assert!(follower.heard_lately().is_err());
        follower.catch_up().await.unwrap();
        follower.heard_lately().unwrap();
    }

    #[test]
    fn the_clock_of_the_machine_goes_on() {
        let before = uptime();
        assert!(before > 0 && uptime() >= before);
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
