//! One line and the HTTP metrics for each request of a listener.
//!
//! [`RequestLogLayer`] goes around a router, by `Router::layer`, so that it sees the matched route. Everything
//! that is logged on the way has the request id too: by a span, or where lines are text and nobody follows traces, by the
//! cheaper [`current_request`]. A handler finds it in the `X-Request-Id` header of
//! its request.
//!
//! Neither query nor headers are logged: both carry secrets.

mod finishing;
mod line;
mod unreadable;

use std::cell::Cell;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use axum::extract::MatchedPath;
use http::header::CONTENT_LENGTH;
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body::Body;
use sluice_net::{PeerAddress, TrustedProxies};
use sluice_primitives::{AddressText, Rng};
use tower::{Layer, Service};
use tracing::{Span, debug, error, error_span, info};

use super::current_request;
use super::metrics::{Exchange, HttpMetrics};
use super::request_id::{self, X_REQUEST_ID};
use super::traces;
pub(crate) use finishing::Finishing;
pub(super) use line::written_to;
use line::{RequestLine, TARGET, microseconds};

/// What is answered when somebody only wants to know whether the server lives.
const HEALTH_PATHS: &[&str] =
    &["/health/alive", "/health/ready", "/admin/metrics/prometheus", "/admin/metrics"];

/// Where each gateway asks the link every two seconds for what is new.
const FEED_PATH: &str = "/link/v1/feed";

/// How a listener logs.
#[derive(Clone)]
pub(crate) struct RequestLogOptions {
    /// The name of the listener in the log: `public` or `admin`.
    pub(crate) listener: &'static str,
    /// Whether health checks and metrics stay out of the log.
    pub(crate) skip_health: bool,
    /// Whether the callers' traces are continued.
    pub(crate) traced: bool,
    pub(crate) trusted_proxies: TrustedProxies,
    /// Goes on with what clients leave behind. Not at all where nothing is written.
    pub(crate) finishing: Option<Finishing>,
}

/// Puts the request log around a service.
#[derive(Clone)]
pub(crate) struct RequestLogLayer(Arc<Shared>);

struct Shared {
    options: RequestLogOptions,
    /// Whether requests have a span.
    spans: bool,
    metrics: Arc<HttpMetrics>,
    rng: Arc<dyn Rng>,
}

impl RequestLogLayer {
    pub(crate) fn new(options: RequestLogOptions, metrics: Arc<HttpMetrics>, rng: Arc<dyn Rng>) -> Self {
        let spans = options.traced || !current_request::is_written_in_lines();
        Self(Arc::new(Shared { options, spans, metrics, rng }))
    }

    /// Puts the request log around a service that has one route.
    pub(crate) fn around<S>(&self, inner: S, route: &str) -> RequestLog<S> {
        RequestLog { inner, route: Some(route.into()), shared: self.0.clone() }
    }
}

impl<S> Layer<S> for RequestLogLayer {
    type Service = RequestLog<S>;

    fn layer(&self, inner: S) -> RequestLog<S> {
        RequestLog { inner, route: None, shared: self.0.clone() }
    }
}

/// A service whose requests are logged.
#[derive(Clone)]
pub(crate) struct RequestLog<S> {
    inner: S,
    /// The route of all its requests; otherwise that which each has matched.
    route: Option<Arc<str>>,
    shared: Arc<Shared>,
}

impl<S, B, R> Service<Request<B>> for RequestLog<S>
where
    S: Service<Request<B>, Response = Response<R>, Error: Send, Future: Send + 'static>,
    R: Body + Send,
{
    type Response = Response<R>;
    type Error = S::Error;
    type Future = Answering<Pin<Box<S::Future>>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let inner = &mut self.inner;
        self.shared.answer(request, self.route.as_ref(), |request| Box::pin(inner.call(request)))
    }
}

impl<S> RequestLog<S> {
    /// What it is around.
    pub(crate) const fn inner(&self) -> &S {
        &self.inner
    }

    /// As the service does, for an inner one that answers many at once.
    pub(crate) fn answer<B, F>(
        &self,
        request: Request<B>,
        call: impl FnOnce(&S, Request<B>) -> F,
    ) -> Answering<F>
    where
        F: Future<Output: Send> + Send + Unpin + 'static,
    {
        self.shared.answer(request, self.route.as_ref(), |request| call(&self.inner, request))
    }
}

/// What is known of a request before it is answered.
struct Arrived {
    at: Instant,
    id: HeaderValue,
    method: Method,
    route: Option<Route>,
    is_health: bool,
    client: Option<IpAddr>,
    bytes: u64,
}

