use serde_json::{Value, json};
use sluice_crypto::jwk::SigningAlgorithm;
use sluice_crypto::jws::{VerifyingKey, verify};

use super::*;
use crate::validation::fake::{changed, key, signed};

const NOW: i64 = 1_000_000;

fn read_as(typ: Option<&str>, change: &Value) -> Result<ForeignClaims, TokenFault> {
    let claims = changed(
        json!({ "iss": "https://id.example", "sub": "alice", "aud": "orders", "exp": NOW + 60, "scope": "read" }),
        change,
    );
    read_claims(typ, &claims)
}

fn read_claims(typ: Option<&str>, claims: &Value) -> Result<ForeignClaims, TokenFault> {
    let key = key("claims", SigningAlgorithm::EdDSA);
    let keys = [VerifyingKey::from_jwk(&key.public()).unwrap()];
    let token = verify(&signed(&key, typ, claims), &keys, &SigningAlgorithm::ALL).unwrap();
    let audience = vec!["orders".to_owned()];
    let config = IssuerConfig { audience, ..IssuerConfig::new("partner", "https://id.example") };
    ClaimRules::of(&config).read(&token, Timestamp::from_secs(NOW))
}

fn read(change: &Value) -> Result<ForeignClaims, TokenFault> {
    read_as(Some("at+jwt"), change)
}

/// Subject and client, as an issuer with this mark names them.
fn names(clients: Option<ClientMark>, said: &Value) -> (Option<String>, Option<String>) {
    let config = IssuerConfig { clients, ..IssuerConfig::new("partner", "https://id.example") };
    let claims = said.as_object().unwrap().clone();
    let claims = ClaimRules::of(&config).foreign(claims, Timestamp::from_secs(NOW + 60)).unwrap();
    (claims.subject, claims.client)
}

#[test]
fn a_token_that_a_client_got_for_itself_is_nobody_elses_whatever_its_subject() {
    let shop = (None, Some("shop".to_owned()));
    for said in [
        json!({ "sub": "shop", "client_id": "shop" }),
        json!({ "client_id": "shop" }),
        json!({ "sub": "shop@clients", "azp": "shop" }),
        json!({ "sub": "f1c2", "azp": "shop", "gty": "client-credentials" }),
        json!({ "sub": "f1c2", "azp": "shop", "gty": ["client_credentials"] }),
        json!({ "sub": "f1c2", "client_id": "shop", "grant_type": "client_credentials" }),
        json!({ "sub": "f1c2", "azp": "shop", "idtyp": "app" }),
        json!({ "sub": "shop", "idtyp": "app" }),
        json!({ "sub": null, "azp": "shop" }),
        json!({ "client_id": "", "azp": "shop" }),
    ] {
        assert_eq!(names(None, &said), shop, "{said}");
    }
    for said in [
        json!({ "sub": "alice", "azp": "shop" }),
        json!({ "sub": "alice", "azp": "shop", "gty": "authorization_code", "idtyp": "user" }),
        json!({ "sub": "other@clients", "azp": "shop" }),
        json!({ "sub": "alice", "azp": "shop", "gty": null, "grant_type": 1 }),
    ] {
        let (subject, client) = names(None, &said);
        assert_eq!((subject.as_deref(), client.as_deref()), (said["sub"].as_str(), Some("shop")), "{said}");
    }
}

#[test]
fn a_subject_that_is_a_number_is_somebody() {
    let number = |number: &str| Some(number.to_owned());
    assert_eq!(names(None, &json!({ "sub": 42, "azp": "shop" })), (number("42"), Some("shop".to_owned())));
    assert_eq!(names(None, &json!({ "sub": -7 })), (number("-7"), None));
    assert_eq!(names(None, &json!({ "sub": u64::MAX })).0, number("18446744073709551615"));
    assert_eq!(names(None, &json!({ "sub": 42, "client_id": 42 })), (None, number("42")), "its client");
}

#[test]
fn a_token_about_somebody_who_cannot_be_told_is_refused() {
    for sub in [json!(""), json!(true), json!(1.5), json!(["alice"]), json!({ "id": "alice" })] {
        assert_eq!(read(&json!({ "sub": sub })), Err(TokenFault::NotAuthentic), "{sub}");
    }
}

#[test]
fn an_issuer_may_mark_such_tokens_in_its_own_way() {
    let mark =
        |claim: &str, prefix: &str| Some(ClientMark { claim: claim.to_owned(), prefix: prefix.to_owned() });
    let robot = json!({
        "sub": "f1c2", "azp": "shop", "preferred_username": "service-account-shop", "clientHost": "192.0.2.7"
    });
    let alice = json!({ "sub": "0a1b", "azp": "shop", "preferred_username": "alice", "clientHost": null });
    for mark in [mark("preferred_username", "service-account-"), mark("clientHost", "")] {
        assert_eq!(names(mark.clone(), &robot), (None, Some("shop".to_owned())), "{mark:?}");
        assert_eq!(names(mark, &alice).0.as_deref(), Some("0a1b"));
    }
    assert_eq!(names(None, &robot).0.as_deref(), Some("f1c2"), "nothing tells");
}

