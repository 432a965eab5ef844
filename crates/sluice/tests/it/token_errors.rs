//! Bad requests to the token, revocation and introspection endpoints: each gets the error of its RFC and a clear sentence,
//! is kept by nobody, and writes nothing.

use reqwest::Method;
use serde_json::json;
use sluice_testkit::{Authorize, Backend, TestClient, TestSluice, VERIFIER};

use crate::answer::{Answer, basic, http};
use crate::both_stores::on_both_stores;

const FORM: &str = "application/x-www-form-urlencoded";

on_both_stores!(
    a_code_of_another_client_is_refused_and_not_consumed,
    a_code_is_refused_with_another_verifier_or_redirect_uri_and_not_consumed,
    who_is_not_the_client_of_a_code_hears_nothing_of_its_verifier,
    a_refresh_token_of_another_client_is_refused_and_not_consumed,
    a_malformed_token_request_is_refused_and_writes_nothing,
    a_malformed_revocation_is_refused_and_writes_nothing,
);

/// A form to an endpoint of the public listener, as a client with HTTP Basic sends it.
async fn sent(sluice: &TestSluice, (path, client): (&str, &TestClient), body: impl Into<String>) -> Answer {
    let credentials = basic(&client.id, client.secret.as_deref().unwrap());
    let request = http().post(sluice.public.join(path).unwrap()).header("authorization", credentials);
    Answer::to(request.header("content-type", FORM).body(body.into())).await
}

fn exchange<'a>(code: &'a str, redirect_uri: &'a str, verifier: &'a str) -> Vec<(&'a str, &'a str)> {
    let given = [("code", code), ("redirect_uri", redirect_uri), ("code_verifier", verifier)];
    let given = given.into_iter().filter(|(_, value)| !value.is_empty());
    std::iter::once(("grant_type", "authorization_code")).chain(given).collect()
}

async fn a_code_of_another_client_is_refused_and_not_consumed(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let (client, thief) = (sluice.client(&json!({})).await, sluice.client(&json!({})).await);
    let public = sluice.client(&json!({"token_endpoint_auth_method": "none"})).await;
    let code = sluice.browser().log_in(&sluice, &client, "alice").await.expect("code");
    let before = sluice.written();
    thief.redeem(&code).await.refused_with("invalid_grant");
    public.redeem(&code).await.refused_with("invalid_grant");
    assert_eq!(sluice.written(), before);
    client.redeem(&code).await.ok();
    sluice.node.stop().await;
}

async fn a_code_is_refused_with_another_verifier_or_redirect_uri_and_not_consumed(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client =
        sluice.client(&json!({"redirect_uris": ["https://app.test/callback", "https://app.test/2"]})).await;
    let code = sluice.browser().log_in(&sluice, &client, "alice").await.expect("code");
    let before = sluice.written();
    let (here, another) = ("https://app.test/callback", "another-code-verifier-of-at-least-43-characters");
    let (short, umlauts) = (&VERIFIER[..42], format!("{VERIFIER}\u{fc}"));
    let long = VERIFIER.repeat(3);
    for (verifier, why) in [
        ("", "missing"),
        (another, "wrong"),
        (short, "malformed"),
        (&umlauts, "malformed"),
        (&long, "malformed"),
        ("E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM", "wrong"),
    ] {
        let refused = client.token(&exchange(&code, here, verifier)).await;
        let said = format!("The code cannot be exchanged (PKCE): the verifier is {why}.");
        assert_eq!(refused.body["error_description"], said, "{verifier}");
        refused.refused_with("invalid_grant");
    }
    for uri in [
        "",
        "https://app.test/2",
        "https://app.test/callback/",
        "https://APP.test/callback",
        "https://evil.test/",
    ] {
        let refused = client.token(&exchange(&code, uri, VERIFIER)).await;
        let said = "The `redirect_uri` is missing, or is not that of the authorization request.";
        assert_eq!(refused.body["error_description"], said, "{uri}");
        refused.refused_with("invalid_grant");
    }
    assert_eq!(sluice.written(), before);
    client.redeem(&code).await.ok();
    sluice.node.stop().await;
}

