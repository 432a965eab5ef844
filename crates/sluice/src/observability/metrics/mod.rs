//! Metrics: everything that is counted, as text for Prometheus.
//!
//! [`Metrics`]: where the crates' counters are registered. `http`: Hydra's HTTP metrics, by Hydra's names. `sampled`:
//! gauges and counters that are read when asked for. `commit`: the group commit. `process`: the process itself.
//! `exposition`: the two text formats.

mod commit;
mod exposition;
mod http;
mod process;
mod sampled;

use std::sync::Arc;

use ::http::header::{ACCEPT, CONTENT_TYPE};
use ::http::{HeaderMap, StatusCode};
use axum::Router;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use parking_lot::Mutex;
use prometheus_client::encoding::text;
use prometheus_client::registry::Registry;
use sluice_commit::{CommitMetrics, Refusals, StoreRefusals};
use sluice_crypto::hash_pool::{HashPool, PoolMetrics, Priority};

pub(crate) use self::http::{Exchange, HttpMetrics};
pub(crate) use process::ProcessFacts;
pub(crate) use sampled::Label;

use super::gateway::GatewayMetrics;
use super::logs;
use super::traces;
use commit::CommitCollector;
use process::ProcessCollector;
use sampled::{Kind, SampledCollector};

/// What this program is, in the metrics.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Build {
    pub(crate) version: &'static str,
    /// The commit; empty if it is not known.
    pub(crate) hash: &'static str,
    /// When it was built; empty if it is not known.
    pub(crate) time: &'static str,
}

/// Every metric of the process. Counters of other crates are registered at start-up and read when asked for.
pub(crate) struct Metrics {
    registry: Mutex<Registry>,
    http: Arc<HttpMetrics>,
    commit: Arc<CommitCollector>,
    sampled: Arc<SampledCollector>,
}

/// How much of a cache is used, read when asked for.
pub(crate) struct CacheReaders {
    pub(crate) entries: Box<dyn Fn() -> u64 + Send + Sync>,
    pub(crate) hits_total: Box<dyn Fn() -> u64 + Send + Sync>,
    pub(crate) misses_total: Box<dyn Fn() -> u64 + Send + Sync>,
}

/// How much of the memory of DPoP proofs is used, read when asked for.
pub(crate) struct ProofReaders {
    pub(crate) remembered: Box<dyn Fn() -> u64 + Send + Sync>,
    pub(crate) turned_away_total: Box<dyn Fn() -> u64 + Send + Sync>,
}

impl Metrics {
    /// A registry with the HTTP, process and build metrics in it.
    pub(crate) fn new(build: Build) -> Self {
        let mut registry = Registry::default();
        let labels =
            [("app", "sluice"), ("version", build.version), ("hash", build.hash), ("buildTime", build.time)];
        let labelled = labels.map(|(name, value)| (name.into(), value.into()));
        let http = Arc::new(HttpMetrics::register(registry.sub_registry_with_labels(labelled.into_iter())));
        let (commit, sampled) = (Arc::new(CommitCollector::default()), Arc::new(SampledCollector::default()));
        registry.register_collector(Box::new(commit.clone()));
        registry.register_collector(Box::new(sampled.clone()));
        registry.register_collector(Box::new(ProcessCollector::new()));
        let metrics = Self { registry: Mutex::new(registry), http, commit, sampled };
        let version = vec![("version", build.version.to_owned()), ("hash", build.hash.to_owned())];
        metrics.register_gauge("sluice_build_info", "What is running; always 1", version, || 1.0);
        metrics.register_dropped_lines("events", logs::dropped_total);
        metrics.register_counter(
            "sluice_traces_lost_total",
            "Spans of traces that the collector did not take",
            Vec::new(),
            traces::lost_total,
        );
        metrics
    }

    /// The metrics of requests, for the request log.
    pub(crate) fn http(&self) -> Arc<HttpMetrics> {
        self.http.clone()
    }

    /// The metrics of the gateway's requests.
    pub(crate) fn gateway(&self) -> GatewayMetrics {
        GatewayMetrics::register(&mut self.registry.lock())
    }

    /// A gauge without labels, read when asked for.
    pub(crate) fn register_gauge_fn(
        &self,
        name: &'static str,
        help: &'static str,
        read: impl Fn() -> f64 + Send + Sync + 'static,
    ) {
        self.register_gauge(name, help, Vec::new(), read);
    }

