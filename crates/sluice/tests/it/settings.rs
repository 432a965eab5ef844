//! Settings, and what follows from them on the wire.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use reqwest::Method;
use serde_json::{Value, json};
use sluice_testkit::{Authorize, Backend, Database, TestSluice, accept_consent, accept_login};

use crate::answer::{Answer, http};

/// A JWT access token of a person whose consent carries these claims.
async fn jwt_claims(settings: &[(&str, &str)], session: &Value) -> (TestSluice, Value, String) {
    let settings = [&[("strategies.access_token", "jwt")], settings].concat();
    let sluice = TestSluice::with(Backend::Sqlite, &settings).await;
    let client = sluice.client(&json!({})).await;
    let mut browser = sluice.browser();
    let challenge = browser.begin(&client, &Authorize::default()).await;
    let verifier = accept_login(&sluice, &challenge, &json!({"subject": "alice"})).await;
    let challenge = browser.visit(&verifier).await.expect("consent_challenge");
    let verifier = accept_consent(&sluice, &challenge, &json!({"session": {"access_token": session}})).await;
    let code = browser.visit(&verifier).await.expect("code");
    let tokens = client.redeem(&code).await.ok();
    let token = tokens["access_token"].as_str().unwrap().to_owned();
    let payload = URL_SAFE_NO_PAD.decode(token.split('.').nth(1).unwrap()).unwrap();
    (sluice, serde_json::from_slice(&payload).unwrap(), token)
}

#[tokio::test(flavor = "multi_thread")]
async fn claims_of_the_session_stand_where_they_are_told_to() {
    let session = json!({"email": "alice@example.org", "shoe_size": 41});
    let allowed = ("oauth2.allowed_top_level_claims", "email");
    let (sluice, mirrored, _) = jwt_claims(&[allowed], &session).await;
    assert_eq!((&mirrored["email"], &mirrored["ext"]), (&session["email"], &session));
    assert_eq!(mirrored["nbf"], mirrored["iat"]);
    sluice.node.stop().await;

    let not_mirrored = ("oauth2.mirror_top_level_claims", "false");
    let (sluice, moved, _) = jwt_claims(&[allowed, not_mirrored], &session).await;
    assert_eq!((&moved["email"], &moved["ext"]), (&session["email"], &Value::Null));
    sluice.node.stop().await;

    let preserved = ("oauth2.preserve_ext_claims", "true");
    let (sluice, split, _) = jwt_claims(&[allowed, not_mirrored, preserved], &session).await;
    assert_eq!((&split["email"], &split["ext"]), (&session["email"], &json!({"shoe_size": 41})));
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn access_tokens_say_since_when_they_hold_unless_told_not_to() {
    let (sluice, claims, token) =
        jwt_claims(&[("oauth2.exclude_not_before_claim", "true")], &json!({})).await;
    assert_eq!((&claims["nbf"], claims["iat"].is_number()), (&Value::Null, true));
    let said = sluice.introspect(&token).await;
    assert_eq!(
        (&said["active"], &said["nbf"]),
        (&json!(true), &claims["iat"]),
        "introspection says it always"
    );
    sluice.node.stop().await;
}

/// As with Hydra, also where clients may not register themselves.
#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_names_no_scope_gets_the_configured_one() {
    let scope = ("oidc.dynamic_client_registration.default_scope", "openid,profile");
    let sluice = TestSluice::with(Backend::Sqlite, &[scope]).await;
    for (asked, expected) in [("", "openid profile"), ("openid email", "openid email")] {
        let client = json!({"redirect_uris": ["https://app.test/callback"], "scope": asked});
        let made = sluice.ask_json(Method::POST, "/admin/clients", Some(&client), 201).await;
        assert_eq!(made["scope"], expected);
    }
    sluice.node.stop().await;
}