/// A stolen code tells nothing of itself to who is not its client: not even that it is good.
async fn who_is_not_the_client_of_a_code_hears_nothing_of_its_verifier(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let (client, thief) = (sluice.client(&json!({})).await, sluice.client(&json!({})).await);
    let code = sluice.browser().log_in(&sluice, &client, "alice").await.expect("code");
    let said = async |client: &TestClient, code: &str, uri: &str, verifier: &str| {
        let refused = client.token(&exchange(code, uri, verifier)).await;
        (refused.body["error"].clone(), refused.body["error_description"].clone())
    };
    let here = client.redirect_uri.as_str();
    let of_no_code = said(&thief, "a-code-that-nobody-issued", here, VERIFIER).await;
    assert_eq!(of_no_code.0, "invalid_grant");
    let mut impostor = client.clone();
    impostor.secret = Some("not-the-secret-of-the-client".to_owned());
    let unknown = said(&impostor, "a-code-that-nobody-issued", here, VERIFIER).await;
    assert_eq!(unknown.0, "invalid_client");
    for (uri, verifier) in [(here, ""), (here, "short"), (here, VERIFIER), ("https://app.test/2", VERIFIER)] {
        assert_eq!(said(&thief, &code, uri, verifier).await, of_no_code, "{uri} {verifier}");
        assert_eq!(said(&impostor, &code, uri, verifier).await, unknown, "{uri} {verifier}");
    }
    client.redeem(&code).await.ok();
    sluice.node.stop().await;
}

async fn a_refresh_token_of_another_client_is_refused_and_not_consumed(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let (client, thief) = (sluice.client(&json!({})).await, sluice.client(&json!({})).await);
    let narrow = Authorize { scope: "openid offline_access email", ..Authorize::default() };
    let alice = json!({"subject": "alice"});
    let code = sluice.browser().log_in_with(&sluice, &client, &narrow, &alice).await.expect("code");
    let tokens = client.redeem(&code).await.ok();
    let (access, refresh) =
        (tokens["access_token"].as_str().unwrap(), tokens["refresh_token"].as_str().unwrap());
    let before = sluice.written();
    thief.refresh(refresh).await.refused_with("invalid_grant");
    for token in [access, refresh] {
        thief.revoke(token).await.refused_with("unauthorized_client");
    }
    let wider = [("scope", "openid profile"), ("scope", "ad\"min"), ("scope", "openid email admin")];
    for wide in wider {
        let form = [("grant_type", "refresh_token"), ("refresh_token", refresh), wide];
        client.token(&form).await.refused_with("invalid_scope");
    }
    let form =
        [("grant_type", "refresh_token"), ("refresh_token", refresh), ("resource", "https://evil.test")];
    client.token(&form).await.refused_with("invalid_target");
    assert_eq!(sluice.written(), before);
    assert!(sluice.is_active(access).await);
    client.refresh(refresh).await.ok();
    sluice.node.stop().await;
}

