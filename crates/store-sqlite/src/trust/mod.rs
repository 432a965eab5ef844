//! Trusted issuers on SQLite.

use async_trait::async_trait;
use rusqlite::{Row, params};
use sluice_commit::StoreError;
use sluice_oauth::trust::{Jwk, TrustedIssuer, TrustedIssuerRepository};
use sluice_primitives::{Timestamp, TrustId};

use crate::error::SqliteError;
use crate::row;
use crate::store::SqliteStore;

const INSERT: &str = include_str!("insert.sql");
const FIND: &str = include_str!("find.sql");
const FIND_FOR: &str = include_str!("find_for.sql");
const LIST: &str = include_str!("list.sql");
const COUNT_TRUSTED: &str = include_str!("count_trusted.sql");
const KEYS_OF: &str = include_str!("keys_of.sql");
const DELETE: &str = include_str!("delete.sql");
const DELETE_KEYS_OF: &str = include_str!("delete_keys_of.sql");
const PURGE_EXPIRED: &str = include_str!("purge_expired.sql");

fn trusted(row: &Row<'_>) -> Result<TrustedIssuer, SqliteError> {
    Ok(TrustedIssuer {
        id: TrustId::from_bytes(row.get(0)?),
        issuer: row.get(1)?,
        subject: Some(row.get(2)?).filter(|subject: &String| !subject.is_empty()),
        scope: row::parsed(row, 3)?,
        key_id: row.get(4)?,
        jwk: row::json(row, 5)?,
        created_at: row::time(row, 6)?,
        expires_at: row::time(row, 7)?,
    })
}

#[async_trait]
impl TrustedIssuerRepository for SqliteStore {
    async fn insert(&self, trusted: &TrustedIssuer) -> Result<bool, StoreError> {
        let key = serde_json::to_string(&trusted.jwk.public())
            .map_err(|error| StoreError::Invalid(error.to_string()))?;
        let trusted = trusted.clone();
        let subject = trusted.subject.clone().unwrap_or_default();
        for (name, text) in [("issuer", &trusted.issuer), ("key id", &trusted.key_id), ("subject", &subject)]
        {
            row::check(name, text)?;
        }
        row::check("scope", trusted.scope.as_str())?;
        row::check("key", &key)?;
        self.write(move |write| {
            let values = params![
                trusted.issuer,
                trusted.key_id,
                subject,
                trusted.id.as_bytes(),
                trusted.scope.as_str(),
                key,
                trusted.created_at.as_millis(),
                trusted.expires_at.as_millis(),
            ];
            Ok(write.insert("trusted_issuer", INSERT, values)? == 1)
        })
        .await
    }

    async fn find(&self, id: TrustId) -> Result<Option<TrustedIssuer>, StoreError> {
        self.read(move |read| read.row(FIND, [id.as_bytes()], trusted)).await
    }

    async fn find_for(
        &self,
        issuer: &str,
        subject: &str,
        key_id: Option<&str>,
        now: Timestamp,
    ) -> Result<Vec<TrustedIssuer>, StoreError> {
        let (issuer, subject) = (issuer.to_owned(), subject.to_owned());
        let values = (issuer, subject, key_id.map(str::to_owned), now.as_millis());
        self.read(move |read| read.rows(FIND_FOR, values, trusted)).await
    }

    async fn list(
        &self,
        issuer: Option<&str>,
        after: Option<TrustId>,
        limit: u32,
    ) -> Result<Vec<TrustedIssuer>, StoreError> {
        let issuer = issuer.map(str::to_owned);
        let after = after.map_or([0; 16], |after| *after.as_bytes());
        self.read(move |read| read.rows(LIST, (issuer, after, limit), trusted)).await
    }

    async fn count_trusted(&self) -> Result<u64, StoreError> {
        let counted = self.read(|read| read.row(COUNT_TRUSTED, [], |row| row::count_of(row, 0))).await?;
        Ok(counted.unwrap_or_default())
    }

    async fn keys_of(&self, issuer: &str, key_id: Option<&str>) -> Result<Vec<Jwk>, StoreError> {
        let values = (issuer.to_owned(), key_id.map(str::to_owned));
        self.read(move |read| read.rows(KEYS_OF, values, |row| row::json(row, 1))).await
    }

    async fn delete(&self, id: TrustId) -> Result<bool, StoreError> {
        self.write(move |write| Ok(write.delete("trusted_issuer", DELETE, [id.as_bytes()])? == 1)).await
    }

    async fn delete_keys_of(&self, issuer: &str, key_id: Option<&str>) -> Result<bool, StoreError> {
        let (issuer, key_id) = (issuer.to_owned(), key_id.map(str::to_owned));
        self.write(move |write| Ok(write.delete("trusted_issuer", DELETE_KEYS_OF, (&issuer, &key_id))? > 0))
            .await
    }

    async fn purge_expired(&self, now: Timestamp, limit: u32) -> Result<u64, StoreError> {
        self.write(move |write| {
            Ok(row::count(write.delete("trusted_issuer", PURGE_EXPIRED, (now.as_millis(), limit))?))
        })
        .await
    }
}
