//! The body of a request on its way to the upstream.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_util::task::AtomicWaker;
use http::HeaderMap;
use http_body::{Body, Frame, SizeHint};
use sluice_net::IncomingBody;

use super::{BodyError, Uploads};
use crate::proxy::fault::Fault;
use crate::proxy::headers::trim_values;

/// What has become of a body: written where it flows, read where the answer is awaited.
#[derive(Debug, Default)]
pub(in crate::proxy) struct Progress {
    bytes: AtomicU64,
    stage: AtomicU8,
    /// Whether the body is held back until the upstream wants it.
    held: AtomicBool,
    /// Whether nobody waits for what has not gone on.
    abandoned: AtomicBool,
    /// Who hands it on.
    waiting: AtomicWaker,
}

/// The stages of a body.
const UNTOUCHED: u8 = 0;
const FLOWING: u8 = 1;
/// The client was asked for more and has not sent it.
const AWAITED: u8 = 2;
const ENDED: u8 = 3;
const TOO_LARGE: u8 = 4;
const BROKEN: u8 = 5;

/// A state of progress: another one means that something moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::proxy) struct Mark {
    bytes: u64,
    pub(in crate::proxy) ended: bool,
}

impl Mark {
    /// Of a request without a body.
    pub(in crate::proxy) const NO_BODY: Self = Self { bytes: 0, ended: true };
}

impl Progress {
    /// Of a body that waits for [`Progress::release`].
    pub(in crate::proxy) fn held() -> Self {
        Self { held: AtomicBool::new(true), ..Self::default() }
    }

    /// Lets a body flow that was held back.
    pub(in crate::proxy) fn release(&self) {
        if self.held.swap(false, Ordering::AcqRel) {
            self.waiting.wake();
        }
    }

    /// Gives up what has not gone on: the answer is over without it.
    pub(super) fn abandon(&self) {
        self.abandoned.store(true, Ordering::Release);
        self.waiting.wake();
    }

    /// Whether the body is held back.
    pub(in crate::proxy) fn is_held(&self) -> bool {
        self.held.load(Ordering::Acquire)
    }

    /// How far it is.
    pub(in crate::proxy) fn mark(&self) -> Mark {
        Mark { bytes: self.bytes.load(Ordering::Relaxed), ended: self.is_ended() }
    }

    /// Whether all of it was handed on.
    pub(in crate::proxy) fn is_ended(&self) -> bool {
        self.stage.load(Ordering::Acquire) == ENDED
    }

    /// Whether nothing was taken from the client: then the request can be sent anew.
    pub(in crate::proxy) fn is_untouched(&self) -> bool {
        self.stage.load(Ordering::Acquire) == UNTOUCHED
    }

    /// What is wrong with the body itself.
    pub(in crate::proxy) fn fault(&self) -> Option<Fault> {
        match self.stage.load(Ordering::Acquire) {
            TOO_LARGE => Some(Fault::TooLarge),
            BROKEN => Some(Fault::ClientBody),
            _ => None,
        }
    }

    /// Whose fault a standstill is.
    pub(in crate::proxy) fn standstill(&self) -> Fault {
        if self.stage.load(Ordering::Acquire) == AWAITED { Fault::SlowClient } else { Fault::Timeout }
    }

    fn enter(&self, stage: u8) {
        self.stage.store(stage, Ordering::Release);
    }

    fn poll_released(&self, context: &Context<'_>) -> Poll<()> {
        if !self.is_held() {
            return Poll::Ready(());
        }
        self.waiting.register(context.waker());
        if self.is_held() { Poll::Pending } else { Poll::Ready(()) }
    }

    /// Ready when it was given up.
    pub(super) fn poll_abandoned(&self, context: &Context<'_>) -> Poll<()> {
        self.waiting.register(context.waker());
        if self.abandoned.load(Ordering::Acquire) { Poll::Ready(()) } else { Poll::Pending }
    }
}

