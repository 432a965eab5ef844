//! Commit: the group-commit queue. Writes that arrive together commit together.
//!
//! [`Writer`]: what a store gives, one statement for one kind of write; [`CommitFailure`] says what became of a batch.
//! [`Queue`]: what a repository calls, [`Queue::submit`] for one row; [`SubmitError`] is its refusal.
//! [`Config`]: batch size, depth and back-off. [`CommitMetrics`]: what an operator sees; [`StoreRefusals`]: of what goes past the
//! queues. [`chain()`]: what a log says of an error.
//!
//! How a row travels: `queue` picks the lane by the key's hash → `line` holds what waits, at most one op per key ready at
//! a time → `lane`, one task per writer, takes what is ready whenever its writer is free → `batch` halves what is
//! poisoned and gives each caller its own outcome, after the commit.
//!
//! There is no timer: an op goes at once when its lane is idle, with those that are ready to be submitted at that moment; the
//! next batch gathers while a commit is in flight, and [`Config::gathers`] says whether it goes at once when that ends.
//!
//! Not here: SQL, connections, transactions, and the attempt ids that make a retried statement harmless. Those are the
//! writer's.
//!
//! ```
//! # use std::{sync::Arc, time::Duration};
//! # use sluice_commit::{CommitFailure, CommitMetrics, Config, Queue, SubmitError, Writer};
//! struct Doubling;
//!
//! impl Writer for Doubling {
//!     type Op = u64;
//!     type Out = u64;
//!
//!     fn key(op: &u64) -> u64 {
//!         *op
//!     }
//!
//!     async fn commit(&mut self, batch: &[u64]) -> Result<Vec<u64>, CommitFailure> {
//!         Ok(batch.iter().map(|op| op * 2).collect())
//!     }
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), SubmitError> {
//! let queue = Queue::start(vec![Doubling, Doubling], Config::default(), Arc::new(CommitMetrics::default()));
//! let deadline = tokio::time::Instant::now() + Duration::from_secs(5);
//! assert_eq!(queue.submit(21, deadline).await?, 42);
//! queue.shutdown().await;
//! # Ok(())
//! # }
//! ```

mod batch;
mod chain;
mod config;
mod error;
mod lane;
mod line;
mod metrics;
mod queue;
mod refusals;
mod store_error;
mod writer;

pub use chain::chain;
pub use config::{Backoff, Config};
pub use error::{BoxError, Cause, CommitFailure, SubmitError};
pub use metrics::{CommitMetrics, HistogramSnapshot, MetricsSnapshot};
pub use queue::Queue;
pub use refusals::{Refusals, StoreRefusals};
pub use store_error::StoreError;
pub use writer::Writer;
