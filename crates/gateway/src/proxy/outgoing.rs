//! A request as the upstream gets it.

use std::borrow::Cow;
use std::mem::take;
use std::sync::Arc;

use http::header::{CONTENT_LENGTH, EXPECT, TRANSFER_ENCODING};
use http::request::Parts;
use http::uri::PathAndQuery;
use http::{HeaderValue, Method, Request, StatusCode, Uri, Version};
use http_body::Body;
use hyper::ext::on_informational;
use sluice_net::{ForwardedCertificatePolicy, IncomingBody};
use tokio::time::Instant;

use super::body::{BodyTerms, Progress, RequestBody, TrailerFilter};
use super::fault::Fault;
use super::headers::{Handover, drop_certificates, retain_harmless_trailers};
use super::traffic::Traffic;
use super::upstream::Course;
use crate::gateway::Admitted;
use crate::route::Route;

/// What a request is made with.
pub(super) struct Outgoing<'a, T> {
    pub(super) traffic: &'a Arc<T>,
    pub(super) admitted: &'a Admitted,
    pub(super) route: &'a Route,
    pub(super) handover: &'a Handover,
    /// In which headers certificates of clients come.
    pub(super) certificates: &'a Arc<ForwardedCertificatePolicy>,
    /// Whether it goes out over HTTP/1.1.
    pub(super) http1: bool,
    /// When it came.
    pub(super) started: Instant,
}

impl<T: Traffic> Outgoing<'_, T> {
    /// The request, its headers as they go out but for what depends on the server.
    pub(super) fn request(
        &self,
        parts: &mut Parts,
        body: IncomingBody,
        course: &mut Course,
    ) -> Result<Box<Request<RequestBody>>, Fault> {
        course.total = self.route.total_timeout;
        course.deadline = course.total.map(|total| self.started + total);
        course.preserve_host = self.route.preserve_host;
        course.trailers = self.handover.trailers;
        let body = self.body(body, parts, course)?;
        let mut request = Box::new(Request::new(body));
        *request.method_mut() = take(&mut parts.method);
        *request.uri_mut() = self.uri(take(&mut parts.uri))?;
        *request.headers_mut() = take(&mut parts.headers);
        if let Some(progress) = course.progress.as_ref().filter(|progress| progress.is_held()) {
            let progress = progress.clone();
            on_informational(&mut request, move |response| {
                if response.status() == StatusCode::CONTINUE {
                    progress.release();
                }
            });
        }
        Ok(request)
    }

    /// The body, and the one header that says how long it is.
    fn body(
        &self,
        body: IncomingBody,
        Parts { method, headers, version, .. }: &mut Parts,
        course: &mut Course,
    ) -> Result<RequestBody, Fault> {
        let size = body.size_hint();
        let limit = self.route.max_body.unwrap_or(u64::MAX);
        if size.lower() > limit {
            return Err(Fault::TooLarge);
        }
        // Over HTTP/2 a body of length 0 may be yet to end; of gRPC there may be trailers.
        let is_none = size.exact() == Some(0) && !self.handover.grpc;
        if is_none || body.is_end_stream() {
            if headers.get(CONTENT_LENGTH).is_some_and(|length| length != "0") {
                headers.remove(CONTENT_LENGTH);
            }
            // Where a body is expected, some servers answer 411 if nothing says that there is none (RFC 9110 §8.6). Clients need not say
            // it, and hyper does over HTTP/2 only.
            if self.http1 && matches!(*method, Method::POST | Method::PUT | Method::PATCH) {
                headers.insert(CONTENT_LENGTH, HeaderValue::from_static("0"));
            }
            return Ok(RequestBody::Empty);
        }
        if size.exact().is_none() {
            headers.remove(CONTENT_LENGTH);
            if self.http1 {
                headers.insert(TRANSFER_ENCODING, HeaderValue::from_static("chunked"));
            }
        }
        // What comes over HTTP/2 would stay in the memory here, its trailers without bound.
        let held = self.handover.expects_continue && self.http1 && *version < Version::HTTP_2;
        if held {
            headers.insert(EXPECT, HeaderValue::from_static("100-continue"));
        }
        let progress = Arc::new(if held { Progress::held() } else { Progress::default() });
        course.progress = Some(progress.clone());
        let terms = BodyTerms { limit, http2: *version >= Version::HTTP_2, trailers: self.trailers() };
        Ok(RequestBody::streamed(body, progress, terms))
    }

    /// Trailers mean something in gRPC only; elsewhere they are dropped.
    fn trailers(&self) -> Option<TrailerFilter> {
        if !self.handover.grpc {
            return None;
        }
        let (traffic, admitted) = (self.traffic.clone(), self.admitted.clone());
        let certificates = self.certificates.clone();
        Some(Box::new(move |trailers| {
            retain_harmless_trailers(trailers);
            drop_certificates(trailers, &certificates);
            traffic.strip(&admitted, trailers);
        }))
    }

    /// The path as it was judged, or with its prefix replaced.
    fn uri(&self, uri: Uri) -> Result<Uri, Fault> {
        if self.route.rewrite_prefix.is_none() {
            return Ok(uri);
        }
        let path = self.route.upstream_path(uri.path());
        let target = match uri.query() {
            Some(query) => Cow::Owned(format!("{path}?{query}")),
            None => path,
        };
        let target = PathAndQuery::try_from(&*target).map_err(|_| Fault::NoUpstream)?;
        Ok(Uri::from(target))
    }
}
