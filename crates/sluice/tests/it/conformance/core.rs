//! The behaviour that the Config, Basic, Implicit, Hybrid and Form Post plans ask of every response type.

use reqwest::Method;
use serde_json::{Value, json};
use sluice_crypto::jwk::JwkSet;
use sluice_testkit::{Authorize, Backend, ISSUER, TestClient, TestSluice, accept_consent, accept_login};

use crate::answer::{Answer, http};
use crate::authorization_errors::Change::{With, Without};
use crate::authorization_errors::{Change, asked};
use crate::both_stores::on_both_stores;
use crate::jwt::verified;
use crate::legs::token;
use crate::requests::{assembled, claims, is_refused, with};
use crate::response::{Response, STATE, answer, client_for, last_page};
use crate::userinfo::about_user;

on_both_stores! {
    a_login_leads_to_tokens_that_can_be_verified_whatever_the_response_type,
    what_a_request_says_for_the_login_page_reaches_it_and_hinders_nothing,
}

/// The response types of OpenID Connect.
pub(super) const TYPES: [&str; 6] =
    ["code", "id_token", "id_token token", "code id_token", "code token", "code id_token token"];

/// The id token of an answer, or of the code in it.
async fn id_token(client: &TestClient, answer: &Response) -> String {
    if let Some(id_token) = answer.parameters.get("id_token") {
        return id_token.clone();
    }
    let tokens = client.redeem(answer.get("code")).await.ok();
    tokens["id_token"].as_str().unwrap().to_owned()
}

async fn a_login_leads_to_tokens_that_can_be_verified_whatever_the_response_type(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    for response_type in TYPES {
        let client = client_for(&sluice, &[response_type], json!({})).await;
        let answer = answer(&sluice, &client, &[With("response_type", response_type)]).await;
        let said = verified(&sluice, &id_token(&client, &answer).await, "RS256").await;
        assert_eq!(said["iss"], sluice_testkit::ISSUER, "{response_type}");
        assert_eq!((&said["sub"], &said["aud"]), (&json!("alice"), &json!([client.id])), "{response_type}");
        assert_eq!(said["nonce"], crate::response::NONCE, "{response_type}");
        assert!(said["exp"].as_i64() > said["iat"].as_i64(), "{response_type}");
        if let Some(access_token) = answer.parameters.get("access_token") {
            let (status, userinfo) = client.userinfo(access_token).await;
            assert_eq!((status, &userinfo["sub"]), (200, &said["sub"]), "{response_type}");
        }
    }
    sluice.node.stop().await;
}

async fn what_a_request_says_for_the_login_page_reaches_it_and_hinders_nothing(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    for response_type in TYPES {
        let client = client_for(&sluice, &[response_type], json!({})).await;
        let changes = [
            With("response_type", response_type),
            With("display", "popup"),
            With("login_hint", "alice@example.com"),
            With("ui_locales", "se de"),
            With("claims_locales", "se"),
            With("acr_values", "1 2"),
            With("extra", "foobar"),
        ];
        let told = told_to_login(&sluice, &client, &changes).await;
        let context = &told["oidc_context"];
        assert_eq!(context["display"], "popup");
        assert_eq!(context["login_hint"], "alice@example.com");
        assert_eq!(context["ui_locales"], json!(["se", "de"]));
        assert_eq!(context["acr_values"], json!(["1", "2"]));
        let answer = answer(&sluice, &client, &changes).await;
        verified(&sluice, &id_token(&client, &answer).await, "RS256").await;
    }
    sluice.node.stop().await;
}

