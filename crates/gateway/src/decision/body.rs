//! The body of an answer: small, whole, and of gRPC with trailers.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::HeaderMap;
use http_body::{Body, Frame, SizeHint};
use http_body_util::Full;

/// The body of an answer to another proxy.
#[derive(Debug, Default)]
pub struct DecisionBody {
    data: Full<Bytes>,
    trailers: Option<HeaderMap>,
}

impl DecisionBody {
    /// `data`, and then `trailers`.
    pub(super) fn with_trailers(data: Bytes, trailers: HeaderMap) -> Self {
        Self { data: Full::new(data), trailers: Some(trailers) }
    }

    /// Takes away what there is of it; how many bytes that were.
    pub(super) fn clear(&mut self) -> u64 {
        let length = self.data.size_hint().exact().unwrap_or_default();
        *self = Self::default();
        length
    }
}

impl From<Full<Bytes>> for DecisionBody {
    fn from(data: Full<Bytes>) -> Self {
        Self { data, trailers: None }
    }
}

impl Body for DecisionBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match Pin::new(&mut self.data).poll_frame(context) {
            Poll::Ready(None) => {
                Poll::Ready(self.trailers.take().map(|trailers| Ok(Frame::trailers(trailers))))
            }
            frame => frame,
        }
    }

    fn is_end_stream(&self) -> bool {
        self.data.is_end_stream() && self.trailers.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        self.data.size_hint()
    }
}
