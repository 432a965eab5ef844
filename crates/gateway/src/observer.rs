//! What is told about each request: the access log and the metrics are elsewhere.

pub(crate) mod request_id;

use std::net::IpAddr;
use std::time::Duration;

use http::{Method, StatusCode, Version};

use crate::proxy::Fault;

/// One request, when its answer began or it ended without one.
#[derive(Debug)]
pub struct RequestRecord<'a> {
    /// The name of the route; `-` without one.
    pub route: &'a str,
    /// The method.
    pub method: &'a Method,
    /// The version of HTTP that it came over; `None` where that is not known: of what another proxy asks about.
    pub protocol: Option<Version>,
    /// The path, without query: queries carry secrets.
    pub path: &'a str,
    /// The host asked for.
    pub host: &'a str,
    /// The client's address.
    pub client: IpAddr,
    /// The status; `None` if the client left first.
    pub status: Option<StatusCode>,
    /// How long its body is, in bytes, if it has one and that was said.
    pub request_bytes: Option<u64>,
    /// How long the body of the answer is, if that is known when it begins.
    pub response_bytes: Option<u64>,
    /// `anonymous`, `caller`, or why it was refused ([`Refusal::reason`](crate::Refusal::reason)); `unreadable`: nothing of it is known but
    /// who sent it and the status.
    pub verdict: &'static str,
    /// What its client calls it: its `X-Request-Id`, or the trace that its `traceparent` names.
    pub request_id: Option<&'a str>,
    /// Who called: `sub`.
    pub subject: Option<&'a str>,
    /// With which client.
    pub client_id: Option<&'a str>,
    /// The upstream server that was asked, as `host:port`.
    pub upstream: Option<&'a str>,
    /// From the request's head to the answer's.
    pub duration: Duration,
    /// Of it, what the upstream took.
    pub upstream_duration: Option<Duration>,
    /// How often it was tried again.
    pub retries: u8,
    /// Whether it was not tried again because too many were lately ([`RetryBudget`](crate::proxy::upstream::RetryBudget)).
    pub is_beyond_budget: bool,
    /// What went wrong on the way to the upstream and back, if anything: `connect`, `timeout`, `reset`, `too_large`, …
    pub fault: Option<&'static str>,
}

/// Hears of every request. Called on the request's thread: it must not block.
pub trait Observer: Send + Sync {
    /// A request was answered, or ended without an answer.
    fn request(&self, record: &RequestRecord<'_>);

    /// Something went wrong with a request on the way to the upstream and back: told once for each attempt that was made again elsewhere, and
    /// once for what the client was answered. Its request is told of, too.
    fn fault(&self, route: &str, fault: Fault);

    /// An answer that had begun broke off, and its server is to blame: `cut` if it ended before its end, `stalled` if nothing of it came for
    /// too long. Its request was told of before.
    fn broken_answer(&self, route: &str, fault: &'static str);
}

/// Hears nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Observer for Silent {
    fn request(&self, _: &RequestRecord<'_>) {}

    fn fault(&self, _: &str, _: Fault) {}

    fn broken_answer(&self, _: &str, _: &'static str) {}
}
