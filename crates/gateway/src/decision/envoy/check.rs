//! `envoy.service.auth.v3.Authorization/Check`.

use std::net::{IpAddr, Ipv4Addr};
use std::time::Instant;

use bytes::Bytes;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Response, StatusCode};
use http_body::Body;
use http_body_util::{BodyExt, Collected};
use percent_encoding::percent_decode_str;
use sluice_crypto::certificate::ClientCertificate;
use sluice_net::listen::BoxError;
use sluice_net::{ClientAddress, NoWholeBody, is_host, is_over_tls, whole_body};
use tokio::time::timeout;

use super::changes::Changes;
use super::frame::{self, Fault};
use super::messages::{
    AppendAction, CheckRequest, CheckResponse, DeniedHttpResponse, Header, HeaderOption, HttpRequest,
    HttpResponse, HttpStatus, OkHttpResponse, Peer, RpcStatus,
};
use crate::authn::Verdict;
use crate::decision::body::DecisionBody;
use crate::decision::decide::Decisions;
use crate::decision::judge::Judge;
use crate::decision::malformed::Malformed;
use crate::decision::original::{Original, one};
use crate::decision::service::LONGEST_BODY;
use crate::gateway::{Admitted, Judging};

/// The longest question, in bytes: the headers of a request, not its body.
pub(super) const MAX_QUESTION: usize = 1024 * 1024;

const OK: i32 = 0;
const PERMISSION_DENIED: i32 = 7;

/// Answers one call.
pub(in super::super) async fn check<J, B>(
    decisions: &Decisions<J>,
    call: &Parts,
    body: B,
    peer: IpAddr,
) -> Response<DecisionBody>
where
    J: Judge,
    B: Body<Data = Bytes> + Send,
    B::Error: Into<BoxError>,
{
    let content = call.headers.get(CONTENT_TYPE).map_or(&b""[..], HeaderValue::as_bytes);
    if call.method != Method::POST || !content.starts_with(b"application/grpc") {
        return decisions.refuse(Malformed::NotGrpc, peer);
    }
    if !decisions.may_ask(peer) {
        return refuse(decisions, Fault::Stranger, peer);
    }
    match read(body).await {
        Ok(question) => frame::response(&answer(decisions, question, peer).await),
        Err(fault) => refuse(decisions, fault, peer),
    }
}

fn refuse<J: Judge>(decisions: &Decisions<J>, fault: Fault, peer: IpAddr) -> Response<DecisionBody> {
    decisions.complain(fault.sentence(), fault.http_status(), peer);
    fault.response()
}

async fn read<B>(body: B) -> Result<Question, Fault>
where
    B: Body<Data = Bytes>,
{
    let body = timeout(LONGEST_BODY, whole_body(body, MAX_QUESTION)).await.map_err(|_| Fault::TooSlow)?;
    let body = body.map_err(|none| match none {
        NoWholeBody::TooLong => Fault::TooLong,
        NoWholeBody::BrokeOff => Fault::Unreadable,
    })?;
    Question::try_from(frame::decode::<CheckRequest>(&body)?)
}

async fn answer<J: Judge>(decisions: &Decisions<J>, question: Question, peer: IpAddr) -> CheckResponse {
    if !is_host(question.host.as_bytes()) {
        return denied(decisions.refuse(Malformed::Unreadable("host"), peer)).await.1;
    }
    // As in `OPTIONS *`.
    if !question.target.starts_with('/') {
        return denied(decisions.refuse(Malformed::Unreadable("path"), peer)).await.1;
    }
    let started = Instant::now();
    let judge = decisions.judge();
    let client = if judge.trusts(question.source) {
        judge.client(question.source, &question.headers)
    } else {
        ClientAddress::named(question.source)
    };
    let original = question.original(client);
    // The future of a judgement owns all it needs; what is asked about must not be borrowed while it is awaited.
    let judging = judge.judge(&original.asked(&question.headers, question.certificate));
    let admitted = match judging {
        Judging::Now(admitted) => admitted,
        Judging::Later(verdict) => verdict.await,
    };
    let refused = matches!(admitted.verdict, Verdict::Refused(_));
    let (status, response) = if refused {
        denied(judge.refuse(&admitted).map(DecisionBody::from)).await
    } else {
        (StatusCode::OK, passed(judge, &admitted, &question.headers, client))
    };
    decisions.record(&original, &admitted, (status, started.elapsed()));
    response
}

fn passed<J: Judge>(
    judge: &J,
    admitted: &Admitted,
    headers: &HeaderMap,
    client: ClientAddress,
) -> CheckResponse {
    let changes = Changes::of(headers, |headers| judge.enrich(admitted, headers, client));
    let mut limits = HeaderMap::new();
    judge.announce(admitted, &mut limits);
    let ok = OkHttpResponse {
        headers: options(changes.set.iter().map(|(name, value)| (name, value))),
        headers_to_remove: changes.removed.iter().map(|name| name.as_str().to_owned()).collect(),
        response_headers_to_add: options(&limits),
    };
    CheckResponse { status: Some(RpcStatus { code: OK }), http_response: Some(HttpResponse::Ok(ok)) }
}

