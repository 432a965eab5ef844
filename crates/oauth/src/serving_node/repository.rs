//! What is known of nodes.

use async_trait::async_trait;
use sluice_commit::StoreError;
use sluice_primitives::{NodeId, Timestamp};

use super::settings::SharedSettings;

/// What a node said of itself last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServingNode {
    /// Made anew at each start.
    pub id: NodeId,
    /// The name of its machine, for people.
    pub host: String,
    /// When it said so, by its own clock.
    pub seen_at: Timestamp,
    /// Whether it went on serving.
    pub is_serving: bool,
    /// What has to be alike on all nodes.
    pub settings: SharedSettings,
}

/// What is known of nodes. Every method is one transaction. None fails because a database was not migrated yet: nobody is known there.
#[async_trait]
pub trait ServingNodeRepository: Send + Sync {
    /// Notes what a node says of itself, in the place of what it said before, and forgets all others that were seen last before `forgotten_before`.
    async fn note_node(&self, node: &ServingNode, forgotten_before: Timestamp) -> Result<(), StoreError>;

    /// At most `limit` nodes, those that were seen last, the last one first.
    async fn known_nodes(&self, limit: u32) -> Result<Vec<ServingNode>, StoreError>;
}
