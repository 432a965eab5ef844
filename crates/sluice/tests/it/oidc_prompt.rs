//! What a request says about the user (OpenID Connect Core §3.1.2.1): who is meant, who may be asked, and what the login page
//! is told of it. What [`crate::flow`] shows of `prompt` and `max_age` is not shown again.

use reqwest::Method;
use serde_json::{Value, json};
use sluice_primitives::Lifetime;
use sluice_testkit::{Backend, Browser, TestClient, TestSluice, accept_consent, accept_login, redirect_to};

use crate::authorization_errors::Change::{self, With};
use crate::authorization_errors::asked;
use crate::both_stores::on_both_stores;
use crate::jwt::claims;
use crate::key_rotation::rotate;
use crate::legs::{consent_request, token};
use crate::response::{Response, last_page, refusal};

on_both_stores! {
    each_prompt_shows_the_pages_that_it_names,
    none_leads_to_a_code_where_nothing_has_to_be_asked,
    a_login_of_the_wrong_class_is_refused_if_the_class_is_essential,
    a_login_after_max_age_is_a_new_one,
}

/// A browser in which `alice` is remembered, and what she granted; the tokens.
pub(crate) async fn remembered(sluice: &TestSluice, client: &TestClient) -> (Browser, Value) {
    let mut browser = sluice.browser();
    let challenge = browser.visit(&asked(client, &[])).await.expect("login_challenge");
    let login = json!({"subject": "alice", "remember": true, "remember_for": 3600});
    let verifier = accept_login(sluice, &challenge, &login).await;
    let challenge = browser.visit(&verifier).await.expect("consent_challenge");
    let remember = json!({"remember": true, "remember_for": 3600});
    let verifier = accept_consent(sluice, &challenge, &remember).await;
    let code = browser.visit(&verifier).await.expect("code");
    (browser, client.redeem(&code).await.ok())
}

/// What the login page is told.
pub(crate) async fn login_page(sluice: &TestSluice, browser: &mut Browser, url: &str) -> Value {
    let challenge = browser.visit(url).await.expect("login_challenge");
    let path = format!("/admin/oauth2/auth/requests/login?login_challenge={challenge}");
    sluice.ask_json(Method::GET, &path, None, 200).await
}

async fn each_prompt_shows_the_pages_that_it_names(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({})).await;
    // Whether login and consent may be skipped.
    let prompts = [
        ("", true, true),
        ("login", false, true),
        ("consent", true, false),
        ("select_account", false, true),
        ("create", false, true),
        ("login consent", false, false),
        ("consent login", false, false),
        ("select_account consent", false, false),
        ("login select_account", false, true),
        ("login consent select_account create", false, false),
    ];
    let (browser, _) = remembered(&sluice, &client).await;
    for (prompt, skips_login, skips_consent) in prompts {
        let mut browser = browser.clone();
        let login = login_page(&sluice, &mut browser, &asked(&client, &[With("prompt", prompt)])).await;
        let subject = if skips_login { "alice" } else { "" };
        assert_eq!((&login["skip"], &login["subject"]), (&json!(skips_login), &json!(subject)), "{prompt}");
        let challenge = login["challenge"].as_str().unwrap();
        let verifier = accept_login(&sluice, challenge, &json!({"subject": "alice"})).await;
        let challenge = browser.visit(&verifier).await.expect("consent_challenge");
        assert_eq!(consent_request(&sluice, &challenge).await["skip"], skips_consent, "{prompt}");
    }
    for contradiction in
        ["none login", "none consent", "select_account none", "none create", "none none login"]
    {
        let refused = refusal(&sluice, &client, &[With("prompt", contradiction)]).await;
        refused.refused_with("invalid_request");
    }
    sluice.node.stop().await;
}

async fn none_leads_to_a_code_where_nothing_has_to_be_asked(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({})).await;
    let (mut browser, tokens) = remembered(&sluice, &client).await;
    sluice.advance(Lifetime::secs(10));
    let hint = token(&tokens, "id_token");
    for more in [vec![], vec![With("max_age", "3000")], vec![With("id_token_hint", hint)]] {
        let changes: Vec<_> = std::iter::once(With("prompt", "none")).chain(more).collect();
        let page = last_page(&sluice, &mut browser, &asked(&client, &changes)).await;
        let silent = client.redeem(Response::of(&page).get("code")).await.ok();
        let (then, now) = (claims(hint), claims(token(&silent, "id_token")));
        for same in ["sub", "auth_time", "sid"] {
            assert_eq!(then[same], now[same], "{changes:?}: {same}");
        }
    }
    for (error, change) in
        [("login_required", With("max_age", "5")), ("invalid_scope", With("scope", "openid nobody-knows"))]
    {
        let page = browser.visit(&asked(&client, &[With("prompt", "none"), change])).await;
        Response::of(&page).refused_with(error);
    }
    // More than she granted before.
    let more = asked(&client, &[With("prompt", "none"), With("scope", "openid email")]);
    let challenge = browser.visit(&more).await.expect("login_challenge");
    let verifier = accept_login(&sluice, &challenge, &json!({"subject": "alice"})).await;
    Response::of(&browser.visit(&verifier).await).refused_with("consent_required");
    sluice.node.stop().await;
}

