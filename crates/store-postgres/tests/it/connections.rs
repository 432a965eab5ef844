//! What an operator is told of the connections of a node.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use sluice_oauth::grant::GrantRepository;
use sluice_store_contract::{Fixture, given};
use sluice_store_postgres::{ConnectionCount, PostgresStore, StoreOptions};
use tokio::task::yield_now;
use tokio::time::timeout;

use crate::fixture::{PostgresFixture, connection, options};
use crate::patience::with_two_connections;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_is_busy_while_a_statement_is_under_way_there() {
    let fixture = PostgresFixture::start().await;
    let options = StoreOptions { readers: NonZeroUsize::MIN, lanes: NonZeroUsize::MIN, ..options() };
    let store = Arc::new(PostgresStore::connect(fixture.dsn(), options).await.unwrap());
    let idle = ConnectionCount { busy: 0, idle: 1, limit: 6, failed_total: 0 };
    assert_eq!(store.connections(), idle);
    let stall = connection(fixture.dsn()).await;
    stall.batch_execute("BEGIN; LOCK TABLE oauth_grant IN ACCESS EXCLUSIVE MODE").await.unwrap();
    let reader = Arc::clone(&store);
    let reading =
        tokio::spawn(async move { GrantRepository::find(&*reader, given::grant_id()).await.unwrap() });
    let is = async |expected: ConnectionCount| {
        while store.connections() != expected {
            yield_now().await;
        }
    };
    let patience = Duration::from_secs(20);
    timeout(patience, is(ConnectionCount { busy: 1, idle: 0, ..idle })).await.unwrap();
    stall.batch_execute("COMMIT").await.unwrap();
    assert_eq!(reading.await.unwrap(), None);
    timeout(patience, is(idle)).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_that_do_not_open_are_counted() {
    let (_database, _all, store) = with_two_connections().await;
    assert_eq!(store.connections().failed_total, 0);
    given::inserted(&store, given::grant()).await;
    given::registered(&store, given::identity("alice@example.com")).await;
    let count = store.connections();
    assert_eq!((count.busy + count.idle, count.limit), (2, 8));
    assert!(count.failed_total > 0, "{count:?}");
}
