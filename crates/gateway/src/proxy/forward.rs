//! A request from its head to the head of its answer.

use std::convert::Infallible;
use std::sync::Arc;

use bytes::Bytes;
use http::header::{ALLOW, CONTENT_LENGTH};
use http::request::Parts;
use http::{HeaderMap, Method, Request, Response, StatusCode, Version};
use http_body::Body;
use http_body_util::Full;
use hyper::upgrade::OnUpgrade;
use sluice_net::IncomingBody;
use tokio::time::Instant;

use super::account::Account;
use super::answering;
use super::body::{Patience, ProxyBody, Witness};
use super::core::Core;
use super::fault::Fault;
use super::grpc;
use super::headers::{
    Host, Malformed, Origin, Place, Visitor, announce_upgrade, count_hop, drop_unbelieved_certificates,
    join_cookies, read_target, relocate, strip_request, tell_origin,
};
use super::outgoing::Outgoing;
use super::problem;
use super::traffic::Traffic;
use super::upstream::Answered;
use crate::authn::{Asked, Verdict, cross_origin};
use crate::gateway::{Admitted, Judging};
use crate::route::Route;

/// Why there is no answer of an upstream.
enum NoAnswer {
    /// The gateway answers.
    Own(Box<Response<Full<Bytes>>>),
    /// The request cannot be read in one way only.
    Malformed(Malformed),
    /// Something failed on the way.
    Fault(Fault),
}

impl From<Fault> for NoAnswer {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

impl From<Malformed> for NoAnswer {
    fn from(why: Malformed) -> Self {
        Self::Malformed(why)
    }
}

/// Answers a request.
pub(super) async fn answer<T: Traffic>(
    core: Arc<Core<T>>,
    visitor: Arc<Visitor>,
    request: Request<IncomingBody>,
) -> Result<Response<ProxyBody>, Infallible> {
    let (mut parts, body) = request.into_parts();
    // Over HTTP/1.1 the HTTP library leaves the body out.
    let wants_head = parts.method == Method::HEAD && parts.version >= Version::HTTP_2;
    let length = body.size_hint().exact();
    let account = Account::open(core.traffic.observer(), &parts, (visitor.peer, length));
    let mut passage = Passage { core: &core, visitor: &visitor, account, is_call: false };
    let answered = passage.forward(&mut parts, body).await;
    let told = answered.as_ref().err().and_then(|why| passage.told(&parts, why));
    let account = &mut passage.account;
    let mut response = answered.unwrap_or_else(|why| match why {
        NoAnswer::Own(response) => (*response).map(ProxyBody::Own),
        NoAnswer::Malformed(why) => {
            account.reason = why.reason();
            problem::malformed(why)
        }
        NoAnswer::Fault(fault) => {
            account.fault = Some(fault);
            let mut response = problem::fault(fault);
            if let Some(admitted) = &account.admitted {
                core.traffic.announce(admitted, response.headers_mut());
                cross_origin::open(admitted, response.headers_mut());
            }
            response
        }
    });
    let status = response.status();
    if let Some(message) = told {
        grpc::say(&mut response, account.fault, &message);
    }
    account.close(status, response.body().size_hint().exact());
    if let Some(route) = account.admitted.take().and_then(|admitted| admitted.route) {
        response.body_mut().attest(Witness { route, hearing: core.hearing.clone() });
    }
    if wants_head {
        leave_out_own_body(&mut response);
    }
    Ok(response)
}

/// Leaves the head of an answer of the gateway's own, which says how long its body would be (RFC 9110 §9.3.2).
fn leave_out_own_body(response: &mut Response<ProxyBody>) {
    let ProxyBody::Own(body) = response.body() else { return };
    let length = body.size_hint().exact().unwrap_or_default();
    if length > 0 {
        *response.body_mut() = ProxyBody::default();
        response.headers_mut().insert(CONTENT_LENGTH, length.into());
    }
}

/// The answer to an `OPTIONS` that goes no further: with which methods it would.
fn options<T: Traffic>(
    traffic: &T,
    admitted: &Admitted,
    (host, path): (&Host, &str),
) -> Response<Full<Bytes>> {
    let mut response = no_content();
    let headers = response.headers_mut();
    headers.extend(traffic.methods(&host.text, path).map(|methods| (ALLOW, methods)));
    traffic.announce(admitted, headers);
    cross_origin::open(admitted, headers);
    response
}

fn no_content() -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::default());
    *response.status_mut() = StatusCode::NO_CONTENT;
    response
}

