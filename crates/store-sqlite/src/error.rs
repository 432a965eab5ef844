//! Errors: what the engine says, and what follows from it for a batch ([`CommitFailure`]) and a caller ([`StoreError`]).

use std::sync::Arc;

use rusqlite::ErrorCode;
use sluice_commit::{CommitFailure, StoreError, chain};
use thiserror::Error;

use crate::obstacle::Obstacle;

/// What went wrong between this store and its file.
#[derive(Debug, Error)]
pub enum SqliteError {
    /// The engine's own error.
    #[error(transparent)]
    Engine(#[from] rusqlite::Error),
    /// The engine's own error, and what stands in its way.
    #[error("{}", chain(.engine))]
    Obstructed {
        /// What the engine says.
        engine: rusqlite::Error,
        /// What the operating system says.
        #[source]
        obstacle: Arc<Obstacle>,
    },
    /// The transaction may or may not be in the file.
    #[error("the commit failed, and its outcome is unknown")]
    CommitLost(#[source] Box<SqliteError>),
    /// A stored value that this version does not understand.
    #[error("a stored value cannot be read: {0}")]
    Unreadable(String),
    /// A statement's own code failed.
    #[error("the code of a statement panicked")]
    Panicked,
    /// The file cannot be made or opened.
    #[error("the database file cannot be opened")]
    File(#[from] std::io::Error),
    /// The path of the file leads to another by now, or to none.
    #[error("the database file was removed or replaced while it was open")]
    Replaced,
    /// What lies beside the file is not what was opened with it: others do not see what is written, and a crash loses it.
    #[error("the log of the database (-wal), or its index (-shm), was removed or replaced while it was open")]
    LogReplaced,
    /// The file was mounted without its directory, so that whoever opens it elsewhere has another log.
    #[error("the database file is mounted by itself: mount the directory that it and its log are in")]
    Mounted,
    /// The file has tables of somebody else, under a name of ours.
    #[error("this is the database of another program (Hydra's?): Sluice needs one of its own")]
    Foreign,
    /// The process can read the file, and not write it.
    #[error("the database file can be read, and not be written")]
    ReadOnly(#[source] Option<Arc<Obstacle>>),
    /// More waits for a thread of this store than may.
    #[error("too much waits for the database")]
    Overloaded,
    /// The store was shut down.
    #[error("the store is shut down")]
    Closed,
}

/// What must happen next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Consequence {
    /// Nothing was written: the same again, a little later.
    TryAgain,
    /// Nothing was written: the file does not take writes at all.
    Refused,
    /// Nothing was written: one of the rows is at fault.
    Poisoned,
    /// Nobody knows whether something was written: a new connection, then the same again.
    Reconnect,
}

impl SqliteError {
    pub(crate) fn consequence(&self) -> Consequence {
        match self {
            Self::Engine(error) | Self::Obstructed { engine: error, .. } => match error.sqlite_error_code() {
                Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked | ErrorCode::SchemaChanged) => {
                    Consequence::TryAgain
                }
                Some(
                    ErrorCode::DiskFull
                    | ErrorCode::ReadOnly
                    | ErrorCode::PermissionDenied
                    | ErrorCode::SystemIoFailure
                    | ErrorCode::CannotOpen
                    | ErrorCode::DatabaseCorrupt
                    | ErrorCode::NotADatabase
                    | ErrorCode::OutOfMemory
                    | ErrorCode::AuthorizationForStatementDenied,
                ) => Consequence::Refused,
                _ => Consequence::Poisoned,
            },
            Self::CommitLost(_) => Consequence::Reconnect,
            Self::Unreadable(_) | Self::Panicked => Consequence::Poisoned,
            Self::Overloaded => Consequence::TryAgain,
            Self::File(_)
            | Self::Replaced
            | Self::LogReplaced
            | Self::Mounted
            | Self::Foreign
            | Self::ReadOnly(_)
            | Self::Closed => Consequence::Refused,
        }
    }

    /// The same with what stands in the way, if it is that the files cannot be opened or written; then `obstacle` looks for it.
    pub(crate) fn explained_by(self, obstacle: impl FnOnce() -> Option<Arc<Obstacle>>) -> Self {
        match self {
            Self::Engine(engine) if is_of_the_files(&engine) => match obstacle() {
                Some(obstacle) => Self::Obstructed { engine, obstacle },
                None => Self::Engine(engine),
            },
            Self::CommitLost(error) => Self::CommitLost(Box::new(error.explained_by(obstacle))),
            Self::ReadOnly(None) => Self::ReadOnly(obstacle()),
            other => other,
        }
    }

    /// Whether it is the engine's word that the files cannot be opened, read or written.
    pub(crate) fn is_of_the_files(&self) -> bool {
        matches!(self, Self::Engine(engine) if is_of_the_files(engine))
    }

    /// A stored value that cannot be read, with the reason.
    pub(crate) fn unreadable(cause: impl std::fmt::Display) -> Self {
        Self::Unreadable(cause.to_string())
    }
}

/// Whether the operating system was asked for something and refused it. That a disk is full the engine says itself.
fn is_of_the_files(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(
            ErrorCode::ReadOnly
                | ErrorCode::PermissionDenied
                | ErrorCode::SystemIoFailure
                | ErrorCode::CannotOpen
        )
    )
}

/// The failure of a whole batch.
pub(crate) fn commit_failure(error: Arc<SqliteError>) -> CommitFailure {
    match error.consequence() {
        Consequence::TryAgain => CommitFailure::Busy(Box::new(error)),
        Consequence::Refused => CommitFailure::Refused(Box::new(error)),
        Consequence::Poisoned => CommitFailure::Poisoned(Box::new(error)),
        Consequence::Reconnect => CommitFailure::Lost(Box::new(error)),
    }
}

/// The answer to one caller.
pub(crate) fn store_error(error: Arc<SqliteError>) -> StoreError {
    match (&*error, error.consequence()) {
        (SqliteError::Overloaded, _) => StoreError::Busy,
        (SqliteError::Closed, _) => StoreError::Unavailable(None),
        (_, Consequence::TryAgain | Consequence::Reconnect) => StoreError::Unavailable(Some(error)),
        (_, Consequence::Refused) => StoreError::Refused(error),
        (_, Consequence::Poisoned) => StoreError::Fault(error),
    }
}

impl From<SqliteError> for StoreError {
    fn from(error: SqliteError) -> Self {
        store_error(Arc::new(error))
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use rusqlite::ffi;

    use super::*;

    fn said(code: i32) -> SqliteError {
        SqliteError::Engine(rusqlite::Error::SqliteFailure(ffi::Error::new(code), None))
    }

    fn engine(code: i32) -> Arc<SqliteError> {
        Arc::new(said(code))
    }

    fn read_only() -> Arc<Obstacle> {
        let cause = io::Error::from(io::ErrorKind::ReadOnlyFilesystem);
        Arc::new(Obstacle::Unwritable { path: "sluice.db".into(), cause })
    }

    #[test]
    fn an_error_of_the_files_says_what_stands_in_the_way_and_follows_as_before() {
        for code in [ffi::SQLITE_IOERR_WRITE, ffi::SQLITE_CANTOPEN, ffi::SQLITE_READONLY] {
            let explained = said(code).explained_by(|| Some(read_only()));
            assert_eq!(explained.consequence(), Consequence::Refused);
            let said = chain(&explained);
            assert!(said.contains(&format!("Error code {code}")), "{said}");
            assert!(
                said.ends_with("sluice.db cannot be written: read-only filesystem or storage medium"),
                "{said}"
            );
        }
        let lost = SqliteError::CommitLost(Box::new(said(ffi::SQLITE_IOERR_WRITE)))
            .explained_by(|| Some(read_only()));
        assert_eq!(lost.consequence(), Consequence::Reconnect);
        assert!(chain(&lost).contains("sluice.db cannot be written"), "{lost:?}");
        let refused = SqliteError::ReadOnly(None).explained_by(|| Some(read_only()));
        assert!(chain(&refused).contains("sluice.db cannot be written"), "{refused:?}");
    }

    #[test]
    fn the_system_is_not_asked_about_what_the_engine_says_itself() {
        for code in [ffi::SQLITE_FULL, ffi::SQLITE_BUSY, ffi::SQLITE_CONSTRAINT] {
            let explained = said(code).explained_by(|| panic!("{code}"));
            assert!(matches!(explained, SqliteError::Engine(_)));
        }
    }

    #[test]
    fn a_file_that_takes_no_writes_is_told_from_a_row_that_cannot_be_written() {
        for code in [ffi::SQLITE_FULL, ffi::SQLITE_READONLY, ffi::SQLITE_IOERR] {
            assert!(matches!(store_error(engine(code)), StoreError::Refused(_)), "{code}");
            assert!(matches!(commit_failure(engine(code)), CommitFailure::Refused(_)), "{code}");
        }
        for code in [ffi::SQLITE_CONSTRAINT, ffi::SQLITE_TOOBIG] {
            assert!(matches!(store_error(engine(code)), StoreError::Fault(_)), "{code}");
            assert!(matches!(commit_failure(engine(code)), CommitFailure::Poisoned(_)), "{code}");
        }
    }
}
