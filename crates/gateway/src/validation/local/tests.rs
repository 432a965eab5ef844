use std::sync::Arc;
use std::sync::atomic::Ordering;

use serde_json::json;
use sluice_crypto::jwk::SigningAlgorithm;
use sluice_crypto::{Purpose, Sealer, SystemSecret};
use sluice_primitives::{GrantId, Lifetime, OsRng, SessionId, Timestamp};
use sluice_token::jwt::HeaderType;
use sluice_token::{AccessTokenClaims, Marker, Target, TokenId};

use crate::authn::Caller;
use crate::route::StalePolicy;
use crate::validation::TokenFault;
use crate::validation::fake::{NETWORK, START, World, claims, key, policy_when_stale, signed as issued};

fn revoked(target: Target) -> Marker {
    Marker { target, at: START, expires_at: Timestamp::NEVER }
}

fn grant() -> Marker {
    revoked(Target::Grant(GrantId::from_bytes([2; 16])))
}

#[tokio::test]
async fn tokens_of_every_form_hold_and_say_who_calls() {
    let world = World::new(&[]);
    let expected = Caller::Own(Box::new(claims()));
    assert_eq!(*world.validate(&[], &world.sealed(&claims())).await.unwrap(), expected);
    for typ in [HeaderType::AccessToken, HeaderType::Plain] {
        let jwt = world.jwt_of_type(typ, &claims());
        assert_eq!(*world.validate(&["sluice"], &jwt).await.unwrap(), expected, "{typ:?}");
    }
    let person = world.validate(&[], &world.paseto("https://id.example")).await.unwrap();
    assert_eq!(person.subject(), Some("04040404-0404-0404-0404-040404040404"));
    assert_eq!(person.expires_at(), START + Lifetime::minutes(10));
    assert!(person.is_for("https://id.example/auth"));
}

#[tokio::test]
async fn a_token_ends_to_the_second_whatever_its_form() {
    let world = World::new(&[]);
    let tokens = [world.sealed(&claims()), world.jwt(&claims()), world.paseto("https://id.example")];
    let lifetimes = [60, 60, 10].map(Lifetime::minutes);
    for (token, lifetime) in tokens.iter().zip(lifetimes) {
        let world = World::new(&[]);
        world.clock.advance((START + lifetime).since(START + Lifetime::millis(1)));
        assert!(world.validate(&[], token).await.is_ok());
        world.clock.advance(Lifetime::millis(1));
        assert_eq!(world.validate(&[], token).await, Err(TokenFault::Expired), "remembered");
    }
}

#[tokio::test]
async fn a_token_that_was_issued_for_longer_than_any_may_live_now_ends_with_those() {
    let world = World::new(&[]);
    *world.keys.longest.lock() = Lifetime::minutes(20);
    let tokens = [world.sealed(&claims()), world.jwt(&claims())];
    for token in &tokens {
        assert_eq!(world.validate(&[], token).await.unwrap().expires_at(), START + Lifetime::minutes(20));
    }
    world.clock.advance(Lifetime::minutes(20));
    for token in &tokens {
        assert_eq!(world.validate(&[], token).await, Err(TokenFault::Expired));
    }
}

#[tokio::test]
async fn a_token_of_a_person_that_was_issued_for_longer_than_they_live_now_ends_with_those() {
    let world = World::new(&[]);
    *world.keys.longest.lock() = Lifetime::minutes(1);
    *world.keys.longest_of_persons.lock() = Lifetime::minutes(5);
    let token = world.paseto("https://id.example");
    assert_eq!(world.validate(&[], &token).await.unwrap().expires_at(), START + Lifetime::minutes(5));
    world.clock.advance(Lifetime::minutes(5));
    assert_eq!(world.validate(&[], &token).await, Err(TokenFault::Expired));
}

#[tokio::test]
async fn a_token_of_a_person_names_the_issuer_that_is_in_force() {
    let world = World::new(&[]);
    let [old, new] = ["https://id.example", "https://login.example"].map(|issuer| world.paseto(issuer));
    "https://login.example".clone_into(&mut world.keys.issuer.lock());
    assert!(world.validate(&[], &new).await.is_ok());
    assert_eq!(world.validate(&[], &old).await, Err(TokenFault::NotAuthentic));
}

#[tokio::test]
async fn what_is_forged_or_for_something_else_is_not_authentic() {
    let world = World::new(&[]);
    let jwt = world.jwt(&claims());
    let (signed, _) = jwt.rsplit_once('.').unwrap();
    let id_token = json!({ "iss": "https://id.example", "sub": "alice" });
    let [id_token, declared] =
        ["JWT", "at+jwt"].map(|typ| issued(&key("own", SigningAlgorithm::EdDSA), Some(typ), &id_token));
    let refresh = world.sealer.load().seal(Purpose::RefreshToken, b"x", &OsRng);
    let sealed = world.sealed(&claims());
    let (all_but_one, last) = sealed.split_at(sealed.len() - 1);
    let forged = format!("{all_but_one}{}", if last == "A" { "B" } else { "A" });
    for token in [
        "",
        "x",
        "a.b.c",
        "ey.ey.ey",
        "v4.public.",
        "v4.public.AAAA",
        &refresh,
        &forged,
        &format!("{signed}.AAAA"),
        &id_token,
        &declared,
        &world.paseto("https://other.example"),
    ] {
        assert_eq!(world.validate(&[], token).await, Err(TokenFault::NotAuthentic), "{token}");
    }
}

