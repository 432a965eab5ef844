//! Answers that are watched from outside. Over HTTP/2 a body is not asked for its next part before its client has room for
//! it, so a client that takes nothing would hold what the body holds for ever.

use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use parking_lot::Mutex;
use tokio::time::Instant;

use super::{AnswerBody, BodyError};

/// With fewer answers it is not worth to look for those that have ended.
const LEAST: usize = 1024;

/// The body of an answer that ends when its client takes nothing of it for longer than the time between two parts may be,
/// or the exchange is over time.
pub struct WatchedBody(Arc<Mutex<Watched>>);

struct Watched {
    /// `None` once it was given up.
    body: Option<AnswerBody>,
    polled_at: Instant,
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
    pub(in crate::proxy) fn watched(&self, body: AnswerBody) -> WatchedBody {
        let watched = Watched { body: Some(body), polled_at: Instant::now(), told: false };
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
            drop(given_up);
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
    fn give_up_if_stalled(&mut self, now: Instant) -> Option<AnswerBody> {
        let until = self.body.as_ref()?.until(self.polled_at);
        if now < until { None } else { self.body.take() }
    }
}

impl Body for WatchedBody {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let mut watched = self.0.lock();
        watched.polled_at = Instant::now();
        if let Some(body) = &mut watched.body {
            return body.poll(context);
        }
        let told = std::mem::replace(&mut watched.told, true);
        Poll::Ready((!told).then_some(Err(BodyError::TooSlow)))
    }

    fn is_end_stream(&self) -> bool {
        let watched = self.0.lock();
        watched.body.as_ref().map_or(watched.told, AnswerBody::is_ended)
    }

    fn size_hint(&self) -> SizeHint {
        self.0.lock().body.as_ref().map(AnswerBody::size_hint).unwrap_or_default()
    }
}