impl Arrived {
    fn of<B>(request: &Request<B>, route: Option<&Arc<str>>, shared: &Shared) -> Self {
        let headers = request.headers();
        let peer = request.extensions().get::<PeerAddress>();
        Self {
            at: Instant::now(),
            id: request_id::of(headers, &*shared.rng),
            method: request.method().clone(),
            route: route
                .map_or_else(|| Route::matched(request), |route| Some(Route::Fixed(Arc::clone(route)))),
            is_health: HEALTH_PATHS.iter().any(|path| request.uri().path().ends_with(path)),
            client: peer.map(|peer| shared.options.trusted_proxies.client_address(peer.0.ip(), headers)),
            bytes: size(request),
        }
    }

    fn id(&self) -> &str {
        self.id.to_str().unwrap_or_default()
    }

    fn route(&self) -> Option<&str> {
        self.route.as_ref().map(Route::as_str)
    }

    /// What is counted of it.
    fn exchange(&self, status: Option<StatusCode>, duration: Duration) -> Exchange<'_> {
        let (method, endpoint, request_bytes) = (&self.method, self.route(), self.bytes);
        Exchange { method, endpoint, status, duration, request_bytes, response_bytes: None }
    }
}

/// The path that a request took, with `{…}` for what varies.
enum Route {
    Fixed(Arc<str>),
    Matched(MatchedPath),
}

impl Route {
    fn matched<B>(request: &Request<B>) -> Option<Self> {
        request.extensions().get::<MatchedPath>().cloned().map(Self::Matched)
    }

    fn as_str(&self) -> &str {
        match self {
            Self::Fixed(route) => route,
            Self::Matched(route) => route.as_str(),
        }
    }
}

/// About how much was sent, as Hydra counts it: request line, headers and body.
fn size<B>(request: &Request<B>) -> u64 {
    let line = request.method().as_str().len() + request.uri().path().len() + "HTTP/1.1".len();
    let headers: usize =
        request.headers().iter().map(|(name, value)| name.as_str().len() + value.len()).sum();
    let length = request.headers().get(CONTENT_LENGTH).and_then(|length| length.to_str().ok());
    let body: u64 = length.and_then(|length| length.parse().ok()).unwrap_or(0);
    u64::try_from(line + headers).unwrap_or(u64::MAX).saturating_add(body)
}

impl Shared {
    fn answer<B, F>(
        self: &Arc<Self>,
        mut request: Request<B>,
        route: Option<&Arc<str>>,
        call: impl FnOnce(Request<B>) -> F,
    ) -> Answering<F>
    where
        F: Future<Output: Send> + Send + Unpin + 'static,
    {
        let may_write = finishing::may_write(&request);
        let arrived = Arrived::of(&request, route, self);
        request.headers_mut().insert(X_REQUEST_ID, arrived.id.clone());
        let within = if self.spans {
            Within::Span(self.span(&request, &arrived))
        } else {
            Within::Request(Cell::new(Some(arrived.id.clone())))
        };
        let inner = Some(within.run(|| call(request)));
        Answering { inner, within, arrived: Some(arrived), may_write, shared: Arc::clone(self) }
    }

    /// The span of a request. It has the level of an error, so that no filter takes the id from an error's line.
    fn span<B>(&self, request: &Request<B>, arrived: &Arrived) -> Span {
        if self.options.traced {
            return traces::request_span(arrived.id(), request, arrived.route());
        }
        error_span!("request", request.id = arrived.id())
    }

    fn finished<R: Body>(&self, arrived: &Arrived, within: &Within, response: &Response<R>) {
        let status = response.status();
        let duration = arrived.at.elapsed();
        let response_bytes = response.body().size_hint().exact();
        self.metrics.record(&Exchange { response_bytes, ..arrived.exchange(Some(status), duration) });
        self.trace(within, status);
        if status.is_success() && arrived.route() == Some(FEED_PATH) {
            self.log_feed(arrived, status, duration);
        } else if !(arrived.is_health && self.options.skip_health) {
            self.log(arrived, Some(status), duration);
        }
    }

    /// The client left before there was an answer. What is worked on to its end all the same is counted here and not again then:
    /// nobody waits for it.
    fn abandoned(&self, arrived: &Arrived) {
        let duration = arrived.at.elapsed();
        self.metrics.record(&arrived.exchange(None, duration));
        self.log(arrived, None, duration);
    }

