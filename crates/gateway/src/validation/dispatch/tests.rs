use std::sync::atomic::Ordering;
use std::sync::{Arc, LazyLock};

use proptest::prelude::*;
use serde_json::json;
use sluice_crypto::jwk::SigningAlgorithm;
use sluice_crypto::{Purpose, Sealer, SystemSecret};
use sluice_primitives::{Lifetime, OsRng};
use sluice_token::AccessTokenClaims;
use tokio::runtime::Runtime;

use crate::validation::fake::{FakeIssuer, Mood, NETWORK, World, claims, key};
use crate::validation::{IssuerConfig, LookupStats, TokenFault};

#[tokio::test]
async fn an_expensive_verification_is_done_once() {
    let world = World::new(&[]);
    let (jwt, paseto) = (world.jwt(&claims()), world.paseto("https://id.example"));
    for _ in 0..3 {
        assert!(world.validate(&[], &jwt).await.is_ok() && world.validate(&[], &paseto).await.is_ok());
    }
    let cache = world.validation.cache();
    assert_eq!((world.verified(), cache.hits(), cache.misses(), cache.len()), (2, 4, 2, 2));
    assert_eq!(cache.lookups(), [LookupStats { route: "orders".into(), hits: 4, misses: 2 }]);
}

#[tokio::test]
async fn what_is_remembered_is_the_token_and_no_other() {
    let world = World::new(&[]);
    let one = world.jwt(&claims());
    let other = world.jwt(&AccessTokenClaims { client: "cart".parse().unwrap(), ..claims() });
    for _ in 0..2 {
        assert_eq!(world.validate(&[], &one).await.unwrap().client(), Some("shop"));
        assert_eq!(world.validate(&[], &other).await.unwrap().client(), Some("cart"));
    }
    let (signed, signature) = one.rsplit_once('.').unwrap();
    let (_, other_signature) = other.rsplit_once('.').unwrap();
    for forged in [format!("{signed}.{other_signature}"), format!("{signed}.{signature}="), format!("{one}.")]
    {
        assert_eq!(world.validate(&[], &forged).await, Err(TokenFault::NotAuthentic));
    }
}

#[tokio::test]
async fn what_was_verified_with_a_key_that_is_gone_does_not_hold() {
    let world = World::new(&[]);
    let token = world.jwt(&claims());
    assert!(world.validate(&[], &token).await.is_ok());
    *world.keys.jwt.lock() = vec![key("new", SigningAlgorithm::EdDSA)];
    world.keys.generation.fetch_add(1, Ordering::SeqCst);
    assert_eq!(world.validate(&[], &token).await, Err(TokenFault::NotAuthentic));
}

#[tokio::test]
async fn many_tokens_do_not_grow_the_memory() {
    let world = World::new(&[]);
    for number in 0..400_u32 {
        let client = format!("client-{number}").parse().unwrap();
        let token = world.jwt(&AccessTokenClaims { client, ..claims() });
        assert!(world.validate(&[], &token).await.is_ok());
    }
    assert!(world.validation.cache().len() <= 100);
}

#[tokio::test]
async fn a_token_counts_only_where_its_issuer_does() {
    let (one, two) = (FakeIssuer::start().await, FakeIssuer::start().await);
    let world = World::new(&[one.of_jwts("one"), two.of_opaque("two")]);
    two.tokens.lock().insert("opaque".to_owned(), json!({ "active": true, "sub": "bob" }));
    let (own, foreign) = (world.jwt(&claims()), one.token(&json!({})));
    let sealed = world.sealed(&claims());
    for (issuers, tokens) in [
        (&["one"][..], [false, false, true, false]),
        (&["two"], [false, false, false, true]),
        (&["sluice", "two"], [true, true, false, true]),
        (&["two", "one", "sluice"], [true, true, true, true]),
        (&[], [true, true, false, false]),
        (&["unknown"], [false; 4]),
    ] {
        for _ in 0..2 {
            for (token, holds) in [&own, &sealed, &foreign, "opaque"].into_iter().zip(tokens) {
                let outcome = world.validate(issuers, token).await;
                assert_eq!(outcome.is_ok(), holds, "{token} for {issuers:?}: {outcome:?}");
            }
        }
    }
}

