//! Proof of work: a puzzle that a browser solves before a form is taken, so that forms in bulk cost something. Optional, and
//! no more than that: who has many machines pays little.
//!
//! The program's own, because what there is does not fit: `altcha-lib-rs` reads clock and randomness by itself and compares
//! its signatures with `!=`, and ALTCHA's widget would be one more script to serve. The puzzle is that of hashcash: find a text
//! such that `SHA-256(challenge ‖ text)` begins with so many zero bits. The challenge is sealed and says everything, so that
//! nothing is kept but which ones were used.

use std::fmt;
use std::sync::Arc;

use quick_cache::sync::Cache;
use serde::{Deserialize, Serialize};
use sluice_crypto::digest::sha256;
use sluice_crypto::{Purpose, Sealer};
use sluice_net::bounded::oldest_first;
use sluice_primitives::rng::random_bytes;
use sluice_primitives::{Clock, Lifetime, Rng, Timestamp};

use crate::config::ProofOfWorkConfig;

/// How long a program may take.
const LIFETIME: Lifetime = Lifetime::minutes(5);
/// No puzzle is good for longer: so long it must be remembered which ones were used.
const LONGEST: Lifetime = Lifetime::hours(1);
/// More than this nobody waits for: a minute of a fast machine.
const MOST_BITS: u8 = 32;
/// A solution is no longer than this, in bytes.
const LONGEST_SOLUTION: usize = 32;
/// How many used puzzles are remembered.
const CAPACITY: usize = 131_072;

/// What a puzzle is solved for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PuzzlePurpose {
    /// To register.
    Registration,
    /// To log in.
    Login,
}

/// What a browser is to solve.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Puzzle {
    /// What is hashed before the solution.
    pub challenge: String,
    /// How many zero bits the hash begins with.
    pub bits: u8,
}

/// What a browser found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PuzzleSolution<'a> {
    /// The challenge.
    pub challenge: &'a str,
    /// The text after it.
    pub solution: &'a str,
}

#[derive(Serialize, Deserialize)]
struct Wire {
    purpose: u8,
    bits: u8,
    expires_at: i64,
    nonce: [u8; 16],
}

/// Sets puzzles and checks solutions.
pub struct ProofOfWork {
    config: ProofOfWorkConfig,
    sealer: Arc<Sealer>,
    clock: Arc<dyn Clock>,
    rng: Arc<dyn Rng>,
    /// Puzzles that were used here. Key: their nonce. Bound: [`CAPACITY`]; once about as many others were used within its life, by
    /// whomever, one may be used again, and another node takes each once more. Staleness: none. Nobody empties it.
    used: Cache<[u8; 16], ()>,
}

impl ProofOfWork {
    /// The puzzles that are configured; `sealer` is the one for what browsers carry.
    pub fn new(
        config: ProofOfWorkConfig,
        sealer: Arc<Sealer>,
        clock: Arc<dyn Clock>,
        rng: Arc<dyn Rng>,
    ) -> Self {
        Self { config, sealer, clock, rng, used: oldest_first(CAPACITY) }
    }

    /// A puzzle that is good for five minutes; none if nothing needs to be solved for this.
    pub fn issue(&self, purpose: PuzzlePurpose) -> Option<Puzzle> {
        self.issue_for(purpose, LIFETIME)
    }

    /// A puzzle that is good for `lifetime`, and for an hour at most: one that stands on a page while a person reads and types.
    pub fn issue_for(&self, purpose: PuzzlePurpose, lifetime: Lifetime) -> Option<Puzzle> {
        let bits = self.bits(purpose)?;
        let wire = Wire {
            purpose: purpose as u8,
            bits,
            expires_at: (self.clock.now() + lifetime.min(LONGEST)).as_millis(),
            nonce: random_bytes(&*self.rng),
        };
        let bytes = postcard::to_stdvec(&wire).unwrap_or_default();
        Some(Puzzle { challenge: self.sealer.seal(Purpose::ProofOfWork, &bytes, &*self.rng), bits })
    }

    /// Whether enough was solved for this. A solution is taken once.
    pub fn check(&self, purpose: PuzzlePurpose, solution: Option<PuzzleSolution<'_>>) -> bool {
        match (self.bits(purpose), solution) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(bits), Some(solution)) => self.take(purpose, bits, solution).is_some(),
        }
    }

    fn take(&self, purpose: PuzzlePurpose, bits: u8, shown: PuzzleSolution<'_>) -> Option<()> {
        if shown.solution.len() > LONGEST_SOLUTION {
            return None;
        }
        let bytes = self.sealer.open(Purpose::ProofOfWork, shown.challenge).ok()?;
        let wire: Wire = postcard::from_bytes(&bytes).ok()?;
        let holds =
            wire.purpose == purpose as u8 && self.clock.now() < Timestamp::from_millis(wire.expires_at);
        // Those that were set before the configuration asked for more are good still.
        let solved = zero_bits(shown) >= u32::from(wire.bits.min(bits));
        (holds && solved && self.is_first(wire.nonce)).then_some(())
    }

    fn is_first(&self, nonce: [u8; 16]) -> bool {
        let mut is_first = false;
        let kept = self.used.get_or_insert_with(&nonce, || {
            is_first = true;
            Ok::<_, std::convert::Infallible>(())
        });
        kept.is_ok() && is_first
    }

    fn bits(&self, purpose: PuzzlePurpose) -> Option<u8> {
        let bits = match purpose {
            PuzzlePurpose::Registration => self.config.registration_bits,
            PuzzlePurpose::Login => self.config.login_bits,
        };
        (bits > 0).then_some(bits.min(MOST_BITS))
    }
}

impl fmt::Debug for ProofOfWork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProofOfWork").field("config", &self.config).finish_non_exhaustive()
    }
}

impl Puzzle {
    /// A solution, as programs and tests find it: the smallest number that is one. It takes `2^bits` hashes or so.
    pub fn solve(&self) -> String {
        let mut number: u64 = 0;
        loop {
            let solution = number.to_string();
            let shown = PuzzleSolution { challenge: &self.challenge, solution: &solution };
            if zero_bits(shown) >= u32::from(self.bits) {
                return solution;
            }
            number += 1;
        }
    }
}

fn zero_bits(shown: PuzzleSolution<'_>) -> u32 {
    let hash = sha256(&[shown.challenge.as_bytes(), shown.solution.as_bytes()].concat());
    let (first, _) = hash.split_first_chunk::<8>().unwrap_or((&[0xff; 8], &[]));
    u64::from_be_bytes(*first).leading_zeros()
}

#[cfg(test)]
mod tests;
