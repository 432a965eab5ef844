//! Trusted issuers.

use async_trait::async_trait;
use sluice_commit::StoreError;
use sluice_crypto::jwk::Jwk;
use sluice_primitives::{Timestamp, TrustId};
use sluice_protocol::Scope;

/// An issuer whose assertions are accepted if one key signed them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustedIssuer {
    /// Its id.
    pub id: TrustId,
    /// `iss` of the assertions.
    pub issuer: String,
    /// `sub` of the assertions, never empty; any if none.
    pub subject: Option<String>,
    /// What may be asked for at most.
    pub scope: Scope,
    /// `kid` of the key.
    pub key_id: String,
    /// The key. Stores keep its public part only.
    pub jwk: Jwk,
    /// When the trust began.
    pub created_at: Timestamp,
    /// When it ends.
    pub expires_at: Timestamp,
}

/// Trusted issuers. Every method is one transaction. Nothing caches them, so nothing is appended to the feed.
#[async_trait]
pub trait TrustedIssuerRepository: Send + Sync {
    /// Stores a new trust, unless one that has not expired when the new one begins has the same issuer, subject and key
    /// id: then `false`. An expired one is replaced, id and all.
    async fn insert(&self, trusted: &TrustedIssuer) -> Result<bool, StoreError>;

    /// The trust with this id, expired or not.
    async fn find(&self, id: TrustId) -> Result<Option<TrustedIssuer>, StoreError>;

    /// What holds at `now` of an issuer for a subject, of one key or of all: at most eight, those of this very subject before
    /// those of any, each ordered by id.
    async fn find_for(
        &self,
        issuer: &str,
        subject: &str,
        key_id: Option<&str>,
        now: Timestamp,
    ) -> Result<Vec<TrustedIssuer>, StoreError>;

    /// At most `limit` of them, expired or not, ordered by id: of one issuer or of all, those after `after`.
    async fn list(
        &self,
        issuer: Option<&str>,
        after: Option<TrustId>,
        limit: u32,
    ) -> Result<Vec<TrustedIssuer>, StoreError>;

    /// How many there are, expired or not.
    async fn count_trusted(&self) -> Result<u64, StoreError>;

    /// The keys that an issuer is trusted with, expired trusts included, each once: one key id or all, in the order of their ids.
    async fn keys_of(&self, issuer: &str, key_id: Option<&str>) -> Result<Vec<Jwk>, StoreError>;

    /// Deletes a trust; whether it was there.
    async fn delete(&self, id: TrustId) -> Result<bool, StoreError>;

    /// Deletes every trust in an issuer, whoever it is about: with one key id or all. Whether there was any.
    async fn delete_keys_of(&self, issuer: &str, key_id: Option<&str>) -> Result<bool, StoreError>;

    /// Deletes at most `limit` that expired before `now`; how many it was.
    async fn purge_expired(&self, now: Timestamp, limit: u32) -> Result<u64, StoreError>;
}