/// OpenID Connect Core §5.5.1.1, Unmet Authentication Requirements §2.
async fn a_login_of_the_wrong_class_is_refused_if_the_class_is_essential(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({})).await;
    let acr = |acr: Value| json!({"id_token": {"acr": acr}}).to_string();
    let essential = acr(json!({"essential": true, "values": ["urn:gold", "urn:silver"]}));
    let one = acr(json!({"essential": true, "value": "urn:gold"}));
    let whatever = acr(json!({"essential": true}));
    let wish = acr(json!({"values": ["urn:gold"]}));
    let cases = [
        (&essential, "urn:silver", true),
        (&essential, "urn:gold", true),
        (&essential, "urn:bronze", false),
        (&essential, "", false),
        (&one, "urn:gold", true),
        (&one, "urn:silver", false),
        (&whatever, "", true),
        (&wish, "urn:bronze", true),
    ];
    for (wanted, acr, fits) in cases {
        let mut browser = sluice.browser();
        let url = asked(&client, &[With("claims", wanted)]);
        let challenge = browser.visit(&url).await.expect("login_challenge");
        let verifier = accept_login(&sluice, &challenge, &json!({"subject": "alice", "acr": acr})).await;
        let page = browser.visit(&verifier).await;
        if fits {
            page.expect("consent_challenge");
        } else {
            Response::of(&page).refused_with("unmet_authentication_requirements");
        }
    }
    // `acr_values` is a wish (§3.1.2.1), told to the login page.
    let mut browser = sluice.browser();
    let url = asked(&client, &[With("acr_values", "urn:gold urn:silver")]);
    let login = login_page(&sluice, &mut browser, &url).await;
    assert_eq!(login["oidc_context"]["acr_values"], json!(["urn:gold", "urn:silver"]));
    let verifier =
        accept_login(&sluice, login["challenge"].as_str().unwrap(), &json!({"subject": "alice", "acr": "0"}))
            .await;
    browser.visit(&verifier).await.expect("consent_challenge");
    sluice.node.stop().await;
}

