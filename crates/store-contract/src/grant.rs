//! Grants: inserted once under the id of their flow, redeemed once, listed while they live.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a promise that cannot be checked is broken"
)]

use futures_util::future::join_all;
use serde_json::json;
use sluice_commit::StoreError;
use sluice_oauth::client::ClientRepository;
use sluice_oauth::grant::{
    Generation, Grant, GrantClaims, GrantPage, GrantRepository, Insertion, Listed, RedeemCode, Redemption,
    SecondTime,
};
use sluice_primitives::{GrantId, OsRng, Timestamp};
use sluice_token::Target;

use crate::{Fixture, given};

async fn find(store: &impl GrantRepository, grant: GrantId) -> Option<Grant> {
    store.find(grant).await.unwrap()
}

async fn redeem(store: &impl GrantRepository, grant: GrantId, now: i64) -> Redemption {
    store.redeem_code(given::redeem(grant, now)).await.unwrap()
}

/// The grant that is found equals the grant that was inserted.
pub async fn a_grant_is_found_as_it_was_inserted(fixture: &impl Fixture) {
    let full = given::inserted(&*fixture.store(), given::grant()).await;
    let bare = Grant {
        session: None,
        audience: given::audience(&[]),
        scope: given::scope(""),
        claims: GrantClaims::default(),
        expires_at: Timestamp::NEVER,
        ..given::grant()
    };
    let bare = given::inserted(&*fixture.store(), bare).await;
    let reader = fixture.second_node().await;
    assert_eq!(find(&*reader, full.id).await, Some(full));
    assert_eq!(find(&*reader, bare.id).await, Some(bare));
    assert_eq!(find(&*reader, given::grant_id()).await, None);
}

/// The first consent verifier wins, whatever subject the others carry.
pub async fn a_flow_is_spent_by_its_first_grant(fixture: &impl Fixture) {
    let first = given::inserted(&*fixture.store(), given::grant()).await;
    let second = Grant { subject: given::subject("mallory"), attempt: given::attempt(), ..first.clone() };
    assert_eq!(given::insert(&*fixture.second_node().await, &second).await.unwrap(), Insertion::Taken);
    assert_eq!(find(&*fixture.store(), first.id).await, Some(first));
}

/// A flow that is spent hurts none of the many that are spent at the same moment; again and again.
pub async fn a_crowd_beside_a_flow_that_is_spent_gets_its_grants(fixture: &impl Fixture) {
    let store = fixture.store();
    let spent = given::inserted(&*store, given::grant()).await;
    for round in 0..3 {
        let mut crowd: Vec<_> = (0..40).map(|_| given::grant()).collect();
        crowd[20] = Grant { attempt: given::attempt(), ..spent.clone() };
        let outcomes = join_all(crowd.iter().map(|grant| given::insert(&*store, grant))).await;
        for (number, (grant, outcome)) in crowd.into_iter().zip(outcomes).enumerate() {
            let expected = if number == 20 { Insertion::Taken } else { Insertion::Inserted };
            assert_eq!(outcome.unwrap(), expected, "{number} of round {round}");
            let there = if number == 20 { spent.clone() } else { grant };
            assert_eq!(find(&*store, there.id).await, Some(there), "{number} of round {round}");
        }
    }
}

/// Of 64 consent verifiers of one flow on two nodes exactly one wins.
pub async fn concurrent_inserts_of_one_flow_have_one_winner(fixture: &impl Fixture) {
    let nodes = [fixture.store(), fixture.second_node().await];
    let grant = given::grant();
    let grants: Vec<_> = (0..64).map(|_| Grant { attempt: given::attempt(), ..grant.clone() }).collect();
    let inserts = grants.iter().enumerate().map(|(place, grant)| given::insert(&*nodes[place % 2], grant));
    let outcomes = join_all(inserts).await;
    assert_eq!(outcomes.iter().filter(|outcome| matches!(outcome, Ok(Insertion::Inserted))).count(), 1);
    let place = outcomes.iter().position(|outcome| matches!(outcome, Ok(Insertion::Inserted))).unwrap();
    assert_eq!(find(&*nodes[0], grant.id).await.unwrap().attempt, grants[place].attempt);
}

/// A retry after a lost answer finds its own work.
pub async fn an_insert_retried_by_its_own_attempt_is_a_success(fixture: &impl Fixture) {
    let grant = given::inserted(&*fixture.store(), given::grant()).await;
    assert_eq!(given::insert(&*fixture.second_node().await, &grant).await.unwrap(), Insertion::Inserted);
}

