//! FAPI 2.0 Message Signing: what its plan asks of signed requests. What it asks of signed answers is with `jarm`.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};
use sluice_crypto::jwk::SigningAlgorithm;
use sluice_primitives::Clock;
use sluice_testkit::{Backend, ISSUER, TestClient, TestSluice, TokenAnswer};

use crate::authorization_errors::Change::With;
use crate::fapi2_requests::{fapi_client, push, push_form};
use crate::jwt::claims;
use crate::keyed::{JWT_BEARER, Key, changed, redemption, send};
use crate::legs::token;
use crate::requests::{Signer, assembled, request_uri, with};
use crate::response::{NONCE, STATE, last_page};

const PROFILE: &str = "fapi2_message_signing";

/// What an ordinary object of the profile says, changed.
fn said(sluice: &TestSluice, client: &TestClient, changes: &Value) -> Value {
    changed(crate::requests::claims(sluice, client, &json!({"response_mode": "jwt"})), changes)
}

/// Pushes this object and nothing beside it.
async fn push_object(sluice: &TestSluice, signer: &Signer, client: &TestClient, object: &str) -> TokenAnswer {
    push_form(sluice, signer, &client.id, &[("request".to_owned(), object.to_owned())]).await
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_is_meant_for_this_server_and_holds_for_an_hour_at_most() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let signer = Signer::new(SigningAlgorithm::ES256);
    let client = fapi_client(&sluice, &signer, PROFILE).await;
    let now = sluice.clock.now().as_secs();
    let pushes = async |changes: &Value| {
        let object = signer.sign(Some("oauth-authz-req+jwt"), &said(&sluice, &client, changes));
        push_object(&sluice, &signer, &client, &object).await
    };
    for right in [
        json!({}),
        json!({"aud": [ISSUER, "https://elsewhere.test"]}),
        json!({"nbf": now + 8}),
        json!({"nbf": now - 3_540, "exp": now + 60}),
    ] {
        request_uri(&pushes(&right).await);
    }
    for (wrong, error) in [
        (json!({"exp": null}), "invalid_request_object"),
        (json!({"nbf": null}), "invalid_request_object"),
        (json!({"exp": now - 300, "nbf": now - 600}), "invalid_request_object"),
        (json!({"aud": "https://elsewhere.test/"}), "invalid_request_object"),
        (json!({"aud": null}), "invalid_request_object"),
        (json!({"exp": now + 4_200}), "invalid_request_object"),
        // It began to hold over an hour ago, and otherwise would still hold.
        (json!({"nbf": now - 3_630, "exp": now - 30}), "invalid_request_object"),
        (json!({"nbf": now - 4_200}), "invalid_request_object"),
        (json!({"request_uri": "urn:ietf:params:oauth:request_uri:x"}), "invalid_request_object"),
        (json!({"redirect_uri": null}), "invalid_request"),
    ] {
        let answer = pushes(&wrong).await;
        assert_eq!((answer.status, &answer.body["error"]), (400, &json!(error)), "{wrong}: {}", answer.body);
    }
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_is_signed_by_its_client_with_an_algorithm_of_the_profile() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let (signer, thief) = (Signer::new(SigningAlgorithm::ES256), Signer::new(SigningAlgorithm::ES256));
    let weak = Signer::new(SigningAlgorithm::RS256);
    let client = fapi_client(&sluice, &signer, PROFILE).await;
    let ordinary = said(&sluice, &client, &json!({}));
    let sign = |signer: &Signer| signer.sign(Some("oauth-authz-req+jwt"), &ordinary);
    let good = sign(&signer);
    let (signed, signature) = good.rsplit_once('.').unwrap();
    let mut signature = URL_SAFE_NO_PAD.decode(signature).unwrap();
    signature[10] ^= 1;
    let hostile = [
        ("none", assembled(&json!({"alg": "none"}), &ordinary, b"")),
        ("a broken signature", format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature))),
        ("the key of another", sign(&thief)),
        ("RS256", sign(&weak)),
    ];
    let other = fapi_client(&sluice, &thief, PROFILE).await;
    for (how, object) in &hostile {
        let answer = push_object(&sluice, &signer, &client, object).await;
        assert_eq!(answer.body["error"], "invalid_request_object", "{how}: {}", answer.body);
    }
    // What one client signed is not what another asks for.
    let answer = push_object(&sluice, &thief, &other, &good).await;
    answer.refused_with("invalid_request_object");
    push(&sluice, &signer, &client, &[With("response_mode", "jwt")]).await.refused_with("invalid_request");
    request_uri(&push_object(&sluice, &signer, &client, &good).await);
    sluice.node.stop().await;
}

/// The client has the key that signs, and the profile still does not let it sign like this (Security Profile §5.4.1).
#[tokio::test(flavor = "multi_thread")]
async fn an_object_is_not_signed_with_rs256_by_whatever_key() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let (signer, weak) = (Signer::new(SigningAlgorithm::ES256), Signer::new(SigningAlgorithm::RS256));
    let metadata = json!({
        "security_profile": PROFILE,
        "token_endpoint_auth_method": "private_key_jwt",
        "dpop_bound_access_tokens": true,
        "jwks": {"keys": [signer.jwk, weak.jwk]},
    });
    let client = sluice.client(&metadata).await;
    let ordinary = said(&sluice, &client, &json!({}));
    for (signer_of_object, status) in [(&weak, 400), (&signer, 201)] {
        let object = signer_of_object.sign(None, &ordinary);
        let answer = push_object(&sluice, &signer, &client, &object).await;
        assert_eq!(answer.status, status, "{}", answer.body);
    }
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_stands_beside_an_object_is_not_used() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let signer = Signer::new(SigningAlgorithm::ES256);
    let client = fapi_client(&sluice, &signer, PROFILE).await;
    for (inside, state) in [(json!({}), Some(STATE)), (json!({"state": null}), None)] {
        let object = signer.sign(None, &said(&sluice, &client, &inside));
        let outside = [("state", "outside"), ("nonce", "outside")];
        let form: Vec<_> = [("request", object.as_str())]
            .into_iter()
            .chain(outside)
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        let uri = request_uri(&push_form(&sluice, &signer, &client.id, &form).await);
        let url = with(&client, &[&[("request_uri", uri.as_str())][..], &outside].concat());
        let page = last_page(&sluice, &mut sluice.browser(), &url).await;
        let answer = claims(&page.expect("response"));
        assert_eq!(answer.get("state").and_then(Value::as_str), state);
        let assertion = signer.assertion(&sluice, &client.id);
        let credentials = [("client_assertion_type", JWT_BEARER), ("client_assertion", assertion.as_str())];
        let form = [redemption(&client, answer["code"].as_str().unwrap()).as_slice(), &credentials].concat();
        let proof = Key::new().proof(&sluice, "/oauth2/token");
        let tokens = send(&sluice, "/oauth2/token", &[("dpop", proof.as_str())], &form).await.ok();
        assert_eq!(claims(token(&tokens, "id_token"))["nonce"], NONCE);
    }
    sluice.node.stop().await;
}
