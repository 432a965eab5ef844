//! What nodes say of themselves, in memory.

use std::cmp::Reverse;

use async_trait::async_trait;
use sluice_commit::StoreError;
use sluice_oauth::serving_node::{ServingNode, ServingNodeRepository};
use sluice_primitives::Timestamp;

use super::{MemoryStore, check};

#[async_trait]
impl ServingNodeRepository for MemoryStore {
    async fn note_node(&self, node: &ServingNode, forgotten_before: Timestamp) -> Result<(), StoreError> {
        check([node.host.as_str()])?;
        let node = node.clone();
        self.write(|data| {
            data.serving_nodes.retain(|_, known| known.seen_at >= forgotten_before);
            data.serving_nodes.insert(node.id, node);
        })
        .await
    }

    async fn known_nodes(&self, limit: u32) -> Result<Vec<ServingNode>, StoreError> {
        let mut known: Vec<_> = self.read(|data| data.serving_nodes.values().cloned().collect());
        known.sort_by_key(|node: &ServingNode| (Reverse(node.seen_at), node.id));
        known.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
        Ok(known)
    }
}
