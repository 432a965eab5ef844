//! A request is sent to a server, and sent anew where that can do no harm.

use std::sync::Arc;
use std::time::Duration;

use http::header::{CONNECTION, HOST, TE};
use http::uri::{Authority, PathAndQuery, Scheme};
use http::{HeaderValue, Request, Response, StatusCode, Uri, Version};
use hyper::body::Incoming;
use tokio::time::Instant;

use super::config::UpstreamProtocol;
use super::health::Server;
use super::link::{Failure, reason};
use super::pool::{Ticket, Unreached, Upstream};
use super::spare::Spare;
use super::waiting::Waiting;
use crate::proxy::body::{Carrier, Progress, Remainder, RequestBody};
use crate::proxy::fault::Fault;

/// What is known of a request beyond its head, and what becomes of it.
#[derive(Debug, Default)]
pub(in crate::proxy) struct Course {
    /// Of its body; `None` without one.
    pub(in crate::proxy) progress: Option<Arc<Progress>>,
    /// When the exchange must have ended.
    pub(in crate::proxy) deadline: Option<Instant>,
    /// How long it may take in all.
    pub(in crate::proxy) total: Option<Duration>,
    /// Whether the upstream sees the client's `Host`.
    pub(in crate::proxy) preserve_host: bool,
    /// Whether the client takes trailers.
    pub(in crate::proxy) trailers: bool,
    /// The server that was asked last.
    pub(in crate::proxy) server: Option<Arc<str>>,
    /// How often the request was sent anew.
    pub(in crate::proxy) retries: u8,
    /// Why, each time.
    pub(in crate::proxy) retried: Vec<Fault>,
    /// Whether it was not sent anew because too many were.
    pub(in crate::proxy) is_beyond_budget: bool,
}

impl Course {
    /// What it is to be out of time after a wait for a server since `since` that could have lasted `own`. It speaks against a server that had
    /// half of that, or of all the time there was; not against one that had what others left, such as the issuer of the token.
    pub(super) fn out_of_time(&self, since: Instant, own: Duration) -> Fault {
        let half = self.total.map_or(own, |total| total.min(own)) / 2;
        let had_half = self.deadline.is_some_and(|deadline| since + half <= deadline);
        if had_half { Fault::Timeout } else { Fault::OutOfTime }
    }
}

/// The head of an answer, and where its body comes from.
pub(in crate::proxy) struct Answered {
    pub(in crate::proxy) response: Response<Incoming>,
    pub(in crate::proxy) carrier: Carrier,
    pub(in crate::proxy) ticket: Ticket,
}

/// What a request is sent on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum On {
    /// An idle connection, if there is one.
    Any,
    /// A new connection: the one before was dead, or did not survive the request.
    New,
}

impl Upstream {
    /// Sends a request and waits for the head of its answer.
    pub(in crate::proxy) async fn send(
        self: &Arc<Self>,
        mut request: Box<Request<RequestBody>>,
        course: &mut Course,
    ) -> Result<Answered, Fault> {
        let mut ticket = Ticket::enter(self)?;
        let (mut tried, mut on) = (0_u64, On::Any);
        loop {
            let place = if on == On::New { ticket.server } else { self.choose(tried) };
            let Some(server) = self.server(place) else { return Err(Fault::NoUpstream) };
            ticket.server = place;
            course.server = self.label(place);
            let spare = self.spare(&request, course);
            let failed = match self.attempt(&ticket, server, request, (on, &*course)).await {
                Ok((response, carrier)) => {
                    if on == On::New {
                        self.forget_idle(place);
                    }
                    self.judge_answer(server, response.status());
                    self.spares.give_back(spare);
                    return Ok(Answered { response, carrier, ticket });
                }
                Err(failed) => failed,
            };
            let fault = course.progress.as_ref().and_then(|progress| progress.fault());
            let fault = fault.unwrap_or(failed.failure.fault);
            let was_dead = failed.reused && fault == Fault::Reset && on == On::Any;
            let spare = spare.filter(|spare| fault == Fault::Unprocessed || spare.is_idempotent());
            let is_blamed = fault.blames_server() && !failed.is_shared && !failed.failure.may_be_of_client();
            let was_sent = failed.failure.unsent.is_none();
            let again = failed.failure.unsent.or_else(|| spare.and_then(Spare::revive).map(Box::new));
            // Whether a connection or its server was dead, the next attempt shows. Without one, a connection over HTTP/2 speaks for
            // its server, once.
            let is_found_out = again.is_some() || !failed.is_first;
            if is_blamed && !(was_dead && is_found_out) {
                self.shared.note_failure(server);
            }
            if !(was_dead && again.is_some()) {
                self.report(server, fault, failed.failure.error.as_ref());
            }
            // Those that rested with a dead connection are dead, too, also if no new one can be made to the server. If a new one does no
            // better, it is the request that ends them; and what the gateway itself is short of says nothing about them.
            let is_dead = match on {
                On::Any => was_dead && again.is_none(),
                On::New => matches!(fault, Fault::Connect | Fault::ConnectTimeout),
            };
            if is_dead {
                self.forget_idle(place);
            }
            let Some(again) = again.filter(|_| self.is_worth_another(fault) && is_in_time(course)) else {
                return Err(fault);
            };
            // A server that ends a connection over HTTP/2 is as good as before, and another one may be out.
            if was_dead || (failed.failure.was_over && on == On::Any) {
                on = On::New;
            } else if course.retries >= self.shared.config.retries {
                return Err(fault);
            } else if was_sent && !self.shared.may_repeat() {
                course.is_beyond_budget = true;
                return Err(fault);
            } else {
                course.retries += 1;
                course.retried.push(fault);
                tried |= 1_u64.checked_shl(u32::try_from(place).unwrap_or(u32::MAX)).unwrap_or_default();
                on = On::Any;
            }
            request = again;
        }
    }

