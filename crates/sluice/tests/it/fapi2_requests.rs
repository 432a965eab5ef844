//! Authorization requests of clients under FAPI 2.0: Security Profile §5.3.2.2, Message Signing §5.3 and §5.4.

use serde_json::{Value, json};
use sluice_crypto::jwk::SigningAlgorithm;
use sluice_primitives::Clock;
use sluice_testkit::{Backend, TestClient, TestSluice, TokenAnswer};

use crate::answer::{Answer, http};
use crate::authorization_errors::Change::{self, With, Without};
use crate::authorization_errors::asked;
use crate::both_stores::on_both_stores;
use crate::requests::{Signer, is_refused, is_shown, parameters, pushed, request_uri, with};
use crate::response::{Response, STATE, last_page};

on_both_stores! {
    a_client_of_the_security_profile_pushes_and_gets_a_code,
    a_client_of_message_signing_signs_its_request_and_gets_a_signed_answer,
}

const JWT_BEARER: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

pub(crate) async fn fapi_client(sluice: &TestSluice, signer: &Signer, profile: &str) -> TestClient {
    let metadata = json!({
        "security_profile": profile,
        "token_endpoint_auth_method": "private_key_jwt",
        "token_endpoint_auth_signing_alg": "ES256",
        "id_token_signed_response_alg": "ES256",
        "dpop_bound_access_tokens": true,
    });
    signer.client(sluice, metadata).await
}

/// Pushes a form, authenticated by an assertion.
pub(crate) async fn push_form(
    sluice: &TestSluice,
    signer: &Signer,
    id: &str,
    form: &[(String, String)],
) -> TokenAnswer {
    let mut form = form.to_vec();
    form.retain(|(name, _)| name != "client_id");
    form.push(("client_id".to_owned(), id.to_owned()));
    form.push(("client_assertion_type".to_owned(), JWT_BEARER.to_owned()));
    form.push(("client_assertion".to_owned(), signer.assertion(sluice, id)));
    let answer = Answer::to(http().post(sluice.public.join("/oauth2/par").unwrap()).form(&form)).await;
    TokenAnswer { status: answer.status, body: answer.json() }
}

