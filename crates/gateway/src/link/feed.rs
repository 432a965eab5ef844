//! The feed by way of a link, as if a store were there.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::Mutex;
use sluice_commit::{StoreError, chain};
use sluice_primitives::{Clock, Lifetime};
use sluice_token::link::FeedQuestion;
use sluice_token::{Feed, FeedBatch, FeedPosition, Moment};
use tokio::time::{Instant, sleep};
use tracing::debug;

use super::client::{LinkClient, LinkError};

/// How long the authorization server may wait for something new. Knowledge is at most so old, and a bit.
const LONG_POLL: Duration = Duration::from_secs(2);
/// The pause after an answer that failed.
const BACK_OFF: Duration = Duration::from_millis(250);

/// Hears the feed by long poll: [`Feed::wait`] asks for what comes next, [`Feed::read`] hands it out.
pub struct LinkFeed {
    client: Arc<LinkClient>,
    clock: Arc<dyn Clock>,
    heard: Mutex<Heard>,
}

#[derive(Default)]
struct Heard {
    /// Where the reader is.
    position: FeedPosition,
    /// What came while it waited, and when.
    next: Option<(FeedBatch, Moment)>,
}

impl LinkFeed {
    /// A feed that has heard nothing yet.
    pub fn new(client: Arc<LinkClient>, clock: Arc<dyn Clock>) -> Self {
        Self { client, clock, heard: Mutex::default() }
    }

    async fn ask(&self, from: &FeedPosition, wait: Duration) -> Result<FeedBatch, LinkError> {
        let wait_ms = wait.as_millis().try_into().unwrap_or(u64::MAX);
        let question = FeedQuestion { position: from.into(), wait_ms, pages: true };
        Ok(self.client.feed(&question).await?.into())
    }

    /// Waits for the answer about what comes after `from`, and keeps it.
    async fn hear(&self, from: &FeedPosition, answer: impl Future<Output = Result<FeedBatch, LinkError>>) {
        let (asked_at, began) = (Instant::now(), Moment::now(&*self.clock));
        match answer.await {
            Ok(mut batch) => {
                let (is_empty, took) = (batch.position == *from, asked_at.elapsed());
                // Beyond the wait it was on its way. It may also have come before the machine was suspended, and been read after.
                let on_its_way = Lifetime::from(took.saturating_sub(LONG_POLL));
                batch.age = sum(batch.age, sum(on_its_way, began.lost(&*self.clock)));
                self.heard.lock().next = Some((batch, Moment::now(&*self.clock)));
                // A server that does not wait is not asked without a pause.
                if is_empty && took < BACK_OFF {
                    sleep(BACK_OFF).await;
                }
            }
            Err(error) => {
                debug!(error = %chain(&error), "the feed was not heard");
                sleep(BACK_OFF).await;
            }
        }
    }

    /// What came while the reader waited, if it still is where it was then.
    fn prefetched(&self, from: &FeedPosition) -> Option<FeedBatch> {
        let mut heard = self.heard.lock();
        let (mut batch, came_at) = heard.next.take()?;
        if heard.position != *from {
            return None;
        }
        heard.position.clone_from(&batch.position);
        // The answer is as old as the server said, and since then as much older as it has lain here.
        batch.age = sum(batch.age, came_at.age(&*self.clock));
        Some(batch)
    }
}

fn sum(one: Lifetime, other: Lifetime) -> Lifetime {
    one.as_duration().saturating_add(other.as_duration()).into()
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
        self.hear(&from, self.ask(&from, LONG_POLL)).await;
    }
}

#[cfg(test)]
mod tests {
    use sluice_primitives::{ManualClock, Secret, Timestamp};
    use sluice_token::FeedFollower;

    use super::*;
    use crate::link::LinkConfig;

    /// Of a server that nobody reaches.
    fn feed() -> (Arc<LinkFeed>, Arc<ManualClock>) {
        let config = LinkConfig {
            url: "http://127.0.0.1:1".parse().unwrap(),
            token: Secret::new("a token".to_owned()),
            ca_file: None,
        };
        let clock = Arc::new(ManualClock::at(Timestamp::from_secs(1_000_000)));
        let client = Arc::new(LinkClient::new(&config).unwrap());
        (Arc::new(LinkFeed::new(client, clock.clone())), clock)
    }

    #[tokio::test]
    async fn what_lay_here_while_the_machine_was_suspended_is_as_old_as_that() {
        let (feed, clock) = feed();
        let heard = async |suspended: Lifetime| {
            let batch = FeedBatch { age: Lifetime::secs(1), ..FeedBatch::default() };
            feed.heard.lock().next = Some((batch, Moment::now(&*clock)));
            clock.advance(suspended);
            feed.read(&FeedPosition::default()).await.unwrap().age
        };
        let at_once = heard(Lifetime::ZERO).await;
        assert!(at_once >= Lifetime::secs(1) && at_once < Lifetime::minutes(1));
        assert!(heard(Lifetime::hours(8)).await > Lifetime::hours(8));
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_that_was_long_on_its_way_is_as_old_as_that() {
        let (feed, clock) = feed();
        let follower = FeedFollower::new(feed.clone(), Arc::default(), clock);
        let heard = async |took: Duration| {
            let answer = async {
                sleep(took).await;
                Ok(FeedBatch::default())
            };
            feed.hear(&FeedPosition::default(), answer).await;
            follower.catch_up().await.unwrap();
            follower.age()
        };
        assert!(heard(LONG_POLL).await < Lifetime::minutes(1), "the server may wait so long");
        assert!(heard(LONG_POLL + Duration::from_mins(10)).await >= Lifetime::minutes(10));
    }
}
