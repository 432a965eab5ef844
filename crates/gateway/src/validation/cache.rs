//! What was verified once is not verified again.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use quick_cache::sync::Cache;
use sluice_primitives::Timestamp;

use crate::authn::Caller;

/// SHA-256 of a whole token.
pub(super) type TokenDigest = [u8; 32];

/// A token that was authentic when it was verified.
#[derive(Debug, Clone)]
pub(super) struct Verified {
    /// What it says.
    pub(super) caller: Arc<Caller>,
    /// Until when it holds, differing clocks included.
    pub(super) until: Timestamp,
    /// With whose keys it was verified: no two issuers ever have the same number.
    pub(super) issuer: u64,
    /// With which of them: when the keys change, everything is verified again.
    pub(super) generation: u64,
}

/// Tokens whose signature was right. Key: SHA-256 of the whole token. Bound: so many entries as are configured. Staleness:
/// until the token ends, or the keys of its issuer change or are too old. Nobody empties it: whether a token was revoked or has
/// expired is asked each time, so a late answer undoes nothing.
pub struct VerdictCache {
    tokens: Cache<TokenDigest, Verified>,
    hits: AtomicU64,
    misses: AtomicU64,
}

impl VerdictCache {
    /// An empty cache for so many tokens.
    pub(super) fn new(entries: NonZeroUsize) -> Self {
        Self { tokens: Cache::new(entries.get()), hits: AtomicU64::new(0), misses: AtomicU64::new(0) }
    }

    /// What is known about a token.
    pub(super) fn find(&self, token: &TokenDigest) -> Option<Verified> {
        self.tokens.get(token)
    }

    /// Keeps what was found out about a token.
    pub(super) fn keep(&self, token: TokenDigest, verified: Verified) {
        self.tokens.insert(token, verified);
    }

    /// Counts a verification that was spared.
    pub(super) fn count_hit(&self) {
        self.hits.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a verification.
    pub(super) fn count_miss(&self) {
        self.misses.fetch_add(1, Ordering::Relaxed);
    }

    /// How many verifications were spared.
    pub fn hits(&self) -> u64 {
        self.hits.load(Ordering::Relaxed)
    }

    /// How many were not.
    pub fn misses(&self) -> u64 {
        self.misses.load(Ordering::Relaxed)
    }

    /// How many tokens are kept.
    pub fn len(&self) -> usize {
        self.tokens.len()
    }

    /// Whether none are.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
