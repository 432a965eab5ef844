use std::sync::Arc;

use http_body_util::BodyExt;
use serde_json::{Value, json};
use sluice_protocol::ErrorCode;

use super::*;
use crate::authn::given;
use crate::route::{Resource, TokenSources};
use crate::validation::holder;

const DPOP: &str = "DPoP realm=\"sluice\", algs=\"ES256 EdDSA PS256 ES384 ES512 PS384 PS512 Ed25519\"";

struct Answered {
    status: u16,
    challenges: Vec<String>,
    headers: HeaderMap,
    body: Value,
}

async fn answered(refusal: Refusal, scheme: Option<Scheme>, policy: RoutePolicy) -> Answered {
    let route = Some(given::route(policy, given::ordinary()));
    let admitted = Admitted { scheme, ..Admitted::refused(route, refusal) };
    let (head, body) = refuse(&admitted).into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    let challenges = head.headers.get_all(WWW_AUTHENTICATE).iter();
    Answered {
        status: head.status.as_u16(),
        challenges: challenges.map(|value| value.to_str().unwrap().to_owned()).collect(),
        headers: head.headers.clone(),
        body: serde_json::from_slice(&body).unwrap(),
    }
}

#[test]
fn the_algorithms_that_are_offered_are_those_that_are_taken() {
    assert_eq!(ALGORITHMS, sluice_token::dpop::algorithm_names().join(" "));
}

fn with_error(scheme: &str, code: ErrorCode) -> String {
    format!("{scheme}, error=\"{code}\", error_description=\"{}\"", code.description())
}

#[tokio::test]
async fn every_refusal_has_its_status_its_code_and_is_never_stored() {
    for (refusal, status, code, challenges) in [
        (Refusal::NoRoute, 404, "no_route", 0),
        (Refusal::OtherMethods(HeaderValue::from_static("GET")), 405, "method_not_allowed", 0),
        (Refusal::Connect, 501, "connect_method", 0),
        (Refusal::Trace, 501, "trace_method", 0),
        (Refusal::SmallLetters, 501, "small_letters_method", 0),
        (Refusal::AmbiguousPath, 400, "ambiguous_path", 0),
        (Refusal::TokenMissing, 401, "token_missing", 2),
        (Refusal::TokenUnreadable, 400, "invalid_request", 2),
        (Refusal::TokenInvalid("token_revoked"), 401, "invalid_token", 2),
        (Refusal::WrongAudience, 401, "invalid_token", 2),
        (Refusal::Untold, 401, "invalid_token", 2),
        (Refusal::NonceWanted("n".to_owned()), 401, "use_dpop_nonce", 2),
        (Refusal::NotHolder(holder::PROOF_MISSING), 401, "invalid_dpop_proof", 2),
        (Refusal::NotHolder(holder::OTHER_KEY), 401, "invalid_token", 2),
        (Refusal::TooManyProofs, 503, "too_many_proofs", 0),
        (Refusal::InsufficientScope, 403, "insufficient_scope", 2),
        (Refusal::WrongSubjectKind, 403, "wrong_subject_kind", 0),
        (Refusal::CrossSite, 403, "cross_site", 0),
        (Refusal::TooMany(Lifetime::secs(3)), 429, "too_many_requests", 0),
        (Refusal::Busy, 503, "authority_busy", 0),
        (Refusal::Unavailable("issuer_unreachable"), 502, "authority_unavailable", 0),
        (Refusal::AuthoritySilent("issuer_unreachable"), 503, "authority_unavailable", 0),
    ] {
        let answered = answered(refusal, None, RoutePolicy::default()).await;
        assert_eq!((answered.status, &answered.body["code"]), (status, &json!(code)));
        assert_eq!(answered.body["type"], json!(format!("urn:sluice:problem:{code}")));
        assert_eq!(answered.body["status"], json!(status));
        assert_eq!(answered.headers[CONTENT_TYPE], "application/problem+json");
        assert_eq!(answered.headers[CACHE_CONTROL], "no-store");
        assert_eq!(answered.challenges.len(), challenges, "{code}");
    }
}

#[tokio::test]
async fn who_uses_another_method_is_told_which_there_are_and_who_comes_in_a_crowd_when_to_come_again() {
    let allowed = HeaderValue::from_static("GET, HEAD");
    let other = answered(Refusal::OtherMethods(allowed), None, RoutePolicy::default()).await;
    assert_eq!(other.headers[ALLOW], "GET, HEAD");
    let busy = answered(Refusal::Busy, None, RoutePolicy::default()).await;
    assert_eq!(busy.headers[RETRY_AFTER], "1");
    let crowded = answered(Refusal::TooManyProofs, Some(Scheme::Dpop), RoutePolicy::default()).await;
    assert_eq!(crowded.headers[RETRY_AFTER], "10");
    assert!(!busy.headers.contains_key(ALLOW));
}

