//! Another hash of the same secret, by the key that is first now. Nobody can make it but when the client brings the secret;
//! once all clients that are in use have been here, the older key can go.

use std::sync::Arc;

use quick_cache::sync::Cache;
use sluice_commit::chain;
use sluice_primitives::{Lifetime, Timestamp};
use sluice_protocol::ClientId;
use tracing::warn;

use crate::client::{Client, ClientDirectory};
use crate::set_back::holds;

/// How many clients it is remembered of that it was tried.
const REMEMBERED: usize = 4_096;
/// For how long. A store that cannot be written to is not asked at each request.
const AGAIN: Lifetime = Lifetime::minutes(1);

/// Keeps the hashes that clients are to have.
pub(super) struct Rekeying {
    directory: Arc<ClientDirectory>,
    /// When it was last tried, by client. Bound: [`REMEMBERED`]. Staleness: none that matters, it is about this process.
    tried: Cache<ClientId, Timestamp>,
}

impl Rekeying {
    pub(super) fn new(directory: Arc<ClientDirectory>) -> Self {
        Self { directory, tried: Cache::new(REMEMBERED) }
    }

    /// Gives the client these hashes, unless it was changed meanwhile. If that fails the client is authenticated all the
    /// same, and it is tried again when it comes the next time.
    pub(super) async fn keep(&self, client: &Client, secret_hashes: Vec<String>, now: Timestamp) {
        if self.tried.get(&client.id).is_some_and(|tried| holds(tried, tried + AGAIN, now)) {
            return;
        }
        self.tried.insert(client.id.clone(), now);
        let next = Client { secret_hashes, ..client.clone() };
        if let Err(error) = self.directory.replace(&next).await {
            warn!(client.id = %client.id, error = %chain(&error), "the hash of a client secret was not moved to another key");
        }
    }
}
