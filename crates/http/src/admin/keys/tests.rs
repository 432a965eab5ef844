use super::*;
use axum::body::Body;
use http::Request;
use http_body_util::BodyExt;
use serde_json::{Value, json};
use sluice_crypto::Sealer;
use sluice_oauth::keys::KeyRing;
use sluice_primitives::{ManualClock, NetworkId, OsRng, Secret, Timestamp};
use sluice_store_contract::MemoryStore;
use tower::ServiceExt;

async fn admin() -> Router {
    let store = Arc::new(MemoryStore::default());
    let at_rest = Arc::new(Sealer::new(NetworkId::from_bytes([1; 16]), &[Secret::new(b"secret".to_vec())]));
    let clock = Arc::new(ManualClock::at(Timestamp::from_secs(1_000_000)));
    let ring = KeyRing::start(store.clone(), at_rest.clone(), Arc::new(OsRng), clock.clone()).await.unwrap();
    routes(Arc::new(KeyService::new(store, at_rest, Arc::new(OsRng), clock, ring)))
}

async fn ask(admin: &Router, method: &str, path: &str, body: &str) -> (u16, Value) {
    let request = Request::builder().method(method).uri(path).body(Body::from(body.to_owned())).unwrap();
    let response = admin.clone().oneshot(request).await.unwrap();
    let status = response.status().as_u16();
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    (status, if bytes.is_empty() { Value::Null } else { serde_json::from_slice(&bytes).unwrap() })
}

#[tokio::test]
async fn a_key_set_grows_is_replaced_and_goes() {
    let admin = admin().await;
    let made = ask(&admin, "POST", "/admin/keys/mine", r#"{"alg":"ES256","kid":"k1","use":"sig"}"#).await;
    let key = &made.1["keys"][0];
    assert_eq!(
        (made.0, &key["kid"], &key["kty"], &key["use"]),
        (201, &json!("k1"), &json!("EC"), &json!("sig"))
    );
    assert!(key["d"].is_string(), "private parts are answered, as in Hydra");
    assert_eq!(
        ask(&admin, "POST", "/admin/keys/mine", r#"{"alg":"HS256","kid":"k2","use":"sig"}"#).await.0,
        201
    );
    assert_eq!(ask(&admin, "GET", "/admin/keys/mine", "").await.1["keys"].as_array().unwrap().len(), 2);
    assert_eq!(ask(&admin, "GET", "/admin/keys/mine/k1", "").await, (200, json!({"keys": [key]})));
    let jwk = json!({"use": "sig", "kty": "oct", "kid": "k8", "alg": "HS256", "k": "AAAA"});
    assert_eq!(ask(&admin, "PUT", "/admin/keys/mine/k7", &jwk.to_string()).await, (200, jwk.clone()));
    assert_eq!(ask(&admin, "GET", "/admin/keys/mine/k8", "").await.0, 200);
    let set = json!({"keys": [jwk]});
    assert_eq!(ask(&admin, "PUT", "/admin/keys/mine", &set.to_string()).await, (200, set.clone()));
    assert_eq!(ask(&admin, "GET", "/admin/keys/mine", "").await, (200, set));
    assert_eq!(ask(&admin, "DELETE", "/admin/keys/mine/k8", "").await, (204, Value::Null));
    assert_eq!(ask(&admin, "DELETE", "/admin/keys/mine", "").await.0, 204);
    assert_eq!(ask(&admin, "DELETE", "/admin/keys/mine", "").await.0, 204);
}

#[tokio::test]
async fn a_kid_that_is_taken_is_a_conflict_and_its_key_stays() {
    let admin = admin().await;
    let body = r#"{"alg":"ES256","kid":"k1","use":"sig"}"#;
    let (status, made) = ask(&admin, "POST", "/admin/keys/mine", body).await;
    assert_eq!(status, 201);
    let taken = "Unable to insert or update resource because a resource with that value exists already";
    let conflict = json!({"error": taken, "error_description": ""});
    assert_eq!(ask(&admin, "POST", "/admin/keys/mine", body).await, (409, conflict));
    assert_eq!(ask(&admin, "GET", "/admin/keys/mine", "").await, (200, made));
}

#[tokio::test]
async fn refusals_look_like_hydras() {
    let admin = admin().await;
    let no_set =
        json!({"error": "Not Found", "error_description": "Unable to locate the requested resource"});
    assert_eq!(ask(&admin, "GET", "/admin/keys/none", "").await, (404, no_set));
    let no_key = json!({"error": "Unable to locate the resource", "error_description": ""});
    assert_eq!(ask(&admin, "GET", "/admin/keys/none/k", "").await, (404, no_key));
    let algorithm = json!({"error": "Bad Request", "error_description": "Unsupported key algorithm"});
    assert_eq!(ask(&admin, "POST", "/admin/keys/mine", r#"{"alg":"XX"}"#).await, (400, algorithm));
    for (method, path, body) in [
        ("POST", "/admin/keys/mine", r#"{"alg":5}"#),
        ("PUT", "/admin/keys/mine", r#"{"keys":5}"#),
        ("PUT", "/admin/keys/mine", r#"{"keys":[{"kid":"k"}]}"#),
        ("PUT", "/admin/keys/mine", r#"{"keys":[{"kty":"wat","kid":"k8"}]}"#),
        ("PUT", "/admin/keys/mine/k", r#"{"kty":"oct","k":"AAAA"}"#),
    ] {
        let (status, json) = ask(&admin, method, path, body).await;
        assert_eq!(status, 400, "{body}");
        assert!(json["error_description"].as_str().unwrap().ends_with('.'), "{json}");
    }
}

#[tokio::test]
async fn signing_keys_are_rotated_and_listed_without_their_parts() {
    let admin = admin().await;
    let body = json!({"set": "hydra.openid.id-token", "alg": "ES256"}).to_string();
    let (status, made) = ask(&admin, "POST", "/admin/keys", &body).await;
    let key = &made["keys"][0];
    assert_eq!((status, made["keys"].as_array().unwrap().len()), (201, 1));
    assert_eq!((&key["state"], &key["alg"]), (&json!("announced"), &json!("ES256")));
    assert_eq!(
        (&key["created_at"], &key["signs_from"]),
        (&json!("1970-01-12T13:46:40.001Z"), &json!("1970-01-12T15:46:40.001Z"))
    );
    let (status, listed) = ask(&admin, "GET", "/admin/keys", "").await;
    let listed = listed["keys"].as_array().unwrap();
    assert_eq!((status, listed.len()), (200, 5));
    assert!(listed.contains(key) && listed.iter().all(|key| key["d"].is_null() && key["n"].is_null()));
    let succeeded =
        listed.iter().find(|other| other["alg"] == "ES256" && other["set"] == key["set"] && *other != key);
    assert_eq!(
        (&succeeded.unwrap()["state"], succeeded.unwrap()["gone_at"].is_string()),
        (&json!("active"), true)
    );
}

#[tokio::test]
async fn only_sets_that_are_signed_with_are_rotated() {
    let admin = admin().await;
    for body in [json!({"set": "mine"}), json!({"set": "hydra.openid.id-token", "alg": "none"}), json!({})] {
        assert_eq!(ask(&admin, "POST", "/admin/keys", &body.to_string()).await.0, 400, "{body}");
    }
}
