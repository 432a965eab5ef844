//! A login, and what it writes.

use serde_json::json;
use sluice_testkit::{Backend, TestSluice};

async fn a_person_logs_in(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({})).await;
    let code = sluice.browser().log_in(&sluice, &client, "alice").await.expect("code");
    let tokens = client.redeem(&code).await.ok();
    let access_token = tokens["access_token"].as_str().unwrap();
    assert!(sluice.is_active(access_token).await);
    let (status, userinfo) = client.userinfo(access_token).await;
    assert_eq!((status, &userinfo["sub"]), (200, &json!("alice")));
    let refreshed = client.refresh(tokens["refresh_token"].as_str().unwrap()).await.ok();
    assert_ne!(refreshed["access_token"], tokens["access_token"]);
    client.revoke(refreshed["refresh_token"].as_str().unwrap()).await.ok();
    assert!(!sluice.is_active(access_token).await);
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_logs_in_on_sqlite() {
    a_person_logs_in(Backend::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_logs_in_on_postgres() {
    a_person_logs_in(Backend::Postgres).await;
}

async fn a_login_writes_one_insert_and_one_update(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({})).await;
    let before = sluice.written();
    let code = sluice.browser().log_in(&sluice, &client, "alice").await.expect("code");
    client.redeem(&code).await.ok();
    let after = sluice.written();
    assert_eq!(after.grant_inserts - before.grant_inserts, 1);
    assert_eq!(after.grant_updates - before.grant_updates, 1);
    assert_eq!(after.rows - before.rows, 2);
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_login_writes_one_insert_and_one_update_on_sqlite() {
    a_login_writes_one_insert_and_one_update(Backend::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_login_writes_one_insert_and_one_update_on_postgres() {
    a_login_writes_one_insert_and_one_update(Backend::Postgres).await;
}
