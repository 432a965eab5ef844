//! Refresh tokens that a Hydra issued, as stores keep them.

use async_trait::async_trait;
use sluice_commit::StoreError;
use sluice_primitives::{GrantId, Timestamp};
use sluice_protocol::ClientId;

use super::source::HydraNetwork;
use crate::grant::Grant;

/// The MAC of a token, by which it is found: a hash of its random part with a key that no store holds in the clear.
pub type TokenMac = [u8; 32];

/// A token of a Hydra, and the grant that it stands for from now on.
#[derive(Debug, Clone, PartialEq)]
pub struct HydraToken {
    /// Its MAC.
    pub mac: TokenMac,
    /// Its grant, at generation 0.
    pub grant: Grant,
    /// When it ends; [`Timestamp::NEVER`] if it does not.
    pub expires_at: Timestamp,
    /// Of which Hydra it is.
    pub network: HydraNetwork,
}

/// What a token stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenGrant {
    /// Its grant.
    pub grant: GrantId,
    /// To whom it was issued.
    pub client: ClientId,
    /// When it ends.
    pub expires_at: Timestamp,
}

/// Refresh tokens of a Hydra. Every method is one transaction.
#[async_trait]
pub trait HydraTokenRepository: Send + Sync {
    /// Stores tokens, each with its grant; how many were not there. A grant that is there takes what a token of its says that ends later, unless
    /// it was refreshed here: whichever of them comes first, the one that ends last speaks. One that was revoked stays so, and is there as long.
    async fn import_tokens(&self, tokens: Vec<HydraToken>) -> Result<u64, StoreError>;

    /// Which of these are there, expired or not.
    async fn known_tokens(&self, macs: Vec<TokenMac>) -> Result<Vec<TokenMac>, StoreError>;

    /// What a token stands for, unless it has expired at `now`, or its grant is not there any more.
    async fn find_token(&self, mac: TokenMac, now: Timestamp) -> Result<Option<TokenGrant>, StoreError>;

    /// At most `limit` tokens of a Hydra in the order of their MACs, behind this one.
    async fn token_page(
        &self,
        network: HydraNetwork,
        after: Option<TokenMac>,
        limit: u32,
    ) -> Result<Vec<TokenMac>, StoreError>;

    /// Deletes tokens, but not what they stand for; how many were there of which the grant was not refreshed here.
    async fn forget_tokens(&self, macs: Vec<TokenMac>) -> Result<u64, StoreError>;

    /// Deletes at most `limit` tokens that expired before `now`; how many it was. None where their table is not there yet.
    async fn purge_tokens(&self, now: Timestamp, limit: u32) -> Result<u64, StoreError>;
}
