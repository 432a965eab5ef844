use std::time::Duration;

use http::HeaderName;
use jsonwebtoken::{Algorithm, DecodingKey, Validation, decode, decode_header, jwk::JwkSet};
use serde_json::json;
use sluice_primitives::SeededRng;

use super::*;
use crate::authn::given;
use crate::route::{Enrichment, HeaderFrom, RoutePolicy};

const NOW: Timestamp = Timestamp::from_secs(1_000);
const TOKEN: [u8; 32] = [7; 32];

fn signer() -> PhantomSigner {
    PhantomSigner::generate("https://gateway.example".to_owned(), Arc::new(SeededRng::new(1))).unwrap()
}

fn route(header: HeaderName, lifetime: u64) -> Arc<Route> {
    let phantom = Phantom { header, audience: "orders".to_owned(), lifetime: Duration::from_secs(lifetime) };
    let claims = ["email", "plan.name", "sub", "cnf"]
        .map(|claim| HeaderFrom { header: HeaderName::from_static("x-claim"), claim: claim.to_owned() });
    let enrichment = Enrichment { phantom: Some(phantom), claims: claims.to_vec(), ..Enrichment::default() };
    given::route(RoutePolicy::default(), enrichment)
}

/// The claims of a token, verified as a service behind the gateway does.
fn verified(signer: &PhantomSigner, token: &str) -> Value {
    let jwks: JwkSet = serde_json::from_slice(&signer.jwks()).unwrap();
    let header = decode_header(token).unwrap();
    assert_eq!((header.alg, header.typ.as_deref()), (Algorithm::ES256, Some("at+jwt")));
    let key = jwks.find(&header.kid.unwrap()).unwrap();
    let mut rules = Validation::new(Algorithm::ES256);
    rules.set_audience(&["orders"]);
    rules.set_issuer(&["https://gateway.example"]);
    rules.validate_exp = false; // the clock of the test stands still
    decode::<Value>(token, &DecodingKey::from_jwk(key).unwrap(), &rules).unwrap().claims
}

#[test]
fn a_service_verifies_what_the_gateway_says_of_the_caller() {
    let (signer, route) = (signer(), route(AUTHORIZATION, 60));
    let bob = given::bob(
        json!({"email": "bob@partner.example", "ext": {"plan": {"name": "gold"}}, "sub": "root", "cnf": {"jkt": "x"}}),
    );
    let value = signer.value(&route, &bob, TOKEN, NOW).unwrap();
    assert!(value.is_sensitive());
    let claims = verified(&signer, value.to_str().unwrap().strip_prefix("Bearer ").unwrap());
    let jti = claims["jti"].as_str().unwrap();
    assert_eq!(jti.len(), 22);
    assert_eq!(
        claims,
        json!({
            "iss": "https://gateway.example", "sub": "bob", "aud": "orders", "client_id": "partner-app",
            "scope": "orders.read", "exp": 1060, "iat": 1000, "jti": jti, "email": "bob@partner.example", "name": "gold",
            "idp": "https://login.partner.example"
        })
    );
}

#[test]
fn in_a_header_of_its_own_there_is_nothing_but_the_token() {
    let (signer, route) = (signer(), route(HeaderName::from_static("x-internal"), 60));
    for (token, caller, client) in [(1, given::robot(), "shop-app"), (2, given::agent(), "agent")] {
        let value = signer.value(&route, &caller, [token; 32], NOW).unwrap();
        let claims = verified(&signer, value.to_str().unwrap());
        assert_eq!((&claims["sub"], &claims["client_id"]), (&json!("shop-app"), &json!(client)));
    }
}

