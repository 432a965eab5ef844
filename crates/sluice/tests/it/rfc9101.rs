//! JWT-Secured Authorization Requests (RFC 9101; OpenID Connect Core §6).

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::Router;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::IntoResponse;
use axum::routing::get;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use parking_lot::Mutex;
use serde_json::{Value, json};
use sluice_crypto::digest::sha256;
use sluice_crypto::jwe::{ContentEncryption, EncryptionKey, KeyManagement, encrypt};
use sluice_crypto::jwk::{JwkSet, MacAlgorithm, SigningAlgorithm};
use sluice_crypto::jws::sign_hmac;
use sluice_primitives::{Clock, Lifetime};
use sluice_testkit::{Backend, ISSUER, TestClient, TestSluice};
use tokio::net::TcpListener;

use crate::authorization_errors::asked;
use crate::both_stores::on_both_stores;
use crate::legs::{consent_request, login_request, token, tokens_of};
use crate::requests::{Signer, assembled, claims, is_refused, is_shown, with};
use crate::response::{NONCE, STATE, last_page};

on_both_stores! {
    a_signed_request_leads_to_a_code,
    a_hostile_object_is_refused_and_writes_nothing,
}

/// What a request with an object says beside it, so that a refusal can be told to the client.
fn beside<'a>(client: &'a TestClient, object: &'a str) -> [(&'a str, &'a str); 3] {
    [("request", object), ("redirect_uri", client.redirect_uri.as_str()), ("state", "outside")]
}

async fn a_signed_request_leads_to_a_code(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    for algorithm in [SigningAlgorithm::ES256, SigningAlgorithm::PS256, SigningAlgorithm::EdDSA] {
        let signer = Signer::new(algorithm);
        let client = signer.client(&sluice, json!({})).await;
        let object = signer.object(&sluice, &client, &json!({}));
        let url = with(&client, &[("request", &object)]);
        let page = last_page(&sluice, &mut sluice.browser(), &url).await;
        assert_eq!(page.expect("state"), STATE);
        let tokens = client.redeem(&page.expect("code")).await.ok();
        assert_eq!(crate::jwt::claims(token(&tokens, "id_token"))["nonce"], NONCE);
    }
    sluice.node.stop().await;
}

/// §5: parameters beside the object are not used, whether the object has them or not.
#[tokio::test(flavor = "multi_thread")]
async fn only_what_is_signed_counts() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let signer = Signer::new(SigningAlgorithm::ES256);
    let client = signer.client(&sluice, json!({})).await;
    let object = signer.object(&sluice, &client, &json!({"state": null, "scope": "openid"}));
    let outside = [
        ("request", object.as_str()),
        ("response_type", "code"),
        ("scope", "openid email"),
        ("state", "outside"),
        ("nonce", "outside"),
        ("redirect_uri", "https://evil.test/callback"),
        ("prompt", "none"),
        ("registration", "{}"),
    ];
    let page = last_page(&sluice, &mut sluice.browser(), &with(&client, &outside)).await;
    assert_eq!((page.parameter("state"), page.expect("scope").as_str()), (None, "openid"));
    let tokens = client.redeem(&page.expect("code")).await.ok();
    assert_eq!(crate::jwt::claims(token(&tokens, "id_token"))["nonce"], NONCE);
    // Nor does what is outside make good what the object lacks.
    let object = signer.object(&sluice, &client, &json!({"response_type": null}));
    let outside = [("request", object.as_str()), ("response_type", "code")];
    let page = is_refused(&mut sluice.browser(), &with(&client, &outside), "invalid_request").await;
    assert_eq!(page.expect("state"), STATE, "the object says where and with what an error goes");
    let evil = json!({"redirect_uri": "https://evil.test/callback"});
    let object = signer.object(&sluice, &client, &evil);
    is_shown(&sluice.browser().visit(&with(&client, &beside(&client, &object))).await, "invalid_request");
    sluice.node.stop().await;
}

