//! Hearing the feed: revocations into memory, changes to caches.

use std::collections::BTreeSet;
use std::sync::Arc;

use sluice_commit::StoreError;
use sluice_oauth::client::ClientDirectory;
use sluice_oauth::keys::{ID_TOKEN_SET, KeyRing};
use sluice_primitives::Lifetime;
use sluice_token::{Change, FeedFollower};
use tokio::sync::Mutex;
use tracing::warn;

/// Who has not heard the feed for longer takes nothing in memory for known: stores keep changes for 24 hours.
const LONGEST_AWAY: Lifetime = Lifetime::hours(12);

/// Hears the feed for a node.
pub(crate) struct Hearing {
    follower: Arc<FeedFollower>,
    clients: Arc<ClientDirectory>,
    keys: Arc<KeyRing>,
    /// One at a time: who comes second finds applied what the first has read. Held: the sets of keys that have changed and
    /// could not be read again yet.
    unread: Mutex<BTreeSet<String>>,
}

impl Hearing {
    pub(crate) fn new(
        follower: Arc<FeedFollower>,
        clients: Arc<ClientDirectory>,
        keys: Arc<KeyRing>,
    ) -> Self {
        Self { follower, clients, keys, unread: Mutex::default() }
    }

    /// Reads what is new; caches have forgotten what changed when this returns. Keys that cannot be read are tried again the
    /// next time.
    pub(crate) async fn catch_up(&self) -> Result<(), StoreError> {
        let mut unread = self.unread.lock().await;
        let was_away = self.follower.age() > LONGEST_AWAY;
        let changes = self.follower.catch_up().await?;
        if was_away {
            self.clients.forget_all();
            unread.insert(ID_TOKEN_SET.to_owned());
        }
        for change in changes {
            match change {
                Change::Client(client) => self.clients.forget(&client),
                Change::Keys(set) => drop(unread.insert(set)),
            }
        }
        self.read_keys(&mut unread).await;
        Ok(())
    }

    /// Waits until something may be new.
    pub(crate) async fn wait(&self) {
        self.follower.wait().await;
    }

    async fn read_keys(&self, unread: &mut BTreeSet<String>) {
        for set in std::mem::take(unread) {
            if let Err(error) = self.keys.reload(&set).await {
                warn!(%error, key.set = set, "signing keys could not be read again");
                unread.insert(set);
            }
        }
    }
}

#[cfg(test)]
mod tests;
