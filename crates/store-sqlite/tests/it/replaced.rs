//! A file that is replaced or deleted while it is open: the engine goes on with it, and nobody may.

use std::fs;

use sluice_commit::StoreError;
use sluice_store_contract::{Fixture, given};
use sluice_store_sqlite::SqliteStore;
use sluice_token::{Feed, FeedPosition};

use crate::fixture::SqliteFixture;

async fn refuses_all(store: &SqliteStore) -> bool {
    let refused = [
        store.ping().await,
        Feed::read(store, &FeedPosition::default()).await.map(drop),
        given::insert(store, &given::grant()).await.map(drop),
    ];
    refused.iter().all(|refused| matches!(refused, Err(StoreError::Refused(_))))
}

#[tokio::test]
async fn a_store_whose_file_is_another_by_now_or_gone_refuses_until_it_is_back() {
    let fixture = SqliteFixture::start().await;
    let store = fixture.store();
    store.ping().await.unwrap();
    let aside = fixture.beside("aside.db");
    fs::rename(fixture.path(), &aside).unwrap();
    assert!(refuses_all(&store).await, "gone");
    fs::copy(&aside, fixture.path()).unwrap();
    assert!(refuses_all(&store).await, "another");
    fs::rename(&aside, fixture.path()).unwrap();
    store.ping().await.unwrap();
    given::inserted(&*store, given::grant()).await;
}
