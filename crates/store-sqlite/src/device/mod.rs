//! Device codes on SQLite.

use async_trait::async_trait;
use rusqlite::{Row, params};
use sluice_commit::StoreError;
use sluice_oauth::device::{DeviceCode, DeviceCodeRepository, DevicePoll, Polled, SLOW_DOWN, UserCodeHash};
use sluice_primitives::{GrantId, Lifetime, Timestamp};

use crate::error::SqliteError;
use crate::row;
use crate::store::SqliteStore;

const INSERT: &str = include_str!("insert.sql");
const FIND_BY_USER_CODE: &str = include_str!("find_by_user_code.sql");
const DENY: &str = include_str!("deny.sql");
const IS_DENIED: &str = include_str!("is_denied.sql");
const POLL: &str = include_str!("poll.sql");
const PURGE_EXPIRED: &str = include_str!("purge_expired.sql");

fn polled(row: &Row<'_>) -> Result<Polled, SqliteError> {
    Ok(Polled {
        is_expired: row.get(0)?,
        is_denied: row.get(1)?,
        is_granted: row.get(2)?,
        is_too_fast: row.get(3)?,
    })
}

#[async_trait]
impl DeviceCodeRepository for SqliteStore {
    async fn insert(&self, code: DeviceCode, now: Timestamp) -> Result<bool, StoreError> {
        row::check("device code", &code.sealed)?;
        self.write(move |write| {
            let values = params![
                code.user_code,
                code.id.as_bytes(),
                code.client.as_str(),
                code.sealed,
                code.created_at.as_millis(),
                code.expires_at.as_millis(),
                now.as_millis(),
            ];
            Ok(write.insert("device_code", INSERT, values)? == 1)
        })
        .await
    }

    async fn find_by_user_code(
        &self,
        user_code: UserCodeHash,
        now: Timestamp,
    ) -> Result<Option<DeviceCode>, StoreError> {
        let code = move |row: &Row<'_>| {
            Ok(DeviceCode {
                id: GrantId::from_bytes(row.get(0)?),
                user_code,
                client: row::parsed(row, 1)?,
                sealed: row.get(2)?,
                created_at: row::time(row, 3)?,
                expires_at: row::time(row, 4)?,
            })
        };
        self.read(move |read| read.row(FIND_BY_USER_CODE, (user_code, now.as_millis()), code)).await
    }

    async fn deny(&self, id: GrantId, now: Timestamp) -> Result<bool, StoreError> {
        self.write(move |write| Ok(write.update("device_code", DENY, (id.as_bytes(), now.as_millis()))? == 1))
            .await
    }

    async fn is_denied(&self, id: GrantId) -> Result<bool, StoreError> {
        let denied = self.read(move |read| read.row(IS_DENIED, [id.as_bytes()], |_| Ok(()))).await?;
        Ok(denied.is_some())
    }

    async fn poll(&self, id: GrantId, now: Timestamp, interval: Lifetime) -> Result<DevicePoll, StoreError> {
        let values = (now.as_millis(), interval.as_millis(), SLOW_DOWN.as_millis());
        let rows = self.write(move |write| {
            let values = (id.as_bytes(), values.0, values.1, values.2);
            write.updated("device_code", POLL, values, polled)
        });
        Ok(rows.await?.pop().map_or(DevicePoll::Unknown, DevicePoll::from))
    }

    async fn purge_expired(&self, now: Timestamp, limit: u32) -> Result<u64, StoreError> {
        self.write(move |write| {
            Ok(row::count(write.delete("device_code", PURGE_EXPIRED, (now.as_millis(), limit))?))
        })
        .await
    }
}