/// `answer` is what the client is to get.
async fn denied(mut answer: Response<DecisionBody>) -> (StatusCode, CheckResponse) {
    answer.headers_mut().remove(CONTENT_LENGTH);
    let (head, body) = answer.into_parts();
    let body = body.collect().await.map(Collected::to_bytes).unwrap_or_default();
    let denied = DeniedHttpResponse {
        status: Some(HttpStatus { code: head.status.as_u16().into() }),
        headers: options(&head.headers),
        body: String::from_utf8_lossy(&body).into_owned(),
    };
    let response = CheckResponse {
        status: Some(RpcStatus { code: PERMISSION_DENIED }),
        http_response: Some(HttpResponse::Denied(denied)),
    };
    (head.status, response)
}

/// Headers as Envoy is to set them: the first line of a name replaces what is there, further ones are added to it.
fn options<'a>(headers: impl IntoIterator<Item = (&'a HeaderName, &'a HeaderValue)>) -> Vec<HeaderOption> {
    let mut before = None;
    headers
        .into_iter()
        .map(|(name, value)| {
            let again = before.replace(name) == Some(name);
            let action = if again { AppendAction::Append } else { AppendAction::Overwrite };
            let header = Header {
                key: name.as_str().to_owned(),
                value: String::from_utf8_lossy(value.as_bytes()).into_owned(),
                raw_value: Vec::new(),
            };
            HeaderOption { header: Some(header), append_action: action.into() }
        })
        .collect()
}

/// A `CheckRequest`, as far as it is understood.
struct Question {
    method: Method,
    https: bool,
    host: String,
    /// With the query.
    target: String,
    headers: HeaderMap,
    /// Whether some of its body had come. What is announced is in the headers, but for chunks: Envoy takes those away before it asks.
    has_body: bool,
    /// Who is connected to Envoy: the client, or another proxy before it.
    source: IpAddr,
    certificate: Option<[u8; 32]>,
}

impl TryFrom<CheckRequest> for Question {
    type Error = Fault;

    fn try_from(request: CheckRequest) -> Result<Self, Fault> {
        let attributes = request.attributes.ok_or(Fault::Unreadable)?;
        let http = attributes.request.and_then(|request| request.http).ok_or(Fault::Unreadable)?;
        let source = attributes.source.unwrap_or_default();
        let headers = headers(&http);
        // What Envoy itself says. The scheme is what a client says over HTTP/2.
        let said = one(&headers, "x-forwarded-proto").map_err(|_| Fault::Unreadable)?;
        Ok(Self {
            method: http.method.parse().map_err(|_| Fault::Unreadable)?,
            https: is_over_tls(said.unwrap_or(&http.scheme).as_bytes()),
            has_body: http.size > 0 || !http.body.is_empty() || !http.raw_body.is_empty(),
            headers,
            host: http.host,
            target: http.path,
            certificate: certificate(&source)?,
            source: address(&source).unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED)),
        })
    }
}

impl Question {
    fn original(&self, client: ClientAddress) -> Original<'_> {
        let (path, query) = match self.target.split_once('?') {
            Some((path, query)) => (path, Some(query)),
            None => (self.target.as_str(), None),
        };
        let (method, host) = (self.method.clone(), self.host.as_str());
        Original { method, https: self.https, host, path, query, has_body: self.has_body, client }
    }
}

/// The headers of the request. What is no header, pseudo-headers among it, is left out.
fn headers(http: &HttpRequest) -> HeaderMap {
    let raw = http.header_map.iter().flat_map(|map| &map.headers).map(|header| {
        let value = if header.raw_value.is_empty() { header.value.as_bytes() } else { &header.raw_value };
        (header.key.as_str(), value)
    });
    let merged = http.headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes()));
    let mut headers = HeaderMap::new();
    for (name, value) in raw.chain(merged) {
        if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::from_bytes(value)) {
            headers.append(name, value);
        }
    }
    headers
}

fn address(source: &Peer) -> Option<IpAddr> {
    let address = source.address.as_ref()?.socket_address.as_ref()?.address.parse::<IpAddr>().ok()?;
    Some(address.to_canonical())
}

/// SHA-256 of the certificate that the client showed to Envoy, if it was told to include it.
fn certificate(source: &Peer) -> Result<Option<[u8; 32]>, Fault> {
    if source.certificate.is_empty() {
        return Ok(None);
    }
    let pem = percent_decode_str(&source.certificate).decode_utf8().map_err(|_| Fault::Unreadable)?;
    let certificate = ClientCertificate::from_pem(&pem).map_err(|_| Fault::Unreadable)?;
    Ok(Some(certificate.thumbprint_s256()))
}
