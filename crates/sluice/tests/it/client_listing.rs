//! Listings of clients are kept in memory: whoever changes a client, and wherever.

use reqwest::Method;
use serde_json::{Value, json};
use sluice_testkit::{Backend, TestSluice};

use crate::both_stores::on_both_stores;
use crate::rfc7591::{ENABLED, application, ask, registered};

/// The names of the clients, in the order of their ids. Asked twice: the second answer is of memory, if nothing was heard.
async fn names(sluice: &TestSluice) -> Vec<String> {
    let list = async || sluice.ask_json(Method::GET, "/admin/clients", None, 200).await;
    let (first, second) = (list().await, list().await);
    assert_eq!(first, second);
    let name = |client: &Value| client["client_name"].as_str().unwrap().to_owned();
    second.as_array().unwrap().iter().map(name).collect()
}

async fn what_is_changed_on_one_node_is_listed_there_at_once_and_on_the_other_when_it_hears(
    backend: Backend,
) {
    let sluice = TestSluice::start(backend).await;
    let other = sluice.second_node().await;
    let steps = [
        (Method::POST, "", json!({"client_id": "a", "client_name": "made"}), 201, vec!["made"]),
        (Method::POST, "", json!({"client_id": "b", "client_name": "second"}), 201, vec!["made", "second"]),
        (Method::PUT, "/a", json!({"client_name": "changed"}), 200, vec!["changed", "second"]),
        (Method::DELETE, "/a", Value::Null, 204, vec!["second"]),
    ];
    assert!(names(&other).await.is_empty());
    for (method, path, body, status, expected) in steps {
        let (path, body) = (format!("/admin/clients{path}"), Some(body).filter(|body| !body.is_null()));
        sluice.ask_json(method.clone(), &path, body.as_ref(), status).await;
        assert_eq!(names(&sluice).await, expected, "{method} {path}, here");
        other.node.catch_up().await.unwrap();
        assert_eq!(names(&other).await, expected, "{method} {path}, there");
    }
    other.node.stop().await;
    sluice.node.stop().await;
}

async fn a_client_that_registers_itself_is_listed_at_once(backend: Backend) {
    let sluice = TestSluice::with(backend, &[ENABLED]).await;
    assert!(names(&sluice).await.is_empty());
    let made = registered(&sluice, &application()).await;
    assert_eq!(names(&sluice).await, ["Application"]);
    let path = format!("/oauth2/register/{}", made["client_id"].as_str().unwrap());
    let own = made["registration_access_token"].as_str();
    assert_eq!(ask(&sluice, (Method::DELETE, &path), own, None).await.status, 204);
    assert!(names(&sluice).await.is_empty());
    sluice.node.stop().await;
}

on_both_stores!(
    what_is_changed_on_one_node_is_listed_there_at_once_and_on_the_other_when_it_hears,
    a_client_that_registers_itself_is_listed_at_once,
);
