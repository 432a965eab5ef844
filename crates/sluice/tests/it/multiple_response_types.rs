//! OAuth 2.0 Multiple Response Type Encoding Practices: which tokens the authorization endpoint answers with, to whom, and
//! how they travel.

use serde_json::json;
use sluice_testkit::{Backend, TestSluice, accept_login};

use crate::authorization_errors::Change::{With, Without};
use crate::authorization_errors::asked as authorize;
use crate::both_stores::on_both_stores;
use crate::legs::change_client;
use crate::response::{Response, answer, client_for, refusal};

on_both_stores! {
    a_client_gets_the_response_types_that_it_registered_and_no_others,
    a_response_type_is_a_set,
    tokens_travel_in_the_fragment_unless_they_are_posted,
}

/// All of them, and the parameters that answer them beside `scope`, `state` and `iss`.
const TYPES: [(&str, &[&str]); 7] = [
    ("code", &["code"]),
    ("token", &["access_token", "expires_in", "token_type"]),
    ("id_token", &["id_token"]),
    ("id_token token", &["access_token", "expires_in", "id_token", "token_type"]),
    ("code id_token", &["code", "id_token"]),
    ("code token", &["access_token", "code", "expires_in", "token_type"]),
    ("code id_token token", &["access_token", "code", "expires_in", "id_token", "token_type"]),
];

async fn a_client_gets_the_response_types_that_it_registered_and_no_others(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    for (registered, expected) in TYPES {
        let client = client_for(&sluice, &[registered], json!({})).await;
        for (asked, _) in TYPES {
            let changes = [With("response_type", asked)];
            if asked != registered {
                let before = sluice.written();
                refusal(&sluice, &client, &changes).await.refused_with("unauthorized_client");
                assert_eq!(sluice.written(), before);
                continue;
            }
            let answer = answer(&sluice, &client, &changes).await;
            let mut names: Vec<_> = expected.iter().copied().chain(["iss", "scope", "state"]).collect();
            names.sort_unstable();
            assert_eq!(answer.names(), names, "{registered}");
            assert_eq!(answer.uri, client.redirect_uri);
        }
    }
    sluice.node.stop().await;
}

async fn a_response_type_is_a_set(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = client_for(&sluice, &["token id_token code"], json!({})).await;
    for asked in ["code id_token token", "token code id_token", "id_token token code"] {
        answer(&sluice, &client, &[With("response_type", asked)]).await.get("id_token");
    }
    for unknown in ["none", "code none", "CODE", "code,token", "token-id_token"] {
        let refused = refusal(&sluice, &client, &[With("response_type", unknown)]).await;
        refused.refused_with("unsupported_response_type");
    }
    refusal(&sluice, &client, &[Without("response_type")]).await.refused_with("invalid_request");
    sluice.node.stop().await;
}

async fn tokens_travel_in_the_fragment_unless_they_are_posted(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let types = TYPES.map(|(name, _)| name);
    let client = client_for(&sluice, &types, json!({})).await;
    for asked in types {
        let with_tokens = asked != "code";
        let response_type = With("response_type", asked);
        let default = if with_tokens { "fragment" } else { "query" };
        assert_eq!(answer(&sluice, &client, std::slice::from_ref(&response_type)).await.way, default);
        for mode in ["fragment", "form_post"] {
            let changes = [response_type.clone(), With("response_mode", mode)];
            assert_eq!(answer(&sluice, &client, &changes).await.way, mode, "{asked}");
        }
        let changes = [response_type, With("response_mode", "query")];
        if with_tokens {
            let refused = refusal(&sluice, &client, &changes).await;
            refused.refused_with("invalid_request");
            assert_eq!(refused.way, "fragment", "{asked}");
        } else {
            assert_eq!(answer(&sluice, &client, &changes).await.way, "query");
        }
    }
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_response_type_needs_the_grant_types_of_its_parts() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let needs: [(&str, &[&str]); 7] = [
        ("code", &["authorization_code"]),
        ("token", &["implicit"]),
        ("id_token", &["implicit"]),
        ("id_token token", &["implicit"]),
        ("code id_token", &["authorization_code", "implicit"]),
        ("code token", &["authorization_code", "implicit"]),
        ("code id_token token", &["authorization_code", "implicit"]),
    ];
    for (asked, needed) in needs {
        for grant_types in
            [vec!["authorization_code"], vec!["implicit"], vec!["authorization_code", "implicit"]]
        {
            let client = client_for(&sluice, &[asked], json!({"grant_types": grant_types})).await;
            let url = authorize(&client, &[With("response_type", asked)]);
            let begun = sluice.browser().visit(&url).await.parameter("login_challenge").is_some();
            let expected = needed.iter().all(|needed| grant_types.contains(needed));
            assert_eq!(begun, expected, "{asked} with {grant_types:?}");
        }
    }
    sluice.node.stop().await;
}

/// Multiple Response Types §5: what asks for tokens is refused in the fragment, whatever is wrong.
#[tokio::test(flavor = "multi_thread")]
async fn errors_travel_as_the_answer_would() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let client = client_for(&sluice, &["id_token token"], json!({})).await;
    let response_type = With("response_type", "token id_token");
    let wrong = [
        ("invalid_scope", With("scope", "openid admin")),
        ("login_required", With("prompt", "none")),
        ("invalid_request", With("prompt", "none login")),
        ("invalid_request", With("response_mode", "pigeon")),
        ("invalid_request", Without("nonce")),
        ("invalid_target", With("audience", "https://evil.test")),
    ];
    for (error, change) in wrong {
        let refused = refusal(&sluice, &client, &[response_type.clone(), change.clone()]).await;
        refused.refused_with(error);
        assert_eq!(refused.way, "fragment", "{error}");
        if !matches!(change, With("response_mode", _)) {
            let changes = [response_type.clone(), change, With("response_mode", "form_post")];
            let refused = refusal(&sluice, &client, &changes).await;
            refused.refused_with(error);
            assert_eq!(refused.way, "form_post", "{error}");
        }
    }
    sluice.node.stop().await;
}

/// An access token that the browser sees is bound to no key.
#[tokio::test(flavor = "multi_thread")]
async fn clients_whose_tokens_are_bound_get_none_from_the_authorization_endpoint() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    for bound in ["dpop_bound_access_tokens", "tls_client_certificate_bound_access_tokens"] {
        let client =
            client_for(&sluice, &["token", "code token", "code id_token"], json!({bound: true})).await;
        for asked in ["token", "code token"] {
            let refused = refusal(&sluice, &client, &[With("response_type", asked)]).await;
            refused.refused_with("unauthorized_client");
        }
        answer(&sluice, &client, &[With("response_type", "code id_token")]).await.get("id_token");
    }
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_client_lost_while_its_flow_was_in_flight_it_does_not_get() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let client = client_for(&sluice, &["id_token token"], json!({})).await;
    let mut browser = sluice.browser();
    let url = authorize(&client, &[With("response_type", "id_token token")]);
    let challenge = browser.visit(&url).await.expect("login_challenge");
    let verifier = accept_login(&sluice, &challenge, &json!({"subject": "alice"})).await;
    change_client(&sluice, &client, "grant_types", json!(["authorization_code"])).await;
    let refused = Response::of(&browser.visit(&verifier).await);
    refused.refused_with("unauthorized_client");
    assert_eq!(refused.way, "fragment");
    sluice.node.stop().await;
}
