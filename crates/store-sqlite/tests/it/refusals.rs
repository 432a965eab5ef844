//! What finds no room is turned away, and counted.

use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use sluice_commit::StoreError;
use sluice_identity::identity::{IdentityDirectory, IdentityFilter};
use sluice_oauth::replay::{ReplayKind, ReplayRepository};
use sluice_store_contract::{Fixture, Limits, given};

use crate::fixture::SqliteFixture;

#[tokio::test]
async fn writes_that_find_no_room_are_turned_away_and_counted() {
    let fixture = SqliteFixture::start().await;
    let store = fixture.node_with(Limits { deadline: Duration::from_secs(30), depth: 1 }).await;
    let stall = fixture.stall().await;
    let spend = |_| store.spend(ReplayKind::DpopProof, given::random_hash(), given::at(0), given::at(60));
    let mut spends: FuturesUnordered<_> = (0..32).map(spend).collect();
    let first = spends.next().await.unwrap();
    assert!(matches!(first, Err(StoreError::Busy)), "{first:?}");
    drop(stall);
    let others: Vec<_> = spends.collect().await;
    let turned_away = others.iter().filter(|spent| matches!(spent, Err(StoreError::Busy))).count() + 1;
    assert_eq!(store.refusals().writes.turned_away_total(), u64::try_from(turned_away).unwrap());
    assert_eq!(store.commit_metrics().snapshot().turned_away_total, 0, "they went past the queues");
}

/// So a disk that is full keeps nobody from what can be read.
#[tokio::test]
async fn a_store_is_opened_and_read_without_a_write() {
    let fixture = SqliteFixture::start().await;
    let no_room = "CREATE TRIGGER no_room BEFORE INSERT ON node
        BEGIN SELECT RAISE(FAIL, 'database or disk is full'); END";
    fixture.another_process().execute_batch(no_room).unwrap();
    let store = fixture.second_node().await;
    assert!(store.migrate_status().await.unwrap().iter().all(|migration| migration.applied_at.is_some()));
    let filter = IdentityFilter { limit: 10, ..IdentityFilter::default() };
    assert_eq!(store.list(&filter).await.unwrap().identities.len(), 0);
    assert_eq!(store.statistics().commits, 0);
}
