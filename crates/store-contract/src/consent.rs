//! Remembered decisions: one per subject and client, gone when forgotten, and the grants with them.

#![expect(clippy::unwrap_used, reason = "a promise that cannot be checked is broken")]

use sluice_oauth::consent::{ConsentRepository, Forget, RememberedConsent};
use sluice_oauth::grant::{Grant, GrantPage, GrantRepository, Redemption};
use sluice_primitives::Timestamp;
use sluice_token::Target;

use crate::{Fixture, given};

async fn find(store: &impl ConsentRepository, now: i64) -> Option<RememberedConsent> {
    store.find(&given::subject("alice"), &given::client_id("shop"), given::at(now)).await.unwrap()
}

async fn remember(store: &impl GrantRepository, decision: RememberedConsent) -> Grant {
    let grant =
        Grant { client: decision.client.clone(), consented_at: decision.decided_at, ..given::grant() };
    store.insert(grant.clone(), Some(decision), false).await.unwrap();
    grant
}

fn forget(client: Option<&str>, now: i64) -> Forget {
    Forget {
        subject: given::subject("alice"),
        client: client.map(given::client_id),
        now: given::at(now),
        marker_expires_at: given::at(9000),
    }
}

/// The decision that is found equals the one that was remembered with the grant.
pub async fn a_decision_is_stored_with_its_grant(fixture: &impl Fixture) {
    remember(&*fixture.store(), given::decision()).await;
    assert_eq!(find(&*fixture.second_node().await, 20).await, Some(given::decision()));
}

/// Without a grant there is no decision.
pub async fn a_spent_flow_remembers_nothing(fixture: &impl Fixture) {
    let store = fixture.store();
    let grant = given::inserted(&*store, given::grant()).await;
    let second = Grant { attempt: given::attempt(), ..grant };
    GrantRepository::insert(&*store, second, Some(given::decision()), false).await.unwrap();
    assert_eq!(find(&*store, 20).await, None);
}

/// One decision per subject and client: the later one.
pub async fn a_later_decision_replaces_the_earlier_one(fixture: &impl Fixture) {
    let store = fixture.store();
    let later =
        RememberedConsent { decided_at: given::at(11), scope: given::scope("email"), ..given::decision() };
    remember(&*store, given::decision()).await;
    remember(&*store, later.clone()).await;
    assert_eq!(find(&*store, 20).await, Some(later.clone()));
    remember(&*store, given::decision()).await;
    assert_eq!(find(&*store, 20).await, Some(later), "an earlier one that arrives late replaces nothing");
}

/// A decision holds until it expires.
pub async fn a_decision_expires(fixture: &impl Fixture) {
    let store = fixture.store();
    remember(&*store, RememberedConsent { expires_at: given::at(60), ..given::decision() }).await;
    assert!(find(&*store, 59).await.is_some());
    assert!(find(&*store, 60).await.is_none());
    remember(&*store, RememberedConsent { expires_at: Timestamp::NEVER, ..given::decision() }).await;
    assert!(find(&*store, 1_000_000_000).await.is_some());
}

/// Forgetting about one client revokes what was granted to it, and to no other.
pub async fn forgetting_about_a_client_revokes_its_grants_only(fixture: &impl Fixture) {
    let store = fixture.store();
    let shop = remember(&*store, given::decision()).await;
    let bank =
        remember(&*store, RememberedConsent { client: given::client_id("bank"), ..given::decision() }).await;
    store.forget(forget(Some("shop"), 20)).await.unwrap();
    assert_eq!(find(&*store, 21).await, None);
    assert_eq!(store.redeem_code(given::redeem(shop.id, 21)).await.unwrap(), Redemption::Revoked);
    assert!(matches!(store.redeem_code(given::redeem(bank.id, 21)).await.unwrap(), Redemption::Redeemed(_)));
    let markers = given::markers(&*store).await;
    let target = Target::SubjectClient(given::subject("alice"), given::client_id("shop"));
    assert_eq!(markers.iter().map(|marker| &marker.target).collect::<Vec<_>>(), [&target]);
}