#[tokio::test]
async fn what_is_sealed_with_a_key_that_is_not_here_has_others_looked_for() {
    let world = World::new(&[]);
    let new = Sealer::new(NETWORK, &[SystemSecret::new(b"a secret that is new".to_vec())]);
    let old = world.sealer.swap(Arc::new(new));
    let tokens = [world.sealed(&claims()), world.jwt(&claims())];
    world.sealer.store(old);
    for (token, times) in tokens.iter().zip([1, 2]) {
        assert_eq!(world.validate(&[], token).await, Err(TokenFault::NotAuthentic));
        assert_eq!(world.keys.looked_again.load(Ordering::SeqCst), times);
    }
    for token in ["nobody", "ory_at_nobody", &world.sealed(&claims()), &world.jwt(&claims())] {
        let _ = world.validate(&[], token).await;
    }
    assert_eq!(world.keys.looked_again.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn what_was_revoked_does_not_hold_though_it_was_remembered() {
    let world = World::new(&[]);
    let tokens = [world.sealed(&claims()), world.jwt(&claims())];
    for token in &tokens {
        assert!(world.validate(&[], token).await.is_ok());
    }
    world.revocations.apply(&grant());
    for token in &tokens {
        assert_eq!(world.validate(&[], token).await, Err(TokenFault::Revoked));
    }
    let person = world.paseto("https://id.example");
    assert!(world.validate(&[], &person).await.is_ok());
    world.revocations.apply(&revoked(Target::Session(SessionId::from_bytes([6; 16]))));
    assert_eq!(world.validate(&[], &person).await, Err(TokenFault::Revoked));
}

#[tokio::test]
async fn a_token_that_was_revoked_alone_does_not_hold_and_others_of_its_grant_do() {
    let world = World::new(&[]);
    let other = AccessTokenClaims { id: TokenId::from_bytes([9; 16]), ..claims() };
    world.revocations.apply(&revoked(Target::Grant(claims().id.as_grant())));
    for (alone, beside) in
        [(world.sealed(&claims()), world.sealed(&other)), (world.jwt(&claims()), world.jwt(&other))]
    {
        assert_eq!(world.validate(&[], &alone).await, Err(TokenFault::Revoked));
        assert!(world.validate(&[], &beside).await.is_ok());
    }
}

#[tokio::test]
async fn knowledge_that_is_too_old_is_dealt_with_as_the_route_says() {
    let world = World::new(&[]);
    for token in [world.sealed(&claims()), world.jwt(&claims()), world.paseto("https://id.example")] {
        let outcome = async |stale| world.validate_for(&policy_when_stale(stale), &token).await.map(|_| ());
        let asked = || world.authority.asked.load(Ordering::SeqCst);
        world.age.0.store(10_000, Ordering::SeqCst);
        let before = asked();
        assert_eq!(outcome(StalePolicy::Refuse).await, Ok(()), "as old as it may be");
        world.age.0.store(10_001, Ordering::SeqCst);
        assert_eq!(outcome(StalePolicy::Refuse).await, Err(TokenFault::Stale));
        assert_eq!(outcome(StalePolicy::Trust).await, Ok(()));
        assert_eq!(asked(), before);
        assert_eq!(outcome(StalePolicy::Ask).await, Ok(()));
        assert_eq!(asked(), before + 1);
        for fault in [TokenFault::Unreachable, TokenFault::Revoked] {
            *world.authority.fault.lock() = Some(fault);
            assert_eq!(outcome(StalePolicy::Ask).await, Err(fault));
        }
        *world.authority.fault.lock() = None;
    }
}

#[tokio::test]
async fn an_answer_does_not_undo_what_was_revoked_while_it_was_on_its_way() {
    let world = World::new(&[]);
    world.age.0.store(60_000, Ordering::SeqCst);
    *world.authority.meanwhile.lock() = Some(grant());
    let policy = policy_when_stale(StalePolicy::Ask);
    let outcome = world.validate_for(&policy, &world.sealed(&claims())).await;
    assert_eq!(outcome, Err(TokenFault::Revoked));
}

#[tokio::test]
async fn what_is_known_to_be_revoked_is_refused_without_asking() {
    let world = World::new(&[]);
    world.age.0.store(60_000, Ordering::SeqCst);
    world.revocations.apply(&grant());
    let policy = policy_when_stale(StalePolicy::Ask);
    assert_eq!(world.validate_for(&policy, &world.jwt(&claims())).await, Err(TokenFault::Revoked));
    assert_eq!(world.authority.asked.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn where_no_key_opens_sealed_tokens_their_authority_is_asked() {
    let world = World::new(&[]);
    let token = world.sealed(&claims());
    let facts = [world.sealer.load().subkeys(Purpose::TokenFacts)];
    let jwt = world.jwt(&claims());
    world.sealer.store(Arc::new(Sealer::from_subkeys(NETWORK, &facts)));
    assert!(world.validate(&[], &token).await.is_ok());
    assert_eq!(world.authority.asked.load(Ordering::SeqCst), 1);
    assert!(world.validate(&[], &jwt).await.is_ok());
    assert_eq!(world.authority.asked.load(Ordering::SeqCst), 1, "the JWT is read here");
    *world.authority.fault.lock() = Some(TokenFault::Unreachable);
    assert_eq!(world.validate(&[], &token).await, Err(TokenFault::Unreachable));
    *world.authority.fault.lock() = None;
    *world.authority.meanwhile.lock() = Some(grant());
    assert_eq!(world.validate(&[], &token).await, Err(TokenFault::Revoked), "while it was asked");
}
