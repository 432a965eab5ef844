//! Whether all of it can serve.

use std::sync::Arc;

use async_trait::async_trait;
use sluice_http::{Health, Ready};
use sluice_primitives::Lifetime;
use sluice_token::FeedFollower;

use super::stores::Stores;

/// A node that has not heard the feed for so long may hold revoked tokens for good.
pub(crate) const FEED_TOO_OLD: Lifetime = Lifetime::secs(10);

/// Ready when the store answers and the feed was heard lately.
pub(crate) struct NodeHealth {
    pub(crate) stores: Stores,
    pub(crate) follower: Arc<FeedFollower>,
}

#[async_trait]
impl Health for NodeHealth {
    async fn ready(&self) -> Ready {
        let mut reasons = Vec::new();
        if let Err(error) = self.stores.ping().await {
            tracing::warn!(%error, "the store does not answer");
            reasons.push(("database", "the database does not answer".to_owned()));
        }
        let age = self.follower.age();
        if age > FEED_TOO_OLD {
            reasons.push(("feed", format!("the feed was last heard {} ms ago", age.as_millis())));
        }
        if reasons.is_empty() { Ready::Yes } else { Ready::No(reasons) }
    }
}
