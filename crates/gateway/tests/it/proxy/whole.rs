//! The data path behind the real gateway, led by a routes file.

use std::convert::Infallible;
use std::net::Ipv4Addr;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;

use arc_swap::ArcSwap;
use bytes::Bytes;
use http::Request;
use http_body::Frame;
use http_body_util::{BodyExt, Either, Empty, StreamBody};
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use sluice_crypto::{Sealer, SystemSecret};
use sluice_gateway::authn::ForeignClaims;
use sluice_gateway::decision::{DecisionConfig, DecisionService, RunningDecisions};
use sluice_gateway::enrichment::CountryLookup;
use sluice_gateway::limit::RateLimits;
use sluice_gateway::observer::Silent;
use sluice_gateway::proxy::{PlainHttp, ProxyConfig, RunningProxy, Via};
use sluice_gateway::route::{LiveRoutes, file};
use sluice_gateway::validation::{HolderCheck, HolderParts};
use sluice_gateway::{Caller, Gateway, GatewayParts, PolicyValidator, Question, TokenFault, Validated};
use sluice_net::{BindAddress, ForwardedCertificatePolicy, Limits, LocalAddress};
use sluice_primitives::{Lifetime, NetworkId, OsRng, SystemClock, Timestamp};
use tokio::net::TcpStream;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::given::*;

struct NoTokens;

impl PolicyValidator for NoTokens {
    fn validate(&self, question: Question<'_>) -> Validated {
        if question.token == "down" {
            return Validated::Now(Err(TokenFault::Unreachable));
        }
        let fault = TokenFault::NotAuthentic;
        if question.token == "later" {
            return Validated::Later(Box::pin(async move {
                tokio::task::yield_now().await;
                Err(fault)
            }));
        }
        Validated::Now(Err(fault))
    }
}

/// An issuer that calls every token good, each when it is told to.
#[derive(Clone, Default)]
struct Slow {
    asked: Arc<Notify>,
    may_answer: Arc<Notify>,
}

impl PolicyValidator for Slow {
    fn validate(&self, _: Question<'_>) -> Validated {
        let this = self.clone();
        Validated::Later(Box::pin(async move {
            this.asked.notify_one();
            this.may_answer.notified().await;
            Ok(Arc::new(Caller::Foreign(Box::new(ForeignClaims {
                issuer: "https://id.example".to_owned(),
                subject: Some("alice".to_owned()),
                client: None,
                scope: String::new(),
                audience: Vec::new(),
                expires_at: Timestamp::NEVER,
                taken_until: Timestamp::NEVER,
                confirmation: None,
                claims: serde_json::Map::new(),
            }))))
        }))
    }
}

/// One for which no token holds.
pub(super) fn gateway(routes: Arc<LiveRoutes>) -> Gateway {
    gateway_of(routes, Arc::new(NoTokens))
}

/// With another way to tell whether tokens hold.
pub(super) fn gateway_of(routes: Arc<LiveRoutes>, validation: Arc<dyn PolicyValidator>) -> Gateway {
    let clock = Arc::new(SystemClock);
    let sealer = Sealer::new(NetworkId::from_bytes([0; 16]), &[SystemSecret::new(vec![0; 32])]);
    let holder = HolderParts {
        sealer: Arc::new(ArcSwap::from_pointee(sealer)),
        rng: Arc::new(OsRng),
        proof_lifetime: Lifetime::secs(60),
        proof_ahead: Lifetime::secs(15),
        nonce_lifetime: Lifetime::secs(60),
        remembered_proofs: 1_000,
    };
    Gateway::new(GatewayParts {
        routes,
        validation,
        holder: Arc::new(HolderCheck::new(holder)),
        limits: Arc::new(RateLimits::new(clock.clone())),
        country: Arc::new(CountryLookup::default()),
        phantom: None,
        via: Via::named("gateway"),
        observer: Arc::new(Silent),
        clock,
    })
}

