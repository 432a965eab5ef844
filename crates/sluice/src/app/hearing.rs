//! Hearing the feed: revocations into memory, changes to caches.

use std::sync::Arc;

use sluice_commit::StoreError;
use sluice_oauth::client::ClientDirectory;
use sluice_oauth::keys::KeyRing;
use sluice_token::{Change, FeedFollower};
use tokio::sync::Mutex;
use tracing::warn;

/// Hears the feed for a node.
pub(crate) struct Hearing {
    follower: Arc<FeedFollower>,
    clients: Arc<ClientDirectory>,
    keys: Arc<KeyRing>,
    /// One at a time: who comes second finds applied what the first has read.
    turn: Mutex<()>,
}

impl Hearing {
    pub(crate) fn new(
        follower: Arc<FeedFollower>,
        clients: Arc<ClientDirectory>,
        keys: Arc<KeyRing>,
    ) -> Self {
        Self { follower, clients, keys, turn: Mutex::new(()) }
    }

    /// Reads what is new; caches have forgotten what changed when this returns.
    pub(crate) async fn catch_up(&self) -> Result<(), StoreError> {
        let _turn = self.turn.lock().await;
        for change in self.follower.catch_up().await? {
            self.forget(&change).await;
        }
        Ok(())
    }

    /// Waits until something may be new.
    pub(crate) async fn wait(&self) {
        self.follower.wait().await;
    }

    async fn forget(&self, change: &Change) {
        match change {
            Change::Client(client) => self.clients.forget(client),
            Change::Keys(set) => {
                if let Err(error) = self.keys.reload(set).await {
                    warn!(%error, key.set = set, "signing keys could not be read again");
                }
            }
        }
    }
}
