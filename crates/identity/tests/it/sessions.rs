//! Sessions from their beginning to their end.

use std::sync::Arc;
use std::time::{Duration, Instant};

use sluice_identity::IdentityError;
use sluice_identity::config::SessionConfig;
use sluice_identity::identity::{Changed, IdentityChange, IdentityDirectory};
use sluice_identity::session::{
    MAX_SESSIONS, RefreshOutcome, SessionService, SessionTerms, TokenPair, Unauthenticated,
};
use sluice_primitives::{AttemptId, Clock, Lifetime};

use super::services::{ALICE, PASSWORD, Services, network, secret};

#[tokio::test]
async fn an_access_token_says_who_calls_until_it_expires() {
    let (services, alice, pair) = Services::with_alice().await;
    let caller = services.sessions.authenticate(pair.access_token.expose()).unwrap();
    assert_eq!((caller.identity, caller.session), (alice.id, pair.session));
    assert_eq!((caller.amr, caller.acr.as_str()), (vec!["pwd".to_owned()], "aal1"));
    assert!(pair.access_token.expose().starts_with("v4.public."));
    assert_eq!(pair.expires_in, Lifetime::minutes(15));
    services.clock.advance(Lifetime::minutes(15));
    let expired = services.sessions.authenticate(pair.access_token.expose());
    assert_eq!(expired, Err(Unauthenticated::Expired));
}

#[tokio::test]
async fn an_access_token_does_not_outlive_its_session() {
    let (services, alice, _) = Services::with_alice().await;
    let lifetimes =
        SessionConfig { idle: Lifetime::secs(8), lifetime: Lifetime::secs(12), ..SessionConfig::default() };
    let terms = SessionTerms { lifetimes, ..services.sessions.terms.clone() };
    let sessions = SessionService { terms, ..SessionService::clone(&services.sessions) };
    let holds = |pair: &TokenPair| sessions.authenticate(pair.access_token.expose()).map(|_| ());
    let amr = vec!["pwd".to_owned()];
    let first = sessions.begin(&alice, amr, "test/1.0", network()).await.unwrap();
    assert_eq!(first.expires_in, Lifetime::secs(8), "idle");
    services.clock.advance(Lifetime::secs(7));
    assert_eq!(holds(&first), Ok(()));
    let outcome = sessions.refresh(first.refresh_token.expose()).await.unwrap();
    let RefreshOutcome::Refreshed(next) = outcome else { panic!("{outcome:?}") };
    assert_eq!(next.expires_in, Lifetime::secs(5), "what is left of the longest life");
    services.clock.advance(Lifetime::secs(5));
    assert_eq!(holds(&next), Err(Unauthenticated::Expired));
    assert_eq!(holds(&first), Err(Unauthenticated::Expired));
    let outcome = sessions.refresh(next.refresh_token.expose()).await.unwrap();
    assert!(matches!(outcome, RefreshOutcome::Refused), "{outcome:?}");
}

/// Another node on the same store, whose access tokens live for so long.
fn node_with(services: &Services, access_token: Lifetime) -> SessionService {
    let lifetimes = SessionConfig { access_token, ..SessionConfig::default() };
    let terms = SessionTerms { lifetimes, ..services.sessions.terms.clone() };
    SessionService { terms, revocations: Arc::default(), ..SessionService::clone(&services.sessions) }
}

#[tokio::test]
async fn an_access_token_that_was_issued_for_longer_is_over_when_the_end_of_its_session_is_forgotten() {
    let (services, alice, _) = Services::with_alice().await;
    let before = node_with(&services, Lifetime::hours(1));
    let after = node_with(&services, Lifetime::minutes(5));
    let pair = before.begin(&alice, vec!["pwd".to_owned()], "test/1.0", network()).await.unwrap();
    assert_eq!(pair.expires_in, Lifetime::hours(1));
    let outcome = || after.authenticate(pair.access_token.expose()).map(|caller| caller.session);
    assert_eq!(outcome(), Ok(pair.session));
    services.clock.advance(Lifetime::minutes(1));
    assert!(after.end(alice.id, pair.session).await.unwrap());
    assert_eq!(outcome(), Err(Unauthenticated::Revoked));
    let much_later = Instant::now() + Duration::from_hours(24);
    for minute in 2..70 {
        services.clock.advance(Lifetime::minutes(1));
        after.revocations.forget_expired(services.clock.now(), much_later);
        assert!(outcome().is_err(), "minute {minute}");
    }
    assert_eq!(after.revocations.len(), 0);
    assert_eq!(outcome(), Err(Unauthenticated::Expired));
}

