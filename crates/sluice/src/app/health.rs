//! Whether all of it can serve.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use sluice_commit::{StoreError, chain};
use sluice_http::{Health, Ready};
use sluice_token::FeedFollower;
use thiserror::Error;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::outage::Outage;
use super::stores::Stores;

/// How long the store may take to answer, far less than for a request: who asks does not wait for long.
const PATIENCE: Duration = Duration::from_secs(1);

/// Ready when the store answers and the feed was heard lately.
pub(crate) struct NodeHealth {
    pub(crate) stores: Stores,
    /// What was said of the store while it did not answer.
    pub(crate) outage: Arc<Outage>,
    pub(crate) follower: Arc<FeedFollower>,
    /// Whether it says how old its knowledge of revocations is while it is well: a gateway does.
    pub(crate) tells_feed_age: bool,
    /// Cancelled when the process ends: a gateway's health is asked until the last request has its answer.
    pub(crate) shutdown: CancellationToken,
}

/// Until then there was no answer, and no word why.
#[derive(Debug, Error)]
#[error("no answer within {0:?}")]
struct NoAnswer(Duration);

/// What is not ready of a process that ends.
pub(super) fn ending(shutdown: &CancellationToken) -> Option<(&'static str, String)> {
    shutdown.is_cancelled().then(|| ("shutdown", "the process ends, and takes no new requests".to_owned()))
}

#[async_trait]
impl Health for NodeHealth {
    async fn ready(&self) -> Ready {
        let mut reasons: Vec<_> = ending(&self.shutdown).into_iter().collect();
        let answered = ping(&self.stores).await;
        self.tell(&answered);
        if let Err(error) = answered {
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

impl NodeHealth {
    /// Tells why the store does not answer, and that it does again; but not to each who asks for the health.
    fn tell(&self, answered: &Result<(), StoreError>) {
        match answered {
            Ok(()) if self.outage.is_over() => info!("the store answers again"),
            Ok(()) => {}
            Err(error) => {
                let why = chain(error);
                if let Some(times) = self.outage.failed_for(&why) {
                    warn!(error = %why, times, "the store does not answer");
                }
            }
        }
    }
}

/// Whether the store answers, soon.
pub(super) async fn ping(stores: &Stores) -> Result<(), StoreError> {
    answered_within(PATIENCE, stores.ping(PATIENCE)).await
}

/// What the store answers, if it does so in this time.
pub(super) async fn answered_within<T>(
    patience: Duration,
    asked: impl Future<Output = Result<T, StoreError>>,
) -> Result<T, StoreError> {
    timeout(patience, asked).await.unwrap_or_else(|_| Err(StoreError::unavailable(NoAnswer(patience))))
}

#[cfg(test)]
mod tests {
    use std::fs::rename;
    use std::future::pending;

    use sluice_primitives::{ManualClock, NodeId, OsRng, Timestamp};
    use sluice_store_sqlite::{SqlitePath, SqliteStore, StoreOptions};
    use sluice_testkit::Captured;

    use super::*;

    const START: Timestamp = Timestamp::from_secs(1_750_000_000);

    #[tokio::test]
    async fn that_the_store_does_not_answer_is_told_once_however_often_it_is_asked_for() {
        let directory = tempfile::tempdir().unwrap();
        let (path, elsewhere) = (directory.path().join("sluice.db"), directory.path().join("elsewhere.db"));
        let clock = Arc::new(ManualClock::at(START));
        let options = StoreOptions::new(NodeId::generate(START, &OsRng), clock.clone(), Arc::new(OsRng));
        let store = Arc::new(SqliteStore::open(SqlitePath::File(path.clone()), options).await.unwrap());
        store.migrate_up().await.unwrap();
        let follower = FeedFollower::new(store.clone(), Arc::default(), clock);
        follower.catch_up().await.unwrap();
        let health = NodeHealth {
            stores: Stores::Sqlite(store),
            outage: Arc::default(),
            follower: Arc::new(follower),
            tells_feed_age: false,
            shutdown: CancellationToken::new(),
        };
        let (log, _guard) = Captured::begin();
        rename(&path, &elsewhere).unwrap();
        for _ in 0..3 {
            assert!(matches!(health.ready().await, Ready::No(_)));
        }
        let told = log.lines("the store does not answer");
        assert!(told.len() == 1 && told.concat().contains("was removed or replaced"), "{}", log.text());
        rename(&elsewhere, &path).unwrap();
        for _ in 0..3 {
            assert_eq!(health.ready().await, Ready::Yes { feed_age: None });
        }
        let over = log.lines("the store answers again");
        assert!(over.len() == 1 && over.concat().contains("INFO"), "{}", log.text());
    }

    #[tokio::test(start_paused = true)]
    async fn a_store_that_is_silent_is_said_to_have_given_no_answer_within_that_time() {
        let silent = answered_within(PATIENCE, pending::<Result<(), StoreError>>()).await;
        assert_eq!(chain(&silent.unwrap_err()), "the store cannot be reached: no answer within 1s");
    }
}
