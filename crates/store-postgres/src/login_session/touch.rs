//! Noting that sessions were used: one statement for a batch. To do so twice is harmless.

use std::sync::Arc;

use sluice_commit::{BoxError, CommitFailure, Writer};
use sluice_primitives::{SessionId, Timestamp};
use uuid::Uuid;

use crate::connection::Params;
use crate::error::Failure;
use crate::grant::{Hot, mixed};
use crate::statistics::Kind;

const TOUCH: &str = include_str!("touch.sql");

/// A session that was used.
pub(crate) struct Touch {
    pub(super) session: SessionId,
    /// When.
    pub(super) now: Timestamp,
    /// When it ends from now on, if that moves.
    pub(super) expires_at: Option<Timestamp>,
}

/// Touches batches of sessions.
pub(crate) struct TouchSessions(pub(crate) Arc<Hot>);

impl Writer for TouchSessions {
    type Op = Touch;
    type Out = ();

    fn key(op: &Touch) -> u64 {
        mixed(op.session.as_uuid())
    }

    async fn commit(&mut self, batch: &[Touch]) -> Result<Vec<()>, CommitFailure> {
        let mut touches: Vec<&Touch> = batch.iter().collect();
        // As in `put`.
        touches.sort_unstable_by_key(|touch| touch.session);
        self.touch(&touches).await.map_err(Failure::into_commit_failure)?;
        self.0.counters.count(Kind::Other, 1, batch.len());
        Ok(vec![(); batch.len()])
    }

    async fn reconnect(&mut self) -> Result<(), BoxError> {
        self.0.reconnect().await
    }
}

impl TouchSessions {
    async fn touch(&self, touches: &[&Touch]) -> Result<(), Failure> {
        let sessions: Vec<Uuid> = touches.iter().map(|touch| touch.session.as_uuid()).collect();
        let times: Vec<i64> = touches.iter().map(|touch| touch.now.as_millis()).collect();
        let ends: Vec<Option<i64>> =
            touches.iter().map(|touch| touch.expires_at.map(Timestamp::as_millis)).collect();
        let params: Params<'_> = &[&sessions, &times, &ends];
        self.0.link.query(TOUCH, params).await.map(drop)
    }
}
