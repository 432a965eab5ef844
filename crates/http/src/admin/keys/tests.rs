use super::*;
use axum::body::Body;
use http::Request;
use http_body_util::BodyExt;
use serde_json::{Value, json};
use sluice_crypto::Sealer;
use sluice_crypto::jwk::{RsaSize, SigningAlgorithm};
use sluice_oauth::keys::{DefaultAlgorithms, KeyRing, KeyService, RingOptions};
use sluice_oauth::trust::{ListTrusted, NewTrust, TrustService};
use sluice_primitives::{ManualClock, NetworkId, OsRng, Secret, Timestamp};
use sluice_store_contract::MemoryStore;
use sluice_testkit::Captured;
use tower::ServiceExt;

/// The key sets of a server, and whom it trusts.
async fn sets() -> (Arc<TrustService>, Router) {
    sets_with((SigningAlgorithm::RS256, SigningAlgorithm::ES256)).await
}

/// Those of a server that signs id tokens and access tokens with these algorithms.
async fn sets_with(
    (id_token, access_token): (SigningAlgorithm, SigningAlgorithm),
) -> (Arc<TrustService>, Router) {
    let store = Arc::new(MemoryStore::default());
    let at_rest = Arc::new(Sealer::new(NetworkId::from_bytes([1; 16]), &[Secret::new(b"secret".to_vec())]));
    let clock = Arc::new(ManualClock::at(Timestamp::from_secs(1_000_000)));
    let defaults = Some(DefaultAlgorithms { id_token, access_token });
    let options = RingOptions { defaults, ..RingOptions::default() };
    let (repo, rng) = (store.clone(), Arc::new(OsRng));
    let ring = KeyRing::start_with(repo, at_rest.clone(), rng, clock.clone(), options).await.unwrap();
    let trust = Arc::new(TrustService {
        issuers: store.clone(),
        sealer: at_rest.clone(),
        clock: clock.clone(),
        rng: Arc::new(OsRng),
    });
    let keys = Arc::new(KeyService::new(store, at_rest, Arc::new(OsRng), clock, ring));
    (Arc::clone(&trust), routes(Arc::new(KeySets { keys, trust })))
}

async fn admin() -> Router {
    sets().await.1
}

/// The trust in a key of an issuer to speak of this subject.
async fn trusted(trust: &TrustService, jwk: &Jwk, subject: &str) -> String {
    let asked = NewTrust {
        issuer: "https://idp.example".to_owned(),
        subject: subject.to_owned(),
        jwk: jwk.clone(),
        expires_at: Some(Timestamp::from_secs(2_000_000)),
        ..NewTrust::default()
    };
    trust.create(asked).await.unwrap().id.to_string()
}

fn key(kid: &str) -> Jwk {
    Jwk::generate(SigningAlgorithm::ES256, kid.to_owned(), RsaSize::Bits2048).unwrap()
}

