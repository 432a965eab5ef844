//! Clients: stored whole, replaced by compare-and-swap, deleted with their marker.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a promise that cannot be checked is broken"
)]

use std::collections::HashSet;

use futures_util::future::join_all;
use serde_json::json;
use sluice_commit::StoreError;
use sluice_oauth::client::{AuthMethod, Client, ClientFilter, ClientRepository, LogoutSessions, Replacement};
use sluice_oauth::consent::{ConsentRepository, DecisionPage, RememberedConsent};
use sluice_oauth::grant::{Grant, GrantRepository, Insertion, Redemption};
use sluice_protocol::Subject;
use sluice_token::{Change, Feed, FeedPosition, Target};

use crate::{Fixture, given};

async fn find(store: &impl ClientRepository, id: &str) -> Option<Client> {
    store.find(&given::client_id(id)).await.unwrap()
}

async fn insert(store: &impl ClientRepository, client: &Client) -> Insertion {
    store.insert(client).await.unwrap()
}

/// The client that is found equals the client that was inserted.
pub async fn a_client_is_found_as_it_was_inserted(fixture: &impl Fixture) {
    let client = given::client("shop", "acme");
    assert_eq!(insert(&*fixture.store(), &client).await, Insertion::Inserted);
    assert_eq!(find(&*fixture.second_node().await, "shop").await, Some(client));
    assert_eq!(find(&*fixture.store(), "Shop").await, None);
}

/// Types that it did not name, URLs as nobody else would write them, what it said of logouts that it does not hear, and that it registered
/// itself.
pub async fn a_client_is_found_as_it_was_written(fixture: &impl Fixture) {
    let client = Client {
        grant_types: Vec::new(),
        response_types: Vec::new(),
        auth_method: AuthMethod::PrivateKeyJwt,
        jwks_uri: Some("https://Shop.example".parse().unwrap()),
        frontchannel_logout: Some("https://Shop.example/a/../out".parse().unwrap()),
        logout_sessions: LogoutSessions { frontchannel: false, backchannel: true },
        metadata: json!(["a", 1]),
        registered_itself: true,
        ..given::client("shop", "acme")
    };
    insert(&*fixture.store(), &client).await;
    assert_eq!(find(&*fixture.second_node().await, "shop").await, Some(client));
}

/// The first client keeps the id.
pub async fn a_client_id_is_given_once(fixture: &impl Fixture) {
    let store = fixture.store();
    assert_eq!(insert(&*store, &given::client("shop", "first")).await, Insertion::Inserted);
    assert_eq!(insert(&*store, &given::client("shop", "second")).await, Insertion::Taken);
    assert_eq!(find(&*store, "shop").await.unwrap().owner, "first");
}

/// Of many that come at once only those go away empty-handed whose ids are taken, and the feed tells of the others alone.
pub async fn a_crowd_beside_an_id_that_is_taken_gets_its_own(fixture: &impl Fixture) {
    let (store, reader) = (fixture.store(), fixture.second_node().await);
    insert(&*store, &given::client("number-20", "first")).await;
    let mut position = reader.read(&FeedPosition::default()).await.unwrap().position;
    for round in 0..3 {
        let name = |number: usize| {
            if number == 20 { "number-20".to_owned() } else { format!("number-{number}-{round}") }
        };
        let crowd: Vec<_> = (0..40).map(|number| given::client(&name(number), "crowd")).collect();
        let outcomes = join_all(crowd.iter().map(|one| insert(&*store, one))).await;
        for (number, (one, outcome)) in crowd.iter().zip(outcomes).enumerate() {
            let expected = if number == 20 { Insertion::Taken } else { Insertion::Inserted };
            assert_eq!(outcome, expected, "{number} in round {round}");
            let owner = find(&*store, one.id.as_str()).await.unwrap().owner;
            assert_eq!(owner, if number == 20 { "first" } else { "crowd" });
        }
        let batch = reader.read(&position).await.unwrap();
        let told: HashSet<_> = batch.changes.iter().collect();
        let made = crowd.iter().filter(|one| one.id.as_str() != "number-20");
        let made: Vec<_> = made.map(|one| Change::Client(one.id.clone())).collect();
        assert_eq!((batch.changes.len(), told), (made.len(), made.iter().collect()));
        position = batch.position;
    }
}