#[test]
fn issuers_spell_scope_audience_and_client_differently() {
    let claims =
        read(&json!({ "aud": ["x", "orders"], "scope": null, "scp": ["a", "b c"], "azp": "shop" })).unwrap();
    assert_eq!((claims.scope.as_str(), claims.client.as_deref()), ("a b c", Some("shop")));
    assert_eq!(claims.audience, ["x", "orders"]);
    let claims = read(&json!({ "client_id": "cart", "azp": "shop", "tenant": 1 })).unwrap();
    assert_eq!((claims.scope.as_str(), claims.client.as_deref()), ("read", Some("cart")));
    assert_eq!((claims.subject.as_deref(), &claims.claims["tenant"]), (Some("alice"), &json!(1)));
    assert_eq!(claims.expires_at, Timestamp::from_secs(NOW + 60));
    assert_eq!(claims.taken_until, Timestamp::from_secs(NOW + 90), "clocks may differ");
    assert_eq!(claims.issuer, "https://id.example", "its identifier, whatever it is called here");
}

#[test]
fn a_scope_that_is_null_is_none() {
    let claims = |typ: &str, more: &Value| {
        let mut claims =
            json!({ "iss": "https://id.example", "aud": "orders", "exp": NOW + 60, "scope": null });
        claims.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        read_claims(Some(typ), &claims)
    };
    assert_eq!(claims("JWT", &json!({ "scp": ["a", "b"] })).unwrap().scope, "a b");
    assert_eq!(claims("JWT", &json!({ "scp": null })).unwrap().scope, "");
    let of_id_token = claims("JWT", &json!({ "nonce": "x", "scp": null }));
    assert_eq!(of_id_token, Err(TokenFault::NotAuthentic), "it names no scope");
}

#[test]
fn a_claim_that_is_null_says_nothing() {
    let outcome = |name: &str| {
        let mut claims = json!({ "iss": "https://id.example", "aud": "orders", "exp": NOW + 60 });
        claims[name] = Value::Null;
        read_claims(Some("JWT"), &claims).map(|claims| claims.confirmation)
    };
    for name in ["nbf", "iat", "cnf", "sub", "nonce", "at_hash", "typ"] {
        assert_eq!(outcome(name), Ok(None), "{name}");
    }
    assert_eq!(outcome("exp"), Err(TokenFault::NotAuthentic), "without an end");
}

#[test]
fn another_issuer_or_audience_is_refused() {
    for (change, fault) in [
        (json!({ "iss": "https://id.example/" }), TokenFault::WrongIssuer),
        (json!({ "iss": null }), TokenFault::WrongIssuer),
        (json!({ "iss": ["https://id.example"] }), TokenFault::WrongIssuer),
        (json!({ "aud": "Orders" }), TokenFault::WrongAudience),
        (json!({ "aud": [] }), TokenFault::WrongAudience),
        (json!({ "aud": null }), TokenFault::WrongAudience),
    ] {
        assert_eq!(read(&change), Err(fault), "{change}");
    }
}

#[test]
fn times_are_held_against_a_clock_that_may_differ() {
    for (change, outcome) in [
        (json!({ "exp": NOW - 29 }), Ok(())),
        (json!({ "exp": NOW - 30 }), Err(TokenFault::Expired)),
        (json!({ "exp": 999_970.5 }), Ok(())),
        (json!({ "exp": null }), Err(TokenFault::NotAuthentic)),
        (json!({ "exp": "2033-05-18" }), Err(TokenFault::NotAuthentic)),
        (json!({ "exp": -1 }), Err(TokenFault::NotAuthentic)),
        (json!({ "exp": 1e300 }), Err(TokenFault::NotAuthentic)),
        (json!({ "nbf": NOW + 30 }), Ok(())),
        (json!({ "nbf": NOW + 31 }), Err(TokenFault::NotYet)),
        (json!({ "iat": NOW + 31 }), Err(TokenFault::NotYet)),
        (json!({ "iat": true }), Err(TokenFault::NotAuthentic)),
    ] {
        assert_eq!(read(&change).map(|_| ()), outcome, "{change}");
    }
}

#[test]
fn tokens_for_something_else_are_refused() {
    for typ in ["dpop+jwt", "logout+jwt", "secevent+jwt", "token-introspection+jwt", "id+jwt", ""] {
        assert_eq!(read_as(Some(typ), &json!({})), Err(TokenFault::NotAuthentic), "{typ}");
    }
    for typ in [None, Some("JWT"), Some("at+jwt"), Some("application/at+jwt"), Some("AT+JWT")] {
        assert!(read_as(typ, &json!({})).is_ok(), "{typ:?}");
    }
    for change in [
        json!({ "at_hash": "x" }),
        json!({ "c_hash": "x" }),
        json!({ "events": {} }),
        json!({ "nonce": "x", "scope": null }),
        json!({ "typ": "Refresh" }),
        json!({ "typ": "Offline" }),
        json!({ "typ": "ID" }),
        json!({ "token_use": "id" }),
        json!({ "token_type": "refresh" }),
    ] {
        assert_eq!(read_as(Some("JWT"), &change), Err(TokenFault::NotAuthentic), "{change}");
    }
    assert!(read_as(Some("JWT"), &json!({ "nonce": "x" })).is_ok(), "an id token names no scope");
    for change in [json!({ "typ": "Bearer" }), json!({ "token_use": "access" })] {
        assert!(read_as(Some("JWT"), &change).is_ok(), "{change}");
    }
}

#[test]
fn a_token_bound_in_an_unknown_way_is_not_taken_for_a_bearer_token() {
    let thumbprint = Confirmation::Jkt([1; 32]);
    let bound = read(&json!({ "cnf": thumbprint.to_json() })).unwrap();
    assert_eq!(bound.confirmation, Some(thumbprint));
    assert_eq!(read(&json!({ "cnf": { "kid": "1" } })), Err(TokenFault::NotAuthentic));
}
