//! Revoking grants: one statement for a batch, with what the feed tells of them.

use std::sync::Arc;

use sluice_commit::{BoxError, CommitFailure, Writer};
use sluice_primitives::{Clock, GrantId, NodeId};
use sluice_token::Target;
use uuid::Uuid;

use super::{Hot, mixed};
use crate::connection::Params;
use crate::error::Failure;
use crate::statistics::Kind;

const REVOKE: &str = include_str!("revoke.sql");

/// A grant that is to be revoked.
pub(crate) struct Revocation {
    pub(super) grant: GrantId,
    pub(super) at: i64,
    pub(super) marker_expires_at: i64,
}

/// Revokes batches of grants. An attempt that was lost and comes again leaves a second marker, which says the same.
pub(crate) struct RevokeGrants {
    pub(crate) hot: Arc<Hot>,
    /// The origin of what the feed tells.
    pub(crate) node: NodeId,
    pub(crate) clock: Arc<dyn Clock>,
}

impl Writer for RevokeGrants {
    type Op = Revocation;
    type Out = ();

    fn key(op: &Revocation) -> u64 {
        mixed(op.grant.as_uuid())
    }

    async fn commit(&mut self, batch: &[Revocation]) -> Result<Vec<()>, CommitFailure> {
        self.revoke(batch).await.map_err(Failure::into_commit_failure)?;
        self.hot.counters.count(Kind::Other, 1, batch.len());
        self.hot.link.wake_readers();
        Ok(vec![(); batch.len()])
    }

    async fn reconnect(&mut self) -> Result<(), BoxError> {
        self.hot.reconnect().await
    }
}

impl RevokeGrants {
    async fn revoke(&self, batch: &[Revocation]) -> Result<(), Failure> {
        let grants: Vec<Uuid> = batch.iter().map(|op| op.grant.as_uuid()).collect();
        let numbers = |of: fn(&Revocation) -> i64| batch.iter().map(of).collect::<Vec<_>>();
        let (times, expiries) = (numbers(|op| op.at), numbers(|op| op.marker_expires_at));
        let (node, now) = (self.node.as_uuid(), self.clock.now().as_millis());
        let kind = batch.first().map_or(0, |op| Target::Grant(op.grant).kind());
        let params: Params<'_> = &[&grants, &times, &expiries, &node, &now, &kind];
        self.hot.link.query(REVOKE, params).await.map(drop)
    }
}
