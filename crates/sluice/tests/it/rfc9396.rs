//! OAuth 2.0 Rich Authorization Requests (RFC 9396).

use reqwest::Method;
use serde_json::{Value, json};
use sluice_primitives::Lifetime;
use sluice_testkit::{Authorize, Backend, TestClient, TestSluice, VERIFIER, accept_consent, accept_login};

use crate::authorization_errors::Change::With;
use crate::authorization_errors::asked;
use crate::both_stores::on_both_stores;
use crate::legs::{change_client, consent_request, token};
use crate::requests::is_refused;
use crate::rfc8628::{DEVICE_CODE, connect};

on_both_stores! {
    what_is_asked_for_in_detail_is_shown_granted_and_told,
    details_that_are_granted_as_asked_for_are_not_parked,
    a_consent_page_grants_less_and_not_more,
    a_client_asks_for_less_than_was_granted,
    a_device_asks_for_less_than_was_granted,
    details_of_a_type_that_the_client_lost_are_not_in_refreshed_tokens,
}

fn details() -> Value {
    json!([
        {"type": "payment", "actions": ["initiate"], "instructedAmount": {"currency": "EUR", "amount": "123.50"}},
        {"type": "account", "locations": ["https://a.test/accounts"]},
    ])
}

async fn client(sluice: &TestSluice, changes: Value) -> TestClient {
    let mut metadata = json!({"authorization_details_types": ["payment", "account", "other"]});
    metadata.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
    sluice.client(&metadata).await
}

/// The consent challenge of a request for [`details`], and its browser.
async fn asks(sluice: &TestSluice, client: &TestClient) -> (String, sluice_testkit::Browser) {
    let text = details().to_string();
    let with = Authorize { more: &[("authorization_details", &text)], ..Authorize::default() };
    let mut browser = sluice.browser();
    let challenge = browser.begin(client, &with).await;
    let login = json!({"subject": "alice", "remember": true});
    let verifier = accept_login(sluice, &challenge, &login).await;
    (browser.visit(&verifier).await.expect("consent_challenge"), browser)
}

/// The code of a request for [`details`], the consent changed.
async fn code(sluice: &TestSluice, client: &TestClient, consent: &Value) -> String {
    let (challenge, mut browser) = asks(sluice, client).await;
    let verifier = accept_consent(sluice, &challenge, consent).await;
    browser.visit(&verifier).await.expect("code")
}

/// §5: of a type that is not registered, or malformed.
#[tokio::test(flavor = "multi_thread")]
async fn details_that_the_client_may_not_ask_for_are_refused() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let client = client(&sluice, json!({})).await;
    let none = sluice.client(&json!({})).await;
    let payment = r#"[{"type":"payment"}]"#;
    let url = asked(&none, &[With("authorization_details", payment)]);
    is_refused(&mut sluice.browser(), &url, "invalid_authorization_details").await;
    for wrong in [
        "payment",
        "{}",
        r#"{"type":"payment"}"#,
        "[{}]",
        r#"[{"type":7}]"#,
        r#"[{"type":"payment"},{"type":"unknown"}]"#,
        r#"[{"type":"Payment"}]"#,
        r#"["payment"]"#,
    ] {
        let url = asked(&client, &[With("authorization_details", wrong)]);
        is_refused(&mut sluice.browser(), &url, "invalid_authorization_details").await;
        let form = [("grant_type", "client_credentials"), ("authorization_details", wrong)];
        client.token(&form).await.refused_with("invalid_authorization_details");
    }
    let url = asked(&client, &[With("authorization_details", payment)]);
    sluice.browser().visit(&url).await.expect("login_challenge");
    sluice.node.stop().await;
}

/// §7, §9.1, §9.2.
async fn what_is_asked_for_in_detail_is_shown_granted_and_told(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    for strategy in ["opaque", "jwt"] {
        let client = client(&sluice, json!({"access_token_strategy": strategy})).await;
        let (challenge, mut browser) = asks(&sluice, &client).await;
        assert_eq!(consent_request(&sluice, &challenge).await["requested_authorization_details"], details());
        let verifier = accept_consent(&sluice, &challenge, &json!({})).await;
        let tokens = client.redeem(&browser.visit(&verifier).await.expect("code")).await.ok();
        assert_eq!(tokens["authorization_details"], details());
        let access_token = token(&tokens, "access_token");
        assert_eq!(sluice.introspect(access_token).await["authorization_details"], details());
        if strategy == "jwt" {
            assert_eq!(crate::jwt::claims(access_token)["authorization_details"], details());
        }
        let refreshed = client.refresh(token(&tokens, "refresh_token")).await.ok();
        assert_eq!(refreshed["authorization_details"], details());
    }
    sluice.node.stop().await;
}

