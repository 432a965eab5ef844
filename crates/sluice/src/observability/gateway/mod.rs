//! What an operator sees of the gateway: one line of JSON and a few counters for each request.
//!
//! [`access_log`]: the lines. [`metrics`]: the counters, by route. Both are on every request's way, so nothing here goes
//! through the machinery of ordinary log events.

mod access_log;
mod metrics;

pub(crate) use access_log::{AccessLog, AccessLogFile, AccessLogGuard, AccessLogTarget};
pub(crate) use metrics::GatewayMetrics;

use std::sync::Arc;

use sluice_gateway::proxy::Fault;
use sluice_gateway::{Observer, RequestRecord};

/// Hears of the gateway's requests.
pub(crate) struct GatewayObserver {
    pub(crate) metrics: Arc<GatewayMetrics>,
    /// `None`: there is no access log.
    pub(crate) log: Option<AccessLog>,
}

impl Observer for GatewayObserver {
    fn request(&self, record: &RequestRecord<'_>) {
        self.metrics.count(record);
        if let Some(log) = &self.log {
            log.write(record);
        }
    }

    fn fault(&self, route: &str, fault: Fault) {
        self.metrics.count_fault(route, fault);
    }

    fn broken_answer(&self, route: &str, fault: &'static str) {
        self.metrics.count_broken_answer(route, fault);
    }
}
