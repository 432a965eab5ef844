//! Not begun: what is known of a change when already what goes before it was not answered.

use sluice_commit::StoreError;
use thiserror::Error;

/// Why a record was not asked to change: what has to be done before, outside the record, was not answered. The record is as it was; what was to be
/// done before may be done all the same.
#[derive(Debug, Error)]
#[error("what goes before the change was not answered")]
pub struct NotBegun(#[source] StoreError);

impl NotBegun {
    /// The same error of what goes before a change, from which it is seen that the change was not begun. Where it says itself that nothing was
    /// written, that is seen already.
    pub fn before(error: StoreError) -> StoreError {
        match error {
            StoreError::Unavailable(_) => StoreError::unavailable(Self(error)),
            other => other,
        }
    }

    /// Whether an error says so.
    pub fn is_said_by(error: &StoreError) -> bool {
        matches!(error, StoreError::Unavailable(Some(cause)) if cause.is::<Self>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_of_what_was_not_answered_it_has_to_be_said() {
        assert!(NotBegun::is_said_by(&NotBegun::before(StoreError::Unavailable(None))));
        assert!(!NotBegun::is_said_by(&StoreError::Unavailable(None)));
        assert!(matches!(NotBegun::before(StoreError::Busy), StoreError::Busy));
    }
}
