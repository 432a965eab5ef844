//! Remembered decisions: one per subject and client, gone when forgotten, and the grants with them.

#![expect(clippy::unwrap_used, reason = "a promise that cannot be checked is broken")]

use futures_util::future::join_all;
use sluice_oauth::client::ClientRepository;
use sluice_oauth::consent::{ConsentRepository, DecisionName, DecisionPage, Forget, RememberedConsent};
use sluice_oauth::grant::{Grant, GrantClaims, GrantPage, GrantRepository, Listed, MadeIn, Redemption};
use sluice_oauth::login_session::{EndSessions, LoginSessionRepository};
use sluice_primitives::{GrantId, SessionId, Timestamp};
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

/// A decision about this client, made with `grant` in a session.
fn about(client: &str, (grant, session): (GrantId, SessionId)) -> RememberedConsent {
    let claims = GrantClaims { made_in: Some(MadeIn::new(grant, Some(session))), ..given::claims() };
    RememberedConsent { client: given::client_id(client), claims, ..given::decision() }
}

fn page(now: i64) -> DecisionPage {
    let subject = given::subject("alice");
    DecisionPage { subject, session: None, after: None, limit: 9, now: given::at(now) }
}

/// The clients that the listed decisions are about. As many are counted as are on all pages, up to where the count ends.
async fn clients(store: &impl ConsentRepository, page: DecisionPage) -> Vec<String> {
    let counted = store.count_decisions(&page.subject, page.now, page.limit).await.unwrap();
    let is_whole = page.session.is_none() && page.after.is_none();
    let listed = store.list(page).await.unwrap();
    if is_whole {
        assert_eq!(listed.len() as u64, counted);
    }
    listed.iter().map(|decision| decision.client.to_string()).collect()
}