pub(super) fn routes(text: &str) -> sluice_gateway::RouteTable {
    file::read(text, Path::new(".")).unwrap().table
}

pub(super) fn config() -> ProxyConfig {
    ProxyConfig {
        address: BindAddress::Tcp { host: "127.0.0.1".into(), port: 0 },
        cores: NonZeroUsize::new(2).unwrap(),
        tls: None,
        limits: Limits::default(),
        certificates: ForwardedCertificatePolicy::default(),
        plain_http: PlainHttp::default(),
    }
}

/// The answer to one request.
pub(super) async fn ask(running: &RunningProxy, request: &str) -> Message {
    let LocalAddress::Tcp(address) = *running.local_address() else { panic!("not TCP") };
    let mut client = Peer::new(TcpStream::connect(address).await.unwrap());
    client.say(request).await;
    client.answer().await.unwrap()
}

/// A 401 at decisions points to what the gateway serves at its own port, also if no route has an upstream.
#[tokio::test]
async fn the_metadata_of_a_resource_is_served_beside_other_proxies() {
    let text = "routes: [{name: orders, match: {prefix: /orders}, resource: {identifier: 'https://api.example/orders'}}]";
    let gateway = Arc::new(gateway(Arc::new(LiveRoutes::new(routes(text)))));
    let shutdown = CancellationToken::new();
    let running = RunningProxy::start(config(), gateway.clone(), shutdown.clone()).await.unwrap();
    let question = Request::get("/oauth/auth_request")
        .header("host", "api.example")
        .header("x-original-method", "GET")
        .header("x-original-uri", "/orders/7");
    let question = question.body(Empty::<Bytes>::new()).unwrap();
    let decisions = DecisionService::new(gateway, DecisionConfig::default());
    let refused = decisions.answer(Ipv4Addr::LOCALHOST.into(), question).await.unwrap();
    let challenge = refused.headers()["www-authenticate"].to_str().unwrap();
    let path = "/.well-known/oauth-protected-resource/orders";
    assert!(challenge.contains(&format!("resource_metadata=\"https://api.example{path}\"")), "{challenge}");
    let document = ask(&running, &format!("GET {path} HTTP/1.1\r\nhost: api.example\r\n\r\n")).await;
    assert_eq!(document.status(), 200);
    let document: serde_json::Value = serde_json::from_str(document.text()).unwrap();
    assert_eq!(document["resource"], "https://api.example/orders");
    shutdown.cancel();
}

/// The number in a problem is that of its answer (RFC 9457 §3.1.2).
#[tokio::test]
async fn an_authority_that_cannot_be_asked_is_told_with_one_number() {
    let live = Arc::new(LiveRoutes::new(routes("routes: [{name: all, match: {prefix: /}}]")));
    let decisions = DecisionService::new(Arc::new(gateway(live)), DecisionConfig::default());
    for (path, status) in [("/oauth/token_validation", 503), ("/oauth/auth_request", 502)] {
        let question = Request::get(path)
            .header("host", "a")
            .header("authorization", "Bearer down")
            .header("x-original-method", "GET")
            .header("x-original-uri", "/orders");
        let question = question.body(Empty::<Bytes>::new()).unwrap();
        let answer = decisions.answer(Ipv4Addr::LOCALHOST.into(), question).await.unwrap();
        assert_eq!(answer.status().as_u16(), status, "{path}");
        let body = answer.into_body().collect().await.unwrap().to_bytes();
        let problem: serde_json::Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(problem["status"], status, "{path}");
        assert_eq!(problem["code"], "authority_unavailable", "{path}");
    }
}