async fn a_malformed_token_request_is_refused_and_writes_nothing(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({})).await;
    let machine = sluice.client(&json!({"grant_types": ["client_credentials"]})).await;
    let code = sluice.browser().log_in(&sluice, &client, "alice").await.expect("code");
    let before = sluice.written();
    let redeem = format!("grant_type=authorization_code&code={code}&redirect_uri=https://app.test/callback");
    let many = (0..11_000).map(|number| number.to_string()).collect::<Vec<_>>().join("+");
    let refused: &[(&str, String)] = &[
        ("invalid_request", String::new()),
        ("invalid_request", "grant_type=".to_owned()),
        ("invalid_request", format!("code={code}")),
        ("invalid_request", "grant_type=authorization_code".to_owned()),
        ("invalid_request", "grant_type=refresh_token".to_owned()),
        ("invalid_request", format!("{redeem}&code_verifier={VERIFIER}&code={code}")),
        ("invalid_request", format!("{redeem}&code_verifier={VERIFIER}&grant_type=authorization_code")),
        ("invalid_request", format!("{redeem}&code_verifier={VERIFIER}&code_verifier={VERIFIER}")),
        (
            "invalid_request",
            format!("{redeem}&code_verifier={VERIFIER}&client_id={0}&client_id={0}", client.id),
        ),
        ("invalid_request", format!("{redeem}&code_verifier={VERIFIER}&x=1&x=2")),
        ("invalid_request", format!("{redeem}&code_verifier={VERIFIER}&x=%ff")),
        ("invalid_request", format!("{redeem}&code_verifier={VERIFIER}&x={}", "x".repeat(65 * 1024))),
        ("invalid_request", format!("{redeem}&code_verifier={VERIFIER}{}", "&a%5B%5D".repeat(100))),
        ("unsupported_grant_type", "grant_type=password&username=alice&password=secret".to_owned()),
        ("unsupported_grant_type", "grant_type=implicit".to_owned()),
        ("unsupported_grant_type", "grant_type=AUTHORIZATION_CODE".to_owned()),
        ("unsupported_grant_type", "grant_type=%00".to_owned()),
        ("invalid_grant", "grant_type=authorization_code&code=%00%0d%0a".to_owned()),
        ("invalid_grant", format!("grant_type=authorization_code&code={code}")),
        ("invalid_scope", "grant_type=client_credentials&scope=admin".to_owned()),
        ("invalid_scope", "grant_type=client_credentials&scope=%C3%BC".to_owned()),
        ("invalid_scope", format!("grant_type=client_credentials&scope={many}")),
        ("invalid_target", "grant_type=client_credentials&audience=https://evil.test".to_owned()),
        ("invalid_target", format!("grant_type=client_credentials&audience={many}")),
    ];
    for (error, body) in refused {
        sent(&sluice, ("/oauth2/token", &client), body).await.refused_with(400, error);
    }
    for (name, value) in [("scope", "admin"), ("audience", "https://evil.test")] {
        let body = format!("grant_type=client_credentials&{name}={value}");
        let refused = sent(&sluice, ("/oauth2/token", &machine), body).await.json();
        let said = refused["error_description"].as_str().unwrap();
        assert!(said.contains(&format!("`{value}`")), "{said}");
    }
    let foreign =
        sent(&sluice, ("/oauth2/token", &machine), format!("{redeem}&code_verifier={VERIFIER}")).await;
    foreign.refused_with(400, "unauthorized_client");
    assert_eq!(sluice.written(), before);
    client.redeem(&code).await.ok();
    sluice.node.stop().await;
}

