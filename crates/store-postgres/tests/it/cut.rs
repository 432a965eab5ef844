//! The connection is cut between COMMIT and its answer, or what follows the COMMIT fails: whoever wrote learns that it was their own
//! attempt.

use std::sync::Arc;

use futures_util::future::join_all;
use sluice_commit::StoreError;
use sluice_identity::identity::{IdentityRepository, Registration};
use sluice_oauth::client::{ClientRepository, Replacement};
use sluice_oauth::consent::ConsentRepository;
use sluice_oauth::device::{DeviceCodeRepository, DevicePoll};
use sluice_oauth::grant::{Grant, GrantRepository, Insertion, Redemption, Rotation};
use sluice_oauth::replay::{ReplayKind, ReplayRepository};
use sluice_oauth::trust::TrustedIssuerRepository;
use sluice_primitives::Lifetime;
use sluice_store_contract::{Fixture, given};
use sluice_store_postgres::PostgresStore;
use tokio_postgres::Client;

use crate::fixture::{PostgresFixture, connection, node};
use crate::proxy::Proxy;

/// A database, a node that reaches it directly, and one that reaches it through the proxy.
pub(crate) struct Cut {
    pub(crate) fixture: PostgresFixture,
    pub(crate) proxy: Proxy,
    pub(crate) store: Arc<PostgresStore>,
}

impl Cut {
    pub(crate) async fn start() -> Self {
        let fixture = PostgresFixture::start().await;
        let proxy = Proxy::start(fixture.dsn()).await;
        let store = node(&proxy.dsn(fixture.dsn())).await;
        Self { fixture, proxy, store }
    }

    async fn no_marker_was_made(&self) {
        assert_eq!(given::markers(&*self.fixture.store()).await, []);
    }
}

