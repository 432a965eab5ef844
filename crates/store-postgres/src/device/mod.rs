//! Device codes.

use async_trait::async_trait;
use sluice_commit::StoreError;
use sluice_oauth::device::{DeviceCode, DeviceCodeRepository, DevicePoll, Polled, SLOW_DOWN, UserCodeHash};
use sluice_primitives::{GrantId, Lifetime, Timestamp};
use tokio_postgres::Row;

use crate::PostgresStore;
use crate::error::{Unreadable, column};
use crate::storable;

const INSERT: &str = include_str!("insert.sql");
const FIND_BY_USER_CODE: &str = include_str!("find_by_user_code.sql");
const DENY: &str = include_str!("deny.sql");
const IS_DENIED: &str = include_str!("is_denied.sql");
const POLL: &str = include_str!("poll.sql");
const PURGE_EXPIRED: &str = include_str!("purge_expired.sql");

#[async_trait]
impl DeviceCodeRepository for PostgresStore {
    async fn insert(&self, code: DeviceCode, now: Timestamp) -> Result<bool, StoreError> {
        storable::text("a device code", &code.sealed)?;
        let (user_code, id, client) = (code.user_code.as_slice(), code.id.as_uuid(), code.client.as_str());
        let (created_at, expires_at) = (code.created_at.as_millis(), code.expires_at.as_millis());
        let inserted = self
            .write(
                INSERT,
                &[&user_code, &id, &client, &code.sealed, &created_at, &expires_at, &now.as_millis()],
            )
            .await?;
        Ok(!inserted.is_empty())
    }

    async fn find_by_user_code(
        &self,
        user_code: UserCodeHash,
        now: Timestamp,
    ) -> Result<Option<DeviceCode>, StoreError> {
        let rows = self.read(FIND_BY_USER_CODE, &[&user_code.as_slice(), &now.as_millis()]).await?;
        Ok(rows.first().map(|row| read(row, user_code)).transpose()?)
    }

    async fn deny(&self, id: GrantId, now: Timestamp) -> Result<bool, StoreError> {
        let denied = self.write(DENY, &[&id.as_uuid(), &now.as_millis(), &self.attempt()]).await?;
        Ok(!denied.is_empty())
    }

    async fn is_denied(&self, id: GrantId) -> Result<bool, StoreError> {
        let denied = self.read(IS_DENIED, &[&id.as_uuid()]).await?;
        Ok(!denied.is_empty())
    }

    async fn poll(&self, id: GrantId, now: Timestamp, interval: Lifetime) -> Result<DevicePoll, StoreError> {
        let (id, attempt) = (id.as_uuid(), self.attempt());
        let (now, interval, slow_down) = (now.as_millis(), interval.as_millis(), SLOW_DOWN.as_millis());
        let rows = self.write_poll(POLL, &[&id, &now, &interval, &slow_down, &attempt]).await?;
        let polled = rows.first().map(polled).transpose()?;
        Ok(polled.map_or(DevicePoll::Unknown, DevicePoll::from))
    }

    async fn purge_expired(&self, now: Timestamp, limit: u32) -> Result<u64, StoreError> {
        let purged = self.upkeep(PURGE_EXPIRED, &[&now.as_millis(), &i64::from(limit)]).await?;
        Ok(purged.len() as u64)
    }
}

fn read(row: &Row, user_code: UserCodeHash) -> Result<DeviceCode, Unreadable> {
    let client: &str = column(row, 1)?;
    Ok(DeviceCode {
        id: GrantId::from_uuid(column(row, 0)?),
        user_code,
        client: client.parse().map_err(|cause| Unreadable::new("device code", &cause))?,
        sealed: column(row, 2)?,
        created_at: Timestamp::from_millis(column(row, 3)?),
        expires_at: Timestamp::from_millis(column(row, 4)?),
    })
}

fn polled(row: &Row) -> Result<Polled, Unreadable> {
    Ok(Polled {
        is_expired: column(row, 0)?,
        is_denied: column(row, 1)?,
        is_granted: column(row, 2)?,
        is_too_fast: column(row, 3)?,
    })
}
