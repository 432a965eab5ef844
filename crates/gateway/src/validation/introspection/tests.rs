use std::net::IpAddr;
use std::num::NonZeroU32;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use futures_util::future::{join, join_all};
use http::HeaderMap;
use http::header::AUTHORIZATION;
use serde_json::json;
use sluice_primitives::{Lifetime, Secret};
use sluice_testkit::Captured;

use crate::enrichment::headers::set_identity;
use crate::validation::fake::{CLIENT, FakeIssuer, Mood, START, World, refusing, settled};
use crate::validation::{IntrospectionClient, IntrospectionConfig, IssuerConfig, TokenFault};

const ONE: &[&str] = &["one"];

fn with(
    issuer: &FakeIssuer,
    change: impl FnOnce(IntrospectionConfig) -> IntrospectionConfig,
) -> IssuerConfig {
    let config = issuer.of_opaque("one");
    IssuerConfig { introspection: config.introspection.map(change), ..config }
}

#[tokio::test]
async fn an_issuer_is_asked_once_in_a_while_whatever_it_says() {
    let issuer = FakeIssuer::start().await;
    let world = World::new(&[issuer.of_opaque("one")]);
    issuer
        .tokens
        .lock()
        .insert("good".to_owned(), json!({ "active": true, "sub": "alice", "scope": "read" }));
    for (token, holds) in [("good", true), ("bad", false)] {
        let before = issuer.tokens_asked();
        assert_eq!(world.validate(ONE, token).await.is_ok(), holds);
        world.clock.advance(Lifetime::millis(9_999));
        assert_eq!(world.at_once(ONE, token).unwrap().is_ok(), holds);
        assert_eq!(issuer.tokens_asked(), before + 1);
        world.clock.advance(Lifetime::millis(1));
        assert_eq!(world.validate(ONE, token).await.is_ok(), holds);
        assert_eq!(issuer.tokens_asked(), before + 2);
    }
    issuer.tokens.lock().remove("good");
    world.clock.advance(Lifetime::secs(10));
    assert_eq!(world.validate(ONE, "good").await, Err(TokenFault::Revoked));
    let stats = world.validation.introspection_stats().remove(0);
    assert_eq!((&*stats.issuer, stats.asked, stats.failed, stats.spared), ("one", 5, 0, 2));
}

#[tokio::test]
async fn questions_about_many_tokens_go_over_one_connection() {
    let issuer = FakeIssuer::start().await;
    let world = World::new(&[issuer.of_opaque("one")]);
    for number in 0..50 {
        let token = format!("token-{number}");
        issuer.tokens.lock().insert(token.clone(), json!({ "active": true, "sub": "alice" }));
        assert!(world.validate(ONE, &token).await.is_ok());
    }
    assert_eq!((issuer.tokens_asked(), issuer.connections.load(Ordering::SeqCst)), (50, 1));
}

#[tokio::test]
async fn an_answer_is_not_believed_beyond_the_end_of_its_token() {
    let issuer = FakeIssuer::start().await;
    let world = World::new(&[issuer.of_opaque("one")]);
    let ends = START.as_secs() + 5;
    issuer.tokens.lock().insert("good".to_owned(), json!({ "active": true, "exp": ends }));
    assert!(world.validate(ONE, "good").await.is_ok());
    issuer.tokens.lock().remove("good");
    world.clock.advance(Lifetime::millis(4_999));
    assert!(world.validate(ONE, "good").await.is_ok());
    world.clock.advance(Lifetime::millis(1));
    assert_eq!(world.validate(ONE, "good").await, Err(TokenFault::Revoked));
}

#[tokio::test]
async fn nothing_is_remembered_where_nothing_may_be() {
    let issuer = FakeIssuer::start().await;
    let never =
        |config| IntrospectionConfig { cache: Duration::ZERO, negative_cache: Duration::ZERO, ..config };
    let world = World::new(&[with(&issuer, never)]);
    issuer.tokens.lock().insert("good".to_owned(), json!({ "active": true }));
    for number in 1..=3 {
        assert!(world.validate(ONE, "good").await.is_ok());
        assert!(world.validate(ONE, "bad").await.is_err());
        assert_eq!(issuer.tokens_asked(), 2 * number);
    }
}

#[tokio::test]
async fn who_asks_about_the_same_token_at_once_shares_one_question() {
    let issuer = FakeIssuer::start().await;
    *issuer.mood.lock() = Mood::Waiting;
    let world = World::new(&[issuer.of_opaque("one")]);
    for token in ["a", "b"] {
        issuer.tokens.lock().insert(token.to_owned(), json!({ "active": true, "sub": token }));
    }
    let policy = world.policy(ONE);
    let asked = (0..40).map(|number| if number % 2 == 0 { "a" } else { "b" });
    let waiting: Vec<_> = asked.clone().map(|token| settled(world.asked(&policy, token, CLIENT))).collect();
    issuer.gate.add_permits(2);
    for (token, outcome) in asked.zip(join_all(waiting).await) {
        assert_eq!(outcome.unwrap().subject(), Some(token), "nobody gets the answer about another token");
    }
    assert_eq!(issuer.tokens_asked(), 2);
}

