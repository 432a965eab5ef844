//! Markers: what each kind covers, told apart by time, and how long they stay.

#![expect(clippy::unwrap_used, reason = "a promise that cannot be checked is broken")]

use sluice_oauth::consent::Forget;
use sluice_oauth::grant::{
    Grant, GrantClaims, GrantPage, GrantRepository, Listed, RedeemCode, Redemption, RotateRefresh, Rotation,
    Standing,
};
use sluice_oauth::login_session::{EndSessions, LoginSessionRepository};
use sluice_primitives::Timestamp;
use sluice_token::{Feed, FeedPosition, Target};

use crate::{Fixture, Stores, given};

/// When markers of these tests are made: within an hour of second 0, and of no use to anybody after second 9000.
const MARKED: i64 = 50;
const USED: i64 = 60;
const FORGOTTEN: i64 = 9000;

/// The wide kinds that a grant of `alice` to `shop` in `session` can be covered by.
fn wide(grant: &Grant) -> Vec<Target> {
    vec![
        Target::Session(grant.session.unwrap()),
        Target::Subject(grant.subject.clone()),
        Target::SubjectClient(grant.subject.clone(), grant.client.clone()),
        Target::Client(grant.client.clone()),
        Target::SubjectConsents(grant.subject.clone()),
    ]
}

/// Appends a wide marker at [`MARKED`].
async fn mark(store: &impl Stores, target: &Target) {
    let (now, expires_at) = (given::at(MARKED), given::at(FORGOTTEN));
    let end =
        async |which| LoginSessionRepository::end(store, which, now, expires_at, Vec::new()).await.map(drop);
    let marked = match target.clone() {
        Target::Grant(grant) => store.revoke(grant, now, expires_at).await,
        Target::Session(session) => end(EndSessions::One(session)).await,
        Target::Subject(subject) => end(EndSessions::Subject(subject)).await,
        Target::SubjectClient(subject, client) => {
            store.forget(Forget { subject, client: Some(client), now, marker_expires_at: expires_at }).await
        }
        Target::SubjectConsents(subject) => {
            store.forget(Forget { subject, client: None, now, marker_expires_at: expires_at }).await
        }
        Target::Client(client) => store.revoke_grants(&client, now, expires_at).await,
    };
    marked.unwrap();
}

/// A grant of its own client, subject and session, authenticated and consented at the given milliseconds after second 0.
fn own(name: &str, authenticated_at: i64, consented_at: i64) -> Grant {
    let millis = |after: i64| Timestamp::from_millis(given::at(0).as_millis() + after);
    Grant {
        client: given::client_id(&format!("client of {name}")),
        subject: given::subject(&format!("subject {name}")),
        authenticated_at: millis(authenticated_at),
        consented_at: millis(consented_at),
        ..given::grant()
    }
}

/// Grants of each wide kind, with times around the marker: (grant, target, whether it is covered).
fn cases() -> Vec<(Grant, Target, bool)> {
    let (before, same, after) = (MARKED * 1000 - 1, MARKED * 1000, MARKED * 1000 + 1);
    let mut cases = Vec::new();
    for kind in 0..5 {
        for time in [before, same, after] {
            let by_authentication = kind < 2;
            // The time that does not count lies on the other side of the marker.
            let other = if time <= same { after } else { before };
            let (authenticated, consented) = if by_authentication { (time, other) } else { (other, time) };
            let grant = own(&format!("{kind} {time}"), authenticated, consented);
            let target = wide(&grant).swap_remove(kind);
            cases.push((grant, target, time <= same));
        }
    }
    cases
}

/// As many grants like this one as there are claims to be brought.
fn alike(grant: &Grant) -> [Grant; 2] {
    [grant.clone(), Grant { id: given::grant_id(), attempt: given::attempt(), ..grant.clone() }]
}

