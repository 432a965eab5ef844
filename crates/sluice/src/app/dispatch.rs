//! From a request to what answers it: the busy routes by their paths, all others by the router.

use std::convert::Infallible;
use std::future::ready;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::Body;
use axum::http::StatusCode;
use axum::http::header::{CONTENT_TYPE, HOST};
use axum::response::{IntoResponse, Response};
use axum::routing::future::RouteFuture;
use axum::{BoxError, Router};
use bytes::Bytes;
use hashbrown::HashMap;
use http::uri::Authority;
use http::{HeaderValue, Method, Request, Version};
use http_body::Body as HttpBody;
use ipnet::IpNet;
use pin_project_lite::pin_project;
use sluice_http::{Answering as BusyAnswer, BusyRoute, Routes, Spelling};
use sluice_net::{
    NotTerminated, PeerAddress, Transport, has_too_many_lines, is_chunked_at_most, is_host,
    is_tls_terminated, is_unnamed,
};
use tower::{Layer, Service};
use tracing::{info, warn};

use crate::observability::{Answering, RequestLog, RequestLogLayer};

/// What stands for the last segment of a path in a busy route.
const LAST_SEGMENT: &str = "{id}";
/// What Prometheus asks for.
const METRICS: [&str; 4] = ["/admin/metrics/prometheus", "/metrics/prometheus", "/admin/metrics", "/metrics"];
/// What load balancers ask for, also below the path of an issuer and below `/admin`.
const PROBED: [&str; 2] = ["/health/alive", "/health/ready"];
/// Below what they ask for it on the admin port: elsewhere there a key may have such a name.
const PROBED_AT_ADMIN: [&str; 2] = ["", "/admin"];
/// What others ask for who watch.
const WATCHED: [&str; 2] = ["/health", "/version"];
/// What is answered to plain http, in the form of Hydra's errors.
const OVER_TLS_ONLY: &str =
    r#"{"error":"Bad Gateway","error_description":"This port is reached over TLS only."}"#;
/// The same to a request with more lines of headers than it may have.
const TOO_MANY_LINES: &str = r#"{"error":"Request Header Fields Too Large","error_description":"The request has too many header lines."}"#;
/// The same to a request that does not say once, and in one way, for which host it is.
const WITHOUT_HOST: &str = r#"{"error":"Bad Request","error_description":"A request must say once, and in one way, for which host it is."}"#;
/// The same to a request whose body was made something else of for its way.
const UNKNOWN_CODING: &str =
    r#"{"error":"Not Implemented","error_description":"The transfer coding of the request is not known."}"#;

/// The service of a listener. A clone is a count of holders.
#[derive(Clone)]
pub(super) struct Dispatch(Arc<Shared>);

struct Shared {
    busy: Paths,
    /// Those with something that varies at the end, by what is before.
    below: Paths,
    rest: Router,
    spelling: Spelling,
    /// Whose word about TLS counts; `None`: plain http is what was asked for.
    terminated_at: Option<Arc<[IpNet]>>,
    /// How those are logged that are refused before any route; `None`: requests of this listener have no line.
    refusals: Option<RequestLog<Unreached>>,
}

/// Stands for the routes that a refused request is kept from.
struct Unreached;

/// Why a request reaches no route.
#[derive(Clone, Copy)]
enum Refusal {
    /// It came over plain http, where TLS is spoken.
    PlainHttp(NotTerminated),
    /// It has more lines of headers than it may have.
    TooManyLines,
    /// It does not say once, and in one way, for which host it is.
    WithoutHost,
    /// Its body comes in another transfer coding than chunks.
    UnknownCoding,
}

type Busy = RequestLog<BusyRoute>;
type Paths = HashMap<Box<str>, Vec<Busy>>;

