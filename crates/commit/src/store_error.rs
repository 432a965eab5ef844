//! What every repository method answers when a store cannot do what was asked.

use thiserror::Error;

use crate::error::{Cause, SubmitError};

/// Why a store did not do what was asked. Says nothing about rules: those have outcomes of their own.
#[derive(Debug, Clone, Error)]
pub enum StoreError {
    /// Too much waits already: nothing was written; try later.
    #[error("the store has too much to do")]
    Busy,
    /// The store cannot be reached, did not answer in time, or refused after an attempt of which nobody heard. Whether something was
    /// written is unknown; perhaps nothing was sent.
    #[error("the store cannot be reached")]
    Unavailable(#[source] Option<Cause>),
    /// The value cannot be stored (too long, or with characters that the store cannot hold). Nothing was written.
    #[error("the value cannot be stored: {0}")]
    Invalid(String),
    /// The store refuses, whatever the values: its disk is full, it may not write, it lacks a table. Nothing was written.
    #[error("the store refused, whatever the values")]
    Refused(#[source] Cause),
    /// Anything else that the store says no to. Nothing was written.
    #[error("the store refused")]
    Fault(#[source] Cause),
}

impl StoreError {
    /// A refusal with its cause.
    pub fn fault(cause: impl std::error::Error + Send + Sync + 'static) -> Self {
        Self::Fault(std::sync::Arc::new(cause))
    }

    /// A refusal that is nobody's value's fault, with its cause.
    pub fn refused(cause: impl std::error::Error + Send + Sync + 'static) -> Self {
        Self::Refused(std::sync::Arc::new(cause))
    }

    /// An unreachable store, with the cause.
    pub fn unavailable(cause: impl std::error::Error + Send + Sync + 'static) -> Self {
        Self::Unavailable(Some(std::sync::Arc::new(cause)))
    }

    /// Whether trying later may help: what 503 and `Retry-After` are for.
    pub const fn is_temporary(&self) -> bool {
        matches!(self, Self::Busy | Self::Unavailable(_))
    }
}

impl From<SubmitError> for StoreError {
    fn from(error: SubmitError) -> Self {
        match error {
            SubmitError::Full => Self::Busy,
            SubmitError::Closed => Self::Unavailable(None),
            SubmitError::Failed(cause) => Self::Fault(cause),
            SubmitError::Refused(cause) => Self::Refused(cause),
            SubmitError::Unavailable(cause) => Self::Unavailable(cause),
        }
    }
}