async fn a_malformed_revocation_is_refused_and_writes_nothing(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({})).await;
    let code = sluice.browser().log_in(&sluice, &client, "alice").await.expect("code");
    let tokens = client.redeem(&code).await.ok();
    let refresh = tokens["refresh_token"].as_str().unwrap();
    let before = sluice.written();
    let too_long = format!("token={refresh}&x={}", "x".repeat(70_000));
    for body in [
        "",
        "token=",
        "token_type_hint=refresh_token",
        &format!("token={refresh}&token={refresh}"),
        &too_long,
    ] {
        sent(&sluice, ("/oauth2/revoke", &client), body).await.refused_with(400, "invalid_request");
    }
    let url = sluice.public.join("/oauth2/revoke").unwrap();
    let alone = http().post(url.clone()).form(&[("token", refresh)]);
    assert!(Answer::to(alone).await.status >= 400);
    let wrong =
        http().post(url).header("authorization", basic(&client.id, "wrong")).form(&[("token", refresh)]);
    Answer::to(wrong).await.refused_with(401, "invalid_client");
    // What is not known, or is no token, is as revoked as can be (RFC 7009 §2.2), whatever it is said to be.
    for token in ["unknown", "ory_at_x", "a.b.c", "%00"] {
        let answer = sent(&sluice, ("/oauth2/revoke", &client), format!("token={token}")).await;
        assert_eq!((answer.status, answer.header("cache-control")), (200, "no-store"), "{token}");
        assert_eq!((answer.header("content-type"), answer.body.as_str()), ("application/json", "{}"));
    }
    assert_eq!(sluice.written(), before);
    let hinted = format!("token={refresh}&token_type_hint=no_such_type");
    assert_eq!(sent(&sluice, ("/oauth2/revoke", &client), hinted).await.status, 200);
    client.refresh(refresh).await.refused_with("invalid_grant");
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_form_comes_as_a_form_and_by_post() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let client = sluice.client(&json!({})).await;
    let credentials = basic(&client.id, client.secret.as_deref().unwrap());
    let asked = |listener: &url::Url, path: &str, content_type: &str| {
        let request = http().post(listener.join(path).unwrap()).header("authorization", &credentials);
        let request =
            if content_type.is_empty() { request } else { request.header("content-type", content_type) };
        Answer::to(request.body("grant_type=client_credentials&token=x"))
    };
    let json_or_less =
        ["application/json", "text/plain", "multipart/form-data; boundary=x", "", "application/x-www-form"];
    for (listener, path) in [
        (&sluice.public, "/oauth2/token"),
        (&sluice.public, "/oauth2/revoke"),
        (&sluice.admin, "/admin/oauth2/introspect"),
    ] {
        for content_type in json_or_less {
            asked(listener, path, content_type).await.refused_with(400, "invalid_request");
        }
        for content_type in
            [FORM, "application/x-www-form-urlencoded; charset=UTF-8", "Application/X-WWW-Form-URLencoded"]
        {
            assert_eq!(asked(listener, path, content_type).await.status, 200, "{path} {content_type}");
        }
        for method in [Method::GET, Method::PUT, Method::DELETE] {
            let request = http().request(method, listener.join(path).unwrap());
            let answer = Answer::to(request.header("authorization", &credentials)).await;
            assert_eq!(answer.status, 405, "{path}");
        }
    }
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn introspection_tells_nothing_of_what_it_does_not_know() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let client = sluice.client(&json!({})).await;
    let asked = |body: String| {
        let request = http().post(sluice.admin.join("/admin/oauth2/introspect").unwrap());
        Answer::to(request.header("content-type", FORM).body(body))
    };
    let code = sluice.browser().log_in(&sluice, &client, "alice").await.expect("code");
    let token = client.redeem(&code).await.ok()["access_token"].as_str().unwrap().to_owned();
    for body in [
        String::new(),
        "&".to_owned(),
        format!("token={token}&token={token}"),
        format!("token={token}&scope=%22"),
    ] {
        asked(body).await.refused_with(400, "invalid_request");
    }
    for body in [
        format!("token={code}"),
        // As with Hydra.
        "token=".to_owned(),
        "scope=openid".to_owned(),
        format!("token_type_hint={token}"),
        "token=x".to_owned(),
        format!("token={token}&scope=admin"),
        format!("token={token}+"),
    ] {
        assert_eq!(asked(body.clone()).await.ok(), json!({"active": false}), "{body}");
    }
    assert_eq!(
        asked(format!("token={token}&scope=openid&token_type_hint=refresh_token")).await.ok()["active"],
        true
    );
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pkce_is_used_at_both_ends_or_at_none() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let client = sluice.client(&json!({})).await;
    let url = crate::authorization_errors::asked(
        &client,
        &[
            crate::authorization_errors::Change::Without("code_challenge"),
            crate::authorization_errors::Change::Without("code_challenge_method"),
        ],
    );
    let mut browser = sluice.browser();
    let challenge = browser.visit(&url).await.expect("login_challenge");
    let login = sluice_testkit::accept_login(&sluice, &challenge, &json!({"subject": "alice"})).await;
    let challenge = browser.visit(&login).await.expect("consent_challenge");
    let consent = sluice_testkit::accept_consent(&sluice, &challenge, &json!({})).await;
    let code = browser.visit(&consent).await.expect("code");
    client.token(&exchange(&code, &client.redirect_uri, VERIFIER)).await.refused_with("invalid_grant");
    client.token(&exchange(&code, &client.redirect_uri, "")).await.ok();
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_are_kept_by_nobody() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let client = sluice.client(&json!({})).await;
    let answer = sent(&sluice, ("/oauth2/token", &client), "grant_type=client_credentials&scope=email").await;
    let tokens = answer.ok();
    assert_eq!((answer.header("cache-control"), answer.header("pragma")), ("no-store", "no-cache"));
    assert_eq!((&tokens["token_type"], &tokens["scope"]), (&json!("bearer"), &json!("email")));
    assert!(tokens.get("refresh_token").is_none() && tokens.get("id_token").is_none(), "{tokens}");
    let public = sluice.client(&json!({"token_endpoint_auth_method": "none"})).await;
    public.token(&[("grant_type", "client_credentials")]).await.refused_with("unauthorized_client");
    sluice.node.stop().await;
}
