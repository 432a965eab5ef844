use std::sync::Arc;

use super::*;
use crate::admin::wire::client_form::{ClientPatch, patch_client, read_client};
use serde_json::json;
use sluice_oauth::client::RegistrationRules;
use sluice_oauth::client::registration::register;

fn client(json: &Value) -> Client {
    let metadata = read_client(json.to_string().as_bytes()).unwrap();
    let id = metadata.client_id.parse().unwrap();
    register(id, metadata, &RegistrationRules::default(), Timestamp::from_millis(1_763_720_125_497)).unwrap()
}

fn written(client: &Client) -> String {
    let body = ClientBody::from(client);
    let mut text = Vec::new();
    body.write_json(&mut text);
    assert_eq!(String::from_utf8(text).unwrap(), serde_json::to_string(&body).unwrap());
    serde_json::to_string_pretty(&body).unwrap()
}

fn full() -> Value {
    json!({
        "client_id": "full", "client_name": "Full", "owner": "me", "client_secret": "s3cret",
        "client_secret_expires_at": 1_999_999_999,
        "redirect_uris": ["https://a.example/cb"], "post_logout_redirect_uris": ["https://a.example/bye"],
        "grant_types": ["authorization_code", "refresh_token"], "response_types": ["code"], "scope": "openid email",
        "audience": ["https://api.example"], "allowed_cors_origins": ["https://a.example"], "contacts": ["a@a.example"],
        "policy_uri": "https://a.example/p", "tos_uri": "https://a.example/t", "client_uri": "https://a.example/c",
        "logo_uri": "https://a.example/l", "token_endpoint_auth_method": "private_key_jwt",
        "token_endpoint_auth_signing_alg": "ES256", "jwks_uri": "https://a.example/jwks",
        "sector_identifier_uri": "https://a.example/s", "request_uris": ["https://a.example/r"],
        "request_object_signing_alg": "RS256", "userinfo_signed_response_alg": "RS256",
        "id_token_signed_response_alg": "ES256", "access_token_strategy": "JWT", "skip_consent": true,
        "skip_logout_consent": true, "metadata": {"plan": "gold"}, "frontchannel_logout_uri": "https://a.example/f",
        "frontchannel_logout_session_required": true, "backchannel_logout_uri": "https://a.example/b",
        "backchannel_logout_session_required": true, "authorization_code_grant_access_token_lifespan": "1h",
        "refresh_token_grant_refresh_token_lifespan": "-1s", "implicit_grant_access_token_lifespan": "1500ms",
        "device_authorization_grant_id_token_lifespan": "90s", "a member that nobody knows": [1, 2]
    })
}

#[test]
fn a_client_that_asked_for_nothing() {
    insta::assert_snapshot!(written(&client(&json!({"client_id": "least"}))));
}

#[test]
fn a_client_that_asked_for_everything() {
    insta::assert_snapshot!(written(&client(&full())));
}

#[test]
fn what_is_written_reads_as_the_same_client() {
    let odd = json!({"client_id": "odd", "jwks_uri": "https://A.example", "metadata": ["a", 1],
        "backchannel_logout_uri": "https://A.example", "frontchannel_logout_session_required": true,
        "access_token_jwt_typ": "JWT", "authorization_response_iss": false});
    let keys = json!({"client_id": "keys", "jwks": {"keys": [{"kty": "EC", "crv": "P-256", "kid": "1",
        "x": "MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4", "y": "4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM"}]}});
    for asked in [json!({"client_id": "least"}), full(), odd, keys] {
        let made = client(&asked);
        let written: Value = serde_json::from_str(&written(&made)).unwrap();
        assert_eq!(client(&written), made);
        // As it was sent, which is more than that it reads so.
        for member in [
            "jwks_uri",
            "backchannel_logout_uri",
            "frontchannel_logout_session_required",
            "metadata",
            "access_token_jwt_typ",
            "authorization_response_iss",
        ] {
            assert!(asked.get(member).is_none_or(|asked| written[member] == *asked), "{member}");
        }
    }
}

#[test]
fn who_names_no_types_reads_its_defaults_and_administrators_read_none() {
    let types = |body: ClientBody<'_>| {
        let body = serde_json::to_value(body).unwrap();
        [body["grant_types"].clone(), body["response_types"].clone()]
    };
    let client = Arc::new(client(&json!({"client_id": "least"})));
    let registered = Registered { client, secret: None, management: None };
    assert_eq!(types(ClientBody::from(&*registered.client)), [json!([]), json!([])]);
    assert_eq!(types(ClientBody::with_secret(&registered)), [json!([]), json!([])]);
    let defaults = [json!(["authorization_code"]), json!(["code"])];
    assert_eq!(types(ClientBody::for_itself(&registered, None)), defaults);
}

#[test]
fn null_says_the_same_as_nothing() {
    let nulls = json!({"client_id": "least", "redirect_uris": null, "scope": null, "jwks": {}, "metadata": null,
        "skip_consent": null, "authorization_code_grant_access_token_lifespan": null, "contacts": null});
    assert_eq!(client(&nulls), client(&json!({"client_id": "least"})));
}