    async fn attempt(
        self: &Arc<Self>,
        ticket: &Ticket,
        server: &Server,
        mut request: Box<Request<RequestBody>>,
        (on, course): (On, &Course),
    ) -> Result<(Response<Incoming>, Carrier), Failed> {
        if let Err(fault) = self.address(&mut request, (ticket.server, server), course) {
            return Err(Failed::unsent(fault, request));
        }
        if self.shared.config.protocol == UpstreamProtocol::Http2 {
            return self.attempt_multiplexed(ticket, request, course).await;
        }
        loop {
            let idle = if on == On::Any { self.take_idle(ticket.server) } else { None };
            let reused = idle.is_some();
            let mut link = match idle {
                Some(link) => link,
                None => match Box::pin(self.open_link(ticket.server, course)).await {
                    Ok(link) => link,
                    Err(fault) => return Err(Failed::unsent(fault, request)),
                },
            };
            match link.exchange(request, Waiting::new(&self.shared.config.timeouts, course)).await {
                Ok(response) => return Ok((response, Carrier::Http1(link))),
                Err(Failure { unsent: Some(unsent), .. }) if reused => request = unsent,
                Err(failure) => return Err(Failed::of(failure, reused)),
            }
        }
    }

    /// The same over HTTP/2.
    async fn attempt_multiplexed(
        self: &Arc<Self>,
        ticket: &Ticket,
        request: Box<Request<RequestBody>>,
        course: &Course,
    ) -> Result<(Response<Incoming>, Carrier), Failed> {
        let free = self.free_stream(ticket.server);
        let reused = free.is_some();
        let reached = match free {
            Some(stream) => Ok(stream),
            // Nearly no request makes a connection: no other is to be larger for that, here and above.
            None => Box::pin(self.stream(ticket.server, course)).await,
        };
        let stream = match reached {
            Ok(stream) => stream,
            Err(Unreached { fault, is_shared }) => {
                return Err(Failed { is_shared, ..Failed::unsent(fault, request) });
            }
        };
        let end = stream.end();
        match stream.exchange(request, Waiting::new(&self.shared.config.timeouts, course)).await {
            Ok((response, slot, alarm)) => {
                let remainder = course.progress.clone().map(Remainder::of);
                Ok((response, Carrier::Http2 { alarm, end, _slot: slot, _remainder: remainder }))
            }
            Err(failure) => {
                // One that its server has reset ended alone; any other with its connection, as all that were on it.
                let with_connection = failure.fault == Fault::Reset && failure.reset.is_none();
                let is_first = with_connection && end.is_first();
                let is_shared = with_connection && !is_first;
                Err(Failed { is_first, is_shared, ..Failed::of(failure, reused && with_connection) })
            }
        }
    }

