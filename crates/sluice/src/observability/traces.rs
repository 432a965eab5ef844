//! Traces: OpenTelemetry spans, sent by OTLP over HTTP. Nothing of it runs unless a collector is configured.
//!
//! A trace that a caller began (`traceparent`, W3C Trace Context) is continued, and sampled as the caller decided; of the
//! others, the configured share is. Spans are gathered and sent by a thread of the SDK; what it sends goes out through
//! this process's runtime and TLS, by [`collector`]. What is not taken is told by [`losses`].

mod collector;
mod losses;

use std::collections::HashMap;
use std::time::Duration;

use http::{Request, StatusCode};
use opentelemetry::KeyValue;
use opentelemetry::propagation::TextMapPropagator;
use opentelemetry::trace::{Status, TraceContextExt, TraceId, TracerProvider};
use opentelemetry_http::HeaderExtractor;
use opentelemetry_otlp::{ExporterBuildError, SpanExporter, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::{Sampler, SdkTracerProvider, Tracer};
use tracing::field::{Empty, display};
use tracing::{Span, Subscriber, error_span, warn};
use tracing_opentelemetry::{OpenTelemetryLayer, OpenTelemetrySpanExt};
use tracing_subscriber::registry::LookupSpan;
use url::Url;

use crate::config::{OtlpSettings, TracingSettings};
use losses::{LastCause, Watched};

pub(super) use losses::lost_total;

const TRACES_PATH: &str = "v1/traces";
/// How long the end waits for a collector that takes nothing: no longer than for what else goes on by itself.
const LAST_MOMENTS: Duration = Duration::from_secs(3);

/// Sends traces. Call [`Traces::shutdown`] at the end, or the last ones are lost.
pub(crate) struct Traces(SdkTracerProvider);

/// Why no traces are sent.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TracesError {
    #[error("the connection to the collector could not be prepared")]
    Client(#[from] reqwest::Error),
    #[error("the certificates of this machine cannot be used")]
    Certificates(#[from] rustls::Error),
    #[error("the exporter of traces could not be prepared")]
    Exporter(#[from] ExporterBuildError),
}

impl Traces {
    /// Prepares sending; `None` if no collector is configured. Call it within the runtime that shall send.
    ///
    /// # Errors
    /// [`TracesError`]; a collector that does not answer is none, and is warned about later.
    pub(crate) fn start(settings: &TracingSettings) -> Result<Option<Self>, TracesError> {
        let Some(otlp) = &settings.otlp else { return Ok(None) };
        let provider = SdkTracerProvider::builder()
            .with_batch_exporter(exporter(otlp)?)
            .with_sampler(Sampler::ParentBased(Box::new(Sampler::TraceIdRatioBased(otlp.sampling_ratio))))
            .with_resource(resource(settings))
            .build();
        Ok(Some(Self(provider)))
    }

    /// Turns spans of the log into spans of traces.
    pub(super) fn layer<S>(&self) -> OpenTelemetryLayer<S, Tracer>
    where
        S: Subscriber + for<'span> LookupSpan<'span>,
    {
        tracing_opentelemetry::layer().with_tracer(self.0.tracer("sluice"))
    }

    /// Sends what was gathered, if the collector takes it within three seconds, and ends.
    pub(crate) async fn shutdown(self) {
        let ending = move || self.0.shutdown_with_timeout(LAST_MOMENTS);
        let ended = tokio::task::spawn_blocking(ending).await;
        match ended {
            Ok(Ok(())) => {}
            Ok(Err(error)) => warn!(%error, "the last traces were not sent"),
            Err(error) => warn!(%error, "the last traces were not sent"),
        }
    }
}

fn exporter(otlp: &OtlpSettings) -> Result<Watched<SpanExporter>, TracesError> {
    let authorization = otlp.authorization_header.as_ref().map(|header| header.expose().to_owned());
    let headers = authorization.map(|value| ("authorization".to_owned(), value));
    let cause = LastCause::default();
    let exporter = SpanExporter::builder()
        .with_http()
        .with_http_client(collector::Collector::new(cause.clone())?)
        .with_endpoint(traces_url(&otlp.endpoint))
        .with_headers(headers.into_iter().collect::<HashMap<_, _>>());
    Ok(Watched::new(exporter.build()?, cause))
}

/// The address that traces are posted to: the configured one, with `/v1/traces` unless it is there.
fn traces_url(endpoint: &Url) -> String {
    let base = endpoint.as_str().trim_end_matches('/');
    if base.ends_with(TRACES_PATH) { base.to_owned() } else { format!("{base}/{TRACES_PATH}") }
}

fn resource(settings: &TracingSettings) -> Resource {
    let environment = settings.deployment_environment.as_ref();
    let environment = environment.map(|name| KeyValue::new("deployment.environment.name", name.clone()));
    Resource::builder()
        .with_service_name(settings.service_name.clone())
        .with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION")))
        .with_attributes(environment)
        .build()
}

/// The span of a request: a server span of the caller's trace, named by its route. Lines within it say which trace it is.
pub(super) fn request_span<B>(id: &str, request: &Request<B>, route: Option<&str>) -> Span {
    let method = request.method().as_str();
    let name = route.map_or_else(|| method.to_owned(), |route| format!("{method} {route}"));
    let span =
        error_span!("request", request.id = id, trace.id = Empty, otel.name = name, otel.kind = "server");
    let parent = TraceContextPropagator::new().extract(&HeaderExtractor(request.headers()));
    // It fails where no trace is recorded; then there is nothing to continue.
    let _ = span.set_parent(parent);
    span.set_attribute("http.request.method", method.to_owned());
    if let Some(route) = route {
        span.set_attribute("http.route", route.to_owned());
    }
    let trace = span.context().span().span_context().trace_id();
    if trace != TraceId::INVALID {
        span.record("trace.id", display(trace));
    }
    span
}

/// Adds how the request was answered.
pub(super) fn describe_response(span: &Span, status: StatusCode) {
    span.set_attribute("http.response.status_code", i64::from(status.as_u16()));
    if status.is_server_error() {
        span.set_status(Status::error(""));
    }
}

#[cfg(test)]
mod tests;