/// Hydra's `allow_termination_from`, at both ports.
#[tokio::test]
async fn plain_http_is_answered_only_for_proxies_that_ended_tls() {
    let (backend, mut requests) = Backend::bind().await.recording();
    let text = format!(
        "upstreams: {{app: {{servers: [\"http://{backend}\"]}}}}\n\
         routes: [{{name: all, match: {{prefix: /}}, upstream: app, auth: none}}]\n"
    );
    let get = |line: &str| format!("GET /oauth/token_validation HTTP/1.1\r\nhost: a\r\n{line}\r\n");
    // What a proxy asks about may have come by plain http: of decisions only its address counts.
    for (network, line, (proxied, decided)) in [
        ("127.0.0.0/8", "x-forwarded-proto: https\r\n", (200, 401)),
        ("127.0.0.0/8", "forwarded: for=192.0.2.1;proto=https\r\n", (200, 401)),
        ("127.0.0.0/8", "x-forwarded-proto: http\r\n", (502, 401)),
        ("127.0.0.0/8", "", (502, 401)),
        ("10.0.0.0/8", "x-forwarded-proto: https\r\nx-forwarded-for: 10.0.0.1\r\n", (502, 502)),
    ] {
        let plain_http = PlainHttp::TerminatedAt([network.parse().unwrap()].into());
        let config = || ProxyConfig { plain_http: plain_http.clone(), ..config() };
        let live = Arc::new(LiveRoutes::new(routes(&text)));
        let (gateway, shutdown) = (Arc::new(gateway(live)), CancellationToken::new());
        let decisions =
            RunningDecisions::start(config(), DecisionConfig::default(), gateway.clone(), shutdown.clone());
        let decisions = decisions.await.unwrap();
        let proxy = RunningProxy::start(config(), gateway, shutdown.clone()).await.unwrap();
        for (address, status) in [(proxy.local_address(), proxied), (decisions.local_address(), decided)] {
            let LocalAddress::Tcp(address) = *address else { panic!("not TCP") };
            let mut client = Peer::new(TcpStream::connect(address).await.unwrap());
            client.say(get(line)).await;
            assert_eq!(client.answer().await.unwrap().status(), status, "{network} {line}");
        }
        if proxied == 200 {
            // The proxy is believed about that, and about nothing else: it is none of `trusted_proxies`.
            let seen = in_time(requests.recv()).await.unwrap();
            assert_eq!(seen.all("x-forwarded-proto"), ["https"]);
            assert_eq!(seen.all("forwarded"), ["for=127.0.0.1;proto=https;host=\"a\""]);
        }
        shutdown.cancel();
    }
}

#[tokio::test]
async fn a_routes_file_leads_requests_and_a_new_one_leads_them_elsewhere() {
    let (one, mut at_one) = Backend::bind().await.recording();
    let (two, mut at_two) = Backend::bind().await.recording();
    let text = |backend| {
        format!(
            "upstreams:\n  backend: {{servers: [http://{backend}]}}\nroutes:\n  \
             - {{name: guarded, match: {{prefix: /guarded/}}, upstream: backend}}\n  \
             - {{name: open, match: {{prefix: /open/}}, upstream: backend, auth: none, rewrite_prefix: /inner/}}\n"
        )
    };
    let live = Arc::new(LiveRoutes::new(routes(&text(one))));
    let shutdown = CancellationToken::new();
    let traffic = Arc::new(gateway(live.clone()));
    let running = RunningProxy::start(config(), traffic, shutdown.clone()).await.unwrap();
    for (path, token, status) in [
        ("/nothing", None, 404),
        ("/open/../guarded/x", None, 400),
        ("/open/%2e%2e/guarded/x", None, 400),
        ("/guarded/x", None, 401),
        ("/guarded/x", Some("forged"), 401),
        ("/guarded/x", Some("later"), 401),
    ] {
        let token = token.map_or(String::new(), |token| format!("authorization: Bearer {token}\r\n"));
        let answer = ask(&running, &format!("GET {path} HTTP/1.1\r\nhost: a\r\n{token}\r\n")).await;
        assert_eq!(answer.status(), status, "{path} {token}");
    }
    assert!(at_one.try_recv().is_err());
    let request = "GET /open/x?y=1 HTTP/1.1\r\nhost: a\r\noauth-user-id: root\r\nOAuth-Anything: 1\r\n\r\n";
    assert_eq!(ask(&running, request).await.status(), 200);
    let seen = at_one.recv().await.unwrap();
    assert_eq!(seen.line(), "GET /inner/x?y=1 HTTP/1.1");
    assert_eq!((seen.header("oauth-user-id"), seen.header("oauth-anything")), (None, None));
    live.replace(routes(&text(two)));
    for _ in 0..8 {
        assert_eq!(ask(&running, request).await.status(), 200);
        assert!(at_two.recv().await.is_some());
    }
    assert!(at_one.try_recv().is_err());
    shutdown.cancel();
    assert_eq!(in_time(running.drained()).await.cut, 0);
}

