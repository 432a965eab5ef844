mod grpc;
mod refused;

use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::stream::{pending, unfold};
use http::header::{AUTHORIZATION, WWW_AUTHENTICATE};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode, Version};
use http_body::Frame;
use http_body_util::{BodyExt, Empty, Full, StreamBody};
use parking_lot::Mutex;
use serde_json::{Map, Value, json};
use sluice_net::{
    CertificateHeader, ClientAddress, ForwardedCertificatePolicy, MAX_HEADER_LINES, PeerAddress,
};
use sluice_primitives::Timestamp;
use tokio::sync::mpsc;
use tower::Service;

use super::*;
use crate::authn::challenge;
use crate::authn::{Asked, Caller, ForeignClaims, Refusal, Verdict};
use crate::gateway::{Admitted, Judging};
use crate::observer::{Observer, RequestRecord};
use crate::proxy::Fault;
use crate::route::Route;

const LOCAL: &str = "127.0.0.1";
const PROXY: &str = "10.0.0.9";
const STRANGER: &str = "203.0.113.7";

/// What was asked of the judge, in words.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Seen {
    route: Option<Arc<str>>,
    line: String,
    client: String,
    certificate: bool,
    preflight: bool,
}

/// Judges by the token alone: `alice` and `machine` are good, `down` cannot be asked about, others are not authentic. Remembers what it was asked,
/// what was recorded, and of whom it told last.
#[derive(Default)]
struct ByToken {
    later: bool,
    seen: Mutex<Vec<Seen>>,
    recorded: Mutex<Vec<(String, u16, &'static str)>>,
    told_of: Mutex<Option<ClientAddress>>,
}

fn caller(token: &str) -> Arc<Caller> {
    let subject = (token == "alice").then(|| "alice".to_owned());
    Arc::new(Caller::Foreign(Box::new(ForeignClaims {
        issuer: "https://issuer.example".to_owned(),
        subject,
        client: Some("shop".to_owned()),
        scope: "orders.read profile".to_owned(),
        audience: Vec::new(),
        expires_at: Timestamp::from_secs(4_000_000_000),
        taken_until: Timestamp::from_secs(4_000_000_000),
        confirmation: None,
        claims: Map::new(),
    })))
}

impl ByToken {
    fn verdict(headers: &HeaderMap) -> Verdict {
        let token = headers
            .get("oauth-token")
            .or_else(|| headers.get(AUTHORIZATION))
            .and_then(|value| value.to_str().ok())
            .map(|value| value.trim_start_matches("Bearer "));
        match token {
            None => Verdict::Refused(Refusal::TokenMissing),
            Some(token @ ("alice" | "machine")) => Verdict::Caller(caller(token)),
            Some("down") => Verdict::Refused(Refusal::Unavailable("issuer_unreachable")),
            Some("often") => Verdict::Refused(Refusal::TooMany(sluice_primitives::Lifetime::secs(7))),
            Some(_) => Verdict::Refused(Refusal::TokenInvalid("token_not_authentic")),
        }
    }

    fn judged(&self, route: Option<&Arc<Route>>, asked: &Asked<'_>) -> Judging {
        let scheme = if asked.https { "https" } else { "http" };
        let query = asked.query.map(|query| format!("?{query}")).unwrap_or_default();
        self.seen.lock().push(Seen {
            route: route.map(|route| route.name.clone()),
            line: format!("{} {scheme}://{}{}{query}", asked.method, asked.host, asked.path),
            client: asked.client.to_string(),
            certificate: asked.certificate.is_some(),
            preflight: asked.is_preflight(),
        });
        let mut admitted = Admitted::refused(route.cloned(), Refusal::NoRoute);
        admitted.verdict = Self::verdict(asked.headers);
        if self.later { Judging::Later(Box::pin(async { admitted })) } else { Judging::Now(admitted) }
    }
}

impl Judge for ByToken {
    fn judge(&self, asked: &Asked<'_>) -> Judging {
        self.judged(None, asked)
    }

    fn judge_under(&self, route: &Arc<Route>, asked: &Asked<'_>) -> Judging {
        self.judged(Some(route), asked)
    }

    fn enrich(&self, admitted: &Admitted, headers: &mut HeaderMap, client: ClientAddress) {
        *self.told_of.lock() = Some(client);
        let stripped: Vec<_> =
            headers.keys().filter(|name| name.as_str().starts_with("oauth-")).cloned().collect();
        for name in stripped {
            headers.remove(name);
        }
        let Verdict::Caller(caller) = &admitted.verdict else { return };
        if let Some(subject) = caller.subject() {
            headers.insert("oauth-user-id", HeaderValue::from_str(subject).unwrap());
        }
        headers.insert("oauth-client-id", HeaderValue::from_str(caller.client().unwrap()).unwrap());
    }