#[tokio::test]
async fn who_presents_nothing_is_told_no_error() {
    let answered = answered(Refusal::TokenMissing, None, RoutePolicy::default()).await;
    assert_eq!(answered.challenges, ["Bearer realm=\"sluice\"", DPOP]);
}

#[tokio::test]
async fn the_error_is_told_in_the_scheme_that_was_used() {
    let refusal = || Refusal::TokenInvalid("token_expired");
    let bearer = answered(refusal(), Some(Scheme::Bearer), RoutePolicy::default()).await;
    assert_eq!(
        bearer.challenges,
        [with_error("Bearer realm=\"sluice\"", ErrorCode::InvalidToken), DPOP.to_owned()]
    );
    let dpop = answered(refusal(), Some(Scheme::Dpop), RoutePolicy::default()).await;
    assert_eq!(dpop.challenges, [with_error(DPOP, ErrorCode::InvalidToken)]);
}

#[tokio::test]
async fn dpop_is_not_offered_where_it_is_not_taken() {
    let sources =
        TokenSources { authorization: false, cookie: Some("session".to_owned()), ..TokenSources::default() };
    let policy = RoutePolicy { sources, ..RoutePolicy::default() };
    let answered = answered(Refusal::TokenMissing, None, policy).await;
    assert_eq!(answered.challenges, ["Bearer realm=\"sluice\""]);
}

#[tokio::test]
async fn a_wanted_nonce_comes_with_the_answer() {
    let refusal = Refusal::NonceWanted("eyJ7S_zG".to_owned());
    let answered = answered(refusal, Some(Scheme::Dpop), RoutePolicy::default()).await;
    assert_eq!(answered.challenges, [with_error(DPOP, ErrorCode::UseDpopNonce)]);
    assert_eq!(answered.headers["dpop-nonce"], "eyJ7S_zG");
}

#[tokio::test]
async fn the_scope_that_is_needed_is_named_and_the_metadata_pointed_to() {
    let resource = Resource {
        identifier: "https://api.example.com/orders".to_owned(),
        metadata_url: "https://api.example.com/.well-known/oauth-protected-resource/orders".to_owned(),
        metadata_path: "/.well-known/oauth-protected-resource/orders".to_owned(),
        metadata: "{}".to_owned(),
    };
    let policy = RoutePolicy {
        scopes: vec!["orders.read".to_owned()],
        any_scope: vec!["a\"b".to_owned(), "c".to_owned()],
        resource: Some(resource),
        ..RoutePolicy::default()
    };
    let first = answered(Refusal::TokenMissing, None, policy.clone()).await;
    let invalid =
        answered(Refusal::TokenInvalid("token_expired"), Some(Scheme::Bearer), policy.clone()).await;
    let answered = answered(Refusal::InsufficientScope, Some(Scheme::Bearer), policy).await;
    let tail = "resource_metadata=\"https://api.example.com/.well-known/oauth-protected-resource/orders\"";
    let error = with_error("Bearer realm=\"sluice\"", ErrorCode::InsufficientScope);
    assert_eq!(
        answered.challenges,
        [format!("{error}, scope=\"orders.read a\\\"b c\", {tail}"), format!("{DPOP}, {tail}")]
    );
    let enough = format!("scope=\"orders.read a\\\"b\", {tail}");
    assert_eq!(
        first.challenges,
        [format!("Bearer realm=\"sluice\", {enough}"), format!("{DPOP}, {enough}")],
        "a client asks for it at once, and for no more of what one will do"
    );
    assert!(invalid.challenges.iter().all(|challenge| !challenge.contains(" scope=")), "it had it before");
}

#[tokio::test]
async fn a_scope_without_words_is_not_named() {
    let answered = answered(Refusal::InsufficientScope, Some(Scheme::Bearer), RoutePolicy::default()).await;
    let error = with_error("Bearer realm=\"sluice\"", ErrorCode::InsufficientScope);
    assert_eq!(answered.challenges, [error, DPOP.to_owned()]);
}

#[tokio::test]
async fn who_calls_too_often_is_told_when_to_come_back() {
    for (wait, told) in [(Lifetime::millis(1), "1"), (Lifetime::millis(2001), "3"), (Lifetime::ZERO, "1")] {
        let answered = answered(Refusal::TooMany(wait), None, RoutePolicy::default()).await;
        assert_eq!(answered.headers[RETRY_AFTER], told);
    }
}

#[tokio::test]
async fn an_admitted_request_is_never_answered_with_success() {
    let admitted = Admitted { verdict: Verdict::Anonymous, ..Admitted::refused(None, Refusal::NoRoute) };
    assert_eq!(refuse(&admitted).status(), StatusCode::BAD_GATEWAY);
    let caller = Admitted { verdict: Verdict::Caller(Arc::new(given::alice(None))), ..admitted };
    assert_eq!(refuse(&caller).status(), StatusCode::BAD_GATEWAY);
}