#[tokio::test]
async fn what_asks_for_another_method_or_path_reaches_an_upstream_where_the_file_says_so() {
    let (backend, mut seen) = Backend::bind().await.recording();
    let text = format!(
        "upstreams:\n  backend: {{servers: [http://{backend}]}}\nroutes:\n  \
         - {{name: orders, match: {{prefix: /orders}}, upstream: backend, auth: none}}\n  \
         - {{name: legacy, match: {{prefix: /legacy}}, upstream: backend, auth: none, headers: {{forward_overrides: true}}}}\n"
    );
    let traffic = Arc::new(gateway(Arc::new(LiveRoutes::new(routes(&text)))));
    let shutdown = CancellationToken::new();
    let running = RunningProxy::start(config(), traffic, shutdown.clone()).await.unwrap();
    let names = [
        "X-HTTP-Method-Override",
        "X-HTTP-Method",
        "X-Method-Override",
        "X-Original-URL",
        "X-Rewrite-URL",
        "X-Script-Name",
        "X-Vhm-Root",
        "X-Vhm-Host",
        "SCRIPT_NAME",
        "PATH_INFO",
        "Daphne-Root-Path",
    ];
    let lines = names.map(|name| format!("{name}: DELETE\r\n")).concat();
    for (path, values) in [("/orders/7", &[] as &[&str]), ("/legacy/7", &["DELETE"][..])] {
        let request = format!("POST {path} HTTP/1.1\r\nhost: a\r\n{lines}content-length: 0\r\n\r\n");
        assert_eq!(ask(&running, &request).await.status(), 200, "{path}");
        let seen = in_time(seen.recv()).await.unwrap();
        assert_eq!(seen.line(), format!("POST {path} HTTP/1.1"));
        for name in names {
            assert_eq!(seen.all(name), values, "{path} {name}");
        }
    }
    shutdown.cancel();
}

#[tokio::test]
async fn a_request_that_waits_while_the_routes_change_goes_where_the_old_ones_led() {
    let (one, mut at_one) = Backend::bind().await.recording();
    let (two, mut at_two) = Backend::bind().await.recording();
    let text = |backend| {
        format!(
            "upstreams:\n  app: {{servers: [http://{backend}]}}\nroutes:\n  \
             - {{name: all, match: {{prefix: /}}, upstream: app}}\n"
        )
    };
    let (issuer, live) = (Slow::default(), Arc::new(LiveRoutes::new(routes(&text(one)))));
    let traffic = Arc::new(gateway_of(live.clone(), Arc::new(issuer.clone())));
    let shutdown = CancellationToken::new();
    let running = RunningProxy::start(config(), traffic, shutdown.clone()).await.unwrap();
    let request = "GET / HTTP/1.1\r\nhost: a\r\nauthorization: Bearer t\r\n\r\n";
    let change = async {
        in_time(issuer.asked.notified()).await;
        live.replace(routes(&text(two)));
        issuer.may_answer.notify_one();
    };
    let (answer, ()) = tokio::join!(ask(&running, request), change);
    assert_eq!(answer.status(), 200);
    assert!(at_one.try_recv().is_ok() && at_two.try_recv().is_err());
    issuer.may_answer.notify_one();
    assert_eq!(ask(&running, request).await.status(), 200);
    assert!(
        at_two.try_recv().is_ok() && at_one.try_recv().is_err(),
        "who comes later goes where the new ones lead"
    );
    shutdown.cancel();
}