    /// Gives a request what depends on the server.
    fn address(
        &self,
        request: &mut Request<RequestBody>,
        (place, server): (usize, &Server),
        course: &Course,
    ) -> Result<(), Fault> {
        let is_replaced = !course.preserve_host || is_unnamed(request);
        if let Some(host) = is_replaced.then(|| self.host(place)).flatten() {
            request.headers_mut().insert(HOST, host);
        }
        match self.shared.config.protocol {
            UpstreamProtocol::Http1 => {
                if course.trailers && !request.headers().contains_key(CONNECTION) {
                    request.headers_mut().insert(TE, HeaderValue::from_static("trailers"));
                    request.headers_mut().insert(CONNECTION, HeaderValue::from_static("te"));
                }
            }
            UpstreamProtocol::Http2 => {
                *request.version_mut() = Version::HTTP_2;
                if course.trailers {
                    request.headers_mut().insert(TE, HeaderValue::from_static("trailers"));
                }
                let scheme = if server.config.tls { Scheme::HTTPS } else { Scheme::HTTP };
                let host = request.headers_mut().remove(HOST);
                let authority = host.and_then(|host| Authority::from_maybe_shared(host).ok());
                make_absolute(request.uri_mut(), scheme, authority)?;
                if list_size(request) > self.shared.config.max_head.get() {
                    return Err(Fault::HeadTooLarge);
                }
            }
        }
        Ok(())
    }

    /// What a request is made of, kept where it may have to be sent anew although all of it was sent: over HTTP/2 a server can say that
    /// it has not looked at it.
    fn spare(&self, request: &Request<RequestBody>, course: &Course) -> Option<Spare> {
        let may_be_repeated = request.method().is_idempotent() || !self.is_http1();
        let is_kept = course.progress.is_none() && may_be_repeated && self.shared.config.retries > 0;
        is_kept.then(|| Spare::of(request, self.spares.take()))
    }

    /// Whether another server, or another connection, may do better.
    fn is_worth_another(&self, fault: Fault) -> bool {
        // Here the one server is at its limit, to which as many connections are being made as may be.
        let is_elsewhere = fault == Fault::Overloaded && self.shared.servers.len() > 1;
        is_elsewhere
            || matches!(fault, Fault::Connect | Fault::ConnectTimeout | Fault::Reset | Fault::Unprocessed)
    }

    /// Says why a request failed, where nobody else does: that no connection was made, who makes them says.
    fn report(&self, server: &Server, fault: Fault, error: Option<&hyper::Error>) {
        if let (Fault::Reset | Fault::BadAnswer, Some(error)) = (fault, error) {
            self.shared.report_failure(server, fault, || reason(error));
        }
    }

    fn judge_answer(&self, server: &Server, status: StatusCode) {
        match status {
            StatusCode::BAD_GATEWAY | StatusCode::SERVICE_UNAVAILABLE | StatusCode::GATEWAY_TIMEOUT => {
                self.shared.note_failure(server);
            }
            _ => server.succeeded(),
        }
    }
}

/// Whether a request names no host. One that an earlier attempt has addressed over HTTP/2 carries it in the target.
fn is_unnamed(request: &Request<RequestBody>) -> bool {
    match request.headers().get(HOST) {
        Some(host) => host.is_empty(),
        None => request.uri().authority().is_none(),
    }
}

/// An attempt without an answer.
struct Failed {
    failure: Failure,
    /// Whether it was made on a connection that had been idle: then it is perhaps the connection that was dead.
    reused: bool,
    /// Whether it is the first that speaks against the server, of a connection that others use at the same time.
    is_first: bool,
    /// Whether others failed in the same way at once, and one of them speaks for all.
    is_shared: bool,
}

impl Failed {
    const fn of(failure: Failure, reused: bool) -> Self {
        Self { failure, reused, is_first: false, is_shared: false }
    }

    fn unsent(fault: Fault, request: Box<Request<RequestBody>>) -> Self {
        Self::of(Failure { unsent: Some(request), ..Failure::from(fault) }, false)
    }
}

/// Whether nothing of the body is gone and there is time left.
fn is_in_time(course: &Course) -> bool {
    course.progress.as_ref().is_none_or(|progress| progress.is_untouched())
        && course.deadline.is_none_or(|deadline| Instant::now() < deadline)
}