/// What the page hands back as it was asked for is carried once, which a URL has room for.
async fn details_that_are_granted_as_asked_for_are_not_parked(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = client(&sluice, json!({})).await;
    let details = json!([{"type": "payment", "creditor": "c".repeat(450)}]);
    let text = details.to_string();
    let with = Authorize { more: &[("authorization_details", &text)], ..Authorize::default() };
    let mut browser = sluice.browser();
    let before = sluice.written();
    let challenge = browser.begin(&client, &with).await;
    assert_eq!(sluice.written(), before);
    let verifier = accept_login(&sluice, &challenge, &json!({"subject": "alice"})).await;
    let challenge = browser.visit(&verifier).await.expect("consent_challenge");
    let before = sluice.written();
    let verifier = accept_consent(&sluice, &challenge, &json!({"authorization_details": details})).await;
    assert_eq!(sluice.written(), before);
    let tokens = client.redeem(&browser.visit(&verifier).await.expect("code")).await.ok();
    assert_eq!(tokens["authorization_details"], details);
    sluice.node.stop().await;
}

async fn a_consent_page_grants_less_and_not_more(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = client(&sluice, json!({})).await;
    let (challenge, mut browser) = asks(&sluice, &client).await;
    let path = format!("/admin/oauth2/auth/requests/consent/accept?consent_challenge={challenge}");
    for beyond in
        [json!([{"type": "other"}]), json!([{"type": "unknown"}]), json!([{}]), json!("payment"), json!([1])]
    {
        let body = json!({"authorization_details": beyond});
        sluice.ask_json(Method::PUT, &path, Some(&body), 400).await;
    }
    // RFC 9396 §7.1: what is granted may say more of what was asked for.
    let granted =
        json!([{"type": "payment", "instructedAmount": {"currency": "EUR", "amount": "10"}, "account": "1"}]);
    let verifier = accept_consent(&sluice, &challenge, &json!({"authorization_details": granted})).await;
    let tokens = client.redeem(&browser.visit(&verifier).await.expect("code")).await.ok();
    assert_eq!(tokens["authorization_details"], granted);
    assert_eq!(sluice.introspect(token(&tokens, "access_token")).await["authorization_details"], granted);
    sluice.node.stop().await;
}

