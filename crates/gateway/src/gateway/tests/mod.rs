mod cross_site;
mod given;
mod holder;
mod sealed;
mod told;

use std::num::NonZeroU32;
use std::time::Duration;

use http::header::{
    ACCESS_CONTROL_ALLOW_CREDENTIALS, ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS,
    ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_EXPOSE_HEADERS, ORIGIN, RETRY_AFTER, WWW_AUTHENTICATE,
};
use http::{HeaderValue, Method};
use sluice_primitives::Lifetime;
use tokio::time::Instant;

use super::*;
use crate::authn::SubjectKind;
use crate::route::{Limit, LimitBy, Preflight, Resource, RoutePolicy};
use given::{Ask, GivenGateway, anonymous, caller, refusal};

#[tokio::test]
async fn a_request_without_a_route_is_refused() {
    let gateway = GivenGateway::with(&[("/orders", RoutePolicy::default())]);
    let nowhere = gateway.judge(&Ask::to("/elsewhere").bearer("alice")).await;
    assert_eq!((nowhere.route.is_none(), refusal(&nowhere)), (true, Refusal::NoRoute));
    let ambiguous = gateway.judge(&Ask::to("/orders/../admin").bearer("alice")).await;
    assert_eq!((ambiguous.route.is_none(), refusal(&ambiguous)), (true, Refusal::AmbiguousPath));
}

#[tokio::test]
async fn a_valid_token_passes_with_the_caller_it_is_of() {
    let gateway = GivenGateway::with(&[("/orders", RoutePolicy::default())]);
    for token in ["alice", "later.alice"] {
        let admitted = gateway.judge(&Ask::to("/orders/1").bearer(token)).await;
        assert_eq!(caller(&admitted).subject(), Some("alice"));
        assert_eq!((&*admitted.route.unwrap().name, admitted.scheme), ("/orders", Some(Scheme::Bearer)));
    }
}

#[tokio::test]
async fn memory_answers_at_once_and_issuers_later() {
    let gateway = GivenGateway::with(&[("/orders", RoutePolicy::default())]);
    let judged = |token| gateway.judging(&Ask::to("/orders").bearer(token));
    assert!(matches!(judged("alice"), Judging::Now(_)));
    assert!(matches!(judged("later.alice"), Judging::Later(_)));
}

#[tokio::test]
async fn every_fault_of_a_token_has_its_refusal_at_once_and_later() {
    let gateway = GivenGateway::with(&[("/orders", RoutePolicy::default())]);
    for (token, expected) in [
        ("forged", Refusal::TokenInvalid("token_not_authentic")),
        ("expired", Refusal::TokenInvalid("token_expired")),
        ("early", Refusal::TokenInvalid("token_not_yet_valid")),
        ("revoked", Refusal::TokenInvalid("token_revoked")),
        ("unreachable", Refusal::Unavailable("issuer_unreachable")),
        ("busy", Refusal::Busy),
        ("stale", Refusal::Unavailable("revocations_stale")),
    ] {
        for token in [token.to_owned(), format!("later.{token}")] {
            let admitted = gateway.judge(&Ask::to("/orders").bearer(&token)).await;
            assert_eq!(refusal(&admitted), expected, "{token}");
            assert_eq!(admitted.scheme, Some(Scheme::Bearer));
        }
    }
}

#[tokio::test]
async fn whether_a_token_is_asked_for_is_the_routes_word() {
    let policy = |auth| RoutePolicy { auth, ..RoutePolicy::default() };
    let gateway = GivenGateway::with(&[
        ("/required", policy(AuthMode::Required)),
        ("/optional", policy(AuthMode::Optional)),
        ("/none", policy(AuthMode::None)),
    ]);
    let bare = |path| Ask::to(path);
    assert_eq!(refusal(&gateway.judge(&bare("/required")).await), Refusal::TokenMissing);
    assert!(
        anonymous(&gateway.judge(&bare("/optional")).await)
            && anonymous(&gateway.judge(&bare("/none")).await)
    );
    let forged = |path| Ask::to(path).bearer("forged");
    let invalid = Refusal::TokenInvalid("token_not_authentic");
    assert_eq!(refusal(&gateway.judge(&forged("/optional")).await), invalid);
    assert!(anonymous(&gateway.judge(&forged("/none")).await));
    let unreadable = |path| Ask::to(path).header("authorization", "Bearer a b");
    assert_eq!(refusal(&gateway.judge(&unreadable("/optional")).await), Refusal::TokenUnreadable);
    assert_eq!(refusal(&gateway.judge(&unreadable("/required")).await), Refusal::TokenUnreadable);
}

