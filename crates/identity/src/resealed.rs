//! Rows that hold something sealed: which secret sealed it, and sealing it with the first one again.

use std::collections::BTreeMap;

use sluice_crypto::{Purpose, SealedBy, Sealer};
use sluice_primitives::{Rng, Timestamp};
use zeroize::Zeroizing;

/// How many rows are read at a time.
pub(crate) const PAGE: u32 = 1_000;
/// How many places a sample looks at, in time and again by id.
const PLACES: u8 = 32;
/// How many rows it looks at there.
pub(crate) const AT_EACH: u32 = 8;

/// How many rows each secret sealed.
pub type SealedCounts = BTreeMap<SealedBy, u64>;

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
    match sealer.sealed_by(purpose, sealed) {
        SealedBy::Known(0) => Again::Unchanged,
        SealedBy::Known(_) => sealer
            .open(purpose, sealed)
            .map(Zeroizing::new)
            .map_or(Again::Unopened, |opened| Again::Sealed(sealer.seal(purpose, &opened, rng))),
        SealedBy::Unknown | SealedBy::Broken => Again::Unopened,
    }
}

/// Counts what is sealed of a row.
pub(crate) fn count(counts: &mut SealedCounts, sealer: &Sealer, purpose: Purpose, sealed: &str) {
    *counts.entry(sealer.sealed_by(purpose, sealed)).or_default() += 1;
}

/// The ids (UUIDv7) after which a sample looks: spread over the time since `oldest` was made, and, because ids that others made
/// up are anywhere, over all that there can be.
pub(crate) fn places(oldest: [u8; 16], now: Timestamp) -> impl Iterator<Item = [u8; 16]> {
    let mut time = [0; 8];
    time.iter_mut().skip(2).zip(oldest).for_each(|(to, from)| *to = from);
    let start = i64::from_be_bytes(time);
    let step = now.as_millis().saturating_sub(start).max(0) / i64::from(PLACES);
    let in_time = (1..PLACES).map(move |place| {
        let [_, _, time @ ..] = start.saturating_add(step.saturating_mul(i64::from(place))).to_be_bytes();
        let mut id = [0; 16];
        id.iter_mut().zip(time).for_each(|(byte, of_time)| *byte = of_time);
        id
    });
    in_time.chain((0..PLACES).map(|place| [place.saturating_mul(8); 16]))
}
