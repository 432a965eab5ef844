//! A lane: one kind of hot write behind a group-commit queue. A batch of it is one job of the writer.

use std::marker::PhantomData;
use std::sync::Arc;

use sluice_commit::{CommitFailure, CommitMetrics, Config, Queue, Writer};

use super::thread::WriterHandle;
use super::write::Write;
use crate::error::{SqliteError, commit_failure};

/// One kind of hot write.
pub(crate) trait Kind: Send + Sync + 'static {
    /// One row, with all that needs no connection done.
    type Op: Send + Sync + 'static;
    /// What became of it.
    type Out: Send + 'static;

    /// The hash of its key; see [`Writer::key`].
    fn key(op: &Self::Op) -> u64;

    /// Writes it, and says what became of it.
    fn write(write: &mut Write<'_>, op: &Self::Op) -> Result<Self::Out, SqliteError>;
}

/// The queue of a kind.
pub(crate) type Lane<K> = Queue<LaneWriter<K>>;

/// Starts the queue of a kind.
pub(crate) fn start_lane<K: Kind>(
    handle: &WriterHandle,
    config: Config,
    metrics: &Arc<CommitMetrics>,
) -> Lane<K> {
    let writer = LaneWriter { handle: handle.clone(), kind: PhantomData };
    Queue::start(vec![writer], config, metrics.clone())
}

/// Hands batches of one kind to the writer's thread.
pub(crate) struct LaneWriter<K> {
    handle: WriterHandle,
    kind: PhantomData<K>,
}

impl<K: Kind> Writer for LaneWriter<K> {
    type Op = Arc<K::Op>;
    type Out = K::Out;

    fn key(op: &Arc<K::Op>) -> u64 {
        K::key(op)
    }

    async fn commit(&mut self, batch: &[Arc<K::Op>]) -> Result<Vec<K::Out>, CommitFailure> {
        let ops = batch.to_vec();
        let written = self.handle.submit(move |write| ops.iter().map(|op| K::write(write, op)).collect());
        written.await.map_err(commit_failure)
    }
}
