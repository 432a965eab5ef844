//! Errors: what PostgreSQL says, in terms of what must happen next.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use sluice_commit::{CommitFailure, StoreError, chain};
use thiserror::Error;
use tokio_postgres::error::SqlState;

/// Why a statement or a connection came to nothing.
#[derive(Debug, Clone, Error)]
pub(crate) enum Failure {
    /// The server or the driver said so. It is told whole, and has no source to be told again: what the server adds has values of rows in it.
    #[error("PostgreSQL: {}", describe(.0))]
    Postgres(Arc<tokio_postgres::Error>),
    /// No answer within this time. The connection is given up.
    #[error("PostgreSQL did not answer within {0:?}")]
    Silent(Duration),
    /// The same, but others on the same connection had theirs: it stays, and the answer is no longer waited for.
    #[error("PostgreSQL did not come to it within {0:?}")]
    Late(Duration),
    /// The server follows another, and only reads. The connection is given up: its name may lead to another server by now.
    #[error("the server is a standby")]
    Standby,
    /// The database has tables of somebody else, under a name of ours.
    #[error("this is the database of another program (Hydra's?): Sluice needs one of its own")]
    Foreign,
    /// Somebody else makes an index that a migration needs, or may be doing so.
    #[error("an index of this database is being made")]
    IndexUnderWay,
    /// The store was shut down.
    #[error("the store is shut down")]
    Closed,
}

/// A stored row that this version cannot read.
#[derive(Debug, Error)]
#[error("a stored {what} cannot be read: {cause}")]
pub(crate) struct Unreadable {
    pub(crate) what: &'static str,
    pub(crate) cause: String,
}

/// What a failure means for the writes it hit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Nature {
    /// The connection is gone, or nobody waits for its answer any more; the outcome is unknown.
    Lost,
    /// Rolled back for contention; the same again may work.
    Busy,
    /// A value cannot be stored; rolled back.
    Poisoned,
    /// The store refuses, whatever the values; rolled back.
    Refused,
}

impl From<tokio_postgres::Error> for Failure {
    fn from(error: tokio_postgres::Error) -> Self {
        Self::Postgres(Arc::new(error))
    }
}

impl Failure {
    /// What must happen next.
    pub(crate) fn nature(&self) -> Nature {
        match self {
            Self::Silent(_) | Self::Late(_) | Self::Standby => Nature::Lost,
            Self::IndexUnderWay => Nature::Busy,
            Self::Foreign | Self::Closed => Nature::Refused,
            Self::Postgres(error) => match error.code() {
                Some(code) => nature_of(code),
                None if error.is_closed() || from_io(error) => Nature::Lost,
                None => Nature::Refused,
            },
        }
    }

    /// Whether the server is there and does not let this user in, or not into this database: a mistake at the start, and something that
    /// passes once a node runs, since the password or the database was changed under it.
    pub(crate) fn is_turned_away(&self) -> bool {
        matches!(self, Self::Postgres(error) if error.code().is_some_and(|code| TURNED_AWAY.contains(code)))
    }

    /// Whether the server, the database or the role has as many connections as it may.
    pub(crate) fn is_for_want_of_connections(&self) -> bool {
        matches!(self, Self::Postgres(error) if error.code() == Some(&SqlState::TOO_MANY_CONNECTIONS))
    }

    /// Whether a transaction that was sent may be committed all the same. Who is told what stood in its way is told that it was rolled back,
    /// unless the server went away meanwhile.
    pub(crate) fn may_be_committed(&self) -> bool {
        match self {
            Self::Silent(_) | Self::Late(_) => true,
            Self::Standby | Self::Foreign | Self::IndexUnderWay | Self::Closed => false,
            Self::Postgres(error) => error.code().is_none_or(leaves_open),
        }
    }

    /// Whether the connection is of no use any more.
    pub(crate) fn ends_session(&self) -> bool {
        self.nature() == Nature::Lost && !matches!(self, Self::Late(_))
    }

    /// The failure as a commit queue wants it.
    pub(crate) fn into_commit_failure(self) -> CommitFailure {
        match self.nature() {
            Nature::Lost => CommitFailure::Lost(Box::new(self)),
            Nature::Busy => CommitFailure::Busy(Box::new(self)),
            Nature::Poisoned => CommitFailure::Poisoned(Box::new(self)),
            Nature::Refused => CommitFailure::Refused(Box::new(self)),
        }
    }

    /// The failure of a statement behind one that is committed, as a commit queue wants it. Whatever the server says, something may be
    /// written; who sends the same again finds what is its own.
    pub(crate) fn after_commit(self) -> CommitFailure {
        CommitFailure::Lost(Box::new(self))
    }

    /// The failure as callers of a repository get it.
    pub(crate) fn into_store_error(self) -> StoreError {
        match self.nature() {
            Nature::Lost | Nature::Busy => StoreError::unavailable(self),
            Nature::Refused if matches!(self, Self::Closed) => StoreError::Unavailable(None),
            Nature::Refused => StoreError::refused(self),
            Nature::Poisoned => StoreError::fault(self),
        }
    }

