use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use serde_json::json;
use sluice_crypto::jwk::{MacAlgorithm, SigningAlgorithm};
use sluice_crypto::jws::sign_hmac;
use sluice_primitives::Lifetime;
use sluice_testkit::Captured;

use crate::validation::fake::{
    CLIENT, FakeIssuer, Mood, START, World, changed, key, refusing, settled, signed,
};
use crate::validation::{IssuerConfig, JwtConfig, KeySource, TokenFault};

const ONE: &[&str] = &["one"];

/// An issuer whose old keys serve for two hours.
async fn issuer_kept_for_two_hours() -> (Arc<FakeIssuer>, World) {
    let issuer = FakeIssuer::start().await;
    let jwt = JwtConfig {
        keep_keys: Duration::from_hours(2),
        timeout: Duration::from_millis(300),
        ..JwtConfig::default()
    };
    let world = World::new(&[IssuerConfig { jwt: Some(jwt), ..issuer.of_jwts("one") }]);
    (issuer, world)
}

#[tokio::test]
async fn a_token_is_verified_with_keys_that_were_discovered() {
    for path in ["/.well-known/openid-configuration", "/.well-known/oauth-authorization-server"] {
        let issuer = FakeIssuer::start().await;
        *issuer.metadata_path.lock() = path;
        let world = World::new(&[issuer.of_jwts("one")]);
        let caller = world.validate(ONE, &issuer.token(&json!({}))).await.unwrap();
        assert_eq!(
            (caller.subject(), caller.client(), caller.scope()),
            (Some("alice"), Some("shop"), "read")
        );
        assert!(world.at_once(ONE, &issuer.token(&json!({ "sub": "bob" }))).unwrap().is_ok());
        assert_eq!(issuer.keys_asked(), 1);
    }
}

#[tokio::test]
async fn metadata_of_another_issuer_are_not_believed() {
    let issuer = FakeIssuer::start().await;
    *issuer.claimed_issuer.lock() = Some("https://other.example".to_owned());
    let world = World::new(&[issuer.of_jwts("one")]);
    assert_eq!(world.validate(ONE, &issuer.token(&json!({}))).await, Err(TokenFault::Unreachable));
    assert_eq!(issuer.keys_asked(), 0);
}

#[tokio::test]
async fn keys_that_metadata_place_on_another_machine_are_fetched_over_https_alone() {
    let (log, _guard) = Captured::begin();
    let issuer = FakeIssuer::start().await;
    *issuer.claimed_jwks_uri.lock() = Some("http://192.0.2.1/jwks".to_owned());
    let world = World::new(&[issuer.of_jwts("one")]);
    assert_eq!(world.validate(ONE, &issuer.token(&json!({}))).await, Err(TokenFault::Unreachable));
    let said = log.lines("the keys of an issuer could not be fetched");
    assert!(matches!(&said[..], [why] if why.contains("the URL is not https")), "{said:?}");
}

#[tokio::test]
async fn a_key_set_may_be_configured_itself() {
    let issuer = FakeIssuer::start().await;
    let keys = KeySource::JwksUri(format!("{}/jwks", issuer.url).parse().unwrap());
    let jwt = Some(JwtConfig { keys, ..JwtConfig::default() });
    let world = World::new(&[IssuerConfig { jwt, ..IssuerConfig::new("one", "urn:one") }]);
    let token = issuer.token(&json!({ "iss": "urn:one" }));
    assert!(world.validate(ONE, &token).await.is_ok());
    assert_eq!(world.validate(ONE, &issuer.token(&json!({}))).await, Err(TokenFault::WrongIssuer));
}

