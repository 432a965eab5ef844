//! Errors: what PostgreSQL says, in terms of what must happen next.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use sluice_commit::{CommitFailure, StoreError, chain};
use sluice_primitives::{AttemptId, Timestamp};
use thiserror::Error;
use tokio_postgres::error::{DbError, SqlState};

/// Why a statement or a connection came to nothing.
#[derive(Debug, Clone, Error)]
pub(crate) enum Failure {
    /// The server or the driver said so. It is told whole, and has no source to be told again: what the server adds has values of rows in it.
    #[error("PostgreSQL: {}", describe(.0))]
    Postgres(Arc<tokio_postgres::Error>),
    /// The same while a connection was to be opened. Of one that starts it may be a mistake, once a node runs it is something that passes: what
    /// stands there was changed under it, is being started, or has no process left. With the name of the server, where the address has several.
    #[error("PostgreSQL{}: {}", at(.1), describe(.0))]
    Connecting(Arc<tokio_postgres::Error>, Origin),
    /// No connection within this time, and no word why.
    #[error("PostgreSQL opened no connection within {0:?}")]
    Unopened(Duration),
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
    /// The database keeps text in this encoding, which has no room for much of what people write.
    #[error(
        "the database keeps text as {0}, which has not all that people write: make another one for Sluice, by \
         CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0"
    )]
    Encoding(String),
    /// Somebody else makes an index that a migration needs, or may be doing so.
    #[error("an index of this database is being made")]
    IndexUnderWay,
    /// What was a session of the server goes over to another of its processes in between.
    #[error(
        "between Sluice and PostgreSQL stands a pooler that gives each transaction another session (pool_mode=transaction or \
         statement): prepared statements of other processes would run; use session mode"
    )]
    Pooled,
    /// Another process of the server answers than did at first, and goes on to.
    #[error(
        "what stands between Sluice and PostgreSQL has made its connection anew: nothing is there that was prepared"
    )]
    Moved,
    /// What the DSN sets by `options` does not reach the server, whose `search_path` is this one.
    #[error(
        "the DSN sets search_path by `options`, and the server has another ({0}): a pooler passes `options` over \
         (ignore_startup_parameters); leave them out, and say ALTER ROLE … SET search_path = …"
    )]
    OtherSearchPath(String),
    /// The store was shut down.
    #[error("the store is shut down")]
    Closed,
}

/// Which server of an address opened no connection.
#[derive(Debug, Clone, Default)]
pub(crate) struct Origin {
    /// Its name, where there are several.
    name: Option<Arc<str>>,
    /// Whether another of them did not answer, or not yet.
    is_another_away: bool,
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

/// How much is told by why one of several servers is not used: the more, the further down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Weight {
    /// None was asked.
    Nothing,
    /// It only follows another, as it should.
    Standby,
    /// It does not answer, or not yet.
    Away,
    /// It is there and lets nobody in.
    TurnedAway,
    /// It is there and has no place left.
    Full,
}

impl From<tokio_postgres::Error> for Failure {
    fn from(error: tokio_postgres::Error) -> Self {
        Self::Postgres(Arc::new(error))
    }
}

impl Failure {
    /// A connection that could not be opened.
    pub(crate) fn connecting(error: tokio_postgres::Error) -> Self {
        Self::Connecting(Arc::new(error), Origin::default())
    }

    /// The same, of the server with this name.
    pub(crate) fn of_server(self, name: Option<&Arc<str>>) -> Self {
        match self {
            Self::Connecting(error, origin) => {
                Self::Connecting(error, Origin { name: name.cloned(), ..origin })
            }
            other => other,
        }
    }

    /// The same, where another server of the address is away.
    pub(crate) fn while_another_is_away(self) -> Self {
        match self {
            Self::Connecting(error, origin) => {
                Self::Connecting(error, Origin { is_another_away: true, ..origin })
            }
            other => other,
        }
    }

    /// How much it tells where there are several servers.
    pub(crate) fn weight(&self) -> Weight {
        match self {
            Self::Closed => Weight::Nothing,
            Self::Standby => Weight::Standby,
            full if full.is_for_want_of_connections() => Weight::Full,
            other if other.is_turned_away() => Weight::TurnedAway,
            _ => Weight::Away,
        }
    }

    /// What must happen next.
    pub(crate) fn nature(&self) -> Nature {
        match self {
            Self::Silent(_) | Self::Late(_) | Self::Standby | Self::Connecting(..) | Self::Unopened(_) => {
                Nature::Lost
            }
            Self::Pooled | Self::Moved | Self::OtherSearchPath(_) => Nature::Lost,
            Self::IndexUnderWay => Nature::Busy,
            Self::Foreign | Self::Encoding(_) | Self::Closed => Nature::Refused,
            Self::Postgres(error) => nature_of_error(error),
        }
    }

    /// Whether the server is there and does not let this user in, or not into this database, or not by this kind of connection: a mistake
    /// at the start.
    pub(crate) fn is_turned_away(&self) -> bool {
        if matches!(self, Self::Pooled | Self::OtherSearchPath(_)) {
            return true;
        }
        let Self::Connecting(error, _) = self else { return false };
        error.code().is_some_and(|code| TURNED_AWAY.contains(code))
            || !matches!(nature_of_error(error), Nature::Lost | Nature::Busy)
    }

    /// Whether nothing is to be waited for at the start: who is turned away by one server waits for another that is away, which may be the primary.
    pub(crate) fn is_mistake(&self) -> bool {
        let may_pass = matches!(self, Self::Connecting(_, origin) if origin.is_another_away);
        self.is_turned_away() && !may_pass
    }