/// What PostgreSQL cannot hold, no store takes.
pub async fn a_grant_with_text_that_cannot_be_stored_is_refused(fixture: &impl Fixture) {
    let store = fixture.store();
    let too_long = GrantClaims { acr: Some("x".repeat(2 << 20)), ..GrantClaims::default() };
    let bad = [
        Grant { audience: given::audience(&["with \0 inside"]), ..given::grant() },
        Grant { claims: too_long, ..given::grant() },
    ];
    for grant in bad {
        let refused = given::insert(&*store, &grant).await;
        assert!(matches!(refused, Err(StoreError::Invalid(_))), "{refused:?}");
        assert_eq!(find(&*store, grant.id).await, None);
    }
}

/// A redeemed grant is as it was, but for what redemption says.
pub async fn a_code_is_redeemed(fixture: &impl Fixture) {
    let grant = given::inserted(&*fixture.store(), given::grant()).await;
    let RedeemCode { attempt, .. } = given::redeem(grant.id, 20);
    let redeem = RedeemCode { attempt, ..given::redeem(grant.id, 20) };
    let expected = Grant {
        redeemed_at: Some(given::at(20)),
        rotated_at: Some(given::at(20)),
        generation: Generation(0),
        expires_at: given::at(100_000),
        attempt,
        ..grant.clone()
    };
    let outcome = fixture.second_node().await.redeem_code(redeem).await.unwrap();
    assert_eq!(outcome, Redemption::Redeemed(Box::new(expected.clone())));
    assert_eq!(find(&*fixture.store(), grant.id).await, Some(expected));
}

/// Of a grant that nobody can refresh nothing is of use for long.
pub async fn a_redeemed_grant_lives_by_its_scope(fixture: &impl Fixture) {
    let store = fixture.store();
    let claims = given::brought_claims();
    for (scope, until) in [("openid", 50_000), ("openid offline", 100_000), ("offline_access", 100_000)] {
        for claims in &claims {
            let grant = Grant { scope: given::scope(scope), ..given::grant() };
            let grant = given::inserted(&*store, grant).await;
            let redeem = RedeemCode { claims: claims.clone(), ..given::redeem(grant.id, 20) };
            let outcome = store.redeem_code(redeem).await.unwrap();
            assert!(matches!(outcome, Redemption::Redeemed(grant) if grant.expires_at == given::at(until)));
            assert_eq!(find(&*store, grant.id).await.unwrap().expires_at, given::at(until), "{scope}");
        }
    }
}

/// The second attempt revokes the grant and leaves its marker (RFC 6749 §4.1.2).
pub async fn a_code_redeemed_twice_revokes_its_grant(fixture: &impl Fixture) {
    let store = fixture.store();
    let grant = given::redeemed(&*store, given::grant()).await;
    assert_eq!(redeem(&*fixture.second_node().await, grant.id, 21).await, Redemption::Replayed);
    let found = find(&*store, grant.id).await.unwrap();
    assert_eq!((found.revoked_at, found.claims), (Some(given::at(21)), GrantClaims::default()));
    let marker = given::markers(&*store).await.pop().unwrap();
    assert_eq!((marker.target, marker.at), (Target::Grant(grant.id), given::at(21)));
    assert!(marker.expires_at >= given::at(100_000), "the marker outlives the tokens of the grant");
    assert_eq!(redeem(&*store, grant.id, 22).await, Redemption::Revoked);
}

/// That of a device does nothing to it, so that who had no answer may ask again.
pub async fn a_code_that_is_only_refused_the_second_time_revokes_nothing(fixture: &impl Fixture) {
    let nodes = [fixture.store(), fixture.second_node().await];
    let grant = given::inserted(&*nodes[0], given::grant()).await;
    let attempt =
        |now: i64| RedeemCode { second_time: SecondTime::IsRefused, ..given::redeem(grant.id, now) };
    let first = attempt(20);
    let outcome = nodes[0].redeem_code(first.clone()).await.unwrap();
    let Redemption::Redeemed(redeemed) = &outcome else { panic!("{outcome:?}") };
    for node in &nodes {
        assert_eq!(node.redeem_code(attempt(21)).await.unwrap(), Redemption::Refused);
    }
    assert_eq!(nodes[1].redeem_code(first).await.unwrap(), outcome, "its own attempt goes on");
    assert_eq!(find(&*nodes[1], grant.id).await.as_ref(), Some(&**redeemed));
    assert_eq!(given::markers(&*nodes[0]).await, []);
}