#[tokio::test]
async fn opaque_tokens_are_asked_about_in_the_order_of_the_route() {
    let (one, two) = (FakeIssuer::start().await, FakeIssuer::start().await);
    let world = World::new(&[one.of_opaque("one"), two.of_opaque("two")]);
    two.tokens.lock().insert("of-two".to_owned(), json!({ "active": true, "sub": "bob" }));
    let issuers = ["sluice", "one", "two"];
    let caller = world.validate(&issuers, "of-two").await.unwrap();
    assert_eq!((caller.subject(), one.tokens_asked(), two.tokens_asked()), (Some("bob"), 1, 1));
    assert!(world.at_once(&issuers, "of-two").unwrap().is_ok(), "both answers are remembered");
    assert_eq!(world.validate(&issuers, "of-nobody").await, Err(TokenFault::Revoked));
    *one.mood.lock() = Mood::Broken;
    assert_eq!(world.validate(&issuers, "another").await, Err(TokenFault::Unreachable));
    two.tokens.lock().insert("late".to_owned(), json!({ "active": true }));
    assert!(world.validate(&issuers, "late").await.is_ok(), "one is enough");
}

#[tokio::test]
async fn issuers_that_have_not_changed_keep_what_they_know() {
    let (one, two) = (FakeIssuer::start().await, FakeIssuer::start().await);
    let world = World::new(&[one.of_jwts("one")]);
    let token = one.token(&json!({}));
    assert!(world.validate(&["one"], &token).await.is_ok());
    world.reload(&[two.of_opaque("two"), one.of_jwts("one")]);
    assert!(world.at_once(&["one"], &token).unwrap().is_ok());
    assert_eq!(one.keys_asked(), 1);
    let changed = IssuerConfig { audience: vec!["else".to_owned()], ..one.of_jwts("one") };
    world.reload(&[changed]);
    assert_eq!(world.validate(&["one"], &token).await, Err(TokenFault::WrongAudience), "not from memory");
    assert_eq!(one.keys_asked(), 2);
    world.reload(&[]);
    assert_eq!(world.validate(&["one"], &token).await, Err(TokenFault::NotAuthentic));
}

#[tokio::test]
async fn a_route_goes_with_the_issuers_of_its_own_table_whichever_is_in_force() {
    let (one, two) = (FakeIssuer::start().await, FakeIssuer::start().await);
    let world = World::new(&[one.of_opaque("partner")]);
    one.tokens.lock().insert("of-one".to_owned(), json!({ "active": true }));
    two.tokens.lock().insert("of-two".to_owned(), json!({ "active": true }));
    let before = world.policy(&["partner"]);
    let holds = async |policy, token| world.validate_for(policy, token).await.is_ok();
    world.replace(&[two.of_opaque("partner")]);
    let after = world.policy(&["partner"]);
    for _ in 0..2 {
        assert!(holds(&before, "of-one").await && !holds(&before, "of-two").await);
        assert!(holds(&after, "of-two").await && !holds(&after, "of-one").await);
        world.reload(&[two.of_opaque("partner")]);
    }
    let asked = two.tokens_asked();
    assert!(world.validate(&["partner"], "of-two").await.is_ok());
    assert_eq!(two.tokens_asked(), asked, "what was learned of an issuer that has not changed is kept");
}

#[tokio::test]
async fn questions_are_counted_once_for_each_name_whichever_table_asks() {
    let one = FakeIssuer::start().await;
    let world = World::new(&[one.of_opaque("same"), one.of_opaque("changed")]);
    let policies = || ["same", "changed"].map(|name| world.policy(&[name]));
    let before = policies();
    let changed = IssuerConfig { audience: vec!["orders".to_owned()], ..one.of_opaque("changed") };
    world.replace(&[one.of_opaque("same"), changed]);
    for (number, policy) in before.iter().chain(&policies()).enumerate() {
        let token = format!("token-{number}");
        assert_eq!(world.validate_for(policy, &token).await, Err(TokenFault::Revoked));
    }
    let stats = world.validation.introspection_stats();
    let told: Vec<_> = stats.iter().map(|stats| (&*stats.issuer, stats.asked, stats.failed)).collect();
    assert_eq!(told, [("changed", 2, 0), ("same", 2, 0)]);
}

