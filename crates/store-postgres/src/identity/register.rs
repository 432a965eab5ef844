//! Registering identities: one statement for a batch, two rows each.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use sluice_commit::{CommitFailure, Writer};
use sluice_identity::identity::{Identity, Registration};
use sluice_primitives::Timestamp;
use tokio_postgres::Row;
use uuid::Uuid;

use super::stored_status;
use crate::connection::Params;
use crate::error::{Failure, column};
use crate::grant::Hot;
use crate::statistics::Kind;

const REGISTER: &str = include_str!("register.sql");
const ATTEMPTS: &str = include_str!("attempts.sql");

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
        let registered = self.register(batch).await.map_err(Failure::into_commit_failure)?;
        self.0.counters.count(Kind::Registration, 1, batch.len());
        if registered.len() == batch.len() {
            return Ok(vec![Registration::Registered; batch.len()]);
        }
        let registered = registered.iter().filter_map(|row| column(row, 0).ok()).collect();
        self.outcomes(batch, &registered).await.map_err(Failure::into_commit_failure)
    }

    async fn reconnect(&mut self) -> Result<(), sluice_commit::BoxError> {
        self.0.reconnect().await
    }
}

impl RegisterIdentities {
    /// A row for each of the batch whose name was free: its id.
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

    /// Who has the names: this attempt, now or before its answer was lost, or another.
    async fn outcomes(
        &self,
        batch: &[Identity],
        registered: &HashSet<Uuid>,
    ) -> Result<Vec<Registration>, Failure> {
        let left = batch.iter().filter(|op| !registered.contains(&op.id.as_uuid()));
        let names: Vec<&[u8]> = left.map(|op| op.login_name.as_slice()).collect();
        let params: Params<'_> = &[&names];
        let rows = self.0.link.query(ATTEMPTS, params).await?;
        let attempts: HashMap<Vec<u8>, Uuid> =
            rows.iter().filter_map(|row| Some((column(row, 0).ok()?, column(row, 1).ok()?))).collect();
        let outcome = |op: &Identity| {
            let own = attempts.get(op.login_name.as_slice()) == Some(&op.attempt.as_uuid());
            if own || registered.contains(&op.id.as_uuid()) {
                Registration::Registered
            } else {
                Registration::Taken
            }
        };
        Ok(batch.iter().map(outcome).collect())
    }
}