#[test]
fn a_key_without_a_name_is_called_by_its_thumbprint_at_every_gateway() {
    let made = Jwk::generate(SigningAlgorithm::ES256, "unsaid".to_owned(), RsaSize::default()).unwrap();
    let nameless = Jwk { kid: None, alg: None, ..made };
    let gateway = |seed| {
        let rng = Arc::new(SeededRng::new(seed));
        PhantomSigner::new("https://gateway.example".to_owned(), &nameless, rng).unwrap()
    };
    let (one, other) = (gateway(1), gateway(2));
    let route = route(HeaderName::from_static("x-internal"), 60);
    let value = one.value(&route, &given::robot(), TOKEN, NOW).unwrap();
    let token = value.to_str().unwrap();
    assert_eq!(decode_header(token).unwrap().kid, Some(nameless.thumbprint().unwrap()));
    assert_eq!(verified(&other, token)["client_id"], "shop-app");
    let published: Value = serde_json::from_slice(&other.jwks()).unwrap();
    assert_eq!(published["keys"][0]["alg"], "ES256");
}

#[test]
fn it_does_not_outlive_the_token_it_was_made_from() {
    let (signer, route) = (signer(), route(HeaderName::from_static("x-internal"), 6_000));
    let value = signer.value(&route, &given::alice(None), TOKEN, NOW).unwrap();
    assert_eq!(verified(&signer, value.to_str().unwrap())["exp"], json!(given::EXPIRY.as_secs()));
}

#[test]
fn one_made_from_a_token_that_the_clock_of_its_issuer_has_ended_holds_for_as_long_as_that_is_taken() {
    let (signer, route) = (signer(), route(HeaderName::from_static("x-internal"), 60));
    for (token, taken_until, end) in [(1, 1_020_000, 1020), (2, 1_000_400, 1001), (3, 1_900_000, 1060)] {
        let Caller::Foreign(mut bob) = given::bob(json!({})) else {
            unreachable!("bob's is another issuer's")
        };
        bob.expires_at = NOW - Lifetime::secs(10);
        bob.taken_until = Timestamp::from_millis(taken_until);
        let value = signer.value(&route, &Caller::Foreign(bob), [token; 32], NOW).unwrap();
        let claims = verified(&signer, value.to_str().unwrap());
        assert_eq!((&claims["iat"], &claims["exp"]), (&json!(1000), &json!(end)));
    }
}

#[test]
fn one_is_signed_anew_after_half_its_life() {
    let (signer, route, alice) = (signer(), route(AUTHORIZATION, 60), given::alice(None));
    let at = |secs| signer.value(&route, &alice, TOKEN, NOW + Lifetime::secs(secs)).unwrap();
    let first = at(0);
    assert_eq!(at(29), first);
    let second = at(30);
    assert_ne!(second, first);
    assert_eq!(at(59), second);
}

#[test]
fn no_other_token_and_no_other_route_gets_it() {
    let (signer, orders, alice) = (signer(), route(AUTHORIZATION, 60), given::alice(None));
    let first = signer.value(&orders, &alice, TOKEN, NOW).unwrap();
    assert_ne!(signer.value(&orders, &alice, [8; 32], NOW).unwrap(), first);
    assert_ne!(signer.value(&route(AUTHORIZATION, 60), &alice, TOKEN, NOW).unwrap(), first);
    assert_eq!(signer.value(&orders, &alice, TOKEN, NOW).unwrap(), first);
}

#[test]
fn no_more_are_kept_than_there_is_room_for() {
    let (signer, route) = (signer().keeping(NonZeroUsize::new(8).unwrap()), route(AUTHORIZATION, 60));
    for token in 0..100 {
        assert!(signer.value(&route, &given::robot(), [token; 32], NOW).is_some());
    }
    assert!(signer.signed.len() <= 8);
}

#[test]
fn a_route_without_a_phantom_token_gets_none() {
    let plain = given::route(RoutePolicy::default(), given::ordinary());
    assert_eq!(signer().value(&plain, &given::alice(None), TOKEN, NOW), None);
}

#[test]
fn the_public_keys_hold_nothing_private() {
    let jwks: Value = serde_json::from_slice(&signer().jwks()).unwrap();
    let key = jwks["keys"][0].as_object().unwrap();
    assert!(key.contains_key("kid") && !key.contains_key("d"));
}