/// `sid` and `subject` hold by authentication, `client`, (`subject`, `client`) and the consents of a subject by consent:
/// redemption obeys, whatever claims it brings.
pub async fn wide_markers_stop_redemption_by_the_time_that_counts(fixture: &impl Fixture) {
    let (store, other) = (fixture.store(), fixture.second_node().await);
    for (grant, target, covered) in cases() {
        let grants = alike(&grant);
        for grant in &grants {
            given::inserted(&*store, grant.clone()).await;
        }
        mark(&*other, &target).await;
        for (grant, claims) in grants.iter().zip(given::brought_claims()) {
            let redeem = RedeemCode { claims, ..given::redeem(grant.id, USED) };
            let outcome = store.redeem_code(redeem).await.unwrap();
            assert_eq!(outcome == Redemption::Revoked, covered, "{target:?}: {outcome:?}");
        }
    }
}

/// The same for rotation, so that refreshing launders nothing.
pub async fn wide_markers_stop_rotation_by_the_time_that_counts(fixture: &impl Fixture) {
    let (store, other) = (fixture.store(), fixture.second_node().await);
    for (grant, target, covered) in cases() {
        let grants = alike(&grant);
        for grant in &grants {
            given::redeemed(&*store, grant.clone()).await;
            given::rotated(&*store, given::rotate(grant.id, 0, 30)).await;
        }
        mark(&*other, &target).await;
        for (grant, claims) in grants.iter().zip(given::brought_claims()) {
            for presented in [1, 0] {
                let claims = claims.clone();
                let rotate = RotateRefresh { claims, ..given::rotate(grant.id, presented, USED + 100) };
                let outcome = store.rotate_refresh(rotate).await.unwrap();
                let is_revoked = outcome == Rotation::Revoked;
                assert_eq!(is_revoked, covered, "{target:?}, generation {presented}: {outcome:?}");
            }
        }
    }
}

/// A flow that was in flight when its marker was made ends in a grant that is good for nothing.
pub async fn wide_markers_cover_grants_that_are_inserted_later(fixture: &impl Fixture) {
    let (store, other) = (fixture.store(), fixture.second_node().await);
    for (grant, target, covered) in cases() {
        mark(&*other, &target).await;
        given::inserted(&*store, grant.clone()).await;
        let outcome = store.redeem_code(given::redeem(grant.id, USED)).await.unwrap();
        assert_eq!(outcome == Redemption::Revoked, covered, "{target:?}: {outcome:?}");
    }
}

/// A marker covers what it names and nothing else.
pub async fn a_marker_covers_nothing_of_others(fixture: &impl Fixture) {
    let store = fixture.store();
    let grant = given::inserted(&*store, own("bystander", 0, 0)).await;
    for target in wide(&own("other", 0, 0)) {
        mark(&*store, &target).await;
    }
    let mixed = Target::SubjectClient(grant.subject.clone(), given::client_id("client of other"));
    mark(&*store, &mixed).await;
    assert!(matches!(
        store.redeem_code(given::redeem(grant.id, USED)).await.unwrap(),
        Redemption::Redeemed(_)
    ));
}

/// Whoever asks how a grant stands hears of each kind of marker, whether or not it was written onto the grant.
pub async fn a_grant_stands_as_its_markers_say(fixture: &impl Fixture) {
    let (store, other) = (fixture.store(), fixture.second_node().await);
    for kind in 0..=wide(&own("anybody", 0, 0)).len() {
        let grant = given::inserted(&*store, own(&format!("kind {kind}"), 0, 0)).await;
        let before = other.standing(grant.id).await.unwrap().unwrap();
        assert_eq!(before, Standing { grant: grant.clone(), is_revoked: false });
        let target = wide(&grant).into_iter().nth(kind).unwrap_or(Target::Grant(grant.id));
        mark(&*store, &target).await;
        assert!(other.standing(grant.id).await.unwrap().unwrap().is_revoked, "{target:?}");
    }
    assert_eq!(other.standing(given::grant_id()).await.unwrap(), None);
}

