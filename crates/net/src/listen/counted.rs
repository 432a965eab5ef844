//! Requests and their answers, as the record of their connection counts them.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use http::{Request, Response, StatusCode};
use http_body::Body;
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
    type Response = S::Response;
    type Error = S::Error;
    type Future = Answering<S::Future>;

    fn call(&self, request: Request<Incoming>) -> Self::Future {
        self.record.count_request(!request.body().is_end_stream());
        let may_switch = request.extensions().get::<OnUpgrade>().is_some();
        let record = may_switch.then(|| self.record.clone());
        Answering { inner: self.inner.call(request), record }
    }
}

pin_project! {
    /// An answer that is being made.
    pub(super) struct Answering<F> {
        #[pin]
        inner: F,
        // Where to note that the connection becomes something else. `None`: it cannot.
        record: Option<Arc<Record>>,
    }
}

impl<F, B, E> Future for Answering<F>
where
    F: Future<Output = Result<Response<B>, E>>,
{
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let answered = ready!(this.inner.poll(context));
        if let (Some(record), Ok(response)) = (this.record, &answered)
            && response.status() == StatusCode::SWITCHING_PROTOCOLS
        {
            record.switch();
        }
        Poll::Ready(answered)
    }
}