impl Dispatch {
    /// All of `routes`, logged by `log`.
    pub(super) fn new(
        routes: Routes,
        log: Option<&RequestLogLayer>,
        terminated_at: Option<Arc<[IpNet]>>,
    ) -> Self {
        let Routes { busy, rest, spelling } = routes;
        let Some(log) = log else {
            return Self(Arc::new(Shared {
                busy: HashMap::new(),
                below: HashMap::new(),
                rest,
                spelling,
                terminated_at,
                refusals: None,
            }));
        };
        let (busy, below) = by_path(busy, log);
        let rest = rest.layer(log.clone());
        let refusals = Some(log.layer(Unreached));
        Self(Arc::new(Shared { busy, below, rest, spelling, terminated_at, refusals }))
    }
}

/// Whole paths, and what is before those that end in something that varies.
fn by_path(routes: Vec<BusyRoute>, log: &RequestLogLayer) -> (Paths, Paths) {
    let (mut busy, mut below) = (Paths::new(), Paths::new());
    for route in routes {
        let whole = route.path.clone();
        let (paths, path) = match whole.strip_suffix(LAST_SEGMENT) {
            Some(before) => (&mut below, before),
            None => (&mut busy, &*whole),
        };
        paths.entry(path.into()).or_default().push(log.around(route, &whole));
    }
    (busy, below)
}

impl Shared {
    fn busy<B>(&self, request: &Request<B>) -> Option<&Busy> {
        let path = request.uri().path();
        let found = self.busy.get(path).or_else(|| {
            let (before, last) = path.split_at(path.rfind('/')? + 1);
            (!last.is_empty()).then(|| self.below.get(before)).flatten()
        })?;
        let of_method = |busy: &&Busy| busy.inner().method == *request.method();
        found.iter().find(of_method).filter(|busy| busy.inner().admits(request.uri(), request.headers()))
    }

    /// Why plain http is not answered: it is, only for a proxy that ended TLS (Hydra's `allow_termination_from`), and for those who
    /// watch, who ask from within.
    fn transport_refusal<B>(&self, request: &Request<B>) -> Option<NotTerminated> {
        let allowed = self.terminated_at.as_ref()?;
        let over_tls = request.extensions().get::<Transport>().is_some_and(|transport| transport.tls);
        if over_tls || self.is_for_watchers(request.uri().path()) {
            return None;
        }
        match peer(request) {
            Some(peer) => is_tls_terminated(peer, request.headers(), allowed).err(),
            None => Some(NotTerminated::ForeignPeer),
        }
    }

    /// Why a request is not answered, whatever it asks for.
    fn refusal<B: HttpBody>(&self, request: &Request<B>) -> Option<Refusal> {
        let too_many = || has_too_many_lines(request.headers()).then_some(Refusal::TooManyLines);
        let without_host = || self.lacks_host(request).then_some(Refusal::WithoutHost);
        let is_coded = || !request.body().is_end_stream() && !is_chunked_at_most(request.headers());
        let unknown_coding = || is_coded().then_some(Refusal::UnknownCoding);
        let refusal = self.transport_refusal(request).map(Refusal::PlainHttp);
        refusal.or_else(too_many).or_else(without_host).or_else(unknown_coding)
    }

    /// Whether a request does not say once, and in one way, for which host it is, as it must over HTTP/1.1 (RFC 9112 §3.2). What probes of
    /// load balancers and others who watch say is not looked at: some leave it out, and nothing they ask for depends on it. A `Host` without
    /// a host says that there is none.
    fn lacks_host<B>(&self, request: &Request<B>) -> bool {
        if self.is_for_watchers(request.uri().path()) {
            return false;
        }
        let mut lines = request.headers().get_all(HOST).iter();
        let (said, further) = (lines.next(), lines.next());
        let is_good = match said {
            Some(said) => further.is_none() && (is_unnamed(said.as_bytes()) || is_host(said.as_bytes())),
            None => request.version() != Version::HTTP_11,
        };
        !is_good || request.uri().authority().is_some_and(|host| !is_host_of_target(request, host, said))
    }

    /// Whether those ask for this who watch, also for numbers.
    fn is_for_watchers(&self, path: &str) -> bool {
        let path = without_last_slash(path);
        self.is_watched(path) || METRICS.contains(&path)
    }

