//! Answers that are watched from outside. A body is asked for one part more than its client has room for, so a client that takes
//! nothing would hold what the body holds: over HTTP/2 for ever, over HTTP/1.1 beyond the route's time.
//!
//! What was handed over is the HTTP library's: over HTTP/2 its stream stays until the client has room for it, or the listener ends the
//! connection (`Limits::untaken_timeout`).

use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use parking_lot::Mutex;
use tokio::time::Instant;

use super::answer::Polled;
use super::{AnswerBody, BodyError, Mark, Witness};

/// With fewer answers it is not worth to look for those that have ended.
const LEAST: usize = 1024;
/// So much is handed on at once: a client that reads slowly, but reads, asks for more in time.
const PIECE: usize = 16 * 1024;

/// How long a client may let an answer wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::proxy) enum Patience {
    /// As long as may be between two parts, of which it takes small ones, and until the exchange must have ended: HTTP/2.
    Idle,
    /// Until the exchange must have ended: HTTP/1.1, where the listener ends a connection whose client takes nothing.
    Deadline,
}

impl Patience {
    /// Whether it is over, `now`, with a `body` of which nothing was taken `since`.
    fn is_over(self, body: &AnswerBody, since: Instant, now: Instant) -> bool {
        match self {
            Self::Idle => body.until(since) <= now,
            Self::Deadline => body.deadline.is_some_and(|deadline| deadline <= now),
        }
    }
}

/// The body of an answer that ends when its client takes nothing of it, and sends nothing, for longer than it may.
pub struct WatchedBody(Arc<Mutex<Watched>>);

struct Watched {
    /// `None` once it was given up.
    body: Option<AnswerBody>,
    patience: Patience,
    /// Of the last part, what was not handed on yet.
    rest: Bytes,
    /// When the next part was asked for, or something of the request's body moved.
    moved_at: Instant,
    /// How far that body was.
    mark: Mark,
    /// Who waits for the next part.
    waiting: Option<Waker>,
    /// Whether it was said that it was given up.
    told: bool,
}

/// The answers of one core that are watched.
#[derive(Default)]
pub(in crate::proxy) struct Watch(Mutex<List>);

#[derive(Default)]
struct List {
    bodies: Vec<Weak<Mutex<Watched>>>,
    /// So many were left when it was last looked for those that have ended.
    left: usize,
}

impl Watch {
    /// Watches `body`.
    pub(in crate::proxy) fn watched(&self, body: AnswerBody, patience: Patience) -> WatchedBody {
        let watched = Watched {
            mark: body.mark(),
            body: Some(body),
            patience,
            rest: Bytes::new(),
            moved_at: Instant::now(),
            waiting: None,
            told: false,
        };
        let watched = Arc::new(Mutex::new(watched));
        let mut list = self.0.lock();
        if list.bodies.len() >= LEAST.max(list.left * 2) {
            list.forget_ended();
        }
        list.bodies.push(Arc::downgrade(&watched));
        WatchedBody(watched)
    }

    /// Gives up what nobody takes. Its connections end, and the client is told when it asks.
    pub(in crate::proxy) fn sweep(&self, now: Instant) {
        let mut list = self.0.lock();
        list.forget_ended();
        for watched in list.bodies.iter().filter_map(Weak::upgrade) {
            let given_up = watched.lock().give_up_if_stalled(now);
            if let Some((_, Some(waiting))) = given_up {
                waiting.wake();
            }
        }
    }
}

impl List {
    fn forget_ended(&mut self) {
        self.bodies.retain(|body| body.strong_count() > 0);
        self.left = self.bodies.len();
    }
}

impl Watched {
    /// What it held, and who waits for more of it.
    fn give_up_if_stalled(&mut self, now: Instant) -> Option<(AnswerBody, Option<Waker>)> {
        if let Some(mark) = self.body.as_ref().map(AnswerBody::mark).filter(|mark| *mark != self.mark) {
            (self.mark, self.moved_at) = (mark, now);
        }
        // Of an answer that is here to its end, the rest is let go too.
        let (has_rest, patience, moved_at) = (!self.rest.is_empty(), self.patience, self.moved_at);
        let is_stalled =
            |body: &mut AnswerBody| (body.is_held() || has_rest) && patience.is_over(body, moved_at, now);
        let body = self.body.take_if(is_stalled)?;
        self.rest = Bytes::new();
        Some((body, self.waiting.take()))
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Polled {
        self.moved_at = Instant::now();
        if !self.rest.is_empty() {
            return Poll::Ready(Some(Ok(self.piece())));
        }
        let Some(body) = &mut self.body else {
            let told = std::mem::replace(&mut self.told, true);
            return Poll::Ready((!told).then_some(Err(BodyError::TooSlow)));
        };
        let frame = match body.poll(context) {
            Poll::Ready(Some(Ok(frame))) => frame,
            Poll::Pending => {
                self.waiting = Some(context.waker().clone());
                return Poll::Pending;
            }
            ended @ Poll::Ready(_) => return ended,
        };
        if self.patience == Patience::Deadline {
            return Poll::Ready(Some(Ok(frame)));
        }
        match frame.into_data() {
            Ok(data) => {
                self.rest = data;
                Poll::Ready(Some(Ok(self.piece())))
            }
            Err(trailers) => Poll::Ready(Some(Ok(trailers))),
        }
    }

    fn piece(&mut self) -> Frame<Bytes> {
        Frame::data(self.rest.split_to(self.rest.len().min(PIECE)))
    }
}

impl WatchedBody {
    /// Has `witness` hear of it if its server breaks it off.
    pub(super) fn attest(&self, witness: Witness) {
        if let Some(body) = &mut self.0.lock().body {
            body.witness = Some(witness);
        }
    }
}

impl Body for WatchedBody {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Polled {
        self.0.lock().poll(context)
    }

    fn is_end_stream(&self) -> bool {
        let watched = self.0.lock();
        watched.rest.is_empty() && watched.body.as_ref().map_or(watched.told, AnswerBody::is_ended)
    }

    fn size_hint(&self) -> SizeHint {
        let watched = self.0.lock();
        let (to_come, rest) = (watched.body.as_ref().map(AnswerBody::size_hint), watched.rest.len() as u64);
        let to_come = to_come.unwrap_or_default();
        let mut hint = SizeHint::new();
        hint.set_lower(to_come.lower() + rest);
        if let Some(upper) = to_come.upper() {
            hint.set_upper(upper + rest);
        }
        hint
    }
}