/// It is there for other proxies' questions, beside routes that the gateway itself serves.
#[tokio::test]
async fn a_route_without_an_upstream_is_not_found_at_the_gateway() {
    let (backend, _requests) = Backend::bind().await.recording();
    let text = format!(
        "upstreams:\n  backend: {{servers: [http://{backend}]}}\nroutes:\n  \
         - {{name: open, match: {{prefix: /open}}, upstream: backend, auth: none}}\n  \
         - {{name: asked, match: {{prefix: /asked}}, auth: none}}\n"
    );
    let gateway = Arc::new(gateway(Arc::new(LiveRoutes::new(routes(&text)))));
    let shutdown = CancellationToken::new();
    let running = RunningProxy::start(config(), gateway.clone(), shutdown.clone()).await.unwrap();
    assert_eq!(ask(&running, "GET /open HTTP/1.1\r\nhost: a\r\n\r\n").await.status(), 200);
    let answer = ask(&running, "GET /asked/1 HTTP/1.1\r\nhost: a\r\n\r\n").await;
    assert_eq!((answer.status(), answer.header("retry-after")), (404, None), "nothing will come of waiting");
    let problem: serde_json::Value = serde_json::from_str(answer.text()).unwrap();
    assert_eq!(problem["status"], 404);
    assert_eq!(problem["code"], "not_forwarded");
    shutdown.cancel();
    let question = Request::get("/oauth/auth_request")
        .header("host", "a")
        .header("x-original-method", "GET")
        .header("x-original-uri", "/asked/1");
    let question = question.body(Empty::<Bytes>::new()).unwrap();
    let decisions = DecisionService::new(gateway, DecisionConfig::default());
    let answer = decisions.answer(Ipv4Addr::LOCALHOST.into(), question).await.unwrap();
    assert_eq!(answer.status(), 200);
}

const READ_ONLY: &str = "routes:\n  - {name: read, match: {prefix: /read, methods: [GET]}, auth: none}\n";

#[tokio::test]
async fn another_method_than_those_of_a_path_is_answered_with_these_by_the_gateway_and_to_other_proxies() {
    let gateway = Arc::new(gateway(Arc::new(LiveRoutes::new(routes(READ_ONLY)))));
    let shutdown = CancellationToken::new();
    let running = RunningProxy::start(config(), gateway.clone(), shutdown.clone()).await.unwrap();
    let answer = ask(&running, "DELETE /read/1 HTTP/1.1\r\nhost: a\r\n\r\n").await;
    assert_eq!((answer.status(), answer.header("allow")), (405, Some("GET, HEAD")));
    shutdown.cancel();
    let decisions = DecisionService::new(gateway, DecisionConfig::default());
    for (path, method, target) in [
        ("/oauth/auth_request", "x-original-method", "x-original-uri"),
        ("/oauth/forward_auth", "x-forwarded-method", "x-forwarded-uri"),
        ("/oauth/ext_authz/read/1", "x-unused", "x-unused-too"),
    ] {
        let question =
            Request::delete(path).header("host", "a").header(method, "DELETE").header(target, "/read/1");
        let question = question.body(Empty::<Bytes>::new()).unwrap();
        let answer = decisions.answer(Ipv4Addr::LOCALHOST.into(), question).await.unwrap();
        assert_eq!(
            (answer.status().as_u16(), &answer.headers()["allow"]),
            (405, &"GET, HEAD".parse().unwrap())
        );
    }
}