/// Of 64 redemptions of one code on two nodes exactly one succeeds, and the grant is revoked.
pub async fn a_code_redeemed_by_64_at_once_is_redeemed_by_one_and_revoked(fixture: &impl Fixture) {
    let nodes = [fixture.store(), fixture.second_node().await];
    let grant = given::inserted(&*nodes[0], given::grant()).await;
    let outcomes = join_all((0..64).map(|place| redeem(&*nodes[place % 2], grant.id, 20))).await;
    let count = |wanted: fn(&Redemption) -> bool| outcomes.iter().filter(|outcome| wanted(outcome)).count();
    assert_eq!(count(|outcome| matches!(outcome, Redemption::Redeemed(_))), 1);
    assert_eq!(count(|outcome| *outcome == Redemption::Replayed), 1);
    assert_eq!(count(|outcome| *outcome == Redemption::Revoked), 62);
    assert!(find(&*nodes[0], grant.id).await.unwrap().revoked_at.is_some());
    assert!(given::is_marked(&*nodes[1], &Target::Grant(grant.id)).await);
}

/// The same when the engine stands still until all 64 wait, so that they are taken together.
pub async fn a_code_redeemed_64_times_in_one_batch_is_redeemed_by_one_and_revoked(fixture: &impl Fixture) {
    let store = fixture.store();
    let grant = given::inserted(&*store, given::grant()).await;
    let stall = fixture.stall().await;
    let redemptions = join_all((0..64).map(|_| redeem(&*store, grant.id, 20)));
    let release = async { drop(stall) };
    let (outcomes, ()) = tokio::join!(redemptions, release);
    let count = |wanted: fn(&Redemption) -> bool| outcomes.iter().filter(|outcome| wanted(outcome)).count();
    assert_eq!(count(|outcome| matches!(outcome, Redemption::Redeemed(_))), 1);
    assert_eq!(count(|outcome| matches!(outcome, Redemption::Replayed | Redemption::Revoked)), 63);
    assert!(find(&*store, grant.id).await.unwrap().revoked_at.is_some());
}

/// A retry after a lost answer finds its own work, and is no replay.
pub async fn a_redemption_retried_by_its_own_attempt_is_a_success(fixture: &impl Fixture) {
    let nodes = [fixture.store(), fixture.second_node().await];
    let grant = given::inserted(&*nodes[0], given::grant()).await;
    let redeem = given::redeem(grant.id, 20);
    let first = nodes[0].redeem_code(redeem.clone()).await.unwrap();
    assert!(matches!(first, Redemption::Redeemed(_)));
    let (second, third) = tokio::join!(nodes[0].redeem_code(redeem.clone()), nodes[1].redeem_code(redeem));
    assert_eq!((&second.unwrap(), &third.unwrap()), (&first, &first));
    assert_eq!(given::markers(&*nodes[0]).await, []);
}

/// What a hook said is written with the redemption that it was asked about, and by no other.
pub async fn a_redemption_brings_the_claims_of_a_hook(fixture: &impl Fixture) {
    let nodes = [fixture.store(), fixture.second_node().await];
    let grant = given::inserted(&*nodes[0], given::grant()).await;
    let bringing = |hook: &str, now: i64| {
        let claims = Some(Box::new(given::replaced_by(hook)));
        RedeemCode { claims, ..given::redeem(grant.id, now) }
    };
    let first = bringing("first", 20);
    let outcome = nodes[1].redeem_code(first.clone()).await.unwrap();
    let Redemption::Redeemed(redeemed) = &outcome else { panic!("{outcome:?}") };
    assert_eq!(redeemed.claims, given::replaced_by("first"));
    assert_eq!(find(&*nodes[0], grant.id).await.as_ref(), Some(&**redeemed));
    assert_eq!(nodes[0].redeem_code(first).await.unwrap(), outcome);
    assert_eq!(find(&*nodes[1], grant.id).await.unwrap().claims, given::replaced_by("first"));
    assert_eq!(nodes[0].redeem_code(bringing("second", 21)).await.unwrap(), Redemption::Replayed);
    assert_eq!(find(&*nodes[1], grant.id).await.unwrap().claims, GrantClaims::default());
}

