use std::sync::atomic::Ordering;

use serde_json::json;
use sluice_crypto::jwk::SigningAlgorithm;
use sluice_crypto::{Sealer, SystemSecret};
use sluice_primitives::{GrantId, Lifetime, SessionId, Timestamp};
use sluice_token::claims::Extra;
use sluice_token::{AccessTokenClaims, Marker, Target};

use super::*;
use crate::route::{RoutePolicy, StalePolicy};
use crate::validation::fake::{FakeIssuer, NETWORK, START, World, claims, key, policy_when_stale, settled};
use crate::validation::{IssuerConfig, TokenFault, Validated};

type Outcome = Result<Arc<Caller>, TokenFault>;

/// A token of this installation, of each form.
const FORMS: [fn(&World) -> String; 3] = [
    |world| world.sealed(&claims()),
    |world| world.jwt(&claims()),
    |world| world.paseto("https://id.example"),
];

/// A connection on which one token came several times.
struct Connection {
    world: World,
    last: LastToken,
    token: String,
}

impl Connection {
    async fn with(world: World, issuers: &[&str], token: String) -> Self {
        let this = Self { world, last: LastToken::default(), token };
        let policy = this.world.policy(issuers);
        for _ in 0..3 {
            assert!(this.again(&policy).await.is_ok());
        }
        assert!(this.last.find(&this.token).is_some());
        this
    }

    /// With tokens of this installation, of every form.
    async fn each() -> Vec<Self> {
        let mut each = Vec::new();
        for form in FORMS {
            let world = World::new(&[]);
            let token = form(&world);
            each.push(Self::with(world, &[], token).await);
        }
        each
    }

    async fn again(&self, policy: &RoutePolicy) -> Outcome {
        self.next(policy, &self.token).await
    }

    async fn next(&self, policy: &RoutePolicy, token: &str) -> Outcome {
        settled(self.world.asked_on(&self.last, policy, token)).await
    }
}

fn no_demands() -> RoutePolicy {
    RoutePolicy::default()
}

#[tokio::test]
async fn a_token_that_comes_again_is_not_opened_again_and_counts_as_spared_if_it_was_signed() {
    for (connection, (verified, hits)) in Connection::each().await.iter().zip([(0, 0), (1, 3), (1, 3)]) {
        let one = connection.again(&no_demands()).await.unwrap();
        assert!(Arc::ptr_eq(&one, &connection.last.find(&connection.token).unwrap().0.caller));
        let world = &connection.world;
        assert_eq!((world.verified(), world.validation.cache().hits()), (verified, hits));
    }
}

#[tokio::test]
async fn a_token_that_has_expired_since_does_not_hold() {
    for connection in Connection::each().await {
        connection.world.clock.advance(Lifetime::minutes(60));
        assert_eq!(connection.again(&no_demands()).await, Err(TokenFault::Expired));
    }
}

#[tokio::test]
async fn a_token_that_was_revoked_since_does_not_hold() {
    let (grant, session) = (GrantId::from_bytes([2; 16]), SessionId::from_bytes([6; 16]));
    for connection in Connection::each().await {
        for target in [Target::Grant(grant), Target::Session(session)] {
            let marker = Marker { target, at: START, expires_at: Timestamp::NEVER };
            connection.world.revocations.apply(&marker);
        }
        assert_eq!(connection.again(&no_demands()).await, Err(TokenFault::Revoked));
    }
}

#[tokio::test]
async fn when_the_keys_have_changed_a_token_is_opened_or_verified_with_the_new_ones() {
    for (connection, fault) in Connection::each().await.iter().zip([
        Some(TokenFault::NotAuthentic),
        Some(TokenFault::NotAuthentic),
        None,
    ]) {
        let (world, verified) = (&connection.world, connection.world.verified());
        let other = Sealer::new(NETWORK, &[SystemSecret::new(b"another secret".to_vec())]);
        world.sealer.store(Arc::new(other));
        *world.keys.jwt.lock() = vec![key("new", SigningAlgorithm::EdDSA)];
        world.keys.generation.fetch_add(1, Ordering::SeqCst);
        assert_eq!(connection.again(&no_demands()).await.err(), fault);
        let is_sealed = !connection.token.contains('.');
        assert_eq!(world.verified() - verified, u32::from(!is_sealed));
    }
}

