//! Transactions that commit late, seen by a reader of the feed.

use std::sync::Arc;
use std::time::Duration;

use sluice_oauth::grant::GrantRepository;
use sluice_primitives::{GrantId, NodeId, OsRng, Timestamp};
use sluice_store_contract::{Fixture, given};
use sluice_store_postgres::{PostgresStore, StoreOptions};
use sluice_token::{Feed, FeedPosition, Target};
use tokio_postgres::Client;

use crate::fixture::{PostgresFixture, connection, options};

/// Appends a marker of this origin in a transaction that is not committed yet.
async fn begin_append(dsn: &str, node: NodeId, grant: GrantId) -> Client {
    let client = connection(dsn).await;
    client.batch_execute("BEGIN").await.unwrap();
    let raise = "INSERT INTO node AS n VALUES ($1, 1, 0, 0) ON CONFLICT (node_id)
        DO UPDATE SET revocation_counter = n.revocation_counter + 1";
    client.execute(raise, &[&node.as_uuid()]).await.unwrap();
    let append = "INSERT INTO revocation SELECT node_id, revocation_counter, 20, 9000, 1, TRUE, $2
        FROM node WHERE node_id = $1";
    client.execute(append, &[&node.as_uuid(), &grant.to_string()]).await.unwrap();
    client
}

async fn revoke(store: &PostgresStore, grant: GrantId) {
    store.revoke(grant, given::at(20), given::at(9000)).await.unwrap();
}

async fn read_on(store: &PostgresStore, position: &mut FeedPosition) -> Vec<Target> {
    let batch = store.read(position).await.unwrap();
    *position = batch.position;
    batch.markers.into_iter().map(|marker| marker.target).collect()
}

#[tokio::test]
async fn a_marker_of_another_node_that_commits_late_is_not_skipped() {
    let fixture = PostgresFixture::start().await;
    let store = fixture.store();
    let (late, prompt) = (given::grant_id(), given::grant_id());
    let other = NodeId::generate(Timestamp::default(), &OsRng);
    let transaction = begin_append(fixture.dsn(), other, late).await;
    revoke(&store, prompt).await;
    let mut position = FeedPosition::default();
    assert_eq!(read_on(&store, &mut position).await, [Target::Grant(prompt)]);
    transaction.batch_execute("COMMIT").await.unwrap();
    assert_eq!(read_on(&store, &mut position).await, [Target::Grant(late)]);
    assert_eq!(read_on(&store, &mut position).await, []);
}

#[tokio::test]
async fn the_counters_of_one_origin_are_given_in_the_order_of_commits() {
    let fixture = PostgresFixture::start().await;
    let own = options();
    let node = own.node;
    let store = Arc::new(PostgresStore::connect(fixture.dsn(), own).await.unwrap());
    let (first, second) = (given::grant_id(), given::grant_id());
    let transaction = begin_append(fixture.dsn(), node, first).await;
    let waiting = tokio::spawn({
        let store = store.clone();
        async move { revoke(&store, second).await }
    });
    let mut position = FeedPosition::default();
    assert_eq!(read_on(&store, &mut position).await, []);
    transaction.batch_execute("COMMIT").await.unwrap();
    waiting.await.unwrap();
    assert_eq!(read_on(&store, &mut position).await, [Target::Grant(first), Target::Grant(second)]);
}

#[tokio::test]
async fn a_wait_is_ended_by_another_node_long_before_the_poll() {
    let fixture = PostgresFixture::start().await;
    let never = StoreOptions { feed_poll: Duration::from_hours(1), ..options() };
    let reader = PostgresStore::connect(fixture.dsn(), never).await.unwrap();
    reader.wait().await; // the listener is there, and says so
    let writer = fixture.store();
    tokio::join!(reader.wait(), revoke(&writer, given::grant_id()));
}