/// In one batch, too, each grant gets its own claims, and keeps those that it has if it is brought none.
pub async fn redemptions_with_claims_and_without_share_commits(fixture: &impl Fixture) {
    let store = fixture.store();
    let grants = join_all((0..32).map(|_| given::inserted(&*store, given::grant()))).await;
    let brought = |place: usize| {
        place.is_multiple_of(2).then(|| Box::new(given::replaced_by(&format!("hook {place}"))))
    };
    let stall = fixture.stall().await;
    let redemptions = join_all(grants.iter().enumerate().map(|(place, grant)| {
        store.redeem_code(RedeemCode { claims: brought(place), ..given::redeem(grant.id, 20) })
    }));
    let release = async { drop(stall) };
    let (outcomes, ()) = tokio::join!(redemptions, release);
    for (place, (outcome, grant)) in outcomes.iter().zip(&grants).enumerate() {
        let Ok(Redemption::Redeemed(redeemed)) = outcome else { panic!("{outcome:?}") };
        let expected = brought(place).map_or_else(|| grant.claims.clone(), |claims| *claims);
        assert_eq!(redeemed.claims, expected);
        assert_eq!(find(&*store, grant.id).await.unwrap().claims, expected);
    }
}

/// Claims that no store can hold are refused, and the code is as good as before.
pub async fn a_redemption_with_claims_that_cannot_be_stored_is_refused(fixture: &impl Fixture) {
    let store = fixture.store();
    let grant = given::inserted(&*store, given::grant()).await;
    let too_long = GrantClaims { acr: Some("x".repeat(2 << 20)), ..GrantClaims::default() };
    let claims = Some(Box::new(too_long));
    let refused = store.redeem_code(RedeemCode { claims, ..given::redeem(grant.id, 20) }).await;
    assert!(matches!(refused, Err(StoreError::Invalid(_))), "{refused:?}");
    assert!(matches!(redeem(&*store, grant.id, 21).await, Redemption::Redeemed(_)));
}

/// Nothing is redeemed that is not there, expired, or revoked, whatever claims are brought.
pub async fn only_a_living_grant_is_redeemed(fixture: &impl Fixture) {
    let store = fixture.store();
    for claims in given::brought_claims() {
        let redeem = async |grant: GrantId, now: i64| {
            let redeem = RedeemCode { claims: claims.clone(), ..given::redeem(grant, now) };
            store.redeem_code(redeem).await.unwrap()
        };
        assert_eq!(redeem(given::grant_id(), 20).await, Redemption::Unknown);
        let expired = given::inserted(&*store, Grant { expires_at: given::at(60), ..given::grant() }).await;
        assert_eq!(redeem(expired.id, 60).await, Redemption::Unknown);
        assert!(matches!(redeem(expired.id, 59).await, Redemption::Redeemed(_)));
        let revoked = given::inserted(&*store, given::grant()).await;
        store.revoke(revoked.id, given::at(20), given::at(9000)).await.unwrap();
        assert_eq!(redeem(revoked.id, 21).await, Redemption::Revoked);
    }
}

/// Nodes that redeem the same codes in opposite order do not block each other; each code has one winner.
pub async fn redemptions_in_opposite_order_from_two_nodes_each_get_an_outcome(fixture: &impl Fixture) {
    let nodes = [fixture.store(), fixture.second_node().await];
    let grants: Vec<GrantId> = join_all((0..50).map(|_| given::inserted(&*nodes[0], given::grant())))
        .await
        .iter()
        .map(|g| g.id)
        .collect();
    let forwards = join_all(grants.iter().map(|grant| redeem(&*nodes[0], *grant, 20)));
    let backwards = join_all(grants.iter().rev().map(|grant| redeem(&*nodes[1], *grant, 20)));
    let (first, mut second) = tokio::join!(forwards, backwards);
    second.reverse();
    for outcome in first.iter().zip(&second) {
        let expected = matches!(
            outcome,
            (Redemption::Redeemed(_), Redemption::Replayed) | (Redemption::Replayed, Redemption::Redeemed(_))
        );
        assert!(expected, "{outcome:?}");
    }
}

fn page() -> GrantPage {
    GrantPage {
        subject: given::subject("alice"),
        session: None,
        listed: Listed::All,
        before: None,
        limit: 10,
        now: given::at(50),
    }
}

