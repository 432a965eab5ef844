//! The gateway's counters, by route. The handles of a route are kept together, so that a request costs two short lookups, for which
//! nothing is locked; and each thread counts by itself ([`Tally`]).

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use arc_swap::ArcSwap;
use hashbrown::HashMap;
use prometheus_client::encoding::{EncodeLabelSet, EncodeMetric, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::{MetricType, TypedMetric};
use prometheus_client::registry::Registry;
use sluice_gateway::RequestRecord;
use sluice_gateway::proxy::Fault;
use sluice_primitives::Tally;

/// In microseconds. Most requests take less than the first of Hydra's bounds.
const BOUNDS: [u64; 16] = [
    250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000, 2_500_000,
    5_000_000, 10_000_000, 30_000_000,
];
/// Where is counted what took longer than the last.
const BEYOND: usize = BOUNDS.len();
/// The name of what is under no route.
const NO_ROUTE: &str = "-";
/// Where all is summed.
const SUM: usize = BEYOND + 1;

/// All that `sluice_gateway_upstream_faults_total` counts: the last two are of answers that had begun. A counter that comes into being with
/// its first fault shows no growth: where it was nothing before, nobody is woken by it.
const UPSTREAM_FAULTS: [&str; 10] = [
    Fault::Connect.label(),
    Fault::ConnectTimeout.label(),
    Fault::Reset.label(),
    Fault::BadAnswer.label(),
    Fault::Timeout.label(),
    Fault::Unprocessed.label(),
    Fault::Overloaded.label(),
    Fault::NoUpstream.label(),
    "cut",
    "stalled",
];

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

/// How often something happened.
#[derive(Debug, Clone, Default)]
struct Count(Arc<Tally<1>>);

impl Count {
    fn add(&self, more: u64) {
        self.0.add(0, more);
    }
}

impl TypedMetric for Count {
    const TYPE: MetricType = MetricType::Counter;
}

impl EncodeMetric for Count {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> fmt::Result {
        let [count] = self.0.sums();
        encoder.encode_counter::<NoLabelSet, _, u64>(&count, None)
    }

    fn metric_type(&self) -> MetricType {
        Self::TYPE
    }
}

/// How long something took: a histogram, and all of it in microseconds.
#[derive(Debug, Clone, Default)]
struct Seconds(Arc<Tally<{ SUM + 1 }>>);

impl Seconds {
    fn observe(&self, duration: Duration) {
        let nanos = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        let bucket = BOUNDS.iter().position(|bound| nanos <= bound * 1_000).unwrap_or(BEYOND);
        self.0.add(bucket, 1);
        self.0.add(SUM, nanos.saturating_add(500) / 1_000);
    }
}

impl TypedMetric for Seconds {
    const TYPE: MetricType = MetricType::Histogram;
}

impl EncodeMetric for Seconds {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> fmt::Result {
        let sums = self.0.sums();
        let bounds = BOUNDS.iter().map(|bound| seconds(*bound)).chain([f64::INFINITY]);
        let buckets: Vec<(f64, u64)> = bounds.zip(sums).collect();
        let count: u64 = buckets.iter().map(|(_, count)| count).sum();
        let [.., sum] = sums;
        encoder.encode_histogram::<NoLabelSet>(seconds(sum), count, &buckets, None)
    }

    fn metric_type(&self) -> MetricType {
        Self::TYPE
    }
}

fn seconds(micros: u64) -> f64 {
    Duration::from_micros(micros).as_secs_f64()
}

/// The counters of all routes.
pub(crate) struct GatewayMetrics {
    families: Families,
    routes: ArcSwap<HashMap<Box<str>, Arc<OfRoute>>>,
}

struct Families {
    requests: Family<ByOutcome, Count>,
    seconds: Family<ByRoute, Seconds>,
    upstream_seconds: Family<ByRoute, Seconds>,
    retries: Family<ByRoute, Count>,
    retries_refused: Family<ByRoute, Count>,
    faults: Family<ByFault, Count>,
    client_faults: Family<ByFault, Count>,
}

/// The handles of one route.
struct OfRoute {
    seconds: Seconds,
    upstream_seconds: Seconds,
    retries: Count,
    retries_refused: Count,
    outcomes: Outcomes,
}

/// By status and verdict, those that came first in front: a few, of which one or two are nearly all. What is there stays there.
#[derive(Default)]
struct Outcomes(OnceLock<Box<Outcome>>);

struct Outcome {
    code: u16,
    verdict: &'static str,
    count: Count,
    others: Outcomes,
}

impl Outcomes {
    /// The counter of an outcome; `make` makes it, of one that is new.
    fn find(&self, (code, verdict): (u16, &'static str), make: impl Fn() -> Count) -> &Count {
        let new = || Box::new(Outcome { code, verdict, count: make(), others: Self::default() });
        let mut outcome = self.0.get_or_init(new);
        while (outcome.code, outcome.verdict) != (code, verdict) {
            outcome = outcome.others.0.get_or_init(new);
        }
        &outcome.count
    }
}

impl GatewayMetrics {
    /// Registers the counters.
    pub(crate) fn register(registry: &mut Registry) -> Self {
        let families = Families {
            requests: Family::default(),
            seconds: Family::default(),
            upstream_seconds: Family::default(),
            retries: Family::default(),
            retries_refused: Family::default(),
            faults: Family::default(),
            client_faults: Family::default(),
        };
        let Families { requests, seconds, upstream_seconds, retries, retries_refused, faults, client_faults } =
            &families;
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
        registry.register(
            "sluice_gateway_retries_refused",
            "Requests that were not sent anew because too many were",
            retries_refused.clone(),
        );
        registry.register("sluice_gateway_upstream_faults", "What went wrong with upstreams", faults.clone());
        registry.register(
            "sluice_gateway_client_faults",
            "Requests that failed by what their clients sent",
            client_faults.clone(),
        );
        Self { families, routes: ArcSwap::default() }
    }

    /// Counts a request.
    pub(super) fn count(&self, record: &RequestRecord<'_>) {
        match self.routes.load().get(record.route) {
            Some(route) => self.count_under(route, record),
            None => self.count_under(&self.learn(record.route), record),
        }
    }

    fn count_under(&self, route: &OfRoute, record: &RequestRecord<'_>) {
        let code = record.status.map_or(0, |status| status.as_u16());
        let by_outcome = || ByOutcome { route: record.route.to_owned(), code, verdict: record.verdict };
        let make = || self.families.requests.get_or_create(&by_outcome()).clone();
        route.outcomes.find((code, record.verdict), make).add(1);
        route.seconds.observe(record.duration);
        if let Some(duration) = record.upstream_duration {
            route.upstream_seconds.observe(duration);
        }
        if record.retries > 0 {
            route.retries.add(record.retries.into());
        }
        if record.is_beyond_budget {
            route.retries_refused.add(1);
        }
    }

    /// Counts what went wrong with an attempt at a request, by whose fault it is. What is nobody's, as that a route has no upstream, is told by
    /// the status alone.
    pub(super) fn count_fault(&self, route: &str, fault: Fault) {
        let by_fault = ByFault { route: route.to_owned(), fault: fault.label() };
        if fault.is_of_upstream() {
            self.families.faults.get_or_create(&by_fault).add(1);
        } else if fault.is_of_client() {
            self.families.client_faults.get_or_create(&by_fault).add(1);
        }
    }

    /// Counts an answer that broke off, which is its upstream's fault.
    pub(super) fn count_broken_answer(&self, route: &str, fault: &'static str) {
        let by_fault = ByFault { route: route.to_owned(), fault };
        self.families.faults.get_or_create(&by_fault).add(1);
    }

    /// Takes up a route that is new. The faults of its upstream begin at nothing.
    fn learn(&self, name: &str) -> Arc<OfRoute> {
        let label = ByRoute { route: name.to_owned() };
        if name != NO_ROUTE {
            for fault in UPSTREAM_FAULTS {
                let by_fault = ByFault { route: name.to_owned(), fault };
                drop(self.families.faults.get_or_create(&by_fault));
            }
        }
        let made = Arc::new(OfRoute {
            seconds: self.families.seconds.get_or_create(&label).clone(),
            upstream_seconds: self.families.upstream_seconds.get_or_create(&label).clone(),
            retries: self.families.retries.get_or_create(&label).clone(),
            retries_refused: self.families.retries_refused.get_or_create(&label).clone(),
            outcomes: Outcomes::default(),
        });
        self.routes.rcu(|routes| {
            let mut more = HashMap::clone(routes);
            more.entry(name.into()).or_insert_with(|| Arc::clone(&made));
            more
        });
        made
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;
    use std::thread;

    use http::{Method, StatusCode};
    use prometheus_client::encoding::text;
    use prometheus_client::metrics::histogram::Histogram;
    use prometheus_client::registry::Metric;

    use super::*;

    fn record(status: Option<StatusCode>, verdict: &'static str) -> RequestRecord<'static> {
        RequestRecord {
            route: "orders",
            method: &Method::GET,
            protocol: None,
            path: "/",
            host: "",
            client: IpAddr::from([127, 0, 0, 1]),
            status,
            request_bytes: None,
            response_bytes: None,
            verdict,
            request_id: None,
            subject: None,
            client_id: None,
            upstream: None,
            duration: Duration::from_millis(2),
            upstream_duration: Some(Duration::from_millis(1)),
            retries: 1,
            is_beyond_budget: true,
            fault: Some("reset"),
        }
    }

    /// The lines about what was counted so.
    fn counted(count: impl FnOnce(&GatewayMetrics)) -> String {
        let mut registry = Registry::default();
        count(&GatewayMetrics::register(&mut registry));
        encoded(&registry)
    }

    fn encoded(registry: &Registry) -> String {
        let mut encoded = String::new();
        text::encode(&mut encoded, registry).unwrap();
        encoded
    }

    #[test]
    fn requests_are_counted_by_route_status_and_verdict() {
        let encoded = counted(|metrics| {
            metrics.count(&record(Some(StatusCode::OK), "caller"));
            metrics.count(&record(Some(StatusCode::OK), "caller"));
            metrics.count(&record(None, "token_expired"));
            metrics.count_broken_answer("orders", "cut");
        });
        for line in [
            r#"sluice_gateway_requests_total{route="orders",code="200",verdict="caller"} 2"#,
            r#"sluice_gateway_requests_total{route="orders",code="0",verdict="token_expired"} 1"#,
            r#"sluice_gateway_request_seconds_sum{route="orders"} 0.006"#,
            r#"sluice_gateway_request_seconds_count{route="orders"} 3"#,
            r#"sluice_gateway_upstream_seconds_bucket{le="0.001",route="orders"} 3"#,
            r#"sluice_gateway_retries_total{route="orders"} 3"#,
            r#"sluice_gateway_retries_refused_total{route="orders"} 3"#,
            r#"sluice_gateway_upstream_faults_total{route="orders",fault="cut"} 1"#,
        ] {
            assert!(encoded.contains(line), "{line} in\n{encoded}");
        }
    }

    #[test]
    fn faults_of_upstreams_are_counted_apart_from_those_of_clients_and_what_is_nobodys_is_not() {
        let encoded = counted(|metrics| {
            for fault in [Fault::Reset, Fault::Reset, Fault::Overloaded, Fault::Unprocessed, Fault::Timeout] {
                metrics.count_fault("orders", fault);
            }
            for fault in [Fault::TooLarge, Fault::ClientBody, Fault::SlowClient, Fault::HeadTooLarge] {
                metrics.count_fault("orders", fault);
            }
            metrics.count_fault("orders", Fault::NotForwarded);
            metrics.count_fault("orders", Fault::OutOfTime);
        });
        let mut counted: Vec<_> = encoded.lines().filter(|line| line.contains("_faults_total{")).collect();
        counted.sort_unstable();
        let expected = [
            r#"sluice_gateway_client_faults_total{route="orders",fault="client_body"} 1"#,
            r#"sluice_gateway_client_faults_total{route="orders",fault="head_too_large"} 1"#,
            r#"sluice_gateway_client_faults_total{route="orders",fault="slow_client"} 1"#,
            r#"sluice_gateway_client_faults_total{route="orders",fault="too_large"} 1"#,
            r#"sluice_gateway_upstream_faults_total{route="orders",fault="overloaded"} 1"#,
            r#"sluice_gateway_upstream_faults_total{route="orders",fault="reset"} 2"#,
            r#"sluice_gateway_upstream_faults_total{route="orders",fault="timeout"} 1"#,
            r#"sluice_gateway_upstream_faults_total{route="orders",fault="unprocessed"} 1"#,
        ];
        assert_eq!(counted, expected);
    }

    #[test]
    fn faults_of_the_upstream_of_a_route_are_counted_from_nothing_as_soon_as_it_is_asked_for() {
        let encoded = counted(|metrics| {
            metrics.count(&record(Some(StatusCode::OK), "caller"));
            metrics.count_fault("orders", Fault::Reset);
            metrics.count(&RequestRecord { route: "-", ..record(Some(StatusCode::NOT_FOUND), "no_route") });
        });
        let shown: Vec<_> = encoded.lines().filter(|line| line.contains("_faults_total{")).collect();
        assert_eq!(shown.len(), UPSTREAM_FAULTS.len(), "{shown:?}");
        for fault in UPSTREAM_FAULTS {
            let count = u8::from(fault == "reset");
            let line =
                format!("sluice_gateway_upstream_faults_total{{route=\"orders\",fault=\"{fault}\"}} {count}");
            assert!(shown.contains(&line.as_str()), "{line} in\n{encoded}");
        }
    }

    #[test]
    fn threads_that_count_at_once_lose_nothing() {
        let outcomes: Vec<_> =
            [(200, "caller"), (401, "caller"), (401, "token_missing"), (503, "caller")].into();
        let encoded = counted(|metrics| {
            thread::scope(|scope| {
                for turn in 0..16 {
                    let mut outcomes = outcomes.clone();
                    outcomes.rotate_left(turn % 4);
                    scope.spawn(move || {
                        for (code, verdict) in outcomes.into_iter().cycle().take(400) {
                            metrics.count(&record(StatusCode::from_u16(code).ok(), verdict));
                        }
                    });
                }
            });
        });
        for (code, verdict) in outcomes {
            let line = format!("{{route=\"orders\",code=\"{code}\",verdict=\"{verdict}\"}} 1600\n");
            assert!(encoded.contains(&line), "{line} in\n{encoded}");
        }
        let all = "sluice_gateway_request_seconds_count{route=\"orders\"} 6400\n";
        assert!(encoded.contains(all), "{encoded}");
    }

    /// The lines about one metric.
    fn written(metric: impl Metric) -> Vec<String> {
        let mut registry = Registry::default();
        registry.register("a", "A", metric);
        encoded(&registry).lines().map(str::to_owned).collect()
    }

    #[test]
    fn a_histogram_is_written_as_the_library_writes_its_own() {
        let both = || (Seconds::default(), Histogram::new(BOUNDS.map(seconds)));
        let (ours, theirs) = both();
        // Sums of such fractions are exact.
        for micros in [0, 15_625, 31_250, 250_000, 500_000, 2_500_000, 10_000_000, 30_000_000, 31_000_000] {
            let duration = Duration::from_micros(micros);
            ours.observe(duration);
            theirs.observe(duration.as_secs_f64());
            assert_eq!(written(ours.clone()), written(theirs.clone()), "{duration:?}");
        }
        let edges = BOUNDS.iter().flat_map(|bound| [bound * 1_000 - 1, bound * 1_000, bound * 1_000 + 1]);
        for duration in edges.map(Duration::from_nanos) {
            let (ours, theirs) = both();
            ours.observe(duration);
            theirs.observe(duration.as_secs_f64());
            let [ours, theirs] = [written(ours), written(theirs)];
            for (ours, theirs) in ours.iter().zip(&theirs).filter(|(ours, _)| !ours.starts_with("a_sum")) {
                assert_eq!(ours, theirs, "{duration:?}");
            }
            assert_eq!(ours.len(), theirs.len());
        }
    }
}
