//! OAuth 2.0 Authorization Server Issuer Identification: each answer says who gives it, but to a client of which an administrator says that it
//! takes an error with `iss` for something else.

use reqwest::Method;
use serde_json::json;
use sluice_testkit::{Backend, ISSUER, TestClient, TestSluice, accept_login};

use crate::authorization_errors::Change::With;
use crate::both_stores::on_both_stores;
use crate::jwt::verified;
use crate::response::{Response, STATE, answer, client_for, refusal};

on_both_stores!(a_client_is_told_who_answers_unless_an_administrator_says_otherwise);

async fn a_client_is_told_who_answers_unless_an_administrator_says_otherwise(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let told = client_for(&sluice, &["code"], json!({"authorization_response_iss": true})).await;
    let untold = client_for(&sluice, &["code"], json!({"authorization_response_iss": false})).await;
    for mode in ["query", "fragment", "form_post"] {
        answers_name(&sluice, (&told, mode), Some(ISSUER)).await;
        answers_name(&sluice, (&untold, mode), None).await;
    }

    let path = format!("/admin/clients/{}", untold.id);
    let shown = sluice.ask_json(Method::GET, &path, None, 200).await;
    assert_eq!(shown["authorization_response_iss"], false);
    let change = json!([{"op": "replace", "path": "/authorization_response_iss", "value": true}]);
    let shown = sluice.ask_json(Method::PATCH, &path, Some(&change), 200).await;
    assert_eq!(shown.get("authorization_response_iss"), None, "as it is of most clients");
    answers_name(&sluice, (&untold, "query"), Some(ISSUER)).await;
    sluice.node.stop().await;
}

/// Whether the user agrees, the request is refused at once, or the consent page refuses it.
async fn answers_name(sluice: &TestSluice, (client, mode): (&TestClient, &str), issuer: Option<&str>) {
    let granted = answer(sluice, client, &[With("response_mode", mode)]).await;
    let refused = refusal(sluice, client, &[With("response_mode", mode), With("prompt", "none")]).await;
    assert_eq!(refused.get("error"), "login_required");
    let rejected = rejection(sluice, client, mode).await;
    assert_eq!(rejected.get("error"), "access_denied");
    for said in [&granted, &refused, &rejected] {
        assert_eq!((said.way, said.get("state")), (mode, STATE), "{said:?}");
        assert_eq!(said.parameters.get("iss").map(String::as_str), issuer, "{said:?}");
    }
    client.redeem(granted.get("code")).await.ok();
}

async fn rejection(sluice: &TestSluice, client: &TestClient, mode: &str) -> Response {
    let mut browser = sluice.browser();
    let url = crate::authorization_errors::asked(client, &[With("response_mode", mode)]);
    let challenge = browser.visit(&url).await.expect("login_challenge");
    let verifier = accept_login(sluice, &challenge, &json!({"subject": "alice"})).await;
    let challenge = browser.visit(&verifier).await.expect("consent_challenge");
    let path = format!("/admin/oauth2/auth/requests/consent/reject?consent_challenge={challenge}");
    let no = json!({"error": "access_denied", "error_description": "No."});
    let answered = sluice.ask_json(Method::PUT, &path, Some(&no), 200).await;
    Response::of(&browser.visit(answered["redirect_to"].as_str().unwrap()).await)
}

/// It is a claim there, by which the signature is checked (JARM §2.1).
#[tokio::test(flavor = "multi_thread")]
async fn a_signed_answer_names_the_issuer_in_any_case() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let client = client_for(&sluice, &["code"], json!({"authorization_response_iss": false})).await;
    let granted = answer(&sluice, &client, &[With("response_mode", "jwt")]).await;
    let refused = refusal(&sluice, &client, &[With("response_mode", "jwt"), With("prompt", "none")]).await;
    for said in [granted, refused] {
        assert_eq!(said.names(), ["response"]);
        assert_eq!(verified(&sluice, said.get("response"), "RS256").await["iss"], ISSUER);
    }
    sluice.node.stop().await;
}
