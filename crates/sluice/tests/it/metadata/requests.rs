//! What authorization requests and token requests may be.

use serde_json::json;
use sluice_crypto::jwe::{ContentEncryption, EncryptionKey, encrypt};
use sluice_crypto::jwk::JwkSet;
use sluice_testkit::{TestClient, VERIFIER};

use super::authentication::refuses_to_register;
use super::{SIGNERS, Server};
use crate::authorization_errors::Change::With;
use crate::authorization_errors::asked;
use crate::keyed::{changed, redemption};
use crate::legs::consent_request;
use crate::oidc_prompt::{login_page, remembered};
use crate::requests::{assembled, claims, is_refused, push, pushed, request_uri, with};
use crate::response::{Response, answer, client_for, last_page, refusal};
use crate::rfc9101::{MEDIA_TYPE, Shelf};

/// Every combination, in the order in which OAuth 2.0 Multiple Response Type Encoding Practices writes them.
const RESPONSE_TYPES: [&str; 8] = [
    "code",
    "token",
    "id_token",
    "id_token token",
    "code id_token",
    "code token",
    "code id_token token",
    "none",
];

/// RFC 9396 §10: a client that registers the type may ask for it.
pub(super) async fn details_types(server: &Server, entry: &str) {
    let (sluice, names) = (&server.sluice, server.names(entry));
    let client = sluice.client(&json!({"authorization_details_types": names})).await;
    for name in names {
        let details = json!([{"type": name}]).to_string();
        let url = asked(&client, &[With("authorization_details", &details)]);
        sluice.browser().visit(&url).await.expect("login_challenge");
    }
}

pub(super) async fn response_types(server: &Server, entry: &str) {
    let (sluice, announced) = (&server.sluice, server.names(entry));
    assert!(announced.iter().all(|kind| RESPONSE_TYPES.contains(kind)), "{announced:?}");
    for kind in RESPONSE_TYPES {
        let change = [With("response_type", kind)];
        if announced.contains(&kind) {
            let client = client_for(sluice, &[kind], json!({})).await;
            let answer = answer(sluice, &client, &change).await;
            for (word, parameter) in [("code", "code"), ("token", "access_token"), ("id_token", "id_token")] {
                let expected = kind.split(' ').any(|own| own == word);
                assert_eq!(answer.parameters.contains_key(parameter), expected, "{kind}");
            }
        } else {
            let client = sluice.client(&json!({})).await;
            refusal(sluice, &client, &change).await.refused_with("unsupported_response_type");
        }
    }
}

pub(super) async fn response_modes(server: &Server, entry: &str) {
    let client = client_for(&server.sluice, &["code"], json!({})).await;
    for mode in server.names(entry) {
        let answer = answer(&server.sluice, &client, &[With("response_mode", mode)]).await;
        let (way, signed) = match mode {
            "jwt" => ("query", true),
            _ => mode.strip_suffix(".jwt").map_or((mode, false), |way| (way, true)),
        };
        assert_eq!((answer.way, answer.names() == ["response"]), (way, signed), "{mode}");
    }
    for unlisted in ["web_message", "web_message.jwt"] {
        let refused = refusal(&server.sluice, &client, &[With("response_mode", unlisted)]).await;
        refused.refused_with("invalid_request");
    }
}

pub(super) async fn grant_types(server: &Server, entry: &str) {
    let sluice = &server.sluice;
    for grant in server.names(entry) {
        if grant == "implicit" {
            let client = client_for(sluice, &["token"], json!({"grant_types": [grant]})).await;
            answer(sluice, &client, &[With("response_type", "token")]).await.get("access_token");
            continue;
        }
        // The rest of its request is missing; the client credentials grant needs none.
        let client = sluice.client(&json!({"grant_types": [grant]})).await;
        let answer = client.token(&[("grant_type", grant)]).await;
        let expected = if grant == "client_credentials" { None } else { Some("invalid_request") };
        assert_eq!(answer.body["error"].as_str(), expected, "{grant}: {}", answer.body);
    }
    for unlisted in ["password", "urn:ietf:params:oauth:grant-type:saml2-bearer"] {
        let client = sluice.client(&json!({})).await;
        let form = [("grant_type", unlisted), ("username", "alice"), ("password", "x"), ("assertion", "x")];
        client.token(&form).await.refused_with("unsupported_grant_type");
    }
}

