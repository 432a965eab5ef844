use super::*;
use crate::client::model::{AuthMethod, GrantLifespans};
use serde_json::json;
use sluice_primitives::Secret;

fn registered(metadata: ClientMetadata) -> Result<Client, RegistrationError> {
    let id = "app".parse().unwrap();
    register(id, metadata, &RegistrationRules::default(), Timestamp::from_secs(1))
}

fn refusal(metadata: ClientMetadata) -> String {
    registered(metadata).unwrap_err().to_string()
}

fn asking() -> ClientMetadata {
    ClientMetadata::default()
}

fn key(json: &str) -> sluice_crypto::jwk::JwkSet {
    serde_json::from_str(&format!("{{\"keys\":[{json}]}}")).unwrap()
}

const PUBLIC: &str = r#"{"kty":"EC","crv":"P-256","kid":"k","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU","y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}"#;

#[test]
fn who_asks_for_nothing_gets_the_defaults_of_hydra() {
    let client = registered(asking()).unwrap();
    assert_eq!(client.grant_types, ["authorization_code"]);
    assert_eq!(client.response_types, ["code"]);
    assert_eq!(client.scope.as_str(), "offline_access offline openid");
    assert_eq!(client.auth_method, AuthMethod::ClientSecretBasic);
    assert_eq!(client.subject_type, "public");
    assert_eq!(client.metadata, json!({}));
    assert_eq!(client.secret_expires_at, 0);
    assert!(client.secret_hashes.is_empty() && client.userinfo_signed_response_alg.is_none());
}

#[test]
fn a_redirect_uri_that_is_none_is_refused_by_its_own_code() {
    for uri in ["/cb", "https://a.example/cb#x", "javascript:alert(1)", ""] {
        let refused =
            registered(ClientMetadata { redirect_uris: vec![uri.to_owned()], ..asking() }).unwrap_err();
        assert_eq!(refused.code(), sluice_protocol::ErrorCode::InvalidRedirectUri, "{uri}");
    }
}

#[test]
fn the_way_of_authentication_must_be_known_and_possible() {
    let method = |method: &str| ClientMetadata { token_endpoint_auth_method: method.to_owned(), ..asking() };
    assert!(refusal(method("client_secret_jwt")).contains("token_endpoint_auth_method"));
    let no_keys =
        "When token_endpoint_auth_method is 'private_key_jwt', either jwks or jwks_uri must be set.";
    assert_eq!(refusal(method("private_key_jwt")), no_keys);
    let empty = Some(sluice_crypto::jwk::JwkSet::default());
    assert_eq!(refusal(ClientMetadata { jwks: empty, ..method("private_key_jwt") }), no_keys);
    let with_keys = ClientMetadata { jwks: Some(key(PUBLIC)), ..method("private_key_jwt") };
    assert!(registered(with_keys.clone()).is_ok());
    let both = ClientMetadata { jwks_uri: "https://a.example/jwks".to_owned(), ..with_keys.clone() };
    assert!(refusal(both).contains("can not both be set"));
    let alg = ClientMetadata { token_endpoint_auth_signing_alg: "HS256".to_owned(), ..with_keys };
    assert!(refusal(alg).starts_with("Only RS256, "));
}

