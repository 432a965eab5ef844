//! Parked flows: bounded in number, and gone when they expire.

#![expect(clippy::unwrap_used, reason = "a promise that cannot be checked is broken")]

use sluice_commit::StoreError;
use sluice_oauth::flow::{ParkedFlow, ParkedFlowRepository};

use crate::{Fixture, given};

fn flow(number: u8, expires_at: i64) -> ParkedFlow {
    ParkedFlow { handle: [number; 16], sealed: format!("sealed {number}"), expires_at: given::at(expires_at) }
}

/// A flow is fetched by its handle until it expires, as often as it is asked for.
pub async fn a_parked_flow_is_fetched_until_it_expires(fixture: &impl Fixture) {
    let (store, other) = (fixture.store(), fixture.second_node().await);
    assert!(store.park(flow(1, 60), 10).await.unwrap());
    for _ in 0..2 {
        assert_eq!(other.fetch([1; 16], given::at(59)).await.unwrap().as_deref(), Some("sealed 1"));
    }
    assert_eq!(other.fetch([1; 16], given::at(60)).await.unwrap(), None);
    assert_eq!(other.fetch([2; 16], given::at(1)).await.unwrap(), None);
}

/// Beyond the quota nothing is kept; what was there stays.
pub async fn the_quota_of_parked_flows_holds(fixture: &impl Fixture) {
    let store = fixture.store();
    assert!(store.park(flow(1, 60), 2).await.unwrap());
    assert!(store.park(flow(2, 60), 2).await.unwrap());
    assert!(!fixture.second_node().await.park(flow(3, 60), 2).await.unwrap());
    assert_eq!(store.fetch([3; 16], given::at(1)).await.unwrap(), None);
    assert!(store.fetch([1; 16], given::at(1)).await.unwrap().is_some());
    assert!(store.park(flow(3, 60), 3).await.unwrap());
}

/// Expired flows make room, a bounded number at a time.
pub async fn expired_flows_are_purged_in_bounded_steps(fixture: &impl Fixture) {
    let store = fixture.store();
    for number in 1..=4 {
        let expires_at = if number == 4 { 9000 } else { 60 };
        assert!(store.park(flow(number, expires_at), 4).await.unwrap());
    }
    let purge =
        async |limit| ParkedFlowRepository::purge_expired(&*store, given::at(100), limit).await.unwrap();
    assert_eq!((purge(2).await, purge(2).await, purge(2).await), (2, 1, 0));
    assert!(store.fetch([4; 16], given::at(100)).await.unwrap().is_some());
    assert!(store.park(flow(5, 9000), 2).await.unwrap());
}

/// What PostgreSQL cannot hold, no store takes.
pub async fn a_flow_with_text_that_cannot_be_stored_is_refused(fixture: &impl Fixture) {
    let refused =
        fixture.store().park(ParkedFlow { sealed: "with \0 inside".into(), ..flow(1, 60) }, 9).await;
    assert!(matches!(refused, Err(StoreError::Invalid(_))), "{refused:?}");
}
