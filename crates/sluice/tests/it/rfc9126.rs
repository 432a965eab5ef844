//! OAuth 2.0 Pushed Authorization Requests (RFC 9126).

use serde_json::json;
use sluice_crypto::jwk::SigningAlgorithm;
use sluice_primitives::Lifetime;
use sluice_testkit::{Backend, TestSluice, accept_consent, accept_login};

use crate::answer::{Answer, basic, http};
use crate::authorization_errors::Change::{Twice, With, Without};
use crate::both_stores::on_both_stores;
use crate::jwt::claims;
use crate::legs::{consent_request, token};
use crate::requests::{Signer, is_refused, is_shown, push, pushed, request_uri, with};
use crate::response::{NONCE, Response, STATE, last_page, refusal};

on_both_stores! {
    a_pushed_request_leads_to_a_code_and_pushing_writes_nothing,
    a_request_uri_is_used_once,
    a_request_that_is_too_long_for_a_url_is_kept,
}

const PREFIX: &str = "urn:ietf:params:oauth:request_uri:";

/// §2.2, §4.
async fn a_pushed_request_leads_to_a_code_and_pushing_writes_nothing(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({})).await;
    let before = sluice.written();
    let answer = push(&client, &[]).await;
    let uri = request_uri(&answer);
    assert_eq!((&answer.body["expires_in"], uri.starts_with(PREFIX)), (&json!(60), true), "{uri}");
    assert!(uri.len() < 1500, "{}", uri.len());
    assert_eq!(sluice.written(), before);
    let page = last_page(&sluice, &mut sluice.browser(), &pushed(&client, &uri)).await;
    assert_eq!(page.expect("state"), STATE);
    let tokens = client.redeem(&page.expect("code")).await.ok();
    assert_eq!(claims(token(&tokens, "id_token"))["nonce"], NONCE);
    sluice.node.stop().await;
}

/// §4: the URI is for one request, however often the browser loads it until then.
async fn a_request_uri_is_used_once(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({})).await;
    let url = pushed(&client, &request_uri(&push(&client, &[]).await));
    let mut browser = sluice.browser();
    let first = browser.visit(&url).await.expect("login_challenge");
    let second = browser.visit(&url).await.expect("login_challenge");
    let mut verifiers = Vec::new();
    for challenge in [second, first] {
        let verifier = accept_login(&sluice, &challenge, &json!({"subject": "alice"})).await;
        let challenge = browser.visit(&verifier).await.expect("consent_challenge");
        verifiers.push(accept_consent(&sluice, &challenge, &json!({})).await);
    }
    let code = browser.visit(&verifiers[0]).await.expect("code");
    let late = browser.visit(&verifiers[1]).await;
    assert_eq!((late.status.as_u16(), late.location), (410, None), "both loads are one request");
    client.redeem(&code).await.ok();
    for browser in [&mut browser, &mut sluice.browser()] {
        let page = is_refused(browser, &url, "invalid_request_uri").await;
        assert_eq!(page.expect("state"), STATE);
    }
    // Nor at another node, nor once its tokens are revoked.
    let node = sluice.second_node().await;
    is_refused(&mut node.browser(), &url, "invalid_request_uri").await;
    node.node.stop().await;
    sluice.node.stop().await;
}

async fn a_request_that_is_too_long_for_a_url_is_kept(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({"authorization_details_types": ["payment"]})).await;
    let details = json!([{"type": "payment", "purpose": "p".repeat(9_000)}]).to_string();
    let state = "s".repeat(2_000);
    let answer = push(&client, &[With("authorization_details", &details), With("state", &state)]).await;
    let uri = request_uri(&answer);
    assert!(uri.len() < 200, "{uri}");
    let mut browser = sluice.browser();
    let challenge = browser.visit(&pushed(&client, &uri)).await.expect("login_challenge");
    let verifier = accept_login(&sluice, &challenge, &json!({"subject": "alice"})).await;
    let challenge = browser.visit(&verifier).await.expect("consent_challenge");
    let asked = consent_request(&sluice, &challenge).await;
    assert_eq!(asked["requested_authorization_details"].to_string(), details);
    let verifier = accept_consent(&sluice, &challenge, &json!({})).await;
    let page = browser.visit(&verifier).await;
    assert_eq!(page.expect("state"), state);
    client.redeem(&page.expect("code")).await.ok();
    sluice.node.stop().await;
}