/// What PostgreSQL cannot hold, no store takes.
pub async fn a_client_with_text_that_cannot_be_stored_is_refused(fixture: &impl Fixture) {
    let store = fixture.store();
    for name in ["with \0 inside".to_owned(), "x".repeat(2 << 20)] {
        let client = Client { name, ..given::client("shop", "acme") };
        let refused = ClientRepository::insert(&*store, &client).await;
        assert!(matches!(refused, Err(StoreError::Invalid(_))), "{refused:?}");
    }
    assert_eq!(find(&*store, "shop").await, None);
}

/// A replacement stores everything and raises the revision by one.
pub async fn a_replaced_client_has_the_next_revision(fixture: &impl Fixture) {
    let store = fixture.store();
    insert(&*store, &given::client("shop", "acme")).await;
    let given = Client { name: "New".into(), updated_at: given::at(9), ..given::client("shop", "other") };
    assert_eq!(store.replace(&given).await.unwrap(), Replacement::Replaced);
    assert_eq!(find(&*store, "shop").await, Some(Client { revision: 2, ..given }));
}

/// A replacement that was made from an old revision changes nothing.
pub async fn a_client_that_changed_meanwhile_is_not_replaced(fixture: &impl Fixture) {
    let store = fixture.store();
    let client = given::client("shop", "acme");
    insert(&*store, &client).await;
    assert_eq!(store.replace(&client).await.unwrap(), Replacement::Replaced);
    let late = Client { name: "Late".into(), ..client };
    assert_eq!(fixture.second_node().await.replace(&late).await.unwrap(), Replacement::Changed);
    assert_eq!(find(&*store, "shop").await.unwrap().name, "The shop");
    assert_eq!(store.replace(&given::client("none", "acme")).await.unwrap(), Replacement::Unknown);
}

/// Of concurrent replacements of one revision exactly one wins.
pub async fn concurrent_replacements_have_one_winner(fixture: &impl Fixture) {
    let nodes = [fixture.store(), fixture.second_node().await];
    let client = given::client("shop", "acme");
    insert(&*nodes[0], &client).await;
    let replacements = (0..8).map(|place| {
        let (store, client) = (nodes[place % 2].clone(), client.clone());
        async move { store.replace(&client).await.unwrap() }
    });
    let outcomes = join_all(replacements).await;
    assert_eq!(outcomes.iter().filter(|outcome| **outcome == Replacement::Replaced).count(), 1);
    assert_eq!(find(&*nodes[1], "shop").await.unwrap().revision, 2);
}

/// The client goes, its marker comes, and no decision about it is remembered.
pub async fn a_deleted_client_leaves_its_marker_and_no_decisions(fixture: &impl Fixture) {
    let store = fixture.store();
    insert(&*store, &given::client("shop", "acme")).await;
    let (grant, decision) = (given::grant(), given::decision());
    GrantRepository::insert(&*store, grant.clone(), Some(decision.clone()), false).await.unwrap();
    let id = given::client_id("shop");
    assert!(ClientRepository::delete(&*store, &id, given::at(20), given::at(9000)).await.unwrap());
    assert_eq!(find(&*store, "shop").await, None);
    let marker = given::markers(&*store).await.pop().unwrap();
    assert_eq!(
        (marker.target, marker.at, marker.expires_at),
        (Target::Client(id), given::at(20), given::at(9000))
    );
    let remembered =
        ConsentRepository::find(&*store, &decision.subject, &decision.client, given::at(21)).await;
    assert_eq!(remembered.unwrap(), None);
    assert_eq!(store.redeem_code(given::redeem(grant.id, 21)).await.unwrap(), Redemption::Revoked);
}

/// Remembers a decision with a grant of its own.
async fn remember(store: &impl GrantRepository, decision: RememberedConsent) {
    let (subject, client) = (decision.subject.clone(), decision.client.clone());
    let grant = Grant { subject, client, consented_at: decision.decided_at, ..given::grant() };
    store.insert(grant, Some(decision), false).await.unwrap();
}

/// Of how many of these subjects a decision about `shop` holds.
async fn holding(store: &impl ConsentRepository, subjects: &[Subject], now: i64) -> usize {
    let shop = given::client_id("shop");
    let found = join_all(subjects.iter().map(|subject| store.find(subject, &shop, given::at(now)))).await;
    found.into_iter().filter(|found| found.as_ref().unwrap().is_some()).count()
}

