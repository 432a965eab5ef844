//! Why an operation did not do what it should.

use std::io;

use thiserror::Error;

/// Counted under its text: the texts of one kind are the same, whatever was asked.
#[derive(Debug, Error)]
pub enum Failure {
    /// The server cannot be reached, or the connection broke.
    #[error("connection: {}", .0.kind())]
    Connection(#[from] io::Error),
    /// What came is not HTTP/1.1.
    #[error("not an HTTP/1.1 response")]
    Malformed,
    /// The answer took longer than a request may.
    #[error("no answer within {0} s")]
    TimedOut(u64),
    /// Another status than the one that says success.
    #[error("{step}: status {status}")]
    Status {
        /// What was asked.
        step: &'static str,
        /// What was answered.
        status: u16,
    },
    /// Success, without what should come with it.
    #[error("{step}: {missing} is missing")]
    Incomplete {
        /// What was asked.
        step: &'static str,
        /// What the answer lacks.
        missing: &'static str,
    },
    /// The scenario cannot be set up.
    #[error("{0}")]
    Setup(String),
}
