//! Why there is no result.

use std::io;
use std::time::Duration;

use thiserror::Error;

use crate::account::AccountError;
use crate::driver::Failure;
use crate::target::TargetError;

/// A sentence for the terminal.
#[derive(Debug, Error)]
pub enum BenchError {
    /// There is nothing to measure.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// What it costs cannot be found out.
    #[error(transparent)]
    Account(#[from] AccountError),
    /// Something failed that is no operation of the run.
    #[error(transparent)]
    Driver(#[from] Failure),
    /// What the operations need could not be made.
    #[error("the scenario could not be prepared: {0}")]
    Prepare(#[source] Failure),
    /// After the run.
    #[error("the run could not be ended: {0}")]
    Finish(#[source] Failure),
    /// Every operation failed.
    #[error("no operation ended well: {0}")]
    Nothing(String),
    /// Some operations failed: how many, by what went wrong. What was measured is told all the same.
    #[error("not every operation ended well: {0}")]
    Failed(String),
    /// Options that do not go together.
    #[error("{0}")]
    Usage(String),
    /// Even the lowest rate that was tried is too much.
    #[error(
        "the server keeps up with no rate, not even {rate:.1}/s: 99 of 100 operations should have ended within {bound:?}. Say more with --p99-below, or measure for longer"
    )]
    NoKnee {
        /// Operations a second.
        rate: f64,
        /// How long one might take.
        bound: Duration,
    },
    /// What a run must show, and did not.
    #[error("{0}")]
    Verdict(&'static str),
    /// A file, or a signal.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// Ctrl-C.
    #[error("interrupted")]
    Interrupted,
}

impl BenchError {
    /// Whether the command was not understood, so that nothing was tried.
    pub(crate) const fn is_usage(&self) -> bool {
        matches!(
            self,
            Self::Usage(_)
                | Self::Target(
                    TargetError::Endpoint(_)
                        | TargetError::UnknownDsn(_)
                        | TargetError::ForeignDsn(_)
                        | TargetError::NoProcess(_)
                )
        )
    }
}
