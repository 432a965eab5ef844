//! The plan for clients that register themselves.

use reqwest::Method;
use serde_json::{Value, json};
use sluice_crypto::jwk::SigningAlgorithm;
use sluice_primitives::Lifetime;
use sluice_testkit::{Authorize, Backend, ISSUER, TestClient, TestSluice};

use crate::authorization_errors::Change::With;
use crate::authorization_errors::asked;
use crate::disclosure::Witness;
use crate::jwt::{claims, verified};
use crate::keyed::{Key, KeyedClient, code_from, redemption};
use crate::legs::{consent_challenge, consent_request, token, tokens_of};
use crate::requests::{Signer, assembled, with};
use crate::response::{NONCE, STATE, last_page};
use crate::rfc7523_client::KeySet;
use crate::rfc7591::{ENABLED, application_with, ask, registered};
use crate::rfc9101::{MEDIA_TYPE, Shelf};

async fn open() -> TestSluice {
    TestSluice::with(Backend::Sqlite, &[ENABLED]).await
}

/// A client that registered itself with these changes.
async fn client(sluice: &TestSluice, changes: &Value) -> TestClient {
    TestClient::of(sluice.public.clone(), &registered(sluice, &application_with(changes)).await)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redirect_uri_counts_with_its_query() {
    let sluice = open().await;
    let uri = "https://app.test/callback?foo=bar";
    let client = client(&sluice, &json!({"redirect_uris": [uri]})).await;
    let page = last_page(&sluice, &mut sluice.browser(), &asked(&client, &[])).await;
    assert_eq!((page.expect("foo").as_str(), page.expect("state").as_str()), ("bar", STATE));
    client.redeem(&page.expect("code")).await.ok();
    for other in [
        "https://app.test/callback",
        "https://app.test/callback?",
        "https://app.test/callback?foo=baz",
        "https://app.test/callback?foo=bar&foo=bar",
        "https://app.test/callback?foo=bar&more=1",
        "https://app.test/callback?more=1&foo=bar",
    ] {
        let page = sluice.browser().visit(&asked(&client, &[With("redirect_uri", other)])).await;
        assert_eq!((page.status.as_u16(), &page.location), (400, &None), "{other}");
    }
    sluice.node.stop().await;
}

/// The pages of an operator are told all of it; the built-in pages link to the terms and the policy.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_client_registers_for_its_users_reaches_the_pages() {
    let links = ["logo_uri", "policy_uri", "tos_uri", "client_uri"];
    let metadata: serde_json::Map<String, Value> =
        links.map(|name| (name.to_owned(), json!(format!("https://app.test/{name}")))).into_iter().collect();
    let metadata = Value::Object(metadata);
    let sluice = open().await;
    let application = client(&sluice, &metadata).await;
    let challenge = consent_challenge(&sluice, &application, &mut sluice.browser(), "alice").await;
    let told = consent_request(&sluice, &challenge).await;
    for link in links {
        assert_eq!(told["client"][link], metadata[link]);
    }
    sluice.node.stop().await;
    let pages = [
        ENABLED,
        ("urls.login", "/ui/login"),
        ("urls.consent", "/ui/consent"),
        ("urls.registration", "/ui/registration"),
    ];
    let sluice = TestSluice::with(Backend::Sqlite, &pages).await;
    let application = client(&sluice, &metadata).await;
    let mut witness = Witness::of(sluice.browser());
    let signs_up = Authorize { scope: "openid", more: &[("prompt", "create")], ..Authorize::default() };
    let begun = witness.browser.visit(&application.authorize_url(&signs_up)).await;
    let registration = witness.land(begun).await;
    let account = [("email", "alice@example.org"), ("password", "correct horse battery staple")];
    let consent = witness.submit(&registration, &account).await;
    for link in ["https://app.test/policy_uri", "https://app.test/tos_uri"] {
        assert!(consent.body.contains(&format!("href=\"{link}\"")), "{}", consent.body);
    }
    sluice.node.stop().await;
}

