//! Identities: what can only be seen, or only be set up, in the file itself.

use std::collections::BTreeMap;

use rusqlite::Connection;
use sluice_identity::factor::{AddedFactor, Factor, FactorKind, FactorRepository};
use sluice_identity::hardening::HardeningRepository;
use sluice_identity::identity::repository::SEARCHED_AT_ONCE;
use sluice_identity::identity::{
    Identity, IdentityDirectory, IdentityFilter, IdentityRepository, Registration, Removed,
};
use sluice_identity::mail::{CodePurpose, CodeRepository, MailCode, QueuedMail};
use sluice_identity::session::{IdentitySession, IdentitySessionRepository};
use sluice_primitives::{IdentityId, Lifetime, Timestamp};
use sluice_store_contract::{Fixture, given};
use sluice_store_sqlite::SqliteStore;
use uuid::Uuid;

use crate::fixture::SqliteFixture;

async fn registered(store: &SqliteStore, identity: Identity) -> Identity {
    assert_eq!(store.register(identity.clone().into()).await.unwrap(), Registration::Registered);
    identity
}

/// Registers somebody whose credential waits to be hardened.
async fn waiting(store: &SqliteStore, number: u32) -> Identity {
    let identity = given::identity(&format!("user{number}@example.org"));
    registered(store, Identity { hardening: true, ..identity }).await
}

async fn leased(store: &SqliteStore, now: Timestamp) -> Vec<IdentityId> {
    let leased = HardeningRepository::lease(store, now, Lifetime::minutes(1), 7).await.unwrap();
    leased.into_iter().map(|credential| credential.id).collect()
}

fn factor(identity: IdentityId) -> Factor {
    Factor {
        identity,
        id: Uuid::from_u128(1),
        kind: FactorKind::Totp,
        name: "Telephone".to_owned(),
        sealed: "sealed".to_owned(),
        created_at: given::at(1),
        last_used_at: None,
        counter: 0,
    }
}

fn session(identity: IdentityId) -> IdentitySession {
    IdentitySession {
        id: given::session_id(),
        identity,
        authenticated_at: given::at(1),
        last_seen_at: given::at(1),
        expires_at: given::at(900),
        generation: 0,
        rotated_at: given::at(1),
        amr: vec!["pwd".to_owned()],
        device: "Browser".to_owned(),
        network: "192.0.2.1".to_owned(),
        attempt: given::attempt(),
    }
}

fn code(identity: IdentityId) -> MailCode {
    MailCode {
        identity,
        purpose: CodePurpose::Recover,
        email: "alice@example.org".to_owned(),
        hash: given::random_hash(),
        expires_at: given::at(900),
        attempt: given::attempt(),
    }
}

fn mail() -> QueuedMail {
    QueuedMail { id: Uuid::from_u128(2), sealed: "sealed".to_owned(), due_at: given::at(1) }
}

/// How many rows each table has that knows of identities.
fn rows(connection: &Connection) -> [u32; 6] {
    ["identity", "login_name", "factor", "recovery_code", "identity_session", "mail_code"].map(|table| {
        let count = format!("SELECT count(*) FROM {table}");
        connection.query_row(&count, [], |row| row.get(0)).unwrap()
    })
}

/// Identities by number, in the order of their ids, written by one statement.
fn number(connection: &Connection, identities: u32) {
    let insert = "WITH RECURSIVE number (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < ?1)
        INSERT INTO identity (identity_id, email, login_name, credential, status, created_at, attempt)
        SELECT unhex(printf('%032x', n)), 'user' || n, zeroblob(32), '', 1, 0, zeroblob(16) FROM number";
    connection.execute(insert, [identities]).unwrap();
}

