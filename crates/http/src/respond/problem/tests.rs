use http::header::HeaderName;
use http_body_util::BodyExt;
use serde_json::json;
use sluice_commit::StoreError;
use sluice_crypto::hash_pool::PoolBusy;
use sluice_identity::account::Denied;
use sluice_identity::session::Unauthenticated;
use sluice_identity::{IdentityError, InvalidEmail, InvalidField};
use sluice_testkit::Captured;

use super::*;

/// Why an access token is refused.
const REFUSED: [Unauthenticated; 4] = [
    Unauthenticated::NotOurs,
    Unauthenticated::OtherIssuer,
    Unauthenticated::Expired,
    Unauthenticated::Revoked,
];

async fn answer(problem: impl Into<Problem>) -> (u16, Value, http::HeaderMap) {
    let (head, body) = problem.into().into_response().into_parts();
    let bytes = body.collect().await.unwrap().to_bytes();
    (head.status.as_u16(), serde_json::from_slice(&bytes).unwrap(), head.headers)
}

fn header(headers: &http::HeaderMap, name: HeaderName) -> &str {
    headers.get(name).map_or("", |value| value.to_str().unwrap())
}

#[tokio::test]
async fn a_problem_names_its_field_and_is_kept_by_nobody() {
    let (status, body, headers) = answer(InvalidField::from(InvalidEmail::TooLong)).await;
    let expected = json!({
        "type": "urn:sluice:problem:email_too_long",
        "title": "A field of the request is not as it must be.",
        "status": 400,
        "code": "email_too_long",
        "detail": "The e-mail address is longer than 254 bytes.",
        "field": "email",
    });
    assert_eq!((status, body), (400, expected));
    assert_eq!(header(&headers, CONTENT_TYPE), "application/problem+json");
    assert_eq!(header(&headers, CACHE_CONTROL), "no-store");
    assert!(!headers.contains_key(WWW_AUTHENTICATE) && !headers.contains_key(RETRY_AFTER));
}

#[tokio::test]
async fn a_field_bears_the_name_that_the_request_has_for_it() {
    let problem = Problem::from(InvalidField::from(InvalidEmail::Missing)).about("new_email");
    assert_eq!(answer(problem).await.1["field"], "new_email");
    let (_, body, _) = answer(Problem::of(ProblemKind::WrongCode).about("code")).await;
    assert_eq!(body.get("field"), None);
}

#[tokio::test]
async fn whoever_comes_too_early_is_told_when_to_come_again() {
    for (wait, seconds) in
        [(Lifetime::millis(1), "1"), (Lifetime::millis(1001), "2"), (Lifetime::hours(1), "3600")]
    {
        let (status, _, headers) = answer(Denied::TooMany(wait)).await;
        assert_eq!((status, header(&headers, RETRY_AFTER)), (429, seconds));
    }
    let (status, body, headers) = answer(IdentityError::Changed).await;
    assert_eq!((status, header(&headers, RETRY_AFTER)), (503, "1"));
    assert_eq!(body["code"], "temporarily_unavailable");
}

#[tokio::test]
async fn who_finds_no_place_for_a_hash_is_told_how_long_those_take_that_wait() {
    for (millis, seconds) in [(0, "1"), (2_000, "2"), (2_100, "3")] {
        let wait = std::time::Duration::from_millis(millis);
        let (status, _, headers) = answer(IdentityError::from(PoolBusy::QueueFull { wait })).await;
        assert_eq!((status, header(&headers, RETRY_AFTER)), (503, seconds));
    }
}

#[tokio::test]
async fn nobody_is_warned_of_who_left_before_their_hash_was_computed() {
    let (log, _guard) = Captured::begin();
    let (status, _, _) = answer(IdentityError::from(PoolBusy::Unheard)).await;
    assert_eq!((status, log.lines("turned away")), (503, Vec::new()));
    answer(IdentityError::from(PoolBusy::NoMemory)).await;
    // Of those of all tests that run beside this one a sample is said.
    let (said, reason) = (log.lines("turned away"), PoolBusy::NoMemory.to_string());
    assert!(said.len() <= 1 && said.iter().all(|line| line.contains(&reason)), "{said:?}");
}

#[tokio::test]
async fn the_cause_of_a_fault_is_not_told() {
    let cause =
        IdentityError::from(StoreError::Invalid("column secret_column of relation identity".to_owned()));
    let (status, body, _) = answer(cause).await;
    assert_eq!((status, &body["code"]), (500, &json!("server_error")));
    assert!(!body.to_string().contains("secret_column"));
}

#[tokio::test]
async fn a_token_is_asked_for_in_the_words_of_rfc_6750() {
    let (status, _, headers) = answer(Problem::of(ProblemKind::TokenMissing)).await;
    assert_eq!((status, header(&headers, WWW_AUTHENTICATE)), (401, "Bearer realm=\"sluice\""));
    for why in REFUSED {
        let (status, _, headers) = answer(why).await;
        let challenge = "Bearer realm=\"sluice\", error=\"invalid_token\"";
        assert_eq!((status, header(&headers, WWW_AUTHENTICATE)), (401, challenge));
    }
    let (status, _, headers) = answer(Unauthenticated::Unknown).await;
    assert_eq!((status, headers.contains_key(WWW_AUTHENTICATE)), (503, false));
    let (status, _, headers) = answer(Problem::of(ProblemKind::InvalidCredentials)).await;
    assert_eq!((status, headers.contains_key(WWW_AUTHENTICATE)), (401, false));
}

#[tokio::test]
async fn why_a_token_does_not_hold_is_told_to_the_log_and_not_to_who_presents_it() {
    let (log, _guard) = Captured::begin();
    let mut refused: Vec<_> =
        REFUSED.iter().map(|why| (Problem::from(why.clone()), why.to_string())).collect();
    refused.push((Denied::Gone.into(), OVER.to_owned()));
    for (problem, reason) in refused {
        let (status, body, _) = answer(problem).await;
        assert!(status == 401 && !body.to_string().contains(&reason), "{body}");
        let said =
            format!("identity request refused http.status=401 error.code={} reason={reason}", body["code"]);
        assert_eq!(log.lines(&said).len(), 1, "{said}: {}", log.text());
    }
    answer(Problem::of(ProblemKind::TokenMissing)).await;
    assert!(log.lines("token_missing").iter().all(|line| !line.contains("reason")), "{}", log.text());
}

#[tokio::test]
async fn members_stand_beside_the_others() {
    let problem = Problem::of(ProblemKind::SecondFactorRequired).with("login_ticket", "abc");
    let (status, body, _) = answer(problem).await;
    assert_eq!((status, &body["login_ticket"], &body["status"]), (401, &json!("abc"), &json!(401)));
}