#[tokio::test]
async fn an_issuer_that_does_not_answer_is_given_up_in_time_and_nothing_is_remembered() {
    let issuer = FakeIssuer::start().await;
    let world = World::new(&[issuer.of_opaque("one")]);
    issuer.tokens.lock().insert("good".to_owned(), json!({ "active": true }));
    for mood in [Mood::Silent, Mood::Broken] {
        *issuer.mood.lock() = mood;
        let began = Instant::now();
        assert_eq!(world.validate(ONE, "good").await, Err(TokenFault::Unreachable));
        assert!(began.elapsed() < Duration::from_secs(3));
    }
    *issuer.mood.lock() = Mood::Well;
    assert!(world.validate(ONE, "good").await.is_ok());
    let stats = world.validation.introspection_stats().remove(0);
    assert_eq!((stats.asked, stats.failed), (3, 2));
}

/// oidc-provider answers so about JWTs, which anybody can make.
#[tokio::test]
async fn an_issuer_that_complains_about_the_token_has_answered() {
    let (log, _guard) = Captured::begin();
    let issuer = FakeIssuer::start().await;
    let world = World::new(&[issuer.of_opaque("one")]);
    for (asked, error) in (1..).zip(["unsupported_token_type", "invalid_token"]) {
        *issuer.mood.lock() = Mood::Complaining(400, error);
        for _ in 0..2 {
            assert_eq!(world.validate(ONE, error).await, Err(TokenFault::NotAuthentic), "{error}");
            assert_eq!(issuer.tokens_asked(), asked, "{error}: it is remembered");
        }
    }
    assert_eq!(log.lines("an issuer does not answer about tokens").len(), 0);
    assert_eq!(world.validation.introspection_stats().remove(0).failed, 0);
    for (status, error) in [
        (400, "invalid_client"),
        (400, "invalid_request"),
        (401, "invalid_token"),
        (403, "invalid_token"),
        (408, "invalid_token"),
        (429, "invalid_token"),
        (500, "invalid_token"),
    ] {
        *issuer.mood.lock() = Mood::Complaining(status, error);
        let outcome = world.validate(ONE, "another").await;
        assert_eq!(outcome, Err(TokenFault::Unreachable), "{status} {error}");
    }
    assert_eq!(log.lines("an issuer does not answer about tokens").len(), 1);
}

#[tokio::test]
async fn a_complaint_about_a_token_that_anybody_made_up_does_not_say_that_an_issuer_is_well_again() {
    let (log, _guard) = Captured::begin();
    let issuer = FakeIssuer::start().await;
    let world = World::new(&[issuer.of_opaque("one")]);
    let complaining = Mood::Complaining(400, "invalid_token");
    for (token, mood, fault) in [
        ("a", Mood::Broken, TokenFault::Unreachable),
        ("b", complaining, TokenFault::NotAuthentic),
        ("c", Mood::Broken, TokenFault::Unreachable),
        ("d", complaining, TokenFault::NotAuthentic),
    ] {
        *issuer.mood.lock() = mood;
        assert_eq!(world.validate(ONE, token).await, Err(fault), "{token}");
    }
    assert_eq!(log.lines("an issuer does not answer about tokens").len(), 1);
    assert_eq!(log.lines("an issuer answers about tokens again").len(), 0);
    let stats = world.validation.introspection_stats().remove(0);
    assert_eq!((stats.asked, stats.failed), (4, 2));
    *issuer.mood.lock() = Mood::Well;
    assert_eq!(world.validate(ONE, "e").await, Err(TokenFault::Revoked));
    assert_eq!(log.lines("an issuer answers about tokens again").len(), 1);
}

/// Its answer tells more than that of an issuer that has never seen the token.
#[tokio::test]
async fn what_the_issuer_says_that_knows_a_token_is_told_whoever_is_asked_after_it() {
    let (one, two) = (FakeIssuer::start().await, FakeIssuer::start().await);
    let audience = vec!["orders".to_owned()];
    let world = World::new(&[IssuerConfig { audience, ..one.of_opaque("one") }, two.of_opaque("two")]);
    for (answer, fault) in [
        (json!({ "active": true, "aud": "billing" }), TokenFault::WrongAudience),
        (json!({ "active": true, "iss": "https://other.example" }), TokenFault::WrongIssuer),
    ] {
        let token = fault.reason();
        one.tokens.lock().insert(token.to_owned(), answer);
        for issuers in [["one", "two"], ["two", "one"]] {
            assert_eq!(world.validate(&issuers, token).await, Err(fault), "{issuers:?}");
        }
    }
    *two.mood.lock() = Mood::Broken;
    one.tokens.lock().insert("unknown".to_owned(), json!({ "active": true, "aud": "billing" }));
    assert_eq!(world.validate(&["one", "two"], "unknown").await, Err(TokenFault::Unreachable));
}

