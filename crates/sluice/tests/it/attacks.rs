//! Attacks on authorization requests and their answers (OAuth 2.0 Security Best Current Practice, RFC 9700 §4).

mod strangers;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use reqwest::Method;
use serde_json::{Value, json};
use sluice_crypto::jwk::{Jwk, JwkSet, MacAlgorithm, RsaSize, SigningAlgorithm};
use sluice_crypto::jws::{SigningKey, sign_hmac};
use sluice_testkit::{
    Backend, Browser, ISSUER, TestClient, TestSluice, VERIFIER, accept_consent, accept_login,
};
use tokio::net::TcpListener;

use crate::authorization_errors::Change::{self, With, Without};
use crate::authorization_errors::{TRICKS, asked};
use crate::both_stores::on_both_stores;
use crate::jwt::{claims, header};
use crate::legs::{token, tokens_of};
use crate::oidc_prompt::remembered;
use crate::response::{Response, answer, client_for, last_page, refusal};

on_both_stores! {
    a_code_works_at_the_server_that_issued_it_and_for_the_client_that_asked,
    a_code_that_was_injected_into_another_flow_is_refused,
    pkce_cannot_be_taken_out_of_a_flow,
    a_hint_that_this_server_did_not_sign_is_none,
}

/// RFC 9700 §4.4, RFC 9207: whoever answers says who it is, so that a client does not send the code of one server to another.
#[tokio::test(flavor = "multi_thread")]
async fn every_answer_names_its_issuer() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let types = ["code", "id_token token", "code id_token token"];
    let client = client_for(&sluice, &types, json!({})).await;
    for response_type in types {
        for mode in ["fragment", "form_post", "jwt"] {
            let ask = [With("response_type", response_type), With("response_mode", mode)];
            let refused: Vec<_> = ask.iter().cloned().chain([With("prompt", "none")]).collect();
            let good = answer(&sluice, &client, &ask).await;
            let bad = refusal(&sluice, &client, &refused).await;
            for answer in [good, bad] {
                let issuer = match answer.parameters.get("response") {
                    Some(signed) => claims(signed)["iss"].clone(),
                    None => json!(answer.get("iss")),
                };
                assert_eq!(issuer, ISSUER, "{answer:?}");
            }
        }
    }
    let page = sluice.browser().visit("/.well-known/openid-configuration").await;
    let metadata: Value = serde_json::from_str(&page.body).unwrap();
    assert_eq!(metadata["authorization_response_iss_parameter_supported"], true);
    assert_eq!(metadata["issuer"], ISSUER);
    sluice.node.stop().await;
}

async fn a_code_works_at_the_server_that_issued_it_and_for_the_client_that_asked(backend: Backend) {
    let (here, there) = (TestSluice::start(backend).await, TestSluice::start(backend).await);
    let client = here.client(&json!({})).await;
    // The same client, registered at both, with one secret.
    let metadata = json!({"client_id": client.id, "client_secret": client.secret});
    let twin = there.client(&metadata).await;
    let code = here.browser().log_in(&here, &client, "alice").await.expect("code");
    assert_eq!((&twin.id, &twin.secret), (&client.id, &client.secret));
    twin.redeem(&code).await.refused_with("invalid_grant");
    let other = here.client(&json!({"redirect_uris": [client.redirect_uri]})).await;
    other.redeem(&code).await.refused_with("invalid_grant");
    let tokens = client.redeem(&code).await.ok();
    for elsewhere in [token(&tokens, "access_token"), token(&tokens, "refresh_token")] {
        assert!(!there.is_active(elsewhere).await);
    }
    // The key of the id token is not known there: it names nobody.
    let (mut browser, _) = remembered(&there, &twin).await;
    let hint = [With("id_token_hint", token(&tokens, "id_token")), With("prompt", "none")];
    Response::of(&browser.visit(&asked(&twin, &hint)).await).refused_with("login_required");
    here.node.stop().await;
    there.node.stop().await;
}

/// RFC 9700 §4.5: the attacker has the code of his victim and feeds it to his own session with the honest client, whose
/// verifier, redirect URI and nonce are those of another flow.
async fn a_code_that_was_injected_into_another_flow_is_refused(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let uris = ["https://app.test/callback", "https://app.test/other"];
    let client = client_for(&sluice, &["code", "code id_token"], json!({"redirect_uris": uris})).await;
    let victims = answer(&sluice, &client, &[With("response_type", "code id_token")]).await;
    let stolen = victims.get("code");
    let before = sluice.written();
    let attempts = [
        ("https://app.test/callback", "the-verifier-of-the-attackers-own-session-with-the-client"),
        ("https://app.test/other", VERIFIER),
    ];
    for (redirect_uri, verifier) in attempts {
        let form = [
            ("grant_type", "authorization_code"),
            ("code", stolen),
            ("redirect_uri", redirect_uri),
            ("code_verifier", verifier),
        ];
        client.token(&form).await.refused_with("invalid_grant");
    }
    assert_eq!(sluice.written(), before, "and the victim's code still works");
    // The id token that comes with a code vouches for that code alone.
    let attackers = answer(&sluice, &client, &[With("response_type", "code id_token")]).await;
    let vouched = claims(attackers.get("id_token"))["c_hash"].clone();
    assert_eq!(vouched, crate::response::half_hash(attackers.get("code")));
    assert_ne!(vouched, crate::response::half_hash(stolen));
    let tokens = client.redeem(stolen).await.ok();
    assert_eq!(claims(token(&tokens, "id_token"))["nonce"], crate::response::NONCE);
    sluice.node.stop().await;
}

