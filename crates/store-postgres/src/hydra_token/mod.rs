//! Refresh tokens that a Hydra issued. [`import`]: one statement for a batch. Here: the repository.

mod import;

use async_trait::async_trait;
use sluice_commit::StoreError;
use sluice_oauth::takeover::{HydraNetwork, HydraToken, HydraTokenRepository, TokenGrant, TokenMac};
use sluice_primitives::{GrantId, Timestamp};
use sluice_protocol::ClientId;
use tokio_postgres::Row;

use crate::PostgresStore;
use crate::error::{Unreadable, column};

const KNOWN: &str = include_str!("known.sql");
const FIND: &str = include_str!("find.sql");
const PAGE: &str = include_str!("page.sql");
const FORGET: &str = include_str!("forget.sql");
const IS_THERE: &str = include_str!("is_there.sql");
const PURGE_EXPIRED: &str = include_str!("purge_expired.sql");

#[async_trait]
impl HydraTokenRepository for PostgresStore {
    async fn import_tokens(&self, tokens: Vec<HydraToken>) -> Result<u64, StoreError> {
        import::import(self, &tokens).await
    }

    async fn known_tokens(&self, macs: Vec<TokenMac>) -> Result<Vec<TokenMac>, StoreError> {
        let macs: Vec<&[u8]> = macs.iter().map(TokenMac::as_slice).collect();
        macs_of(&self.read(KNOWN, &[&macs]).await?)
    }

    async fn find_token(&self, mac: TokenMac, now: Timestamp) -> Result<Option<TokenGrant>, StoreError> {
        let rows = self.read(FIND, &[&mac.as_slice(), &now.as_millis()]).await?;
        let Some(row) = rows.first() else { return Ok(None) };
        let client = column::<&str>(row, 1)?.parse::<ClientId>();
        Ok(Some(TokenGrant {
            grant: GrantId::from_uuid(column(row, 0)?),
            client: client.map_err(|cause| Unreadable::new("token of Hydra", &cause))?,
            expires_at: Timestamp::from_millis(column(row, 2)?),
        }))
    }

    async fn token_page(
        &self,
        network: HydraNetwork,
        after: Option<TokenMac>,
        limit: u32,
    ) -> Result<Vec<TokenMac>, StoreError> {
        let after: &[u8] = after.as_ref().map(TokenMac::as_slice).unwrap_or_default();
        macs_of(&self.read(PAGE, &[&network.as_uuid(), &after, &i64::from(limit)]).await?)
    }

    async fn forget_tokens(&self, macs: Vec<TokenMac>) -> Result<u64, StoreError> {
        let macs: Vec<&[u8]> = macs.iter().map(TokenMac::as_slice).collect();
        Ok(self.write(FORGET, &[&macs]).await?.len() as u64)
    }

    async fn purge_tokens(&self, now: Timestamp, limit: u32) -> Result<u64, StoreError> {
        let there = self.upkeep(IS_THERE, &[]).await?;
        if !there.first().is_some_and(|row| row.try_get(0).is_ok_and(|is_there: bool| is_there)) {
            return Ok(0);
        }
        let purged = self.upkeep(PURGE_EXPIRED, &[&now.as_millis(), &i64::from(limit)]).await?;
        Ok(purged.len() as u64)
    }
}

/// The MACs of rows that have nothing else.
fn macs_of(rows: &[Row]) -> Result<Vec<TokenMac>, StoreError> {
    let read = |row: &Row| -> Result<TokenMac, StoreError> {
        let mac = TokenMac::try_from(column::<&[u8]>(row, 0)?);
        Ok(mac.map_err(|cause| Unreadable::new("token of Hydra", &cause))?)
    };
    rows.iter().map(read).collect()
}
