//! RFC 8693: how far an exchange goes, and no further.

use serde_json::{Value, json};
use sluice_testkit::{Authorize, Backend, TestClient, TestSluice};

use super::{
    ACCESS_TOKEN, GRANT, ID_TOKEN, JWT, REFRESH_TOKEN, access, alices, alices_with_claims, exchange,
    exchange_of, service, shop,
};
use crate::keyed::{Key, code_from, redemption, send};
use crate::legs::{change_client, token};

const A: &str = "https://a.test/api";
const B: &str = "https://b.test/api";

/// The tokens of alice after a request with these parameters.
async fn asked_with(sluice: &TestSluice, client: &TestClient, more: &[(&str, &str)]) -> Value {
    let with = Authorize { more, ..Authorize::default() };
    let page = sluice.browser().log_in_with(sluice, client, &with, &json!({"subject": "alice"})).await;
    client.redeem(&page.expect("code")).await.ok()
}

/// What of a client's own is there to exchange.
fn own(tokens: &Value) -> [(&str, &str); 2] {
    [(token(tokens, "access_token"), ACCESS_TOKEN), (token(tokens, "refresh_token"), REFRESH_TOKEN)]
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_exchanges_nothing_for_a_resource_that_it_lost() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let client = shop(&sluice, &json!({"audience": [A, B, "urn:example:c"]})).await;
    let tokens = asked_with(&sluice, &client, &[("resource", A), ("resource", B)]).await;
    for (left, expected) in [(json!([A, B]), json!([A, B])), (json!([B]), json!([B]))] {
        change_client(&sluice, &client, "audience", left).await;
        for presented in own(&tokens) {
            let exchanged = exchange_of(&client, presented, &[]).await.ok();
            assert_eq!(sluice.introspect(&access(&exchanged)).await["aud"], expected);
        }
    }
    change_client(&sluice, &client, "audience", json!(["urn:example:c"])).await;
    for presented in own(&tokens) {
        exchange_of(&client, presented, &[]).await.refused_with("invalid_target");
    }
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_exchanges_nothing_for_details_of_a_type_that_it_lost() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let client = shop(&sluice, &json!({"authorization_details_types": ["payment", "account"]})).await;
    let details = json!([{"type": "payment"}, {"type": "account"}]);
    let text = details.to_string();
    let tokens = asked_with(&sluice, &client, &[("authorization_details", text.as_str())]).await;
    let cases = [
        (json!(["payment", "account"]), details.clone()),
        (json!(["account"]), json!([details[1]])),
        (json!([]), Value::Null),
    ];
    for (types, left) in cases {
        change_client(&sluice, &client, "authorization_details_types", types).await;
        for presented in own(&tokens) {
            let exchanged = exchange_of(&client, presented, &[]).await.ok();
            assert_eq!(exchanged["authorization_details"], left);
            assert_eq!(sluice.introspect(&access(&exchanged)).await["authorization_details"], left);
        }
    }
    sluice.node.stop().await;
}