/// §6.
async fn a_client_asks_for_less_than_was_granted(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = client(&sluice, json!({})).await;
    let first = code(&sluice, &client, &json!({})).await;
    let redeem = |details: String| {
        let (client, first) = (&client, &first);
        async move {
            let form = [
                ("grant_type", "authorization_code"),
                ("code", first),
                ("redirect_uri", client.redirect_uri.as_str()),
                ("code_verifier", VERIFIER),
                ("authorization_details", &details),
            ];
            client.token(&form).await
        }
    };
    for beyond in [r#"[{"type":"payment"}]"#, r#"[{"type":"other"}]"#, "{}"] {
        redeem(beyond.to_owned()).await.refused_with("invalid_authorization_details");
    }
    let account = json!([details()[1]]);
    let tokens = redeem(account.to_string()).await.ok();
    assert_eq!(tokens["authorization_details"], account);
    assert_eq!(sluice.introspect(token(&tokens, "access_token")).await["authorization_details"], account);
    let refresh_token = token(&tokens, "refresh_token").to_owned();
    let refresh = |details: String| {
        let (client, refresh_token) = (&client, refresh_token.as_str());
        async move {
            let form = [
                ("grant_type", "refresh_token"),
                ("refresh_token", refresh_token),
                ("authorization_details", &details),
            ];
            client.token(&form).await
        }
    };
    refresh(r#"[{"type":"other"}]"#.to_owned()).await.refused_with("invalid_authorization_details");
    let payment = json!([details()[0]]);
    let refreshed = refresh(payment.to_string()).await.ok();
    assert_eq!(refreshed["authorization_details"], payment, "the grant itself is as it was");
    sluice.node.stop().await;
}

/// The same for its code, and RFC 8707 §2.2.
async fn a_device_asks_for_less_than_was_granted(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let (one, other) = ("https://a.test/api", "https://b.test/api");
    let grant_types = json!([DEVICE_CODE, "refresh_token"]);
    let client = client(&sluice, json!({"grant_types": grant_types, "audience": [one, other]})).await;
    let asked = details().to_string();
    let form = [
        ("scope", "openid offline_access"),
        ("authorization_details", asked.as_str()),
        ("resource", one),
        ("resource", other),
    ];
    let given = client.post("/oauth2/device/auth", &form).await.ok();
    connect(&sluice, &mut sluice.browser(), &given, &json!({})).await;
    let code = [("grant_type", DEVICE_CODE), ("device_code", token(&given, "device_code"))];
    for (name, beyond, error) in [
        ("authorization_details", r#"[{"type":"payment"}]"#, "invalid_authorization_details"),
        ("authorization_details", "{}", "invalid_authorization_details"),
        ("resource", "https://c.test/api", "invalid_target"),
    ] {
        sluice.advance(Lifetime::secs(5));
        client.token(&[code.as_slice(), &[(name, beyond)]].concat()).await.refused_with(error);
    }
    // What was refused so has not spent the code.
    sluice.advance(Lifetime::secs(5));
    let account = json!([details()[1]]);
    let asked = account.to_string();
    let less = [("authorization_details", asked.as_str()), ("resource", other)];
    let tokens = client.token(&[code.as_slice(), &less].concat()).await.ok();
    assert_eq!(tokens["authorization_details"], account);
    let said = sluice.introspect(token(&tokens, "access_token")).await;
    assert_eq!((&said["authorization_details"], &said["aud"]), (&account, &json!([other])));
    // The grant itself is as it was.
    let refreshed = client.refresh(token(&tokens, "refresh_token")).await.ok();
    assert_eq!(refreshed["authorization_details"], details());
    sluice.node.stop().await;
}

async fn details_of_a_type_that_the_client_lost_are_not_in_refreshed_tokens(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = client(&sluice, json!({})).await;
    let mut tokens = client.redeem(&code(&sluice, &client, &json!({})).await).await.ok();
    sluice.advance(Lifetime::secs(1));
    for (types, left) in [(json!(["account"]), json!([details()[1]])), (json!([]), Value::Null)] {
        change_client(&sluice, &client, "authorization_details_types", types).await;
        tokens = client.refresh(token(&tokens, "refresh_token")).await.ok();
        assert_eq!(tokens["authorization_details"], left);
        let said = sluice.introspect(token(&tokens, "access_token")).await;
        assert_eq!(said["authorization_details"], left);
    }
    sluice.node.stop().await;
}

/// §2: a payment is this one and not another like it, so the user is asked again.
#[tokio::test(flavor = "multi_thread")]
async fn a_remembered_consent_does_not_stand_for_details() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let client = client(&sluice, json!({})).await;
    let (challenge, mut browser) = asks(&sluice, &client).await;
    let verifier = accept_consent(&sluice, &challenge, &json!({"remember": true})).await;
    browser.visit(&verifier).await.expect("code");
    for (more, skip) in [(None, true), (Some(details().to_string()), false)] {
        let more: Vec<_> =
            more.as_ref().map(|text| ("authorization_details", text.as_str())).into_iter().collect();
        let challenge = browser.begin(&client, &Authorize { more: &more, ..Authorize::default() }).await;
        let verifier = accept_login(&sluice, &challenge, &json!({"subject": "alice"})).await;
        let challenge = browser.visit(&verifier).await.expect("consent_challenge");
        assert_eq!(consent_request(&sluice, &challenge).await["skip"], skip, "{more:?}");
    }
    sluice.node.stop().await;
}

/// §6: a client that asks for itself.
#[tokio::test(flavor = "multi_thread")]
async fn a_client_asks_for_details_of_its_own() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let client = client(&sluice, json!({})).await;
    let text = details().to_string();
    let form = [("grant_type", "client_credentials"), ("authorization_details", text.as_str())];
    let tokens = client.token(&form).await.ok();
    assert_eq!(tokens["authorization_details"], details());
    assert_eq!(sluice.introspect(token(&tokens, "access_token")).await["authorization_details"], details());
    let tokens = client.token(&[("grant_type", "client_credentials")]).await.ok();
    assert_eq!(tokens.get("authorization_details"), None);
    sluice.node.stop().await;
}

/// What a signed token says it is taken back with, sealed once more within.
#[tokio::test(flavor = "multi_thread")]
async fn details_that_no_jwt_could_hold_are_refused_before_anything_is_used_up() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let client = client(&sluice, json!({"access_token_strategy": "jwt"})).await;
    let of_length = |length: usize| json!([{"type": "payment", "creditor": "c".repeat(length)}]);
    for (length, fits) in [(1_000, true), (4_000, true), (6_000, false), (16_000, false)] {
        let text = of_length(length).to_string();
        let form = [("grant_type", "client_credentials"), ("authorization_details", text.as_str())];
        let answer = client.token(&form).await;
        if fits {
            assert!(sluice.is_active(token(&answer.ok(), "access_token")).await, "{length}");
        } else {
            answer.refused_with("invalid_request");
        }
    }
    let text = of_length(5_000).to_string();
    let with = Authorize { more: &[("authorization_details", &text)], ..Authorize::default() };
    let mut browser = sluice.browser();
    let challenge = browser.begin(&client, &with).await;
    let verifier = accept_login(&sluice, &challenge, &json!({"subject": "alice"})).await;
    let challenge = browser.visit(&verifier).await.expect("consent_challenge");
    let path = format!("/admin/oauth2/auth/requests/consent/accept?consent_challenge={challenge}");
    let body = json!({"grant_scope": ["openid"]});
    sluice.ask_json(Method::PUT, &path, Some(&body), 400).await;
    let less = json!({"authorization_details": of_length(4_000)});
    let verifier = accept_consent(&sluice, &challenge, &less).await;
    let tokens = client.redeem(&browser.visit(&verifier).await.expect("code")).await.ok();
    assert!(sluice.is_active(token(&tokens, "access_token")).await);
    sluice.node.stop().await;
}
