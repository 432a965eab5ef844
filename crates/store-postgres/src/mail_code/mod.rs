//! Codes that mails carry.

use async_trait::async_trait;
use sluice_commit::StoreError;
use sluice_identity::mail::{
    CodePurpose, CodeRepository, MAX_CODE_TRIES, MailCode, QueuedMail, ShownCode, TakenCode,
};
use sluice_primitives::{AttemptId, IdentityId, Timestamp};

use crate::PostgresStore;
use crate::error::column;
use crate::storable;

const PUT: &str = include_str!("put.sql");
const TAKE: &str = include_str!("take.sql");
const SENT_TO: &str = include_str!("sent_to.sql");
const PURGE_EXPIRED: &str = include_str!("purge_expired.sql");

#[async_trait]
impl CodeRepository for PostgresStore {
    async fn put(&self, code: &MailCode, mail: &QueuedMail) -> Result<(), StoreError> {
        storable::text("the email of a code", &code.email)?;
        storable::text("a mail", &mail.sealed)?;
        self.write_with_others(
            PUT,
            &[
                &code.identity.as_uuid(),
                &code.purpose.stored(),
                &code.hash.as_slice(),
                &code.email,
                &code.expires_at.as_millis(),
                &code.attempt.as_uuid(),
                &i32::try_from(MAX_CODE_TRIES).unwrap_or(i32::MAX),
                &mail.id,
                &mail.sealed,
                &mail.due_at.as_millis(),
            ],
        )
        .await
        .map(drop)
    }

    async fn take(
        &self,
        identity: IdentityId,
        purpose: CodePurpose,
        code: ShownCode<'_>,
        (now, attempt): (Timestamp, AttemptId),
    ) -> Result<TakenCode, StoreError> {
        let hashes: Vec<&[u8]> = code.hashes.iter().map(<[u8; 32]>::as_slice).collect();
        let (identity, purpose) = (identity.as_uuid(), purpose.stored());
        let (now, own, attempt) = (now.as_millis(), self.attempt(), attempt.as_uuid());
        let (by_link, keeps) = (code.by_link, code.keeps);
        let rows = self
            .write_with_others(TAKE, &[&identity, &purpose, &hashes, &now, &own, &attempt, &by_link, &keeps])
            .await?;
        let Some(row) = rows.first() else { return Ok(TakenCode::Gone) };
        let is_right: bool = column(row, 0)?;
        Ok(if is_right { TakenCode::Right { email: column(row, 1)? } } else { TakenCode::Wrong })
    }

    async fn sent_to(
        &self,
        identity: IdentityId,
        purpose: CodePurpose,
        hashes: &[[u8; 32]],
        now: Timestamp,
    ) -> Result<Option<String>, StoreError> {
        let hashes: Vec<&[u8]> = hashes.iter().map(<[u8; 32]>::as_slice).collect();
        let (identity, purpose, now) = (identity.as_uuid(), purpose.stored(), now.as_millis());
        let rows = self.read(SENT_TO, &[&identity, &purpose, &hashes, &now]).await?;
        Ok(rows.first().map(|row| column(row, 0)).transpose()?)
    }

    async fn purge_expired(&self, before: Timestamp, limit: u32) -> Result<u64, StoreError> {
        let purged = self.upkeep(PURGE_EXPIRED, &[&before.as_millis(), &i64::from(limit)]).await?;
        Ok(purged.len() as u64)
    }
}