#[tokio::test]
async fn the_end_of_a_session_is_remembered_for_longer_than_clocks_differ() {
    let (services, alice, pair) = Services::with_alice().await;
    let ended_at = services.clock.now();
    assert!(services.sessions.end(alice.id, pair.session).await.unwrap());
    let feed: &dyn sluice_token::Feed = &*services.store;
    let markers = feed.read(&sluice_token::FeedPosition::default()).await.unwrap().markers;
    let until = ended_at + Lifetime::minutes(15) + Lifetime::minutes(5);
    assert_eq!(markers.iter().map(|marker| marker.expires_at).collect::<Vec<_>>(), [until]);
}

#[tokio::test]
async fn what_is_no_access_token_of_this_api_says_nothing() {
    let (services, _, pair) = Services::with_alice().await;
    let forged = format!("{}A", pair.access_token.expose());
    for token in ["", "v4.public.AAAA", pair.refresh_token.expose(), &forged, &"v4.public.".repeat(1000)] {
        assert_eq!(services.sessions.authenticate(token), Err(Unauthenticated::NotOurs), "{token}");
    }
}

#[tokio::test]
async fn an_access_token_of_another_issuer_is_told_from_what_is_none() {
    let (services, _, pair) = Services::with_alice().await;
    let sessions = SessionService::clone(&services.sessions);
    let terms = SessionTerms { issuer: "https://former.example.org".to_owned(), ..sessions.terms.clone() };
    let renamed = SessionService { terms, ..sessions };
    let refused = renamed.authenticate(pair.access_token.expose());
    assert_eq!(refused, Err(Unauthenticated::OtherIssuer));
}

#[tokio::test]
async fn two_tabs_that_refresh_at_once_get_the_same_pair() {
    let (services, _, first) = Services::with_alice().await;
    services.clock.advance(Lifetime::minutes(5));
    let one = services.refreshed(&first).await.unwrap();
    services.clock.advance(Lifetime::secs(10));
    let other = services.refreshed(&first).await.unwrap();
    assert_eq!(one.access_token.expose(), other.access_token.expose());
    assert_eq!((one.session, other.expires_in), (first.session, Lifetime::secs(15 * 60 - 10)));
    assert_ne!(one.access_token.expose(), first.access_token.expose());
    assert!(services.refreshed(&other).await.is_some() && services.holds(&first));
}

#[tokio::test]
async fn a_stolen_refresh_token_ends_the_session_when_it_is_used_a_second_time() {
    let (services, _, first) = Services::with_alice().await;
    let thief = services.refreshed(&first).await.unwrap();
    services.clock.advance(Lifetime::minutes(1));
    assert!(services.refreshed(&first).await.is_none());
    assert!(!services.holds(&thief) && !services.holds(&first));
    assert!(services.refreshed(&thief).await.is_none());
}

#[tokio::test]
async fn a_session_lasts_as_long_as_it_is_refreshed_but_not_for_ever() {
    let (services, _, mut pair) = Services::with_alice().await;
    for _ in 0..3 {
        services.clock.advance(Lifetime::hours(29 * 24));
        pair = services.refreshed(&pair).await.unwrap();
    }
    services.clock.advance(Lifetime::hours(3 * 24));
    assert!(services.refreshed(&pair).await.is_none());
}

#[tokio::test]
async fn a_session_that_nobody_refreshes_ends() {
    let (services, alice, pair) = Services::with_alice().await;
    services.clock.advance(Lifetime::hours(30 * 24));
    assert!(services.refreshed(&pair).await.is_none());
    assert!(services.sessions.list(alice.id).await.unwrap().is_empty());
}

#[tokio::test]
async fn whoever_logs_out_is_out_at_once_also_with_an_older_token() {
    let (services, _, first) = Services::with_alice().await;
    let second = services.refreshed(&first).await.unwrap();
    services.sessions.log_out(first.refresh_token.expose()).await.unwrap();
    let revoked = services.sessions.authenticate(second.access_token.expose());
    assert_eq!(revoked, Err(Unauthenticated::Revoked));
    assert!(services.refreshed(&second).await.is_none());
    services.sessions.log_out("not a token").await.unwrap();
}

#[tokio::test]
async fn sessions_are_listed_and_ended_by_their_person_only() {
    let (services, alice, first) = Services::with_alice().await;
    let bob = services.register("bob@example.com").await;
    services.clock.advance(Lifetime::secs(1));
    let second = services.sign_in(ALICE, PASSWORD).await;
    let listed = services.sessions.list(alice.id).await.unwrap();
    let ids: Vec<_> = listed.iter().map(|session| session.id).collect();
    assert_eq!(ids, [second.session, first.session]);
    assert_eq!((listed[0].device.as_str(), listed[0].network.as_str()), ("test/1.0", "192.0.2.1"));
    assert!(!services.sessions.end(bob.id, first.session).await.unwrap());
    assert!(services.sessions.end(alice.id, first.session).await.unwrap());
    assert!(!services.holds(&first) && services.holds(&second));
}

