//! The FAPI 2.0 Security Profile, with `private_key_jwt` and DPoP, and with certificates for both: what its plans ask of
//! pushed requests. What they ask of the token endpoint and of userinfo is with `fapi2`.

use reqwest::Method;
use serde_json::{Value, json};
use sluice_primitives::Clock;
use sluice_testkit::{Authorize, Backend, ISSUER, TestSluice, accept_consent, accept_login, redirect_to};

use crate::answer::{Answer, http};
use crate::authorization_errors::Change::{self, With, Without};
use crate::fapi2::fapi_client;
use crate::jwt::claims;
use crate::keyed::{Key, KeyedClient, changed, code_from, proof_claims, redemption, send, userinfo};
use crate::legs::token;
use crate::metadata::binding::proof;
use crate::requests::{parameters, pushed};
use crate::response::{NONCE, Response, STATE, last_page};
use crate::rfc8705::Shown;
use crate::userinfo::about_user;

const PAR: &str = "/oauth2/par";

/// Pushes the ordinary request, changed, with this assertion and perhaps a proof.
async fn push_with(
    sluice: &TestSluice,
    client: &KeyedClient,
    changes: &[Change<'_>],
    (assertion, proof): (&str, Option<&str>),
) -> Answer {
    let parameters = parameters(&client.client, changes);
    let form: Vec<_> = parameters.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    client.asserting(sluice, (PAR, &form), assertion, proof).await
}

async fn push(sluice: &TestSluice, client: &KeyedClient, changes: &[Change<'_>]) -> Answer {
    let assertion = client.assertion(sluice, &json!({}));
    push_with(sluice, client, changes, (&assertion, None)).await
}

/// Where a browser begins with what was pushed.
#[track_caller]
fn begins(client: &KeyedClient, answer: &Answer) -> String {
    assert_eq!(answer.status, 201, "{}", answer.body);
    pushed(&client.client, answer.json()["request_uri"].as_str().unwrap())
}

/// The answer to a pushed request, and the tokens that came of it.
async fn flow(sluice: &TestSluice, client: &KeyedClient, changes: &[Change<'_>]) -> (Response, Value) {
    let url = begins(client, &push(sluice, client, changes).await);
    let answer = Response::of(&last_page(sluice, &mut sluice.browser(), &url).await);
    let form = redemption(&client.client, answer.get("code"));
    let tokens = client.token(sluice, &form).await.ok();
    (answer, tokens)
}

#[tokio::test(flavor = "multi_thread")]
async fn discovery_names_what_the_profile_needs() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let url = sluice.public.join("/.well-known/openid-configuration").unwrap();
    let metadata = Answer::to(http().get(url)).await.ok();
    assert_eq!(metadata["issuer"], ISSUER);
    assert_eq!(metadata["pushed_authorization_request_endpoint"], format!("{ISSUER}oauth2/par"));
    assert_eq!(metadata["authorization_response_iss_parameter_supported"], true);
    assert_eq!(metadata["claims_parameter_supported"], true);
    assert_eq!(metadata["code_challenge_methods_supported"], json!(["S256"]), "and never plain");
    for (list, needed) in [
        ("response_types_supported", "code"),
        ("grant_types_supported", "authorization_code"),
        ("grant_types_supported", "refresh_token"),
        ("scopes_supported", "openid"),
        ("token_endpoint_auth_methods_supported", "private_key_jwt"),
        ("token_endpoint_auth_signing_alg_values_supported", "ES256"),
        ("token_endpoint_auth_signing_alg_values_supported", "PS256"),
        ("dpop_signing_alg_values_supported", "ES256"),
        ("dpop_signing_alg_values_supported", "PS256"),
        ("id_token_signing_alg_values_supported", "ES256"),
        ("id_token_signing_alg_values_supported", "PS256"),
        ("request_object_signing_alg_values_supported", "ES256"),
        ("request_object_signing_alg_values_supported", "PS256"),
        ("authorization_signing_alg_values_supported", "ES256"),
        ("authorization_signing_alg_values_supported", "PS256"),
        ("response_modes_supported", "jwt"),
    ] {
        assert!(metadata[list].as_array().unwrap().contains(&json!(needed)), "{list}: {}", metadata[list]);
    }
    for list in ["dpop_signing_alg_values_supported", "request_object_signing_alg_values_supported"] {
        assert!(!metadata[list].as_array().unwrap().contains(&json!("none")), "{list}");
    }
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_who_refuses_is_told_of_to_the_client() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let client = fapi_client(&sluice).await;
    let reject = async |kind: &str, challenge: &str| {
        let path = format!("/admin/oauth2/auth/requests/{kind}/reject?{kind}_challenge={challenge}");
        let body = json!({"error": "access_denied", "error_description": "The user says no."});
        redirect_to(&sluice.ask_json(Method::PUT, &path, Some(&body), 200).await)
    };
    for kind in ["login", "consent"] {
        let url = begins(&client, &push(&sluice, &client, &[]).await);
        let mut browser = sluice.browser();
        let mut challenge = browser.visit(&url).await.expect("login_challenge");
        if kind == "consent" {
            let verifier = accept_login(&sluice, &challenge, &json!({"subject": "alice"})).await;
            challenge = browser.visit(&verifier).await.expect("consent_challenge");
        }
        let verifier = reject(kind, &challenge).await;
        Response::of(&browser.visit(&verifier).await).refused_with("access_denied");
    }
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_needs_neither_state_nor_nonce_and_both_may_be_long() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let client = fapi_client(&sluice).await;
    let long = "0123456789".repeat(100);
    let (state, nonce) = (Some(STATE), Some(NONCE));
    let cases: [(Change<'_>, Option<&str>, Option<&str>); 5] = [
        (Without("state"), None, nonce),
        (Without("nonce"), state, None),
        (With("nonce", &long[..64]), state, Some(&long[..64])),
        (With("nonce", &long[..384]), state, Some(&long[..384])),
        (With("state", &long), Some(&long), nonce),
    ];
    for (change, state, nonce) in cases {
        let (answer, tokens) = flow(&sluice, &client, std::slice::from_ref(&change)).await;
        assert_eq!(answer.parameters.get("state").map(String::as_str), state, "{change:?}");
        assert_eq!(answer.get("iss"), ISSUER, "{change:?}");
        let said = claims(token(&tokens, "id_token"));
        assert_eq!(said.get("nonce").and_then(Value::as_str), nonce, "{change:?}");
    }
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_order_of_scopes_does_not_matter() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let client = fapi_client(&sluice).await;
    for scope in ["offline_access openid email", "email openid offline_access"] {
        let (_, tokens) = flow(&sluice, &client, &[With("scope", scope)]).await;
        let mut granted: Vec<_> = tokens["scope"].as_str().unwrap().split(' ').collect();
        granted.sort_unstable();
        assert_eq!(granted, ["email", "offline_access", "openid"]);
        assert!(tokens["id_token"].is_string() && tokens["refresh_token"].is_string());
    }
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn claims_that_are_asked_for_one_by_one_are_told() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let client = fapi_client(&sluice).await;
    let wanted = r#"{"id_token":{"name":{"essential":true}},"userinfo":{"name":null,"shoe_size":null}}"#;
    let url = begins(&client, &push(&sluice, &client, &[With("claims", wanted)]).await);
    let mut browser = sluice.browser();
    let challenge = browser.visit(&url).await.expect("login_challenge");
    let verifier = accept_login(&sluice, &challenge, &json!({"subject": "alice"})).await;
    let challenge = browser.visit(&verifier).await.expect("consent_challenge");
    let known = json!({"session": {"id_token": {"name": "Alice"}}});
    let verifier = accept_consent(&sluice, &challenge, &known).await;
    let code = browser.visit(&verifier).await.expect("code");
    let tokens = client.token(&sluice, &redemption(&client.client, &code)).await.ok();
    assert_eq!(claims(token(&tokens, "id_token"))["name"], "Alice");
    let access_token = token(&tokens, "access_token");
    let proof = client.bound.userinfo_proof(&sluice, access_token);
    let told = userinfo(&sluice, &format!("DPoP {access_token}"), &[&proof]).await.ok();
    assert_eq!(about_user(told), json!({"sub": "alice", "name": "Alice"}), "what nobody knows is left out");
    sluice.node.stop().await;
}

/// RFC 9449 §10.1: a proof that comes with a pushed request binds the code as `dpop_jkt` does, and does not contradict it.
#[tokio::test(flavor = "multi_thread")]
async fn a_proof_that_comes_with_a_pushed_request_binds_the_code() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let client = fapi_client(&sluice).await;
    let pushes = async |changes: &[Change<'_>]| {
        let (assertion, proof) = (client.assertion(&sluice, &json!({})), client.bound.proof(&sluice, PAR));
        push_with(&sluice, &client, changes, (&assertion, Some(&proof))).await
    };
    let (own, other) = (client.bound.thumbprint(), Key::new());
    for changes in [&[][..], &[With("dpop_jkt", &own)]] {
        let code = code_from(&sluice, &begins(&client, &pushes(changes).await)).await;
        let form = redemption(&client.client, &code);
        let proof = other.proof(&sluice, "/oauth2/token");
        client.token_with(&sluice, &form, Some(&proof)).await.refused_with(400, "invalid_grant");
        let tokens = client.token(&sluice, &form).await.ok();
        assert_eq!(sluice.introspect(token(&tokens, "access_token")).await["cnf"]["jkt"], own);
    }
    let refused = pushes(&[With("dpop_jkt", &other.thumbprint())]).await;
    refused.refused_with(400, "invalid_dpop_proof");
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_proof_that_comes_with_a_pushed_request_is_checked_as_any_other() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let client = fapi_client(&sluice).await;
    let now = sluice.clock.now().as_secs();
    let pushes = async |changes: &Value| {
        let proof = client.bound.proof_of(&changed(proof_claims(&sluice, "POST", PAR), changes));
        let assertion = client.assertion(&sluice, &json!({}));
        push_with(&sluice, &client, &[], (&assertion, Some(&proof))).await
    };
    for right in [json!({"iat": now - 10}), json!({"iat": now + 10}), json!({"nbf": now, "exp": now + 300})] {
        begins(&client, &pushes(&right).await);
    }
    let reused = json!({"jti": "once"});
    begins(&client, &pushes(&reused).await);
    let token_endpoint = format!("{ISSUER}oauth2/token");
    for wrong in [
        reused,
        json!({"htu": token_endpoint}),
        json!({"htm": "PUT"}),
        json!({"iat": now - 3600}),
        json!({"iat": now + 3600}),
        json!({"exp": now}),
    ] {
        pushes(&wrong).await.refused_with(400, "invalid_dpop_proof");
    }
    sluice.node.stop().await;
}

/// Security Profile §5.4.1.
#[tokio::test(flavor = "multi_thread")]
async fn a_proof_that_comes_with_a_pushed_request_is_signed_as_the_profile_allows() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let (client, ordinary) = (fapi_client(&sluice).await, KeyedClient::on(&sluice, &json!({})).await);
    let pushes = async |client: &KeyedClient, algorithm: &str| {
        let (assertion, proof) = (client.assertion(&sluice, &json!({})), proof(&sluice, (algorithm, PAR)));
        push_with(&sluice, client, &[], (&assertion, Some(&proof))).await
    };
    for algorithm in ["ES384", "ES512"] {
        pushes(&client, algorithm).await.refused_with(400, "invalid_dpop_proof");
        begins(&ordinary, &pushes(&ordinary, algorithm).await);
    }
    begins(&client, &pushes(&client, "EdDSA").await);
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_profile_forbids_is_refused_when_it_is_pushed() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let client = fapi_client(&sluice).await;
    let refused: &[(&str, &[Change<'_>])] = &[
        ("invalid_request", &[Without("redirect_uri")]),
        ("invalid_request", &[With("redirect_uri", "https://app.test/another")]),
        ("unauthorized_client", &[With("response_type", "code id_token")]),
        ("unauthorized_client", &[With("response_type", "token")]),
        ("invalid_request", &[Without("code_challenge"), Without("code_challenge_method")]),
        ("invalid_request", &[With("code_challenge_method", "plain")]),
        ("invalid_request", &[Without("code_challenge_method")]),
        ("invalid_request", &[With("request_uri", "urn:ietf:params:oauth:request_uri:x")]),
    ];
    for (error, changes) in refused {
        let answer = push(&sluice, &client, changes).await;
        assert_eq!(answer.json()["error"], *error, "{changes:?}: {}", answer.body);
        answer.refused_with(400, error);
    }
    // Nor does the browser bring what was not pushed.
    let url = client.client.authorize_url(&Authorize::default());
    let page = sluice.browser().visit(&url).await;
    assert_eq!((page.expect("error").as_str(), page.parameter("code")), ("invalid_request", None));
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_assertion_names_the_issuer_alone_and_its_client_and_holds_now() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let client = fapi_client(&sluice).await;
    let now = sluice.clock.now().as_secs();
    let pushes = async |changes: &Value| {
        let assertion = client.assertion(&sluice, changes);
        push_with(&sluice, &client, &[], (&assertion, None)).await
    };
    for changes in [
        json!({"aud": [ISSUER]}),
        json!({"aud": format!("{ISSUER}oauth2/par")}),
        json!({"aud": format!("{ISSUER}oauth2/token")}),
        json!({"aud": "https://elsewhere.test/"}),
        json!({"exp": now - 300}),
        json!({"nbf": now + 61}),
        json!({"sub": null}),
    ] {
        let answer = pushes(&changes).await;
        assert_eq!(answer.json()["error"], "invalid_client", "{changes}: {}", answer.body);
        answer.refused_with(401, "invalid_client");
    }
    for changes in [json!({}), json!({"nbf": now + 8}), json!({"nbf": now + 8, "iat": now + 8})] {
        begins(&client, &pushes(&changes).await);
    }
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_certificate_authenticates_the_client_and_binds_its_tokens() {
    let proxy = [("oauth2.mtls.header", "Client-Cert"), ("oauth2.mtls.header_from", "127.0.0.0/8")];
    let sluice = TestSluice::with(Backend::Sqlite, &proxy).await;
    let (shown, other) = (Shown::self_signed(), Shown::self_signed());
    let metadata = json!({"security_profile": "fapi2",
                          "token_endpoint_auth_method": "self_signed_tls_client_auth",
                          "tls_client_certificate_bound_access_tokens": true,
                          "grant_types": ["authorization_code", "refresh_token"],
                          "jwks": {"keys": [shown.jwk()]}});
    let client = sluice.client(&metadata).await;
    let sends = async |shown: Option<&Shown>, path: &str, form: &[(&str, &str)]| {
        let value = shown.map(Shown::client_cert);
        let headers: Vec<_> = value.iter().map(|value| ("client-cert", value.as_str())).collect();
        send(&sluice, path, &headers, form).await
    };
    let parameters = parameters(&client, &[]);
    let request: Vec<_> = parameters.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    for wrong in [None, Some(&other)] {
        sends(wrong, PAR, &request).await.refused_with(401, "invalid_client");
    }
    let answer = sends(Some(&shown), PAR, &request).await;
    assert_eq!(answer.status, 201, "{}", answer.body);
    let uri = answer.json()["request_uri"].as_str().unwrap().to_owned();
    let code = code_from(&sluice, &pushed(&client, &uri)).await;
    let form = [redemption(&client, &code).as_slice(), &[("client_id", client.id.as_str())]].concat();
    for wrong in [None, Some(&other)] {
        sends(wrong, "/oauth2/token", &form).await.refused_with(401, "invalid_client");
    }
    let tokens = sends(Some(&shown), "/oauth2/token", &form).await.ok();
    let access_token = token(&tokens, "access_token");
    assert_eq!(sluice.introspect(access_token).await["cnf"], json!({"x5t#S256": shown.thumbprint()}));
    for (shown, status) in [(Some(&shown), 200), (Some(&other), 401), (None, 401)] {
        let request = http().get(sluice.public.join("/userinfo").unwrap()).bearer_auth(access_token);
        let request = match shown {
            Some(shown) => request.header("client-cert", shown.client_cert()),
            None => request,
        };
        assert_eq!(Answer::to(request).await.status, status);
    }
    sluice.node.stop().await;
}
