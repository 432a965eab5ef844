//! Clients on SQLite: the columns that are searched by, and one document of the rest.

use async_trait::async_trait;
use rusqlite::{Row, params};
use sluice_commit::StoreError;
use sluice_oauth::client::{Client, ClientFilter, ClientRepository, Replacement, decode, encode};
use sluice_oauth::grant::Insertion;
use sluice_primitives::Timestamp;
use sluice_protocol::ClientId;
use sluice_token::{Change, Marker, Target};

use crate::error::SqliteError;
use crate::row;
use crate::store::SqliteStore;

const INSERT: &str = include_str!("insert.sql");
const FIND: &str = include_str!("find.sql");
const REPLACE: &str = include_str!("replace.sql");
const EXISTS: &str = include_str!("exists.sql");
const DELETE: &str = include_str!("delete.sql");
const LIST: &str = include_str!("list.sql");
const COUNT: &str = include_str!("count.sql");

/// A client as the store keeps it.
struct ClientRow {
    id: ClientId,
    revision: i64,
    name: String,
    owner: String,
    document: String,
    created_at: i64,
    updated_at: i64,
}

impl ClientRow {
    fn of(client: &Client) -> Result<Self, StoreError> {
        let document = encode(client);
        row::check("name", &client.name)?;
        row::check("owner", &client.owner)?;
        row::check("client", &document)?;
        Ok(Self {
            id: client.id.clone(),
            revision: client.revision,
            name: client.name.clone(),
            owner: client.owner.clone(),
            document,
            created_at: client.created_at.as_millis(),
            updated_at: client.updated_at.as_millis(),
        })
    }
}

fn client(row: &Row<'_>) -> Result<Client, SqliteError> {
    let text = |column| row.get::<_, String>(column);
    let (id, name, owner, document) = (text(0)?, text(2)?, text(3)?, text(4)?);
    let times = (row::time(row, 5)?, row::time(row, 6)?);
    decode((&id, row.get(1)?, &name, &owner), times, &document).map_err(SqliteError::unreadable)
}

#[async_trait]
impl ClientRepository for SqliteStore {
    async fn insert(&self, client: &Client) -> Result<Insertion, StoreError> {
        let row = ClientRow::of(client)?;
        self.write(move |write| {
            let values = params![
                row.id.as_str(),
                row.revision,
                row.name,
                row.owner,
                row.document,
                row.created_at,
                row.updated_at
            ];
            if write.insert("client", INSERT, values)? == 0 {
                return Ok(Insertion::Taken);
            }
            write.change(&Change::Client(row.id.clone()))?;
            Ok(Insertion::Inserted)
        })
        .await
    }

    async fn find(&self, id: &ClientId) -> Result<Option<Client>, StoreError> {
        let id = id.clone();
        self.read(move |read| read.row(FIND, [id.as_str()], client)).await
    }

    async fn replace(&self, client: &Client) -> Result<Replacement, StoreError> {
        let row = ClientRow::of(client)?;
        self.write(move |write| {
            let values = params![
                row.id.as_str(),
                row.revision,
                row.name,
                row.owner,
                row.document,
                row.created_at,
                row.updated_at
            ];
            if write.update("client", REPLACE, values)? == 1 {
                write.change(&Change::Client(row.id.clone()))?;
                return Ok(Replacement::Replaced);
            }
            let is_there = write.row(EXISTS, [row.id.as_str()], |_| Ok(()))?.is_some();
            Ok(if is_there { Replacement::Changed } else { Replacement::Unknown })
        })
        .await
    }

    async fn delete(
        &self,
        id: &ClientId,
        now: Timestamp,
        marker_expires_at: Timestamp,
    ) -> Result<bool, StoreError> {
        let id = id.clone();
        self.write(move |write| {
            if write.delete("client", DELETE, [id.as_str()])? == 0 {
                return Ok(false);
            }
            write.mark(&Marker {
                target: Target::Client(id.clone()),
                at: now,
                expires_at: marker_expires_at,
            })?;
            write.change(&Change::Client(id.clone()))?;
            Ok(true)
        })
        .await
    }

    async fn revoke_grants(
        &self,
        id: &ClientId,
        now: Timestamp,
        marker_expires_at: Timestamp,
    ) -> Result<(), StoreError> {
        let id = id.clone();
        self.write(move |write| {
            write.mark(&Marker {
                target: Target::Client(id.clone()),
                at: now,
                expires_at: marker_expires_at,
            })?;
            write.change(&Change::Client(id.clone()))
        })
        .await
    }

    async fn list(&self, filter: &ClientFilter) -> Result<Vec<Client>, StoreError> {
        let filter = filter.clone();
        self.read(move |read| {
            let after = filter.after.as_ref().map_or("", ClientId::as_str);
            read.rows(LIST, params![after, filter.name, filter.owner, filter.limit], client)
        })
        .await
    }

    async fn count(&self) -> Result<u64, StoreError> {
        let counted = self.read(|read| read.row(COUNT, [], |row| Ok(row.get::<_, i64>(0)?))).await?;
        Ok(counted.unwrap_or_default().unsigned_abs())
    }
}