async fn a_login_after_max_age_is_a_new_one(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({})).await;
    let (mut browser, first) = remembered(&sluice, &client).await;
    let first = claims(token(&first, "id_token"));
    assert!(first["auth_time"].is_i64(), "it is always there: {first}");
    let mut before = first["auth_time"].as_i64().unwrap();
    for max_age in ["1", "0"] {
        sluice.advance(Lifetime::secs(2));
        let url = asked(&client, &[With("max_age", max_age)]);
        assert_eq!(login_page(&sluice, &mut browser, &url).await["skip"], false, "{max_age}");
        let page = last_page(&sluice, &mut browser, &url).await;
        let tokens = client.redeem(Response::of(&page).get("code")).await.ok();
        let now = claims(token(&tokens, "id_token"));
        assert_eq!(now["auth_time"].as_i64().unwrap() - before, 2, "{max_age}");
        before = now["auth_time"].as_i64().unwrap();
    }
    let url = asked(&client, &[With("max_age", "10000")]);
    assert_eq!(login_page(&sluice, &mut browser, &url).await["skip"], true);
    // OpenID Connect Registration §2: what the client registered holds where the request says nothing.
    let impatient = sluice.client(&json!({"default_max_age": 60})).await;
    sluice.advance(Lifetime::secs(60));
    let changes: [(&[Change<'_>], bool); 2] = [(&[], false), (&[With("max_age", "61")], true)];
    for (changes, skip) in changes {
        let login = login_page(&sluice, &mut browser, &asked(&impatient, changes)).await;
        assert_eq!(login["skip"], skip, "{changes:?}");
    }
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_login_page_is_told_what_the_client_wishes() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let client = sluice.client(&json!({})).await;
    let changes = [
        With("login_hint", "alice@example.com"),
        With("ui_locales", "de-CH de en"),
        With("claims_locales", "fr"),
        With("display", "popup"),
    ];
    let login = login_page(&sluice, &mut sluice.browser(), &asked(&client, &changes)).await;
    let expected =
        json!({"login_hint": "alice@example.com", "ui_locales": ["de-CH", "de", "en"], "display": "popup"});
    assert_eq!(login["oidc_context"], expected);
    for display in ["page", "touch", "wap"] {
        let url = asked(&client, &[With("display", display)]);
        let login = login_page(&sluice, &mut sluice.browser(), &url).await;
        assert_eq!(login["oidc_context"]["display"], display);
    }
    sluice.node.stop().await;
}

/// Initiating User Registration via OpenID Connect 1.0 §4.
#[tokio::test(flavor = "multi_thread")]
async fn create_leads_to_the_registration_page() {
    let settings = [("urls.registration", "http://login.test/registration")];
    let sluice = TestSluice::with(Backend::Sqlite, &settings).await;
    let client = sluice.client(&json!({})).await;
    for (prompt, path) in
        [("create", "/registration"), ("registration", "/registration"), ("login", "/login")]
    {
        let page = sluice.browser().visit(&asked(&client, &[With("prompt", prompt)])).await;
        assert_eq!(page.location().path(), path, "{prompt}");
        page.expect("login_challenge");
    }
    sluice.node.stop().await;
}

/// OpenID Connect Core §3.1.2.6: a page that may not ask says so in the client's words.
#[tokio::test(flavor = "multi_thread")]
async fn a_page_may_refuse_with_each_error_of_openid_connect() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let client = sluice.client(&json!({"skip_consent": true})).await;
    let (mut browser, _) = remembered(&sluice, &client).await;
    let url = asked(&client, &[With("prompt", "none")]);
    for error in ["interaction_required", "login_required", "account_selection_required", "consent_required"]
    {
        let body = json!({"error": error, "error_description": "Not without a page."});
        let challenge = browser.visit(&url).await.expect("login_challenge");
        let path = format!("/admin/oauth2/auth/requests/login/reject?login_challenge={challenge}");
        let verifier = redirect_to(&sluice.ask_json(Method::PUT, &path, Some(&body), 200).await);
        Response::of(&browser.visit(&verifier).await).refused_with(error);
    }
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_id_token_hint_that_nobody_can_verify_any_more_leads_to_a_login() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let client = sluice.client(&json!({})).await;
    let (mut browser, tokens) = remembered(&sluice, &client).await;
    let hint = || With("id_token_hint", token(&tokens, "id_token"));
    sluice.advance(Lifetime::secs(1));
    rotate(&sluice, &json!({"at_once": true, "revoke": true})).await;
    let page = browser.visit(&asked(&client, &[hint(), With("prompt", "none")])).await;
    Response::of(&page).refused_with("login_required");
    // Unless the client says itself whom it means.
    let named = json!({"id_token": {"sub": {"value": "alice"}}}).to_string();
    let named = [hint(), With("claims", &named), With("prompt", "none")];
    browser.visit(&asked(&client, &named)).await.expect("login_challenge");
    let login = login_page(&sluice, &mut browser, &asked(&client, &[hint()])).await;
    assert_eq!(login["skip"], false, "nobody can tell whether she is meant");
    let challenge = login["challenge"].as_str().unwrap();
    let verifier = accept_login(&sluice, challenge, &json!({"subject": "alice"})).await;
    browser.visit(&verifier).await.expect("consent_challenge");
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_id_token_hint_tells_even_when_it_has_expired_but_not_when_it_is_encrypted() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let client = sluice.client(&json!({})).await;
    let (mut browser, tokens) = remembered(&sluice, &client).await;
    let hint = token(&tokens, "id_token");
    sluice.advance(Lifetime::minutes(59));
    let url = asked(&client, &[With("id_token_hint", hint)]);
    assert_eq!(login_page(&sluice, &mut browser, &url).await["skip"], true);
    sluice.advance(Lifetime::hours(2));
    let login = login_page(&sluice, &mut browser, &url).await;
    assert_eq!(login["oidc_context"]["id_token_hint_claims"]["sub"], "alice");
    let challenge = login["challenge"].as_str().unwrap();
    let verifier = accept_login(&sluice, challenge, &json!({"subject": "bob"})).await;
    Response::of(&browser.visit(&verifier).await).refused_with("login_required");
    let five_parts = format!("{hint}.a.b");
    refusal(&sluice, &client, &[With("id_token_hint", &five_parts)]).await.refused_with("invalid_request");
    sluice.node.stop().await;
}