/// RFC 9700 §4.8.2, RFC 7636 §7.2.
async fn pkce_cannot_be_taken_out_of_a_flow(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({})).await;
    let form = |code: &str, verifier: Option<&str>| {
        let uri = ("redirect_uri".to_owned(), client.redirect_uri.clone());
        let code = ("code".to_owned(), code.to_owned());
        let verifier = verifier.map(|verifier| ("code_verifier".to_owned(), verifier.to_owned()));
        [("grant_type".to_owned(), "authorization_code".to_owned()), code, uri].into_iter().chain(verifier)
    };
    let send = async |code: &str, verifier| {
        let owned: Vec<_> = form(code, verifier).collect();
        let borrowed: Vec<_> = owned.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        client.token(&borrowed).await
    };
    // The challenge was dropped on the way: the client's verifier shows it.
    let dropped =
        answer(&sluice, &client, &[Without("code_challenge"), Without("code_challenge_method")]).await;
    let refused = send(dropped.get("code"), Some(VERIFIER)).await;
    let said =
        "The code cannot be exchanged (PKCE): a verifier without a challenge in the authorization request.";
    assert_eq!(refused.body["error_description"], said);
    refused.refused_with("invalid_grant");
    // The verifier is left out, empty, or the challenge itself.
    let code = answer(&sluice, &client, &[]).await;
    let challenge = URL_SAFE_NO_PAD.encode(sluice_crypto::digest::sha256(VERIFIER.as_bytes()));
    for verifier in [None, Some(""), Some(challenge.as_str())] {
        send(code.get("code"), verifier).await.refused_with("invalid_grant");
    }
    // `plain` is refused, named or by default (RFC 7636 §4.3).
    for changes in [[With("code_challenge_method", "plain")], [Without("code_challenge_method")]] {
        refusal(&sluice, &client, &changes).await.refused_with("invalid_request");
    }
    let empty = [With("code_challenge", ""), With("code_challenge_method", "S256")];
    refusal(&sluice, &client, &empty).await.refused_with("invalid_request");
    send(code.get("code"), Some(VERIFIER)).await.ok();
    sluice.node.stop().await;
}