#[tokio::test]
async fn when_tokens_may_live_for_less_they_do() {
    for connection in Connection::each().await.iter().take(2) {
        *connection.world.keys.longest.lock() = Lifetime::minutes(20);
        connection.world.keys.generation.fetch_add(1, Ordering::SeqCst);
        let caller = connection.again(&no_demands()).await.unwrap();
        assert_eq!(caller.expires_at(), START + Lifetime::minutes(20));
    }
}

#[tokio::test]
async fn when_revocations_may_have_been_missed_the_route_is_asked_what_to_do() {
    for connection in Connection::each().await {
        let outcome = async |stale| connection.again(&policy_when_stale(stale)).await.err();
        connection.world.age.0.store(10_001, Ordering::SeqCst);
        assert_eq!(outcome(StalePolicy::Refuse).await, Some(TokenFault::Stale));
        assert_eq!(outcome(StalePolicy::Trust).await, None);
        *connection.world.authority.fault.lock() = Some(TokenFault::Revoked);
        assert_eq!(outcome(StalePolicy::Ask).await, Some(TokenFault::Revoked));
    }
}

#[tokio::test]
async fn a_token_counts_only_on_routes_where_its_issuer_does() {
    let one = FakeIssuer::start().await;
    for form in FORMS {
        let world = World::new(&[one.of_jwts("one")]);
        let token = form(&world);
        let connection = Connection::with(world, &["sluice", "one"], token).await;
        let elsewhere = connection.world.policy(&["one"]);
        assert_eq!(connection.again(&elsewhere).await, Err(TokenFault::NotAuthentic));
        assert!(connection.again(&no_demands()).await.is_ok());
    }
}

#[tokio::test]
async fn a_token_of_another_issuer_is_held_against_its_time_and_the_keys_of_that_issuer() {
    let one = FakeIssuer::start().await;
    let connection = async || {
        let world = World::new(&[one.of_jwts("one")]);
        Connection::with(world, &["one"], one.token(&json!({}))).await
    };
    let replaced = connection().await;
    one.max_age.store(100_000, Ordering::SeqCst);
    let expired = connection().await;
    let policy = expired.world.policy(&["one"]);
    expired.world.clock.advance(Lifetime::secs(3_629));
    assert!(expired.again(&policy).await.is_ok(), "clocks may differ by 30 s");
    expired.world.clock.advance(Lifetime::secs(1));
    assert_eq!(expired.again(&policy).await, Err(TokenFault::Expired));
    assert_eq!(expired.again(&no_demands()).await, Err(TokenFault::NotAuthentic));

    *one.keys.lock() = vec![key("two", SigningAlgorithm::ES256)];
    replaced.world.clock.advance(Lifetime::secs(600));
    let policy = replaced.world.policy(&["one"]);
    assert_eq!(replaced.again(&policy).await, Err(TokenFault::NotAuthentic));
    let changed = IssuerConfig { audience: vec!["else".to_owned()], ..one.of_jwts("one") };
    expired.world.reload(&[changed]);
    let policy = expired.world.policy(&["one"]);
    assert_eq!(expired.again(&policy).await, Err(TokenFault::NotAuthentic), "it is another issuer now");
}

#[tokio::test]
async fn what_is_known_is_known_of_the_whole_token_and_of_no_other() {
    for connection in Connection::each().await {
        let token = &connection.token;
        let (begin, end) = token.split_at(token.len() - 10);
        let forged = format!("{begin}{}{}", if end.starts_with('A') { "B" } else { "A" }, &end[1..]);
        for other in [forged.as_str(), &token[..token.len() - 1], &format!("{token}A")] {
            assert_eq!(connection.next(&no_demands(), other).await, Err(TokenFault::NotAuthentic), "{other}");
        }
        assert!(connection.again(&no_demands()).await.is_ok());
    }
}