fn rsa(kid: &str) -> Jwk {
    Jwk::generate(SigningAlgorithm::RS256, kid.to_owned(), RsaSize::Bits2048).unwrap()
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

/// Go clients send `null` where nobody named a set.
#[tokio::test]
async fn a_set_is_emptied_by_an_object_without_keys_and_not_by_null() {
    let admin = admin().await;
    let (status, made) =
        ask(&admin, "POST", "/admin/keys/mine", r#"{"alg":"ES256","kid":"k1","use":"sig"}"#).await;
    assert_eq!(status, 201);
    for nothing in ["null", "null\n", ""] {
        assert_eq!(ask(&admin, "PUT", "/admin/keys/mine", nothing).await.0, 400, "{nothing:?}");
    }
    assert_eq!(ask(&admin, "GET", "/admin/keys/mine", "").await, (200, made));
    assert_eq!(ask(&admin, "PUT", "/admin/keys/mine", "{}").await, (200, json!({"keys": []})));
    assert_eq!(ask(&admin, "GET", "/admin/keys/mine", "").await.0, 404);
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
        ("PUT", "/admin/keys/mine/k", r#"{"kty":"RSA","n":"!!!","e":"AQAB","kid":"k"}"#),
        ("PUT", "/admin/keys/mine/k", r#"{"kty":"EC","crv":"P-256","x":"AA","y":"AA","kid":"k"}"#),
        ("PUT", "/admin/keys/mine/k", r#"{"kty":"oct","k":"AAAA","kid":".."}"#),
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

#[tokio::test]
async fn the_keys_of_a_trusted_issuer_are_a_set_of_its_name() {
    let (trust, admin) = sets().await;
    let set = "/admin/keys/https:%2F%2Fidp.example";
    assert_eq!(ask(&admin, "GET", set, "").await.0, 404);
    let (one, two) = (key("one"), key("two"));
    for (jwk, subject) in [(&one, "alice"), (&one, "bob"), (&two, "alice")] {
        trusted(&trust, jwk, subject).await;
    }
    let shown = json!({"keys": [one.public(), two.public()]});
    assert_eq!(ask(&admin, "GET", set, "").await, (200, shown));
    let shown = json!({"keys": [two.public()]});
    assert_eq!(ask(&admin, "GET", &format!("{set}/two"), "").await, (200, shown));
    assert_eq!(ask(&admin, "GET", &format!("{set}/three"), "").await.0, 404);
    let body = serde_json::to_string(&one).unwrap();
    assert_eq!(ask(&admin, "PUT", &format!("{set}/one"), &body).await.0, 200);
    let both = json!({"keys": [one, two.public()]});
    assert_eq!(ask(&admin, "GET", set, "").await, (200, both), "what is stored as well is there once");
    let other = key("one");
    trusted(&trust, &other, "carol").await;
    let shown = json!({"keys": [one, other.public()]});
    let answer = ask(&admin, "GET", &format!("{set}/one"), "").await;
    assert_eq!(answer, (200, shown), "what is stored hides no key that is trusted");
}

/// The ids of all trusts, in order.
async fn trusts(trust: &TrustService) -> Vec<String> {
    let page = trust.list(ListTrusted::default()).await.unwrap();
    page.trusted.iter().map(|trusted| trusted.id.to_string()).collect()
}

#[tokio::test]
async fn an_issuer_is_trusted_no_more_with_a_key_that_is_replaced() {
    let (log, _guard) = Captured::everything();
    let (trust, admin) = sets().await;
    let set = "/admin/keys/https:%2F%2Fidp.example";
    let put = async |path: &str, body: Value| ask(&admin, "PUT", path, &body.to_string()).await.0;
    let (one, two, three) = (key("one"), key("two"), key("three"));
    let mut made = Vec::new();
    for (jwk, subject) in
        [(&one, "alice"), (&one, "bob"), (&two, "alice"), (&three, "carol"), (&key("three"), "dave")]
    {
        made.push(trusted(&trust, jwk, subject).await);
    }
    let (key_of_one, all) = (format!("{set}/one"), json!({"keys": [one, two.public(), three]}));
    let puts: [(&str, Value, u16, &[usize]); 8] = [
        (set, json!({"keys": [{"kty": "oct", "k": "AAAA"}]}), 400, &[0, 1, 2, 3, 4]),
        (&key_of_one, json!({"kty": "oct", "kid": "one"}), 400, &[0, 1, 2, 3, 4]),
        ("/admin/keys/elsewhere", json!({"keys": [key("one")]}), 200, &[0, 1, 2, 3, 4]),
        (&key_of_one, json!(one), 200, &[0, 1, 2, 3, 4]),
        (set, all, 200, &[0, 1, 2, 3]),
        (&key_of_one, json!(key("one")), 200, &[2, 3]),
        (set, json!({"keys": [two]}), 200, &[2]),
        (set, json!({"keys": []}), 200, &[]),
    ];
    for (path, body, status, left) in puts {
        assert_eq!(put(path, body.clone()).await, status, "{path}: {body}");
        let mut left: Vec<_> = left.iter().map(|place| made[*place].clone()).collect();
        left.sort_unstable();
        assert_eq!(trusts(&trust).await, left, "{path}: {body}");
    }
    assert_eq!(log.text().matches("trust in an issuer ended").count(), 4, "one, two, three and that of dave");
}

#[tokio::test]
async fn an_issuer_is_trusted_no_more_when_its_key_is_deleted() {
    let (log, _guard) = Captured::everything();
    let (trust, admin) = sets().await;
    let set = "/admin/keys/https:%2F%2Fidp.example";
    let (one, two) = (key("one"), key("two"));
    let mut made = Vec::new();
    for (jwk, subject) in [(&one, "alice"), (&one, "bob"), (&two, "alice")] {
        made.push(trusted(&trust, jwk, subject).await);
    }
    for path in ["/admin/keys/elsewhere", "/admin/keys/elsewhere/one", &format!("{set}/three")] {
        assert_eq!(ask(&admin, "DELETE", path, "").await.0, 204);
    }
    assert_eq!(trusts(&trust).await.len(), 3);
    assert_eq!(ask(&admin, "DELETE", &format!("{set}/one"), "").await.0, 204);
    assert_eq!(trusts(&trust).await, made[2..]);
    assert_eq!(ask(&admin, "DELETE", set, "").await.0, 204);
    assert_eq!(trusts(&trust).await, [""; 0]);
    assert_eq!(ask(&admin, "GET", set, "").await.0, 404);
    let told =
        "trust in an issuer ended with its key by an administrator trust.issuer=\"https://idp.example\"";
    let said = log.text();
    let ended: Vec<_> = said.lines().filter_map(|line| line.split_once(told)).collect();
    assert_eq!(ended.iter().map(|(_, kid)| *kid).collect::<Vec<_>>(), [" key.kid=\"one\"", ""]);
}

#[tokio::test]
async fn a_key_that_is_put_and_does_not_sign_is_told_of() {
    let (log, _guard) = Captured::everything();
    let admin = admin().await;
    let for_encryption = Jwk { key_use: Some("enc".to_owned()), ..key("encrypts") };
    let puts = [
        ("hydra.openid.id-token", key("other")),
        ("hydra.jwt.access-token", key("default")),
        ("hydra.jwt.access-token", rsa("fapi")),
        ("mine", key("elsewhere")),
        ("hydra.openid.id-token", key("public").public()),
        ("hydra.openid.id-token", for_encryption),
    ];
    for (set, jwk) in puts {
        let path = format!("/admin/keys/{set}/{}", jwk.kid.as_deref().unwrap());
        assert_eq!(ask(&admin, "PUT", &path, &serde_json::to_string(&jwk).unwrap()).await.0, 200);
    }
    let signs = rsa("rsa");
    for keys in [[signs.clone(), key("older")], [key("newest"), signs]] {
        let body = json!({"keys": keys}).to_string();
        assert_eq!(ask(&admin, "PUT", "/admin/keys/hydra.openid.id-token", &body).await.0, 200);
    }
    let only = |kid: &str| {
        format!(
            "a key does not sign what its set is for key.set=\"hydra.openid.id-token\" key.kid=\"{kid}\" \
             reason=it signs for those clients only that are registered for ES256: the default is RS256"
        )
    };
    let said = log.text();
    let told: Vec<_> = said.lines().filter_map(|line| line.split_once("keys::silent: ")).collect();
    let told: Vec<_> = told.iter().map(|(_, told)| *told).collect();
    let cannot = "a key does not sign what its set is for key.set=\"hydra.openid.id-token\" key.kid=\"encrypts\" reason=it cannot sign: ";
    assert_eq!((told.len(), told[0], told[2]), (3, &*only("other"), &*only("newest")), "{said}");
    assert!(told[1].starts_with(cannot), "{said}");
}

#[tokio::test]
async fn a_key_that_signs_by_default_but_not_first_is_not_told_of() {
    let (log, _guard) = Captured::everything();
    let (_, admin) = sets_with((SigningAlgorithm::ES256, SigningAlgorithm::PS256)).await;
    let puts = [
        ("hydra.openid.id-token", rsa("answers")),
        ("hydra.jwt.access-token", key("fapi")),
        ("hydra.jwt.access-token", rsa("silent")),
    ];
    for (set, jwk) in puts {
        let path = format!("/admin/keys/{set}/{}", jwk.kid.as_deref().unwrap());
        assert_eq!(ask(&admin, "PUT", &path, &serde_json::to_string(&jwk).unwrap()).await.0, 200);
    }
    let said = log.text();
    let told: Vec<_> = said.lines().filter_map(|line| line.split_once(" key.set=")).collect();
    let told: Vec<_> = told.iter().filter(|(before, _)| before.contains("keys::silent: ")).collect();
    let silent = "\"hydra.jwt.access-token\" key.kid=\"silent\" \
                  reason=it signs for those clients only that are registered for RS256: the default is PS256";
    assert_eq!(told.iter().map(|(_, key)| *key).collect::<Vec<_>>(), [silent], "{said}");
}

#[tokio::test]
async fn whatever_a_signing_key_is_made_for_it_is_told() {
    let (log, _guard) = Captured::begin();
    let admin = admin().await;
    let set = "/admin/keys/hydra.openid.id-token";
    let kids = async || {
        let (_, shown) = ask(&admin, "GET", set, "").await;
        let keys = shown["keys"].as_array().unwrap().iter();
        keys.map(|key| key["kid"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let untold = async || {
        let told = log.lines("sluice_audit: signing key made key.set=\"hydra.openid.id-token\"");
        let is_told = |kid: &String| told.iter().any(|line| line.contains(kid));
        kids().await.into_iter().filter(|kid| !is_told(kid)).collect::<Vec<_>>()
    };
    assert_eq!(untold().await, [""; 0], "the first of all");
    for kid in kids().await {
        assert_eq!(ask(&admin, "DELETE", &format!("{set}/{kid}"), "").await.0, 204);
    }
    assert_eq!(
        (kids().await.len(), untold().await),
        (2, Vec::new()),
        "in the place of those that were deleted"
    );
    assert_eq!(ask(&admin, "DELETE", set, "").await.0, 204);
    assert_eq!((kids().await.len(), untold().await), (2, Vec::new()), "for a set that was deleted");
    let body = json!({"keys": [key("own")]}).to_string();
    assert_eq!(ask(&admin, "PUT", set, &body).await.0, 200);
    assert_eq!(
        (kids().await.len(), untold().await),
        (2, vec!["own".to_owned()]),
        "beside those that were put"
    );
    let body = json!({"set": "hydra.openid.id-token", "alg": "ES384"}).to_string();
    assert_eq!(ask(&admin, "POST", "/admin/keys", &body).await.0, 201);
    assert_eq!((kids().await.len(), untold().await), (3, vec!["own".to_owned()]), "for another algorithm");
}

#[tokio::test]
async fn it_is_told_which_private_keys_are_read() {
    let (log, _guard) = Captured::begin();
    let admin = admin().await;
    for jwk in [key("private"), key("public").public()] {
        let path = format!("/admin/keys/mine/{}", jwk.kid.as_deref().unwrap());
        assert_eq!(ask(&admin, "PUT", &path, &serde_json::to_string(&jwk).unwrap()).await.0, 200);
    }
    for (path, status) in
        [("", 200), ("/mine", 200), ("/mine/private", 200), ("/mine/public", 200), ("/none", 404)]
    {
        assert_eq!(ask(&admin, "GET", &format!("/admin/keys{path}"), "").await.0, status, "{path}");
    }
    let lines = log.lines("private keys read");
    let told: Vec<_> = lines.iter().filter_map(|line| line.split_once("sluice_audit: ")).collect();
    let expected = [
        r#"private keys read key.set="mine" key.kids=["private"]"#,
        r#"private keys read key.set="mine" key.kid="private""#,
    ];
    assert_eq!(told.iter().map(|(_, told)| *told).collect::<Vec<_>>(), expected);
}