/// RFC 9396 §6.1.
#[tokio::test(flavor = "multi_thread")]
async fn who_exchanges_for_fewer_details_gets_those() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let client = shop(&sluice, &json!({"authorization_details_types": ["payment", "account"]})).await;
    let details = json!([{"type": "payment", "amount": 1}, {"type": "account"}]);
    let text = details.to_string();
    let tokens = asked_with(&sluice, &client, &[("authorization_details", text.as_str())]).await;
    let account = json!([details[1]]);
    let asked = account.to_string();
    for presented in own(&tokens) {
        for (asked, expected) in [(asked.as_str(), &account), ("[]", &Value::Null)] {
            let asked = [("authorization_details", asked)];
            let exchanged = exchange_of(&client, presented, &asked).await.ok();
            assert_eq!(&exchanged["authorization_details"], expected);
            assert_eq!(&sluice.introspect(&access(&exchanged)).await["authorization_details"], expected);
        }
        for beyond in [r#"[{"type":"payment"}]"#, r#"[{"type":"other"}]"#, "{}"] {
            let beyond = [("authorization_details", beyond)];
            exchange_of(&client, presented, &beyond).await.refused_with("invalid_authorization_details");
        }
    }
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_may_not_refresh_any_more_exchanges_no_refresh_token() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let client = shop(&sluice, &json!({})).await;
    let tokens = alices(&sluice, &client).await;
    let refresh_token = (token(&tokens, "refresh_token"), REFRESH_TOKEN);
    exchange_of(&client, refresh_token, &[]).await.ok();
    change_client(&sluice, &client, "grant_types", json!(["authorization_code", GRANT])).await;
    exchange_of(&client, refresh_token, &[]).await.refused_with("invalid_request");
    exchange(&client, &access(&tokens), &[]).await.ok();
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_id_token_is_for_its_client_and_not_for_the_services_of_its_grant() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let api = service(&sluice, json!({"impersonation": true, "delegation": true})).await;
    let shop = shop(&sluice, &json!({"audience": [api.id]})).await;
    let tokens = asked_with(&sluice, &shop, &[("audience", api.id.as_str())]).await;
    let there = [("audience", "https://api.test")];
    exchange(&api, &access(&tokens), &there).await.ok();
    let id_token = (token(&tokens, "id_token"), ID_TOKEN);
    exchange_of(&api, id_token, &there).await.refused_with("invalid_request");
    // As the actor's as little.
    let actor = [("actor_token", id_token.0), ("actor_token_type", ID_TOKEN), there[0]];
    let own = access(&api.token(&[("grant_type", "client_credentials")]).await.ok());
    exchange(&api, &own, &actor).await.refused_with("invalid_request");
    let policy = json!({"impersonation": true, "subject_token_clients": [shop.id]});
    exchange_of(&service(&sluice, policy).await, id_token, &there).await.ok();
    exchange_of(&shop, id_token, &[]).await.ok();
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_gets_a_bearer_token_for_an_id_token_of_a_client_whose_tokens_are_bound() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let path = "/oauth2/token";
    let (own, new) = (Key::new(), Key::new());
    let post = json!({"token_endpoint_auth_method": "client_secret_post", "dpop_bound_access_tokens": true});
    let shop = shop(&sluice, &post).await;
    let code = code_from(&sluice, &shop.authorize_url(&Authorize::default())).await;
    let form = [redemption(&shop, &code), credentials(&shop)].concat();
    let tokens = send(&sluice, path, &[("dpop", &own.proof(&sluice, path))], &form).await.ok();
    let client = json!({"token_endpoint_auth_method": "client_secret_post", "grant_types": [GRANT],
                        "token_exchange": {"impersonation": true, "subject_token_clients": [shop.id]}});
    let client = sluice.client(&client).await;
    let subject = [
        ("grant_type", GRANT),
        ("subject_token", token(&tokens, "id_token")),
        ("subject_token_type", ID_TOKEN),
    ];
    let form = [subject.to_vec(), credentials(&client)].concat();
    send(&sluice, path, &[], &form).await.refused_with(400, "invalid_request");
    let bound = send(&sluice, path, &[("dpop", &new.proof(&sluice, path))], &form).await.ok();
    let said = sluice.introspect(&access(&bound)).await;
    assert_eq!((&said["cnf"]["jkt"], &said["token_type"]), (&json!(new.thumbprint()), &json!("DPoP")));
    sluice.node.stop().await;
}

/// 16 KiB is the longest JWT that is taken back.
#[tokio::test(flavor = "multi_thread")]
async fn a_jwt_that_would_be_too_long_is_not_issued() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let client = shop(&sluice, &json!({})).await;
    let subject = alices_with_claims(&sluice, &client, &json!({"plan": "x".repeat(20_000)})).await;
    let refused = exchange(&client, &subject, &[("requested_token_type", JWT)]).await;
    assert!(refused.body["error_description"].as_str().unwrap().contains("too long"), "{}", refused.body);
    refused.refused_with("invalid_request");
    let exchanged = exchange(&client, &subject, &[]).await.ok();
    assert!(sluice.is_active(&access(&exchanged)).await);
    sluice.node.stop().await;
}

/// Those of a client that sends them in the form.
fn credentials(client: &TestClient) -> Vec<(&str, &str)> {
    vec![("client_id", client.id.as_str()), ("client_secret", client.secret.as_deref().unwrap())]
}