    /// Its handler panicked: for an answer the client has the end of its connection, or of its stream.
    fn panicked(&self, arrived: &Arrived, within: &Within) {
        let (duration, status) = (arrived.at.elapsed(), StatusCode::INTERNAL_SERVER_ERROR);
        self.metrics.record(&arrived.exchange(Some(status), duration));
        self.trace(within, status);
        error!(
            listener = self.options.listener,
            http.method = arrived.method.as_str(),
            http.route = arrived.route().unwrap_or("-"),
            client.address = arrived.client.map(|address| tracing::field::display(AddressText::of(address))),
            "request panicked"
        );
    }

    fn trace(&self, within: &Within, status: StatusCode) {
        if self.options.traced
            && let Within::Span(span) = within
        {
            traces::describe_response(span, status);
        }
    }

    /// What a gateway was told of the feed, of which there is a line only where all is logged: there would be one every two seconds for each.
    fn log_feed(&self, arrived: &Arrived, status: StatusCode, duration: Duration) {
        debug!(
            listener = self.options.listener,
            http.method = arrived.method.as_str(),
            http.route = FEED_PATH,
            http.status = status.as_u16(),
            duration.ms = milliseconds(duration),
            client.address = arrived.client.map(|address| tracing::field::display(AddressText::of(address))),
            "request answered"
        );
    }

    /// Called within the request, so that the line has its id.
    fn log(&self, arrived: &Arrived, status: Option<StatusCode>, duration: Duration) {
        let line = RequestLine {
            listener: self.options.listener,
            method: arrived.method.as_str(),
            route: arrived.route().unwrap_or("-"),
            status: status.map(|status| status.as_u16()),
            duration,
            client: arrived.client.map(AddressText::of),
            message: if status.is_some() { "request answered" } else { "request abandoned by its client" },
        };
        // A span is followed by events alone.
        if self.spans || !line.write() {
            log_event(&line);
        }
    }
}

/// The same as an event.
fn log_event(line: &RequestLine<'_>) {
    info!(
        target: TARGET,
        listener = line.listener,
        http.method = line.method,
        http.route = line.route,
        http.status = line.status,
        duration.ms = milliseconds(line.duration),
        client.address = line.client.map(tracing::field::display),
        message = line.message,
    );
}

/// To the microsecond.
#[expect(clippy::cast_precision_loss, reason = "exact for 285 years")]
fn milliseconds(duration: Duration) -> f64 {
    microseconds(duration) as f64 / 1e3
}

/// What gives the lines of a request its id.
enum Within {
    Span(Span),
    Request(Cell<Option<HeaderValue>>),
}

impl Within {
    fn run<T>(&self, work: impl FnOnce() -> T) -> T {
        match self {
            Self::Span(span) => span.in_scope(work),
            Self::Request(id) => {
                let _entered = current_request::enter(id);
                work()
            }
        }
    }
}

/// An answer under way.
pub(crate) struct Answering<F>
where
    F: Future<Output: Send> + Send + Unpin + 'static,
{
    /// Taken when it is left behind.
    inner: Option<F>,
    within: Within,
    /// Taken when the answer is there.
    arrived: Option<Arrived>,
    may_write: bool,
    shared: Arc<Shared>,
}

impl<F> Drop for Answering<F>
where
    F: Future<Output: Send> + Send + Unpin + 'static,
{
    fn drop(&mut self) {
        let Some(arrived) = self.arrived.take() else { return };
        if std::thread::panicking() {
            // It must not be polled again.
            return self.within.run(|| self.shared.panicked(&arrived, &self.within));
        }
        self.within.run(|| self.shared.abandoned(&arrived));
        let may_write = self.may_write;
        let Some(finishing) = self.shared.options.finishing.as_ref().filter(|_| may_write) else { return };
        if let Some(inner) = self.inner.take() {
            let within = std::mem::replace(&mut self.within, Within::Span(Span::none()));
            finishing.finish(inner, within);
        }
    }
}

impl<F, R, E> Future for Answering<F>
where
    F: Future<Output = Result<Response<R>, E>> + Send + Unpin + 'static,
    R: Body + Send,
    E: Send,
{
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        let Some(inner) = this.inner.as_mut() else { return Poll::Pending };
        this.within.run(|| {
            let mut answer = ready!(Pin::new(inner).poll(cx));
            if let Some(arrived) = this.arrived.take()
                && let Ok(response) = &mut answer
            {
                this.shared.finished(&arrived, &this.within, response);
                response.headers_mut().insert(X_REQUEST_ID, arrived.id);
            }
            Poll::Ready(answer)
        })
    }
}

#[cfg(test)]
mod tests;