    fn refuse(&self, admitted: &Admitted) -> Response<Full<Bytes>> {
        let Verdict::Refused(refusal) = &admitted.verdict else { panic!("refused without a refusal") };
        let status = match refusal {
            Refusal::TokenMissing | Refusal::TokenInvalid(_) => 401,
            Refusal::InsufficientScope => return challenge::refuse(admitted),
            Refusal::TooMany(_) => 429,
            Refusal::Unavailable(_) => 502,
            Refusal::AuthoritySilent(_) => 503,
            other => panic!("{other:?} is never said here"),
        };
        Response::builder()
            .status(status)
            .header(WWW_AUTHENTICATE, "Bearer")
            .header(WWW_AUTHENTICATE, "DPoP")
            .body(Full::new(Bytes::from_static(b"{}")))
            .unwrap()
    }

    fn announce(&self, _: &Admitted, answer: &mut HeaderMap) {
        answer.insert("ratelimit", HeaderValue::from_static("\"orders\";r=1"));
    }

    fn trusts(&self, peer: IpAddr) -> bool {
        peer.to_string() == PROXY
    }

    fn client(&self, peer: IpAddr, headers: &HeaderMap) -> ClientAddress {
        let forwarded = headers.get("x-forwarded-for").and_then(|value| value.to_str().ok());
        let named = forwarded.and_then(|address| address.parse().ok());
        ClientAddress { address: named.unwrap_or(peer), is_named: named.is_some() }
    }

    fn observer(&self) -> &dyn Observer {
        self
    }
}

impl Observer for ByToken {
    fn request(&self, record: &RequestRecord<'_>) {
        let line = format!("{} {}", record.route, record.path);
        self.recorded.lock().push((line, record.status.unwrap().as_u16(), record.verdict));
    }

    fn fault(&self, _: &str, _: Fault) {}

