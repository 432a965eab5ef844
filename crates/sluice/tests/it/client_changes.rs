//! Clients that several administrators change at the same time.

use reqwest::Method;
use serde_json::{Value, json};
use sluice_testkit::{Backend, TestSluice};

use crate::both_stores::on_both_stores;

async fn of_changes_at_once_of_a_client_none_is_refused_and_none_is_lost(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = json!({"client_id": "a", "contacts": ["first"]});
    sluice.ask_json(Method::POST, "/admin/clients", Some(&client), 201).await;
    let node = &sluice;
    let changes = (0..16).map(|place| async move {
        let contact = json!([{"op": "add", "path": "/contacts/-", "value": place.to_string()}]);
        node.ask_json(Method::PATCH, "/admin/clients/a", Some(&contact), 200).await
    });
    futures_util::future::join_all(changes).await;
    let stored = sluice.ask_json(Method::GET, "/admin/clients/a", None, 200).await;
    let contacts: Vec<_> = stored["contacts"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    let missing: Vec<_> = (0..16).filter(|place| !contacts.contains(&place.to_string().as_str())).collect();
    assert_eq!((contacts.len(), missing), (17, Vec::new()));
    sluice.node.stop().await;
}

on_both_stores!(of_changes_at_once_of_a_client_none_is_refused_and_none_is_lost);
