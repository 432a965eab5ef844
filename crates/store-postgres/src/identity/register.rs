//! Registering identities: one statement for a batch, two rows each; four with what is written to their addresses.

use std::collections::HashMap;
use std::sync::Arc;

use sluice_commit::{CommitFailure, Writer};
use sluice_identity::identity::{NewIdentity, Registration};
use sluice_primitives::Timestamp;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use super::letters::Letters;
use super::stored_status;
use crate::error::{Failure, Unreadable, column};
use crate::grant::Hot;
use crate::guess::Guess;
use crate::statistics::Kind;

const REGISTER_NEW: &str = include_str!("register_new.sql");
const REGISTER: &str = include_str!("register.sql");
const REGISTER_WITH_LETTERS: &str = include_str!("register_with_letters.sql");
/// The constraint that lets a name be taken once.
const NAMES: &str = "login_name_pkey";
/// The constraint that lets an id be given once.
const IDS: &str = "identity_pkey";

/// Registers batches of identities.
pub(crate) struct RegisterIdentities {
    hot: Arc<Hot>,
    guess: Guess,
}

impl Writer for RegisterIdentities {
    type Op = NewIdentity;
    type Out = Registration;

    /// The front of the hash, so that a batch is in the order of its names.
    fn key(op: &NewIdentity) -> u64 {
        op.identity.login_name.first_chunk().map_or(0, |front| u64::from_be_bytes(*front))
    }

    async fn commit(&mut self, batch: &[NewIdentity]) -> Result<Vec<Registration>, CommitFailure> {
        let found = match self.register_or_look_again(batch).await {
            Ok(found) => found,
            Err(failure) if failure.is_duplicate_in(NAMES) => {
                return Err(CommitFailure::Busy(Box::new(failure)));
            }
            Err(failure) => return Err(failure.into_commit_failure()),
        };
        self.hot.counters.count(Kind::Registration, 1, batch.len());
        // It is written: whoever cannot read what else was said sends it again.
        outcomes(batch, &found).map_err(|unreadable| CommitFailure::Lost(Box::new(unreadable)))
    }

    async fn reconnect(&mut self) -> Result<(), sluice_commit::BoxError> {
        self.hot.reconnect().await
    }
}

impl RegisterIdentities {
    pub(crate) fn new(hot: Arc<Hot>) -> Self {
        Self { hot, guess: Guess::default() }
    }

    /// As [`Self::register`], with a second look if an id is there already. It may be that of this very attempt: its answer was
    /// lost, and it was committed after this statement had found the name free; then the name tells now. If the id is somebody
    /// else's, it is again.
    async fn register_or_look_again(&mut self, batch: &[NewIdentity]) -> Result<Vec<Row>, Failure> {
        let (columns, letters) = (Columns::of(batch), Letters::of(batch));
        if letters.is_none() && self.guess.is_made(batch.len()) && self.register_new(&columns).await? {
            return Ok(Vec::new());
        }
        match self.register(&columns, letters.as_ref()).await {
            Err(failure) if failure.is_duplicate_in(IDS) => self.register(&columns, letters.as_ref()).await,
            registered => registered,
        }
    }

    /// Whether all of a batch is registered, which nobody was before.
    async fn register_new(&mut self, columns: &Columns<'_>) -> Result<bool, Failure> {
        let done = self.hot.link.query(REGISTER_NEW, &columns.values()).await;
        self.guess.turned_out(done, &[NAMES, IDS])
    }

    /// A row for each of the batch whose name was not free: its id, and the attempt that got the name.
    async fn register(
        &self,
        columns: &Columns<'_>,
        letters: Option<&Letters<'_>>,
    ) -> Result<Vec<Row>, Failure> {
        match letters {
            None => self.hot.link.query(REGISTER, &columns.values()).await,
            Some(letters) => {
                let values: Vec<_> = columns.values().into_iter().chain(letters.values()).collect();
                self.hot.link.query(REGISTER_WITH_LETTERS, &values).await
            }
        }
    }
}

/// The identities of a batch, column by column.
struct Columns<'a> {
    ids: Vec<Uuid>,
    attempts: Vec<Uuid>,
    created: Vec<i64>,
    statuses: Vec<i16>,
    names: Vec<&'a [u8]>,
    emails: Vec<&'a str>,
    usernames: Vec<&'a str>,
    credentials: Vec<&'a str>,
    due: Vec<Option<i64>>,
    verified: Vec<Option<i64>>,
}

impl<'a> Columns<'a> {
    fn of(batch: &'a [NewIdentity]) -> Self {
        let batch = || batch.iter().map(|op| &op.identity);
        Self {
            ids: batch().map(|identity| identity.id.as_uuid()).collect(),
            attempts: batch().map(|identity| identity.attempt.as_uuid()).collect(),
            created: batch().map(|identity| identity.created_at.as_millis()).collect(),
            statuses: batch().map(|identity| stored_status(identity.status)).collect(),
            names: batch().map(|identity| identity.login_name.as_slice()).collect(),
            emails: batch().map(|identity| identity.email.as_str()).collect(),
            usernames: batch().map(|identity| identity.username.as_str()).collect(),
            credentials: batch().map(|identity| identity.credential.as_str()).collect(),
            due: batch()
                .map(|identity| identity.hardening.then(|| identity.created_at.as_millis()))
                .collect(),
            verified: batch().map(|identity| identity.email_verified_at.map(Timestamp::as_millis)).collect(),
        }
    }

    /// In the order of the placeholders.
    fn values(&self) -> [&(dyn ToSql + Sync); 10] {
        [
            &self.ids,
            &self.attempts,
            &self.created,
            &self.statuses,
            &self.names,
            &self.emails,
            &self.usernames,
            &self.credentials,
            &self.due,
            &self.verified,
        ]
    }
}

/// Whoever has the name: this attempt, now or before its answer was lost, or another.
fn outcomes(batch: &[NewIdentity], found: &[Row]) -> Result<Vec<Registration>, Unreadable> {
    let read = |row: &Row| Ok((column(row, 0)?, column(row, 1)?));
    let found: HashMap<Uuid, Option<Uuid>> = found.iter().map(read).collect::<Result<_, Unreadable>>()?;
    let outcome = |op: &NewIdentity| match found.get(&op.identity.id.as_uuid()) {
        Some(attempt) if *attempt != Some(op.identity.attempt.as_uuid()) => Registration::Taken,
        _ => Registration::Registered,
    };
    Ok(batch.iter().map(outcome).collect())
}
