//! A connection over HTTP/1.1. It has no task of its own: whoever uses it drives it, and a request costs no hand-over
//! between tasks.

use std::error::Error;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use h2::Reason;
use http::{Request, Response, StatusCode, Version};
use http_body::{Body, Frame};
use hyper::body::Incoming;
use hyper::client::conn::TrySendError;
use hyper::client::conn::http1::{Builder, SendRequest};
use hyper_util::rt::TokioIo;
use sluice_commit::chain;
use tokio::time::Instant;

use super::bell::Bell;
use super::connect::Wire;
use super::enduring::{Enduring, Writing};
use super::waiting::Waiting;
use crate::proxy::alarm::Alarm;
use crate::proxy::body::RequestBody;
use crate::proxy::fault::Fault;

/// hyper's side of a connection, whose type has no name.
type Driver = Pin<Box<dyn Future<Output = hyper::Result<()>> + Send>>;

/// A part of a body, or what became of it.
type Part = Option<Result<Frame<Bytes>, hyper::Error>>;

/// A connection to a server, for one request at a time.
pub(in crate::proxy) struct Link(Box<Parts>);

struct Parts {
    sender: SendRequest<RequestBody>,
    side: DrivenSide,
    writing: Writing,
    alarm: Alarm,
    /// Whether its server has shown to speak HTTP/1.0, which knows no chunks: a body of unknown length would be lost.
    is_old: bool,
    /// Since when it is in the pool. `None`: it never was.
    idle_since: Option<Instant>,
    /// When it is too old for further requests.
    retires: Instant,
}

/// What has to be polled for anything to happen.
struct DrivenSide {
    /// `None` once the connection has ended or became something else.
    driver: Option<Driver>,
    bell: Bell,
}

/// Why a request got no answer, and the request itself where nothing of it was sent.
pub(super) struct Failure {
    pub(super) fault: Fault,
    pub(super) unsent: Option<Box<Request<RequestBody>>>,
    /// Whether the server had ended the connection before it looked at the request, as after so many requests: it says nothing of the next
    /// connection.
    pub(super) was_over: bool,
    /// With which word the server has reset the stream of the request, and of no other.
    pub(super) reset: Option<Reason>,
    /// Whether the server, over HTTP/1.1, took the beginning of a request with a body and no more of it, as one does that refuses it: its
    /// answer may have been lost on the way.
    pub(super) may_be_refused: bool,
    /// What the HTTP library says.
    pub(super) error: Option<hyper::Error>,
}

impl Failure {
    /// Whether its client may have brought it about: it bounded its time, as those of gRPC do, or its request is one that the server does
    /// not take. That says nothing of the server.
    pub(super) fn may_be_of_client(&self) -> bool {
        const OF_CLIENTS: [Reason; 4] =
            [Reason::CANCEL, Reason::NO_ERROR, Reason::PROTOCOL_ERROR, Reason::ENHANCE_YOUR_CALM];
        self.may_be_refused || self.reset.is_some_and(|reason| OF_CLIENTS.contains(&reason))
    }
}

impl From<Fault> for Failure {
    fn from(fault: Fault) -> Self {
        Self { fault, unsent: None, was_over: false, reset: None, may_be_refused: false, error: None }
    }
}

impl Link {
    /// Speaks HTTP/1.1 on `wire`, up to a certain time.
    pub(super) async fn open(wire: Wire, retires: Instant) -> Result<Self, Fault> {
        let (wire, writing) = Enduring::around(wire);
        let opened = Builder::new().handshake::<_, RequestBody>(TokioIo::new(wire)).await;
        let (sender, connection) = opened.map_err(|_| Fault::Connect)?;
        let side = DrivenSide { driver: Some(Box::pin(connection.with_upgrades())), bell: Bell::default() };
        let alarm = Alarm::default();
        Ok(Self(Box::new(Parts { sender, side, writing, alarm, is_old: false, idle_since: None, retires })))
    }

    /// Whether it can take a request; what the server sent unasked, or its end, is noticed here.
    pub(super) fn is_usable(&mut self, context: &mut Context<'_>) -> bool {
        self.0.side.drive(context);
        self.is_free()
    }

    /// Whether it can take a request. Nothing is noticed here: what happened since it was last driven is seen when it is used.
    pub(super) fn is_free(&self) -> bool {
        self.0.side.driver.is_some()
            && !self.0.is_old
            && !self.0.writing.is_cut_off()
            && self.0.sender.is_ready()
    }

    /// Notes that it is in the pool since `now`, if it is not too old for that.
    pub(super) fn rest(&mut self, now: Instant) -> bool {
        self.0.idle_since = Some(now);
        now < self.0.retires
    }

    /// Whether it may stay in the pool, where nobody needed it for less than `keep_alive`.
    pub(super) fn may_stay(&self, now: Instant, keep_alive: Duration) -> bool {
        let is_rested = |since| now.saturating_duration_since(since) >= keep_alive;
        now < self.0.retires && !self.0.idle_since.is_none_or(is_rested)
    }

