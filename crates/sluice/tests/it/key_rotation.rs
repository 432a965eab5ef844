//! Signing keys come and go: announced, active, retiring, gone.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use reqwest::Method;
use serde_json::{Value, json};
use sluice_primitives::Lifetime;
use sluice_testkit::{Backend, TestClient, TestSluice};

use crate::both_stores::on_both_stores;
use crate::program::run;

on_both_stores!(
    a_new_key_is_published_by_every_node_before_any_signs_with_it,
    a_compromised_key_is_replaced_at_once_on_every_node,
    the_command_line_rotates_lists_and_imports_keys,
);

const SET: &str = "hydra.openid.id-token";

/// The id of the key that signs an id token of a fresh login.
async fn signer(sluice: &TestSluice, client: &TestClient) -> String {
    let client = client.at(sluice);
    let code = sluice.browser().log_in(sluice, &client, "alice").await.expect("code");
    let tokens = client.redeem(&code).await.ok();
    let header = tokens["id_token"].as_str().unwrap().split('.').next().unwrap();
    let header: Value = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(header).unwrap()).unwrap();
    header["kid"].as_str().unwrap().to_owned()
}

async fn publishes(sluice: &TestSluice, kid: &str) -> bool {
    let keys = sluice.ask_json(Method::GET, "/.well-known/jwks.json", None, 200).await;
    keys["keys"].as_array().unwrap().iter().any(|key| key["kid"] == kid)
}

/// The id of the first key that is published, which some libraries take for all that signs.
async fn first(sluice: &TestSluice) -> String {
    let keys = sluice.ask_json(Method::GET, "/.well-known/jwks.json", None, 200).await;
    keys["keys"][0]["kid"].as_str().unwrap().to_owned()
}

/// Makes a key that is to sign id tokens; its id.
pub(crate) async fn rotate(sluice: &TestSluice, more: &Value) -> String {
    let mut body = json!({"set": SET, "alg": "RS256"});
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let made = sluice.ask_json(Method::POST, "/admin/keys", Some(&body), 201).await;
    made["keys"][0]["kid"].as_str().unwrap().to_owned()
}

async fn a_new_key_is_published_by_every_node_before_any_signs_with_it(backend: Backend) {
    let one = TestSluice::start(backend).await;
    let other = one.second_node().await;
    let client = one.client(&json!({})).await;
    let old = signer(&one, &client).await;
    one.advance(Lifetime::secs(1));
    let new = rotate(&one, &json!({})).await;
    other.node.catch_up().await.unwrap();
    assert!(publishes(&one, &new).await && publishes(&other, &new).await);
    assert_eq!((first(&one).await, first(&other).await), (old.clone(), old.clone()));
    one.advance(Lifetime::minutes(110));
    assert_eq!((signer(&one, &client).await, signer(&other, &client).await), (old.clone(), old.clone()));
    one.advance(Lifetime::minutes(10));
    assert_eq!((signer(&one, &client).await, signer(&other, &client).await), (new.clone(), new.clone()));
    assert_eq!((first(&one).await, first(&other).await), (new.clone(), new));
    assert!(publishes(&other, &old).await, "what it signed still verifies");
    one.node.stop().await;
    other.node.stop().await;
}

async fn a_compromised_key_is_replaced_at_once_on_every_node(backend: Backend) {
    let one = TestSluice::start(backend).await;
    let other = one.second_node().await;
    let client = one.client(&json!({})).await;
    let old = signer(&one, &client).await;
    one.advance(Lifetime::secs(1));
    let new = rotate(&one, &json!({"at_once": true, "revoke": true})).await;
    other.node.catch_up().await.unwrap();
    assert_eq!((signer(&one, &client).await, signer(&other, &client).await), (new.clone(), new));
    assert!(!publishes(&one, &old).await && !publishes(&other, &old).await);
    one.node.stop().await;
    other.node.stop().await;
}

async fn the_command_line_rotates_lists_and_imports_keys(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    sluice.advance(Lifetime::secs(1));
    let ask = |arguments: &[&str]| {
        let ended = run(arguments, &[("SLUICE_ADMIN_URL", sluice.admin.as_str())]);
        assert!(ended.success, "{}", ended.stderr);
        ended.stdout
    };
    let made: Value = serde_json::from_str(&ask(&["keys", "rotate", "--format", "json"])).unwrap();
    let made = made["keys"].as_array().unwrap();
    assert_eq!(made.len(), 4, "two algorithms in each of two sets");
    assert!(made.iter().all(|key| key["state"] == "announced" && key["signs_from"].is_string()));
    let listed = ask(&["keys", "list"]);
    assert_eq!(listed.lines().count(), 9, "{listed}");
    assert!(made.iter().all(|key| listed.contains(key["kid"].as_str().unwrap())), "{listed}");

    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("key.pem");
    std::fs::write(&file, rcgen::KeyPair::generate().unwrap().serialize_pem()).unwrap();
    let imported = ask(&["import", "jwk", SET, file.to_str().unwrap(), "--format", "json"]);
    let imported: Value = serde_json::from_str(&imported).unwrap();
    let kid = imported["keys"][0]["kid"].as_str().unwrap().to_owned();
    let client = sluice.client(&json!({"id_token_signed_response_alg": "ES256"})).await;
    assert_eq!(signer(&sluice, &client).await, kid, "an imported key signs at once");
    sluice.node.stop().await;
}