/// How large a head is over HTTP/2: each field counts 32 bytes more than its text, and what HTTP/1.1 has in the first line is four of them
/// (RFC 9113 §6.5.2).
fn list_size<B>(request: &Request<B>) -> usize {
    const A_FIELD: usize = 32;
    let fields = request.headers().iter().map(|(name, value)| name.as_str().len() + value.len() + A_FIELD);
    let uri = request.uri();
    let target = uri.path_and_query().map_or(1, |path| path.as_str().len());
    let authority = uri.authority().map_or(0, |authority| authority.as_str().len());
    let names = ":method:scheme:path:authority".len() + 4 * A_FIELD;
    let values =
        request.method().as_str().len() + uri.scheme_str().unwrap_or_default().len() + target + authority;
    names + values + fields.sum::<usize>()
}

/// Adds scheme and authority, as HTTP/2 has them in fields of their own. A host of a client always is one.
fn make_absolute(uri: &mut Uri, scheme: Scheme, authority: Option<Authority>) -> Result<(), Fault> {
    let mut parts = std::mem::take(uri).into_parts();
    parts.scheme = Some(scheme);
    parts.authority = authority.or(parts.authority);
    parts.path_and_query.get_or_insert_with(|| PathAndQuery::from_static("/"));
    *uri = Uri::from_parts(parts).map_err(|_| Fault::NoUpstream)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use sluice_testkit::Captured;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::super::config::UpstreamConfig;
    use super::super::given::upstream;
    use super::super::shared::SharedUpstream;
    use super::*;

    /// An upstream whose server answers the first bytes of each connection with `answer`, whatever they are; if with none, it ends it.
    async fn answering(answer: &'static str, protocol: UpstreamProtocol) -> Arc<Upstream> {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                tokio::spawn(async move {
                    let _ = stream.read(&mut [0; 1024]).await;
                    let _ = stream.write_all(answer.as_bytes()).await;
                    if !answer.is_empty() {
                        let _ = stream.read_to_end(&mut Vec::new()).await;
                    }
                });
            }
        });
        let config = UpstreamConfig { protocol, ..upstream("shop", &[port]) };
        Arc::new(Upstream::new(Arc::new(SharedUpstream::new(Arc::new(config), 1, None)), 0))
    }

    #[tokio::test]
    async fn why_a_request_failed_on_its_connection_is_logged_once_for_a_crowd() {
        let http2 = UpstreamProtocol::Http2;
        for (answer, protocol, fault, why) in [
            ("nonsense\r\n\r\n", UpstreamProtocol::Http1, Fault::BadAnswer, "invalid HTTP"),
            ("", UpstreamProtocol::Http1, Fault::Reset, "connection closed"),
            ("HTTP/1.1 400 Bad Request\r\n\r\n", http2, Fault::Reset, "the server does not speak HTTP/2"),
        ] {
            let (log, _guard) = Captured::begin();
            let upstream = answering(answer, protocol).await;
            for _ in 0..3 {
                let mut request = Box::new(Request::new(RequestBody::Empty));
                request.headers_mut().insert(HOST, HeaderValue::from_static("a.example"));
                let failed = upstream.send(request, &mut Course::default()).await;
                assert_eq!(failed.err(), Some(fault), "{answer}");
            }
            let said = log.lines("a request to a server failed");
            let [line] = said.as_slice() else { panic!("{said:?}") };
            assert!(line.contains("upstream=shop") && line.contains(fault.label()), "{line}");
            assert!(line.contains(why), "{line}");
        }
    }

    #[test]
    fn a_target_without_an_authority_is_not_replaced_by_another() {
        let authority = || Some(Authority::from_static("a:1"));
        let mut uri = Uri::from_static("/x?y");
        assert_eq!(make_absolute(&mut uri, Scheme::HTTPS, authority()), Ok(()));
        assert_eq!(uri, "https://a:1/x?y");
        let mut uri = Uri::from_static("/x?y");
        assert_eq!(make_absolute(&mut uri, Scheme::HTTP, None), Err(Fault::NoUpstream));
    }

    #[test]
    fn a_head_is_as_large_as_http_2_counts_it() {
        let request = Request::get("http://a.example/x?y").header("x-a", "1234").body(()).unwrap();
        let fields =
            [(":method", "GET"), (":scheme", "http"), (":path", "/x?y"), (":authority", "a.example")];
        let size: usize = fields.iter().map(|(name, value)| name.len() + value.len() + 32).sum();
        assert_eq!(list_size(&request), size + "x-a1234".len() + 32);
    }
}