#[tokio::test]
async fn a_token_in_the_query_is_none() {
    let gateway = GivenGateway::with(&[("/orders", RoutePolicy::default())]);
    let admitted = gateway.judge(&Ask::to("/orders").query("access_token=alice")).await;
    assert_eq!(refusal(&admitted), Refusal::TokenMissing);
}

#[tokio::test]
async fn policy_is_asked_of_every_request() {
    let words = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect();
    let gateway = GivenGateway::with(&[
        ("/read", RoutePolicy { scopes: words(&["orders.read"]), ..RoutePolicy::default() }),
        ("/write", RoutePolicy { scopes: words(&["orders.write"]), ..RoutePolicy::default() }),
        ("/billing", RoutePolicy { audience: words(&["billing"]), ..RoutePolicy::default() }),
        ("/people", RoutePolicy { subject: Some(SubjectKind::User), ..RoutePolicy::default() }),
    ]);
    for token in ["alice", "later.alice", "alice"] {
        let judged = async |path| gateway.judge(&Ask::to(path).bearer(token)).await;
        assert_eq!(caller(&judged("/read").await).subject(), Some("alice"));
        assert_eq!(refusal(&judged("/write").await), Refusal::InsufficientScope);
        assert_eq!(refusal(&judged("/billing").await), Refusal::WrongAudience);
    }
    let robot = gateway.judge(&Ask::to("/people").bearer("robot")).await;
    assert_eq!(refusal(&robot), Refusal::WrongSubjectKind);
}

#[tokio::test]
async fn a_preflight_passes_where_the_route_says_so_and_nothing_else_does() {
    let passing = RoutePolicy { preflight: Preflight::Pass, ..RoutePolicy::default() };
    let gateway = GivenGateway::with(&[("/pass", passing), ("/judge", RoutePolicy::default())]);
    let preflight = |path| {
        Ask::to(path)
            .method(Method::OPTIONS)
            .header(ORIGIN.as_str(), "https://app.example")
            .header("access-control-request-method", "PUT")
    };
    assert!(anonymous(&gateway.judge(&preflight("/pass")).await));
    let others = [
        preflight("/judge"),
        preflight("/pass").method(Method::GET),
        preflight("/pass").with_body(),
        preflight("/pass").header("content-length", "1"),
        preflight("/pass").header("transfer-encoding", "chunked"),
        preflight("/pass").header("x-http-method-override", "DELETE"),
        preflight("/pass").header("x_http_method", "DELETE"),
        preflight("/pass").header("x-original-url", "/admin"),
        preflight("/pass").header("script_name", "/pass"),
        preflight("/pass").header("daphne-root-path", "/pass"),
        preflight("/pass").header("upgrade", "websocket"),
        preflight("/pass").header("sec-websocket-key", "AAAAAAAAAAAAAAAAAAAAAA=="),
        Ask::to("/pass").method(Method::OPTIONS).header(ORIGIN.as_str(), "https://app.example"),
        Ask::to("/pass").method(Method::OPTIONS).header("access-control-request-method", "PUT"),
    ];
    for other in others {
        assert_eq!(refusal(&gateway.judge(&other).await), Refusal::TokenMissing);
    }
}

#[tokio::test]
async fn pages_may_read_refusals_where_their_preflights_pass() {
    let passing = RoutePolicy {
        preflight: Preflight::Pass,
        cors_credentials: vec![HeaderValue::from_static("https://own.example")],
        ..RoutePolicy::default()
    };
    let gateway = GivenGateway::with(&[("/pass", passing), ("/judge", RoutePolicy::default())]);
    let refused = async |ask: Ask| gateway.gateway.refuse(&gateway.judge(&ask).await).headers().clone();
    for token in ["expired", "later.expired"] {
        let asked = |path| Ask::to(path).bearer(token);
        let of = |path, origin| asked(path).header(ORIGIN.as_str(), origin);
        let stranger = refused(of("/pass", "https://app.example")).await;
        assert_eq!(stranger[ACCESS_CONTROL_ALLOW_ORIGIN], "*");
        assert!(!stranger.contains_key(ACCESS_CONTROL_ALLOW_CREDENTIALS));
        let exposed = stranger[ACCESS_CONTROL_EXPOSE_HEADERS].to_str().unwrap();
        for name in ["WWW-Authenticate", "DPoP-Nonce", "Retry-After", "RateLimit", "RateLimit-Policy"] {
            assert!(exposed.split(", ").any(|one| one == name), "{exposed}");
        }
        let own = refused(of("/pass", "https://own.example")).await;
        assert_eq!(own[ACCESS_CONTROL_ALLOW_ORIGIN], "https://own.example");
        assert_eq!(own[ACCESS_CONTROL_ALLOW_CREDENTIALS], "true");
        for nobody in [asked("/pass"), of("/judge", "https://own.example")] {
            assert!(!refused(nobody).await.contains_key(ACCESS_CONTROL_ALLOW_ORIGIN), "{token}");
        }
    }
}

