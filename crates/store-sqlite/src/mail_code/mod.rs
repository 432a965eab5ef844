//! Codes that mails carry, on SQLite.

use async_trait::async_trait;
use rusqlite::{Row, params};
use sluice_commit::StoreError;
use sluice_identity::mail::{
    CodeByMail, CodePurpose, CodeRepository, MAX_CODE_TRIES, MailCode, QueuedMail, ShownCode, TakenCode,
};
use sluice_primitives::{AttemptId, IdentityId, Timestamp};

use crate::error::SqliteError;
use crate::mail;
use crate::row;
use crate::store::SqliteStore;
use crate::writer::Write;

const PUT: &str = include_str!("put.sql");
const HASH: &str = include_str!("hash.sql");
const TAKE: &str = include_str!("take.sql");
const SENT_TO: &str = include_str!("sent_to.sql");
const PURGE_EXPIRED: &str = include_str!("purge_expired.sql");
const FORGET: &str = include_str!("forget.sql");

/// Deletes the codes of a person.
pub(crate) fn forget(write: &mut Write<'_>, identity: IdentityId) -> Result<(), SqliteError> {
    write.delete("mail_code", FORGET, [identity.as_bytes()]).map(drop)
}

/// Refuses a code, or a mail of it, that cannot be stored.
pub(crate) fn check(code: &MailCode, mail: &QueuedMail) -> Result<(), StoreError> {
    row::check("email", &code.email)?;
    mail::check(mail)
}

/// Puts a code and queues its mail, unless this attempt has.
pub(crate) fn put(write: &mut Write<'_>, put: &CodeByMail) -> Result<(), SqliteError> {
    let CodeByMail { code, mail } = put;
    let values = params![
        code.identity.as_bytes(),
        code.purpose.stored(),
        code.hash,
        code.email,
        code.expires_at.as_millis(),
        MAX_CODE_TRIES,
        code.attempt.as_bytes(),
    ];
    if write.insert("mail_code", PUT, values)? == 1 {
        mail::queue(write, mail)?;
    }
    Ok(())
}

fn taken(row: &Row<'_>) -> Result<TakenCode, SqliteError> {
    let is_right = row.get(0)?;
    Ok(if is_right { TakenCode::Right { email: row.get(1)? } } else { TakenCode::Wrong })
}

#[async_trait]
impl CodeRepository for SqliteStore {
    async fn put(&self, code: &MailCode, mail: &QueuedMail) -> Result<(), StoreError> {
        check(code, mail)?;
        let both = CodeByMail { code: code.clone(), mail: mail.clone() };
        self.write(move |write| put(write, &both)).await
    }

    async fn take(
        &self,
        identity: IdentityId,
        purpose: CodePurpose,
        code: ShownCode<'_>,
        (now, attempt): (Timestamp, AttemptId),
    ) -> Result<TakenCode, StoreError> {
        let (hashes, by_link, keeps) = (code.hashes.to_vec(), code.by_link, code.keeps);
        let rows = self.write(move |write| {
            let kept = write.row(HASH, (identity.as_bytes(), purpose.stored()), |row| Ok(row.get(0)?))?;
            let is_kept = |hash: &&[u8; 32]| kept == Some(**hash);
            let hash = hashes.iter().find(is_kept).copied().unwrap_or_default();
            let (identity, attempt, now) = (identity.as_bytes(), attempt.as_bytes(), now.as_millis());
            let code = (identity, purpose.stored(), hash, now, attempt, by_link, keeps);
            write.updated("mail_code", TAKE, code, taken)
        });
        Ok(rows.await?.pop().unwrap_or(TakenCode::Gone))
    }

    async fn sent_to(
        &self,
        identity: IdentityId,
        purpose: CodePurpose,
        hashes: &[[u8; 32]],
        now: Timestamp,
    ) -> Result<Option<String>, StoreError> {
        let hashes = hashes.to_vec();
        self.read(move |read| {
            let code = (identity.as_bytes(), purpose.stored(), now.as_millis());
            let kept: Option<([u8; 32], String)> =
                read.row(SENT_TO, code, |row| Ok((row.get(0)?, row.get(1)?)))?;
            Ok(kept.filter(|(hash, _)| hashes.contains(hash)).map(|(_, email)| email))
        })
        .await
    }

    async fn purge_expired(&self, before: Timestamp, limit: u32) -> Result<u64, StoreError> {
        self.write(move |write| {
            Ok(row::count(write.delete("mail_code", PURGE_EXPIRED, (before.as_millis(), limit))?))
        })
        .await
    }
}