    /// A gauge, read when asked for. A name may be registered again with other labels.
    pub(crate) fn register_gauge(
        &self,
        name: &'static str,
        help: &'static str,
        labels: Vec<Label>,
        read: impl Fn() -> f64 + Send + Sync + 'static,
    ) {
        self.sampled.add(Kind::Gauge, (name, help), labels, Box::new(read));
    }

    /// Gauges of which there are as many as there is something to measure, read when asked for.
    pub(crate) fn register_gauges(
        &self,
        name: &'static str,
        help: &'static str,
        read: impl Fn() -> Vec<(Vec<Label>, f64)> + Send + Sync + 'static,
    ) {
        self.sampled.add_all(Kind::Gauge, (name, help), Box::new(read));
    }

    /// A counter, read when asked for. `name` ends in `_total`, and may be registered again with other labels.
    pub(crate) fn register_counter(
        &self,
        name: &'static str,
        help: &'static str,
        labels: Vec<Label>,
        read: impl Fn() -> u64 + Send + Sync + 'static,
    ) {
        let read = Box::new(move || approximate(read()));
        self.sampled.add(Kind::Counter, (name.trim_end_matches("_total"), help), labels, read);
    }

    /// Counters of which there are as many as there is something to count for, read when asked for. `name` ends in `_total`.
    pub(crate) fn register_counters(
        &self,
        name: &'static str,
        help: &'static str,
        read: impl Fn() -> Vec<(Vec<Label>, u64)> + Send + Sync + 'static,
    ) {
        let read = move || {
            let counted = read().into_iter();
            counted.map(|(labels, value)| (labels, approximate(value))).collect::<Vec<_>>()
        };
        self.sampled.add_all(Kind::Counter, (name.trim_end_matches("_total"), help), Box::new(read));
    }

    /// What a log had to drop.
    pub(crate) fn register_dropped_lines(
        &self,
        log: &'static str,
        read: impl Fn() -> u64 + Send + Sync + 'static,
    ) {
        self.register_counter(
            "sluice_log_lines_dropped_total",
            "Lines that a log could not write",
            vec![("log", log.to_owned())],
            read,
        );
    }

    /// How many flows reached `step` (`begun`, `logged_in`, `granted`, …).
    pub(crate) fn register_flow_step(
        &self,
        step: &'static str,
        read: impl Fn() -> u64 + Send + Sync + 'static,
    ) {
        let labels = vec![("step", step.to_owned())];
        self.register_counter("sluice_flows_total", "Flows that reached a step", labels, read);
    }

    /// The group commit of one kind of write.
    pub(crate) fn register_commit(&self, kind: &'static str, metrics: Arc<CommitMetrics>) {
        self.commit.add(kind, metrics);
    }

    /// What the store refuses past the group commit.
    pub(crate) fn register_refusals(&self, refusals: &Arc<StoreRefusals>) {
        for (kind, of) in REFUSALS {
            let [turned_away, refused, unanswered] = [(); 3].map(|()| Arc::clone(refusals));
            let label = || vec![("kind", kind.to_owned())];
            self.register_counter(
                "sluice_store_turned_away_total",
                "Statements past the commit queues that were turned away because too many waited",
                label(),
                move || of(&turned_away).turned_away_total(),
            );
            self.register_counter(
                "sluice_store_refused_total",
                "Statements past the commit queues that the store refused whatever the values",
                label(),
                move || of(&refused).refused_total(),
            );
            self.register_counter(
                "sluice_store_unanswered_total",
                "Statements past the commit queues that the store did not answer in time, or was not reached for",
                label(),
                move || of(&unanswered).unanswered_total(),
            );
        }
    }

    /// A cache in memory.
    pub(crate) fn register_cache(&self, cache: &'static str, readers: CacheReaders) {
        let label = || vec![("cache", cache.to_owned())];
        let entries = readers.entries;
        self.register_gauge("sluice_cache_entries", "Entries of a cache", label(), move || {
            approximate(entries())
        });
        let lookups = "Lookups in a cache";
        self.register_counter("sluice_cache_hits_total", lookups, label(), readers.hits_total);
        self.register_counter("sluice_cache_misses_total", lookups, label(), readers.misses_total);
    }

    /// The connections that a listener serves, and how many it may serve.
    pub(crate) fn register_connections(
        &self,
        listener: &'static str,
        most: usize,
        served: impl Fn() -> usize + Send + Sync + 'static,
    ) {
        let label = || vec![("listener", listener.to_owned())];
        self.register_gauge("sluice_connections", "Connections that a listener serves", label(), move || {
            approximate(count(served()))
        });
        let limit = "Connections that a listener may serve at once";
        self.register_gauge("sluice_connections_limit", limit, label(), move || approximate(count(most)));
    }