/// Each shows a page that would be skipped without it, or none.
pub(super) async fn prompts(server: &Server, entry: &str) {
    let sluice = &server.sluice;
    let client = sluice.client(&json!({})).await;
    let (known, _) = remembered(sluice, &client).await;
    let pages = async |prompt: &str| {
        let (mut browser, url) = (known.clone(), asked(&client, &[With("prompt", prompt)]));
        let login = login_page(sluice, &mut browser, &url).await;
        let challenge = login["challenge"].as_str().unwrap();
        let verifier = sluice_testkit::accept_login(sluice, challenge, &json!({"subject": "alice"})).await;
        let challenge = browser.visit(&verifier).await.expect("consent_challenge");
        [login["skip"] == true, consent_request(sluice, &challenge).await["skip"] == true]
    };
    assert_eq!(pages("").await, [true, true]);
    for prompt in server.names(entry) {
        match prompt {
            "none" => {
                let url = asked(&client, &[With("prompt", prompt)]);
                is_refused(&mut sluice.browser(), &url, "login_required").await;
                Response::of(&last_page(sluice, &mut known.clone(), &url).await).get("code");
            }
            "consent" => assert_eq!(pages(prompt).await, [true, false]),
            "login" | "select_account" => assert_eq!(pages(prompt).await, [false, true], "{prompt}"),
            "create" => {
                let page = known.clone().visit(&asked(&client, &[With("prompt", prompt)])).await;
                assert!(page.location().path().ends_with("/registration"), "{:?}", page.location);
            }
            _ => panic!("what does {prompt} do?"),
        }
    }
    if !server.names(entry).contains(&"create") {
        let page = known.clone().visit(&asked(&client, &[With("prompt", "create")])).await;
        assert_eq!(page.location().path(), "/login", "there is no other page");
    }
    refusal(sluice, &client, &[With("prompt", "authenticate")]).await.refused_with("invalid_request");
}

/// RFC 7636 §4.3, §4.6.
pub(super) async fn challenge_methods(server: &Server, entry: &str) {
    let sluice = &server.sluice;
    let client = sluice.client(&json!({})).await;
    assert_eq!(server.names(entry), ["S256"]);
    let code = sluice.browser().log_in(sluice, &client, "alice").await.expect("code");
    let wrong = VERIFIER.to_uppercase();
    let mut form = redemption(&client, &code);
    form.retain(|(name, _)| *name != "code_verifier");
    form.push(("code_verifier", &wrong));
    client.token(&form).await.refused_with("invalid_grant");
    let code = sluice.browser().log_in(sluice, &client, "alice").await.expect("code");
    client.redeem(&code).await.ok();
    let plain = [With("code_challenge_method", "plain"), With("code_challenge", VERIFIER)];
    refusal(sluice, &client, &plain).await.refused_with("invalid_request");
}

/// A client that signs its requests, and where its signed request goes.
async fn signing_client(server: &Server) -> (TestClient, String) {
    let signer = &SIGNERS["ES256"];
    let client = signer.client(&server.sluice, json!({})).await;
    let object = signer.object(&server.sluice, &client, &json!({}));
    let url = with(&client, &[("request", &object)]);
    (client, url)
}

pub(super) async fn objects(server: &Server, entry: &str) {
    assert!(server.flag(entry));
    let url = signing_client(server).await.1;
    server.sluice.browser().visit(&url).await.expect("login_challenge");
}

/// OpenID Connect Core §6.2: from where its client registered it, if at all.
pub(super) async fn references(server: &Server, _: &str) {
    let (sluice, signer, shelf) = (&server.sluice, &SIGNERS["ES256"], Shelf::open().await);
    let client = signer.client(sluice, json!({"request_uris": [shelf.uri]})).await;
    shelf.put(MEDIA_TYPE, &signer.object(sluice, &client, &json!({})));
    let reference =
        |uri: &str| with(&client, &[("request_uri", uri), ("redirect_uri", client.redirect_uri.as_str())]);
    let (known, unknown) = (reference(&shelf.uri), reference(&format!("{}/other", shelf.uri)));
    assert!(server.flag("require_request_uri_registration"));
    if server.flag("request_uri_parameter_supported") {
        sluice.browser().visit(&known).await.expect("login_challenge");
        is_refused(&mut sluice.browser(), &unknown, "invalid_request_uri").await;
    } else {
        for url in [known, unknown] {
            is_refused(&mut sluice.browser(), &url, "request_uri_not_supported").await;
        }
    }
}