    /// Whether its server took the beginning of a request, and takes no more: what it answers may be lost on the way.
    pub(in crate::proxy) fn is_cut_off(&self) -> bool {
        self.0.writing.is_cut_off()
    }

    /// For waits on this connection.
    pub(in crate::proxy) fn alarm(&mut self) -> &mut Alarm {
        &mut self.0.alarm
    }

    /// The next part of a body that comes on this connection, which is driven if the part is not there.
    pub(in crate::proxy) fn poll_body(
        &mut self,
        body: &mut Incoming,
        context: &mut Context<'_>,
    ) -> Poll<Part> {
        self.0.side.poll(context, |context| Pin::new(&mut *body).poll_frame(context))
    }

    /// Drives the connection until it has handed its wire over to another protocol, or ended.
    pub(in crate::proxy) async fn hand_over(mut self) {
        poll_fn(|context| {
            self.0.side.drive(context);
            if self.0.side.driver.is_none() { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
    }

    /// Sends a request and waits for the head of its answer.
    pub(super) async fn exchange(
        &mut self,
        request: Box<Request<RequestBody>>,
        mut waiting: Waiting<'_>,
    ) -> Result<Response<Incoming>, Failure> {
        let has_body = !request.body().is_end_stream();
        self.0.writing.begin();
        let answered = {
            let Parts { sender, side, alarm, .. } = &mut *self.0;
            let mut answer = pin!(async { sender.try_send_request(*request).await });
            poll_fn(|context| match side.poll(context, |context| answer.as_mut().poll(context)) {
                Poll::Ready(answered) => Poll::Ready(answered.map_err(Failure::from)),
                Poll::Pending => waiting.poll(context, alarm).map(|fault| Err(fault.into())),
            })
            .await
        };
        let Parts { writing, is_old, .. } = &mut *self.0;
        *is_old = answered.as_ref().is_ok_and(|answer| answer.version() < Version::HTTP_11);
        if answered.as_ref().is_ok_and(|answer| answer.status() == StatusCode::SWITCHING_PROTOCOLS) {
            writing.end();
        }
        answered.map_err(|failure| {
            let may_be_refused = failure.fault == Fault::Reset && has_body && writing.is_cut_off();
            Failure { may_be_refused, ..failure }
        })
    }
}

#[cfg(test)]
impl Link {
    /// One on `wire`, whose server may have taken the beginning of a request alone.
    pub(in crate::proxy) async fn given(wire: tokio::net::TcpStream, is_cut_off: bool) -> Self {
        let link = Self::open(Wire::Plain(wire), Instant::now()).await.unwrap();
        if is_cut_off {
            link.0.writing.cut_off();
        }
        link
    }
}

impl DrivenSide {
    /// Polls what the other side hands over; drives it if nothing is there yet.
    fn poll<T>(
        &mut self,
        context: &Context<'_>,
        handed_over: impl FnMut(&mut Context<'_>) -> Poll<T>,
    ) -> Poll<T> {
        let Self { driver, bell } = self;
        bell.poll(context, handed_over, |context| {
            if let Some(running) = driver
                && running.as_mut().poll(context).is_ready()
            {
                *driver = None;
            }
        })
    }

    /// Lets the connection do what it can.
    fn drive(&mut self, context: &Context<'_>) {
        let _ = self.poll(context, |_| Poll::<()>::Pending);
    }
}

impl From<TrySendError<Request<RequestBody>>> for Failure {
    fn from(mut error: TrySendError<Request<RequestBody>>) -> Self {
        let said = of_h2(error.error()).filter(|said| said.is_remote());
        let was_over = said.is_some_and(h2::Error::is_go_away);
        let reset = said.filter(|said| said.is_reset()).and_then(h2::Error::reason);
        let fault = match error.error() {
            error if error.is_parse() => Fault::BadAnswer,
            _ if said.is_some_and(is_unprocessed) => Fault::Unprocessed,
            _ => Fault::Reset,
        };
        let unsent = error.take_message().map(Box::new);
        Self { fault, unsent, was_over, reset, may_be_refused: false, error: Some(error.into_error()) }
    }
}

/// Why a request got no answer, in a sentence for the log.
pub(super) fn reason(error: &hyper::Error) -> String {
    // Other protocols have no frames: what they say is read as one that is too long, as `HTTP` is the beginning of one of 4.7 MB.
    let has_no_frames =
        |read: &h2::Error| read.is_library() && read.reason() == Some(Reason::FRAME_SIZE_ERROR);
    let plainly =
        if of_h2(error).is_some_and(has_no_frames) { "the server does not speak HTTP/2: " } else { "" };
    format!("{plainly}{}", chain(error))
}

/// What HTTP/2 says of an error.
fn of_h2(error: &hyper::Error) -> Option<&h2::Error> {
    error.source().and_then(|source| source.downcast_ref())
}

/// Whether that says that the server has not looked at the request: `REFUSED_STREAM`, or a GOAWAY whose last stream was an earlier one
/// (RFC 9113 §8.7). h2 ends no other streams with the GOAWAY of a server.
fn is_unprocessed(said: &h2::Error) -> bool {
    said.is_go_away() || said.reason() == Some(Reason::REFUSED_STREAM)
}
