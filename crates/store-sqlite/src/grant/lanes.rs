//! The hot writes of grants, each behind a queue of its own.

use std::sync::Arc;

use sluice_commit::{CommitMetrics, Config};

use super::insert::InsertGrant;
use super::redeem::Redeem;
use super::revoke::Revoke;
use super::rotate::Rotate;
use crate::writer::{Lane, WriterHandle, start_lane};

/// The queues of grants.
pub(crate) struct GrantLanes {
    pub(super) insert: Lane<InsertGrant>,
    pub(super) redeem: Lane<Redeem>,
    pub(super) rotate: Lane<Rotate>,
    pub(super) revoke: Lane<Revoke>,
}

impl GrantLanes {
    pub(crate) fn start(writer: &WriterHandle, config: Config, metrics: &Arc<CommitMetrics>) -> Self {
        Self {
            insert: start_lane(writer, config, metrics),
            redeem: start_lane(writer, config, metrics),
            rotate: start_lane(writer, config, metrics),
            revoke: start_lane(writer, config, metrics),
        }
    }

    pub(crate) async fn shutdown(&self) {
        tokio::join!(
            self.insert.shutdown(),
            self.redeem.shutdown(),
            self.rotate.shutdown(),
            self.revoke.shutdown(),
        );
    }
}