#[tokio::test]
async fn forged_tokens_and_confused_algorithms_are_refused() {
    let issuer = FakeIssuer::start().await;
    let rsa = key("rsa", SigningAlgorithm::RS256);
    issuer.keys.lock().push(rsa.clone());
    let jwt = JwtConfig { algorithms: vec![SigningAlgorithm::ES256], ..JwtConfig::default() };
    let world = World::new(&[IssuerConfig { jwt: Some(jwt), ..issuer.of_jwts("one") }]);
    let good = issuer.token(&json!({}));
    assert!(world.validate(ONE, &good).await.is_ok());
    let (_, rest) = good.split_once('.').unwrap();
    let (payload, _) = rest.split_once('.').unwrap();
    // `{"alg":"none"}`
    let none = format!("eyJhbGciOiJub25lIn0.{payload}.");
    let public = serde_json::to_vec(&issuer.keys.lock()[0].public()).unwrap();
    let payload_json = issuer.claims().to_string();
    let shared = sign_hmac(Some("at+jwt"), payload_json.as_bytes(), &public, MacAlgorithm::HS256);
    let twin = key("another", SigningAlgorithm::ES256);
    let twin = sluice_crypto::jwk::Jwk { kid: Some("one".to_owned()), ..twin };
    for (token, why) in [
        (none, "no signature"),
        (shared.unwrap(), "a shared secret"),
        (signed(&rsa, Some("at+jwt"), &issuer.claims()), "an algorithm that is not allowed"),
        (signed(&twin, Some("at+jwt"), &issuer.claims()), "another key of the same name"),
        (signed(&key("one", SigningAlgorithm::ES256), Some("dpop+jwt"), &issuer.claims()), "no access token"),
        (issuer.token(&json!({ "exp": null })), "without an end"),
    ] {
        assert_eq!(world.validate(ONE, &token).await, Err(TokenFault::NotAuthentic), "{why}");
    }
    assert_eq!(issuer.keys_asked(), 1);
}

#[tokio::test]
async fn what_is_configured_otherwise_is_told_apart_from_what_is_forged() {
    let issuer = FakeIssuer::start().await;
    let audience = vec!["orders".to_owned()];
    let world = World::new(&[IssuerConfig { audience, ..issuer.of_jwts("one") }]);
    for (change, fault) in [
        (json!({ "iss": "https://other.example" }), TokenFault::WrongIssuer),
        (json!({ "iss": format!("{}/", issuer.url) }), TokenFault::WrongIssuer),
        (json!({ "iss": null }), TokenFault::NotAuthentic),
        (json!({ "aud": "billing" }), TokenFault::WrongAudience),
        (json!({ "aud": null }), TokenFault::WrongAudience),
        (json!({ "long": "x".repeat(16 * 1024) }), TokenFault::TooLong),
    ] {
        assert_eq!(world.validate(ONE, &issuer.token(&change)).await, Err(fault), "{change}");
    }
    assert!(world.validate(ONE, &issuer.token(&json!({}))).await.is_ok());
}

#[tokio::test]
async fn who_needs_the_keys_at_once_shares_one_question() {
    let issuer = FakeIssuer::start().await;
    *issuer.mood.lock() = Mood::Waiting;
    let world = World::new(&[issuer.of_jwts("one")]);
    let policy = world.policy(ONE);
    let tokens: Vec<_> = (0..20).map(|n| issuer.token(&json!({ "sub": format!("user-{n}") }))).collect();
    let waiting: Vec<_> = tokens.iter().map(|token| settled(world.asked(&policy, token, CLIENT))).collect();
    issuer.gate.add_permits(2);
    for (number, outcome) in join_all(waiting).await.into_iter().enumerate() {
        assert_eq!(outcome.unwrap().subject(), Some(format!("user-{number}").as_str()));
    }
    assert_eq!(issuer.keys_asked(), 1);
}

#[tokio::test]
async fn keys_of_before_the_clock_was_set_back_are_renewed_and_new_ones_asked_for() {
    let issuer = FakeIssuer::start().await;
    let world = World::new(&[issuer.of_jwts("one")]);
    let lasting = json!({ "exp": START.as_secs() + 100_000 });
    world.clock.advance(Lifetime::hours(5));
    assert!(world.validate(ONE, &issuer.token(&lasting)).await.is_ok());
    world.clock.set(START);
    let two = key("two", SigningAlgorithm::ES256);
    *issuer.keys.lock() = vec![two.clone()];
    let new = signed(&two, Some("at+jwt"), &issuer.claims());
    assert!(world.validate(ONE, &new).await.is_ok());
    assert_eq!(issuer.keys_asked(), 2);
}