    fn broken_answer(&self, _: &str, _: &'static str) {}
}

/// A service, and the judge behind it.
fn service(later: bool) -> (DecisionService<ByToken>, Arc<ByToken>) {
    let judge = Arc::new(ByToken { later, ..ByToken::default() });
    (DecisionService::new(judge.clone(), DecisionConfig::default()), judge)
}

fn question(peer: &str, target: &str, headers: &[(&'static str, &str)]) -> Request<Empty<Bytes>> {
    let mut request = Request::get(target).body(Empty::new()).unwrap();
    for (name, value) in headers {
        request.headers_mut().append(*name, HeaderValue::from_str(value).unwrap());
    }
    request.extensions_mut().insert(PeerAddress(SocketAddr::new(peer.parse().unwrap(), 4711)));
    request
}

async fn ask(
    service: &DecisionService<ByToken>,
    target: &str,
    headers: &[(&'static str, &str)],
) -> Response<DecisionBody> {
    service.clone().call(question(LOCAL, target, headers)).await.unwrap()
}

fn header<'a>(response: &'a Response<DecisionBody>, name: &str) -> Option<&'a str> {
    response.headers().get(name).map(|value| value.to_str().unwrap())
}

const BEARER: (&str, &str) = ("authorization", "Bearer alice");

/// The original request, as nginx describes it.
const ORDER: [(&str, &str); 4] = [
    ("x-original-method", "POST"),
    ("x-original-uri", "/orders/7?page=2"),
    ("x-original-host", "api.example.com"),
    ("x-forwarded-proto", "https"),
];

#[tokio::test]
async fn a_token_alone_is_judged_and_its_caller_named() {
    for later in [false, true] {
        let (service, judge) = service(later);
        let response =
            ask(&service, "/oauth/token_validation", &[("oauth-token", "alice"), ("oauth-ip", "192.0.2.1")])
                .await;
        assert_eq!(response.status(), StatusCode::OK);
        assert_eq!(header(&response, "oauth-user-id"), Some("alice"));
        assert_eq!(header(&response, "oauth-client-id"), Some("shop"));
        assert_eq!(header(&response, "cache-control"), Some("no-store"));
        let seen = judge.seen.lock().pop().unwrap();
        assert_eq!((seen.route.as_deref(), seen.client.as_str()), (Some("token_validation"), "192.0.2.1"));
        assert_eq!(*judge.told_of.lock(), Some(ClientAddress::named("192.0.2.1".parse().unwrap())));
        let recorded = judge.recorded.lock().pop().unwrap();
        assert_eq!(recorded, ("token_validation /oauth/token_validation".to_owned(), 200, "caller"));
    }
}

#[tokio::test]
async fn the_address_of_a_proxy_is_never_taken_for_that_of_its_client() {
    let (service, judge) = service(false);
    ask(&service, "/oauth/token_validation", &[BEARER]).await;
    assert_eq!(judge.seen.lock().pop().unwrap().client, "0.0.0.0");
    assert!(!judge.told_of.lock().unwrap().is_named);
}

#[tokio::test]
async fn a_token_alone_is_refused_as_it_must_be() {
    for (token, status) in [(None, 401), (Some("Bearer forged"), 401), (Some("Bearer down"), 503)] {
        let (service, _) = service(false);
        let headers: Vec<_> = token.map(|token| ("authorization", token)).into_iter().collect();
        let response = ask(&service, "/oauth/token_validation", &headers).await;
        assert_eq!(response.status(), status, "{token:?}");
        assert!(header(&response, "oauth-user-id").is_none());
        assert!(header(&response, "www-authenticate").is_some());
    }
}

#[tokio::test]
async fn every_scope_that_is_demanded_of_a_token_must_have_been_granted() {
    for (demanded, status) in [
        ("orders.read", 200),
        ("orders.read profile", 200),
        ("", 200),
        ("orders.read admin", 403),
        ("orders", 403),
    ] {
        let (service, judge) = service(false);
        let response = ask(&service, "/oauth/token_validation", &[BEARER, ("oauth-scope", demanded)]).await;
        assert_eq!(response.status(), status, "{demanded}");
        let verdict = judge.recorded.lock().pop().unwrap().2;
        assert_eq!(verdict, if status == 200 { "caller" } else { "insufficient_scope" });
    }
}

#[tokio::test]
async fn who_has_too_little_scope_is_told_what_would_do() {
    for (demanded, told) in [
        ("orders.read admin", Some("scope=\"orders.read admin\"")),
        ("ad\"min orders", Some("scope=\"orders\"")),
        ("\"", None),
    ] {
        let (service, _) = service(false);
        let response = ask(&service, "/oauth/token_validation", &[BEARER, ("oauth-scope", demanded)]).await;
        let challenge = header(&response, "www-authenticate").unwrap();
        assert_eq!(
            challenge.split_once(", scope=").map(|(_, rest)| format!("scope={rest}")).as_deref(),
            told
        );
    }
}

#[tokio::test]
async fn the_original_request_is_judged_in_the_words_of_nginx_and_of_traefik() {
    let traefik = [
        ("x-forwarded-method", "POST"),
        ("x-forwarded-uri", "/orders/7?page=2"),
        ("x-forwarded-host", "api.example.com"),
        ("x-forwarded-proto", "https"),
    ];
    for (path, words) in [("/oauth/auth_request", ORDER), ("/oauth/forward_auth", traefik)] {
        for later in [false, true] {
            let (service, judge) = service(later);
            let headers = [&words[..], &[BEARER, ("x-forwarded-for", "192.0.2.1")]].concat();
            let response = ask(&service, path, &headers).await;
            assert_eq!(response.status(), StatusCode::OK);
            assert_eq!(header(&response, "oauth-user-id"), Some("alice"));
            assert_eq!(header(&response, "ratelimit"), Some("\"orders\";r=1"));
            let expected = Seen {
                line: "POST https://api.example.com/orders/7?page=2".to_owned(),
                client: "192.0.2.1".to_owned(),
                ..Seen::default()
            };
            assert_eq!(*judge.seen.lock(), [expected]);
            assert_eq!(judge.recorded.lock().pop().unwrap().0, "- /orders/7");
            assert_eq!(*judge.told_of.lock(), Some(ClientAddress::named("192.0.2.1".parse().unwrap())));
        }
    }
}

#[tokio::test]
async fn a_preflight_whose_body_stayed_at_the_proxy_is_none() {
    let preflight = [
        ("host", "api.example.com"),
        ("origin", "https://app.example"),
        ("access-control-request-method", "PUT"),
        ("x-original-method", "OPTIONS"),
        ("x-original-uri", "/orders"),
        ("x-forwarded-method", "OPTIONS"),
        ("x-forwarded-uri", "/orders"),
    ];
    for (said, is_preflight) in [
        (&[] as &[(&str, &str)], true),
        (&[("x-original-content-length", "0")][..], true),
        (&[("x-original-content-length", ""), ("x-original-transfer-encoding", "")][..], true),
        (&[("x-original-content-length", "12")][..], false),
        (&[("x-original-content-length", "0"), ("x-original-content-length", "12")][..], false),
        (&[("x-original-transfer-encoding", "chunked")][..], false),
    ] {
        for path in ["/oauth/auth_request", "/oauth/forward_auth"] {
            let (service, judge) = service(false);
            ask(&service, path, &[&preflight[..], said].concat()).await;
            assert_eq!(judge.seen.lock().pop().unwrap().preflight, is_preflight, "{path} {said:?}");
        }
    }
}

/// Traefik says so of requests to open a WebSocket; a proof is for the https address (RFC 9449 §4.3).
#[tokio::test]
async fn a_websocket_over_tls_is_judged_as_https() {
    for (said, scheme) in [("wss", "https"), ("ws", "http")] {
        let (service, judge) = service(false);
        let headers = [&ORDER[..3], &[BEARER, ("x-forwarded-proto", said)]].concat();
        assert_eq!(ask(&service, "/oauth/auth_request", &headers).await.status(), StatusCode::OK);
        let line = judge.seen.lock().pop().unwrap().line;
        assert_eq!(line, format!("POST {scheme}://api.example.com/orders/7?page=2"));
    }
}

#[tokio::test]
async fn refusals_pass_with_all_their_headers() {
    for (token, status) in [("forged", 401), ("often", 429), ("down", 502)] {
        let (service, _) = service(false);
        let headers = [&ORDER[..], &[("authorization", token)]].concat();
        let response = ask(&service, "/oauth/auth_request", &headers).await;
        assert_eq!(response.status(), status);
        let challenges = response.headers().get_all(WWW_AUTHENTICATE);
        assert_eq!(challenges.iter().collect::<Vec<_>>(), ["Bearer", "DPoP"]);
        assert_eq!(response.into_body().collect().await.unwrap().to_bytes(), "{}");
    }
}

#[tokio::test]
async fn a_question_that_says_too_little_or_too_much_is_a_mistake_of_the_proxy() {
    let twice = [&ORDER[..], &[("x-original-uri", "/")]].concat();
    let bad_path = [("x-original-method", "GET"), ("x-original-uri", "http://other/"), ("host", "a")];
    let bad_method = [("x-original-method", "GE T"), ("x-original-uri", "/"), ("host", "a")];
    for (path, headers, said) in [
        ("/oauth/auth_request", &ORDER[..1], "the header x-original-uri is missing"),
        ("/oauth/auth_request", &ORDER[1..], "the header x-original-method is missing"),
        ("/oauth/auth_request", &ORDER[..2], "the header host is missing"),
        ("/oauth/auth_request", &twice[..], "there is more than one header x-original-uri"),
        ("/oauth/auth_request", &bad_path[..], "the header x-original-uri cannot be read"),
        ("/oauth/auth_request", &bad_method[..], "the header x-original-method cannot be read"),
        ("/oauth/forward_auth", &ORDER[..], "the header x-forwarded-method is missing"),
        ("/oauth/token_validation", &[("oauth-ip", "nowhere")][..], "the header oauth-ip cannot be read"),
    ] {
        let (service, judge) = service(false);
        let response = ask(&service, path, headers).await;
        assert_eq!(response.status(), StatusCode::BAD_REQUEST);
        let body = response.into_body().collect().await.unwrap().to_bytes();
        let problem: Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(problem, json!({ "title": "Bad Request", "status": 400, "detail": said }));
        assert!(judge.seen.lock().is_empty());
    }
}

/// What is no host to the gateway itself.
const NO_HOSTS: [&str; 33] = [
    "",
    "a b",
    "user@a",
    "a/b",
    "a,b",
    "a\\b",
    "a?b",
    "a#b",
    "a%00",
    "a:1:2",
    "a::",
    ":80",
    "a:x",
    "a:+1",
    "a:65536",
    "a[",
    "]a",
    "a[::1]",
    "::1",
    "[::1",
    "[::1]a",
    "[::1]80",
    "[::1]:x",
    "[a]",
    "[]",
    "[[::1]]",
    "www.example:80@admin.example",
    "admin.example?",
    "admin%2eexample",
    "admin.example..",
    "admin..example",
    ".admin.example",
    ".",
];

#[tokio::test]
async fn what_is_no_host_to_the_gateway_is_none_here() {
    let request = [
        BEARER,
        ("x-original-method", "GET"),
        ("x-original-uri", "/orders"),
        ("x-forwarded-method", "GET"),
        ("x-forwarded-uri", "/orders"),
    ];
    for (path, name) in [
        ("/oauth/auth_request", "x-original-host"),
        ("/oauth/auth_request", "host"),
        ("/oauth/forward_auth", "x-forwarded-host"),
        ("/oauth/forward_auth", "host"),
        ("/oauth/ext_authz/orders", "host"),
    ] {
        let (service, judge) = service(false);
        for host in NO_HOSTS {
            let response = ask(&service, path, &[&request[..], &[(name, host)]].concat()).await;
            assert_eq!(response.status(), StatusCode::BAD_REQUEST, "{path} {name}: {host}");
            let body = response.into_body().collect().await.unwrap().to_bytes();
            let problem: Value = serde_json::from_slice(&body).unwrap();
            assert_eq!(problem["detail"], format!("the header {name} cannot be read"));
        }
        assert!(judge.seen.lock().is_empty());
        for host in ["a_b.c~d-e.", "a:080", "[2001:DB8::1]:443"] {
            let response = ask(&service, path, &[&request[..], &[(name, host)]].concat()).await;
            assert_eq!(response.status(), StatusCode::OK, "{path} {name}: {host}");
        }
    }
}

#[tokio::test]
async fn a_token_alone_is_judged_whatever_the_host_is() {
    let (service, _) = service(false);
    let response = ask(&service, "/oauth/token_validation", &[BEARER, ("host", "user@a")]).await;
    assert_eq!(response.status(), StatusCode::OK);
}

#[tokio::test]
async fn only_trusted_proxies_and_this_machine_may_ask() {
    for (peer, status) in
        [(LOCAL, 200), ("::1", 200), ("::ffff:127.0.0.1", 200), (PROXY, 200), (STRANGER, 403)]
    {
        let (service, judge) = service(false);
        for path in ["/oauth/token_validation", "/oauth/auth_request", "/oauth/ext_authz/orders"] {
            let headers = [&ORDER[..], &[BEARER, ("host", "a")]].concat();
            let response = service.clone().call(question(peer, path, &headers)).await.unwrap();
            assert_eq!(response.status(), status, "{peer} {path}");
        }
        assert_eq!(judge.seen.lock().is_empty(), status == 403);
    }
}

#[tokio::test]
async fn a_body_that_a_proxy_cannot_keep_back_is_read_before_the_answer() {
    let (service, _) = service(false);
    let (sender, receiver) = mpsc::channel(1);
    let parts = unfold(receiver, |mut receiver| async move {
        let part = receiver.recv().await?;
        Some((Ok::<_, Infallible>(Frame::data(part)), receiver))
    });
    let question = question(LOCAL, "/oauth/token_validation", &[BEARER]).map(|_| StreamBody::new(parts));
    let answering = tokio::spawn(service.answer(LOCAL.parse().unwrap(), question));
    for _ in 0..3 {
        sender.send(Bytes::from_static(b"a part of it")).await.unwrap();
        assert!(!answering.is_finished());
    }
    drop(sender);
    assert_eq!(answering.await.unwrap().unwrap().status(), StatusCode::OK);
}

/// Its answer is known without the body; a proxy that hands on a client's as it comes would otherwise hold the question for as long as that likes.
#[tokio::test(start_paused = true)]
async fn a_body_that_does_not_end_is_not_waited_for_for_ever() {
    let body = || StreamBody::new(pending::<Result<Frame<Bytes>, Infallible>>());
    let (service, _) = service(false);
    let forward = question(LOCAL, "/oauth/token_validation", &[BEARER]).map(|_| body());
    let answer = service.answer(LOCAL.parse().unwrap(), forward).await.unwrap();
    assert_eq!(answer.status(), StatusCode::OK);
    let path = "/envoy.service.auth.v3.Authorization/Check";
    let mut check = question(LOCAL, path, &[("content-type", "application/grpc")]).map(|_| body());
    *check.method_mut() = Method::POST;
    let answer = service.answer(LOCAL.parse().unwrap(), check).await.unwrap();
    assert_eq!(header(&answer, "grpc-status"), Some("4"), "DEADLINE_EXCEEDED");
}

/// Not even its body is waited for: what is not read holds the list.
#[tokio::test]
async fn a_question_of_too_many_header_lines_is_refused_at_once() {
    for path in
        ["/oauth/token_validation", "/oauth/ext_authz/orders", "/envoy.service.auth.v3.Authorization/Check"]
    {
        let (service, judge) = service(false);
        let headers = vec![("cookie", "a=1"); MAX_HEADER_LINES + 1];
        let body = StreamBody::new(pending::<Result<Frame<Bytes>, Infallible>>());
        let question = question(LOCAL, path, &headers).map(|_| body);
        let response = service.answer(LOCAL.parse().unwrap(), question).now_or_never().unwrap().unwrap();
        assert_eq!(response.status(), StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, "{path}");
        assert_eq!(header(&response, "content-type"), Some("application/problem+json"));
        assert!(judge.seen.lock().is_empty());
    }
}

/// After the answer to such a question a body would be a breach of the protocol; over HTTP/1.1 the HTTP library leaves it out.
#[tokio::test]
async fn a_question_by_head_over_http_2_is_answered_without_a_body() {
    for later in [false, true] {
        let (service, _) = service(later);
        for (path, status) in [("/oauth/token_validation", 401), ("/oauth/other", 404)] {
            let answer = |version| {
                let mut question = question(LOCAL, path, &[]);
                *question.method_mut() = Method::HEAD;
                *question.version_mut() = version;
                service.clone().call(question)
            };
            let whole =
                answer(Version::HTTP_11).await.unwrap().into_body().collect().await.unwrap().to_bytes();
            assert!(!whole.is_empty(), "{path}");
            let head = answer(Version::HTTP_2).await.unwrap();
            let length = whole.len().to_string();
            assert_eq!((head.status().as_u16(), header(&head, "content-length")), (status, Some(&*length)));
            assert!(head.into_body().collect().await.unwrap().to_bytes().is_empty(), "{path}");
        }
    }
}

#[tokio::test]
async fn what_is_no_decision_is_not_found() {
    let (service, _) = service(false);
    assert_eq!(ask(&service, "/oauth/other", &[BEARER]).await.status(), StatusCode::NOT_FOUND);
    assert!(!service.handles("/oauth/other"));
    assert!(service.handles("/oauth/token_validation"));
}

#[tokio::test]
async fn a_certificate_counts_from_a_proxy_that_may_pass_it_on() {
    let judge = Arc::new(ByToken::default());
    let header = CertificateHeader::from(HeaderName::from_static("client-cert"));
    let certificates =
        ForwardedCertificatePolicy { headers: vec![header], from: vec!["10.0.0.0/8".parse().unwrap()] };
    let service =
        DecisionService::new(judge.clone(), DecisionConfig { certificates, ..DecisionConfig::default() });
    let now = Timestamp::from_secs(1_700_000_000);
    let pem = sluice_net::self_signed(&["a.example".to_owned()], now).unwrap().certificate;
    let line = format!(":{}:", pem.lines().filter(|line| !line.starts_with('-')).collect::<String>());
    for (peer, counts) in [(PROXY, true), (LOCAL, false)] {
        let headers = [&ORDER[..], &[BEARER, ("client-cert", &line)]].concat();
        service.clone().call(question(peer, "/oauth/auth_request", &headers)).await.unwrap();
        assert_eq!(judge.seen.lock().pop().unwrap().certificate, counts, "{peer}");
    }
    let headers = [&ORDER[..], &[BEARER, ("client-cert", ":AAAA:")]].concat();
    let response = service.clone().call(question(PROXY, "/oauth/auth_request", &headers)).await.unwrap();
    assert_eq!(response.status(), StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn envoy_is_told_over_http_what_to_set_and_what_to_remove() {
    let (service, judge) = service(false);
    let headers = [
        BEARER,
        ("host", "api.example.com"),
        ("x-forwarded-proto", "https"),
        ("oauth-user-id", "mallory"),
        ("oauth-admin", "yes"),
    ];
    let response = ask(&service, "/oauth/ext_authz/orders/7?page=2", &headers).await;
    assert_eq!(response.status(), StatusCode::OK);
    assert_eq!(header(&response, "oauth-user-id"), Some("alice"));
    assert_eq!(header(&response, "x-envoy-auth-headers-to-remove"), Some("oauth-admin"));
    assert_eq!(header(&response, "authorization"), None);
    assert_eq!(judge.seen.lock().pop().unwrap().line, "GET https://api.example.com/orders/7?page=2");
}
