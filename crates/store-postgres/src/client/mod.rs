//! Clients. [`insert`]: many at a time.

pub(crate) mod insert;

use async_trait::async_trait;
use sluice_commit::StoreError;
use sluice_oauth::client::{Client, ClientFilter, ClientRepository, Replacement, decode};
use sluice_oauth::grant::Insertion;
use sluice_primitives::Timestamp;
use sluice_protocol::ClientId;
use sluice_token::{Change, Marker, Target};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use crate::PostgresStore;
use crate::error::{Unreadable, column};
use crate::feed::append::{Changed, Counted, Markers};
use crate::serial::Transaction;
use crate::storable;
use insert::NewClient;

const REPLACE: &str = include_str!("replace.sql");
const WRITTEN_BY: &str = include_str!("written_by.sql");
const APPEND_CHANGE_IF_WRITTEN: &str = include_str!("append_change_if_written.sql");
const LOCK: &str = include_str!("lock.sql");
const APPEND_MARKER_IF_KNOWN: &str = include_str!("append_marker_if_known.sql");
const APPEND_CHANGE_IF_KNOWN: &str = include_str!("append_change_if_known.sql");
const DELETE: &str = include_str!("delete.sql");
const FIND: &str = include_str!("find.sql");
const LIST: &str = include_str!("list.sql");
const COUNT: &str = include_str!("count.sql");

#[async_trait]
impl ClientRepository for PostgresStore {
    async fn insert(&self, client: &Client) -> Result<Insertion, StoreError> {
        let new = NewClient::new(client, self.attempt())?;
        Ok(self.clients.submit(new, self.deadline()).await?)
    }

    async fn find(&self, id: &ClientId) -> Result<Option<Client>, StoreError> {
        let rows = self.read(FIND, &[&id.as_str()]).await?;
        Ok(rows.first().map(read).transpose()?)
    }

    async fn replace(&self, client: &Client) -> Result<Replacement, StoreError> {
        let new = NewClient::new(client, self.attempt())?;
        let changed = Changed::new(self, self.clock.now(), &Change::Client(client.id.clone()));
        let (counted, id) = (&changed.counted, new.id.as_str());
        let values: Vec<&(dyn ToSql + Sync)> = vec![
            &id,
            &new.revision,
            &new.name,
            &new.owner,
            &new.document,
            &new.created_at,
            &new.updated_at,
            &new.attempt,
        ];
        let transaction = counted
            .for_changes(Transaction::new().then(REPLACE, values))
            .then(
                APPEND_CHANGE_IF_WRITTEN,
                vec![&counted.node, &counted.at, &changed.kind, &id, &new.attempt],
            )
            .then(WRITTEN_BY, vec![&id, &new.attempt]);
        let committed = self.serial.commit(&transaction).await?;
        Ok(match committed.row().map(|row| column(row, 0)).transpose()? {
            Some(true) => Replacement::Replaced,
            Some(false) => Replacement::Changed,
            None => Replacement::Unknown,
        })
    }

    async fn delete(
        &self,
        id: &ClientId,
        now: Timestamp,
        marker_expires_at: Timestamp,
    ) -> Result<bool, StoreError> {
        let changed = Changed::new(self, now, &Change::Client(id.clone()));
        let counted = Counted::new(self, 1, now);
        let (id, kind, expires_at) =
            (id.as_str(), Target::Client(id.clone()).kind(), marker_expires_at.as_millis());
        let transaction = Transaction::new().then(LOCK, vec![&id]);
        let transaction = counted
            .for_revocations(transaction)
            .then(APPEND_MARKER_IF_KNOWN, vec![&counted.node, &counted.at, &expires_at, &kind, &id]);
        let transaction = changed
            .counted
            .for_changes(transaction)
            .then(APPEND_CHANGE_IF_KNOWN, vec![&counted.node, &counted.at, &changed.kind, &id])
            .then(DELETE, vec![&id]);
        let committed = self.serial.commit(&transaction).await?;
        Ok(committed.row().is_some() || committed.repeated)
    }

    async fn revoke_grants(
        &self,
        id: &ClientId,
        now: Timestamp,
        marker_expires_at: Timestamp,
    ) -> Result<(), StoreError> {
        let marker = Marker { target: Target::Client(id.clone()), at: now, expires_at: marker_expires_at };
        let markers = Markers::new(self, &[marker]);
        let changed = Changed::new(self, now, &Change::Client(id.clone()));
        let transaction = changed.append(markers.append(Transaction::new()));
        self.serial.commit(&transaction).await.map(drop)
    }

    async fn list(&self, filter: &ClientFilter) -> Result<Vec<Client>, StoreError> {
        if !storable::may_be_found(&[filter.name.as_deref(), filter.owner.as_deref()]) {
            return Ok(Vec::new());
        }
        let after = filter.after.as_ref().map(ClientId::as_str);
        let limit = i64::from(filter.limit);
        let rows = self.read(LIST, &[&after, &filter.name, &filter.owner, &limit]).await?;
        Ok(rows.iter().map(read).collect::<Result<_, _>>()?)
    }

    async fn count(&self) -> Result<u64, StoreError> {
        let rows = self.read(COUNT, &[]).await?;
        let counted: Option<i64> = rows.first().map(|row| column(row, 0)).transpose()?;
        Ok(counted.unwrap_or_default().unsigned_abs())
    }
}

fn read(row: &Row) -> Result<Client, Unreadable> {
    let (id, revision, name, owner) = (column(row, 0)?, column(row, 1)?, column(row, 2)?, column(row, 3)?);
    let times = (Timestamp::from_millis(column(row, 4)?), Timestamp::from_millis(column(row, 5)?));
    decode((id, revision, name, owner), times, column(row, 6)?)
        .map_err(|cause| Unreadable::new("client", &cause))
}
