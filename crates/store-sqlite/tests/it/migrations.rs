//! Migrations: once each, whoever starts when.

use futures_util::future::join_all;
use sluice_store_contract::{Fixture, given};
use sluice_store_sqlite::{SqlitePath, SqliteStore};
use tempfile::TempDir;

use crate::fixture::{SqliteFixture, options};

#[tokio::test(flavor = "multi_thread")]
async fn ten_processes_that_migrate_at_once_migrate_once() {
    let directory = TempDir::new().unwrap();
    let path = SqlitePath::File(directory.path().join("sluice.db"));
    let starts = join_all((0..10).map(|_| async {
        let store = SqliteStore::open(path.clone(), options()).await.unwrap();
        (store.migrate_up().await.unwrap(), store.network_id().await.unwrap())
    }))
    .await;
    assert_eq!(starts.iter().map(|(applied, _)| applied).sum::<usize>(), 1);
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