    /// Whether load balancers and others who watch ask for this.
    fn is_watched(&self, path: &str) -> bool {
        let is_admin = self.spelling == Spelling::Admin;
        let mut below = PROBED.iter().filter_map(|probed| path.strip_suffix(probed));
        WATCHED.contains(&path) || below.any(|before| !is_admin || PROBED_AT_ADMIN.contains(&before))
    }

    /// Answers at once, and holds nothing of the request.
    fn refuse<B>(&self, request: Request<B>, refusal: Refusal) -> Dispatched {
        let peer = peer(&request);
        let Some(log) = &self.refusals else {
            return Dispatched::Refused { response: Some(refusal.response(peer)) };
        };
        let call = |_: &Unreached, _: Request<B>| Done(Box::pin(ready(refusal.response(peer))));
        Dispatched::Logged { answering: log.answer(request, call) }
    }
}

/// Whether the host in the target of a request is one: so it is over HTTP/2, and in absolute form over HTTP/1.1, where it counts before
/// `Host` (RFC 9112 §3.2.2). Over HTTP/2 both must be the same (RFC 9113 §8.3.1).
fn is_host_of_target<B>(request: &Request<B>, host: &Authority, said: Option<&HeaderValue>) -> bool {
    let has_scheme = matches!(request.uri().scheme_str(), Some("http" | "https"));
    let is_same = |said: &HeaderValue| said.as_bytes().eq_ignore_ascii_case(host.as_str().as_bytes());
    let (host, is_http2) = (host.as_str().as_bytes(), request.version() >= Version::HTTP_2);
    // The target of `CONNECT` is a host alone. That is refused as a method.
    (has_scheme || *request.method() == Method::CONNECT)
        && (is_host(host) || is_http2 && is_unnamed(host))
        && (!is_http2 || said.is_none_or(is_same))
}

/// A path as it is spelled without a slash at the end.
fn without_last_slash(path: &str) -> &str {
    path.strip_suffix('/').unwrap_or(path)
}

/// Who is at the other end of the connection.
fn peer<B>(request: &Request<B>) -> Option<IpAddr> {
    request.extensions().get::<PeerAddress>().map(|peer| peer.0.ip())
}

impl Refusal {
    /// The answer. About plain http the line says what a proxy must do differently, or which network is missing from the list.
    fn response(self, peer: Option<IpAddr>) -> Response {
        let (status, body) = match self {
            Self::PlainHttp(reason) => {
                warn!(peer.address = peer.map(display), %reason, "request refused: this port is reached over TLS only");
                (StatusCode::BAD_GATEWAY, OVER_TLS_ONLY)
            }
            Self::TooManyLines => {
                info!(peer.address = peer.map(display), "request refused: it has too many header lines");
                (StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, TOO_MANY_LINES)
            }
            Self::WithoutHost => {
                info!(
                    peer.address = peer.map(display),
                    "request refused: it does not say in one way for which host it is"
                );
                (StatusCode::BAD_REQUEST, WITHOUT_HOST)
            }
            Self::UnknownCoding => {
                info!(peer.address = peer.map(display), "request refused: its transfer coding is not known");
                (StatusCode::NOT_IMPLEMENTED, UNKNOWN_CODING)
            }
        };
        (status, [(CONTENT_TYPE, "application/json")], body).into_response()
    }
}

impl<B> Service<Request<B>> for Dispatch
where
    B: HttpBody<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    type Response = Response;
    type Error = Infallible;
    type Future = Dispatched;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, mut request: Request<B>) -> Dispatched {
        if let Some(refusal) = self.0.refusal(&request) {
            return self.0.refuse(request, refusal);
        }
        if let Some(usual) = self.0.spelling.usual(request.uri()) {
            *request.uri_mut() = usual;
        }
        match self.0.busy(&request) {
            Some(busy) => {
                let call = |route: &BusyRoute, request| Done(route.answer(request));
                Dispatched::Logged { answering: busy.answer(request.map(boxed), call) }
            }
            None => Dispatched::Routed { answering: self.0.rest.clone().call(request.map(Body::new)) },
        }
    }
}

