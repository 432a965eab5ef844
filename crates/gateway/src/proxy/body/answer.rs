//! The body of an answer on its way to the client.

use std::error::Error;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use http_body_util::Full;
use hyper::body::Incoming;
use tokio::time::Instant;

use super::watched::WatchedBody;
use super::{BodyError, Mark, Progress, Remainder, Witness};
use crate::proxy::alarm::Alarm;
use crate::proxy::fault::{AnswerFault, Fault};
use crate::proxy::headers::trim_values;
use crate::proxy::upstream::{End, Link, Ticket};

/// A client that lets an answer wait for longer, in all, has a part in what its server does next, in milliseconds.
const PAUSE: u32 = 5_000;

/// The body of an answer.
pub enum ProxyBody {
    /// The gateway's own.
    Own(Full<Bytes>),
    /// The upstream's.
    Upstream(Box<AnswerBody>),
    /// The same, for a client that may let it wait.
    Watched(WatchedBody),
}

/// The body of an upstream's answer. It drives the HTTP/1.1 connection that it comes from, and gives it back at its end; a
/// body that is dropped before cuts the connection.
pub struct AnswerBody {
    /// `None` once it has ended: whoever holds the end of an answer over HTTP/2 holds its stream, and a client that does not take what it
    /// was handed keeps this body for as long as it likes.
    pub(in crate::proxy) incoming: Option<Incoming>,
    /// `None` once it has ended.
    pub(in crate::proxy) carrier: Option<Carrier>,
    pub(in crate::proxy) ticket: Option<Ticket>,
    /// Of the request's body, which may still be flowing.
    pub(in crate::proxy) progress: Option<Arc<Progress>>,
    /// The longest time between two parts, of either body.
    pub(in crate::proxy) idle: Duration,
    /// When the exchange must have ended.
    pub(in crate::proxy) deadline: Option<Instant>,
    /// Since when the next part is waited for, and nothing of the request's body has moved either.
    pub(in crate::proxy) waiting: Option<(Mark, Instant)>,
    /// What is to be said at the next poll.
    pub(in crate::proxy) failed: Option<BodyError>,
    /// Who hears of it if its server breaks it off.
    pub(in crate::proxy) witness: Option<Witness>,
    /// How fast its client takes it.
    pub(in crate::proxy) pace: Pace,
    /// Whether what comes is read away: its status has no content, and the request is still being sent.
    pub(in crate::proxy) discards: bool,
}

/// How fast the client of an answer takes it. A server may end an answer that nobody takes, as it is to be expected of it.
#[derive(Debug, Default)]
pub(in crate::proxy) struct Pace {
    /// When the last part was handed over.
    handed_at: Option<Instant>,
    /// For how long it has let parts wait, in all, in milliseconds.
    paused: u32,
}

impl Pace {
    /// The client wants more.
    fn wants(&mut self) {
        if let Some(at) = self.handed_at.take() {
            let waited = u32::try_from(at.elapsed().as_millis()).unwrap_or(u32::MAX);
            self.paused = self.paused.saturating_add(waited);
        }
    }

    /// The client has a part.
    fn has(&mut self) {
        self.handed_at = Some(Instant::now());
    }
}

/// Where an answer comes from.
pub(in crate::proxy) enum Carrier {
    /// A connection that is this answer's alone.
    Http1(Link),
    /// A stream of a connection that a task of its own drives.
    Http2 {
        /// For waits on it.
        alarm: Alarm,
        /// What the connection comes to.
        end: End,
        /// Counted as long as it is read.
        _slot: StreamSlot,
        /// Of the request, which goes on as long as it is read.
        _remainder: Option<Remainder>,
    },
}

impl Carrier {
    /// The answer has ended: the connection is given back if the request has, too. What is left of a request goes no further, here as
    /// where the answer is dropped: it ends with its connection or, as one of several, alone.
    pub(in crate::proxy) fn end(
        self,
        ticket: &Ticket,
        request: Option<&Progress>,
        context: &mut Context<'_>,
    ) {
        match self {
            Self::Http1(link) if request.is_none_or(Progress::is_ended) => ticket.give_back(link, context),
            Self::Http1(_) | Self::Http2 { .. } => {}
        }
    }
}

