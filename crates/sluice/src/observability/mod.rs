//! What an operator sees of a running server: logs, metrics, traces, profiles.
//!
//! [`logs`]: events on standard error. [`request_log`]: one line, one span and the HTTP metrics per request.
//! [`metrics`]: `/admin/metrics/prometheus`. [`traces`]: OpenTelemetry by OTLP. [`profiles`]: CPU and memory, on request.
//! [`gateway`]: the requests that pass through. [`redaction`]: URLs without what must not be read. `line_writer`, `text_lines`, `request_id`, `current_request`: parts of these.
//!
//! Nothing here decides anything; the crates below count and log, and do not know who listens.

#[cfg(test)]
mod captured;
mod current_request;
pub(crate) mod gateway;
mod line_writer;
pub(crate) mod logs;
pub(crate) mod metrics;
pub(crate) mod profiles;
pub(crate) mod redaction;
mod request_id;
pub(crate) mod request_log;
mod text_lines;
pub(crate) mod traces;

pub(crate) use logs::{LogGuard, LogInitError};
pub(crate) use metrics::Metrics;
pub(crate) use redaction::redact_url;
pub(crate) use request_log::{Answering, Finishing, RequestLog, RequestLogLayer, RequestLogOptions};
pub(crate) use traces::{Traces, TracesError};