#[tokio::test]
async fn a_page_of_a_search_looks_at_so_many_rows_and_says_where_to_go_on() {
    let fixture = SqliteFixture::start().await;
    number(&Connection::open(fixture.path()).unwrap(), SEARCHED_AT_ONCE + 1);
    let text = Some(format!("User{}", SEARCHED_AT_ONCE + 1));
    let filter = IdentityFilter { limit: 10, text, ..IdentityFilter::default() };
    let first = fixture.store().list(&filter).await.unwrap();
    let looked_at = IdentityId::from_uuid(Uuid::from_u128(SEARCHED_AT_ONCE.into()));
    assert_eq!((first.identities.len(), first.next), (0, Some(looked_at)));
    let second = fixture.store().list(&IdentityFilter { after: first.next, ..filter }).await.unwrap();
    assert_eq!((second.identities.len(), second.next), (1, None));
}

#[tokio::test]
async fn a_page_that_holds_the_last_one_has_no_next() {
    let fixture = SqliteFixture::start().await;
    number(&Connection::open(fixture.path()).unwrap(), 4);
    let mut filter = IdentityFilter { limit: 2, ..IdentityFilter::default() };
    let first = fixture.store().list(&filter).await.unwrap();
    assert_eq!(first.next, first.identities.last().map(|identity| identity.id));
    filter.after = first.next;
    let second = fixture.store().list(&filter).await.unwrap();
    assert_eq!((second.identities.len(), second.next), (2, None));
}

#[tokio::test]
async fn a_credential_that_was_given_up_is_never_due() {
    let fixture = SqliteFixture::start().await;
    let store = fixture.store();
    let identity = waiting(&store, 1).await;
    store.give_up(identity.id, &identity.credential).await.unwrap();
    assert_eq!(leased(&store, Timestamp::NEVER).await, []);
    let backlog = store.backlog().await.unwrap();
    assert_eq!((backlog.waiting, backlog.oldest, backlog.dead), (0, None, 1));
}

#[tokio::test]
async fn a_lease_without_end_is_no_giving_up() {
    let fixture = SqliteFixture::start().await;
    let store = fixture.store();
    let identity = waiting(&store, 1).await;
    let lease = HardeningRepository::lease(&*store, given::at(1), Lifetime::FOREVER, 1).await.unwrap();
    assert_eq!(lease.len(), 1);
    let backlog = store.backlog().await.unwrap();
    assert_eq!((backlog.waiting, backlog.oldest, backlog.dead), (1, Some(identity.created_at), 0));
}

#[tokio::test]
async fn a_deleted_identity_leaves_no_row_behind() {
    let fixture = SqliteFixture::start().await;
    let store = fixture.store();
    let identity = waiting(&store, 1).await.id;
    let hashes = [given::random_hash()];
    let first = Some(given::with_first(&hashes));
    let added = store.add(&factor(identity), 1, first, None).await.unwrap();
    assert_eq!(added, AddedFactor::AddedWithCodes);
    assert!(store.begin(&session(identity), given::at(9000)).await.unwrap());
    store.put(&code(identity), &mail()).await.unwrap();
    let connection = Connection::open(fixture.path()).unwrap();
    assert_eq!(rows(&connection), [1; 6]);
    let deleted = IdentityDirectory::delete(&*store, identity, None, given::at(9), given::at(99), None).await;
    assert_eq!(deleted.unwrap(), Removed::Done);
    assert_eq!(rows(&connection), [0; 6]);
}

/// As an older version makes them, also in a file that is of this one.
#[tokio::test]
async fn a_recovery_code_without_the_name_of_its_key_is_counted_apart_and_spent() {
    let fixture = SqliteFixture::start().await;
    let store = fixture.store();
    let identity = waiting(&store, 1).await.id;
    let own = given::recovery_codes(&[[1; 32]]);
    assert!(store.replace_recovery_codes(identity, 1, own, None).await.unwrap());
    let connection = Connection::open(fixture.path()).unwrap();
    let older = "INSERT INTO recovery_code (identity_id, code_hash) VALUES (?1, ?2)";
    connection.execute(older, (identity.as_bytes(), [2_u8; 32])).unwrap();
    let counted = store.all_recovery_codes_left().await.unwrap();
    assert_eq!(counted, BTreeMap::from([(None, 1), (Some(own.key), 1)]));
    assert!(store.spend_recovery_code(identity, &[2; 32], None).await.unwrap());
}