/// Client-credentials tokens have no row: their grant is revoked by its marker alone.
pub async fn a_grant_without_a_row_can_be_revoked(fixture: &impl Fixture) {
    let grant = given::grant_id();
    mark(&*fixture.store(), &Target::Grant(grant)).await;
    let marker = given::markers(&*fixture.second_node().await).await.pop().unwrap();
    let expected = (Target::Grant(grant), given::at(MARKED), given::at(FORGOTTEN));
    assert_eq!((marker.target, marker.at, marker.expires_at), expected);
}

/// Revoking twice is no error, and keeps the first time.
pub async fn a_grant_is_revoked_once(fixture: &impl Fixture) {
    let store = fixture.store();
    let grant = given::inserted(&*store, given::grant()).await;
    store.revoke(grant.id, given::at(20), given::at(9000)).await.unwrap();
    store.revoke(grant.id, given::at(30), given::at(9000)).await.unwrap();
    let found = GrantRepository::find(&*store, grant.id).await.unwrap().unwrap();
    assert_eq!(found.revoked_at, Some(given::at(20)));
    assert_eq!(found.claims, GrantClaims::default(), "nothing is kept of its person but who that is");
    assert!(given::is_marked(&*store, &Target::Grant(grant.id)).await);
}

/// Sweeps until nothing is left to do; how many grants were swept.
async fn sweep(store: &impl GrantRepository, now: i64) -> u64 {
    let mut swept = 0;
    for _ in 0..5 {
        let round = store.sweep_revoked(given::at(now), 2).await.unwrap();
        assert!(round <= 2);
        swept += round;
    }
    swept
}

/// A sweep writes `revoked_at` onto the grants that wide markers cover, a bounded number at a time, and onto no other.
pub async fn a_sweep_revokes_the_grants_that_wide_markers_cover(fixture: &impl Fixture) {
    let store = fixture.store();
    let mut covered = Vec::new();
    for _ in 0..3 {
        covered.push(given::inserted(&*store, given::grant()).await.id);
    }
    let bystander = given::inserted(&*store, own("bystander", 0, 0)).await;
    let later = Grant { consented_at: given::at(MARKED + 1), ..given::grant() };
    let later = given::inserted(&*store, later).await;
    mark(&*store, &Target::Client(given::client_id("shop"))).await;
    assert_eq!(sweep(&*store, USED).await, 3);
    for grant in covered {
        let found = GrantRepository::find(&*store, grant).await.unwrap().unwrap();
        assert!(found.revoked_at.is_some() && found.claims == GrantClaims::default(), "{found:?}");
    }
    for grant in [bystander, later] {
        let found = GrantRepository::find(&*store, grant.id).await.unwrap().unwrap();
        assert_eq!((found.revoked_at, found.claims), (None, grant.claims));
    }
    assert_eq!(given::markers(&*store).await.len(), 1, "the marker has not expired yet");
}

/// A marker goes when its sweep is complete and it has expired; what it covered stays revoked.
pub async fn an_expired_marker_goes_after_its_sweep_and_revives_nothing(fixture: &impl Fixture) {
    let store = fixture.store();
    let mut grants = Vec::new();
    for (grant, target, covered) in cases() {
        let grant = given::redeemed(&*store, grant).await;
        mark(&*store, &target).await;
        grants.push((grant.id, covered));
    }
    let unknown = given::grant_id();
    mark(&*store, &Target::Grant(unknown)).await;
    sweep(&*store, FORGOTTEN - 1).await;
    assert_eq!(given::markers(&*store).await.len(), grants.len() + 1);
    for _ in 0..5 {
        sweep(&*store, FORGOTTEN + 1).await;
    }
    assert_eq!(given::markers(&*store).await, []);
    for (grant, covered) in grants {
        for claims in given::brought_claims() {
            let rotate = RotateRefresh { claims, ..given::rotate(grant, 0, FORGOTTEN + 2) };
            let outcome = store.rotate_refresh(rotate).await.unwrap();
            assert_eq!(outcome == Rotation::Revoked, covered, "{outcome:?}");
        }
    }
}

