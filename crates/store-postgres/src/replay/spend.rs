//! Spending things: one statement for a batch.

use std::collections::HashSet;
use std::sync::Arc;

use sluice_commit::{BoxError, CommitFailure, Writer};
use sluice_oauth::replay::ReplayKind;
use sluice_primitives::Timestamp;
use uuid::Uuid;

use crate::connection::Params;
use crate::error::{Failure, column};
use crate::grant::Hot;
use crate::statistics::Kind;

const SPEND: &str = include_str!("spend.sql");

/// A thing that is to be spent.
pub(crate) struct Spending {
    pub(super) kind: ReplayKind,
    pub(super) id_hash: [u8; 32],
    pub(super) attempt: Uuid,
    pub(super) now: Timestamp,
    pub(super) expires_at: Timestamp,
}

/// Spends batches of things. The statement tells which attempts have spent theirs, so one that was lost and comes again is among them.
pub(crate) struct SpendThings(pub(crate) Arc<Hot>);

impl Writer for SpendThings {
    type Op = Spending;
    type Out = bool;

    /// The front of the hash, so that a batch is in the order of its things, and has none of them twice.
    fn key(op: &Spending) -> u64 {
        op.id_hash.first_chunk().map_or(0, |front| u64::from_be_bytes(*front))
    }

    async fn commit(&mut self, batch: &[Spending]) -> Result<Vec<bool>, CommitFailure> {
        let spent = self.spend(batch).await.map_err(Failure::into_commit_failure)?;
        self.0.counters.count(Kind::Other, 1, batch.len());
        Ok(batch.iter().map(|op| spent.contains(&op.attempt)).collect())
    }

    async fn reconnect(&mut self) -> Result<(), BoxError> {
        self.0.reconnect().await
    }
}

impl SpendThings {
    /// The attempts of those that were not spent yet.
    async fn spend(&self, batch: &[Spending]) -> Result<HashSet<Uuid>, Failure> {
        let kinds: Vec<i16> = batch.iter().map(|op| op.kind as i16).collect();
        let hashes: Vec<&[u8]> = batch.iter().map(|op| op.id_hash.as_slice()).collect();
        let attempts: Vec<Uuid> = batch.iter().map(|op| op.attempt).collect();
        let ends: Vec<i64> = batch.iter().map(|op| op.expires_at.as_millis()).collect();
        let times: Vec<i64> = batch.iter().map(|op| op.now.as_millis()).collect();
        let params: Params<'_> = &[&kinds, &hashes, &attempts, &ends, &times];
        let rows = self.0.link.query(SPEND, params).await?;
        Ok(rows.iter().filter_map(|row| column(row, 0).ok()).collect())
    }
}
