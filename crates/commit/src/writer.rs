//! Writer: what a store implements for each kind of write.

use std::future::Future;

use crate::error::{BoxError, CommitFailure};

/// Commits batches of one kind of op, on a connection of its own. A queue owns one writer per lane.
///
/// # What a writer promises
/// - **Idempotent.** After [`CommitFailure::Lost`] it is given the same ops again, so each op carries an attempt id that
///   is stored with the row: "done, by my own attempt" is success. An attempt that was lost may even reach the store
///   after a later one, so the statement compares before it swaps.
/// - **All or nothing.** `Poisoned`, `Refused` and `Busy` are only said when nothing of the batch was written.
/// - **It returns.** Connecting and waiting for the store are bounded by the writer's own timeouts, which end in `Lost`.
///   Callers are answered at their deadlines in any case, but a lane waits for its writer.
pub trait Writer: Send + 'static {
    /// One row to write. Validated before it is submitted.
    type Op: Send + Sync + 'static;
    /// What became of one row: the answer its caller gets.
    type Out: Send + 'static;

    /// The hash of the row's key. It picks the lane, orders the batch, and tells ops on one row apart from others: no
    /// batch holds a hash twice. Well mixed in its low bits, and the same on every node, so that nodes lock rows in
    /// one order.
    fn key(op: &Self::Op) -> u64;

    /// Writes a batch in one transaction and returns the outcome of each op, in the order of the batch.
    ///
    /// The batch is never empty, sorted by [`key`](Self::key), and no key is in it twice. A panic counts as `Lost`.
    fn commit(
        &mut self,
        batch: &[Self::Op],
    ) -> impl Future<Output = Result<Vec<Self::Out>, CommitFailure>> + Send;

    /// Replaces the connection after [`CommitFailure::Lost`]. Called again, with back-off, while it fails and an op
    /// still waits. The default has nothing to reconnect.
    ///
    /// # Errors
    /// The store's own, if it cannot be reached.
    fn reconnect(&mut self) -> impl Future<Output = Result<(), BoxError>> + Send {
        async { Ok(()) }
    }
}