    /// Whether the server does not let this user in: neither does it the next moment, and over no other new connection.
    pub(crate) fn is_wrong_password(&self) -> bool {
        const WRONG: &[SqlState] =
            &[SqlState::INVALID_PASSWORD, SqlState::INVALID_AUTHORIZATION_SPECIFICATION];
        matches!(self, Self::Connecting(error, _) if error.code().is_some_and(|code| WRONG.contains(code)))
    }

    /// Whether the server, the database or the role has as many connections as it may.
    pub(crate) fn is_for_want_of_connections(&self) -> bool {
        matches!(self, Self::Connecting(error, _) if error.code() == Some(&SqlState::TOO_MANY_CONNECTIONS))
    }

    /// Whether the server is there and opens no other connection: those that are open go on. So they do after another password.
    pub(crate) fn opens_no_other(&self) -> bool {
        self.is_for_want_of_connections() || self.is_wrong_password()
    }

    /// Whether the server only reads.
    pub(crate) fn is_refusal_to_write(&self) -> bool {
        matches!(self, Self::Postgres(error) if error.code() == Some(&SqlState::READ_ONLY_SQL_TRANSACTION))
    }

    /// Whether a transaction that was sent may be committed all the same. Who is told what stood in its way is told that it was rolled back,
    /// unless the server went away meanwhile.
    pub(crate) fn may_be_committed(&self) -> bool {
        match self {
            Self::Silent(_) | Self::Late(_) => true,
            Self::Connecting(..) | Self::Unopened(_) | Self::Standby => false,
            Self::Pooled | Self::Moved | Self::OtherSearchPath(_) => false,
            Self::Foreign | Self::Encoding(_) | Self::IndexUnderWay | Self::Closed => false,
            Self::Postgres(error) => error.code().is_none_or(leaves_open),
        }
    }

    /// Whether it is said of a statement for what came before it in its transaction.
    pub(crate) fn is_for_another_statement(&self) -> bool {
        matches!(self, Self::Postgres(error) if error.code() == Some(&SqlState::IN_FAILED_SQL_TRANSACTION))
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
        matches!(self, Self::Postgres(error) | Self::Connecting(error, _) if error.code() == Some(&SqlState::INSUFFICIENT_PRIVILEGE))
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

/// When the id in the first column was made, as it tells.
pub(crate) fn made_at(row: &tokio_postgres::Row) -> Result<Timestamp, Unreadable> {
    Ok(AttemptId::from_uuid(column(row, 0)?).made_at())
}

/// What a server says while a connection is opened, and at no other time.
const TURNED_AWAY: &[SqlState] = &[
    SqlState::INVALID_PASSWORD,
    SqlState::INVALID_AUTHORIZATION_SPECIFICATION,
    SqlState::INVALID_CATALOG_NAME,
];

fn nature_of_error(error: &tokio_postgres::Error) -> Nature {
    match error.code() {
        Some(code) => nature_of(code),
        None if error.is_closed() || from_io(error) => Nature::Lost,
        None => Nature::Refused,
    }
}

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

/// Which of several servers it is.
fn at(origin: &Origin) -> String {
    origin.name.as_ref().map_or_else(String::new, |name| format!(" at {name}"))
}

/// The sentence and the code of the server, without its details and hints; or what the driver says, with its causes.
pub(crate) fn describe(error: &tokio_postgres::Error) -> String {
    let Some(said) = error.as_db_error() else { return explained(chain(error)) };
    let told = format!("{} ({})", said.message(), said.code().code());
    if is_mixed_up(said) {
        return format!("{told}; does a pooler stand between that shares connections among its clients?");
    }
    told
}

/// Whether a statement is unknown, or another's, whose values are others.
fn is_mixed_up(said: &DbError) -> bool {
    const UNKNOWN_OR_ANOTHER: &[SqlState] = &[
        SqlState::INVALID_SQL_STATEMENT_NAME,
        SqlState::DUPLICATE_PSTATEMENT,
        SqlState::INVALID_BINARY_REPRESENTATION,
        SqlState::DATATYPE_MISMATCH,
    ];
    let (code, message) = (said.code(), said.message());
    if *code == SqlState::PROGRAM_LIMIT_EXCEEDED {
        // The same is said of rows too large for an index.
        return message.contains("array");
    }
    if *code == SqlState::PROTOCOL_VIOLATION {
        return message.starts_with("bind message supplies");
    }
    UNKNOWN_OR_ANOTHER.contains(code)
}

/// Whether a pooler refused a transaction, since it gives each statement another session. PgBouncer says much else with this code.
pub(crate) fn is_pooling_of_statements(error: &tokio_postgres::Error) -> bool {
    let said = error.as_db_error().filter(|said| *said.code() == SqlState::PROTOCOL_VIOLATION);
    said.is_some_and(|said| said.message().contains("statement pooling"))
}

/// What the driver says, or, where that does not tell what is to be done, what does.
fn explained(told: String) -> String {
    const IN_OTHER_WORDS: &[(&str, &str)] = &[
        (
            "password missing",
            "the server wants a password: set it in the DSN, which has none (PGPASSWORD is not looked at)",
        ),
        (
            "UnsupportedCertVersion",
            "the server's certificate is X.509 version 1: make it with -extfile and a subjectAltName, or set sslmode=disable",
        ),
    ];
    let found = IN_OTHER_WORDS.iter().find(|(words, _)| told.contains(words));
    found.map_or(told, |(_, other)| (*other).to_owned())
}

#[cfg(test)]
mod tests;