/// One of the streams of a connection.
#[derive(Debug)]
pub(in crate::proxy) struct StreamSlot(Arc<AtomicUsize>);

impl StreamSlot {
    /// One stream more.
    pub(in crate::proxy) fn take(streams: &Arc<AtomicUsize>) -> Self {
        streams.fetch_add(1, Ordering::Relaxed);
        Self(streams.clone())
    }
}

impl Drop for StreamSlot {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A part, or what became of it.
pub(super) type Polled = Poll<Option<Result<Frame<Bytes>, BodyError>>>;

impl AnswerBody {
    /// Its next part, or what became of it.
    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> Polled {
        let (Some(carrier), Some(incoming)) = (&mut self.carrier, &mut self.incoming) else {
            return Poll::Ready(self.failed.take().map(Err));
        };
        self.pace.wants();
        let frame = match carrier {
            Carrier::Http1(link) => link.poll_body(incoming, context),
            Carrier::Http2 { .. } => Pin::new(&mut *incoming).poll_frame(context),
        };
        if self.discards {
            return self.read_away(&frame, context);
        }
        match frame {
            Poll::Ready(Some(Ok(mut frame))) => {
                self.waiting = None;
                if let (Carrier::Http2 { .. }, Some(trailers)) = (&*carrier, frame.trailers_mut()) {
                    trim_values(trailers);
                }
                if incoming.is_end_stream() {
                    self.finish(context);
                } else if self.is_late() {
                    return self.fail(context, BodyError::TooSlow);
                } else {
                    self.pace.has();
                }
                Poll::Ready(Some(Ok(frame)))
            }
            Poll::Ready(Some(Err(error))) => self.break_off(context, BodyError::Cut(error)),
            Poll::Ready(None) if matches!(carrier, Carrier::Http2 { .. }) && !incoming.is_end_stream() => {
                self.break_off(context, BodyError::CalledOff)
            }
            Poll::Ready(None) => {
                self.finish(context);
                Poll::Ready(None)
            }
            Poll::Pending => self.poll_too_slow(context),
        }
    }

    /// Reads away what came until its server ends it: to drop it would call off what is still on its way there of the request. The client has its answer, so whatever becomes of the rest ends it; but what did
    /// not come to its end says nothing for its server.
    fn read_away(
        &mut self,
        frame: &Poll<Option<Result<Frame<Bytes>, hyper::Error>>>,
        context: &mut Context<'_>,
    ) -> Polled {
        let is_whole = self.incoming.as_ref().is_none_or(Body::is_end_stream);
        match frame {
            Poll::Ready(None | Some(Ok(_))) if is_whole => self.finish(context),
            Poll::Ready(Some(Ok(_))) if !self.is_late() => {
                self.waiting = None;
                context.waker().wake_by_ref();
                return Poll::Pending;
            }
            Poll::Pending if self.poll_overdue(context).is_pending() => return Poll::Pending,
            Poll::Ready(_) | Poll::Pending => self.let_go(),
        }
        Poll::Ready(None)
    }

    /// Fails because it ended before its end; that is told unless the body of the request is to blame.
    fn break_off(&mut self, context: &Context<'_>, error: BodyError) -> Polled {
        let is_client = self.progress.as_ref().is_some_and(|progress| progress.fault().is_some());
        if !is_client {
            self.blame(AnswerFault::Cut, &error);
        }
        self.fail(context, error)
    }

    /// Ready with an error once the next part is overdue.
    fn poll_too_slow(&mut self, context: &mut Context<'_>) -> Polled {
        let Poll::Ready((since, until)) = self.poll_overdue(context) else { return Poll::Pending };
        if since + self.idle <= until && self.is_up_to_server() {
            self.blame(AnswerFault::Stalled, &BodyError::TooSlow);
        }
        self.fail(context, BodyError::TooSlow)
    }

