//! What is left of the body of a request when that is answered. Over HTTP/1.1 its connection goes on only if all of it is read (RFC 9112
//! §9.3). Otherwise the answer says that it was the last one (§9.6): a client would send its next request in vain.
//!
//! A body comes back here where it is dropped before its end. What is left then is read away before the head of the answer goes out, if
//! it is little and comes soon. Where somebody still has the body, as an upstream that answers before it has read all, the answer waits for
//! nothing. It is the last one if much of the body is left, or nobody knows how much: whether that is read on, nobody knows either. Little
//! that is dropped later is read away within the same bounds; if it does not come in time, the client hears by the end of the connection
//! alone.
//!
//! Over HTTP/2 a stream whose body was dropped is reset as soon as its answer is out (RFC 9113 §8.1), and there are clients that drop the answer
//! then (curl 7.88). So what is left of it is read away beside the answer, within the same bounds, and of so many requests of a connection at
//! once: a stream that stays takes the place of another request.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, SizeHint};
use hyper::body::Incoming;
use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::time::{Sleep, sleep};

use super::record::Record;

/// The most that is read of what nobody wants, in bytes.
const MOST: u64 = 64 * 1024;
/// How long it may take from when it has to be waited for.
const PATIENCE: Duration = Duration::from_secs(1);
/// Of how many requests of a connection over HTTP/2 it is read at once, at most.
pub(crate) const MOST_STREAMS: u32 = 16;
/// Where the stage of a body is beside the number of its request.
const STAGE_BITS: u32 = 8;
const STAGE: u64 = (1 << STAGE_BITS) - 1;

/// How far the body of a request is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Stage {
    /// There is none, or all of it was read.
    Read,
    /// The client waits to be asked for it (RFC 9110 §10.1.1), and has not been.
    Unasked,
    /// Whoever answers the request has it. Much of it is left, or nobody knows how much.
    Held,
    /// The same, but little is left.
    Ending,
    /// It came back, and may be read away.
    Left,
    /// It is not read to its end.
    Lost,
}

impl Stage {
    /// That of a body that somebody has who finds so much left.
    pub(crate) fn held(left: &SizeHint) -> Self {
        if left.upper().is_some_and(|most| most <= MOST) { Self::Ending } else { Self::Held }
    }

    const fn is_held(self) -> bool {
        matches!(self, Self::Held | Self::Ending)
    }
}

/// What becomes of a connection after an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum After {
    GoesOn,
    Ends,
}

/// The body of the last request of a connection, as far as it is left.
#[derive(Debug, Default)]
pub(crate) struct Rest {
    /// The number of that request, and in the last byte the stage of its body. They are one: whoever has the body of an earlier request,
    /// maybe on another thread, says nothing of this one's.
    last: AtomicU64,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    left: Option<Left>,
    /// The last request whose answer went out while somebody had its body, by its number; 0: none.
    answered: u32,
}

impl Rest {
    /// Begins with the body of another request. That of the one before has come, or none would have followed.
    pub(crate) fn begin(&self, request: u32, stage: Stage) {
        let before = self.last.swap(packed(request, stage), Ordering::AcqRel);
        if stage_of(before) == Stage::Left {
            self.kept.lock().left = None;
        }
    }

    pub(crate) fn stage(&self) -> Stage {
        stage_of(self.last.load(Ordering::Acquire))
    }

    /// Notes the stage of a body that somebody has.
    pub(crate) fn hold(&self, request: u32, stage: Stage) {
        self.enter(request, stage, |from| from != stage && (from.is_held() || from == Stage::Unasked));
    }

    /// Notes that nothing more of a body comes.
    pub(crate) fn end(&self, request: u32, stage: Stage) {
        self.enter(request, stage, |_| true);
    }

    /// Takes back the body of a request. Whether its answer is out: then [`Rest::read_away`] is to be called.
    pub(crate) fn keep(&self, body: Incoming, request: u32) -> bool {
        let mut kept = self.kept.lock();
        if body.size_hint().lower() <= MOST && self.enter(request, Stage::Left, Stage::is_held) {
            kept.left = Some(Left { body, allowed: MOST, until: None });
            return kept.answered == request;
        }
        self.end(request, Stage::Lost);
        false
    }

    /// Lets go of what is left of the body of a request.
    pub(crate) fn give_up(&self, request: u32) {
        let mut kept = self.kept.lock();
        if self.enter(request, Stage::Lost, |from| from != Stage::Read) {
            kept.left = None;
        }
    }

