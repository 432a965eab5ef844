//! Signing keys come and go: announced, active, retiring, gone.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use futures_util::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};
use sluice_primitives::{Clock, Lifetime, ManualClock, SystemClock};
use sluice_testkit::postgres::TemporaryDatabase;
use sluice_testkit::{Backend, Database, PrivateCluster, TestClient, TestSluice};

use crate::both_stores::on_both_stores;
use crate::legs::{delete, token, tokens_of};
use crate::program::run;
use crate::rfc8628::{DEVICE_CODE, begin, connect, poll};

on_both_stores!(
    a_new_key_is_published_by_every_node_before_any_signs_with_it,
    a_compromised_key_is_replaced_at_once_on_every_node,
    keys_that_are_deleted_at_once_are_replaced_before_a_token_cannot_be_signed,
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

/// The paths of the keys that sign id tokens with ES256, or will.
async fn paths(sluice: &TestSluice) -> Vec<String> {
    let listed = sluice.ask_json(Method::GET, "/admin/keys", None, 200).await;
    let keys = listed["keys"].as_array().unwrap().iter();
    let keys = keys.filter(|key| key["set"] == SET && key["alg"] == "ES256");
    keys.map(|key| format!("/admin/keys/{SET}/{}", key["kid"].as_str().unwrap())).collect()
}

async fn keys_that_are_deleted_at_once_are_replaced_before_a_token_cannot_be_signed(backend: Backend) {
    let one = TestSluice::start(backend).await;
    let other = one.second_node().await;
    let client = one.client(&json!({"id_token_signed_response_alg": "ES256"})).await;
    for _ in 0..3 {
        one.advance(Lifetime::secs(1));
        one.ask_json(Method::POST, &format!("/admin/keys/{SET}"), Some(&json!({"alg": "ES256"})), 201).await;
        other.node.catch_up().await.unwrap();
        let (paths, mut codes) = (paths(&one).await, Vec::new());
        assert!(paths.len() > 1, "{paths:?}");
        for _ in 0..4 {
            codes.push(one.browser().log_in(&one, &client, "alice").await.expect("code"));
        }
        let nodes = [&one, &other].into_iter().cycle();
        let deletions = join_all(paths.iter().zip(nodes).map(|(path, node)| delete(node, path)));
        let redemptions = async {
            for code in &codes {
                client.redeem(code).await.ok();
            }
        };
        tokio::join!(deletions, redemptions);
        one.node.catch_up().await.unwrap();
        other.node.catch_up().await.unwrap();
        for node in [&one, &other] {
            let signer = signer(node, &client).await;
            assert!(!paths.iter().any(|path| path.ends_with(&signer)), "{signer} {paths:?}");
        }
    }
    one.node.stop().await;
    other.node.stop().await;
}

/// Its row was deleted by hand, say.
#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_signed_for_want_of_a_key_uses_up_no_code_no_refresh_token_and_no_poll() {
    let cluster = PrivateCluster::shared().await;
    let temporary = TemporaryDatabase::of(cluster).await;
    let (name, clock) = (temporary.name().to_owned(), Arc::new(ManualClock::at(SystemClock.now())));
    let sluice = TestSluice::on(Arc::new(Database::of(temporary)), clock, &[]).await;
    let jwt = json!({"access_token_strategy": "jwt", "access_token_signed_response_alg": "ES384"});
    for (set, mut asked) in
        [(SET, json!({"id_token_signed_response_alg": "ES384"})), ("hydra.jwt.access-token", jwt)]
    {
        asked["grant_types"] = json!(["authorization_code", "refresh_token", DEVICE_CODE]);
        let client = sluice.client(&asked).await;
        let device = begin(&client).await;
        connect(&sluice, &mut sluice.browser(), &device, &json!({})).await;
        let code = sluice.browser().log_in(&sluice, &client, "alice").await.expect("code");
        let tokens = tokens_of(&sluice, &client, "bob").await;
        let lose = async || {
            let lost = format!("DELETE FROM signing_key WHERE set_name = '{set}' AND algorithm = 'ES384'");
            cluster.execute(&name, &lost).await;
            // The node reads the set again.
            let path = format!("/admin/keys/{set}");
            sluice.ask_json(Method::POST, &path, Some(&json!({"alg": "EdDSA"})), 201).await;
        };
        lose().await;
        for _ in 0..2 {
            let refresh_token = token(&tokens, "refresh_token");
            let (redeemed, polled) = (client.redeem(&code).await, poll(&client, &device).await);
            for refused in [redeemed, client.refresh(refresh_token).await, polled] {
                assert_eq!(
                    (refused.status, &refused.body["error"]),
                    (503, &json!("temporarily_unavailable"))
                );
            }
        }
        let asked = json!({"set": set, "alg": "ES384"});
        sluice.ask_json(Method::POST, "/admin/keys", Some(&asked), 201).await;
        let redeemed = client.redeem(&code).await.ok();
        // Nor does a poll that came to nothing count as one.
        poll(&client, &device).await.ok();
        client.refresh(token(&tokens, "refresh_token")).await.ok();
        lose().await;
        client.redeem(&code).await.refused_with("invalid_grant");
        assert!(!sluice.is_active(token(&redeemed, "refresh_token")).await, "theft is told all the same");
    }
    sluice.node.stop().await;
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