#[tokio::test]
async fn tokens_in_turns_are_each_their_own_callers() {
    let connection = Connection::each().await.remove(0);
    let carts = AccessTokenClaims { client: "cart".parse().unwrap(), ..claims() };
    for form in [World::sealed, World::jwt] {
        let carts = form(&connection.world, &carts);
        for _ in 0..3 {
            assert_eq!(connection.again(&no_demands()).await.unwrap().client(), Some("shop"));
            assert_eq!(connection.next(&no_demands(), &carts).await.unwrap().client(), Some("cart"));
        }
    }
}

#[tokio::test]
async fn while_another_request_looks_a_token_is_opened_as_if_it_were_new() {
    let connection = Connection::each().await.remove(0);
    let (first, other) = (connection.again(&no_demands()).await.unwrap(), connection.world.jwt(&claims()));
    {
        let _held = connection.last.0.lock();
        for token in [&connection.token, &other] {
            let outcome = connection.world.asked_on(&connection.last, &no_demands(), token);
            let Validated::Now(Ok(caller)) = outcome else { panic!("it does not hold, or was waited for") };
            assert!(!Arc::ptr_eq(&caller, &first) && *caller == *first);
            assert!(connection.last.identity(&caller).is_none());
        }
    }
    assert!(Arc::ptr_eq(&connection.again(&no_demands()).await.unwrap(), &first));
}

#[tokio::test]
async fn the_headers_of_a_caller_are_made_when_its_token_comes_again_and_for_it_alone() {
    let (world, last) = (World::new(&[]), LastToken::default());
    let token = world.sealed(&claims());
    let caller = async || settled(world.asked_on(&last, &no_demands(), &token)).await.unwrap();
    let alice = caller().await;
    assert!(last.identity(&alice).is_none(), "it may not come again");
    assert!(Arc::ptr_eq(&caller().await, &alice));
    let identity = last.identity(&alice).unwrap();
    assert!(Arc::ptr_eq(&identity, &last.identity(&alice).unwrap()));
    assert!(last.identity(&Arc::new(Caller::clone(&alice))).is_none());
}

#[tokio::test]
async fn a_token_that_is_too_long_is_not_kept_and_leaves_what_is() {
    let connection = Connection::each().await.remove(0);
    let extra = Extra::Inline(json!({ "a": "x".repeat(LONGEST) }).to_string());
    let long = connection.world.sealed(&AccessTokenClaims { extra, ..claims() });
    assert!(connection.next(&no_demands(), &long).await.is_ok());
    assert!(connection.last.find(&long).is_none() && connection.last.find(&connection.token).is_some());
    assert_eq!(format!("{:?}", connection.last), "[redacted]");
}

#[tokio::test]
async fn a_token_that_says_what_takes_much_memory_is_not_kept() {
    let one = FakeIssuer::start().await;
    let (world, last) = (World::new(&[one.of_jwts("one")]), LastToken::default());
    let policy = world.policy(&["one"]);
    for (more, is_kept) in [(json!({}), true), (json!({ "x": vec![json!({ "a": 0 }); 100] }), false)] {
        let token = one.token(&more);
        for _ in 0..3 {
            assert!(settled(world.asked_on(&last, &policy, &token)).await.is_ok());
        }
        assert!(token.len() <= LONGEST);
        assert_eq!(last.find(&token).is_some(), is_kept);
    }
}

#[test]
fn nothing_of_a_token_is_left_when_another_takes_its_place() {
    let mut token = Token::default();
    assert!(token.is(""));
    let long = "a".repeat(STEP);
    for next in [long.as_str(), "b", "cc", &long[1..], "", "d"] {
        token.become_copy_of(next);
        assert!(token.is(next) && !token.is(&format!("{next}a")));
        assert_eq!(token.room.len(), STEP, "no more room is needed");
        assert!(token.room[next.len()..].iter().all(|byte| *byte == 0), "{next}");
    }
    token.become_copy_of(&"e".repeat(STEP + 1));
    assert_eq!((token.length, token.room.len()), (STEP + 1, 2 * STEP));
}