#[tokio::test]
async fn a_preflight_takes_no_token_past_the_gateway() {
    let passing = RoutePolicy { preflight: Preflight::Pass, ..RoutePolicy::default() };
    let gateway = GivenGateway::with(&[("/pass", passing)]);
    let preflight = Ask::to("/pass")
        .method(Method::OPTIONS)
        .header(ORIGIN.as_str(), "https://app.example")
        .header("access-control-request-method", "PUT")
        .bearer("forged");
    let told = gateway.told(&preflight).await;
    assert!(!told.contains_key("authorization") && told.contains_key(ORIGIN));
}

/// An issuer that is asked and never answers.
struct Mute;

impl PolicyValidator for Mute {
    fn validate(&self, _: Question<'_>) -> Validated {
        Validated::Later(Box::pin(std::future::pending()))
    }
}

#[tokio::test(start_paused = true)]
async fn an_issuer_is_waited_for_no_longer_than_the_exchange_may_take() {
    let (gateway, began) =
        (GivenGateway::ending_after(Duration::from_secs(3), Arc::new(Mute)), Instant::now());
    let admitted = gateway.judge(&Ask::to("/orders").bearer("alice")).await;
    assert_eq!(refusal(&admitted), Refusal::Unavailable("issuer_unreachable"));
    assert_eq!(began.elapsed().as_secs(), 3);
}

#[tokio::test]
async fn who_calls_too_often_is_refused_and_told_how_things_stand() {
    let once_a_minute = Limit {
        by: LimitBy::Subject,
        requests: NonZeroU32::MIN,
        period: Duration::from_mins(1),
        burst: NonZeroU32::MIN,
    };
    let gateway = GivenGateway::limited("/orders", once_a_minute);
    let judged = async |token| gateway.judge(&Ask::to("/orders").bearer(token)).await;
    let first = judged("alice").await;
    let mut answer = HeaderMap::new();
    gateway.gateway.announce(&first, &mut answer);
    assert!(matches!(first.verdict, Verdict::Caller(_)) && answer.contains_key("ratelimit"));
    let second = gateway.gateway.refuse(&judged("alice").await);
    assert_eq!(second.status(), 429);
    assert_eq!(second.headers()[RETRY_AFTER], "60");
    assert!(second.headers().contains_key("ratelimit") && second.headers().contains_key("ratelimit-policy"));
    assert!(matches!(judged("robot").await.verdict, Verdict::Caller(_)), "another caller");
    assert!(matches!(judged("namesake").await.verdict, Verdict::Caller(_)), "another issuer's");
    assert_eq!(gateway.gateway.refuse(&judged("forged").await).status(), 401, "the token comes first");
    gateway.clock.advance(Lifetime::secs(60));
    assert!(matches!(judged("alice").await.verdict, Verdict::Caller(_)));
}

#[tokio::test]
async fn who_calls_too_often_from_one_address_makes_nobody_be_asked() {
    let once = Limit {
        by: LimitBy::Address,
        requests: NonZeroU32::MIN,
        period: Duration::from_mins(1),
        burst: NonZeroU32::MIN,
    };
    let gateway = GivenGateway::limited("/orders", once);
    let judging = |token, client| gateway.judging(&Ask::to("/orders").bearer(token).from(client));
    let Judging::Later(first) = judging("later.forged", "192.0.2.1") else { panic!("nobody was asked") };
    assert_eq!(refusal(&first.await), Refusal::TokenInvalid("token_not_authentic"));
    let Judging::Now(second) = judging("later.alice", "192.0.2.1") else { panic!("somebody was asked") };
    assert!(matches!(refusal(&second), Refusal::TooMany(_)) && second.limits.is_some());
    let Judging::Later(other) = judging("later.alice", "192.0.2.2") else { panic!("nobody was asked") };
    let other = other.await;
    assert_eq!(caller(&other).subject(), Some("alice"), "counted once");
    assert!(other.limits.is_some());
}