/// RFC 9126 §5.
pub(super) async fn must_push(server: &Server, entry: &str) {
    let sluice = &server.sluice;
    let client = sluice.client(&json!({})).await;
    if server.flag(entry) {
        is_refused(&mut sluice.browser(), &asked(&client, &[]), "invalid_request").await;
    } else {
        sluice.browser().visit(&asked(&client, &[])).await.expect("login_challenge");
    }
    let uri = request_uri(&push(&client, &[]).await);
    sluice.browser().visit(&pushed(&client, &uri)).await.expect("login_challenge");
}

/// RFC 9101 §10.5.
pub(super) async fn must_sign(server: &Server, entry: &str) {
    let (client, signed) = signing_client(server).await;
    let mut browser = server.sluice.browser();
    if server.flag(entry) {
        is_refused(&mut browser, &asked(&client, &[]), "invalid_request").await;
    } else {
        browser.visit(&asked(&client, &[])).await.expect("login_challenge");
    }
    browser.visit(&signed).await.expect("login_challenge");
}

pub(super) async fn signing(server: &Server, entry: &str) {
    let (sluice, announced) = (&server.sluice, server.names(entry));
    for algorithm in announced.iter().filter(|algorithm| **algorithm != "none") {
        let signer = &SIGNERS[algorithm];
        let client = signer.client(sluice, json!({"request_object_signing_alg": algorithm})).await;
        let object = signer.object(sluice, &client, &json!({}));
        let page = sluice.browser().visit(&with(&client, &[("request", &object)])).await;
        assert!(page.parameter("login_challenge").is_some(), "{algorithm}: {:?}", page.location);
    }
    let client = sluice.client(&json!({})).await;
    let object = assembled(&json!({"alg": "none"}), &claims(sluice, &client, &json!({})), b"");
    let unsigned = with(&client, &[("request", &object), ("redirect_uri", client.redirect_uri.as_str())]);
    if announced.contains(&"none") {
        sluice.browser().visit(&unsigned).await.expect("login_challenge");
    } else {
        is_refused(&mut sluice.browser(), &unsigned, "invalid_request_object").await;
    }
    refuses_to_register(server, &json!({"request_object_signing_alg": "HS256"})).await;
}

/// Each algorithm to the key that this server publishes for it, with each content encryption.
pub(super) async fn encryption(server: &Server, _: &str) {
    let (sluice, signer) = (&server.sluice, &SIGNERS["ES256"]);
    let encs = server.names("request_object_encryption_enc_values_supported");
    let announced = server.names("request_object_encryption_alg_values_supported");
    // One for ECDH-ES is made, and announced, when a client is registered for it.
    let made = (!announced.contains(&"ECDH-ES")).then_some("ECDH-ES");
    for algorithm in announced.into_iter().chain(made) {
        signer.client(sluice, json!({"request_object_encryption_alg": algorithm})).await;
        let keys = sluice.browser().visit("/.well-known/jwks.json").await.body;
        let keys: JwkSet = serde_json::from_str(&keys).unwrap();
        let key = EncryptionKey::of(&keys, algorithm.parse().unwrap()).expect("a published key");
        let now = sluice.browser().visit("/.well-known/openid-configuration").await.body;
        assert!(now.contains(&format!("{algorithm:?}")), "{algorithm} is announced");
        for enc in &encs {
            let how =
                json!({"request_object_encryption_alg": algorithm, "request_object_encryption_enc": enc});
            let client = signer.client(sluice, how).await;
            let object = signer.object(sluice, &client, &json!({}));
            let enc: ContentEncryption = enc.parse().unwrap();
            let sealed = encrypt(object.as_bytes(), &key, enc, Some("JWT")).unwrap();
            let page = sluice.browser().visit(&with(&client, &[("request", &sealed)])).await;
            assert!(page.parameter("login_challenge").is_some(), "{algorithm} {enc:?}: {:?}", page.location);
        }
    }
    let how =
        json!({"request_object_encryption_alg": "RSA-OAEP-256", "request_object_encryption_enc": "A128GCM"});
    for unlisted in ["RSA-OAEP", "ECDH-ES+A128KW", "RSA1_5", "dir"] {
        refuses_to_register(
            server,
            &changed(how.clone(), &json!({"request_object_encryption_alg": unlisted})),
        )
        .await;
    }
    refuses_to_register(server, &changed(how, &json!({"request_object_encryption_enc": "A192GCM"}))).await;
}