async fn told_to_login(sluice: &TestSluice, client: &TestClient, changes: &[Change<'_>]) -> Value {
    let challenge = sluice.browser().visit(&asked(client, changes)).await.expect("login_challenge");
    let path = format!("/admin/oauth2/auth/requests/login?login_challenge={challenge}");
    sluice.ask_json(Method::GET, &path, None, 200).await
}

#[tokio::test(flavor = "multi_thread")]
async fn every_display_is_accepted() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let client = sluice.client(&json!({})).await;
    for display in ["page", "popup", "touch", "wap"] {
        let told = told_to_login(&sluice, &client, &[With("display", display)]).await;
        assert_eq!(told["oidc_context"]["display"], display);
    }
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_code_needs_no_nonce_and_then_none_is_in_the_id_token() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let client = sluice.client(&json!({})).await;
    let answer = answer(&sluice, &client, &[Without("nonce")]).await;
    let said = verified(&sluice, &id_token(&client, &answer).await, "RS256").await;
    assert_eq!(said.get("nonce"), None);
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_may_come_by_post() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    for response_type in TYPES {
        let client = client_for(&sluice, &[response_type], json!({})).await;
        let url = asked(&client, &[With("response_type", response_type)]);
        let (address, query) = url.split_once('?').unwrap();
        let pairs: Vec<(String, String)> =
            url::form_urlencoded::parse(query.as_bytes()).into_owned().collect();
        let form: Vec<(&str, &str)> =
            pairs.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let mut browser = sluice.browser();
        let page = browser.submit(address, &form).await;
        assert_eq!(page.status.as_u16(), 303);
        let answer = Response::of(&last_page(&sluice, &mut browser, page.location().as_str()).await);
        verified(&sluice, &id_token(&client, &answer).await, "RS256").await;
    }
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unsigned_id_token_cannot_be_registered() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    for algorithm in ["none", "HS256"] {
        let body = json!({
            "redirect_uris": ["https://app.test/callback"],
            "id_token_signed_response_alg": algorithm,
        });
        let refused = sluice.ask_json(Method::POST, "/admin/clients", Some(&body), 400).await;
        assert_eq!(refused["error"], "invalid_client_metadata", "{algorithm}");
    }
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn another_happy_flow_has_another_redirect_uri_and_unusual_texts() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let second = "https://app.test/callback?dummy1=lorem&dummy2=ipsum";
    let changes = json!({"redirect_uris": ["https://app.test/callback", second]});
    let mut client = sluice.client(&changes).await;
    second.clone_into(&mut client.redirect_uri);
    let state = "a state/with?every=kind&of#text+%41 \"'<>ü";
    let page = last_page(&sluice, &mut sluice.browser(), &asked(&client, &[With("state", state)])).await;
    assert_eq!(page.expect("state"), state);
    assert_eq!((page.expect("dummy1"), page.expect("dummy2")), ("lorem".to_owned(), "ipsum".to_owned()));
    client.redeem(&page.expect("code")).await.ok();
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_code_used_again_later_is_refused_and_its_tokens_hold_no_more() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    for wait in [0, 30] {
        let client = sluice.client(&json!({})).await;
        let code = answer(&sluice, &client, &[]).await.get("code").to_owned();
        let tokens = client.redeem(&code).await.ok();
        sluice.advance(sluice_primitives::Lifetime::secs(wait));
        client.redeem(&code).await.refused_with("invalid_grant");
        let (status, _) = client.userinfo(tokens["access_token"].as_str().unwrap()).await;
        assert_eq!(status, 401, "{wait}");
    }
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn userinfo_speaks_of_the_subject_of_the_id_token() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let client = sluice.client(&json!({})).await;
    let tokens = client.redeem(answer(&sluice, &client, &[]).await.get("code")).await.ok();
    let said = verified(&sluice, tokens["id_token"].as_str().unwrap(), "RS256").await;
    let token = tokens["access_token"].as_str().unwrap();
    let url = sluice.public.join("/userinfo").unwrap();
    for request in [
        http().get(url.clone()).bearer_auth(token),
        http().post(url.clone()).bearer_auth(token),
        http().post(url.clone()).form(&[("access_token", token)]),
    ] {
        let answer = Answer::to(request).await;
        assert!(answer.header("content-type").starts_with("application/json"));
        assert_eq!(answer.ok()["sub"], said["sub"]);
    }
    sluice.node.stop().await;
}

async fn discovery(sluice: &TestSluice) -> Value {
    let page = sluice.browser().visit("/.well-known/openid-configuration").await;
    serde_json::from_str(&page.body).unwrap()
}

/// OpenID Connect Discovery §3.
#[tokio::test(flavor = "multi_thread")]
async fn discovery_says_what_every_client_needs_and_its_addresses_answer() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let metadata = discovery(&sluice).await;
    assert_eq!(metadata["issuer"], ISSUER);
    for endpoint in ["authorization_endpoint", "token_endpoint", "userinfo_endpoint", "jwks_uri"] {
        let address = metadata[endpoint].as_str().unwrap();
        assert!(address.starts_with(ISSUER), "{endpoint}: {address}");
        let page = sluice.browser().visit(address).await;
        assert_ne!(page.status, 404, "{endpoint}");
    }
    let lists = |list: &str, value: &str| metadata[list].as_array().unwrap().contains(&json!(value));
    assert!(TYPES.iter().all(|own| lists("response_types_supported", own)));
    for (list, value) in [
        ("scopes_supported", "openid"),
        ("subject_types_supported", "public"),
        ("id_token_signing_alg_values_supported", "RS256"),
        ("response_modes_supported", "query"),
        ("response_modes_supported", "fragment"),
        ("response_modes_supported", "form_post"),
        ("grant_types_supported", "authorization_code"),
        ("grant_types_supported", "implicit"),
        ("token_endpoint_auth_methods_supported", "client_secret_basic"),
        ("token_endpoint_auth_methods_supported", "client_secret_post"),
        ("token_endpoint_auth_methods_supported", "private_key_jwt"),
        ("claims_supported", "sub"),
        ("claims_supported", "auth_time"),
    ] {
        assert!(lists(list, value), "{list}: {}", metadata[list]);
    }
    let page = sluice.browser().visit(metadata["jwks_uri"].as_str().unwrap()).await;
    let keys: JwkSet = serde_json::from_str(&page.body).unwrap();
    let mut names: Vec<_> = keys.keys.iter().map(|key| key.kid.clone().unwrap()).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), keys.keys.len(), "each key has a name of its own");
    assert!(keys.keys.iter().all(|key| !key.is_private()), "{}", page.body);
    sluice.node.stop().await;
}