/// Sweeps until the markers of these tests are gone.
async fn sweep(store: &(impl GrantRepository + Feed)) {
    for _ in 0..3 {
        store.sweep_revoked(given::at(9001), 10_000).await.unwrap();
    }
    assert_eq!(given::markers(store).await, []);
}

/// However many there are: none holds from then on, and none is left when the marker goes, which alone says so.
pub async fn decisions_about_a_deleted_client_are_gone_before_its_marker(fixture: &impl Fixture) {
    let store = fixture.store();
    insert(&*store, &given::client("shop", "acme")).await;
    let subjects: Vec<_> = (0..1500).map(|number| given::subject(&format!("subject {number}"))).collect();
    let decision = |subject: &Subject| RememberedConsent { subject: subject.clone(), ..given::decision() };
    join_all(subjects.iter().map(|subject| remember(&*store, decision(subject)))).await;
    let bank = given::client_id("bank");
    remember(&*store, RememberedConsent { client: bank.clone(), ..given::decision() }).await;
    assert_eq!(holding(&*store, &subjects, 19).await, subjects.len());
    let id = given::client_id("shop");
    assert!(ClientRepository::delete(&*store, &id, given::at(20), given::at(9000)).await.unwrap());
    assert_eq!(holding(&*fixture.second_node().await, &subjects, 21).await, 0);
    sweep(&*store).await;
    assert_eq!(holding(&*store, &subjects, 9002).await, 0);
    let other = ConsentRepository::find(&*store, &given::subject("alice"), &bank, given::at(9002)).await;
    assert!(other.unwrap().is_some());
}

/// Neither while the marker of the former client is there nor later. What is decided about the new one holds.
pub async fn a_client_that_is_registered_again_inherits_no_decisions(fixture: &impl Fixture) {
    let store = fixture.store();
    let (shop, alice) = (given::client("shop", "acme"), [given::subject("alice")]);
    insert(&*store, &shop).await;
    remember(&*store, given::decision()).await;
    assert!(ClientRepository::delete(&*store, &shop.id, given::at(20), given::at(9000)).await.unwrap());
    let again = Client { created_at: given::at(30), ..shop };
    assert_eq!(insert(&*store, &again).await, Insertion::Inserted);
    assert_eq!(holding(&*store, &alice, 31).await, 0);
    let (subject, now) = (given::subject("alice"), given::at(31));
    let page = DecisionPage { subject, session: None, after: None, limit: 9, now };
    assert_eq!(ConsentRepository::list(&*store, page).await.unwrap(), []);
    sweep(&*store).await;
    assert_eq!(holding(&*store, &alice, 9002).await, 0);
    remember(&*store, RememberedConsent { decided_at: given::at(30), ..given::decision() }).await;
    assert_eq!(holding(&*store, &alice, 9003).await, 1);
    sweep(&*store).await;
    assert_eq!(holding(&*store, &alice, 9004).await, 1);
}

/// Deleting what is not there says so and leaves no marker.
pub async fn a_client_is_deleted_once(fixture: &impl Fixture) {
    let store = fixture.store();
    insert(&*store, &given::client("shop", "acme")).await;
    let id = given::client_id("shop");
    let delete = || ClientRepository::delete(&*store, &id, given::at(20), given::at(9000));
    assert_eq!((delete().await.unwrap(), delete().await.unwrap()), (true, false));
    assert_eq!(given::markers(&*store).await.len(), 1);
}

/// The client stays, its grants do not.
pub async fn revoking_the_grants_of_a_client_keeps_the_client(fixture: &impl Fixture) {
    let store = fixture.store();
    insert(&*store, &given::client("shop", "acme")).await;
    let grant = given::inserted(&*store, given::grant()).await;
    store.revoke_grants(&given::client_id("shop"), given::at(20), given::at(9000)).await.unwrap();
    assert!(find(&*store, "shop").await.is_some());
    assert!(given::is_marked(&*store, &Target::Client(given::client_id("shop"))).await);
    assert_eq!(store.redeem_code(given::redeem(grant.id, 21)).await.unwrap(), Redemption::Revoked);
}

/// Who agreed to the client agreed to it still.
pub async fn revoking_the_grants_of_a_client_keeps_what_is_remembered_about_it(fixture: &impl Fixture) {
    let (store, alice) = (fixture.store(), [given::subject("alice")]);
    insert(&*store, &given::client("shop", "acme")).await;
    remember(&*store, given::decision()).await;
    store.revoke_grants(&given::client_id("shop"), given::at(20), given::at(9000)).await.unwrap();
    assert_eq!(holding(&*store, &alice, 21).await, 1);
    sweep(&*store).await;
    assert_eq!(holding(&*store, &alice, 9002).await, 1);
}

