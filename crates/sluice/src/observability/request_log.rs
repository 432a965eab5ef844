//! One line, one span and the HTTP metrics for each request of a listener.
//!
//! [`RequestLogLayer`] goes around a router, by `Router::layer`, so that it sees the matched route. The span carries the
//! request id, which everything that is logged on the way then has too; a handler finds it in the `X-Request-Id` header of
//! its request.
//!
//! Neither query nor headers are logged: both carry secrets.

use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Instant;

use axum::extract::MatchedPath;
use http::header::CONTENT_LENGTH;
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body::Body;
use pin_project_lite::pin_project;
use sluice_net::{PeerAddress, TrustedProxies};
use sluice_primitives::Rng;
use tower::{Layer, Service};
use tracing::{Span, error_span, info};

use super::metrics::{Exchange, HttpMetrics};
use super::request_id::{self, X_REQUEST_ID};
use super::traces;

/// What is answered when somebody only wants to know whether the server lives.
const HEALTH_PATHS: &[&str] = &["/health/alive", "/health/ready", "/admin/metrics/prometheus"];

/// How a listener logs.
#[derive(Debug, Clone)]
pub(crate) struct RequestLogOptions {
    /// The name of the listener in the log: `public` or `admin`.
    pub(crate) listener: &'static str,
    /// Whether health checks and metrics stay out of the log.
    pub(crate) skip_health: bool,
    /// Whether the callers' traces are continued.
    pub(crate) traced: bool,
    pub(crate) trusted_proxies: TrustedProxies,
}

/// Puts the request log around a service.
#[derive(Clone)]
pub(crate) struct RequestLogLayer(Arc<Shared>);

struct Shared {
    options: RequestLogOptions,
    metrics: Arc<HttpMetrics>,
    rng: Arc<dyn Rng>,
}

impl RequestLogLayer {
    pub(crate) fn new(options: RequestLogOptions, metrics: Arc<HttpMetrics>, rng: Arc<dyn Rng>) -> Self {
        Self(Arc::new(Shared { options, metrics, rng }))
    }
}

impl<S> Layer<S> for RequestLogLayer {
    type Service = RequestLog<S>;

    fn layer(&self, inner: S) -> RequestLog<S> {
        RequestLog { inner, shared: self.0.clone() }
    }
}

/// A service whose requests are logged.
#[derive(Clone)]
pub(crate) struct RequestLog<S> {
    inner: S,
    shared: Arc<Shared>,
}

impl<S, B, R> Service<Request<B>> for RequestLog<S>
where
    S: Service<Request<B>, Response = Response<R>>,
    R: Body,
{
    type Response = Response<R>;
    type Error = S::Error;
    type Future = Answering<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request<B>) -> Self::Future {
        let arrived = Arrived::of(&request, &self.shared);
        request.headers_mut().insert(X_REQUEST_ID, arrived.id.clone());
        let span = self.shared.span(&request, &arrived);
        let inner = span.in_scope(|| self.inner.call(request));
        Answering { inner, span, arrived: Some(arrived), shared: self.shared.clone() }
    }
}

/// What is known of a request before it is answered.
struct Arrived {
    at: Instant,
    id: HeaderValue,
    method: Method,
    route: Option<MatchedPath>,
    is_health: bool,
    client: Option<IpAddr>,
    bytes: u64,
}

impl Arrived {
    fn of<B>(request: &Request<B>, shared: &Shared) -> Self {
        let headers = request.headers();
        let peer = request.extensions().get::<PeerAddress>();
        Self {
            at: Instant::now(),
            id: request_id::of(headers, &*shared.rng),
            method: request.method().clone(),
            route: request.extensions().get::<MatchedPath>().cloned(),
            is_health: HEALTH_PATHS.iter().any(|path| request.uri().path().ends_with(path)),
            client: peer.map(|peer| shared.options.trusted_proxies.client_address(peer.0.ip(), headers)),
            bytes: size(request),
        }
    }

    fn id(&self) -> &str {
        self.id.to_str().unwrap_or_default()
    }

    fn route(&self) -> Option<&str> {
        self.route.as_ref().map(MatchedPath::as_str)
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
    /// The span of a request. It has the level of an error, so that no filter takes the id from an error's line.
    fn span<B>(&self, request: &Request<B>, arrived: &Arrived) -> Span {
        if self.options.traced {
            return traces::request_span(arrived.id(), request, arrived.route());
        }
        error_span!("request", request.id = arrived.id())
    }

    fn finished<R: Body>(&self, arrived: &Arrived, span: &Span, response: &Response<R>) {
        let status = response.status();
        let duration = arrived.at.elapsed();
        self.metrics.record(&Exchange {
            method: &arrived.method,
            endpoint: arrived.route(),
            status,
            duration,
            request_bytes: arrived.bytes,
            response_bytes: response.body().size_hint().exact(),
        });
        if self.options.traced {
            traces::describe_response(span, status);
        }
        if !(arrived.is_health && self.options.skip_health) {
            self.log(arrived, Some(status));
        }
    }

    /// Called within the span, which has the request id.
    fn log(&self, arrived: &Arrived, status: Option<StatusCode>) {
        let milliseconds = arrived.at.elapsed().as_secs_f64() * 1e3;
        info!(
            listener = self.options.listener,
            http.method = arrived.method.as_str(),
            http.route = arrived.route().unwrap_or("-"),
            http.status = status.map(|status| status.as_u16()),
            duration.ms = (milliseconds * 1e3).round() / 1e3,
            client.address = arrived.client.map(tracing::field::display),
            "{}",
            if status.is_some() { "request answered" } else { "request abandoned by its client" }
        );
    }
}

pin_project! {
    /// An answer under way.
    pub(crate) struct Answering<F> {
        #[pin]
        inner: F,
        span: Span,
        // Taken when the answer is there.
        arrived: Option<Arrived>,
        shared: Arc<Shared>,
    }

    impl<F> PinnedDrop for Answering<F> {
        fn drop(this: Pin<&mut Self>) {
            let this = this.project();
            if let Some(arrived) = this.arrived.take() {
                this.span.in_scope(|| this.shared.log(&arrived, None));
            }
        }
    }
}

impl<F, R, E> Future for Answering<F>
where
    F: Future<Output = Result<Response<R>, E>>,
    R: Body,
{
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let _entered = this.span.enter();
        let mut answer = ready!(this.inner.poll(cx));
        if let Some(arrived) = this.arrived.take()
            && let Ok(response) = &mut answer
        {
            this.shared.finished(&arrived, this.span, response);
            response.headers_mut().insert(X_REQUEST_ID, arrived.id);
        }
        Poll::Ready(answer)
    }
}

#[cfg(test)]
mod tests;
