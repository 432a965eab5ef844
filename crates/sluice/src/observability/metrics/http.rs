//! Hydra's HTTP metrics, by the names and labels of `ory/x/prometheusx`, so that its dashboards keep working.
//!
//! Families are found by a hash of all labels. A request would pay that six times, so the handles of one endpoint are
//! kept together: a request costs two lookups.

use std::sync::Arc;
use std::time::Duration;

use ::http::{Method, StatusCode};
use hashbrown::HashMap;
use parking_lot::RwLock;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::{Family, MetricConstructor};
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use super::approximate;

/// Hydra's bounds, with finer ones in front: most answers here take less than its first.
const DURATION_BOUNDS: &[f64] =
    &[0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];
const SIZE_BOUNDS: &[f64] = &[64.0, 256.0, 1024.0, 4096.0, 16_384.0, 65_536.0, 262_144.0, 1_048_576.0];

/// The endpoint of requests that no route matched, in Hydra's words.
const UNMATCHED: &str = "{unmatched}";
/// The code of requests whose client left first, as in the metrics of the gateway.
const LEFT: u16 = 0;

/// A request that is over.
#[derive(Debug, Clone)]
pub(crate) struct Exchange<'a> {
    pub(crate) method: &'a Method,
    /// The route, with `{…}` for what varies. `None`: no route matched.
    pub(crate) endpoint: Option<&'a str>,
    /// `None`: the client left before there was an answer.
    pub(crate) status: Option<StatusCode>,
    pub(crate) duration: Duration,
    pub(crate) request_bytes: u64,
    /// `None` if the body's length is not known beforehand.
    pub(crate) response_bytes: Option<u64>,
}

/// The families, and the handles that were in use before.
pub(crate) struct HttpMetrics {
    families: Families,
    endpoints: RwLock<HashMap<Box<str>, Arc<Endpoint>>>,
}

struct Families {
    requests: Family<CodeMethodEndpoint, Counter>,
    duration: Family<CodeMethodEndpoint, Histogram, Bounds>,
    response_time: Family<EndpointOnly, Histogram, Bounds>,
    request_size: Family<CodeMethod, Histogram, Bounds>,
    response_size: Family<CodeMethod, Histogram, Bounds>,
    statuses: Family<MethodStatus, Counter>,
}

/// The handles of one endpoint.
struct Endpoint {
    label: String,
    response_time: Histogram,
    series: RwLock<HashMap<(Verb, u16), Series>>,
}

