//! What may be used once and has no row of its own: ids of assertions and proofs.

use async_trait::async_trait;
use sluice_commit::StoreError;
use sluice_primitives::Timestamp;

/// What kind of thing is spent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(i16)]
pub enum ReplayKind {
    /// The `jti` of a client's assertion (RFC 7523 §3), within its issuer.
    ClientAssertion = 1,
    /// A logout verifier.
    LogoutVerifier = 2,
    /// The `jti` of a DPoP proof (RFC 9449 §11.1), within its key.
    DpopProof = 3,
    /// The `jti` of an assertion of another issuer (RFC 7523 §3), within that issuer.
    Assertion = 4,
}

/// Spent things. Every method is one transaction.
#[async_trait]
pub trait ReplayRepository: Send + Sync {
    /// Spends the thing with this hash until `expires_at`; `false` if it was spent before and that has not expired at
    /// `now`. Of concurrent calls exactly one gets `true`.
    async fn spend(
        &self,
        kind: ReplayKind,
        id_hash: [u8; 32],
        now: Timestamp,
        expires_at: Timestamp,
    ) -> Result<bool, StoreError>;

    /// Whether the thing with this hash is spent at `now`. Nothing is written.
    async fn is_spent(&self, kind: ReplayKind, id_hash: [u8; 32], now: Timestamp)
    -> Result<bool, StoreError>;

    /// Deletes at most `limit` rows that expired before `now`; how many it was.
    async fn purge_expired(&self, now: Timestamp, limit: u32) -> Result<u64, StoreError>;
}
