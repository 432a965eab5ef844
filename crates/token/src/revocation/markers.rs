//! Markers of one kind: a hash table in parts, so that whoever reads one waits for nobody who writes another.

use std::hash::BuildHasher;
use std::sync::atomic::{AtomicUsize, Ordering};

use hashbrown::{DefaultHashBuilder, HashTable};
use parking_lot::RwLock;
use sluice_primitives::Timestamp;

/// Parts of the table.
pub(super) const PARTS: usize = 128;

/// 32 bytes, and one of the table.
struct Entry {
    /// What stands for the target.
    key: u128,
    at: Timestamp,
    expires_at: Timestamp,
}

#[derive(Default)]
struct Part {
    entries: HashTable<Entry>,
    /// Nothing expires before this.
    earliest: Option<Timestamp>,
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
    pub(super) fn apply(&self, key: u128, at: Timestamp, expires_at: Timestamp) -> bool {
        let hash = self.hasher.hash_one(key);
        let Some(part) = self.part(hash) else { return false };
        let mut part = part.write();
        if let Some(entry) = part.entries.find_mut(hash, |entry| entry.key == key) {
            entry.at = entry.at.max(at);
            entry.expires_at = entry.expires_at.max(expires_at);
            return false;
        }
        part.earliest = Some(part.earliest.map_or(expires_at, |earliest| earliest.min(expires_at)));
        part.entries
            .insert_unique(hash, Entry { key, at, expires_at }, |entry| self.hasher.hash_one(entry.key));
        self.count.fetch_add(1, Ordering::Release);
        true
    }

    /// Forgets what has expired in one part; how many it was.
    pub(super) fn forget_expired_of(&self, part: usize, now: Timestamp) -> usize {
        let Some(part) = self.parts.0.get(part).filter(|_| self.len() > 0) else { return 0 };
        if part.read().earliest.is_none_or(|earliest| earliest > now) {
            return 0;
        }
        let mut part = part.write();
        let before = part.entries.len();
        let mut earliest = None;
        part.entries.retain(|entry| {
            let stays = entry.expires_at > now;
            if stays {
                earliest =
                    Some(earliest.map_or(entry.expires_at, |other: Timestamp| other.min(entry.expires_at)));
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
