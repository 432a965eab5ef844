//! What stands for a target within its kind: 128 bits, so that nothing is allocated to ask about one.

use std::hash::Hasher;

use siphasher::sip128::{Hasher128, SipHasher13};
use sluice_primitives::rng::random_bytes;
use sluice_primitives::{GrantId, OsRng, SessionId};
use sluice_protocol::{ClientId, Subject};

/// Makes fingerprints. Ids stand for themselves. Names are hashed with a key that nobody else knows: two of a million have
/// the same fingerprint once in 10^26 processes, and nobody can look for such two.
pub(super) struct Fingerprints(SipHasher13);

impl Default for Fingerprints {
    fn default() -> Self {
        Self(SipHasher13::new_with_key(&random_bytes(&OsRng)))
    }
}

impl Fingerprints {
    pub(super) const fn grant(grant: GrantId) -> u128 {
        u128::from_be_bytes(*grant.as_bytes())
    }

    pub(super) const fn session(session: SessionId) -> u128 {
        u128::from_be_bytes(*session.as_bytes())
    }

    pub(super) fn subject(&self, subject: &Subject) -> u128 {
        self.of(subject.as_str())
    }

    pub(super) fn client(&self, client: &ClientId) -> u128 {
        self.of(client.as_str())
    }

    /// Of both, from those of each: turned, so that they do not cancel out where they are the same.
    pub(super) const fn subject_client(subject: u128, client: u128) -> u128 {
        subject ^ client.rotate_left(1)
    }

    fn of(&self, text: &str) -> u128 {
        let mut hasher = self.0;
        hasher.write(text.as_bytes());
        hasher.finish128().as_u128()
    }
}
