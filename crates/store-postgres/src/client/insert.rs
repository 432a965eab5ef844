//! Inserting clients: one statement for a batch, with what the feed tells of them.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use sluice_commit::{BoxError, CommitFailure, StoreError, Writer};
use sluice_oauth::client::{Client, encode};
use sluice_oauth::grant::Insertion;
use sluice_primitives::{Clock, NodeId};
use sluice_protocol::ClientId;
use sluice_token::Change;
use uuid::Uuid;

use crate::connection::Params;
use crate::error::{Failure, column};
use crate::feed::append::change_kind;
use crate::grant::Hot;
use crate::guess::Guess;
use crate::statistics::Kind;
use crate::storable;

const INSERT: &str = include_str!("insert.sql");
/// Of clients that are guessed not to be there: if one is, all of it fails, and nothing is written.
const INSERT_NEW: &str = include_str!("insert_new.sql");
/// What says that a client is there.
const KEY: &str = "client_pkey";
const ATTEMPTS: &str = include_str!("attempts.sql");

/// A client as it is stored.
pub(crate) struct NewClient {
    pub(super) id: ClientId,
    pub(super) revision: i64,
    pub(super) name: String,
    pub(super) owner: String,
    pub(super) document: String,
    pub(super) created_at: i64,
    pub(super) updated_at: i64,
    pub(super) attempt: Uuid,
}

impl NewClient {
    /// A client that can be stored.
    pub(crate) fn new(client: &Client, attempt: Uuid) -> Result<Self, StoreError> {
        let document = encode(client);
        storable::text("the name of a client", &client.name)?;
        storable::text("the owner of a client", &client.owner)?;
        storable::text("the metadata of a client", &document)?;
        Ok(Self {
            id: client.id.clone(),
            revision: client.revision,
            name: client.name.clone(),
            owner: client.owner.clone(),
            document,
            created_at: client.created_at.as_millis(),
            updated_at: client.updated_at.as_millis(),
            attempt,
        })
    }
}

/// Inserts batches of clients.
pub(crate) struct InsertClients {
    hot: Arc<Hot>,
    /// The origin of what the feed tells.
    node: NodeId,
    clock: Arc<dyn Clock>,
    guess: Guess,
}

impl Writer for InsertClients {
    type Op = NewClient;
    type Out = Insertion;

    fn key(op: &NewClient) -> u64 {
        // One hash on every node of one version; another order on another costs a deadlock that is tried again.
        let mut hasher = DefaultHasher::new();
        op.id.as_str().hash(&mut hasher);
        hasher.finish()
    }

    async fn commit(&mut self, batch: &[NewClient]) -> Result<Vec<Insertion>, CommitFailure> {
        let inserted = self.insert(batch).await.map_err(Failure::into_commit_failure)?;
        self.hot.counters.count(Kind::Other, 1, inserted);
        if inserted > 0 {
            self.hot.link.wake_readers();
        }
        if inserted == batch.len() {
            return Ok(vec![Insertion::Inserted; batch.len()]);
        }
        self.outcomes(batch).await.map_err(Failure::after_commit)
    }

    async fn reconnect(&mut self) -> Result<(), BoxError> {
        self.hot.reconnect().await
    }
}

impl InsertClients {
    /// Inserts clients on `hot`; what the feed tells of them comes from `node`.
    pub(crate) fn new(hot: Arc<Hot>, node: NodeId, clock: Arc<dyn Clock>) -> Self {
        Self { hot, node, clock, guess: Guess::default() }
    }

    /// How many of the batch were not there yet.
    async fn insert(&mut self, batch: &[NewClient]) -> Result<usize, Failure> {
        let texts = |of: fn(&NewClient) -> &str| batch.iter().map(of).collect::<Vec<_>>();
        let numbers = |of: fn(&NewClient) -> i64| batch.iter().map(of).collect::<Vec<_>>();
        let (ids, names) = (texts(|op| op.id.as_str()), texts(|op| &op.name));
        let (owners, documents) = (texts(|op| &op.owner), texts(|op| &op.document));
        let (revisions, created) = (numbers(|op| op.revision), numbers(|op| op.created_at));
        let updated = numbers(|op| op.updated_at);
        let attempts: Vec<Uuid> = batch.iter().map(|op| op.attempt).collect();
        let (node, now) = (self.node.as_uuid(), self.clock.now().as_millis());
        let kind = batch.first().map_or(0, |op| change_kind(&Change::Client(op.id.clone())));
        let params: Params<'_> = &[
            &ids, &revisions, &names, &owners, &documents, &created, &updated, &attempts, &node, &now, &kind,
        ];
        if self.guess.is_made(batch.len()) {
            let done = self.hot.link.query(INSERT_NEW, params).await;
            if self.guess.turned_out(done, &[KEY])? {
                return Ok(batch.len());
            }
        }
        let rows = self.hot.link.query(INSERT, params).await?;
        // A number that cannot be read is none that could be relied upon: then each is looked for.
        let inserted = rows.first().and_then(|row| column::<i64>(row, 0).ok());
        Ok(inserted.and_then(|inserted| usize::try_from(inserted).ok()).unwrap_or_default())
    }

    /// Who wrote the clients that are there: this attempt, now or before its answer was lost, or another.
    async fn outcomes(&self, batch: &[NewClient]) -> Result<Vec<Insertion>, Failure> {
        let ids: Vec<&str> = batch.iter().map(|op| op.id.as_str()).collect();
        let rows = self.hot.link.query(ATTEMPTS, &[&ids]).await?;
        let attempts: HashMap<&str, Uuid> =
            rows.iter().filter_map(|row| Some((column(row, 0).ok()?, column(row, 1).ok()?))).collect();
        let outcome = |op: &NewClient| {
            let own = attempts.get(op.id.as_str()) == Some(&op.attempt);
            if own { Insertion::Inserted } else { Insertion::Taken }
        };
        Ok(batch.iter().map(outcome).collect())
    }
}