/// §2.1: what the authorization endpoint would refuse is refused at once.
#[tokio::test(flavor = "multi_thread")]
async fn a_bad_request_is_refused_when_it_is_pushed() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let client = sluice.client(&json!({})).await;
    let before = sluice.written();
    let refused: &[(&str, &[_])] = &[
        ("invalid_request", &[Without("response_type")]),
        ("unsupported_response_type", &[With("response_type", "pigeon")]),
        ("unauthorized_client", &[With("response_type", "token")]),
        ("invalid_scope", &[With("scope", "openid admin")]),
        ("invalid_target", &[With("resource", "https://evil.test")]),
        ("invalid_request", &[With("redirect_uri", "https://evil.test/callback")]),
        ("invalid_request", &[With("redirect_uri", "https://app.test/callback#")]),
        ("invalid_request", &[Without("redirect_uri")]),
        ("invalid_request", &[With("code_challenge_method", "plain")]),
        ("invalid_request", &[Without("code_challenge_method")]),
        ("invalid_request", &[With("prompt", "none login")]),
        ("invalid_request", &[With("max_age", "soon")]),
        ("invalid_request", &[With("claims", "[]")]),
        ("invalid_request", &[With("id_token_hint", "a.b.c")]),
        ("invalid_request", &[With("dpop_jkt", "short")]),
        ("invalid_authorization_details", &[With("authorization_details", r#"[{"type":"payment"}]"#)]),
        ("invalid_request_object", &[With("request", "a.b.c")]),
        ("registration_not_supported", &[With("registration", "{}")]),
        // §2.1: a request that is elsewhere cannot be pushed.
        ("invalid_request", &[With("request_uri", "urn:ietf:params:oauth:request_uri:x")]),
        ("invalid_request", &[With("request_uri", "https://app.test/object")]),
        ("invalid_request", &[Twice("state", "another")]),
        ("invalid_request", &[Twice("scope", "openid")]),
    ];
    for (error, changes) in refused {
        let answer = push(&client, changes).await;
        assert_eq!(answer.status, 400, "{changes:?}: {}", answer.body);
        answer.refused_with(error);
    }
    assert_eq!(sluice.written(), before);
    sluice.node.stop().await;
}

/// §2.3.
#[tokio::test(flavor = "multi_thread")]
async fn who_pushes_a_bad_request_is_told_as_much_as_at_the_authorization_endpoint() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let client = sluice.client(&json!({})).await;
    for (change, names) in [
        (With("max_age", "soon"), "`max_age`"),
        (With("id_token_hint", "a.b.c"), "`id_token_hint`"),
        (With("scope", "openid admin"), "`admin`"),
    ] {
        let redirected = refusal(&sluice, &client, std::slice::from_ref(&change)).await;
        let told = redirected.get("error_description");
        assert!(told.contains(names), "{change:?}: {told}");
        let answer = push(&client, &[change]).await;
        assert_eq!(answer.body["error_description"], told, "{}", answer.body);
    }
    // An address does not go by the browser, where a page could make a link of it.
    let change = With("resource", "https://evil.test");
    let redirected = refusal(&sluice, &client, std::slice::from_ref(&change)).await;
    let told = redirected.get("error_description");
    assert!(!told.contains("evil"), "{told}");
    let answer = push(&client, &[change]).await;
    assert!(
        answer.body["error_description"].as_str().unwrap().contains("`https://evil.test`"),
        "{}",
        answer.body
    );
    sluice.node.stop().await;
}

/// §2: the client authenticates as at the token endpoint.
#[tokio::test(flavor = "multi_thread")]
async fn only_the_client_itself_pushes() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let client = sluice.client(&json!({})).await;
    let public = sluice.client(&json!({"token_endpoint_auth_method": "none"})).await;
    let endpoint = || http().post(sluice.public.join("/oauth2/par").unwrap());
    let form = |id: &str| [("client_id", id.to_owned()), ("response_type", "code".to_owned())];
    Answer::to(endpoint().form(&form(&client.id))).await.refused_with(401, "invalid_client");
    let wrong = endpoint().header("authorization", basic(&client.id, "wrong"));
    Answer::to(wrong.form(&form(&client.id))).await.refused_with(401, "invalid_client");
    let right = || endpoint().header("authorization", basic(&client.id, client.secret.as_ref().unwrap()));
    Answer::to(right().form(&form(&public.id))).await.refused_with(400, "invalid_request");
    let uri = request_uri(&push(&public, &[]).await);
    sluice.browser().visit(&pushed(&public, &uri)).await.expect("login_challenge");
    // The secret is no part of the request, nor is it in what the browser carries on.
    let by_post = sluice.client(&json!({"token_endpoint_auth_method": "client_secret_post"})).await;
    let uri = request_uri(&push(&by_post, &[]).await);
    let page = sluice.browser().visit(&pushed(&by_post, &uri)).await;
    let path =
        format!("/admin/oauth2/auth/requests/login?login_challenge={}", page.expect("login_challenge"));
    let shown = sluice.ask_json(reqwest::Method::GET, &path, None, 200).await;
    assert!(!shown["request_url"].as_str().unwrap().contains("secret"), "{shown}");
    sluice.node.stop().await;
}