#[tokio::test]
async fn tokens_of_others_are_asked_about_elsewhere_when_the_own_authority_does_not_know_them() {
    let one = FakeIssuer::start().await;
    let world = World::new(&[one.of_opaque("one")]);
    let facts = [world.sealer.load().subkeys(Purpose::TokenFacts)];
    let (own, alike) = (world.sealed(&claims()), world.sealed(&claims()));
    world.sealer.store(Arc::new(Sealer::from_subkeys(NETWORK, &facts)));
    for token in ["of-one", &alike] {
        one.tokens.lock().insert(token.to_owned(), json!({ "active": true, "sub": "bob" }));
    }
    let issuers = ["sluice", "one"];
    let own_asked = || world.authority.asked.load(Ordering::SeqCst);
    assert_eq!(world.validate(&issuers, "of-one").await.unwrap().subject(), Some("bob"));
    assert_eq!((own_asked(), one.tokens_asked()), (0, 1), "it has not the form of our own");
    assert_eq!(world.validate(&issuers, &own).await.unwrap().subject(), Some("alice"));
    assert_eq!((own_asked(), one.tokens_asked()), (1, 1), "our own is shown to nobody");
    *world.authority.fault.lock() = Some(TokenFault::NotAuthentic);
    assert_eq!(world.validate(&issuers, &alike).await.unwrap().subject(), Some("bob"));
    assert_eq!((own_asked(), one.tokens_asked()), (2, 2), "it has, and is another's");
    for fault in [TokenFault::Revoked, TokenFault::Unreachable] {
        *world.authority.fault.lock() = Some(fault);
        world.clock.advance(Lifetime::secs(10));
        assert_eq!(world.validate(&issuers, &own).await, Err(fault));
    }
    assert_eq!(one.tokens_asked(), 2);
}

#[tokio::test]
async fn a_jwt_that_no_issuer_claims_may_be_of_one_without_an_identifier() {
    let (named, nameless) = (FakeIssuer::start().await, FakeIssuer::start().await);
    let without = IssuerConfig { issuer: String::new(), ..nameless.of_opaque("nameless") };
    let world = World::new(&[named.of_opaque("named"), without]);
    let token = nameless.token(&json!({}));
    nameless.tokens.lock().insert(token.clone(), json!({ "active": true, "sub": "bob" }));
    let all = ["sluice", "named", "nameless"];
    for issuers in [&all[..], &["nameless"][..]] {
        let caller = world.validate(issuers, &token).await.unwrap();
        assert_eq!((caller.subject(), caller.foreign_issuer()), (Some("bob"), Some("nameless")));
    }
    assert_eq!(world.validate(&["sluice", "named"], &token).await, Err(TokenFault::WrongIssuer));
    assert_eq!(
        (named.tokens_asked(), nameless.tokens_asked()),
        (0, 1),
        "only who may have issued it is asked"
    );
    assert!(world.validate(&all, &world.jwt(&claims())).await.is_ok());
    let of_named = named.token(&json!({}));
    assert_eq!(world.validate(&all, &of_named).await, Err(TokenFault::Revoked), "it knows better");
    assert_eq!(
        (named.tokens_asked(), nameless.tokens_asked()),
        (1, 1),
        "those of others are not shown to it"
    );
}

#[tokio::test]
async fn what_names_this_installation_is_shown_to_nobody() {
    let nameless = FakeIssuer::start().await;
    let without = IssuerConfig { issuer: String::new(), ..nameless.of_opaque("nameless") };
    let world = World::new(&[without]);
    let token = world.jwt(&claims());
    assert!(world.validate(&["sluice", "nameless"], &token).await.is_ok());
    world.keys.jwt.lock().clear();
    world.keys.generation.fetch_add(1, Ordering::SeqCst);
    for issuers in [&["sluice", "nameless"][..], &["nameless"]] {
        assert_eq!(world.validate(issuers, &token).await, Err(TokenFault::NotAuthentic));
    }
    assert_eq!(nameless.tokens_asked(), 0);
}

