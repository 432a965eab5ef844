use super::*;
use crate::client::model::{AuthMethod, GrantLifespans};
use crate::client::profile::{CertificateName, Encryption, ResponseFormats, SecurityProfile};
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
    assert!(client.grant_types.is_empty() && client.response_types.is_empty());
    assert_eq!(client.scope.as_str(), "offline_access offline openid");
    assert_eq!(client.auth_method, AuthMethod::ClientSecretBasic);
    assert_eq!(client.subject_type, "public");
    assert_eq!(client.metadata, json!({}));
    assert!(client.secret_hashes.is_empty() && client.userinfo_signed_response_alg.is_none());
}

#[test]
fn a_client_is_not_called_what_no_path_can_name() {
    let called = |id: &str| {
        register(id.parse().unwrap(), asking(), &RegistrationRules::default(), Timestamp::from_secs(1))
    };
    for id in [".", ".."] {
        assert!(called(id).unwrap_err().to_string().starts_with("Field client_id is refused: "), "{id}");
    }
    assert!(called("...").is_ok() && called(".app").is_ok());
}

#[test]
fn who_names_no_types_may_ask_for_a_code_and_nothing_else() {
    let nothing = registered(asking()).unwrap();
    let empty = vec![String::new()];
    let empty = ClientMetadata { grant_types: empty.clone(), response_types: empty, ..asking() };
    for client in [nothing, registered(empty).unwrap()] {
        for grant_type in GrantType::ALL {
            assert_eq!(client.may_use(grant_type), grant_type == GrantType::AuthorizationCode);
        }
        for (response_type, may) in [("code", true), ("token", false), ("code id_token", false)] {
            assert_eq!(client.may_ask_for(response_type.parse().unwrap()), may, "{response_type}");
        }
    }
    let machine = ClientMetadata {
        grant_types: vec!["client_credentials".to_owned()],
        response_types: vec!["id_token code".to_owned()],
        ..asking()
    };
    let machine = registered(machine).unwrap();
    assert!(machine.may_use(GrantType::ClientCredentials) && !machine.may_use(GrantType::AuthorizationCode));
    assert!(machine.may_ask_for("code id_token".parse().unwrap()));
    assert!(!machine.may_ask_for("code".parse().unwrap()));
}

#[test]
fn a_response_type_that_is_registered_with_a_value_twice_is_that_of_the_same_values() {
    let response_types = vec!["code code".to_owned(), "id_token code id_token".to_owned()];
    let client = registered(ClientMetadata { response_types, ..asking() }).unwrap();
    for (response_type, may) in [("code", true), ("code id_token", true), ("id_token", false)] {
        assert_eq!(client.may_ask_for(response_type.parse().unwrap()), may, "{response_type}");
    }
}

#[test]
fn any_white_space_separates_scopes() {
    let scope = |scope: &str| registered(ClientMetadata { scope: scope.to_owned(), ..asking() });
    for written in ["a b", " a  b ", "a b\n", "a\n  b\r\n", "a\tb", "a b a"] {
        assert_eq!(scope(written).unwrap().scope.as_str(), "a b", "{written:?}");
    }
    for refused in ["a\u{a0}b", "a\u{0}b", "a\\b"] {
        assert!(scope(refused).is_err(), "{refused:?}");
    }
}

#[test]
fn notes_of_the_administrator_are_of_any_kind() {
    let noted =
        |metadata: Option<Value>| registered(ClientMetadata { metadata, ..asking() }).unwrap().metadata;
    for kept in [json!({"a": 1}), json!(["a", 1]), json!("a"), json!(1), json!(false), json!({})] {
        assert_eq!(noted(Some(kept.clone())), kept);
    }
    assert_eq!((noted(Some(Value::Null)), noted(None)), (json!({}), json!({})));
}

#[test]
fn urls_are_kept_as_they_were_written() {
    let understood_only = "https://app.example/b";
    for (written, told, understood) in [
        ("https://App.example", "https://App.example", "https://app.example/"),
        ("HTTP://a.example:80/a/../b?%20", "HTTP://a.example:80/a/../b?%20", "http://a.example/b?%20"),
        // What is in no URL.
        ("https://app.example/b?x y", "https://app.example/b?x%20y", "https://app.example/b?x%20y"),
        (" https://app.example/b\n", understood_only, understood_only),
        ("https:\\\\app.example\\b", understood_only, understood_only),
        ("https://app.example/\u{e9}", "https://app.example/%C3%A9", "https://app.example/%C3%A9"),
    ] {
        let client = registered(ClientMetadata {
            jwks_uri: written.to_owned(),
            frontchannel_logout_uri: written.to_owned(),
            backchannel_logout_uri: written.to_owned(),
            ..asking()
        });
        let client = client.unwrap();
        for kept in [client.jwks_uri, client.frontchannel_logout, client.backchannel_logout] {
            let kept = kept.unwrap();
            assert_eq!((kept.as_str(), kept.url().as_str()), (told, understood));
        }
    }
    assert!(registered(ClientMetadata { jwks_uri: "ftp://app.example".to_owned(), ..asking() }).is_err());
}

