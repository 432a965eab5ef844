//! Requests and their answers, as the record of their connection counts them.
//!
//! Over HTTP/2 it is counted, too, on how many answers this side works: an answer that is not there, or whose body has no next part
//! yet, waits for this side, and any other for its client.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use http::{Request, Response, StatusCode, Version};
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use hyper::service::Service;
use hyper::upgrade::OnUpgrade;
use pin_project_lite::pin_project;

use super::record::Record;

/// The service of one connection: counts its requests.
pub(super) struct Counted<S> {
    pub(super) inner: S,
    pub(super) record: Arc<Record>,
}

impl<S, B> Service<Request<Incoming>> for Counted<S>
where
    S: Service<Request<Incoming>, Response = Response<B>>,
{
    type Response = Response<CountedBody<B>>;
    type Error = S::Error;
    type Future = Answering<S::Future>;

    fn call(&self, request: Request<Incoming>) -> Self::Future {
        self.record.count_request(!request.body().is_end_stream());
        let may_switch = request.extensions().get::<OnUpgrade>().is_some();
        let record = may_switch.then(|| self.record.clone());
        let work = (request.version() >= Version::HTTP_2).then(|| Work::on(&self.record));
        Answering { inner: self.inner.call(request), record, work }
    }
}

/// An answer over HTTP/2, which this side works on or leaves to its client to take.
struct Work {
    record: Arc<Record>,
    is_under_way: bool,
}

impl Work {
    fn on(record: &Arc<Record>) -> Self {
        Self { record: record.clone(), is_under_way: false }
    }

    /// Notes whether more of the answer is waited for.
    fn note<T>(&mut self, polled: &Poll<T>) {
        let is_under_way = polled.is_pending();
        if is_under_way == self.is_under_way {
            return;
        }
        self.is_under_way = is_under_way;
        if is_under_way {
            self.record.begin_work();
        } else {
            self.record.end_work();
        }
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        self.note(&Poll::Ready(()));
    }
}

pin_project! {
    /// An answer that is being made.
    pub(super) struct Answering<F> {
        #[pin]
        inner: F,
        // Where to note that the connection becomes something else. `None`: it cannot.
        record: Option<Arc<Record>>,
        // `None`: over HTTP/1.1.
        work: Option<Work>,
    }
}

impl<F, B, E> Future for Answering<F>
where
    F: Future<Output = Result<Response<B>, E>>,
{
    type Output = Result<Response<CountedBody<B>>, E>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let polled = this.inner.poll(context);
        if let Some(work) = this.work {
            work.note(&polled);
        }
        let response = ready!(polled)?;
        if let Some(record) = this.record
            && response.status() == StatusCode::SWITCHING_PROTOCOLS
        {
            record.switch();
        }
        let work = this.work.take();
        Poll::Ready(Ok(response.map(|inner| CountedBody { inner, work })))
    }
}

pin_project! {
    /// The body of an answer.
    pub(super) struct CountedBody<B> {
        #[pin]
        inner: B,
        // `None`: over HTTP/1.1.
        work: Option<Work>,
    }
}

impl<B: Body> Body for CountedBody<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        let this = self.project();
        let polled = this.inner.poll_frame(context);
        if let Some(work) = this.work {
            work.note(&polled);
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