/// The body of a request.
pub(in crate::proxy) enum RequestBody {
    /// There is none.
    Empty,
    /// As the client sends it.
    Streamed(Streamed),
}

/// A body that the client sends.
pub(in crate::proxy) struct Streamed {
    incoming: IncomingBody,
    progress: Arc<Progress>,
    terms: BodyTerms,
    /// Who is to hear that its first part is asked for.
    uploads: Option<Uploads>,
}

/// What a body may be.
pub(in crate::proxy) struct BodyTerms {
    /// The most bytes.
    pub(in crate::proxy) limit: u64,
    /// Whether it comes over HTTP/2.
    pub(in crate::proxy) http2: bool,
    /// What trailers go through. `None`: they are dropped, as RFC 9110 §6.5.1 permits.
    pub(in crate::proxy) trailers: Option<TrailerFilter>,
}

/// Takes from trailers what may not go on.
pub(in crate::proxy) type TrailerFilter = Box<dyn Fn(&mut HeaderMap) + Send>;

impl RequestBody {
    /// A body under `terms`.
    pub(in crate::proxy) fn streamed(
        incoming: IncomingBody,
        progress: Arc<Progress>,
        terms: BodyTerms,
    ) -> Self {
        Self::Streamed(Streamed { incoming, progress, terms, uploads: None })
    }

    /// Has `uploads` hand it on.
    pub(in crate::proxy) fn go_by(&mut self, uploads: &Uploads) {
        if let Self::Streamed(body) = self {
            body.uploads = Some(uploads.clone());
        }
    }
}

impl Streamed {
    fn look_at(&self, frame: &mut Frame<Bytes>) -> Result<(), BodyError> {
        if let Some(data) = frame.data_ref() {
            let length = u64::try_from(data.len()).unwrap_or(u64::MAX);
            let before = self.progress.bytes.fetch_add(length, Ordering::Relaxed);
            if before.saturating_add(length) > self.terms.limit {
                self.progress.enter(TOO_LARGE);
                return Err(BodyError::TooLarge);
            }
        } else if let (Some(trailers), Some(filter)) = (frame.trailers_mut(), &self.terms.trailers) {
            if self.terms.http2 {
                trim_values(trailers);
            }
            filter(trailers);
        }
        self.progress.enter(if self.incoming.is_end_stream() { ENDED } else { FLOWING });
        Ok(())
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        if let Some(uploads) = self.uploads.take() {
            uploads.begin(&self.progress);
        }
        if self.progress.poll_released(context).is_pending() {
            return Poll::Pending;
        }
        match Pin::new(&mut self.incoming).poll_frame(context) {
            Poll::Pending => {
                self.progress.enter(AWAITED);
                Poll::Pending
            }
            Poll::Ready(Some(Ok(frame))) if frame.is_trailers() && self.terms.trailers.is_none() => {
                self.progress.enter(ENDED);
                Poll::Ready(None)
            }
            Poll::Ready(Some(Ok(mut frame))) => Poll::Ready(Some(self.look_at(&mut frame).map(|()| frame))),
            Poll::Ready(Some(Err(error))) => {
                self.progress.enter(BROKEN);
                Poll::Ready(Some(Err(BodyError::Cut(error))))
            }
            Poll::Ready(None) if self.terms.http2 && !self.incoming.is_end_stream() => {
                self.progress.enter(BROKEN);
                Poll::Ready(Some(Err(BodyError::CalledOff)))
            }
            Poll::Ready(None) => {
                self.progress.enter(ENDED);
                Poll::Ready(None)
            }
        }
    }
}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        match self.get_mut() {
            Self::Empty => Poll::Ready(None),
            Self::Streamed(body) => body.poll(context),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Empty => true,
            Self::Streamed(body) => body.incoming.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Empty => SizeHint::with_exact(0),
            Self::Streamed(body) => body.incoming.size_hint(),
        }
    }
}
