//! The feed: what happened on any node, in the order in which each node wrote it.

use std::collections::BTreeMap;

use async_trait::async_trait;
use sluice_commit::StoreError;
use sluice_primitives::{Lifetime, NodeId};
use sluice_protocol::ClientId;

use super::marker::Marker;

/// So many markers, and so many changes, are read at once at most.
pub const FEED_PAGE: u32 = 10_000;

/// How far a reader has read, node by node. A transaction that commits late is never skipped, because it is told apart
/// from those of other nodes, and a node writes its own one after the other.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FeedPosition {
    /// The last marker read, by origin.
    pub revocations: BTreeMap<NodeId, i64>,
    /// The last change read, by origin.
    pub changes: BTreeMap<NodeId, i64>,
}

/// Something that caches must forget.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Change {
    /// A client was changed or deleted.
    Client(ClientId),
    /// Signing keys of a set were added, changed or removed.
    Keys(String),
}

/// What is new in the feed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FeedBatch {
    /// New markers.
    pub markers: Vec<Marker>,
    /// New changes.
    pub changes: Vec<Change>,
    /// The position after them.
    pub position: FeedPosition,
    /// How old this knowledge is: nothing where the store itself was read.
    pub age: Lifetime,
    /// Whether this is a full page: there may be more behind its position.
    pub more: bool,
    /// How many times the store has come to another server, where what the former had told last may be gone. Always 0 where there is
    /// one only, and of a link, whose server hears of it itself.
    pub moves: u64,
}

impl FeedBatch {
    /// Adds what came after it.
    pub fn append(&mut self, next: Self) {
        self.markers.extend(next.markers);
        self.changes.extend(next.changes);
        self.position = next.position;
        self.age = next.age;
        self.more = next.more;
        self.moves = next.moves;
    }
}

/// Reads the feed.
#[async_trait]
pub trait Feed: Send + Sync {
    /// What was appended after `from`; from an empty position: all markers that are not forgotten yet. At most [`FEED_PAGE`]
    /// markers and as many changes, each origin's in its own order: who wants all of it reads on while there is `more`.
    async fn read(&self, from: &FeedPosition) -> Result<FeedBatch, StoreError>;

    /// Returns when something may have been appended, at the latest when the store's own poll interval has passed.
    /// Only ever shortens a wait: the reader reads again in any case.
    async fn wait(&self);
}