/// Claims that are no texts (§4).
#[tokio::test(flavor = "multi_thread")]
async fn a_claim_stands_for_the_text_of_its_parameter() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let signer = Signer::new(SigningAlgorithm::ES256);
    let details =
        json!({"authorization_details_types": ["payment"], "audience": ["https://a.test", "https://b.test"]});
    let client = signer.client(&sluice, details).await;
    let object = signer.object(
        &sluice,
        &client,
        &json!({
            "max_age": 300,
            "claims": {"id_token": {"acr": {"values": ["gold", "silver"]}}},
            "authorization_details": [{"type": "payment", "amount": 1}],
            "resource": ["https://a.test", "https://b.test"],
            "login_hint": null,
            "ui_locales": "de",
        }),
    );
    let mut browser = sluice.browser();
    let challenge = browser.visit(&with(&client, &[("request", &object)])).await.expect("login_challenge");
    let path = format!("/admin/oauth2/auth/requests/login?login_challenge={challenge}");
    let asked = sluice.ask_json(reqwest::Method::GET, &path, None, 200).await;
    assert_eq!(asked["oidc_context"], json!({"acr_values": ["gold", "silver"], "ui_locales": ["de"]}));
    assert_eq!(asked["requested_access_token_audience"], json!(["https://a.test", "https://b.test"]));
    let verifier = sluice_testkit::accept_login(&sluice, &challenge, &json!({"subject": "alice"})).await;
    let challenge = browser.visit(&verifier).await.expect("consent_challenge");
    let asked = consent_request(&sluice, &challenge).await;
    assert_eq!(asked["requested_authorization_details"], json!([{"type": "payment", "amount": 1}]));
    // What was signed is not made into a request that is not.
    let url = url::Url::parse(asked["request_url"].as_str().unwrap()).unwrap();
    let names: Vec<_> = url.query_pairs().map(|(name, _)| name.into_owned()).collect();
    assert_eq!(names, ["client_id", "response_type", "redirect_uri", "scope"], "{asked}");
    sluice.node.stop().await;
}

/// What is no request of this client to this server, now; the other client has a key of its own.
fn hostile_objects(
    sluice: &TestSluice,
    (signer, client): (&Signer, &TestClient),
    (thief, other): (&Signer, &TestClient),
) -> Vec<String> {
    let now = sluice.clock.now().as_secs();
    let good = claims(sluice, client, &json!({}));
    let mut hostile: Vec<String> = [
        json!({"iss": other.id}),
        json!({"client_id": other.id}),
        json!({"iss": other.id, "client_id": other.id}),
        json!({"sub": client.id}),
        json!({"aud": "https://elsewhere.test/"}),
        json!({"aud": []}),
        json!({"aud": 1}),
        json!({"exp": now - 61}),
        json!({"exp": "soon"}),
        json!({"nbf": now + 90}),
        json!({"iat": now + 90}),
        json!({"request": "a.b.c"}),
        json!({"request_uri": "https://app.test/object"}),
        json!({"request_uri": "urn:ietf:params:oauth:request_uri:x"}),
    ]
    .iter()
    .map(|changes| signer.object(sluice, client, changes))
    .collect();
    // Not signed; signed with what everybody knows; signed with a key that the object brings along.
    for alg in ["none", "None", "NONE", "", "HS256", "RS256"] {
        hostile.push(assembled(&json!({"alg": alg}), &good, b""));
    }
    for secret in [signer.jwk.to_string(), signer.jwk["x"].as_str().unwrap().to_owned()] {
        let payload = good.to_string();
        hostile.push(
            sign_hmac(Some("JWT"), payload.as_bytes(), secret.as_bytes(), MacAlgorithm::HS256).unwrap(),
        );
    }
    hostile.push(thief.object(sluice, client, &json!({})));
    let signed = thief.sign(Some("JWT"), &good);
    for header in [
        json!({"alg": "ES256", "kid": "one", "jwk": thief.jwk}),
        json!({"alg": "ES256", "jwk": thief.jwk}),
        json!({"alg": "ES256", "jku": "https://evil.test/jwks.json"}),
        json!({"alg": "ES256", "x5u": "https://evil.test/chain.pem", "x5c": ["AAAA"]}),
        json!({"alg": "ES256", "crit": ["b64"], "b64": false}),
    ] {
        let signature = URL_SAFE_NO_PAD.decode(signed.rsplit('.').next().unwrap()).unwrap();
        hostile.push(assembled(&header, &good, &signature));
    }
    // Tokens that are something else: an assertion, an access token by its type.
    hostile.push(signer.assertion(sluice, &client.id));
    hostile.extend(["at+jwt", "dpop+jwt", "logout+jwt"].map(|typ| signer.sign(Some(typ), &good)));
    let right = signer.object(sluice, client, &json!({}));
    hostile.extend([
        right[..right.len() - 4].to_owned(),
        format!("{right}.x"),
        "..".to_owned(),
        "....".to_owned(),
        "x".to_owned(),
        signer.sign(None, &json!(["not", "an", "object"])),
    ]);
    hostile
}