#[test]
fn of_a_clients_keys_the_public_parts_are_kept_only() {
    let private = PUBLIC.replace("\"kid\"", "\"d\":\"jpsQnnGQmL-YBIffH1136cspYG6-0iY7X1fCE9-E9LI\",\"kid\"");
    let client = registered(ClientMetadata { jwks: Some(key(&private)), ..asking() }).unwrap();
    assert!(!client.jwks.unwrap().keys[0].is_private());
    let broken = key(r#"{"kty":"EC","crv":"P-256","kid":"k","x":"AA"}"#);
    assert_eq!(refusal(ClientMetadata { jwks: Some(broken), ..asking() }), "Invalid JSON web key in set.");
}

#[test]
fn a_chosen_secret_has_six_characters() {
    let secret =
        |secret: &str| ClientMetadata { client_secret: Some(Secret::new(secret.to_owned())), ..asking() };
    assert!(refusal(secret("12345")).contains("at least 6 characters"));
    assert!(registered(secret("123456")).is_ok());
    assert!(refusal(secret(&"x".repeat(513))).contains("at most 512 bytes"));
}

#[test]
fn a_post_logout_uri_has_the_origin_of_a_redirect_uri() {
    let uris = |redirect: &str, logout: &str| ClientMetadata {
        redirect_uris: vec![redirect.to_owned()],
        post_logout_redirect_uris: vec![logout.to_owned()],
        ..asking()
    };
    assert!(registered(uris("https://a.example/cb", "https://a.example/bye")).is_ok());
    assert!(registered(uris("https://a.example/cb", "https://a.example:443/bye")).is_ok());
    for other in ["https://b.example/bye", "http://a.example/bye", "https://a.example:8443/bye"] {
        assert!(refusal(uris("https://a.example/cb", other)).contains("must match the domain, port, scheme"));
    }
}

#[test]
fn a_cors_origin_is_an_origin() {
    let origin = |origin: &str| ClientMetadata { allowed_cors_origins: vec![origin.to_owned()], ..asking() };
    for good in ["https://a.example", "http://a.example:8080/", "https://*.a.example"] {
        let kept = registered(origin(good)).unwrap().allowed_cors_origins;
        assert_eq!(kept, [good.trim_end_matches('/')]);
    }
    for bad in [
        "a.example",
        "ftp://a.example",
        "https://u@a.example",
        "https://a.example/x",
        "https://a.example?x",
        "https://",
    ] {
        assert!(registered(origin(bad)).is_err(), "{bad}");
    }
}

#[test]
fn links_and_logout_uris_are_web_urls() {
    for bad in ["javascript:alert(1)", "data:text/html,x", "/relative"] {
        let bad = bad.to_owned();
        assert!(registered(ClientMetadata { logo_uri: bad.clone(), ..asking() }).is_err());
        assert!(registered(ClientMetadata { tos_uri: bad.clone(), ..asking() }).is_err());
        assert!(registered(ClientMetadata { backchannel_logout_uri: bad.clone(), ..asking() }).is_err());
        assert!(registered(ClientMetadata { frontchannel_logout_uri: bad, ..asking() }).is_err());
    }
}

#[test]
fn what_is_not_offered_cannot_be_chosen() {
    assert!(
        refusal(ClientMetadata { subject_type: "pairwise".to_owned(), ..asking() }).contains("only [public]")
    );
    assert!(registered(ClientMetadata { access_token_strategy: "paseto".to_owned(), ..asking() }).is_err());
    assert!(
        registered(ClientMetadata { userinfo_signed_response_alg: "HS256".to_owned(), ..asking() }).is_err()
    );
    assert!(
        registered(ClientMetadata { id_token_signed_response_alg: "none".to_owned(), ..asking() }).is_err()
    );
    assert!(registered(ClientMetadata { metadata: Some(json!([1])), ..asking() }).is_err());
    assert!(registered(ClientMetadata { scope: "a\"b".to_owned(), ..asking() }).is_err());
    assert!(
        registered(ClientMetadata { sector_identifier_uri: "http://a.example".to_owned(), ..asking() })
            .is_err()
    );
}

#[test]
fn refresh_tokens_may_live_without_end_and_no_others() {
    let forever = Some(Lifetime::FOREVER);
    let of = |grant| ClientMetadata {
        lifespans: Lifespans { authorization_code: grant, ..Lifespans::default() },
        ..asking()
    };
    assert!(registered(of(GrantLifespans { refresh_token: forever, ..GrantLifespans::default() })).is_ok());
    assert!(registered(of(GrantLifespans { access_token: forever, ..GrantLifespans::default() })).is_err());
    assert!(registered(of(GrantLifespans { id_token: forever, ..GrantLifespans::default() })).is_err());
}