/// A body as axum takes it; for one that is empty nothing is allocated.
fn boxed<B>(body: B) -> Body
where
    B: HttpBody<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    if body.is_end_stream() { Body::empty() } else { Body::new(body) }
}

/// An answer that never fails.
pub(super) struct Done(BusyAnswer);

impl Future for Done {
    type Output = Result<Response, Infallible>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.0.as_mut().poll(cx).map(Ok)
    }
}

pin_project! {
    /// An answer under way.
    #[project = DispatchedProjection]
    pub(super) enum Dispatched {
        Logged { #[pin] answering: Answering<Done> },
        Routed { #[pin] answering: RouteFuture<Infallible> },
        Refused { response: Option<Response> },
    }
}

impl Future for Dispatched {
    type Output = Result<Response, Infallible>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match self.project() {
            DispatchedProjection::Logged { answering } => answering.poll(cx),
            DispatchedProjection::Routed { answering } => answering.poll(cx),
            DispatchedProjection::Refused { response } => {
                Poll::Ready(Ok(response.take().unwrap_or_default()))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(version: Version, target: &str, hosts: &[&'static str]) -> Request<()> {
        let mut request = Request::get(target).version(version).body(()).unwrap();
        request.headers_mut().extend(hosts.iter().map(|&host| (HOST, HeaderValue::from_static(host))));
        request
    }

    #[track_caller]
    fn is_refused(request: &Request<()>, expected: bool) {
        for spelling in [Spelling::Public, Spelling::Admin] {
            let routes = Routes { busy: Vec::new(), rest: Router::new(), spelling };
            let refused = Dispatch::new(routes, None, None).0.lacks_host(request);
            assert_eq!(refused, expected, "{spelling:?} {request:?}");
        }
    }

    #[test]
    fn a_request_says_once_and_in_one_way_for_which_host_it_is() {
        use http::Version as V;
        let path = "/admin/clients";
        for (version, target, hosts, expected) in [
            (V::HTTP_10, path, &[][..], false),
            (V::HTTP_11, path, &[], true),
            (V::HTTP_11, path, &[""], false),
            (V::HTTP_11, path, &[":"], false),
            (V::HTTP_11, path, &[":4445"], false),
            (V::HTTP_11, path, &[":x"], true),
            (V::HTTP_11, path, &["10.42.0.7:4445"], false),
            (V::HTTP_11, path, &["[::1]:4444"], false),
            (V::HTTP_11, path, &["[fe80::1%25eth0]:4444"], false),
            (V::HTTP_11, path, &["id.example.com."], false),
            (V::HTTP_11, path, &["sluice_admin.internal"], false),
            (V::HTTP_11, path, &["a", "a"], true),
            (V::HTTP_11, path, &["user@a"], true),
            (V::HTTP_11, "http://a/x", &["b"], false),
            (V::HTTP_11, "http://:4445/x", &[":4445"], true),
            (V::HTTP_2, path, &[], false),
            (V::HTTP_2, "http://a/x", &[], false),
            (V::HTTP_2, "http://a/x", &["A"], false),
            (V::HTTP_2, "http://a/x", &["b"], true),
            (V::HTTP_2, "http://:4445/x", &[], false),
            (V::HTTP_2, "http://:4445/x", &[":4445"], false),
        ] {
            is_refused(&asked(version, target, hosts), expected);
        }
    }

    #[test]
    fn whatever_host_those_say_who_watch_is_not_looked_at() {
        for path in ["/health/alive", "/health/ready/", "/version", "/metrics", "/admin/metrics/prometheus"] {
            for hosts in [&[][..], &[":4445"], &["a", "b"], &["a b"]] {
                is_refused(&asked(Version::HTTP_11, path, hosts), false);
            }
        }
        is_refused(&asked(Version::HTTP_11, "/health/alivex", &[]), true);
    }
}
