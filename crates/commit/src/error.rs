//! Errors: what a writer says about a batch ([`CommitFailure`]) and what a caller hears about its op ([`SubmitError`]).

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use thiserror::Error;

/// A store's own error, as a writer hands it in.
pub type BoxError = Box<dyn Error + Send + Sync>;

/// A store's own error, as callers get it: one error may answer many of them. `downcast_ref` finds the store's type.
pub type Cause = Arc<dyn Error + Send + Sync>;

/// Why a batch was not committed, in terms of what must happen next.
#[derive(Debug, Error)]
pub enum CommitFailure {
    /// One of the rows cannot be written, and the whole batch was rolled back: nothing was written. The batch is
    /// halved until the row stands alone, and fails alone.
    #[error("a row of the batch cannot be written")]
    Poisoned(#[source] BoxError),
    /// The store refuses to write, whatever the rows (disk full, permission), and the whole batch was rolled back.
    /// Every row fails at once: halving would only ask a sick store twice per row.
    #[error("the store refuses the batch")]
    Refused(#[source] BoxError),
    /// The connection is gone and the outcome unknown: the batch may be written, now or a moment later. The same ops
    /// are committed again after [`Writer::reconnect`](crate::Writer::reconnect), until their deadlines.
    #[error("the connection was lost during the commit")]
    Lost(#[source] BoxError),
    /// The batch was rolled back for contention (PostgreSQL 40001 and 40P01, `SQLITE_BUSY`): nothing was written. The
    /// same ops are committed again, until their deadlines.
    #[error("the batch met contention")]
    Busy(#[source] BoxError),
}

/// Until the deadline there was no answer, and no failure either.
#[derive(Debug, Error)]
#[error("no answer within {0:.1?}")]
pub(crate) struct NoAnswer(pub(crate) Duration);

/// Why an op has no outcome.
#[derive(Debug, Clone, Error)]
pub enum SubmitError {
    /// The lane holds as many waiting ops as it may, or as many stand behind the key. Nothing was written; try later.
    #[error("the commit queue is full")]
    Full,
    /// The queue is shut down. Nothing was written.
    #[error("the commit queue is closed")]
    Closed,
    /// The store refused this row. Nothing was written.
    #[error("the store refused the write")]
    Failed(#[source] Cause),
    /// The store refused the whole batch, as it would any other. Nothing was written.
    #[error("the store refused the batch")]
    Refused(#[source] Cause),
    /// The deadline passed without an answer of the store, or it refused after a connection was lost during the commit. The outcome is
    /// unknown. With what has ailed the store since the op was submitted, or that nothing was heard of it; none if the queue itself is
    /// gone.
    #[error("the store did not answer")]
    Unavailable(#[source] Option<Cause>),
}