#[test]
fn a_wrong_type_is_refused_by_name() {
    for (json, named) in [
        (r#"{"client_name":5}"#, "client_name: invalid type: integer `5`, expected a string"),
        (r#"{"redirect_uris":["a",1]}"#, "redirect_uris[1]: "),
        (r#"{"jwks":{"keys":[{"kid":"k"}]}}"#, "jwks.keys[0]: missing field `kty`"),
        (r#"{"jwt_bearer_grant_access_token_lifespan":"soon"}"#, "`soon` is no duration like 1h30m"),
        (r#"{"client_name":"a""#, "EOF"),
        ("[]", "a JSON object is expected"),
        ("{} {}", "trailing characters"),
    ] {
        let refused = read_client(json.as_bytes()).unwrap_err();
        assert!(
            refused.starts_with("Unable to decode the request body: ") && refused.contains(named),
            "{refused}"
        );
    }
}

#[test]
fn a_patch_changes_what_it_names() {
    let made = client(&json!({"client_id": "least", "redirect_uris": ["https://a.example/cb"]}));
    let patch = |patch: Value| patch_client(&made, &serde_json::from_value(patch).unwrap());
    let patched = patch(json!([
        {"op": "replace", "path": "/client_name", "value": "new"},
        {"op": "add", "path": "/redirect_uris/-", "value": "https://a.example/2"},
        {"op": "add", "path": "/post_logout_redirect_uris/-", "value": "https://a.example/bye"},
        {"op": "replace", "path": "/jwks_uri", "value": "https://a.example/jwks"},
        {"op": "replace", "path": "/client_secret", "value": "another"},
        {"op": "add", "path": "/metadata/plan", "value": "gold"},
        {"op": "test", "path": "/scope", "value": "offline_access offline openid"},
    ]));
    let patched = patched.unwrap();
    assert_eq!(patched.client_name, "new");
    assert_eq!(patched.redirect_uris, ["https://a.example/cb", "https://a.example/2"]);
    assert_eq!(patched.post_logout_redirect_uris, ["https://a.example/bye"]);
    assert_eq!(patched.jwks_uri, "https://a.example/jwks");
    assert_eq!(patched.client_secret.unwrap().expose(), "another");
    assert_eq!(patched.metadata, Some(json!({"plan": "gold"})));
}

#[test]
fn what_a_patch_puts_without_a_value_is_null() {
    let made = client(&json!({"client_id": "least", "client_name": "App", "owner": "me", "contacts": ["a"]}));
    let patch = json!([{"op": "replace", "path": "/client_name"}, {"op": "add", "path": "/contacts"}]);
    let patched = patch_client(&made, &serde_json::from_value(patch).unwrap()).unwrap();
    assert_eq!((patched.client_name.as_str(), patched.owner.as_str()), ("", "me"));
    assert!(patched.contacts.is_empty());
    for incomplete in [
        json!([{"op": "test", "path": "/owner"}]),
        json!([{"op": "replace", "value": "x"}]),
        json!([{"path": "/owner", "value": "x"}]),
        json!([{"op": "copy", "path": "/owner"}]),
    ] {
        assert!(serde_json::from_value::<ClientPatch>(incomplete.clone()).is_err(), "{incomplete}");
    }
}

#[test]
fn a_patch_makes_what_it_adds_to() {
    let made = client(&json!({"client_id": "least"}));
    let patched = |patch: Value| patch_client(&made, &serde_json::from_value(patch).unwrap());
    let metadata = |patch: Value| patched(patch).unwrap().metadata.unwrap();
    let told = metadata(json!([
        {"op": "add", "path": "/metadata/limits/daily", "value": 5},
        {"op": "replace", "path": "/metadata/plan/name", "value": "gold"},
        {"op": "add", "path": "/metadata/tags/-", "value": "a"},
        {"op": "add", "path": "/metadata/tags/0", "value": "b"},
        {"op": "add", "path": "/metadata/hosts/0/a~1b/name", "value": "c"},
    ]));
    let expected = json!({"limits": {"daily": 5}, "plan": {"name": "gold"}, "tags": ["b", "a"],
        "hosts": [{"a/b": {"name": "c"}}]});
    assert_eq!(told, expected);
    let emptied = json!({"op": "add", "path": "/metadata", "value": null});
    let told = metadata(json!([emptied, {"op": "add", "path": "/metadata/plan", "value": "gold"}]));
    assert_eq!(told, json!({"plan": "gold"}));
    let at = |path: &str| patched(json!([{"op": "add", "path": path, "value": "x"}]));
    let deep = |parts: usize| format!("/metadata{}", "/a".repeat(parts - 1));
    assert!(at(&deep(32)).is_ok());
    let too_deep = deep(33);
    for path in [too_deep.as_str(), "/metadata/tags/1", "/metadata/hosts/1/name", "/client_name/first"] {
        assert!(at(path).unwrap_err().contains("path is invalid"), "{path}");
    }
    for rest in [
        json!({"op": "remove", "path": "/metadata/none/name"}),
        json!({"op": "copy", "from": "/client_id", "path": "/metadata/none/name"}),
        json!({"op": "test", "path": "/metadata/none/name", "value": null}),
    ] {
        let refused = patched(json!([emptied, rest])).unwrap_err();
        assert!(refused.contains("operation '/1' failed"), "{refused}");
    }
}

#[test]
fn a_patch_cannot_change_the_id_or_read_the_secret() {
    let made = client(&json!({"client_id": "least"}));
    let made = Client { secret_hashes: vec!["$sluice$hash".to_owned()], ..made };
    let patch = |patch: Value| patch_client(&made, &serde_json::from_value(patch).unwrap());
    assert!(
        patch(json!([{"op": "replace", "path": "/client_id", "value": "other"}]))
            .unwrap_err()
            .contains("client_id")
    );
    assert!(patch(json!([{"op": "remove", "path": "/client_id"}])).is_err());
    assert!(patch(json!([{"op": "test", "path": "/client_name", "value": "other"}])).is_err());
    let copied = patch(json!([{"op": "copy", "from": "/client_secret", "path": "/client_name"}])).unwrap();
    assert_eq!(copied.client_name, "");
    assert!(patch(json!([])).unwrap().client_secret.is_none());
}
