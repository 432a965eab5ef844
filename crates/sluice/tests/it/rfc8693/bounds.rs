//! RFC 8693: how far an exchange goes, and no further.

use serde_json::{Value, json};
use sluice_testkit::{Authorize, Backend, TestClient, TestSluice};

use super::{ACCESS_TOKEN, GRANT, REFRESH_TOKEN, access, alices, exchange, exchange_of, shop};
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
