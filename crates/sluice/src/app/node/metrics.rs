//! What an operator sees of a node.

use std::sync::Arc;

use sluice_oauth::client::ClientDirectory;

use super::{BUILD, Node};
use crate::app::lookout::show_ready;
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
        numbers::count_refusals(&metrics, &self.services.metrics);
        let sealers = [Arc::clone(&self.services.sealer), Arc::clone(&self.services.at_rest)];
        numbers::count_unknown_keys(&metrics, move |purpose| {
            let counts = sealers.iter().filter_map(|sealer| sealer.of_unknown_key(purpose));
            counts.reduce(|one, other| one + other)
        });
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
        self.show_health(&metrics);
        metrics
    }

    /// Shows what it takes to be ready, and what is asked of the database for that.
    fn show_health(&self, metrics: &Metrics) {
        if let Some(lookout) = &self.lookout {
            lookout.show(metrics);
            lookout.show_waiting(metrics, self.services.people.delivery.is_some());
        }
        self.agreement.show(metrics);
        numbers::show_connections(metrics, &self.stores);
        numbers::show_time(metrics, &self.clock);
        let follower = Arc::clone(&self.services.follower);
        show_ready(metrics, "feed", move || !follower.is_stale());
        let follower = Arc::clone(&self.services.follower);
        metrics.register_gauge_fn("sluice_feed_age_seconds", "How long ago the feed was heard", move || {
            numbers::feed_age(follower.age())
        });
    }
}