/// A third party has the client begin a login there: the client reads it back, when it registers and later.
#[tokio::test(flavor = "multi_thread")]
async fn a_client_reads_back_where_others_have_it_begin_a_login() {
    let sluice = open().await;
    let uri = "https://app.test/login/initiate";
    let made = registered(&sluice, &application_with(&json!({"initiate_login_uri": uri}))).await;
    assert_eq!(made["initiate_login_uri"], uri);
    let place = made["registration_client_uri"].as_str().unwrap().strip_prefix(ISSUER).unwrap();
    let bearer = made["registration_access_token"].as_str();
    let shown = ask(&sluice, (Method::GET, &format!("/{place}")), bearer, None).await.ok();
    assert_eq!(shown["initiate_login_uri"], uri);
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_registers_rs256_gets_id_tokens_and_userinfo_signed_with_it() {
    let sluice = open().await;
    let rs256 = json!({"id_token_signed_response_alg": "RS256", "userinfo_signed_response_alg": "RS256"});
    let client = client(&sluice, &rs256).await;
    let tokens = tokens_of(&sluice, &client, "alice").await;
    let id_token = verified(&sluice, token(&tokens, "id_token"), "RS256").await;
    let request = crate::answer::http().get(sluice.public.join("/userinfo").unwrap());
    let answer = crate::answer::Answer::to(request.bearer_auth(token(&tokens, "access_token"))).await;
    assert_eq!((answer.status, answer.header("content-type")), (200, "application/jwt"));
    let userinfo = verified(&sluice, &answer.body, "RS256").await;
    assert_eq!((&userinfo["sub"], &userinfo["aud"]), (&id_token["sub"], &json!([client.id])));
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_object_is_fetched_from_its_registered_address_signed_or_not() {
    let shelf = Shelf::open().await;
    let settings =
        [ENABLED, ("oauth2.request_uris.enabled", "true"), ("oauth2.request_objects.allow_unsigned", "true")];
    let sluice = TestSluice::with(Backend::Sqlite, &settings).await;
    let signer = Signer::new(SigningAlgorithm::RS256);
    let metadata = |alg: &str| json!({"request_uris": [shelf.uri], "request_object_signing_alg": alg, "jwks": {"keys": [signer.jwk]}});
    for alg in ["RS256", "none"] {
        let client = client(&sluice, &metadata(alg)).await;
        let said = crate::requests::claims(&sluice, &client, &json!({"scope": "openid"}));
        let object = match alg {
            "none" => assembled(&json!({"alg": "none"}), &said, b""),
            _ => signer.sign(None, &said),
        };
        shelf.put(MEDIA_TYPE, &object);
        let url = with(&client, &[("request_uri", &shelf.uri)]);
        let page = last_page(&sluice, &mut sluice.browser(), &url).await;
        assert_eq!((page.expect("state").as_str(), page.expect("scope").as_str()), (STATE, "openid"));
        let tokens = client.redeem(&page.expect("code")).await.ok();
        assert_eq!(claims(token(&tokens, "id_token"))["nonce"], NONCE, "{alg}");
        // For so long an object is kept at most.
        sluice.advance(Lifetime::minutes(1));
    }
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_may_change_its_keys_between_code_and_refresh() {
    let sluice = open().await;
    let (old, new) = (Key::new(), Key::new());
    let set = KeySet::of(json!({"keys": [old.registered("one")]})).await;
    let metadata = json!({"token_endpoint_auth_method": "private_key_jwt", "jwks_uri": set.uri});
    let client = KeyedClient { client: client(&sluice, &metadata).await, own: old, bound: Key::new() };
    let code = code_from(&sluice, &client.client.authorize_url(&Authorize::default())).await;
    let tokens = client.token_with(&sluice, &redemption(&client.client, &code), None).await.ok();
    *set.keys.lock() = json!({"keys": [new.registered("two")]});
    // The suite waits for this long.
    sluice.advance(Lifetime::secs(60));
    let assertion = new.sign(&json!({"alg": "ES256", "kid": "two"}), &client.claims(&sluice));
    let form = [("grant_type", "refresh_token"), ("refresh_token", token(&tokens, "refresh_token"))];
    let fresh = client.asserting(&sluice, ("/oauth2/token", &form), &assertion, None).await.ok();
    assert!(sluice.is_active(token(&fresh, "access_token")).await);
    // The key that is gone vouches for nobody.
    let form = [("grant_type", "refresh_token"), ("refresh_token", token(&fresh, "refresh_token"))];
    client.token_with(&sluice, &form, None).await.refused_with(401, "invalid_client");
    sluice.node.stop().await;
}