    /// The memory of the DPoP proofs that were seen by one who takes them.
    pub(crate) fn register_proofs(&self, taker: &'static str, readers: ProofReaders) {
        let label = || vec![("taker", taker.to_owned())];
        let remembered = readers.remembered;
        self.register_gauge(
            "sluice_dpop_proofs_remembered",
            "DPoP proofs that were seen and are still good",
            label(),
            move || approximate(remembered()),
        );
        self.register_counter(
            "sluice_dpop_proofs_turned_away_total",
            "DPoP proofs that were refused because no more could be remembered",
            label(),
            readers.turned_away_total,
        );
    }

    /// The pool that slow hashes run in.
    pub(crate) fn register_hash_pool(&self, pool: &Arc<HashPool>) {
        let reading = |read: fn(&PoolMetrics) -> u64| {
            let pool = pool.clone();
            move || read(pool.metrics())
        };
        let as_gauge = |read: fn(&PoolMetrics) -> u64| {
            let read = reading(read);
            move || approximate(read())
        };
        self.register_gauge_fn(
            "sluice_hash_pool_busy_threads",
            "Threads that hash now",
            as_gauge(|pool| count(pool.busy_threads())),
        );
        self.register_gauge_fn(
            "sluice_hash_pool_held_bytes",
            "Memory that the threads hold now",
            as_gauge(|pool| count(pool.held_bytes())),
        );
        let done = reading(PoolMetrics::done_total);
        self.register_counter("sluice_hash_pool_jobs_total", "Slow hashes computed", Vec::new(), done);
        for (name, priority) in PRIORITIES {
            let (waiting, refused) = (pool.clone(), pool.clone());
            let label = || vec![("priority", name.to_owned())];
            self.register_gauge("sluice_hash_pool_queue_depth", "Hashes that wait", label(), move || {
                approximate(count(waiting.metrics().queue_depth(priority)))
            });
            let refusals = "Hashes refused because their queue was full or there was no memory for them";
            self.register_counter("sluice_hash_pool_rejections_total", refusals, label(), move || {
                refused.metrics().rejected_total(priority)
            });
        }
    }

    /// Everything, as `OpenMetrics` 1.0; empty if it could not be written.
    pub(crate) fn encode(&self) -> String {
        let mut encoded = String::new();
        if text::encode(&mut encoded, &self.registry.lock()).is_err() {
            tracing::error!("metrics could not be written");
            encoded.clear();
        }
        encoded
    }
}

const PRIORITIES: [(&str, Priority); 3] = [
    ("login", Priority::Login),
    ("client_secret", Priority::ClientSecret),
    ("hardening", Priority::Hardening),
];

/// What is refused of one kind.
type RefusalsOf = fn(&StoreRefusals) -> &Refusals;

const REFUSALS: [(&str, RefusalsOf); 2] =
    [("read", |refusals| &refusals.reads), ("write", |refusals| &refusals.writes)];

/// `GET /admin/metrics/prometheus`, and `/admin/metrics` for scrapers, which ask for `/metrics`.
pub(crate) fn routes(metrics: Arc<Metrics>) -> Router {
    at(&["/admin/metrics/prometheus", "/admin/metrics"], metrics)
}

/// The same of a process that has nothing else to serve: at the paths as the admin port of a server takes them, without the prefix, too.
pub(crate) fn own_routes(metrics: Arc<Metrics>) -> Router {
    at(&["/metrics/prometheus", "/metrics"], Arc::clone(&metrics)).merge(routes(metrics))
}

fn at(paths: &[&str], metrics: Arc<Metrics>) -> Router {
    let routes = paths.iter().fold(Router::new(), |routes, path| routes.route(path, get(prometheus)));
    routes.with_state(metrics)
}

async fn prometheus(State(metrics): State<Arc<Metrics>>, headers: HeaderMap) -> Response {
    let encoded = metrics.encode();
    if encoded.is_empty() {
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    }
    let accepted = headers.get(ACCEPT).and_then(|accept| accept.to_str().ok()).unwrap_or_default();
    let (content_type, body) = exposition::negotiated(accepted, encoded);
    ([(CONTENT_TYPE, content_type)], body).into_response()
}

fn count(value: usize) -> u64 {
    u64::try_from(value).unwrap_or(u64::MAX)
}

#[expect(clippy::cast_precision_loss, reason = "a metric is read by its leading digits")]
fn approximate(value: u64) -> f64 {
    value as f64
}

#[cfg(test)]
mod tests;
