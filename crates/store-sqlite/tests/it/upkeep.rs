//! Upkeep: however much there is to do, what waits to be written goes between two pieces of it.

use rusqlite::Connection;
use sluice_identity::mail::MailRepository;
use sluice_identity::session::IdentitySessionRepository;
use sluice_oauth::client::ClientRepository;
use sluice_oauth::consent::{ConsentRepository, Forget};
use sluice_oauth::grant::GrantRepository;
use sluice_oauth::login_session::{EndSessions, LoginSession, LoginSessionRepository};
use sluice_store_contract::{Fixture, given};

use crate::fixture::SqliteFixture;

/// When the markers of these tests have expired.
const EXPIRED: i64 = 9001;

/// Markers of another node: 2,500 of grants and 2,500 of subjects that have expired, 2,500 of grants that have not.
const MARKERS: &str = "WITH RECURSIVE n (c) AS (SELECT 1 UNION ALL SELECT c + 1 FROM n WHERE c < 7500)
    INSERT INTO revocation (origin, counter, kind, key, at, expires_at, swept)
    SELECT zeroblob(16), c, iif(c BETWEEN 2501 AND 5000, 3, 1), 'target-' || c, ?1, iif(c > 5000, ?3, ?2),
           c NOT BETWEEN 2501 AND 5000
    FROM n";

/// As many changes that no reader needs any more.
const CHANGES: &str = "WITH RECURSIVE n (c) AS (SELECT 1 UNION ALL SELECT c + 1 FROM n WHERE c < 2500)
    INSERT INTO change (origin, counter, kind, key, at)
    SELECT zeroblob(16), c, 1, 'client-' || c, c
    FROM n";

/// As many decisions about one client, made at ?1.
const DECISIONS: &str = "WITH RECURSIVE n (c) AS (SELECT 1 UNION ALL SELECT c + 1 FROM n WHERE c < 2500)
    INSERT INTO consent (subject, client_id, scope, audience, claims, decided_at, expires_at)
    SELECT 'subject-' || c, 'shop', 'openid', '[]', '{}', ?1, 9223372036854775807
    FROM n";

/// 100,001 mails that wait, and as many dead letters.
const MAILS: &str = "WITH RECURSIVE n (c) AS (SELECT 1 UNION ALL SELECT c + 1 FROM n WHERE c < 200002)
    INSERT INTO mail (id, sealed, due_at, attempts, dead)
    SELECT randomblob(16), 'sealed', c, 0, c % 2
    FROM n";

/// 200,000 sessions of the identity service, of which the last one in the order of the key ends at ?1 and no other ever.
const SESSIONS: &str = "WITH RECURSIVE n (c) AS (SELECT 1 UNION ALL SELECT c + 1 FROM n WHERE c < 200000)
    INSERT INTO identity_session
        (session_id, identity_id, authenticated_at, last_seen_at, expires_at, generation, rotated_at, amr, device, network, attempt)
    SELECT CAST(printf('%016d', c) AS BLOB), zeroblob(16), 0, 0, iif(c = 200000, ?1, 9223372036854775807), 0, 0, '[]', '', '',
           zeroblob(16)
    FROM n";

/// Lets it be refused no more.
const WILLING: &str = "DROP TRIGGER refusing";

/// Has this refused of every row of a table.
fn refusing(what: &str, table: &str) -> String {
    format!("CREATE TRIGGER refusing BEFORE {what} ON {table} BEGIN SELECT RAISE(ABORT, 'refused'); END")
}

fn count(connection: &Connection, table: &str) -> i64 {
    connection.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0)).unwrap()
}

#[tokio::test]
async fn a_sweep_marks_and_forgets_a_thousand_in_one_commit() {
    let fixture = SqliteFixture::start().await;
    let (store, connection) = (fixture.store(), Connection::open(fixture.path()).unwrap());
    let at = |secs| given::at(secs).as_millis();
    connection.execute(MARKERS, (at(20), at(9000), at(90_000))).unwrap();
    connection.execute(CHANGES, []).unwrap();
    let before = store.statistics().commits;
    store.sweep_revoked(given::at(EXPIRED), 10).await.unwrap();
    assert_eq!((count(&connection, "revocation"), count(&connection, "change")), (2500, 0));
    let living = count(&connection, "revocation WHERE kind = 1 AND swept = 1 AND counter > 5000");
    assert_eq!(living, 2500);
    // One for decisions, three to mark, six for the markers, of which the last finds none, three for the changes, one for the nodes.
    assert_eq!(store.statistics().commits - before, 1 + 3 + 6 + 3 + 1);
}