#[tokio::test]
async fn why_an_issuer_does_not_answer_is_logged_and_not_the_url_with_its_secrets() {
    let (log, _guard) = Captured::begin();
    let (_socket, url) = refusing();
    let endpoint = format!("{url}/introspect?key=s3cret").parse().unwrap();
    let introspection = Some(IntrospectionConfig::new(endpoint, IntrospectionClient::None));
    let world = World::new(&[IssuerConfig { introspection, ..IssuerConfig::new("one", "") }]);
    for token in ["a", "b"] {
        assert_eq!(world.validate(ONE, token).await, Err(TokenFault::Unreachable));
    }
    let said = log.lines("an issuer does not answer about tokens");
    let [why] = said.as_slice() else { panic!("{said:?}") };
    assert!(why.contains("issuer.name=one") && why.contains("Connection refused"), "{why}");
    assert!(!why.contains("s3cret"), "{why}");
}

#[tokio::test]
async fn questions_do_not_pile_up_at_an_issuer_that_does_not_answer() {
    let issuer = FakeIssuer::start().await;
    *issuer.mood.lock() = Mood::Silent;
    let two = |config| IntrospectionConfig { concurrency: NonZeroU32::new(2).unwrap(), ..config };
    let world = World::new(&[with(&issuer, two)]);
    let policy = world.policy(ONE);
    let asked = [("a", 1), ("b", 2), ("a", 1), ("c", 3), ("d", 1)];
    let asking = asked.map(|(token, client)| settled(world.asked(&policy, token, address(client))));
    let busy = Err(TokenFault::Busy);
    let lost = Err(TokenFault::Unreachable);
    assert_eq!(join_all(asking).await, [lost.clone(), lost.clone(), lost, busy.clone(), busy]);
    assert!(issuer.tokens_asked() <= 2);
    *issuer.mood.lock() = Mood::Well;
    assert_eq!(world.validate(ONE, "d").await, Err(TokenFault::Revoked), "there is room again");
}

fn address(last: u8) -> IpAddr {
    [192, 0, 2, last].into()
}

#[tokio::test]
async fn a_flood_of_made_up_tokens_from_one_address_keeps_nobody_elses_from_being_asked_about() {
    let issuer = FakeIssuer::start().await;
    *issuer.mood.lock() = Mood::Waiting;
    let some = |config| IntrospectionConfig {
        concurrency: NonZeroU32::new(32).unwrap(),
        timeout: Duration::from_secs(20),
        ..config
    };
    let world = World::new(&[with(&issuer, some)]);
    issuer.tokens.lock().insert("good".to_owned(), json!({ "active": true, "sub": "alice" }));
    let policy = world.policy(ONE);
    let flood: Vec<_> = (0..1_000).map(|number| format!("made-up-{number}")).collect();
    let flood = flood.iter().map(|token| settled(world.asked(&policy, token, address(1))));
    let good = async {
        let asked = settled(world.asked(&policy, "good", address(2)));
        issuer.gate.add_permits(1_001);
        asked.await
    };
    let (flood, good) = join(join_all(flood), good).await;
    assert_eq!(good.unwrap().subject(), Some("alice"));
    let refused = flood.iter().filter(|outcome| **outcome == Err(TokenFault::Busy)).count();
    assert_eq!((refused, issuer.tokens_asked()), (1_000 - 16, 17), "half of the places, and one");
}

#[tokio::test]
async fn what_no_issuer_can_have_issued_is_not_asked_about() {
    let issuer = FakeIssuer::start().await;
    let world = World::new(&[issuer.of_opaque("one")]);
    for token in ["", "a b", "a\u{e9}", "=", "a=b"] {
        assert_eq!(world.at_once(ONE, token), Some(Err(TokenFault::NotAuthentic)), "{token}");
    }
    assert_eq!(world.at_once(ONE, &"x".repeat(16 * 1024 + 1)), Some(Err(TokenFault::TooLong)));
    assert_eq!(issuer.tokens_asked(), 0);
}