/// As with Hydra: what was granted may be a pattern.
#[tokio::test(flavor = "multi_thread")]
async fn a_scope_that_an_introspection_requires_is_held_against_the_granted_one_as_it_is_told_to() {
    for (strategy, is_below) in [("wildcard", true), ("exact", false)] {
        let sluice = TestSluice::with(Backend::Sqlite, &[("strategies.scope", strategy)]).await;
        let scope = "openid offline_access photos.*";
        let client = sluice.client(&json!({"scope": scope})).await;
        let with = Authorize { scope, ..Authorize::default() };
        let page = sluice.browser().log_in_with(&sluice, &client, &with, &json!({"subject": "alice"})).await;
        let tokens = client.redeem(&page.expect("code")).await.ok();
        for (name, required, expected) in [
            ("access_token", "openid photos.*", true),
            ("refresh_token", "openid photos.*", true),
            ("access_token", "openid photos.read", is_below),
            ("refresh_token", "openid photos.read", is_below),
            ("access_token", "photos.read videos.read", false),
            ("refresh_token", "photos.read videos.read", false),
        ] {
            let form = [("token", tokens[name].as_str().unwrap()), ("scope", required)];
            let request = http().post(sluice.admin.join("/admin/oauth2/introspect").unwrap());
            let said = Answer::to(request.form(&form)).await.ok();
            assert_eq!(said["active"], expected, "{strategy} {name} {required}");
        }
        sluice.node.stop().await;
    }
}