/// What is listed. As much is counted as is on all pages, up to where the count ends.
async fn listed(store: &impl GrantRepository, page: GrantPage) -> Vec<GrantId> {
    let counted = store.count_listed(&page.subject, page.listed, page.now, page.limit).await.unwrap();
    let is_whole = page.session.is_none() && page.before.is_none();
    let grants = store.list(page).await.unwrap();
    if is_whole {
        assert_eq!(grants.len() as u64, counted);
    }
    grants.iter().map(|grant| grant.id).collect()
}

/// The living grants of a subject come newest first, in pages, redeemed or not.
pub async fn the_grants_of_a_subject_are_listed_newest_first(fixture: &impl Fixture) {
    let store = fixture.store();
    let mut ids = Vec::new();
    for made_at in 0..4 {
        let id = GrantId::generate(given::at(made_at), &OsRng);
        ids.push(given::inserted(&*store, Grant { id, ..given::grant() }).await.id);
    }
    given::inserted(&*store, Grant { subject: given::subject("alic"), ..given::grant() }).await;
    assert!(matches!(redeem(&*store, ids[1], 20).await, Redemption::Redeemed(_)));
    ids.reverse();
    assert_eq!(listed(&*store, page()).await, ids);
    assert_eq!(listed(&*store, GrantPage { limit: 2, ..page() }).await, ids[..2]);
    assert_eq!(listed(&*store, GrantPage { before: Some(ids[1]), ..page() }).await, ids[2..]);
}

/// A list may be of one login session only.
pub async fn the_grants_of_a_session_are_listed(fixture: &impl Fixture) {
    let store = fixture.store();
    let grant = given::inserted(&*store, given::grant()).await;
    given::inserted(&*store, given::grant()).await;
    given::inserted(&*store, Grant { session: None, ..given::grant() }).await;
    assert_eq!(listed(&*store, GrantPage { session: grant.session, ..page() }).await, [grant.id]);
}

/// What came of a consent page that was skipped stands for no decision of its own.
pub async fn grants_of_a_skipped_consent_are_listed_among_all_only(fixture: &impl Fixture) {
    let store = fixture.store();
    let claims = GrantClaims { skipped: true, ..given::claims() };
    let skipped = given::inserted(&*store, Grant { claims, ..given::grant() }).await;
    assert_eq!(find(&*store, skipped.id).await, Some(skipped.clone()));
    // A text of somebody else is no note of ours.
    let context = Some(json!({"skipped": true, "text": "{\"skipped\":true"}));
    let claims = GrantClaims { acr: None, amr: Vec::new(), context, ..given::claims() };
    let shown = given::inserted(&*store, Grant { claims, ..given::grant() }).await;
    let own = GrantPage { listed: Listed::OnTheirOwn, ..page() };
    assert_eq!(listed(&*store, own).await, [shown.id]);
    let mut all = [skipped.id, shown.id];
    all.sort_unstable_by(|one, other| other.cmp(one));
    assert_eq!(listed(&*store, page()).await, all);
}

/// Neither expired nor revoked grants are listed, whatever revoked them.
pub async fn dead_grants_are_not_listed(fixture: &impl Fixture) {
    let store = fixture.store();
    given::inserted(&*store, Grant { expires_at: given::at(50), ..given::grant() }).await;
    let revoked = given::inserted(&*store, given::grant()).await;
    store.revoke(revoked.id, given::at(20), given::at(9000)).await.unwrap();
    let of_deleted = Grant { client: given::client_id("deleted"), ..given::grant() };
    given::inserted(&*store, of_deleted.clone()).await;
    ClientRepository::revoke_grants(&*store, &of_deleted.client, given::at(20), given::at(9000))
        .await
        .unwrap();
    let living = given::inserted(&*store, given::grant()).await;
    assert_eq!(listed(&*store, page()).await, [living.id]);
}

/// Expired grants go, a bounded number at a time; living ones stay.
pub async fn expired_grants_are_purged_in_bounded_steps(fixture: &impl Fixture) {
    let store = fixture.store();
    let living = given::redeemed(&*store, given::grant()).await;
    for _ in 0..3 {
        given::inserted(&*store, given::grant()).await;
    }
    let purge = async |limit| GrantRepository::purge_expired(&*store, given::at(4000), limit).await.unwrap();
    assert_eq!((purge(2).await, purge(2).await), (2, 1));
    assert_eq!(purge(2).await, 0);
    assert_eq!(find(&*store, living.id).await, Some(living));
}