/// Tokens that say that they are `alice`'s, and are not this server's.
async fn forged(sluice: &TestSluice, genuine: &str) -> Vec<(&'static str, String)> {
    let page = sluice.browser().visit("/.well-known/jwks.json").await;
    let keys: JwkSet = serde_json::from_str(&page.body).unwrap();
    let kid = header(genuine)["kid"].as_str().unwrap().to_owned();
    let public = keys.find(&kid).unwrap();
    let payload = claims(genuine).to_string();
    let encode = |text: &str| URL_SAFE_NO_PAD.encode(text);
    let parts: Vec<_> = genuine.split('.').collect();
    let mac =
        |secret: &[u8]| sign_hmac(Some("JWT"), payload.as_bytes(), secret, MacAlgorithm::HS256).unwrap();
    let own = Jwk::generate(SigningAlgorithm::ES256, kid.clone(), RsaSize::Bits2048).unwrap();
    let key = SigningKey::from_jwk(&own).unwrap();
    let embedded = json!({"alg": "ES256", "kid": kid, "jwk": own.public()}).to_string();
    let pointing = json!({"alg": "ES256", "kid": kid, "jku": "https://evil.test/jwks"}).to_string();
    let foreign = key.sign(Some("JWT"), payload.as_bytes()).unwrap();
    let signature = foreign.rsplit('.').next().unwrap();
    vec![
        ("none", format!("{}.{}.", encode(r#"{"alg":"none","typ":"JWT"}"#), parts[1])),
        ("None", format!("{}.{}.{}", encode(r#"{"alg":"None"}"#), parts[1], parts[2])),
        ("no signature", format!("{}.{}.", parts[0], parts[1])),
        ("HS256 with the JWK", mac(serde_json::to_string(public).unwrap().as_bytes())),
        ("HS256 with the modulus", mac(&URL_SAFE_NO_PAD.decode(public.n.as_deref().unwrap()).unwrap())),
        ("HS256 with its text", mac(public.n.as_deref().unwrap().as_bytes())),
        ("another key of the same name", foreign.clone()),
        ("a key in the header", format!("{}.{}.{signature}", encode(&embedded), encode(&payload))),
        ("a key at a URL", format!("{}.{}.{signature}", encode(&pointing), encode(&payload))),
        ("another subject", {
            let other = payload.replace("alice", "mallory");
            format!("{}.{}.{}", parts[0], encode(&other), parts[2])
        }),
    ]
}

async fn a_hint_that_this_server_did_not_sign_is_none(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let back = "https://app.test/goodbye";
    let client = sluice.client(&json!({"post_logout_redirect_uris": [back]})).await;
    let genuine = tokens_of(&sluice, &client, "alice").await;
    let genuine = token(&genuine, "id_token");
    for (how, forged) in forged(&sluice, genuine).await {
        let refused = refusal(&sluice, &client, &[With("id_token_hint", &forged)]).await;
        assert_eq!(refused.get("error"), "invalid_request", "{how}");
        let asked = [("id_token_hint", forged.as_str()), ("post_logout_redirect_uri", back)];
        let page = log_out(&mut sluice.browser(), &asked).await;
        assert_eq!((page.status.as_u16(), page.location), (400, None), "{how}");
        assert_eq!(client.userinfo(&forged).await.0, 401, "{how}");
    }
    sluice.node.stop().await;
}

async fn log_out(browser: &mut Browser, parameters: &[(&str, &str)]) -> sluice_testkit::Page {
    let query = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(parameters).finish();
    browser.visit(&format!("/oauth2/sessions/logout?{query}")).await
}

/// RFC 9700 §4.1: nobody is sent to an address that is only nearly registered, after a logout neither.
#[tokio::test(flavor = "multi_thread")]
async fn a_logout_is_no_open_redirector() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let client = sluice.client(&json!({"post_logout_redirect_uris": ["https://app.test/callback"]})).await;
    let tokens = tokens_of(&sluice, &client, "alice").await;
    for uri in TRICKS {
        let hinted = [("id_token_hint", token(&tokens, "id_token")), ("post_logout_redirect_uri", uri)];
        let named = [("client_id", client.id.as_str()), ("post_logout_redirect_uri", uri)];
        for parameters in [hinted, named] {
            let page = log_out(&mut sluice.browser(), &parameters).await;
            assert_eq!((page.status.as_u16(), page.location), (400, None), "{uri}");
            assert!(!page.body.contains("evil"), "{uri}: {}", page.body);
        }
    }
    let registered =
        [("client_id", client.id.as_str()), ("post_logout_redirect_uri", "https://app.test/callback")];
    let page = log_out(&mut sluice.browser(), &registered).await;
    assert_eq!(page.location().as_str(), "https://app.test/callback");
    sluice.node.stop().await;
}

/// RFC 8252 §7.3: of a loopback address the port may differ, and nothing else.
#[tokio::test(flavor = "multi_thread")]
async fn a_loopback_address_is_no_way_out() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let client = sluice.client(&json!({"redirect_uris": ["http://127.0.0.1:9/callback?a=1"]})).await;
    let ask = |uri: &str| asked(&client, &[With("redirect_uri", uri), With("prompt", "none")]);
    for own in ["http://127.0.0.1:50000/callback?a=1", "http://127.0.0.1:80/callback?a=1"] {
        let page = sluice.browser().visit(&ask(own)).await;
        assert_eq!(page.location().host_str(), Some("127.0.0.1"), "{own}");
    }
    for trick in [
        "https://127.0.0.1:50000/callback?a=1",
        "http://127.0.0.1@evil.test:50000/callback?a=1",
        "http://user@127.0.0.1:50000/callback?a=1",
        "http://127.0.0.1.evil.test/callback?a=1",
        "http://127.1:50000/callback?a=1",
        "http://2130706433:50000/callback?a=1",
        "http://0x7f000001:50000/callback?a=1",
        "http://127.0.0.2:50000/callback?a=1",
        "http://localhost:50000/callback?a=1",
        "http://[::1]:50000/callback?a=1",
        "http://[::ffff:127.0.0.1]:50000/callback?a=1",
        "http://127.0.0.1:50000/callback",
        "http://127.0.0.1:50000/callback?a=1&b=2",
        "http://127.0.0.1:50000/callback?a=1#x",
        "http://127.0.0.1:50000/x/../callback?a=1",
        "http://127.0.0.1:50000/callback/?a=1",
        "http://127.0.0.1:50000\\@evil.test/callback?a=1",
        "http://127.0.0.1:99999/callback?a=1",
    ] {
        let page = sluice.browser().visit(&ask(trick)).await;
        assert_eq!((page.status.as_u16(), &page.location), (400, &None), "{trick}");
    }
    sluice.node.stop().await;
}

/// An error of a later leg goes nowhere either once the address is not registered any more.
#[tokio::test(flavor = "multi_thread")]
async fn an_address_that_was_taken_back_gets_neither_answer_nor_error() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let types = ["code", "id_token token"];
    let client = client_for(
        &sluice,
        &types,
        json!({"redirect_uris": ["https://app.test/callback", "https://app.test/2"]}),
    )
    .await;
    for response_type in types {
        let mut browser = sluice.browser();
        let uri = "https://app.test/2";
        let url = asked(&client, &[With("response_type", response_type), With("redirect_uri", uri)]);
        let challenge = browser.visit(&url).await.expect("login_challenge");
        let verifier = accept_login(&sluice, &challenge, &json!({"subject": "alice"})).await;
        let challenge = browser.visit(&verifier).await.expect("consent_challenge");
        let accepted = accept_consent(&sluice, &challenge, &json!({})).await;
        let path = format!("/admin/oauth2/auth/requests/consent/reject?consent_challenge={challenge}");
        let rejected =
            sluice_testkit::redirect_to(&sluice.ask_json(Method::PUT, &path, Some(&json!({})), 200).await);
        set_redirect_uris(&sluice, &client, &["https://app.test/callback"]).await;
        for verifier in [rejected, accepted] {
            let page = browser.visit(&verifier).await;
            assert_eq!((page.status.as_u16(), &page.location), (400, &None), "{response_type}");
        }
        set_redirect_uris(&sluice, &client, &["https://app.test/callback", uri]).await;
    }
    sluice.node.stop().await;
}

async fn set_redirect_uris(sluice: &TestSluice, client: &TestClient, uris: &[&str]) {
    crate::legs::change_client(sluice, client, "redirect_uris", json!(uris)).await;
}

/// OpenID Connect Registration §9.2, §9.3: what a client shows of itself is shown, not run and not fetched.
#[tokio::test(flavor = "multi_thread")]
async fn the_links_of_a_client_are_neither_run_nor_fetched() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let links = ["client_uri", "logo_uri", "policy_uri", "tos_uri"];
    for link in links {
        for evil in [
            "javascript:alert('evil')",
            "JavaScript:alert(1)",
            "java\nscript:alert(1)",
            "data:text/html,<script>alert(1)</script>",
            "vbscript:evil",
        ] {
            let refused =
                sluice.ask_json(Method::POST, "/admin/clients", Some(&json!({link: evil})), 400).await;
            assert_eq!(refused["error"], "invalid_client_metadata", "{link}: {evil}");
        }
        // What an administrator writes is kept as it is, as with Hydra; what of it is a link, the pages decide.
        for text in ["app.test", "//app.test/logo", "file:///etc/passwd", "not a link"] {
            let made = sluice.ask_json(Method::POST, "/admin/clients", Some(&json!({link: text})), 201).await;
            assert_eq!(made[link], text);
        }
    }
    let image = json!({"logo_uri": "data:image/png;base64,iVBORw0KGgo="});
    let made = sluice.ask_json(Method::POST, "/admin/clients", Some(&image), 201).await;
    assert_eq!(made["logo_uri"], image["logo_uri"]);
    let trap = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/logo.png", trap.local_addr().unwrap());
    let mut metadata = json!({});
    for link in links {
        metadata[link] = json!(url);
    }
    let client = sluice.client(&metadata).await;
    let page = last_page(&sluice, &mut sluice.browser(), &asked(&client, &[])).await;
    let code = Response::of(&page).get("code").to_owned();
    client.redeem(&code).await.ok();
    let fetched = tokio::select! {
        biased;
        _ = trap.accept() => true,
        () = std::future::ready(()) => false,
    };
    assert!(!fetched, "nobody asked for {url}");
    sluice.node.stop().await;
}

/// RFC 9700 §4.11: what is asked for in a frame or by another site still has to be trusted first.
#[tokio::test(flavor = "multi_thread")]
async fn an_address_that_is_not_registered_learns_nothing_by_any_way() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let client = client_for(&sluice, &["code", "id_token token"], json!({})).await;
    let wrongs: [Change<'_>; 4] =
        [With("prompt", "none"), With("scope", "admin"), With("response_type", "none"), Without("nonce")];
    for mode in ["query", "fragment", "form_post", "jwt", "form_post.jwt"] {
        for wrong in &wrongs {
            let changes =
                [With("redirect_uri", "https://evil.test/"), With("response_mode", mode), wrong.clone()];
            let page = sluice.browser().visit(&asked(&client, &changes)).await;
            assert_eq!((page.status.as_u16(), &page.location), (400, &None), "{changes:?}");
            assert!(!page.body.contains("evil.test"), "{}", page.body);
        }
    }
    sluice.node.stop().await;
}
