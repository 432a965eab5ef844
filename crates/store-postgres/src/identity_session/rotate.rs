//! Rotating the refresh tokens of sessions: one compare-and-swap for a batch, and a second look at those it did not touch.

use std::collections::HashMap;
use std::sync::Arc;

use sluice_commit::{BoxError, CommitFailure, StoreError, Writer};
use sluice_identity::session::{IdentitySession, Rotation, SessionRotation};
use tokio_postgres::Row;
use uuid::Uuid;

use super::read;
use crate::PostgresStore;
use crate::connection::Params;
use crate::error::{Failure, Unreadable, column};
use crate::grant::{Hot, mixed};
use crate::statistics::Kind;

const ROTATE: &str = include_str!("rotate.sql");
const EXAMINE: &str = include_str!("examine.sql");
/// A row that changes between the UPDATE and the second look is given another chance, this many times.
const CHANCES: usize = 3;

/// What became of a rotation.
pub(crate) enum Swapped {
    /// The answer.
    Done(Rotation),
    /// The session is to be ended before anything is answered.
    Reused(IdentitySession),
}

/// What the caller of a rotation gets.
type Answer = Result<Swapped, StoreError>;

/// Rotates batches of sessions.
pub(crate) struct RotateSessions(pub(crate) Arc<Hot>);

impl Writer for RotateSessions {
    type Op = SessionRotation;
    type Out = Answer;

    fn key(op: &SessionRotation) -> u64 {
        mixed(op.id.as_uuid())
    }

    async fn commit(&mut self, batch: &[SessionRotation]) -> Result<Vec<Answer>, CommitFailure> {
        let mut answers: HashMap<Uuid, Answer> = HashMap::with_capacity(batch.len());
        let mut open: Vec<&SessionRotation> = batch.iter().collect();
        // Any two batches lock what they share in this order: see `login_session/put.rs`.
        open.sort_unstable_by_key(|op| op.id);
        for _ in 0..CHANCES {
            self.swap(&open, &mut answers).await?;
            open.retain(|op| !answers.contains_key(&op.id.as_uuid()));
            self.look(&open, &mut answers).await.map_err(Failure::after_commit)?;
            open.retain(|op| !answers.contains_key(&op.id.as_uuid()));
            if open.is_empty() {
                break;
            }
        }
        let gone = || Ok(Swapped::Done(Rotation::Gone));
        Ok(batch.iter().map(|op| answers.remove(&op.id.as_uuid()).unwrap_or_else(gone)).collect())
    }

    async fn reconnect(&mut self) -> Result<(), BoxError> {
        self.0.reconnect().await
    }
}

impl RotateSessions {
    /// Rotates what can be rotated.
    async fn swap(
        &self,
        open: &[&SessionRotation],
        answers: &mut HashMap<Uuid, Answer>,
    ) -> Result<(), CommitFailure> {
        let nothing_is_written = answers.is_empty();
        let rows = self.rotate(open).await.map_err(|failure| {
            if nothing_is_written { failure.into_commit_failure() } else { failure.after_commit() }
        })?;
        self.0.counters.count(Kind::Other, 1, open.len());
        answers.extend(by_id(&rows).map(|(id, session)| {
            let rotated = session.map(|session| Swapped::Done(Rotation::Rotated(session)));
            (id, rotated.map_err(StoreError::from))
        }));
        Ok(())
    }

    /// The rows of those that were rotated, as they are now.
    async fn rotate(&self, open: &[&SessionRotation]) -> Result<Vec<Row>, Failure> {
        let ids: Vec<Uuid> = open.iter().map(|op| op.id.as_uuid()).collect();
        let presented: Vec<i64> = open.iter().map(|op| op.presented).collect();
        let times: Vec<i64> = open.iter().map(|op| op.now.as_millis()).collect();
        let ends: Vec<i64> = open.iter().map(|op| op.expires_at.as_millis()).collect();
        let attempts: Vec<Uuid> = open.iter().map(|op| op.attempt.as_uuid()).collect();
        let params: Params<'_> = &[&ids, &presented, &times, &ends, &attempts];
        self.0.link.query(ROTATE, params).await
    }

    /// Says why the others were not.
    async fn look(
        &self,
        left: &[&SessionRotation],
        answers: &mut HashMap<Uuid, Answer>,
    ) -> Result<(), Failure> {
        if left.is_empty() {
            return Ok(());
        }
        let ids: Vec<Uuid> = left.iter().map(|op| op.id.as_uuid()).collect();
        let rows = self.0.link.query(EXAMINE, &[&ids]).await?;
        let mut found: HashMap<Uuid, Result<IdentitySession, Unreadable>> = by_id(&rows).collect();
        for op in left {
            let id = op.id.as_uuid();
            let answer: Option<Answer> = match found.remove(&id) {
                None => Some(Ok(Swapped::Done(Rotation::Gone))),
                Some(Ok(session)) => examine(session, op).map(Ok),
                Some(Err(unreadable)) => Some(Err(unreadable.into())),
            };
            answers.extend(answer.map(|answer| (id, answer)));
        }
        Ok(())
    }
}

/// The sessions of these rows.
fn by_id(rows: &[Row]) -> impl Iterator<Item = (Uuid, Result<IdentitySession, Unreadable>)> {
    rows.iter().filter_map(|row| Some((column(row, 0).ok()?, read(row))))
}

/// The answer to a rotation that did not take place; none if by the row's present state it would.
fn examine(session: IdentitySession, rotation: &SessionRotation) -> Option<Swapped> {
    if session.expires_at <= rotation.now {
        return Some(Swapped::Done(Rotation::Gone));
    }
    let in_window = rotation.now.since(session.rotated_at) < rotation.window;
    match session.generation.saturating_sub(rotation.presented) {
        0 => None,
        1 if in_window || session.attempt == rotation.attempt => {
            Some(Swapped::Done(Rotation::Rotated(session)))
        }
        2 if in_window => Some(Swapped::Done(Rotation::Stale)),
        1.. => Some(Swapped::Reused(session)),
        _ => Some(Swapped::Done(Rotation::Gone)),
    }
}

/// Ends the session, unless somebody else has meanwhile.
pub(super) async fn punish(
    store: &PostgresStore,
    session: IdentitySession,
    rotation: &SessionRotation,
) -> Result<Rotation, StoreError> {
    let times = (rotation.now, rotation.marker_expires_at);
    let ended = store.end_identity_session(session.id, session.identity, times).await?;
    Ok(if ended { Rotation::Reused(session) } else { Rotation::Gone })
}
