//! The feed: everything that any node appended is read, once.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a promise that cannot be checked is broken"
)]

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use sluice_oauth::grant::GrantRepository;
use sluice_primitives::GrantId;
use sluice_token::{FEED_PAGE, Feed, FeedPosition, Marker, Target};

use crate::{Fixture, given};

async fn revoke(store: &impl GrantRepository, grant: GrantId) {
    store.revoke(grant, given::at(20), given::at(9000)).await.unwrap();
}

/// Reads on from `position`, and moves it.
async fn read_on(store: &impl Feed, position: &mut FeedPosition) -> Vec<Marker> {
    let batch = store.read(position).await.unwrap();
    *position = batch.position;
    batch.markers
}

/// A marker carries its target and both its times.
pub async fn a_marker_is_read_as_it_was_appended(fixture: &impl Fixture) {
    let grant = given::grant_id();
    revoke(&*fixture.store(), grant).await;
    let expected = Marker { target: Target::Grant(grant), at: given::at(20), expires_at: given::at(9000) };
    assert_eq!(given::markers(&*fixture.second_node().await).await, [expected]);
}

/// What is read is not read again, and nothing new moves nothing.
pub async fn nothing_is_read_twice(fixture: &impl Fixture) {
    let nodes = [fixture.store(), fixture.second_node().await];
    let mut position = FeedPosition::default();
    assert_eq!(read_on(&*nodes[0], &mut position).await, []);
    for number in 0..4 {
        let grant = given::grant_id();
        revoke(&*nodes[number % 2], grant).await;
        let read = read_on(&*nodes[0], &mut position).await;
        assert_eq!(read.iter().map(|marker| &marker.target).collect::<Vec<_>>(), [&Target::Grant(grant)]);
        let before = position.clone();
        assert_eq!(read_on(&*nodes[1], &mut position).await, []);
        assert_eq!(position, before);
    }
}

/// Nodes have positions of their own: one that writes after another was read is not behind it.
pub async fn a_node_that_appends_late_is_not_skipped(fixture: &impl Fixture) {
    let nodes = [fixture.store(), fixture.second_node().await];
    for writers in [[0, 1], [1, 0]] {
        let mut position = FeedPosition::default();
        read_on(&*nodes[0], &mut position).await;
        for writer in writers {
            for _ in 0..3 {
                revoke(&*nodes[writer], given::grant_id()).await;
            }
            assert_eq!(read_on(&*nodes[0], &mut position).await.len(), 3);
        }
    }
}

/// However transactions of two nodes overlap and in whatever order they commit: each marker is read exactly once by a
/// reader that reads all the time.
pub async fn markers_of_overlapping_transactions_are_each_read_once(fixture: &impl Fixture) {
    let nodes = [fixture.store(), fixture.second_node().await];
    let reader = fixture.second_node().await;
    let grants: Vec<GrantId> = (0..200).map(|_| given::grant_id()).collect();
    let writers: Vec<_> = (0..8)
        .map(|writer| {
            let store = Arc::clone(&nodes[writer % 2]);
            let own: Vec<GrantId> = grants.iter().copied().skip(writer).step_by(8).collect();
            tokio::spawn(async move {
                for pair in own.chunks(2) {
                    join_all(pair.iter().map(|grant| revoke(&*store, *grant))).await;
                }
            })
        })
        .collect();
    let mut position = FeedPosition::default();
    let mut read = Vec::new();
    while !writers.iter().all(tokio::task::JoinHandle::is_finished) {
        read.extend(read_on(&*reader, &mut position).await);
        tokio::task::yield_now().await;
    }
    read.extend(read_on(&*reader, &mut position).await);
    assert!(join_all(writers).await.iter().all(Result::is_ok));
    let distinct: HashSet<_> = read.iter().map(|marker| marker.target.clone()).collect();
    assert_eq!((read.len(), distinct.len()), (200, 200));
}

/// However much there is: it is read in pages of a bounded size, from each node in its own order, nothing twice and nothing left out.
pub async fn a_long_feed_is_read_in_pages(fixture: &impl Fixture) {
    let nodes = [fixture.store(), fixture.second_node().await];
    let page = usize::try_from(FEED_PAGE).unwrap();
    let mut grants = HashSet::new();
    while grants.len() <= page {
        for store in &nodes {
            let some: Vec<GrantId> = (0..1000).map(|_| given::grant_id()).collect();
            join_all(some.iter().map(|grant| revoke(&**store, *grant))).await;
            grants.extend(some);
        }
    }
    let (mut position, mut read, mut pages) = (FeedPosition::default(), Vec::new(), 0);
    loop {
        let batch = nodes[1].read(&position).await.unwrap();
        assert!(batch.markers.len() <= page);
        read.extend(batch.markers.into_iter().map(|marker| marker.target));
        position = batch.position;
        pages += 1;
        if !batch.more {
            break;
        }
    }
    assert_eq!((read.len(), pages), (grants.len(), 2));
    assert_eq!(read.into_iter().collect::<HashSet<_>>(), grants.into_iter().map(Target::Grant).collect());
}

/// A wait ends when something was appended here or elsewhere, or when the poll interval has passed.
pub async fn a_wait_ends(fixture: &impl Fixture) {
    let (store, other) = (fixture.store(), fixture.second_node().await);
    for writer in [&store, &other] {
        let wait = async { tokio::time::timeout(Duration::from_secs(5), store.wait()).await };
        let (waited, ()) = tokio::join!(wait, revoke(&**writer, given::grant_id()));
        assert!(waited.is_ok());
    }
    assert!(tokio::time::timeout(Duration::from_secs(5), store.wait()).await.is_ok());
}