/// OpenID Connect Core §5.4: what these scopes stand for, as far as the consent page knows it.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_scope_stands_for_is_told_by_userinfo() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let client = sluice.client(&json!({"scope": "openid profile email address phone"})).await;
    let address = json!({"formatted": "1 Main Street", "country": "NZ"});
    let all = [
        ("profile", json!({"name": "Alice", "family_name": "Smith", "updated_at": 1_700_000_000})),
        ("email", json!({"email": "alice@example.org", "email_verified": true})),
        ("address", json!({"address": address})),
        ("phone", json!({"phone_number": "+64 1", "phone_number_verified": false})),
    ];
    let mut every = json!({});
    for (_, known) in &all {
        every.as_object_mut().unwrap().extend(known.as_object().unwrap().clone());
    }
    let each = all.into_iter().map(|(scope, known)| (format!("openid {scope}"), known));
    for (scope, known) in each.chain([("openid profile email address phone".to_owned(), every)]) {
        let mut browser = sluice.browser();
        let challenge = browser.begin(&client, &Authorize { scope: &scope, ..Authorize::default() }).await;
        let verifier = accept_login(&sluice, &challenge, &json!({"subject": "alice"})).await;
        let challenge = browser.visit(&verifier).await.expect("consent_challenge");
        let session = json!({"session": {"id_token": known}});
        let verifier = accept_consent(&sluice, &challenge, &session).await;
        let tokens = client.redeem(&browser.visit(&verifier).await.expect("code")).await.ok();
        assert_eq!(tokens["scope"], scope);
        let (status, told) = client.userinfo(token(&tokens, "access_token")).await;
        let mut told = about_user(told);
        assert_eq!((status, told.as_object_mut().unwrap().remove("sub")), (200, Some(json!("alice"))));
        assert_eq!(told, known, "{scope}");
    }
    sluice.node.stop().await;
}

/// OpenID Connect Core §6.1: where `none` is announced it is taken, and elsewhere neither.
#[tokio::test(flavor = "multi_thread")]
async fn an_unsigned_request_object_counts_where_it_is_announced() {
    for allowed in [false, true] {
        let setting = ("oauth2.request_objects.allow_unsigned", if allowed { "true" } else { "false" });
        let sluice = TestSluice::with(Backend::Sqlite, &[setting]).await;
        let metadata = discovery(&sluice).await;
        assert_eq!(metadata["request_parameter_supported"], true);
        let algorithms = metadata["request_object_signing_alg_values_supported"].as_array().unwrap();
        assert_eq!(algorithms.contains(&json!("none")), allowed);
        let client = sluice.client(&json!({})).await;
        let said = claims(&sluice, &client, &json!({}));
        let object = assembled(&json!({"alg": "none"}), &said, b"");
        // The address within is used, and the other one not looked at.
        let beside = [("request", object.as_str()), ("redirect_uri", "https://app.test/another")];
        let mut browser = sluice.browser();
        if allowed {
            let page = last_page(&sluice, &mut browser, &with(&client, &beside)).await;
            assert_eq!(Response::of(&page).uri, client.redirect_uri);
            assert_eq!(page.expect("state"), STATE);
            client.redeem(&page.expect("code")).await.ok();
        } else {
            let page = browser.visit(&with(&client, &beside)).await;
            assert_eq!((page.status.as_u16(), &page.location), (400, &None), "{}", page.body);
            let registered = [beside[0], ("redirect_uri", client.redirect_uri.as_str())];
            is_refused(&mut browser, &with(&client, &registered), "invalid_request_object").await;
        }
        // By reference it is neither announced nor taken.
        assert_eq!(metadata["request_uri_parameter_supported"], false);
        let by_reference = [With("request_uri", "https://app.test/object")];
        is_refused(&mut browser, &asked(&client, &by_reference), "request_uri_not_supported").await;
        sluice.node.stop().await;
    }
}
