//! The outbox of mails in memory.

use async_trait::async_trait;
use sluice_commit::StoreError;
use sluice_identity::mail::{LeasedMail, MailRepository, NEVER, QueuedMail};
use sluice_primitives::{AttemptId, Lifetime, Timestamp};
use uuid::Uuid;

use super::{Data, MemoryStore, check, count, due_first, purge};

#[derive(Debug)]
pub(super) struct Row {
    sealed: String,
    due_at: Timestamp,
    attempts: u32,
    dead: bool,
}

impl Data {
    /// Queues a mail, unless it was before.
    pub(super) fn queue_mail(&mut self, mail: &QueuedMail) {
        let row = || Row { sealed: mail.sealed.clone(), due_at: mail.due_at, attempts: 0, dead: false };
        self.mails.entry(mail.id).or_insert_with(row);
    }
}

#[async_trait]
impl MailRepository for MemoryStore {
    async fn queue(&self, mail: &QueuedMail) -> Result<(), StoreError> {
        check([mail.sealed.as_str()])?;
        self.write(|data| data.queue_mail(mail)).await
    }

    async fn lease(
        &self,
        now: Timestamp,
        lease: Lifetime,
        limit: u32,
    ) -> Result<Vec<LeasedMail>, StoreError> {
        self.write(|data| {
            let waiting = data.mails.iter().filter(|(_, row)| !row.dead && row.due_at <= now);
            let taken = due_first(waiting.map(|(id, row)| (row.due_at, *id)), limit);
            let mut leased = Vec::new();
            for id in taken {
                let Some(row) = data.mails.get_mut(&id) else { continue };
                row.due_at = now + lease;
                leased.push(LeasedMail { id, sealed: row.sealed.clone(), attempts: row.attempts });
            }
            leased
        })
        .await
    }

    async fn sent(&self, id: Uuid) -> Result<(), StoreError> {
        self.write(|data| drop(data.mails.remove(&id))).await
    }

    async fn failed(&self, id: Uuid, next: Option<Timestamp>) -> Result<(), StoreError> {
        self.write(|data| {
            if let Some(row) = data.mails.get_mut(&id) {
                row.attempts += 1;
                row.dead = next.is_none();
                row.due_at = next.unwrap_or(row.due_at);
            }
        })
        .await
    }

    async fn bring_forward(&self, id: Uuid, from: Timestamp, to: Timestamp) -> Result<(), StoreError> {
        self.write(|data| {
            if let Some(row) = data.mails.get_mut(&id).filter(|row| !row.dead && row.due_at == from) {
                row.due_at = to;
            }
        })
        .await
    }

    async fn depth(&self) -> Result<(u64, u64), StoreError> {
        Ok(self.read(|data| {
            let dead = data.mails.values().filter(|row| row.dead).count();
            let waiting = data.mails.values().filter(|row| !row.dead && row.due_at < NEVER).count();
            (u64::try_from(waiting).unwrap_or(u64::MAX), u64::try_from(dead).unwrap_or(u64::MAX))
        }))
    }

    async fn oldest_mail(&self) -> Result<Option<Timestamp>, StoreError> {
        Ok(self.read(|data| {
            data.mails
                .iter()
                .filter(|(_, row)| !row.dead && row.due_at < NEVER)
                .map(|(id, _)| AttemptId::from_uuid(*id).made_at())
                .min()
        }))
    }

    async fn purge_mails(&self, before: Timestamp, limit: u32) -> Result<u64, StoreError> {
        let is_over = |row: &Row| if row.dead { row.due_at < before } else { row.due_at == NEVER };
        self.write(|data| count(&purge(&mut data.mails, limit, is_over))).await
    }

    async fn sealed_mails(&self, after: Option<Uuid>, limit: u32) -> Result<Vec<(Uuid, String)>, StoreError> {
        Ok(self.read(|data| {
            let rest = data.mails.iter().filter(|(id, _)| after.is_none_or(|after| **id > after));
            let mut rest: Vec<_> = rest.map(|(id, row)| (*id, row.sealed.clone())).collect();
            rest.sort_unstable();
            rest.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
            rest
        }))
    }

    async fn reseal_mail(&self, id: Uuid, old: &str, new: &str) -> Result<bool, StoreError> {
        check([new])?;
        self.write(|data| {
            let row = data.mails.get_mut(&id).filter(|row| row.sealed == old);
            row.map(|row| new.clone_into(&mut row.sealed)).is_some()
        })
        .await
    }

    async fn drop_mail(&self, id: Uuid, sealed: &str) -> Result<(), StoreError> {
        self.write(|data| data.mails.retain(|own, row| *own != id || row.sealed != sealed)).await
    }
}