/// §6, §10: whatever is not this client's request to this server, now.
async fn a_hostile_object_is_refused_and_writes_nothing(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let (signer, thief) = (Signer::new(SigningAlgorithm::ES256), Signer::new(SigningAlgorithm::ES256));
    let client = signer.client(&sluice, json!({})).await;
    let other = thief.client(&sluice, json!({})).await;
    let id_token = token(&tokens_of(&sluice, &client, "alice").await, "id_token").to_owned();
    let before = sluice.written();
    let mut hostile = hostile_objects(&sluice, (&signer, &client), (&thief, &other));
    // An id token of this server.
    hostile.push(id_token);
    let right = signer.object(&sluice, &client, &json!({}));
    for object in &hostile {
        let url = with(&client, &beside(&client, object));
        let page = is_refused(&mut sluice.browser(), &url, "invalid_request_object").await;
        assert_eq!(page.expect("state"), "outside", "{object}");
        client.post("/oauth2/par", &[("request", object)]).await.refused_with("invalid_request_object");
    }
    assert_eq!(sluice.written(), before);
    // Without a place that could be told, the user is.
    let url = with(&client, &[("request", &hostile[0]), ("redirect_uri", "https://evil.test/")]);
    is_shown(&sluice.browser().visit(&url).await, "invalid_request_object");
    let huge = signer.object(&sluice, &client, &json!({"x": "x".repeat(16_000)}));
    client.post("/oauth2/par", &[("request", &huge)]).await.refused_with("invalid_request_object");
    let both = [("request", right.as_str()), ("request_uri", "https://app.test/object")];
    is_refused(&mut sluice.browser(), &with(&client, &both), "invalid_request").await;
    sluice.browser().visit(&with(&client, &[("request", &right)])).await.expect("login_challenge");
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_lives_no_longer_than_it_says() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let signer = Signer::new(SigningAlgorithm::ES256);
    let client = signer.client(&sluice, json!({})).await;
    let object = signer.object(&sluice, &client, &json!({}));
    let url = with(&client, &beside(&client, &object));
    sluice.advance(Lifetime::secs(300));
    sluice.browser().visit(&url).await.expect("login_challenge");
    sluice.advance(Lifetime::secs(60));
    is_refused(&mut sluice.browser(), &url, "invalid_request_object").await;
    sluice.node.stop().await;
}

/// OpenID Connect Registration §2: objects that are not signed with the registered algorithm are refused.
#[tokio::test(flavor = "multi_thread")]
async fn an_object_is_signed_with_the_registered_algorithm() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let signer = Signer::new(SigningAlgorithm::ES256);
    let registered = |alg: &str| json!({"request_object_signing_alg": alg});
    let client = signer.client(&sluice, registered("PS256")).await;
    let object = signer.object(&sluice, &client, &json!({}));
    let url = with(&client, &beside(&client, &object));
    is_refused(&mut sluice.browser(), &url, "invalid_request_object").await;
    let client = signer.client(&sluice, registered("ES256")).await;
    let object = signer.object(&sluice, &client, &json!({}));
    sluice.browser().visit(&with(&client, &[("request", &object)])).await.expect("login_challenge");
    sluice.node.stop().await;
}

