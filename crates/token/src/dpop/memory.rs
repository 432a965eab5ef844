//! Proofs that this process has seen at resources, where a row for each request would cost more than a replay gains: the proof
//! names method, address and token, so that a replay asks again what was answered before.

use std::collections::{BTreeMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use sluice_primitives::{Lifetime, Timestamp};

use super::error::ProofError;
use super::verifier::Proven;

/// Into so many parts the time is divided for which a proof may be presented: what is too old is forgotten part by part.
const PARTS: i64 = 8;

/// So many shares keys are divided into.
const SHARES: usize = 256;

/// Seen proofs. Key: SHA-256 of key and `jti`. Bound: so many proofs as it is made for, 80 bytes each at worst, and half of them by one
/// key: who holds one token alone shuts nobody else out. Staleness: none, and no proof is forgotten while it may be presented: where
/// there is no room, the new one is refused. Nobody empties it.
#[derive(Debug)]
pub struct ProofMemory {
    /// How long a part is, in milliseconds.
    part: i64,
    /// A proof may be presented for no longer than this.
    span: Lifetime,
    capacity: usize,
    seen: Mutex<Seen>,
    turned_away: AtomicU64,
}

/// Proofs by the part of time in which they become too old.
#[derive(Debug, Default)]
struct Seen {
    parts: BTreeMap<i64, Part>,
    count: usize,
}

#[derive(Debug)]
struct Part {
    proofs: HashSet<[u8; 32]>,
    /// How many of them are of the keys of each share.
    of_share: Box<[u32; SHARES]>,
}

impl ProofMemory {
    /// An empty memory of at most `capacity` proofs that may be presented for no longer than `span`.
    pub fn new(span: Lifetime, capacity: usize) -> Self {
        let part = (span.as_millis() / PARTS).max(1);
        Self { part, span, capacity, seen: Mutex::default(), turned_away: AtomicU64::new(0) }
    }

    /// Remembers a proof.
    ///
    /// # Errors
    /// [`ProofError::Replayed`] if it was seen before, [`ProofError::NoRoom`] if there is no room for one more.
    pub fn add(&self, proof: &Proven, now: Timestamp) -> Result<(), ProofError> {
        let mut seen = self.seen.lock();
        seen.forget_before(self.part_of(now));
        if seen.contains(&proof.id) {
            return Err(ProofError::Replayed);
        }
        if seen.count >= self.capacity {
            // Of before the clock was set back: no other lasts for so long.
            seen.forget_behind(self.part_of(now + self.span));
        }
        if seen.count >= self.capacity || seen.of_share(share_of(proof)) >= self.capacity.div_ceil(2) {
            self.turned_away.fetch_add(1, Ordering::Relaxed);
            return Err(ProofError::NoRoom);
        }
        seen.keep(self.part_of(proof.expires_at), proof);
        Ok(())
    }

    /// Whether a proof was seen before. It is not remembered by this.
    pub fn has(&self, proof: &Proven) -> bool {
        self.seen.lock().contains(&proof.id)
    }

    /// How many proofs are remembered.
    pub fn remembered(&self) -> usize {
        self.seen.lock().count
    }

    /// How many proofs there was no room for.
    pub fn turned_away(&self) -> u64 {
        self.turned_away.load(Ordering::Relaxed)
    }

    fn part_of(&self, time: Timestamp) -> i64 {
        time.as_millis().div_euclid(self.part)
    }
}

impl Seen {
    fn contains(&self, proof: &[u8; 32]) -> bool {
        self.parts.values().any(|part| part.proofs.contains(proof))
    }

    /// How many proofs are remembered of the keys of a share.
    fn of_share(&self, share: u8) -> usize {
        let of_part = |part: &Part| part.of_share.get(usize::from(share)).map_or(0, |count| *count as usize);
        self.parts.values().map(of_part).sum()
    }

    /// Keeps a proof that is not there.
    fn keep(&mut self, part: i64, proof: &Proven) {
        let part = self.parts.entry(part).or_default();
        part.proofs.insert(proof.id);
        if let Some(count) = part.of_share.get_mut(usize::from(share_of(proof))) {
            *count += 1;
        }
        self.count += 1;
    }

    /// Forgets the parts before this one.
    fn forget_before(&mut self, first: i64) {
        while let Some(part) = self.parts.first_entry().filter(|part| *part.key() < first) {
            self.count -= part.remove().proofs.len();
        }
    }

    /// Forgets the parts behind this one.
    fn forget_behind(&mut self, last: i64) {
        while let Some(part) = self.parts.last_entry().filter(|part| *part.key() > last) {
            self.count -= part.remove().proofs.len();
        }
    }
}

impl Default for Part {
    fn default() -> Self {
        Self { proofs: HashSet::new(), of_share: Box::new([0; SHARES]) }
    }
}

/// The share of a key: it is a hash.
const fn share_of(proof: &Proven) -> u8 {
    proof.key[0]
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPAN: Lifetime = Lifetime::secs(80);

    fn at(secs: u64) -> Timestamp {
        Timestamp::from_secs(1_000_000 + i64::try_from(secs).unwrap())
    }

    /// A proof of this number that is too old from then on; each by another key than the last.
    fn proof(number: u64, expires_at: Timestamp) -> Proven {
        let mut id = [0; 32];
        id[..8].copy_from_slice(&number.to_be_bytes());
        Proven { key: [number.to_be_bytes()[7]; 32], id, expires_at }
    }

    #[test]
    fn a_proof_is_remembered_for_its_time_and_not_for_ever() {
        let memory = ProofMemory::new(SPAN, 100);
        let (one, two) = (proof(1, at(60)), proof(2, at(130)));
        assert!(!memory.has(&one));
        assert_eq!(memory.add(&one, at(0)), Ok(()));
        assert!(memory.has(&one) && !memory.has(&two));
        for later in [0, 30, 59] {
            assert_eq!(memory.add(&one, at(later)), Err(ProofError::Replayed), "{later}");
        }
        assert_eq!(memory.add(&two, at(70)), Ok(()));
        assert_eq!(memory.remembered(), 1);
        assert_eq!(memory.add(&two, at(129)), Err(ProofError::Replayed));
    }

    #[test]
    fn a_proof_that_says_another_time_is_the_same_by_its_name() {
        let memory = ProofMemory::new(SPAN, 100);
        assert_eq!(memory.add(&proof(1, at(30)), at(0)), Ok(()));
        assert_eq!(memory.add(&proof(1, at(60)), at(0)), Err(ProofError::Replayed));
    }

    #[test]
    fn a_flood_is_turned_away_and_nothing_is_forgotten_for_it() {
        let memory = ProofMemory::new(SPAN, 1_000);
        for number in 0..3_000 {
            let expected = if number < 1_000 { Ok(()) } else { Err(ProofError::NoRoom) };
            assert_eq!(memory.add(&proof(number, at(60)), at(0)), expected);
        }
        assert_eq!((memory.remembered(), memory.turned_away()), (1_000, 2_000));
        for number in 0..1_000 {
            assert_eq!(memory.add(&proof(number, at(60)), at(59)), Err(ProofError::Replayed));
        }
        assert_eq!(memory.add(&proof(1_000, at(130)), at(70)), Ok(()), "the others are too old");
        assert_eq!(memory.remembered(), 1);
    }

    #[test]
    fn one_key_takes_half_of_the_room_at_most() {
        let memory = ProofMemory::new(SPAN, 100);
        let of_one_key = |number| Proven { key: [7; 32], ..proof(number, at(60)) };
        for number in 0..200 {
            let expected = if number < 50 { Ok(()) } else { Err(ProofError::NoRoom) };
            assert_eq!(memory.add(&of_one_key(number), at(0)), expected, "{number}");
        }
        assert_eq!(memory.add(&Proven { key: [8; 32], ..proof(200, at(60)) }, at(0)), Ok(()));
        assert_eq!(
            memory.add(&Proven { key: [7; 32], ..proof(201, at(130)) }, at(70)),
            Ok(()),
            "its time is over"
        );
    }

    #[test]
    fn what_comes_steadily_finds_room_and_is_remembered_to_its_end() {
        // Twenty a second, each for as long as may be: its span and a part of it.
        let memory = ProofMemory::new(SPAN, 20 * (80 + 10));
        let of_second = |second: u64| (0..20).map(move |number| proof(second * 20 + number, at(second + 80)));
        for second in 0..600 {
            for proof in of_second(second) {
                assert_eq!(memory.add(&proof, at(second)), Ok(()), "{second}");
            }
            for seen in second.checked_sub(79).into_iter().flat_map(of_second) {
                assert_eq!(memory.add(&seen, at(second)), Err(ProofError::Replayed), "{second}");
            }
        }
        assert_eq!(memory.turned_away(), 0);
    }

    #[test]
    fn a_clock_that_was_ahead_takes_no_room_for_long_and_what_was_seen_by_it_is_kept_while_there_is_some() {
        let memory = ProofMemory::new(SPAN, 10);
        let add = |numbers: std::ops::Range<u64>, now: u64| {
            let outcomes = numbers.map(|number| memory.add(&proof(number, at(now + 60)), at(now)));
            outcomes.collect::<Result<Vec<()>, _>>().map(|added| added.len())
        };
        assert_eq!(add(0..5, 3_600), Ok(5));
        assert_eq!(add(5..10, 0), Ok(5));
        assert_eq!(memory.add(&proof(0, at(3_660)), at(0)), Err(ProofError::Replayed));
        assert_eq!(add(10..15, 0), Ok(5), "in the place of those that cannot be presented for an hour");
        assert_eq!(add(15..16, 0), Err(ProofError::NoRoom));
    }
}