    /// Whether the server said that the name is taken, or the thing there already.
    pub(crate) fn is_duplicate(&self) -> bool {
        let Self::Postgres(error) = self else { return false };
        error.code().is_some_and(|code| {
            [
                SqlState::UNIQUE_VIOLATION,
                SqlState::DUPLICATE_TABLE,
                SqlState::DUPLICATE_OBJECT,
                SqlState::DUPLICATE_SCHEMA,
            ]
            .contains(code)
        })
    }

    /// Whether the server said that this unique constraint would be broken.
    pub(crate) fn is_duplicate_in(&self, constraint: &str) -> bool {
        let Self::Postgres(error) = self else { return false };
        let said = error.as_db_error().filter(|said| *said.code() == SqlState::UNIQUE_VIOLATION);
        said.is_some_and(|said| said.constraint() == Some(constraint))
    }

    /// Whether a lock was not to be had in the time that was allowed for it.
    pub(crate) fn is_lock_timeout(&self) -> bool {
        matches!(self, Self::Postgres(error) if error.code() == Some(&SqlState::LOCK_NOT_AVAILABLE))
    }

    /// Whether the server said that this user has not the right.
    pub(crate) fn is_lack_of_rights(&self) -> bool {
        matches!(self, Self::Postgres(error) if error.code() == Some(&SqlState::INSUFFICIENT_PRIVILEGE))
    }

    /// Whether the server said that there is no such table.
    pub(crate) fn is_unknown_table(&self) -> bool {
        matches!(self, Self::Postgres(error) if error.code() == Some(&SqlState::UNDEFINED_TABLE))
    }

    /// Whether the server said that a table has no such column.
    pub(crate) fn is_unknown_column(&self) -> bool {
        matches!(self, Self::Postgres(error) if error.code() == Some(&SqlState::UNDEFINED_COLUMN))
    }
}

impl Unreadable {
    /// A stored `what`, and why it cannot be read.
    pub(crate) fn new(what: &'static str, cause: &dyn std::fmt::Display) -> Self {
        Self { what, cause: cause.to_string() }
    }
}

impl From<Unreadable> for StoreError {
    fn from(error: Unreadable) -> Self {
        Self::fault(error)
    }
}

/// Reads one column of a row.
pub(crate) fn column<'a, T: tokio_postgres::types::FromSql<'a>>(
    row: &'a tokio_postgres::Row,
    place: usize,
) -> Result<T, Unreadable> {
    row.try_get(place).map_err(|cause| Unreadable::new("row", &cause))
}

/// What a server says while a connection is opened, and at no other time.
const TURNED_AWAY: &[SqlState] = &[
    SqlState::INVALID_PASSWORD,
    SqlState::INVALID_AUTHORIZATION_SPECIFICATION,
    SqlState::INVALID_CATALOG_NAME,
];

fn nature_of(code: &SqlState) -> Nature {
    const BUSY: &[SqlState] = &[
        SqlState::T_R_SERIALIZATION_FAILURE,
        SqlState::T_R_DEADLOCK_DETECTED,
        SqlState::LOCK_NOT_AVAILABLE,
        SqlState::QUERY_CANCELED,
    ];
    // A new connection finds the new primary, prepares its statements anew, or gets a slot.
    const RECONNECT: &[SqlState] = &[
        SqlState::READ_ONLY_SQL_TRANSACTION,
        SqlState::FEATURE_NOT_SUPPORTED,
        SqlState::INVALID_SQL_STATEMENT_NAME,
        SqlState::DUPLICATE_PSTATEMENT,
        SqlState::TOO_MANY_CONNECTIONS,
        SqlState::ADMIN_SHUTDOWN,
        SqlState::CRASH_SHUTDOWN,
        SqlState::CANNOT_CONNECT_NOW,
        SqlState::IDLE_SESSION_TIMEOUT,
        SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT,
        SqlState::DATABASE_DROPPED,
    ];
    /// `transaction_timeout` of PostgreSQL 17, for which the driver has no name: it ends the connection.
    const TRANSACTION_TIMEOUT: &str = "25P04";
    let class = code.code().get(..2).unwrap_or_default();
    match class {
        _ if BUSY.contains(code) => Nature::Busy,
        _ if RECONNECT.contains(code) || TURNED_AWAY.contains(code) || class == "08" => Nature::Lost,
        _ if code.code() == TRANSACTION_TIMEOUT => Nature::Lost,
        // Wrong values, broken constraints, rows too large for an index.
        "21" | "22" | "23" | "54" => Nature::Poisoned,
        _ => Nature::Refused,
    }
}

/// Whether it is said of the connection or the server, whatever became of the transaction.
fn leaves_open(code: &SqlState) -> bool {
    const WENT_AWAY: &[SqlState] =
        &[SqlState::ADMIN_SHUTDOWN, SqlState::CRASH_SHUTDOWN, SqlState::CANNOT_CONNECT_NOW];
    WENT_AWAY.contains(code) || code.code().starts_with("08")
}

