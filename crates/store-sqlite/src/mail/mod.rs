//! The outbox of mails on SQLite. A lease is a due time in the future.

use async_trait::async_trait;
use rusqlite::{Row, params};
use sluice_commit::StoreError;
use sluice_identity::mail::{LeasedMail, MailRepository, NEVER, QueuedMail};
use sluice_primitives::{Lifetime, Timestamp};
use uuid::Uuid;

use crate::error::SqliteError;
use crate::row;
use crate::store::SqliteStore;
use crate::writer::Write;

const QUEUE: &str = include_str!("queue.sql");
const LEASE: &str = include_str!("lease.sql");
const SENT: &str = include_str!("sent.sql");
const FAILED: &str = include_str!("failed.sql");
const BRING_FORWARD: &str = include_str!("bring_forward.sql");
const DEPTH: &str = include_str!("depth.sql");
const OLDEST: &str = include_str!("oldest.sql");
const PURGE: &str = include_str!("purge.sql");
const SEALED: &str = include_str!("sealed.sql");
const RESEAL: &str = include_str!("reseal.sql");
const DROP: &str = include_str!("drop.sql");

/// Refuses a mail that cannot be stored.
pub(crate) fn check(mail: &QueuedMail) -> Result<(), StoreError> {
    row::check("mail", &mail.sealed)
}

/// Queues a mail, unless it was queued before.
pub(crate) fn queue(write: &mut Write<'_>, mail: &QueuedMail) -> Result<(), SqliteError> {
    write.insert("mail", QUEUE, params![mail.id.as_bytes(), mail.sealed, mail.due_at.as_millis()]).map(drop)
}

fn leased(row: &Row<'_>) -> Result<LeasedMail, SqliteError> {
    Ok(LeasedMail { id: Uuid::from_bytes(row.get(0)?), sealed: row.get(1)?, attempts: row.get(2)? })
}

#[async_trait]
impl MailRepository for SqliteStore {
    async fn queue(&self, mail: &QueuedMail) -> Result<(), StoreError> {
        check(mail)?;
        let mail = mail.clone();
        self.write(move |write| queue(write, &mail)).await
    }

    async fn lease(
        &self,
        now: Timestamp,
        lease: Lifetime,
        limit: u32,
    ) -> Result<Vec<LeasedMail>, StoreError> {
        let values = (now.as_millis(), (now + lease).as_millis(), limit);
        self.write(move |write| write.updated("mail", LEASE, values, leased)).await
    }

    async fn sent(&self, id: Uuid) -> Result<(), StoreError> {
        self.write(move |write| write.delete("mail", SENT, [id.as_bytes()]).map(drop)).await
    }

    async fn failed(&self, id: Uuid, next: Option<Timestamp>) -> Result<(), StoreError> {
        let next = next.map(Timestamp::as_millis);
        self.write(move |write| write.update("mail", FAILED, params![id.as_bytes(), next]).map(drop)).await
    }

    async fn bring_forward(&self, id: Uuid, from: Timestamp, to: Timestamp) -> Result<(), StoreError> {
        let (from, to) = (from.as_millis(), to.as_millis());
        self.write(move |write| {
            write.update("mail", BRING_FORWARD, params![id.as_bytes(), from, to]).map(drop)
        })
        .await
    }

    async fn depth(&self) -> Result<(u64, u64), StoreError> {
        let counts = |row: &Row<'_>| Ok((row::count_of(row, 0)?, row::count_of(row, 1)?));
        let depth = self.read(move |read| read.row(DEPTH, [NEVER.as_millis()], counts));
        Ok(depth.await?.unwrap_or_default())
    }

    async fn oldest_mail(&self) -> Result<Option<Timestamp>, StoreError> {
        let oldest = self.read(move |read| read.row(OLDEST, [NEVER.as_millis()], row::made_at_if_any));
        Ok(oldest.await?.flatten())
    }

    async fn purge_mails(&self, before: Timestamp, limit: u32) -> Result<u64, StoreError> {
        let values = (before.as_millis(), NEVER.as_millis(), limit);
        self.write(move |write| Ok(row::count(write.delete("mail", PURGE, values)?))).await
    }

    async fn sealed_mails(&self, after: Option<Uuid>, limit: u32) -> Result<Vec<(Uuid, String)>, StoreError> {
        let after = after.unwrap_or_default();
        let one = |row: &Row<'_>| Ok((Uuid::from_bytes(row.get(0)?), row.get(1)?));
        self.read(move |read| read.rows(SEALED, params![after.as_bytes(), limit], one)).await
    }

    async fn reseal_mail(&self, id: Uuid, old: &str, new: &str) -> Result<bool, StoreError> {
        row::check("mail", new)?;
        let (old, new) = (old.to_owned(), new.to_owned());
        self.write(move |write| Ok(write.update("mail", RESEAL, params![id.as_bytes(), old, new])? == 1))
            .await
    }

    async fn drop_mail(&self, id: Uuid, sealed: &str) -> Result<(), StoreError> {
        let sealed = sealed.to_owned();
        self.write(move |write| write.delete("mail", DROP, params![id.as_bytes(), sealed]).map(drop)).await
    }
}
