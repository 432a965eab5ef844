//! The body of a request on its way to whoever answers it.

use std::mem;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;

use super::quiet;
use super::record::Record;
use super::rest::{self, Stage};

/// The body of a request as its client sends it. Over HTTP/1.1, what is not read of it decides whether its connection goes on: one that is
/// dropped before its end is read away if little is missing, and otherwise the answer says that the connection ends. Over HTTP/2 it is read away
/// in the same case, if not too many others of its connection are, and otherwise its stream is reset.
#[derive(Debug)]
pub struct IncomingBody {
    /// `None`: it has come back, as it is being dropped.
    incoming: Option<Incoming>,
    origin: Origin,
}

/// What becomes of a body that is dropped.
#[derive(Debug)]
enum Origin {
    /// Nothing: there is none, or it has ended.
    Ended,
    /// It comes back here, with the number of its request: over HTTP/1.1.
    LastRequest(Arc<Record>, u32),
    /// It is read away, if it has not ended: over HTTP/2.
    Stream(Arc<Record>),
}

impl IncomingBody {
    /// The body of a request that has none.
    pub(super) const fn ended(incoming: Incoming) -> Self {
        Self { incoming: Some(incoming), origin: Origin::Ended }
    }

    /// The body of a request over HTTP/2.
    pub(super) fn of_stream(incoming: Incoming, record: &Arc<Record>) -> Self {
        Self { incoming: Some(incoming), origin: Origin::Stream(record.clone()) }
    }

    /// The body of the last request of a connection over HTTP/1.1.
    pub(super) fn of_last_request(incoming: Incoming, record: &Arc<Record>) -> Self {
        let origin = Origin::LastRequest(record.clone(), record.requests());
        Self { incoming: Some(incoming), origin }
    }

    /// Notes that nothing more of it comes.
    fn end(&mut self, stage: Stage) {
        if let Origin::LastRequest(record, request) = mem::replace(&mut self.origin, Origin::Ended) {
            record.end_body(request, stage);
        }
    }
}

impl Drop for IncomingBody {
    fn drop(&mut self) {
        let Some(incoming) = self.incoming.take() else { return };
        match &self.origin {
            Origin::Ended => {}
            Origin::LastRequest(record, request) => record.take_back(incoming, *request),
            Origin::Stream(record) => rest::read_stream_away(incoming, record),
        }
    }
}

impl Body for IncomingBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let this = self.get_mut();
        // hyper does not tell the end of a body whose answer was out before its last part came: its next request would have to come first.
        let Some(incoming) = this.incoming.as_mut().filter(|incoming| !incoming.is_end_stream()) else {
            return Poll::Ready(None);
        };
        let Origin::LastRequest(record, request) = &this.origin else {
            return Pin::new(incoming).poll_frame(context);
        };
        record.hold_body(*request, Stage::held(&incoming.size_hint()));
        let polled = quiet::take(incoming, context);
        match &polled {
            Poll::Ready(None) => this.end(Stage::Read),
            Poll::Ready(Some(Ok(frame))) if frame.is_trailers() || incoming.is_end_stream() => {
                this.end(Stage::Read);
            }
            Poll::Ready(Some(Err(_))) => this.end(Stage::Lost),
            Poll::Ready(Some(Ok(_))) => record.hold_body(*request, Stage::held(&incoming.size_hint())),
            Poll::Pending => {}
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.incoming.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.incoming.as_ref().map_or_else(|| SizeHint::with_exact(0), Body::size_hint)
    }
}
