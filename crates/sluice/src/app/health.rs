//! Whether all of it can serve.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use sluice_commit::{StoreError, chain};
use sluice_http::{Health, Ready};
use sluice_token::FeedFollower;
use tokio_util::sync::CancellationToken;

use super::stores::Stores;

/// How long the store may take to answer, far less than for a request: who asks does not wait for long.
const PATIENCE: Duration = Duration::from_secs(1);

/// Ready when the store answers and the feed was heard lately.
pub(crate) struct NodeHealth {
    pub(crate) stores: Stores,
    pub(crate) follower: Arc<FeedFollower>,
    /// Whether it says how old its knowledge of revocations is while it is well: a gateway does.
    pub(crate) tells_feed_age: bool,
    /// Cancelled when the process ends: a gateway's health is asked until the last request has its answer.
    pub(crate) shutdown: CancellationToken,
}

/// What is not ready of a process that ends.
pub(super) fn ending(shutdown: &CancellationToken) -> Option<(&'static str, String)> {
    shutdown.is_cancelled().then(|| ("shutdown", "the process ends, and takes no new requests".to_owned()))
}

#[async_trait]
impl Health for NodeHealth {
    async fn ready(&self) -> Ready {
        let mut reasons: Vec<_> = ending(&self.shutdown).into_iter().collect();
        if let Err(error) = ping(&self.stores).await {
            tracing::warn!(error = %chain(&error), "the store does not answer");
            let is_refusal = matches!(error, StoreError::Refused(_) | StoreError::Fault(_));
            let what = if is_refusal { "refuses" } else { "does not answer" };
            reasons.push(("database", format!("the database {what}")));
        }
        if self.follower.is_stale() {
            let age = self.follower.age().as_secs();
            reasons.push(("feed", format!("revocations were last read {age} s ago")));
        }
        if reasons.is_empty() {
            Ready::Yes { feed_age: self.tells_feed_age.then(|| self.follower.age()) }
        } else {
            Ready::No(reasons)
        }
    }
}

/// Whether the store answers, soon.
pub(super) async fn ping(stores: &Stores) -> Result<(), StoreError> {
    let answered = tokio::time::timeout(PATIENCE, stores.ping(PATIENCE)).await;
    answered.unwrap_or_else(|late| Err(StoreError::unavailable(late)))
}