/// The grants of `alice` that are listed, and counted if they are of all sessions.
async fn listed(
    store: &impl GrantRepository,
    (listed, session): (Listed, Option<SessionId>),
    now: i64,
) -> Vec<GrantId> {
    let (subject, now) = (given::subject("alice"), given::at(now));
    let counted = store.count_listed(&subject, listed, now, 9).await.unwrap();
    let page = GrantPage { subject, session, listed, before: None, limit: 9, now };
    let grants = store.list(page).await.unwrap();
    if session.is_none() {
        assert_eq!(grants.len() as u64, counted);
    }
    grants.iter().map(|grant| grant.id).collect()
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

/// Also of those that come at once and are written together, in whatever order they come.
pub async fn of_decisions_that_come_at_once_the_latest_is_remembered(fixture: &impl Fixture) {
    let store = fixture.store();
    let made = |secs: i64| RememberedConsent { decided_at: given::at(secs), ..given::decision() };
    let latest = 100;
    let in_turn = (20..52).chain([latest]).chain(52..84);
    let stall = fixture.stall().await;
    let remembered = join_all(in_turn.map(|secs| remember(&*store, made(secs))));
    let release = async { drop(stall) };
    let (grants, ()) = tokio::join!(remembered, release);
    assert_eq!(grants.len(), 65);
    assert_eq!(find(&*store, latest).await, Some(made(latest)));
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
    assert_eq!(listed(&*store, (Listed::All, None), 21).await, []);
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

/// Whoever was signed out leaves no decision behind, however late it is made: not by a node either that has not heard of it.
pub async fn a_decision_of_a_login_that_was_signed_out_is_not_remembered(fixture: &impl Fixture) {
    let (store, other) = (fixture.store(), fixture.second_node().await);
    let (everywhere, now, until) =
        (EndSessions::Subject(given::subject("alice")), given::at(20), given::at(9000));
    LoginSessionRepository::end(&*other, everywhere, now, until, Vec::new()).await.unwrap();
    let late = RememberedConsent { decided_at: given::at(22), ..given::decision() };
    remember(&*store, late.clone()).await;
    assert_eq!(find(&*store, 23).await, None);
    let again = Grant { authenticated_at: given::at(21), consented_at: given::at(22), ..given::grant() };
    GrantRepository::insert(&*store, again, Some(late.clone()), false).await.unwrap();
    assert_eq!(find(&*store, 23).await, Some(late));
}

/// Imports them; how many were written.
async fn import(store: &impl ConsentRepository, decisions: Vec<RememberedConsent>) -> u64 {
    ConsentRepository::import(store, decisions).await.unwrap()
}

/// A decision that was made elsewhere is found as it was, and imported once, however often that is done.
pub async fn a_decision_of_elsewhere_is_imported_once(fixture: &impl Fixture) {
    let store = fixture.store();
    let bobs = RememberedConsent { subject: given::subject("bob"), ..given::decision() };
    assert_eq!(import(&*store, vec![given::decision(), bobs.clone()]).await, 2);
    assert_eq!(find(&*fixture.second_node().await, 20).await, Some(given::decision()));
    assert_eq!(import(&*store, vec![given::decision(), bobs]).await, 0);
    assert_eq!(import(&*store, Vec::new()).await, 0);
}

/// An imported decision takes the place of an earlier one, and of no later one, in whatever order they come.
pub async fn an_imported_decision_takes_the_place_of_no_later_one(fixture: &impl Fixture) {
    let store = fixture.store();
    let made = |secs, scope| RememberedConsent {
        decided_at: given::at(secs),
        scope: given::scope(scope),
        ..given::decision()
    };
    let (first, second, third) = (made(10, "openid"), made(11, "email"), made(12, "profile"));
    assert_eq!(import(&*store, vec![first.clone()]).await, 1);
    import(&*store, vec![second.clone(), first.clone()]).await;
    assert_eq!(find(&*store, 20).await, Some(second.clone()));
    remember(&*store, third.clone()).await;
    assert_eq!(import(&*store, vec![first, second]).await, 0);
    assert_eq!(find(&*store, 20).await, Some(third));
}

/// What was forgotten, or whose subject was signed out, after it was decided is not imported; what was decided later is.
pub async fn a_decision_that_was_forgotten_is_not_imported(fixture: &impl Fixture) {
    let store = fixture.store();
    let of = |client: &str, subject: &str, secs| RememberedConsent {
        client: given::client_id(client),
        subject: given::subject(subject),
        decided_at: given::at(secs),
        ..given::decision()
    };
    store.forget(forget(Some("shop"), 20)).await.unwrap();
    store.forget(Forget { subject: given::subject("bob"), ..forget(None, 20) }).await.unwrap();
    let everywhere = EndSessions::Subject(given::subject("carol"));
    let (now, until) = (given::at(20), given::at(9000));
    LoginSessionRepository::end(&*store, everywhere, now, until, Vec::new()).await.unwrap();
    store.revoke_grants(&given::client_id("bank"), now, until).await.unwrap();
    for (client, subject) in [("shop", "alice"), ("club", "bob"), ("club", "carol"), ("bank", "dave")] {
        assert_eq!(import(&*store, vec![of(client, subject, 20)]).await, 0, "{client} {subject}");
        assert_eq!(import(&*store, vec![of(client, subject, 21)]).await, 1, "{client} {subject}");
    }
}

/// What a subject decided is listed by client, in pages, as it was stored, as long as it holds.
pub async fn decisions_are_listed_by_client_until_they_end(fixture: &impl Fixture) {
    let store = fixture.store();
    for client in ["shop", "bank", "club"] {
        remember(&*store, about(client, (given::grant_id(), given::session_id()))).await;
    }
    let ends = RememberedConsent { expires_at: given::at(60), ..given::decision() };
    remember(&*store, RememberedConsent { client: given::client_id("dice"), ..ends.clone() }).await;
    let bobs = RememberedConsent { subject: given::subject("bob"), ..given::decision() };
    let grant = Grant { subject: bobs.subject.clone(), ..given::grant() };
    GrantRepository::insert(&*store, grant, Some(bobs.clone()), false).await.unwrap();
    let node = fixture.second_node().await;
    assert_eq!(clients(&*node, page(59)).await, ["bank", "club", "dice", "shop"]);
    assert_eq!(clients(&*node, page(60)).await, ["bank", "club", "shop"]);
    assert_eq!(clients(&*node, DecisionPage { limit: 2, ..page(20) }).await, ["bank", "club"]);
    let rest = DecisionPage { after: Some(given::client_id("club")), ..page(60) };
    assert_eq!(clients(&*node, rest).await, ["shop"]);
    let bob = DecisionPage { subject: given::subject("bob"), ..page(20) };
    assert_eq!(ConsentRepository::list(&*node, bob).await.unwrap(), [bobs]);
}

/// A list may be of the decisions that were made in one login session.
pub async fn the_decisions_of_a_session_are_listed(fixture: &impl Fixture) {
    let store = fixture.store();
    let session = given::session_id();
    remember(&*store, about("shop", (given::grant_id(), session))).await;
    remember(&*store, about("bank", (given::grant_id(), given::session_id()))).await;
    assert_eq!(clients(&*store, DecisionPage { session: Some(session), ..page(20) }).await, ["shop"]);
    let other = Some(given::session_id());
    assert!(clients(&*store, DecisionPage { session: other, ..page(20) }).await.is_empty());
}

/// Whether or not the grant of the flow is there; and only until another decision takes its place.
pub async fn a_decision_is_found_by_the_flow_that_it_was_made_in(fixture: &impl Fixture) {
    let (store, node) = (fixture.store(), fixture.second_node().await);
    let (flow, session) = (given::grant_id(), given::session_id());
    let decision = about("shop", (flow, session));
    remember(&*store, decision.clone()).await;
    remember(&*store, about("bank", (given::grant_id(), session))).await;
    assert_eq!(node.made_in(flow).await.unwrap(), Some(DecisionName::of(&decision)));
    assert_eq!(node.made_in(given::grant_id()).await.unwrap(), None);
    let later = about("shop", (given::grant_id(), session));
    remember(&*store, RememberedConsent { decided_at: given::at(11), ..later }).await;
    assert_eq!(node.made_in(flow).await.unwrap(), None);
}

/// What was forgotten is in no list, and does not come back into it.
pub async fn forgotten_decisions_are_not_listed(fixture: &impl Fixture) {
    let store = fixture.store();
    for client in ["shop", "bank", "club"] {
        remember(&*store, about(client, (given::grant_id(), given::session_id()))).await;
    }
    store.forget(forget(Some("shop"), 20)).await.unwrap();
    assert_eq!(clients(&*store, page(21)).await, ["bank", "club"]);
    remember(&*store, given::decision()).await;
    assert_eq!(clients(&*store, page(21)).await, ["bank", "club"]);
    store.forget(forget(None, 22)).await.unwrap();
    assert!(clients(&*store, page(23)).await.is_empty());
}

/// A grant whose decision is listed is not listed beside it, but again when that has ended or another has replaced it.
pub async fn a_grant_is_not_listed_beside_its_remembered_decision(fixture: &impl Fixture) {
    let store = fixture.store();
    let session = given::session_id();
    let grant = Grant { session: Some(session), ..given::grant() };
    let decision = RememberedConsent { expires_at: given::at(60), ..about("shop", (grant.id, session)) };
    GrantRepository::insert(&*store, grant.clone(), Some(decision), false).await.unwrap();
    let again = Grant { consented_at: given::at(11), session: Some(session), ..given::grant() };
    let again = given::inserted(&*store, again).await;
    for session in [None, Some(session)] {
        assert_eq!(listed(&*store, (Listed::OnTheirOwn, session), 59).await, [again.id]);
        assert_eq!(listed(&*store, (Listed::All, session), 59).await.len(), 2);
        assert_eq!(listed(&*store, (Listed::OnTheirOwn, session), 60).await.len(), 2);
    }
    let later = RememberedConsent { decided_at: given::at(12), ..given::decision() };
    let last = remember(&*store, later).await;
    let own = listed(&*store, (Listed::OnTheirOwn, None), 59).await;
    assert!(own.len() == 2 && own.contains(&grant.id) && !own.contains(&last.id), "{own:?}");
}

/// Those that have ended go, a bounded number at a time; those that hold, or have no end, stay.
pub async fn expired_decisions_are_purged_in_bounded_steps(fixture: &impl Fixture) {
    let store = fixture.store();
    let ends = [("bank", 60), ("club", 99), ("dice", 60), ("exam", 100), ("farm", 200)];
    let ends = ends.map(|(client, secs)| (client, given::at(secs)));
    for (client, expires_at) in ends.into_iter().chain([("shop", Timestamp::NEVER)]) {
        let decision = about(client, (given::grant_id(), given::session_id()));
        remember(&*store, RememberedConsent { expires_at, ..decision }).await;
    }
    assert_eq!(clients(&*store, page(20)).await.len(), 6);
    let purge = async |limit| ConsentRepository::purge_expired(&*store, given::at(100), limit).await.unwrap();
    assert_eq!((purge(2).await, purge(2).await, purge(2).await), (2, 1, 0));
    assert_eq!(clients(&*fixture.second_node().await, page(20)).await, ["exam", "farm", "shop"]);
}

/// What counts is when the decision ends that took the place of another.
pub async fn a_renewed_decision_is_not_purged(fixture: &impl Fixture) {
    let store = fixture.store();
    let short = RememberedConsent { expires_at: given::at(60), ..given::decision() };
    remember(&*store, short.clone()).await;
    for expires_at in [given::at(200), Timestamp::NEVER] {
        let renewed = RememberedConsent { decided_at: given::at(70), expires_at, ..short.clone() };
        remember(&*store, renewed.clone()).await;
        assert_eq!(ConsentRepository::purge_expired(&*store, given::at(100), 9).await.unwrap(), 0);
        assert_eq!(find(&*store, 100).await, Some(renewed));
    }
}