#[test]
fn what_a_client_must_be_told_of_sessions_is_kept_without_an_address() {
    let client =
        registered(ClientMetadata { backchannel_logout_session_required: true, ..asking() }).unwrap();
    assert!(client.logout_sessions.backchannel && !client.logout_sessions.frontchannel);
    assert!(!client.hears_logout());
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
fn tokens_in_an_address_go_where_the_kind_of_application_allows() {
    let fits = |kind: &str, grant_type: &str, uri: &str| {
        let mut metadata = ClientMetadata {
            redirect_uris: vec![uri.to_owned()],
            grant_types: vec![grant_type.to_owned()],
            ..asking()
        };
        metadata.software.application_type = kind.to_owned();
        let made = registered(metadata);
        let refused = matches!(made, Err(RegistrationError::RedirectUri(_)));
        assert!(refused || made.is_ok(), "{made:?}");
        !refused
    };
    let uris = [
        "https://a.example/cb",
        "https://localhost/cb",
        "http://127.0.0.1:9/cb",
        "http://[::1]/cb",
        "app.own:/cb",
        "http://a.example/cb",
    ];
    for (kind, grant_type, expected) in [
        ("web", "implicit", [true, false, false, false, false, false]),
        ("web", "authorization_code", [true; 6]),
        ("", "implicit", [true, true, true, true, true, false]),
        ("", "authorization_code", [true; 6]),
        ("native", "implicit", [true, true, true, true, true, false]),
        ("native", "authorization_code", [true, true, true, true, true, false]),
    ] {
        assert_eq!(uris.map(|uri| fits(kind, grant_type, uri)), expected, "{kind} {grant_type}");
    }
}

#[test]
fn the_way_of_authentication_must_be_known_and_possible() {
    let method = |method: &str| ClientMetadata { token_endpoint_auth_method: method.to_owned(), ..asking() };
    assert!(refusal(method("digest")).contains("token_endpoint_auth_method"));
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
fn a_secret_that_signs_is_long_and_its_algorithm_a_mac() {
    let signing = |secret: &str, alg: &str| ClientMetadata {
        token_endpoint_auth_method: "client_secret_jwt".to_owned(),
        token_endpoint_auth_signing_alg: alg.to_owned(),
        client_secret: Some(Secret::new(secret.to_owned())),
        ..asking()
    };
    for (alg, least) in [("", 32), ("HS256", 32), ("HS384", 48), ("HS512", 64)] {
        let long = "x".repeat(least);
        assert_eq!(registered(signing(&long, alg)).unwrap().auth_method, AuthMethod::ClientSecretJwt);
        let too_short = refusal(signing(&long[1..], alg));
        assert!(too_short.contains(&format!("at least {least} bytes")), "{alg}: {too_short}");
    }
    assert!(refusal(signing(&"x".repeat(64), "RS256")).starts_with("Only HS256, "));
    let sending = ClientMetadata {
        token_endpoint_auth_method: "client_secret_post".to_owned(),
        ..signing("s3cret", "")
    };
    assert!(registered(sending).is_ok(), "what is only sent need not be a key");
}

#[test]
fn a_certificate_is_known_by_one_name_or_by_its_key() {
    let method = |method: &str| ClientMetadata { token_endpoint_auth_method: method.to_owned(), ..asking() };
    assert!(refusal(method("tls_client_auth")).contains("tls_client_auth_"));
    let mut named = method("tls_client_auth");
    named.security.tls_client_auth = Some(CertificateName::SanDns("app.example".to_owned()));
    assert_eq!(registered(named).unwrap().auth_method, AuthMethod::TlsClientAuth);
    assert!(refusal(method("self_signed_tls_client_auth")).contains("either jwks or jwks_uri"));
    let with_key = ClientMetadata { jwks: Some(key(PUBLIC)), ..method("self_signed_tls_client_auth") };
    assert_eq!(registered(with_key).unwrap().auth_method, AuthMethod::SelfSignedTlsClientAuth);
}

#[test]
fn what_is_encrypted_needs_a_key_and_algorithms_that_are_known() {
    let encrypted = |alg: &str, enc: &str| {
        let how = Some(Encryption { alg: alg.to_owned(), enc: enc.to_owned() });
        let formats = ResponseFormats { id_token_encryption: how, ..ResponseFormats::default() };
        ClientMetadata { jwks: Some(key(PUBLIC)), formats, ..asking() }
    };
    assert!(registered(encrypted("ECDH-ES", "A256GCM")).is_ok());
    for broken in ["RSA1_5", "dir", "A128KW", ""] {
        assert!(
            refusal(encrypted(broken, "A256GCM")).contains("id_token_encrypted_response_alg"),
            "{broken}"
        );
    }
    assert!(refusal(encrypted("ECDH-ES", "A128CTR")).contains("id_token_encrypted_response_enc"));
    let without_keys = ClientMetadata { jwks: None, ..encrypted("ECDH-ES", "A256GCM") };
    assert!(refusal(without_keys).contains("either jwks or jwks_uri"));
    let not_for_it = registered(encrypted("RSA-OAEP", "A256GCM")).unwrap();
    let refused = check_recipients(&not_for_it, None).unwrap_err().to_string();
    assert!(refused.contains("RSA-OAEP, which id_token_encrypted_response_alg"), "{refused}");
    let renamed = Client { name: "another".to_owned(), ..not_for_it.clone() };
    assert!(check_recipients(&renamed, Some(&not_for_it)).is_ok(), "it was so before");
    let good = registered(encrypted("ECDH-ES", "A256GCM")).unwrap();
    assert!(check_recipients(&good, None).is_ok());
    assert!(check_recipients(&not_for_it, Some(&good)).is_err(), "it becomes so");
    let at_a_uri = ClientMetadata {
        jwks: None,
        jwks_uri: "https://app.example/jwks".to_owned(),
        ..encrypted("RSA-OAEP", "A256GCM")
    };
    assert!(check_recipients(&registered(at_a_uri).unwrap(), None).is_ok(), "what is there may change");
    let how = |alg: &str| Some(Encryption { alg: alg.to_owned(), enc: "A256GCM".to_owned() });
    let request_objects = |alg: &str| {
        let formats = ResponseFormats { request_object_encryption: how(alg), ..ResponseFormats::default() };
        ClientMetadata { formats, ..asking() }
    };
    assert!(registered(request_objects("RSA-OAEP-256")).is_ok());
    assert!(refusal(request_objects("RSA-OAEP")).contains("request_object_encryption_alg"));
}

/// Changes one thing.
type Change = fn(&mut ClientMetadata);

#[test]
fn fapi_clients_are_held_to_their_profile() {
    let fapi = || {
        let mut metadata = ClientMetadata {
            token_endpoint_auth_method: "private_key_jwt".to_owned(),
            jwks: Some(key(PUBLIC)),
            redirect_uris: vec!["https://app.example/cb".to_owned()],
            ..asking()
        };
        metadata.security.profile = SecurityProfile::Fapi2;
        metadata.security.dpop_bound_access_tokens = true;
        metadata
    };
    assert!(registered(fapi()).is_ok());
    let by_uri = ClientMetadata { jwks: None, jwks_uri: "https://app.example/jwks".to_owned(), ..fapi() };
    assert!(registered(by_uri).is_ok());
    let changes: [(Change, &str); 11] = [
        (|of| of.token_endpoint_auth_method = "client_secret_basic".to_owned(), "token_endpoint_auth_method"),
        (|of| of.token_endpoint_auth_method = "none".to_owned(), "token_endpoint_auth_method"),
        (|of| (of.jwks, of.jwks_uri) = (None, "http://app.example/jwks".to_owned()), "jwks_uri"),
        (|of| of.security.dpop_bound_access_tokens = false, "dpop_bound_access_tokens"),
        (|of| of.id_token_signed_response_alg = "RS256".to_owned(), "PS256"),
        (|of| of.token_endpoint_auth_signing_alg = "RS256".to_owned(), "PS256"),
        (|of| of.request_object_signing_alg = "none".to_owned(), "PS256"),
        (|of| of.formats.access_token_signing_alg = Some("ES512".to_owned()), "PS256"),
        (|of| of.formats.omits_issuer = true, "authorization_response_iss"),
        (|of| of.response_types = vec!["code id_token".to_owned()], "response_types"),
        (|of| of.redirect_uris = vec!["http://app.example/cb".to_owned()], "https://"),
    ];
    for (change, named) in changes {
        let mut changed = fapi();
        change(&mut changed);
        let refused = refusal(changed);
        assert!(refused.contains("FAPI 2.0") && refused.contains(named), "{refused}");
    }
}

#[test]
fn who_sees_subjects_of_its_own_belongs_to_one_sector() {
    let pairwise = |uris: &[&str], sector: &str| pairwise(uris, sector, "authorization_code");
    assert!(pairwise(&[], "").is_ok());
    assert!(pairwise(&["https://a.example/1", "https://a.example/2"], "").is_ok());
    for uris in [&["https://a.example/", "https://b.example/"][..], &["app.own:/cb"]] {
        assert!(pairwise(uris, "").unwrap_err().to_string().contains("sector_identifier_uri"));
        assert!(pairwise(uris, "https://a.example/sector.json").is_ok());
    }
}

#[test]
fn nobody_joins_the_sector_of_a_stranger() {
    let (host, sector) = ("https://a.example/cb", "https://a.example/sector.json");
    let device = "urn:ietf:params:oauth:grant-type:device_code";
    let refused = |uris: &[&str], sector: &str| {
        pairwise(uris, sector, device).unwrap_err().to_string().contains("sector_identifier_uri")
    };
    assert!(refused(&[], sector), "there is nothing that the sector could vouch for");
    assert!(refused(&[host], ""), "tokens need not go to that host");
    assert!(pairwise(&[host], sector, device).is_ok(), "whoever may do so vouches for it");
    assert!(pairwise(&[], "", device).is_ok());
    assert!(pairwise(&["http://localhost/cb"], "", device).is_ok(), "a sector of its own");
}

fn pairwise(uris: &[&str], sector: &str, grant_type: &str) -> Result<Client, RegistrationError> {
    let rules = RegistrationRules {
        subject_types: vec!["public".to_owned(), "pairwise".to_owned()],
        ..RegistrationRules::default()
    };
    let metadata = ClientMetadata {
        subject_type: "pairwise".to_owned(),
        redirect_uris: uris.iter().map(|uri| (*uri).to_owned()).collect(),
        sector_identifier_uri: sector.to_owned(),
        grant_types: vec![grant_type.to_owned()],
        ..asking()
    };
    register("app".parse().unwrap(), metadata, &rules, Timestamp::from_secs(1))
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
fn an_administrator_writes_what_a_client_shows_as_text_but_no_script() {
    let client = |logo_uri: &str, client_uri: &str| {
        let (logo_uri, client_uri) = (logo_uri.to_owned(), client_uri.to_owned());
        registered(ClientMetadata { client_uri, logo_uri, ..asking() })
    };
    for harmless in
        ["https://a.example/l", "a.example", "/logo", "//a.example", "mailto:a@a.example", "what: ever", ""]
    {
        let client = client(harmless, harmless).unwrap();
        assert_eq!((client.logo_uri.as_str(), client.client_uri.as_str()), (harmless, harmless));
    }
    for image in ["data:image/png;base64,iVBORw0KGgo=", "DATA:Image/svg+xml,<svg/>"] {
        assert_eq!(client(image, "").unwrap().logo_uri, image);
        assert!(client("", image).is_err(), "{image}");
    }
    for script in [
        "javascript:alert(1)",
        " JavaScript:alert(1)",
        "java\tscript:alert(1)",
        "vbscript:x",
        "data:text/html,x",
        "data:,x",
        "data:image",
        "a\u{0}b",
    ] {
        assert!(client(script, "").is_err() && client("", script).is_err(), "{script:?}");
    }
}

#[test]
fn logout_uris_are_web_urls() {
    for bad in ["javascript:alert(1)", "data:text/html,x", "/relative"] {
        let bad = bad.to_owned();
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
    let of_typ = |typ: &str| {
        let typ = Some(typ.to_owned());
        let formats = ResponseFormats { access_token_jwt_typ: typ, ..ResponseFormats::default() };
        ClientMetadata { formats, ..asking() }
    };
    assert!(refusal(of_typ("logout+jwt")).contains("access_token_jwt_typ"));
    let typ = registered(of_typ("jwt")).unwrap().formats.access_token_jwt_typ;
    assert_eq!(typ.as_deref(), Some("JWT"), "as it stands in the header");
    assert!(
        registered(ClientMetadata { userinfo_signed_response_alg: "HS256".to_owned(), ..asking() }).is_err()
    );
    for alg in ["none", "HS256"] {
        let alg = alg.to_owned();
        assert!(registered(ClientMetadata { id_token_signed_response_alg: alg, ..asking() }).is_err());
    }
    for alg in SigningAlgorithm::ALL {
        let alg = alg.to_string();
        let metadata = ClientMetadata {
            id_token_signed_response_alg: alg.clone(),
            userinfo_signed_response_alg: alg.clone(),
            request_object_signing_alg: alg.clone(),
            ..asking()
        };
        assert_eq!(registered(metadata).unwrap().userinfo_signed_response_alg, Some(alg));
    }
    let ed25519 = || "Ed25519".to_owned();
    let named = registered(ClientMetadata {
        token_endpoint_auth_signing_alg: ed25519(),
        request_object_signing_alg: ed25519(),
        id_token_signed_response_alg: ed25519(),
        ..asking()
    });
    let named = named.unwrap();
    assert_eq!(
        (named.auth_signing_alg, named.request_object_signing_alg),
        (Some(ed25519()), Some(ed25519()))
    );
    assert_eq!(
        named.id_token_signed_response_alg.as_deref(),
        Some("EdDSA"),
        "as tokens of this server say it"
    );
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
