//! Several processes on one file, each with stores of its own.

use futures_util::future::join_all;
use sluice_oauth::grant::GrantRepository;
use sluice_store_contract::{Fixture, given};
use sluice_token::Feed;

use crate::fixture::SqliteFixture;

#[tokio::test(flavor = "multi_thread")]
async fn many_nodes_on_one_file_all_get_their_writes_through() {
    let fixture = SqliteFixture::start().await;
    let nodes = join_all((0..4).map(|_| fixture.second_node())).await;
    let logins = (0..200).map(|number| {
        let store = &nodes[number % nodes.len()];
        async move {
            let grant = given::redeemed(&**store, given::grant()).await;
            store.revoke(grant.id, given::at(30), given::at(9000)).await.unwrap();
        }
    });
    join_all(logins).await;
    assert_eq!(given::markers(&*fixture.store()).await.len(), 200);
}

#[tokio::test]
async fn a_node_that_is_opened_again_under_its_id_counts_on() {
    let fixture = SqliteFixture::start().await;
    let options = crate::fixture::options();
    let path = || sluice_store_sqlite::SqlitePath::File(fixture.path());
    let mut position = sluice_token::FeedPosition::default();
    for _ in 0..3 {
        let store = sluice_store_sqlite::SqliteStore::open(path(), options.clone()).await.unwrap();
        store.revoke(given::grant_id(), given::at(30), given::at(9000)).await.unwrap();
        let batch = Feed::read(&store, &position).await.unwrap();
        assert_eq!(batch.markers.len(), 1);
        position = batch.position;
        store.shutdown().await;
    }
}
