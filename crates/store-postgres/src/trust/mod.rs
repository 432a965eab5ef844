//! Trusted issuers.

use async_trait::async_trait;
use sluice_commit::StoreError;
use sluice_oauth::trust::{Jwk, TrustedIssuer, TrustedIssuerRepository};
use sluice_primitives::{Timestamp, TrustId};
use tokio_postgres::Row;

use crate::PostgresStore;
use crate::error::{Unreadable, column};
use crate::serial::Transaction;
use crate::storable;

const INSERT: &str = include_str!("insert.sql");
const FIND: &str = include_str!("find.sql");
const FIND_FOR: &str = include_str!("find_for.sql");
const LIST: &str = include_str!("list.sql");
const COUNT_TRUSTED: &str = include_str!("count_trusted.sql");
const KEYS_OF: &str = include_str!("keys_of.sql");
const DELETE: &str = include_str!("delete.sql");
const DELETE_KEYS_OF: &str = include_str!("delete_keys_of.sql");
const PURGE_EXPIRED: &str = include_str!("purge_expired.sql");

#[async_trait]
impl TrustedIssuerRepository for PostgresStore {
    async fn insert(&self, trusted: &TrustedIssuer) -> Result<bool, StoreError> {
        let key = serde_json::to_string(&trusted.jwk.public())
            .map_err(|error| StoreError::Invalid(error.to_string()))?;
        let subject = trusted.subject.as_deref().unwrap_or_default();
        let (issuer, key_id, scope) = (&trusted.issuer, &trusted.key_id, trusted.scope.as_str());
        storable::text("a trusted issuer", issuer)?;
        storable::text("the key id of a trusted issuer", key_id)?;
        storable::text("the subject of a trusted issuer", subject)?;
        storable::text("the scope of a trusted issuer", scope)?;
        storable::text("the key of a trusted issuer", &key)?;
        let (id, created_at, expires_at) =
            (trusted.id.as_uuid(), trusted.created_at.as_millis(), trusted.expires_at.as_millis());
        let inserted = self
            .write(INSERT, &[issuer, key_id, &subject, &id, &scope, &key, &created_at, &expires_at])
            .await?;
        Ok(!inserted.is_empty())
    }

    async fn find(&self, id: TrustId) -> Result<Option<TrustedIssuer>, StoreError> {
        let rows = self.read(FIND, &[&id.as_uuid()]).await?;
        Ok(rows.first().map(read).transpose()?)
    }

    async fn find_for(
        &self,
        issuer: &str,
        subject: &str,
        key_id: Option<&str>,
        now: Timestamp,
    ) -> Result<Vec<TrustedIssuer>, StoreError> {
        if !storable::may_be_found(&[Some(issuer), key_id]) {
            return Ok(Vec::new());
        }
        // What is trusted for any subject is trusted for one that nobody can be.
        let subject = if storable::may_be_found(&[Some(subject)]) { subject } else { "" };
        let rows = self.read(FIND_FOR, &[&issuer, &subject, &key_id, &now.as_millis()]).await?;
        Ok(rows.iter().map(read).collect::<Result<_, _>>()?)
    }

    async fn list(
        &self,
        issuer: Option<&str>,
        after: Option<TrustId>,
        limit: u32,
    ) -> Result<Vec<TrustedIssuer>, StoreError> {
        if !storable::may_be_found(&[issuer]) {
            return Ok(Vec::new());
        }
        let after = after.map(TrustId::as_uuid);
        let rows = self.read(LIST, &[&issuer, &after, &i64::from(limit)]).await?;
        Ok(rows.iter().map(read).collect::<Result<_, _>>()?)
    }

    async fn count_trusted(&self) -> Result<u64, StoreError> {
        let rows = self.read(COUNT_TRUSTED, &[]).await?;
        let counted: Option<i64> = rows.first().map(|row| column(row, 0)).transpose()?;
        Ok(counted.unwrap_or_default().unsigned_abs())
    }

    async fn keys_of(&self, issuer: &str, key_id: Option<&str>) -> Result<Vec<Jwk>, StoreError> {
        if !storable::may_be_found(&[Some(issuer), key_id]) {
            return Ok(Vec::new());
        }
        let rows = self.read(KEYS_OF, &[&issuer, &key_id]).await?;
        Ok(rows.iter().map(|row| read_key(row, 1)).collect::<Result<_, _>>()?)
    }

    async fn delete(&self, id: TrustId) -> Result<bool, StoreError> {
        let id = id.as_uuid();
        let committed = self.serial.commit(&Transaction::new().then(DELETE, vec![&id])).await?;
        Ok(committed.row().is_some() || committed.repeated)
    }

    async fn delete_keys_of(&self, issuer: &str, key_id: Option<&str>) -> Result<bool, StoreError> {
        if !storable::may_be_found(&[Some(issuer), key_id]) {
            return Ok(false);
        }
        let deletion = Transaction::new().then(DELETE_KEYS_OF, vec![&issuer, &key_id]);
        let committed = self.serial.commit(&deletion).await?;
        Ok(committed.row().is_some() || committed.repeated)
    }

    async fn purge_expired(&self, now: Timestamp, limit: u32) -> Result<u64, StoreError> {
        let purged = self.upkeep(PURGE_EXPIRED, &[&now.as_millis(), &i64::from(limit)]).await?;
        Ok(purged.len() as u64)
    }
}

fn read(row: &Row) -> Result<TrustedIssuer, Unreadable> {
    let unreadable = |cause: &dyn std::fmt::Display| Unreadable::new("trusted issuer", cause);
    Ok(TrustedIssuer {
        id: TrustId::from_uuid(column(row, 0)?),
        issuer: column(row, 1)?,
        subject: Some(column::<String>(row, 2)?).filter(|subject| !subject.is_empty()),
        scope: column::<&str>(row, 3)?.parse().map_err(|cause| unreadable(&cause))?,
        key_id: column(row, 4)?,
        jwk: read_key(row, 5)?,
        created_at: Timestamp::from_millis(column(row, 6)?),
        expires_at: Timestamp::from_millis(column(row, 7)?),
    })
}

fn read_key(row: &Row, place: usize) -> Result<Jwk, Unreadable> {
    serde_json::from_str(column(row, place)?).map_err(|cause| Unreadable::new("trusted issuer", &cause))
}