/// §2, §2.3.
#[tokio::test(flavor = "multi_thread")]
async fn the_endpoint_takes_forms_of_some_length_and_nothing_else() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let client = sluice.client(&json!({})).await;
    let url = sluice.public.join("/oauth2/par").unwrap();
    let secret = basic(&client.id, client.secret.as_ref().unwrap());
    for request in [http().get(url.clone()), http().put(url.clone()), http().delete(url.clone())] {
        let answer = Answer::to(request.header("authorization", &secret)).await;
        assert_eq!((answer.status, answer.header("allow")), (405, "POST"));
    }
    let json =
        http().post(url.clone()).header("authorization", &secret).json(&json!({"response_type": "code"}));
    Answer::to(json).await.refused_with(400, "invalid_request");
    for length in [33_000, 70_000] {
        let state = "s".repeat(length);
        let long = http().post(url.clone()).header("authorization", &secret).form(&[("state", &state)]);
        Answer::to(long).await.refused_with(413, "invalid_request");
    }
    let good = http().post(url).header("authorization", &secret).form(&[
        ("response_type", "code"),
        ("redirect_uri", client.redirect_uri.as_str()),
        ("code_challenge", "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"),
        ("code_challenge_method", "S256"),
    ]);
    let answer = Answer::to(good).await;
    assert_eq!((answer.status, answer.header("cache-control")), (201, "no-store"), "{}", answer.body);
    sluice.node.stop().await;
}

/// §4: only what was pushed counts.
#[tokio::test(flavor = "multi_thread")]
async fn what_stands_beside_a_request_uri_is_not_looked_at() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let client = sluice.client(&json!({})).await;
    let uri = request_uri(&push(&client, &[With("scope", "openid")]).await);
    let beside = [
        ("request_uri", uri.as_str()),
        ("state", "another"),
        ("scope", "openid email"),
        ("redirect_uri", "https://evil.test/callback"),
        ("prompt", "none"),
        ("response_mode", "fragment"),
        ("request", "a.b.c"),
        ("nonce", "another"),
    ];
    let page = last_page(&sluice, &mut sluice.browser(), &with(&client, &beside)).await;
    let answer = Response::of(&page);
    assert_eq!((answer.way, answer.uri.as_str()), ("query", client.redirect_uri.as_str()));
    assert_eq!((answer.get("state"), answer.get("scope")), (STATE, "openid"));
    let tokens = client.redeem(answer.get("code")).await.ok();
    assert_eq!(claims(token(&tokens, "id_token"))["nonce"], NONCE);
    sluice.node.stop().await;
}