#[tokio::test]
async fn the_metadata_of_a_resource_is_served_on_its_host_and_pointed_to() {
    let path = "/.well-known/oauth-protected-resource/orders";
    let resource = Resource {
        identifier: "https://api.example.com/orders".to_owned(),
        metadata_url: format!("https://api.example.com{path}"),
        metadata_path: path.to_owned(),
        metadata: "{\"resource\":\"https://api.example.com/orders\"}".to_owned(),
    };
    let policy = RoutePolicy { resource: Some(resource), ..RoutePolicy::default() };
    let gateway = GivenGateway::with(&[("/orders", policy)]);
    let any = HeaderValue::from_static("*");
    for host in ["api.example.com", "API.example.com", "api.example.com:443"] {
        let document = gateway.document(&Ask::to(path).host(host)).await.unwrap();
        assert_eq!(document, (200, "{\"resource\":\"https://api.example.com/orders\"}".to_owned()));
    }
    let posted = gateway.document(&Ask::to(path).host("api.example.com").method(Method::POST)).await;
    assert_eq!(posted.map(|(status, _)| status), Some(405));
    let preflight = Ask::to(path).host("api.example.com").method(Method::OPTIONS);
    let answer = gateway.gateway.metadata(&preflight.asked()).unwrap();
    assert_eq!((answer.status().as_u16(), &answer.headers()[ACCESS_CONTROL_ALLOW_ORIGIN]), (204, &any));
    assert_eq!(answer.headers()[ACCESS_CONTROL_ALLOW_METHODS], "GET, HEAD");
    assert_eq!(answer.headers()[ACCESS_CONTROL_ALLOW_HEADERS], any);
    let others = [
        Ask::to(path).host("other.example.com"),
        Ask::to("/.well-known/oauth-protected-resource").host("api.example.com"),
        Ask::to("/orders").host("api.example.com"),
        Ask::to(given::JWKS_PATH).host("api.example.com").path_suffix("x"),
    ];
    for other in others {
        assert_eq!(gateway.document(&other).await, None);
    }
    let refused = gateway.gateway.refuse(&gateway.judge(&Ask::to("/orders")).await);
    let challenge = refused.headers()[WWW_AUTHENTICATE].to_str().unwrap().to_owned();
    assert!(
        challenge.contains(&format!("resource_metadata=\"https://api.example.com{path}\"")),
        "{challenge}"
    );
}

#[tokio::test]
async fn the_metadata_of_a_resource_is_found_with_and_without_a_slash_at_the_end() {
    let well_known = |path: &str| format!("/.well-known/oauth-protected-resource{path}");
    let policy = |path: &str| {
        let identifier = format!("https://api.example.com{path}");
        let metadata_path = well_known(path);
        let metadata_url = format!("https://api.example.com{metadata_path}");
        let resource = Resource { metadata: identifier.clone(), identifier, metadata_url, metadata_path };
        RoutePolicy { resource: Some(resource), ..RoutePolicy::default() }
    };
    let routes =
        [("/a", policy("/mcp/")), ("/b", policy("/one")), ("/c", policy("/two/")), ("/d", policy("/two"))];
    let gateway = GivenGateway::with(&routes);
    for (path, found) in [
        ("/mcp/", Some("/mcp/")),
        ("/mcp", Some("/mcp/")),
        ("/one", Some("/one")),
        ("/one/", Some("/one")),
        ("/two", Some("/two")),
        ("/two/", Some("/two/")),
        ("/mcp//", None),
        ("/mc", None),
    ] {
        let document = gateway.document(&Ask::to(&well_known(path))).await;
        assert_eq!(document, found.map(|found| (200, format!("https://api.example.com{found}"))), "{path}");
    }
}

#[tokio::test]
async fn the_keys_of_phantom_tokens_are_served_where_configured() {
    let gateway = GivenGateway::with(&[("/orders", RoutePolicy::default())]);
    let (status, body) = gateway.document(&Ask::to(given::JWKS_PATH)).await.unwrap();
    let jwks: serde_json::Value = serde_json::from_str(&body).unwrap();
    assert_eq!((status, jwks["keys"].as_array().map(Vec::len)), (200, Some(1)));
}
