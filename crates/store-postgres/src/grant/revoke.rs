//! Revoking grants: one statement for a batch, with what the feed tells of them, and one for those that had no row to be revoked.

use std::collections::HashSet;
use std::sync::Arc;

use sluice_commit::{BoxError, CommitFailure, Writer};
use sluice_primitives::{Clock, GrantId, NodeId};
use sluice_token::Target;
use uuid::Uuid;

use super::{Hot, mixed};
use crate::connection::Params;
use crate::error::{Failure, column};
use crate::statistics::Kind;

const REVOKE: &str = include_str!("revoke.sql");
const REVOKE_LATE: &str = include_str!("revoke_late.sql");

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
        let revoked = self.revoke(batch).await.map_err(Failure::into_commit_failure)?;
        self.hot.counters.count(Kind::Other, 1, batch.len());
        let left = |op: &&Revocation| !revoked.contains(&op.grant.as_uuid());
        let left: Vec<&Revocation> = batch.iter().filter(left).collect();
        if !left.is_empty() {
            self.revoke_late(&left).await.map_err(Failure::after_commit)?;
        }
        self.hot.link.wake_readers();
        Ok(vec![(); batch.len()])
    }

    async fn reconnect(&mut self) -> Result<(), BoxError> {
        self.hot.reconnect().await
    }
}

impl RevokeGrants {
    /// The grants of the batch whose rows are revoked now, and were not before.
    async fn revoke(&self, batch: &[Revocation]) -> Result<HashSet<Uuid>, Failure> {
        let grants: Vec<Uuid> = batch.iter().map(|op| op.grant.as_uuid()).collect();
        let numbers = |of: fn(&Revocation) -> i64| batch.iter().map(of).collect::<Vec<_>>();
        let (times, expiries) = (numbers(|op| op.at), numbers(|op| op.marker_expires_at));
        let (node, now) = (self.node.as_uuid(), self.clock.now().as_millis());
        let kind = batch.first().map_or(0, |op| Target::Grant(op.grant).kind());
        let params: Params<'_> = &[&grants, &times, &expiries, &node, &now, &kind];
        let rows = self.hot.link.query(REVOKE, params).await?;
        Ok(rows.iter().filter_map(|row| column(row, 0).ok()).collect())
    }

    /// Revokes what has become a row meanwhile, after the commit, which a new statement sees.
    async fn revoke_late(&self, left: &[&Revocation]) -> Result<(), Failure> {
        let grants: Vec<Uuid> = left.iter().map(|op| op.grant.as_uuid()).collect();
        let times: Vec<i64> = left.iter().map(|op| op.at).collect();
        let revoked = self.hot.link.query(REVOKE_LATE, &[&grants, &times]).await?;
        self.hot.counters.count(Kind::Other, 1, revoked.len());
        Ok(())
    }
}