#[tokio::test]
async fn all_other_sessions_end_and_this_one_goes_on() {
    let (services, alice, first) = Services::with_alice().await;
    let second = services.sign_in(ALICE, PASSWORD).await;
    services.sessions.end_others(alice.id, second.session).await.unwrap();
    assert!(!services.holds(&first) && services.refreshed(&first).await.is_none());
    assert!(services.holds(&second) && services.refreshed(&second).await.is_some());
}

#[tokio::test]
async fn whoever_is_signed_out_everywhere_can_sign_in_again() {
    let (services, alice, first) = Services::with_alice().await;
    services.sessions.end_all(alice.id).await.unwrap();
    assert!(!services.holds(&first) && services.refreshed(&first).await.is_none());
    services.clock.advance(Lifetime::secs(1));
    let again = services.sign_in(ALICE, PASSWORD).await;
    assert!(services.holds(&again));
}

#[tokio::test]
async fn another_node_hears_of_the_end_of_a_session_from_the_feed() {
    let (services, alice, pair) = Services::with_alice().await;
    services.sessions.end(alice.id, pair.session).await.unwrap();
    services.sessions.end_all(alice.id).await.unwrap();
    let elsewhere = sluice_token::RevocationSet::default();
    let feed: &dyn sluice_token::Feed = &*services.store;
    for marker in feed.read(&sluice_token::FeedPosition::default()).await.unwrap().markers {
        elsewhere.apply(&marker);
    }
    assert_eq!(elsewhere.len(), services.revocations.len());
    let (subject, at) = (alice.id.to_string().parse().unwrap(), alice.created_at);
    assert!(elsewhere.covers_session(pair.session, &subject, at));
}

/// Nobody could end it any more: it is not in the list.
#[tokio::test]
async fn the_access_token_of_a_session_that_others_pushed_out_holds_no_more() {
    let (services, alice, first) = Services::with_alice().await;
    for _ in 0..MAX_SESSIONS {
        services.clock.advance(Lifetime::millis(1));
        services.sessions.begin(&alice, vec!["pwd".to_owned()], "test/1.0", network()).await.unwrap();
    }
    services.sessions.follower.catch_up().await.unwrap();
    let pushed_out = services.sessions.authenticate(first.access_token.expose());
    assert_eq!(pushed_out, Err(Unauthenticated::Revoked));
    assert!(services.refreshed(&first).await.is_none());
    assert_eq!(services.sessions.list(alice.id).await.unwrap().len(), 200);
}

#[tokio::test]
async fn who_proved_something_of_a_record_that_was_changed_meanwhile_is_not_signed_in() {
    let (services, alice, first) = Services::with_alice().await;
    services.change_password(&alice, (PASSWORD, "battery staple"), None).await;
    let late = services.sessions.begin(&alice, vec!["pwd".to_owned()], "late", network()).await;
    assert!(matches!(late, Err(IdentityError::Changed)), "{late:?}");
    assert!(services.sessions.list(alice.id).await.unwrap().is_empty());
    assert!(!services.holds(&first));
}

#[tokio::test]
async fn who_signs_in_before_the_time_at_which_a_node_that_is_ahead_signed_them_out_is_told_to_try_again() {
    let (services, alice, _) = Services::with_alice().await;
    let ahead = services.clock.now() + Lifetime::millis(500);
    let change =
        IdentityChange { revokes: true, ..IdentityChange::of(&alice, ahead, AttemptId::from_bytes([3; 16])) };
    assert_eq!(services.store.change(&change).await.unwrap(), Changed::Done);
    let present = services.stored(ALICE).await;
    let sign_in = async || {
        let amr = vec!["pwd".to_owned()];
        services.sessions.begin(&present, amr, "test/1.0", network()).await
    };
    let early = sign_in().await;
    assert!(matches!(early, Err(IdentityError::Changed)), "{early:?}");
    services.clock.advance(Lifetime::secs(1));
    let pair = sign_in().await.unwrap();
    assert!(services.refreshed(&pair).await.is_some());
}

#[tokio::test]
async fn a_node_that_has_not_heard_of_revocations_says_that_it_does_not_know() {
    let (services, _, pair) = Services::with_alice().await;
    let deaf = super::services::deaf(&services);
    let unknown = deaf.authenticate(pair.access_token.expose());
    assert_eq!(unknown, Err(Unauthenticated::Unknown));
}

#[tokio::test]
async fn nothing_of_a_pair_is_printed() {
    let (services, _, pair) = Services::with_alice().await;
    let outcome = services.sessions.refresh(pair.refresh_token.expose()).await.unwrap();
    let RefreshOutcome::Refreshed(next) = &outcome else { panic!("{outcome:?}") };
    let printed = format!("{outcome:?} {:?} {:?}", services.sessions, secret("x"));
    assert!(!printed.contains(next.refresh_token.expose().as_str()) && !printed.contains("v4.public"));
}
