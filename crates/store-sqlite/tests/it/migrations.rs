//! Migrations: once each, whoever starts when.

use std::fs;
use std::path::Path;
use std::time::Duration;

use futures_util::future::join_all;
use rusqlite::Connection;
use sluice_commit::{StoreError, chain};
use sluice_oauth::consent::{ConsentRepository, Forget};
use sluice_oauth::grant::{Grant, GrantRepository, Rotation};
use sluice_store_contract::{Fixture, given};
use sluice_store_sqlite::{SqlitePath, SqliteStore, StoreOptions};
use sluice_token::{Feed, FeedPosition};
use tempfile::TempDir;

use crate::fixture::{SqliteFixture, names_in, options};

#[tokio::test(flavor = "multi_thread")]
async fn ten_processes_that_migrate_at_once_migrate_once() {
    let directory = TempDir::new().unwrap();
    let path = SqlitePath::File(directory.path().join("sluice.db"));
    let starts = join_all((0..10).map(|_| async {
        let store = SqliteStore::open(path.clone(), options()).await.unwrap();
        (store.migrate_up().await.unwrap(), store.network_id().await.unwrap())
    }))
    .await;
    let known = SqliteStore::open(path, options()).await.unwrap().migrate_status().await.unwrap().len();
    assert_eq!(starts.iter().map(|(applied, _)| applied).sum::<usize>(), known);
    assert!(starts.iter().all(|(_, network)| *network == starts[0].1));
}

#[tokio::test]
async fn the_status_tells_what_is_missing() {
    let store = SqliteStore::open(SqlitePath::Temporary, options()).await.unwrap();
    store.ping().await.unwrap();
    assert!(store.network_id().await.is_err());
    let before = store.migrate_status().await.unwrap();
    assert!(!before.is_empty() && before.iter().all(|migration| migration.applied_at.is_none()));
    assert_eq!(store.migrate_up().await.unwrap(), before.len());
    let after = store.migrate_status().await.unwrap();
    assert!(after.iter().all(|migration| migration.applied_at.is_some()));
    assert_eq!(store.migrate_up().await.unwrap(), 0);
}

/// It goes on with the newer schema, and who looks sees why it may not.
#[tokio::test]
async fn what_a_later_version_has_applied_is_told_behind_what_is_known() {
    let fixture = SqliteFixture::start().await;
    let store = fixture.store();
    let known = store.migrate_status().await.unwrap();
    assert!(known.iter().all(|migration| migration.is_known));
    let later = "INSERT INTO schema_migration VALUES (99, 'from_the_future', 7)";
    fixture.another_process().execute_batch(later).unwrap();
    assert_eq!(store.migrate_up().await.unwrap(), 0);
    let mut status = store.migrate_status().await.unwrap();
    let future = status.pop().unwrap();
    assert_eq!(status, known);
    assert_eq!((future.version, &*future.name), (99, "from_the_future"));
    assert!(!future.is_known && !future.is_required && future.applied_at.is_some(), "{future:?}");
}

/// Each column of each table and view, but for those of what only an import writes; and the index that a statement names.
#[tokio::test]
async fn every_column_is_missed_that_statements_name() {
    let unmigrated = SqliteStore::open(SqlitePath::Temporary, options()).await.unwrap();
    let mut missed = unmigrated.missing_columns().await.unwrap();
    let fixture = SqliteFixture::start().await;
    let store = fixture.store();
    assert_eq!(store.missing_columns().await.unwrap(), [] as [&str; 0]);
    let file = fixture.another_process();
    let mut all = columns(&file);
    all.push("outbox.outbox_client".to_owned());
    missed.sort_unstable();
    all.sort_unstable();
    assert_eq!(missed, all);
    file.execute_batch("ALTER TABLE client RENAME COLUMN document TO text; DROP INDEX outbox_client")
        .unwrap();
    assert_eq!(store.missing_columns().await.unwrap(), ["client.document", "outbox.outbox_client"]);
}

/// Each behind its table and a dot.
fn columns(file: &Connection) -> Vec<String> {
    let all = "SELECT t.name || '.' || c.name FROM sqlite_schema AS t, pragma_table_info(t.name) AS c
        WHERE t.type IN ('table', 'view') AND t.name NOT LIKE 'sqlite_%'
          AND t.name NOT IN ('schema_migration', 'hydra_token', 'hydra_mark', 'serving_node')";
    let mut statement = file.prepare(all).unwrap();
    statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
}

#[tokio::test]
async fn a_temporary_database_is_private_and_goes_with_its_store() {
    let (one, other) = (
        SqliteStore::open(SqlitePath::Temporary, options()).await.unwrap(),
        SqliteStore::open(SqlitePath::Temporary, options()).await.unwrap(),
    );
    one.migrate_up().await.unwrap();
    other.migrate_up().await.unwrap();
    assert_ne!(one.network_id().await.unwrap(), other.network_id().await.unwrap());
    one.shutdown().await;
}