#[tokio::test]
async fn a_page_may_read_why_there_is_no_answer_where_its_preflights_pass() {
    let text = format!(
        "upstreams: {{gone: {{servers: [\"http://{}\"]}}}}\nroutes:\n  \
         - {{name: guarded, match: {{prefix: /guarded}}, upstream: gone, preflight: pass}}\n  \
         - {{name: open, match: {{prefix: /open}}, upstream: gone, preflight: pass, auth: none}}\n  \
         - {{name: judged, match: {{prefix: /judged}}, upstream: gone}}\n",
        nowhere()
    );
    let gateway = Arc::new(gateway(Arc::new(LiveRoutes::new(routes(&text)))));
    let shutdown = CancellationToken::new();
    let running = RunningProxy::start(config(), gateway.clone(), shutdown.clone()).await.unwrap();
    for (path, origin, status, allowed) in [
        ("/guarded", "origin: https://app.example\r\n", 401, Some("*")),
        ("/open", "origin: https://app.example\r\n", 502, Some("*")),
        ("/guarded", "", 401, None),
        ("/open", "", 502, None),
        ("/judged", "origin: https://app.example\r\n", 401, None),
        ("/nothing", "origin: https://app.example\r\n", 404, None),
    ] {
        let answer = ask(&running, &format!("GET {path} HTTP/1.1\r\nhost: a\r\n{origin}\r\n")).await;
        let told = answer.header("access-control-allow-origin");
        assert_eq!((answer.status(), told), (status, allowed), "{path} {origin}");
    }
    shutdown.cancel();
    let decisions = DecisionService::new(gateway, DecisionConfig::default());
    let question = Request::get("/oauth/auth_request")
        .header("host", "a")
        .header("origin", "https://app.example")
        .header("x-original-method", "GET")
        .header("x-original-uri", "/guarded");
    let question = question.body(Empty::<Bytes>::new()).unwrap();
    let answer = decisions.answer(Ipv4Addr::LOCALHOST.into(), question).await.unwrap();
    assert_eq!(answer.headers()["access-control-allow-origin"], "*");
}

#[tokio::test]
async fn a_preflight_over_http_2_passes_without_a_token_and_one_with_a_body_does_not() {
    let (backend, mut seen) = Backend::bind().await.recording();
    let text = format!(
        "upstreams:\n  backend: {{servers: [http://{backend}]}}\nroutes:\n  \
         - {{name: all, match: {{prefix: /}}, upstream: backend, preflight: pass}}\n"
    );
    let traffic = Arc::new(gateway(Arc::new(LiveRoutes::new(routes(&text)))));
    let shutdown = CancellationToken::new();
    let running = RunningProxy::start(config(), traffic, shutdown.clone()).await.unwrap();
    let LocalAddress::Tcp(address) = *running.local_address() else { panic!("not TCP") };
    let stream = TcpStream::connect(address).await.unwrap();
    let (mut client, connection) =
        http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    let mut preflight = async |body: &'static [u8]| {
        // Without a length: nothing in the head tells of a body.
        let frames = (!body.is_empty()).then(|| Ok::<_, Infallible>(Frame::data(Bytes::from_static(body))));
        let body = match frames {
            Some(frame) => Either::Left(StreamBody::new(futures_util::stream::iter([frame]))),
            None => Either::Right(Empty::new()),
        };
        let request = Request::options("http://a/x")
            .header("origin", "https://app.example")
            .header("access-control-request-method", "PUT");
        in_time(client.send_request(request.body(body).unwrap())).await.unwrap().status().as_u16()
    };
    assert_eq!(preflight(b"").await, 200);
    assert!(seen.recv().await.unwrap().line().starts_with("OPTIONS /x"));
    assert_eq!(preflight(b"do something").await, 401);
    assert_eq!(preflight(b"").await, 200, "the connection goes on");
    assert!(seen.recv().await.unwrap().body.is_empty() && seen.try_recv().is_err());
    shutdown.cancel();
}
