//! What is told about a request, when its answer begins or it ends without one.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use http::request::Parts;
use http::{HeaderValue, Method, StatusCode, Uri, Version};
use sluice_net::ClientAddress;
use tokio::time::Instant;

use super::fault::Fault;
use super::headers::Host;
use super::upstream::Course;
use crate::authn::Verdict;
use crate::gateway::Admitted;
use crate::observer::{Observer, RequestRecord, request_id};

/// A request as its record will tell it. Dropped before it is [`Account::close`]d, it tells that the client left.
pub(super) struct Account<'a> {
    observer: &'a dyn Observer,
    started: Instant,
    method: Method,
    version: Version,
    /// How long its body is, if it has one and that was said.
    request_bytes: Option<u64>,
    /// How long that of its answer is, if it is known.
    response_bytes: Option<u64>,
    /// A header that says what its client calls it.
    named_by: Option<HeaderValue>,
    /// Once its target was read.
    pub(super) uri: Uri,
    pub(super) host: Option<Arc<Host>>,
    pub(super) client: ClientAddress,
    pub(super) admitted: Option<Admitted>,
    /// Why there is no verdict.
    pub(super) reason: &'static str,
    pub(super) course: Course,
    /// When the upstream was asked.
    pub(super) asked_at: Option<Instant>,
    pub(super) fault: Option<Fault>,
    closed: bool,
}

impl<'a> Account<'a> {
    /// Of a request that has just come from `peer`, with so many bytes of a body, if that was said.
    pub(super) fn open(
        observer: &'a dyn Observer,
        parts: &Parts,
        (peer, length): (IpAddr, Option<u64>),
    ) -> Self {
        Self {
            observer,
            started: Instant::now(),
            method: parts.method.clone(),
            version: parts.version,
            request_bytes: length.filter(|length| *length > 0),
            response_bytes: None,
            named_by: request_id::named_by(&parts.headers).cloned(),
            uri: Uri::default(),
            host: None,
            client: ClientAddress::named(peer),
            admitted: None,
            reason: "unjudged",
            course: Course::default(),
            asked_at: None,
            fault: None,
            closed: false,
        }
    }

    /// When the request came.
    pub(super) const fn started(&self) -> Instant {
        self.started
    }

    /// The answer begins with `status`, and has so many bytes of a body, if that is known. To `HEAD` none are sent, however long it would be.
    pub(super) fn close(&mut self, status: StatusCode, length: Option<u64>) {
        self.closed = true;
        self.response_bytes = if self.method == Method::HEAD { Some(0) } else { length };
        self.tell(Some(status));
    }

    fn tell(&self, status: Option<StatusCode>) {
        let admitted = self.admitted.as_ref();
        let caller = match admitted.map(|admitted| &admitted.verdict) {
            Some(Verdict::Caller(caller)) => Some(caller),
            _ => None,
        };
        let route: &str =
            admitted.and_then(|admitted| admitted.route.as_ref()).map_or("-", |route| &route.name);
        let now = Instant::now();
        self.observer.request(&RequestRecord {
            route,
            method: &self.method,
            protocol: Some(self.version),
            path: self.uri.path(),
            host: self.host.as_ref().map_or("", |host| &host.text),
            client: self.client.address,
            status,
            request_bytes: self.request_bytes,
            response_bytes: self.response_bytes,
            verdict: admitted.map_or(self.reason, verdict),
            request_id: self.named_by.as_ref().and_then(request_id::in_header),
            subject: caller.and_then(|caller| caller.subject()),
            client_id: caller.and_then(|caller| caller.client()),
            upstream: self.course.server.as_deref(),
            duration: now.saturating_duration_since(self.started),
            upstream_duration: self.asked_at.map(|asked_at| now.saturating_duration_since(asked_at)),
            retries: self.course.retries,
            is_beyond_budget: self.course.is_beyond_budget,
            fault: self.fault.map(Fault::label),
        });
        for fault in self.course.retried.iter().copied().chain(self.fault) {
            self.observer.fault(route, fault);
        }
    }
}

/// Tells of a request that could not be read, or of another proxy's question that is none: all that is known is who sent it and what was
/// answered.
pub(crate) fn tell_of_unreadable(observer: &dyn Observer, peer: IpAddr, status: StatusCode) {
    let method = Method::from_bytes(b"-").unwrap_or_default();
    observer.request(&RequestRecord {
        route: "-",
        method: &method,
        protocol: None,
        path: "",
        host: "",
        client: peer,
        status: Some(status),
        request_bytes: None,
        response_bytes: None,
        verdict: "unreadable",
        request_id: None,
        subject: None,
        client_id: None,
        upstream: None,
        duration: Duration::ZERO,
        upstream_duration: None,
        retries: 0,
        is_beyond_budget: false,
        fault: None,
    });
}

impl Drop for Account<'_> {
    fn drop(&mut self) {
        if !self.closed {
            self.tell(None);
        }
    }
}

fn verdict(admitted: &Admitted) -> &'static str {
    match &admitted.verdict {
        Verdict::Anonymous => "anonymous",
        Verdict::Caller(_) => "caller",
        Verdict::Refused(refusal) => refusal.reason(),
    }
}
