//! Hearing the feed: revocations into memory, changes to caches.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use sluice_commit::{StoreError, chain};
use sluice_oauth::client::{Client, ClientDirectory, ClientService};
use sluice_oauth::keys::{ID_TOKEN_SET, KeyRing};
use sluice_primitives::{Lifetime, Timestamp};
use sluice_token::{Change, FeedFollower};
use tokio::sync::Mutex;
use tokio::time::{sleep, timeout};
use tracing::warn;

/// Who has not heard the feed for longer takes nothing in memory for known: stores keep changes for 24 hours.
const LONGEST_AWAY: Lifetime = Lifetime::hours(12);

/// How long keys that could not be read are left alone, unless they change.
const RETRY_AFTER: Duration = Duration::from_secs(10);

/// How long what is being heard is waited for at most: the store may hang.
const SETTLES: Duration = Duration::from_secs(3);

/// How long it takes until what a client was granted too late is tried to be ended again.
const ENDS_AGAIN: [Duration; 3] = [Duration::from_secs(1), Duration::from_secs(10), Duration::from_mins(1)];

/// Hears the feed for a node.
pub(crate) struct Hearing {
    follower: Arc<FeedFollower>,
    clients: Arc<ClientDirectory>,
    keys: Arc<KeyRing>,
    /// Who ends what clients were granted here while they were deleted elsewhere; nobody where nothing is granted.
    endings: Option<Arc<ClientService>>,
    /// One at a time: who comes second finds applied what the first has read.
    unread: Mutex<Unread>,
    retry_after: Duration,
}

/// Sets of keys that have changed and could not be read again.
#[derive(Default)]
struct Unread {
    sets: BTreeSet<String>,
    tried_at: Option<Instant>,
}

impl Hearing {
    pub(crate) fn new(
        follower: Arc<FeedFollower>,
        clients: Arc<ClientDirectory>,
        keys: Arc<KeyRing>,
    ) -> Self {
        let (unread, retry_after) = (Mutex::default(), RETRY_AFTER);
        Self { follower, clients, keys, endings: None, unread, retry_after }
    }

    /// Ends what clients are granted here between their deletion elsewhere and the hearing of it: no marker of that time covers it.
    pub(crate) fn with_endings(self, endings: Arc<ClientService>) -> Self {
        Self { endings: Some(endings), ..self }
    }

    /// Reads what is new; caches have forgotten what changed when this returns, and all of it if the database has come to another server. Keys
    /// that cannot be read are tried again a while later, or when they change.
    pub(crate) async fn catch_up(&self) -> Result<(), StoreError> {
        let mut unread = self.unread.lock().await;
        let was_away = self.follower.age() > LONGEST_AWAY;
        let changes = self.follower.catch_up().await?;
        let (mut changed, mut forgotten) = (BTreeSet::new(), Vec::new());
        let has_moved = self.follower.has_moved();
        if was_away {
            self.clients.forget_all();
        } else if has_moved {
            self.clients.forget_registered();
        }
        if was_away || has_moved {
            changed.insert(ID_TOKEN_SET.to_owned());
        }
        for change in changes {
            match change {
                Change::Client(client) => {
                    let known = self.clients.forget(&client);
                    forgotten.extend(known);
                }
                Change::Keys(set) => drop(changed.insert(set)),
            }
        }
        if unread.tried_at.is_some_and(|at| at.elapsed() >= self.retry_after) {
            changed.append(&mut unread.sets);
        }
        self.read_keys(changed, &mut unread).await;
        drop(unread);
        self.end_late(forgotten);
        Ok(())
    }

    /// Ends what clients were granted here that are gone, or have been registered anew: beside the feed, which nobody has to wait for.
    fn end_late(&self, forgotten: Vec<Arc<Client>>) {
        let Some(endings) = self.endings.clone().filter(|_| !forgotten.is_empty()) else { return };
        let at = endings.now();
        tokio::spawn(async move {
            for client in forgotten {
                end_late(&endings, &client, at).await;
            }
        });
    }

    /// Waits until what is being heard is done with: others are told of it before keys were read again.
    pub(crate) async fn settled(&self) {
        drop(timeout(SETTLES, self.unread.lock()).await);
    }

    /// Waits until something may be new.
    pub(crate) async fn wait(&self) {
        self.follower.wait().await;
    }

    async fn read_keys(&self, changed: BTreeSet<String>, unread: &mut Unread) {
        for set in changed {
            if let Err(error) = self.keys.reload(&set).await {
                warn!(error = %chain(&error), key.set = set, "signing keys could not be read again");
                unread.sets.insert(set);
                unread.tried_at = Some(Instant::now());
            } else {
                unread.sets.remove(&set);
            }
        }
        if unread.sets.is_empty() {
            unread.tried_at = None;
        }
    }
}

/// Tries again while the store cannot do it.
async fn end_late(endings: &ClientService, client: &Client, forgotten_at: Timestamp) {
    let mut pauses = ENDS_AGAIN.iter();
    while let Err(error) = endings.end_late(client, forgotten_at).await {
        warn!(error = %chain(&error), client.id = %client.id, "what a client was granted while it was deleted may hold still");
        let Some(pause) = pauses.next() else { return };
        sleep(*pause).await;
    }
}

#[cfg(test)]
mod tests;