#[tokio::test]
async fn a_new_key_is_fetched_when_a_token_names_it_but_not_too_often() {
    let issuer = FakeIssuer::start().await;
    let world = World::new(&[issuer.of_jwts("one")]);
    let old = issuer.token(&json!({}));
    assert!(world.validate(ONE, &old).await.is_ok());
    let two = key("two", SigningAlgorithm::ES256);
    *issuer.keys.lock() = vec![two.clone()];
    let new = signed(&two, Some("at+jwt"), &issuer.claims());
    assert_eq!(world.validate(ONE, &new).await, Err(TokenFault::NotAuthentic), "asked a moment ago");
    world.clock.advance(Lifetime::secs(10));
    assert!(world.validate(ONE, &new).await.is_ok());
    assert_eq!(issuer.keys_asked(), 2);
    assert_eq!(world.validate(ONE, &old).await, Err(TokenFault::NotAuthentic), "its key is gone");
    let unknown = signed(&key("three", SigningAlgorithm::ES256), Some("at+jwt"), &issuer.claims());
    for _ in 0..50 {
        assert_eq!(world.validate(ONE, &unknown).await, Err(TokenFault::NotAuthentic));
    }
    assert_eq!(issuer.keys_asked(), 2);
}

#[tokio::test]
async fn keys_without_names_are_fetched_again_too() {
    let issuer = FakeIssuer::start().await;
    let nameless = |kid| sluice_crypto::jwk::Jwk { kid: None, ..key(kid, SigningAlgorithm::ES256) };
    *issuer.keys.lock() = vec![nameless("one")];
    let world = World::new(&[issuer.of_jwts("one")]);
    let token = |kid| signed(&nameless(kid), Some("at+jwt"), &issuer.claims());
    assert!(world.validate(ONE, &token("one")).await.is_ok());
    *issuer.keys.lock() = vec![nameless("two")];
    world.clock.advance(Lifetime::secs(10));
    assert!(world.validate(ONE, &token("two")).await.is_ok());
}

#[tokio::test]
async fn a_key_that_has_the_name_of_the_one_before_is_fetched_when_a_token_is_signed_with_it() {
    let issuer = FakeIssuer::start().await;
    let world = World::new(&[issuer.of_jwts("one")]);
    let old = issuer.token(&json!({}));
    assert!(world.validate(ONE, &old).await.is_ok());
    let another = key("another", SigningAlgorithm::ES256);
    let replaced = sluice_crypto::jwk::Jwk { kid: Some("one".to_owned()), ..another };
    *issuer.keys.lock() = vec![replaced.clone()];
    let new = signed(&replaced, Some("at+jwt"), &issuer.claims());
    assert_eq!(world.validate(ONE, &new).await, Err(TokenFault::NotAuthentic), "asked a moment ago");
    world.clock.advance(Lifetime::secs(10));
    assert!(world.validate(ONE, &new).await.is_ok());
    assert_eq!(world.validate(ONE, &old).await, Err(TokenFault::NotAuthentic), "its key is gone");
    assert_eq!(issuer.keys_asked(), 2);
}

#[tokio::test]
async fn keys_are_kept_for_an_hour_at_most_whatever_their_issuer_says() {
    let issuer = FakeIssuer::start().await;
    issuer.max_age.store(86_400, Ordering::SeqCst);
    let world = World::new(&[issuer.of_jwts("one")]);
    let token = issuer.token(&json!({ "exp": 2_000_000_000 }));
    assert!(world.validate(ONE, &token).await.is_ok());
    *issuer.keys.lock() = vec![key("two", SigningAlgorithm::ES256)];
    world.clock.advance(Lifetime::minutes(44));
    assert!(world.at_once(ONE, &token).unwrap().is_ok(), "the keys are fresh");
    world.clock.advance(Lifetime::minutes(16));
    assert_eq!(world.validate(ONE, &token).await, Err(TokenFault::NotAuthentic));
}

#[tokio::test]
async fn keys_are_renewed_behind_the_requests_when_somebody_says_so() {
    let issuer = FakeIssuer::start().await;
    let world = World::new(&[issuer.of_jwts("one")]);
    world.validation.renew_keys();
    let token = issuer.token(&json!({}));
    assert!(world.validate(ONE, &token).await.is_ok());
    assert_eq!(issuer.keys_asked(), 1, "the first ones come with a token");
    *issuer.keys.lock() = vec![key("two", SigningAlgorithm::ES256)];
    *issuer.mood.lock() = Mood::Waiting;
    world.validation.renew_keys();
    assert!(world.at_once(ONE, &token).unwrap().is_ok(), "the old ones serve until others are there");
    issuer.gate.add_permits(2);
    let refused = async {
        while world.validate(ONE, &token).await.is_ok() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), refused).await.unwrap();
    assert_eq!(issuer.keys_asked(), 2);
}