    /// Ready once the next part is overdue, with since when it is waited for, and until when it was.
    fn poll_overdue(&mut self, context: &mut Context<'_>) -> Poll<(Instant, Instant)> {
        let mark = self.mark();
        let since = match self.waiting {
            Some((last, since)) if last == mark => since,
            _ => Instant::now(),
        };
        self.waiting = Some((mark, since));
        let until = self.until(since);
        let alarm = match &mut self.carrier {
            Some(Carrier::Http1(link)) => link.alarm(),
            Some(Carrier::Http2 { alarm, .. }) => alarm,
            None => return Poll::Ready((since, until)),
        };
        alarm.poll_until(context, until).map(|()| (since, until))
    }

    /// Whether the exchange must have ended by now.
    fn is_late(&self) -> bool {
        self.deadline.is_some_and(|deadline| deadline <= Instant::now())
    }

    /// Whether the server is waited for, and not the client whose body it may want first.
    fn is_up_to_server(&self) -> bool {
        let is_waited_for =
            |progress: &Arc<Progress>| progress.fault().is_none() && progress.standstill() == Fault::Timeout;
        self.progress.as_ref().is_none_or(is_waited_for)
    }

    /// Whether it speaks against its server. Over HTTP/2 a connection does once, however many answers end with it, and a stream that the
    /// server calls off does not: its client may have bounded its time. Nor does one over HTTP/1.1 whose end is lost because its server
    /// took no more of an upload and closed, nor silence where nobody said that there is more, as in a stream of events.
    fn speaks_against(&self, error: &BodyError) -> bool {
        if self.pace.paused > PAUSE {
            return false;
        }
        match (&self.carrier, error) {
            (_, BodyError::CalledOff) => false,
            (Some(Carrier::Http1(link)), BodyError::Cut(_)) if link.is_cut_off() => false,
            (Some(Carrier::Http2 { end, .. }), BodyError::Cut(error)) => match reset_reason(error) {
                Some(reason) => reason != h2::Reason::CANCEL,
                None => end.is_first(),
            },
            (_, BodyError::TooSlow) => self.size_hint().exact().is_some(),
            _ => true,
        }
    }

    /// Tells that its server breaks it off.
    fn blame(&self, fault: AnswerFault, error: &BodyError) {
        let Some(ticket) = &self.ticket else { return };
        if self.speaks_against(error) {
            ticket.note_broken_answer();
        }
        ticket.report_broken_answer(fault, error);
        if let Some(witness) = &self.witness {
            witness.tell(fault);
        }
    }

    /// How far the request's body is.
    pub(super) fn mark(&self) -> Mark {
        self.progress.as_ref().map_or(Mark::NO_BODY, |progress| progress.mark())
    }

    /// Until when something must have happened, if nothing did since.
    pub(super) fn until(&self, since: Instant) -> Instant {
        let idle_until = since + self.idle;
        self.deadline.map_or(idle_until, |deadline| deadline.min(idle_until))
    }

    /// Whether a connection is its own.
    pub(super) const fn is_held(&self) -> bool {
        self.carrier.is_some()
    }

    /// Whether all of it was handed over.
    pub(super) fn is_ended(&self) -> bool {
        self.failed.is_none() && self.incoming.as_ref().is_none_or(Body::is_end_stream)
    }

    /// How much is to come. Where nothing does that is not said: it would be announced in a `Content-Length`, which 204 has not.
    pub(super) fn size_hint(&self) -> SizeHint {
        if self.discards {
            return SizeHint::default();
        }
        self.incoming.as_ref().map_or_else(|| SizeHint::with_exact(0), Body::size_hint)
    }

    /// Fails at the next poll: what came before is written to the client meanwhile, and not lost with the connection.
    fn fail(&mut self, context: &Context<'_>, error: BodyError) -> Polled {
        self.let_go();
        self.failed = Some(error);
        context.waker().wake_by_ref();
        Poll::Pending
    }

