//! The table of [`Rotation`], as short as it can be written: what a store is held against.

use sluice_oauth::grant::Rotation;
use sluice_primitives::{AttemptId, Lifetime, Timestamp};

/// What there is to know about one redeemed grant.
#[derive(Debug, Clone)]
pub(crate) struct Model {
    pub(crate) generation: u32,
    rotated_at: Timestamp,
    request: [u8; 16],
    attempt: AttemptId,
    revoked: bool,
}

/// One use of a refresh token.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Use {
    pub(crate) presented: u32,
    pub(crate) request: [u8; 16],
    pub(crate) attempt: AttemptId,
    pub(crate) now: Timestamp,
    pub(crate) window: Lifetime,
}

/// What must become of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    Rotated,
    Repeated,
    Stale,
    Reused,
    Revoked,
    Unknown,
}

impl From<&Rotation> for Verdict {
    fn from(rotation: &Rotation) -> Self {
        match rotation {
            Rotation::Rotated(_) => Self::Rotated,
            Rotation::Repeated(_) => Self::Repeated,
            Rotation::Stale => Self::Stale,
            Rotation::Reused => Self::Reused,
            Rotation::Revoked => Self::Revoked,
            Rotation::Unknown => Self::Unknown,
        }
    }
}

impl Model {
    pub(crate) const fn redeemed(at: Timestamp, attempt: AttemptId) -> Self {
        Self { generation: 0, rotated_at: at, request: [0; 16], attempt, revoked: false }
    }

    /// Something else revoked the grant.
    pub(crate) const fn revoke(&mut self) {
        self.revoked = true;
    }

    pub(crate) fn apply(&mut self, used: Use) -> Verdict {
        if self.revoked {
            return Verdict::Revoked;
        }
        if used.attempt == self.attempt && used.presented + 1 == self.generation {
            return Verdict::Rotated; // a retry by the attempt that made the pair
        }
        let within = used.now.since(self.rotated_at) < used.window;
        let same = used.request == self.request;
        match (self.generation.checked_sub(used.presented), within) {
            (None, _) => Verdict::Unknown, // a token from a future that this store never saw
            (Some(0), _) => self.rotate(used),
            (Some(1), true) if same => Verdict::Repeated,
            (Some(1 | 2), true) => Verdict::Stale,
            _ => {
                self.revoked = true;
                Verdict::Reused
            }
        }
    }

    const fn rotate(&mut self, used: Use) -> Verdict {
        self.generation += 1;
        self.rotated_at = used.now;
        self.request = used.request;
        self.attempt = used.attempt;
        Verdict::Rotated
    }
}
