//! The outbox of mails. They are put here by themselves, with a code, with a registration, with a change, or with what they tell of:
//! see `mail_code/put.sql`, `identity/register_with_letters.sql`, `identity/change.sql`, `identity/delete.sql`, `factor/add.sql`,
//! `factor/remove.sql`, `factor/raise_revision.sql` and `factor/spend_code.sql`.

use async_trait::async_trait;
use sluice_commit::StoreError;
use sluice_identity::mail::{LeasedMail, MailRepository, NEVER, QueuedMail};
use sluice_primitives::{Lifetime, Timestamp};
use tokio_postgres::Row;
use uuid::Uuid;

use crate::PostgresStore;
use crate::error::{Unreadable, column, made_at};
use crate::storable;

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
/// How far mails are counted.
const COUNTED: i64 = 100_000;

/// Id, text and due time of a mail that is queued with something else.
pub(crate) type Columns<'a> = (Option<Uuid>, Option<&'a str>, Option<i64>);

/// The columns of a notice, if there is one and it can be stored.
pub(crate) fn columns(notice: Option<&QueuedMail>) -> Result<Columns<'_>, StoreError> {
    let sealed = notice.map(|mail| mail.sealed.as_str());
    storable::texts(&[("a mail", sealed)])?;
    Ok((notice.map(|mail| mail.id), sealed, notice.map(|mail| mail.due_at.as_millis())))
}

#[async_trait]
impl MailRepository for PostgresStore {
    async fn queue(&self, mail: &QueuedMail) -> Result<(), StoreError> {
        storable::text("a mail", &mail.sealed)?;
        self.write(QUEUE, &[&mail.id, &mail.sealed, &mail.due_at.as_millis()]).await.map(drop)
    }

    async fn lease(
        &self,
        now: Timestamp,
        lease: Lifetime,
        limit: u32,
    ) -> Result<Vec<LeasedMail>, StoreError> {
        let until = (now + lease).as_millis();
        let rows = self.upkeep(LEASE, &[&now.as_millis(), &until, &i64::from(limit)]).await?;
        Ok(rows.iter().map(read).collect::<Result<_, _>>()?)
    }

    async fn sent(&self, id: Uuid) -> Result<(), StoreError> {
        self.note(SENT, &[&id]).await
    }

    async fn failed(&self, id: Uuid, next: Option<Timestamp>) -> Result<(), StoreError> {
        self.note(FAILED, &[&id, &next.map(Timestamp::as_millis)]).await
    }

    async fn bring_forward(&self, id: Uuid, from: Timestamp, to: Timestamp) -> Result<(), StoreError> {
        self.write(BRING_FORWARD, &[&id, &from.as_millis(), &to.as_millis()]).await.map(drop)
    }

    async fn depth(&self) -> Result<(u64, u64), StoreError> {
        let rows = self.look_at_work(DEPTH, &[&NEVER.as_millis(), &COUNTED]).await?;
        let row = rows.first().ok_or_else(|| Unreadable::new("outbox", &"no row"))?;
        let count = |place| column::<i64>(row, place).map(i64::unsigned_abs);
        Ok((count(0)?, count(1)?))
    }

    async fn oldest_mail(&self) -> Result<Option<Timestamp>, StoreError> {
        let rows = self.look_at_work(OLDEST, &[&NEVER.as_millis()]).await?;
        Ok(rows.first().map(made_at).transpose()?)
    }

    async fn purge_mails(&self, before: Timestamp, limit: u32) -> Result<u64, StoreError> {
        let (before, never) = (before.as_millis(), NEVER.as_millis());
        Ok(self.upkeep(PURGE, &[&before, &never, &i64::from(limit)]).await?.len() as u64)
    }

    async fn sealed_mails(&self, after: Option<Uuid>, limit: u32) -> Result<Vec<(Uuid, String)>, StoreError> {
        let rows = self.read(SEALED, &[&after.unwrap_or_default(), &i64::from(limit)]).await?;
        let mails = rows.iter().map(|row| Ok((column(row, 0)?, column(row, 1)?)));
        Ok(mails.collect::<Result<_, Unreadable>>()?)
    }

    async fn reseal_mail(&self, id: Uuid, old: &str, new: &str) -> Result<bool, StoreError> {
        storable::text("a mail", new)?;
        Ok(!self.write(RESEAL, &[&id, &old, &new]).await?.is_empty())
    }

    async fn drop_mail(&self, id: Uuid, sealed: &str) -> Result<(), StoreError> {
        self.write(DROP, &[&id, &sealed]).await.map(drop)
    }
}

fn read(row: &Row) -> Result<LeasedMail, Unreadable> {
    Ok(LeasedMail {
        id: column(row, 0)?,
        sealed: column(row, 1)?,
        attempts: column::<i32>(row, 2)?.unsigned_abs(),
    })
}
