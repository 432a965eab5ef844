//! What administrators and people do with records that are there.

use async_trait::async_trait;
use sluice_commit::StoreError;
use sluice_identity::identity::{
    Changed, IdentityChange, IdentityDirectory, IdentityFilter, IdentityPage, Removed,
};
use sluice_identity::mail::QueuedMail;
use sluice_primitives::{IdentityId, Timestamp};
use uuid::Uuid;

use super::{LOCK, change, read, removed, search};
use crate::PostgresStore;
use crate::feed::append::Counted;
use crate::serial::Transaction;
use crate::{mail, storable};

const LIST: &str = include_str!("list.sql");
const RESEAL_CREDENTIAL: &str = include_str!("reseal_credential.sql");
const DELETE: &str = include_str!("delete.sql");

#[async_trait]
impl IdentityDirectory for PostgresStore {
    async fn list(&self, filter: &IdentityFilter) -> Result<IdentityPage, StoreError> {
        if filter.limit == 0 {
            return Ok(IdentityPage::default());
        }
        if filter.text.is_some() || filter.status.is_some() {
            return search::search(self, filter).await;
        }
        let after = filter.after.map_or_else(Uuid::nil, IdentityId::as_uuid);
        // One more than is wanted tells whether there is a next page.
        let rows = self.read(LIST, &[&after, &(i64::from(filter.limit) + 1)]).await?;
        let limit = usize::try_from(filter.limit).unwrap_or(usize::MAX);
        let identities = rows.iter().take(limit).map(read).collect::<Result<Vec<_>, _>>()?;
        let next = identities.last().filter(|_| rows.len() > limit).map(|last| last.id);
        Ok(IdentityPage { identities, next })
    }

    async fn change(&self, change: &IdentityChange) -> Result<Changed, StoreError> {
        change::change(self, change).await
    }

    async fn reseal_credential(&self, id: IdentityId, old: &str, new: &str) -> Result<bool, StoreError> {
        storable::text("the credential of an identity", new)?;
        let resealed = self.write(RESEAL_CREDENTIAL, &[&id.as_uuid(), &old, &new]).await?;
        Ok(!resealed.is_empty())
    }

    async fn delete(
        &self,
        id: IdentityId,
        revision: Option<i64>,
        now: Timestamp,
        marker_expires_at: Timestamp,
        notice: Option<&QueuedMail>,
    ) -> Result<Removed, StoreError> {
        let (mail, sealed, due_at) = mail::columns(notice)?;
        let counted = Counted::new(self, 1, now);
        let (id, expires_at) = (id.as_uuid(), marker_expires_at.as_millis());
        let transaction = counted.for_revocations(Transaction::new().then(LOCK, vec![&id])).then(
            DELETE,
            vec![&id, &counted.at, &expires_at, &counted.node, &revision, &mail, &sealed, &due_at],
        );
        let committed = self.serial.commit(&transaction).await?;
        Ok(removed(&committed, revision)?)
    }
}
