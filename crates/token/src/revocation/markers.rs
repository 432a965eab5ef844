//! Markers of one kind: a hash table in parts, so that whoever reads one waits for nobody who writes another.

use std::hash::BuildHasher;
use std::sync::atomic::{AtomicUsize, Ordering};

use hashbrown::{DefaultHashBuilder, HashTable};
use parking_lot::RwLock;
use sluice_primitives::{Lifetime, Timestamp};

/// Parts of the table.
pub(super) const PARTS: usize = 128;

/// 32 bytes, and one of the table.
struct Entry {
    /// What stands for the target.
    key: u128,
    at: Timestamp,
    needed: Needed,
}

/// Until when a marker is needed, by both clocks, in whole seconds rounded up: the time of day, since 1970, and the time that this
/// process has run. It is forgotten when both have come: a time of day that jumps ahead, and back again, takes nothing away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Needed {
    until: u32,
    run: u32,
}

impl Needed {
    /// Until `expires_at`; and for `lifetime` from when this process has run for `run`.
    pub(super) fn of(expires_at: Timestamp, run: Lifetime, lifetime: Lifetime) -> Self {
        let end = (Timestamp::from_millis(0) + run) + lifetime;
        Self { until: whole_seconds(expires_at), run: whole_seconds(end) }
    }

    /// By the clocks at a moment.
    pub(super) fn at(now: Timestamp, run: Lifetime) -> Self {
        let whole = |seconds: i64| u32::try_from(seconds.max(0)).unwrap_or(u32::MAX - 1);
        Self { until: whole(now.as_secs()), run: whole(run.as_secs()) }
    }

    /// Whether it is needed at this moment.
    const fn is_at(self, moment: Self) -> bool {
        self.until > moment.until || self.run > moment.run
    }

    fn max(self, other: Self) -> Self {
        Self { until: self.until.max(other.until), run: self.run.max(other.run) }
    }

    fn min(self, other: Self) -> Self {
        Self { until: self.until.min(other.until), run: self.run.min(other.run) }
    }
}

/// What is too late to be told is never.
fn whole_seconds(moment: Timestamp) -> u32 {
    let seconds = moment.as_millis().saturating_add(999).div_euclid(1000);
    u32::try_from(seconds.max(0)).unwrap_or(u32::MAX)
}

#[derive(Default)]
struct Part {
    entries: HashTable<Entry>,
    /// Nothing is to be forgotten before this.
    earliest: Option<Needed>,
}

/// Markers of one kind.
#[derive(Default)]
pub(super) struct Markers {
    /// Of all parts, so that a kind that has none costs nothing.
    count: AtomicUsize,
    hasher: DefaultHashBuilder,
    parts: Parts,
}

struct Parts(Box<[RwLock<Part>]>);

impl Default for Parts {
    fn default() -> Self {
        Self(std::iter::repeat_with(RwLock::default).take(PARTS).collect())
    }
}

impl Markers {
    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.count.load(Ordering::Acquire)
    }

    /// When the target of `key` was revoked, if it was. The key is made only if there are markers at all.
    pub(super) fn at(&self, key: impl FnOnce() -> u128) -> Option<Timestamp> {
        if self.len() == 0 {
            return None;
        }
        let key = key();
        let hash = self.hasher.hash_one(key);
        let part = self.part(hash)?.read();
        part.entries.find(hash, |entry| entry.key == key).map(|entry| entry.at)
    }

    /// Adds a marker; of two for one target, the later times hold. Whether it is the first one for its target.
    pub(super) fn apply(&self, key: u128, at: Timestamp, needed: Needed) -> bool {
        let hash = self.hasher.hash_one(key);
        let Some(part) = self.part(hash) else { return false };
        let mut part = part.write();
        if let Some(entry) = part.entries.find_mut(hash, |entry| entry.key == key) {
            entry.at = entry.at.max(at);
            entry.needed = entry.needed.max(needed);
            return false;
        }
        part.earliest = Some(part.earliest.map_or(needed, |earliest| earliest.min(needed)));
        part.entries.insert_unique(hash, Entry { key, at, needed }, |entry| self.hasher.hash_one(entry.key));
        self.count.fetch_add(1, Ordering::Release);
        true
    }

    /// Forgets what is not needed any more in one part; how many it was.
    pub(super) fn forget_expired_of(&self, part: usize, now: Needed) -> usize {
        let Some(part) = self.parts.0.get(part).filter(|_| self.len() > 0) else { return 0 };
        if part.read().earliest.is_none_or(|earliest| earliest.is_at(now)) {
            return 0;
        }
        let mut part = part.write();
        let before = part.entries.len();
        let mut earliest: Option<Needed> = None;
        part.entries.retain(|entry| {
            let stays = entry.needed.is_at(now);
            if stays {
                earliest = Some(earliest.map_or(entry.needed, |other| other.min(entry.needed)));
            }
            stays
        });
        part.earliest = earliest;
        let left = part.entries.len();
        if left < part.entries.capacity() / 4 {
            part.entries.shrink_to(left, |entry| self.hasher.hash_one(entry.key));
        }
        self.count.fetch_sub(before - left, Ordering::Release);
        before - left
    }

    /// The memory that they take.
    pub(super) fn bytes(&self) -> usize {
        self.parts
            .0
            .iter()
            .map(|part| size_of::<RwLock<Part>>() + part.read().entries.allocation_size())
            .sum()
    }

    fn part(&self, hash: u64) -> Option<&RwLock<Part>> {
        // Bits that a table looks at neither for the place nor for the tag of an entry.
        let place = (hash >> 40) % (PARTS as u64);
        self.parts.0.get(usize::try_from(place).ok()?)
    }
}
