//! Rows that hold something sealed: which secret sealed it, and sealing it with the first one again.

use std::collections::BTreeMap;

use sluice_crypto::{Purpose, Sealer};
use sluice_primitives::Rng;
use zeroize::Zeroizing;

/// How many rows are read at a time.
pub(crate) const PAGE: u32 = 1_000;

/// How many rows each secret sealed, counted from 0, the one that seals; `None` for those that no secret opens.
pub type SealedCounts = BTreeMap<Option<usize>, u64>;

/// What was sealed again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ResealedRows {
    /// Rows that the first secret seals now.
    pub resealed: u64,
    /// Rows that it had sealed already.
    pub unchanged: u64,
    /// Rows that changed meanwhile: run it again.
    pub changed: u64,
    /// Rows that no secret opens.
    pub unopened: u64,
}

/// What is to be done with what is sealed of a row.
pub(crate) enum Again {
    /// Nothing.
    Unchanged,
    /// Nothing can be done.
    Unopened,
    /// To put this in its place.
    Sealed(String),
}

/// Seals what another secret than the first sealed.
pub(crate) fn again(sealer: &Sealer, purpose: Purpose, sealed: &str, rng: &dyn Rng) -> Again {
    match sealer.secret_of(purpose, sealed) {
        Ok(0) => Again::Unchanged,
        Ok(_) => sealer
            .open(purpose, sealed)
            .map(Zeroizing::new)
            .map_or(Again::Unopened, |opened| Again::Sealed(sealer.seal(purpose, &opened, rng))),
        Err(_) => Again::Unopened,
    }
}

/// Counts what is sealed of a row.
pub(crate) fn count(counts: &mut SealedCounts, sealer: &Sealer, purpose: Purpose, sealed: &str) {
    *counts.entry(sealer.secret_of(purpose, sealed).ok()).or_default() += 1;
}
