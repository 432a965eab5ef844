//! The feed in memory, and what its markers cover.

use std::collections::BTreeMap;
use std::time::Duration;

use async_trait::async_trait;
use sluice_commit::StoreError;
use sluice_oauth::grant::Grant;
use sluice_primitives::{NodeId, Timestamp};
use sluice_token::{FEED_PAGE, Feed, FeedBatch, FeedPosition, Target};
use tokio::time::timeout;

use super::{Data, MemoryStore};

const POLL: Duration = Duration::from_millis(250);

impl Data {
    /// Whether a marker for `target` covers what happened at `time`.
    pub(super) fn is_marked(&self, target: &Target, time: Timestamp) -> bool {
        self.markers.values().any(|marker| marker.target == *target && marker.at >= time)
    }

    /// Whether a wide marker covers the grant.
    pub(super) fn covers(&self, grant: &Grant) -> bool {
        let (subject, client) = (grant.subject.clone(), grant.client.clone());
        grant.session.is_some_and(|session| self.is_marked(&Target::Session(session), grant.authenticated_at))
            || self.is_marked(&Target::Grant(grant.id), Timestamp::from_millis(0))
            || self.is_marked(&Target::Subject(subject.clone()), grant.authenticated_at)
            || self.is_marked(&Target::SubjectClient(subject.clone(), client.clone()), grant.consented_at)
            || self.is_marked(&Target::SubjectConsents(subject), grant.consented_at)
            || self.is_marked(&Target::Client(client), grant.consented_at)
    }
}

/// Whether what an origin appended there was not read yet.
fn is_behind(position: &BTreeMap<NodeId, i64>, (origin, counter): &(NodeId, i64)) -> bool {
    position.get(origin).is_none_or(|read| counter > read)
}

#[async_trait]
impl Feed for MemoryStore {
    async fn read(&self, from: &FeedPosition) -> Result<FeedBatch, StoreError> {
        let mut batch = FeedBatch { position: from.clone(), ..FeedBatch::default() };
        let page = usize::try_from(FEED_PAGE).unwrap_or(usize::MAX);
        MemoryStore::read(self, |data| {
            let new = data.markers.iter().filter(|(place, _)| is_behind(&from.revocations, place));
            for ((origin, counter), marker) in new.take(page) {
                batch.markers.push(marker.clone());
                batch.position.revocations.insert(*origin, *counter);
            }
            let new = data.changes.iter().filter(|(place, _)| is_behind(&from.changes, place));
            for ((origin, counter), change) in new.take(page) {
                batch.changes.push(change.clone());
                batch.position.changes.insert(*origin, *counter);
            }
        });
        batch.more = batch.markers.len() == page || batch.changes.len() == page;
        Ok(batch)
    }

    async fn wait(&self) {
        drop(timeout(POLL, self.shared.written.notified()).await);
    }
}
