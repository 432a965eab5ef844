//! Decisions as a service.

use std::convert::Infallible;
use std::future::Future;
use std::net::{IpAddr, Ipv4Addr};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::header::CONTENT_LENGTH;
use http::request::Parts;
use http::{Method, Request, Response, Version};
use http_body::Body;
use http_body_util::BodyExt;
use sluice_net::listen::BoxError;
use sluice_net::{PeerAddress, has_too_many_lines};
use tokio::time::timeout;
use tower::Service;

use super::body::DecisionBody;
use super::decide::{Decided, DecisionConfig, Decisions};
use super::endpoint::Endpoint;
use super::envoy;
use super::judge::Judge;
use super::malformed::Malformed;
use crate::gateway::Gateway;

/// Answers what other proxies ask. Requests carry [`PeerAddress`] in their extensions; those without come from nowhere and are refused.
pub struct DecisionService<J = Gateway> {
    decisions: Arc<Decisions<J>>,
}

impl<J> Clone for DecisionService<J> {
    fn clone(&self) -> Self {
        Self { decisions: self.decisions.clone() }
    }
}

impl<J: Judge> DecisionService<J> {
    /// Decisions of `judge`.
    pub fn new(judge: Arc<J>, config: DecisionConfig) -> Self {
        Self { decisions: Arc::new(Decisions::new(judge, config)) }
    }

    /// Whether `path` is one that this service answers with anything but 404.
    pub fn handles(&self, path: &str) -> bool {
        self.decisions.endpoint(path).is_some()
    }

    /// The answer to what the proxy at `peer` asks.
    pub fn answer<B>(&self, peer: IpAddr, request: Request<B>) -> DecisionFuture
    where
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        let extent = Extent::of(&request);
        self.answer_whole(peer, request).limited_to(extent)
    }

    fn answer_whole<B>(&self, peer: IpAddr, request: Request<B>) -> DecisionFuture
    where
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        let (question, body) = request.into_parts();
        if has_too_many_lines(&question.headers) {
            return self.refuse(Malformed::Lines, peer);
        }
        let Some(endpoint) = self.decisions.endpoint(question.uri.path()) else {
            return self.refuse(Malformed::NoSuchDecision, peer);
        };
        let peer = peer.to_canonical();
        if endpoint == Endpoint::EnvoyGrpc {
            let decisions = self.decisions.clone();
            return DecisionFuture::later(
                async move { envoy::check(&*decisions, &question, body, peer).await },
            );
        }
        if body.is_end_stream() || !self.decisions.may_ask(peer) {
            return self.decide(endpoint, question, peer);
        }
        let service = self.clone();
        DecisionFuture::later(async move {
            // What takes longer is not waited for, as what is longer is not.
            let _ = timeout(LONGEST_BODY, discard(body)).await;
            service.decide(endpoint, question, peer).await.unwrap_or_else(|never| match never {})
        })
    }

    /// The answer to a question that is none.
    pub(super) fn refuse(&self, malformed: Malformed, peer: IpAddr) -> DecisionFuture {
        DecisionFuture::ready(self.decisions.refuse(malformed, peer))
    }

    fn decide(&self, endpoint: Endpoint, question: Parts, peer: IpAddr) -> DecisionFuture {
        match self.decisions.decide(endpoint, question, peer) {
            Decided::Now(response) => DecisionFuture::ready(response),
            Decided::Later(undecided) => {
                let decisions = self.decisions.clone();
                DecisionFuture::later(async move { undecided.answer(&*decisions).await })
            }
        }
    }
}

/// Reads a body and throws it away: a proxy that cannot keep it back would take an answer before its end for a broken
/// connection. One that is longer than [`DISCARDED`] is.
async fn discard<B: Body<Data = Bytes>>(body: B) {
    let mut body = pin!(body);
    let mut left = DISCARDED;
    while let Some(Ok(frame)) = body.frame().await {
        let length = frame.data_ref().map_or(0, Bytes::len);
        let Some(rest) = left.checked_sub(length) else { return };
        left = rest;
    }
}

/// How long the body of a question may take.
pub(super) const LONGEST_BODY: Duration = Duration::from_secs(20);
/// The most of a body that is read, in bytes.
const DISCARDED: usize = 8 * 1024 * 1024;
const NOWHERE: IpAddr = IpAddr::V4(Ipv4Addr::UNSPECIFIED);

impl<J, B> Service<Request<B>> for DecisionService<J>
where
    J: Judge,
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    type Response = Response<DecisionBody>;
    type Error = Infallible;
    type Future = DecisionFuture;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> DecisionFuture {
        let peer = request.extensions().get().map_or(NOWHERE, |PeerAddress(peer)| peer.ip());
        self.answer(peer, request)
    }
}

type Waiting = Pin<Box<dyn Future<Output = Response<DecisionBody>> + Send>>;

/// An answer that is there in most cases, and waited for if an issuer has to be asked.
pub struct DecisionFuture {
    state: State,
    extent: Extent,
}

/// How much of an answer is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Extent {
    /// All of it. Over HTTP/1.1 the HTTP library leaves a body out that is not wanted.
    Whole,
    /// Its head, which says how long its body would be (RFC 9110 §9.3.2): over HTTP/2 a body would be a breach of the protocol.
    Head,
}

impl Extent {
    /// Of the answer to `request`. Calls over gRPC are none of `HEAD`.
    pub(super) fn of<B>(request: &Request<B>) -> Self {
        let is_head = request.method() == Method::HEAD && request.version() >= Version::HTTP_2;
        if is_head { Self::Head } else { Self::Whole }
    }
}

#[expect(
    clippy::large_enum_variant,
    reason = "the large one is the ordinary one: a box would be made for each request"
)]
enum State {
    Ready(Option<Response<DecisionBody>>),
    Waiting(Waiting),
}

impl DecisionFuture {
    const fn ready(response: Response<DecisionBody>) -> Self {
        Self { state: State::Ready(Some(response)), extent: Extent::Whole }
    }

    fn later(answer: impl Future<Output = Response<DecisionBody>> + Send + 'static) -> Self {
        Self { state: State::Waiting(Box::pin(answer)), extent: Extent::Whole }
    }

    /// So much of the same.
    pub(super) fn limited_to(self, extent: Extent) -> Self {
        Self { extent, ..self }
    }
}

impl Future for DecisionFuture {
    type Output = Result<Response<DecisionBody>, Infallible>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let polled = match &mut self.state {
            State::Ready(response) => response.take().map_or(Poll::Pending, Poll::Ready),
            State::Waiting(answer) => answer.as_mut().poll(context),
        };
        let extent = self.extent;
        polled.map(|response| Ok(if extent == Extent::Head { without_body(response) } else { response }))
    }
}

fn without_body(mut response: Response<DecisionBody>) -> Response<DecisionBody> {
    let length = response.body_mut().clear();
    if length > 0 {
        response.headers_mut().insert(CONTENT_LENGTH, length.into());
    }
    response
}