    /// Lets go of what it comes from, which is cut.
    fn let_go(&mut self) {
        self.carrier = None;
        self.incoming = None;
        self.ticket = None;
    }

    /// Gives the connection back.
    fn finish(&mut self, context: &mut Context<'_>) {
        if let (Some(carrier), Some(ticket)) = (self.carrier.take(), self.ticket.take()) {
            ticket.note_whole_answer();
            carrier.end(&ticket, self.progress.as_deref(), context);
        }
        self.incoming = None;
    }
}

/// With which word a server over HTTP/2 ended this answer alone.
fn reset_reason(error: &hyper::Error) -> Option<h2::Reason> {
    let said = error.source().and_then(|source| source.downcast_ref::<h2::Error>());
    said.filter(|said| said.is_reset()).and_then(h2::Error::reason)
}

impl ProxyBody {
    /// Has `witness` hear of it if its server breaks it off.
    pub(in crate::proxy) fn attest(&mut self, witness: Witness) {
        match self {
            Self::Own(_) => {}
            Self::Upstream(body) => body.witness = Some(witness),
            Self::Watched(body) => body.attest(witness),
        }
    }
}

impl Body for ProxyBody {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Polled {
        match self.get_mut() {
            Self::Own(body) => Pin::new(body).poll_frame(context).map_err(|never| match never {}),
            Self::Upstream(body) => body.poll(context),
            Self::Watched(body) => Pin::new(body).poll_frame(context),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Own(body) => body.is_end_stream(),
            Self::Upstream(body) => body.is_ended(),
            Self::Watched(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Own(body) => body.size_hint(),
            Self::Upstream(body) => body.size_hint(),
            Self::Watched(body) => body.size_hint(),
        }
    }
}

impl Default for ProxyBody {
    fn default() -> Self {
        Self::Own(Full::default())
    }
}

#[cfg(test)]
mod tests {
    use http::Request;
    use hyper::client::conn::http1;
    use hyper_util::rt::TokioIo;
    use tokio::net::{TcpListener, TcpStream};
    use tokio::time::advance;

    use super::*;

    /// An answer of which is left how fast its client takes it, and that its length is known.
    fn answer() -> AnswerBody {
        AnswerBody {
            incoming: None,
            carrier: None,
            ticket: None,
            progress: None,
            idle: Duration::from_mins(1),
            deadline: None,
            waiting: None,
            failed: None,
            witness: None,
            pace: Pace::default(),
            discards: false,
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_may_end_an_answer_that_its_client_has_let_wait_for_more_than_five_seconds_in_all() {
        let mut answer = answer();
        for _ in 0..5 {
            answer.pace.has();
            advance(Duration::from_secs(1)).await;
            answer.pace.wants();
        }
        assert!(answer.speaks_against(&BodyError::TooSlow), "no more than five");
        advance(Duration::from_mins(1)).await;
        answer.pace.wants();
        assert!(answer.speaks_against(&BodyError::TooSlow), "it was the client that waited");
        answer.pace.has();
        advance(Duration::from_millis(1)).await;
        answer.pace.wants();
        assert!(!answer.speaks_against(&BodyError::TooSlow));
    }

    /// That a connection failed.
    async fn cut() -> BodyError {
        let (wire, server) = tokio::io::duplex(64);
        drop(server);
        let (mut sender, connection) = http1::handshake(TokioIo::new(wire)).await.unwrap();
        let request = Request::new(Full::<Bytes>::default());
        let (answered, _) = tokio::join!(sender.send_request(request), connection);
        BodyError::Cut(answered.unwrap_err())
    }

    #[tokio::test]
    async fn an_answer_whose_end_is_lost_does_not_speak_against_a_server_that_took_no_more_of_an_upload() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        for is_cut_off in [false, true] {
            let wire = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
            let link = Link::given(wire, is_cut_off).await;
            let answer = AnswerBody { carrier: Some(Carrier::Http1(link)), ..answer() };
            assert_eq!(answer.speaks_against(&cut().await), !is_cut_off);
        }
    }
}