async fn public_json(sluice: &TestSluice, path: &str) -> Value {
    reqwest::get(sluice.public.join(path).unwrap()).await.unwrap().json().await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn discovery_says_what_it_is_told() {
    let settings = [
        ("urls.self.public", "http://edge.test/id"),
        ("webfinger.oidc_discovery.token_url", "https://tokens.test/token"),
        ("webfinger.oidc_discovery.userinfo_url", "/me"),
        ("webfinger.oidc_discovery.supported_claims", "email,sub"),
        ("webfinger.oidc_discovery.supported_scope", "email"),
        ("webfinger.oidc_discovery.supported_authorization_details_types", "payment,account"),
    ];
    let sluice = TestSluice::with(Backend::Sqlite, &settings).await;
    let said = public_json(&sluice, "/id/.well-known/openid-configuration").await;
    assert_eq!(said["issuer"], sluice_testkit::ISSUER);
    assert_eq!(said["authorization_endpoint"], "http://edge.test/id/oauth2/auth");
    assert_eq!(said["token_endpoint"], "https://tokens.test/token");
    assert_eq!(said["userinfo_endpoint"], "http://edge.test/me");
    assert_eq!(said["scopes_supported"], json!(["openid", "offline_access", "offline", "email"]));
    let claims = said["claims_supported"].as_array().unwrap();
    assert_eq!(claims.iter().filter(|claim| *claim == "sub").count(), 1);
    assert_eq!(claims.last(), Some(&json!("email")));
    assert_eq!(said["authorization_details_types_supported"], json!(["payment", "account"]));
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn key_sets_of_others_are_published_when_they_are_named() {
    let sluice =
        TestSluice::with(Backend::Sqlite, &[("webfinger.jwks.broadcast_keys", "hydra.openid.id-token,mine")])
            .await;
    let kids = async || {
        let keys = public_json(&sluice, "/.well-known/jwks.json").await;
        let kids = keys["keys"].as_array().unwrap().iter().map(|key| key["kid"].as_str().unwrap().to_owned());
        kids.collect::<Vec<_>>()
    };
    let before = kids().await;
    let key = json!({"alg": "ES256", "use": "sig", "kid": "my-key"});
    sluice.ask_json(Method::POST, "/admin/keys/mine", Some(&key), 201).await;
    sluice.ask_json(Method::POST, "/admin/keys/others", Some(&key), 201).await;
    assert_eq!(kids().await, [before.as_slice(), &["my-key".to_owned()]].concat());
    sluice.ask(Method::DELETE, "/admin/keys/mine", None).await;
    assert_eq!(kids().await, before);
    sluice.node.stop().await;
}

/// The cookies that a browser holds after a login that is to be remembered.
async fn remembered(sluice: &TestSluice) -> sluice_testkit::Browser {
    let client = sluice.client(&json!({})).await;
    let mut browser = sluice.browser();
    let login = json!({"subject": "alice", "remember": true});
    browser.log_in_with(sluice, &client, &Authorize::default(), &login).await.expect("code");
    browser
}

async fn is_known(sluice: &TestSluice, browser: &mut sluice_testkit::Browser) -> bool {
    let client = sluice.client(&json!({})).await;
    let challenge = browser.begin(&client, &Authorize::default()).await;
    let path = format!("/admin/oauth2/auth/requests/login?login_challenge={challenge}");
    sluice.ask_json(Method::GET, &path, None, 200).await["skip"] == true
}

#[tokio::test(flavor = "multi_thread")]
async fn session_cookies_have_secrets_of_their_own() {
    let database = std::sync::Arc::new(Database::fresh(Backend::Sqlite).await);
    let start = async |clock, secrets: &str| {
        let settings = [("secrets.cookie", secrets)];
        TestSluice::on(std::sync::Arc::clone(&database), clock, &settings).await
    };
    let clock = TestSluice::start(Backend::Sqlite).await.clock;
    let first = start(std::sync::Arc::clone(&clock), "the-first-cookie-secret").await;
    let browser = remembered(&first).await;
    assert!(is_known(&first, &mut browser.clone()).await);
    first.node.stop().await;
    for (secrets, known) in [
        ("the-second-cookie-secret,the-first-cookie-secret", true),
        ("the-second-cookie-secret", false),
        ("", false),
    ] {
        let node = start(std::sync::Arc::clone(&clock), secrets).await;
        let mut browser = browser.at(&node);
        assert_eq!(is_known(&node, &mut browser).await, known, "{secrets}");
        node.node.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_session_cookie_is_named_and_placed_as_told() {
    let settings = [
        ("serve.cookies.names.session", "my_session"),
        ("serve.cookies.paths.session", "/oauth2"),
        ("serve.cookies.domain", "sluice.test"),
        ("serve.cookies.same_site_mode", "Strict"),
    ];
    let sluice = TestSluice::with(Backend::Sqlite, &settings).await;
    let client = sluice.client(&json!({})).await;
    let mut browser = sluice.browser();
    let challenge = browser.begin(&client, &Authorize::default()).await;
    let verifier = accept_login(&sluice, &challenge, &json!({"subject": "alice", "remember": true})).await;
    let page = browser.visit(&verifier).await;
    let cookies: Vec<_> =
        page.headers.get_all("set-cookie").iter().map(|cookie| cookie.to_str().unwrap()).collect();
    let cookie = cookies.iter().find(|cookie| cookie.starts_with("my_session=")).expect("a session cookie");
    for attribute in ["; Path=/oauth2", "; Domain=sluice.test", "; SameSite=Strict", "; HttpOnly"] {
        assert!(cookie.contains(attribute), "{attribute} in {cookie}");
    }
    sluice.node.stop().await;
}

/// Hosts of one domain may set cookies for it.
#[tokio::test(flavor = "multi_thread")]
async fn a_cookie_of_that_name_from_a_neighbouring_host_does_not_hide_ours() {
    let settings = [("serve.cookies.domain", "sluice.test"), ("serve.cookies.names.session", "my_session")];
    let sluice = TestSluice::with(Backend::Sqlite, &settings).await;
    let mut browser = remembered(&sluice).await;
    assert!(is_known(&sluice, &mut browser.clone()).await);
    // Both are sent, that of the neighbour first.
    let ours = browser.cookies.remove("my_session").unwrap();
    browser.cookies.insert("my_session".to_owned(), format!("of-a-neighbour; my_session={ours}"));
    assert!(is_known(&sluice, &mut browser.clone()).await);
    browser.cookies.insert("my_session".to_owned(), "of-a-neighbour".to_owned());
    assert!(!is_known(&sluice, &mut browser).await);
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn browsers_of_other_origins_reach_the_admin_port_only_if_told() {
    let settings = [
        ("serve.admin.cors.enabled", "true"),
        ("serve.admin.cors.allowed_origins", "https://console.test"),
        ("serve.admin.bearer_token", "a-token-for-the-admin-port"),
    ];
    let open = TestSluice::with(Backend::Sqlite, &settings).await;
    let preflight = async |sluice: &TestSluice, origin: &str| {
        let request =
            reqwest::Client::new().request(Method::OPTIONS, sluice.admin.join("/admin/clients").unwrap());
        let request = request.header("origin", origin).header("access-control-request-method", "GET");
        let answer = request.send().await.unwrap();
        answer.headers().get("access-control-allow-origin").map(|origin| origin.to_str().unwrap().to_owned())
    };
    assert_eq!(preflight(&open, "https://console.test").await.as_deref(), Some("https://console.test"));
    assert_eq!(preflight(&open, "https://other.test").await, None);
    assert_eq!(open.ask(Method::GET, "/admin/clients", None).await.status(), 401);
    open.node.stop().await;
    let closed = TestSluice::start(Backend::Sqlite).await;
    assert_eq!(preflight(&closed, "https://console.test").await, None);
    closed.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_does_with_the_connections_it_may_have() {
    let sluice = TestSluice::with(Backend::Postgres, &[("database.max_connections", "4")]).await;
    let client = sluice.client(&json!({})).await;
    let code = sluice.browser().log_in(&sluice, &client, "alice").await.expect("code");
    client.redeem(&code).await.ok();
    sluice.node.stop().await;
}