#[derive(Clone)]
struct Series {
    requests: Counter,
    duration: Histogram,
    request_size: Histogram,
    response_size: Histogram,
    statuses: Counter,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct CodeMethodEndpoint {
    code: u16,
    method: &'static str,
    endpoint: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct CodeMethod {
    code: u16,
    method: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct EndpointOnly {
    endpoint: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct MethodStatus {
    method: &'static str,
    status_bucket: &'static str,
}

#[derive(Clone, Copy)]
struct Bounds(&'static [f64]);

impl MetricConstructor<Histogram> for Bounds {
    fn new_metric(&self) -> Histogram {
        Histogram::new(self.0.iter().copied())
    }
}

impl HttpMetrics {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let families = Families {
            requests: Family::default(),
            duration: Family::new_with_constructor(Bounds(DURATION_BOUNDS)),
            response_time: Family::new_with_constructor(Bounds(DURATION_BOUNDS)),
            request_size: Family::new_with_constructor(Bounds(SIZE_BOUNDS)),
            response_size: Family::new_with_constructor(Bounds(SIZE_BOUNDS)),
            statuses: Family::default(),
        };
        registry.register("http_requests", "Number of requests", families.requests.clone());
        registry.register(
            "http_requests_duration_seconds",
            "Duration of requests",
            families.duration.clone(),
        );
        registry.register(
            "http_response_time_seconds",
            "Duration of requests by endpoint",
            families.response_time.clone(),
        );
        registry.register("http_requests_size_bytes", "Size of requests", families.request_size.clone());
        registry.register("http_response_size_bytes", "Size of responses", families.response_size.clone());
        registry.register("http_requests_statuses", "Responses by status class", families.statuses.clone());
        Self { families, endpoints: RwLock::new(HashMap::new()) }
    }

    /// Counts a request that is over.
    pub(crate) fn record(&self, exchange: &Exchange<'_>) {
        let route = exchange.endpoint.unwrap_or(UNMATCHED);
        let code = exchange.status.map_or(LEFT, |status| status.as_u16());
        let key = (Verb::of(exchange.method), code);
        // What is known is not cloned: all threads would count its holders in one place.
        if let Some(endpoint) = self.endpoints.read().get(route)
            && let Some(series) = endpoint.series.read().get(&key)
        {
            return endpoint.observe(series, exchange);
        }
        let endpoint = self.endpoint(route);
        let series = self.series(&endpoint, key);
        endpoint.observe(&series, exchange);
    }

    /// Counts a request that could not be read. How long it took and how large it was is not known.
    pub(crate) fn count_unreadable(&self, status: StatusCode) {
        let (verb, code) = (Verb::Unknown, status.as_u16());
        let (method, endpoint) = (verb.lower_case(), UNMATCHED.to_owned());
        self.families.requests.get_or_create(&CodeMethodEndpoint { code, method, endpoint }).inc();
        let by_class = MethodStatus { method: verb.upper_case(), status_bucket: bucket(code) };
        self.families.statuses.get_or_create(&by_class).inc();
    }

    fn endpoint(&self, route: &str) -> Arc<Endpoint> {
        if let Some(endpoint) = self.endpoints.read().get(route) {
            return endpoint.clone();
        }
        let mut endpoints = self.endpoints.write();
        let made = endpoints.entry(route.into()).or_insert_with(|| {
            let label = label_of(route);
            let response_time =
                self.families.response_time.get_or_create(&EndpointOnly { endpoint: label.clone() }).clone();
            Arc::new(Endpoint { label, response_time, series: RwLock::new(HashMap::new()) })
        });
        made.clone()
    }

    fn series(&self, endpoint: &Endpoint, key: (Verb, u16)) -> Series {
        if let Some(series) = endpoint.series.read().get(&key) {
            return series.clone();
        }
        let series = self.families.series(&endpoint.label, key);
        endpoint.series.write().insert(key, series.clone());
        series
    }
}

impl Endpoint {
    fn observe(&self, series: &Series, exchange: &Exchange<'_>) {
        let seconds = exchange.duration.as_secs_f64();
        self.response_time.observe(seconds);
        series.duration.observe(seconds);
        series.requests.inc();
        series.statuses.inc();
        series.request_size.observe(approximate(exchange.request_bytes));
        if let Some(bytes) = exchange.response_bytes {
            series.response_size.observe(approximate(bytes));
        }
    }
}

impl Families {
    fn series(&self, endpoint: &str, (verb, code): (Verb, u16)) -> Series {
        let method = verb.lower_case();
        let with_endpoint = CodeMethodEndpoint { code, method, endpoint: endpoint.to_owned() };
        let without = CodeMethod { code, method };
        let status = MethodStatus { method: verb.upper_case(), status_bucket: bucket(code) };
        Series {
            requests: self.requests.get_or_create(&with_endpoint).clone(),
            duration: self.duration.get_or_create(&with_endpoint).clone(),
            request_size: self.request_size.get_or_create(&without).clone(),
            response_size: self.response_size.get_or_create(&without).clone(),
            statuses: self.statuses.get_or_create(&status).clone(),
        }
    }
}

/// A method; what is none of them is one more, so that callers cannot make up series.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Verb {
    Get,
    Head,
    Post,
    Put,
    Patch,
    Delete,
    Options,
    Unknown,
}

impl Verb {
    fn of(method: &Method) -> Self {
        match method.as_str() {
            "GET" => Self::Get,
            "HEAD" => Self::Head,
            "POST" => Self::Post,
            "PUT" => Self::Put,
            "PATCH" => Self::Patch,
            "DELETE" => Self::Delete,
            "OPTIONS" => Self::Options,
            _ => Self::Unknown,
        }
    }

    const fn lower_case(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::Head => "head",
            Self::Post => "post",
            Self::Put => "put",
            Self::Patch => "patch",
            Self::Delete => "delete",
            Self::Options => "options",
            Self::Unknown => "unknown",
        }
    }

    const fn upper_case(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Head => "HEAD",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Patch => "PATCH",
            Self::Delete => "DELETE",
            Self::Options => "OPTIONS",
            Self::Unknown => "UNKNOWN",
        }
    }
}

fn bucket(code: u16) -> &'static str {
    match code {
        200..=299 => "2xx",
        300..=399 => "3xx",
        400..=499 => "4xx",
        500..=599 => "5xx",
        _ => "unknown",
    }
}

/// The route as Hydra writes it: what varies is `{param}`, whatever its name.
fn label_of(route: &str) -> String {
    if route == UNMATCHED {
        return route.to_owned();
    }
    let segments: Vec<&str> = route
        .split('/')
        .map(|segment| if segment.starts_with('{') && segment.ends_with('}') { "{param}" } else { segment })
        .collect();
    segments.join("/")
}
