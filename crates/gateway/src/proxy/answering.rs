//! The answer of an upstream as the client gets it.

use std::future::poll_fn;
use std::task::Poll;

use http::header::{CONNECTION, CONTENT_LENGTH, UPGRADE};
use http::{HeaderValue, Response, StatusCode, Version};
use http_body::Body;
use http_body_util::Full;
use hyper::upgrade::OnUpgrade;
use tokio_util::task::TaskTracker;

use super::body::{AnswerBody, Carrier, Pace, Patience, ProxyBody, Watch};
use super::fault::Fault;
use super::headers::{announce_upgrade, strip_answer, trim_values};
use super::tunnel::Tunnel;
use super::upstream::{Answered, Course, Timeouts};

/// An ordinary answer to a `client` of this version, whose body is yet to come; watched, if the client may let it wait.
///
/// # Errors
/// [`Fault::BadAnswer`]: nobody would understand its body.
pub(super) async fn take(
    answered: Answered,
    client: Version,
    course: &Course,
    timeouts: &Timeouts,
    watch: Option<(&Watch, Patience)>,
) -> Result<Response<ProxyBody>, Fault> {
    let Answered { response, carrier, ticket } = answered;
    let (mut head, incoming) = response.into_parts();
    if head.version >= Version::HTTP_2 {
        trim_values(&mut head.headers);
    }
    head.version = Version::HTTP_11;
    // The other versions know no upgrade.
    let asks_for_upgrade = head.status == StatusCode::UPGRADE_REQUIRED && client == Version::HTTP_11;
    let is_understood = strip_answer(&mut head.headers, asks_for_upgrade);
    if asks_for_upgrade && head.headers.contains_key(UPGRADE) {
        head.headers.insert(CONNECTION, HeaderValue::from_static("upgrade"));
    }
    // What a server over HTTP/2 sends where there is no content (RFC 9110 §15.3.5, §15.4.5) goes no further: clients over HTTP/2 give up such an
    // answer. The server is told that nobody reads it, but not where the request has a body: what is on its way of that would be called
    // off, too. Over HTTP/1.1 the client's side of it ends anyway.
    let has_content = !matches!(head.status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED);
    let ends_with_head = client < Version::HTTP_2 || course.progress.is_none();
    let is_read_away = !has_content && !ends_with_head && !incoming.is_end_stream();
    // RFC 9110 §8.6. Over HTTP/2 it announces a body that does not come, and clients give up an answer whose end comes after its head.
    if head.status == StatusCode::NO_CONTENT || is_read_away {
        head.headers.remove(CONTENT_LENGTH);
    }
    if incoming.is_end_stream() || !has_content && !is_read_away {
        ticket.note_whole_answer();
        let (mut carrier, request) = (Some(carrier), course.progress.as_deref());
        poll_fn(|context| Poll::Ready(carrier.take().map(|carrier| carrier.end(&ticket, request, context))))
            .await;
        return Ok(Response::from_parts(head, ProxyBody::Own(Full::default())));
    }
    if has_content && !is_understood {
        ticket.report_bad_answer("its Transfer-Encoding or Content-Length does not say where its body ends");
        return Err(Fault::BadAnswer);
    }
    let body = AnswerBody {
        incoming: Some(incoming),
        carrier: Some(carrier),
        ticket: Some(ticket),
        progress: course.progress.clone(),
        idle: timeouts.idle,
        deadline: course.deadline,
        waiting: None,
        failed: None,
        witness: None,
        pace: Pace::default(),
        discards: is_read_away,
    };
    let body = match watch {
        Some((watch, patience)) => ProxyBody::Watched(watch.watched(body, patience)),
        None => ProxyBody::Upstream(Box::new(body)),
    };
    Ok(Response::from_parts(head, body))
}

/// `101`: from here on the connections are each other's.
pub(super) fn switch(
    mut answered: Answered,
    client: OnUpgrade,
    timeouts: &Timeouts,
    tunnels: &TaskTracker,
) -> Result<Response<ProxyBody>, Fault> {
    let upstream = hyper::upgrade::on(&mut answered.response);
    let Carrier::Http1(link) = answered.carrier else { return Err(Fault::BadAnswer) };
    let (mut head, _) = answered.response.into_parts();
    let Some(protocol) = head.headers.remove(UPGRADE) else {
        answered.ticket.report_bad_answer("it changes the protocol and does not say to which");
        return Err(Fault::BadAnswer);
    };
    strip_answer(&mut head.headers, false);
    head.headers.remove(CONTENT_LENGTH);
    announce_upgrade(&mut head.headers, protocol);
    tunnels.spawn(Tunnel { client, upstream, link, ticket: answered.ticket, idle: timeouts.idle }.run());
    Ok(Response::from_parts(head, ProxyBody::default()))
}