/// §4, §7.2, §7.3: a URI is good for its client, and for a while.
#[tokio::test(flavor = "multi_thread")]
async fn a_request_uri_that_is_not_good_leads_nowhere() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let client = sluice.client(&json!({})).await;
    let other = sluice.client(&json!({})).await;
    let uri = request_uri(&push(&client, &[]).await);
    let mut browser = sluice.browser();
    is_shown(&browser.visit(&pushed(&other, &uri)).await, "invalid_request_uri");
    let sealed = uri.strip_prefix(PREFIX).unwrap();
    let last = if sealed.ends_with('A') { "B" } else { "A" };
    let code = sluice.browser().log_in(&sluice, &client, "alice").await.expect("code");
    for wrong in [
        "",
        "x",
        &sealed[..sealed.len() - 1],
        &format!("{}{last}", &sealed[..sealed.len() - 1]),
        &format!("{sealed}="),
        code.strip_prefix("ory_ac_").unwrap(),
        &"x".repeat(9_000),
    ] {
        is_shown(&browser.visit(&pushed(&client, &format!("{PREFIX}{wrong}"))).await, "invalid_request_uri");
    }
    // Nor is a challenge a request, nor a request a challenge.
    let challenge = browser.visit(&pushed(&client, &uri)).await.expect("login_challenge");
    is_shown(&browser.visit(&pushed(&client, &format!("{PREFIX}{challenge}"))).await, "invalid_request_uri");
    let path = format!("/admin/oauth2/auth/requests/login?login_challenge={sealed}");
    assert_eq!(sluice.ask(reqwest::Method::GET, &path, None).await.status(), 404);
    // A flow that began in time goes on; none begins later.
    sluice.advance(Lifetime::secs(60));
    is_refused(&mut browser, &pushed(&client, &uri), "invalid_request_uri").await;
    let verifier = accept_login(&sluice, &challenge, &json!({"subject": "alice"})).await;
    browser.visit(&verifier).await.expect("consent_challenge");
    sluice.node.stop().await;
}

/// §5, §6: some clients must push, or all.
#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_must_push_is_refused_otherwise() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let strict = sluice.client(&json!({"require_pushed_authorization_requests": true})).await;
    let ordinary = crate::authorization_errors::asked(&strict, &[]);
    is_refused(&mut sluice.browser(), &ordinary, "invalid_request").await;
    let uri = request_uri(&push(&strict, &[]).await);
    sluice.browser().visit(&pushed(&strict, &uri)).await.expect("login_challenge");
    let discovery = sluice.browser().visit("/.well-known/openid-configuration").await.body;
    let discovery: serde_json::Value = serde_json::from_str(&discovery).unwrap();
    assert_eq!(discovery["pushed_authorization_request_endpoint"], "http://sluice.test/oauth2/par");
    assert_eq!(discovery["require_pushed_authorization_requests"], false);
    sluice.node.stop().await;
    let settings = [
        ("oauth2.pushed_authorization_requests.required", "true"),
        ("oauth2.pushed_authorization_requests.lifespan", "90s"),
    ];
    let sluice = TestSluice::with(Backend::Sqlite, &settings).await;
    let client = sluice.client(&json!({})).await;
    let ordinary = crate::authorization_errors::asked(&client, &[]);
    is_refused(&mut sluice.browser(), &ordinary, "invalid_request").await;
    let answer = push(&client, &[]).await;
    assert_eq!(answer.body["expires_in"], 90);
    sluice.browser().visit(&pushed(&client, &request_uri(&answer))).await.expect("login_challenge");
    let discovery = sluice.browser().visit("/.well-known/openid-configuration").await.body;
    let discovery: serde_json::Value = serde_json::from_str(&discovery).unwrap();
    assert_eq!(discovery["require_pushed_authorization_requests"], true);
    sluice.node.stop().await;
}

