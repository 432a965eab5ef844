//! Proofs that this process has seen at resources, where a row for each request would cost more than a replay gains: the proof
//! names method, address and token, so that a replay asks again what was answered before.

use std::collections::HashSet;
use std::mem::take;

use parking_lot::Mutex;
use sluice_primitives::{Lifetime, Timestamp};

/// So many proofs of one half are kept, at 32 bytes each.
const CAPACITY: usize = 131_072;

/// Seen proofs, by hash of key and `jti`, in two halves: the older is forgotten when the newer is full or old. Bound: twice
/// `CAPACITY`. Staleness: none; under a flood a proof is forgotten early. Nobody empties it.
#[derive(Debug)]
pub struct ProofMemory {
    /// A proof may be presented for no longer than this.
    span: Lifetime,
    halves: Mutex<Halves>,
}

#[derive(Debug, Default)]
struct Halves {
    since: Timestamp,
    newer: HashSet<[u8; 32]>,
    older: HashSet<[u8; 32]>,
}

impl ProofMemory {
    /// An empty memory of proofs that may be presented for no longer than `span`.
    pub fn new(span: Lifetime) -> Self {
        Self { span, halves: Mutex::default() }
    }

    /// Remembers a proof; `false` if it was seen before.
    pub fn add(&self, proof: [u8; 32], now: Timestamp) -> bool {
        let mut halves = self.halves.lock();
        if now >= halves.since + self.span || halves.newer.len() >= CAPACITY {
            halves.older = take(&mut halves.newer);
            halves.since = now;
        }
        !halves.older.contains(&proof) && halves.newer.insert(proof)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proof_is_remembered_for_its_time_and_not_for_ever() {
        let memory = ProofMemory::new(Lifetime::secs(120));
        let at = |secs: i64| Timestamp::from_secs(1_000_000 + secs);
        assert!(memory.add([1; 32], at(0)));
        for later in [0, 60, 119, 120] {
            assert!(!memory.add([1; 32], at(later)), "{later}");
        }
        assert!(memory.add([2; 32], at(121)));
        assert!(memory.add([1; 32], at(240)));
        assert!(!memory.add([2; 32], at(240)));
    }

    #[test]
    fn a_flood_does_not_grow_it() {
        let memory = ProofMemory::new(Lifetime::secs(120));
        let now = Timestamp::from_secs(1_000_000);
        for number in 0..3 * CAPACITY {
            let mut proof = [0; 32];
            proof[..8].copy_from_slice(&(number as u64).to_be_bytes());
            assert!(memory.add(proof, now));
        }
        let halves = memory.halves.lock();
        assert!(halves.newer.len() <= CAPACITY && halves.older.len() <= CAPACITY);
    }
}