#[cfg(unix)]
#[tokio::test]
async fn a_new_file_is_readable_by_its_owner_only() {
    use std::os::unix::fs::PermissionsExt;
    let fixture = SqliteFixture::start().await;
    let mode = std::fs::metadata(fixture.path()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[tokio::test]
async fn a_file_that_cannot_be_opened_is_an_error() {
    let path = SqlitePath::File("/no/such/directory/sluice.db".into());
    assert!(SqliteStore::open(path, options()).await.is_err());
}

/// Hydra has a table of migrations, too.
#[tokio::test]
async fn the_database_of_another_program_is_refused_and_left_as_it_is() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("hydra.db");
    let theirs = "CREATE TABLE schema_migration (version TEXT NOT NULL, version_self INT NOT NULL DEFAULT 0)";
    Connection::open(&path).unwrap().execute_batch(theirs).unwrap();
    let before = fs::read(&path).unwrap();
    let opened = SqliteStore::open(SqlitePath::File(path.clone()), options()).await;
    let Err(refused) = opened else { panic!("it is not ours") };
    assert!(matches!(refused, StoreError::Refused(_)), "{refused:?}");
    let told = chain(&refused);
    assert!(told.contains("this is the database of another program"), "{told}");
    assert!(fs::read(&path).unwrap() == before, "it is as it was");
    assert_eq!(names_in(directory.path()), ["hydra.db"]);
}

#[tokio::test]
async fn a_shut_down_store_has_written_what_it_took_and_takes_no_more() {
    let fixture = SqliteFixture::start().await;
    let store = fixture.second_node().await;
    let grant = given::grant();
    let (inserted, ()) = tokio::join!(given::insert(&*store, &grant), store.shutdown());
    assert!(inserted.is_ok());
    assert!(given::insert(&*store, &given::grant()).await.is_err());
    assert!(store.ping().await.is_err());
    let found = sluice_oauth::grant::GrantRepository::find(&*fixture.store(), grant.id).await.unwrap();
    assert_eq!(found, Some(grant));
}

/// Makes a file as the first version did.
fn make_first_version(path: &Path) {
    let file = Connection::open(path).unwrap();
    file.execute_batch(include_str!("../../src/migrations/schema_migration.sql")).unwrap();
    file.execute_batch(include_str!("../../src/migrations/0001_initial.sql")).unwrap();
    file.execute("INSERT INTO schema_migration VALUES (1, 'initial', 0)", []).unwrap();
}

/// It has to go through what is there, and has longer for it than anybody waits for a write.
#[tokio::test]
async fn migrations_are_not_bound_by_the_deadline_of_writes() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("sluice.db");
    make_first_version(&path);
    let impatient = StoreOptions { deadline: Duration::from_millis(250), ..options() };
    let store = SqliteStore::open(SqlitePath::File(path.clone()), impatient).await.unwrap();
    let slow = Connection::open(&path).unwrap();
    slow.execute_batch("BEGIN IMMEDIATE").unwrap();
    let meanwhile = async {
        let written = given::insert(&store, &given::grant()).await;
        assert!(matches!(written, Err(StoreError::Unavailable(_))), "{written:?}");
        slow.execute_batch("ROLLBACK").unwrap();
    };
    let (migrated, ()) = tokio::join!(biased; store.migrate_up(), meanwhile);
    assert_eq!(migrated.unwrap() + 1, store.migrate_status().await.unwrap().len());
}

#[tokio::test]
async fn a_file_of_the_first_version_is_brought_up_to_date_under_a_running_store() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("sluice.db");
    make_first_version(&path);
    let store = SqliteStore::open(SqlitePath::File(path), options()).await.unwrap();
    let old = given::redeemed(&store, given::grant()).await;
    let old = given::rotated(&store, given::rotate(old.id, 0, 21)).await;
    let known = store.migrate_status().await.unwrap().len();
    assert_eq!(store.migrate_up().await.unwrap(), known - 1);
    let new = Grant { consented_at: given::at(41), ..given::grant() };
    let new = given::redeemed(&store, new).await;
    let (subject, now, marker_expires_at) = (given::subject("alice"), given::at(40), given::at(9000));
    store.forget(Forget { subject, client: None, now, marker_expires_at }).await.unwrap();
    assert_eq!(store.rotate_refresh(given::rotate(old.id, 1, 50)).await.unwrap(), Rotation::Revoked);
    given::rotated(&store, given::rotate(new.id, 0, 50)).await;
}

/// A newer version may mark what this one does not know: its readers pass it over and go on.
#[tokio::test]
async fn a_marker_of_a_later_version_is_passed_over() {
    let fixture = SqliteFixture::start().await;
    let file = Connection::open(fixture.path()).unwrap();
    let later = "INSERT INTO revocation VALUES (zeroblob(16), 7, 99, 'what', 20, 9000, 0)";
    file.execute(later, []).unwrap();
    let store = fixture.store();
    let batch = store.read(&FeedPosition::default()).await.unwrap();
    assert_eq!(batch.markers, []);
    assert_eq!(batch.position.revocations.values().collect::<Vec<_>>(), [&7]);
}