#[tokio::test]
async fn an_answer_of_a_time_that_is_yet_to_come_is_not_believed() {
    let issuer = FakeIssuer::start().await;
    let world = World::new(&[issuer.of_opaque("one")]);
    issuer.tokens.lock().insert("good".to_owned(), json!({ "active": true }));
    world.clock.advance(Lifetime::hours(5));
    assert!(world.validate(ONE, "good").await.is_ok());
    issuer.tokens.lock().remove("good");
    world.clock.set(START);
    assert_eq!(world.validate(ONE, "good").await, Err(TokenFault::Revoked));
    assert_eq!(issuer.tokens_asked(), 2);
}

#[tokio::test]
async fn a_question_is_answered_though_who_asked_has_gone() {
    let issuer = FakeIssuer::start().await;
    let world = World::new(&[issuer.of_opaque("one")]);
    issuer.tokens.lock().insert("good".to_owned(), json!({ "active": true }));
    drop(world.asked(&world.policy(ONE), "good", CLIENT));
    let asked = settled(world.asked(&world.policy(ONE), "good", CLIENT));
    assert!(asked.now_or_never().is_none(), "asked, and gone");
    assert!(world.validate(ONE, "good").await.is_ok());
    assert_eq!(issuer.tokens_asked(), 1, "nobody is asked before somebody waits");
}

#[tokio::test]
async fn the_gateway_says_who_it_is_as_it_is_configured() {
    let secret = || Secret::new("s:cret &".to_owned());
    for (client, authorization, form) in [
        (IntrospectionClient::None, None, "token=t.1%2F&token_type_hint=access_token"),
        (
            // `gate+way:s%3Acret+%26`
            IntrospectionClient::Basic("gate way".to_owned(), secret()),
            Some("Basic Z2F0ZSt3YXk6cyUzQWNyZXQrJTI2"),
            "token=t.1%2F&token_type_hint=access_token",
        ),
        (
            IntrospectionClient::Post("gate way".to_owned(), secret()),
            None,
            "client_id=gate+way&client_secret=s%3Acret+%26&token=t.1%2F&token_type_hint=access_token",
        ),
        (
            IntrospectionClient::Bearer(Secret::new("b".to_owned())),
            Some("Bearer b"),
            "token=t.1%2F&token_type_hint=access_token",
        ),
    ] {
        let issuer = FakeIssuer::start().await;
        let world = World::new(&[with(&issuer, |config| IntrospectionConfig { client, ..config })]);
        assert!(world.validate(ONE, "t.1/").await.is_err());
        let (headers, body) = &*issuer.question.lock();
        assert_eq!(headers.get(AUTHORIZATION).map(|value| value.to_str().unwrap()), authorization);
        assert_eq!((headers["accept"].to_str().unwrap(), body.as_str()), ("application/json", form));
    }
}

#[tokio::test]
async fn a_jwt_of_an_issuer_that_is_only_asked_is_asked_about_and_those_of_others_are_not_shown_to_it() {
    let issuer = FakeIssuer::start().await;
    let world = World::new(&[issuer.of_opaque("one")]);
    let token = issuer.token(&json!({}));
    issuer.tokens.lock().insert(token.clone(), json!({ "active": true, "sub": "alice" }));
    assert!(world.validate(ONE, &token).await.is_ok());
    let foreign = issuer.token(&json!({ "iss": "https://other.example" }));
    assert_eq!(world.validate(ONE, &foreign).await, Err(TokenFault::WrongIssuer));
    assert_eq!(issuer.tokens_asked(), 1);
}

#[tokio::test]
async fn subjects_of_issuers_without_an_identifier_are_told_apart_by_their_names() {
    let (one, two) = (FakeIssuer::start().await, FakeIssuer::start().await);
    let nameless =
        |issuer: &FakeIssuer, name| IssuerConfig { issuer: String::new(), ..issuer.of_opaque(name) };
    let world = World::new(&[nameless(&one, "one"), nameless(&two, "two")]);
    for (issuer, name) in [(&one, "one"), (&two, "two")] {
        let answer = json!({ "active": true, "sub": "alice", "iss": "https://elsewhere.example" });
        issuer.tokens.lock().insert(format!("of-{name}"), answer);
        let caller = world.validate(&[name], &format!("of-{name}")).await.unwrap();
        assert_eq!((caller.subject(), caller.foreign_issuer()), (Some("alice"), Some(name)));
        let mut headers = HeaderMap::new();
        set_identity(&mut headers, &caller);
        assert_eq!(headers["oauth-issuer"], name);
    }
}

#[tokio::test]
async fn credentials_are_not_printed() {
    let issuer = FakeIssuer::start().await;
    let printed = format!("{:?}", issuer.of_opaque("one"));
    assert!(printed.contains("gate way") && !printed.contains("s:cret"), "{printed}");
}