    /// Ready when the head of the answer to a request may go out.
    pub(crate) fn poll_before_head(&self, request: u32, context: &mut Context<'_>) -> Poll<After> {
        if self.stage() == Stage::Read {
            return Poll::Ready(After::GoesOn);
        }
        let mut kept = self.kept.lock();
        let after = match (self.stage(), &mut kept.left) {
            (Stage::Read, _) => After::GoesOn,
            (Stage::Ending, _) => {
                kept.answered = request;
                return Poll::Ready(After::GoesOn);
            }
            (Stage::Left, Some(left)) => ready!(left.poll(context)),
            (Stage::Unasked | Stage::Held | Stage::Left | Stage::Lost, _) => After::Ends,
        };
        self.settle(&mut kept, request, after);
        Poll::Ready(after)
    }

    /// Reads what is left of the body of a request whose answer is out.
    pub(crate) fn read_away(&self, request: u32, context: &mut Context<'_>) {
        if self.stage() != Stage::Left {
            return;
        }
        let mut kept = self.kept.lock();
        if kept.answered != request {
            return;
        }
        if let Some(left) = &mut kept.left
            && let Poll::Ready(after) = left.poll(context)
        {
            self.settle(&mut kept, request, after);
        }
    }

    fn settle(&self, kept: &mut Kept, request: u32, after: After) {
        kept.left = None;
        let stage = match after {
            After::GoesOn => Stage::Read,
            After::Ends => Stage::Lost,
        };
        self.end(request, stage);
    }

    /// Whether the body of a request is at another stage now: it is if that request is the last one, and may be at that from this one.
    fn enter(&self, request: u32, stage: Stage, may: impl Fn(Stage) -> bool) -> bool {
        let change = |last: u64| {
            let is_last = last >> STAGE_BITS == u64::from(request);
            (is_last && may(stage_of(last))).then(|| packed(request, stage))
        };
        self.last.fetch_update(Ordering::AcqRel, Ordering::Acquire, change).is_ok()
    }
}

/// Reads away what is left of the body of a request over HTTP/2: its stream stays for as long. If too many of its connection stay, it is
/// reset as that of a long body.
pub(crate) fn read_stream_away(body: Incoming, record: &Arc<Record>) {
    if body.is_end_stream() || body.size_hint().lower() > MOST {
        return;
    }
    // Without one its connection has ended.
    let Ok(runtime) = Handle::try_current() else { return };
    if !record.begin_reading_away() {
        return;
    }
    let (mut left, record) = (Left { body, allowed: MOST, until: None }, Arc::clone(record));
    runtime.spawn(async move {
        poll_fn(|context| left.poll(context)).await;
        record.end_reading_away();
    });
}

fn packed(request: u32, stage: Stage) -> u64 {
    (u64::from(request) << STAGE_BITS) | u64::from(stage as u8)
}

const fn stage_of(last: u64) -> Stage {
    match last & STAGE {
        0 => Stage::Read,
        1 => Stage::Unasked,
        2 => Stage::Held,
        3 => Stage::Ending,
        4 => Stage::Left,
        _ => Stage::Lost,
    }
}

/// The rest of a body that nobody wants.
#[derive(Debug)]
struct Left {
    body: Incoming,
    /// How many bytes of it may still come.
    allowed: u64,
    /// Up to when; `None`: it did not have to be waited for.
    until: Option<Pin<Box<Sleep>>>,
}

impl Left {
    /// Ready when it has come, or nothing more of it is read.
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<After> {
        loop {
            match Pin::new(&mut self.body).poll_frame(context) {
                Poll::Ready(None) => return Poll::Ready(After::GoesOn),
                Poll::Ready(Some(Err(_))) => return Poll::Ready(After::Ends),
                Poll::Ready(Some(Ok(frame))) => {
                    let length = frame.data_ref().map_or(0, Bytes::len);
                    let length = u64::try_from(length).unwrap_or(u64::MAX);
                    let Some(allowed) = self.allowed.checked_sub(length) else {
                        return Poll::Ready(After::Ends);
                    };
                    self.allowed = allowed;
                    if self.body.is_end_stream() {
                        return Poll::Ready(After::GoesOn);
                    }
                }
                Poll::Pending => {
                    let until = self.until.get_or_insert_with(|| Box::pin(sleep(PATIENCE)));
                    ready!(until.as_mut().poll(context));
                    return Poll::Ready(After::Ends);
                }
            }
        }
    }
}
