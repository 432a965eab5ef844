//! Proofs that leave no row: the node that has seen one remembers it.

use sluice_primitives::Timestamp;
use sluice_token::dpop::{ProofError, ProofMemory, Proven};

/// Proofs that this node has seen.
pub(crate) struct SeenProofs {
    /// At resources, of who holds the key that the token is bound to.
    pub(super) of_holders: ProofMemory,
    /// Of those who may be anybody: what they send must not keep out the others.
    pub(super) of_anybody: ProofMemory,
}

impl SeenProofs {
    /// Takes a proof at a resource: this node does not take it a second time, and not at all while it could not tell.
    pub(crate) fn take_of_holder(&self, proof: &Proven, now: Timestamp) -> Result<(), ProofError> {
        self.of_holders.add(proof, now)
    }

    /// Takes a proof of who may be anybody, where it gives nothing away: this node does not take it a second time. While there is
    /// no room it is taken all the same: else anybody could keep out everybody.
    pub(crate) fn take_of_anybody(&self, proof: &Proven, now: Timestamp) -> Result<(), ProofError> {
        match self.of_anybody.add(proof, now) {
            Err(ProofError::NoRoom) => Ok(()),
            taken => taken,
        }
    }

    /// Those that were seen at resources.
    pub(crate) fn of_holders(&self) -> &ProofMemory {
        &self.of_holders
    }
}

#[cfg(test)]
mod tests {
    use sluice_primitives::Lifetime;
    use sluice_protocol::ErrorCode;

    use super::*;
    use crate::dpop::DpopError;

    const NOW: Timestamp = Timestamp::from_secs(1_000_000);

    fn proof(number: u8) -> Proven {
        Proven { key: [0; 32], id: [number; 32], expires_at: NOW + Lifetime::secs(60) }
    }

    #[test]
    fn where_no_more_can_be_remembered_holders_wait_and_strangers_pass() {
        let memory = || ProofMemory::new(Lifetime::secs(120), 1);
        let seen = SeenProofs { of_holders: memory(), of_anybody: memory() };
        for number in 0..10 {
            assert_eq!(seen.take_of_anybody(&proof(number), NOW), Ok(()));
        }
        assert_eq!(seen.take_of_anybody(&proof(0), NOW), Err(ProofError::Replayed));
        assert_eq!(seen.take_of_holder(&proof(0), NOW), Ok(()), "strangers take no room of holders");
        assert_eq!(seen.take_of_holder(&proof(0), NOW), Err(ProofError::Replayed));
        let turned_away = seen.take_of_holder(&proof(1), NOW).unwrap_err();
        assert_eq!(DpopError::from(turned_away).code(), ErrorCode::TemporarilyUnavailable);
        assert_eq!(seen.of_holders().turned_away(), 1);
    }
}