/// OpenID Connect Core §6.1 lets objects be unsigned; this server does where it is told to.
#[tokio::test(flavor = "multi_thread")]
async fn an_unsigned_object_is_taken_only_where_that_is_configured() {
    let settings = [("oauth2.request_objects.allow_unsigned", "true")];
    let sluice = TestSluice::with(Backend::Sqlite, &settings).await;
    let signer = Signer::new(SigningAlgorithm::ES256);
    let unsigned = |client| assembled(&json!({"alg": "none"}), &claims(&sluice, client, &json!({})), b"");
    let client = sluice.client(&json!({})).await;
    let object = unsigned(&client);
    sluice.browser().visit(&with(&client, &[("request", &object)])).await.expect("login_challenge");
    let signature = assembled(&json!({"alg": "none"}), &claims(&sluice, &client, &json!({})), b"signature");
    let url = with(&client, &beside(&client, &signature));
    is_refused(&mut sluice.browser(), &url, "invalid_request_object").await;
    // Not from those who registered an algorithm, or that they sign.
    let signing = signer.client(&sluice, json!({"request_object_signing_alg": "ES256"})).await;
    let object = unsigned(&signing);
    let url = with(&signing, &beside(&signing, &object));
    is_refused(&mut sluice.browser(), &url, "invalid_request_object").await;
    let strict = signer.client(&sluice, json!({"require_signed_request_object": true})).await;
    let object = unsigned(&strict);
    let url = with(&strict, &beside(&strict, &object));
    is_refused(&mut sluice.browser(), &url, "invalid_request").await;
    sluice.node.stop().await;
}

/// §10.5.
#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_must_sign_is_refused_otherwise() {
    let signer = Signer::new(SigningAlgorithm::ES256);
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let strict = signer.client(&sluice, json!({"require_signed_request_object": true})).await;
    check_must_sign(&sluice, &signer, &strict).await;
    sluice.node.stop().await;
    let settings = [("oauth2.request_objects.require_signed", "true")];
    let sluice = TestSluice::with(Backend::Sqlite, &settings).await;
    let client = signer.client(&sluice, json!({})).await;
    check_must_sign(&sluice, &signer, &client).await;
    let discovery = sluice.browser().visit("/.well-known/openid-configuration").await.body;
    let discovery: Value = serde_json::from_str(&discovery).unwrap();
    assert_eq!(discovery["require_signed_request_object"], true);
    assert_eq!(discovery["request_parameter_supported"], true);
    assert_eq!(discovery["request_uri_parameter_supported"], false);
    sluice.node.stop().await;
}

async fn check_must_sign(sluice: &TestSluice, signer: &Signer, client: &TestClient) {
    is_refused(&mut sluice.browser(), &asked(client, &[]), "invalid_request").await;
    crate::requests::push(client, &[]).await.refused_with("invalid_request");
    let object = signer.object(sluice, client, &json!({}));
    sluice.browser().visit(&with(client, &[("request", &object)])).await.expect("login_challenge");
    let uri = crate::requests::request_uri(&client.post("/oauth2/par", &[("request", &object)]).await);
    let url = crate::requests::pushed(client, &uri);
    sluice.browser().visit(&url).await.expect("login_challenge");
}

/// §6.1: objects are encrypted to the keys that this server publishes, and signed within.
#[tokio::test(flavor = "multi_thread")]
async fn an_encrypted_object_is_opened_and_its_signature_checked() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let (signer, thief) = (Signer::new(SigningAlgorithm::ES256), Signer::new(SigningAlgorithm::ES256));
    let client = signer.client(&sluice, json!({})).await;
    // The key for it is made when somebody says so.
    signer.client(&sluice, json!({"request_object_encryption_alg": "ECDH-ES"})).await;
    let keys: JwkSet =
        serde_json::from_str(&sluice.browser().visit("/.well-known/jwks.json").await.body).unwrap();
    let object = signer.object(&sluice, &client, &json!({}));
    for management in [KeyManagement::RsaOaep256, KeyManagement::EcdhEs] {
        let key = EncryptionKey::of(&keys, management).unwrap();
        for enc in ContentEncryption::ALL {
            let encrypted = encrypt(object.as_bytes(), &key, enc, Some("JWT")).unwrap();
            let page =
                last_page(&sluice, &mut sluice.browser(), &with(&client, &[("request", &encrypted)])).await;
            assert_eq!(page.expect("state"), STATE);
        }
    }
    let key = EncryptionKey::of(&keys, KeyManagement::EcdhEs).unwrap();
    let enc = |inner: &str| encrypt(inner.as_bytes(), &key, ContentEncryption::A256Gcm, Some("JWT")).unwrap();
    let good = claims(&sluice, &client, &json!({}));
    let encrypted = enc(&object);
    let (header, rest) = encrypted.split_once('.').unwrap();
    let mut header: Value = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(header).unwrap()).unwrap();
    header["zip"] = json!("DEF");
    for hostile in [
        enc(&assembled(&json!({"alg": "none"}), &good, b"")),
        enc(&thief.object(&sluice, &client, &json!({}))),
        enc(&good.to_string()),
        enc(&enc(&object)),
        enc("\u{fc}"),
        format!("{}.{rest}", URL_SAFE_NO_PAD.encode(header.to_string())),
        format!("{}{}", &encrypted[..encrypted.len() - 22], URL_SAFE_NO_PAD.encode([0; 16])),
        encrypted.replacen('.', "..", 1),
    ] {
        client.post("/oauth2/par", &[("request", &hostile)]).await.refused_with("invalid_request_object");
    }
    sluice.node.stop().await;
}