/// §3: a request object is pushed; what it does not say does not count.
#[tokio::test(flavor = "multi_thread")]
async fn a_signed_request_can_be_pushed() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let signer = Signer::new(SigningAlgorithm::ES256);
    let client = signer.client(&sluice, json!({})).await;
    let object = signer.object(&sluice, &client, &json!({"state": null}));
    let form = [("request", object.as_str()), ("state", "outside"), ("scope", "openid email")];
    let uri = request_uri(&client.post("/oauth2/par", &form).await);
    // What was pushed has been read: that the object expires meanwhile does not matter.
    let page = last_page(&sluice, &mut sluice.browser(), &pushed(&client, &uri)).await;
    assert_eq!((page.parameter("state"), page.expect("scope").as_str()), (None, "openid offline_access"));
    client.redeem(&page.expect("code")).await.ok();
    let with_uri = signer.object(&sluice, &client, &json!({"request_uri": uri}));
    client.post("/oauth2/par", &[("request", &with_uri)]).await.refused_with("invalid_request_object");
    sluice.node.stop().await;
}

/// The client was changed between the two endpoints: what holds is what it is now.
#[tokio::test(flavor = "multi_thread")]
async fn what_was_pushed_is_checked_again_when_it_is_used() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let client = sluice.client(&json!({})).await;
    let uri = request_uri(&push(&client, &[]).await);
    crate::legs::change_client(&sluice, &client, "scope", json!("openid")).await;
    is_refused(&mut sluice.browser(), &pushed(&client, &uri), "invalid_scope").await;
    crate::legs::change_client(&sluice, &client, "redirect_uris", json!(["https://new.test/callback"])).await;
    is_shown(&sluice.browser().visit(&pushed(&client, &uri)).await, "invalid_request");
    sluice.node.stop().await;
}

/// OpenID Connect Core §4: what was pushed cannot be rebuilt as a plain request; its client begins again.
#[tokio::test(flavor = "multi_thread")]
async fn only_the_client_starts_a_pushed_request_again() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let uri = "https://app.test/login?from=there";
    let there = sluice.client(&json!({"initiate_login_uri": uri})).await;
    let nowhere = sluice.client(&json!({})).await;
    let mut paths = Vec::new();
    for client in [&there, &nowhere] {
        let uri = request_uri(&push(client, &[With("login_hint", "alice@home.test")]).await);
        let challenge = sluice.browser().visit(&pushed(client, &uri)).await.expect("login_challenge");
        let path = format!("/admin/oauth2/auth/requests/login?login_challenge={challenge}");
        let asked = sluice.ask_json(reqwest::Method::GET, &path, None, 200).await;
        let url = asked["request_url"].as_str().unwrap();
        assert!(url.contains(&client.id) && !url.contains("home.test") && !url.contains("nonce"), "{url}");
        paths.push(path);
    }
    sluice.advance(Lifetime::minutes(30));
    let gone = sluice.ask_json(reqwest::Method::GET, &paths[0], None, 410).await;
    let expected = format!("{uri}&iss=");
    assert!(gone["redirect_to"].as_str().unwrap().starts_with(&expected), "{gone}");
    let gone = sluice.ask_json(reqwest::Method::GET, &paths[1], None, 410).await;
    assert!(gone["redirect_to"].is_null() && gone["error"].is_string(), "{gone}");
    sluice.node.stop().await;
}
