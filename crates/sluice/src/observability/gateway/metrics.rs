//! The gateway's counters, by route. The handles of a route are kept together, so that a request costs two short lookups.

use std::sync::Arc;

use hashbrown::HashMap;
use parking_lot::RwLock;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::{Family, MetricConstructor};
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;
use sluice_gateway::RequestRecord;

/// In seconds. Most requests take less than the first of Hydra's bounds.
const BOUNDS: &[f64] =
    &[0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0];

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ByRoute {
    route: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ByOutcome {
    route: String,
    code: u16,
    verdict: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ByFault {
    route: String,
    fault: &'static str,
}

#[derive(Clone, Copy)]
struct Seconds;

impl MetricConstructor<Histogram> for Seconds {
    fn new_metric(&self) -> Histogram {
        Histogram::new(BOUNDS.iter().copied())
    }
}

/// The counters of all routes.
pub(crate) struct GatewayMetrics {
    families: Families,
    routes: RwLock<HashMap<Box<str>, Arc<OfRoute>>>,
}

struct Families {
    requests: Family<ByOutcome, Counter>,
    seconds: Family<ByRoute, Histogram, Seconds>,
    upstream_seconds: Family<ByRoute, Histogram, Seconds>,
    retries: Family<ByRoute, Counter>,
    faults: Family<ByFault, Counter>,
}

/// The handles of one route.
struct OfRoute {
    seconds: Histogram,
    upstream_seconds: Histogram,
    retries: Counter,
    /// By status and verdict, those that came first in front: a few, of which one or two are nearly all.
    outcomes: RwLock<Vec<((u16, &'static str), Counter)>>,
}

impl GatewayMetrics {
    /// Registers the counters.
    pub(crate) fn register(registry: &mut Registry) -> Self {
        let families = Families {
            requests: Family::default(),
            seconds: Family::new_with_constructor(Seconds),
            upstream_seconds: Family::new_with_constructor(Seconds),
            retries: Family::default(),
            faults: Family::default(),
        };
        let Families { requests, seconds, upstream_seconds, retries, faults } = &families;
        registry.register(
            "sluice_gateway_requests",
            "Requests by route, status and verdict; status 0: the client left first",
            requests.clone(),
        );
        registry.register(
            "sluice_gateway_request_seconds",
            "From head to head of the answer",
            seconds.clone(),
        );
        registry.register(
            "sluice_gateway_upstream_seconds",
            "Of it, what the upstream took",
            upstream_seconds.clone(),
        );
        registry.register("sluice_gateway_retries", "Requests sent to an upstream anew", retries.clone());
        registry.register("sluice_gateway_upstream_faults", "What went wrong with upstreams", faults.clone());
        Self { families, routes: RwLock::default() }
    }

    /// Counts a request.
    pub(super) fn count(&self, record: &RequestRecord<'_>) {
        let route = self.route(record.route);
        let code = record.status.map_or(0, |status| status.as_u16());
        self.outcome(&route, record, code).inc();
        route.seconds.observe(record.duration.as_secs_f64());
        if let Some(duration) = record.upstream_duration {
            route.upstream_seconds.observe(duration.as_secs_f64());
        }
        if record.retries > 0 {
            route.retries.inc_by(record.retries.into());
        }
        if let Some(fault) = record.fault {
            let by_fault = ByFault { route: record.route.to_owned(), fault };
            self.families.faults.get_or_create(&by_fault).inc();
        }
    }

    fn route(&self, name: &str) -> Arc<OfRoute> {
        if let Some(known) = self.routes.read().get(name) {
            return Arc::clone(known);
        }
        let label = || ByRoute { route: name.to_owned() };
        let made = Arc::new(OfRoute {
            seconds: self.families.seconds.get_or_create(&label()).clone(),
            upstream_seconds: self.families.upstream_seconds.get_or_create(&label()).clone(),
            retries: self.families.retries.get_or_create(&label()).clone(),
            outcomes: RwLock::default(),
        });
        Arc::clone(self.routes.write().entry(name.into()).or_insert(made))
    }

    fn outcome(&self, route: &OfRoute, record: &RequestRecord<'_>, code: u16) -> Counter {
        let key = (code, record.verdict);
        let known =
            route.outcomes.read().iter().find(|(of, _)| *of == key).map(|(_, counter)| counter.clone());
        if let Some(counter) = known {
            return counter;
        }
        let by_outcome = ByOutcome { route: record.route.to_owned(), code, verdict: record.verdict };
        let counter = self.families.requests.get_or_create(&by_outcome).clone();
        // Two requests at once may add the same counter twice: the first of them is found.
        route.outcomes.write().push((key, counter.clone()));
        counter
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;
    use std::time::Duration;

    use http::{Method, StatusCode};
    use prometheus_client::encoding::text;

    use super::*;

    #[test]
    fn requests_are_counted_by_route_status_and_verdict() {
        let mut registry = Registry::default();
        let metrics = GatewayMetrics::register(&mut registry);
        let record = |status, verdict| RequestRecord {
            route: "orders",
            method: &Method::GET,
            path: "/",
            host: "",
            client: IpAddr::from([127, 0, 0, 1]),
            status,
            verdict,
            subject: None,
            client_id: None,
            upstream: None,
            duration: Duration::from_millis(2),
            upstream_duration: Some(Duration::from_millis(1)),
            retries: 1,
            fault: Some("reset"),
        };
        metrics.count(&record(Some(StatusCode::OK), "caller"));
        metrics.count(&record(Some(StatusCode::OK), "caller"));
        metrics.count(&record(None, "token_expired"));
        let mut encoded = String::new();
        text::encode(&mut encoded, &registry).unwrap();
        for line in [
            r#"sluice_gateway_requests_total{route="orders",code="200",verdict="caller"} 2"#,
            r#"sluice_gateway_requests_total{route="orders",code="0",verdict="token_expired"} 1"#,
            r#"sluice_gateway_request_seconds_count{route="orders"} 3"#,
            r#"sluice_gateway_upstream_seconds_bucket{le="0.001",route="orders"} 3"#,
            r#"sluice_gateway_retries_total{route="orders"} 3"#,
            r#"sluice_gateway_upstream_faults_total{route="orders",fault="reset"} 3"#,
        ] {
            assert!(encoded.contains(line), "{line} in\n{encoded}");
        }
    }
}