#[tokio::test]
async fn what_this_installation_sealed_is_shown_to_nobody_whatever_it_is_and_wherever_it_counts() {
    let other = FakeIssuer::start().await;
    let world = World::new(&[other.of_opaque("other")]);
    let sealed = |purpose| world.sealer.load().seal(purpose, b"content", &OsRng);
    for token in [
        world.sealed(&claims()),
        world.sealed(&claims()).trim_start_matches("ory_at_").to_owned(),
        format!("ory_rt_{}", sealed(Purpose::RefreshToken)),
        format!("ory_ac_{}", sealed(Purpose::AuthorizationCode)),
        format!("ory_dc_{}", sealed(Purpose::DeviceCode)),
        sealed(Purpose::IdentityRefreshToken),
    ] {
        let outcome = world.validate(&["other"], &token).await;
        assert_eq!(outcome, Err(TokenFault::NotAuthentic), "{token}");
    }
    let refresh_token = sealed(Purpose::IdentityRefreshToken);
    assert_eq!(world.validate(&["sluice", "other"], &refresh_token).await, Err(TokenFault::NotAuthentic));
    assert_eq!(other.tokens_asked(), 0);
    for issuers in [&["sluice", "other"][..], &["other"]] {
        let alike = Sealer::new(NETWORK, &[SystemSecret::new(b"a secret of another".to_vec())]);
        let alike = format!("ory_at_{}", alike.seal(Purpose::AccessToken, b"content", &OsRng));
        other.tokens.lock().insert(alike.clone(), json!({ "active": true, "sub": "bob" }));
        assert_eq!(world.validate(issuers, &alike).await.unwrap().subject(), Some("bob"));
    }
}

#[tokio::test]
async fn a_gateway_with_the_key_of_access_tokens_alone_shows_those_to_nobody() {
    let other = FakeIssuer::start().await;
    let world = World::new(&[other.of_opaque("other")]);
    let own = world.sealed(&claims());
    let keys = [world.sealer.load().subkeys(Purpose::AccessToken)];
    world.sealer.store(Arc::new(Sealer::from_subkeys(NETWORK, &keys)));
    assert_eq!(world.validate(&["other"], &own).await, Err(TokenFault::NotAuthentic));
    assert_eq!(other.tokens_asked(), 0);
}

#[tokio::test]
async fn a_remembered_token_of_another_issuer_expires() {
    let one = FakeIssuer::start().await;
    let world = World::new(&[one.of_jwts("one")]);
    let token = one.token(&json!({}));
    assert!(world.validate(&["one"], &token).await.is_ok());
    world.clock.advance(Lifetime::secs(3_629));
    one.max_age.store(100_000, Ordering::SeqCst);
    assert!(world.validate(&["one"], &token).await.is_ok(), "clocks may differ by 30 s");
    world.clock.advance(Lifetime::secs(1));
    assert_eq!(world.validate(&["one"], &token).await, Err(TokenFault::Expired));
    assert_eq!(World::new(&[]).validation.cache().len(), 0);
}

proptest! {
    #[test]
    fn any_text_is_judged_without_panic(token: String, dots in "[a-z.]{0,40}") {
        static WORLD: LazyLock<(Runtime, World)> = LazyLock::new(|| {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            let world = runtime.block_on(async { World::new(&[]) });
            (runtime, world)
        });
        for token in [&token, &dots, &format!("ey{dots}"), &format!("v4.public.{token}")] {
            prop_assert_eq!(WORLD.1.at_once(&[], token), Some(Err(TokenFault::NotAuthentic)));
        }
    }
}

#[tokio::test]
async fn a_token_in_a_form_of_ours_that_another_sealed_is_not_authentic() {
    let world = World::new(&[]);
    let elsewhere = World::new(&[]);
    let other = Sealer::new(NETWORK, &[SystemSecret::new(b"another secret".to_vec())]);
    elsewhere.sealer.store(Arc::new(other));
    assert_eq!(world.validate(&[], &elsewhere.sealed(&claims())).await, Err(TokenFault::NotAuthentic));
    assert_eq!(world.validate(&[], &elsewhere.jwt(&claims())).await, Err(TokenFault::NotAuthentic));
}
