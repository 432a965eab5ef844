//! Refusals: what a store says no to outside of its queues, which count theirs themselves.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::store_error::StoreError;

/// What a store has refused since it was opened, outside of its queues.
#[derive(Debug, Default)]
pub struct StoreRefusals {
    /// Of what only reads.
    pub reads: Refusals,
    /// Of what writes.
    pub writes: Refusals,
}

/// Counters of refusals.
#[derive(Debug, Default)]
pub struct Refusals {
    turned_away: AtomicU64,
    refused: AtomicU64,
    unanswered: AtomicU64,
}

impl Refusals {
    /// Hands an answer on, and counts it if it is a refusal.
    ///
    /// # Errors
    /// What the answer is.
    pub fn noted<T>(&self, answer: Result<T, StoreError>) -> Result<T, StoreError> {
        answer.inspect_err(|error| match error {
            StoreError::Busy => {
                self.turned_away.fetch_add(1, Relaxed);
            }
            StoreError::Refused(_) => {
                self.refused.fetch_add(1, Relaxed);
            }
            StoreError::Unavailable(_) => {
                self.unanswered.fetch_add(1, Relaxed);
            }
            StoreError::Invalid(_) | StoreError::Fault(_) => {}
        })
    }

    /// How many were turned away because too many waited.
    pub fn turned_away_total(&self) -> u64 {
        self.turned_away.load(Relaxed)
    }

    /// How many the store refused whatever the values.
    pub fn refused_total(&self) -> u64 {
        self.refused.load(Relaxed)
    }

    /// How many the store did not answer in time, or could not be reached for.
    pub fn unanswered_total(&self) -> u64 {
        self.unanswered.load(Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_are_counted_and_nothing_else() {
        let refusals = Refusals::default();
        let no = || std::io::Error::other("no");
        let answers = [
            Ok(()),
            Err(StoreError::Busy),
            Err(StoreError::refused(no())),
            Err(StoreError::refused(no())),
            Err(StoreError::unavailable(no())),
            Err(StoreError::fault(no())),
            Err(StoreError::Invalid(String::new())),
        ];
        let failed = answers.into_iter().filter_map(|answer| refusals.noted(answer).err()).count();
        assert_eq!((failed, refusals.turned_away_total(), refusals.refused_total()), (6, 1, 2));
        assert_eq!(refusals.unanswered_total(), 1);
    }
}
