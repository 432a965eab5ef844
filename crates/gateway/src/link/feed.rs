//! The feed by way of a link, as if a store were there.

use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use parking_lot::Mutex;
use sluice_commit::StoreError;
use sluice_primitives::Lifetime;
use sluice_token::link::FeedQuestion;
use sluice_token::{Feed, FeedBatch, FeedPosition};
use tracing::debug;

use super::client::{LinkClient, LinkError};

/// How long the authorization server may wait for something new. Knowledge is at most so old, and a bit.
const LONG_POLL: Duration = Duration::from_secs(2);
/// The pause after an answer that failed.
const BACK_OFF: Duration = Duration::from_millis(250);

/// Hears the feed by long poll: [`Feed::wait`] asks for what comes next, [`Feed::read`] hands it out.
pub struct LinkFeed {
    client: Arc<LinkClient>,
    heard: Mutex<Heard>,
}

#[derive(Default)]
struct Heard {
    /// Where the reader is.
    position: FeedPosition,
    /// What came while it waited, with the time it was asked for.
    next: Option<(FeedBatch, Instant)>,
}

impl LinkFeed {
    /// A feed that has heard nothing yet.
    pub fn new(client: Arc<LinkClient>) -> Self {
        Self { client, heard: Mutex::default() }
    }

    async fn ask(&self, from: &FeedPosition, wait: Duration) -> Result<FeedBatch, LinkError> {
        let wait_ms = wait.as_millis().try_into().unwrap_or(u64::MAX);
        let question = FeedQuestion { position: from.into(), wait_ms };
        Ok(self.client.feed(&question).await?.into())
    }

    /// What came while the reader waited, if it still is where it was then.
    fn prefetched(&self, from: &FeedPosition) -> Option<FeedBatch> {
        let mut heard = self.heard.lock();
        let (mut batch, asked_at) = heard.next.take()?;
        if heard.position != *from {
            return None;
        }
        heard.position.clone_from(&batch.position);
        // The answer is as old as the server said, and since then as much older as it has lain here.
        let lain = Lifetime::from(asked_at.elapsed());
        batch.age = Lifetime::millis(millis(batch.age).saturating_add(millis(lain)));
        Some(batch)
    }
}

fn millis(lifetime: Lifetime) -> u32 {
    u32::try_from(lifetime.as_millis()).unwrap_or(u32::MAX)
}

#[async_trait]
impl Feed for LinkFeed {
    async fn read(&self, from: &FeedPosition) -> Result<FeedBatch, StoreError> {
        if let Some(batch) = self.prefetched(from) {
            return Ok(batch);
        }
        let batch = self.ask(from, Duration::ZERO).await.map_err(StoreError::unavailable)?;
        self.heard.lock().position.clone_from(&batch.position);
        Ok(batch)
    }

    async fn wait(&self) {
        let from = self.heard.lock().position.clone();
        let asked_at = Instant::now();
        match self.ask(&from, LONG_POLL).await {
            Ok(batch) => {
                let is_empty = batch.position == from;
                self.heard.lock().next = Some((batch, Instant::now()));
                // A server that does not wait is not asked without a pause.
                if is_empty && asked_at.elapsed() < BACK_OFF {
                    tokio::time::sleep(BACK_OFF).await;
                }
            }
            Err(error) => {
                debug!(error = %error, "the feed was not heard");
                tokio::time::sleep(BACK_OFF).await;
            }
        }
    }
}