/// Has the database refuse those statements (`DELETE ON client`) of which it is so (`= 1`) how many there were of them, with this condition.
async fn refuse(client: &Client, which: &str, tries: &str, condition: &str) {
    // What a sequence gave is not taken back.
    let trigger = format!(
        "CREATE SEQUENCE tries;
        CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            IF nextval('tries') {tries} THEN
                RAISE EXCEPTION 'not now' USING ERRCODE = '{condition}';
            END IF;
            RETURN NULL;
        END $$;
        CREATE TRIGGER refuse BEFORE {which} FOR EACH STATEMENT EXECUTE FUNCTION refuse()"
    );
    client.batch_execute(&trigger).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_grant_whose_insert_was_not_answered_is_inserted_once() {
    let cut = Cut::start().await;
    cut.proxy.cut_after("INSERT INTO oauth_grant");
    let grant = given::grant();
    assert_eq!(given::insert(&*cut.store, &grant).await.unwrap(), Insertion::Inserted);
    assert_eq!(cut.proxy.cuts(), 1);
    assert_eq!(GrantRepository::find(&*cut.store, grant.id).await.unwrap(), Some(grant));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_remembered_grant_whose_insert_was_not_answered_is_remembered() {
    let cut = Cut::start().await;
    cut.proxy.cut_after("remembered AS");
    let (grant, decision) = (given::grant(), given::decision());
    let inserted = GrantRepository::insert(&*cut.store, grant, Some(decision.clone()), true).await.unwrap();
    assert_eq!((inserted, cut.proxy.cuts()), (Insertion::Inserted, 1));
    let found =
        ConsentRepository::find(&*cut.store, &decision.subject, &decision.client, given::at(20)).await;
    assert_eq!(found.unwrap(), Some(decision));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_code_whose_redemption_was_not_answered_is_redeemed_and_not_replayed() {
    let cut = Cut::start().await;
    let grant = given::inserted(&*cut.store, given::grant()).await;
    cut.proxy.cut_after("redeemed_at = r.now");
    let outcome = cut.store.redeem_code(given::redeem(grant.id, 20)).await.unwrap();
    assert!(matches!(outcome, Redemption::Redeemed(_)), "{outcome:?}");
    assert_eq!(cut.proxy.cuts(), 1);
    cut.no_marker_was_made().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn all_codes_of_a_batch_that_was_not_answered_are_redeemed() {
    let cut = Cut::start().await;
    let grants = join_all((0..64).map(|_| given::inserted(&*cut.store, given::grant()))).await;
    cut.proxy.cut_after("redeemed_at = r.now");
    let redeem = |grant: &Grant| cut.store.redeem_code(given::redeem(grant.id, 20));
    let outcomes = join_all(grants.iter().map(redeem)).await;
    assert!(outcomes.iter().all(|outcome| matches!(outcome, Ok(Redemption::Redeemed(_)))), "{outcomes:?}");
    assert_eq!(cut.proxy.cuts(), 1);
    cut.no_marker_was_made().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refresh_whose_rotation_was_not_answered_is_rotated_once() {
    let cut = Cut::start().await;
    let grant = given::redeemed(&*cut.store, given::grant()).await;
    cut.proxy.cut_after("generation = r.presented + 1");
    let rotated = given::rotated(&*cut.store, given::rotate(grant.id, 0, 30)).await;
    assert_eq!((rotated.generation.0, cut.proxy.cuts()), (1, 1));
    let next = cut.store.rotate_refresh(given::rotate(grant.id, 1, 31)).await.unwrap();
    assert!(matches!(next, Rotation::Rotated(_)), "{next:?}");
    cut.no_marker_was_made().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_registration_that_was_not_answered_is_not_taken() {
    let cut = Cut::start().await;
    cut.proxy.cut_after("INSERT INTO login_name");
    let identity = given::identity("alice@example.com");
    assert_eq!(cut.store.register(identity.clone().into()).await.unwrap(), Registration::Registered);
    assert_eq!(cut.proxy.cuts(), 1);
    assert_eq!(cut.store.find_by_login_name(&identity.login_name).await.unwrap(), Some(identity));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_replay_whose_revocation_was_not_answered_is_a_replay() {
    let cut = Cut::start().await;
    let grant = given::redeemed(&*cut.store, given::grant()).await;
    cut.proxy.cut_after("WITH revoked AS");
    assert_eq!(cut.store.redeem_code(given::redeem(grant.id, 21)).await.unwrap(), Redemption::Replayed);
    assert_eq!(cut.proxy.cuts(), 1);
    assert_eq!(given::markers(&*cut.store).await.len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thing_whose_spending_was_not_answered_is_spent_by_its_spender() {
    let cut = Cut::start().await;
    cut.proxy.cut_after("INSERT INTO replay");
    let hash = given::random_hash();
    let spend = || cut.store.spend(ReplayKind::ClientAssertion, hash, given::at(0), given::at(60));
    assert!(spend().await.unwrap());
    assert_eq!(cut.proxy.cuts(), 1);
    assert!(!spend().await.unwrap());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_whose_writes_were_not_answered_is_written_once() {
    let cut = Cut::start().await;
    let client = given::client("shop", "ops");
    cut.proxy.cut_after("INSERT INTO client");
    assert_eq!(ClientRepository::insert(&*cut.store, &client).await.unwrap(), Insertion::Inserted);
    cut.proxy.cut_after("UPDATE client");
    assert_eq!(cut.store.replace(&client).await.unwrap(), Replacement::Replaced);
    cut.proxy.cut_after("DELETE FROM client");
    let deleted = ClientRepository::delete(&*cut.store, &client.id, given::at(20), given::at(9000)).await;
    assert!(deleted.unwrap());
    assert_eq!(cut.proxy.cuts(), 3);
    assert_eq!(given::markers(&*cut.store).await.len(), 1);
}

/// Its transaction never left: nobody can have deleted anything with it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_never_was_is_not_deleted_by_who_first_could_not_connect() {
    let cut = Cut::start().await;
    cut.proxy.refuse(2);
    let unknown = given::client_id("unknown");
    let deleted = ClientRepository::delete(&*cut.store, &unknown, given::at(20), given::at(9000)).await;
    assert!(!deleted.unwrap());
    assert_eq!(cut.proxy.refusals(), 0);
}

/// As by a server that turned into one that only reads: what it refused was rolled back, whatever the connection is good for.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_never_was_is_not_deleted_by_who_was_refused_first() {
    let fixture = PostgresFixture::start().await;
    let client = connection(fixture.dsn()).await;
    refuse(&client, "DELETE ON client", "= 1", "read_only_sql_transaction").await;
    let (store, unknown) = (fixture.store(), given::client_id("unknown"));
    let deleted = ClientRepository::delete(&*store, &unknown, given::at(20), given::at(9000)).await;
    assert!(!deleted.unwrap());
    let tries = client.query_one("SELECT last_value FROM tries", &[]).await.unwrap();
    assert_eq!(tries.get::<_, i64>(0), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_device_that_was_not_answered_is_not_told_to_slow_down() {
    let cut = Cut::start().await;
    let code = given::device_code();
    cut.proxy.cut_after("INSERT INTO device_code");
    assert!(DeviceCodeRepository::insert(&*cut.store, code.clone(), given::at(0)).await.unwrap());
    let poll = async |now| cut.store.poll(code.id, given::at(now), Lifetime::secs(5)).await.unwrap();
    cut.proxy.cut_after("polled_by = $5");
    assert_eq!(poll(5).await, DevicePoll::Pending);
    assert_eq!(poll(10).await, DevicePoll::Pending, "the interval has not grown");
    cut.proxy.cut_after("polled_by = $5");
    assert_eq!(poll(11).await, DevicePoll::TooFast);
    assert_eq!(poll(21).await, DevicePoll::Pending, "the interval has grown once");
    cut.proxy.cut_after("SET denied_by");
    assert!(cut.store.deny(code.id, given::at(22)).await.unwrap());
    assert!(!cut.store.deny(code.id, given::at(22)).await.unwrap());
    assert_eq!(cut.proxy.cuts(), 4);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_trusted_issuer_whose_writes_were_not_answered_is_written_once() {
    let cut = Cut::start().await;
    let trusted = given::trusted_issuer("https://issuer.example");
    cut.proxy.cut_after("INSERT INTO trusted_issuer");
    assert!(TrustedIssuerRepository::insert(&*cut.store, &trusted).await.unwrap());
    cut.proxy.cut_after("DELETE FROM trusted_issuer");
    assert!(TrustedIssuerRepository::delete(&*cut.store, trusted.id).await.unwrap());
    assert!(!TrustedIssuerRepository::delete(&*cut.store, trusted.id).await.unwrap());
    assert!(TrustedIssuerRepository::insert(&*cut.store, &trusted).await.unwrap());
    cut.proxy.cut_after("DELETE FROM trusted_issuer");
    assert!(cut.store.delete_keys_of(&trusted.issuer, None).await.unwrap());
    assert!(!cut.store.delete_keys_of(&trusted.issuer, None).await.unwrap());
    assert_eq!(cut.proxy.cuts(), 3);
}

/// Nobody is told that nothing was written.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_write_that_is_refused_after_one_that_was_not_answered_may_have_been_done() {
    let cut = Cut::start().await;
    let client = connection(cut.fixture.dsn()).await;
    refuse(&client, "INSERT ON trusted_issuer", "> 1", "disk_full").await;
    cut.proxy.cut_after("INSERT INTO trusted_issuer");
    let trusted = given::trusted_issuer("https://issuer.example");
    let unheard = TrustedIssuerRepository::insert(&*cut.store, &trusted).await;
    assert!(matches!(unheard, Err(StoreError::Unavailable(_))), "{unheard:?}");
    let written = client.query_one("SELECT count(*) FROM trusted_issuer", &[]).await.unwrap();
    assert_eq!((written.get::<_, i64>(0), cut.proxy.cuts()), (1, 1));
    let counted = &cut.store.refusals().writes;
    assert_eq!((counted.refused_total(), counted.unanswered_total()), (0, 1));
    let refused =
        TrustedIssuerRepository::insert(&*cut.store, &given::trusted_issuer("https://other.example")).await;
    assert!(matches!(refused, Err(StoreError::Refused(_))), "{refused:?}");
}

/// Those that share a statement with them are redeemed by then.
#[tokio::test]
async fn codes_are_redeemed_though_the_server_refuses_to_say_why_others_are_not() {
    let cut = Cut::start().await;
    let fresh = given::inserted(&*cut.store, given::grant()).await;
    let spent = given::redeemed(&*cut.store, given::grant()).await;
    cut.proxy.refuse_after("why a compare-and-swap");
    let redeem = |grant: &Grant| cut.store.redeem_code(given::redeem(grant.id, 21));
    let (redeemed, replayed) = tokio::join!(redeem(&fresh), redeem(&spent));
    assert!(matches!(redeemed, Ok(Redemption::Redeemed(_))), "{redeemed:?}");
    assert!(matches!(replayed, Ok(Redemption::Replayed)), "{replayed:?}");
    assert_eq!(cut.proxy.cuts(), 1);
}

/// Many are inserted on the guess that none is there, and then they are.
#[tokio::test]
async fn a_crowd_whose_insertion_was_not_answered_is_inserted_once() {
    let cut = Cut::start().await;
    given::inserted(&*cut.store, given::grant()).await;
    let crowd: Vec<_> = (0..40).map(|_| given::grant()).collect();
    cut.proxy.cut_after("guessed to be new");
    for outcome in join_all(crowd.iter().map(|grant| given::insert(&*cut.store, grant))).await {
        assert_eq!(outcome.unwrap(), Insertion::Inserted);
    }
    assert_eq!(cut.proxy.cuts(), 1);
    for grant in crowd {
        assert_eq!(GrantRepository::find(&*cut.store, grant.id).await.unwrap(), Some(grant));
    }
}

#[tokio::test]
async fn what_is_inserted_is_though_the_server_refuses_to_say_who_inserted_the_rest() {
    let cut = Cut::start().await;
    let (there, fresh) = (given::inserted(&*cut.store, given::grant()).await, given::grant());
    cut.proxy.refuse_after("SELECT grant_id, attempt");
    let insert = |grant| given::insert(&*cut.store, grant);
    let (again, inserted) = tokio::join!(insert(&there), insert(&fresh));
    assert_eq!((again.unwrap(), inserted.unwrap()), (Insertion::Inserted, Insertion::Inserted));
    let (shop, bank) = (given::client("shop", "ops"), given::client("bank", "ops"));
    assert_eq!(ClientRepository::insert(&*cut.store, &shop).await.unwrap(), Insertion::Inserted);
    cut.proxy.refuse_after("SELECT client_id, attempt");
    let insert = |client| ClientRepository::insert(&*cut.store, client);
    let (again, inserted) = tokio::join!(insert(&shop), insert(&bank));
    assert_eq!((again.unwrap(), inserted.unwrap()), (Insertion::Taken, Insertion::Inserted));
    assert_eq!(cut.proxy.cuts(), 2);
}

/// They read all the same, a little later.
#[tokio::test]
async fn what_is_written_is_answered_though_readers_cannot_be_woken() {
    let cut = Cut::start().await;
    let client = given::client("shop", "ops");
    for kind in 1..=2 {
        let store = node(&cut.proxy.dsn(cut.fixture.dsn())).await;
        cut.proxy.silence_after("NOTIFY");
        match kind {
            1 => store.revoke(given::grant_id(), given::at(20), given::at(9000)).await.unwrap(),
            _ => assert_eq!(ClientRepository::insert(&*store, &client).await.unwrap(), Insertion::Inserted),
        }
        while cut.proxy.cuts() < kind {
            tokio::task::yield_now().await;
        }
    }
}
