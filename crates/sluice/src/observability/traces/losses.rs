//! Losses: spans that the collector did not take. They are counted, and once a minute it is said why: what the SDK says of each batch comes
//! every five seconds, and has no cause.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::{OTelSdkError, OTelSdkResult};
use opentelemetry_sdk::trace::{SpanData, SpanExporter};
use parking_lot::Mutex;
use tracing::warn;

/// How often it is said.
const TOLD_EVERY: Duration = Duration::from_mins(1);

/// Of this process.
static LOST: AtomicU64 = AtomicU64::new(0);

/// How many spans the collector did not take.
pub(in crate::observability) fn lost_total() -> u64 {
    LOST.load(Ordering::Relaxed)
}

/// Why the last request came to nothing. The exporter says only that it did.
#[derive(Debug, Clone, Default)]
pub(super) struct LastCause(Arc<Mutex<Option<String>>>);

impl LastCause {
    /// Remembers it.
    pub(super) fn note(&self, cause: String) {
        *self.0.lock() = Some(cause);
    }

    /// It is told once.
    pub(super) fn take(&self) -> Option<String> {
        self.0.lock().take()
    }
}

/// An exporter whose losses are told.
#[derive(Debug)]
pub(super) struct Watched<E> {
    exporter: E,
    cause: LastCause,
    untold: Mutex<Untold>,
}

/// What is lost and was not said yet.
#[derive(Debug, Default)]
struct Untold {
    spans: u64,
    told_at: Option<Instant>,
}

impl<E> Watched<E> {
    /// Tells of this exporter, whose requests note why they come to nothing.
    pub(super) fn new(exporter: E, cause: LastCause) -> Self {
        Self { exporter, cause, untold: Mutex::default() }
    }

    fn lose(&self, spans: u64, error: &OTelSdkError) {
        LOST.fetch_add(spans, Ordering::Relaxed);
        let cause = self.cause.take().unwrap_or_else(|| error.to_string());
        let due = self.untold.lock().due(spans, Instant::now());
        if let Some(spans) = due {
            warn!(error = cause, spans, "traces are not taken");
        }
    }
}

impl Untold {
    /// How many were lost since it was said last, if it is to be said now.
    fn due(&mut self, spans: u64, now: Instant) -> Option<u64> {
        self.spans += spans;
        if self.told_at.is_some_and(|told_at| now.saturating_duration_since(told_at) < TOLD_EVERY) {
            return None;
        }
        self.told_at = Some(now);
        Some(std::mem::take(&mut self.spans))
    }
}

impl<E: SpanExporter> SpanExporter for Watched<E> {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let spans = u64::try_from(batch.len()).unwrap_or(u64::MAX);
        let exported = self.exporter.export(batch).await;
        match &exported {
            // Of a request before that was tried again.
            Ok(()) => drop(self.cause.take()),
            Err(error) => self.lose(spans, error),
        }
        exported
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.exporter.shutdown_with_timeout(timeout)
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.exporter.force_flush()
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.exporter.set_resource(resource);
    }
}

#[cfg(test)]
mod tests {
    use opentelemetry::trace::{Span as _, Tracer as _, TracerProvider as _};
    use opentelemetry_sdk::trace::SdkTracerProvider;

    use super::*;

    #[derive(Debug)]
    struct Refusing;

    impl SpanExporter for Refusing {
        async fn export(&self, _batch: Vec<SpanData>) -> OTelSdkResult {
            Err(OTelSdkError::InternalFailure("it is full".to_owned()))
        }
    }

    #[test]
    fn spans_that_are_not_taken_are_counted() {
        let exporter = Watched::new(Refusing, LastCause::default());
        let provider = SdkTracerProvider::builder().with_simple_exporter(exporter).build();
        let before = lost_total();
        provider.tracer("test").start("a span").end();
        assert!(lost_total() > before);
    }

    #[test]
    fn what_is_lost_is_told_at_once_and_then_each_minute_with_all_that_was_lost_since() {
        let (mut untold, begin) = (Untold::default(), Instant::now());
        let told: Vec<_> =
            (0..14).map(|turn| untold.due(10, begin + Duration::from_secs(turn * 5))).collect();
        let mut expected = [None; 14];
        (expected[0], expected[12]) = (Some(10), Some(120));
        assert_eq!(told, expected);
    }
}
