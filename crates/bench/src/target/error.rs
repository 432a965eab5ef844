//! Why there is nothing to measure.

use std::error::Error as _;
use std::io;

use sluice_private_postgres::ClusterError;
use thiserror::Error;

use crate::driver::Failure;

/// For the terminal.
#[derive(Debug, Error)]
pub enum TargetError {
    /// A URL that cannot be used.
    #[error(transparent)]
    Endpoint(#[from] Failure),
    /// A file or a program of the harness.
    #[error("the harness could not set itself up: {0}")]
    Io(#[from] io::Error),
    /// No private PostgreSQL.
    #[error("there is no private PostgreSQL: {0}. Name one with --dsn, or use --dsn sqlite:")]
    Cluster(#[from] ClusterError),
    /// The database refused.
    #[error("the database of the run could not be made: {}", told(.0))]
    Database(#[from] tokio_postgres::Error),
    /// Nobody answers where a PostgreSQL is said to be.
    #[error("the database that --dsn names cannot be reached: {0}")]
    Unreachable(String),
    /// The server ended before it was ready.
    #[error("the server did not start: {0}")]
    Ended(String),
    /// The server is not ready yet.
    #[error("the server is not ready after {0} s: {1}")]
    NotReady(u64, String),
    /// What is behind the gateway does not answer.
    #[error("what is behind the gateway did not start: {0}")]
    Backend(String),
    /// A DSN of another kind.
    #[error("{0}: a DSN here begins with postgres:// or sqlite:")]
    UnknownDsn(String),
    /// The same, of a server that runs.
    #[error(
        "{0}: postgres:// and sqlite: are accounted for. Of another database leave --database-dsn out, and name a process of it with \
         --database-pid; --no-database says that the server keeps everything in its memory"
    )]
    ForeignDsn(String),
    /// A process that was named, and is none.
    #[error("there is no process {0} here")]
    NoProcess(u32),
    /// What only the database knows.
    #[error("{0}")]
    Account(String),
    /// Something is to be killed that was not started here.
    #[error("only a server and a database that were started here can be killed")]
    Foreign,
}

/// The server's own words where it said something; otherwise what happened, and why.
pub(crate) fn told(error: &tokio_postgres::Error) -> String {
    if let Some(said) = error.as_db_error() {
        return said.message().to_owned();
    }
    error.source().map_or_else(|| error.to_string(), |cause| format!("{error}: {cause}"))
}