/// A request on its way.
struct Passage<'a, T> {
    core: &'a Core<T>,
    visitor: &'a Visitor,
    account: Account<'a>,
    /// Whether what the upstream was to get is a call of gRPC.
    is_call: bool,
}

impl<T: Traffic> Passage<'_, T> {
    async fn forward(
        &mut self,
        parts: &mut Parts,
        body: IncomingBody,
    ) -> Result<Response<ProxyBody>, NoAnswer> {
        let host = read_target(parts, &self.visitor.host);
        self.account.uri = parts.uri.clone();
        self.account.host = host.as_ref().ok().cloned();
        self.demand_tls(&parts.headers)?;
        let host = host?;
        let traffic = &self.core.traffic;
        let peer = self.visitor.peer;
        let trusted = self.visitor.is_trusted(traffic.generation(), || traffic.trusts(peer));
        // The proxies that may end TLS need not be those that are trusted about their clients.
        let was_https = !self.visitor.has_tls() && self.core.plain_http.means_https();
        let https = was_https || self.visitor.is_https(trusted, &parts.headers);
        if trusted {
            self.account.client = traffic.client(peer, &parts.headers);
        }
        let admitted = match self.judge(parts, &host, (https, !body.is_end_stream()))? {
            Judging::Now(admitted) => admitted,
            Judging::Later(judging) => judging.await,
        };
        let admitted = self.account.admitted.insert(admitted);
        if let Verdict::Refused(_) = admitted.verdict {
            return Err(NoAnswer::Own(Box::new(traffic.refuse(admitted))));
        }
        if !count_hop(&parts.method, &mut parts.headers) {
            return Err(NoAnswer::Own(Box::new(options(&**traffic, admitted, (&host, parts.uri.path())))));
        }
        let forwards_host = admitted.route.as_ref().is_some_and(|route| route.enrichment.forward_host);
        self.pass(parts, body, &Origin { host: &host, https, trusted, forwards_host }).await
    }

    /// Has an answer that leads somewhere lead back to the route.
    fn lead_back(&self, answered: &mut Answered, route: &Route, origin: &Origin<'_>) {
        let Some(server) = answered.ticket.asked() else { return };
        let (host, https, path) = (&*origin.host.text, origin.https, self.account.uri.path());
        let status = answered.response.status();
        relocate((status, answered.response.headers_mut()), route, &Place { server, host, https, path });
    }

    /// The message of an answer of the gateway's own to a call of gRPC; `None` to another request.
    fn told(&self, parts: &Parts, why: &NoAnswer) -> Option<String> {
        if !self.is_call && !grpc::is_call(&parts.headers, parts.version) {
            return None;
        }
        let verdict = self.account.admitted.as_ref().map(|admitted| &admitted.verdict);
        Some(match (why, verdict) {
            (NoAnswer::Malformed(why), _) => why.to_string(),
            (NoAnswer::Fault(fault), _) => fault.to_string(),
            (NoAnswer::Own(_), Some(Verdict::Refused(refusal))) => refusal.sentence().to_owned(),
            (NoAnswer::Own(_), _) => String::new(),
        })
    }

    /// Refuses plain http, but of proxies that ended TLS.
    fn demand_tls(&self, headers: &HeaderMap) -> Result<(), Malformed> {
        if self.visitor.has_tls() {
            return Ok(());
        }
        let peer = self.visitor.peer;
        self.core.plain_http.admit(peer, headers).map_err(|reason| {
            self.core.plain_refusals.say(peer, reason);
            Malformed::PlainHttp
        })
    }

    /// The verdict, or the way to it.
    fn judge(
        &mut self,
        parts: &Parts,
        host: &Host,
        (https, has_body): (bool, bool),
    ) -> Result<Judging, NoAnswer> {
        let asked = Asked {
            method: &parts.method,
            https,
            host: &host.text,
            path: parts.uri.path(),
            query: parts.uri.query(),
            headers: &parts.headers,
            has_body,
            client: self.account.client.address,
            certificate: self.visitor.certificate(&self.core.certificates, &parts.headers)?,
            last: Some(&self.visitor.last),
        };
        // `OPTIONS` alone has this target. It asks about the gateway itself, which has nothing more to say than that it is there.
        if asked.path == "*" {
            self.account.reason = "asterisk";
            return Err(NoAnswer::Own(Box::new(no_content())));
        }
        if let Some(document) = self.core.traffic.metadata(&asked) {
            self.account.reason = "document";
            return Err(NoAnswer::Own(Box::new(document)));
        }
        Ok(self.core.traffic.judge(&asked))
    }

    /// Sends a request that may pass, and takes its answer.
    async fn pass(
        &mut self,
        parts: &mut Parts,
        body: IncomingBody,
        origin: &Origin<'_>,
    ) -> Result<Response<ProxyBody>, NoAnswer> {
        let Some(admitted) = &self.account.admitted else { return Err(Fault::NoUpstream.into()) };
        let Some(route) = &admitted.route else { return Err(Fault::NoUpstream.into()) };
        let via = self.core.traffic.via();
        if via.is_in(&parts.headers) {
            return Err(Fault::Loop.into());
        }
        let upstream = self.core.upstream(route)?;
        let is_http2 = parts.version >= Version::HTTP_2;
        let mut handover = strip_request(&mut parts.headers, parts.version);
        if is_http2 {
            join_cookies(&mut parts.headers);
        }
        drop_unbelieved_certificates(&mut parts.headers, &self.core.certificates, self.visitor.peer);
        tell_origin(&mut parts.headers, self.visitor, origin);
        self.core.traffic.enrich(admitted, &mut parts.headers, self.account.client);
        if route.enrichment.via {
            via.add_to(&mut parts.headers, parts.version);
        }
        // Neither side hands its wire over before the body is at its end, which may never come.
        let may_switch = upstream.is_http1() && body.is_end_stream();
        let upgrade = handover.upgrade.take().filter(|_| may_switch);
        let client = upgrade.and_then(|protocol| {
            announce_upgrade(&mut parts.headers, protocol);
            parts.extensions.remove::<OnUpgrade>()
        });
        let outgoing = Outgoing {
            traffic: &self.core.traffic,
            admitted,
            route,
            handover: &handover,
            certificates: &self.core.certificates,
            http1: upstream.is_http1(),
            started: self.account.started(),
        };
        self.is_call = handover.grpc && grpc::is_call(&parts.headers, parts.version);
        let request = outgoing.request(parts, body, &mut self.account.course)?;
        self.account.asked_at = Some(Instant::now());
        let mut answered = upstream.send(request, &mut self.account.course).await?;
        if route.rewrite_location {
            self.lead_back(&mut answered, route, origin);
        }
        let mut response = if answered.response.status() == StatusCode::SWITCHING_PROTOCOLS {
            let Some(client) = client else {
                answered.ticket.report_bad_answer("it changes the protocol, which nobody asked for");
                return Err(Fault::BadAnswer.into());
            };
            answering::switch(answered, client, upstream.timeouts(), &self.core.tunnels)?
        } else {
            let course = &self.account.course;
            let patience =
                if is_http2 { Some(Patience::Idle) } else { course.deadline.map(|_| Patience::Deadline) };
            let watch = patience.map(|patience| (&self.core.watch, patience));
            answering::take(answered, parts.version, course, upstream.timeouts(), watch).await?
        };
        self.core.traffic.announce(admitted, response.headers_mut());
        Ok(response)
    }
}