#[tokio::test]
async fn an_issuer_that_has_never_answered_is_asked_again_when_somebody_says_so_and_the_log_tells() {
    let (log, _guard) = Captured::begin();
    let issuer = FakeIssuer::start().await;
    *issuer.mood.lock() = Mood::Broken;
    let world = World::new(&[issuer.of_jwts("one")]);
    let token = issuer.token(&json!({}));
    assert_eq!(world.validate(ONE, &token).await, Err(TokenFault::Unreachable));
    *issuer.mood.lock() = Mood::Well;
    world.validation.renew_keys();
    let refused = async {
        while world.validate(ONE, &token).await.is_err() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), refused).await.unwrap();
    let said = log.lines("the keys of an issuer could be fetched again");
    assert!(matches!(&said[..], [line] if line.contains("issuer.name=one")), "{said:?}");
}

#[tokio::test]
async fn keys_are_renewed_before_they_are_too_old_while_requests_go_on() {
    let issuer = FakeIssuer::start().await;
    let world = World::new(&[issuer.of_jwts("one")]);
    assert!(world.validate(ONE, &issuer.token(&json!({ "sub": "0" }))).await.is_ok());
    world.clock.advance(Lifetime::secs(449));
    assert!(world.at_once(ONE, &issuer.token(&json!({ "sub": "1" }))).unwrap().is_ok());
    *issuer.mood.lock() = Mood::Waiting;
    world.clock.advance(Lifetime::secs(1));
    assert!(world.at_once(ONE, &issuer.token(&json!({ "sub": "2" }))).unwrap().is_ok());
    issuer.gate.add_permits(2);
    while issuer.keys_asked() < 2 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn old_keys_serve_while_their_issuer_is_out_of_reach_but_not_for_ever() {
    let (issuer, world) = issuer_kept_for_two_hours().await;
    let token = |sub: &str| issuer.token(&json!({ "sub": sub, "exp": 2_000_000_000 }));
    assert!(world.validate(ONE, &token("0")).await.is_ok());
    *issuer.mood.lock() = Mood::Broken;
    world.clock.advance(Lifetime::minutes(30));
    assert!(world.validate(ONE, &token("1")).await.is_ok(), "after one attempt");
    assert!(world.at_once(ONE, &token("2")).unwrap().is_ok(), "nobody waits any more");
    let unknown = signed(&key("three", SigningAlgorithm::ES256), Some("at+jwt"), &issuer.claims());
    assert_eq!(world.validate(ONE, &unknown).await, Err(TokenFault::Unreachable), "it may be a new key");
    world.clock.advance(Lifetime::minutes(90));
    assert_eq!(world.validate(ONE, &token("3")).await, Err(TokenFault::Unreachable));
    *issuer.mood.lock() = Mood::Well;
    world.clock.advance(Lifetime::secs(10));
    assert!(world.validate(ONE, &token("3")).await.is_ok());
}

#[tokio::test]
async fn an_issuer_that_does_not_answer_is_given_up_in_time_and_left_alone_for_a_moment() {
    for mood in [Mood::Silent, Mood::Broken] {
        let issuer = FakeIssuer::start().await;
        *issuer.mood.lock() = mood;
        let world = World::new(&[issuer.of_jwts("one")]);
        let began = Instant::now();
        assert_eq!(world.validate(ONE, &issuer.token(&json!({}))).await, Err(TokenFault::Unreachable));
        assert!(began.elapsed() < Duration::from_secs(3));
        assert_eq!(world.at_once(ONE, &issuer.token(&json!({}))), Some(Err(TokenFault::Unreachable)));
        *issuer.mood.lock() = Mood::Well;
        world.clock.advance(Lifetime::secs(10));
        assert!(world.validate(ONE, &issuer.token(&json!({}))).await.is_ok());
    }
}

#[tokio::test]
async fn why_keys_could_not_be_fetched_is_logged_and_not_the_url_with_its_secrets() {
    let (log, _guard) = Captured::begin();
    let (_socket, url) = refusing();
    let keys = KeySource::JwksUri(format!("{url}/keys?key=s3cret").parse().unwrap());
    let jwt = Some(JwtConfig { keys, ..JwtConfig::default() });
    let world = World::new(&[IssuerConfig { jwt, ..IssuerConfig::new("one", "urn:one") }]);
    let token = signed(&key("one", SigningAlgorithm::ES256), Some("at+jwt"), &json!({ "iss": "urn:one" }));
    assert_eq!(world.validate(ONE, &token).await, Err(TokenFault::Unreachable));
    let said = log.lines("the keys of an issuer could not be fetched");
    let [why] = said.as_slice() else { panic!("{said:?}") };
    assert!(why.contains("issuer.name=one") && why.contains("Connection refused"), "{why}");
    assert!(!why.contains("s3cret"), "{why}");
}

#[tokio::test]
async fn keys_that_come_again_unchanged_spare_verifications_as_before() {
    let issuer = FakeIssuer::start().await;
    issuer.max_age.store(0, Ordering::SeqCst);
    let world = World::new(&[issuer.of_jwts("one")]);
    let token = issuer.token(&json!({}));
    assert!(world.validate(ONE, &token).await.is_ok());
    world.clock.advance(Lifetime::secs(61));
    let other = issuer.token(&changed(json!({}), &json!({ "sub": "bob" })));
    assert!(world.validate(ONE, &other).await.is_ok());
    assert_eq!(issuer.keys_asked(), 2, "a minute at least, whatever max-age says");
    assert!(world.at_once(ONE, &token).unwrap().is_ok());
    let cache = world.validation.cache();
    assert_eq!((cache.hits(), cache.misses()), (1, 2));
}

#[tokio::test]
async fn a_token_that_is_remembered_does_not_outlive_the_keys_of_an_issuer_that_is_out_of_reach() {
    let (issuer, world) = issuer_kept_for_two_hours().await;
    let token = issuer.token(&json!({ "exp": 2_000_000_000 }));
    assert!(world.validate(ONE, &token).await.is_ok());
    *issuer.mood.lock() = Mood::Broken;
    world.clock.advance(Lifetime::minutes(30));
    assert!(world.validate(ONE, &token).await.is_ok(), "after one attempt");
    assert!(world.at_once(ONE, &token).unwrap().is_ok(), "nobody waits any more");
    world.clock.advance(Lifetime::minutes(90));
    assert_eq!(world.validate(ONE, &token).await, Err(TokenFault::Unreachable));
    assert_eq!(world.at_once(ONE, &token), Some(Err(TokenFault::Unreachable)));
    *issuer.mood.lock() = Mood::Well;
    world.clock.advance(Lifetime::secs(10));
    assert!(world.validate(ONE, &token).await.is_ok());
}

#[tokio::test]
async fn a_token_that_is_remembered_does_not_outlive_its_key() {
    let issuer = FakeIssuer::start().await;
    let world = World::new(&[issuer.of_jwts("one")]);
    let token = issuer.token(&json!({}));
    assert!(world.validate(ONE, &token).await.is_ok());
    *issuer.keys.lock() = vec![key("two", SigningAlgorithm::ES256)];
    world.clock.advance(Lifetime::secs(449));
    assert!(world.at_once(ONE, &token).unwrap().is_ok(), "the keys are fresh");
    assert_eq!(issuer.keys_asked(), 1);
    world.clock.advance(Lifetime::secs(151));
    assert_eq!(world.validate(ONE, &token).await, Err(TokenFault::NotAuthentic));
    assert_eq!(issuer.keys_asked(), 2);
}

#[tokio::test]
async fn a_token_that_is_remembered_has_the_keys_of_its_issuer_renewed_while_it_goes_on() {
    let issuer = FakeIssuer::start().await;
    let world = World::new(&[issuer.of_jwts("one")]);
    let token = issuer.token(&json!({}));
    assert!(world.validate(ONE, &token).await.is_ok());
    *issuer.keys.lock() = vec![key("two", SigningAlgorithm::ES256)];
    world.clock.advance(Lifetime::secs(450));
    assert!(world.at_once(ONE, &token).unwrap().is_ok(), "nobody waits for that");
    let refused = async {
        while world.validate(ONE, &token).await.is_ok() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), refused).await.unwrap();
    assert_eq!(issuer.keys_asked(), 2);
}
