//! What the metrics show of the gateway beside its requests.

use std::sync::Arc;

use sluice_gateway::proxy::Servers;
use sluice_gateway::proxy::upstream::ServerState;
use sluice_gateway::route::RoutesFile;
use sluice_gateway::validation::{HolderCheck, IntrospectionStats, LookupStats, Validation, VerdictCache};
use sluice_token::{FeedFollower, RevocationSet};

use crate::app::numbers::feed_age;
use crate::observability::Metrics;
use crate::observability::metrics::{CacheReaders, ProofReaders};

/// A counter of each issuer that is asked about tokens.
type OfIssuer = (&'static str, &'static str, fn(&IntrospectionStats) -> u64);

const QUESTIONS: [OfIssuer; 3] = [
    ("sluice_gateway_questions_total", "Questions about tokens to other issuers", |stats| stats.asked),
    ("sluice_gateway_questions_failed_total", "Those of them without an answer", |stats| stats.failed),
    ("sluice_gateway_questions_spared_total", "Those not asked because the answer was known", |stats| {
        stats.spared
    }),
];

/// A counter of the verifications of each route.
type OfRoute = (&'static str, &'static str, fn(&LookupStats) -> u64);

const LOOKUPS: [OfRoute; 2] = [
    ("sluice_gateway_cache_hits_total", "Tokens of a route that were verified before", |stats| stats.hits),
    ("sluice_gateway_cache_misses_total", "Those that had to be verified", |stats| stats.misses),
];

/// Shows the cache of verdicts, the questions to other issuers, and how the routes file stands.
pub(super) fn show(metrics: &Metrics, file: &Arc<RoutesFile>, validation: &Arc<Validation>) {
    let cache = |read: fn(&VerdictCache) -> u64| {
        let validation = Arc::clone(validation);
        Box::new(move || read(validation.cache())) as Box<dyn Fn() -> u64 + Send + Sync>
    };
    let readers = CacheReaders {
        entries: cache(|cache| u64::try_from(cache.len()).unwrap_or(u64::MAX)),
        hits_total: cache(VerdictCache::hits),
        misses_total: cache(VerdictCache::misses),
    };
    metrics.register_cache("gateway_verdicts", readers);
    for (name, help, read) in LOOKUPS {
        let validation = Arc::clone(validation);
        metrics.register_counters(name, help, move || {
            let of_routes = validation.cache().lookups();
            of_routes.iter().map(|stats| (vec![("route", stats.route.to_string())], read(stats))).collect()
        });
    }
    for (name, help, read) in QUESTIONS {
        let validation = Arc::clone(validation);
        metrics.register_counters(name, help, move || {
            let of_issuers = validation.introspection_stats();
            of_issuers.iter().map(|stats| (vec![("issuer", stats.issuer.to_string())], read(stats))).collect()
        });
    }
    let failing = Arc::clone(file);
    metrics.register_counter(
        "sluice_gateway_routes_failures_total",
        "Routes files that were no good and left the old routes in force",
        Vec::new(),
        move || failing.state().failures,
    );
    let loaded = Arc::clone(file);
    metrics.register_gauge_fn(
        "sluice_gateway_routes_loaded_timestamp_seconds",
        "When the routes in force were read",
        move || seconds(loaded.state().loaded_at.as_secs()),
    );
    let current = Arc::clone(file);
    metrics.register_gauge_fn(
        "sluice_gateway_routes_in_force",
        "Whether what is in the routes file is in force: 1, or 0 while it has mistakes",
        move || if current.state().error.is_none() { 1.0 } else { 0.0 },
    );
}

/// Shows how the servers behind the gateway are doing: those of the routes in force.
pub(super) fn show_servers(metrics: &Metrics, servers: Servers) {
    let help = "Whether requests go to a server: 1, or 0 while it is left alone or probes find it ill";
    metrics.register_gauges("sluice_gateway_server_up", help, move || {
        let states = servers.states().into_iter();
        let label = |state: ServerState| {
            let labels = vec![("upstream", state.upstream.to_string()), ("server", state.server.to_string())];
            (labels, if state.is_up { 1.0 } else { 0.0 })
        };
        states.map(label).collect()
    });
}

/// Shows how many DPoP proofs are remembered, and for how many there was no room.
pub(super) fn show_proofs(metrics: &Metrics, holder: &Arc<HolderCheck>) {
    let (seen, turned_away) = (Arc::clone(holder), Arc::clone(holder));
    let readers = ProofReaders {
        remembered: Box::new(move || u64::try_from(seen.seen().remembered()).unwrap_or(u64::MAX)),
        turned_away_total: Box::new(move || turned_away.seen().turned_away()),
    };
    metrics.register_proofs("gateway", readers);
}

fn seconds(whole: i64) -> f64 {
    u32::try_from(whole).map_or(0.0, f64::from)
}

/// Shows what is known of revocations, where no node does.
pub(super) fn show_knowledge(metrics: &Metrics, set: &Arc<RevocationSet>, follower: &Arc<FeedFollower>) {
    let set = Arc::clone(set);
    metrics.register_gauge_fn("sluice_revocation_markers", "Live revocation markers in memory", move || {
        f64::from(u32::try_from(set.len()).unwrap_or(u32::MAX))
    });
    let follower = Arc::clone(follower);
    metrics.register_gauge_fn("sluice_feed_age_seconds", "How long ago the feed was heard", move || {
        feed_age(follower.age())
    });
}