/// A server that keeps an object: what it answers with, and how often it was asked.
pub(crate) struct Shelf {
    pub(crate) uri: String,
    answer: Arc<Mutex<(&'static str, String)>>,
    asked: Arc<AtomicUsize>,
}

type Kept = (Arc<Mutex<(&'static str, String)>>, Arc<AtomicUsize>);

pub(crate) const MEDIA_TYPE: &str = "application/oauth-authz-req+jwt";

impl Shelf {
    pub(crate) async fn open() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let uri = format!("http://{}/object", listener.local_addr().unwrap());
        let kept: Kept = (Arc::new(Mutex::new((MEDIA_TYPE, String::new()))), Arc::default());
        let moved = || async { ([("location", "/object")], axum::http::StatusCode::FOUND).into_response() };
        let router = Router::new().route("/object", get(hand_out)).route("/moved", get(moved));
        let router = router.with_state(kept.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { uri, answer: kept.0, asked: kept.1 }
    }

    pub(crate) fn put(&self, media_type: &'static str, object: &str) {
        *self.answer.lock() = (media_type, object.to_owned());
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}

async fn hand_out(State((answer, asked)): State<Kept>, headers: HeaderMap) -> impl IntoResponse {
    assert!(headers["accept"].to_str().unwrap().contains(MEDIA_TYPE));
    asked.fetch_add(1, Ordering::SeqCst);
    let (media_type, object) = answer.lock().clone();
    ([("content-type", media_type)], object)
}

/// §5.2, OpenID Connect Core §6.2.
#[tokio::test(flavor = "multi_thread")]
async fn an_object_is_fetched_from_where_its_client_registered_it() {
    let shelf = Shelf::open().await;
    let sluice = TestSluice::with(Backend::Sqlite, &[("oauth2.request_uris.enabled", "true")]).await;
    let signer = Signer::new(SigningAlgorithm::ES256);
    let (moved, hashed) = (shelf.uri.replace("/object", "/moved"), format!("{}#one", shelf.uri));
    let client = signer.client(&sluice, json!({"request_uris": [hashed, moved]})).await;
    let other = signer.client(&sluice, json!({})).await;
    let object = signer.object(&sluice, &client, &json!({}));
    shelf.put(MEDIA_TYPE, &object);
    let page =
        last_page(&sluice, &mut sluice.browser(), &with(&client, &[("request_uri", &shelf.uri)])).await;
    assert_eq!(page.expect("state"), STATE);
    client.redeem(&page.expect("code")).await.ok();
    // The fragment does not have to be the registered one; if it is a hash, it is the object's.
    let hash = |text: &str| format!("{}#{}", shelf.uri, URL_SAFE_NO_PAD.encode(sha256(text.as_bytes())));
    let url = with(&client, &[("request_uri", &hash(&object))]);
    sluice.browser().visit(&url).await.expect("login_challenge");
    assert_eq!(shelf.asked(), 1, "what was fetched a moment ago is not fetched again, whatever the fragment");
    let refused = |client: &TestClient, uri: &str| {
        with(client, &[("request_uri", uri), ("redirect_uri", client.redirect_uri.as_str())])
    };
    let mut browser = sluice.browser();
    is_refused(&mut browser, &refused(&client, &hash("another")), "invalid_request_uri").await;
    is_refused(&mut browser, &refused(&client, &moved), "invalid_request_uri").await;
    let asked = shelf.asked();
    let long = format!("{}?{}", shelf.uri, "x".repeat(512));
    for uri in [format!("{}?x", shelf.uri), format!("{}/", shelf.uri), "https://evil.test/".to_owned(), long]
    {
        is_refused(&mut browser, &refused(&client, &uri), "invalid_request_uri").await;
    }
    is_refused(&mut browser, &refused(&other, &shelf.uri), "invalid_request_uri").await;
    assert_eq!(shelf.asked(), asked, "nothing is fetched that was not registered");
    for (media_type, body, error) in [
        ("text/html", object.as_str(), "invalid_request_uri"),
        ("application/json", &object, "invalid_request_uri"),
        ("application/jwt", &"x".repeat(70_000), "invalid_request_uri"),
        ("application/jwt", "a.b.c", "invalid_request_object"),
        ("application/jwt", "", "invalid_request_object"),
    ] {
        shelf.put(media_type, body);
        sluice.advance(Lifetime::secs(10));
        is_refused(&mut browser, &refused(&client, &shelf.uri), error).await;
    }
    sluice.node.stop().await;
}

/// The server is not made to look into the network that it stands in.
#[tokio::test(flavor = "multi_thread")]
async fn no_object_is_fetched_from_within_the_network() {
    let shelf = Shelf::open().await;
    let settings =
        [("oauth2.request_uris.enabled", "true"), ("clients.http.disallow_private_ip_ranges", "true")];
    let sluice = TestSluice::with(Backend::Sqlite, &settings).await;
    let signer = Signer::new(SigningAlgorithm::ES256);
    let uris = [
        shelf.uri.clone(),
        shelf.uri.replace("http:", "https:"),
        shelf.uri.replace("127.0.0.1", "localhost"),
        "https://169.254.169.254/latest/meta-data".to_owned(),
        "https://[::1]/object".to_owned(),
        "file:///etc/passwd".to_owned(),
        "urn:example:object".to_owned(),
    ];
    let client = signer.client(&sluice, json!({"request_uris": uris})).await;
    shelf.put(MEDIA_TYPE, &signer.object(&sluice, &client, &json!({})));
    for uri in &uris {
        let url = with(&client, &[("request_uri", uri), ("redirect_uri", client.redirect_uri.as_str())]);
        is_refused(&mut sluice.browser(), &url, "invalid_request_uri").await;
    }
    assert_eq!(shelf.asked(), 0);
    sluice.node.stop().await;
    // And nothing at all unless it is configured.
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let client = signer.client(&sluice, json!({"request_uris": [shelf.uri]})).await;
    let url = with(&client, &[("request_uri", &shelf.uri), ("redirect_uri", client.redirect_uri.as_str())]);
    is_refused(&mut sluice.browser(), &url, "request_uri_not_supported").await;
    assert_eq!(shelf.asked(), 0);
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_without_iss_and_aud_is_its_clients_by_its_signature() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let signer = Signer::new(SigningAlgorithm::ES256);
    let client = signer.client(&sluice, json!({})).await;
    let bare = json!({"iss": null, "aud": null, "exp": null, "nbf": null, "client_id": null});
    let several = json!({"aud": ["https://elsewhere.test", ISSUER]});
    for changes in [bare, several] {
        for typ in [None, Some("JWT"), Some("application/oauth-authz-req+jwt")] {
            let object = signer.sign(typ, &claims(&sluice, &client, &changes));
            sluice.browser().visit(&with(&client, &[("request", &object)])).await.expect("login_challenge");
        }
    }
    let mut browser = sluice.browser();
    let asked = login_request(&sluice, &client, &mut browser, &sluice_testkit::Authorize::default()).await;
    assert_eq!(asked["oidc_context"], json!({}), "an ordinary request is as it was");
    sluice.node.stop().await;
}