/// An older release takes the sessions of a subject for deleted, however many are left.
#[tokio::test]
async fn a_marker_that_an_older_release_has_marked_outlives_the_sessions_that_it_ended() {
    let fixture = SqliteFixture::start().await;
    let (store, connection) = (fixture.store(), Connection::open(fixture.path()).unwrap());
    let ended = LoginSession { expires_at: given::at(100_000), ..given::session() };
    assert!(LoginSessionRepository::insert(&*store, ended.clone()).await.unwrap());
    let all = EndSessions::Subject(ended.subject);
    LoginSessionRepository::end(&*store, all, given::at(20), given::at(9000), Vec::new()).await.unwrap();
    connection.execute("UPDATE revocation SET swept = 1", []).unwrap();
    store.sweep_revoked(given::at(EXPIRED), 10).await.unwrap();
    assert_eq!((count(&connection, "login_session"), count(&connection, "revocation")), (1, 1));
    connection.execute("DELETE FROM login_session", []).unwrap();
    store.sweep_revoked(given::at(EXPIRED), 10).await.unwrap();
    assert_eq!(count(&connection, "revocation"), 0);
}

/// However many there are: it is asked for again and again.
#[tokio::test]
async fn mails_are_counted_to_a_hundred_thousand() {
    let fixture = SqliteFixture::start().await;
    let (store, connection) = (fixture.store(), Connection::open(fixture.path()).unwrap());
    connection.execute(MAILS, []).unwrap();
    assert_eq!(MailRepository::depth(&*store).await.unwrap(), (100_000, 100_000));
}

/// A call looks at a part of them, and the next one goes on behind it.
#[tokio::test]
async fn sessions_that_have_ended_are_looked_for_in_bounded_steps() {
    let fixture = SqliteFixture::start().await;
    let (store, connection) = (fixture.store(), Connection::open(fixture.path()).unwrap());
    connection.execute(SESSIONS, [given::at(60).as_millis()]).unwrap();
    let purge =
        async || IdentitySessionRepository::purge_expired(&*store, given::at(EXPIRED), 10).await.unwrap();
    assert_eq!((purge().await, purge().await, purge().await, purge().await), (0, 1, 0, 0));
    assert_eq!(count(&connection, "identity_session"), 199_999);
}

/// Else what lies behind would be reached only by a walk in which nothing fails.
#[tokio::test]
async fn a_purge_that_cannot_write_goes_on_where_it_stood() {
    let fixture = SqliteFixture::start().await;
    let (store, connection) = (fixture.store(), Connection::open(fixture.path()).unwrap());
    connection.execute(SESSIONS, [given::at(60).as_millis()]).unwrap();
    let purge = async || IdentitySessionRepository::purge_expired(&*store, given::at(EXPIRED), 10).await;
    let before = store.statistics().commits;
    assert_eq!(purge().await.unwrap(), 0);
    assert_eq!(store.statistics().commits, before, "nothing was found, and nothing written");
    connection.execute_batch(&refusing("DELETE", "identity_session")).unwrap();
    assert!(purge().await.is_err());
    connection.execute_batch(WILLING).unwrap();
    assert_eq!(purge().await.unwrap(), 1);
}

/// The first of three grants is made to live again behind the back of the sweep, which does not come back to it.
#[tokio::test]
async fn a_sweep_that_cannot_write_goes_on_where_it_stood() {
    let fixture = SqliteFixture::start().await;
    let (store, connection) = (fixture.store(), Connection::open(fixture.path()).unwrap());
    for _ in 0..3 {
        given::inserted(&*store, given::grant()).await;
    }
    let (subject, now, marker_expires_at) = (given::subject("alice"), given::at(40), given::at(90_000));
    store.forget(Forget { subject, client: None, now, marker_expires_at }).await.unwrap();
    let sweep = async |limit| store.sweep_revoked(given::at(50), limit).await;
    assert_eq!(sweep(1).await.unwrap(), 1);
    assert_eq!(connection.execute("UPDATE oauth_grant SET revoked_at = NULL", []).unwrap(), 3);
    connection.execute_batch(&refusing("UPDATE", "oauth_grant")).unwrap();
    assert!(sweep(10).await.is_err());
    connection.execute_batch(WILLING).unwrap();
    assert_eq!(sweep(10).await.unwrap(), 2);
    assert_eq!(count(&connection, "revocation WHERE kind > 1 AND swept = 0"), 0, "all were seen once");
}

/// Who deletes a client waits for none of them.
#[tokio::test]
async fn decisions_about_a_deleted_client_go_a_thousand_in_one_commit() {
    let fixture = SqliteFixture::start().await;
    let (store, connection) = (fixture.store(), Connection::open(fixture.path()).unwrap());
    ClientRepository::insert(&*store, &given::client("shop", "acme")).await.unwrap();
    connection.execute(DECISIONS, [given::at(10).as_millis()]).unwrap();
    let (id, before) = (given::client_id("shop"), store.statistics().commits);
    assert!(ClientRepository::delete(&*store, &id, given::at(20), given::at(9000)).await.unwrap());
    assert_eq!((count(&connection, "consent"), store.statistics().commits - before), (2500, 1));
    store.sweep_revoked(given::at(EXPIRED), 10).await.unwrap();
    assert_eq!((count(&connection, "consent"), count(&connection, "revocation")), (0, 0));
    // Three for decisions; one each to mark, for the markers, for the changes and for the nodes.
    assert_eq!(store.statistics().commits - before, 1 + 3 + 4);
}