/// Nothing but the marker says until when what was agreed to is void, as if it had been deleted.
pub async fn revoking_the_grants_of_an_unregistered_client_forgets_decisions(fixture: &impl Fixture) {
    let (store, [alice, bob]) = (fixture.store(), ["alice", "bob"].map(given::subject));
    remember(&*store, given::decision()).await;
    store.revoke_grants(&given::client_id("shop"), given::at(20), given::at(9000)).await.unwrap();
    let later = RememberedConsent { subject: bob.clone(), decided_at: given::at(21), ..given::decision() };
    remember(&*store, later).await;
    let who = [alice, bob];
    assert_eq!((holding(&*store, &who[..1], 22).await, holding(&*store, &who, 22).await), (0, 1));
    sweep(&*store).await;
    assert_eq!((holding(&*store, &who[..1], 9002).await, holding(&*store, &who, 9002).await), (0, 1));
}

/// Caches on every node learn of each insert, replacement and deletion.
pub async fn every_write_of_a_client_is_in_the_feed(fixture: &impl Fixture) {
    let (store, reader) = (fixture.store(), fixture.second_node().await);
    let client = given::client("shop", "acme");
    let mut position = FeedPosition::default();
    for step in 0..3 {
        match step {
            0 => assert_eq!(insert(&*store, &client).await, Insertion::Inserted),
            1 => assert_eq!(store.replace(&client).await.unwrap(), Replacement::Replaced),
            _ => drop(
                ClientRepository::delete(&*store, &client.id, given::at(20), given::at(9000)).await.unwrap(),
            ),
        }
        let batch = reader.read(&position).await.unwrap();
        assert_eq!(batch.changes, [Change::Client(client.id.clone())], "step {step}");
        position = batch.position;
    }
    assert_eq!(insert(&*store, &client).await, Insertion::Inserted);
    assert_eq!(insert(&*store, &client).await, Insertion::Taken);
    assert_eq!(reader.read(&position).await.unwrap().changes.len(), 1);
}

/// Pages are in the order of ids, byte by byte, and hold what the filter names. All are counted.
pub async fn clients_are_listed_by_id_in_pages(fixture: &impl Fixture) {
    let store = fixture.store();
    assert_eq!(ClientRepository::count(&*store).await.unwrap(), 0);
    for (id, owner) in [("b", "acme"), ("a", "acme"), ("C", "acme"), ("d", "other"), ("e", "acme")] {
        insert(&*store, &given::client(id, owner)).await;
    }
    assert_eq!(ClientRepository::count(&*fixture.second_node().await).await.unwrap(), 5);
    let ids = async |filter: ClientFilter| -> Vec<String> {
        ClientRepository::list(&*store, &filter)
            .await
            .unwrap()
            .iter()
            .map(|client| client.id.to_string())
            .collect()
    };
    let filter = || ClientFilter { limit: 3, ..ClientFilter::default() };
    assert_eq!(ids(filter()).await, ["C", "a", "b"]);
    assert_eq!(ids(ClientFilter { after: Some(given::client_id("b")), ..filter() }).await, ["d", "e"]);
    let of_acme = || ClientFilter { owner: Some("acme".into()), ..filter() };
    assert_eq!(ids(ClientFilter { after: Some(given::client_id("a")), ..of_acme() }).await, ["b", "e"]);
    assert_eq!(ids(ClientFilter { name: Some("The e".into()), ..of_acme() }).await, ["e"]);
    assert_eq!(ids(ClientFilter { name: Some("the e".into()), ..of_acme() }).await, Vec::<String>::new());
}

/// What PostgreSQL cannot hold is not there: to ask for it is no failure.
pub async fn no_client_is_listed_by_text_that_cannot_be_stored(fixture: &impl Fixture) {
    let store = fixture.store();
    insert(&*store, &given::client("shop", "acme")).await;
    let nul = || Some("with \0 inside".to_owned());
    let by_name = ClientFilter { name: nul(), limit: 3, ..ClientFilter::default() };
    let by_owner = ClientFilter { owner: nul(), limit: 3, ..ClientFilter::default() };
    for filter in [by_name, by_owner] {
        assert_eq!(ClientRepository::list(&*store, &filter).await.unwrap(), []);
    }
}