/// However slow the sweep is: at no time between the end of a marker and the end of its sweep does anything revive.
pub async fn an_expired_marker_stays_until_its_sweep_is_complete(fixture: &impl Fixture) {
    let store = fixture.store();
    let mut grants = Vec::new();
    for _ in 0..3 {
        grants.push(given::redeemed(&*store, given::grant()).await.id);
    }
    mark(&*store, &Target::Client(given::client_id("shop"))).await;
    for _ in 0..6 {
        assert!(store.sweep_revoked(given::at(FORGOTTEN + 1), 1).await.unwrap() <= 1);
        for grant in &grants {
            let outcome = store.rotate_refresh(given::rotate(*grant, 0, FORGOTTEN + 2)).await.unwrap();
            assert_eq!(outcome, Rotation::Revoked);
        }
    }
    assert_eq!(given::markers(&*store).await, []);
}

/// A flow that ends after its marker was swept and before it goes: the grant is good for nothing, then and later.
pub async fn a_grant_that_comes_after_the_sweep_of_its_marker_stays_revoked(fixture: &impl Fixture) {
    let store = fixture.store();
    let mut late = Vec::new();
    for (grant, target, covered) in cases() {
        mark(&*store, &target).await;
        late.push((Grant { expires_at: given::at(100_000), ..grant }, covered));
    }
    sweep(&*store, USED).await;
    for (grant, _) in &late {
        given::inserted(&*fixture.second_node().await, grant.clone()).await;
    }
    for _ in 0..5 {
        sweep(&*store, FORGOTTEN + 1).await;
    }
    assert_eq!(given::markers(&*store).await, []);
    for (grant, covered) in late {
        for claims in given::brought_claims() {
            let redeem = RedeemCode { claims, ..given::redeem(grant.id, FORGOTTEN + 2) };
            let outcome = store.redeem_code(redeem).await.unwrap();
            assert_eq!(outcome == Redemption::Revoked, covered, "{outcome:?}");
        }
    }
}

/// A grant that was revoked before the flow that was in flight inserts it is revoked from the start.
pub async fn a_grant_that_was_revoked_in_flight_is_inserted_revoked(fixture: &impl Fixture) {
    let store = fixture.store();
    let grant = given::grant();
    mark(&*store, &Target::Grant(grant.id)).await;
    given::inserted(&*fixture.second_node().await, grant.clone()).await;
    let (subject, now) = (grant.subject, given::at(20));
    let all = GrantPage { subject, session: None, listed: Listed::All, before: None, now, limit: 10 };
    assert_eq!(GrantRepository::list(&*store, all).await.unwrap(), []);
    for claims in given::brought_claims() {
        let redeem = RedeemCode { claims, ..given::redeem(grant.id, 20) };
        assert_eq!(store.redeem_code(redeem).await.unwrap(), Redemption::Revoked);
    }
}

/// A reader that starts after a marker went reads on without it.
pub async fn a_feed_goes_on_after_its_markers_went(fixture: &impl Fixture) {
    let store = fixture.store();
    mark(&*store, &Target::Grant(given::grant_id())).await;
    let before = Feed::read(&*store, &FeedPosition::default()).await.unwrap().position;
    for _ in 0..5 {
        sweep(&*store, FORGOTTEN + 1).await;
    }
    let late = given::grant_id();
    mark(&*store, &Target::Grant(late)).await;
    let batch = Feed::read(&*store, &before).await.unwrap();
    assert_eq!(batch.markers.iter().map(|marker| &marker.target).collect::<Vec<_>>(), [&Target::Grant(late)]);
}
