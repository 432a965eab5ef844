//! Registering identities: one statement for a batch, two rows each.

use std::collections::HashMap;
use std::sync::Arc;

use sluice_commit::{CommitFailure, Writer};
use sluice_identity::identity::{Identity, Registration};
use sluice_primitives::Timestamp;
use tokio_postgres::Row;
use uuid::Uuid;

use super::stored_status;
use crate::connection::Params;
use crate::error::{Failure, Unreadable, column};
use crate::grant::Hot;
use crate::statistics::Kind;

const REGISTER: &str = include_str!("register.sql");
/// The constraint that lets a name be taken once.
const NAMES: &str = "login_name_pkey";

/// Registers batches of identities.
pub(crate) struct RegisterIdentities(pub(crate) Arc<Hot>);

impl Writer for RegisterIdentities {
    type Op = Identity;
    type Out = Registration;

    /// The front of the hash, so that a batch is in the order of its names.
    fn key(op: &Identity) -> u64 {
        op.login_name.first_chunk().map_or(0, |front| u64::from_be_bytes(*front))
    }

    async fn commit(&mut self, batch: &[Identity]) -> Result<Vec<Registration>, CommitFailure> {
        let found = match self.register(batch).await {
            Ok(found) => found,
            Err(failure) if failure.is_duplicate_in(NAMES) => {
                return Err(CommitFailure::Busy(Box::new(failure)));
            }
            Err(failure) => return Err(failure.into_commit_failure()),
        };
        self.0.counters.count(Kind::Registration, 1, batch.len());
        // It is written: whoever cannot read what else was said sends it again.
        outcomes(batch, &found).map_err(|unreadable| CommitFailure::Lost(Box::new(unreadable)))
    }

    async fn reconnect(&mut self) -> Result<(), sluice_commit::BoxError> {
        self.0.reconnect().await
    }
}

impl RegisterIdentities {
    /// A row for each of the batch whose name was not free: its id, and the attempt that got the name.
    async fn register(&self, batch: &[Identity]) -> Result<Vec<Row>, Failure> {
        let ids: Vec<Uuid> = batch.iter().map(|op| op.id.as_uuid()).collect();
        let attempts: Vec<Uuid> = batch.iter().map(|op| op.attempt.as_uuid()).collect();
        let created: Vec<i64> = batch.iter().map(|op| op.created_at.as_millis()).collect();
        let statuses: Vec<i16> = batch.iter().map(|op| stored_status(op.status)).collect();
        let names: Vec<&[u8]> = batch.iter().map(|op| op.login_name.as_slice()).collect();
        let emails: Vec<&str> = batch.iter().map(|op| op.email.as_str()).collect();
        let usernames: Vec<&str> = batch.iter().map(|op| op.username.as_str()).collect();
        let credentials: Vec<&str> = batch.iter().map(|op| op.credential.as_str()).collect();
        let due: Vec<Option<i64>> =
            batch.iter().map(|op| op.hardening.then(|| op.created_at.as_millis())).collect();
        let verified: Vec<Option<i64>> =
            batch.iter().map(|op| op.email_verified_at.map(Timestamp::as_millis)).collect();
        let params: Params<'_> = &[
            &ids,
            &attempts,
            &created,
            &statuses,
            &names,
            &emails,
            &usernames,
            &credentials,
            &due,
            &verified,
        ];
        self.0.link.query(REGISTER, params).await
    }
}

/// Whoever has the name: this attempt, now or before its answer was lost, or another.
fn outcomes(batch: &[Identity], found: &[Row]) -> Result<Vec<Registration>, Unreadable> {
    let read = |row: &Row| Ok((column(row, 0)?, column(row, 1)?));
    let found: HashMap<Uuid, Option<Uuid>> = found.iter().map(read).collect::<Result<_, Unreadable>>()?;
    let outcome = |op: &Identity| match found.get(&op.id.as_uuid()) {
        Some(attempt) if *attempt != Some(op.attempt.as_uuid()) => Registration::Taken,
        _ => Registration::Registered,
    };
    Ok(batch.iter().map(outcome).collect())
}