fn from_io(error: &tokio_postgres::Error) -> bool {
    let source = std::error::Error::source(error);
    // Not being able to connect at all has no kind of its own that could be asked for.
    source.is_some_and(<dyn std::error::Error>::is::<io::Error>)
        || error.to_string().starts_with("error connecting")
}

/// The sentence and the code of the server, without its details and hints; or what the driver says, with its causes.
fn describe(error: &tokio_postgres::Error) -> String {
    error
        .as_db_error()
        .map_or_else(|| chain(error), |said| format!("{} ({})", said.message(), said.code().code()))
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncWriteExt;
    use tokio_postgres::NoTls;

    use super::*;

    /// What the driver makes of these bytes of a server.
    async fn said_by_a_server(message: &[u8]) -> Failure {
        let (ours, mut theirs) = tokio::io::duplex(1024);
        theirs.write_all(message).await.unwrap();
        let connected = tokio_postgres::Config::new().user("sluice").connect_raw(ours, NoTls).await;
        connected.err().unwrap().into()
    }

    #[tokio::test]
    async fn what_a_server_says_is_told_once_and_without_values_of_rows() {
        let sentence = "null value in column \"status\" violates not-null constraint";
        let hint = "one line\nand another";
        let fields = format!(
            "SERROR\0VERROR\0C23502\0M{sentence}\0DFailing row contains (ada@example.com).\0H{hint}\0\0"
        );
        let length = u32::try_from(4 + fields.len()).unwrap();
        let message = [&b"E"[..], &length.to_be_bytes()[..], fields.as_bytes()].concat();
        let failure = said_by_a_server(&message).await;
        assert_eq!(chain(&failure), format!("PostgreSQL: {sentence} (23502)"));
        let told = chain(&failure.into_store_error());
        assert_eq!(told, format!("the store refused: PostgreSQL: {sentence} (23502)"));
    }

    #[tokio::test]
    async fn what_the_driver_says_is_told_with_its_cause() {
        // No message is shorter than its own length.
        let told = chain(&said_by_a_server(b"E\0\0\0\0").await);
        let cause = told.strip_prefix("PostgreSQL: error communicating with the server: ");
        assert!(cause.is_some_and(|cause| cause.starts_with("invalid message length")), "{told}");
    }

    #[test]
    fn contention_is_tried_again_and_a_bad_value_is_not() {
        assert_eq!(nature_of(&SqlState::T_R_SERIALIZATION_FAILURE), Nature::Busy);
        assert_eq!(nature_of(&SqlState::T_R_DEADLOCK_DETECTED), Nature::Busy);
        assert_eq!(nature_of(&SqlState::CHARACTER_NOT_IN_REPERTOIRE), Nature::Poisoned);
        assert_eq!(nature_of(&SqlState::UNIQUE_VIOLATION), Nature::Poisoned);
    }

    #[test]
    fn a_connection_is_given_up_if_it_is_silent_and_not_if_one_answer_is_late() {
        let (silent, late) = (Failure::Silent(Duration::ZERO), Failure::Late(Duration::ZERO));
        assert_eq!(
            (silent.nature(), late.nature()),
            (Nature::Lost, Nature::Lost),
            "who knows what became of it"
        );
        assert!(silent.ends_session() && !late.ends_session());
    }

    #[test]
    fn a_transaction_that_the_server_refused_is_not_committed() {
        assert!(Failure::Silent(Duration::ZERO).may_be_committed());
        assert!(Failure::Late(Duration::ZERO).may_be_committed());
        assert!(!Failure::Standby.may_be_committed());
        for (code, is_open) in
            [("08006", true), ("57P01", true), ("57P02", true), ("25006", false), ("0A000", false)]
        {
            assert_eq!(leaves_open(&SqlState::from_code(code)), is_open, "{code}");
        }
    }

    #[test]
    fn a_connection_that_is_not_ours_alone_or_was_idle_too_long_is_made_anew() {
        assert_eq!(nature_of(&SqlState::DUPLICATE_PSTATEMENT), Nature::Lost);
        for too_long in ["57P05", "25P03", "25P04"] {
            assert_eq!(nature_of(&SqlState::from_code(too_long)), Nature::Lost, "{too_long}");
        }
    }

    #[test]
    fn a_server_that_goes_away_is_lost_and_a_full_disk_is_not() {
        assert_eq!(nature_of(&SqlState::ADMIN_SHUTDOWN), Nature::Lost);
        assert_eq!(nature_of(&SqlState::CONNECTION_FAILURE), Nature::Lost);
        assert_eq!(nature_of(&SqlState::READ_ONLY_SQL_TRANSACTION), Nature::Lost);
        for turned_away in ["28P01", "28000", "3D000", "53300"] {
            assert_eq!(nature_of(&SqlState::from_code(turned_away)), Nature::Lost, "{turned_away}");
        }
        assert_eq!(nature_of(&SqlState::DISK_FULL), Nature::Refused);
        assert_eq!(nature_of(&SqlState::UNDEFINED_TABLE), Nature::Refused);
    }
}
