//! What an operator sees of a node.

use std::sync::Arc;

use sluice_oauth::client::ClientDirectory;

use super::{BUILD, Node};
use crate::app::numbers;
use crate::observability::{Metrics, metrics};

impl Node {
    pub(super) fn metrics(&self) -> Metrics {
        let metrics = Metrics::new(BUILD);
        metrics.register_commit("hot", Arc::clone(self.stores.commit_metrics()));
        if let Some(lookups) = self.stores.lookup_metrics() {
            metrics.register_commit("lookup", Arc::clone(lookups));
        }
        metrics.register_refusals(self.stores.refusals());
        metrics.register_hash_pool(&self.services.pool);
        numbers::count_flows(&metrics, &self.services.metrics);
        let directory = |read: fn(&ClientDirectory) -> u64| {
            let directory = Arc::clone(&self.services.directory);
            Box::new(move || read(&directory)) as Box<dyn Fn() -> u64 + Send + Sync>
        };
        let readers = metrics::CacheReaders {
            entries: directory(|clients| u64::try_from(clients.len()).unwrap_or(u64::MAX)),
            hits_total: directory(|clients| clients.lookups().0),
            misses_total: directory(|clients| clients.lookups().1),
        };
        metrics.register_cache("clients", readers);
        let (seen, turned_away) =
            (Arc::clone(&self.services.constraint), Arc::clone(&self.services.constraint));
        let readers = metrics::ProofReaders {
            remembered: Box::new(move || u64::try_from(seen.seen_proofs().remembered()).unwrap_or(u64::MAX)),
            turned_away_total: Box::new(move || turned_away.seen_proofs().turned_away()),
        };
        metrics.register_proofs("userinfo", readers);
        let set = Arc::clone(&self.services.revocations);
        metrics.register_gauge_fn(
            "sluice_revocation_markers",
            "Live revocation markers in memory",
            move || f64::from(u32::try_from(set.len()).unwrap_or(u32::MAX)),
        );
        numbers::show_deliveries(&metrics, &self.services.delivery.metrics);
        numbers::show_people(&metrics, &self.services.people, &self.clock);
        let follower = Arc::clone(&self.services.follower);
        metrics.register_gauge_fn("sluice_feed_age_seconds", "How long ago the feed was heard", move || {
            follower.age().as_duration().as_secs_f64()
        });
        metrics
    }
}