/// Forgetting all revokes what the subject granted to any client, by one marker however many clients there are.
pub async fn forgetting_all_leaves_one_marker(fixture: &impl Fixture) {
    let store = fixture.store();
    let shop = remember(&*store, given::decision()).await;
    let bank = Grant { client: given::client_id("bank"), ..given::grant() };
    let bank = given::inserted(&*store, bank).await;
    let bob = Grant { subject: given::subject("bob"), ..given::grant() };
    let bob = given::inserted(&*store, bob).await;
    store.forget(forget(None, 20)).await.unwrap();
    let expected = Target::SubjectConsents(given::subject("alice"));
    let markers = given::markers(&*fixture.second_node().await).await;
    assert_eq!(markers.iter().map(|marker| &marker.target).collect::<Vec<_>>(), [&expected]);
    assert_eq!(find(&*store, 21).await, None);
    for grant in [shop, bank] {
        assert_eq!(store.redeem_code(given::redeem(grant.id, 21)).await.unwrap(), Redemption::Revoked);
    }
    assert!(matches!(store.redeem_code(given::redeem(bob.id, 21)).await.unwrap(), Redemption::Redeemed(_)));
}

/// A subject of whom nothing is known yet: its first consent, accepted before all were forgotten, is caught on its way.
pub async fn a_first_consent_in_flight_is_forgotten_with_all(fixture: &impl Fixture) {
    let (store, other) = (fixture.store(), fixture.second_node().await);
    other.forget(forget(None, 20)).await.unwrap();
    let grant = remember(&*store, given::decision()).await;
    assert_eq!(find(&*store, 21).await, None);
    assert_eq!(store.redeem_code(given::redeem(grant.id, 21)).await.unwrap(), Redemption::Revoked);
}

/// Grants that are revoked by the forgetting of all are not listed, and swept like others.
pub async fn forgotten_grants_are_neither_listed_nor_missed_by_the_sweep(fixture: &impl Fixture) {
    let store = fixture.store();
    let grant = given::inserted(&*store, given::grant()).await;
    store.forget(forget(None, 20)).await.unwrap();
    let page =
        GrantPage { subject: grant.subject, session: None, before: None, limit: 9, now: given::at(21) };
    assert_eq!(GrantRepository::list(&*store, page).await.unwrap(), []);
    assert_eq!(store.sweep_revoked(given::at(22), 9).await.unwrap(), 1);
    let swept = GrantRepository::find(&*store, grant.id).await.unwrap().unwrap();
    assert_eq!(swept.revoked_at, Some(given::at(22)));
}

/// Consent that was accepted after the forgetting holds, whether of one client or of all.
pub async fn a_later_grant_is_not_touched_by_forgetting(fixture: &impl Fixture) {
    let store = fixture.store();
    for (client, now) in [(Some("shop"), 20), (None, 30)] {
        store.forget(forget(client, now)).await.unwrap();
        let later = RememberedConsent { decided_at: given::at(now + 1), ..given::decision() };
        let grant = remember(&*store, later.clone()).await;
        assert_eq!(find(&*store, now + 2).await, Some(later.clone()));
        store.forget(forget(client, now)).await.unwrap();
        assert_eq!(find(&*store, now + 2).await, Some(later), "a forgetting that arrives late");
        let outcome = store.redeem_code(given::redeem(grant.id, now + 2)).await.unwrap();
        assert!(matches!(outcome, Redemption::Redeemed(_)), "{outcome:?}");
    }
}

/// A flow that was in flight while its decision was forgotten does not bring it back.
pub async fn a_forgotten_decision_does_not_come_back(fixture: &impl Fixture) {
    let store = fixture.store();
    store.forget(forget(Some("shop"), 20)).await.unwrap();
    let grant = remember(&*store, given::decision()).await;
    assert_eq!(find(&*store, 21).await, None);
    assert_eq!(store.redeem_code(given::redeem(grant.id, 21)).await.unwrap(), Redemption::Revoked);
}
