//! Requests and their answers, as the record of their connection counts them.
//!
//! Over HTTP/1.1 an answer waits for what is left of its request's body (`rest`).
//! Over HTTP/2 it is counted, too, on how many answers this side works: an answer that is not there, or whose body has no next part
//! yet, waits for this side, and any other for its client. And how many lines the heads of its requests have: one that has no room among
//! them is refused alone, and may be sent again (RFC 9113 §8.7). A proxy has requests of many on one connection.

use std::mem;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use http::header::{CONNECTION, EXPECT};
use http::{HeaderValue, Request, Response, StatusCode, Version};
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use hyper::service::Service;
use hyper::upgrade::OnUpgrade;
use pin_project_lite::pin_project;
use tracing::debug;

use super::BoxError;
use super::incoming_body::IncomingBody;
use super::record::Record;
use super::rest::{After, Stage};

/// The service of one connection: counts its requests.
pub(super) struct Counted<S> {
    pub(super) inner: S,
    pub(super) record: Arc<Record>,
}

impl<S, B> Service<Request<Incoming>> for Counted<S>
where
    S: Service<Request<IncomingBody>, Response = Response<B>>,
    S::Error: Into<BoxError>,
{
    type Response = Response<CountedBody<B>>;
    type Error = BoxError;
    type Future = Answering<S::Future, B>;

    fn call(&self, request: Request<Incoming>) -> Self::Future {
        let (is_http1, has_body) = (request.version() < Version::HTTP_2, !request.body().is_end_stream());
        let is_old = request.version() == Version::HTTP_10;
        self.record.count_request(has_body);
        let may_switch = request.extensions().get::<OnUpgrade>().is_some();
        let record = (may_switch || is_http1).then(|| self.record.clone());
        let (request, work) = if is_http1 {
            self.record.begin_body(stage(&request));
            (request.map(|body| watched(body, &self.record)), None)
        } else {
            let Some(work) = Work::on(&self.record, request.headers().len()) else {
                debug!(
                    "a request is refused: those under way on its connection have too many lines of headers"
                );
                return Answering { inner: None, answer: None, record: None, is_old, work: None };
            };
            (request.map(|body| of_stream(body, &self.record)), Some(work))
        };
        Answering { inner: Some(self.inner.call(request)), answer: None, record, is_old, work }
    }
}

/// How far the body of a request is whose head has come.
fn stage(request: &Request<Incoming>) -> Stage {
    if request.body().is_end_stream() {
        Stage::Read
    } else if request.version() == Version::HTTP_11 && request.headers().contains_key(EXPECT) {
        Stage::Unasked
    } else {
        Stage::held(&request.body().size_hint())
    }
}

fn watched(body: Incoming, record: &Arc<Record>) -> IncomingBody {
    if body.is_end_stream() { IncomingBody::ended(body) } else { IncomingBody::of_last_request(body, record) }
}

fn of_stream(body: Incoming, record: &Arc<Record>) -> IncomingBody {
    if body.is_end_stream() { IncomingBody::ended(body) } else { IncomingBody::of_stream(body, record) }
}

/// An answer over HTTP/2, which this side works on or leaves to its client to take.
struct Work {
    record: Arc<Record>,
    /// How many lines the head of its request has; 0: it is no longer needed.
    head_lines: usize,
    is_under_way: bool,
}

impl Work {
    /// The answer to a request with so many lines. `None`: there are too many.
    fn on(record: &Arc<Record>, head_lines: usize) -> Option<Self> {
        let has_room = record.begin_head(head_lines);
        has_room.then(|| Self { record: record.clone(), head_lines, is_under_way: false })
    }

    /// Notes that the head of the request is no longer needed.
    fn end_head(&mut self) {
        self.record.end_head(mem::take(&mut self.head_lines));
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
        self.end_head();
    }
}

pin_project! {
    /// An answer that is being made.
    pub(super) struct Answering<F, B> {
        // `None`: its request is refused.
        #[pin]
        inner: Option<F>,
        // It is there, and waits for what is left of the body of its request.
        answer: Option<Box<Response<B>>>,
        // Of a connection that may become something else, or over HTTP/1.1, where an answer says whether it is the last one.
        record: Option<Arc<Record>>,
        // Whether its request came over HTTP/1.0.
        is_old: bool,
        // `None`: over HTTP/1.1.
        work: Option<Work>,
    }
}

impl<F, B, E> Future for Answering<F, B>
where
    F: Future<Output = Result<Response<B>, E>>,
    E: Into<BoxError>,
{
    type Output = Result<Response<CountedBody<B>>, BoxError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        if let Some(answer) = this.answer {
            let after = ready!(poll_after(this.record.as_deref(), answer.status(), context));
            if let Some(answer) = this.answer.take() {
                return Poll::Ready(Ok(going_out(*answer, (after, *this.is_old), this.work.take())));
            }
        }
        let Some(inner) = this.inner.as_pin_mut() else {
            return Poll::Ready(Err(h2::Error::from(h2::Reason::REFUSED_STREAM).into()));
        };
        let polled = inner.poll(context);
        if let Some(work) = this.work {
            work.note(&polled);
        }
        let answer = ready!(polled).map_err(Into::into)?;
        match poll_after(this.record.as_deref(), answer.status(), context) {
            Poll::Ready(after) => Poll::Ready(Ok(going_out(answer, (after, *this.is_old), this.work.take()))),
            Poll::Pending => {
                *this.answer = Some(Box::new(answer));
                Poll::Pending
            }
        }
    }
}

/// Ready when an answer may go out: what becomes of its connection.
fn poll_after(record: Option<&Record>, status: StatusCode, context: &mut Context<'_>) -> Poll<After> {
    let Some(record) = record else { return Poll::Ready(After::GoesOn) };
    if status == StatusCode::SWITCHING_PROTOCOLS {
        record.switch();
        return Poll::Ready(After::GoesOn);
    }
    record.poll_before_head(context)
}

/// The answer as it goes out.
fn going_out<B>(
    mut answer: Response<B>,
    (after, is_old): (After, bool),
    mut work: Option<Work>,
) -> Response<CountedBody<B>> {
    if let Some(work) = &mut work {
        work.end_head();
    }
    if after == After::Ends {
        // Beside what asks for an upgrade (426).
        answer.headers_mut().append(CONNECTION, HeaderValue::from_static("close"));
        if is_old {
            // To a client that asked for it hyper would else add that the connection goes on.
            *answer.version_mut() = Version::HTTP_10;
        }
    }
    answer.map(|inner| CountedBody { inner, work })
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
