//! Migrations: ten nodes that start at once, and what is known of them before and after.

use futures_util::future::join_all;
use sluice_commit::StoreError;
use sluice_testkit::PrivateCluster;

use crate::fixture::node;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_nodes_that_migrate_at_once_share_one_schema_and_one_network_id() {
    let dsn = PrivateCluster::shared().await.database().await;
    let nodes = join_all((0..10).map(|_| node(&dsn))).await;
    let migrated = join_all(nodes.iter().map(|node| node.migrate_up())).await;
    assert!(migrated.iter().all(Result::is_ok), "{migrated:?}");
    let ids = join_all(nodes.iter().map(|node| node.network_id())).await;
    assert!(ids.iter().all(|id| id.as_ref().unwrap() == ids[0].as_ref().unwrap()));
}

#[tokio::test]
async fn the_status_says_what_is_applied() {
    let dsn = PrivateCluster::shared().await.database().await;
    let node = node(&dsn).await;
    let before = node.migrate_status().await.unwrap();
    assert!(!before.is_empty() && before.iter().all(|migration| migration.applied_at.is_none()));
    assert!(matches!(node.network_id().await, Err(StoreError::Fault(_))));
    node.migrate_up().await.unwrap();
    let after = node.migrate_status().await.unwrap();
    assert!(after.iter().all(|migration| migration.applied_at.is_some()));
    node.migrate_up().await.unwrap();
    assert_eq!(node.migrate_status().await.unwrap(), after);
}

#[tokio::test]
async fn two_databases_have_different_network_ids() {
    let cluster = PrivateCluster::shared().await;
    let (one, other) = (node(&cluster.database().await).await, node(&cluster.database().await).await);
    one.migrate_up().await.unwrap();
    other.migrate_up().await.unwrap();
    assert_ne!(one.network_id().await.unwrap(), other.network_id().await.unwrap());
}