pub(crate) async fn push(
    sluice: &TestSluice,
    signer: &Signer,
    client: &TestClient,
    changes: &[Change<'_>],
) -> TokenAnswer {
    push_form(sluice, signer, &client.id, &parameters(client, changes)).await
}

pub(crate) async fn push_object(
    sluice: &TestSluice,
    signer: &Signer,
    client: &TestClient,
    changes: &Value,
) -> TokenAnswer {
    let object = signer.object(sluice, client, changes);
    push_form(sluice, signer, &client.id, &[("request".to_owned(), object)]).await
}

async fn a_client_of_the_security_profile_pushes_and_gets_a_code(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let signer = Signer::new(SigningAlgorithm::ES256);
    let client = fapi_client(&sluice, &signer, "fapi2").await;
    let url = pushed(&client, &request_uri(&push(&sluice, &signer, &client, &[]).await));
    let mut browser = sluice.browser();
    // par-ensure-reused-request-uri-prior-to-auth-completion-succeeds
    browser.visit(&url).await.expect("login_challenge");
    let page = last_page(&sluice, &mut browser, &url).await;
    let answer = Response::of(&page);
    assert_eq!((answer.get("state"), answer.get("iss")), (STATE, sluice_testkit::ISSUER));
    assert_eq!(answer.names(), ["code", "iss", "state"]);
    // par-attempt-reuse-request_uri
    is_refused(&mut browser, &url, "invalid_request_uri").await;
    // par-attempt-to-use-request_uri-for-different-client
    let other = fapi_client(&sluice, &signer, "fapi2").await;
    let uri = request_uri(&push(&sluice, &signer, &client, &[]).await);
    is_shown(&browser.visit(&pushed(&other, &uri)).await, "invalid_request_uri");
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_security_profile_refuses_what_is_weaker() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let signer = Signer::new(SigningAlgorithm::ES256);
    let client = fapi_client(&sluice, &signer, "fapi2").await;
    // ensure-unsigned-authorization-request-without-using-par-fails
    is_refused(&mut sluice.browser(), &asked(&client, &[]), "invalid_request").await;
    let object = signer.object(&sluice, &client, &json!({}));
    is_refused(&mut sluice.browser(), &with(&client, &[("request", &object)]), "invalid_request").await;
    let refused: &[(&str, &[Change<'_>])] = &[
        ("invalid_request", &[Without("code_challenge"), Without("code_challenge_method")]),
        ("invalid_request", &[With("code_challenge_method", "plain")]),
        ("invalid_request", &[Without("redirect_uri"), With("scope", "email")]),
        ("invalid_request", &[With("request_uri", "urn:ietf:params:oauth:request_uri:x")]),
        ("unauthorized_client", &[With("response_type", "code id_token")]),
    ];
    for (error, changes) in refused {
        push(&sluice, &signer, &client, changes).await.refused_with(error);
    }
    // The client may sign all the same.
    let uri = request_uri(&push_object(&sluice, &signer, &client, &json!({})).await);
    sluice.browser().visit(&pushed(&client, &uri)).await.expect("login_challenge");
    sluice.node.stop().await;
}

async fn a_client_of_message_signing_signs_its_request_and_gets_a_signed_answer(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let signer = Signer::new(SigningAlgorithm::ES256);
    let client = fapi_client(&sluice, &signer, "fapi2_message_signing").await;
    let jarm = json!({"response_mode": "jwt"});
    let uri = request_uri(&push_object(&sluice, &signer, &client, &jarm).await);
    let page = last_page(&sluice, &mut sluice.browser(), &pushed(&client, &uri)).await;
    let said = crate::jwt::claims(&page.expect("response"));
    assert_eq!((&said["state"], page.parameter("code")), (&json!(STATE), None));
    assert!(said["code"].is_string() && said.get("scope").is_none(), "{said}");
    // ensure-unsigned-request-at-par-endpoint-fails
    push(&sluice, &signer, &client, &[With("response_mode", "jwt")]).await.refused_with("invalid_request");
    push_object(&sluice, &signer, &client, &json!({})).await.refused_with("invalid_request");
    sluice.node.stop().await;
}

/// The modules of the OpenID Foundation's suite about what is in a request object.
#[tokio::test(flavor = "multi_thread")]
async fn message_signing_asks_more_of_a_request_object() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let signer = Signer::new(SigningAlgorithm::ES256);
    let client = fapi_client(&sluice, &signer, "fapi2_message_signing").await;
    let now = sluice.clock.now().as_secs();
    let with_jarm = |changes: &Value| {
        let mut all = json!({"response_mode": "jwt"});
        all.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
        all
    };
    for right in [
        json!({"aud": ["https://elsewhere.test", sluice_testkit::ISSUER]}),
        json!({"nbf": now + 8}),
        json!({"nbf": now - 3500, "exp": now + 60}),
        json!({"state": "s".repeat(384), "nonce": "n".repeat(43)}),
    ] {
        let answer = push_object(&sluice, &signer, &client, &with_jarm(&right)).await;
        assert_eq!(answer.status, 201, "{right}: {}", answer.body);
    }
    for wrong in [
        json!({"exp": null}),
        json!({"nbf": null}),
        json!({"aud": null}),
        json!({"aud": "https://elsewhere.test"}),
        json!({"exp": now - 300, "nbf": now - 600}),
        json!({"exp": now + 4000}),
        json!({"nbf": now - 4000, "exp": now - 500}),
        json!({"request_uri": "urn:ietf:params:oauth:request_uri:x"}),
    ] {
        let answer = push_object(&sluice, &signer, &client, &with_jarm(&wrong)).await;
        assert_eq!(answer.status, 400, "{wrong}: {}", answer.body);
        answer.refused_with("invalid_request_object");
    }
    // ensure-request-object-without-redirect-uri-fails
    let without = with_jarm(&json!({"redirect_uri": null}));
    push_object(&sluice, &signer, &client, &without).await.refused_with("invalid_request");
    sluice.node.stop().await;
}

/// ensure-signed-request-object-with-RS256-fails: the key would do, the algorithm does not (Security Profile §5.4.1).
#[tokio::test(flavor = "multi_thread")]
async fn fapi_does_not_know_rs256() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let signer = Signer::new(SigningAlgorithm::ES256);
    let weak = Signer::new(SigningAlgorithm::RS256);
    let mut other = weak.jwk.clone();
    other["kid"] = json!("one");
    let metadata = json!({
        "security_profile": "fapi2",
        "token_endpoint_auth_method": "private_key_jwt",
        "token_endpoint_auth_signing_alg": "ES256",
        "id_token_signed_response_alg": "ES256",
        "dpop_bound_access_tokens": true,
        "jwks": {"keys": [signer.jwk, other]},
    });
    let client = sluice.client(&metadata).await;
    let object = weak.object(&sluice, &client, &json!({}));
    let answer = push_form(&sluice, &signer, &client.id, &[("request".to_owned(), object)]).await;
    answer.refused_with("invalid_request_object");
    sluice.node.stop().await;
}
